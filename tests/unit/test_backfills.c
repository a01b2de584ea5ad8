// The tender that carries out backfills: each instant gets one job, so many at once, whatever fails, stops or takes over.
#include "bulk_rows.h"

#include "base/mem.h"
#include "base/text/when.h"
#include "store/jobs.h"

enum { OTHER = 55, BULK = 900000, TASK = 800000, INSTANTS = 5, HOUR_MS = 3600 * 1000 };

// A task of one run an hour, created now, that is planned for weeks: so only the backfill adds jobs.
static void add_task(struct play *play)
{
    struct plan plan = {.task_id = TASK,
                        .tenant = PLAY_TENANT,
                        .version = 1,
                        .planned_through = play->now.wall_ms + INT64_C(1000) * HOUR_MS,
                        .check_at = TIME_NEVER};
    struct store_task task = {.id = TASK,
                              .tenant = PLAY_TENANT,
                              .created_at = play->now.wall_ms,
                              .dispatch = TARGET_CALLED,
                              .queue = STR("q"),
                              .doc = STR("{\"url\":\"http://h/\",\"every\":\"1h\",\"priority\":7}"),
                              .plan = &plan};
    struct store_new item = {.task = &task};
    struct store_add add = {.now_ms = play->now.wall_ms, .items = &item, .count = 1};
    store_op_init(&add.op, STORE_ADD, NULL);
    store_call(play->store.memory, &add.op);
    assert_int_equal(item.err, ERR_OK);
    store_op_done(&add.op);
}

// A play with a backfill of the five instants before the task's creation, which nobody has begun.
static struct play *play_with(int max_active, int64_t holder)
{
    struct play *play = play_new((struct play_config){0});
    char from[WHEN_TEXT_SIZE], to[WHEN_TEXT_SIZE], task[ID_TEXT_SIZE], doc[400];
    add_task(play);
    when_format(from, play->now.wall_ms - INSTANTS * HOUR_MS);
    when_format(to, play->now.wall_ms - HOUR_MS);
    id_format(task, ID_TASK, TASK);
    snprintf(doc, sizeof doc,
             "{\"action\":\"backfill\",\"task_id\":\"%s\",\"backfill\":{\"from\":\"%s\",\"to\":\"%s\",\"max_active\":%d}}", task,
             from, to, max_active);
    put_row(play, (struct store_bulk_row){
                      .id = BULK, .tenant = PLAY_TENANT, .holder = holder, .created_at = play->now.wall_ms, .doc = str_of(doc)});
    backfills_poke(play->flow->backfills);
    return play;
}

struct jobs {
    size_t count, open;
    int64_t running[INSTANTS + 1];
    size_t running_count;
};

// The jobs of the task: no two of them have one instant, and each is one of a backfill.
static struct jobs jobs_of(struct play *play)
{
    struct jobs jobs = {.count = 0};
    struct store_list list = {.tenant = PLAY_TENANT,
                              .jobs = true,
                              .task_id = TASK,
                              .before = {INT64_MAX, INT64_MAX},
                              .max = 100,
                              .look = 100,
                              .max_jobs = 100};
    store_op_init(&list.op, STORE_LIST, NULL);
    store_call(play->store.memory, &list.op);
    for (size_t i = 0; i < list.found_count; i++) {
        const struct job *job = &list.found[i];
        assert_true(job->trigger == TRIGGER_BACKFILL && job->priority == 7);
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(job->nominal_at, list.found[k].nominal_at);
        jobs.count++;
        jobs.open += !job_state_final(job->state);
        if (play_running(play, job->id))
            jobs.running[jobs.running_count++] = job->id;
    }
    store_op_done(&list.op);
    return jobs;
}

// Time passes, and every job that runs ends, until the bulk does.
static void run_to_the_end(struct play *play)
{
    for (int i = 0; i < 200 && row_of(play, BULK).state == STORE_BULK_RUNNING; i++) {
        struct jobs jobs = jobs_of(play);
        for (size_t k = 0; k < jobs.running_count; k++)
            play_end(play, jobs.running[k], OUTCOME_SUCCESS);
        pass(play, 500);
    }
}

static void assert_all_ran_once(struct play *play)
{
    struct store_bulk_row row = row_of(play, BULK);
    assert_int_equal(row.state, STORE_BULK_DONE);
    assert_int_equal(row.matched, INSTANTS);
    assert_int_equal(row.changed, INSTANTS);
    assert_int_equal(row.holder, 0);
    assert_int_equal(jobs_of(play).count, INSTANTS);
    assert_int_equal(play->exec.started, INSTANTS);
}

static void so_many_run_at_once_as_may_and_each_instant_runs_once(void **state)
{
    for (int max = 1; max <= INSTANTS + 1; max += 2) {
        struct play *play = play_with(max, 0);
        pass(play, 5000);
        size_t first = max < INSTANTS ? (size_t)max : INSTANTS;
        assert_int_equal(jobs_of(play).count, first);
        assert_int_equal(jobs_of(play).open, first);
        assert_int_equal(row_of(play, BULK).changed, first);
        assert_int_equal(row_of(play, BULK).matched, INSTANTS);
        run_to_the_end(play);
        assert_all_ran_once(play);
        play_free(play);
    }
}

static void the_next_runs_when_one_has_ended_here_and_not_with_the_next_look(void **state)
{
    struct play *play = play_with(1, 0);
    pass(play, 5000);
    for (size_t count = 1; count <= INSTANTS; count++) {
        struct jobs jobs = jobs_of(play);
        assert_true(jobs.count == count && jobs.running_count == 1);
        play_end(play, jobs.running[0], OUTCOME_SUCCESS);
        pass(play, 200); // a fifth of the time between two looks
    }
    assert_all_ran_once(play);
    play_free(play);
}

static void it_is_done_when_the_last_has_ended(void **state)
{
    struct play *play = play_with(INSTANTS, 0);
    pass(play, 5000);
    for (struct jobs jobs; (jobs = jobs_of(play)).open > 1; pass(play, 500))
        play_end(play, jobs.running[0], OUTCOME_SUCCESS);
    pass(play, 5000);
    assert_int_equal(row_of(play, BULK).state, STORE_BULK_RUNNING);
    play_end(play, jobs_of(play).running[0], OUTCOME_SUCCESS);
    pass(play, 3000);
    assert_all_ran_once(play);
    play_free(play);
}

static void jobs_whose_addition_was_not_heard_of_are_found(void **state)
{
    struct play *play = play_with(2, 0);
    play->store.hold[STORE_ADD] = true;
    pass(play, 1000);
    play_lose(play, play_waiting(play, STORE_ADD));
    play->store.hold[STORE_ADD] = false;
    pass(play, 5000);
    assert_int_equal(jobs_of(play).open, 2);
    run_to_the_end(play);
    assert_all_ran_once(play);
    play_free(play);
}

static void what_could_not_be_read_or_added_is_tried_again(void **state)
{
    static const enum store_verb verbs[] = {STORE_ADD, STORE_GET, STORE_LIST, STORE_BULK, STORE_BULKS};
    for (size_t i = 0; i < array_count(verbs); i++) {
        struct play *play = play_with(2, 0);
        play->store.fails[verbs[i]] = ERR_STORE_UNAVAILABLE;
        pass(play, 5000);
        assert_int_equal(jobs_of(play).count, 0);
        play->store.fails[verbs[i]] = ERR_OK;
        run_to_the_end(play);
        assert_all_ran_once(play);
        play_free(play);
    }
}

static void a_write_that_was_not_heard_of_counts_nothing_twice(void **state)
{
    for (int lost = 0; lost < 4; lost++) { // when it is taken, when its instants are found, after jobs were added
        struct play *play = play_with(INSTANTS, 0);
        play->store.hold[STORE_BULK] = true;
        for (int i = 0; i <= lost; i++) {
            while (!play_waiting(play, STORE_BULK)) {
                struct jobs jobs = jobs_of(play);
                for (size_t k = 0; k < jobs.running_count; k++)
                    play_end(play, jobs.running[k], OUTCOME_SUCCESS);
                pass(play, 500);
            }
            if (i < lost)
                play_answer(play, play_waiting(play, STORE_BULK));
            else
                play_lose(play, play_waiting(play, STORE_BULK));
        }
        play->store.hold[STORE_BULK] = false;
        pass(play, 5000);
        run_to_the_end(play);
        pass(play, 5000);
        assert_all_ran_once(play);
        play_free(play);
    }
}

static void stop(struct play *play)
{
    struct store_bulks read = {.tenant = PLAY_TENANT, .id = BULK};
    store_op_init(&read.op, STORE_BULKS, NULL);
    store_call(play->store.memory, &read.op);
    struct store_bulk_row row = read.rows[0];
    row.state = STORE_BULK_STOPPED;
    row.ended_at = play->now.wall_ms;
    put_row(play, row);
    store_op_done(&read.op);
}

static void one_that_is_stopped_adds_no_more(void **state)
{
    struct play *play = play_with(1, 0);
    pass(play, 5000);
    stop(play);
    pass(play, 3000);
    play_end(play, jobs_of(play).running[0], OUTCOME_SUCCESS);
    pass(play, 20000);
    assert_int_equal(jobs_of(play).count, 1);
    assert_int_equal(row_of(play, BULK).state, STORE_BULK_STOPPED);
    play_free(play);
}

static void jobs_that_were_added_while_it_was_stopped_count(void **state)
{
    struct play *play = play_with(2, 0);
    play->store.hold[STORE_ADD] = true;
    pass(play, 1000);
    stop(play);
    play->store.hold[STORE_ADD] = false;
    play_answer(play, play_waiting(play, STORE_ADD));
    pass(play, 10000);
    struct store_bulk_row row = row_of(play, BULK);
    assert_int_equal(row.state, STORE_BULK_STOPPED);
    assert_int_equal(row.changed, 2);
    assert_int_equal(jobs_of(play).count, 2);
    play_free(play);
}

static void what_another_is_at_is_left_to_it_as_long_as_it_lives(void **state)
{
    struct play *play = play_with(2, OTHER);
    play_peer(play, OTHER);
    for (int i = 0; i < 30; i++) {
        play_peer_beats(play, OTHER);
        pass(play, 1000);
    }
    assert_int_equal(jobs_of(play).count, 0);
    assert_int_equal(row_of(play, BULK).holder, OTHER);
    pass(play, 120000);
    assert_int_equal(row_of(play, BULK).holder, PLAY_LIFE);
    run_to_the_end(play);
    assert_all_ran_once(play);
    play_free(play);
}

static void add_ended(struct play *play, int64_t id, int64_t scheduled_at, int64_t nominal_at)
{
    struct job job = {.id = id,
                      .task_id = TASK,
                      .tenant = PLAY_TENANT,
                      .state = JOB_SUCCESS,
                      .trigger = nominal_at ? TRIGGER_SCHEDULE : TRIGGER_RUN,
                      .scheduled_at = scheduled_at,
                      .nominal_at = nominal_at,
                      .attempts = 1,
                      .token = 1};
    struct store_new item = {.jobs = &job, .job_count = 1};
    struct store_add add = {.now_ms = play->now.wall_ms, .items = &item, .count = 1};
    store_op_init(&add.op, STORE_ADD, NULL);
    store_call(play->store.memory, &add.op);
    assert_int_equal(item.err, ERR_OK);
    store_op_done(&add.op);
}

static void a_run_is_found_behind_many_that_came_later(void **state)
{
    enum { RUNS = 2500 }; // more than are read at once
    struct play *play = play_with(INSTANTS, 0);
    int64_t instant = play->now.wall_ms - 2 * HOUR_MS;
    for (int i = 0; i < RUNS; i++)
        add_ended(play, BULK + i, play->now.wall_ms, 0);
    add_ended(play, BULK + RUNS, instant, instant);
    pass(play, 3000);
    assert_int_equal(row_of(play, BULK).matched, INSTANTS - 1);
    assert_int_equal(row_of(play, BULK).changed, INSTANTS - 1);
    play_free(play);
}

static void other_bulks_do_not_wait_for_it(void **state)
{
    struct play *play = play_with(1, 0);
    int64_t id = play_add(play, (struct play_job){.queue = "a", .state = JOB_DELAYED, .due_at = play->now.wall_ms + HOUR_MS});
    pass(play, 2000);
    put_row(play, (struct store_bulk_row){.id = BULK + 1,
                                          .tenant = PLAY_TENANT,
                                          .created_at = play->now.wall_ms,
                                          .next = {INT64_MAX, INT64_MAX},
                                          .doc = STR("{\"action\":\"cancel\",\"filter\":{\"queue\":\"a\"}}")});
    bulk_poke(play->flow->bulk);
    pass(play, 2000);
    assert_int_equal(row_of(play, BULK + 1).state, STORE_BULK_DONE);
    assert_int_equal(play_job_of(play, id).state, JOB_CANCELLED);
    assert_int_equal(row_of(play, BULK).state, STORE_BULK_RUNNING);
    play_free(play);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(so_many_run_at_once_as_may_and_each_instant_runs_once),
        cmocka_unit_test(the_next_runs_when_one_has_ended_here_and_not_with_the_next_look),
        cmocka_unit_test(it_is_done_when_the_last_has_ended),
        cmocka_unit_test(jobs_whose_addition_was_not_heard_of_are_found),
        cmocka_unit_test(what_could_not_be_read_or_added_is_tried_again),
        cmocka_unit_test(a_write_that_was_not_heard_of_counts_nothing_twice),
        cmocka_unit_test(one_that_is_stopped_adds_no_more),
        cmocka_unit_test(jobs_that_were_added_while_it_was_stopped_count),
        cmocka_unit_test(what_another_is_at_is_left_to_it_as_long_as_it_lives),
        cmocka_unit_test(a_run_is_found_behind_many_that_came_later),
        cmocka_unit_test(other_bulks_do_not_wait_for_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

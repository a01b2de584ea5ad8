// Recur: what is in time goes on at once, all else when its plan was read; what a plan says is done, whatever the store does.
#include "support/play.h"

#include "base/mem.h"
#include "store/plans.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { EVERY_S = 10, TURN_MS = 100 };

struct recur_world {
    struct play *play;
    struct zones *zones;
    int64_t task_id, began;
    struct events_at heard; // the first event that is counted
};

static void ignore(struct admission *admission)
{
}

// Adds a task, and returns its id.
static int64_t add_task(struct recur_world *world, const char *doc)
{
    struct admission admission;
    struct arena arena;
    struct task task;
    struct problem problem;
    char why[ERR_WHY_MAX];
    arena_init(&arena);
    admission_init(&admission, PLAY_TENANT, 1);
    admission.done = ignore;
    assert_true(task_read(&task, str_of(doc), &arena, why));
    assert_int_equal(admission_add(&admission, &task, str_of(doc), NULL, world->play->now.wall_ms, &problem), ERR_OK);
    assert_int_equal(admit_submit(world->play->flow->admit, &admission, world->play->now), ERR_OK);
    int64_t id = admission.tasks[0].id;
    admission_done(&admission);
    arena_done(&arena);
    return id;
}

// A task that runs every ten seconds.
static struct recur_world begin(const char *doc)
{
    struct recur_world world = {.zones = zones_new(NULL)};
    world.play = play_new((struct play_config){.zones = world.zones});
    world.began = world.play->now.wall_ms;
    world.task_id = add_task(&world, doc);
    return world;
}

static void end(struct recur_world *world)
{
    play_free(world->play);
    zones_free(world->zones);
}

// Turns on until so many seconds after the beginning.
static void turn_until(struct recur_world *world, int64_t seconds)
{
    struct play *play = world->play;
    while (play->now.wall_ms < world->began + seconds * 1000) {
        play_pass(play, TURN_MS);
        play_live(play);
        play_turn(play);
    }
}

// Nothing turns until so many seconds after the beginning: the process was asleep.
static void sleep_until(struct recur_world *world, int64_t seconds)
{
    play_pass(world->play, world->began + seconds * 1000 - world->play->now.wall_ms);
    play_live(world->play);
    play_turn(world->play);
}

// The job of the so manieth instant; .id is 0 if there is none. There are never two.
static struct job job_of(struct recur_world *world, int number)
{
    struct store_get get = {.tenant = PLAY_TENANT, .task_id = world->task_id, .max_jobs = 100};
    struct job found = {0};
    store_op_init(&get.op, STORE_GET, NULL);
    store_call(world->play->store.memory, &get.op);
    for (size_t i = 0; i < get.job_count; i++) {
        if (get.jobs[i].nominal_at != world->began + (int64_t)number * EVERY_S * 1000)
            continue;
        assert_int_equal(found.id, 0);
        found = get.jobs[i];
    }
    store_op_done(&get.op);
    return found;
}

static bool runs(struct recur_world *world, int number)
{
    return play_running(world->play, job_of(world, number).id) != NULL;
}

static void answer_all(struct recur_world *world, int verb)
{
    world->play->store.hold[verb] = false;
    for (struct store_op *op; (op = play_waiting(world->play, verb));)
        play_answer(world->play, op);
    play_turn(world->play);
}

// ---- in time

static void a_job_in_time_runs_while_its_plan_is_being_written(void **state)
{
    struct recur_world world = begin("{\"url\":\"http://h/\",\"every\":\"10s\"}");
    assert_int_not_equal(job_of(&world, 5).id, 0);
    world.play->store.hold[STORE_PLAN] = true;
    turn_until(&world, 10);
    assert_true(runs(&world, 1));
    assert_int_equal(job_of(&world, 6).id, 0);
    answer_all(&world, STORE_PLAN);
    assert_int_equal(job_of(&world, 6).state, JOB_DELAYED);
    end(&world);
}

static size_t plans_in(struct store_op *op)
{
    return container_of(op, struct store_plan, op)->count;
}

static void picks_that_follow_each_other_closely_share_a_write_of_their_plans(void **state)
{
    struct recur_world world = begin("{\"url\":\"http://h/\",\"every\":\"10s\"}");
    for (int i = 1; i < 8; i++) {
        if (i >= 5)
            play_pass(world.play, 1); // the last three are due a millisecond after the one before
        add_task(&world, "{\"url\":\"http://h/\",\"every\":\"10s\"}");
    }
    turn_until(&world, 9);
    world.play->store.hold[STORE_PLAN] = true;
    while (world.play->now.wall_ms < world.began + 10100) {
        play_pass(world.play, 1);
        play_live(world.play);
        play_turn(world.play);
    }
    struct store_op *first = play_waiting(world.play, STORE_PLAN);
    assert_int_equal(plans_in(first), 5);
    play_answer(world.play, first);
    assert_int_equal(plans_in(play_waiting(world.play, STORE_PLAN)), 3);
    answer_all(&world, STORE_PLAN);
    end(&world);
}

static void a_plan_that_could_not_be_written_is_looked_at(void **state)
{
    struct recur_world world = begin("{\"url\":\"http://h/\",\"every\":\"10s\"}");
    world.play->store.hold[STORE_PLAN] = true;
    turn_until(&world, 10);
    world.play->store.hold[STORE_PLAN] = false;
    play_refuse(world.play, play_waiting(world.play, STORE_PLAN), ERR_STORE_UNAVAILABLE);
    turn_until(&world, 11);
    assert_int_not_equal(job_of(&world, 6).id, 0);
    assert_int_equal(job_of(&world, 7).id, 0);
    end(&world);
}

static void a_plan_whose_answer_was_lost_is_not_carried_on_twice(void **state)
{
    struct recur_world world = begin("{\"url\":\"http://h/\",\"every\":\"10s\"}");
    world.play->store.hold[STORE_PLAN] = true;
    turn_until(&world, 10);
    world.play->store.hold[STORE_PLAN] = false;
    play_lose(world.play, play_waiting(world.play, STORE_PLAN));
    turn_until(&world, 11);
    assert_int_not_equal(job_of(&world, 6).id, 0);
    assert_int_equal(job_of(&world, 7).id, 0);
    end(&world);
}

// ---- late

static void a_job_that_was_missed_is_skipped_or_runs_as_its_rule_says(void **state)
{
    struct recur_world skips = begin("{\"url\":\"http://h/\",\"every\":\"10s\",\"misfire\":\"skip\"}");
    sleep_until(&skips, 17);
    turn_until(&skips, 18);
    assert_int_equal(job_of(&skips, 1).state, JOB_CANCELLED);
    assert_int_equal(skips.play->exec.started, 0);
    assert_int_not_equal(job_of(&skips, 6).id, 0);
    end(&skips);
    struct recur_world late = begin("{\"url\":\"http://h/\",\"every\":\"10s\",\"misfire\":\"one\"}");
    sleep_until(&late, 17);
    turn_until(&late, 18);
    assert_true(runs(&late, 1));
    assert_int_not_equal(job_of(&late, 6).id, 0);
    end(&late);
}

// ---- overlap

static void a_job_is_skipped_while_another_runs(void **state)
{
    struct recur_world world = begin("{\"url\":\"http://h/\",\"every\":\"10s\",\"overlap\":\"skip\"}");
    turn_until(&world, 21);
    assert_true(runs(&world, 1));
    assert_int_equal(job_of(&world, 2).state, JOB_CANCELLED);
    play_end(world.play, job_of(&world, 1).id, OUTCOME_SUCCESS);
    turn_until(&world, 31);
    assert_true(runs(&world, 3));
    end(&world);
}

static void a_queued_job_is_let_go_when_the_one_before_ends(void **state)
{
    struct recur_world world = begin("{\"url\":\"http://h/\",\"every\":\"10s\",\"overlap\":\"queue\"}");
    turn_until(&world, 21);
    assert_int_equal(job_of(&world, 2).state, JOB_BLOCKED);
    play_end(world.play, job_of(&world, 1).id, OUTCOME_SUCCESS);
    turn_until(&world, 22);
    assert_true(runs(&world, 2));
    end(&world);
}

// The last job of a schedule has none that follows it and would let it go.
static void the_last_queued_job_is_let_go_though_the_look_for_it_was_lost(void **state)
{
    struct recur_world world = begin("{\"url\":\"http://h/\",\"every\":\"10s\",\"overlap\":\"queue\",\"max_runs\":2}");
    turn_until(&world, 21);
    assert_int_equal(job_of(&world, 2).state, JOB_BLOCKED);
    int64_t first = job_of(&world, 1).id;
    world.play->store.fails[STORE_GET] = ERR_STORE_UNAVAILABLE; // the command that lets it go fails
    play_end(world.play, first, OUTCOME_SUCCESS);
    turn_until(&world, 22);
    assert_int_equal(job_of(&world, 2).state, JOB_BLOCKED);
    world.play->store.fails[STORE_GET] = ERR_OK;
    turn_until(&world, 45);
    assert_true(runs(&world, 2));
    end(&world);
}

static void a_job_takes_the_place_of_the_one_that_runs(void **state)
{
    struct recur_world world = begin("{\"url\":\"http://h/\",\"every\":\"10s\",\"overlap\":\"cancel\"}");
    turn_until(&world, 21);
    assert_int_equal(job_of(&world, 1).state, JOB_CANCELLED);
    assert_true(runs(&world, 2));
    end(&world);
}

// The plan says that a job is active of which the store knows nothing.
static void make_active(struct recur_world *world, int64_t job_id)
{
    struct store_plans read = {.ids = &world->task_id, .id_count = 1};
    store_op_init(&read.op, STORE_PLANS, NULL);
    store_call(world->play->store.memory, &read.op);
    struct plan plan = *read.tasks[0].plan;
    plan.active = &job_id;
    plan.active_count = 1;
    struct store_planned item = {.from = plan.planned_through, .plan = &plan};
    struct store_plan write = {.items = &item, .count = 1};
    store_op_init(&write.op, STORE_PLAN, NULL);
    store_call(world->play->store.memory, &write.op);
    assert_int_equal(item.err, ERR_OK);
    store_op_done(&write.op);
    store_op_done(&read.op);
}

static void a_job_that_is_gone_keeps_others_from_running_once_at_most(void **state)
{
    struct recur_world skips = begin("{\"url\":\"http://h/\",\"every\":\"10s\",\"overlap\":\"skip\"}");
    make_active(&skips, 12345);
    turn_until(&skips, 21);
    assert_int_equal(job_of(&skips, 1).state, JOB_CANCELLED);
    assert_true(runs(&skips, 2));
    turn_until(&skips, 41); // that one is there
    assert_int_equal(job_of(&skips, 3).state, JOB_CANCELLED);
    assert_int_equal(job_of(&skips, 4).state, JOB_CANCELLED);
    end(&skips);
    struct recur_world queues = begin("{\"url\":\"http://h/\",\"every\":\"10s\",\"overlap\":\"queue\"}");
    make_active(&queues, 12345);
    turn_until(&queues, 12);
    assert_true(runs(&queues, 1));
    turn_until(&queues, 22);
    assert_int_equal(job_of(&queues, 2).state, JOB_BLOCKED);
    end(&queues);
}

// ---- failures

static void listen(struct recur_world *world)
{
    events_listen(world->play->node->events);
    world->heard = events_end(world->play->node->events);
}

// How many events of this type were emitted since somebody listens.
static int count_events(struct recur_world *world, enum event_type type)
{
    struct events_filter filter = {.tenant = PLAY_TENANT, .types = 1U << type};
    struct events_at at = world->heard;
    char text[16384], name[64];
    size_t n = 0, piece;
    int count = 0;
    while (events_read(world->play->node->events, &filter, &at, text + n, sizeof text - 1 - n, &piece) == EVENT_SOME)
        n += piece;
    text[n] = 0;
    snprintf(name, sizeof name, "event: %s\n", events_type_text(type));
    for (const char *found = text; (found = strstr(found, name)); found++)
        count++;
    return count;
}

// Lets the jobs of the instants from `first` to `last` end like this.
static void end_runs(struct recur_world *world, int first, int last, enum job_outcome outcome)
{
    for (int i = first; i <= last; i++) {
        turn_until(world, (int64_t)i * EVERY_S + 1);
        play_end(world->play, job_of(world, i).id, outcome);
        turn_until(world, (int64_t)i * EVERY_S + 2);
    }
}

static bool is_paused(struct recur_world *world)
{
    return count_events(world, EVENT_TASK_PAUSED) > 0;
}

static void a_warning_comes_once_before_a_schedule_pauses_itself(void **state)
{
    struct recur_world world =
        begin("{\"url\":\"http://h/\",\"every\":\"10s\",\"retry\":{\"max\":0},\"pause_after_failures\":4}");
    listen(&world);
    end_runs(&world, 1, 1, OUTCOME_FAILED);
    assert_int_equal(count_events(&world, EVENT_SCHEDULE_FAILING), 0);
    end_runs(&world, 2, 3, OUTCOME_FAILED);
    assert_int_equal(count_events(&world, EVENT_SCHEDULE_FAILING), 1);
    end_runs(&world, 4, 4, OUTCOME_SUCCESS); // another row begins
    end_runs(&world, 5, 6, OUTCOME_FAILED);
    assert_int_equal(count_events(&world, EVENT_SCHEDULE_FAILING), 2);
    assert_false(is_paused(&world));
    end_runs(&world, 7, 8, OUTCOME_FAILED);
    assert_true(is_paused(&world));
    assert_int_equal(count_events(&world, EVENT_SCHEDULE_FAILING), 2);
    end(&world);
}

static void a_schedule_that_pauses_itself_with_the_first_failure_does_not_warn(void **state)
{
    struct recur_world world =
        begin("{\"url\":\"http://h/\",\"every\":\"10s\",\"retry\":{\"max\":0},\"pause_after_failures\":1}");
    listen(&world);
    end_runs(&world, 1, 1, OUTCOME_FAILED);
    assert_true(is_paused(&world));
    assert_int_equal(count_events(&world, EVENT_SCHEDULE_FAILING), 0);
    end(&world);
}

// ---- the store fails

static void a_job_waits_while_its_plan_cannot_be_read_or_written(void **state)
{
    static const int verbs[] = {STORE_PLANS, STORE_PLAN};
    for (size_t i = 0; i < array_count(verbs); i++) {
        struct recur_world world = begin("{\"url\":\"http://h/\",\"every\":\"10s\",\"overlap\":\"skip\"}");
        world.play->store.fails[verbs[i]] = ERR_STORE_UNAVAILABLE;
        turn_until(&world, 12);
        assert_int_equal(world.play->exec.started, 0);
        world.play->store.fails[verbs[i]] = ERR_OK;
        turn_until(&world, 13);
        assert_true(runs(&world, 1));
        assert_int_not_equal(job_of(&world, 6).id, 0);
        assert_int_equal(job_of(&world, 7).id, 0);
        end(&world);
    }
}

// ---- the end of a life

static void a_node_that_stops_gives_back_what_waits_for_its_plan(void **state)
{
    struct recur_world world = begin("{\"url\":\"http://h/\",\"every\":\"10s\",\"overlap\":\"skip\"}");
    world.play->store.hold[STORE_PLANS] = true;
    turn_until(&world, 11);
    assert_int_equal(job_of(&world, 1).state, JOB_WATCHING);
    flow_stop(world.play->flow);
    play_turn(world.play);
    assert_false(flow_drained(world.play->flow));
    answer_all(&world, STORE_PLANS);
    turn_until(&world, 12);
    assert_true(flow_drained(world.play->flow));
    assert_true(job_state_waiting(job_of(&world, 1).state));
    assert_int_equal(world.play->exec.started, 0);
    end(&world);
}

// I6
static void an_order_of_a_life_that_has_ended_does_not_go_on(void **state)
{
    struct recur_world world = begin("{\"url\":\"http://h/\",\"every\":\"10s\",\"overlap\":\"skip\"}");
    world.play->store.hold[STORE_PLANS] = true;
    turn_until(&world, 11);
    play_peer(world.play, PLAY_LIFE + 1);
    node_begin_life(world.play->node, PLAY_LIFE + 1, world.play->now.mono_ms + BEAT_ALIVE_MS);
    answer_all(&world, STORE_PLANS); // it is given back, and the new life may claim it
    const struct exec_attempt *attempt = play_running(world.play, job_of(&world, 1).id);
    assert_int_equal(world.play->exec.started, attempt != NULL);
    assert_true(!attempt || attempt->order->job.holder == PLAY_LIFE + 1);
    end(&world);
}

// Another may have taken the job meanwhile and run it, so its instant must not be skipped.
static void an_order_of_a_life_that_has_ended_is_not_decided_on(void **state)
{
    struct recur_world world = begin("{\"url\":\"http://h/\",\"every\":\"10s\",\"misfire\":\"skip\"}");
    turn_until(&world, 9);
    world.play->store.hold[STORE_PLANS] = true;
    sleep_until(&world, 18);
    play_peer(world.play, PLAY_LIFE + 1);
    node_begin_life(world.play->node, PLAY_LIFE + 1, world.play->now.mono_ms + BEAT_ALIVE_MS);
    world.play->store.hold[STORE_CLAIM] = true;
    answer_all(&world, STORE_PLANS);
    struct store_plans read = {.ids = &world.task_id, .id_count = 1};
    store_op_init(&read.op, STORE_PLANS, NULL);
    store_call(world.play->store.memory, &read.op);
    assert_int_equal(read.tasks[0].plan->skips.n, 0);
    store_op_done(&read.op);
    answer_all(&world, STORE_CLAIM);
    end(&world);
}

static void answered(struct command *op)
{
    *(bool *)op->ctx = true;
}

// The clock is set back meanwhile, so the time of the job is far again when its plan says that it runs.
static void a_job_that_is_cancelled_while_its_plan_is_read_ends_at_once(void **state)
{
    struct recur_world world = begin("{\"url\":\"http://h/\",\"every\":\"10s\",\"overlap\":\"skip\"}");
    bool done = false;
    world.play->store.hold[STORE_PLANS] = true;
    turn_until(&world, 11);
    struct command op = {
        .act = COMMAND_CANCEL, .tenant = PLAY_TENANT, .job_id = job_of(&world, 1).id, .done = answered, .ctx = &done};
    commands_submit(world.play->flow->commands, &op);
    play_turn(world.play);
    assert_false(done);
    world.play->now.wall_ms -= 600000;
    play_turn(world.play);
    answer_all(&world, STORE_PLANS);
    for (int i = 0; i < 20 && !done; i++) {
        play_pass(world.play, TURN_MS);
        play_live(world.play);
        play_turn(world.play);
    }
    assert_true(done);
    assert_int_equal(job_of(&world, 1).state, JOB_CANCELLED);
    assert_int_equal(world.play->exec.started, 0);
    end(&world);
}

// Whoever changes the task while the plan is read takes the job for one that begins. So it must not wait for its time in hand.
static void a_job_whose_time_is_far_again_when_its_plan_was_read_goes_back(void **state)
{
    struct recur_world world = begin("{\"url\":\"http://h/\",\"every\":\"10s\",\"overlap\":\"skip\"}");
    world.play->store.hold[STORE_PLANS] = true;
    turn_until(&world, 11);
    assert_int_equal(job_of(&world, 1).state, JOB_WATCHING);
    world.play->now.wall_ms -= 600000;
    play_turn(world.play);
    answer_all(&world, STORE_PLANS);
    for (int i = 0; i < 20; i++) {
        play_pass(world.play, TURN_MS);
        play_live(world.play);
        play_turn(world.play);
    }
    assert_true(job_state_waiting(job_of(&world, 1).state));
    assert_int_equal(world.play->exec.started, 0);
    end(&world);
}

// As who finds its holder dead writes it back.
static void lose(struct recur_world *world, int number)
{
    struct job job = job_of(world, number), was = job;
    struct job_step step;
    assert_int_equal(job_lose(&job, &(struct job_policy){.lost_max = JOB_LOST_MAX}, world->play->now.wall_ms, &step), ERR_OK);
    struct store_step one = store_step_from(&was, &job, &step);
    struct store_change change = {.steps = &one, .count = 1};
    store_op_init(&change.op, STORE_CHANGE, NULL);
    store_call(world->play->store.memory, &change.op);
    assert_int_equal(one.err, ERR_OK);
    store_op_done(&change.op);
}

static void a_job_whose_holder_died_between_its_skip_and_its_cancel_is_cancelled(void **state)
{
    struct recur_world world = begin("{\"url\":\"http://h/\",\"every\":\"10s\",\"misfire\":\"skip\"}");
    turn_until(&world, 9);
    world.play->store.fails[STORE_CHANGE] = ERR_STORE_UNAVAILABLE;
    sleep_until(&world, 18);
    turn_until(&world, 19);
    assert_int_equal(job_of(&world, 1).state, JOB_WATCHING);
    play_peer(world.play, PLAY_LIFE + 1);
    node_begin_life(world.play->node, PLAY_LIFE + 1, world.play->now.mono_ms + BEAT_ALIVE_MS);
    lose(&world, 1);
    assert_int_equal(job_of(&world, 1).attempts, 1); // nobody knows whether it had begun
    world.play->store.fails[STORE_CHANGE] = ERR_OK;
    turn_until(&world, 40);
    assert_int_equal(job_of(&world, 1).state, JOB_CANCELLED);
    end(&world);
}

static void nothing_is_planned_for_a_task_that_was_deleted_meanwhile(void **state)
{
    struct recur_world world = begin("{\"url\":\"http://h/\",\"every\":\"10s\",\"overlap\":\"queue\"}");
    bool done = false;
    struct command op = {
        .act = COMMAND_DELETE, .tenant = PLAY_TENANT, .task_id = world.task_id, .running = true, .done = answered, .ctx = &done};
    turn_until(&world, 11);
    world.play->store.hold[STORE_PLANS] = true;
    play_end(world.play, job_of(&world, 1).id, OUTCOME_SUCCESS);
    turn_until(&world, 12);
    commands_submit(world.play->flow->commands, &op);
    turn_until(&world, 14);
    assert_true(done);
    assert_int_equal(op.err, ERR_OK);
    answer_all(&world, STORE_PLANS);
    turn_until(&world, 25);
    assert_int_equal(world.play->exec.started, 1);
    assert_int_equal(job_of(&world, 6).id, 0);
    end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_in_time_runs_while_its_plan_is_being_written),
        cmocka_unit_test(picks_that_follow_each_other_closely_share_a_write_of_their_plans),
        cmocka_unit_test(a_plan_that_could_not_be_written_is_looked_at),
        cmocka_unit_test(a_plan_whose_answer_was_lost_is_not_carried_on_twice),
        cmocka_unit_test(a_job_that_was_missed_is_skipped_or_runs_as_its_rule_says),
        cmocka_unit_test(a_job_is_skipped_while_another_runs),
        cmocka_unit_test(a_queued_job_is_let_go_when_the_one_before_ends),
        cmocka_unit_test(the_last_queued_job_is_let_go_though_the_look_for_it_was_lost),
        cmocka_unit_test(a_job_takes_the_place_of_the_one_that_runs),
        cmocka_unit_test(a_job_that_is_gone_keeps_others_from_running_once_at_most),
        cmocka_unit_test(a_warning_comes_once_before_a_schedule_pauses_itself),
        cmocka_unit_test(a_schedule_that_pauses_itself_with_the_first_failure_does_not_warn),
        cmocka_unit_test(a_job_waits_while_its_plan_cannot_be_read_or_written),
        cmocka_unit_test(a_node_that_stops_gives_back_what_waits_for_its_plan),
        cmocka_unit_test(an_order_of_a_life_that_has_ended_does_not_go_on),
        cmocka_unit_test(an_order_of_a_life_that_has_ended_is_not_decided_on),
        cmocka_unit_test(a_job_that_is_cancelled_while_its_plan_is_read_ends_at_once),
        cmocka_unit_test(a_job_whose_time_is_far_again_when_its_plan_was_read_goes_back),
        cmocka_unit_test(a_job_whose_holder_died_between_its_skip_and_its_cancel_is_cancelled),
        cmocka_unit_test(nothing_is_planned_for_a_task_that_was_deleted_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// Commands that delete tasks: nothing of a deleted task begins, whatever it meets on the way.
#include "support/play_commands.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void a_deleted_task_is_gone_and_what_was_planned_of_it_never_runs(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t task = in_future(play, 60000);
    int64_t near = play_add(play, (struct play_job){.task_id = task, .state = JOB_DELAYED, .due_at = play->now.wall_ms + 3000});
    int64_t ended = play_add(play, (struct play_job){.task_id = task, .state = JOB_SUCCESS});
    play_turn(play);
    assert_int_equal(commands(play, COMMAND_DELETE, task, 0), ERR_OK);
    assert_true(play_gone(play, task) && play_gone(play, near) && play_gone(play, ended));
    assert_int_equal(commands(play, COMMAND_DELETE, task, 0), ERR_NOT_FOUND);
    pass_turning(play, 10000);
    assert_int_equal(play->exec.started, 0);
    play_free(play);
}

static void deleting_with_what_runs_ends_that_too(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct request request;
    int64_t id = play_add(play, (struct play_job){0});
    play_turn(play);
    ask(play, &request, COMMAND_DELETE, id, 0);
    request.op.running = true;
    play_turn(play);
    assert_true(request.done);
    assert_int_equal(request.op.err, ERR_OK);
    assert_null(play_running(play, id));
    assert_true(play_gone(play, id));
    play_free(play);
}

// However many steps it takes: reading all its jobs again for each of them would be too much.
static void a_task_with_very_many_jobs_is_read_once_to_be_deleted(void **state)
{
    enum { JOBS = 3500, STEP = 1000 };
    struct play *play = play_new((struct play_config){0});
    int64_t task = play_add(play, (struct play_job){.state = JOB_ABORTED});
    for (int i = 1; i < JOBS; i++)
        play_add(play, (struct play_job){.task_id = task, .state = JOB_ABORTED});
    play->store.hold[STORE_SWEEP] = true; // or retention would be faster
    assert_int_equal(commands(play, COMMAND_DELETE, task, 0), ERR_OK);
    assert_true(play_gone(play, task));
    assert_int_equal(play->store.count[STORE_GET], 1);
    assert_int_equal(play->store.count[STORE_REMOVE], (JOBS + STEP - 1) / STEP);
    play_free(play);
}

static void a_delete_that_goes_on_cancels_a_job_that_has_come_meanwhile(void **state)
{
    enum { JOBS = 1500 };
    struct play *play = play_new((struct play_config){0});
    struct request request;
    int64_t task = play_add(play, (struct play_job){.state = JOB_ABORTED});
    for (int i = 1; i < JOBS; i++)
        play_add(play, (struct play_job){.task_id = task, .state = JOB_ABORTED});
    play->store.hold[STORE_SWEEP] = true; // or retention would be faster
    play->store.hold[STORE_REMOVE] = true;
    ask(play, &request, COMMAND_DELETE, task, 0);
    play_turn(play);
    play_answer(play, play_waiting(play, STORE_REMOVE));
    play_turn(play);
    assert_non_null(play_waiting(play, STORE_REMOVE)); // the first step was done
    int64_t retry = play_add(play, (struct play_job){.task_id = task, .state = JOB_DELAYED, .due_at = play->now.wall_ms + 60000});
    play->store.hold[STORE_REMOVE] = false;
    play_answer(play, play_waiting(play, STORE_REMOVE));
    play_turn(play);
    assert_true(request.done);
    assert_int_equal(request.op.err, ERR_OK);
    assert_true(play_gone(play, task) && play_gone(play, retry));
    pass_turning(play, 70000);
    assert_int_equal(play->exec.started, 0);
    play_free(play);
}

static void a_delete_that_meets_a_new_job_cancels_that_too(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct request request;
    int64_t task = play_add(play, (struct play_job){.state = JOB_ABORTED});
    play->store.hold[STORE_SWEEP] = true; // or retention would be faster
    play->store.hold[STORE_REMOVE] = true;
    ask(play, &request, COMMAND_DELETE, task, 0);
    play_turn(play);
    struct store_op *remove = play_waiting(play, STORE_REMOVE);
    assert_non_null(remove);
    int64_t retry = play_add(play, (struct play_job){.task_id = task, .state = JOB_DELAYED, .due_at = play->now.wall_ms + 60000});
    play->store.hold[STORE_REMOVE] = false;
    play_answer(play, remove);
    play_turn(play);
    assert_true(request.done);
    assert_int_equal(request.op.err, ERR_OK);
    assert_true(play_gone(play, retry));
    pass_turning(play, 70000);
    assert_int_equal(play->exec.started, 0);
    play_free(play);
}

// Once its task is gone nobody could end it any more.
static void a_delete_with_what_runs_ends_what_began_before_it_was_written(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct request request;
    int64_t task = play_add(play, (struct play_job){.state = JOB_ABORTED});
    play->store.hold[STORE_SWEEP] = true; // or retention would be faster
    play->store.hold[STORE_REMOVE] = true;
    ask(play, &request, COMMAND_DELETE, task, 0);
    request.op.running = true;
    play_turn(play);
    struct store_op *remove = play_waiting(play, STORE_REMOVE);
    assert_non_null(remove); // all its jobs have ended
    int64_t retry = play_add(play, (struct play_job){.task_id = task});
    pass_turning(play, 2000);
    assert_int_equal(play_job_of(play, retry).state, JOB_RESERVED);
    play->store.hold[STORE_REMOVE] = false;
    play_answer(play, remove);
    play_turn(play);
    assert_true(request.done);
    assert_int_equal(request.op.err, ERR_OK);
    assert_null(play_running(play, retry));
    assert_true(play_gone(play, retry));
    play_free(play);
}

// Another deletes the task, too, and leaves alone what runs: that cannot be called ended.
static void a_delete_with_what_runs_that_comes_second_does_not_say_more_than_is_true(void **state)
{
    for (int runs = 0; runs < 2; runs++) {
        struct play *play = play_new((struct play_config){0});
        struct request first, second;
        int64_t task = play_add(play, (struct play_job){.state = JOB_ABORTED});
        play->store.hold[STORE_SWEEP] = true; // or retention would be faster
        play->store.hold[STORE_REMOVE] = true;
        ask(play, &second, COMMAND_DELETE, task, 0);
        second.op.running = true;
        play_turn(play);
        struct store_op *remove = play_waiting(play, STORE_REMOVE);
        assert_non_null(remove); // all its jobs have ended
        if (runs)
            play_add(play, (struct play_job){.task_id = task});
        pass_turning(play, 2000);
        play->store.hold[STORE_REMOVE] = false;
        ask(play, &first, COMMAND_DELETE, task, 0);
        play_turn(play);
        assert_true(first.done && !second.done);
        assert_int_equal(first.op.err, ERR_OK);
        play_answer(play, remove);
        play_turn(play);
        assert_true(second.done);
        assert_int_equal(second.op.err, ERR_NOT_FOUND); // nor is anything left that would tell whether something runs
        play_free(play);
    }
}

static void what_retention_removed_meanwhile_was_deleted_or_cancelled_all_the_same(void **state)
{
    static const struct {
        enum command_act act;
        enum store_verb next; // what is asked of the store after what was asked for has been written
    } cases[] = {{COMMAND_CANCEL, STORE_GET}, {COMMAND_DELETE, STORE_GET}, {COMMAND_DELETE, STORE_REMOVE}};
    for (size_t i = 0; i < array_count(cases); i++) {
        struct play *play = play_new((struct play_config){0});
        struct request request;
        int64_t id = play_add(play, (struct play_job){.doc = "{\"url\":\"http://h/\",\"ttl\":\"0s\"}",
                                                      .state = JOB_DELAYED,
                                                      .due_at = play->now.wall_ms + 60000});
        play->store.hold[STORE_CHANGE] = true;
        ask(play, &request, cases[i].act, id, 0);
        play_turn(play);
        play->store.hold[cases[i].next] = true;
        play->store.hold[STORE_CHANGE] = false;
        play_answer(play, play_waiting(play, STORE_CHANGE));
        play_turn(play);
        struct store_op *next = play_waiting(play, cases[i].next);
        assert_non_null(next);
        for (int j = 0; j < 5; j++) {
            play_pass(play, 1000);
            play_live(play);
            play_turn(play);
        }
        play->store.hold[cases[i].next] = false;
        assert_true(play_gone(play, id));
        play_answer(play, next);
        play_turn(play);
        assert_true(request.done);
        assert_int_equal(request.op.err, ERR_OK);
        play_free(play);
    }
}

static void a_store_that_fails_is_said_when_a_task_is_changed(void **state)
{
    static const enum command_act acts[] = {COMMAND_PAUSE, COMMAND_PATCH, COMMAND_DELETE};
    struct play *play = play_new((struct play_config){0});
    int64_t id = in_future(play, 60000);
    play->store.fails[STORE_AMEND] = play->store.fails[STORE_REMOVE] = ERR_STORE_UNAVAILABLE;
    for (size_t i = 0; i < array_count(acts); i++) {
        struct request request;
        ask(play, &request, acts[i], id, 0);
        request.op.patch = (struct json){JSON_OBJECT, STR("{\"name\":\"n\"}")};
        play_turn(play);
        assert_true(request.done);
        assert_int_equal(request.op.err, ERR_STORE_UNAVAILABLE);
        assert_true(commands_idle(play->flow->commands));
    }
    play_free(play);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_deleted_task_is_gone_and_what_was_planned_of_it_never_runs),
        cmocka_unit_test(deleting_with_what_runs_ends_that_too),
        cmocka_unit_test(a_task_with_very_many_jobs_is_read_once_to_be_deleted),
        cmocka_unit_test(a_delete_that_goes_on_cancels_a_job_that_has_come_meanwhile),
        cmocka_unit_test(a_delete_that_meets_a_new_job_cancels_that_too),
        cmocka_unit_test(a_delete_with_what_runs_ends_what_began_before_it_was_written),
        cmocka_unit_test(a_delete_with_what_runs_that_comes_second_does_not_say_more_than_is_true),
        cmocka_unit_test(what_retention_removed_meanwhile_was_deleted_or_cancelled_all_the_same),
        cmocka_unit_test(a_store_that_fails_is_said_when_a_task_is_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// Commands about jobs: a confirmed cancel means that no new attempt begins, wherever the job was; what cannot be done is said.
#include "support/play_commands.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void a_job_that_waits_in_its_lane_is_cancelled(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t id = in_future(play, 60000);
    assert_int_equal(commands(play, COMMAND_CANCEL, id, 0), ERR_OK);
    assert_cancelled(play, id);
    play_free(play);
}

static void a_job_in_the_wheel_is_cancelled(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t id = in_future(play, 3000);
    play_turn(play);
    assert_int_equal(play_job_of(play, id).state, JOB_WATCHING);
    assert_int_equal(commands(play, COMMAND_CANCEL, 0, id), ERR_OK);
    assert_int_equal(play_job_of(play, id).attempts, 0);
    assert_cancelled(play, id);
    play_free(play);
}

static void a_job_that_waits_for_a_slot_is_cancelled(void **state)
{
    struct play *play = play_new((struct play_config){.slots = 1});
    int64_t first = play_add(play, (struct play_job){0}), id = play_add(play, (struct play_job){0});
    play_turn(play);
    assert_non_null(play_running(play, first));
    assert_int_equal(commands(play, COMMAND_CANCEL, id, 0), ERR_OK);
    assert_int_equal(play_job_of(play, id).attempts, 0);
    play_end(play, first, OUTCOME_SUCCESS);
    play_turn(play);
    assert_cancelled(play, id);
    play_free(play);
}

static void a_job_that_runs_is_ended_and_cancelled(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t id = play_add(play, (struct play_job){0});
    play_turn(play);
    assert_non_null(play_running(play, id));
    assert_int_equal(commands(play, COMMAND_CANCEL, id, 0), ERR_OK);
    assert_null(play_running(play, id));
    assert_int_equal(play_job_of(play, id).attempts, 1);
    assert_int_equal(play_attempts_of(play, id), 1);
    assert_cancelled(play, id);
    play_free(play);
}

static void a_job_whose_claim_is_on_its_way_is_cancelled(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t id = play_add(play, (struct play_job){0});
    struct store_op *claim = claim_on_its_way(play);
    assert_int_equal(commands(play, COMMAND_CANCEL, id, 0), ERR_OK);
    play->store.hold[STORE_CLAIM] = false;
    play_deliver(play, claim);
    play_turn(play);
    assert_int_equal(play->exec.started, 0);
    assert_cancelled(play, id);
    play_free(play);
}

static void a_job_in_another_hand_is_cancelled_by_that_hand(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct request request;
    enum store_request_kind kind;
    play_peer(play, OTHER);
    int64_t id = play_add(play, (struct play_job){.state = JOB_WATCHING, .holder = OTHER});
    ask(play, &request, COMMAND_CANCEL, id, 0);
    pass_turning(play, 1000);
    assert_false(request.done); // only its holder knows what becomes of it
    assert_int_equal(asked_of_other(play, &kind), id);
    assert_int_equal(kind, STORE_REQUEST_CANCEL);
    assert_int_equal(play_job_of(play, id).state, JOB_WATCHING);
    pass_turning(play, 3000);
    assert_int_equal(asked_of_other(play, &kind), id); // a request may get lost: it is asked again
    cancel_as_other(play, id);
    pass_turning(play, 600);
    assert_true(request.done);
    assert_int_equal(request.op.err, ERR_OK);
    play_free(play);
}

// Somebody changes the task; what its other node has in hand is left as it is.
static void change_task(struct play *play, int64_t id)
{
    struct store_get get = {.tenant = PLAY_TENANT, .task_id = id, .max_jobs = 1};
    store_op_init(&get.op, STORE_GET, NULL);
    store_call(play->store.memory, &get.op);
    struct store_amend amend = {.task = get.task};
    amend.task.paused = true;
    store_op_init(&amend.op, STORE_AMEND, NULL);
    store_call(play->store.memory, &amend.op);
    assert_int_equal(amend.op.err, ERR_OK);
    store_op_done(&amend.op);
    store_op_done(&get.op);
}

static void ask_for_first_version(struct play *play, struct request *request, enum command_act act, int64_t id)
{
    ask(play, request, act, id, 0);
    request->version = 1;
    request->op.versions = &request->version;
    request->op.version_count = 1;
}

static void a_cancel_that_another_hand_carried_out_is_confirmed_though_the_task_changed_meanwhile(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct request request;
    enum store_request_kind kind;
    play_peer(play, OTHER);
    int64_t id = play_add(play, (struct play_job){.state = JOB_WATCHING, .holder = OTHER});
    ask_for_first_version(play, &request, COMMAND_CANCEL, id);
    pass_turning(play, 200);
    assert_int_equal(asked_of_other(play, &kind), id);
    change_task(play, id);
    cancel_as_other(play, id);
    pass_turning(play, 600);
    assert_true(request.done);
    assert_int_equal(request.op.err, ERR_OK);
    play_free(play);
}

static void a_cancel_that_this_hand_carried_out_is_confirmed_though_the_task_changed_meanwhile(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct request request;
    int64_t id = play_add(play, (struct play_job){.state = JOB_READY});
    play_turn(play);
    assert_int_equal(play->exec.started, 1);
    play->store.hold[STORE_CHANGE] = true;
    ask_for_first_version(play, &request, COMMAND_CANCEL, id);
    pass_turning(play, 100);
    change_task(play, id);
    play->store.hold[STORE_CHANGE] = false;
    for (struct store_op *held; (held = play_waiting(play, STORE_CHANGE));)
        play_answer(play, held);
    pass_turning(play, 600);
    assert_true(request.done);
    assert_int_equal(request.op.err, ERR_OK);
    assert_int_equal(play_job_of(play, id).state, JOB_CANCELLED);
    play_free(play);
}

static void a_cancel_of_which_nothing_was_done_is_refused_when_the_task_has_changed(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct request request;
    int64_t id = in_future(play, 60000);
    change_task(play, id);
    ask_for_first_version(play, &request, COMMAND_CANCEL, id);
    pass_turning(play, 100);
    assert_true(request.done);
    assert_int_equal(request.op.err, ERR_VERSION_MISMATCH);
    assert_int_equal(play_job_of(play, id).state, JOB_DELAYED);
    play_free(play);
}

static void each_job_in_another_hand_is_asked_for_without_delay(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct request request;
    enum store_request_kind kind;
    play_peer(play, OTHER);
    int64_t task = play_add(play, (struct play_job){.state = JOB_WATCHING, .holder = OTHER});
    play_add(play, (struct play_job){.state = JOB_WATCHING, .holder = OTHER, .task_id = task});
    ask(play, &request, COMMAND_CANCEL, task, 0);
    for (int i = 0; i < 2; i++) {
        pass_turning(play, 600);
        int64_t id = asked_of_other(play, &kind);
        assert_int_not_equal(id, 0);
        cancel_as_other(play, id);
    }
    pass_turning(play, 600);
    assert_true(request.done);
    assert_int_equal(request.op.err, ERR_OK);
    play_free(play);
}

static void a_job_whose_holder_died_is_cancelled_when_it_is_taken_back(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct request request;
    play_peer(play, OTHER);
    int64_t id = play_add(play, (struct play_job){.state = JOB_WATCHING, .holder = OTHER});
    ask(play, &request, COMMAND_CANCEL, id, 0);
    pass_turning(play, 25000);
    assert_true(request.done);
    assert_int_equal(request.op.err, ERR_OK);
    assert_cancelled(play, id);
    play_free(play);
}

static void who_waits_for_another_node_gives_up_after_a_while_or_when_it_stops(void **state)
{
    struct play *play = play_new((struct play_config){0});
    play_peer(play, OTHER);
    int64_t id = play_add(play, (struct play_job){.state = JOB_WATCHING, .holder = OTHER});
    assert_given_up(play, id, COMMAND_CANCEL, COMMAND_CANCEL, 100);
    play_free(play);
}

static void a_run_by_hand_of_a_job_in_another_hand_is_asked_of_that_hand(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct request request;
    enum store_request_kind kind;
    play_peer(play, OTHER);
    int64_t id = play_add(play, (struct play_job){.state = JOB_WATCHING, .holder = OTHER, .due_at = play->now.wall_ms + 4000});
    ask(play, &request, COMMAND_RUN, id, 0);
    pass_turning(play, 200);
    assert_int_equal(asked_of_other(play, &kind), id);
    assert_int_equal(kind, STORE_REQUEST_RUN);
    assert_false(request.done);
    pass_turning(play, 4500); // its time has come anyway
    assert_true(request.done);
    assert_int_equal(request.op.err, ERR_OK);
    play_free(play);
}

static void a_cancel_that_meets_a_moving_record_begins_again(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t id = in_future(play, 60000);
    struct request first, second;
    play->store.hold[STORE_CHANGE] = true;
    ask(play, &first, COMMAND_CANCEL, id, 0);
    ask(play, &second, COMMAND_RUN, id, 0);
    play_turn(play);
    struct store_op *cancel = play_waiting(play, STORE_CHANGE);
    play_do(play, cancel);
    play->store.hold[STORE_CHANGE] = false;
    play_deliver(play, cancel);
    struct store_op *run = play_waiting(play, STORE_CHANGE);
    play_answer(play, run); // too late: its token is gone
    play_turn(play);
    assert_true(first.done && second.done);
    assert_int_equal(first.op.err, ERR_OK);
    assert_int_equal(second.op.err, ERR_ILLEGAL_TRANSITION);
    assert_cancelled(play, id);
    play_free(play);
}

static void two_cancels_of_one_running_job_are_both_confirmed(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t id = play_add(play, (struct play_job){0});
    struct request first, second;
    play_turn(play);
    ask(play, &first, COMMAND_CANCEL, id, 0);
    ask(play, &second, COMMAND_CANCEL, 0, id);
    play_turn(play);
    assert_true(first.done && second.done);
    assert_int_equal(first.op.err, ERR_OK);
    assert_int_equal(second.op.err, ERR_OK);
    assert_cancelled(play, id);
    play_free(play);
}

static void a_cancel_of_a_cancelled_one_is_fine_and_of_a_successful_one_is_refused(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t cancelled = in_future(play, 60000), successful = play_add(play, (struct play_job){0});
    play_turn(play);
    play_end(play, successful, OUTCOME_SUCCESS);
    play_turn(play);
    assert_int_equal(commands(play, COMMAND_CANCEL, cancelled, 0), ERR_OK);
    assert_int_equal(commands(play, COMMAND_CANCEL, cancelled, 0), ERR_OK);
    assert_int_equal(commands(play, COMMAND_CANCEL, 0, cancelled), ERR_OK);
    assert_int_equal(commands(play, COMMAND_CANCEL, successful, 0), ERR_ILLEGAL_TRANSITION);
    assert_int_equal(commands(play, COMMAND_CANCEL, 999, 0), ERR_NOT_FOUND);
    play_free(play);
}

static void a_task_with_many_open_jobs_is_cancelled_whole(void **state)
{
    enum { JOBS = 60 };
    struct play *play = play_new((struct play_config){0});
    int64_t task = in_future(play, 60000), jobs[JOBS];
    for (int i = 0; i < JOBS; i++) // some in the lane, some in hand
        jobs[i] = play_add(
            play, (struct play_job){.task_id = task, .state = JOB_DELAYED, .due_at = play->now.wall_ms + (i % 2 ? 60000 : 3000)});
    play_turn(play);
    assert_int_equal(commands(play, COMMAND_CANCEL, task, 0), ERR_OK);
    for (int i = 0; i < JOBS; i++)
        assert_int_equal(play_job_of(play, jobs[i]).state, JOB_CANCELLED);
    assert_cancelled(play, task);
    play_free(play);
}

static void what_was_cancelled_is_confirmed_even_if_a_newer_job_had_succeeded(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t task = play_add(play, (struct play_job){0});
    play_turn(play);
    play_end(play, task, OUTCOME_SUCCESS);
    play_turn(play);
    int64_t older = play_add(play, (struct play_job){.task_id = task, .due_at = play->now.wall_ms - 10});
    play_pass(play, 10);
    int64_t newer = play_add(play, (struct play_job){.task_id = task});
    lanes_due(play->lanes, 1, play->now.wall_ms - 100);
    play_turn(play);
    play_end(play, newer, OUTCOME_SUCCESS);
    play_turn(play);
    assert_non_null(play_running(play, older));
    assert_int_equal(commands(play, COMMAND_CANCEL, task, 0), ERR_OK);
    assert_cancelled(play, older);
    play_free(play);
}

static void a_run_by_hand_brings_a_planned_job_forward(void **state)
{
    struct play *play = play_new((struct play_config){.slots = 40});
    int64_t far = in_future(play, 3600000), near = in_future(play, 3000), due = play_add(play, (struct play_job){0});
    play_turn(play);
    assert_int_equal(commands(play, COMMAND_RUN, far, 0), ERR_OK);
    assert_int_equal(commands(play, COMMAND_RUN, near, 0), ERR_OK); // from out of the wheel
    assert_int_equal(commands(play, COMMAND_RUN, due, 0), ERR_OK);  // it runs already: nothing to do
    for (int i = 0; i < 10; i++) {
        play_pass(play, 100);
        play_turn(play);
    }
    assert_non_null(play_running(play, far));
    assert_non_null(play_running(play, near));
    assert_int_equal(play->exec.started, 3);
    play_free(play);
}

static void a_job_that_ran_by_hand_and_ended_before_the_answer_is_no_error(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t id = in_future(play, 3600000);
    struct request request;
    play_turn(play);
    play->store.hold[STORE_GET] = true;
    ask(play, &request, COMMAND_RUN, id, 0);
    play_turn(play);
    play_answer(play, play_waiting(play, STORE_GET));
    for (int i = 0; i < 10; i++) {
        play_turn(play);
        play_pass(play, 100);
    }
    assert_non_null(play_running(play, id));
    play_end(play, id, OUTCOME_SUCCESS);
    play_turn(play);
    assert_int_equal(play_job_of(play, id).state, JOB_SUCCESS);
    assert_false(request.done);
    play->store.hold[STORE_GET] = false;
    play_answer(play, play_waiting(play, STORE_GET));
    play_turn(play);
    assert_true(request.done);
    assert_int_equal(request.op.err, ERR_OK);
    play_free(play);
}

static void what_has_ended_cannot_be_run_but_retried(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t id = play_add(play, (struct play_job){0});
    play_turn(play);
    assert_int_equal(commands(play, COMMAND_RETRY, 0, id), ERR_ILLEGAL_TRANSITION); // it runs
    play_end(play, id, OUTCOME_SUCCESS);
    play_turn(play);
    assert_int_equal(commands(play, COMMAND_RUN, id, 0), ERR_ILLEGAL_TRANSITION);
    struct request request;
    ask(play, &request, COMMAND_RETRY, 0, id);
    play_turn(play);
    assert_true(request.done);
    assert_int_equal(request.op.err, ERR_OK);
    struct job job = play_job_of(play, request.op.new_job_id);
    assert_int_equal(job.parent_id, id);
    assert_int_equal(job.task_id, id);
    for (int i = 0; i < 10; i++) {
        play_pass(play, 100);
        play_turn(play);
    }
    assert_non_null(play_running(play, request.op.new_job_id));
    play_free(play);
}

static void a_store_that_fails_is_said_at_each_step(void **state)
{
    static const enum store_verb verbs[] = {STORE_GET, STORE_CHANGE};
    struct play *play = play_new((struct play_config){0});
    int64_t id = in_future(play, 60000);
    for (size_t i = 0; i < array_count(verbs); i++) {
        play->store.fails[verbs[i]] = ERR_STORE_UNAVAILABLE;
        assert_int_equal(commands(play, COMMAND_CANCEL, id, 0), ERR_STORE_UNAVAILABLE);
        play->store.fails[verbs[i]] = ERR_OK;
    }
    assert_int_equal(commands(play, COMMAND_CANCEL, id, 0), ERR_OK);
    play->store.fails[STORE_ADD] = ERR_STORAGE_FULL;
    assert_int_equal(commands(play, COMMAND_RETRY, 0, id), ERR_STORAGE_FULL);
    play_free(play);
}

static void no_id_is_made_before_this_node_has_joined(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t id = play_add(play, (struct play_job){.state = JOB_SUCCESS});
    struct request request;
    atomic_store(&play->node->incarnation, 0);
    ask(play, &request, COMMAND_RETRY, 0, id);
    for (int i = 0; i < 3; i++)
        commands_turn(play->flow->commands, play->now);
    assert_true(request.done);
    assert_int_equal(request.op.err, ERR_STORE_UNAVAILABLE);
    assert_int_equal(play->store.count[STORE_ADD], 0);
    play_free(play);
}

static void a_record_that_always_moves_is_given_up_after_a_while(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t id = in_future(play, 60000);
    struct request request;
    play->store.hold[STORE_CHANGE] = true;
    ask(play, &request, COMMAND_CANCEL, id, 0);
    int tries = 0;
    for (; tries < 100 && !request.done; tries++) {
        play_turn(play);
        struct store_op *op = play_waiting(play, STORE_CHANGE);
        if (!op)
            continue;
        container_of(op, struct store_change, op)->steps[0].token--; // somebody was faster
        play_answer(play, op);
    }
    assert_true(request.done && tries < 100);
    assert_int_equal(request.op.err, ERR_BUSY);
    play_free(play);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_that_waits_in_its_lane_is_cancelled),
        cmocka_unit_test(a_job_in_the_wheel_is_cancelled),
        cmocka_unit_test(a_job_that_waits_for_a_slot_is_cancelled),
        cmocka_unit_test(a_job_that_runs_is_ended_and_cancelled),
        cmocka_unit_test(a_job_whose_claim_is_on_its_way_is_cancelled),
        cmocka_unit_test(a_job_in_another_hand_is_cancelled_by_that_hand),
        cmocka_unit_test(a_cancel_that_another_hand_carried_out_is_confirmed_though_the_task_changed_meanwhile),
        cmocka_unit_test(a_cancel_that_this_hand_carried_out_is_confirmed_though_the_task_changed_meanwhile),
        cmocka_unit_test(a_cancel_of_which_nothing_was_done_is_refused_when_the_task_has_changed),
        cmocka_unit_test(each_job_in_another_hand_is_asked_for_without_delay),
        cmocka_unit_test(a_job_whose_holder_died_is_cancelled_when_it_is_taken_back),
        cmocka_unit_test(who_waits_for_another_node_gives_up_after_a_while_or_when_it_stops),
        cmocka_unit_test(a_run_by_hand_of_a_job_in_another_hand_is_asked_of_that_hand),
        cmocka_unit_test(a_cancel_that_meets_a_moving_record_begins_again),
        cmocka_unit_test(two_cancels_of_one_running_job_are_both_confirmed),
        cmocka_unit_test(a_cancel_of_a_cancelled_one_is_fine_and_of_a_successful_one_is_refused),
        cmocka_unit_test(a_task_with_many_open_jobs_is_cancelled_whole),
        cmocka_unit_test(what_was_cancelled_is_confirmed_even_if_a_newer_job_had_succeeded),
        cmocka_unit_test(a_run_by_hand_brings_a_planned_job_forward),
        cmocka_unit_test(a_job_that_ran_by_hand_and_ended_before_the_answer_is_no_error),
        cmocka_unit_test(what_has_ended_cannot_be_run_but_retried),
        cmocka_unit_test(a_store_that_fails_is_said_at_each_step),
        cmocka_unit_test(no_id_is_made_before_this_node_has_joined),
        cmocka_unit_test(a_record_that_always_moves_is_given_up_after_a_while),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

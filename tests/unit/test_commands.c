// Steering by hand: a confirmed cancel means that no new attempt begins, wherever the job was; what cannot be done is said.
#include "support/play.h"

#include "base/mem.h"
#include "store/jobs.h"
#include "store/peers.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct request {
    struct command op;
    int64_t version; // that it is meant for
    bool done;
};

static void done(struct command *op)
{
    struct request *request = container_of(op, struct request, op);
    assert_false(request->done);
    request->done = true;
}

static struct commands *merges_with; // played in one thread, as if it were another
static bool merges_later;            // when a test says so
static int merges;                   // how often it was asked for

static void merge(struct command *op)
{
    merges++;
    if (!merges_later)
        commands_merge(merges_with, op);
}

static void ask(struct play *play, struct request *request, enum command_act act, int64_t task_id, int64_t job_id)
{
    merges_with = play->flow->commands;
    merges = 0;
    *request = (struct request){
        .op = {.act = act, .tenant = PLAY_TENANT, .task_id = task_id, .job_id = job_id, .merge = merge, .done = done}};
    commands_submit(play->flow->commands, &request->op);
}

static enum err commands(struct play *play, enum command_act act, int64_t task_id, int64_t job_id)
{
    struct request request;
    ask(play, &request, act, task_id, job_id);
    play_turn(play);
    for (int ms = 0; ms < 1000 && !request.done; ms++) { // outcomes gather, so it takes its time if many are in hand
        play_pass(play, 1);
        play_turn(play);
    }
    assert_true(request.done);
    assert_true(commands_idle(play->flow->commands));
    return request.op.err;
}

static void assert_cancelled(struct play *play, int64_t id)
{
    assert_int_equal(play_job_of(play, id).state, JOB_CANCELLED);
    int started = play->exec.started;
    for (int i = 0; i < 20; i++) {
        play_pass(play, 1000);
        play_turn(play);
    }
    assert_int_equal(play->exec.started, started); // and it stays so
    assert_int_equal(pull_count(play->flow->pull), 0);
    assert_int_equal(lanes_held(play->lanes), 0);
}

static int64_t in_future(struct play *play, int64_t ms)
{
    return play_add(play, (struct play_job){.state = JOB_DELAYED, .due_at = play->now.wall_ms + ms});
}

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
    play->store.hold[STORE_CLAIM] = true;
    play_turn(play);
    struct store_op *claim = play_waiting(play, STORE_CLAIM);
    assert_non_null(claim);
    play_do(play, claim); // it is in this life's hand, which does not know yet
    assert_int_equal(commands(play, COMMAND_CANCEL, id, 0), ERR_OK);
    play->store.hold[STORE_CLAIM] = false;
    play_deliver(play, claim);
    play_turn(play);
    assert_int_equal(play->exec.started, 0);
    assert_cancelled(play, id);
    play_free(play);
}

enum { OTHER = 55 };

// What the other node was asked; 0: nothing. It is not told again.
static int64_t asked_of_other(struct play *play, enum store_request_kind *ret_wish)
{
    struct store_requests asked = {.holder = OTHER, .max = 10};
    store_op_init(&asked.op, STORE_REQUESTS, NULL);
    store_call(play->store.memory, &asked.op);
    int64_t id = asked.job_count ? asked.jobs[0].job_id : 0;
    if (id)
        *ret_wish = asked.jobs[0].kind;
    store_op_done(&asked.op);
    return id;
}

static void pass_turning(struct play *play, int64_t ms)
{
    for (; ms > 0; ms -= 50) {
        play_pass(play, 50);
        play_live(play);
        play_turn(play);
    }
}

// The other node gives the job back, or up, as its record then says.
static void other_writes(struct play *play, struct job job, int64_t token)
{
    struct store_step step = {.token = token, .job = &job};
    struct store_change change = {.steps = &step, .count = 1};
    store_op_init(&change.op, STORE_CHANGE, NULL);
    store_call(play->store.memory, &change.op);
    assert_int_equal(step.err, ERR_OK);
    store_op_done(&change.op);
}

static void cancel_as_other(struct play *play, int64_t id)
{
    struct job job = play_job_of(play, id);
    struct job_step step;
    struct job_policy policy = {.ttl_ms = -1};
    int64_t token = job.token;
    assert_int_equal(job_cancel(&job, &policy, play->now.wall_ms, STR("by hand"), &step), ERR_OK);
    other_writes(play, job, token);
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
    struct request patient, stopped;
    play_peer(play, OTHER);
    int64_t id = play_add(play, (struct play_job){.state = JOB_WATCHING, .holder = OTHER});
    ask(play, &patient, COMMAND_CANCEL, id, 0);
    for (int i = 0; i < 40; i++) { // it lives, and does not listen
        play_peer_beats(play, OTHER);
        pass_turning(play, 1000);
    }
    assert_true(patient.done);
    assert_int_equal(patient.op.err, ERR_BUSY);
    ask(play, &stopped, COMMAND_CANCEL, id, 0);
    pass_turning(play, 100);
    assert_false(stopped.done);
    atomic_store(&play->node->stopping, true);
    pass_turning(play, 100);
    assert_true(stopped.done);
    assert_int_equal(stopped.op.err, ERR_STOPPING);
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

// ---- tasks

static enum err patch(struct play *play, struct request *request, int64_t task_id, const char *text, int64_t version)
{
    char why[ERR_WHY_MAX];
    ask(play, request, COMMAND_PATCH, task_id, 0);
    request->version = version;
    request->op.versions = version ? &request->version : NULL;
    request->op.version_count = version ? 1 : 0;
    assert_int_equal(json_check(str_of(text), &request->op.patch, why), ERR_OK);
    play_turn(play);
    return request->done ? request->op.err : ERR_BUSY;
}

// What is stored of the task; its texts live in `get`.
static struct store_task task_of(struct play *play, struct store_get *get, int64_t id)
{
    *get = (struct store_get){.tenant = PLAY_TENANT, .task_id = id, .max_jobs = 10};
    store_op_init(&get->op, STORE_GET, NULL);
    store_call(play->store.memory, &get->op);
    return get->task; // zeros when there is none
}

static bool is_paused(struct play *play, int64_t id)
{
    struct store_get get;
    bool paused = task_of(play, &get, id).paused;
    store_op_done(&get.op);
    return paused;
}

static bool doc_has(struct play *play, int64_t id, const char *text)
{
    struct store_get get;
    struct str doc = task_of(play, &get, id).doc;
    bool has = doc.n && memmem(doc.p, doc.n, text, strlen(text));
    store_op_done(&get.op);
    return has;
}

static void assert_runs_soon(struct play *play, int64_t id)
{
    pass_turning(play, 1000);
    assert_non_null(play_running(play, id));
}

static void a_paused_task_begins_nothing_until_it_is_resumed(void **state)
{
    struct play *play = play_new((struct play_config){.slots = 40});
    int64_t near = in_future(play, 3000), far = in_future(play, 20000), due;
    play_turn(play);
    assert_int_equal(play_job_of(play, near).state, JOB_WATCHING);
    play_pause(play, "other", true);
    due = play_add(play, (struct play_job){.queue = "other"});
    int64_t tasks[] = {near, far, due};
    for (size_t i = 0; i < array_count(tasks); i++) {
        assert_int_equal(commands(play, COMMAND_PAUSE, tasks[i], 0), ERR_OK);
        assert_int_equal(commands(play, COMMAND_PAUSE, tasks[i], 0), ERR_OK); // again: nothing to do
        assert_true(is_paused(play, tasks[i]));
    }
    assert_int_equal(play_job_of(play, near).state, JOB_DELAYED); // it was called back
    play_pause(play, "other", false);
    pass_turning(play, 60000);
    assert_int_equal(play->exec.started, 0);
    for (size_t i = 0; i < array_count(tasks); i++)
        assert_int_equal(commands(play, COMMAND_RESUME, tasks[i], 0), ERR_OK);
    pass_turning(play, 1000);
    assert_int_equal(play->exec.started, 3); // although they had been put off for longer
    play_free(play);
}

static void resuming_does_not_bring_forward(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t id = in_future(play, 60000), due_at = play_job_of(play, id).due_at;
    assert_int_equal(commands(play, COMMAND_PAUSE, id, 0), ERR_OK);
    assert_int_equal(commands(play, COMMAND_RESUME, id, 0), ERR_OK);
    assert_int_equal(commands(play, COMMAND_RESUME, id, 0), ERR_OK); // again: nothing to do
    assert_int_equal(play_job_of(play, id).due_at, due_at);
    play_free(play);
}

static void what_runs_goes_on_when_its_task_is_paused_changed_or_deleted(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct request request;
    int64_t id = play_add(play, (struct play_job){0});
    play_turn(play);
    assert_int_equal(commands(play, COMMAND_PAUSE, id, 0), ERR_OK);
    assert_int_equal(patch(play, &request, id, "{\"name\":\"new\"}", 0), ERR_OK);
    ask(play, &request, COMMAND_DELETE, id, 0);
    play_turn(play);
    assert_false(request.done); // until it is written that it runs
    pass_turning(play, 1000);
    assert_true(request.done);
    assert_int_equal(request.op.err, ERR_OK);
    assert_non_null(play_running(play, id));
    play_end(play, id, OUTCOME_FAILED); // it had tries left, and that is its end
    for (int i = 0; i < 20; i++)
        pass_turning(play, 1000);
    assert_int_equal(play->exec.started, 1);
    assert_true(play_gone(play, id));
    play_free(play);
}

static void what_has_ended_is_neither_paused_nor_resumed_nor_changed(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct request request;
    int64_t id = play_add(play, (struct play_job){.state = JOB_SUCCESS});
    assert_int_equal(commands(play, COMMAND_PAUSE, id, 0), ERR_ILLEGAL_TRANSITION);
    assert_int_equal(commands(play, COMMAND_RESUME, id, 0), ERR_ILLEGAL_TRANSITION);
    assert_int_equal(patch(play, &request, id, "{\"priority\":1}", 0), ERR_ILLEGAL_TRANSITION);
    static const enum command_act acts[] = {COMMAND_PAUSE, COMMAND_RESUME, COMMAND_DELETE};
    for (size_t i = 0; i < array_count(acts); i++)
        assert_int_equal(commands(play, acts[i], 999, 0), ERR_NOT_FOUND);
    assert_int_equal(patch(play, &request, 999, "{\"priority\":1}", 0), ERR_NOT_FOUND);
    play_free(play);
}

static void a_paused_task_is_not_run_by_hand(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t id = in_future(play, 60000);
    assert_int_equal(commands(play, COMMAND_PAUSE, id, 0), ERR_OK);
    assert_int_equal(commands(play, COMMAND_RUN, id, 0), ERR_ILLEGAL_TRANSITION);
    play_free(play);
}

static void a_change_takes_the_job_in_the_wheel_with_it(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct request request;
    int64_t id = in_future(play, 3000);
    play_turn(play);
    assert_int_equal(patch(play, &request, id, "{\"url\":\"http://new/\",\"queue\":\"z\",\"priority\":9,\"in\":\"1s\"}", 1),
                     ERR_OK);
    struct job job = play_job_of(play, id);
    assert_int_equal(job.priority, 9);
    assert_int_equal(job.lane, play_lane(play, "z"));
    assert_int_equal(job.due_at, play->now.wall_ms + 1000);
    pass_turning(play, 2500);
    assert_true(str_is(play_running(play, id)->order->task.target.http.url, "http://new/"));
    play_free(play);
}

static void a_change_that_leaves_the_time_alone_does_not_delay(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct request request;
    int64_t id = in_future(play, 3000), due_at = play_job_of(play, id).due_at;
    play_turn(play);
    assert_int_equal(patch(play, &request, id, "{\"url\":\"http://new/\"}", 0), ERR_OK);
    assert_int_equal(play_job_of(play, id).due_at, due_at);
    pass_turning(play, 3000);
    assert_non_null(play_running(play, id));
    play_free(play);
}

// The document is looked at where there is time for it: this thread goes on meanwhile.
static void a_change_is_merged_by_who_asked_for_it_and_again_if_the_task_moved(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct request request;
    int64_t id = in_future(play, 60000);
    merges_later = true;
    assert_int_equal(patch(play, &request, id, "{\"name\":\"later\"}", 0), ERR_BUSY);
    pass_turning(play, 1000);
    assert_int_equal(merges, 1);
    assert_false(doc_has(play, id, "later"));

    struct request other;
    merges_later = false;
    assert_int_equal(patch(play, &other, id, "{\"tracing_id\":\"meanwhile\"}", 0), ERR_OK);
    merges = 0;
    commands_merge(play->flow->commands, &request.op);
    play_turn(play);
    assert_true(request.done);
    assert_int_equal(request.op.err, ERR_OK);
    assert_int_equal(merges, 1);
    assert_true(doc_has(play, id, "later") && doc_has(play, id, "meanwhile"));
    assert_true(commands_idle(play->flow->commands));
    play_free(play);
}

static void a_change_for_another_version_is_refused(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct request request;
    int64_t id = in_future(play, 60000);
    assert_int_equal(patch(play, &request, id, "{\"priority\":1}", 2), ERR_VERSION_MISMATCH);
    assert_int_equal(patch(play, &request, id, "{\"priority\":1}", 1), ERR_OK);
    assert_int_equal(patch(play, &request, id, "{\"priority\":2}", 1), ERR_VERSION_MISMATCH);
    assert_int_equal(patch(play, &request, id, "{\"priority\":2}", 2), ERR_OK);
    assert_int_equal(play_job_of(play, id).priority, 2);
    play_free(play);
}

static void a_change_that_is_refused_leaves_the_job_in_the_wheel(void **state)
{
    static const char *const patches[] = {"{\"prority\":1}", "{\"key\":\"k\"}", "{\"url\":null}",
                                          "{\"at\":\"2027-02-01T00:00:00Z\",\"not_after\":\"2027-01-31T00:00:00Z\"}"};
    struct play *play = play_new((struct play_config){0});
    int64_t id = in_future(play, 3000);
    play_turn(play);
    for (size_t i = 0; i < array_count(patches); i++) {
        struct request request;
        assert_int_not_equal(patch(play, &request, id, patches[i], 0), ERR_OK);
        assert_true(request.done);
        assert_int_equal(request.op.problem.err, request.op.err);
        assert_int_equal(play_job_of(play, id).state, JOB_WATCHING);
    }
    play_free(play);
}

// Between the reading and the writing somebody else was faster.
static void a_change_that_meets_a_claim_is_decided_anew(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct request request;
    int64_t id = play_add(play, (struct play_job){.state = JOB_DELAYED, .due_at = play->now.wall_ms + LANES_AHEAD_MS + 2000});
    play_turn(play);
    play->store.hold[STORE_AMEND] = true;
    assert_int_equal(patch(play, &request, id, "{\"url\":\"http://new/\",\"in\":\"2m\"}", 0), ERR_BUSY);
    struct store_op *amend = play_waiting(play, STORE_AMEND);
    assert_non_null(amend);
    pass_turning(play, 3000);
    assert_int_equal(play_job_of(play, id).state, JOB_WATCHING);
    play->store.hold[STORE_AMEND] = false;
    play_answer(play, amend);
    play_turn(play);
    assert_true(request.done);
    assert_int_equal(request.op.err, ERR_OK);
    assert_int_equal(play_job_of(play, id).state, JOB_DELAYED);
    assert_int_equal(play_job_of(play, id).due_at, play->now.wall_ms + 120000);
    assert_true(doc_has(play, id, "http://new/"));
    play_free(play);
}

// It ran when the task was read, and waits for its retry in the wheel, as it was, when the change is written.
static void a_change_that_meets_a_retry_calls_it_back(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct request request;
    int64_t id = play_add(play, (struct play_job){.doc = "{\"url\":\"http://h/\",\"retry\":{\"max\":1,\"delay\":\"4s\"}}"});
    pass_turning(play, 500);
    assert_int_equal(play_job_of(play, id).state, JOB_RESERVED);
    play->store.hold[STORE_AMEND] = true;
    assert_int_equal(patch(play, &request, id, "{\"url\":\"http://new/\"}", 1), ERR_BUSY);
    play_end(play, id, OUTCOME_FAILED);
    pass_turning(play, 200);
    struct job job = play_job_of(play, id);
    assert_int_equal(job.state, JOB_WATCHING);
    play->store.hold[STORE_AMEND] = false;
    play_answer(play, play_waiting(play, STORE_AMEND));
    pass_turning(play, 100);
    assert_true(request.done);
    assert_int_equal(request.op.err, ERR_OK);
    assert_int_equal(play_job_of(play, id).due_at, job.due_at);
    pass_turning(play, 4000);
    assert_non_null(play_running(play, id));
    assert_true(str_is(play_running(play, id)->order->task.target.http.url, "http://new/"));
    play_free(play);
}

// The store has the end of an attempt and the next claim of its job, and this node has heard of neither.
static void a_retry_that_was_claimed_before_its_failure_was_heard_of_follows_a_change(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct request request;
    int64_t id = play_add(play, (struct play_job){.doc = "{\"url\":\"http://h/\",\"retry\":{\"max\":1,\"delay\":\"8s\"}}"});
    pass_turning(play, 500);
    play->store.hold[STORE_CHANGE] = play->store.hold[STORE_CLAIM] = true;
    play_end(play, id, OUTCOME_FAILED);
    play_turn(play);
    struct store_op *end = play_waiting(play, STORE_CHANGE);
    play_do(play, end);
    lanes_due(play->lanes, play_job_of(play, id).lane, play_job_of(play, id).due_at); // as survey finds out
    while (!play_waiting(play, STORE_CLAIM))
        pass_turning(play, 50);
    struct store_op *claim = play_waiting(play, STORE_CLAIM);
    play_do(play, claim);
    assert_int_equal(play_job_of(play, id).state, JOB_WATCHING);
    assert_int_equal(patch(play, &request, id, "{\"url\":\"http://new/\"}", 0), ERR_BUSY);
    pass_turning(play, 200);
    assert_false(request.done); // what is in hand here is the attempt that failed
    play->store.hold[STORE_CHANGE] = play->store.hold[STORE_CLAIM] = false;
    play_deliver(play, end);
    play_deliver(play, claim);
    pass_turning(play, 1000);
    assert_true(request.done);
    assert_int_equal(request.op.err, ERR_OK);
    pass_turning(play, 8000);
    assert_non_null(play_running(play, id));
    assert_true(str_is(play_running(play, id)->order->task.target.http.url, "http://new/"));
    play_free(play);
}

static void what_is_being_given_back_is_waited_for(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct request pause, change;
    int64_t id = in_future(play, 3000);
    play_turn(play);
    play->store.hold[STORE_CHANGE] = true;
    ask(play, &pause, COMMAND_PAUSE, id, 0);
    play_turn(play);
    struct store_op *back = play_waiting(play, STORE_CHANGE);
    assert_non_null(back); // called back, but that is not written
    assert_int_equal(patch(play, &change, id, "{\"in\":\"1h\"}", 0), ERR_BUSY);
    assert_false(pause.done || change.done);
    play->store.hold[STORE_CHANGE] = false;
    play_answer(play, back);
    play_turn(play);
    assert_true(pause.done && change.done);
    assert_int_equal(change.op.err, ERR_OK);
    assert_int_equal(play_job_of(play, id).due_at, play->now.wall_ms + 3600000);
    play_free(play);
}

static void a_put_off_that_is_written_late_does_not_outlast_the_pause(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct request request;
    int64_t id = in_future(play, 20000);
    assert_int_equal(commands(play, COMMAND_PAUSE, id, 0), ERR_OK);
    play->store.hold[STORE_CHANGE] = true;
    pass_turning(play, 21000); // it was claimed, and is to be put off
    struct store_op *put_off = play_waiting(play, STORE_CHANGE);
    assert_non_null(put_off);
    ask(play, &request, COMMAND_RESUME, id, 0);
    play_turn(play);
    assert_false(request.done);
    play->store.hold[STORE_CHANGE] = false;
    play_answer(play, put_off);
    play_turn(play);
    assert_true(request.done);
    assert_int_equal(request.op.err, ERR_OK);
    assert_runs_soon(play, id);
    play_free(play);
}

static void a_job_whose_claim_is_on_its_way_is_called_back_when_it_has_come(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct request request;
    int64_t id = in_future(play, 4000);
    play->store.hold[STORE_CLAIM] = true;
    play_turn(play);
    struct store_op *claim = play_waiting(play, STORE_CLAIM);
    assert_non_null(claim);
    play_do(play, claim); // it is in this life's hand, which does not know yet
    ask(play, &request, COMMAND_DELETE, id, 0);
    pass_turning(play, 1000);
    assert_false(request.done);
    play->store.hold[STORE_CLAIM] = false;
    play_deliver(play, claim);
    pass_turning(play, 1000);
    assert_true(request.done);
    assert_int_equal(request.op.err, ERR_OK);
    assert_true(play_gone(play, id));
    pass_turning(play, 20000);
    assert_int_equal(play->exec.started, 0);
    play_free(play);
}

static void a_job_in_another_hand_is_called_back_by_that_hand(void **state)
{
    static const enum command_act acts[] = {COMMAND_PAUSE, COMMAND_PATCH, COMMAND_DELETE};
    for (size_t i = 0; i < array_count(acts); i++) {
        struct play *play = play_new((struct play_config){0});
        struct request request;
        enum store_request_kind kind;
        play_peer(play, OTHER);
        int64_t id =
            play_add(play, (struct play_job){.state = JOB_WATCHING, .holder = OTHER, .due_at = play->now.wall_ms + 9000});
        ask(play, &request, acts[i], id, 0);
        request.op.patch = (struct json){JSON_OBJECT, STR("{\"in\":\"1h\"}")};
        pass_turning(play, 500);
        assert_false(request.done);
        assert_int_equal(asked_of_other(play, &kind), id);
        assert_int_equal(kind, STORE_REQUEST_RECALL);
        struct job job = play_job_of(play, id);
        int64_t token = job.token;
        assert_int_equal(job_release(&job, play->now.wall_ms + 10000, play->now.wall_ms), ERR_OK);
        other_writes(play, job, token);
        pass_turning(play, 1100);
        assert_true(request.done);
        assert_int_equal(request.op.err, ERR_OK);
        assert_int_equal(play_gone(play, id), acts[i] == COMMAND_DELETE);
        play_free(play);
    }
}

static void what_is_due_in_another_hand_is_left_when_it_is_written_to_run(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct request request;
    play_peer(play, OTHER);
    int64_t id = play_add(play, (struct play_job){.state = JOB_WATCHING, .holder = OTHER});
    ask(play, &request, COMMAND_DELETE, id, 0);
    pass_turning(play, 2000);
    assert_false(request.done);
    struct job job = play_job_of(play, id);
    job.state = JOB_RESERVED;
    other_writes(play, job, job.token);
    pass_turning(play, 1000);
    assert_true(request.done);
    assert_int_equal(request.op.err, ERR_OK);
    assert_true(play_gone(play, id));
    play_free(play);
}

static void who_does_not_call_back_is_given_up_after_a_while_or_when_this_node_stops(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct request patient, stopped;
    play_peer(play, OTHER);
    int64_t id = play_add(play, (struct play_job){.state = JOB_WATCHING, .holder = OTHER, .due_at = play->now.wall_ms + 3600000});
    ask(play, &patient, COMMAND_PAUSE, id, 0);
    for (int i = 0; i < 40; i++) { // it lives, and does not listen
        play_peer_beats(play, OTHER);
        pass_turning(play, 1000);
    }
    assert_true(patient.done);
    assert_int_equal(patient.op.err, ERR_BUSY);
    ask(play, &stopped, COMMAND_DELETE, id, 0);
    pass_turning(play, 100);
    assert_false(stopped.done);
    atomic_store(&play->node->stopping, true);
    pass_turning(play, 1100);
    assert_true(stopped.done);
    assert_int_equal(stopped.op.err, ERR_STOPPING);
    play_free(play);
}

static void another_node_may_call_back_what_is_in_this_hand(void **state)
{
    struct play *play = play_new((struct play_config){.slots = 40});
    int64_t waits = in_future(play, 3000), runs = play_add(play, (struct play_job){0}), far = in_future(play, 3600000);
    play_turn(play);
    assert_int_equal(commands(play, COMMAND_RECALL, 0, waits), ERR_OK);
    struct job job = play_job_of(play, waits);
    assert_int_equal(job.state, JOB_DELAYED);
    assert_true(job.due_at > play->now.wall_ms + 5000 && job.ready_at == play->now.wall_ms + 3000);
    assert_int_equal(commands(play, COMMAND_RECALL, 0, runs), ERR_OK);
    assert_non_null(play_running(play, runs));
    int64_t token = play_job_of(play, far).token;
    assert_int_equal(commands(play, COMMAND_RECALL, 0, far), ERR_OK);
    assert_int_equal(play_job_of(play, far).token, token);
    assert_int_equal(commands(play, COMMAND_RECALL, 0, 999), ERR_NOT_FOUND);
    pass_turning(play, 11000); // nobody wrote anything: it runs after all
    assert_non_null(play_running(play, waits));
    play_free(play);
}

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
        request.op.patch = (struct json){JSON_OBJECT, STR("{}")};
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
        cmocka_unit_test(a_paused_task_begins_nothing_until_it_is_resumed),
        cmocka_unit_test(resuming_does_not_bring_forward),
        cmocka_unit_test(what_runs_goes_on_when_its_task_is_paused_changed_or_deleted),
        cmocka_unit_test(what_has_ended_is_neither_paused_nor_resumed_nor_changed),
        cmocka_unit_test(a_paused_task_is_not_run_by_hand),
        cmocka_unit_test(a_change_takes_the_job_in_the_wheel_with_it),
        cmocka_unit_test(a_change_that_leaves_the_time_alone_does_not_delay),
        cmocka_unit_test(a_change_is_merged_by_who_asked_for_it_and_again_if_the_task_moved),
        cmocka_unit_test(a_change_for_another_version_is_refused),
        cmocka_unit_test(a_change_that_is_refused_leaves_the_job_in_the_wheel),
        cmocka_unit_test(a_change_that_meets_a_claim_is_decided_anew),
        cmocka_unit_test(a_change_that_meets_a_retry_calls_it_back),
        cmocka_unit_test(a_retry_that_was_claimed_before_its_failure_was_heard_of_follows_a_change),
        cmocka_unit_test(what_is_being_given_back_is_waited_for),
        cmocka_unit_test(a_put_off_that_is_written_late_does_not_outlast_the_pause),
        cmocka_unit_test(a_job_whose_claim_is_on_its_way_is_called_back_when_it_has_come),
        cmocka_unit_test(a_job_in_another_hand_is_called_back_by_that_hand),
        cmocka_unit_test(what_is_due_in_another_hand_is_left_when_it_is_written_to_run),
        cmocka_unit_test(who_does_not_call_back_is_given_up_after_a_while_or_when_this_node_stops),
        cmocka_unit_test(another_node_may_call_back_what_is_in_this_hand),
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

// Commands on a played node. Everything is one thread, so a command that has to wait is done after some turns.
#include "support/play_commands.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void done(struct command *op)
{
    struct request *request = container_of(op, struct request, op);
    assert_false(request->done);
    request->done = true;
}

static struct commands *merges_with; // played in one thread, as if it were another
bool merges_later;
int merges;

static void merge(struct command *op)
{
    merges++;
    if (!merges_later)
        commands_merge(merges_with, op, 0);
}

void ask(struct play *play, struct request *request, enum command_act act, int64_t task_id, int64_t job_id)
{
    merges_with = play->flow->commands;
    merges = 0;
    *request = (struct request){
        .op = {.act = act, .tenant = PLAY_TENANT, .task_id = task_id, .job_id = job_id, .merge = merge, .done = done}};
    commands_submit(play->flow->commands, &request->op);
}

enum err commands(struct play *play, enum command_act act, int64_t task_id, int64_t job_id)
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

void assert_cancelled(struct play *play, int64_t id)
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

int64_t in_future(struct play *play, int64_t ms)
{
    return play_add(play, (struct play_job){.state = JOB_DELAYED, .due_at = play->now.wall_ms + ms});
}

int64_t asked_of_other(struct play *play, enum store_request_kind *ret_kind)
{
    struct store_requests asked = {.holder = OTHER, .max = 10};
    store_op_init(&asked.op, STORE_REQUESTS, NULL);
    store_call(play->store.memory, &asked.op);
    int64_t id = asked.job_count ? asked.jobs[0].job_id : 0;
    if (id)
        *ret_kind = asked.jobs[0].kind;
    store_op_done(&asked.op);
    return id;
}

void pass_turning(struct play *play, int64_t ms)
{
    for (; ms > 0; ms -= 50) {
        play_pass(play, 50);
        play_live(play);
        play_turn(play);
    }
}

void other_writes(struct play *play, struct job job, int64_t token)
{
    struct store_step step = {.token = token, .job = &job};
    struct store_change change = {.steps = &step, .count = 1};
    store_op_init(&change.op, STORE_CHANGE, NULL);
    store_call(play->store.memory, &change.op);
    assert_int_equal(step.err, ERR_OK);
    store_op_done(&change.op);
}

void cancel_as_other(struct play *play, int64_t id)
{
    struct job job = play_job_of(play, id);
    struct job_step step;
    struct job_policy policy = {.ttl_ms = -1};
    int64_t token = job.token;
    assert_int_equal(job_cancel(&job, &policy, play->now.wall_ms, STR("by hand"), &step), ERR_OK);
    other_writes(play, job, token);
}

enum err patch(struct play *play, struct request *request, int64_t task_id, const char *text, int64_t version)
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

bool is_paused(struct play *play, int64_t id)
{
    struct store_get get;
    bool paused = task_of(play, &get, id).paused;
    store_op_done(&get.op);
    return paused;
}

bool doc_has(struct play *play, int64_t id, const char *text)
{
    struct store_get get;
    struct str doc = task_of(play, &get, id).doc;
    bool has = doc.n && memmem(doc.p, doc.n, text, strlen(text));
    store_op_done(&get.op);
    return has;
}

void assert_runs_soon(struct play *play, int64_t id)
{
    pass_turning(play, 1000);
    assert_non_null(play_running(play, id));
}

struct store_op *claim_on_its_way(struct play *play)
{
    play->store.hold[STORE_CLAIM] = true;
    play_turn(play);
    struct store_op *claim = play_waiting(play, STORE_CLAIM);
    assert_non_null(claim);
    play_do(play, claim); // it is in this life's hand, which does not know yet
    return claim;
}

void assert_given_up(struct play *play, int64_t id, enum command_act act, enum command_act other_act, int64_t stop_ms)
{
    struct request patient, stopped;
    ask(play, &patient, act, id, 0);
    for (int i = 0; i < 40; i++) { // it lives, and does not listen
        play_peer_beats(play, OTHER);
        pass_turning(play, 1000);
    }
    assert_true(patient.done);
    assert_int_equal(patient.op.err, ERR_BUSY);
    ask(play, &stopped, other_act, id, 0);
    pass_turning(play, 100);
    assert_false(stopped.done);
    atomic_store(&play->node->stopping, true);
    pass_turning(play, stop_ms);
    assert_true(stopped.done);
    assert_int_equal(stopped.op.err, ERR_STOPPING);
}

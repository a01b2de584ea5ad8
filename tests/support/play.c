// See play.h. The store and the executor are told apart from the shipped ones by their struct only: the stages see the ports.
#include "support/play.h"

#include "base/log.h"
#include "base/mem.h"
#include "store/jobs.h"
#include "store/lives.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static const int64_t EPOCH = 1800000000000;

// ---- the store

static void ignore(struct store_op *op)
{
}

// Which done() an operation had is kept in the order of waiting: the store's link is ours while the operation is.
struct held_op {
    struct list link;
    struct store_op *op;
    void (*done)(struct store_op *op);
    bool carried_out;
};

static struct held_op *held_of(struct play *play, const struct store_op *op)
{
    list_each (&play->store.waiting, link)
        if (list_entry(link, struct held_op, link)->op == op)
            return list_entry(link, struct held_op, link);
    fail_msg("no such operation is waiting");
    return NULL;
}

static int verb_of(const struct store_op *op)
{
    if (op->verb != STORE_FIND)
        return op->verb;
    return PLAY_FIND_HELD + (int)container_of(op, const struct store_find, op)->what;
}

static void store_take(struct store *port, struct store_op *op)
{
    struct play_store *store = container_of(port, struct play_store, store);
    int verb = verb_of(op);
    store->count[verb]++;
    if (store->hold[verb]) {
        struct held_op *held = mem_zero(sizeof *held);
        held->op = op;
        held->done = op->done;
        list_append(&store->waiting, &held->link);
    } else if (store->fails[verb]) {
        op->err = store->fails[verb];
        snprintf(op->why, sizeof op->why, "played");
        op->done(op);
    } else {
        store_submit(store->memory, op);
    }
}

struct store_op *play_waiting(struct play *play, int verb)
{
    list_each (&play->store.waiting, link)
        if (verb_of(list_entry(link, struct held_op, link)->op) == verb)
            return list_entry(link, struct held_op, link)->op;
    return NULL;
}

void play_do(struct play *play, struct store_op *op)
{
    struct held_op *held = held_of(play, op);
    op->done = ignore;
    store_submit(play->store.memory, op);
    held->carried_out = true;
}

void play_deliver(struct play *play, struct store_op *op)
{
    struct held_op *held = held_of(play, op);
    list_remove(&held->link);
    op->done = held->done;
    mem_free(held);
    op->done(op);
}

void play_answer(struct play *play, struct store_op *op)
{
    assert_non_null(op);
    if (!held_of(play, op)->carried_out)
        play_do(play, op);
    play_deliver(play, op);
}

void play_lose(struct play *play, struct store_op *op)
{
    assert_non_null(op);
    play_do(play, op);
    play_refuse(play, op, ERR_STORE_UNAVAILABLE);
}

void play_refuse(struct play *play, struct store_op *op, enum err err)
{
    assert_non_null(op);
    op->err = err;
    snprintf(op->why, sizeof op->why, "played");
    play_deliver(play, op);
}

static const struct store_ops store_played = {.scheme = "played", .submit = store_take};

static void call(struct play *play, struct store_op *op)
{
    store_call(play->store.memory, op);
    assert_int_equal(op->err, ERR_OK);
}

int64_t play_add(struct play *play, struct play_job from)
{
    int64_t id = ++play->last_id;
    int64_t due = from.due_at ? from.due_at : play->now.wall_ms;
    struct store_task task = {.id = id,
                              .tenant = PLAY_TENANT,
                              .created_at = play->now.wall_ms,
                              .dispatch = from.dispatch ? from.dispatch : TARGET_CALLED,
                              .queue = str_of(from.queue ? from.queue : "q"),
                              .doc = str_of(from.doc ? from.doc : "{\"url\":\"http://h/\",\"retry\":{\"max\":1}}")};
    struct job job = {.id = id,
                      .task_id = from.task_id ? from.task_id : id,
                      .tenant = PLAY_TENANT,
                      .state = from.state ? from.state : JOB_READY,
                      .priority = (uint8_t)(from.priority ? from.priority : 5),
                      .scheduled_at = due,
                      .ready_at = due,
                      .due_at = due,
                      .expires_at = from.expires_at,
                      .purge_at = from.purge_at,
                      .holder = from.holder,
                      .token = 1};
    struct store_new item = {.task = from.task_id ? NULL : &task, .jobs = &job, .job_count = 1};
    struct store_add add = {.holder = from.holder, .now_ms = play->now.wall_ms, .items = &item, .count = 1};
    store_op_init(&add.op, STORE_ADD, NULL);
    call(play, &add.op);
    assert_int_equal(item.err, ERR_OK);
    store_op_done(&add.op);
    return id;
}

struct job play_job_of(struct play *play, int64_t id)
{
    struct store_get get = {.tenant = PLAY_TENANT, .job_id = id};
    store_op_init(&get.op, STORE_GET, NULL);
    call(play, &get.op);
    struct job job = get.jobs[0];
    job.reason = job.response = job.result = (struct str){0};
    store_op_done(&get.op);
    return job;
}

size_t play_attempts_of(struct play *play, int64_t id)
{
    struct store_get get = {.tenant = PLAY_TENANT, .job_id = id};
    store_op_init(&get.op, STORE_GET, NULL);
    call(play, &get.op);
    size_t count = get.attempt_count;
    store_op_done(&get.op);
    return count;
}

bool play_gone(struct play *play, int64_t id)
{
    struct store_get get = {.tenant = PLAY_TENANT, .job_id = id};
    store_op_init(&get.op, STORE_GET, NULL);
    store_call(play->store.memory, &get.op);
    enum err err = get.op.err;
    store_op_done(&get.op);
    return err == ERR_NOT_FOUND;
}

static int64_t pause_lane(struct play *play, const char *queue, bool paused)
{
    struct store_pause pause = {.tenant = PLAY_TENANT, .queue = str_of(queue), .paused = paused};
    store_op_init(&pause.op, STORE_PAUSE, NULL);
    call(play, &pause.op);
    store_op_done(&pause.op);
    return pause.lane;
}

int64_t play_lane(struct play *play, const char *queue)
{
    int64_t lane = pause_lane(play, queue, false);
    struct store_lane told = {
        .id = lane, .tenant = PLAY_TENANT, .dispatch = TARGET_CALLED, .queue = str_of(queue), .next_due = TIME_NEVER};
    lanes_learn(play->lanes, &told, (struct lanes_version){-1, -1}); // asked before anything was heard
    return lane;
}

void play_pause(struct play *play, const char *queue, bool paused)
{
    pause_lane(play, queue, paused);
}

void play_peer(struct play *play, int64_t incarnation)
{
    struct store_join join = {.incarnation = incarnation, .now_ms = play->now.wall_ms};
    store_op_init(&join.op, STORE_JOIN, NULL);
    call(play, &join.op);
    store_op_done(&join.op);
}

void play_peer_beats(struct play *play, int64_t incarnation)
{
    struct store_beat beat = {.incarnation = incarnation};
    store_op_init(&beat.op, STORE_BEAT, NULL);
    call(play, &beat.op);
    store_op_done(&beat.op);
}

// ---- the executor

static bool exec_prepare(struct exec *port, struct exec_attempt *attempt)
{
    struct play_exec *exec = container_of(port, struct play_exec, exec);
    if (attempt->order->job.id > exec->unknown_to)
        return true;
    assert_true(exec->preparing_count < array_count(exec->preparing));
    exec->preparing[exec->preparing_count++] = attempt;
    return false;
}

static void exec_forget(struct exec *port, struct exec_attempt *attempt)
{
    struct play_exec *exec = container_of(port, struct play_exec, exec);
    size_t at = 0;
    while (at < exec->preparing_count && exec->preparing[at] != attempt)
        at++;
    assert_true(at < exec->preparing_count);
    exec->preparing[at] = exec->preparing[--exec->preparing_count];
}

void play_prepare(struct play *play, int64_t job_id)
{
    struct play_exec *exec = &play->exec;
    for (size_t i = 0; i < exec->preparing_count; i++) {
        struct exec_attempt *attempt = exec->preparing[i];
        if (attempt->order->job.id != job_id)
            continue;
        exec_forget(&exec->exec, attempt);
        exec->exec.prepared(exec->exec.ctx, attempt);
        return;
    }
    fail_msg("nothing is found out for job %lld", (long long)job_id);
}

static void exec_start(struct exec *port, struct exec_attempt *attempt, struct now now)
{
    struct play_exec *exec = container_of(port, struct play_exec, exec);
    assert_true(exec->count < array_count(exec->running));
    exec->running[exec->count++] = attempt;
    exec->started++;
}

static void exec_cancel(struct exec *port, struct exec_attempt *attempt)
{
    struct play_exec *exec = container_of(port, struct play_exec, exec);
    attempt->own = exec; // ended by the next poll
    exec->cancelled++;
}

static void end_at(struct play_exec *exec, size_t at, struct job_result result)
{
    struct exec_attempt *attempt = exec->running[at];
    exec->count--;
    memmove(&exec->running[at], &exec->running[at + 1], (exec->count - at) * sizeof attempt);
    attempt->outcome->result = result;
    exec->exec.ended(exec->exec.ctx, attempt);
}

static void exec_poll(struct exec *port, int64_t wait_ns)
{
    struct play_exec *exec = container_of(port, struct play_exec, exec);
    struct play *play = container_of(exec, struct play, exec);
    for (size_t i = 0; i < exec->count;)
        if (exec->running[i]->own)
            end_at(exec, i, (struct job_result){.outcome = OUTCOME_CANCELLED, .completed_at = play->now.wall_ms});
        else
            i++;
}

static const struct exec_ops exec_played = {
    .prepare = exec_prepare, .forget = exec_forget, .start = exec_start, .cancel = exec_cancel, .poll = exec_poll};

static size_t place_of(struct play *play, int64_t job_id)
{
    size_t i = 0;
    while (i < play->exec.count && play->exec.running[i]->order->job.id != job_id)
        i++;
    return i;
}

struct exec_attempt *play_running(struct play *play, int64_t job_id)
{
    size_t at = place_of(play, job_id);
    return at < play->exec.count ? play->exec.running[at] : NULL;
}

void play_end(struct play *play, int64_t job_id, enum job_outcome outcome)
{
    size_t at = place_of(play, job_id);
    assert_true(at < play->exec.count);
    end_at(&play->exec, at, (struct job_result){.outcome = outcome, .completed_at = play->now.wall_ms});
}

void play_detach(struct play *play, int64_t job_id)
{
    size_t at = place_of(play, job_id);
    assert_true(at < play->exec.count);
    end_at(&play->exec, at, (struct job_result){.outcome = OUTCOME_SUCCESS, .status = 202, .later = true});
}

// ---- orders

struct order *play_order(struct play *play, int64_t id, int64_t lane, int priority)
{
    struct store_job from = {.job = {.id = id,
                                     .task_id = id,
                                     .tenant = PLAY_TENANT,
                                     .lane = lane,
                                     .state = JOB_WATCHING,
                                     .priority = (uint8_t)priority,
                                     .scheduled_at = play->now.wall_ms,
                                     .ready_at = play->now.wall_ms,
                                     .due_at = play->now.wall_ms,
                                     .picked_at = play->now.wall_ms,
                                     .holder = PLAY_LIFE,
                                     .token = 2},
                             .doc = STR("{\"url\":\"http://h/\",\"retry\":{\"max\":1}}")};
    return order_new(&from.job, from.doc);
}

struct outcome *play_back(struct play *play, struct outcome **ret_began)
{
    struct list outcomes, *link;
    struct outcome *back = NULL;
    list_init(&outcomes);
    broker_take_outcomes(play->broker, &outcomes);
    while (!back && (link = list_take(&outcomes))) {
        struct outcome *outcome = list_entry(link, struct outcome, link);
        if (outcome->end != ORDER_BEGAN)
            back = outcome;
        else if (ret_began && !*ret_began)
            *ret_began = outcome;
        else
            outcome_free(outcome);
    }
    while ((link = list_take(&outcomes)))
        broker_report(play->broker, list_entry(link, struct outcome, link));
    return back;
}

// ---- the whole

static void wake(struct waker *waker)
{
    container_of(waker, struct play, waker)->woken++;
}

struct play *play_new(struct play_config config)
{
    struct play *play = mem_zero(sizeof *play);
    char why[ERR_WHY_MAX];
    log_set_level(LOG_ERROR);
    play->now = (struct now){.wall_ms = EPOCH, .mono_ms = 1000000};
    play->last_id = 1000;
    play->waker.wake = wake;
    play->store.store.ops = &store_played;
    list_init(&play->store.waiting);
    assert_int_equal(store_open(&play->store.memory, "memory:", why), ERR_OK);
    struct broker_config broker = {
        .max = config.broker_max ? config.broker_max : 100, .orders_waker = &play->waker, .outcomes_waker = &play->waker};
    assert_int_equal(broker_open(&play->broker, "local:", &broker, why), ERR_OK);
    play->exec.exec.ops = &exec_played;
    struct flow_config flow = {.room = config.room ? config.room : 100,
                               .room_bytes = config.room_bytes ? config.room_bytes : 64 << 20,
                               .slots = config.slots ? config.slots : 10,
                               .zones = config.zones,
                               .seed = 1};
    play->flow = flow_new(&flow, &play->store.store, play->broker, &play->exec.exec, &play->waker, &play->waker);
    play->node = &play->flow->node;
    play->lanes = play->flow->lanes;
    play_peer(play, PLAY_LIFE);
    play->node->has_secret = true;
    id_maker_init(&play->node->ids, 0, 0);
    node_begin_life(play->node, PLAY_LIFE, play->now.mono_ms + BEAT_ALIVE_MS);
    return play;
}

void play_free(struct play *play)
{
    for (int verb = 0; verb < PLAY_VERB_COUNT; verb++) {
        play->store.hold[verb] = false;
        play->store.fails[verb] = ERR_OK;
    }
    for (struct list *link; (link = play->store.waiting.next) != &play->store.waiting;)
        play_answer(play, list_entry(link, struct held_op, link)->op);
    flow_free(play->flow);
    broker_close(play->broker);
    store_close(play->store.memory);
    mem_free(play);
}

void play_pass(struct play *play, int64_t ms)
{
    play->now.wall_ms += ms;
    play->now.mono_ms += ms;
}

void play_live(struct play *play)
{
    node_renew_life(play->node, play->now.mono_ms + BEAT_ALIVE_MS);
}

int64_t play_turn(struct play *play)
{
    int64_t next;
    int turns = 0;
    do {
        play->woken = 0;
        next = flow_turn(play->flow, play->now);
        next = time_min(next, flow_exec_turn(play->flow, play->now));
        play->exec.exec.ops->poll(&play->exec.exec, 0);
        assert_true(++turns < 1000); // a loop without end
    } while (play->woken);
    // cppcheck-suppress uninitvar; it forgets that the loop runs at least once
    return next;
}

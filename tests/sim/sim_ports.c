// The broker and the executor as a node sees them. The broker is the shipped local one behind a front that does all that a broker
// may do (support/faulty_broker); the executor plays the targets.
#include "support/faulty_broker.h"
#include "world.h"

#include <stdlib.h>

// ---- broker

struct later {
    struct event event;
    void (*then)(void *arg);
    void *arg;
};

static bool fault_chance(void *ctx, int in_thousand)
{
    struct world *world = ctx;
    return world->faults && chance(world, in_thousand);
}

static int64_t fault_between(void *ctx, int64_t least, int64_t most)
{
    return between(ctx, least, most);
}

static void come_later(struct event *event)
{
    struct later *later = container_of(event, struct later, event);
    later->then(later->arg);
    mem_free(later);
}

static void fault_later(void *ctx, int64_t delay_ms, void (*then)(void *arg), void *arg)
{
    struct world *world = ctx;
    struct later *later = mem_zero(sizeof *later);
    later->then = then;
    later->arg = arg;
    world_at(world, world->now + delay_ms, &later->event, come_later);
}

struct broker *sim_broker_new(struct sim_node *node)
{
    struct broker_config config = {.max = ROOM / 2, .orders_waker = &node->waker, .outcomes_waker = &node->waker};
    struct fault_world world = {.chance = fault_chance, .between = fault_between, .later = fault_later, .ctx = node->world};
    struct broker *local;
    char why[ERR_WHY_MAX];
    if (broker_open(&local, "local:", &config, why))
        abort();
    return faulty_broker_new(local, &world);
}

static void wake_node(struct sim_node *node)
{
    node->waker.wake(&node->waker);
}

// ---- executor

struct call {
    struct list link;
    struct exec_attempt *attempt;
    int64_t end; // true time
    struct job_result result;
};

// An attempt whose target's name is being looked up.
struct looking {
    struct list link;
    struct exec_attempt *attempt;
    int64_t end; // true time
};

struct sim_exec {
    struct exec exec;
    struct sim_node *node;
    struct list calls, looking;
};

static bool prepare(struct exec *port, struct exec_attempt *attempt)
{
    struct sim_exec *exec = (struct sim_exec *)port;
    struct world *world = exec->node->world;
    if (!world->faults || !chance(world, 100))
        return true;
    struct looking *looking = mem_zero(sizeof *looking);
    *looking = (struct looking){.attempt = attempt, .end = world->now + between(world, 1, 14000)};
    attempt->own = looking;
    list_append(&exec->looking, &looking->link);
    return false;
}

static void forget(struct exec *port, struct exec_attempt *attempt)
{
    struct looking *looking = attempt->own;
    attempt->own = NULL;
    list_remove(&looking->link);
    mem_free(looking);
}

// A slow target always succeeds.
static struct job_result play_target(struct world *world, bool slow)
{
    int64_t dice = slow ? 0 : between(world, 0, 99);
    if (dice < 70)
        return (struct job_result){.outcome = OUTCOME_SUCCESS, .status = 200, .response = STR("ok")};
    if (dice < 90)
        return (struct job_result){
            .outcome = OUTCOME_FAILED, .status = 500, .reason = STR("HTTP 500"), .retry_after_ms = dice < 72 ? 3000 : 0};
    return (struct job_result){.outcome = OUTCOME_TIMEOUT, .reason = STR("no answer in time")};
}

static struct job_result played_later(void)
{
    return (struct job_result){.outcome = OUTCOME_SUCCESS, .status = 202, .later = true};
}

// In the storm any target may answer 202. In the calm those named later-… do, and complete 10 s afterwards; those named
// silent-… fall silent the first time.
static void play_later(struct world *world, const struct exec_attempt *attempt, struct call *call)
{
    bool spoken = str_starts(attempt->order->task.target.http.url, STR("http://later-")),
         silent = str_starts(attempt->order->task.target.http.url, STR("http://silent-"));
    if (world->faults && chance(world, 200)) {
        call->result = played_later();
        reports_plan(world, attempt, call->end);
    } else if (spoken) {
        call->result = played_later();
        reports_say(world, attempt, LEASE_COMPLETE, call->end + 10000);
    } else if (silent) {
        call->result =
            attempt->outcome->job.attempts == 1 ? played_later() : (struct job_result){.outcome = OUTCOME_SUCCESS, .status = 200};
    }
}

static void start(struct exec *port, struct exec_attempt *attempt, struct now now)
{
    struct sim_exec *exec = (struct sim_exec *)port;
    struct world *world = exec->node->world;
    struct call *call = mem_zero(sizeof *call);
    call->attempt = attempt;
    bool slow = str_starts(attempt->order->task.target.http.url, STR("http://slow-"));
    call->result = play_target(world, slow);
    int64_t length = world->faults && chance(world, 50) ? between(world, 1000, 60000) : between(world, 1, 300);
    call->end = world->now + (slow ? SLOW_MS : length);
    play_later(world, attempt, call);
    attempt->own = call;
    list_append(&exec->calls, &call->link);
    check_start(exec->node, attempt, call->end);
}

static void cancel(struct exec *port, struct exec_attempt *attempt)
{
    struct sim_exec *exec = (struct sim_exec *)port;
    struct call *call = attempt->own;
    if (call->end <= exec->node->world->now)
        return; // it had ended by itself
    call->end = exec->node->world->now;
    call->result = (struct job_result){.outcome = OUTCOME_CANCELLED, .reason = STR("called off")};
    struct shadow *shadow = shadow_of(exec->node->world, attempt->order->job.id);
    shadow->last_call_end = call->end;
    wake_node(exec->node);
}

static void poll(struct exec *port, int64_t wait_ns)
{
    struct sim_exec *exec = (struct sim_exec *)port;
    list_each (&exec->looking, link) {
        struct looking *looking = list_entry(link, struct looking, link);
        struct exec_attempt *attempt = looking->attempt;
        if (looking->end > exec->node->world->now)
            continue;
        forget(port, attempt);
        exec->exec.prepared(exec->exec.ctx, attempt);
    }
    list_each (&exec->calls, link) {
        struct call *call = list_entry(link, struct call, link);
        if (call->end > exec->node->world->now)
            continue;
        list_remove(link);
        struct exec_attempt *attempt = call->attempt;
        attempt->outcome->result = call->result;
        attempt->outcome->result.completed_at = node_now(exec->node).wall_ms;
        mem_free(call);
        check_said(exec->node, attempt);
        exec->exec.ended(exec->exec.ctx, attempt);
    }
}

int64_t sim_exec_next(struct exec *port)
{
    struct sim_exec *exec = (struct sim_exec *)port;
    int64_t next = TIME_NEVER;
    list_each (&exec->calls, link)
        next = time_min(next, list_entry(link, struct call, link)->end);
    list_each (&exec->looking, link)
        next = time_min(next, list_entry(link, struct looking, link)->end);
    return next;
}

void sim_exec_crash(struct exec *port)
{
    struct sim_exec *exec = (struct sim_exec *)port;
    list_each (&exec->calls, link) {
        struct call *call = list_entry(link, struct call, link);
        mem_free(call); // its order is freed with the dispatcher
    }
    list_init(&exec->calls);
}

static const struct exec_ops exec_ops = {.prepare = prepare, .forget = forget, .start = start, .cancel = cancel, .poll = poll};

struct exec *sim_exec_new(struct sim_node *node)
{
    struct sim_exec *exec = mem_zero(sizeof *exec);
    exec->exec.ops = &exec_ops;
    exec->node = node;
    list_init(&exec->calls);
    list_init(&exec->looking);
    return &exec->exec;
}

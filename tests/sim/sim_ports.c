// The broker and the executor as a node sees them. The broker is the shipped local one behind a front that doubles, delays and
// refuses; the executor plays the targets.
#include "world.h"

// ---- broker

struct sim_broker {
    struct broker broker;
    struct broker *local;
    struct sim_node *node;
};

struct late_run {
    struct event event;
    struct sim_broker *broker;
    struct run *run;
    int life;
};

static void wake_node(struct sim_node *node)
{
    node->waker.wake(&node->waker);
}

static void publish_late(struct event *event)
{
    struct late_run *late = container_of(event, struct late_run, event);
    struct sim_node *node = late->broker->node;
    bool lost = !node->up || node->life != late->life || broker_publish(late->broker->local, late->run);
    if (lost)
        run_free(late->run);
    mem_free(late);
}

static void later(struct sim_broker *broker, struct run *run, int64_t delay)
{
    struct late_run *late = mem_zero(sizeof *late);
    late->broker = broker;
    late->run = run;
    late->life = broker->node->life;
    world_at(broker->node->world, broker->node->world->now + delay, &late->event, publish_late);
}

static enum err publish(struct broker *port, struct run *run)
{
    struct sim_broker *broker = (struct sim_broker *)port;
    struct world *world = broker->node->world;
    if (world->faults && chance(world, 20))
        return ERR_BUSY;
    if (world->faults && chance(world, 30))
        later(broker, run_copy(run), between(world, 0, 3000)); // it comes twice
    return broker_publish(broker->local, run);
}

static void take(struct broker *port, struct list *ret_runs)
{
    broker_take(((struct sim_broker *)port)->local, ret_runs);
}

static void note(struct broker *port, struct run_note *word)
{
    broker_note(((struct sim_broker *)port)->local, word);
}

static void take_notes(struct broker *port, struct list *ret_notes)
{
    broker_take_notes(((struct sim_broker *)port)->local, ret_notes);
}

static const struct broker_ops broker_ops = {
    .scheme = "sim", .publish = publish, .take = take, .note = note, .take_notes = take_notes};

struct broker *sim_broker_new(struct sim_node *node)
{
    struct sim_broker *broker = mem_zero(sizeof *broker);
    broker->broker.ops = &broker_ops;
    broker->local = broker_local_new(ROOM / 2, &node->waker, &node->waker);
    broker->node = node;
    return &broker->broker;
}

// The front stays: a late double may still come, and finds its life gone.
void sim_broker_close(struct broker *port)
{
    broker_close(((struct sim_broker *)port)->local);
}

// ---- executor

struct call {
    struct list link;
    struct run *run;
    int64_t end; // true time
    struct job_result result;
};

// A run whose target's name is being looked up.
struct looking {
    struct list link;
    struct run *run;
    int64_t end; // true time
};

struct sim_exec {
    struct exec exec;
    struct sim_node *node;
    struct list calls, looking;
};

static bool prepare(struct exec *port, struct run *run)
{
    struct sim_exec *exec = (struct sim_exec *)port;
    struct world *world = exec->node->world;
    if (!world->faults || !chance(world, 100))
        return true;
    struct looking *looking = mem_zero(sizeof *looking);
    *looking = (struct looking){.run = run, .end = world->now + between(world, 1, 14000)};
    run->exec = looking;
    list_append(&exec->looking, &looking->link);
    return false;
}

static void forget(struct exec *port, struct run *run)
{
    struct looking *looking = run->exec;
    run->exec = NULL;
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
static void play_later(struct world *world, const struct run *run, struct call *call)
{
    bool spoken = str_starts(run->task.target.http.url, STR("http://later-")),
         silent = str_starts(run->task.target.http.url, STR("http://silent-"));
    if (world->faults && chance(world, 200)) {
        call->result = played_later();
        words_plan(world, run, call->end);
    } else if (spoken) {
        call->result = played_later();
        words_say(world, run, SETTLE_COMPLETE, call->end + 10000);
    } else if (silent) {
        call->result = run->job.attempts == 1 ? played_later() : (struct job_result){.outcome = OUTCOME_SUCCESS, .status = 200};
    }
}

static void start(struct exec *port, struct run *run, struct now now)
{
    struct sim_exec *exec = (struct sim_exec *)port;
    struct world *world = exec->node->world;
    struct call *call = mem_zero(sizeof *call);
    call->run = run;
    bool slow = str_starts(run->task.target.http.url, STR("http://slow-"));
    call->result = play_target(world, slow);
    int64_t length = world->faults && chance(world, 50) ? between(world, 1000, 60000) : between(world, 1, 300);
    call->end = world->now + (slow ? SLOW_MS : length);
    play_later(world, run, call);
    run->exec = call;
    list_append(&exec->calls, &call->link);
    check_start(exec->node, run, call->end);
}

static void cancel(struct exec *port, struct run *run)
{
    struct sim_exec *exec = (struct sim_exec *)port;
    struct call *call = run->exec;
    if (call->end <= exec->node->world->now)
        return; // it had ended by itself
    call->end = exec->node->world->now;
    call->result = (struct job_result){.outcome = OUTCOME_CANCELLED, .reason = STR("called off")};
    struct shadow *shadow = shadow_of(exec->node->world, run->job.id);
    shadow->last_call_end = call->end;
    wake_node(exec->node);
}

static void poll(struct exec *port, int64_t wait_ns)
{
    struct sim_exec *exec = (struct sim_exec *)port;
    list_each (&exec->looking, link) {
        struct looking *looking = list_entry(link, struct looking, link);
        struct run *run = looking->run;
        if (looking->end > exec->node->world->now)
            continue;
        forget(port, run);
        exec->exec.prepared(exec->exec.ctx, run);
    }
    list_each (&exec->calls, link) {
        struct call *call = list_entry(link, struct call, link);
        if (call->end > exec->node->world->now)
            continue;
        list_remove(link);
        struct run *run = call->run;
        run->result = call->result;
        run->result.completed_at = node_now(exec->node).wall_ms;
        mem_free(call);
        check_said(exec->node, run);
        exec->exec.ended(exec->exec.ctx, run);
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
        mem_free(call); // its run is freed with the dispatcher
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

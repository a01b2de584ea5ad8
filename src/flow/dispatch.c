// Takes runs from the broker, lets them wait for a slot (flow/slots says who is next), starts them, and sends them back.
//
// Before each start it checks that this life still may: the beat is recent, the claim is of this life, the job has not expired.
// A run may come twice from the broker: what waits, runs or ended lately is known by its id and token.
//
// It writes nothing: words about runs go to the completer through the broker. That a run began is only said when it is still
// running a moment later, so a quick one costs one write.
#include "flow/dispatch.h"

#include "base/crash.h"
#include "base/map.h"
#include "base/mark.h"
#include "base/mem.h"
#include "flow/ticket.h"

enum {
    NOTE_AFTER_MS = 100, // a run that takes longer is written as begun
    RECENT = 4096,       // ended runs that are remembered
    NOT_ALIVE_WAIT_MS = 100,
    AGAIN_MS = 1000,   // a newer claim of what still runs is tried again after this
    PREPARE_MS = 1000, // so long a run waits here for what it needs to know, and …
    ASIDE_MS = 3000,   // … so long it is set aside then
};

struct revoke {
    struct list link;
    int64_t job_id;
};

struct dispatch {
    struct node *node;
    struct exec *exec;
    struct mailbox revokes, questions;
    struct slots *slots;
    struct map runs;       // job id -> run, waiting or running
    struct list fresh;     // running, not noted yet, oldest first
    struct list noted;     // running, noted
    struct list preparing; // waiting, but not for a slot: the executor finds out what they need
    struct now now;
    struct {
        int64_t job_id, token;
    } recent[RECENT];
    size_t recent_at;
    struct map recent_ids;  // job id -> its place in `recent` + 1
    struct digest_key *key; // of tickets; NULL until the first is written
    _Atomic bool interrupt;
    _Atomic int per_host;
};

static void ended(void *ctx, struct run *run);
static void prepared(void *ctx, struct run *run);
static bool stop_preparing(struct dispatch *dispatch, struct run *run);

struct dispatch *dispatch_new(struct node *node, struct exec *exec, int slots, struct waker *waker)
{
    struct dispatch *dispatch = mem_zero(sizeof *dispatch);
    dispatch->node = node;
    dispatch->exec = exec;
    dispatch->slots = slots_new(slots);
    mailbox_init(&dispatch->revokes, waker);
    mailbox_init(&dispatch->questions, waker);
    list_init(&dispatch->fresh);
    list_init(&dispatch->noted);
    list_init(&dispatch->preparing);
    exec->ended = ended;
    exec->prepared = prepared;
    exec->ctx = dispatch;
    return dispatch;
}

void dispatch_free(struct dispatch *dispatch)
{
    if (!dispatch)
        return;
    struct list revokes;
    list_init(&revokes);
    mailbox_take(&dispatch->revokes, &revokes);
    list_each (&revokes, link)
        mem_free(list_entry(link, struct revoke, link));
    struct list *link;
    while (!list_empty(&dispatch->preparing)) {
        struct run *run = list_entry(dispatch->preparing.next, struct run, link);
        stop_preparing(dispatch, run);
        run_free(run);
    }
    while ((link = list_take(&dispatch->fresh)) || (link = list_take(&dispatch->noted)))
        run_free(list_entry(link, struct run, link));
    slots_free(dispatch->slots);
    digest_key_free(dispatch->key);
    map_done(&dispatch->runs);
    map_done(&dispatch->recent_ids);
    mailbox_done(&dispatch->revokes);
    mailbox_done(&dispatch->questions);
    mem_free(dispatch);
}

void dispatch_revoke(struct dispatch *dispatch, int64_t job_id)
{
    struct revoke *revoke = mem_alloc(sizeof *revoke);
    revoke->job_id = job_id;
    mailbox_post(&dispatch->revokes, &revoke->link);
}

void dispatch_ask(struct dispatch *dispatch, struct dispatch_question *question)
{
    mailbox_post(&dispatch->questions, &question->link);
}

size_t dispatch_count(const struct dispatch *dispatch)
{
    return dispatch->runs.count;
}

void dispatch_limit_hosts(struct dispatch *dispatch, int per_host)
{
    atomic_store(&dispatch->per_host, per_host);
}

void dispatch_interrupt(struct dispatch *dispatch)
{
    atomic_store(&dispatch->interrupt, true);
}

// What ended, or was sent away, with its token. A newer one that is known already stays.
static void remember(struct dispatch *dispatch, const struct run *run)
{
    size_t known = (size_t)map_get(&dispatch->recent_ids, run->job.id);
    if (known && dispatch->recent[known - 1].token >= run->token)
        return;
    size_t at = dispatch->recent_at++ % RECENT;
    int64_t oldest = dispatch->recent[at].job_id;
    if (oldest && (size_t)map_get(&dispatch->recent_ids, oldest) == at + 1)
        map_remove(&dispatch->recent_ids, oldest);
    dispatch->recent[at].job_id = run->job.id;
    dispatch->recent[at].token = run->token;
    map_put(&dispatch->recent_ids, run->job.id, (void *)(at + 1));
}

static bool seen(struct dispatch *dispatch, const struct run *run)
{
    const struct run *here = map_get(&dispatch->runs, run->job.id);
    size_t at = (size_t)map_get(&dispatch->recent_ids, run->job.id);
    return (here && here->token >= run->token) || (at && dispatch->recent[at - 1].token >= run->token);
}

static void send_note(struct dispatch *dispatch, struct run *run, enum run_end end)
{
    run->end = end;
    run->note = (struct run_note){.run = run};
    CRASH_POINT("dispatch.after_end");
    broker_note(dispatch->node->broker, &run->note);
}

// The run leaves this stage.
static void send_back(struct dispatch *dispatch, struct run *run, enum run_end end)
{
    map_remove(&dispatch->runs, run->job.id);
    remember(dispatch, run);
    run->needs = RUN_UNPREPARED;
    send_note(dispatch, run, end);
}

static bool is_running(const struct run *run)
{
    return run->job.state == JOB_RESERVED;
}

// False: it waits for a slot.
static bool stop_preparing(struct dispatch *dispatch, struct run *run)
{
    if (run->needs != RUN_PREPARING)
        return false;
    dispatch->exec->ops->forget(dispatch->exec, run);
    list_remove(&run->link);
    return true;
}

static void prepared(void *ctx, struct run *run)
{
    struct dispatch *dispatch = ctx;
    list_remove(&run->link);
    run->needs = RUN_PREPARED;
    slots_wait(dispatch->slots, run, dispatch->now);
}

static void revoke_one(struct dispatch *dispatch, int64_t job_id)
{
    struct run *run = map_get(&dispatch->runs, job_id);
    if (!run)
        return; // its end is on its way already
    if (is_running(run)) {
        mark(MARK_CANCELLED_RUNNING);
        run->end = RUN_CANCELLED;
        dispatch->exec->ops->cancel(dispatch->exec, run);
        return;
    }
    if (!stop_preparing(dispatch, run))
        slots_withdraw(dispatch->slots, run);
    send_back(dispatch, run, RUN_CANCELLED);
}

static void take_runs(struct dispatch *dispatch)
{
    struct list runs;
    list_init(&runs);
    broker_take(dispatch->node->broker, &runs);
    list_each (&runs, link) {
        struct run *run = list_entry(link, struct run, link);
        if (seen(dispatch, run)) {
            mark(MARK_DOUBLED_RUN);
            run_free(run);
        } else if (map_get(&dispatch->runs, run->job.id)) {
            // An earlier life of this node still runs it, with a token that is worth nothing: out with it first.
            mark(MARK_NEWER_RUN);
            revoke_one(dispatch, run->job.id);
            run->postpone_to = dispatch->now.wall_ms + AGAIN_MS;
            remember(dispatch, run);
            send_note(dispatch, run, RUN_POSTPONED);
        } else {
            map_put(&dispatch->runs, run->job.id, run);
            slots_wait(dispatch->slots, run, dispatch->now);
        }
    }
}

static void revoke_all(struct dispatch *dispatch, struct list *revokes)
{
    list_each (revokes, link) {
        struct revoke *revoke = list_entry(link, struct revoke, link);
        revoke_one(dispatch, revoke->job_id);
        mem_free(revoke);
    }
}

static void ended(void *ctx, struct run *run)
{
    struct dispatch *dispatch = ctx;
    list_remove(&run->link);
    slots_release(dispatch->slots, run);
    // A run that was told to stop may have ended by itself just before; then that is what happened.
    bool stopped = run->result.outcome == OUTCOME_CANCELLED;
    send_back(dispatch, run, stopped ? run->end : run->result.later ? RUN_DETACHED : RUN_ENDED);
}

// How a run that has a slot goes on (I4, I6, I15): RUN_ENDED means that it may start; anything else is why it may not.
static enum run_end verdict(struct dispatch *dispatch, const struct run *run)
{
    static const struct {
        enum run_end end;
        enum mark why;
    } verdicts[] = {[WAIT_TIME] = {RUN_RELEASED, MARK_GIVEN_BACK}, // the clock was set back since it was published
                    [WAIT_QUEUE] = {RUN_RELEASED, MARK_PAUSED},
                    [WAIT_EXPIRED] = {RUN_EXPIRED, MARK_EXPIRED_IN_HAND}};
    if (run->job.holder != atomic_load(&dispatch->node->incarnation)) {
        mark(MARK_OLD_LIFE);
        return RUN_RELEASED;
    }
    enum job_wait wait = job_wait(&run->job, lanes_is_paused(dispatch->node->lanes, run->job.lane), dispatch->now.wall_ms);
    if (wait == WAIT_NOTHING)
        return RUN_ENDED;
    mark(verdicts[wait].why);
    return verdicts[wait].end;
}

static void start(struct dispatch *dispatch, struct run *run)
{
    CRASH_POINT("dispatch.before_start");
    if (!dispatch->key)
        dispatch->key = node_ticket_key(dispatch->node);
    ticket_write(dispatch->key, run->job.id, run->token, run->ticket);
    run->end = RUN_ENDED;
    run->mono_start = dispatch->now.mono_ms;
    node_started(dispatch->node, run);
    list_append(&dispatch->fresh, &run->link);
    dispatch->exec->ops->start(dispatch->exec, run, dispatch->now);
}

// What an attempt needs to know is found out before it begins, and without a slot: a name that nobody answers for costs those it
// shares a lane with nothing, and itself no attempt. Once is enough: what it was told may be old when it gets a slot again.
static bool is_prepared(struct dispatch *dispatch, struct run *run)
{
    const struct exec_ops *ops = dispatch->exec->ops;
    if (!ops->prepare || run->needs == RUN_PREPARED || ops->prepare(dispatch->exec, run))
        return true;
    slots_release(dispatch->slots, run);
    run->needs = RUN_PREPARING;
    run->waits_since = dispatch->now.mono_ms;
    list_append(&dispatch->preparing, &run->link);
    return false;
}

static void start_waiting(struct dispatch *dispatch)
{
    for (struct run *run; (run = slots_next(dispatch->slots));) {
        enum run_end end = verdict(dispatch, run);
        if (end == RUN_ENDED && !is_prepared(dispatch, run))
            continue;
        if (end == RUN_ENDED && job_start(&run->job, &run->task.policy, dispatch->now.wall_ms))
            end = RUN_RELEASED;
        if (end == RUN_ENDED) {
            start(dispatch, run);
            continue;
        }
        slots_release(dispatch->slots, run);
        send_back(dispatch, run, end);
    }
}

static int64_t next_unprepared(const struct dispatch *dispatch)
{
    if (list_empty(&dispatch->preparing))
        return TIME_NEVER;
    return list_entry(dispatch->preparing.next, struct run, link)->waits_since + PREPARE_MS;
}

// What waits for a full host, or for what it needs to know, goes back, so that it does not hold room that others could use, nor
// keep those waiting who want to change it.
static void set_aside(struct dispatch *dispatch)
{
    while (next_unprepared(dispatch) <= dispatch->now.mono_ms) {
        struct run *run = list_entry(dispatch->preparing.next, struct run, link);
        mark(MARK_UNPREPARED);
        stop_preparing(dispatch, run);
        run->postpone_to = dispatch->now.wall_ms + ASIDE_MS;
        send_back(dispatch, run, RUN_POSTPONED);
    }
    for (struct run *run; (run = slots_stuck(dispatch->slots, dispatch->now));) {
        mark(MARK_SET_ASIDE);
        send_back(dispatch, run, RUN_POSTPONED);
    }
}

static void release_waiting(struct dispatch *dispatch)
{
    for (struct run *run; (run = slots_take(dispatch->slots));)
        send_back(dispatch, run, RUN_RELEASED);
    list_each (&dispatch->preparing, link) {
        struct run *run = list_entry(link, struct run, link);
        stop_preparing(dispatch, run);
        send_back(dispatch, run, RUN_RELEASED);
    }
}

static void note_running(struct dispatch *dispatch)
{
    list_each (&dispatch->fresh, link) {
        struct run *run = list_entry(link, struct run, link);
        if (run->mono_start + NOTE_AFTER_MS > dispatch->now.mono_ms)
            return;
        struct run_began *began = mem_alloc(sizeof *began);
        *began = (struct run_began){.job = run->job, .token = run->token};
        list_remove(link);
        list_append(&dispatch->noted, link);
        broker_note(dispatch->node->broker, &began->note);
    }
}

static void answer_one(struct dispatch *dispatch, struct dispatch_question *question)
{
    struct run like = {.job = {.id = question->job_id, .lane = question->lane, .priority = (uint8_t)question->priority},
                       .host = question->host};
    const struct run *here = map_get(&dispatch->runs, question->job_id);
    slots_look(dispatch->slots, here && !is_running(here) ? here : &like, question->aside, dispatch->now, &question->view);
    question->preparing = here && here->needs == RUN_PREPARING;
    question->done(question);
}

static void answer_questions(struct dispatch *dispatch)
{
    struct list questions;
    list_init(&questions);
    mailbox_take(&dispatch->questions, &questions);
    list_each (&questions, link)
        answer_one(dispatch, list_entry(link, struct dispatch_question, link));
}

static void interrupt_all(struct dispatch *dispatch, struct list *running)
{
    list_each (running, link) {
        struct run *run = list_entry(link, struct run, link);
        mark(MARK_INTERRUPTED);
        run->end = RUN_INTERRUPTED;
        dispatch->exec->ops->cancel(dispatch->exec, run);
    }
}

static int64_t next_turn(const struct dispatch *dispatch, bool alive)
{
    struct now now = dispatch->now;
    int64_t mono = time_min(slots_next_stuck(dispatch->slots), next_unprepared(dispatch));
    if (!list_empty(&dispatch->fresh))
        mono = time_min(mono, list_entry(dispatch->fresh.next, struct run, link)->mono_start + NOTE_AFTER_MS);
    if (!alive && slots_waiting(dispatch->slots)) {
        mark(MARK_NOT_ALIVE);
        mono = time_min(mono, now.mono_ms + NOT_ALIVE_WAIT_MS);
    }
    return mono == TIME_NEVER ? TIME_NEVER : now.wall_ms + time_max(mono - now.mono_ms, 1);
}

int64_t dispatch_turn(struct dispatch *dispatch, struct now now)
{
    dispatch->now = now;
    slots_limit_hosts(dispatch->slots, atomic_load_explicit(&dispatch->per_host, memory_order_relaxed));
    // A revoke is posted after its run was published. So revokes are taken first: what they speak of is here, or was.
    struct list revokes;
    list_init(&revokes);
    mailbox_take(&dispatch->revokes, &revokes);
    take_runs(dispatch);
    revoke_all(dispatch, &revokes);
    bool alive = node_alive(dispatch->node, now.mono_ms);
    if (atomic_load(&dispatch->node->stopping))
        release_waiting(dispatch);
    else if (alive)
        start_waiting(dispatch);
    set_aside(dispatch);
    if (atomic_exchange(&dispatch->interrupt, false)) {
        interrupt_all(dispatch, &dispatch->fresh);
        interrupt_all(dispatch, &dispatch->noted);
    }
    note_running(dispatch);
    answer_questions(dispatch);
    return next_turn(dispatch, alive);
}

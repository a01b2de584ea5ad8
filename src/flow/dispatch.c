// A lane's runs wait here by priority; lanes take turns; a lane may use as many slots as are free besides (core/share), so
// one lane's hanging targets leave slots for the others.
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
#include "core/share.h"

enum {
    NOTE_AFTER_MS = 100, // a run that takes longer is written as begun
    RECENT = 4096,       // ended runs that are remembered
    NOT_ALIVE_WAIT_MS = 100,
    AGAIN_MS = 1000, // a newer claim of what still runs is tried again after this
};

struct slot_lane {
    int64_t lane;
    struct list turn; // in dispatch->turns while something waits
    struct list waiting[JOB_PRIORITIES];
    int waiting_count, running;
};

struct revoke {
    struct list link;
    int64_t job_id;
};

struct dispatch {
    struct node *node;
    struct exec *exec;
    struct mailbox revokes;
    int slots, running_count;
    struct map lanes;  // lane -> struct slot_lane
    struct list turns; // lanes with something waiting
    struct map runs;   // job id -> run, waiting or running
    struct list fresh; // running, not noted yet, oldest first
    struct list noted; // running, noted
    struct now now;
    struct {
        int64_t job_id, token;
    } recent[RECENT];
    size_t recent_at;
    struct map recent_ids; // job id -> its place in `recent` + 1
    _Atomic bool interrupt;
};

static void ended(void *ctx, struct run *run);

struct dispatch *dispatch_new(struct node *node, struct exec *exec, int slots, struct waker *waker)
{
    struct dispatch *dispatch = mem_zero(sizeof *dispatch);
    dispatch->node = node;
    dispatch->exec = exec;
    dispatch->slots = slots;
    mailbox_init(&dispatch->revokes, waker);
    list_init(&dispatch->turns);
    list_init(&dispatch->fresh);
    list_init(&dispatch->noted);
    exec->ended = ended;
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
    int64_t id;
    size_t at = 0;
    for (struct run *run; (run = map_next(&dispatch->runs, &at, &id));)
        run_free(run);
    at = 0;
    for (struct slot_lane *lane; (lane = map_next(&dispatch->lanes, &at, &id));)
        mem_free(lane);
    map_done(&dispatch->runs);
    map_done(&dispatch->lanes);
    map_done(&dispatch->recent_ids);
    mailbox_done(&dispatch->revokes);
    mem_free(dispatch);
}

void dispatch_revoke(struct dispatch *dispatch, int64_t job_id)
{
    struct revoke *revoke = mem_alloc(sizeof *revoke);
    revoke->job_id = job_id;
    mailbox_post(&dispatch->revokes, &revoke->link);
}

size_t dispatch_count(const struct dispatch *dispatch)
{
    return dispatch->runs.count;
}

void dispatch_interrupt(struct dispatch *dispatch)
{
    atomic_store(&dispatch->interrupt, true);
}

static struct slot_lane *lane_of(struct dispatch *dispatch, const struct run *run)
{
    struct slot_lane *lane = map_get(&dispatch->lanes, run->job.lane);
    if (lane)
        return lane;
    lane = mem_zero(sizeof *lane);
    lane->lane = run->job.lane;
    for (int i = 0; i < JOB_PRIORITIES; i++)
        list_init(&lane->waiting[i]);
    map_put(&dispatch->lanes, lane->lane, lane);
    return lane;
}

static bool lane_idle(const struct slot_lane *lane)
{
    return lane->waiting_count == 0 && lane->running == 0;
}

// A lane is kept only while it has something here: there may be a hundred thousand of them over a day.
static void drop_idle(struct dispatch *dispatch, struct slot_lane *lane)
{
    if (!lane_idle(lane))
        return;
    map_remove(&dispatch->lanes, lane->lane);
    mem_free(lane);
}

static void remember(struct dispatch *dispatch, const struct run *run)
{
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
    send_note(dispatch, run, end);
}

static void stop_waiting(struct dispatch *dispatch, struct slot_lane *lane, struct run *run)
{
    list_remove(&run->link);
    if (--lane->waiting_count == 0)
        list_remove(&lane->turn);
}

static bool is_running(const struct run *run)
{
    return run->job.state == JOB_RESERVED;
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
    struct slot_lane *lane = lane_of(dispatch, run);
    stop_waiting(dispatch, lane, run);
    drop_idle(dispatch, lane);
    send_back(dispatch, run, RUN_CANCELLED);
}

static void enqueue(struct dispatch *dispatch, struct run *run)
{
    struct slot_lane *lane = lane_of(dispatch, run);
    map_put(&dispatch->runs, run->job.id, run);
    list_append(&lane->waiting[JOB_PRIORITIES - 1 - run->job.priority], &run->link);
    if (lane->waiting_count++ == 0)
        list_append(&dispatch->turns, &lane->turn);
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
            send_note(dispatch, run, RUN_POSTPONED);
        } else {
            enqueue(dispatch, run);
        }
    }
}

static void take_revokes(struct dispatch *dispatch)
{
    struct list revokes;
    list_init(&revokes);
    mailbox_take(&dispatch->revokes, &revokes);
    list_each (&revokes, link) {
        struct revoke *revoke = list_entry(link, struct revoke, link);
        revoke_one(dispatch, revoke->job_id);
        mem_free(revoke);
    }
}

static void ended(void *ctx, struct run *run)
{
    struct dispatch *dispatch = ctx;
    struct slot_lane *lane = lane_of(dispatch, run);
    list_remove(&run->link);
    lane->running--;
    dispatch->running_count--;
    drop_idle(dispatch, lane);
    // A run that was told to stop may have ended by itself just before; then that is what happened.
    bool stopped = run->result.outcome == OUTCOME_CANCELLED;
    send_back(dispatch, run, stopped ? run->end : RUN_ENDED);
}

// May it start now? If not, it is sent back with the reason.
static bool may_start(struct dispatch *dispatch, struct run *run)
{
    struct now now = dispatch->now;
    bool old_life = run->job.holder != atomic_load(&dispatch->node->incarnation);
    bool expired = run->job.expires_at && run->job.expires_at <= now.wall_ms;
    bool early = run->job.due_at > now.wall_ms; // the clock was set back since it was published
    bool paused = lanes_is_paused(dispatch->node->lanes, run->job.lane);
    if (!old_life && !expired && !early && !paused)
        return true;
    mark(old_life ? MARK_OLD_LIFE : expired ? MARK_EXPIRED_IN_HAND : early ? MARK_GIVEN_BACK : MARK_PAUSED);
    send_back(dispatch, run, expired && !old_life ? RUN_EXPIRED : RUN_RELEASED);
    return false;
}

static void start(struct dispatch *dispatch, struct slot_lane *lane, struct run *run)
{
    if (job_start(&run->job, &run->task.policy, dispatch->now.wall_ms)) {
        send_back(dispatch, run, RUN_RELEASED);
        return;
    }
    CRASH_POINT("dispatch.before_start");
    lane->running++;
    dispatch->running_count++;
    run->end = RUN_ENDED;
    run->mono_start = dispatch->now.mono_ms;
    list_append(&dispatch->fresh, &run->link);
    dispatch->exec->ops->start(dispatch->exec, run, dispatch->now);
}

static struct run *first_waiting(struct slot_lane *lane)
{
    for (int i = 0; i < JOB_PRIORITIES; i++)
        if (!list_empty(&lane->waiting[i]))
            return list_entry(lane->waiting[i].next, struct run, link);
    return NULL;
}

// One run of one lane; then the lane goes to the end of the line. False: the lane has no room.
static bool serve(struct dispatch *dispatch, struct slot_lane *lane)
{
    if (share_more(dispatch->slots, dispatch->running_count, lane->running, 1) == 0)
        return false;
    struct run *run = first_waiting(lane);
    stop_waiting(dispatch, lane, run);
    if (lane->waiting_count) {
        list_remove(&lane->turn);
        list_append(&dispatch->turns, &lane->turn);
    }
    if (may_start(dispatch, run))
        start(dispatch, lane, run);
    drop_idle(dispatch, lane);
    return true;
}

static void start_waiting(struct dispatch *dispatch)
{
    struct list full; // lanes without room, set aside for this turn
    list_init(&full);
    while (!list_empty(&dispatch->turns) && dispatch->running_count < dispatch->slots) {
        struct slot_lane *lane = list_entry(dispatch->turns.next, struct slot_lane, turn);
        if (!serve(dispatch, lane)) {
            list_remove(&lane->turn);
            list_append(&full, &lane->turn);
        }
    }
    list_splice(&dispatch->turns, &full);
}

static void release_waiting(struct dispatch *dispatch)
{
    while (!list_empty(&dispatch->turns)) {
        struct slot_lane *lane = list_entry(dispatch->turns.next, struct slot_lane, turn);
        struct run *run = first_waiting(lane);
        stop_waiting(dispatch, lane, run);
        drop_idle(dispatch, lane);
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

static void interrupt_all(struct dispatch *dispatch, struct list *running)
{
    list_each (running, link) {
        struct run *run = list_entry(link, struct run, link);
        mark(MARK_INTERRUPTED);
        run->end = RUN_INTERRUPTED;
        dispatch->exec->ops->cancel(dispatch->exec, run);
    }
}

int64_t dispatch_turn(struct dispatch *dispatch, struct now now)
{
    dispatch->now = now;
    take_runs(dispatch);
    take_revokes(dispatch);
    bool alive = node_alive(dispatch->node, now.mono_ms);
    if (atomic_load(&dispatch->node->stopping))
        release_waiting(dispatch);
    else if (alive)
        start_waiting(dispatch);
    if (atomic_exchange(&dispatch->interrupt, false)) {
        interrupt_all(dispatch, &dispatch->fresh);
        interrupt_all(dispatch, &dispatch->noted);
    }
    note_running(dispatch);
    int64_t next = TIME_NEVER;
    if (!list_empty(&dispatch->fresh)) {
        const struct run *oldest = list_entry(dispatch->fresh.next, struct run, link);
        next = now.wall_ms + time_max(oldest->mono_start + NOTE_AFTER_MS - now.mono_ms, 1);
    }
    if (!alive && !list_empty(&dispatch->turns)) {
        mark(MARK_NOT_ALIVE);
        next = time_min(next, now.wall_ms + NOT_ALIVE_WAIT_MS);
    }
    return next;
}

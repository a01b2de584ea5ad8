// Takes orders from the broker, lets them wait for a slot (flow/stages/slots says who is next), starts them, and reports their
// outcomes.
//
// Before each start it checks that it still may: the right of the incarnation that holds the job was renewed lately, its lane is
// not paused, the job has not expired. An order may come twice from the broker: what waits, runs or ended lately is known by its
// id and token.
//
// It writes nothing: outcomes go to the completer through the broker. That an attempt began is only reported when it is still
// running a moment later, so a quick one costs one write.
#include "flow/stages/dispatch.h"

#include "base/crash.h"
#include "base/data/map.h"
#include "base/data/recent.h"
#include "base/mark.h"
#include "base/mem.h"

#include <stdatomic.h>

enum {
    NOTE_AFTER_MS = 100, // an attempt that takes longer is reported as begun
    RECENT = 4096,       // orders that went back lately, and are remembered
    NOT_ALIVE_WAIT_MS = 100,
    AGAIN_MS = 1000,   // a newer claim of what still runs is tried again after this
    PREPARE_MS = 1000, // so long an order waits here for what it needs to know, and …
    ASIDE_MS = 3000,   // … so long it is set aside then
    ANSWERS_MAX = 4,   // questions answered in a turn: calls wait meanwhile
};

struct revoke {
    struct list link;
    int64_t job_id, token;
};

// Whether the exec knows all that an attempt needs (exec_ops.prepare).
enum needs { UNPREPARED, PREPARING, PREPARED };

// An order that is here. It lives in the order's arena.
struct work {
    struct slots_user user; // its link is in a list below, or the slots'
    struct exec_attempt attempt;
    enum needs needs;
    enum order_end end; // of what runs: what it is reported as, if the exec has to stop it
    int64_t mono_start; // when it was started, on the clock that does not jump
};

static_assert(sizeof(struct work) <= ORDER_ROOM_DISPATCHER, "an order has room for its work");

// What this executor may do, as controls have said. They come on any thread; it is looked at before each start.
struct rights {
    pthread_mutex_t lock;
    struct map renewed;     // incarnation -> until when what it holds may start, monotonic
    struct map paused;      // lanes that are paused
    _Atomic int64_t latest; // of `renewed`
};

struct dispatch {
    struct broker *broker;
    struct exec *exec;
    void (*started)(void *ctx, const struct outcome *running);
    void *ctx;
    struct mailbox revokes, questions;
    struct rights rights;
    struct slots *slots;
    struct map works;       // job id -> struct work, waiting or running
    struct list fresh;      // running, not reported yet, oldest first
    struct list reported;   // running, reported as begun
    struct list preparing;  // waiting, but not for a slot: the exec finds out what they need
    struct list asked;      // questions that are not answered yet
    struct recent *recent;  // job id -> the token it went back with
    struct recent *revoked; // job id -> the token up to which it was called off before it came
    struct now now;
    _Atomic bool stopping, interrupt;
    _Atomic int per_host;
};

static void take_control(void *ctx, const struct control *control);
static void ended(void *ctx, struct exec_attempt *attempt);
static void prepared(void *ctx, struct exec_attempt *attempt);
static bool stop_preparing(struct dispatch *dispatch, struct work *work);

struct dispatch *dispatch_new(const struct dispatch_config *config)
{
    struct dispatch *dispatch = mem_zero(sizeof *dispatch);
    dispatch->broker = config->broker;
    dispatch->exec = config->exec;
    dispatch->started = config->started;
    dispatch->ctx = config->ctx;
    dispatch->slots = slots_new(config->slots);
    dispatch->recent = recent_new(RECENT);
    dispatch->revoked = recent_new(RECENT);
    pthread_mutex_init(&dispatch->rights.lock, NULL);
    mailbox_init(&dispatch->revokes, config->waker);
    mailbox_init(&dispatch->questions, config->waker);
    list_init(&dispatch->fresh);
    list_init(&dispatch->reported);
    list_init(&dispatch->preparing);
    list_init(&dispatch->asked);
    config->exec->ended = ended;
    config->exec->prepared = prepared;
    config->exec->ctx = dispatch;
    broker_attach(config->broker, &(struct broker_executor){.control = take_control, .ctx = dispatch});
    return dispatch;
}

static struct work *work_at(struct list *link)
{
    return container_of(list_entry(link, struct slots_user, link), struct work, user);
}

static struct work *work_of(struct slots_user *user)
{
    return user ? container_of(user, struct work, user) : NULL;
}

static struct order *order_of(const struct work *work)
{
    return work->attempt.order;
}

void dispatch_free(struct dispatch *dispatch)
{
    if (!dispatch)
        return;
    struct list revokes, *link;
    list_init(&revokes);
    mailbox_take(&dispatch->revokes, &revokes);
    list_each (&revokes, revoke)
        mem_free(list_entry(revoke, struct revoke, link));
    for (struct work *work; (work = work_of(slots_take(dispatch->slots)));)
        order_free(order_of(work));
    while (!list_empty(&dispatch->preparing)) {
        struct work *work = work_at(dispatch->preparing.next);
        stop_preparing(dispatch, work);
        order_free(order_of(work));
    }
    while ((link = list_take(&dispatch->fresh)) || (link = list_take(&dispatch->reported)))
        order_free(order_of(work_at(link)));
    slots_free(dispatch->slots);
    recent_free(dispatch->recent);
    recent_free(dispatch->revoked);
    map_done(&dispatch->works);
    map_done(&dispatch->rights.renewed);
    map_done(&dispatch->rights.paused);
    pthread_mutex_destroy(&dispatch->rights.lock);
    mailbox_done(&dispatch->revokes);
    mailbox_done(&dispatch->questions);
    mem_free(dispatch);
}

void dispatch_ask(struct dispatch *dispatch, struct dispatch_question *question)
{
    mailbox_post(&dispatch->questions, &question->link);
}

size_t dispatch_count(const struct dispatch *dispatch)
{
    return dispatch->works.count;
}

void dispatch_limit_hosts(struct dispatch *dispatch, int per_host)
{
    atomic_store(&dispatch->per_host, per_host);
}

void dispatch_stop(struct dispatch *dispatch)
{
    atomic_store(&dispatch->stopping, true);
}

void dispatch_interrupt(struct dispatch *dispatch)
{
    atomic_store(&dispatch->interrupt, true);
}

// ---- controls

static void put_or_remove(struct map *map, int64_t key, intptr_t value)
{
    if (value > 0)
        map_put(map, key, (void *)value);
    else
        map_remove(map, key);
}

static void pause_lane(struct rights *rights, int64_t lane, bool paused)
{
    pthread_mutex_lock(&rights->lock);
    put_or_remove(&rights->paused, lane, paused);
    pthread_mutex_unlock(&rights->lock);
}

static void renew(struct rights *rights, int64_t holder, int64_t until_ms)
{
    int64_t id, latest = until_ms;
    size_t at = 0;
    pthread_mutex_lock(&rights->lock);
    put_or_remove(&rights->renewed, holder, (intptr_t)until_ms);
    if (until_ms < atomic_load(&rights->latest)) // it may have been this holder's
        for (void *until; (until = map_next(&rights->renewed, &at, &id));)
            latest = time_max(latest, (intptr_t)until);
    atomic_store(&rights->latest, latest);
    pthread_mutex_unlock(&rights->lock);
}

static void take_control(void *ctx, const struct control *control)
{
    struct dispatch *dispatch = ctx;
    struct rights *rights = &dispatch->rights;
    switch (control->kind) {
    case CONTROL_REVOKE: {
        struct revoke *revoke = mem_alloc(sizeof *revoke);
        revoke->job_id = control->id;
        revoke->token = control->token;
        mailbox_post(&dispatch->revokes, &revoke->link);
        break;
    }
    case CONTROL_PAUSE:
        pause_lane(rights, control->id, control->paused);
        break;
    case CONTROL_RENEW:
        renew(rights, control->id, control->until_ms);
        break;
    }
}

// Was the right of any holder renewed lately? An executor without renewals starts nothing, and waits.
static bool any_holder_lives(struct dispatch *dispatch)
{
    return atomic_load(&dispatch->rights.latest) > dispatch->now.mono_ms;
}

// I3, I6, I15: whether the right of a job's holder was renewed lately, and whether its lane is paused.
static bool holder_lives(struct dispatch *dispatch, const struct job *job, bool *ret_paused)
{
    struct rights *rights = &dispatch->rights;
    pthread_mutex_lock(&rights->lock);
    intptr_t until = (intptr_t)map_get(&rights->renewed, job->holder);
    *ret_paused = rights->paused.count && map_get(&rights->paused, job->lane);
    pthread_mutex_unlock(&rights->lock);
    return until > dispatch->now.mono_ms;
}

// ---- orders come and go

static bool was_here(struct dispatch *dispatch, const struct job *job)
{
    const struct work *here = map_get(&dispatch->works, job->id);
    return (here && order_of(here)->job.token >= job->token) || recent_get(dispatch->recent, job->id) >= job->token;
}

static void remember(struct dispatch *dispatch, const struct job *job)
{
    if (recent_get(dispatch->recent, job->id) < job->token)
        recent_put(dispatch->recent, job->id, job->token);
}

static void report(struct dispatch *dispatch, struct outcome *outcome, enum order_end end)
{
    outcome->end = end;
    CRASH_POINT("dispatch.after_end");
    broker_report(dispatch->broker, outcome);
}

// The order leaves this stage. What began has an outcome already.
static void send_back(struct dispatch *dispatch, struct work *work, enum order_end end, int64_t postpone_to)
{
    struct order *order = order_of(work);
    map_remove(&dispatch->works, order->job.id);
    remember(dispatch, &order->job);
    struct outcome *outcome = work->attempt.outcome ? work->attempt.outcome : outcome_new(order);
    outcome->postpone_to = postpone_to;
    report(dispatch, outcome, end);
}

// False: it waits for a slot.
static bool stop_preparing(struct dispatch *dispatch, struct work *work)
{
    if (work->needs != PREPARING)
        return false;
    dispatch->exec->ops->forget(dispatch->exec, &work->attempt);
    list_remove(&work->user.link);
    return true;
}

static void prepared(void *ctx, struct exec_attempt *attempt)
{
    struct dispatch *dispatch = ctx;
    struct work *work = container_of(attempt, struct work, attempt);
    list_remove(&work->user.link);
    work->needs = PREPARED;
    slots_wait(dispatch->slots, &work->user, dispatch->now);
}

static bool is_running(const struct work *work)
{
    return work->attempt.outcome != NULL;
}

static void call_off(struct dispatch *dispatch, struct work *work)
{
    if (is_running(work)) {
        mark(MARK_CANCELLED_RUNNING);
        work->end = ORDER_CANCELLED;
        dispatch->exec->ops->cancel(dispatch->exec, &work->attempt);
        return;
    }
    if (!stop_preparing(dispatch, work))
        slots_withdraw(dispatch->slots, &work->user);
    send_back(dispatch, work, ORDER_CANCELLED, 0);
}

static void begin_waiting(struct dispatch *dispatch, struct order *order)
{
    const struct job *job = &order->job;
    struct work *work = arena_alloc(&order->arena, sizeof *work);
    work->user = (struct slots_user){.lane = job->lane, .host = order->host, .priority = job->priority};
    work->attempt.order = order;
    map_put(&dispatch->works, job->id, work);
    slots_wait(dispatch->slots, &work->user, dispatch->now);
}

// An order that does not even begin to wait here.
static void refuse(struct dispatch *dispatch, struct order *order, enum order_end end, int64_t postpone_to)
{
    remember(dispatch, &order->job);
    struct outcome *outcome = outcome_new(order);
    outcome->postpone_to = postpone_to;
    report(dispatch, outcome, end);
}

// An earlier life of its holder still runs the job, with a token that is worth nothing: out with that first.
static void put_off(struct dispatch *dispatch, struct order *order)
{
    mark(MARK_NEWER_ORDER);
    call_off(dispatch, map_get(&dispatch->works, order->job.id));
    refuse(dispatch, order, ORDER_POSTPONED, dispatch->now.wall_ms + AGAIN_MS);
}

static void take_orders(struct dispatch *dispatch)
{
    struct list orders;
    list_init(&orders);
    broker_take(dispatch->broker, &orders);
    list_each (&orders, link) {
        struct order *order = list_entry(link, struct order, link);
        if (was_here(dispatch, &order->job)) {
            mark(MARK_DOUBLED_ORDER);
            order_free(order);
        } else if (map_get(&dispatch->works, order->job.id)) {
            put_off(dispatch, order);
        } else if (recent_get(dispatch->revoked, order->job.id) >= order->job.token) {
            mark(MARK_REVOKED_EARLY);
            refuse(dispatch, order, ORDER_CANCELLED, 0);
        } else {
            begin_waiting(dispatch, order);
        }
    }
}

static void revoke_all(struct dispatch *dispatch, struct list *revokes)
{
    list_each (revokes, link) {
        struct revoke *revoke = list_entry(link, struct revoke, link);
        struct work *work = map_get(&dispatch->works, revoke->job_id);
        if (work)
            call_off(dispatch, work);
        else // its outcome is on its way, or the order is late
            recent_put(dispatch->revoked, revoke->job_id, revoke->token);
        mem_free(revoke);
    }
}

// ---- attempts

static void ended(void *ctx, struct exec_attempt *attempt)
{
    struct dispatch *dispatch = ctx;
    struct work *work = container_of(attempt, struct work, attempt);
    const struct outcome *outcome = attempt->outcome;
    list_remove(&work->user.link);
    slots_release(dispatch->slots, &work->user, outcome->result.completed_at - outcome->job.started_at);
    // An attempt that was to be stopped may have ended by itself just before; then that is what happened.
    bool stopped = outcome->result.outcome == OUTCOME_CANCELLED;
    send_back(dispatch, work, stopped ? work->end : outcome->result.later ? ORDER_DETACHED : ORDER_ENDED, 0);
}

// Whether an order that has a slot may start (I4, I6, I15). If not, *ret_end is what it is sent back as.
static bool may_start(struct dispatch *dispatch, const struct job *job, enum order_end *ret_end)
{
    static const struct {
        enum order_end end;
        enum mark why;
    } refusals[] = {[WAIT_TIME] = {ORDER_RELEASED, MARK_GIVEN_BACK}, // the clock was set back since it was published
                    [WAIT_QUEUE] = {ORDER_RELEASED, MARK_PAUSED},
                    [WAIT_EXPIRED] = {ORDER_EXPIRED, MARK_EXPIRED_IN_HAND}};
    bool paused;
    if (!holder_lives(dispatch, job, &paused)) {
        mark(MARK_OLD_LIFE);
        *ret_end = ORDER_RELEASED;
        return false;
    }
    enum job_wait wait = job_wait(job, paused, dispatch->now.wall_ms);
    if (wait == WAIT_NOTHING)
        return true;
    mark(refusals[wait].why);
    *ret_end = refusals[wait].end;
    return false;
}

// What an attempt needs to know is found out before it begins, and without a slot: a name that nobody answers for costs those it
// shares a lane with nothing, and itself no attempt. It is done once only: another answer could be old by the time there is a
// slot, too.
static bool is_prepared(struct dispatch *dispatch, struct work *work)
{
    const struct exec_ops *ops = dispatch->exec->ops;
    if (!ops->prepare || work->needs == PREPARED || ops->prepare(dispatch->exec, &work->attempt))
        return true;
    slots_release(dispatch->slots, &work->user, -1);
    work->needs = PREPARING;
    work->user.waits_since = dispatch->now.mono_ms;
    list_append(&dispatch->preparing, &work->user.link);
    return false;
}

// False: its record says that it cannot begin.
static bool start(struct dispatch *dispatch, struct work *work)
{
    struct outcome *outcome = outcome_new(order_of(work));
    if (job_start(&outcome->job, &outcome->policy, dispatch->now.wall_ms))
        return false;
    CRASH_POINT("dispatch.before_start");
    work->attempt.outcome = outcome;
    work->mono_start = dispatch->now.mono_ms;
    if (dispatch->started)
        dispatch->started(dispatch->ctx, outcome);
    list_append(&dispatch->fresh, &work->user.link);
    dispatch->exec->ops->start(dispatch->exec, &work->attempt, dispatch->now);
    return true;
}

static void start_waiting(struct dispatch *dispatch)
{
    for (struct work *work; (work = work_of(slots_next(dispatch->slots)));) {
        enum order_end end = ORDER_RELEASED;
        bool may = may_start(dispatch, &order_of(work)->job, &end);
        if (may && !is_prepared(dispatch, work))
            continue;
        if (may && start(dispatch, work))
            continue;
        slots_release(dispatch->slots, &work->user, -1);
        send_back(dispatch, work, end, 0);
    }
}

static int64_t next_unprepared(const struct dispatch *dispatch)
{
    return list_empty(&dispatch->preparing) ? TIME_NEVER : work_at(dispatch->preparing.next)->user.waits_since + PREPARE_MS;
}

// What waits for a full host, or for what it needs to know, goes back, so that it does not hold room that others could use, nor
// keep those waiting who want to change it.
static void set_aside(struct dispatch *dispatch)
{
    while (next_unprepared(dispatch) <= dispatch->now.mono_ms) {
        struct work *work = work_at(dispatch->preparing.next);
        mark(MARK_UNPREPARED);
        stop_preparing(dispatch, work);
        send_back(dispatch, work, ORDER_POSTPONED, dispatch->now.wall_ms + ASIDE_MS);
    }
    int64_t aside_ms;
    for (struct work *work; (work = work_of(slots_stuck(dispatch->slots, dispatch->now, &aside_ms)));) {
        mark(MARK_SET_ASIDE);
        send_back(dispatch, work, ORDER_POSTPONED, dispatch->now.wall_ms + aside_ms);
    }
}

static void release_waiting(struct dispatch *dispatch)
{
    for (struct work *work; (work = work_of(slots_take(dispatch->slots)));)
        send_back(dispatch, work, ORDER_RELEASED, 0);
    list_each (&dispatch->preparing, link) {
        struct work *work = work_at(link);
        stop_preparing(dispatch, work);
        send_back(dispatch, work, ORDER_RELEASED, 0);
    }
}

static void report_running(struct dispatch *dispatch)
{
    list_each (&dispatch->fresh, link) {
        struct work *work = work_at(link);
        if (work->mono_start + NOTE_AFTER_MS > dispatch->now.mono_ms)
            return;
        list_remove(link);
        list_append(&dispatch->reported, link);
        broker_report(dispatch->broker, outcome_began(work->attempt.outcome));
    }
}

static void answer_one(struct dispatch *dispatch, struct dispatch_question *question)
{
    struct slots_user like = {.lane = question->lane, .priority = question->priority, .host = question->host};
    const struct work *here = map_get(&dispatch->works, question->job_id);
    slots_look(dispatch->slots, here && !is_running(here) ? &here->user : &like, question->aside, dispatch->now, &question->view);
    question->preparing = here && here->needs == PREPARING;
    question->done(question);
}

static void answer_questions(struct dispatch *dispatch)
{
    struct list *link;
    mailbox_take(&dispatch->questions, &dispatch->asked);
    for (int i = 0; i < ANSWERS_MAX && (link = list_take(&dispatch->asked)); i++)
        answer_one(dispatch, list_entry(link, struct dispatch_question, link));
}

static void interrupt_all(struct dispatch *dispatch, struct list *running)
{
    list_each (running, link) {
        struct work *work = work_at(link);
        mark(MARK_INTERRUPTED);
        work->end = ORDER_INTERRUPTED;
        dispatch->exec->ops->cancel(dispatch->exec, &work->attempt);
    }
}

static int64_t next_turn(const struct dispatch *dispatch, bool may_act)
{
    struct now now = dispatch->now;
    int64_t mono = time_min(slots_next_stuck(dispatch->slots), next_unprepared(dispatch));
    if (!list_empty(&dispatch->fresh))
        mono = time_min(mono, work_at(dispatch->fresh.next)->mono_start + NOTE_AFTER_MS);
    if (!may_act && slots_waiting(dispatch->slots)) {
        mark(MARK_NOT_ALIVE);
        mono = time_min(mono, now.mono_ms + NOT_ALIVE_WAIT_MS);
    }
    if (!list_empty(&dispatch->asked))
        mono = now.mono_ms;
    return mono == TIME_NEVER ? TIME_NEVER : now.wall_ms + time_max(mono - now.mono_ms, 1);
}

int64_t dispatch_turn(struct dispatch *dispatch, struct now now)
{
    dispatch->now = now;
    slots_limit_hosts(dispatch->slots, atomic_load_explicit(&dispatch->per_host, memory_order_relaxed));
    // A revoke comes after its order was published. So revokes are taken first: unless a broker is late, their orders are here,
    // or were.
    struct list revokes;
    list_init(&revokes);
    mailbox_take(&dispatch->revokes, &revokes);
    take_orders(dispatch);
    revoke_all(dispatch, &revokes);
    bool may_act = any_holder_lives(dispatch);
    if (atomic_load(&dispatch->stopping))
        release_waiting(dispatch);
    else if (may_act)
        start_waiting(dispatch);
    set_aside(dispatch);
    if (atomic_exchange(&dispatch->interrupt, false)) {
        interrupt_all(dispatch, &dispatch->fresh);
        interrupt_all(dispatch, &dispatch->reported);
    }
    report_running(dispatch);
    answer_questions(dispatch);
    return next_turn(dispatch, may_act);
}

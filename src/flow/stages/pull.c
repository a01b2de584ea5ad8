// Claims what is near, keeps it in a wheel, publishes it at its millisecond.
//
// The map `held` is what this node believes to hold. The store is the truth: when an answer was lost, and regularly, pull asks
// the store what this incarnation holds and takes in hand what it does not know of (recount). So a lost hand-over costs time,
// never the job.
//
// It does not decide whether an attempt may begin (dispatch does) nor what follows its end (complete does).
#include "flow/stages/pull.h"

#include "base/crash.h"
#include "base/data/map.h"
#include "base/data/recent.h"
#include "base/data/wheel.h"
#include "base/log.h"
#include "base/mark.h"
#include "base/mem.h"
#include "flow/commands/ticket.h"
#include "flow/record.h"
#include "flow/stages/recur.h"
#include "store/jobs.h"

#include <assert.h>

enum {
    WANTS_MAX = 64,        // lanes served by one claim
    CLAIM_MAX = 1000,      // jobs claimed at once
    BUSY_WAIT_MS = 5,      // when the broker is full
    FAIL_WAIT_MS = 200,    // when the store failed
    RECOUNT_MS = 30000,    // how often the store is asked what is held
    RECOUNT_SOON_MS = 500, // … when an answer was lost: by then what is on its way has come
    RECOUNT_MAX = 1000,
    CALLED_OFF = 8192, // cancelled jobs that are remembered: more than can be cancelled while one answer is on its way
    BACK_MS = 1000,    // a clock set back by more than this
};

// A job in hand. Its order travels, and belongs to whoever has it; it is here only while it waits in the wheel.
struct hold {
    int64_t job_id, token, lane;
    size_t bytes;            // of its document
    struct order *order;     // in the wheel, or NULL: on its way
    struct wheel_node timer; // while it is
    bool given_up;           // its outcome is on its way, without that it began
    bool asked;              // somebody waits for its end
    bool picked;             // its schedule has said that it runs
};

struct pull {
    struct node *node;
    struct recur *recur;
    struct digest_key *key; // of tickets; NULL until the first is written
    struct mailbox pushed;  // orders
    struct mailbox asks;    // struct pull_ask
    struct mailbox answers; // struct store_op
    struct map held;        // job id -> hold
    struct map returned;    // jobs that came back while a recount was under way, by their token: what it says of them is old
    struct wheel wheel;
    struct recent *called_off; // jobs that somebody cancels: a claim or hand-over on its way may still bring them
    struct list open_asks;     // wait for the outcome of their order

    bool claiming, counting;
    bool quiet;                   // stopping, and every order that was pushed has been taken
    bool doubt;                   // an answer was lost: until a recount has come, something may be held unknowingly
    int64_t claim_at, recount_at; // monotonic: not before
    int64_t last_wall_ms;

    struct store_claim claim;
    struct store_want wants[WANTS_MAX];
    struct store_find recount;
};

struct pull *pull_new(struct node *node)
{
    struct pull *pull = mem_zero(sizeof *pull);
    pull->node = node;
    pull->called_off = recent_new(CALLED_OFF);
    mailbox_init(&pull->pushed, node->flow_waker);
    mailbox_init(&pull->asks, node->flow_waker);
    mailbox_init(&pull->answers, node->flow_waker);
    list_init(&pull->open_asks);
    wheel_init(&pull->wheel, 0);
    return pull;
}

void pull_free(struct pull *pull)
{
    if (!pull)
        return;
    struct list pushed;
    list_init(&pushed);
    mailbox_take(&pull->pushed, &pushed);
    list_each (&pushed, link)
        order_free(list_entry(link, struct order, link));
    int64_t id;
    size_t at = 0;
    for (struct hold *hold; (hold = map_next(&pull->held, &at, &id));) {
        order_free(hold->order);
        mem_free(hold);
    }
    map_done(&pull->held);
    map_done(&pull->returned);
    recent_free(pull->called_off);
    digest_key_free(pull->key);
    struct store_op *const ops[] = {&pull->claim.op, &pull->recount.op};
    for (size_t i = 0; i < array_count(ops); i++)
        store_op_done(ops[i]); // of answers that came too late
    mailbox_done(&pull->pushed);
    mailbox_done(&pull->asks);
    mailbox_done(&pull->answers);
    mem_free(pull);
}

void pull_tell(struct pull *pull, struct recur *recur)
{
    pull->recur = recur;
}

void pull_push(struct pull *pull, struct order *order)
{
    mailbox_post(&pull->pushed, &order->link);
}

void pull_ask(struct pull *pull, struct pull_ask *ask)
{
    mailbox_post(&pull->asks, &ask->link);
}

size_t pull_count(const struct pull *pull)
{
    return pull->held.count;
}

bool pull_holds(const struct pull *pull, int64_t job_id)
{
    return map_get(&pull->held, job_id) != NULL;
}

// I16: what a lost answer left in this hand must have been found, too.
bool pull_idle(const struct pull *pull)
{
    return pull->quiet && !pull->claiming && !pull->counting && !pull->doubt && pull->held.count == 0;
}

// Reports that an order did not begin to the completer, which writes what follows.
static void give_up(struct pull *pull, struct order *order, enum order_end end, int64_t postpone_to)
{
    struct hold *hold = map_get(&pull->held, order->job.id);
    if (hold && hold->token == order->job.token)
        hold->given_up = true;
    struct outcome *outcome = outcome_new(order);
    outcome->end = end;
    outcome->postpone_to = postpone_to;
    outcome->result.reason = order->why;
    broker_report(pull->node->broker, outcome);
}

static void give_up_waiting(struct pull *pull, struct hold *hold, enum order_end end, int64_t postpone_to)
{
    struct order *order = hold->order;
    hold->order = NULL;
    wheel_remove(&pull->wheel, &hold->timer);
    give_up(pull, order, end, postpone_to);
}

static void wait_in_wheel(struct pull *pull, struct hold *hold, struct order *order, int64_t at_ms)
{
    hold->order = order;
    wheel_add(&pull->wheel, &hold->timer, at_ms);
}

static void close_asks(struct pull *pull, int64_t job_id)
{
    list_each (&pull->open_asks, link) {
        struct pull_ask *ask = list_entry(link, struct pull_ask, link);
        if (ask->job_id != job_id)
            continue;
        list_remove(link);
        ask->found = true;
        ask->done(ask);
    }
}

static void forget(struct pull *pull, struct hold *hold)
{
    if (pull->counting)
        map_put(&pull->returned, hold->job_id, (void *)(intptr_t)hold->token);
    if (hold->order) {
        wheel_remove(&pull->wheel, &hold->timer);
        order_free(hold->order);
    }
    lanes_give(pull->node->lanes, hold->lane, hold->bytes);
    if (hold->asked)
        close_asks(pull, hold->job_id);
    mem_free(hold);
}

void pull_returned(struct pull *pull, int64_t job_id, int64_t token)
{
    struct hold *hold = map_get(&pull->held, job_id);
    if (!hold || hold->token != token)
        return; // a copy the broker made, or a job that was claimed again before this outcome came
    map_remove(&pull->held, job_id);
    forget(pull, hold);
}

// Takes an order in hand whose place is taken already.
static void take_in_hand(struct pull *pull, struct order *order, struct now now)
{
    const struct job *job = &order->job;
    struct hold *hold = mem_alloc(sizeof *hold);
    *hold = (struct hold){.job_id = job->id, .token = job->token, .lane = job->lane, .bytes = order->doc.n};
    struct hold *earlier = map_put(&pull->held, hold->job_id, hold);
    if (earlier) { // that it could be claimed again shows that its end was written
        mark(MARK_CLAIMED_AGAIN);
        forget(pull, earlier);
    }
    if (!order->doc.n) { // its task is paused. If it was called off, too: how long to keep it is not known here
        mark(MARK_TASK_PAUSED);
        give_up(pull, order, ORDER_POSTPONED, job_paused_until(job, now.wall_ms));
    } else if (recent_get(pull->called_off, job->id)) {
        mark(MARK_CALLED_OFF);
        give_up(pull, order, ORDER_CANCELLED, 0);
    } else if (order->readable) {
        assert(target_rule(order->task.target.kind)->dispatch == TARGET_CALLED); // nothing else waits in the lanes that it knows
        wait_in_wheel(pull, hold, order, time_max(job->due_at, now.wall_ms));
    } else {
        log_warn("job %lld cannot be read: %.*s", (long long)job->id, STR_ARG(order->why));
        give_up(pull, order, ORDER_UNREADABLE, 0);
    }
}

static void take_claimed(struct pull *pull, const struct store_job *from, struct now now)
{
    struct order *order = order_new(&from->job, from->doc);
    order->version = from->version;
    take_in_hand(pull, order, now);
}

static void take_pushed(struct pull *pull, struct now now)
{
    struct list orders;
    list_init(&orders);
    mailbox_take(&pull->pushed, &orders);
    list_each (&orders, link)
        take_in_hand(pull, list_entry(link, struct order, link), now);
}

static void take_asks(struct pull *pull)
{
    struct list asks;
    list_init(&asks);
    mailbox_take(&pull->asks, &asks);
    list_each (&asks, link) {
        struct pull_ask *ask = list_entry(link, struct pull_ask, link);
        struct hold *hold = map_get(&pull->held, ask->job_id);
        if (ask->end == ORDER_CANCELLED) // even if it is in hand: a later claim of it may be on its way
            recent_put(pull->called_off, ask->job_id, 1);
        bool wanted = hold && (hold->order || hold->given_up || ask->end == ORDER_CANCELLED);
        if (!wanted) { // what is still called running may be an earlier claim: then the answer with this one is on its way
            ask->found = false;
            ask->begins = hold && hold->token == ask->token;
            ask->done(ask);
            continue;
        }
        hold->asked = true;
        list_append(&pull->open_asks, link);
        if (hold->order) {
            mark(ask->end == ORDER_CANCELLED ? MARK_CANCELLED_WAITING : ask->end == ORDER_HURRIED ? MARK_HURRIED : MARK_RECALLED);
            give_up_waiting(pull, hold, ask->end, ask->postpone_to);
        } else if (!hold->given_up) {
            broker_control(pull->node->broker,
                           &(struct control){.kind = CONTROL_REVOKE, .id = hold->job_id, .token = hold->token});
        }
    }
}

static void recount_soon(struct pull *pull, struct now now)
{
    pull->doubt = true;
    pull->recount_at = time_min(pull->recount_at, now.mono_ms + RECOUNT_SOON_MS);
}

static void take_claim(struct pull *pull, struct now now)
{
    struct store_claim *claim = &pull->claim;
    pull->claiming = false;
    CRASH_POINT("pull.after_claim");
    size_t at = 0;
    for (size_t i = 0; i < claim->want_count; i++) {
        size_t from = at, bytes = 0;
        while (!claim->op.err && at < claim->job_count && claim->jobs[at].job.lane == claim->wants[i].lane) {
            bytes += claim->jobs[at].doc.n;
            take_claimed(pull, &claim->jobs[at++], now);
        }
        lanes_planned(pull->node->lanes, &claim->wants[i], at - from, bytes, !claim->op.err);
    }
    if (claim->op.err) {
        mark(MARK_CLAIM_FAILED);
        node_say_failed(pull->node, "claim", &claim->op, now.mono_ms);
        pull->claim_at = now.mono_ms + FAIL_WAIT_MS;
        recount_soon(pull, now);
    }
    store_op_done(&claim->op);
}

// Takes in hand what this life holds without knowing it, or gives it back when there is no room for it. False: it must be looked
// at again. The outcome of an earlier claim may still be on its way, or has come meanwhile, while the store already shows a later
// claim whose answer was lost.
static bool adopt(struct pull *pull, const struct store_job *found, struct now now)
{
    const struct hold *hold = map_get(&pull->held, found->job.id);
    intptr_t returned = (intptr_t)map_get(&pull->returned, found->job.id);
    if (found->job.holder != atomic_load(&pull->node->incarnation))
        return true;
    if (hold || returned)
        return found->job.token <= (hold ? hold->token : (int64_t)returned);
    mark(MARK_ADOPTED);
    if (lanes_hold(pull->node->lanes, found->job.lane, found->doc.n)) {
        take_claimed(pull, found, now);
        return true;
    }
    give_up(pull, order_new(&found->job, found->doc), ORDER_RELEASED, 0);
    return false;
}

static void take_recount(struct pull *pull, struct now now)
{
    struct store_find *recount = &pull->recount;
    bool settled = !recount->op.err;
    pull->counting = false;
    for (size_t i = 0; i < recount->job_count; i++) {
        settled &= adopt(pull, &recount->jobs[i], now);
        record_overdue(pull->node, &recount->jobs[i], now.wall_ms);
    }
    if (recount->job_count)
        recount->after_id = recount->jobs[recount->job_count - 1].job.id;
    bool more = !recount->op.err && recount->more;
    if (!more || !settled)
        recount->after_id = 0;
    int64_t pause = !settled ? RECOUNT_SOON_MS : more ? 0 : RECOUNT_MS;
    settled &= !more;
    pull->doubt &= !settled;
    map_done(&pull->returned);
    atomic_store(&pull->node->counting, false);
    pull->recount_at = now.mono_ms + pause;
    store_op_done(&recount->op);
}

static void take_answers(struct pull *pull, struct now now)
{
    struct list answers;
    list_init(&answers);
    mailbox_take(&pull->answers, &answers);
    list_each (&answers, link) {
        struct store_op *op = list_entry(link, struct store_op, link);
        if (op == &pull->claim.op)
            take_claim(pull, now);
        else
            take_recount(pull, now);
    }
}

static void give_up_marked(struct pull *pull, struct order *order, enum order_end end, enum mark why)
{
    mark(why);
    give_up(pull, order, end, 0);
}

static void write_ticket(struct pull *pull, struct order *order)
{
    if (order->ticket[0])
        return; // the broker was full when it was to be published first
    if (!pull->key)
        pull->key = node_ticket_key(pull->node);
    struct ticket ticket = {.tenant = order->job.tenant, .number = order->job.token};
    ticket_write(pull->key, order->job.id, ticket, order->ticket);
}

// False: its plan is read first; pull_picked() follows, or pull_give_up().
static bool pick(struct pull *pull, struct order *order, struct now now)
{
    return order->job.trigger != TRIGGER_SCHEDULE || recur_pick(pull->recur, order, now);
}

// I6: an order may go on only in the life that claimed it: of what an earlier life held, others may have hold by now.
static void publish(struct pull *pull, struct hold *hold, struct now now)
{
    struct node *node = pull->node;
    struct order *order = hold->order;
    assert(order); // a hold in the wheel has its order
    hold->order = NULL;
    if (order->job.holder != atomic_load(&node->incarnation)) {
        give_up_marked(pull, order, ORDER_RELEASED, MARK_OLD_LIFE);
        return;
    }
    switch (job_wait(&order->job, lanes_is_paused(node->lanes, order->job.lane), now.wall_ms)) {
    case WAIT_TIME: // it lay beyond the wheel's length, or the clock was set back
        wait_in_wheel(pull, hold, order, order->job.due_at);
        return;
    case WAIT_QUEUE:
        give_up_marked(pull, order, ORDER_RELEASED, MARK_PAUSED);
        return;
    case WAIT_EXPIRED:
        give_up_marked(pull, order, ORDER_EXPIRED, MARK_EXPIRED_IN_HAND);
        return;
    case WAIT_NOTHING:
        if (!hold->picked && !pick(pull, order, now))
            return;
        hold->picked = true;
        write_ticket(pull, order);
        if (!broker_publish(node->broker, order))
            return;
        mark(MARK_BROKER_FULL);
        wait_in_wheel(pull, hold, order, now.wall_ms + BUSY_WAIT_MS);
    }
}

void pull_picked(struct pull *pull, struct order *order, struct now now)
{
    struct hold *hold = map_get(&pull->held, order->job.id);
    if (!hold || hold->token != order->job.token || pull->quiet) {
        give_up(pull, order, ORDER_RELEASED, 0);
        return;
    }
    if (recent_get(pull->called_off, order->job.id)) { // while its plan was read. In the wheel nobody would look for it
        give_up_marked(pull, order, ORDER_CANCELLED, MARK_CALLED_OFF);
        return;
    }
    // The clock was set back while its plan was read. Whoever has changed the task meanwhile took the job for one that begins, so
    // it must not wait here as the task was before (I19, I20).
    if (job_wait(&order->job, false, now.wall_ms) == WAIT_TIME) {
        give_up_marked(pull, order, ORDER_RELEASED, MARK_GIVEN_BACK);
        return;
    }
    hold->picked = true;
    hold->order = order;
    publish(pull, hold, now);
}

void pull_give_up(struct pull *pull, struct order *order, enum order_end end, struct str reason)
{
    order->why = reason;
    give_up(pull, order, end, 0);
}

static void publish_due(struct pull *pull, struct now now)
{
    struct list due;
    list_init(&due);
    wheel_turn(&pull->wheel, now.wall_ms, &due);
    for (struct list *link; (link = list_take(&due));)
        publish(pull, list_entry(link, struct hold, timer.link), now);
}

// Gives back what waits in the wheel and is due after `after_ms`.
static void give_back(struct pull *pull, int64_t after_ms)
{
    int64_t id;
    size_t at = 0;
    for (struct hold *hold; (hold = map_next(&pull->held, &at, &id));)
        if (hold->order && hold->order->job.due_at > after_ms) {
            mark(MARK_GIVEN_BACK);
            give_up_waiting(pull, hold, ORDER_RELEASED, 0);
        }
}

static void watch_clock(struct pull *pull, struct now now)
{
    if (now.wall_ms < pull->last_wall_ms - BACK_MS) {
        mark(MARK_CLOCK_BACK);
        log_warn("the clock was set back by %lld ms", (long long)(pull->last_wall_ms - now.wall_ms));
        lanes_clock_back(pull->node->lanes);
        give_back(pull, now.wall_ms + 2 * LANES_AHEAD_MS);
    }
    pull->last_wall_ms = now.wall_ms;
}

static void start_claim(struct pull *pull, struct now now)
{
    // In doubt, what is held unknowingly has no places: claiming on would take them a second time (I7).
    if (pull->claiming || pull->doubt || atomic_load(&pull->node->counting) || now.mono_ms < pull->claim_at)
        return;
    if (!node_alive(pull->node, now.mono_ms)) {
        pull->claim_at = now.mono_ms + FAIL_WAIT_MS;
        return;
    }
    struct store_claim *claim = &pull->claim;
    size_t count = lanes_plan(pull->node->lanes, now.wall_ms, pull->wants, WANTS_MAX, CLAIM_MAX);
    if (count == 0)
        return;
    store_op_post(&claim->op, STORE_CLAIM, &pull->answers);
    claim->holder = atomic_load(&pull->node->incarnation);
    claim->now_ms = now.wall_ms;
    claim->until_ms = now.wall_ms + LANES_AHEAD_MS;
    claim->wants = pull->wants;
    claim->want_count = count;
    claim->jobs = NULL;
    claim->job_count = 0;
    pull->claiming = true;
    store_submit(pull->node->store, &claim->op);
}

// I12. Waits until no answer is under way that could bring a job in hand; start_claim and admit hold back meanwhile.
static void start_recount(struct pull *pull, struct now now)
{
    struct node *node = pull->node;
    if (pull->counting || now.mono_ms < pull->recount_at)
        return;
    if (!node_alive(node, now.mono_ms)) {
        pull->recount_at = now.mono_ms + RECOUNT_SOON_MS;
        atomic_store(&node->counting, false); // nobody is to wait for it until then
        return;
    }
    atomic_store(&node->counting, true);
    if (pull->claiming || atomic_load(&node->pushing) > 0)
        return;
    struct store_find *recount = &pull->recount;
    store_op_post(&recount->op, STORE_FIND, &pull->answers);
    recount->what = STORE_FIND_HELD;
    recount->holder = atomic_load(&node->incarnation);
    recount->to_run = true;
    recount->max = RECOUNT_MAX;
    recount->job_count = 0;
    pull->counting = true;
    store_submit(node->store, &recount->op);
}

static int64_t next_turn(struct pull *pull, struct now now)
{
    int64_t next = wheel_next(&pull->wheel);
    if (pull->claiming || pull->counting)
        return next; // the answer wakes
    next = time_min(next, now.wall_ms + time_max(pull->recount_at - now.mono_ms, 1));
    if (atomic_load(&pull->node->counting))
        return now.wall_ms + 1; // a recount waits for pushes to end, and they wait for it
    if (!pull->node->pulls || pull->doubt)
        return next;
    int64_t earliest = now.wall_ms + time_max(pull->claim_at - now.mono_ms, 1);
    return time_min(next, time_max(lanes_next_plan(pull->node->lanes), earliest));
}

int64_t pull_turn(struct pull *pull, struct now now)
{
    // Read before the pushed orders are taken: no push begins any more, so when none is under way the mailbox has them all.
    pull->quiet = atomic_load(&pull->node->stopping) && atomic_load(&pull->node->pushing) == 0;
    watch_clock(pull, now);
    take_pushed(pull, now); // before the answers: what a recount finds must be known if it was handed over
    take_answers(pull, now);
    take_asks(pull);
    if (atomic_exchange(&pull->node->recount_wanted, false))
        recount_soon(pull, now);
    if (atomic_load(&pull->node->stopping)) {
        // A life that was declared dead has nothing in hand: others take it back. And a node that stops begins no other life.
        pull->doubt &= atomic_load(&pull->node->incarnation) != 0;
        if (pull->doubt)
            start_recount(pull, now); // what it finds is given back at once
        give_back(pull, INT64_MIN);
        return TIME_NEVER;
    }
    publish_due(pull, now);
    if (!atomic_load(&pull->node->incarnation))
        return TIME_NEVER;
    start_recount(pull, now);
    if (pull->node->pulls)
        start_claim(pull, now);
    return next_turn(pull, now);
}

// A request by hand is a small loop around the record: read it, decide with core, write by token, and begin again when it moved
// meanwhile. A job that this node has in hand is fetched back first (pull_ask), because its record is behind what happens.
//
// What another node has in hand, that node is asked for through the store (STORE_ASK, flow/heed): only it knows what became of
// the job. The record is read again until it shows it, or until the holder has been declared dead and the job taken back.
//
// Cancelling asks twice: after the record is cancelled, a run that was handed over in between is called off too, and only then is
// the request answered. That is what makes "no new attempt after a confirmed cancel" true (I5).
//
// What is asked of a task is written together with its jobs that wait. So those that somebody has in hand without having begun
// are called back first; what has begun, or is about to, goes on as it is (I19, I20, I21). Of a job in this hand pull knows which
// it is. Of one in another's only the record tells: that its time has not come, or that nothing happens to it for a while.
#include "flow/steer.h"

#include "base/mark.h"
#include "base/mem.h"
#include "core/patch.h"
#include "core/task_state.h"
#include "flow/pull.h"
#include "flow/sweep.h"

#include <stdio.h>

enum {
    TRIES_MAX = 20,
    JOBS_MAX = 100,
    REMOVE_MAX = 1000, // jobs that one transaction removes with their task
    LOOK_MS = 50,      // how soon the record is read while another node is at it, then less and less often
    LOOK_MAX_MS = 500,
    WISH_AGAIN_MS = 2000, // and how often it is asked: a word may get lost
    WISH_MAX_MS = 25000,  // by then a dead holder is found to be
    RECALL_MS = 10000,    // for how long a job that was recalled is left alone: who recalled it writes what follows before
    BEGIN_MS = 1000,      // in another's hand and due for so long: it has begun, or is about to
    PUT_OFF_MS = 10000,   // … when its task is paused: the holder may be putting it off, and write that late
};

// One request under way. It has one operation or question out at a time; or its document is with who asked, to be merged.
struct work {
    struct list link; // in steer->work
    struct steer *steer;
    struct steer_op *op;
    struct store_get get;
    struct store_change change;
    struct store_add add;
    struct store_ask wish;
    struct store_amend amend;
    struct store_remove remove;
    struct pull_ask ask;
    struct job job; // the one at hand; its texts are in `get`, which is kept until the next read
    struct job_step step;
    struct store_step write;
    struct store_new item;
    struct patched patched;        // of a change: what the task becomes …
    int64_t merged_from;           // … from this version of it; 0: it has not been merged yet
    struct arena merged;           // the texts of `patched`
    int64_t asked_id, asked_token; // what pull was last asked for: read again unchanged, it was not in hand
    struct {
        int64_t id, token;
    } beginning[JOBS_MAX]; // jobs in somebody's hand that have begun, or are about to
    size_t beginning_count;
    bool wrote;      // something of what was asked: a task that is gone then is no surprise
    bool amended;    // … the task itself
    bool called_off; // … after its cancel was written
    bool handed_on;  // the holder of a job was asked to do what was asked, and may have done it
    bool waited;     // of a run by hand: the job had not ended when it was first read
    int tries;
    int64_t wished_id, wish_began; // which job's holder was asked, and since when; all monotonic
    int64_t wished_holder;         // who that was
    int64_t look_ms;               // how long it is waited before looking again
    int64_t wished_at;             // when it was asked last
    int64_t look_at;               // when to read the record again; 0: something else is under way
};

struct steer {
    struct node *node;
    struct pull *pull;
    struct mailbox inbox;   // struct steer_op, new
    struct mailbox merged;  // struct steer_op, with its changed document
    struct mailbox answers; // struct store_op
    struct list work;
    struct now now;
};

struct steer *steer_new(struct node *node, struct pull *pull)
{
    struct steer *steer = mem_zero(sizeof *steer);
    steer->node = node;
    steer->pull = pull;
    mailbox_init(&steer->inbox, node->flow_waker);
    mailbox_init(&steer->merged, node->flow_waker);
    mailbox_init(&steer->answers, node->flow_waker);
    list_init(&steer->work);
    return steer;
}

void steer_free(struct steer *steer)
{
    if (!steer)
        return;
    list_each (&steer->work, link) {
        struct work *work = list_entry(link, struct work, link);
        store_op_done(&work->get.op);
        store_op_done(&work->change.op);
        store_op_done(&work->add.op);
        store_op_done(&work->wish.op);
        store_op_done(&work->amend.op);
        store_op_done(&work->remove.op);
        arena_done(&work->merged);
        mem_free(work);
    }
    mailbox_done(&steer->inbox);
    mailbox_done(&steer->merged);
    mailbox_done(&steer->answers);
    mem_free(steer);
}

bool steer_idle(const struct steer *steer)
{
    return list_empty(&steer->work);
}

void steer_submit(struct steer *steer, struct steer_op *op)
{
    mailbox_post(&steer->inbox, &op->link);
}

static void finish(struct work *work, enum err err, const char *why)
{
    struct steer_op *op = work->op;
    op->err = err;
    snprintf(op->why, sizeof op->why, "%s", why);
    list_remove(&work->link);
    store_op_done(&work->get.op);
    arena_done(&work->merged);
    mem_free(work);
    op->done(op);
}

static void read_record(struct work *work)
{
    if (work->tries++ == TRIES_MAX) {
        finish(work, ERR_BUSY, "the job changes faster than it can be changed; try again");
        return;
    }
    struct store_get *get = &work->get;
    store_op_done(&get->op);
    *get = (struct store_get){.tenant = work->op->tenant,
                              .task_id = work->op->task_id,
                              .job_id = work->op->job_id,
                              .max_jobs = JOBS_MAX,
                              .open_first = true};
    store_op_post(&get->op, STORE_GET, &work->steer->answers);
    store_submit(work->steer->node->store, &get->op);
}

static void note_beginning(struct work *work, int64_t id, int64_t token)
{
    if (work->beginning_count == JOBS_MAX)
        work->beginning_count = 0; // those that were forgotten are asked for again
    work->beginning[work->beginning_count].id = id;
    work->beginning[work->beginning_count++].token = token;
}

static bool is_beginning(const struct work *work, const struct job *job)
{
    for (size_t i = 0; i < work->beginning_count; i++)
        if (work->beginning[i].id == job->id && work->beginning[i].token == job->token)
            return true;
    return false;
}

static void asked(struct pull_ask *ask)
{
    struct work *work = ask->ctx;
    if (ask->begins)
        note_beginning(work, work->asked_id, work->asked_token);
    work->handed_on |= ask->found && ask->end != ORDER_POSTPONED; // a recall changes nothing yet
    if (ask->found || ask->begins)
        work->tries = 0; // that was a step forward; a task may have many jobs
    read_record(work);
}

static void ask_back(struct work *work, const struct job *job, enum order_end end, bool written)
{
    work->asked_id = job->id;
    work->asked_token = job->token;
    work->called_off = written;
    work->ask = (struct pull_ask){.job_id = job->id,
                                  .token = job->token,
                                  .end = end,
                                  .postpone_to = work->steer->now.wall_ms + RECALL_MS,
                                  .done = asked,
                                  .ctx = work};
    pull_ask(work->steer->pull, &work->ask);
}

static void write_record(struct work *work, const struct job *was)
{
    work->write = store_step_from(was, &work->job, &work->step);
    work->change = (struct store_change){.steps = &work->write, .count = 1};
    store_op_post(&work->change.op, STORE_CHANGE, &work->steer->answers);
    store_submit(work->steer->node->store, &work->change.op);
}

static const struct job *find_open(const struct store_get *get)
{
    for (size_t i = 0; i < get->job_count; i++)
        if (!job_state_final(get->jobs[i].state))
            return &get->jobs[i];
    return NULL;
}

// The job this request was last at, else the one that is shown, if it is cancelled.
static const struct job *find_cancelled(const struct work *work)
{
    const struct job *job = task_job_to_show(work->get.jobs, work->get.job_count);
    for (size_t i = 0; i < work->get.job_count; i++)
        if (work->get.jobs[i].id == work->asked_id && work->get.jobs[i].state == JOB_CANCELLED)
            job = &work->get.jobs[i];
    return job && job->state == JOB_CANCELLED ? job : NULL;
}

static bool in_our_hand(const struct work *work, const struct job *job)
{
    return job_in_hand(job) && job->holder == atomic_load(&work->steer->node->incarnation);
}

// A record that pull was asked about and that is still the same: it is held without being in hand.
static bool was_asked(const struct work *work, const struct job *job)
{
    return work->asked_id == job->id && work->asked_token == job->token;
}

static bool in_others_hand(const struct work *work, const struct job *job)
{
    return job_in_hand(job) && !in_our_hand(work, job);
}

static void look_later(struct work *work)
{
    work->tries = 0; // waiting is bounded by time
    work->look_at = work->steer->now.mono_ms + work->look_ms;
    work->look_ms = time_min(2 * work->look_ms, LOOK_MAX_MS);
}

// Whether it may still be waited for what becomes of a job in somebody's hand. False: the request has been ended.
static bool may_wait(struct work *work, const struct job *job)
{
    int64_t now = work->steer->now.mono_ms;
    if (work->wished_id != job->id)
        work->wish_began = now;
    if (work->wished_id != job->id || work->wished_holder != job->holder) {
        work->wished_id = job->id;
        work->wished_holder = job->holder;
        work->wished_at = 0;
        work->look_ms = LOOK_MS;
    }
    if (atomic_load(&work->steer->node->stopping)) {
        finish(work, ERR_STOPPING, "this node is stopping; another has the job in hand");
        return false;
    }
    if (now - work->wish_began > WISH_MAX_MS) {
        finish(work, ERR_BUSY, "the node that has the job in hand does not answer; try again");
        return false;
    }
    return true;
}

// Sees to it that the holder has been asked, and looks again later.
static void wish(struct work *work, const struct job *job, enum store_wish what)
{
    int64_t now = work->steer->now.mono_ms;
    if (!may_wait(work, job))
        return;
    if (work->wished_at && now - work->wished_at < WISH_AGAIN_MS) {
        look_later(work);
        return;
    }
    mark(MARK_WISHED);
    work->wished_at = now;
    work->handed_on |= what != STORE_WISH_RECALL;
    work->wish = (struct store_ask){.holder = job->holder, .job = {.job_id = job->id, .tenant = job->tenant, .wish = what}};
    store_op_post(&work->wish.op, STORE_ASK, &work->steer->answers);
    store_submit(work->steer->node->store, &work->wish.op);
}

static void take_wish(struct work *work)
{
    enum err err = work->wish.op.err;
    store_op_done(&work->wish.op);
    if (err && err != ERR_LEASE_LOST) // lost: the holder is gone, and the record will show it
        finish(work, err, "the node that has the job in hand could not be asked");
    else
        look_later(work);
}

static void cancel_one(struct work *work, const struct job *open)
{
    if (in_others_hand(work, open)) {
        wish(work, open, STORE_WISH_CANCEL);
        return;
    }
    if (in_our_hand(work, open) && !was_asked(work, open)) {
        ask_back(work, open, ORDER_CANCELLED, false);
        return;
    }
    struct job_policy policy = task_policy(work->get.task.doc, &work->get.op.arena);
    work->job = *open;
    if (job_cancel_elsewhere(&work->job, &policy, work->steer->now.wall_ms, STR("cancelled by hand"), &work->step))
        finish(work, ERR_ILLEGAL_TRANSITION, "it has ended already");
    else
        write_record(work, open);
}

static void cancel(struct work *work)
{
    const struct job *open = find_open(&work->get);
    if (!open) {
        const struct job *cancelled = find_cancelled(work);
        if (cancelled && !work->called_off) // by somebody else: this node may still have it in hand
            ask_back(work, cancelled, ORDER_CANCELLED, true);
        else
            finish(work, cancelled ? ERR_OK : ERR_ILLEGAL_TRANSITION, cancelled ? "" : "it has ended already");
        return;
    }
    cancel_one(work, open);
}

static void run_now(struct work *work)
{
    const struct job *open = find_open(&work->get);
    if (!open) { // perhaps because this request made it run, and it was quick
        bool ran = work->waited && !find_cancelled(work);
        finish(work, ran ? ERR_OK : ERR_ILLEGAL_TRANSITION,
               ran ? "" : "all its jobs have ended; retry one of them to run it again");
        return;
    }
    work->waited = true;
    bool early = open->due_at > work->steer->now.wall_ms;
    if (work->get.task.paused && job_planned(open)) {
        finish(work, ERR_ILLEGAL_TRANSITION, "the task is paused; resume it, and what is due runs");
        return;
    }
    if (!work->wished_id && job_planned(open) && lanes_is_paused(work->steer->node->lanes, open->lane)) {
        finish(work, ERR_ILLEGAL_TRANSITION, "its queue is paused; resume that, and what is due runs");
        return;
    }
    if (!early || was_asked(work, open)) {
        finish(work, ERR_OK, "");
        return;
    }
    if (in_our_hand(work, open)) {
        ask_back(work, open, ORDER_HURRIED, false);
        return;
    }
    if (in_others_hand(work, open)) {
        wish(work, open, STORE_WISH_RUN);
        return;
    }
    work->job = *open;
    work->step = (struct job_step){0};
    if (job_run_now(&work->job, work->steer->now.wall_ms))
        finish(work, ERR_ILLEGAL_TRANSITION, "it has ended already");
    else
        write_record(work, open);
}

static void retry(struct work *work)
{
    const struct job *old = &work->get.jobs[0];
    int64_t now_ms = work->steer->now.wall_ms;
    if (!job_state_final(old->state)) {
        finish(work, ERR_ILLEGAL_TRANSITION, "the job has not ended; only an ended one can be retried");
        return;
    }
    int64_t incarnation = atomic_load(&work->steer->node->incarnation);
    if (!incarnation) { // until it has joined, its ids may be another's
        finish(work, ERR_STORE_UNAVAILABLE, "this node has not joined the others yet; try again");
        return;
    }
    work->op->new_job_id = node_make_id(work->steer->node, now_ms);
    work->job = (struct job){.id = work->op->new_job_id,
                             .task_id = old->task_id,
                             .parent_id = old->id,
                             .tenant = old->tenant,
                             .priority = old->priority,
                             .state = JOB_READY,
                             .scheduled_at = now_ms,
                             .ready_at = now_ms,
                             .due_at = now_ms,
                             .token = 1};
    work->item = (struct store_new){.jobs = &work->job, .job_count = 1};
    work->add = (struct store_add){.now_ms = now_ms, .holder = incarnation, .items = &work->item, .count = 1};
    store_op_post(&work->add.op, STORE_ADD, &work->steer->answers);
    store_submit(work->steer->node->store, &work->add.op);
}

// ---- tasks

// A job that is in this hand by its record. What pull does not know of, an answer of the store is on its way with, or a recount
// will find.
static void recall_own(struct work *work, const struct job *job)
{
    if (!was_asked(work, job)) {
        ask_back(work, job, ORDER_POSTPONED, false);
    } else if (may_wait(work, job)) {
        work->asked_id = 0;
        look_later(work);
    }
}

// Has another had enough time to begin it, or to give it back?
static bool waited_long(const struct work *work, const struct job *job)
{
    int64_t waited = work->wished_id == job->id ? work->steer->now.mono_ms - work->wish_began : 0;
    return job->due_at <= work->steer->now.wall_ms && waited >= (work->get.task.paused ? PUT_OFF_MS : BEGIN_MS);
}

// Sees to it that no job of the task waits in anybody's hand: there it would begin as it was claimed. False: one has been asked
// for, and the record is read again when it has come back.
static bool recall(struct work *work)
{
    for (size_t i = 0; i < work->get.job_count; i++) {
        const struct job *job = &work->get.jobs[i];
        if (job->state != JOB_WATCHING || is_beginning(work, job))
            continue;
        if (in_our_hand(work, job)) {
            recall_own(work, job);
            return false;
        }
        if (!waited_long(work, job)) {
            wish(work, job, STORE_WISH_RECALL);
            return false;
        }
        note_beginning(work, job->id, job->token);
    }
    return true;
}

// As another node wishes. It asks again, so there is nothing to wait for.
static void recall_one(struct work *work)
{
    const struct job *job = &work->get.jobs[0];
    bool waits = in_our_hand(work, job) && job->state == JOB_WATCHING;
    if (waits && !was_asked(work, job) && !is_beginning(work, job))
        ask_back(work, job, ORDER_POSTPONED, false);
    else
        finish(work, ERR_OK, "");
}

// The task as it is; what is to be changed follows.
static struct store_amend *begin_amend(struct work *work)
{
    struct store_amend *amend = &work->amend;
    *amend = (struct store_amend){.task = work->get.task};
    amend->task.updated_at = work->steer->now.wall_ms;
    amend->steps = arena_array(&work->get.op.arena, struct store_step, work->get.job_count + 1);
    return amend;
}

static void send_amend(struct work *work)
{
    store_op_post(&work->amend.op, STORE_AMEND, &work->steer->answers);
    store_submit(work->steer->node->store, &work->amend.op);
}

// A copy of the job that a step will write, with the step.
static struct job *amend_job(struct work *work, const struct job *job)
{
    struct store_amend *amend = &work->amend;
    struct job *copy = arena_alloc(&work->get.op.arena, sizeof *copy);
    *copy = *job;
    amend->steps[amend->count++] = (struct store_step){.token = job->token, .job = copy};
    return copy;
}

// Between the reading and the writing a job that ran may have come back and been claimed as it was: no token tells. Are all that
// wait amended by this request, or begun since?
static bool all_amended(const struct work *work)
{
    for (size_t i = 0; i < work->get.job_count; i++) {
        const struct job *job = &work->get.jobs[i];
        bool known = false;
        for (size_t k = 0; k < work->beginning_count; k++)
            known |= work->beginning[k].id == job->id;
        if (job_state_waiting(job->state) && !known)
            return false;
    }
    return true;
}

// The jobs that wait are written as they are: who is about to claim one has either done so by then, or sees the pause.
static void pause(struct work *work)
{
    bool paused = work->get.task.paused;
    if (!find_open(&work->get)) {
        finish(work, work->amended ? ERR_OK : ERR_ILLEGAL_TRANSITION,
               work->amended ? "" : "all its jobs have ended; there is nothing to pause");
    } else if (!paused || (work->amended && !all_amended(work))) {
        begin_amend(work)->task.paused = true;
        for (size_t i = 0; i < work->get.job_count; i++)
            if (job_state_waiting(work->get.jobs[i].state))
                amend_job(work, &work->get.jobs[i]);
        send_amend(work);
    } else if (recall(work)) {
        finish(work, ERR_OK, "");
    }
}

static void resume(struct work *work)
{
    if (!work->get.task.paused) {
        bool ended = !find_open(&work->get);
        finish(work, ended ? ERR_ILLEGAL_TRANSITION : ERR_OK, ended ? "all its jobs have ended; retry one of them" : "");
        return;
    }
    if (!recall(work)) // a claimed job of a paused task is being put off: written later, that would outlast the pause
        return;
    begin_amend(work)->task.paused = false;
    for (size_t i = 0; i < work->get.job_count; i++)
        if (job_state_waiting(work->get.jobs[i].state) &&
            job_resume(amend_job(work, &work->get.jobs[i]), work->steer->now.wall_ms)) {
            finish(work, ERR_INTERNAL, "a waiting job cannot be resumed");
            return;
        }
    send_amend(work);
}

static void refuse_patch(struct work *work, const struct problem *why)
{
    work->op->problem = *why;
    finish(work, why->err, why->detail);
}

// Only what was read is looked at, which nobody touches meanwhile.
void steer_merge(struct steer *steer, struct steer_op *op)
{
    struct work *work = op->work;
    arena_done(&work->merged);
    op->problem = (struct problem){0};
    if (!patch_task(&work->patched, work->get.task.doc, op->patch, &work->merged, &op->problem))
        work->merged_from = work->get.task.version;
    mailbox_post(&steer->merged, &op->link);
}

// The jobs that wait follow the task as it will be. False: one of them cannot, and the request has been ended.
static bool patch_jobs(struct work *work)
{
    struct problem why = {0};
    for (size_t i = 0; i < work->get.job_count; i++)
        if (job_state_waiting(work->get.jobs[i].state) &&
            patch_job(&work->patched, amend_job(work, &work->get.jobs[i]), work->steer->now.wall_ms, &why)) {
            refuse_patch(work, &why);
            return false;
        }
    return true;
}

static void patch(struct work *work)
{
    struct problem why = {0};
    struct patched *patched = &work->patched;
    struct store_get *get = &work->get;
    int64_t scheduled_at, expires_at;
    if (work->amended && !recall(work))
        return;
    if (work->amended && all_amended(work)) {
        finish(work, ERR_OK, "");
        return;
    }
    if (!find_open(get)) {
        finish(work, ERR_ILLEGAL_TRANSITION, "all its jobs have ended; a task that has ended is not changed");
        return;
    }
    if (work->merged_from != get->task.version) {
        work->op->merge(work->op);
        return;
    }
    if (patched->replanned && task_plan(&patched->task, work->steer->now.wall_ms, &scheduled_at, &expires_at, &why)) {
        refuse_patch(work, &why); // before anything is called back
        return;
    }
    if (!recall(work))
        return;
    struct store_amend *amend = begin_amend(work);
    amend->task.queue = patched->task.queue;
    amend->task.name = patched->task.name;
    amend->task.doc = patched->doc;
    amend->retag = true;
    store_task_tag(&amend->task, &patched->task, &get->op.arena);
    if (patch_jobs(work))
        send_amend(work);
}

static void take_merged(struct work *work)
{
    if (work->op->problem.err)
        refuse_patch(work, &work->op->problem);
    else
        patch(work);
}

static const struct job *find_to_delete(const struct work *work)
{
    for (size_t i = 0; i < work->get.job_count; i++) {
        const struct job *job = &work->get.jobs[i];
        if (!job_state_final(job->state) && (!job_state_held(job->state) || work->op->running))
            return job;
    }
    return NULL;
}

static const struct job *find_watched(const struct store_get *get)
{
    for (size_t i = 0; i < get->job_count; i++)
        if (get->jobs[i].state == JOB_WATCHING)
            return &get->jobs[i];
    return NULL;
}

// What is left in hand when all that can be has been recalled is about to begin, or runs. Only what is written to run may go with
// its task: its record is removed, so whatever is to be written of its end finds nothing, and it is not tried again. Of what is
// not, nobody could tell whether it is a retry that was claimed meanwhile and begins after the answer.
static void delete (struct work *work)
{
    if (!work->op->running && !recall(work))
        return;
    const struct job *open = find_to_delete(work);
    if (open) {
        cancel_one(work, open);
        return;
    }
    const struct job *begins = find_watched(&work->get);
    if (begins) {
        if (may_wait(work, begins))
            look_later(work);
        return;
    }
    int64_t now_ms = work->steer->now.wall_ms;
    work->remove = (struct store_remove){.task_id = work->get.task.id,
                                         .version = work->get.task.version,
                                         .tenant = work->get.task.tenant,
                                         .ended = work->op->running, // or a retry by hand that begins just now would run on
                                         .now_ms = now_ms,
                                         .keys_until = now_ms + SWEEP_KEYS_KEPT_MS,
                                         .max = REMOVE_MAX};
    store_op_post(&work->remove.op, STORE_REMOVE, &work->steer->answers);
    store_submit(work->steer->node->store, &work->remove.op);
}

static void tell_task(const struct work *work, const struct store_task *task)
{
    static const enum news_type types[] = {[STEER_PAUSE] = NEWS_TASK_PAUSED,
                                           [STEER_RESUME] = NEWS_TASK_RESUMED,
                                           [STEER_PATCH] = NEWS_TASK_CHANGED,
                                           [STEER_DELETE] = NEWS_TASK_DELETED};
    news_tell(work->steer->node->news, &(struct news_item){.type = types[work->op->act],
                                                           .tenant = task->tenant,
                                                           .at_ms = work->steer->now.wall_ms,
                                                           .task_id = task->id,
                                                           .queue = task->queue,
                                                           .name = task->name});
}

// Is a task that cannot be found what was asked for? Its holder has ended it, or this request has, and retention was quick. Or
// somebody else deleted it, but then what ran may still run.
static bool gone_is_done(const struct work *work)
{
    enum steer_act act = work->op->act;
    bool ends = act == STEER_CANCEL || act == STEER_RUN || act == STEER_RECALL || (act == STEER_DELETE && !work->op->running);
    return ends && (work->wished_id || work->waited || work->wrote);
}

static void take_gone(struct work *work, const char *why)
{
    bool done = gone_is_done(work);
    finish(work, done ? ERR_OK : ERR_NOT_FOUND, done ? "" : why);
}

static void take_remove(struct work *work)
{
    enum err err = work->remove.op.err;
    store_op_done(&work->remove.op);
    work->wrote |= !err;
    if (err == ERR_LEASE_LOST || work->remove.more) {
        mark(MARK_STEER_AGAIN);
        work->tries = work->remove.more ? 0 : work->tries;
        read_record(work);
    } else if (err == ERR_NOT_FOUND) {
        take_gone(work, "the task is gone");
    } else {
        if (!err)
            tell_task(work, &work->get.task);
        finish(work, err, err ? "the task could not be deleted" : "");
    }
}

static void take_amend(struct work *work)
{
    enum err err = work->amend.op.err;
    const struct store_amend *amend = &work->amend;
    store_op_done(&work->amend.op);
    if (err == ERR_LEASE_LOST) {
        mark(MARK_STEER_AGAIN);
        read_record(work);
        return;
    }
    if (!err && !work->amended)
        tell_task(work, &work->amend.task);
    if (!err)
        for (size_t i = 0; i < amend->count; i++)
            lanes_due(work->steer->node->lanes, amend->steps[i].job->lane, amend->steps[i].job->due_at);
    for (size_t i = 0; !err && i < amend->count; i++) // who claims them from now on gets the new document
        note_beginning(work, amend->steps[i].job->id, amend->steps[i].job->token + 1);
    work->amended |= !err;
    work->wrote |= !err;
    if (!err && (work->op->act == STEER_PAUSE || work->op->act == STEER_PATCH))
        read_record(work); // what is in hand is called back
    else if (err == ERR_NOT_FOUND)
        take_gone(work, "the task could not be changed");
    else
        finish(work, err, err ? "the task could not be changed" : "");
}

// Is the request meant for the version that was read? Once it has written something, or whoever holds a job was asked to do it,
// it goes on to its end: to refuse what has happened would be wrong.
static bool is_meant(const struct work *work)
{
    const struct steer_op *op = work->op;
    for (size_t i = 0; i < op->version_count; i++)
        if (op->versions[i] == work->get.task.version)
            return true;
    return !op->versions || work->wrote || work->handed_on;
}

static void take_get(struct work *work)
{
    static void (*const acts[])(struct work *) = {
        [STEER_CANCEL] = cancel, [STEER_RUN] = run_now, [STEER_RETRY] = retry,   [STEER_PAUSE] = pause,
        [STEER_RESUME] = resume, [STEER_PATCH] = patch, [STEER_DELETE] = delete, [STEER_RECALL] = recall_one,
    };
    if (work->get.op.err == ERR_NOT_FOUND && work->wrote && work->op->act == STEER_PATCH)
        finish(work, ERR_OK, "");
    else if (work->get.op.err == ERR_NOT_FOUND)
        take_gone(work, work->get.op.why);
    else if (work->get.op.err)
        finish(work, work->get.op.err, work->get.op.why);
    else if (!is_meant(work))
        finish(work, ERR_VERSION_MISMATCH, "the task has another version by now: read it again and decide anew");
    else
        acts[work->op->act](work);
}

static void take_change(struct work *work)
{
    enum err err = work->change.op.err;
    store_op_done(&work->change.op);
    if (err) {
        finish(work, err, "the change could not be written");
        return;
    }
    if (!work->write.err)
        node_changed(work->steer->node, &work->job, work->write.attempt, work->get.task.queue, work->get.task.name);
    if (!work->write.err && job_state_waiting(work->job.state))
        lanes_due(work->steer->node->lanes, work->job.lane, work->job.due_at);
    work->wrote |= !work->write.err;
    if (work->write.err)
        mark(MARK_STEER_AGAIN);
    else
        work->tries = 0;
    if (!work->write.err && work->job.state == JOB_CANCELLED)
        ask_back(work, &work->job, ORDER_CANCELLED, true);
    else
        read_record(work);
}

static void take_add(struct work *work)
{
    enum err err = work->add.op.err ? work->add.op.err : work->item.err;
    store_op_done(&work->add.op);
    if (!err) {
        node_submitted(work->steer->node, &work->job, work->get.task.queue, work->get.task.name, work->steer->now.wall_ms);
        lanes_due(work->steer->node->lanes, work->job.lane, work->job.due_at);
    }
    finish(work, err, err ? "the new job could not be added" : "");
}

static void take_answer(struct store_op *op)
{
    if (op->verb == STORE_GET)
        take_get(container_of(op, struct work, get.op));
    else if (op->verb == STORE_CHANGE)
        take_change(container_of(op, struct work, change.op));
    else if (op->verb == STORE_AMEND)
        take_amend(container_of(op, struct work, amend.op));
    else if (op->verb == STORE_REMOVE)
        take_remove(container_of(op, struct work, remove.op));
    else if (op->verb == STORE_ASK)
        take_wish(container_of(op, struct work, wish.op));
    else
        take_add(container_of(op, struct work, add.op));
}

static void begin(struct steer *steer, struct steer_op *op)
{
    struct work *work = mem_zero(sizeof *work);
    work->steer = steer;
    work->op = op;
    op->work = work;
    list_append(&steer->work, &work->link);
    read_record(work);
}

// Reads the records that are to be looked at; says when to come back for the others.
static int64_t look_again(struct steer *steer)
{
    int64_t next = TIME_NEVER;
    list_each (&steer->work, link) {
        struct work *work = list_entry(link, struct work, link);
        if (work->look_at && work->look_at <= steer->now.mono_ms) {
            work->look_at = 0;
            read_record(work);
        } else if (work->look_at) {
            next = time_min(next, steer->now.wall_ms + work->look_at - steer->now.mono_ms);
        }
    }
    return next;
}

int64_t steer_turn(struct steer *steer, struct now now)
{
    struct list items;
    list_init(&items);
    steer->now = now;
    mailbox_take(&steer->inbox, &items);
    list_each (&items, link)
        begin(steer, list_entry(link, struct steer_op, link));
    list_init(&items);
    mailbox_take(&steer->merged, &items);
    list_each (&items, link)
        take_merged(list_entry(link, struct steer_op, link)->work);
    list_init(&items);
    mailbox_take(&steer->answers, &items);
    list_each (&items, link)
        take_answer(list_entry(link, struct store_op, link));
    return look_again(steer);
}

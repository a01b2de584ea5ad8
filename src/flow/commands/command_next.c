// Jobs that wait are written by the command itself. Jobs in this node's hand are fetched back first, because their records are
// behind what happens to them. Of jobs in another node's hand that node is asked: only it knows what becomes of them.
//
// A cancel asks pull twice: after the record is cancelled, an order that was handed over in between is called off too, and only
// then is the command answered. That is what makes "no new attempt after a confirmed cancel" true (I5).
//
// A change of a task is written together with its jobs that wait. So jobs that a node has in hand and has not begun are called
// back first; a job that has begun, or is about to, goes on as it is (I19, I20, I21). For jobs of this node pull knows which is
// the case. For those of another node only the record shows it: its time has not come, or nothing happens to it for a while.
#include "flow/commands/command_next.h"

#include "core/task/task_state.h"

enum {
    BEGIN_MS = 1000,    // in another's hand and due for so long: it has begun, or is about to
    PUT_OFF_MS = 10000, // … when its task is paused: the holder may be putting it off, and write that late
};

// ---- answers

static struct command_next done(void)
{
    return (struct command_next){.phase = COMMAND_DONE, .why = ""};
}

static struct command_next refuse(const char *why)
{
    return (struct command_next){.phase = COMMAND_DONE, .err = ERR_ILLEGAL_TRANSITION, .why = why};
}

static struct command_next with(enum command_phase phase, const struct job *job)
{
    return (struct command_next){.phase = phase, .job = job};
}

static struct command_next fetch(const struct job *job, enum order_end end)
{
    return (struct command_next){.phase = COMMAND_FETCH, .job = job, .end = end};
}

static struct command_next ask(const struct job *job, enum store_request_kind request)
{
    return (struct command_next){.phase = COMMAND_REQUEST, .job = job, .request = request};
}

// ---- what is known

void command_past_done(struct command_past *past)
{
    map_done(&past->beginning);
}

// A token is at least 1, so the map can have it in the place of a pointer. Tokens only grow: the latest is enough.
void command_note_beginning(struct command_past *past, int64_t id, int64_t token)
{
    map_put(&past->beginning, id, (void *)(intptr_t)token);
}

bool command_is_noted(const struct command_past *past, int64_t id)
{
    return map_get(&past->beginning, id) != NULL;
}

const struct job *command_open(const struct store_get *get)
{
    for (size_t i = 0; i < get->job_count; i++)
        if (!job_state_final(get->jobs[i].state))
            return &get->jobs[i];
    return NULL;
}

static bool did(const struct command_view *view, enum command_did what)
{
    return view->past->did & what;
}

static bool is_beginning(const struct command_view *view, const struct job *job)
{
    return (intptr_t)map_get(&view->past->beginning, job->id) == job->token;
}

static bool in_our_hand(const struct command_view *view, const struct job *job)
{
    return job_in_hand(job) && job->holder == view->life;
}

static bool in_others_hand(const struct command_view *view, const struct job *job)
{
    return job_in_hand(job) && job->holder != view->life;
}

// A record that pull was asked about and that is still the same: it is held without being in hand.
static bool was_asked(const struct command_view *view, const struct job *job)
{
    return view->past->asked_id == job->id && view->past->asked_token == job->token;
}

// The job this command was last at, else the one that is shown, if it is cancelled.
static const struct job *find_cancelled(const struct command_view *view)
{
    const struct store_get *get = view->get;
    const struct job *job = task_job_to_show(get->jobs, get->job_count);
    for (size_t i = 0; i < get->job_count; i++)
        if (get->jobs[i].id == view->past->asked_id && get->jobs[i].state == JOB_CANCELLED)
            job = &get->jobs[i];
    return job && job->state == JOB_CANCELLED ? job : NULL;
}

// ---- jobs

static struct command_next cancel_one(const struct command_view *view, const struct job *open)
{
    if (in_others_hand(view, open))
        return ask(open, STORE_REQUEST_CANCEL);
    if (in_our_hand(view, open) && !was_asked(view, open))
        return fetch(open, ORDER_CANCELLED);
    return with(COMMAND_END_JOB, open);
}

// Whether the schedule of a recurring task still owes a run. A command that ends the task ends its schedule first, with all jobs
// of it that wait: otherwise others would follow those that are cancelled.
static bool owes(const struct command_view *view)
{
    const struct plan *plan = view->get->task.plan;
    return plan && plan->planned_through != TIME_NEVER;
}

static bool is_of_task(const struct command_view *view)
{
    return view->get->task_id != 0;
}

// Has a recurring task jobs to be ended that nobody has in hand? These are ended with it, many at a time.
static bool ends_many(const struct command_view *view)
{
    const struct store_get *get = view->get;
    for (size_t i = 0; get->task.plan && i < get->job_count; i++)
        if (job_state_waiting(get->jobs[i].state))
            return true;
    return owes(view);
}

static struct command_next cancel(const struct command_view *view)
{
    const struct job *open = command_open(view->get), *cancelled = find_cancelled(view);
    if (is_of_task(view) && ends_many(view))
        return with(COMMAND_AMEND, NULL);
    if (open)
        return cancel_one(view, open);
    if (!cancelled)
        return refuse("it has ended already");
    if (!did(view, COMMAND_DID_CALL_OFF)) // somebody else has cancelled it: this node may still have it in hand
        return fetch(cancelled, ORDER_CANCELLED);
    return done();
}

// A recurring task runs once more, beside what is planned.
static struct command_next run_again(const struct command_view *view)
{
    if (view->get->task.paused)
        return refuse("the task is paused; resume it first");
    if (view->queue_paused)
        return refuse("its queue is paused; resume that first");
    return with(COMMAND_ADD_JOB, NULL);
}

static struct command_next run_now(const struct command_view *view)
{
    const struct job *open = command_open(view->get);
    if (owes(view))
        return run_again(view);
    if (!open && did(view, COMMAND_DID_MEET) && !find_cancelled(view))
        return done(); // perhaps this command made it run, and it was quick
    if (!open)
        return refuse("all its jobs have ended; retry one of them to run it again");
    if (view->get->task.paused && job_planned(open))
        return refuse("the task is paused; resume it, and what is due runs");
    if (view->queue_paused && job_planned(open) && !view->past->requested_id)
        return refuse("its queue is paused; resume that, and what is due runs");
    if (open->due_at <= view->now.wall_ms || was_asked(view, open))
        return done();
    if (in_our_hand(view, open))
        return fetch(open, ORDER_HURRIED);
    if (in_others_hand(view, open))
        return ask(open, STORE_REQUEST_RUN);
    return with(COMMAND_HURRY_JOB, open);
}

static struct command_next retry(const struct command_view *view)
{
    const struct job *old = &view->get->jobs[0];
    return job_state_final(old->state) ? with(COMMAND_ADD_JOB, old)
                                       : refuse("the job has not ended; only an ended one can be retried");
}

static struct command_next unblock(const struct command_view *view)
{
    const struct job *job = &view->get->jobs[0];
    return job->state == JOB_BLOCKED ? with(COMMAND_LET_GO, job) : done();
}

// As another node requests. It asks again, so there is nothing to wait for.
static struct command_next recall_one(const struct command_view *view)
{
    const struct job *job = &view->get->jobs[0];
    bool waits = in_our_hand(view, job) && job->state == JOB_WATCHING;
    return waits && !was_asked(view, job) && !is_beginning(view, job) ? fetch(job, ORDER_POSTPONED) : done();
}

// ---- tasks

// Has another had enough time to begin it, or to give it back?
static bool waited_long(const struct command_view *view, const struct job *job)
{
    const struct command_past *past = view->past;
    int64_t waited = past->requested_id == job->id ? view->now.mono_ms - past->request_began : 0;
    return job->due_at <= view->now.wall_ms && waited >= (view->get->task.paused ? PUT_OFF_MS : BEGIN_MS);
}

// Sees to it that no job of the task waits in anybody's hand: there it would begin as it was claimed. False: none does.
static bool recall(const struct command_view *view, struct command_next *ret_next)
{
    for (size_t i = 0; i < view->get->job_count; i++) {
        const struct job *job = &view->get->jobs[i];
        if (job->state != JOB_WATCHING || is_beginning(view, job))
            continue;
        if (in_our_hand(view, job)) // what pull does not know of, an answer of the store brings, or a recount finds
            *ret_next = was_asked(view, job) ? with(COMMAND_WAIT, job) : fetch(job, ORDER_POSTPONED);
        else
            *ret_next = waited_long(view, job) ? with(COMMAND_BEGINS, job) : ask(job, STORE_REQUEST_RECALL);
        return true;
    }
    return false;
}

bool command_may_recall(const struct command_view *view, const struct job *job)
{
    return job->state == JOB_WATCHING && in_our_hand(view, job) && !is_beginning(view, job);
}

// Between the reading and the writing a job that ran may have come back and been claimed as it was, which no token shows. Are all
// that wait amended by this command, or begun since?
static bool all_amended(const struct command_view *view)
{
    for (size_t i = 0; i < view->get->job_count; i++) {
        const struct job *job = &view->get->jobs[i];
        if (job_state_waiting(job->state) && !command_is_noted(view->past, job->id))
            return false;
    }
    return true;
}

static struct command_next pause(const struct command_view *view)
{
    struct command_next next;
    bool amended = did(view, COMMAND_DID_AMEND);
    if (!command_open(view->get) && !owes(view))
        return amended ? done() : refuse("all its jobs have ended; there is nothing to pause");
    if (!view->get->task.paused || (amended && !all_amended(view)))
        return with(COMMAND_AMEND, NULL);
    return recall(view, &next) ? next : done();
}

static struct command_next resume(const struct command_view *view)
{
    struct command_next next;
    if (!view->get->task.paused)
        return command_open(view->get) || owes(view) ? done() : refuse("all its jobs have ended; retry one of them");
    // A claimed job of a paused task is being put off: written later, that would outlast the pause.
    return recall(view, &next) ? next : with(COMMAND_AMEND, NULL);
}

static struct command_next patch(const struct command_view *view)
{
    struct command_next next;
    if (did(view, COMMAND_DID_AMEND) && recall(view, &next))
        return next;
    if (did(view, COMMAND_DID_AMEND) && all_amended(view))
        return done();
    if (!command_open(view->get) && !owes(view))
        return refuse("all its jobs have ended; a task that has ended is not changed");
    if (view->past->merged_from != view->get->task.version)
        return with(COMMAND_MERGE, NULL);
    if (view->past->changes_nothing && !did(view, COMMAND_DID_AMEND))
        return done();
    return recall(view, &next) ? next : with(COMMAND_AMEND, NULL);
}

// A task whose planned jobs are where its schedule has them is left alone.
static struct command_next replan(const struct command_view *view)
{
    struct command_next next;
    if (!view->moves)
        return done();
    return recall(view, &next) ? next : with(COMMAND_AMEND, NULL);
}

static const struct job *find_to_delete(const struct command_view *view)
{
    for (size_t i = 0; i < view->get->job_count; i++) {
        const struct job *job = &view->get->jobs[i];
        if (!job_state_final(job->state) && (!job_state_held(job->state) || view->running))
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

// What is left in hand when all that can be has been recalled is about to begin, or runs. A job may go with its task only if its
// record says that it runs: the record is removed, so the write of its end finds nothing, and it is not tried again. A job whose
// record does not say so might be a retry that was claimed meanwhile and begins after the answer.
static struct command_next delete (const struct command_view *view)
{
    struct command_next next;
    if (ends_many(view))
        return with(COMMAND_AMEND, NULL);
    if (!view->running && recall(view, &next))
        return next;
    const struct job *open = find_to_delete(view), *begins = find_watched(view->get);
    if (open)
        return cancel_one(view, open);
    return begins ? with(COMMAND_WAIT, begins) : with(COMMAND_REMOVE, NULL);
}

struct command_next command_next(const struct command_view *view)
{
    static struct command_next (*const rules[])(const struct command_view *) = {
        [COMMAND_CANCEL] = cancel,   [COMMAND_RUN] = run_now,   [COMMAND_RETRY] = retry,   [COMMAND_PAUSE] = pause,
        [COMMAND_RESUME] = resume,   [COMMAND_PATCH] = patch,   [COMMAND_DELETE] = delete, [COMMAND_RECALL] = recall_one,
        [COMMAND_UNBLOCK] = unblock, [COMMAND_REPLAN] = replan,
    };
    return rules[view->act](view);
}

// A command is a loop around the record (flow/commands/revise): what it does next is decided by flow/commands/command_next, and
// carried out here, a function for each phase.
//
// A node that has a job in hand is sent a request through the store (STORE_REQUEST, flow/peers/peer_requests). The record is read
// again until it shows what became of the job, or until the holder has been declared dead and the job taken back.
#include "flow/commands/commands.h"

#include "base/mark.h"
#include "base/mem.h"
#include "flow/commands/amend_page.h"
#include "flow/commands/by_hand.h"
#include "flow/commands/command_next.h"
#include "flow/commands/merge.h"
#include "flow/commands/recalls.h"
#include "flow/commands/replan.h"
#include "flow/commands/revise.h"
#include "flow/stages/pull.h"
#include "flow/stages/recur.h"
#include "flow/tend/sweep.h"
#include "store/jobs.h"
#include "store/peers.h"

#include <stdio.h>

enum {
    REMOVE_MAX = 1000,       // jobs that one transaction removes with their task
    LOOK_MS = 50,            // how soon the record is read while another node is at it, then less and less often
    REQUEST_AGAIN_MS = 2000, // and how often that node is asked: a request may get lost
    REQUEST_MAX_MS = 25000,  // by then a dead holder is found to be
    RECALL_MS = 10000,       // for how long a recalled job is left alone: the command that recalled it writes what follows sooner
};

// One command under way. It has one operation or question out at a time; or its document is with whoever asked, to be merged.
struct work {
    struct revision revision;
    struct commands *commands;
    struct command *op;
    struct command_past past;
    struct addition addition;
    struct store_new item;
    struct store_request request;
    struct amending amending;
    struct removing removing;
    struct pull_ask ask;
    struct recalls recalls;
    struct patched patched;   // of a change: what the task becomes
    struct arena merged;      // its texts
    int64_t requested_holder; // whom the last request went to,
    int64_t requested_at;     // and when, on the monotonic clock; 0: it is to be sent
};

struct commands {
    struct reviser reviser;
    struct pull *pull;
    struct zones *zones;
    struct mailbox inbox;   // struct command, new
    struct mailbox merged;  // struct command, with its changed document
    struct mailbox answers; // struct store_op of requests that were sent and jobs that were added
};

static void decide(struct revision *revision);
static void written(struct revision *revision, enum err err);

struct commands *commands_new(struct node *node, struct pull *pull, struct recorder *recorder, struct zones *zones)
{
    struct commands *commands = mem_zero(sizeof *commands);
    reviser_init(&commands->reviser, node, recorder, MARK_COMMAND_AGAIN);
    commands->pull = pull;
    commands->zones = zones;
    mailbox_init(&commands->inbox, node->flow_waker);
    mailbox_init(&commands->merged, node->flow_waker);
    mailbox_init(&commands->answers, node->flow_waker);
    return commands;
}

static void work_free(struct work *work)
{
    revision_end(&work->revision);
    command_past_done(&work->past);
    arena_done(&work->merged);
    mem_free(work);
}

static struct work *work_of(struct revision *revision)
{
    return container_of(revision, struct work, revision);
}

void commands_free(struct commands *commands)
{
    if (!commands)
        return;
    list_each (&commands->reviser.revisions, link)
        work_free(work_of(list_entry(link, struct revision, link)));
    reviser_done(&commands->reviser);
    mailbox_done(&commands->inbox);
    mailbox_done(&commands->merged);
    mailbox_done(&commands->answers);
    mem_free(commands);
}

bool commands_idle(const struct commands *commands)
{
    return reviser_idle(&commands->reviser);
}

void commands_submit(struct commands *commands, struct command *op)
{
    mailbox_post(&commands->inbox, &op->link);
}

static struct node *node_of(const struct work *work)
{
    return work->commands->reviser.node;
}

static struct now now_of(const struct work *work)
{
    return work->commands->reviser.now;
}

static void finish(struct work *work, enum err err, const char *why)
{
    struct command *op = work->op;
    op->err = err;
    snprintf(op->why, sizeof op->why, "%s", why);
    work_free(work);
    op->done(op);
}

static void do_done(struct work *work, const struct command_next *next)
{
    finish(work, next->err, next->why);
}

// ---- jobs in this node's hand

static void fetched(struct pull_ask *ask)
{
    struct work *work = ask->ctx;
    if (ask->begins)
        command_note_beginning(&work->past, work->past.asked_id, work->past.asked_token);
    if (ask->found && ask->end != ORDER_POSTPONED) // a recall changes nothing yet
        work->past.did |= COMMAND_DID_HAND_ON;
    if (ask->found || ask->begins)
        revision_moved(&work->revision); // a task may have many jobs
    revision_read(&work->revision);
}

static void fetch(struct work *work, const struct job *job, enum order_end end)
{
    work->past.asked_id = job->id;
    work->past.asked_token = job->token;
    if (job->state == JOB_CANCELLED)
        work->past.did |= COMMAND_DID_CALL_OFF;
    else
        work->past.did &= ~(unsigned)COMMAND_DID_CALL_OFF;
    work->ask = (struct pull_ask){.job_id = job->id,
                                  .token = job->token,
                                  .end = end,
                                  .postpone_to = now_of(work).wall_ms + RECALL_MS,
                                  .done = fetched,
                                  .ctx = work};
    pull_ask(work->commands->pull, &work->ask);
}

static struct command_view view_of(struct work *work);

static void do_fetch(struct work *work, const struct command_next *next)
{
    struct command_view view = view_of(work);
    if (next->end == ORDER_POSTPONED && work->op->task_id)
        recalls_begin(&work->recalls, work->commands->pull, &view, now_of(work).wall_ms + RECALL_MS);
    else
        fetch(work, next->job, next->end);
}

// ---- jobs in somebody's hand

// Whether it may still be waited for what becomes of a job in somebody's hand. False: the command has been ended.
static bool may_wait(struct work *work, const struct job *job)
{
    struct command_past *past = &work->past;
    int64_t now = now_of(work).mono_ms;
    if (past->requested_id != job->id)
        past->request_began = now;
    if (past->requested_id != job->id || work->requested_holder != job->holder) {
        past->requested_id = job->id;
        work->requested_holder = job->holder;
        work->requested_at = 0;
        revision_moved(&work->revision);
    }
    if (atomic_load(&node_of(work)->stopping)) {
        finish(work, ERR_STOPPING, "this node is stopping; another has the job in hand");
        return false;
    }
    if (now - past->request_began > REQUEST_MAX_MS) {
        finish(work, ERR_BUSY, "the node that has the job in hand does not answer; try again");
        return false;
    }
    return true;
}

static void do_wait(struct work *work, const struct command_next *next)
{
    if (!may_wait(work, next->job))
        return;
    work->past.asked_id = 0; // pull may know of it by then
    revision_read_later(&work->revision, LOOK_MS);
}

// Sees to it that the holder has been asked, and looks again later.
static void do_request(struct work *work, const struct command_next *next)
{
    const struct job *job = next->job;
    int64_t now = now_of(work).mono_ms;
    if (!may_wait(work, job))
        return;
    if (work->requested_at && now - work->requested_at < REQUEST_AGAIN_MS) {
        revision_read_later(&work->revision, LOOK_MS);
        return;
    }
    mark(MARK_PEER_ASKED);
    work->requested_at = now;
    if (next->request != STORE_REQUEST_RECALL)
        work->past.did |= COMMAND_DID_HAND_ON;
    work->request =
        (struct store_request){.holder = job->holder, .job = {.job_id = job->id, .tenant = job->tenant, .kind = next->request}};
    store_op_post(&work->request.op, STORE_REQUEST, &work->commands->answers);
    store_submit(node_of(work)->store, &work->request.op);
}

static void take_request(struct work *work)
{
    enum err err = work->request.op.err;
    store_op_done(&work->request.op);
    if (err && err != ERR_MOVED_ON) // lost: the holder is gone, and the record will show it
        finish(work, err, "the node that has the job in hand could not be asked");
    else
        revision_read_later(&work->revision, LOOK_MS);
}

static void do_begins(struct work *work, const struct command_next *next)
{
    command_note_beginning(&work->past, next->job->id, next->job->token);
    decide(&work->revision);
}

// ---- steps of jobs

static void do_end_job(struct work *work, const struct command_next *next)
{
    struct revision *revision = &work->revision;
    struct job_policy policy = task_policy(revision->get.task.doc, &revision->get.op.arena);
    revision->job = *next->job;
    if (job_cancel_elsewhere(&revision->job, &policy, now_of(work).wall_ms, STR("cancelled by hand"), &revision->step))
        finish(work, ERR_ILLEGAL_TRANSITION, "it has ended already");
    else
        revision_write(revision, next->job, 0);
}

static void do_hurry_job(struct work *work, const struct command_next *next)
{
    struct revision *revision = &work->revision;
    revision->job = *next->job;
    revision->step = (struct job_step){0};
    if (job_run_now(&revision->job, now_of(work).wall_ms))
        finish(work, ERR_ILLEGAL_TRANSITION, "it has ended already");
    else
        revision_write(revision, next->job, 0);
}

static void do_let_go(struct work *work, const struct command_next *next)
{
    struct revision *revision = &work->revision;
    revision->job = *next->job;
    revision->step = (struct job_step){0};
    if (job_unblock(&revision->job, now_of(work).wall_ms))
        finish(work, ERR_ILLEGAL_TRANSITION, "it does not wait for others");
    else
        revision_write(revision, next->job, 0);
}

static void written(struct revision *revision, enum err err)
{
    struct work *work = work_of(revision);
    if (err) {
        finish(work, err, "the change could not be written");
        return;
    }
    work->past.did |= COMMAND_DID_WRITE;
    revision_moved(revision);
    if (revision->job.state == JOB_CANCELLED)
        fetch(work, &revision->job, ORDER_CANCELLED);
    else
        revision_read(revision);
}

static void added(struct addition *addition)
{
    struct work *work = container_of(addition, struct work, addition);
    mailbox_post(&work->commands->answers, &addition->add.op.link);
}

static void do_add_job(struct work *work, const struct command_next *next)
{
    int64_t now_ms = now_of(work).wall_ms, incarnation = atomic_load(&node_of(work)->incarnation);
    struct job *job = &work->revision.job;
    if (!incarnation) { // until it has joined, its ids may be another's
        finish(work, ERR_STORE_UNAVAILABLE, "this node has not joined the others yet; try again");
        return;
    }
    work->op->new_job_id = node_make_id(node_of(work), now_ms);
    *job = by_hand_job(&work->revision.get, next->job, work->op->new_job_id, now_ms);
    work->item = (struct store_new){.jobs = job, .job_count = 1};
    work->addition = (struct addition){.task = &work->revision.get.task, .done = added};
    store_op_init(&work->addition.add.op, STORE_ADD, NULL);
    work->addition.add.now_ms = now_ms;
    work->addition.add.holder = incarnation;
    work->addition.add.items = &work->item;
    work->addition.add.count = 1;
    recorder_add(work->commands->reviser.recorder, &work->addition);
}

static void take_added(struct work *work)
{
    enum err err = work->addition.add.op.err ? work->addition.add.op.err : work->item.err;
    store_op_done(&work->addition.add.op);
    finish(work, err, err ? "the new job could not be added" : "");
}

// ---- tasks

static void refuse_patch(struct work *work, const struct problem *why)
{
    work->op->problem = *why;
    finish(work, why->err, why->detail);
}

static void do_merge(struct work *work, const struct command_next *next)
{
    work->op->merge(work->op);
}

// Only what was read is looked at, which nobody touches meanwhile.
void commands_merge(struct commands *commands, struct command *op, int64_t now_ms)
{
    struct work *work = op->work;
    const struct store_task *task = &work->revision.get.task;
    arena_done(&work->merged);
    op->problem = (struct problem){0};
    struct merging merging = {.task = task, .patch = op->patch, .whole = op->whole, .zones = commands->zones, .now_ms = now_ms};
    if (!merge_task(&merging, &work->patched, &work->merged, &op->problem)) {
        work->past.merged_from = task->version;
        work->past.changes_nothing = patch_changes_nothing(&work->patched.task, task->doc, &work->merged);
    }
    mailbox_post(&commands->merged, &op->link);
}

static void take_merged(struct work *work)
{
    if (work->op->problem.err)
        refuse_patch(work, &work->op->problem);
    else
        decide(&work->revision);
}

// A one-time task keeps no note, and has no instants that could be missed. False: the command was ended.
static bool is_apt(struct work *work)
{
    struct command *op = work->op;
    bool recurs = work->revision.get.task.plan;
    if (recurs || !(op->note.n || op->runs_missed))
        return true;
    refuse_patch(work, &(struct problem){.err = ERR_INVALID_FIELD,
                                         .detail = "Only recurring tasks keep a note and have runs that were missed."});
    return false;
}

// Is a change that plans the task anew possible now? It is asked before anything is called back. False: the command was ended.
static bool plan_fits(struct work *work)
{
    struct problem why = {0};
    int64_t scheduled_at, expires_at;
    bool merged = work->op->act == COMMAND_PATCH && work->past.merged_from == work->revision.get.task.version;
    if (!merged || work->revision.get.task.plan || work->past.did & COMMAND_DID_AMEND || !work->patched.replanned ||
        !task_plan(&work->patched.task, now_of(work).wall_ms, &scheduled_at, &expires_at, &why))
        return true;
    refuse_patch(work, &why);
    return false;
}

static void amended(struct amending *amending, struct now now);

// The task as it is; what is to be changed follows.
static struct store_amend *begin_amend(struct work *work)
{
    static const enum event_type events[] = {
        [COMMAND_PAUSE] = EVENT_TASK_PAUSED, [COMMAND_RESUME] = EVENT_TASK_RESUMED, [COMMAND_PATCH] = EVENT_TASK_CHANGED,
        [COMMAND_CANCEL] = EVENT_TYPE_COUNT, [COMMAND_DELETE] = EVENT_TYPE_COUNT,   [COMMAND_REPLAN] = EVENT_TASK_CHANGED};
    struct store_get *get = &work->revision.get;
    bool again = work->past.did & COMMAND_DID_AMEND;
    work->amending = (struct amending){.event = again ? EVENT_TYPE_COUNT : events[work->op->act],
                                       .reason = work->op->note.n ? work->op->note : work->op->by,
                                       .done = amended};
    struct store_amend *amend = &work->amending.amend;
    amend->task = get->task;
    amend->task.updated_at = now_of(work).wall_ms;
    amend->steps = arena_array(&get->op.arena, struct store_step, get->job_count + 1);
    return amend;
}

// What becomes of a job that waits, when its task is paused, resumed or changed. The jobs of a task that is paused are written as
// they are: whoever is about to claim one has either done so by then, or sees the pause.
static enum err amend_job(struct work *work, struct job *job, struct problem *why)
{
    int64_t now_ms = now_of(work).wall_ms;
    if (work->op->act == COMMAND_PATCH)
        return patch_job(&work->patched, job, now_ms, why);
    if (work->op->act == COMMAND_PAUSE || !job_resume(job, now_ms))
        return ERR_OK;
    problem_set(why, ERR_INTERNAL, "", "a waiting job cannot be resumed");
    return why->err;
}

// False: one of the jobs cannot follow its task, and the command has been ended.
static bool amend_jobs(struct work *work, struct store_amend *amend)
{
    struct store_get *get = &work->revision.get;
    struct problem why = {0};
    for (size_t i = 0; i < get->job_count; i++) {
        if (!job_state_waiting(get->jobs[i].state))
            continue;
        struct job *copy = arena_alloc(&get->op.arena, sizeof *copy);
        *copy = get->jobs[i];
        amend->steps[amend->count++] = (struct store_step){.token = copy->token, .job = copy};
        if (amend_job(work, copy, &why)) {
            refuse_patch(work, &why);
            return false;
        }
    }
    return true;
}

static struct replanning replanning_of(struct work *work, const struct task *task)
{
    return (struct replanning){.command = work->op,
                               .get = &work->revision.get,
                               .task = task,
                               .node = node_of(work),
                               .zones = work->commands->zones,
                               .now_ms = now_of(work).wall_ms};
}

// The same for a recurring task, whose plan follows it too.
static bool amend_plan(struct work *work, struct store_amend *amend)
{
    struct arena *arena = &work->revision.get.op.arena;
    struct problem why = {0};
    struct task task = work->patched.task;
    char words[ERR_WHY_MAX];
    if (work->op->act != COMMAND_PATCH)
        task_read(&task, amend->task.doc, arena, words);
    struct replanning replanning = replanning_of(work, &task);
    why.err = replan(&replanning, amend, arena, &why);
    if (why.err)
        refuse_patch(work, &why);
    return !why.err;
}

static void do_amend(struct work *work, const struct command_next *next)
{
    struct store_amend *amend = begin_amend(work);
    const struct task *patched = &work->patched.task;
    if (work->op->act != COMMAND_PATCH) {
        amend->task.paused = work->op->act == COMMAND_PAUSE || (amend->task.paused && work->op->act != COMMAND_RESUME);
    } else {
        amend->task.dispatch = target_rule(patched->target.kind)->dispatch;
        amend->task.queue = patched->queue;
        amend->task.name = patched->name;
        amend->task.doc = work->patched.doc;
        amend->retag = true;
        store_task_tag(&amend->task, patched, &work->revision.get.op.arena);
    }
    if (!(amend->task.plan ? amend_plan(work, amend) : amend_jobs(work, amend)))
        return;
    if (work->op->act != COMMAND_RESUME) // which is written once: from then on jobs begin
        amend_page_cut(amend, &work->revision.get, &work->past, work->op->act != COMMAND_PATCH && work->op->act != COMMAND_PAUSE);
    recorder_amend(work->commands->reviser.recorder, &work->amending);
}

// Is a task that cannot be found what was asked for? Its holder has ended it, or this command has, and retention was quick. Or
// somebody else deleted it, but then what ran may still run.
static bool gone_is_done(const struct work *work)
{
    enum command_act act = work->op->act;
    bool ends =
        act == COMMAND_CANCEL || act == COMMAND_RUN || act == COMMAND_RECALL || (act == COMMAND_DELETE && !work->op->running);
    return ends && (work->past.requested_id || work->past.did & (COMMAND_DID_MEET | COMMAND_DID_WRITE));
}

static void take_gone(struct work *work, const char *why)
{
    bool done = gone_is_done(work);
    finish(work, done ? ERR_OK : ERR_NOT_FOUND, done ? "" : why);
}

static void amended(struct amending *amending, struct now now)
{
    struct work *work = container_of(amending, struct work, amending);
    const struct store_amend *amend = &amending->amend;
    enum err err = amend->op.err;
    work->commands->reviser.now = now;
    store_op_done(&work->amending.amend.op);
    if (err == ERR_MOVED_ON) {
        mark(MARK_COMMAND_AGAIN);
        revision_read(&work->revision);
        return;
    }
    for (size_t i = 0; !err && i < amend->count; i++) // who claims them from now on gets the new document
        command_note_beginning(&work->past, amend->steps[i].job->id, amend->steps[i].job->token + 1);
    for (size_t i = 0; !err && i < amend->job_count; i++) // … and so does who claims those that were added
        command_note_beginning(&work->past, amend->jobs[i].id, amend->jobs[i].token + 1);
    if (!err) {
        work->past.did |= COMMAND_DID_AMEND | COMMAND_DID_WRITE;
        revision_moved(&work->revision); // a task may have many jobs
    }
    if (!err && (work->op->act != COMMAND_RESUME || amend->task.paused))
        revision_read(&work->revision); // what is in hand is called back; or the rest of what was missed is to follow
    else if (err == ERR_NOT_FOUND)
        take_gone(work, "the task could not be changed");
    else
        finish(work, err, err ? "the task could not be changed" : "");
}

static void removed(struct removing *removing, struct now now);

static void remove_task(struct work *work, bool goes_on)
{
    const struct store_task *task = &work->revision.get.task;
    int64_t now_ms = now_of(work).wall_ms;
    work->removing = (struct removing){.task = task, .done = removed};
    work->removing.remove =
        (struct store_remove){.task_id = task->id,
                              .version = task->version,
                              .tenant = task->tenant,
                              .ended = work->op->running, // or a retry by hand that begins just now would run on
                              .now_ms = now_ms,
                              .keys_until = now_ms + SWEEP_KEYS_KEPT_MS,
                              .max = REMOVE_MAX,
                              .goes_on = goes_on};
    recorder_remove(work->commands->reviser.recorder, &work->removing);
}

// While the task has more jobs, removing them goes on without reading it again: the store judges each job when it goes, and
// refuses a job that has come meanwhile. Only then the task is read again, and the job is cancelled first.
static void removed(struct removing *removing, struct now now)
{
    struct work *work = container_of(removing, struct work, removing);
    enum err err = removing->remove.op.err;
    work->commands->reviser.now = now;
    store_op_done(&removing->remove.op);
    if (!err)
        work->past.did |= COMMAND_DID_WRITE;
    if (err == ERR_MOVED_ON) {
        mark(MARK_COMMAND_AGAIN);
        revision_read(&work->revision);
    } else if (err == ERR_NOT_FOUND) {
        take_gone(work, "the task is gone");
    } else if (!err && removing->remove.more) {
        revision_moved(&work->revision);
        remove_task(work, true);
    } else {
        finish(work, err, err ? "the task could not be deleted" : "");
    }
}

static void do_remove(struct work *work, const struct command_next *next)
{
    remove_task(work, false);
}

// ---- the loop

// Is the command meant for the version that was read? Once it has written something, or whoever holds a job was asked to do it,
// it goes on to its end: to refuse what has happened would be wrong.
static bool is_meant(const struct work *work)
{
    const struct command *op = work->op;
    for (size_t i = 0; i < op->version_count; i++)
        if (op->versions[i] == work->revision.get.task.version)
            return true;
    return !op->versions || work->past.did & (COMMAND_DID_WRITE | COMMAND_DID_HAND_ON);
}

static bool moves(struct work *work)
{
    struct store_get *get = &work->revision.get;
    struct task task;
    char words[ERR_WHY_MAX];
    if (work->op->act != COMMAND_REPLAN || !plan_owes(get->task.plan) || !task_read(&task, get->task.doc, &get->op.arena, words))
        return false;
    struct replanning replanning = replanning_of(work, &task);
    return replan_moves(&replanning, &get->op.arena);
}

static struct command_view view_of(struct work *work)
{
    const struct job *open = command_open(&work->revision.get);
    return (struct command_view){.act = work->op->act,
                                 .running = work->op->running,
                                 .life = atomic_load(&node_of(work)->incarnation),
                                 .now = now_of(work),
                                 .get = &work->revision.get,
                                 .queue_paused = open && lanes_is_paused(node_of(work)->lanes, open->lane),
                                 .moves = moves(work),
                                 .past = &work->past};
}

static void carry_out(struct work *work)
{
    static void (*const phases[COMMAND_PHASE_COUNT])(struct work *, const struct command_next *) = {
        [COMMAND_DONE] = do_done,           [COMMAND_FETCH] = do_fetch,   [COMMAND_REQUEST] = do_request,
        [COMMAND_BEGINS] = do_begins,       [COMMAND_WAIT] = do_wait,     [COMMAND_END_JOB] = do_end_job,
        [COMMAND_HURRY_JOB] = do_hurry_job, [COMMAND_LET_GO] = do_let_go, [COMMAND_ADD_JOB] = do_add_job,
        [COMMAND_MERGE] = do_merge,         [COMMAND_AMEND] = do_amend,   [COMMAND_REMOVE] = do_remove,
    };
    struct command_view view = view_of(work);
    struct command_next next = command_next(&view);
    if (work->op->act == COMMAND_RUN && command_open(view.get))
        work->past.did |= COMMAND_DID_MEET;
    phases[next.phase](work, &next);
}

// Have more jobs of the task not ended than were read? Then they are read again, all of them: a command follows each.
static bool read_more(struct work *work)
{
    struct store_get *get = &work->revision.get;
    bool many = get->job_count >= COMMAND_JOBS_MAX && !job_state_final(get->jobs[COMMAND_JOBS_MAX - 1].state);
    bool again = many && get->max_jobs == COMMAND_JOBS_MAX && work->op->act != COMMAND_RUN;
    get->max_jobs = many ? COMMAND_JOBS_ALL : COMMAND_JOBS_MAX;
    if (again)
        revision_read(&work->revision);
    return again;
}

static void decide(struct revision *revision)
{
    struct work *work = work_of(revision);
    const struct store_op *read = &revision->get.op;
    if (read->err == ERR_NOT_FOUND && work->past.did & COMMAND_DID_WRITE && work->op->act == COMMAND_PATCH)
        finish(work, ERR_OK, "");
    else if (read->err == ERR_NOT_FOUND)
        take_gone(work, read->why);
    else if (read->err)
        finish(work, read->err, read->why);
    else if (!is_meant(work))
        finish(work, ERR_VERSION_MISMATCH, "the task has another version by now: read it again and decide anew");
    else if (!read_more(work) && is_apt(work) && plan_fits(work))
        carry_out(work);
}

static void begin(struct commands *commands, struct command *op)
{
    struct work *work = mem_zero(sizeof *work);
    work->commands = commands;
    work->recalls = (struct recalls){.past = &work->past, .revision = &work->revision};
    work->op = op;
    op->work = work;
    work->revision.decide = decide;
    work->revision.written = written;
    work->revision.get = (struct store_get){
        .tenant = op->tenant, .task_id = op->task_id, .job_id = op->job_id, .max_jobs = COMMAND_JOBS_MAX, .open_first = true};
    revision_begin(&work->revision, &commands->reviser);
    revision_read(&work->revision);
}

int64_t commands_turn(struct commands *commands, struct now now)
{
    struct list items;
    commands->reviser.now = now;
    list_init(&items);
    mailbox_take(&commands->inbox, &items);
    list_each (&items, link)
        begin(commands, list_entry(link, struct command, link));
    list_init(&items);
    mailbox_take(&commands->merged, &items);
    list_each (&items, link)
        take_merged(list_entry(link, struct command, link)->work);
    list_init(&items);
    mailbox_take(&commands->answers, &items);
    list_each (&items, link) {
        struct store_op *op = list_entry(link, struct store_op, link);
        if (op->verb == STORE_REQUEST)
            take_request(container_of(op, struct work, request.op));
        else
            take_added(container_of(op, struct work, addition.add.op));
    }
    return reviser_turn(&commands->reviser, now);
}

// What commands do to whole tasks: their document is merged and amended, their jobs and plan follow, or all of it is removed.
#include "base/mark.h"
#include "flow/commands/amend_page.h"
#include "flow/commands/commands_private.h"
#include "flow/commands/replan.h"
#include "flow/tend/sweep.h"

enum { REMOVE_MAX = 1000 }; // jobs that one transaction removes with their task

static void refuse_patch(struct work *work, const struct problem *why)
{
    work->op->problem = *why;
    work_finish(work, why->err, why->detail);
}

void work_do_merge(struct work *work, const struct command_next *next)
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

void work_take_merged(struct work *work)
{
    if (work->op->problem.err)
        refuse_patch(work, &work->op->problem);
    else
        work_decide(work);
}

// A one-time task keeps no note, and has no instants that could be missed.
bool work_is_apt(struct work *work)
{
    struct command *op = work->op;
    bool recurs = work->revision.get.task.plan;
    if (recurs || !(op->note.n || op->runs_missed))
        return true;
    refuse_patch(work, &(struct problem){.err = ERR_INVALID_FIELD,
                                         .detail = "Only recurring tasks keep a note and have runs that were missed."});
    return false;
}

bool work_plan_fits(struct work *work)
{
    struct problem why = {0};
    int64_t scheduled_at, expires_at;
    bool merged = work->op->act == COMMAND_PATCH && work->past.merged_from == work->revision.get.task.version;
    if (!merged || work->revision.get.task.plan || work->past.did & COMMAND_DID_AMEND || !work->patched.replanned ||
        !task_plan(&work->patched.task, work_now(work).wall_ms, &scheduled_at, &expires_at, &why))
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
    amend->task.updated_at = work_now(work).wall_ms;
    amend->steps = arena_array(&get->op.arena, struct store_step, get->job_count + 1);
    return amend;
}

// What becomes of a job that waits, when its task is paused, resumed or changed. The jobs of a task that is paused are written as
// they are: whoever is about to claim one has either done so by then, or sees the pause.
static enum err amend_job(struct work *work, struct job *job, struct problem *why)
{
    int64_t now_ms = work_now(work).wall_ms;
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
                               .node = work_node(work),
                               .zones = work->commands->zones,
                               .now_ms = work_now(work).wall_ms};
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

void work_do_amend(struct work *work, const struct command_next *next)
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

void work_take_gone(struct work *work, const char *why)
{
    bool done = gone_is_done(work);
    work_finish(work, done ? ERR_OK : ERR_NOT_FOUND, done ? "" : why);
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
        work_take_gone(work, "the task could not be changed");
    else
        work_finish(work, err, err ? "the task could not be changed" : "");
}

static void removed(struct removing *removing, struct now now);

static void remove_task(struct work *work, bool goes_on)
{
    const struct store_task *task = &work->revision.get.task;
    int64_t now_ms = work_now(work).wall_ms;
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
        work_take_gone(work, "the task is gone");
    } else if (!err && removing->remove.more) {
        revision_moved(&work->revision);
        remove_task(work, true);
    } else {
        work_finish(work, err, err ? "the task could not be deleted" : "");
    }
}

void work_do_remove(struct work *work, const struct command_next *next)
{
    remove_task(work, false);
}

bool work_moves(struct work *work)
{
    struct store_get *get = &work->revision.get;
    struct task task;
    char words[ERR_WHY_MAX];
    if (work->op->act != COMMAND_REPLAN || !plan_owes(get->task.plan) || !task_read(&task, get->task.doc, &get->op.arena, words))
        return false;
    struct replanning replanning = replanning_of(work, &task);
    return replan_moves(&replanning, &get->op.arena);
}

// A command is a loop around the record (flow/commands/revise): what it does next is decided by flow/commands/command_next, and
// carried out here, a function for each phase. What is done to whole tasks is in command_tasks.c.
//
// A node that has a job in hand is sent a request through the store (STORE_REQUEST, flow/peers/peer_requests). The record is read
// again until it shows what became of the job, or until the holder has been declared dead and the job taken back.
#include "flow/commands/commands.h"

#include "base/mark.h"
#include "base/mem.h"
#include "flow/commands/by_hand.h"
#include "flow/commands/commands_private.h"
#include "flow/stages/pull.h"
#include "store/jobs.h"
#include "store/peers.h"

#include <stdio.h>

enum {
    LOOK_MS = 50,            // how soon the record is read while another node is at it, then less and less often
    REQUEST_AGAIN_MS = 2000, // and how often that node is asked: a request may get lost
    REQUEST_MAX_MS = 25000,  // by then a dead holder is found to be
    RECALL_MS = 10000,       // for how long a recalled job is left alone: the command that recalled it writes what follows sooner
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

void work_finish(struct work *work, enum err err, const char *why)
{
    struct command *op = work->op;
    op->err = err;
    snprintf(op->why, sizeof op->why, "%s", why);
    work_free(work);
    op->done(op);
}

static void do_done(struct work *work, const struct command_next *next)
{
    work_finish(work, next->err, next->why);
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
                                  .postpone_to = work_now(work).wall_ms + RECALL_MS,
                                  .done = fetched,
                                  .ctx = work};
    pull_ask(work->commands->pull, &work->ask);
}

static struct command_view view_of(struct work *work)
{
    const struct job *open = command_open(&work->revision.get);
    return (struct command_view){.act = work->op->act,
                                 .running = work->op->running,
                                 .life = atomic_load(&work_node(work)->incarnation),
                                 .now = work_now(work),
                                 .get = &work->revision.get,
                                 .queue_paused = open && lanes_is_paused(work_node(work)->lanes, open->lane),
                                 .moves = work_moves(work),
                                 .past = &work->past};
}

static void do_fetch(struct work *work, const struct command_next *next)
{
    struct command_view view = view_of(work);
    if (next->end == ORDER_POSTPONED && work->op->task_id)
        recalls_begin(&work->recalls, work->commands->pull, &view, work_now(work).wall_ms + RECALL_MS);
    else
        fetch(work, next->job, next->end);
}

// ---- jobs in somebody's hand

// Whether it may still be waited for what becomes of a job in somebody's hand. False: the command has been ended.
static bool may_wait(struct work *work, const struct job *job)
{
    struct command_past *past = &work->past;
    int64_t now = work_now(work).mono_ms;
    if (past->requested_id != job->id)
        past->request_began = now;
    if (past->requested_id != job->id || work->requested_holder != job->holder) {
        past->requested_id = job->id;
        work->requested_holder = job->holder;
        work->requested_at = 0;
        revision_moved(&work->revision);
    }
    if (atomic_load(&work_node(work)->stopping)) {
        work_finish(work, ERR_STOPPING, "this node is stopping; another has the job in hand");
        return false;
    }
    if (now - past->request_began > REQUEST_MAX_MS) {
        work_finish(work, ERR_BUSY, "the node that has the job in hand does not answer; try again");
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
    int64_t now = work_now(work).mono_ms;
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
    store_submit(work_node(work)->store, &work->request.op);
}

static void take_request(struct work *work)
{
    enum err err = work->request.op.err;
    store_op_done(&work->request.op);
    if (err && err != ERR_MOVED_ON) // lost: the holder is gone, and the record will show it
        work_finish(work, err, "the node that has the job in hand could not be asked");
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
    if (job_cancel_elsewhere(&revision->job, &policy, work_now(work).wall_ms, STR("cancelled by hand"), &revision->step))
        work_finish(work, ERR_ILLEGAL_TRANSITION, "it has ended already");
    else
        revision_write(revision, next->job, 0);
}

static void do_hurry_job(struct work *work, const struct command_next *next)
{
    struct revision *revision = &work->revision;
    revision->job = *next->job;
    revision->step = (struct job_step){0};
    if (job_run_now(&revision->job, work_now(work).wall_ms))
        work_finish(work, ERR_ILLEGAL_TRANSITION, "it has ended already");
    else
        revision_write(revision, next->job, 0);
}

static void do_let_go(struct work *work, const struct command_next *next)
{
    struct revision *revision = &work->revision;
    revision->job = *next->job;
    revision->step = (struct job_step){0};
    if (job_unblock(&revision->job, work_now(work).wall_ms))
        work_finish(work, ERR_ILLEGAL_TRANSITION, "it does not wait for others");
    else
        revision_write(revision, next->job, 0);
}

static void written(struct revision *revision, enum err err)
{
    struct work *work = work_of(revision);
    if (err) {
        work_finish(work, err, "the change could not be written");
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
    int64_t now_ms = work_now(work).wall_ms, incarnation = atomic_load(&work_node(work)->incarnation);
    struct job *job = &work->revision.job;
    if (!incarnation) { // until it has joined, its ids may be another's
        work_finish(work, ERR_STORE_UNAVAILABLE, "this node has not joined the others yet; try again");
        return;
    }
    work->op->new_job_id = node_make_id(work_node(work), now_ms);
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
    work_finish(work, err, err ? "the new job could not be added" : "");
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

static void carry_out(struct work *work)
{
    static void (*const phases[COMMAND_PHASE_COUNT])(struct work *, const struct command_next *) = {
        [COMMAND_DONE] = do_done,           [COMMAND_FETCH] = do_fetch,      [COMMAND_REQUEST] = do_request,
        [COMMAND_BEGINS] = do_begins,       [COMMAND_WAIT] = do_wait,        [COMMAND_END_JOB] = do_end_job,
        [COMMAND_HURRY_JOB] = do_hurry_job, [COMMAND_LET_GO] = do_let_go,    [COMMAND_ADD_JOB] = do_add_job,
        [COMMAND_MERGE] = work_do_merge,    [COMMAND_AMEND] = work_do_amend, [COMMAND_REMOVE] = work_do_remove,
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
        work_finish(work, ERR_OK, "");
    else if (read->err == ERR_NOT_FOUND)
        work_take_gone(work, read->why);
    else if (read->err)
        work_finish(work, read->err, read->why);
    else if (!is_meant(work))
        work_finish(work, ERR_VERSION_MISMATCH, "the task has another version by now: read it again and decide anew");
    else if (!read_more(work) && work_is_apt(work) && work_plan_fits(work))
        carry_out(work);
}

void work_decide(struct work *work)
{
    decide(&work->revision);
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
        work_take_merged(list_entry(link, struct command, link)->work);
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

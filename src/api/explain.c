// Why a job does not run: what the record, this node's lanes and its slots say, in the words of what decides (core/job: job_wait;
// flow/lanes, flow/stages/slots).
//
// When it is expected to start is reckoned from how many go before it, in the store and in this node's hand, and from how long
// calls take. Of other nodes it is assumed that they do as much as this one; what lies in another's hand only that one knows, and
// where nobody can tell, no time is given.
#include "api/explanation.h"
#include "api/read.h"
#include "api/reply.h"
#include "base/clock.h"
#include "store/jobs.h"

enum { REASONS_MAX = 3, AHEAD_MAX = 100000 };

struct question {
    struct arena *arena;
    const struct job *job;
    const struct attempt *last; // of those that failed, or NULL: who takes a job in hand clears what its record says of it
    const struct store_task *task;
    struct lanes *lanes;
    bool runs_here;              // this node takes jobs in hand
    bool in_hand;                // … and has this one
    int64_t ahead;               // jobs in the store that are taken before it, for each node that lives; -1: very many
    const struct slots_view *at; // how it looks at this node's slots
    bool preparing;              // this node looks for where its host is
    int64_t now_ms;
};

static struct str when_in_words(const struct question *question, int64_t ms)
{
    return explanation_when(question->arena, ms, question->now_ms);
}

static struct reason wait_for_task(const struct question *question)
{
    char id[ID_TEXT_SIZE];
    id_format(id, ID_TASK, question->task->id);
    return (struct reason){.what = "task_paused",
                           .id = arena_copy(question->arena, str_of(id)),
                           .detail = STR("Its task is paused."),
                           .way = arena_printf(question->arena, " Resume it with POST /v1/tasks/%s/resume.", id)};
}

// ---- what it waits for when it is due

// The limits, by what holds a slot back.
static const struct {
    const char *what, *limit, *format; // of how many run, and how many may
} limits[] = {
    [SLOTS_FREE] = {"slot", NULL, ""},
    [SLOTS_ALL] = {"slot", "calls.max", "This node has %d of the %d calls running that calls.max allows."},
    [SLOTS_LANE] = {"slot", "queue_share", "Its queue has %d of the %d calls running that are its share of calls.max."},
    [SLOTS_PER_HOST] = {"host", "calls.per_host", "Its host has %d of the %d calls running that calls.per_host allows."},
    [SLOTS_HOST] = {"host", "host_share", "Its host has %d of the %d calls running that are its share of the queue's."},
};

static struct str limit_in_words(const struct question *question)
{
    const struct slots_view *at = question->at;
    if (!at->limit)
        return (struct str){0};
    struct str words = arena_printf(question->arena, limits[at->limit].format, at->running, at->most); // NOLINT
    int64_t before = question->ahead + at->before;
    if (question->ahead < 0)
        return arena_printf(question->arena, STR_FMT " More than %d start before it.", STR_ARG(words), AHEAD_MAX);
    if (before)
        words = arena_printf(question->arena, STR_FMT " %s%lld %s before it.", STR_ARG(words), at->at_least ? "At least " : "",
                             (long long)before, before == 1 ? "starts" : "start");
    if (at->step_us)
        return words;
    return arena_printf(question->arena, STR_FMT " No call has ended yet, so nobody can tell when.", STR_ARG(words));
}

// In how many ms one that is in nobody's hand can be expected to start; -1: nobody can tell. Where slots are free and only room
// is not, one is taken whenever one of those in hand has ended.
static int64_t wait_here(const struct question *question, const struct lanes_view *room)
{
    const struct slots_view *at = question->at;
    if (question->ahead < 0)
        return -1;
    if (at->limit || !room->limit)
        return slots_wait_ms(at, question->ahead);
    return at->pace_ms ? (question->ahead + 1) * at->pace_ms / (room->held ? room->held : 1) : -1;
}

static int64_t expected_in(const struct question *question, int64_t wait_ms)
{
    return wait_ms < 0 ? 0 : question->now_ms + wait_ms;
}

// It was set aside until its host has come to it. If all of its queue go to this host, those who wait longer count, too.
static struct reason wait_for_host(const struct question *question, struct str when)
{
    const struct job *job = question->job;
    const struct slots_view *at = question->at;
    bool known = at->limit >= SLOTS_PER_HOST && (!job->holder || question->in_hand);
    int64_t wait =
        known && at->alone && at->step_us && question->ahead >= 0 ? (question->ahead + at->before + 1) * at->step_us / 1000 : 0;
    struct str words =
        known ? limit_in_words(question)
              : STR("It was set aside: its host had as many calls as it may have, or its name was still being looked up.");
    return (struct reason){
        .what = "host",
        .limit = known ? limits[at->limit].limit : NULL,
        .detail = arena_printf(question->arena, STR_FMT " It is tried again at " STR_FMT ".", STR_ARG(words), STR_ARG(when)),
        .expected_at = question->ahead < 0 && known ? 0 : time_max(job->due_at, question->now_ms + wait),
        .later = true};
}

static struct reason wait_for_time(const struct question *question)
{
    const struct job *job = question->job;
    struct str when = when_in_words(question, job->due_at);
    struct reason reason = {.what = "time", .expected_at = job->due_at, .later = true};
    if (job->due_at > job->ready_at)
        return wait_for_host(question, when);
    if (question->last) {
        struct str why = question->last->reason;
        reason.what = "retry";
        reason.detail = arena_printf(question->arena, "Attempt %d failed%s" STR_FMT "; the next one is at " STR_FMT ".",
                                     (int)question->last->number, why.n ? ": " : "", STR_ARG(why), STR_ARG(when));
    } else {
        reason.detail = arena_printf(question->arena, "It is planned for " STR_FMT ".", STR_ARG(when));
    }
    return reason;
}

static struct reason wait_elsewhere(const struct question *question)
{
    char id[ID_TEXT_SIZE];
    id_format(id, ID_INCARNATION, question->job->holder);
    return (struct reason){
        .what = "slot",
        .id = arena_copy(question->arena, str_of(id)),
        .detail =
            arena_printf(question->arena,
                         "Node %s has it in hand and starts it when a slot is free there. Which limit holds it, and for how "
                         "long, only that node can say: ask it.",
                         id)};
}

static struct reason wait_in_hand(const struct question *question)
{
    char id[ID_TEXT_SIZE];
    id_format(id, ID_INCARNATION, question->job->holder);
    struct str words = limit_in_words(question);
    return (struct reason){.what = limits[question->at->limit].what,
                           .limit = limits[question->at->limit].limit,
                           .id = arena_copy(question->arena, str_of(id)),
                           .detail = arena_printf(question->arena,
                                                  "Node %s has it in hand and starts it when a slot is free.%s" STR_FMT, id,
                                                  words.n ? " " : "", STR_ARG(words)),
                           .expected_at = expected_in(question, slots_wait_ms(question->at, 0))};
}

static struct reason wait_for_room(const struct question *question, const struct lanes_view *room)
{
    static const struct {
        const char *limit, *format; // of what is in hand, and what may be
    } rooms[] = {
        [LANES_FREE] = {NULL, ""},
        [LANES_JOBS] = {"jobs.in_hand", "It is due; this node has %lld of the %lld jobs in hand that jobs.in_hand allows."},
        [LANES_JOBS_SHARE] = {"in_hand_share",
                              "It is due; its queue has %lld jobs in hand, its share of the %lld that jobs.in_hand allows."},
        [LANES_BYTES] = {"jobs.in_hand_bytes",
                         "It is due; the tasks in this node's hand have %lld of the %lld bytes that jobs.in_hand_bytes allows."},
        [LANES_BYTES_SHARE] =
            {"in_hand_bytes_share",
             "It is due; its queue's tasks in hand have %lld bytes, its share of the %lld that jobs.in_hand_bytes allows."},
    };
    struct str words = limit_in_words(question);
    struct str has =
        arena_printf(question->arena, rooms[room->limit].format, (long long)room->has, (long long)room->most); // NOLINT
    return (struct reason){
        .what = "room",
        .limit = rooms[room->limit].limit,
        .id = question->task->queue,
        .detail = arena_printf(question->arena, STR_FMT "%s" STR_FMT, STR_ARG(has), words.n ? " " : "", STR_ARG(words)),
        .expected_at = expected_in(question, wait_here(question, room))};
}

// It is due and in nobody's hand.
static struct reason wait_to_be_taken(const struct question *question)
{
    struct lanes_view room = lanes_look(question->lanes, question->job->lane);
    if (!question->runs_here)
        return (struct reason){
            .what = "slot",
            .id = question->task->queue,
            .detail = STR("It is due, and is taken by a node that runs jobs. This one does not, and cannot tell when."),
            .expected_at = question->ahead ? 0 : question->now_ms};
    if (room.limit)
        return wait_for_room(question, &room);
    struct str words = limit_in_words(question);
    return (struct reason){.what = limits[question->at->limit].what,
                           .limit = limits[question->at->limit].limit,
                           .id = question->task->queue,
                           .detail =
                               arena_printf(question->arena, "It is due, and is taken next by a node that runs jobs.%s" STR_FMT,
                                            words.n ? " " : "", STR_ARG(words)),
                           .expected_at = expected_in(question, wait_here(question, &room))};
}

static struct reason wait_for_address(const struct question *question)
{
    return (struct reason){.what = "host",
                           .detail = STR("The name of its host is being looked up; it starts when that has an address.")};
}

static struct reason wait_for_slot(const struct question *question)
{
    if (question->preparing)
        return wait_for_address(question);
    if (question->job->state != JOB_WATCHING)
        return wait_to_be_taken(question);
    return question->in_hand ? wait_in_hand(question) : wait_elsewhere(question);
}

static struct reason wait_for_word(const struct question *question)
{
    const struct job *job = question->job;
    return (struct reason){.what = "attempt",
                           .detail = arena_printf(question->arena,
                                                  "Attempt %d was answered 202; its target says how it went, until " STR_FMT ".",
                                                  (int)job->attempts, STR_ARG(when_in_words(question, job->lease_until))),
                           .expected_at = job->started_at};
}

static struct reason wait_for_end(const struct question *question)
{
    const struct job *job = question->job;
    if (job->lease_until)
        return wait_for_word(question);
    char id[ID_TEXT_SIZE];
    id_format(id, ID_INCARNATION, job->holder);
    return (struct reason){
        .what = "attempt",
        .id = arena_copy(question->arena, str_of(id)),
        .detail = arena_printf(question->arena, "Attempt %d has been running for " STR_FMT ", on node %s.", (int)job->attempts,
                               STR_ARG(explanation_duration(question->arena, question->now_ms - job->started_at)), id),
        .expected_at = job->started_at};
}

// It waits by `overlap: queue` until a run before it has ended.
static struct reason wait_for_run(const struct question *question)
{
    const struct plan *plan = question->task->plan;
    char id[ID_TEXT_SIZE];
    size_t before = 0;
    if (!plan->active_count)
        return (struct reason){.what = "overlap", .detail = STR("What it waited for has ended, and it is about to be let go.")};
    while (before < plan->queued_count && plan->queued[before] != question->job->id)
        before++;
    id_format(id, ID_JOB, plan->active[0]);
    struct str words = arena_printf(question->arena, "It waits until a run of its task has ended: " STR_FMT " %s active.",
                                    STR_ARG(explanation_jobs(question->arena, plan->active, plan->active_count)),
                                    plan->active_count == 1 ? "is" : "are");
    if (before)
        words =
            arena_printf(question->arena, STR_FMT " %zu %s before it.", STR_ARG(words), before, before == 1 ? "waits" : "wait");
    return (struct reason){.what = "overlap", .id = arena_copy(question->arena, str_of(id)), .detail = words};
}

static struct reason find_reason(const struct question *question, bool queue_paused)
{
    const struct job *job = question->job;
    if (job->state == JOB_BLOCKED && question->task->plan)
        return wait_for_run(question);
    if (job->state == JOB_RESERVED)
        return wait_for_end(question);
    switch (job_wait(job, queue_paused, question->now_ms)) {
    case WAIT_TIME:
        return wait_for_time(question);
    case WAIT_QUEUE:
        return explanation_queue_paused(question->arena, question->task->queue);
    case WAIT_EXPIRED:
        return (struct reason){.what = "expiry",
                               .detail = STR("It has not started by its not_after, and is about to be cancelled.")};
    case WAIT_NOTHING:
        break;
    }
    return wait_for_slot(question);
}

// All that it waits for: who is told of its time only is surprised by a pause when that has come.
static size_t find_reasons(const struct question *question, struct reason ret_reasons[REASONS_MAX])
{
    const struct job *job = question->job;
    bool begun = job->state == JOB_RESERVED, queue_paused = lanes_is_paused(question->lanes, job->lane);
    bool put_off = question->task->paused && job->due_at > job->ready_at; // then its due_at is when the pause is looked at again
    size_t count = 0;
    if (question->task->paused && !begun)
        ret_reasons[count++] = wait_for_task(question);
    if (queue_paused && !begun)
        ret_reasons[count++] = explanation_queue_paused(question->arena, question->task->queue);
    struct reason reason = find_reason(question, queue_paused);
    if (count == 0 || (reason.later && !put_off))
        ret_reasons[count++] = reason;
    return count;
}

// What has ended waits for nothing.
static struct str end_in_words(const struct question *question)
{
    const struct job *job = question->job;
    return arena_printf(question->arena, "It has ended: %s%s" STR_FMT ".", job_state_text(job->state), job->reason.n ? ", " : "",
                        STR_ARG(job->reason));
}

static void put_explanation(struct buf *body, const struct question *question)
{
    const struct job *job = question->job;
    struct reason reasons[REASONS_MAX] = {{0}};
    struct explanation explanation = {.state = job_state_text(job_state_at(job, question->now_ms)), .reasons = reasons};
    if (job_state_final(job->state))
        explanation_note(&explanation, end_in_words(question));
    else
        explanation.count = find_reasons(question, reasons);
    explanation.expected_at = explanation.count == 1 ? reasons[0].expected_at : 0;
    explanation_put(body, &explanation);
}

// ---- the request: reads the job, then how many are ahead of it, then asks the slots

struct explaining {
    struct store_get get;
    struct store_ahead ahead;
    struct dispatch_question asked;
    struct api_call call;
    struct arena *arena;
    struct gate_wait wait;
};

static void finish(struct explaining *explaining, enum err failed)
{
    store_op_done(&explaining->get.op);
    gate_leave(&explaining->call.api->reads, failed);
}

// Is there anything that the slots and those ahead of it could say? Only of what could start, and of what was set aside for its
// host.
static bool is_about_slots(const struct job *job, int64_t now_ms)
{
    bool waits = job->state == JOB_DELAYED || job->state == JOB_READY || job->state == JOB_WATCHING;
    return waits && (job->due_at <= now_ms || job->due_at > job->ready_at);
}

static bool is_aside(const struct job *job, int64_t now_ms)
{
    return job->due_at > now_ms && job->due_at > job->ready_at;
}

static int64_t ahead_for_each(const struct explaining *explaining)
{
    const struct node *node = explaining->call.api->node;
    int nodes = node ? atomic_load(&node->nodes) : 1;
    if (explaining->ahead.count >= AHEAD_MAX)
        return -1;
    return (int64_t)explaining->ahead.count / (nodes > 1 ? nodes : 1);
}

static void reply(struct explaining *explaining)
{
    const struct api *api = explaining->call.api;
    const struct store_get *get = &explaining->get;
    const struct job *job = &get->jobs[0];
    struct buf body = {0};
    put_explanation(&body, &(struct question){.arena = explaining->arena,
                                              .job = job,
                                              .last = get->attempt_count ? &get->attempts[get->attempt_count - 1] : NULL,
                                              .task = &get->task,
                                              .lanes = api->lanes,
                                              .runs_here = api->node && api->node->pulls,
                                              .in_hand = api->node && job->holder == atomic_load(&api->node->incarnation),
                                              .ahead = ahead_for_each(explaining),
                                              .at = &explaining->asked.view,
                                              .preparing = explaining->asked.preparing,
                                              .now_ms = clock_now().wall_ms});
    reply_json(explaining->call.request, 200, &body);
    finish(explaining, ERR_OK);
}

static void answered(struct dispatch_question *asked)
{
    http_resume(container_of(asked, struct explaining, asked)->call.request);
}

static void answer_asked(struct http_request *request, void *state)
{
    reply(state);
}

static void ask_slots(struct explaining *explaining)
{
    const struct job *job = &explaining->get.jobs[0];
    struct task task;
    char why[ERR_WHY_MAX];
    task_read(&task, explaining->get.task.doc, explaining->arena, why); // what cannot be read has no target, and no host
    explaining->asked = (struct dispatch_question){.job_id = job->id,
                                                   .lane = job->lane,
                                                   .priority = job->priority,
                                                   .aside = is_aside(job, clock_now().wall_ms),
                                                   .host = order_host(&task.target),
                                                   .done = answered};
    http_wait(explaining->call.request, answer_asked, explaining);
    dispatch_ask(explaining->call.api->dispatch, &explaining->asked);
}

static void counted(struct store_op *op)
{
    http_resume(container_of(op, struct explaining, ahead.op)->call.request);
}

static void answer_counted(struct http_request *request, void *state)
{
    struct explaining *explaining = state;
    struct store_op *op = &explaining->ahead.op;
    if (op->err) {
        problem_store(request, op->err, op->why);
        finish(explaining, op->err);
    } else {
        ask_slots(explaining);
    }
    store_op_done(op);
}

static void count_ahead(struct explaining *explaining)
{
    const struct job *job = &explaining->get.jobs[0];
    explaining->ahead = (struct store_ahead){
        .lane = job->lane, .priority = job->priority, .due_at = job->due_at, .id = job->id, .max = AHEAD_MAX};
    store_op_init(&explaining->ahead.op, STORE_AHEAD, counted);
    http_wait(explaining->call.request, answer_counted, explaining);
    store_submit(explaining->call.api->store, &explaining->ahead.op);
}

static void found(struct store_op *op)
{
    http_resume(container_of(op, struct explaining, get.op)->call.request);
}

static void answer_found(struct http_request *request, void *state)
{
    struct explaining *explaining = state;
    struct store_get *get = &explaining->get;
    if (!get->op.err && get->job_count) {
        if (explaining->call.api->dispatch && is_about_slots(&get->jobs[0], clock_now().wall_ms))
            count_ahead(explaining);
        else
            reply(explaining);
        return;
    }
    enum err failed = get->op.err == ERR_NOT_FOUND ? ERR_OK : get->op.err;
    if (failed)
        problem_store(request, failed, get->op.why);
    else
        problem_say(request, ERR_NOT_FOUND, NULL, "There is no such job.");
    finish(explaining, failed);
}

static void ask(struct http_request *request, void *state)
{
    struct explaining *explaining = state;
    explaining->get.op.err = explaining->wait.failed;
    if (explaining->wait.failed) {
        answer_found(request, explaining);
        return;
    }
    http_wait(request, answer_found, explaining);
    store_submit(explaining->call.api->store, &explaining->get.op);
}

void explain_job(const struct api_call *call, int64_t job_id)
{
    struct explaining *explaining = arena_alloc(http_arena(call->request), sizeof *explaining);
    *explaining = (struct explaining){.call = *call, .arena = http_arena(call->request)};
    explaining->get.tenant = call->tenant;
    explaining->get.job_id = job_id;
    store_op_init(&explaining->get.op, STORE_GET, found);
    gate_enter(&call->api->reads, READS_MAX, &explaining->wait, call->request, ask, explaining);
}

void jobs_explain(const struct api_call *call)
{
    int64_t id;
    if (read_path_id(call, ID_JOB, &id))
        explain_job(call, id);
}

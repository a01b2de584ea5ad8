// What a recurring task does next, and why it does not: its plan, its planned jobs and its queue say so. Of a one-time task its
// job is explained, as if that had been asked for.
#include "api/explanation.h"
#include "api/read.h"
#include "api/reply.h"
#include "base/clock.h"
#include "base/text/when.h"
#include "core/task/task_state.h"
#include "flow/commands/match.h"
#include "flow/zones.h"
#include "store/jobs.h"

enum { REASONS_MAX = 4, LATELY_MS = 24 * 3600 * 1000 };

struct question {
    struct arena *arena;
    const struct store_get *get;
    const struct plan *plan;
    struct task task;
    const struct job *next; // the first job that is planned and not queued, or NULL
    bool queue_paused;
    int64_t far_ms; // the next instant, if it lies too far ahead to have a job; else 0
    int64_t now_ms;
};

static struct str time_in_words(struct arena *arena, int64_t ms)
{
    char text[WHEN_TEXT_SIZE];
    when_format(text, ms);
    return arena_copy(arena, str_of(text));
}

// ---- what it waits for

static struct str pause_in_words(const struct question *question)
{
    const struct plan *plan = question->plan;
    struct arena *arena = question->arena;
    bool itself = str_is(plan->paused_by, "failures");
    struct str why = itself ? arena_printf(arena, "It paused itself, because the last %lld runs of its schedule failed",
                                           (long long)plan->failures_in_row)
                            : STR("It was paused by hand");
    if (plan->paused_at)
        why = arena_printf(arena, STR_FMT ", at " STR_FMT, STR_ARG(why), STR_ARG(time_in_words(arena, plan->paused_at)));
    if (plan->paused_note.n)
        return arena_printf(arena, STR_FMT ", with the note \"" STR_FMT "\".", STR_ARG(why), STR_ARG(plan->paused_note));
    return arena_printf(arena, STR_FMT ".", STR_ARG(why));
}

static struct reason wait_for_resume(const struct question *question)
{
    char id[ID_TEXT_SIZE];
    id_format(id, ID_TASK, question->get->task.id);
    return (struct reason){.what = "task_paused",
                           .id = arena_copy(question->arena, str_of(id)),
                           .detail = pause_in_words(question),
                           .way = arena_printf(question->arena, " Resume it with POST /v1/tasks/%s/resume.", id)};
}

// Runs that are queued behind others, by `overlap: queue`.
static struct reason wait_for_runs(const struct question *question)
{
    const struct plan *plan = question->plan;
    char id[ID_TEXT_SIZE] = "";
    if (plan->active_count)
        id_format(id, ID_JOB, plan->active[0]);
    struct str ends = plan->active_count
                          ? arena_printf(question->arena, "one of these has ended: " STR_FMT,
                                         STR_ARG(explanation_jobs(question->arena, plan->active, plan->active_count)))
                          : STR("they are let go, which is about to happen");
    return (struct reason){.what = "overlap",
                           .id = arena_copy(question->arena, str_of(id)),
                           .detail = arena_printf(question->arena, "%zu %s until " STR_FMT ".", plan->queued_count,
                                                  plan->queued_count == 1 ? "run waits" : "runs wait", STR_ARG(ends))};
}

static struct reason wait_for_next(const struct question *question)
{
    const struct job *next = question->next;
    char id[ID_TEXT_SIZE];
    id_format(id, ID_JOB, next->id);
    struct str when = explanation_when(question->arena, next->scheduled_at, question->now_ms);
    bool due = next->scheduled_at <= question->now_ms;
    return (struct reason){.what = "time",
                           .id = arena_copy(question->arena, str_of(id)),
                           .detail =
                               due ? arena_printf(question->arena, "Its next run, %s, was due at " STR_FMT ".", id, STR_ARG(when))
                                   : arena_printf(question->arena, "Its next run is planned for " STR_FMT ".", STR_ARG(when))};
}

static size_t find_reasons(const struct question *question, struct reason ret_reasons[REASONS_MAX])
{
    bool paused = question->get->task.paused;
    size_t count = 0;
    if (paused)
        ret_reasons[count++] = wait_for_resume(question);
    if (question->queue_paused)
        ret_reasons[count++] = explanation_queue_paused(question->arena, question->get->task.queue);
    if (question->plan->queued_count)
        ret_reasons[count++] = wait_for_runs(question);
    if (question->next && !paused)
        ret_reasons[count++] = wait_for_next(question);
    return count;
}

// ---- what else there is to know

static void note_running(const struct question *question, struct explanation *explanation)
{
    const struct store_get *get = question->get;
    int64_t *running = arena_array(question->arena, int64_t, get->job_count + 1);
    size_t count = 0;
    for (size_t i = 0; i < get->job_count; i++)
        if (get->jobs[i].state == JOB_RESERVED)
            running[count++] = get->jobs[i].id;
    if (count)
        explanation_note(explanation,
                         arena_printf(question->arena, "Right now %s: " STR_FMT ".", count == 1 ? "a run goes on" : "runs go on",
                                      STR_ARG(explanation_jobs(question->arena, running, count))));
}

static void note_far(const struct question *question, struct explanation *explanation)
{
    if (question->far_ms)
        explanation_note(explanation, arena_printf(question->arena,
                                                   "Its next run is at " STR_FMT ". It is planned when that is ten years ahead.",
                                                   STR_ARG(time_in_words(question->arena, question->far_ms))));
}

static void note_end(const struct question *question, struct explanation *explanation)
{
    const struct recurrence *recurs = question->task.recurs;
    const struct plan *plan = question->plan;
    struct arena *arena = question->arena;
    if (!plan_owes(plan) && plan->ended_with)
        explanation_note(explanation, arena_printf(arena, "Its schedule has ended: the last instant was " STR_FMT ".",
                                                   STR_ARG(time_in_words(arena, plan->ended_with))));
    else if (!plan_owes(plan))
        explanation_note(explanation, STR("Its schedule has ended."));
    else if (recurs->ends_at)
        explanation_note(explanation, arena_printf(arena, "Its schedule ends at " STR_FMT ".",
                                                   STR_ARG(explanation_when(arena, recurs->ends_at, question->now_ms))));
}

static void note_max_runs(const struct question *question, struct explanation *explanation)
{
    int64_t most = question->task.recurs->rules.max_runs;
    if (most && plan_owes(question->plan))
        explanation_note(explanation,
                         arena_printf(question->arena, "Its schedule ends after %lld runs, %lld of which are past or planned.",
                                      (long long)most, (long long)question->plan->instants));
}

static void note_failures(const struct question *question, struct explanation *explanation)
{
    long long failures = question->plan->failures_in_row, most = question->task.recurs->pause_after_failures;
    if (!failures || str_is(question->plan->paused_by, "failures"))
        return;
    struct str words = failures == 1 ? STR("The last run of its schedule failed")
                                     : arena_printf(question->arena, "The last %lld runs of its schedule failed", failures);
    explanation_note(explanation,
                     most ? arena_printf(question->arena, STR_FMT "; it pauses itself after %lld in a row.", STR_ARG(words), most)
                          : arena_printf(question->arena, STR_FMT ".", STR_ARG(words)));
}

// "3 missed, 1 on excluded days"
static struct str counts_in_words(struct arena *arena, const int64_t counts[PLAN_REASON_COUNT])
{
    static const char *const words[PLAN_REASON_COUNT] = {[PLAN_MISFIRE] = "missed",
                                                         [PLAN_OVERLAP] = "while another run was active",
                                                         [PLAN_PAUSED] = "while it was paused",
                                                         [PLAN_EXCLUDED] = "on excluded days",
                                                         [PLAN_WINDOW] = "missed by more than misfire_window"};
    struct str text = {0};
    for (int i = 0; i < PLAN_REASON_COUNT; i++)
        if (counts[i])
            text = arena_printf(arena, STR_FMT "%s%lld %s", STR_ARG(text), text.n ? ", " : "", (long long)counts[i], words[i]);
    return text;
}

// A skip that began earlier and reaches into the last day counts as a whole: so the sentence says since when it counts.
static void note_skips(const struct question *question, struct explanation *explanation)
{
    struct plan_skip skips[PLAN_SKIPS_MAX];
    size_t count = plan_skips_read(question->plan->skips, skips);
    int64_t since = TIME_NEVER, total = 0, counts[PLAN_REASON_COUNT] = {0};
    for (size_t i = 0; i < count; i++) {
        if (skips[i].to < question->now_ms - LATELY_MS || skips[i].from > question->now_ms)
            continue;
        since = time_min(since, skips[i].from);
        counts[skips[i].reason] += skips[i].count;
        total += skips[i].count;
    }
    if (total)
        explanation_note(explanation, arena_printf(question->arena, "Since " STR_FMT ", %lld %s skipped: " STR_FMT ".",
                                                   STR_ARG(time_in_words(question->arena, since)), (long long)total,
                                                   total == 1 ? "instant was" : "instants were",
                                                   STR_ARG(counts_in_words(question->arena, counts))));
}

static void put_explanation(struct buf *body, const struct question *question)
{
    const struct store_get *get = question->get;
    enum task_state state = task_state_of(get->task.paused, plan_owes(question->plan), get->jobs, get->job_count);
    struct reason reasons[REASONS_MAX] = {{0}};
    struct explanation explanation = {.state = task_state_text(state), .reasons = reasons};
    explanation.count = find_reasons(question, reasons);
    if (question->next && !get->task.paused && !question->queue_paused)
        explanation.expected_at = question->next->scheduled_at;
    note_running(question, &explanation);
    note_far(question, &explanation);
    note_end(question, &explanation);
    note_max_runs(question, &explanation);
    note_failures(question, &explanation);
    note_skips(question, &explanation);
    explanation_put(body, &explanation);
}

// ---- the request

struct explaining {
    struct store_get get;
    struct gate_wait wait;
    struct api_call call;
};

// The first job whose time is to come. Those that are queued behind others have a reason of their own.
static const struct job *find_next(const struct store_get *get)
{
    const struct job *next = NULL;
    for (size_t i = 0; i < get->job_count; i++) {
        const struct job *job = &get->jobs[i];
        if (job_is_ahead(job) && job->state != JOB_BLOCKED && (!next || job->scheduled_at < next->scheduled_at))
            next = job;
    }
    return next;
}

static int64_t find_far(const struct question *question, struct zones *zones)
{
    const struct store_task *stored = &question->get->task;
    struct schedule schedule;
    struct problem why;
    if (question->next || !plan_owes(question->plan) ||
        !zones_schedule(zones, &question->task, stored->id, stored->created_at, question->arena, &schedule, &why))
        return 0;
    int64_t horizon = question->now_ms + TASK_HORIZON_MS;
    int64_t next = schedule_next(&schedule, time_max(question->plan->planned_through, question->now_ms)).at_ms;
    return next > horizon && next != TIME_NEVER ? schedule_next_run(&schedule, next - 1, next + TASK_HORIZON_MS) : 0;
}

static enum err reply_schedule(struct explaining *explaining)
{
    const struct store_get *get = &explaining->get;
    const struct api_call *call = &explaining->call;
    struct buf body = {0};
    struct question question = {.arena = http_arena(call->request),
                                .get = get,
                                .plan = get->task.plan,
                                .next = find_next(get),
                                .queue_paused = get->job_count && lanes_is_paused(call->api->lanes, get->jobs[0].lane),
                                .now_ms = clock_now().wall_ms};
    if (!match_read(&get->task, &question.task, question.arena) || !task_recurs(&question.task))
        return ERR_INTERNAL;
    question.far_ms = find_far(&question, call->api->zones);
    put_explanation(&body, &question);
    reply_json(call->request, 200, &body);
    return ERR_OK;
}

// Returns the job of a one-time task that is to be explained instead; 0: the request was answered.
static int64_t reply(struct explaining *explaining)
{
    const struct store_get *get = &explaining->get;
    struct http_request *request = explaining->call.request;
    const struct job *job = task_job_to_show(get->jobs, get->job_count);
    enum err err = get->op.err;
    if (!err && !get->task.plan && job)
        return job->id;
    if (!err && get->task.plan)
        err = reply_schedule(explaining);
    else if (!err)
        problem_say(request, ERR_NOT_FOUND, NULL, "The task has no job any more.");
    if (err == ERR_NOT_FOUND)
        problem_say(request, err, NULL, "There is no such task.");
    else if (err)
        problem_store(request, err, get->op.why);
    return 0;
}

static void answer(struct http_request *request, void *state)
{
    struct explaining *explaining = state;
    enum err failed = explaining->get.op.err == ERR_NOT_FOUND ? ERR_OK : explaining->get.op.err;
    int64_t job_id = reply(explaining);
    store_op_done(&explaining->get.op);
    gate_leave(&explaining->call.api->reads, failed);
    if (job_id)
        explain_job(&explaining->call, job_id);
}

static void found(struct store_op *op)
{
    http_resume(container_of(op, struct explaining, get.op)->call.request);
}

static void ask(struct http_request *request, void *state)
{
    struct explaining *explaining = state;
    explaining->get.op.err = explaining->wait.failed;
    if (explaining->wait.failed) {
        answer(request, explaining);
        return;
    }
    http_wait(request, answer, explaining);
    store_submit(explaining->call.api->store, &explaining->get.op);
}

void tasks_explain(const struct api_call *call)
{
    int64_t id;
    if (!read_path_id(call, ID_TASK, &id))
        return;
    struct explaining *explaining = arena_alloc(http_arena(call->request), sizeof *explaining);
    explaining->call = *call;
    explaining->get.tenant = call->tenant;
    explaining->get.task_id = id;
    explaining->get.max_jobs = READ_JOBS_MAX;
    explaining->get.open_first = true;
    store_op_init(&explaining->get.op, STORE_GET, found);
    gate_enter(&call->api->reads, READS_MAX, &explaining->wait, call->request, ask, explaining);
}

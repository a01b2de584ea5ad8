// Members are written one after the other into the buffer, without printf: the answer to every submit comes through here.
#include "api/render.h"

#include "base/clock.h"
#include "base/text/when.h"
#include "core/task/task_state.h"

// `head` is the comma, the name and the colon, as they stand in the document.
static void put_time(struct buf *buf, const char *head, int64_t ms)
{
    buf_puts(buf, head);
    if (!ms) {
        buf_put(buf, STR("null"));
        return;
    }
    buf_reserve(buf, WHEN_TEXT_SIZE + 2);
    char *at = buf->p + buf->n;
    *at++ = '"';
    when_format(at, ms);
    at[WHEN_LENGTH] = '"';
    buf->n += WHEN_LENGTH + 2;
}

static void put_int(struct buf *buf, const char *head, int64_t value, int64_t none)
{
    buf_puts(buf, head);
    if (value == none)
        buf_put(buf, STR("null"));
    else
        buf_put_int(buf, value);
}

static void put_text(struct buf *buf, const char *head, struct str text, bool there)
{
    buf_puts(buf, head);
    if (there)
        json_put_string(buf, text);
    else
        buf_put(buf, STR("null"));
}

// As it was given, byte for byte.
static void put_json(struct buf *buf, const char *head, struct str value)
{
    buf_puts(buf, head);
    buf_put(buf, value.n ? value : STR("null"));
}

static void put_id(struct buf *buf, const char *head, enum id_kind kind, int64_t id)
{
    buf_puts(buf, head);
    if (id)
        render_id(buf, kind, id);
    else
        buf_put(buf, STR("null"));
}

void render_id(struct buf *buf, enum id_kind kind, int64_t id)
{
    char text[ID_TEXT_SIZE];
    id_format(text, kind, id);
    buf_putc(buf, '"');
    buf_puts(buf, text);
    buf_putc(buf, '"');
}

// Whether there was an answer the status says: one without a body is an empty one.
static void put_answer(struct buf *buf, int32_t status, struct str response, bool truncated)
{
    put_text(buf, ",\"response\":", response, status != 0 || response.n > 0);
    buf_puts(buf, truncated ? ",\"response_truncated\":true" : ",\"response_truncated\":false");
}

static void put_attempt(struct buf *buf, const struct attempt *attempt, bool answers)
{
    put_int(buf, "{\"number\":", attempt->number, -1);
    put_time(buf, ",\"picked_at\":", attempt->picked_at);
    put_time(buf, ",\"started_at\":", attempt->started_at);
    put_time(buf, ",\"completed_at\":", attempt->completed_at);
    put_text(buf, ",\"outcome\":", str_of(job_outcome_text(attempt->outcome)), attempt->outcome != OUTCOME_NONE);
    put_text(buf, ",\"reason\":", attempt->reason, attempt->reason.n > 0);
    put_int(buf, ",\"status\":", attempt->status, 0);
    if (answers)
        put_answer(buf, attempt->status, attempt->response, attempt->response_truncated);
    put_id(buf, ",\"executor\":", ID_INCARNATION, attempt->holder);
    buf_putc(buf, '}');
}

// The last attempt of a job that has ended has its answer in the job's record only.
static struct attempt kept_attempt(const struct job *job, const struct attempt *attempt)
{
    struct attempt shown = *attempt;
    if (job_state_final(job->state) && attempt->number == job->attempts && attempt->completed_at == job->completed_at) {
        shown.response = job->response;
        shown.response_truncated = job->response_truncated;
    }
    return shown;
}

// Attempts that did not succeed are kept apart; the one that runs or succeeded is only in the job's own record.
static void put_attempts(struct buf *buf, const struct job *job, const struct attempt *attempts, size_t count, bool answers)
{
    buf_puts(buf, ",\"attempts\":[");
    for (size_t i = 0; i < count; i++) {
        if (i)
            buf_putc(buf, ',');
        struct attempt attempt = kept_attempt(job, &attempts[i]);
        put_attempt(buf, &attempt, answers);
    }
    if (job->state == JOB_RESERVED || job->state == JOB_SUCCESS) {
        if (count)
            buf_putc(buf, ',');
        struct attempt latest = job_latest_attempt(job);
        put_attempt(buf, &latest, answers);
    }
    buf_putc(buf, ']');
}

static void put_lateness(struct buf *buf, const struct job *job, const struct attempt *attempts, size_t count)
{
    static const char *const met[] = {[JOB_SLA_OPEN] = "null", [JOB_SLA_MET] = "true", [JOB_SLA_MISSED] = "false"};
    const char *stage = job_stage_text(job->late_stage);
    buf_puts(buf, ",\"sla_met\":");
    buf_puts(buf, met[job_sla(job, attempts, count)]);
    put_int(buf, ",\"late_by\":", job_late_by(job, attempts, count), -1);
    put_text(buf, ",\"late_stage\":", str_of(stage), stage != NULL);
}

static void put_delays(struct buf *buf, const struct job *job)
{
    struct job_delays delays = job_delays(job);
    put_int(buf, ",\"delays\":{\"puller\":", delays.puller, -1);
    put_int(buf, ",\"queue\":", delays.queue, -1);
    put_int(buf, ",\"target\":", delays.target, -1);
    buf_putc(buf, '}');
}

static void put_job(struct buf *buf, const struct job *job, const struct attempt *attempts, size_t attempt_count, int64_t now_ms,
                    bool answers)
{
    attempts = job_attempts(job->id, attempts, &attempt_count);
    put_id(buf, "{\"id\":", ID_JOB, job->id);
    put_id(buf, ",\"task_id\":", ID_TASK, job->task_id);
    put_id(buf, ",\"parent_job_id\":", ID_JOB, job->parent_id);
    put_text(buf, ",\"trigger\":", str_of(job_trigger_text(job_made_by(job))), true);
    put_text(buf, ",\"state\":", str_of(job_state_text(job_state_at(job, now_ms))), true);
    put_time(buf, ",\"scheduled_at\":", job->scheduled_at);
    put_time(buf, ",\"due_at\":", job_state_final(job->state) ? 0 : job->due_at);
    put_time(buf, ",\"nominal_at\":", job->nominal_at);
    put_time(buf, ",\"picked_at\":", job->picked_at);
    put_time(buf, ",\"started_at\":", job->started_at);
    put_time(buf, ",\"completed_at\":", job->completed_at);
    put_time(buf, ",\"updated_at\":", job_updated_at(job));
    put_int(buf, ",\"status\":", job->status, 0);
    put_answer(buf, job->status, job->response, job->response_truncated);
    bool ended = job_state_final(job->state);
    put_json(buf, ",\"result\":", ended ? job->result : (struct str){0});
    buf_puts(buf, job->result_left_out ? ",\"result_left_out\":true" : ",\"result_left_out\":false");
    put_json(buf, ",\"progress\":", !ended ? job->result : (struct str){0});
    put_text(buf, ",\"reason\":", job->reason, job->reason.n > 0);
    put_lateness(buf, job, attempts, attempt_count);
    put_delays(buf, job);
    put_int(buf, ",\"retry_count\":", job->retries, -1);
    put_id(buf, ",\"executor\":", ID_INCARNATION, job->holder);
    put_time(buf, ",\"lease_until\":", job->lease_until);
    put_attempts(buf, job, attempts, attempt_count, answers);
    buf_putc(buf, '}');
}

void render_job(struct buf *buf, const struct job *job, const struct attempt *attempts, size_t attempt_count, int64_t now_ms)
{
    put_job(buf, job, attempts, attempt_count, now_ms, true);
}

void render_listed_job(struct buf *buf, const struct job *job, const struct attempt *attempts, size_t attempt_count,
                       int64_t now_ms)
{
    put_job(buf, job, attempts, attempt_count, now_ms, false);
}

// Of a recurring task they are counted from its beginning; of a one-time task they are what there is.
static void put_runs(struct buf *buf, const struct task_view *view)
{
    const struct plan *plan = view->stored->plan;
    int64_t success = 0, failed = 0, waiting = 0;
    for (size_t i = 0; i < view->job_count; i++) {
        const struct job *job = &view->jobs[i];
        success += job->state == JOB_SUCCESS;
        failed += job->state == JOB_ABORTED || job->state == JOB_BURIED;
        waiting += job_planned(job);
    }
    put_int(buf, ",\"runs\":{\"success\":", plan ? plan->success : success, -1);
    put_int(buf, ",\"failed\":", plan ? plan->failed : failed, -1);
    put_int(buf, ",\"planned\":", waiting, -1);
    buf_putc(buf, '}');
}

static void put_skips(struct buf *buf, struct str text)
{
    struct plan_skip skips[PLAN_SKIPS_MAX];
    size_t count = plan_skips_read(text, skips);
    buf_puts(buf, ",\"skips\":[");
    for (size_t i = 0; i < count; i++) {
        put_time(buf, i ? ",{\"from\":" : "{\"from\":", skips[i].from);
        put_time(buf, ",\"to\":", skips[i].to);
        put_int(buf, ",\"count\":", skips[i].count, -1);
        put_text(buf, ",\"reason\":", str_of(plan_reason_text(skips[i].reason)), true);
        buf_putc(buf, '}');
    }
    buf_putc(buf, ']');
}

static void put_pause(struct buf *buf, const struct plan *plan)
{
    buf_puts(buf, ",\"paused\":");
    if (!plan->paused_at) {
        buf_puts(buf, "null");
        return;
    }
    put_time(buf, "{\"since\":", plan->paused_at);
    put_text(buf, ",\"note\":", plan->paused_note, plan->paused_note.n > 0);
    put_text(buf, ",\"by\":", plan->paused_by, plan->paused_by.n > 0);
    buf_putc(buf, '}');
}

// What a recurring task shows besides.
static void put_plan(struct buf *buf, const struct task_view *view)
{
    const struct plan *plan = view->stored->plan;
    int64_t ended = plan->success + plan->failed;
    buf_puts(buf, ",\"success_rate\":");
    if (ended)
        buf_printf(buf, "%.4g", (double)plan->success / (double)ended);
    else
        buf_puts(buf, "null");
    put_int(buf, ",\"failures_in_row\":", plan->failures_in_row, -1);
    put_time(buf, ",\"next_at\":", task_next_at(view->jobs, view->job_count));
    put_time(buf, ",\"last_at\":", plan->last_at);
    put_pause(buf, plan);
    put_skips(buf, plan->skips);
}

void render_task(struct buf *buf, const struct task_view *view, int64_t now_ms)
{
    enum { USUAL_SIZE = 2048 };
    const struct job *job = task_job_to_show(view->jobs, view->job_count);
    const char *outcome = task_outcome_text(task_outcome_of(view->jobs, view->job_count));
    const struct plan *plan = view->stored->plan;
    enum task_state state = task_state_of(view->stored->paused, plan_owes(plan), view->jobs, view->job_count);
    buf_reserve(buf, USUAL_SIZE);
    put_id(buf, "{\"id\":", ID_TASK, view->stored->id);
    put_text(buf, ",\"state\":", str_of(task_state_text(state)), true);
    put_text(buf, ",\"outcome\":", str_of(outcome), outcome != NULL);
    put_time(buf, ",\"scheduled_at\":", task_scheduled_at(view->jobs, view->job_count));
    buf_putc(buf, ',');
    task_render(view->task, buf);
    put_int(buf, ",\"version\":", view->stored->version, -1);
    put_time(buf, ",\"created_at\":", view->stored->created_at);
    put_time(buf, ",\"updated_at\":", view->stored->updated_at ? view->stored->updated_at : view->stored->created_at);
    put_runs(buf, view);
    if (plan)
        put_plan(buf, view);
    buf_puts(buf, ",\"job\":");
    if (job)
        render_listed_job(buf, job, view->attempts, view->attempt_count, now_ms);
    else
        buf_puts(buf, "null");
    buf_putc(buf, '}');
}

void render_counts(struct buf *buf, const int64_t counts[JOB_STATE_COUNT])
{
    int64_t pending = 0;
    buf_puts(buf, "\"states\":{");
    for (int state = 0; state < JOB_STATE_COUNT; state++) {
        put_text(buf, state ? "," : "", str_of(job_state_text(state)), true);
        put_int(buf, ":", counts[state], -1);
        if (!job_state_final(state))
            pending += counts[state];
    }
    put_int(buf, "},\"pending\":", pending, -1);
}

void render_upcoming(struct buf *buf, const struct upcoming_item *item)
{
    const struct upcoming_place *place = &item->place;
    const struct upcoming_task *task = item->task;
    put_id(buf, "{\"task_id\":", ID_TASK, task->id);
    put_text(buf, ",\"name\":", task->name, task->name.n > 0);
    put_id(buf, ",\"job_id\":", ID_JOB, place->computed ? 0 : place->id);
    put_time(buf, ",\"at\":", place->at_ms);
    buf_puts(buf, place->computed ? ",\"computed\":true" : ",\"computed\":false");
    buf_puts(buf, task->paused ? ",\"paused\":true}" : ",\"paused\":false}");
}

void render_queue(struct buf *buf, const struct store_lane *lane)
{
    put_text(buf, "{\"queue\":", lane->queue, true);
    buf_puts(buf, lane->paused ? ",\"paused\":true," : ",\"paused\":false,");
    render_counts(buf, lane->counts);
    put_time(buf, ",\"next_due\":", lane->next_due == TIME_NEVER ? 0 : lane->next_due);
    buf_putc(buf, '}');
}

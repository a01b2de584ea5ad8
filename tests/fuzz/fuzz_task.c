// core/task/task: a document that is taken is shown as one that means the same, and shown again as the same text; its plan keeps
// to the rules; a refusal names a field and says what is right.
#include "base/mem.h"
#include "cli/show/text.h"
#include "core/task/task.h"
#include "fuzz.h"

static const int64_t NOW_MS = 1794700000000, HORIZON_MS = 3653LL * 24 * 3600 * 1000;

static void render(const struct task *task, struct buf *buf)
{
    buf_putc(buf, '{');
    task_render(task, buf);
    buf_putc(buf, '}');
}

static bool same_policy(struct job_policy a, struct job_policy b)
{
    return a.retry.max == b.retry.max && a.retry.delay_ms == b.retry.delay_ms && a.retry.max_delay_ms == b.retry.max_delay_ms &&
           a.retry.exponential == b.retry.exponential && a.retry.jitter == b.retry.jitter && a.sla_ms == b.sla_ms &&
           a.ttl_ms == b.ttl_ms && a.bury_lost == b.bury_lost && a.lost_max == b.lost_max;
}

static bool same_recurrence(const struct recurrence *a, const struct recurrence *b)
{
    return str_eq(a->cron, b->cron) && str_eq(a->timezone, b->timezone) && a->every_ms == b->every_ms &&
           a->anchor_ms == b->anchor_ms && a->rules.misfire == b->rules.misfire &&
           a->rules.misfire_window_ms == b->rules.misfire_window_ms && a->rules.overlap == b->rules.overlap &&
           a->rules.max_active == b->rules.max_active && a->rules.max_runs == b->rules.max_runs && a->dst_gap == b->dst_gap &&
           a->dst_overlap == b->dst_overlap && a->exclude.type == b->exclude.type && a->starts_at == b->starts_at &&
           a->ends_at == b->ends_at && a->jitter_ms == b->jitter_ms && a->pause_after_failures == b->pause_after_failures;
}

static void check_same(const struct task *a, const struct task *b)
{
    must(a->target.kind == b->target.kind && a->target.kind == TARGET_HTTP);
    must(str_eq(a->target.http.url, b->target.http.url) && str_eq(a->target.http.method, b->target.http.method) &&
         str_eq(a->queue, b->queue) && str_eq(a->key, b->key));
    must(str_eq(a->name, b->name) && str_eq(a->tracing_id, b->tracing_id) && str_eq(a->created_by, b->created_by));
    must(str_eq(a->traceparent, b->traceparent) && str_eq(a->target.http.body.raw, b->target.http.body.raw) &&
         a->target.http.body.type == b->target.http.body.type);
    must(a->at_ms == b->at_ms && a->in_ms == b->in_ms && a->not_after_ms == b->not_after_ms);
    must(a->not_after_in_ms == b->not_after_in_ms && a->policy.timeout_ms == b->policy.timeout_ms && a->priority == b->priority);
    must(memcmp(a->target.http.success_codes, b->target.http.success_codes, sizeof a->target.http.success_codes) == 0);
    must(same_policy(a->policy, b->policy));
    must(!a->recurs == !b->recurs && (!a->recurs || same_recurrence(a->recurs, b->recurs)));
}

static void check_shown(const struct task *task, struct arena *arena)
{
    buf_auto struct buf first = {0}, second = {0};
    struct problem why = {0};
    struct task again;
    struct json doc;
    render(task, &first);
    must(json_check(buf_str(&first), &doc, why.detail) == ERR_OK);
    must(task_parse(&again, doc, arena, &why) == ERR_OK);
    check_same(task, &again);
    render(&again, &second);
    must(str_eq(buf_str(&first), buf_str(&second)));
}

// The field is a JSON pointer, and neither it nor the words end within a character.
static void check_problem(const struct problem *why, enum err err)
{
    size_t at;
    must(why->err == err && why->detail[0]);
    must(why->field[0] == '/' || !why->field[0]);
    for (const char *tilde = strchr(why->field, '~'); tilde; tilde = strchr(tilde + 1, '~'))
        must(tilde[1] == '0' || tilde[1] == '1');
    must(text_valid(str_of(why->field), &at) && text_valid(str_of(why->detail), &at));
}

static void check_plan(const struct task *task)
{
    struct problem why = {0};
    int64_t planned = 0, expires = -1;
    enum err err = task_plan(task, NOW_MS, &planned, &expires, &why);
    if (err) {
        check_problem(&why, err);
        return;
    }
    must(planned >= NOW_MS && planned <= NOW_MS + HORIZON_MS);
    must(!expires || expires >= planned);
}

// A recurring task has one way to say when, and its schedule can be made.
static void check_schedule(const struct task *task, struct arena *arena)
{
    struct schedule schedule;
    struct problem why = {0};
    must(!task->at_ms && task->in_ms < 0 && !task->not_after_ms &&
         (task->recurs->cron.p == NULL) == (task->recurs->every_ms > 0));
    enum err err = task_schedule(task, 1, NOW_MS, &zone_utc, arena, &schedule, &why);
    must(!err || (err == ERR_CRON_NEVER && schedule.cron.hashed && !task->name.n));
    must(schedule.exclude_count <= EXCLUDES_MAX);
    if (!err && (err = recurrence_check_ahead(task, &schedule, NOW_MS, &why)))
        check_problem(&why, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = fuzz_input(data, size);
    struct problem why = {0};
    struct json doc;
    struct task task, stored;
    struct arena arena;
    if (json_check(text, &doc, why.detail))
        return 0;
    arena_init(&arena);
    enum err err = task_parse(&task, doc, &arena, &why);
    char words[ERR_WHY_MAX] = "";
    must(task_read(&stored, text, &arena, words) == !err && !words[0] == !err);
    if (err) {
        check_problem(&why, err);
    } else {
        check_shown(&task, &arena);
        if (task_recurs(&task))
            check_schedule(&task, &arena);
        else
            check_plan(&task);
        must(same_policy(stored.policy, task.policy));
    }
    arena_done(&arena);
    return 0;
}

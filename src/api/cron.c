// What a cron pattern means, before anybody relies on it, or the schedule of a task: in words, and the instants at which it
// fires. The instants come from the functions that plan.
#include "api/params.h"
#include "api/read.h"
#include "api/reply.h"
#include "base/clock.h"
#include "base/text/json.h"
#include "base/text/when.h"
#include "core/task/recurrence.h"
#include "flow/commands/match.h"
#include "flow/zones.h"
#include "store/jobs.h"

enum {
    RUNS_DEFAULT = 10,
    RUNS_MAX = 1000,
    EXCLUDED_MAX = 1000, // instants that are shown as taken out; days behind them are passed over as a whole,
    PASSED_MAX = 4000,   // so many of them: the HTTP thread does not search through two centuries in which every day is excluded
};

// ---- what is asked

static bool read_pattern(const struct api_call *call, struct schedule *schedule)
{
    char why[ERR_WHY_MAX];
    struct str text = http_query(call->request, "cron"), name = http_query(call->request, "name");
    if (!text.p) {
        problem_say(call->request, ERR_INVALID_FIELD, "cron", "cron is the pattern to show, like 30 2 * * *; or give a task.");
        return false;
    }
    enum err err = cron_parse(text, recurrence_hash(name, 0), &schedule->cron, why);
    if (err) {
        problem_say(call->request, err, "cron", "%s", why);
        return false;
    }
    if (schedule->cron.hashed && !name.n) {
        problem_say(call->request, ERR_INVALID_FIELD, "name",
                    "An H is spread by the name of the task: give it as name, to see the times of that task.");
        return false;
    }
    return true;
}

static bool read_zone(const struct api_call *call, struct schedule *schedule)
{
    char why[ERR_WHY_MAX];
    struct str name = http_query(call->request, "timezone");
    schedule->zone = &zone_utc;
    enum err err = name.p ? zones_find(call->api->zones, name, &schedule->zone, why) : ERR_OK;
    if (err)
        problem_say(call->request, err, "timezone", "%s", why);
    return !err;
}

// One of a few words; `value` keeps what it was when the parameter is absent.
static bool read_choice(const struct api_call *call, const char *name, const char *const *words, int count, int *value)
{
    struct str text = http_query(call->request, name);
    if (!text.p)
        return true;
    for (int i = 0; i < count; i++) {
        if (str_is(text, words[i])) {
            *value = i;
            return true;
        }
    }
    problem_say(call->request, ERR_INVALID_FIELD, name, "%s is %s, %s%s%s.", name, words[0], words[1], count > 2 ? " or " : "",
                count > 2 ? words[2] : "");
    return false;
}

static bool read_dst(const struct api_call *call, struct schedule *schedule)
{
    static const char *const gaps[] = {[CRON_GAP_RUN_AFTER] = "run_after", [CRON_GAP_SKIP] = "skip"};
    static const char *const overlaps[] = {
        [CRON_OVERLAP_FIRST] = "first", [CRON_OVERLAP_LAST] = "last", [CRON_OVERLAP_BOTH] = "both"};
    int gap = CRON_GAP_RUN_AFTER, overlap = CRON_OVERLAP_FIRST;
    if (!read_choice(call, "dst_gap", gaps, array_count(gaps), &gap) ||
        !read_choice(call, "dst_overlap", overlaps, array_count(overlaps), &overlap))
        return false;
    schedule->gap = (enum cron_gap)gap;
    schedule->overlap = (enum cron_overlap)overlap;
    return true;
}

static bool read_excludes(const struct api_call *call, struct schedule *schedule)
{
    struct str rest = http_query(call->request, "exclude");
    if (!rest.n)
        return true;
    struct exclude *excludes = arena_array(http_arena(call->request), struct exclude, EXCLUDES_MAX);
    schedule->excludes = excludes;
    while (rest.n) {
        const char *comma = memchr(rest.p, ',', rest.n);
        struct str one = {rest.p, comma ? (size_t)(comma - rest.p) : rest.n};
        rest = comma ? (struct str){comma + 1, rest.n - one.n - 1} : (struct str){0};
        if (schedule->exclude_count == EXCLUDES_MAX || !exclude_read(one, &excludes[schedule->exclude_count])) {
            problem_say(call->request, ERR_INVALID_FIELD, "exclude",
                        "exclude is a list, with commas, of at most %d: each is " EXCLUDE_WORDS ".", EXCLUDES_MAX);
            return false;
        }
        schedule->exclude_count++;
    }
    return true;
}

// ---- what is shown

static void put_local(struct buf *body, const struct zone *zone, int64_t at_ms)
{
    char text[WHEN_TEXT_SIZE];
    int32_t offset = zone_span_at(zone, at_ms / 1000).offset_s, away = offset < 0 ? -offset : offset;
    when_format(text, at_ms + offset * INT64_C(1000));
    buf_printf(body, "%.19s%c%02d:%02d", text, offset < 0 ? '-' : '+', away / 3600, away / 60 % 60);
}

static void put_instant(struct buf *body, const struct schedule *schedule, int64_t at_ms)
{
    static const char *const notes[] = {
        [SCHEDULE_AFTER_GAP] = "the clocks go forward past its time: it runs right after",
        [SCHEDULE_FIRST_PASS] = "the clocks go back and show this time twice: this is the first",
        [SCHEDULE_LAST_PASS] = "the clocks go back and show this time twice: this is the second",
    };
    char text[WHEN_TEXT_SIZE];
    enum schedule_shift shift = schedule_shift(schedule, at_ms);
    when_format(text, at_ms);
    buf_printf(body, "%s{\"at\":\"%s\",\"local\":\"", body->p[body->n - 1] == '[' ? "" : ",", text);
    put_local(body, schedule->zone, at_ms);
    buf_putc(body, '"');
    if (notes[shift])
        buf_printf(body, ",\"note\":\"%s\"", notes[shift]);
    buf_putc(body, '}');
}

static void put_instants(struct buf *runs, struct buf *excluded, const struct schedule *schedule, int64_t from_ms, int64_t count)
{
    int64_t shown = 0, passed = 0;
    struct schedule_instant next = schedule_next(schedule, from_ms);
    while (count && next.at_ms != TIME_NEVER && passed <= PASSED_MAX) {
        int64_t after = next.at_ms;
        if (!next.excluded) {
            put_instant(runs, schedule, next.at_ms);
            count--;
        } else if (shown++ < EXCLUDED_MAX) {
            put_instant(excluded, schedule, next.at_ms);
        } else {
            after = schedule_day_end(schedule, next.at_ms);
            passed++;
        }
        next = schedule_next(schedule, after);
    }
}

static void describe(const struct schedule *schedule, struct buf *words)
{
    char text[WHEN_TEXT_SIZE];
    if (schedule->every_ms) {
        duration_format(text, schedule->every_ms);
        buf_printf(words, "every %s", text);
    } else {
        cron_describe(&schedule->cron, words);
    }
    if (schedule->jitter_ms) {
        duration_format(text, schedule->jitter_ms);
        buf_printf(words, ", each run put off by up to %s", text);
    }
}

// `words`: what the schedule means.
static void reply_preview(const struct api_call *call, const struct schedule *schedule, struct str words, int64_t from_ms,
                          int64_t count)
{
    struct buf body = {0};
    buf_auto struct buf excluded = {0};
    buf_puts(&body, "{\"description\":");
    json_put_string(&body, words);
    buf_puts(&body, ",\"runs\":[");
    buf_putc(&excluded, '[');
    put_instants(&body, &excluded, schedule, from_ms, count);
    buf_puts(&body, "],\"excluded\":");
    buf_put(&body, buf_str(&excluded));
    buf_puts(&body, "]}");
    reply_json(call->request, 200, &body);
}

// ---- of a task

struct task_preview {
    struct store_get get;
    struct gate_wait wait;
    struct api_call call;
    int64_t from_ms, count;
};

static void reply_task(struct task_preview *preview)
{
    const struct store_task *stored = &preview->get.task;
    struct http_request *request = preview->call.request;
    struct arena *arena = http_arena(request);
    buf_auto struct buf words = {0};
    struct schedule schedule;
    struct problem why = {0};
    struct task task;
    if (!match_read(stored, &task, arena)) {
        problem_store(request, ERR_INTERNAL, "");
        return;
    }
    if (!task_recurs(&task)) {
        problem_say(request, ERR_INVALID_FIELD, "task", "This task runs once: it has neither cron nor every.");
        return;
    }
    if (!zones_schedule(preview->call.api->zones, &task, stored->id, stored->created_at, arena, &schedule, &why)) {
        problem_reply(request, &why);
        return;
    }
    describe(&schedule, &words);
    reply_preview(&preview->call, &schedule, buf_str(&words), preview->from_ms, preview->count);
}

static void answer(struct http_request *request, void *state)
{
    struct task_preview *preview = state;
    enum err err = preview->get.op.err;
    if (err == ERR_NOT_FOUND)
        problem_say(request, err, "task", "There is no such task.");
    else if (err)
        problem_store(request, err, preview->get.op.why);
    else
        reply_task(preview);
    store_op_done(&preview->get.op);
    gate_leave(&preview->call.api->reads, err == ERR_NOT_FOUND ? ERR_OK : err);
}

static void found(struct store_op *op)
{
    http_resume(container_of(op, struct task_preview, get.op)->call.request);
}

static void ask(struct http_request *request, void *state)
{
    struct task_preview *preview = state;
    preview->get.op.err = preview->wait.failed;
    if (preview->wait.failed) {
        answer(request, preview);
        return;
    }
    http_wait(request, answer, preview);
    store_submit(preview->call.api->store, &preview->get.op);
}

// What the task says itself cannot be asked for otherwise beside it.
static bool is_alone(const struct api_call *call)
{
    static const char *const others[] = {"cron", "timezone", "exclude", "dst_gap", "dst_overlap", "name"};
    for (size_t i = 0; i < array_count(others); i++) {
        if (!http_query(call->request, others[i]).p)
            continue;
        problem_say(call->request, ERR_INVALID_FIELD, others[i], "The task says this itself: with task only count and from go.");
        return false;
    }
    return true;
}

static void preview_task(const struct api_call *call, struct str id, int64_t from_ms, int64_t count)
{
    struct task_preview *preview = arena_alloc(http_arena(call->request), sizeof *preview);
    *preview = (struct task_preview){.call = *call, .from_ms = from_ms, .count = count};
    preview->get.tenant = call->tenant;
    if (!is_alone(call))
        return;
    if (!id_parse(id, ID_TASK, &preview->get.task_id) || preview->get.task_id <= 0) {
        problem_say(call->request, ERR_NOT_FOUND, "task", "There is no such task.");
        return;
    }
    store_op_init(&preview->get.op, STORE_GET, found);
    gate_enter(&call->api->reads, READS_MAX, &preview->wait, call->request, ask, preview);
}

// ---- of either

void cron_preview(const struct api_call *call)
{
    struct schedule schedule = {0};
    buf_auto struct buf words = {0};
    struct str task = http_query(call->request, "task");
    int64_t count = RUNS_DEFAULT, from_ms = clock_now().wall_ms;
    if (!params_number(call, "count", 1, RUNS_MAX, &count) || !params_time(call, "from", &from_ms))
        return;
    if (task.p) {
        preview_task(call, task, from_ms, count);
        return;
    }
    if (!read_pattern(call, &schedule) || !read_zone(call, &schedule) || !read_dst(call, &schedule) ||
        !read_excludes(call, &schedule))
        return;
    describe(&schedule, &words);
    reply_preview(call, &schedule, buf_str(&words), from_ms, count);
}

// A new field is a new row: parsing looks a name up in the table, rendering walks down it. What this file does not do: read a
// clock, look at addresses, or keep anything.
#include "core/task/task_fields.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/text/when.h"
#include "core/task/field_type.h"
#include "core/task/recurrence_types.h"
#include "core/task/synonym.h"

#define DAY_MS (24LL * 3600 * 1000)

enum { NOT_GIVEN = -1, LABEL_KEY_MAX = 64, LABEL_VALUE_MAX = 256 };

static enum err take_queue(struct field_reader *reader, const struct field *field, struct json value, void *to)
{
    enum err err = field_type_take_text(reader, field, value, to);
    if (err || !task_name_fits(*(struct str *)to))
        return field_refuse_value(reader, field, "%s must be a name of " TASK_NAME_WORDS ".", field->name.p);
    return ERR_OK;
}

static enum err take_traceparent(struct field_reader *reader, const struct field *field, struct json value, void *to)
{
    struct str text = {0};
    if (value.type == JSON_STRING)
        text = json_text(value, reader->arena);
    if (!task_traceparent_fits(text))
        return field_refuse_value(
            reader, field, "%s must have the W3C form \"00-<32 hex digits>-<16 hex digits>-<2 hex digits>\" in lower case.",
            field->name.p);
    *(struct str *)to = text;
    return ERR_OK;
}

static enum err take_not_after(struct field_reader *reader, const struct field *field, struct json value, void *to)
{
    if (value.type == JSON_STRING &&
        duration_parse(json_text(value, reader->arena), &container_of(to, struct task, not_after_ms)->not_after_in_ms))
        return ERR_OK;
    enum err err = field_type_take_time(reader, field, value, to);
    if (err)
        return field_refuse_value(
            reader, field,
            "%s must be a time with a zone, such as \"2026-11-15T20:22:00Z\", or a duration after the planned "
            "time, such as \"10m\" or \"1h30m\".",
            field->name.p);
    return ERR_OK;
}

static bool put_not_after(const struct field *field, const void *from, struct buf *buf)
{
    const struct task *task = container_of(from, struct task, not_after_ms);
    if (task->not_after_in_ms >= 0)
        field_type_put_duration(task->not_after_in_ms, buf);
    return task->not_after_in_ms >= 0 || field_type_put_time(field, from, buf);
}

static enum err take_labels(struct field_reader *reader, const struct field *field, struct json value, void *to)
{
    struct json key, entry;
    size_t count = 0;
    if (value.type != JSON_OBJECT)
        return field_refuse_value(reader, field, "%s must be an object of strings, such as {\"team\": \"billing\"}.",
                                  field->name.p);
    for (struct json_iter iter = json_iter(value); json_next(&iter, &key, &entry); count++) {
        struct str name = json_text(key, reader->arena);
        if (count == TASK_LABELS_MAX)
            return field_refuse_value(reader, field, "There may be at most %d labels.", TASK_LABELS_MAX);
        if (name.n < 1 || name.n > LABEL_KEY_MAX)
            return field_refuse_entry(reader, field, name, "A label's name must have 1 to %d bytes.", LABEL_KEY_MAX);
        if (entry.type != JSON_STRING || json_text(entry, reader->arena).n > LABEL_VALUE_MAX)
            return field_refuse_entry(reader, field, name, "A label's value must be a string of at most %d bytes.",
                                      LABEL_VALUE_MAX);
    }
    *(struct json *)to = value;
    return ERR_OK;
}

// ---- names that no row has

// Fields that are spoken of and not built yet. They are refused, so that nothing is scheduled otherwise than it was meant.
// clang-format off
static const char *const later_fields[] = {
    "kind", "args", "args_url", "artifact", "argv", "env", "stdin", "after", "on_dependency_failure", "ref", "lease", "concurrency_key", "needs", "on_success", "on_failure", "secret_headers"};
// clang-format on

static bool is_later_field(struct str name)
{
    for (size_t i = 0; i < array_count(later_fields); i++)
        if (str_is(name, later_fields[i]))
            return true;
    return false;
}

// What an answer has beside the fields, and what to give instead.
static const struct {
    const char *name, *instead;
} shown_only[] = {{"id", "."},
                  {"version", "."},
                  {"created_at", "."},
                  {"updated_at", "."},
                  {"outcome", "."},
                  {"runs", "."},
                  {"job", "."},
                  {"state", " (pause, resume and cancel have routes of their own)."},
                  {"scheduled_at", "; did you mean \"at\"?"}};

static enum err refuse_synonym(struct field_reader *reader, const struct fields *fields, struct str name)
{
    const struct synonym *synonym = synonym_find(reader->within, name);
    if (!synonym)
        return ERR_OK;
    if (synonym->words)
        return field_refuse(reader, ERR_UNKNOWN_FIELD, name, "There is no such field in %s. %s", fields->what, synonym->words);
    if (fields == &task_fields && is_later_field(str_of(synonym->ours)))
        return field_refuse(reader, ERR_UNKNOWN_FIELD, name,
                            "There is no such field in %s; it is called \"%s\", which this version of rota does not have yet.",
                            fields->what, synonym->ours);
    const char *inner = strchr(synonym->ours, '.');
    if (inner)
        return field_refuse(reader, ERR_UNKNOWN_FIELD, name,
                            "There is no such field in %s; did you mean \"%s\", which is written {\"%.*s\": {\"%s\": …}}?",
                            fields->what, synonym->ours, (int)(inner - synonym->ours), synonym->ours, inner + 1);
    return field_refuse(reader, ERR_UNKNOWN_FIELD, name, "There is no such field in %s; did you mean \"%s\"?", fields->what,
                        synonym->ours);
}

static enum err refuse_name(struct field_reader *reader, const struct fields *fields, struct str name)
{
    for (size_t i = 0; i < array_count(shown_only); i++)
        if (str_is(name, shown_only[i].name))
            return field_refuse(reader, ERR_UNKNOWN_FIELD, name, "This is what rota says of a task, it cannot be given%s",
                                shown_only[i].instead);
    if (is_later_field(name))
        return field_refuse(reader, ERR_UNKNOWN_FIELD, name, "This version of rota does not have this field yet.");
    return refuse_synonym(reader, fields, name);
}

// ---- retry

static const struct fields retry_fields;

// A limit that was not given follows the delay that was, and the other way round; what is shown can then be given again.
static enum err settle_delays(struct field_reader *reader, struct retry_policy *retry)
{
    const struct retry_policy *usual = &task_defaults.policy.retry;
    if (retry->max_delay_ms == NOT_GIVEN)
        retry->max_delay_ms = time_max(usual->max_delay_ms, retry->delay_ms);
    if (retry->delay_ms == NOT_GIVEN)
        retry->delay_ms = time_min(usual->delay_ms, retry->max_delay_ms);
    if (retry->delay_ms > retry->max_delay_ms)
        return field_refuse(reader, ERR_INVALID_FIELD, STR("max_delay"), "max_delay must not be shorter than delay.");
    return ERR_OK;
}

static enum err take_retry(struct field_reader *reader, const struct field *field, struct json value, void *to)
{
    struct retry_policy *retry = to;
    if (value.type != JSON_OBJECT)
        return field_refuse_value(reader, field, "%s must be an object, such as {\"max\": 3, \"delay\": \"5s\"}.", field->name.p);
    struct field_reader inner = *reader;
    inner.within = "/retry";
    retry->delay_ms = retry->max_delay_ms = NOT_GIVEN;
    enum err err = field_read_all(&inner, &retry_fields, value);
    return err ? err : settle_delays(&inner, retry);
}

// ---- the tables

static const struct field_type field_type_queue = {take_queue, field_type_put_text},
                               field_type_traceparent = {take_traceparent, field_type_put_text},
                               field_type_not_after = {take_not_after, put_not_after},
                               field_type_labels = {take_labels, field_type_put_strings},
                               field_type_retry = {take_retry, .of = &retry_fields};

static const char *const backoffs[] = {"fixed", "exponential", NULL};
static const char *const on_losts[] = {"retry", "bury", NULL};

#define HTTP .form = &target_http_form
#define RECURS .lacks = recurrence_lacks
#define ROW(text, kind, member) FIELD_NAME(text), .type = &field_type_##kind, .offset = offsetof(struct task, member)
#define RECURRENCE(text, kind, member) \
    FIELD_NAME(text), .type = &field_type_##kind, .offset = offsetof(struct recurrence, member), .group = &recurrence_group

static const struct field retry_rows[] = {
    {ROW("max", number, policy.retry.max), .max = 100, .old = true},
    {ROW("delay", duration, policy.retry.delay_ms), .max = DAY_MS, .old = true},
    {ROW("backoff", either, policy.retry.exponential), .any = backoffs, .old = true},
    {ROW("max_delay", duration, policy.retry.max_delay_ms), .max = DAY_MS, .old = true},
    {ROW("jitter", flag, policy.retry.jitter), .old = true},
};

// In the order in which they are shown.
static const struct field task_rows[] = {
    {ROW("url", url, target.http.url), HTTP, .min = 1, .max = TARGET_URL_MAX},
    {ROW("method", word, target.http.method), HTTP, .any = target_http_methods, .old = true},
    {ROW("headers", headers, target.http.headers), HTTP},
    {ROW("body", json, target.http.body), HTTP, .null_counts = true},
    {ROW("at", time, at_ms)},
    {ROW("in", duration, in_ms), .max = TASK_HORIZON_MS},
    {RECURRENCE("cron", text, cron), .max = TASK_CRON_MAX},
    {RECURRENCE("timezone", timezone, timezone), RECURS},
    {RECURRENCE("every", duration, every_ms), .min = 1000, .max = TASK_HORIZON_MS},
    {RECURRENCE("anchor", anchor, anchor_ms), .lacks = recurrence_lacks_every},
    {RECURRENCE("misfire", choice, rules.misfire), RECURS, .any = recurrence_misfires},
    {RECURRENCE("misfire_window", duration, rules.misfire_window_ms), RECURS, .max = TASK_KEPT_MAX_MS, .null_counts = true},
    {RECURRENCE("overlap", choice, rules.overlap), RECURS, .any = recurrence_overlaps},
    {RECURRENCE("max_active", number, rules.max_active), .lacks = recurrence_lacks_max_active, .min = 1, .max = PLAN_ACTIVE_MAX},
    {RECURRENCE("dst_gap", choice, dst_gap), .lacks = recurrence_lacks_cron, .any = recurrence_gaps},
    {RECURRENCE("dst_overlap", choice, dst_overlap), .lacks = recurrence_lacks_cron, .any = recurrence_dst_overlaps},
    {RECURRENCE("exclude", exclude, exclude), RECURS},
    {RECURRENCE("pause_after_failures", limit, pause_after_failures), RECURS, .min = 1, .max = TASK_FAILURES_MAX},
    {RECURRENCE("starts_at", time, starts_at), RECURS},
    {RECURRENCE("ends_at", time, ends_at), RECURS},
    {RECURRENCE("max_runs", limit, rules.max_runs), RECURS, .min = 1, .max = TASK_RUNS_MAX},
    {RECURRENCE("jitter", duration, jitter_ms), RECURS, .max = DAY_MS},
    {ROW("not_after", not_after, not_after_ms)},
    {ROW("retry", retry, policy.retry), .old = true},
    {ROW("timeout", duration, policy.timeout_ms), .min = 10, .max = DAY_MS, .old = true},
    {ROW("success_codes", codes, target.http.success_codes), HTTP, .old = true},
    {ROW("priority", number, priority), .max = JOB_PRIORITIES - 1, .old = true},
    {ROW("queue", queue, queue), .min = 1, .max = TASK_QUEUE_MAX, .old = true},
    {ROW("sla", duration, policy.sla_ms), .min = 1, .max = DAY_MS, .old = true},
    {ROW("key", text, key), .min = 1, .max = TASK_KEY_MAX},
    {ROW("ttl", duration, policy.ttl_ms), .max = TASK_KEPT_MAX_MS, .null_counts = true, .old = true},
    {ROW("on_lost", either, policy.bury_lost), .any = on_losts, .old = true},
    {ROW("lost_max", number, policy.lost_max), .min = 1, .max = 100, .old = true},
    {ROW("name", text, name), .max = TASK_NAME_MAX},
    {ROW("labels", labels, labels)},
    {ROW("tracing_id", text, tracing_id), .max = 256},
    {ROW("created_by", text, created_by), .max = 256},
    {ROW("traceparent", traceparent, traceparent)},
};

_Static_assert(array_count(task_rows) <= FIELD_DEPENDENT_MAX, "any row may need others");

const struct fields task_fields = {.rows = task_rows,
                                   .count = array_count(task_rows),
                                   .what = "a task",
                                   .defaults = &task_defaults,
                                   .part = "target",
                                   .part_offset = offsetof(struct task, target),
                                   .part_size = sizeof(struct target),
                                   .usual_form = &target_http_form,
                                   .refuse_name = refuse_name};

static const struct fields retry_fields = {.rows = retry_rows,
                                           .count = array_count(retry_rows),
                                           .what = "retry",
                                           .defaults = &task_defaults,
                                           .refuse_name = refuse_synonym};

const struct task task_defaults = {
    .in_ms = -1,
    .not_after_in_ms = -1,
    .policy = {.retry = {.max = 3, .delay_ms = 5000, .max_delay_ms = 600000, .exponential = true, .jitter = true},
               .timeout_ms = TASK_TIMEOUT_OF_TARGET,
               .sla_ms = 30000,
               .ttl_ms = 7 * DAY_MS,
               .lost_max = JOB_LOST_MAX},
    .priority = 5,
    .queue = {"default", 7},
};

// The words of a choice stand here in the order of their enum. What this file does not do: compare fields with each other
// (core/task/recurrence).
#include "core/task/recurrence_types.h"

#include "base/text/when.h"
#include "core/schedule/zone_list.h"
#include "core/task/field_type.h"
#include "core/task/task.h"

#include <stdio.h>

enum { NOT_GIVEN = -1 };

// ---- words

_Static_assert(sizeof(enum plan_misfire) == sizeof(unsigned) && sizeof(enum plan_overlap) == sizeof(unsigned) &&
                   sizeof(enum cron_gap) == sizeof(unsigned) && sizeof(enum cron_overlap) == sizeof(unsigned),
               "field_type_choice writes an unsigned");

const char *const recurrence_misfires[] = {
    [PLAN_MISFIRE_ONE] = "one", [PLAN_MISFIRE_SKIP] = "skip", [PLAN_MISFIRE_ALL] = "all", NULL};
const char *const recurrence_overlaps[] = {[PLAN_OVERLAP_ALLOW] = "allow",
                                           [PLAN_OVERLAP_SKIP] = "skip",
                                           [PLAN_OVERLAP_QUEUE] = "queue",
                                           [PLAN_OVERLAP_CANCEL] = "cancel",
                                           NULL};
const char *const recurrence_gaps[] = {[CRON_GAP_RUN_AFTER] = "run_after", [CRON_GAP_SKIP] = "skip", NULL};
const char *const recurrence_dst_overlaps[] = {
    [CRON_OVERLAP_FIRST] = "first", [CRON_OVERLAP_LAST] = "last", [CRON_OVERLAP_BOTH] = "both", NULL};

// ---- which task may have a field

static const struct recurrence defaults = {
    .timezone = {"UTC", 3}, .every_ms = -1, .anchor_ms = -1, .rules = {.misfire_window_ms = -1, .max_active = 1}};

const struct field_group recurrence_group = {
    .pointer = offsetof(struct task, recurs), .size = sizeof(struct recurrence), .defaults = &defaults};

static const struct recurrence *recurrence_of(const void *task)
{
    return ((const struct task *)task)->recurs;
}

const char *recurrence_lacks(const void *task)
{
    return task_recurs(task) ? NULL : "cron or every";
}

const char *recurrence_lacks_cron(const void *task)
{
    return task_recurs(task) && recurrence_of(task)->cron.p ? NULL : "cron";
}

const char *recurrence_lacks_every(const void *task)
{
    return task_recurs(task) && recurrence_of(task)->every_ms > 0 ? NULL : "every";
}

const char *recurrence_lacks_max_active(const void *task)
{
    if (!task_recurs(task))
        return recurrence_lacks(task);
    return recurrence_of(task)->rules.overlap != PLAN_OVERLAP_ALLOW ? NULL : "an overlap of skip, queue or cancel";
}

// ---- types

static enum err take_timezone(struct field_reader *reader, const struct field *field, struct json value, void *to)
{
    struct str name = {0};
    if (value.type == JSON_STRING)
        name = json_text(value, reader->arena);
    if (!zone_list_name_fits(name))
        return field_refuse_value(reader, field, "%s must be the name of a time zone, such as \"Europe/Berlin\" or \"UTC\".",
                                  field->name.p);
    *(struct str *)to = name;
    return ERR_OK;
}

// Of other times 1970 itself counts as a millisecond later, because 0 means that there is none. An anchor is kept exactly: it
// says at which second of a minute jobs are due, and 1970 is a good one.
static enum err take_anchor(struct field_reader *reader, const struct field *field, struct json value, void *to)
{
    int64_t ms;
    enum err err = field_type_take_time(reader, field, value, to);
    if (!err && when_parse(json_text(value, reader->arena), &ms))
        *(int64_t *)to = ms;
    return err;
}

static bool put_anchor(const struct field *field, const void *from, struct buf *buf)
{
    int64_t ms = *(const int64_t *)from;
    char text[WHEN_TEXT_SIZE];
    if (ms == NOT_GIVEN)
        return false;
    when_format(text, ms);
    json_put_string(buf, str_of(text));
    return true;
}

static enum err take_exclude(struct field_reader *reader, const struct field *field, struct json value, void *to)
{
    struct json item;
    struct exclude exclude;
    size_t count = 0;
    if (value.type != JSON_ARRAY)
        return field_refuse_value(reader, field, "%s must be an array. Each entry is " EXCLUDE_WORDS ".", field->name.p);
    for (struct json_iter iter = json_iter(value); json_next_item(&iter, &item); count++) {
        char place[24];
        snprintf(place, sizeof place, "%zu", count);
        if (count == EXCLUDES_MAX)
            return field_refuse_value(reader, field, "%s may have at most %d entries.", field->name.p, EXCLUDES_MAX);
        if (item.type != JSON_STRING || !exclude_read(json_text(item, reader->arena), &exclude))
            return field_refuse_entry(reader, field, str_of(place), "An entry of %s must be " EXCLUDE_WORDS ".", field->name.p);
    }
    *(struct json *)to = value;
    return ERR_OK;
}

// The array without the space between its entries.
static bool put_exclude(const struct field *field, const void *from, struct buf *buf)
{
    const struct json *list = from;
    struct json item;
    char between = '[';
    if (list->type == JSON_ABSENT)
        return false;
    for (struct json_iter iter = json_iter(*list); json_next_item(&iter, &item); between = ',') {
        buf_putc(buf, between);
        buf_put(buf, item.raw);
    }
    buf_puts(buf, between == '[' ? "[]" : "]");
    return true;
}

const struct field_type field_type_timezone = {take_timezone, field_type_put_text}, field_type_anchor = {take_anchor, put_anchor},
                        field_type_exclude = {take_exclude, put_exclude};

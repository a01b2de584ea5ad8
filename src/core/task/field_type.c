// A type does not know which field it is read for: what is allowed stands in the row. Texts and values are kept as slices, so
// none is copied unless it has escapes.
#include "core/task/field_type.h"

#include "base/clock.h"
#include "base/text/when.h"

#include <stdio.h>

enum err field_type_take_text(struct field_reader *reader, const struct field *field, struct json value, void *to)
{
    struct str text = {0};
    if (value.type == JSON_STRING)
        text = json_text(value, reader->arena);
    if (value.type != JSON_STRING || (int64_t)text.n < field->min || (int64_t)text.n > field->max)
        return field_refuse_value(reader, field, "%s must be a string of %d to %d bytes.", field->name.p, (int)field->min,
                                  (int)field->max);
    *(struct str *)to = text;
    return ERR_OK;
}

bool field_type_put_text(const struct field *field, const void *from, struct buf *buf)
{
    const struct str *text = from;
    if (text->p)
        json_put_string(buf, *text);
    return text->p;
}

// "GET, POST or PUT" for the words of a choice.
static void list_words(const char *const *any, char *ret_text, size_t size)
{
    size_t n = 0;
    ret_text[0] = 0;
    for (size_t i = 0; any[i] && n < size; i++)
        n += (size_t)snprintf(ret_text + n, size - n, "%s\"%s\"", i == 0 ? "" : any[i + 1] ? ", " : " or ", any[i]);
}

// Which of the words of a choice is given.
static enum err find_word(struct field_reader *reader, const struct field *field, struct json value, size_t *ret_at)
{
    struct str text = {0};
    if (value.type == JSON_STRING)
        text = json_text(value, reader->arena);
    for (size_t i = 0; value.type == JSON_STRING && field->any[i]; i++)
        if (str_is(text, field->any[i])) {
            *ret_at = i;
            return ERR_OK;
        }
    char words[128];
    list_words(field->any, words, sizeof words);
    return field_refuse_value(reader, field, "%s must be %s.", field->name.p, words);
}

static enum err take_word(struct field_reader *reader, const struct field *field, struct json value, void *to)
{
    size_t at = 0;
    enum err err = find_word(reader, field, value, &at);
    if (!err)
        *(struct str *)to = str_of(field->any[at]);
    return err;
}

static enum err take_either(struct field_reader *reader, const struct field *field, struct json value, void *to)
{
    size_t at = 0;
    enum err err = find_word(reader, field, value, &at);
    if (!err)
        *(bool *)to = at == 1;
    return err;
}

static bool put_either(const struct field *field, const void *from, struct buf *buf)
{
    json_put_string(buf, str_of(field->any[*(const bool *)from]));
    return true;
}

static enum err take_choice(struct field_reader *reader, const struct field *field, struct json value, void *to)
{
    size_t at = 0;
    enum err err = find_word(reader, field, value, &at);
    if (!err)
        *(unsigned *)to = (unsigned)at;
    return err;
}

static bool put_choice(const struct field *field, const void *from, struct buf *buf)
{
    json_put_string(buf, str_of(field->any[*(const unsigned *)from]));
    return true;
}

static enum err take_flag(struct field_reader *reader, const struct field *field, struct json value, void *to)
{
    if (value.type != JSON_TRUE && value.type != JSON_FALSE)
        return field_refuse_value(reader, field, "%s must be true or false.", field->name.p);
    *(bool *)to = value.type == JSON_TRUE;
    return ERR_OK;
}

static bool put_flag(const struct field *field, const void *from, struct buf *buf)
{
    buf_puts(buf, *(const bool *)from ? "true" : "false");
    return true;
}

static enum err take_limit(struct field_reader *reader, const struct field *field, struct json value, void *to)
{
    int64_t number;
    if (!json_int(value, &number) || number < field->min || number > field->max)
        return field_refuse_value(reader, field, "%s must be a whole number from %d to %d.", field->name.p, (int)field->min,
                                  (int)field->max);
    *(int64_t *)to = number;
    return ERR_OK;
}

static bool put_limit(const struct field *field, const void *from, struct buf *buf)
{
    int64_t number = *(const int64_t *)from;
    if (number)
        buf_put_int(buf, number);
    return number;
}

static enum err take_number(struct field_reader *reader, const struct field *field, struct json value, void *to)
{
    int64_t number = 0;
    enum err err = take_limit(reader, field, value, &number);
    if (!err)
        *(int32_t *)to = (int32_t)number;
    return err;
}

static bool put_number(const struct field *field, const void *from, struct buf *buf)
{
    buf_put_int(buf, *(const int32_t *)from);
    return true;
}

static enum err refuse_duration(struct field_reader *reader, const struct field *field)
{
    char least[WHEN_TEXT_SIZE], most[WHEN_TEXT_SIZE];
    duration_format(least, field->min);
    duration_format(most, field->max);
    return field_refuse_value(reader, field,
                              "%s must be a duration from %s to %s, such as %s\"30s\", \"10m\", \"1h30m\", \"7d\" or \"PT10M\".",
                              field->name.p, least, most, field->min < 1000 ? "\"500ms\", " : "");
}

static enum err take_duration(struct field_reader *reader, const struct field *field, struct json value, void *to)
{
    int64_t ms;
    bool number = field->null_counts && json_int(value, &ms) && ms == -1; // which a merge patch can say, and null it cannot
    if (value.type == JSON_NULL || number) {                              // only where null counts: without end
        *(int64_t *)to = -1;
        return ERR_OK;
    }
    if (value.type != JSON_STRING || !duration_parse(json_text(value, reader->arena), &ms) || ms < field->min || ms > field->max)
        return refuse_duration(reader, field);
    *(int64_t *)to = ms;
    return ERR_OK;
}

void field_type_put_duration(int64_t ms, struct buf *buf)
{
    char text[WHEN_TEXT_SIZE];
    duration_format(text, ms);
    json_put_string(buf, str_of(text));
}

static bool put_duration(const struct field *field, const void *from, struct buf *buf)
{
    int64_t ms = *(const int64_t *)from;
    if (ms >= 0)
        field_type_put_duration(ms, buf);
    else if (field->null_counts)
        buf_puts(buf, "null");
    return ms >= 0 || field->null_counts;
}

enum err field_type_take_time(struct field_reader *reader, const struct field *field, struct json value, void *to)
{
    int64_t ms;
    if (value.type != JSON_STRING || !when_parse(json_text(value, reader->arena), &ms))
        return field_refuse_value(reader, field,
                                  "%s must be a date and time that exist, with a zone, such as \"2030-01-31T09:30:00Z\" or "
                                  "\"2030-01-31T09:30:00+02:00\".",
                                  field->name.p);
    *(int64_t *)to = time_max(ms, 1); // 0 means that there is none; both lie in the past
    return ERR_OK;
}

bool field_type_put_time(const struct field *field, const void *from, struct buf *buf)
{
    int64_t ms = *(const int64_t *)from;
    char text[WHEN_TEXT_SIZE];
    if (!ms)
        return false;
    when_format(text, ms);
    json_put_string(buf, str_of(text));
    return true;
}

static enum err take_json(struct field_reader *reader, const struct field *field, struct json value, void *to)
{
    *(struct json *)to = value;
    return ERR_OK;
}

static bool put_json(const struct field *field, const void *from, struct buf *buf)
{
    const struct json *value = from;
    if (value->type != JSON_ABSENT)
        buf_put(buf, value->raw);
    return value->type != JSON_ABSENT;
}

// An object of strings without the space between them. What stands inside the quotes is kept as it came.
bool field_type_put_strings(const struct field *field, const void *from, struct buf *buf)
{
    const struct json *object = from;
    struct json key, value;
    char between = '{';
    if (object->type == JSON_ABSENT)
        return false;
    for (struct json_iter iter = json_iter(*object); json_next(&iter, &key, &value); between = ',') {
        buf_putc(buf, between);
        buf_put(buf, key.raw);
        buf_putc(buf, ':');
        buf_put(buf, value.raw);
    }
    buf_puts(buf, between == '{' ? "{}" : "}");
    return true;
}

_Static_assert(sizeof(int) == sizeof(int32_t), "take_number writes 32 bits");

const struct field_type field_type_text = {field_type_take_text, field_type_put_text},
                        field_type_word = {take_word, field_type_put_text}, field_type_either = {take_either, put_either},
                        field_type_choice = {take_choice, put_choice}, field_type_flag = {take_flag, put_flag},
                        field_type_number = {take_number, put_number}, field_type_limit = {take_limit, put_limit},
                        field_type_duration = {take_duration, put_duration},
                        field_type_time = {field_type_take_time, field_type_put_time}, field_type_json = {take_json, put_json};

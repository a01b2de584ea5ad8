// One table of fields: a row says what a field is called, of which type it is, where it goes and what is allowed. Parsing looks a
// name up in it, rendering walks down it, so what is accepted and what is shown cannot drift apart, and a new field is a new row.
//
// It runs on every submit and again on every claim, so the good way neither allocates nor prints: slices point into the document,
// and words are only made for a refusal. What it does not do: read a clock, look at addresses, or keep anything.
#include "core/task.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/when.h"
#include "core/codes.h"
#include "core/header.h"
#include "core/synonym.h"
#include "core/url.h"

#include <stdio.h>

#define DAY_MS (24LL * 3600 * 1000)
#define HORIZON_MS (3653 * DAY_MS) // 10 years

enum { QUEUE_MAX = 64, CODES_MAX = 64, LABEL_KEY_MAX = 64, LABEL_VALUE_MAX = 256 };

struct parse {
    struct task *task;
    struct arena *arena;
    struct problem *why;
    const char *within; // the pointer of the object that is read: "" or "/retry"
    uint32_t given;     // bit i: row i of the object that is read has a value
};

struct field;

// How one type of field is read and written. take() gets a value that is not null; put() writes the value, or returns false when
// there is none to show. An object of fields has those instead of a put().
struct type {
    enum err (*take)(struct parse *parse, const struct field *field, struct json value, void *to);
    bool (*put)(const struct field *field, const void *from, struct buf *buf);
    const struct fields *of;
};

struct field {
    struct str name;
    const struct type *type;
    size_t offset;          // in struct task
    int64_t min, max;       // of a number, a duration in ms, or a text's length in bytes
    const char *const *any; // the words that are allowed; NULL: not a choice
    bool null_counts;       // null is a value and not the default
    bool old;               // there were keys already that had its default in their digests. Never of a field that is added
};

struct fields {
    const struct field *rows;
    size_t count;
};

static const struct fields task_fields, retry_fields;
static const struct task defaults;

// ---- refusals

__attribute__((format(printf, 4, 5))) static enum err refuse(struct parse *parse, enum err err, struct str name,
                                                             const char *format, ...)
{
    struct problem *why = parse->why;
    va_list args;
    va_start(args, format);
    problem_set_args(why, err, parse->within, format, args);
    va_end(args);
    if (name.n)
        problem_point(why, name);
    return err;
}

#define refuse_value(parse, field, ...) refuse((parse), ERR_INVALID_FIELD, (field)->name, __VA_ARGS__)

// A refusal of one entry of a field that is itself an object: /headers/Host.
#define refuse_entry(parse, field, entry, ...) \
    (refuse((parse), ERR_INVALID_FIELD, (field)->name, __VA_ARGS__), problem_point((parse)->why, (entry)), ERR_INVALID_FIELD)

// ---- plain types

static enum err take_text(struct parse *parse, const struct field *field, struct json value, void *to)
{
    struct str text = {0};
    if (value.type == JSON_STRING)
        text = json_text(value, parse->arena);
    if (value.type != JSON_STRING || (int64_t)text.n < field->min || (int64_t)text.n > field->max)
        return refuse_value(parse, field, "%s must be a string of %d to %d bytes.", field->name.p, (int)field->min,
                            (int)field->max);
    *(struct str *)to = text;
    return ERR_OK;
}

static bool put_text(const struct field *field, const void *from, struct buf *buf)
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

static const char *find_word(struct parse *parse, const struct field *field, struct json value)
{
    struct str text = {0};
    if (value.type == JSON_STRING)
        text = json_text(value, parse->arena);
    for (size_t i = 0; value.type == JSON_STRING && field->any[i]; i++)
        if (str_is(text, field->any[i]))
            return field->any[i];
    char words[128];
    list_words(field->any, words, sizeof words);
    (void)refuse_value(parse, field, "%s must be %s.", field->name.p, words);
    return NULL;
}

// A choice that is kept as its word.
static enum err take_word(struct parse *parse, const struct field *field, struct json value, void *to)
{
    const char *word = find_word(parse, field, value);
    if (!word)
        return ERR_INVALID_FIELD;
    *(struct str *)to = str_of(word);
    return ERR_OK;
}

// A choice of two words that is kept as a bool: the first is false, the second true.
static enum err take_either(struct parse *parse, const struct field *field, struct json value, void *to)
{
    const char *word = find_word(parse, field, value);
    if (!word)
        return ERR_INVALID_FIELD;
    *(bool *)to = word == field->any[1];
    return ERR_OK;
}

static bool put_either(const struct field *field, const void *from, struct buf *buf)
{
    json_put_string(buf, str_of(field->any[*(const bool *)from]));
    return true;
}

static enum err take_flag(struct parse *parse, const struct field *field, struct json value, void *to)
{
    if (value.type != JSON_TRUE && value.type != JSON_FALSE)
        return refuse_value(parse, field, "%s must be true or false.", field->name.p);
    *(bool *)to = value.type == JSON_TRUE;
    return ERR_OK;
}

static bool put_flag(const struct field *field, const void *from, struct buf *buf)
{
    buf_puts(buf, *(const bool *)from ? "true" : "false");
    return true;
}

static enum err take_number(struct parse *parse, const struct field *field, struct json value, void *to)
{
    int64_t number;
    if (!json_int(value, &number) || number < field->min || number > field->max)
        return refuse_value(parse, field, "%s must be a whole number from %d to %d.", field->name.p, (int)field->min,
                            (int)field->max);
    *(int32_t *)to = (int32_t)number;
    return ERR_OK;
}

static bool put_number(const struct field *field, const void *from, struct buf *buf)
{
    buf_put_int(buf, *(const int32_t *)from);
    return true;
}

static enum err refuse_duration(struct parse *parse, const struct field *field)
{
    char least[WHEN_TEXT_SIZE], most[WHEN_TEXT_SIZE];
    duration_format(least, field->min);
    duration_format(most, field->max);
    return refuse_value(
        parse, field, "%s must be a duration from %s to %s, such as \"500ms\", \"30s\", \"10m\", \"1h30m\", \"7d\" or \"PT10M\".",
        field->name.p, least, most);
}

static enum err take_duration(struct parse *parse, const struct field *field, struct json value, void *to)
{
    int64_t ms;
    bool number = field->null_counts && json_int(value, &ms) && ms == -1; // which a merge patch can say, and null it cannot
    if (value.type == JSON_NULL || number) {                              // only where null counts: without end
        *(int64_t *)to = -1;
        return ERR_OK;
    }
    if (value.type != JSON_STRING || !duration_parse(json_text(value, parse->arena), &ms) || ms < field->min || ms > field->max)
        return refuse_duration(parse, field);
    *(int64_t *)to = ms;
    return ERR_OK;
}

static void put_duration_text(int64_t ms, struct buf *buf)
{
    char text[WHEN_TEXT_SIZE];
    duration_format(text, ms);
    json_put_string(buf, str_of(text));
}

static bool put_duration(const struct field *field, const void *from, struct buf *buf)
{
    int64_t ms = *(const int64_t *)from;
    if (ms >= 0)
        put_duration_text(ms, buf);
    else if (field->null_counts)
        buf_puts(buf, "null");
    return ms >= 0 || field->null_counts;
}

static enum err take_time(struct parse *parse, const struct field *field, struct json value, void *to)
{
    int64_t ms;
    if (value.type != JSON_STRING || !when_parse(json_text(value, parse->arena), &ms))
        return refuse_value(parse, field,
                            "%s must be a date and time that exist, with a zone, such as \"2030-01-31T09:30:00Z\" or "
                            "\"2030-01-31T09:30:00+02:00\".",
                            field->name.p);
    *(int64_t *)to = time_max(ms, 1); // 0 means that there is none; both lie in the past
    return ERR_OK;
}

static void put_time_text(int64_t ms, struct buf *buf)
{
    char text[WHEN_TEXT_SIZE];
    when_format(text, ms);
    json_put_string(buf, str_of(text));
}

static bool put_time(const struct field *field, const void *from, struct buf *buf)
{
    int64_t ms = *(const int64_t *)from;
    if (ms)
        put_time_text(ms, buf);
    return ms;
}

// ---- types of one field each

static enum err take_url(struct parse *parse, const struct field *field, struct json value, void *to)
{
    struct url url;
    char words[ERR_WHY_MAX];
    enum err err = take_text(parse, field, value, to);
    if (err)
        return err;
    if (url_parse(*(struct str *)to, &url, words))
        return refuse_value(parse, field, "%s", words);
    return ERR_OK;
}

bool task_name_fits(struct str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!letter && !(c >= '0' && c <= '9') && c != '.' && c != '_' && c != '-')
            return false;
    }
    return name.n >= 1 && name.n <= QUEUE_MAX;
}

static enum err take_queue(struct parse *parse, const struct field *field, struct json value, void *to)
{
    enum err err = take_text(parse, field, value, to);
    if (err || !task_name_fits(*(struct str *)to))
        return refuse_value(parse, field, "%s must be a name of " TASK_NAME_WORDS ".", field->name.p);
    return ERR_OK;
}

static bool is_lower_hex(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (!((text.p[i] >= '0' && text.p[i] <= '9') || (text.p[i] >= 'a' && text.p[i] <= 'f')))
            return false;
    return true;
}

static bool is_zeros(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] != '0')
            return false;
    return true;
}

// version-trace-parent-flags, in lower-case hexadecimal; neither id may be zero, and version ff is none.
bool task_traceparent_fits(struct str text)
{
    if (text.n != 55 || text.p[2] != '-' || text.p[35] != '-' || text.p[52] != '-')
        return false;
    struct str version = {text.p, 2}, trace = {text.p + 3, 32}, parent = {text.p + 36, 16}, flags = {text.p + 53, 2};
    return is_lower_hex(version) && is_lower_hex(trace) && is_lower_hex(parent) && is_lower_hex(flags) &&
           !str_eq(version, STR("ff")) && !is_zeros(trace) && !is_zeros(parent);
}

static enum err take_traceparent(struct parse *parse, const struct field *field, struct json value, void *to)
{
    struct str text = {0};
    if (value.type == JSON_STRING)
        text = json_text(value, parse->arena);
    if (!task_traceparent_fits(text))
        return refuse_value(parse, field,
                            "%s must have the W3C form \"00-<32 hex digits>-<16 hex digits>-<2 hex digits>\" in lower case.",
                            field->name.p);
    *(struct str *)to = text;
    return ERR_OK;
}

static enum err take_not_after(struct parse *parse, const struct field *field, struct json value, void *to)
{
    if (value.type == JSON_STRING && duration_parse(json_text(value, parse->arena), &parse->task->not_after_in_ms))
        return ERR_OK;
    enum err err = take_time(parse, field, value, to);
    if (err)
        return refuse_value(parse, field,
                            "%s must be a time with a zone, such as \"2026-11-15T20:22:00Z\", or a duration after the planned "
                            "time, such as \"10m\" or \"1h30m\".",
                            field->name.p);
    return ERR_OK;
}

static bool put_not_after(const struct field *field, const void *from, struct buf *buf)
{
    const struct task *task = container_of(from, struct task, not_after_ms);
    if (task->not_after_in_ms >= 0)
        put_duration_text(task->not_after_in_ms, buf);
    return task->not_after_in_ms >= 0 || put_time(field, from, buf);
}

static enum err take_body(struct parse *parse, const struct field *field, struct json value, void *to)
{
    *(struct json *)to = value;
    return ERR_OK;
}

static bool put_raw(const struct field *field, const void *from, struct buf *buf)
{
    const struct json *value = from;
    if (value->type != JSON_ABSENT)
        buf_put(buf, value->raw);
    return value->type != JSON_ABSENT;
}

// An object of strings without the space between them. What stands inside the quotes is kept as it came.
static bool put_strings(const struct field *field, const void *from, struct buf *buf)
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

// ---- headers

static bool is_among(struct str name, const struct str *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (str_eq_nocase(names[i], name))
            return true;
    return false;
}

static enum err check_header(struct parse *parse, const struct field *field, struct str name, struct json value, size_t *bytes)
{
    const char *wrong = header_name_wrong(name);
    if (!wrong && value.type != JSON_STRING)
        wrong = "A header's value must be a string.";
    if (wrong)
        return refuse_entry(parse, field, name, "%s", wrong);
    struct str text = json_text(value, parse->arena);
    wrong = header_value_wrong(text);
    if (wrong)
        return refuse_entry(parse, field, name, "%s", wrong);
    *bytes += name.n + text.n;
    if (*bytes > TASK_HEADERS_BYTES)
        return refuse_value(parse, field, "The names and values of all headers must have at most %d bytes.", TASK_HEADERS_BYTES);
    return ERR_OK;
}

static enum err take_headers(struct parse *parse, const struct field *field, struct json value, void *to)
{
    struct json key, entry;
    struct str names[TASK_HEADERS_MAX];
    size_t count = 0, bytes = 0;
    if (value.type != JSON_OBJECT)
        return refuse_value(parse, field, "%s must be an object of strings, such as {\"Authorization\": \"Bearer …\"}.",
                            field->name.p);
    for (struct json_iter iter = json_iter(value); json_next(&iter, &key, &entry); count++) {
        if (count == TASK_HEADERS_MAX)
            return refuse_value(parse, field, "There may be at most %d headers.", TASK_HEADERS_MAX);
        struct str name = json_text(key, parse->arena);
        enum err err = check_header(parse, field, name, entry, &bytes);
        if (err)
            return err;
        if (is_among(name, names, count))
            return refuse_entry(parse, field, name,
                                "This header is given twice: upper and lower case make no difference in its name.");
        names[count] = name;
    }
    *(struct json *)to = value;
    return ERR_OK;
}

static enum err take_labels(struct parse *parse, const struct field *field, struct json value, void *to)
{
    struct json key, entry;
    size_t count = 0;
    if (value.type != JSON_OBJECT)
        return refuse_value(parse, field, "%s must be an object of strings, such as {\"team\": \"billing\"}.", field->name.p);
    for (struct json_iter iter = json_iter(value); json_next(&iter, &key, &entry); count++) {
        struct str name = json_text(key, parse->arena);
        if (count == TASK_LABELS_MAX)
            return refuse_value(parse, field, "There may be at most %d labels.", TASK_LABELS_MAX);
        if (name.n < 1 || name.n > LABEL_KEY_MAX)
            return refuse_entry(parse, field, name, "A label's name must have 1 to %d bytes.", LABEL_KEY_MAX);
        if (entry.type != JSON_STRING || json_text(entry, parse->arena).n > LABEL_VALUE_MAX)
            return refuse_entry(parse, field, name, "A label's value must be a string of at most %d bytes.", LABEL_VALUE_MAX);
    }
    *(struct json *)to = value;
    return ERR_OK;
}

// ---- success codes: a set of bits, written as whole classes where they are whole

// 204, "204" or "2xx".
static bool read_code(struct parse *parse, struct json value, int64_t *ret_from, int *ret_count)
{
    *ret_count = 1;
    if (value.type == JSON_STRING) {
        struct str text = json_text(value, parse->arena);
        bool class = text.n == 3 && text.p[1] == 'x' && text.p[2] == 'x';
        *ret_from = 0;
        for (size_t i = 0; i < text.n && text.n == 3 && !(class && i > 0); i++) {
            if (text.p[i] < '0' || text.p[i] > '9')
                return false;
            *ret_from = *ret_from * 10 + (text.p[i] - '0');
        }
        if (class) {
            *ret_from *= CODE_CLASS;
            *ret_count = CODE_CLASS;
        }
    } else if (!json_int(value, ret_from)) {
        return false;
    }
    return *ret_from >= CODE_MIN && *ret_from <= CODE_MAX;
}

static enum err take_codes(struct parse *parse, const struct field *field, struct json value, void *to)
{
    uint64_t codes[8] = {0};
    struct json item;
    int64_t from;
    int count, items = 0;
    bool good = value.type == JSON_ARRAY;
    for (struct json_iter iter = json_iter(value); good && json_next_item(&iter, &item); items++) {
        good = items < CODES_MAX && read_code(parse, item, &from, &count);
        if (good)
            codes_add(codes, (int)from, count);
    }
    if (!good || !items)
        return refuse_value(parse, field,
                            "%s must be an array of 1 to %d codes from %d to %d or classes, such as [\"2xx\", 304].",
                            field->name.p, CODES_MAX, CODE_MIN, CODE_MAX);
    memcpy(to, codes, sizeof codes);
    return ERR_OK;
}

static bool put_codes(const struct field *field, const void *from, struct buf *buf)
{
    const uint64_t *codes = from;
    char between = '[';
    for (int code = codes_next(codes, CODE_MIN), count; code <= CODE_MAX; code = codes_next(codes, code + count)) {
        count = code % CODE_CLASS == 0 && codes_have(codes, code, CODE_CLASS) ? CODE_CLASS : 1;
        buf_putc(buf, between);
        between = ',';
        if (count == 1) {
            buf_put_int(buf, code);
        } else {
            char class[] = {'"', (char)('0' + code / CODE_CLASS), 'x', 'x', '"'};
            buf_put(buf, (struct str){class, sizeof class});
        }
    }
    buf_putc(buf, ']');
    return true;
}

// ---- objects of fields

// The field that was probably meant.
static const struct field *guess_field(struct fields fields, struct str name)
{
    const struct field *best = NULL;
    size_t least = STR_FAR;
    for (size_t i = 0; i < fields.count; i++)
        if (str_nearer(name, fields.rows[i].name, &least))
            best = &fields.rows[i];
    return best;
}

// Fields that are spoken of and not built yet. They are refused, so that nothing is scheduled otherwise than it was meant.
// clang-format off
static const char *const later_fields[] = {
    "kind", "args", "args_url", "artifact", "argv", "env", "stdin", "cron", "timezone", "every", "anchor", "misfire", "misfire_window", "overlap",
    "max_active", "dst_gap", "dst_overlap", "exclude", "pause_after_failures", "starts_at", "ends_at", "max_runs", "jitter", "after",
    "on_dependency_failure", "ref", "lease", "concurrency_key", "needs", "on_success", "on_failure", "secret_headers"};
// clang-format on

static bool is_later_field(struct parse *parse, struct str name)
{
    for (size_t i = 0; !parse->within[0] && i < array_count(later_fields); i++)
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

static enum err refuse_shown(struct parse *parse, struct str name)
{
    for (size_t i = 0; !parse->within[0] && i < array_count(shown_only); i++)
        if (str_is(name, shown_only[i].name))
            return refuse(parse, ERR_UNKNOWN_FIELD, name, "This is what rota says of a task, it cannot be given%s",
                          shown_only[i].instead);
    return ERR_OK;
}

static enum err refuse_synonym(struct parse *parse, struct str name, const struct synonym *synonym)
{
    const char *of = parse->within[0] ? parse->within + 1 : "a task";
    if (synonym->words)
        return refuse(parse, ERR_UNKNOWN_FIELD, name, "There is no such field in %s. %s", of, synonym->words);
    if (is_later_field(parse, str_of(synonym->ours)))
        return refuse(parse, ERR_UNKNOWN_FIELD, name,
                      "There is no such field in %s; it is called \"%s\", which this version of rota does not have yet.", of,
                      synonym->ours);
    const char *inner = strchr(synonym->ours, '.');
    if (inner)
        return refuse(parse, ERR_UNKNOWN_FIELD, name,
                      "There is no such field in %s; did you mean \"%s\", which is written {\"%.*s\": {\"%s\": …}}?", of,
                      synonym->ours, (int)(inner - synonym->ours), synonym->ours, inner + 1);
    return refuse(parse, ERR_UNKNOWN_FIELD, name, "There is no such field in %s; did you mean \"%s\"?", of, synonym->ours);
}

static enum err refuse_unknown(struct parse *parse, struct fields fields, struct str name)
{
    enum err err = refuse_shown(parse, name);
    if (err)
        return err;
    if (is_later_field(parse, name))
        return refuse(parse, ERR_UNKNOWN_FIELD, name, "This version of rota does not have this field yet.");
    const struct synonym *synonym = synonym_find(parse->within, name);
    if (synonym)
        return refuse_synonym(parse, name, synonym);
    const struct field *meant = guess_field(fields, name);
    const char *of = parse->within[0] ? parse->within + 1 : "a task";
    if (meant)
        return refuse(parse, ERR_UNKNOWN_FIELD, name, "There is no such field in %s; did you mean \"%s\"?", of, meant->name.p);
    return refuse(parse, ERR_UNKNOWN_FIELD, name, "There is no such field in %s.", of);
}

static const struct field *find_field(struct fields fields, struct str name)
{
    for (size_t i = 0; i < fields.count; i++)
        if (fields.rows[i].name.n == name.n && memcmp(fields.rows[i].name.p, name.p, name.n) == 0)
            return fields.rows + i;
    return NULL;
}

static enum err take_fields(struct parse *parse, struct fields fields, struct json object)
{
    struct json key, value;
    for (struct json_iter iter = json_iter(object); json_next(&iter, &key, &value);) {
        struct str name = json_text(key, parse->arena);
        const struct field *field = find_field(fields, name);
        if (!field)
            return name.n ? refuse_unknown(parse, fields, name)
                          : refuse(parse, ERR_UNKNOWN_FIELD, name, "A field's name must not be empty.");
        if (value.type == JSON_NULL && !field->null_counts)
            continue;
        enum err err = field->type->take(parse, field, value, (char *)parse->task + field->offset);
        if (err)
            return err;
        parse->given |= 1u << (field - fields.rows);
    }
    return ERR_OK;
}

// To show a task, or to compare it with the one that another submit under its key has made.
enum reader { FOR_PEOPLE, FOR_KEYS };

static void put_fields(const struct task *task, struct fields fields, enum reader reader, struct buf *buf);

static inline bool put_value(const struct field *field, const struct task *task, enum reader reader, struct buf *buf)
{
    if (!field->type->of)
        return field->type->put(field, (const char *)task + field->offset, buf);
    buf_putc(buf, '{');
    put_fields(task, *field->type->of, reader, buf);
    buf_putc(buf, '}');
    return true;
}

static bool has_default(const struct field *field, const struct task *task)
{
    buf_auto struct buf value = {0}, by_default = {0};
    if (!put_value(field, &defaults, FOR_KEYS, &by_default)) // none to show: what is there was given
        return false;
    put_value(field, task, FOR_KEYS, &value);
    return str_eq(buf_str(&value), buf_str(&by_default));
}

// A field that a release adds is in a key's digest only when it is given: or the keys of yesterday would be those of other tasks.
static void put_fields(const struct task *task, struct fields fields, enum reader reader, struct buf *buf)
{
    bool first = true;
    for (size_t i = 0; i < fields.count; i++) {
        const struct field *field = &fields.rows[i];
        size_t before = buf->n;
        if (reader == FOR_KEYS && !field->old && has_default(field, task))
            continue;
        if (!first)
            buf_putc(buf, ',');
        buf_putc(buf, '"');
        buf_put(buf, field->name);
        buf_puts(buf, "\":");
        if (put_value(field, task, reader, buf))
            first = false;
        else
            buf->n = before;
    }
}

static bool is_given(const struct parse *parse, struct fields fields, struct str name)
{
    return parse->given >> (find_field(fields, name) - fields.rows) & 1;
}

// A limit that was not given follows the delay that was, and the other way round; what is shown can then be given again.
static enum err settle_delays(struct parse *parse, struct retry_policy *retry)
{
    if (retry->delay_ms <= retry->max_delay_ms)
        return ERR_OK;
    if (!is_given(parse, retry_fields, STR("max_delay")))
        retry->max_delay_ms = retry->delay_ms;
    else if (!is_given(parse, retry_fields, STR("delay")))
        retry->delay_ms = retry->max_delay_ms;
    else
        return refuse(parse, ERR_INVALID_FIELD, STR("max_delay"), "max_delay must not be shorter than delay.");
    return ERR_OK;
}

static enum err take_retry(struct parse *parse, const struct field *field, struct json value, void *to)
{
    if (value.type != JSON_OBJECT)
        return refuse_value(parse, field, "%s must be an object, such as {\"max\": 3, \"delay\": \"5s\"}.", field->name.p);
    struct parse inner = {.task = parse->task, .arena = parse->arena, .why = parse->why, .within = "/retry"};
    enum err err = take_fields(&inner, retry_fields, value);
    return err ? err : settle_delays(&inner, to);
}

// ---- the tables

static const struct type type_text = {take_text, put_text}, type_word = {take_word, put_text},
                         type_either = {take_either, put_either}, type_flag = {take_flag, put_flag},
                         type_number = {take_number, put_number}, type_duration = {take_duration, put_duration},
                         type_time = {take_time, put_time}, type_url = {take_url, put_text}, type_queue = {take_queue, put_text},
                         type_traceparent = {take_traceparent, put_text}, type_not_after = {take_not_after, put_not_after},
                         type_body = {take_body, put_raw}, type_headers = {take_headers, put_strings},
                         type_labels = {take_labels, put_strings}, type_codes = {take_codes, put_codes},
                         type_retry = {take_retry, .of = &retry_fields};

static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE", NULL};
static const char *const backoffs[] = {"fixed", "exponential", NULL};
static const char *const on_losts[] = {"retry", "bury", NULL};

#define ROW(text, kind, member) .name = {text, sizeof(text) - 1}, .type = &type_##kind, .offset = offsetof(struct task, member)

static const struct field retry_rows[] = {
    {ROW("max", number, policy.retry.max), .max = 100, .old = true},
    {ROW("delay", duration, policy.retry.delay_ms), .max = DAY_MS, .old = true},
    {ROW("backoff", either, policy.retry.exponential), .any = backoffs, .old = true},
    {ROW("max_delay", duration, policy.retry.max_delay_ms), .max = DAY_MS, .old = true},
    {ROW("jitter", flag, policy.retry.jitter), .old = true},
};

// In the order in which they are shown.
static const struct field task_rows[] = {
    {ROW("url", url, url), .min = 1, .max = TASK_URL_MAX},
    {ROW("method", word, method), .any = methods, .old = true},
    {ROW("headers", headers, headers)},
    {ROW("body", body, body), .null_counts = true},
    {ROW("at", time, at_ms)},
    {ROW("in", duration, in_ms), .max = HORIZON_MS},
    {ROW("not_after", not_after, not_after_ms)},
    {ROW("retry", retry, policy.retry), .old = true},
    {ROW("timeout", duration, policy.timeout_ms), .min = 10, .max = DAY_MS, .old = true},
    {ROW("success_codes", codes, success_codes), .old = true},
    {ROW("priority", number, priority), .max = JOB_PRIORITIES - 1, .old = true},
    {ROW("queue", queue, queue), .min = 1, .max = QUEUE_MAX, .old = true},
    {ROW("sla", duration, policy.sla_ms), .min = 1, .max = DAY_MS, .old = true},
    {ROW("key", text, key), .min = 1, .max = TASK_KEY_MAX},
    {ROW("ttl", duration, policy.ttl_ms), .max = 36525 * DAY_MS, .null_counts = true, .old = true},
    {ROW("on_lost", either, policy.bury_lost), .any = on_losts, .old = true},
    {ROW("lost_max", number, policy.lost_max), .min = 1, .max = 100, .old = true},
    {ROW("name", text, name), .max = TASK_NAME_MAX},
    {ROW("labels", labels, labels)},
    {ROW("tracing_id", text, tracing_id), .max = 256},
    {ROW("created_by", text, created_by), .max = 256},
    {ROW("traceparent", traceparent, traceparent)},
};
_Static_assert(array_count(task_rows) <= 32, "struct parse counts what is given in 32 bits");
_Static_assert(sizeof(int) == sizeof(int32_t), "take_number writes 32 bits");

static const struct fields task_fields = {task_rows, array_count(task_rows)};
static const struct fields retry_fields = {retry_rows, array_count(retry_rows)};

static const struct task defaults = {
    .method = {"POST", 4},
    .in_ms = -1,
    .not_after_in_ms = -1,
    .success_codes = {[1] = ~0ull << 36, [2] = ~0ull, [3] = (1ull << 8) - 1}, // 200 to 299
    .policy = {.retry = {.max = 3, .delay_ms = 5000, .max_delay_ms = 600000, .exponential = true, .jitter = true},
               .timeout_ms = 30000,
               .sla_ms = 30000,
               .ttl_ms = 7 * DAY_MS,
               .lost_max = JOB_LOST_MAX},
    .priority = 5,
    .queue = {"default", 7},
};

// ---- the whole

enum err task_parse(struct task *ret_task, struct json doc, struct arena *arena, struct problem *why)
{
    struct task task = defaults;
    struct parse parse = {.task = &task, .arena = arena, .why = why, .within = ""};
    if (doc.type != JSON_OBJECT)
        return refuse(&parse, ERR_INVALID_FIELD, STR(""),
                      "A task must be a JSON object, such as {\"url\": \"https://hooks.example/ring\"}.");
    enum err err = take_fields(&parse, task_fields, doc);
    if (err)
        return err;
    if (!task.url.p)
        return refuse(&parse, ERR_MISSING_FIELD, STR("url"), "A task needs a target: url, the http or https address to call.");
    if (task.at_ms && task.in_ms >= 0)
        return refuse(&parse, ERR_INVALID_FIELD, STR("in"), "At most one of at and in may be given.");
    *ret_task = task;
    return ERR_OK;
}

bool task_read(struct task *ret_task, struct str doc, struct arena *arena, char why[ERR_WHY_MAX])
{
    struct json value;
    struct problem problem;
    *ret_task = (struct task){.policy = defaults.policy};
    if (json_check_again(doc, &value, why))
        return false;
    if (!task_parse(ret_task, value, arena, &problem))
        return true;
    int n = snprintf(why, ERR_WHY_MAX, "%s%s", problem.field, problem.field[0] ? ": " : "");
    snprintf(why + n, ERR_WHY_MAX - (size_t)n, "%s", problem.detail);
    return false;
}

bool task_success(const struct task *task, int status)
{
    return status >= CODE_MIN && status <= CODE_MAX && codes_have(task->success_codes, status, 1);
}

enum err task_plan(const struct task *task, int64_t now_ms, int64_t *ret_scheduled_at, int64_t *ret_expires_at,
                   struct problem *why)
{
    struct parse parse = {.why = why, .within = ""};
    int64_t planned = task->in_ms >= 0 ? now_ms + task->in_ms : time_max(task->at_ms, now_ms);
    if (planned - now_ms > HORIZON_MS)
        return refuse(&parse, ERR_INVALID_FIELD, task->in_ms >= 0 ? STR("in") : STR("at"),
                      "A task may be planned at most 10 years ahead.");
    int64_t expires = task->not_after_in_ms >= 0 ? planned + task->not_after_in_ms : task->not_after_ms;
    if (expires && expires < planned)
        return refuse(&parse, ERR_INVALID_FIELD, STR("not_after"),
                      "not_after lies before the planned time (or has passed): the task could never run.");
    *ret_scheduled_at = planned;
    *ret_expires_at = expires;
    return ERR_OK;
}

void task_render(const struct task *task, struct buf *buf)
{
    put_fields(task, task_fields, FOR_PEOPLE, buf);
}

void task_render_for_key(const struct task *task, struct buf *buf)
{
    put_fields(task, task_fields, FOR_KEYS, buf);
}

struct job_policy task_policy(struct str doc, struct arena *arena)
{
    struct task task;
    char why[ERR_WHY_MAX];
    task_read(&task, doc, arena, why);
    return task.policy;
}

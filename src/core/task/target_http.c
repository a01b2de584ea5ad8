// The fields of an HTTP target are checked when a task is submitted, and again whenever its document is read. What this file does
// not do: look at addresses, or make a request (exec/exec_http).
#include "core/task/target_http.h"

#include "base/mem.h"
#include "core/header.h"
#include "core/task/field_type.h"
#include "core/task/target.h"
#include "core/url.h"

enum { CODES_MAX = 64 };

const char *const target_http_methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE", NULL};

static const struct target defaults = {
    .kind = TARGET_HTTP,
    .http = {.method = {"POST", 4}, .success_codes = {[1] = ~0ull << 36, [2] = ~0ull, [3] = (1ull << 8) - 1}}, // 200 to 299
};

const struct field_form target_http_form = {
    .name = "an http target",
    .key = {"url", 3},
    .key_offset = offsetof(struct target, http.url),
    .key_missing = "A task needs a target: url, the http or https address to call.",
    .defaults = &defaults,
};

bool target_http_success(const struct target_http *http, int status)
{
    return status >= CODE_MIN && status <= CODE_MAX && codes_have(http->success_codes, status, 1);
}

bool target_http_host(const struct target *target, struct target_host *ret_host)
{
    struct url url;
    char why[ERR_WHY_MAX];
    if (url_parse(target->http.url, &url, why))
        return false;
    *ret_host = (struct target_host){url.host, url.port};
    return true;
}

// ---- url

static enum err take_url(struct field_reader *reader, const struct field *field, struct json value, void *to)
{
    struct url url;
    char words[ERR_WHY_MAX];
    enum err err = field_type_take_text(reader, field, value, to);
    if (err)
        return err;
    if (url_parse(*(struct str *)to, &url, words))
        return field_refuse_value(reader, field, "%s", words);
    return ERR_OK;
}

// ---- headers

static bool is_among(struct str name, const struct str *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (str_eq_nocase(names[i], name))
            return true;
    return false;
}

static enum err check_header(struct field_reader *reader, const struct field *field, struct str name, struct json value,
                             size_t *bytes)
{
    const char *wrong = header_name_wrong(name);
    if (!wrong && value.type != JSON_STRING)
        wrong = "A header's value must be a string.";
    if (wrong)
        return field_refuse_entry(reader, field, name, "%s", wrong);
    struct str text = json_text(value, reader->arena);
    wrong = header_value_wrong(text);
    if (wrong)
        return field_refuse_entry(reader, field, name, "%s", wrong);
    *bytes += name.n + text.n;
    if (*bytes > TARGET_HEADERS_BYTES)
        return field_refuse_value(reader, field, "The names and values of all headers must have at most %d bytes.",
                                  TARGET_HEADERS_BYTES);
    return ERR_OK;
}

static enum err take_headers(struct field_reader *reader, const struct field *field, struct json value, void *to)
{
    struct json key, entry;
    struct str names[TARGET_HEADERS_MAX];
    size_t count = 0, bytes = 0;
    if (value.type != JSON_OBJECT)
        return field_refuse_value(reader, field, "%s must be an object of strings, such as {\"Authorization\": \"Bearer …\"}.",
                                  field->name.p);
    for (struct json_iter iter = json_iter(value); json_next(&iter, &key, &entry); count++) {
        if (count == TARGET_HEADERS_MAX)
            return field_refuse_value(reader, field, "There may be at most %d headers.", TARGET_HEADERS_MAX);
        struct str name = json_text(key, reader->arena);
        enum err err = check_header(reader, field, name, entry, &bytes);
        if (err)
            return err;
        if (is_among(name, names, count))
            return field_refuse_entry(reader, field, name,
                                      "This header is given twice: upper and lower case make no difference in its name.");
        names[count] = name;
    }
    *(struct json *)to = value;
    return ERR_OK;
}

// ---- success codes: a set of bits, written as whole classes where they are whole

// 204, "204" or "2xx".
static bool read_code(struct field_reader *reader, struct json value, int64_t *ret_from, int *ret_count)
{
    *ret_count = 1;
    if (value.type == JSON_STRING) {
        struct str text = json_text(value, reader->arena);
        bool class = text.n == 3 && text.p[1] == 'x' && text.p[2] == 'x';
        *ret_from = 0;
        for (size_t i = 0; i < text.n && text.n == 3 && !(class && i > 0); i++) {
            if (!str_is_digit(text.p[i]))
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

static enum err take_codes(struct field_reader *reader, const struct field *field, struct json value, void *to)
{
    uint64_t codes[8] = {0};
    struct json item;
    int64_t from;
    int count, items = 0;
    bool good = value.type == JSON_ARRAY;
    for (struct json_iter iter = json_iter(value); good && json_next_item(&iter, &item); items++) {
        good = items < CODES_MAX && read_code(reader, item, &from, &count);
        if (good)
            codes_add(codes, (int)from, count);
    }
    if (!good || !items)
        return field_refuse_value(reader, field,
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

const struct field_type field_type_url = {take_url, field_type_put_text},
                        field_type_headers = {take_headers, field_type_put_strings}, field_type_codes = {take_codes, put_codes};

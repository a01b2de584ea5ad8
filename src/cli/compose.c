// See compose.h. A row says which option becomes which member, and how its value is written. The rows of one inner object stand
// together.
//
// A body that is JSON is put into the document as it came, and rota then calls with Content-Type: application/json. In a patch
// that would be merged into the body before it, and as a string or null it would mean something else: then it is sent as a text,
// with the header beside it.
#include "cli/compose.h"

#include "base/mem.h"
#include "base/text/json.h"
#include "cli/show/terminal.h"
#include "cli/show/text.h"
#include "cli/show/times.h"
#include "cli/whole_file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { BODY_MAX = 1 << 20 };

struct making {
    struct compose *compose;
    struct buf *json;
    const struct options *options;
    struct buf body; // of --body or --json
    bool json_as_text;
    char *why;
};

struct field {
    const char *option, *member;
    bool (*put)(struct making *making, const struct field *field, const char *value);
    const char *within; // the inner object it belongs to, or NULL
};

const struct option verb_field_options[] = {
    {"method", 0, "M", "GET, POST, PUT, PATCH or DELETE (POST)", .choices = "GET POST PUT PATCH DELETE"},
    {"header", 0, "'K: V'", "a header of the call", true},
    {"body", 0, "TEXT|@FILE", "what to send: this text, or a file's (@- is stdin)"},
    {"json", 0, "JSON|@FILE", "what to send, as application/json: this JSON, or a file's (@- is stdin)"},
    {"at", 0, "TIME", "when: 16:00 (the next one), '2030-01-31 9:00' on this machine's clock, or 2030-01-31T09:00:00Z (now)"},
    {"in", 0, "DURATION", "when, from now: 500ms 30s 10m 1h30m 7d"},
    {"cron", 0, "PATTERN", "when, again and again: '30 2 * * *' is every night at 2:30; rota cron preview shows the times"},
    {"timezone", 0, "ZONE", "whose clock the pattern and the excluded days follow: Europe/Berlin (UTC)"},
    {"every", 0, "DURATION", "when, again and again: so far apart, 1s or more"},
    {"anchor", 0, "TIME", "what --every counts from, as of --at (when the task is made)"},
    {"misfire", 0, "WHAT", "which of the times that were missed still run: the latest (one), none (skip) or all of them (one)",
     .choices = "one skip all"},
    {"misfire-window", 0, "DURATION", "times that were missed by more than this are skipped (none is too old)"},
    {"overlap", 0, "WHAT", "while its jobs still run: allow one more, skip it, queue it, or cancel the oldest of them (allow)",
     .choices = "allow skip queue cancel"},
    {"max-active", 0, "N", "how many of its jobs run at once, 1 to 100, unless --overlap is allow (1)"},
    {"dst-gap", 0, "WHAT", "a time that the clocks skip: run right after, or skip it (run_after)", .choices = "run_after skip"},
    {"dst-overlap", 0, "WHAT", "a time that the clocks show twice: run at the first, the last or both (first)",
     .choices = "first last both"},
    {"exclude", 0, "DAYS", "days without runs: 2026-12-25, 12-25 or 2026-07-01/2026-07-14", true},
    {"pause-after-failures", 0, "N", "pause a recurring task when so many of its jobs in a row have failed"},
    {"starts-at", 0, "TIME", "no run of a recurring task before this, as of --at"},
    {"ends-at", 0, "TIME", "no run of a recurring task after this, as of --at"},
    {"max-runs", 0, "N", "end a recurring task after so many of its times"},
    {"jitter", 0, "DURATION", "put each run of a recurring task off by up to this much, always by the same time (0s)"},
    {"not-after", 0, "TIME|DURATION", "cancel it when it has not begun by then: a time as of --at, or so long after its time"},
    {"retry", 0, "N", "how often to try again after a failure, 0 to 100 (3)"},
    {"retry-delay", 0, "DURATION", "how long to wait before the first retry (5s)"},
    {"backoff", 0, "KIND", "fixed waits, or exponential: twice as long each time (exponential)", .choices = "fixed exponential"},
    {"retry-max-delay", 0, "DURATION", "no wait is longer than this (10m)"},
    {"retry-jitter", 0, "true|false", "take a random part off each wait (true)", .choices = "true false"},
    {"timeout", 0, "DURATION", "how long one try may take (30s)"},
    {"success-codes", 0, "LIST", "answers that are a success: 2xx,304 (2xx)"},
    {"priority", 0, "N", "0 to 9, 9 goes first (5)"},
    {"queue", 0, "NAME", "which queue it waits in (default)"},
    {"sla", 0, "DURATION", "it counts as late when it begins later than so long after its time (30s)"},
    {"ttl", 0, "DURATION|never", "how long it is kept after its end (7d)"},
    {"on-lost", 0, "WHAT", "when the server dies during a call: retry or bury it (retry)", .choices = "retry bury"},
    {"lost-max", 0, "N", "how often it may be lost before it is buried (3)"},
    {"name", 0, "NAME", "a name for people"},
    {"label", 0, "NAME=VALUE", "a label, to find it by (rota list --label)", true},
    {"tracing-id", 0, "TEXT", "an id of yours, kept with it"},
    {"created-by", 0, "TEXT", "who made it, kept with it"},
    {"traceparent", 0, "TEXT", "a W3C trace context, passed on to the target"},
    {0},
};

// Says what is wrong. Returns false, so that a caller can return it.
__attribute__((format(printf, 2, 3))) static bool refuse(struct making *making, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(making->why, ERR_WHY_MAX, format, args);
    va_end(args);
    return false;
}

// Before a member that is not the first of its object.
static void put_comma(struct buf *json)
{
    if (json->p[json->n - 1] != '{')
        buf_putc(json, ',');
}

static bool put_string(struct making *making, const char *what, struct str text)
{
    size_t at;
    if (text.p && !text_valid(text, &at))
        return refuse(making, "%s is not UTF-8 text: byte %zu %s", what, at + 1, text.p[at] ? "is not" : "is NUL");
    json_put_string(making->json, text);
    return true;
}

static void put_name(struct making *making, const char *name)
{
    put_comma(making->json);
    json_put_string(making->json, str_of(name));
    buf_putc(making->json, ':');
}

static bool put_text(struct making *making, const struct field *field, const char *value)
{
    char what[64];
    snprintf(what, sizeof what, "--%s", field->option);
    put_name(making, field->member);
    return put_string(making, what, str_of(value));
}

static bool put_time(struct making *making, const struct field *field, const char *value)
{
    struct times_typed typed;
    int64_t ms;
    bool duration = duration_parse(str_of(value), &ms);
    if (!times_read_typed(&typed, str_of(value), making->compose->now_ms))
        return refuse(making, "--%s takes a time: %s; %.40s is none%s", field->option, times_forms, value,
                      duration && str_is(str_of(field->option), "at") ? " (from now on: --in)" : "");
    put_name(making, field->member);
    buf_putc(making->json, '"');
    times_put_api(making->json, typed.ms);
    buf_putc(making->json, '"');
    times_put_note(&making->compose->notes, &typed, str_of(value));
    return true;
}

static bool put_time_or_duration(struct making *making, const struct field *field, const char *value)
{
    int64_t ms;
    return duration_parse(str_of(value), &ms) ? put_text(making, field, value) : put_time(making, field, value);
}

// A task that is kept for ever has null, but in a patch that would mean the default.
static bool put_ttl(struct making *making, const struct field *field, const char *value)
{
    int64_t ms;
    if (duration_parse(str_of(value), &ms))
        return put_text(making, field, value);
    if (!str_is(str_of(value), "never"))
        return refuse(making, "--ttl takes a duration, such as 1h30m or 7d, or never, not %.80s", value);
    put_name(making, field->member);
    buf_puts(making->json, making->compose->patch ? "-1" : "null");
    return true;
}

static bool put_number(struct making *making, const struct field *field, const char *value)
{
    char *end;
    errno = 0;
    long number = strtol(value, &end, 10);
    if (errno || end == value || *end || *value == ' ' || *value == '+')
        return refuse(making, "--%s takes a whole number, not %.80s", field->option, value);
    put_name(making, field->member);
    buf_put_int(making->json, number);
    return true;
}

static bool put_flag(struct making *making, const struct field *field, const char *value)
{
    if (!str_is(str_of(value), "true") && !str_is(str_of(value), "false"))
        return refuse(making, "--%s takes true or false, not %.80s", field->option, value);
    put_name(making, field->member);
    buf_puts(making->json, value);
    return true;
}

// This option once said what --retry-jitter says.
static bool put_jitter(struct making *making, const struct field *field, const char *value)
{
    if (str_is(str_of(value), "true") || str_is(str_of(value), "false"))
        return refuse(making,
                      "--jitter takes a duration, by which runs of a recurring task are put off; that of the waits between "
                      "retries is --retry-jitter %s",
                      value);
    return put_text(making, field, value);
}

// "2xx,304": numbers and names of classes, as an array.
static bool put_codes(struct making *making, const struct field *field, const char *value)
{
    put_name(making, field->member);
    for (char between = '['; between; between = *value++ == ',' ? ',' : 0) {
        size_t n = strcspn(value, ",");
        struct str code = {value, n};
        buf_putc(making->json, between);
        if (n && n < 10 && strspn(value, "0123456789") == n)
            buf_put_int(making->json, atoi(value));
        else if (!put_string(making, "--success-codes", code))
            return false;
        value += n;
    }
    buf_putc(making->json, ']');
    return true;
}

// Labels and headers: each such option is one member of an object

struct pairs {
    const char *option, *form; // how one is written
    char mark;                 // between its name and its value
    bool headers;              // blanks around a header's name and value mean nothing, nor does the case of its name
    const char *advice;        // behind the words that a name was given twice
};

static const struct pairs labels = {"label", "NAME=VALUE", '=', false, ""};
static const struct pairs headers = {"header", "'Name: value'", ':', true, ": join the values with a comma"};

static bool is_of(const struct options *options, size_t at, const char *option)
{
    return str_is(str_of(options->given[at]->name), option);
}

static bool split(const struct pairs *pairs, const char *text, struct str *ret_name, struct str *ret_value)
{
    const char *mark = strchr(text, pairs->mark);
    *ret_name = (struct str){text, mark ? (size_t)(mark - text) : 0};
    *ret_value = str_of(mark ? mark + 1 : NULL);
    if (pairs->headers) {
        *ret_name = str_trim(*ret_name);
        *ret_value = str_trim(*ret_value);
    }
    return ret_name->n;
}

// Is the name among the first `before` options?
static bool has_pair(const struct options *options, const struct pairs *pairs, size_t before, struct str name)
{
    struct str other, value;
    for (size_t i = 0; i < before; i++)
        if (is_of(options, i, pairs->option) && split(pairs, options->values[i], &other, &value) &&
            (pairs->headers ? str_eq_nocase(other, name) : str_eq(other, name)))
            return true;
    return false;
}

static bool has_content_type(const struct options *options)
{
    return has_pair(options, &headers, options->count, STR("Content-Type"));
}

static bool put_pair(struct making *making, const char *option, struct str name, struct str value)
{
    char what[64];
    snprintf(what, sizeof what, "--%s", option);
    put_comma(making->json);
    if (!put_string(making, what, name))
        return false;
    buf_putc(making->json, ':');
    return put_string(making, what, value);
}

// A JSON object has no name twice. The server would say only that, so it is said here.
static bool put_given_pair(struct making *making, const struct pairs *pairs, size_t at)
{
    struct str name, value;
    const char *given = making->options->values[at];
    if (!split(pairs, given, &name, &value))
        return refuse(making, "--%s takes %s, not %.80s", pairs->option, pairs->form, given);
    if (has_pair(making->options, pairs, at, name))
        return refuse(making, "the %s %.*s is given twice%s", pairs->option, name.n > 80 ? 80 : (int)name.n, name.p,
                      pairs->advice);
    return put_pair(making, pairs->option, name, value);
}

// The object is left open.
static bool put_pairs(struct making *making, const struct field *field, const struct pairs *pairs)
{
    put_name(making, field->member);
    buf_putc(making->json, '{');
    for (size_t i = 0; i < making->options->count; i++)
        if (is_of(making->options, i, pairs->option) && !put_given_pair(making, pairs, i))
            return false;
    return true;
}

static bool put_labels(struct making *making, const struct field *field, const char *first)
{
    bool good = put_pairs(making, field, &labels);
    buf_putc(making->json, '}');
    return good;
}

static bool put_headers(struct making *making, const struct field *field, const char *first)
{
    bool implied = making->json_as_text && !has_content_type(making->options);
    bool good = put_pairs(making, field, &headers) &&
                (!implied || put_pair(making, "json", STR("Content-Type"), STR("application/json")));
    buf_putc(making->json, '}');
    return good;
}

// The days of all such options, each of which may have several with commas between, as one array.
static bool put_excludes(struct making *making, const struct field *field, const char *first)
{
    const struct options *options = making->options;
    char between = '[';
    put_name(making, field->member);
    for (size_t i = 0; i < options->count; i++) {
        struct str rest = str_of(is_of(options, i, field->option) ? options->values[i] : "");
        for (; rest.n; between = ',') {
            buf_putc(making->json, between);
            if (!put_string(making, "--exclude", str_trim(str_cut(&rest, ','))))
                return false;
        }
    }
    buf_puts(making->json, between == '[' ? "[]" : "]");
    return true;
}

// The body

static bool read_file(struct making *making, const char *option, const char *path)
{
    if (whole_file_read(path, BODY_MAX, &making->body))
        return true;
    if (errno == EFBIG)
        return refuse(making, "%.100s has more than 1 MiB, which is the most a task may have", path);
    return refuse(making, "--%s @%.100s: the file cannot be read: %s (@- is stdin, also for text that begins with @)", option,
                  path, strerror(errno));
}

static bool read_text(struct making *making, const char *option, const char *value)
{
    if (value[0] != '@') {
        buf_puts(&making->body, value);
        return true;
    }
    if (!value[1])
        return refuse(making, "--%s @ needs the name of a file behind the @, or - for stdin", option);
    return read_file(making, option, value + 1);
}

// Somebody who types JSON mostly means JSON. A script has its reasons.
static void note_untyped(struct making *making)
{
    struct json value;
    char wrong[ERR_WHY_MAX];
    if (!has_content_type(making->options) && terminal_is_watched() && !json_check(buf_str(&making->body), &value, wrong) &&
        (value.type == JSON_OBJECT || value.type == JSON_ARRAY))
        buf_puts(&making->compose->notes, "the body is JSON and has no Content-Type: --json sends it with one\n");
}

// The two options are read before anything is written, because the headers depend on them.
static bool read_body(struct making *making)
{
    const char *text = options_get(making->options, "body"), *json = options_get(making->options, "json");
    struct json value;
    char wrong[ERR_WHY_MAX];
    if (text && json)
        return refuse(making, "--body and --json both say what to send: give one of them");
    if (!json) {
        bool good = !text || read_text(making, "body", text);
        if (text && good)
            note_untyped(making);
        return good;
    }
    if (!read_text(making, "json", str_is(str_of(json), "-") ? "@-" : json))
        return false;
    if (json_check(buf_str(&making->body), &value, wrong))
        return refuse(making, "--json%s%.100s is not JSON: %.300s", json[0] == '@' ? " " : "", json[0] == '@' ? json : "", wrong);
    making->json_as_text = making->compose->patch || value.type == JSON_STRING || value.type == JSON_NULL;
    return true;
}

static bool put_body(struct making *making, const struct field *field, const char *value)
{
    put_name(making, field->member);
    return put_string(making, value[0] == '@' && value[1] != '-' ? value + 1 : "--body", buf_str(&making->body));
}

static bool put_json(struct making *making, const struct field *field, const char *value)
{
    put_name(making, field->member);
    if (making->json_as_text)
        json_put_string(making->json, buf_str(&making->body));
    else
        buf_put(making->json, buf_str(&making->body));
    return true;
}

// The whole

// In the order in which the API shows them.
static const struct field fields[] = {
    {"url", "url", put_text},
    {"method", "method", put_text},
    {"header", "headers", put_headers},
    {"body", "body", put_body},
    {"json", "body", put_json},
    {"at", "at", put_time},
    {"in", "in", put_text},
    {"cron", "cron", put_text},
    {"timezone", "timezone", put_text},
    {"every", "every", put_text},
    {"anchor", "anchor", put_time},
    {"misfire", "misfire", put_text},
    {"misfire-window", "misfire_window", put_text},
    {"overlap", "overlap", put_text},
    {"max-active", "max_active", put_number},
    {"dst-gap", "dst_gap", put_text},
    {"dst-overlap", "dst_overlap", put_text},
    {"exclude", "exclude", put_excludes},
    {"pause-after-failures", "pause_after_failures", put_number},
    {"starts-at", "starts_at", put_time},
    {"ends-at", "ends_at", put_time},
    {"max-runs", "max_runs", put_number},
    {"jitter", "jitter", put_jitter},
    {"not-after", "not_after", put_time_or_duration},
    {"retry", "max", put_number, "retry"},
    {"retry-delay", "delay", put_text, "retry"},
    {"backoff", "backoff", put_text, "retry"},
    {"retry-max-delay", "max_delay", put_text, "retry"},
    {"retry-jitter", "jitter", put_flag, "retry"},
    {"timeout", "timeout", put_text},
    {"success-codes", "success_codes", put_codes},
    {"priority", "priority", put_number},
    {"queue", "queue", put_text},
    {"sla", "sla", put_text},
    {"key", "key", put_text},
    {"ttl", "ttl", put_ttl},
    {"on-lost", "on_lost", put_text},
    {"lost-max", "lost_max", put_number},
    {"name", "name", put_text},
    {"label", "labels", put_labels},
    {"tracing-id", "tracing_id", put_text},
    {"created-by", "created_by", put_text},
    {"traceparent", "traceparent", put_text},
};

static bool is_cleared(const struct options *options, const char *option)
{
    for (size_t i = 0; i < options->count; i++)
        if (is_of(options, i, "clear") && str_is(str_of(options->values[i]), option))
            return true;
    return false;
}

// Only an option that has a default can be cleared. The time has none: without one the task would run now, or not recur.
static bool may_clear(const char *option)
{
    static const char *const not [] = {"url", "key", "at", "in", "cron", "every"};
    bool known = false;
    for (size_t i = 0; i < array_count(fields); i++)
        known = known || str_is(str_of(option), fields[i].option);
    for (size_t i = 0; i < array_count(not ); i++)
        known = known && !str_is(str_of(option), not [i]);
    return known;
}

static bool check_cleared(struct making *making)
{
    const struct options *options = making->options;
    for (size_t i = 0; i < options->count; i++) {
        const char *option = options->values[i];
        if (!is_of(options, i, "clear"))
            continue;
        if (may_clear(option) && !options_get(options, option))
            continue;
        return refuse(making,
                      options_get(options, option) ? "--%.40s is given and cleared: one of them is meant"
                                                   : "--clear takes the name of an option, such as not-after or label, not %.40s",
                      option);
    }
    return true;
}

static bool put_cleared(struct making *making, const struct field *field, const char *value)
{
    put_name(making, field->member);
    buf_puts(making->json, "null");
    return true;
}

// Closes the inner object that is open and opens the one that is wanted.
static void go_within(struct making *making, const char **open, const char *within)
{
    if (*open == within)
        return;
    if (*open)
        buf_putc(making->json, '}');
    if (within) {
        put_name(making, within);
        buf_putc(making->json, '{');
    }
    *open = within;
}

static bool put_fields(struct making *making)
{
    const char *open = NULL;
    for (size_t i = 0; i < array_count(fields); i++) {
        const char *value = options_get(making->options, fields[i].option);
        bool implied = making->json_as_text && fields[i].put == put_headers;
        bool cleared = is_cleared(making->options, fields[i].option);
        if (!value && !implied && !cleared)
            continue;
        go_within(making, &open, fields[i].within);
        if (!(cleared ? put_cleared : fields[i].put)(making, &fields[i], value))
            return false;
    }
    go_within(making, &open, NULL);
    return true;
}

static bool check_when(struct making *making)
{
    static const char *const ways[] = {"at", "in", "cron", "every"};
    const char *first = NULL;
    for (size_t i = 0; i < array_count(ways); i++) {
        if (!options_get(making->options, ways[i]))
            continue;
        if (first)
            return refuse(making, "--%s and --%s both say when: give one of them", first, ways[i]);
        first = ways[i];
    }
    return true;
}

static bool put_all(struct making *making)
{
    const struct compose *compose = making->compose;
    if (!check_when(making) || !check_cleared(making) || !read_body(making))
        return false;
    buf_putc(making->json, '{');
    if (compose->url) {
        put_name(making, "url");
        if (!put_string(making, "URL", str_of(compose->url)))
            return false;
    }
    if (!put_fields(making))
        return false;
    buf_putc(making->json, '}');
    return true;
}

bool compose_task(struct compose *compose, char why[ERR_WHY_MAX])
{
    struct making making = {.compose = compose, .json = &compose->json, .options = compose->options, .why = why};
    bool done = put_all(&making);
    buf_done(&making.body);
    return done;
}

void compose_done(struct compose *compose)
{
    buf_done(&compose->json);
    buf_done(&compose->notes);
}

void compose_talk_passed(const struct options *options, const struct value *task)
{
    int64_t at, planned;
    buf_auto struct buf words = {0};
    if (!options_get(options, "at") || !times_read(task, "at", &at) || !times_read(task, "scheduled_at", &planned) ||
        at >= planned)
        return;
    times_put_local(&words, at, "%Y-%m-%d %H:%M:%S");
    terminal_talk(STR_FMT " has passed: runs now\n", STR_ARG(buf_str(&words)));
}

const char *compose_option(struct str pointer)
{
    for (size_t i = 0; i < array_count(fields); i++) {
        char path[64];
        int n = snprintf(path, sizeof path, "/%s%s%s", fields[i].within ? fields[i].within : "", fields[i].within ? "/" : "",
                         fields[i].member);
        if (str_starts(pointer, str_of(path)) && (pointer.n == (size_t)n || pointer.p[n] == '/'))
            return fields[i].option;
    }
    return NULL;
}

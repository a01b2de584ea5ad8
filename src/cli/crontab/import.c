// See import.h. Everything that is said about a line stands in the file as a comment, too, so that whoever reads the file later
// knows what was in the crontab. A line that is left out is named by its number and not repeated, because it may hold a password.
#include "cli/crontab/import.h"

#include "base/mem.h"
#include "base/text/json.h"
#include "base/text/utf8.h"
#include "base/text/when.h"
#include "cli/crontab/crontab.h"
#include "cli/crontab/web_call.h"
#include "core/schedule/cron.h"
#include "core/schedule/zone_list.h"
#include "core/url.h"

#include <stdarg.h>
#include <stdio.h>

enum { NAME_MAX_BYTES = 100, NAMES_AT_FIRST = 16 };

// A name that tasks were given, and how many.
struct name {
    struct str text;
    size_t count;
};

struct importer {
    struct import *out;
    struct arena arena;
    const char *source;
    struct buf tasks;
    struct str zone;   // empty: none is named
    bool zone_is_cron; // CRON_TZ has said it, so TZ does not matter any more
    bool zone_lacking; // a task was taken without one
    struct name *names;
    size_t name_count, name_room;
};

// ---- what is said

// To stderr and into the file.
__attribute__((format(printf, 3, 4))) static void say(struct importer *importer, const struct crontab_line *line,
                                                      const char *format, ...)
{
    char words[ERR_WHY_MAX * 2];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    buf_printf(&importer->out->talk, "%s:%zu: %s\n", importer->source, line->number, words);
    buf_printf(&importer->tasks, "# line %zu: %s\n", line->number, words);
}

static void leave_out(struct importer *importer, const struct crontab_line *line, const char *why)
{
    importer->out->left_out++;
    buf_putc(&importer->tasks, '\n');
    say(importer, line, "left out: %s", why);
}

// ---- settings

static bool is_zone(struct str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        if (!str_is_letter(c) && !str_is_digit(c) && !strchr("_+-/", c ? c : '.'))
            return false;
    }
    return name.n > 0 && name.n <= ZONE_NAME_MAX && name.p[0] != '/';
}

static void take_zone(struct importer *importer, const struct crontab_line *line)
{
    struct str zone = line->value;
    bool is_cron = str_is(line->name, "CRON_TZ");
    if (zone.n && zone.p[0] == ':')
        zone = str_skip(zone, 1);
    if (!is_cron && importer->zone_is_cron) {
        say(importer, line, "TZ is left out, because CRON_TZ says when the lines run");
        return;
    }
    if (!is_cron)
        say(importer, line, "TZ is taken for the time zone of the lines below; some crons hand it to the commands only");
    importer->zone = zone;
    importer->zone_is_cron = is_cron;
}

static void take_setting(struct importer *importer, const struct crontab_line *line)
{
    static const struct {
        const char *name, *why;
    } rows[] = {{"MAILTO", "rota sends no mail; rota list --state failed shows what failed"},
                {"MAILFROM", "rota sends no mail"},
                {"SHELL", "no shell is run"}};
    if (str_is(line->name, "CRON_TZ") || str_is(line->name, "TZ")) {
        take_zone(importer, line);
        return;
    }
    const char *why = "no command is run that could see it";
    for (size_t i = 0; i < array_count(rows); i++)
        if (str_is(line->name, rows[i].name))
            why = rows[i].why;
    say(importer, line, "%.*s is left out: %s", line->name.n > 40 ? 40 : (int)line->name.n, line->name.p, why);
}

// ---- patterns

// Does a day field begin with a bare *, so that all days fit?
static bool is_any(struct str field)
{
    return field.n && field.p[0] == '*' && (field.n == 1 || field.p[1] == ',');
}

static bool is_step(struct str field)
{
    return str_starts(field, STR("*/"));
}

// Two day fields fit both in Vixie's cron if one of them begins with *, as in "0 0 */2 * MON". In rota that is so for a bare *
// only, and a + in front of the weekday says it otherwise.
static struct str join_days(struct importer *importer, struct str pattern, bool *ret_joined)
{
    struct str rest = pattern, fields[5] = {{0}};
    for (size_t i = 0; i < array_count(fields) && rest.n; i++)
        fields[i] = str_cut(&rest, ' ');
    struct str day = fields[2], weekday = fields[4];
    *ret_joined = (is_step(day) || is_step(weekday)) && weekday.n && !is_any(day) && !is_any(weekday);
    if (!*ret_joined)
        return pattern;
    struct str before = {pattern.p, (size_t)(weekday.p - pattern.p)};
    return arena_printf(&importer->arena, STR_FMT "+" STR_FMT, STR_ARG(before), STR_ARG(weekday));
}

// ---- names

static bool is_plain(char c)
{
    return str_is_letter(c) || str_is_digit(c) || c == '.' || c == '_';
}

// The host and the path, with - for all that is not plain. The query may hold secrets, so it is left out.
static struct str make_name(struct importer *importer, const struct url *url)
{
    struct str path = url->rest, parts[2] = {url->host, str_cut(&path, '?')};
    char *name = arena_alloc(&importer->arena, NAME_MAX_BYTES);
    size_t n = 0;
    for (size_t part = 0; part < 2; part++)
        for (size_t i = 0; i < parts[part].n && n < NAME_MAX_BYTES; i++) {
            char c = parts[part].p[i];
            if (is_plain(c))
                name[n++] = c;
            else if (n && name[n - 1] != '-')
                name[n++] = '-';
        }
    n -= n && name[n - 1] == '-';
    return n ? (struct str){name, n} : STR("task");
}

static struct name *find_name(struct importer *importer, struct str text)
{
    for (size_t i = 0; i < importer->name_count; i++)
        if (str_eq(importer->names[i].text, text))
            return &importer->names[i];
    return NULL;
}

static struct str add_name(struct importer *importer, struct str text)
{
    if (importer->name_count == importer->name_room) {
        importer->name_room = importer->name_room ? importer->name_room * 2 : NAMES_AT_FIRST;
        importer->names = mem_grow(importer->names, importer->name_room * sizeof *importer->names);
    }
    importer->names[importer->name_count++] = (struct name){text, 1};
    return text;
}

// The second task of a name gets a -2 behind it, and so on.
static struct str unique_name(struct importer *importer, struct str text)
{
    struct name *name = find_name(importer, text);
    if (!name)
        return add_name(importer, text);
    struct str other;
    do
        other = arena_printf(&importer->arena, STR_FMT "-%zu", STR_ARG(text), ++name->count);
    while (find_name(importer, other));
    return add_name(importer, other);
}

// ---- tasks

static void put_text(struct buf *buf, const char *key, struct str value)
{
    buf_printf(buf, "%s = ", key);
    json_put_string(buf, value); // what JSON escapes, TOML escapes alike
    buf_putc(buf, '\n');
}

static void put_duration(struct buf *buf, const char *key, int64_t ms)
{
    char text[WHEN_TEXT_SIZE];
    duration_format(text, ms);
    put_text(buf, key, str_of(text));
}

// The names of most headers need no quotes as keys.
static bool is_bare(struct str name)
{
    for (size_t i = 0; i < name.n; i++)
        if (name.p[i] != '-' && (!is_plain(name.p[i]) || name.p[i] == '.'))
            return false;
    return true;
}

static void put_headers(struct buf *buf, const struct web_call *call)
{
    for (size_t i = 0; i < call->header_count; i++) {
        struct str name = call->headers[i].name;
        buf_puts(buf, "headers.");
        if (is_bare(name))
            buf_put(buf, name);
        else
            json_put_string(buf, name);
        put_text(buf, "", call->headers[i].value);
    }
}

static void put_retry(struct buf *buf, const struct web_call *call)
{
    if (call->retry_max >= 0)
        buf_printf(buf, "retry.max = %d\n", (int)call->retry_max);
    if (call->retry_delay_ms < 0)
        return;
    put_duration(buf, "retry.delay", call->retry_delay_ms);
    put_text(buf, "retry.backoff", STR("fixed"));
}

static void put_task(struct importer *importer, struct str name, struct str pattern, const struct web_call *call)
{
    struct buf *buf = &importer->tasks;
    buf_puts(buf, "[[task]]\n");
    put_text(buf, "name", name);
    put_text(buf, "cron", pattern);
    if (importer->zone.n)
        put_text(buf, "timezone", importer->zone);
    put_text(buf, "url", call->url);
    put_text(buf, "method", call->method);
    put_headers(buf, call);
    if (call->has_body)
        put_text(buf, "body", call->body);
    if (call->timeout_ms)
        put_duration(buf, "timeout", call->timeout_ms);
    put_retry(buf, call);
}

// What a line becomes.
struct task {
    struct str pattern;
    bool joined; // the pattern has got a + that the line does not have
    struct web_call call;
    struct url url;
};

static bool read_task(struct importer *importer, const struct crontab_line *line, struct task *task, char why[ERR_WHY_MAX])
{
    struct cron cron;
    struct words words;
    task->pattern = join_days(importer, line->pattern, &task->joined);
    if (importer->zone.n && !is_zone(importer->zone)) {
        snprintf(why, ERR_WHY_MAX, "its time zone is no name of the IANA database");
        return false;
    }
    if (cron_parse(task->pattern, 0, &cron, why))
        return false;
    if (!words_split(line->command, &importer->arena, &words, why)) {
        size_t n = strlen(why);
        if (line->has_input)
            snprintf(why + n, ERR_WHY_MAX - n, " (cron ends the command at the first %%; a %% in it is written \\%%)");
        return false;
    }
    return web_call_read(&words, line->has_input ? &line->input : NULL, &importer->arena, &task->call, why) &&
           !url_parse(task->call.url, &task->url, why);
}

static void take_entry(struct importer *importer, const struct crontab_line *line)
{
    char why[ERR_WHY_MAX];
    struct task task;
    if (!read_task(importer, line, &task, why)) {
        leave_out(importer, line, why);
        return;
    }
    buf_printf(&importer->tasks, "\n# line %zu: " STR_FMT "\n", line->number, STR_ARG(line->text));
    for (size_t i = 0; i < task.call.note_count; i++)
        say(importer, line, "note: %s", task.call.notes[i]);
    if (task.joined)
        say(importer, line, "note: cron wants both day fields to fit here, which a + says in rota");
    put_task(importer, unique_name(importer, make_name(importer, &task.url)), task.pattern, &task.call);
    importer->zone_lacking = importer->zone_lacking || !importer->zone.n;
    importer->out->taken++;
}

// ---- the whole

// Neither TOML nor a terminal takes other bytes.
static bool is_text(struct str text)
{
    const char *at = text.p, *end = text.p + text.n;
    while (at < end) {
        int length = utf8_length(at, end);
        if (!length || (*at != '\t' && utf8_is_control(utf8_rune(at, length))))
            return false;
        at += length;
    }
    return true;
}

static void take_line(struct importer *importer, const struct crontab_line *line)
{
    if (line->kind == CRONTAB_NOTHING)
        return;
    if (!is_text(line->text)) {
        leave_out(importer, line, "it has bytes that are not UTF-8, or control characters");
    } else if (line->kind == CRONTAB_SETTING) {
        take_setting(importer, line);
    } else if (line->kind == CRONTAB_WRONG) {
        leave_out(importer, line, line->why);
    } else {
        take_entry(importer, line);
    }
}

static void put_head(const struct importer *importer)
{
    static const char lacking[] = "no time zone is named, so the patterns are meant in UTC, while cron goes by the clock of its "
                                  "machine: --timezone names one\n";
    struct buf *file = &importer->out->file;
    buf_puts(file,
             "# Tasks for rota apply, made of a crontab by rota cron import.\n"
             "# A call that fails is tried again three times and may take 30 s, where retry and timeout say nothing else.\n");
    if (!importer->zone_lacking)
        return;
    buf_printf(file, "# Note: %s", lacking);
    buf_printf(&importer->out->talk, "%s: %s", importer->source, lacking);
}

void import_crontab(struct str text, const char *source, const char *timezone, struct import *ret_import)
{
    struct importer importer = {.out = ret_import, .source = source, .zone = str_of(timezone)};
    struct crontab_line line;
    size_t number = 0;
    *ret_import = (struct import){0};
    arena_init(&importer.arena);
    while (crontab_next(&text, &number, &importer.arena, &line))
        take_line(&importer, &line);
    put_head(&importer);
    buf_putc(&ret_import->file, '\n');
    buf_put(&ret_import->file, buf_str(&importer.tasks));
    buf_done(&importer.tasks);
    mem_free(importer.names);
    arena_done(&importer.arena);
}

void import_done(struct import *import)
{
    buf_done(&import->file);
    buf_done(&import->talk);
}

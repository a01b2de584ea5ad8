// See web_call.h. curl and wget each have a table of options; a row has a function that does what the option says. An option that
// is in no table is refused by its name.
#include "cli/crontab/web_call.h"

#include "base/buf.h"
#include "base/mem.h"
#include "core/header.h"
#include "core/url.h"

#include <stdio.h>

enum { TIMEOUT_MIN_MS = 10, DAY_MS = 24 * 3600 * 1000, RETRY_MAX = 100 };

// What the body of a call is made of, which decides the headers that the tool adds.
enum data { DATA_NONE, DATA_FORM, DATA_JSON };

struct reader {
    struct web_call *call;
    const struct str *input;
    struct arena *arena;
    char *why;
    const struct web_option *option; // the one at hand, or NULL
    enum data data;
    struct buf body;
    bool no_globs;   // curl -g
    bool used_input; // its stdin is sent
};

struct web_option {
    const char *name; // without the dashes
    char letter;      // or 0
    bool has_value;
    bool (*take)(struct reader *reader, struct str value);
};

struct tool {
    struct str name;
    const struct web_option *options; // ends with a row without a name
    bool equals;                      // --name=value is understood
    const char *note;                 // about every call of it, or NULL
};

// ---- words

static bool refuse(struct reader *reader, const char *words)
{
    const struct web_option *option = reader->option;
    if (option)
        snprintf(reader->why, ERR_WHY_MAX, "%s%s: %s", option->name[1] ? "--" : "-", option->name, words);
    else
        snprintf(reader->why, ERR_WHY_MAX, "%s", words);
    return false;
}

static bool note(struct reader *reader, const char *words)
{
    struct web_call *call = reader->call;
    for (size_t i = 0; i < call->note_count; i++)
        if (call->notes[i] == words)
            return true;
    if (call->note_count < WEB_CALL_NOTES_MAX)
        call->notes[call->note_count++] = words;
    return true;
}

// ---- options that only concern what is printed or kept

static bool take_nothing(struct reader *reader, struct str value)
{
    return true;
}

static bool take_output(struct reader *reader, struct str value)
{
    if (str_is(value, "/dev/null") || str_is(value, "-"))
        return true;
    return refuse(reader, "the answer would go into a file, and rota writes none; /dev/null is fine");
}

static bool take_wget_n(struct reader *reader, struct str value)
{
    return str_is(value, "v") || refuse(reader, "this option is not understood");
}

static bool refuse_file(struct reader *reader, struct str value)
{
    return refuse(reader, "the answer would go into a file, and rota writes none");
}

static bool refuse_password(struct reader *reader, struct str value)
{
    return refuse(reader, "a password is a secret that would stand in the file; write the header Authorization yourself");
}

static bool refuse_unchecked(struct reader *reader, struct str value)
{
    return refuse(reader, "rota always checks the certificate of a server");
}

static bool take_location(struct reader *reader, struct str value)
{
    return note(reader, "redirects are never followed: write the address that they lead to");
}

static bool take_globoff(struct reader *reader, struct str value)
{
    return reader->no_globs = true;
}

// ---- method and headers

static bool take_method(struct reader *reader, struct str value)
{
    reader->call->method = value;
    return true;
}

static bool take_head(struct reader *reader, struct str value)
{
    return take_method(reader, STR("HEAD"));
}

static bool has_header(const struct web_call *call, struct str name)
{
    for (size_t i = 0; i < call->header_count; i++)
        if (str_eq_nocase(call->headers[i].name, name))
            return true;
    return false;
}

static bool add_header(struct reader *reader, struct str name, struct str value)
{
    struct web_call *call = reader->call;
    const char *wrong = header_name_wrong(name);
    wrong = wrong ? wrong : header_value_wrong(value);
    if (!wrong && has_header(call, name))
        wrong = "a header is given twice";
    if (!wrong && call->header_count == TARGET_HEADERS_MAX)
        wrong = "there are too many headers";
    if (wrong)
        return refuse(reader, wrong);
    call->headers[call->header_count++] = (struct web_header){name, value};
    if (str_eq_nocase(name, STR("Authorization")) || str_eq_nocase(name, STR("Cookie")))
        note(reader, "a header of it is a secret, which now stands in this file, too");
    return true;
}

// "Name: value", or curl's "Name;" for one without a value.
static bool take_header(struct reader *reader, struct str text)
{
    struct str value = text;
    if (text.n && text.p[0] == '@')
        return refuse(reader, "headers in a file cannot be read");
    if (text.n && text.p[text.n - 1] == ';' && !memchr(text.p, ':', text.n))
        return add_header(reader, (struct str){text.p, text.n - 1}, (struct str){0});
    struct str name = str_cut(&value, ':');
    value = str_trim(value);
    if (!value.n)
        return refuse(reader, "a header is written \"Name: value\"; none can be taken away");
    return add_header(reader, name, value);
}

static bool take_agent(struct reader *reader, struct str value)
{
    return add_header(reader, STR("User-Agent"), value);
}

static bool take_referer(struct reader *reader, struct str value)
{
    return add_header(reader, STR("Referer"), value);
}

static bool take_cookie(struct reader *reader, struct str value)
{
    if (!value.n || !memchr(value.p, '=', value.n))
        return refuse(reader, "cookies in a file cannot be read");
    return add_header(reader, STR("Cookie"), value);
}

// ---- the body

static bool add_data(struct reader *reader, enum data data, struct str text)
{
    if (reader->data != DATA_NONE && reader->data != data)
        return refuse(reader, "a form and JSON in one body cannot be");
    if (reader->data == DATA_FORM)
        buf_putc(&reader->body, '&');
    reader->data = data;
    buf_put(&reader->body, text);
    return true;
}

static struct str without_line_ends(struct str text, struct arena *arena)
{
    char *to = arena_alloc(arena, text.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] != '\n' && text.p[i] != '\r')
            to[n++] = text.p[i];
    return (struct str){to, n};
}

// @- is what stands behind the % of a crontab's line; another @ is a file.
static bool find_data(struct reader *reader, struct str *value)
{
    if (!value->n || value->p[0] != '@')
        return true;
    if (!str_is(*value, "@-") || !reader->input)
        return refuse(reader, "a body in a file cannot be read");
    *value = *reader->input;
    return reader->used_input = true;
}

static bool take_data(struct reader *reader, struct str value)
{
    bool from_input = str_is(value, "@-");
    if (!find_data(reader, &value))
        return false;
    return add_data(reader, DATA_FORM, from_input ? without_line_ends(value, reader->arena) : value);
}

static bool take_data_binary(struct reader *reader, struct str value)
{
    return find_data(reader, &value) && add_data(reader, DATA_FORM, value);
}

static bool take_data_raw(struct reader *reader, struct str value)
{
    return add_data(reader, DATA_FORM, value);
}

static bool take_json(struct reader *reader, struct str value)
{
    return find_data(reader, &value) && add_data(reader, DATA_JSON, value);
}

// ---- times and numbers

// Seconds, with at most three digits behind a point. False: it is something else, or more than a day.
static bool read_seconds(struct str text, int64_t *ret_ms)
{
    struct str whole = str_cut(&text, '.');
    int64_t ms = 0, unit = 1000;
    if (!whole.n || text.n > 3)
        return false;
    for (size_t i = 0; i < whole.n + text.n; i++) {
        char c = i < whole.n ? whole.p[i] : text.p[i - whole.n];
        if (!str_is_digit(c) || ms > DAY_MS)
            return false;
        unit = i < whole.n ? unit : unit / 10;
        ms = i < whole.n ? ms * 10 + (c - '0') * unit : ms + (c - '0') * unit;
    }
    *ret_ms = ms;
    return ms <= DAY_MS;
}

static bool take_timeout(struct reader *reader, struct str value)
{
    if (!read_seconds(value, &reader->call->timeout_ms))
        return refuse(reader, "a time is a number of seconds, of a day at most");
    if (!reader->call->timeout_ms)
        return note(reader, "a call has always a limit of time, of 30 s unless timeout says otherwise");
    return reader->call->timeout_ms >= TIMEOUT_MIN_MS || refuse(reader, "a call must have at least 10 ms");
}

static bool take_part_timeout(struct reader *reader, struct str value)
{
    return note(reader, "timeout bounds the whole call: there is no limit of its own for connecting or for retries");
}

static bool take_retry_delay(struct reader *reader, struct str value)
{
    return read_seconds(value, &reader->call->retry_delay_ms) ||
           refuse(reader, "a time is a number of seconds, of a day at most");
}

static bool read_count(struct str text, int64_t *ret_count)
{
    *ret_count = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (!str_is_digit(text.p[i]) || *ret_count > RETRY_MAX)
            return false;
        *ret_count = *ret_count * 10 + (text.p[i] - '0');
    }
    return text.n > 0;
}

static bool take_retry(struct reader *reader, struct str value)
{
    if (!read_count(value, &reader->call->retry_max) || reader->call->retry_max > RETRY_MAX)
        return refuse(reader, "a call can be tried again 0 to 100 times");
    return true;
}

static bool take_tries(struct reader *reader, struct str value)
{
    int64_t tries;
    if (!read_count(value, &tries) || tries < 1 || tries > RETRY_MAX + 1)
        return refuse(reader, "a call can be tried 1 to 101 times");
    reader->call->retry_max = tries - 1;
    return true;
}

// ---- the URL

// curl makes several calls of a URL with lists and ranges: {a,b} and [1-9]. The brackets of an IPv6 address are none.
static bool has_globs(struct str url)
{
    const char *host = url.n ? memmem(url.p, url.n, "://", 3) : NULL;
    for (size_t i = 0; i < url.n; i++)
        if (url.p[i] == '{' || (url.p[i] == '[' && !(host && url.p + i == host + 3)))
            return true;
    return false;
}

static bool has_scheme(struct str url)
{
    size_t n = 0;
    while (n < url.n && str_is_letter(url.p[n]))
        n++;
    return str_starts(str_skip(url, n), STR("://"));
}

static bool take_url(struct reader *reader, struct str value)
{
    if (reader->call->url.n)
        return refuse(reader, "it makes more than one call, and a task makes one");
    reader->call->url = has_scheme(value) ? value : arena_printf(reader->arena, "http://" STR_FMT, STR_ARG(value));
    return true;
}

static bool check_url(struct reader *reader)
{
    struct web_call *call = reader->call;
    struct url url;
    if (!call->url.n)
        return refuse(reader, "there is no URL");
    if (call->url.n > TARGET_URL_MAX)
        return refuse(reader, "the URL is too long");
    return !url_parse(call->url, &url, reader->why);
}

// ---- the tables

static const struct web_option curl_options[] = {
    {"request", 'X', true, take_method},
    {"header", 'H', true, take_header},
    {"data", 'd', true, take_data},
    {"data-ascii", 0, true, take_data},
    {"data-raw", 0, true, take_data_raw},
    {"data-binary", 0, true, take_data_binary},
    {"json", 0, true, take_json},
    {"user", 'u', true, refuse_password},
    {"user-agent", 'A', true, take_agent},
    {"referer", 'e', true, take_referer},
    {"cookie", 'b', true, take_cookie},
    {"head", 'I', false, take_head},
    {"url", 0, true, take_url},
    {"location", 'L', false, take_location},
    {"globoff", 'g', false, take_globoff},
    {"max-time", 'm', true, take_timeout},
    {"connect-timeout", 0, true, take_part_timeout},
    {"retry", 0, true, take_retry},
    {"retry-delay", 0, true, take_retry_delay},
    {"retry-max-time", 0, true, take_part_timeout},
    {"retry-all-errors", 0, false, take_nothing},
    {"retry-connrefused", 0, false, take_nothing},
    {"output", 'o', true, take_output},
    {"remote-name", 'O', false, refuse_file},
    {"insecure", 'k', false, refuse_unchecked},
    {"write-out", 'w', true, take_nothing},
    {"silent", 's', false, take_nothing},
    {"show-error", 'S', false, take_nothing},
    {"fail", 'f', false, take_nothing},
    {"fail-with-body", 0, false, take_nothing},
    {"disable", 'q', false, take_nothing},
    {"verbose", 'v', false, take_nothing},
    {"include", 'i', false, take_nothing},
    {"no-buffer", 'N', false, take_nothing},
    {"progress-bar", '#', false, take_nothing},
    {"no-progress-meter", 0, false, take_nothing},
    {"compressed", 0, false, take_nothing},
    {0},
};

static const struct web_option wget_options[] = {
    {"method", 0, true, take_method},
    {"header", 0, true, take_header},
    {"post-data", 0, true, take_data_raw},
    {"body-data", 0, true, take_data_raw},
    {"user", 0, true, refuse_password},
    {"password", 0, true, refuse_password},
    {"http-user", 0, true, refuse_password},
    {"http-password", 0, true, refuse_password},
    {"user-agent", 'U', true, take_agent},
    {"referer", 0, true, take_referer},
    {"spider", 0, false, take_head},
    {"timeout", 'T', true, take_timeout},
    {"connect-timeout", 0, true, take_part_timeout},
    {"tries", 't', true, take_tries},
    {"output-document", 'O', true, take_output},
    {"output-file", 'o', true, take_output},
    {"no-check-certificate", 0, false, refuse_unchecked},
    {"max-redirect", 0, true, take_nothing},
    {"quiet", 'q', false, take_nothing},
    {"verbose", 'v', false, take_nothing},
    {"no-verbose", 0, false, take_nothing},
    {"n", 'n', true, take_wget_n}, // -nv
    {"delete-after", 0, false, take_nothing},
    {"no-cache", 0, false, take_nothing},
    {0},
};

static const struct tool tools[] = {
    {{"curl", 4}, curl_options, false, NULL},
    {{"wget", 4}, wget_options, true, "wget follows redirects, and rota does not: write the address that they lead to"},
};

// ---- the words of a command

static const struct web_option *find_option(const struct tool *tool, struct str name, char letter)
{
    for (const struct web_option *option = tool->options; option->name; option++)
        if (letter ? option->letter == letter : str_is(name, option->name))
            return option;
    return NULL;
}

// A name that is not ASCII is not shown, because it may be cut within a character.
static bool not_understood(struct reader *reader, struct str option)
{
    enum { SHOWN_MAX = 40 };
    int n = option.n < SHOWN_MAX ? (int)option.n : SHOWN_MAX;
    for (int i = 0; i < n; i++)
        if ((unsigned char)option.p[i] >= 0x80)
            return refuse(reader, "an option of it is not understood");
    snprintf(reader->why, ERR_WHY_MAX, "the option %.*s is not understood", n, option.p);
    return false;
}

// The value behind an option, which may be the next word.
static bool take_option(struct reader *reader, const struct web_option *option, const struct words *words, size_t *at,
                        const struct str *value)
{
    struct str none = {0};
    reader->option = option;
    if (option->has_value && !value) {
        if (*at == words->count)
            return refuse(reader, "its value is missing");
        value = &words->items[(*at)++];
    }
    bool taken = option->take(reader, value ? *value : none);
    reader->option = NULL;
    return taken;
}

static bool read_long(struct reader *reader, const struct tool *tool, const struct words *words, size_t *at)
{
    struct str word = words->items[*at - 1], value = str_skip(word, 2), name = value;
    const char *equals = tool->equals && value.n ? memchr(value.p, '=', value.n) : NULL;
    if (equals)
        name = str_cut(&value, '=');
    const struct web_option *option = find_option(tool, name, 0);
    if (!option || !option->name[1] || (equals && !option->has_value))
        return not_understood(reader, (struct str){word.p, name.n + 2});
    return take_option(reader, option, words, at, equals ? &value : NULL);
}

// -fsSL, -XPOST, -o /dev/null
static bool read_letters(struct reader *reader, const struct tool *tool, const struct words *words, size_t *at)
{
    struct str letters = str_skip(words->items[*at - 1], 1);
    while (letters.n) {
        char name[2] = {'-', letters.p[0]};
        const struct web_option *option = letters.p[0] ? find_option(tool, letters, letters.p[0]) : NULL;
        if (!option)
            return not_understood(reader, (struct str){name, 2});
        letters = str_skip(letters, 1);
        if (!take_option(reader, option, words, at, option->has_value && letters.n ? &letters : NULL))
            return false;
        if (option->has_value)
            return true;
    }
    return true;
}

static bool read_words(struct reader *reader, const struct tool *tool, const struct words *words)
{
    bool only_urls = false;
    for (size_t at = 1; at < words->count;) {
        struct str word = words->items[at++];
        bool taken = true;
        if (only_urls || word.n < 2 || word.p[0] != '-')
            taken = take_url(reader, word);
        else if (str_is(word, "--"))
            only_urls = true;
        else
            taken = (word.p[1] == '-' ? read_long : read_letters)(reader, tool, words, &at);
        if (!taken)
            return false;
    }
    return true;
}

static const struct tool *find_tool(const struct words *words)
{
    struct str name = words->count ? words->items[0] : (struct str){0};
    const char *slash = name.n ? memrchr(name.p, '/', name.n) : NULL;
    if (slash)
        name = str_skip(name, (size_t)(slash + 1 - name.p));
    for (size_t i = 0; i < array_count(tools); i++)
        if (str_eq(tools[i].name, name))
            return &tools[i];
    return NULL;
}

// The headers that the tool adds by itself, unless they were given.
static bool add_own_headers(struct reader *reader)
{
    static const struct {
        enum data data;
        struct str name, value;
    } rows[] = {
        {DATA_FORM, {"Content-Type", 12}, {"application/x-www-form-urlencoded", 33}},
        {DATA_JSON, {"Content-Type", 12}, {"application/json", 16}},
        {DATA_JSON, {"Accept", 6}, {"application/json", 16}},
    };
    for (size_t i = 0; i < array_count(rows); i++)
        if (rows[i].data == reader->data && !has_header(reader->call, rows[i].name) &&
            !add_header(reader, rows[i].name, rows[i].value))
            return false;
    return true;
}

static bool finish(struct reader *reader, const struct tool *tool)
{
    struct web_call *call = reader->call;
    call->has_body = reader->data != DATA_NONE;
    call->body = arena_copy(reader->arena, buf_str(&reader->body));
    if (!call->method.n)
        call->method = call->has_body ? STR("POST") : STR("GET");
    bool known = false;
    for (size_t i = 0; target_http_methods[i]; i++)
        known = known || str_is(call->method, target_http_methods[i]);
    if (!known)
        return refuse(reader, "rota calls with GET, POST, PUT, PATCH and DELETE only");
    if (str_is(tool->name, "curl") && !reader->no_globs && has_globs(call->url))
        return refuse(reader, "a URL with {} or [] makes more than one call, and a task makes one");
    if (tool->note)
        note(reader, tool->note);
    if (reader->input && !reader->used_input)
        note(reader,
             "what stands behind the % was never sent: cron makes it input, which is not read; a % in a URL is written \\%");
    return check_url(reader) && add_own_headers(reader);
}

bool web_call_read(const struct words *words, const struct str *input, struct arena *arena, struct web_call *ret_call,
                   char why[ERR_WHY_MAX])
{
    struct reader reader = {.call = ret_call, .input = input, .arena = arena, .why = why};
    const struct tool *tool = find_tool(words);
    *ret_call = (struct web_call){.retry_max = -1, .retry_delay_ms = -1};
    if (!tool)
        return refuse(&reader, "the command is no call of curl or wget");
    bool good = read_words(&reader, tool, words) && finish(&reader, tool);
    buf_done(&reader.body);
    return good;
}

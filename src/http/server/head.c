// Lines end with CRLF and nothing else; names are tokens, right before their colon; values have no control characters; what says
// where the body ends comes once.
#include "http/server/head.h"

#include "base/buf.h"
#include "base/mem.h"
#include "core/header.h"

enum { FIELDS_MAX = 256 };

static const char wrong_line[] = "The request line is a method, a path and HTTP/1.1, with one space between them.";
static const char wrong_end[] =
    "The request line and each header end with CRLF, and have no space or control character where none may be.";
static const char wrong_frame[] =
    "Content-Length, Transfer-Encoding (chunked) and Host may come once, and only one of the first two.";

size_t head_size(struct str bytes, size_t *scanned)
{
    size_t at = *scanned;
    for (const char *feed; at < bytes.n && (feed = memchr(bytes.p + at, '\n', bytes.n - at));) {
        size_t next = (size_t)(feed - bytes.p) + 1;
        if (next < bytes.n && bytes.p[next] == '\n')
            return next + 1;
        if (next + 1 < bytes.n && bytes.p[next] == '\r' && bytes.p[next + 1] == '\n')
            return next + 2;
        if (next + 1 >= bytes.n) {
            *scanned = next - 1; // what follows it is not known yet
            return 0;
        }
        at = next;
    }
    *scanned = bytes.n;
    return 0;
}

static bool has_control(struct str text, bool blanks_allowed)
{
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if ((c < 0x20 || c == 0x7f || c == ' ') && !(blanks_allowed && (c == ' ' || c == '\t')))
            return true;
    }
    return false;
}

// Takes one line off the front. False: it does not end with CRLF.
static bool take_line(struct str *rest, struct str *ret_line)
{
    const char *feed = rest->n ? memchr(rest->p, '\n', rest->n) : NULL;
    if (!feed || feed == rest->p || feed[-1] != '\r')
        return false;
    *ret_line = (struct str){rest->p, (size_t)(feed - rest->p) - 1};
    *rest = (struct str){feed + 1, rest->n - ret_line->n - 2};
    return true;
}

static bool take_word(struct str *line, struct str *ret_word)
{
    const char *space = line->n ? memchr(line->p, ' ', line->n) : NULL;
    if (!space)
        return false;
    *ret_word = (struct str){line->p, (size_t)(space - line->p)};
    *line = (struct str){space + 1, line->n - ret_word->n - 1};
    return true;
}

// A target may have a scheme and the host before its path, as for a proxy. Takes them off the front. False: there is no host.
static bool take_host(struct str *target, struct head *head)
{
    static const struct str schemes[] = {{"http://", 7}, {"https://", 8}};
    for (size_t i = 0; i < array_count(schemes); i++) {
        size_t from = schemes[i].n, to = from;
        if (target->n < from || !str_eq_nocase((struct str){target->p, from}, schemes[i]))
            continue;
        while (to < target->n && target->p[to] != '/' && target->p[to] != '?')
            to++;
        head->host = (struct str){target->p + from, to - from};
        *target = str_skip(*target, to);
        return head->host.n && !memchr(head->host.p, '@', head->host.n);
    }
    return true;
}

static const char *read_target(struct str target, struct head *head)
{
    if (target.p[0] != '/' && !take_host(&target, head))
        return "A target with a scheme has a host behind it, and no user: http://HOST/PATH.";
    const char *mark = memchr(target.p, '?', target.n);
    head->path = (struct str){target.p, mark ? (size_t)(mark - target.p) : target.n};
    head->query = mark ? (struct str){mark + 1, target.n - head->path.n - 1} : (struct str){0};
    if (!head->path.n && head->host.p)
        head->path = STR("/");
    return NULL;
}

static const char *read_line(struct str line, struct head *head)
{
    struct str target;
    if (!take_word(&line, &head->method) || !take_word(&line, &target))
        return wrong_line;
    bool version = line.n == 8 && str_starts(line, STR("HTTP/1.")) && str_is_digit(line.p[7]);
    head->old = version && line.p[7] == '0';
    if (!version || !header_is_token(head->method) || !target.n || has_control(target, false))
        return wrong_line;
    return read_target(target, head);
}

static const char *read_length(struct str value, int64_t *ret_length)
{
    *ret_length = 0;
    for (size_t i = 0; i < value.n; i++) {
        if (!str_is_digit(value.p[i]))
            return "Content-Length is a number.";
        *ret_length = *ret_length > (INT64_MAX - 9) / 10 ? INT64_MAX : *ret_length * 10 + (value.p[i] - '0');
    }
    return value.n ? NULL : "Content-Length is a number.";
}

static const char *read_field(struct str line, struct head *head)
{
    const char *colon = memchr(line.p, ':', line.n);
    if (!colon)
        return wrong_end;
    struct str name = {line.p, (size_t)(colon - line.p)}, value = str_trim((struct str){colon + 1, line.n - name.n - 1});
    if (!header_is_token(name) || has_control(value, true))
        return wrong_end;
    head->fields[head->field_count++] = (struct head_field){name, value};
    if (str_eq_nocase(name, STR("Content-Length"))) {
        if (head->length >= 0 || head->chunked)
            return wrong_frame;
        return read_length(value, &head->length);
    }
    if (str_eq_nocase(name, STR("Transfer-Encoding"))) {
        bool alone = head->length < 0 && !head->chunked;
        head->chunked = true;
        return alone && str_eq_nocase(value, STR("chunked")) ? NULL : wrong_frame;
    }
    if (str_eq_nocase(name, STR("Expect")))
        head->asks_first = true;
    else if (str_eq_nocase(name, STR("Connection")))
        head->closes |= header_has_word(value, STR("close"));
    return NULL;
}

static size_t count_lines(struct str bytes)
{
    size_t count = 0;
    for (const char *feed; bytes.n && (feed = memchr(bytes.p, '\n', bytes.n)); count++)
        bytes = (struct str){feed + 1, bytes.n - (size_t)(feed - bytes.p) - 1};
    return count;
}

static const char *check_hosts(struct head *head)
{
    int hosts = 0;
    for (size_t i = 0; i < head->field_count; i++)
        hosts += str_eq_nocase(head->fields[i].name, STR("Host"));
    if (!head->host.p)
        head->host = head_value(head, "Host");
    if (hosts > 1)
        return wrong_frame;
    if (head->old)
        return head->chunked ? "HTTP/1.0 has no Transfer-Encoding." : NULL;
    return hosts ? NULL : "HTTP/1.1 asks for the header Host.";
}

const char *head_read(struct str bytes, struct arena *arena, struct head *ret_head)
{
    struct str line;
    size_t lines = count_lines(bytes);
    *ret_head = (struct head){.length = -1};
    if (lines > FIELDS_MAX + 2)
        return "A request may have 256 headers.";
    ret_head->fields = arena_array(arena, struct head_field, lines);
    bool whole = take_line(&bytes, &line);
    const char *wrong = read_line(line = whole ? line : (struct str){0}, ret_head);
    while (whole && !wrong && (whole = take_line(&bytes, &line)) && line.n)
        wrong = read_field(line, ret_head);
    if (wrong || !whole)
        return wrong ? wrong : wrong_end;
    return check_hosts(ret_head);
}

struct str head_value(const struct head *head, const char *name)
{
    for (size_t i = 0; i < head->field_count; i++)
        if (str_eq_nocase(head->fields[i].name, str_of(name)))
            return head->fields[i].value;
    return (struct str){0};
}

size_t head_count(const struct head *head, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < head->field_count; i++)
        count += str_eq_nocase(head->fields[i].name, str_of(name));
    return count;
}

struct str head_list(const struct head *head, const char *name, struct arena *arena)
{
    buf_auto struct buf list = {0};
    struct str first = head_value(head, name);
    size_t count = 0;
    for (size_t i = 0; i < head->field_count; i++) {
        struct str value = head->fields[i].value;
        if (!str_eq_nocase(head->fields[i].name, str_of(name)))
            continue;
        if (count++)
            buf_putc(&list, ',');
        buf_put(&list, value);
    }
    return list.n > first.n ? arena_copy(arena, buf_str(&list)) : first;
}

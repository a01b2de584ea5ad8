// See text.h. How wide a character is says the C library, in a locale of its own: rota writes UTF-8 whatever the user's locale
// is.
#include "cli/show/text.h"

#include "base/mem.h"

#include <locale.h>
#include <wchar.h>

size_t text_rune(struct str text, uint32_t *ret_rune)
{
    if (!text.n)
        return 0;
    unsigned char first = (unsigned char)text.p[0];
    size_t n = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
    if (!n || n > text.n)
        return 0;
    uint32_t rune = n == 1 ? first : first & (0x7f >> n);
    for (size_t i = 1; i < n; i++) {
        unsigned char next = (unsigned char)text.p[i];
        if ((next & 0xc0) != 0x80)
            return 0;
        rune = rune << 6 | (next & 0x3f);
    }
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    if (rune < smallest[n] || rune > 0x10ffff || (rune >= 0xd800 && rune <= 0xdfff))
        return 0;
    *ret_rune = rune;
    return n;
}

bool text_valid(struct str text, size_t *ret_at)
{
    for (size_t at = 0; at < text.n;) {
        uint32_t rune;
        size_t n = text_rune((struct str){text.p + at, text.n - at}, &rune);
        if (!n || !rune) {
            *ret_at = at;
            return false;
        }
        at += n;
    }
    return true;
}

// C0 and C1 controls, and the marks and separators that make a terminal show another order or another line than was written.
static bool is_hidden(uint32_t rune)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {{0, 0x1f}, {0x7f, 0x9f}, {0x61c, 0x61c}, {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069}};
    for (size_t i = 0; i < array_count(ranges); i++)
        if (rune >= ranges[i].first && rune <= ranges[i].last)
            return true;
    return false;
}

static void put_hidden(struct buf *buf, uint32_t rune)
{
    if (rune == '\n')
        buf_puts(buf, "\\n");
    else if (rune == '\r')
        buf_puts(buf, "\\r");
    else if (rune == '\t')
        buf_puts(buf, "\\t");
    else
        buf_printf(buf, rune < 0x100 ? "\\x%02x" : "\\u%04x", rune);
}

// Writes the first character of *text and moves it on.
static void put_rune(struct buf *buf, struct str *text, bool lines)
{
    uint32_t rune;
    size_t n = text_rune(*text, &rune);
    if (!n)
        buf_puts(buf, "\xef\xbf\xbd");
    else if (is_hidden(rune) && !(lines && rune == '\n'))
        put_hidden(buf, rune);
    else
        buf_put(buf, (struct str){text->p, n});
    n = n ? n : 1;
    *text = (struct str){text->p + n, text->n - n};
}

void text_put_safe(struct buf *buf, struct str text, bool lines)
{
    while (text.n)
        put_rune(buf, &text, lines);
}

bool text_put_short(struct buf *buf, struct str text, size_t max)
{
    for (size_t count = 0; text.n; count++) {
        if (count == max) {
            buf_puts(buf, "…");
            return false;
        }
        put_rune(buf, &text, false);
    }
    return true;
}

static size_t rune_columns(uint32_t rune)
{
    static locale_t utf8;
    if (rune < 0x7f)
        return 1;
    if (!utf8)
        utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    if (!utf8)
        return 1;
    locale_t before = uselocale(utf8);
    int width = wcwidth((wchar_t)rune);
    uselocale(before);
    return width < 0 ? 1 : (size_t)width;
}

// The columns of the first character, and its bytes.
static size_t first_columns(struct str text, size_t *ret_bytes)
{
    uint32_t rune;
    size_t n = text_rune(text, &rune);
    *ret_bytes = n ? n : 1;
    return n ? rune_columns(rune) : 1;
}

size_t text_columns(struct str text)
{
    size_t columns = 0;
    for (size_t n; text.n; text = (struct str){text.p + n, text.n - n})
        columns += first_columns(text, &n);
    return columns;
}

void text_put_fitted(struct buf *buf, struct str text, size_t columns)
{
    if (text_columns(text) <= columns) {
        buf_put(buf, text);
        return;
    }
    for (size_t used = 0, n, width; text.n; text = (struct str){text.p + n, text.n - n}) {
        width = first_columns(text, &n);
        if (used + width + 1 > columns)
            break;
        buf_put(buf, (struct str){text.p, n});
        used += width;
    }
    if (columns)
        buf_puts(buf, "…");
}

void text_put_middle(struct buf *buf, struct str text, size_t columns)
{
    size_t all = text_columns(text), head = columns / 3;
    if (all <= columns || !head) {
        text_put_fitted(buf, text, columns);
        return;
    }
    text_put_fitted(buf, text, head); // with the mark
    for (size_t n, left = all; left > columns - head; text = (struct str){text.p + n, text.n - n})
        left -= first_columns(text, &n);
    buf_put(buf, text);
}

// From the opening to the closing quote. Returns what is behind it.
static struct str put_json_string(struct buf *buf, struct str text)
{
    bool escaped = false;
    for (bool inside = false; text.n;) {
        uint32_t rune = 0;
        size_t n = text_rune(text, &rune);
        if (n > 0 && is_hidden(rune))
            buf_printf(buf, "\\u%04x", rune);
        else
            buf_put(buf, (struct str){text.p, n ? n : 1});
        n = n ? n : 1;
        text = (struct str){text.p + n, text.n - n};
        if (inside && rune == '"' && !escaped)
            break;
        escaped = inside && rune == '\\' && !escaped;
        inside = true;
    }
    return text;
}

static void put_break(struct buf *buf, int depth, bool indent)
{
    if (!indent)
        return;
    buf_putc(buf, '\n');
    for (int i = 0; i < depth; i++)
        buf_puts(buf, "  ");
}

static struct str skip_space(struct str text)
{
    while (text.n && memchr(" \t\r\n", text.p[0], 4))
        text = (struct str){text.p + 1, text.n - 1};
    return text;
}

// Was an opening bracket written last? A string ends in a quote, so one inside of it is not mistaken for it.
static bool is_opened(const struct buf *buf)
{
    return buf->n && (buf->p[buf->n - 1] == '{' || buf->p[buf->n - 1] == '[');
}

// Brackets, commas and colons. Returns the depth afterwards.
static int put_json_mark(struct buf *buf, char mark, int depth, bool indent)
{
    bool open = mark == '{' || mark == '[', close = mark == '}' || mark == ']';
    if (close && !is_opened(buf))
        put_break(buf, depth - 1, indent);
    buf_putc(buf, mark);
    if (mark == ',')
        put_break(buf, depth, indent);
    if (mark == ':' && indent)
        buf_putc(buf, ' ');
    return depth + open - close;
}

static struct str put_json_word(struct buf *buf, struct str text)
{
    size_t n = 0;
    while (n < text.n && !memchr("{}[],: \t\r\n", text.p[n], 10))
        n++;
    buf_put(buf, (struct str){text.p, n});
    return (struct str){text.p + n, text.n - n};
}

void text_put_json(struct buf *buf, struct str json, bool indent)
{
    int depth = 0;
    for (json = skip_space(json); json.n; json = skip_space(json)) {
        char first = json.p[0];
        if (depth > 0 && first != '}' && first != ']' && is_opened(buf))
            put_break(buf, depth, indent);
        if (first == '"') {
            json = put_json_string(buf, json);
        } else if (memchr("{}[],:", first, 6)) {
            depth = put_json_mark(buf, first, depth, indent);
            json = (struct str){json.p + 1, json.n - 1};
        } else {
            json = put_json_word(buf, json);
        }
    }
}

// How many bytes the value at the start of `text` has.
static size_t json_length(struct str text)
{
    int depth = 0;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (c == '"')
            for (i++; i < text.n && text.p[i] != '"'; i++)
                i += text.p[i] == '\\';
        depth += (c == '{' || c == '[') - (c == '}' || c == ']');
        if (depth < 0 || (depth == 0 && memchr(",: \t\r\n", c, 6)))
            return i;
    }
    return text.n;
}

static struct str skip_mark(struct str text, const char *marks)
{
    text = skip_space(text);
    return text.n && strchr(marks, text.p[0]) ? skip_space((struct str){text.p + 1, text.n - 1}) : text;
}

bool text_json_next(struct str *rest, struct str *ret_item)
{
    *rest = skip_mark(*rest, "[{,");
    size_t n = json_length(*rest);
    *ret_item = (struct str){rest->p, n};
    *rest = (struct str){rest->p + n, rest->n - n};
    return n > 0;
}

struct str text_json_member(struct str object, const char *name)
{
    struct str key, value;
    while (text_json_next(&object, &key)) {
        object = skip_mark(object, ":");
        size_t n = json_length(object);
        value = (struct str){object.p, n};
        object = (struct str){object.p + n, object.n - n};
        if (key.n == strlen(name) + 2 && memcmp(key.p + 1, name, key.n - 2) == 0)
            return value;
    }
    return (struct str){0};
}

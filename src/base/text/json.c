// One strict pass over the text, then cheap walks over bytes that are known to be good.
//
// The pass looks at every byte once and allocates nothing, but for objects with many keys or with escapes in keys: their keys are
// gathered as they come and sorted, so that ten thousand of them cost n log n, however deep they lie. The walks trust the text:
// they only look for where a value ends. What it does not do: build a tree, turn numbers into doubles, or change a byte of what
// came.
#include "base/text/json.h"

#include "base/mem.h"
#include "base/text/utf8.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>

enum { KEYS_NEAR = 16 }; // up to so many keys are compared with each other; more are sorted

struct check {
    const char *start, *at, *end;
    const char *wrong; // what is wrong at `at`; NULL: nothing yet
    int depth;
    bool keys_known; // that no key is given twice, as of a text that was checked before
    // Keys behind the first KEYS_NEAR of the objects that are open, outermost first. An object takes its own away when it ends.
    struct str *far;
    size_t far_count, far_room;
};

// The keys of one object that were seen so far.
struct keys {
    struct str near[KEYS_NEAR];
    size_t count;
    bool escaped;
};

static bool check_value(struct check *check, struct json *ret_value);

// ---- bytes

static const uint64_t ONES = 0x0101010101010101u, HIGHS = 0x8080808080808080u;

// The first byte from `at` on that is a quote, a backslash, a control character or not ASCII; `end` when there is none. Eight
// bytes at a time: a borrow can only flag bytes behind one that is rightly flagged, and the first one is what counts.
static const char *skip_plain(const char *at, const char *end)
{
    while (end - at >= 8) {
        uint64_t x;
        memcpy(&x, at, 8);
        x = le64toh(x);
        uint64_t quote = x ^ ONES * '"', slash = x ^ ONES * '\\';
        uint64_t hits = (x | ((x - ONES * 0x20) & ~x) | ((quote - ONES) & ~quote) | ((slash - ONES) & ~slash)) & HIGHS;
        if (hits)
            return at + (__builtin_ctzll(hits) >> 3);
        at += 8;
    }
    while (at < end && (unsigned char)*at >= 0x20 && (unsigned char)*at < 0x80 && *at != '"' && *at != '\\')
        at++;
    return at;
}

static inline bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static inline const char *skip_space(const char *at, const char *end)
{
    while (at < end && is_space(*at))
        at++;
    return at;
}

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *skip_digits(const char *at, const char *end)
{
    while (at < end && is_digit(*at))
        at++;
    return at;
}

// The four digits behind \u, or -1.
static int32_t hex4(const char *at, const char *end)
{
    int32_t code = 0;
    if (end - at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int digit = str_hex(at[i]);
        if (digit < 0)
            return -1;
        code = code << 4 | digit;
    }
    return code;
}

// ---- the check

static bool fail(struct check *check, const char *at, const char *wrong)
{
    check->at = at;
    check->wrong = wrong;
    return false;
}

static const char single_escapes[] = "\"\\/bfnrt";
static const char single_bytes[] = "\"\\/\b\f\n\r\t";

// At a backslash.
static bool check_escape(struct check *check)
{
    const char *at = check->at, *end = check->end;
    if (end - at < 2)
        return fail(check, at, "a string is not closed");
    if (at[1] != 'u') {
        if (!at[1] || !strchr(single_escapes, at[1]))
            return fail(check, at, "there is no such escape");
        check->at += 2;
        return true;
    }
    int32_t code = hex4(at + 2, end);
    if (code < 0)
        return fail(check, at, "\\u needs four hexadecimal digits");
    if (code == 0)
        return fail(check, at, "a string must not hold NUL");
    if (code >= 0xdc00 && code < 0xe000)
        return fail(check, at, "a low surrogate without a high one before it");
    check->at += 6;
    if (code < 0xd800 || code >= 0xe000)
        return true;
    int32_t low = end - check->at >= 6 && check->at[0] == '\\' && check->at[1] == 'u' ? hex4(check->at + 2, end) : -1;
    if (low < 0xdc00 || low >= 0xe000)
        return fail(check, at, "a high surrogate without a low one behind it");
    check->at += 6;
    return true;
}

// At the opening quote.
static bool check_string(struct check *check, struct json *ret_value, bool *ret_escaped)
{
    const char *open = check->at++;
    *ret_escaped = false;
    for (;;) {
        const char *at = check->at = skip_plain(check->at, check->end);
        if (at == check->end)
            return fail(check, open, "a string is not closed");
        if (*at == '"')
            break;
        if (*at == '\\') {
            *ret_escaped = true;
            if (!check_escape(check))
                return false;
        } else if ((unsigned char)*at < 0x20) {
            return fail(check, at, *at ? "a control character in a string must be escaped" : "a string must not hold NUL");
        } else {
            int length = utf8_length(at, check->end);
            if (!length)
                return fail(check, at, "this is not UTF-8");
            check->at += length;
        }
    }
    check->at++;
    *ret_value = (struct json){JSON_STRING, {open, (size_t)(check->at - open)}};
    return true;
}

// What follows an `e`, as a number; held within what an exponent can matter.
static int64_t read_exponent(const char *at, const char *end)
{
    static const int64_t most = 1000000000000;
    bool negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+'))
        at++;
    int64_t value = 0;
    for (; at < end && is_digit(*at); at++)
        value = value < most ? value * 10 + (*at - '0') : most;
    return negative ? -value : value;
}

// Whether a double can hold it: not so large that it becomes infinite, not so small that it becomes 0. Decided on the decimal
// digits: where the first one stands, and, at the upper edge, how they compare with the largest double.
static bool in_range_of_double(struct str number)
{
    static const char largest[] = "17976931348623158079";
    const char *at = number.p, *end = at + number.n;
    int64_t place = -1; // the first digit's power of ten, once there is one that is not 0
    bool found = false, point = false;
    char digits[sizeof largest] = "00000000000000000000";
    size_t kept = 0;
    for (; at < end && *at != 'e' && *at != 'E'; at++) {
        if (*at == '.')
            point = true;
        if (!is_digit(*at))
            continue;
        found = found || *at != '0';
        place += point ? (found ? 0 : -1) : (found ? 1 : 0);
        if (found && kept < sizeof digits - 1)
            digits[kept++] = *at;
    }
    if (!found)
        return true;
    place += at < end ? read_exponent(at + 1, end) : 0;
    return place >= -324 && (place < 308 || (place == 308 && memcmp(digits, largest, sizeof largest - 1) <= 0));
}

static bool check_number(struct check *check, struct json *ret_value)
{
    const char *open = check->at, *at = open, *end = check->end;
    if (*at == '-')
        at++;
    if (at == end || !is_digit(*at))
        return fail(check, open, "a number needs a digit here");
    at = *at == '0' ? at + 1 : skip_digits(at, end);
    if (at < end && is_digit(*at))
        return fail(check, open, "a number must not begin with 0");
    bool plain = at - open < 300;
    if (at < end && *at == '.') {
        if (at + 1 == end || !is_digit(at[1]))
            return fail(check, at, "a number needs a digit behind its point");
        at = skip_digits(at + 1, end);
        plain = at - open < 300;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        const char *exponent = at + 1 < end && (at[1] == '-' || at[1] == '+') ? at + 2 : at + 1;
        if (exponent == end || !is_digit(*exponent))
            return fail(check, at, "a number needs a digit in its exponent");
        at = skip_digits(exponent, end);
        plain = false;
    }
    struct str raw = {open, (size_t)(at - open)};
    if (!plain && !in_range_of_double(raw))
        return fail(check, open, "a number is too large or too small to be represented");
    check->at = at;
    *ret_value = (struct json){JSON_NUMBER, raw};
    return true;
}

static bool check_word(struct check *check, struct str word, enum json_type type, struct json *ret_value)
{
    if (!str_starts((struct str){check->at, (size_t)(check->end - check->at)}, word))
        return fail(check, check->at, "a value was expected here");
    *ret_value = (struct json){type, {check->at, word.n}};
    check->at += word.n;
    return true;
}

struct key {
    struct str text;
    const char *at;
};

static int compare_keys(const void *a, const void *b)
{
    const struct key *left = a, *right = b;
    if (left->text.n != right->text.n)
        return left->text.n < right->text.n ? -1 : 1;
    int order = left->text.n ? memcmp(left->text.p, right->text.p, left->text.n) : 0;
    return order ? order : left->at < right->at ? -1 : left->at > right->at;
}

static struct str inside(struct str quoted)
{
    return (struct str){quoted.p + 1, quoted.n - 2};
}

static struct str decode(struct str text, struct arena *arena);

// Whether any key of an object is given twice, compared decoded.
static bool check_many_keys(struct check *check, const struct keys *keys)
{
    struct arena arena;
    arena_init(&arena);
    size_t far = keys->count > KEYS_NEAR ? keys->count - KEYS_NEAR : 0;
    struct key *sorted = mem_alloc(keys->count * sizeof *sorted);
    for (size_t i = 0; i < keys->count; i++) {
        struct str raw = i < KEYS_NEAR ? keys->near[i] : check->far[check->far_count - far + i - KEYS_NEAR];
        sorted[i] = (struct key){decode(inside(raw), &arena), raw.p};
    }
    check->far_count -= far;
    qsort(sorted, keys->count, sizeof *sorted, compare_keys);
    const char *twice = NULL;
    for (size_t i = 1; i < keys->count && !twice; i++)
        if (str_eq(sorted[i].text, sorted[i - 1].text))
            twice = sorted[i].at;
    mem_free(sorted);
    arena_done(&arena);
    return twice ? fail(check, twice, "a key is given twice in one object") : true;
}

static void keep_far(struct check *check, struct str key)
{
    if (check->far_count == check->far_room) {
        check->far_room = check->far_room ? 2 * check->far_room : 64;
        check->far = mem_grow(check->far, check->far_room * sizeof *check->far);
    }
    check->far[check->far_count++] = key;
}

static bool check_key(struct check *check, struct keys *keys)
{
    struct json key;
    bool escaped;
    if (check->at == check->end || *check->at != '"')
        return fail(check, check->at, "a key in quotes was expected here");
    if (!check_string(check, &key, &escaped))
        return false;
    if (check->keys_known)
        return true;
    keys->escaped |= escaped;
    for (size_t i = 0; i < keys->count && i < KEYS_NEAR; i++)
        if (keys->near[i].n == key.raw.n && memcmp(keys->near[i].p, key.raw.p, key.raw.n) == 0)
            return fail(check, key.raw.p, "a key is given twice in one object");
    if (keys->count < KEYS_NEAR)
        keys->near[keys->count] = key.raw;
    else
        keep_far(check, key.raw);
    keys->count++;
    return true;
}

static bool check_member(struct check *check, struct keys *keys)
{
    struct json value;
    if (!check_key(check, keys))
        return false;
    check->at = skip_space(check->at, check->end);
    if (check->at == check->end || *check->at != ':')
        return fail(check, check->at, "a colon was expected here");
    check->at = skip_space(check->at + 1, check->end);
    return check_value(check, &value);
}

// At the opening bracket of an object (keys given) or array: its members with commas between them.
static bool check_members(struct check *check, char close, struct keys *keys)
{
    struct json item;
    if (++check->depth > JSON_DEPTH_MAX)
        return fail(check, check->at, "this is nested too deeply (32 levels are allowed)");
    check->at = skip_space(check->at + 1, check->end);
    bool more = check->at == check->end || *check->at != close;
    while (more) {
        if (keys ? !check_member(check, keys) : !check_value(check, &item))
            return false;
        check->at = skip_space(check->at, check->end);
        if (check->at == check->end || (*check->at != ',' && *check->at != close))
            return fail(check, check->at, keys ? "a comma or } was expected here" : "a comma or ] was expected here");
        more = *check->at == ',';
        if (more)
            check->at = skip_space(check->at + 1, check->end);
    }
    check->at++;
    check->depth--;
    return true;
}

static bool check_object(struct check *check, struct json *ret_value)
{
    const char *open = check->at;
    struct keys keys;
    keys.count = 0;
    keys.escaped = false;
    if (!check_members(check, '}', &keys))
        return false;
    *ret_value = (struct json){JSON_OBJECT, {open, (size_t)(check->at - open)}};
    return (keys.escaped && keys.count > 1) || keys.count > KEYS_NEAR ? check_many_keys(check, &keys) : true;
}

static bool check_array(struct check *check, struct json *ret_value)
{
    const char *open = check->at;
    if (!check_members(check, ']', NULL))
        return false;
    *ret_value = (struct json){JSON_ARRAY, {open, (size_t)(check->at - open)}};
    return true;
}

static bool check_value(struct check *check, struct json *ret_value)
{
    bool escaped;
    if (check->at == check->end)
        return fail(check, check->at, "the text ends where a value was expected");
    switch (*check->at) {
    case '"':
        return check_string(check, ret_value, &escaped);
    case '{':
        return check_object(check, ret_value);
    case '[':
        return check_array(check, ret_value);
    case 't':
        return check_word(check, STR("true"), JSON_TRUE, ret_value);
    case 'f':
        return check_word(check, STR("false"), JSON_FALSE, ret_value);
    case 'n':
        return check_word(check, STR("null"), JSON_NULL, ret_value);
    default:
        if (*check->at != '-' && !is_digit(*check->at))
            return fail(check, check->at, "a value was expected here");
        return check_number(check, ret_value);
    }
}

// Columns count characters, so that they agree with what an editor shows.
static void say_why(const struct check *check, char why[ERR_WHY_MAX])
{
    size_t line = 1, column = 1;
    for (const char *at = check->start; at < check->at; at++) {
        if (*at == '\n') {
            line++;
            column = 1;
        } else if (((unsigned char)*at & 0xc0) != 0x80) {
            column++;
        }
    }
    snprintf(why, ERR_WHY_MAX, "Line %zu, column %zu: %s.", line, column, check->wrong);
}

static enum err check_text(struct str text, bool keys_known, struct json *ret_value, char why[ERR_WHY_MAX])
{
    const char *start = text.n ? text.p : "";
    struct check check = {.start = start, .end = start + text.n, .keys_known = keys_known};
    struct json value;
    check.at = skip_space(start, check.end);
    bool good = check_value(&check, &value);
    if (good) {
        check.at = skip_space(check.at, check.end);
        good = check.at == check.end || fail(&check, check.at, "there is more text behind the value");
    }
    mem_free(check.far);
    if (!good) {
        say_why(&check, why);
        return ERR_INVALID_JSON;
    }
    *ret_value = value;
    return ERR_OK;
}

enum err json_check(struct str text, struct json *ret_value, char why[ERR_WHY_MAX])
{
    return check_text(text, false, ret_value, why);
}

enum err json_check_again(struct str text, struct json *ret_value, char why[ERR_WHY_MAX])
{
    return check_text(text, true, ret_value, why);
}

// ---- walks over checked text

// At the opening quote; to behind the closing one.
static const char *past_string(const char *at, const char *end)
{
    for (at++;; at++) {
        at = skip_plain(at, end);
        if (*at == '"')
            return at + 1;
        if (*at == '\\')
            at++;
    }
}

// At the opening bracket; to behind its closing one.
static const char *past_nested(const char *at, const char *end)
{
    int depth = 0;
    do {
        char c = *at;
        if (c == '"') {
            at = past_string(at, end);
            continue;
        }
        depth += (c == '{' || c == '[') - (c == '}' || c == ']');
        at++;
    } while (depth);
    return at;
}

static const char *past_number(const char *at, const char *end)
{
    while (at < end && *at != ',' && *at != '}' && *at != ']' && !is_space(*at))
        at++;
    return at;
}

static struct json value_at(const char *at, const char *end)
{
    const char *past;
    enum json_type type;
    switch (*at) {
    case '"':
        type = JSON_STRING, past = past_string(at, end);
        break;
    case '{':
        type = JSON_OBJECT, past = past_nested(at, end);
        break;
    case '[':
        type = JSON_ARRAY, past = past_nested(at, end);
        break;
    case 't':
        type = JSON_TRUE, past = at + 4;
        break;
    case 'f':
        type = JSON_FALSE, past = at + 5;
        break;
    case 'n':
        type = JSON_NULL, past = at + 4;
        break;
    default:
        type = JSON_NUMBER, past = past_number(at, end);
    }
    return (struct json){type, {at, (size_t)(past - at)}};
}

struct json_iter json_iter(struct json value)
{
    if (value.type != JSON_OBJECT && value.type != JSON_ARRAY)
        return (struct json_iter){NULL, NULL};
    const char *end = value.raw.p + value.raw.n - 1;
    return (struct json_iter){skip_space(value.raw.p + 1, end), end};
}

bool json_next_item(struct json_iter *iter, struct json *ret_value)
{
    if (iter->at == iter->end)
        return false;
    *ret_value = value_at(iter->at, iter->end);
    iter->at = skip_space(ret_value->raw.p + ret_value->raw.n, iter->end);
    if (iter->at < iter->end) // the comma
        iter->at = skip_space(iter->at + 1, iter->end);
    return true;
}

bool json_next(struct json_iter *iter, struct json *ret_key, struct json *ret_value)
{
    if (iter->at == iter->end)
        return false;
    const char *past = past_string(iter->at, iter->end);
    *ret_key = (struct json){JSON_STRING, {iter->at, (size_t)(past - iter->at)}};
    past = skip_space(past, iter->end); // to the colon
    iter->at = skip_space(past + 1, iter->end);
    return json_next_item(iter, ret_value);
}

// Writes the character that the escape at *at stands for, and moves *at behind it.
static int decode_escape(const char **at, const char *end, char ret_bytes[4])
{
    const char *p = *at;
    if (p[1] != 'u') {
        ret_bytes[0] = single_bytes[strchr(single_escapes, p[1]) - single_escapes];
        *at += 2;
        return 1;
    }
    uint32_t code = (uint32_t)hex4(p + 2, end);
    *at += 6;
    if (code >= 0xd800 && code < 0xe000) {
        code = 0x10000 + ((code - 0xd800) << 10) + ((uint32_t)hex4(p + 8, end) - 0xdc00);
        *at += 6;
    }
    int length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (int i = length - 1; i > 0; i--, code >>= 6)
        ret_bytes[i] = (char)(0x80 | (code & 0x3f));
    ret_bytes[0] = (char)(marks[length] | code);
    return length;
}

static struct str decode_all(struct str text, struct arena *arena)
{
    char *out = arena_alloc(arena, text.n + 1); // an escape is never shorter than what it stands for
    size_t n = 0;
    for (const char *at = text.p, *end = at + text.n; at < end;) {
        if (*at == '\\')
            n += (size_t)decode_escape(&at, end, out + n);
        else
            out[n++] = *at++;
    }
    return (struct str){out, n};
}

static struct str decode(struct str text, struct arena *arena)
{
    return memchr(text.p, '\\', text.n) ? decode_all(text, arena) : text;
}

struct str json_text(struct json value, struct arena *arena)
{
    return decode(inside(value.raw), arena);
}

// Whether the string between these quotes, decoded, is `name`.
static bool text_is(struct str text, struct str name)
{
    if (!memchr(text.p, '\\', text.n))
        return str_eq(text, name);
    const char *at = text.p, *end = at + text.n;
    size_t done = 0;
    while (at < end) {
        char bytes[4];
        int n = 1;
        if (*at == '\\')
            n = decode_escape(&at, end, bytes);
        else
            bytes[0] = *at++;
        if (name.n - done < (size_t)n || memcmp(name.p + done, bytes, (size_t)n) != 0)
            return false;
        done += (size_t)n;
    }
    return done == name.n;
}

struct json json_member(struct json object, struct str name)
{
    struct json key, value;
    struct json_iter iter = json_iter(object);
    while (object.type == JSON_OBJECT && json_next(&iter, &key, &value))
        if (text_is(inside(key.raw), name))
            return value;
    return (struct json){JSON_ABSENT, {NULL, 0}};
}

// value = value * 10^zeros, then + digit.
static bool add_digit(uint64_t *value, int64_t zeros, unsigned digit)
{
    if (*value)
        for (; zeros > 0; zeros--)
            if (__builtin_mul_overflow(*value, (uint64_t)10, value))
                return false;
    return !__builtin_add_overflow(*value, (uint64_t)digit, value);
}

bool json_int(struct json value, int64_t *ret_value)
{
    if (value.type != JSON_NUMBER)
        return false;
    const char *at = value.raw.p, *end = at + value.raw.n;
    bool negative = *at == '-', point = false;
    uint64_t sum = 0;
    int64_t zeros = 0, scale = 0; // zeros at the end wait, so that 1.000 needs no fraction and 1e3 no digits
    for (at += negative; at < end && *at != 'e' && *at != 'E'; at++) {
        if (*at == '.') {
            point = true;
            continue;
        }
        scale -= point;
        zeros++;
        if (*at == '0')
            continue;
        if (!add_digit(&sum, zeros, (unsigned)(*at - '0')))
            return false;
        zeros = 0;
    }
    scale += zeros + (at < end ? read_exponent(at + 1, end) : 0);
    if (sum && (scale < 0 || !add_digit(&sum, scale, 0)))
        return false;
    if (sum > (uint64_t)INT64_MAX + negative)
        return false;
    *ret_value = (int64_t)(negative ? 0 - sum : sum);
    return true;
}

// ---- writing

static void put_special(struct buf *buf, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    const char *single = c ? strchr(single_bytes, c) : NULL;
    if (single) {
        buf_putc(buf, '\\');
        buf_putc(buf, single_escapes[single - single_bytes]);
        return;
    }
    buf_puts(buf, "\\u00");
    buf_putc(buf, hex[c >> 4]);
    buf_putc(buf, hex[c & 15]);
}

void json_put_string(struct buf *buf, struct str text)
{
    buf_reserve(buf, text.n + 2);
    buf_putc(buf, '"');
    const char *at = text.p, *end = at + text.n;
    while (at < end) {
        const char *plain = skip_plain(at, end);
        buf_put(buf, (struct str){at, (size_t)(plain - at)});
        if ((at = plain) == end)
            break;
        int length = utf8_length(at, end);
        if (length > 1)
            buf_put(buf, (struct str){at, (size_t)length});
        else if (length)
            put_special(buf, (unsigned char)*at);
        else
            buf_puts(buf, "\xef\xbf\xbd");
        at += length ? length : 1;
    }
    buf_putc(buf, '"');
}

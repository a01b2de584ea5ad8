// base/text/json: what is checked can be walked, decoded and written again; and jansson, an independent reader, takes the same
// texts.
#include "base/mem.h"
#include "base/text/json.h"
#include "fuzz.h"
#include "other_json.h"

#include <math.h>

enum { CUTS_MAX = 200, MEMBERS_MAX = 32 };

static void walk(struct json value, struct str within, struct arena *arena);

static bool lies_in(struct str part, struct str whole)
{
    return part.n && part.p >= whole.p && part.p + part.n <= whole.p + whole.n;
}

// Decoded, written and decoded again it is the same text; and what is written is JSON.
static void check_text(struct json value, struct arena *arena)
{
    buf_auto struct buf written = {0};
    struct json again;
    char why[ERR_WHY_MAX];
    struct str text = json_text(value, arena);
    must(!text.n || !memchr(text.p, 0, text.n));
    json_put_string(&written, text);
    must(json_check(buf_str(&written), &again, why) == ERR_OK);
    must(again.type == JSON_STRING);
    must(str_eq(json_text(again, arena), text));
}

static void check_number(struct json value, struct arena *arena)
{
    const char *text = arena_copy(arena, value.raw).p;
    double real = strtod(text, NULL);
    int64_t whole;
    must(isfinite(real));
    if (json_int(value, &whole))
        must((double)whole == real); // both are rounded to the nearest
    if (value.raw.n <= 18 && strspn(text, "-0123456789") == value.raw.n) {
        must(json_int(value, &whole));
        must(whole == strtoll(text, NULL, 10));
    }
}

static void walk_object(struct json value, struct arena *arena)
{
    struct json key, member;
    int count = 0;
    for (struct json_iter iter = json_iter(value); json_next(&iter, &key, &member); count++) {
        must(key.type == JSON_STRING);
        walk(key, value.raw, arena);
        walk(member, value.raw, arena);
        if (count < MEMBERS_MAX) // finding is linear; no key is there twice, so it finds this one
            must(json_member(value, json_text(key, arena)).raw.p == member.raw.p);
    }
}

static void walk(struct json value, struct str within, struct arena *arena)
{
    struct json item, alone;
    char why[ERR_WHY_MAX];
    must(lies_in(value.raw, within));
    must(json_check(value.raw, &alone, why) == ERR_OK);
    must(alone.type == value.type);
    must(str_eq(alone.raw, value.raw));
    if (value.type == JSON_STRING)
        check_text(value, arena);
    else if (value.type == JSON_NUMBER)
        check_number(value, arena);
    else if (value.type == JSON_OBJECT)
        walk_object(value, arena);
    else if (value.type == JSON_ARRAY)
        for (struct json_iter iter = json_iter(value); json_next_item(&iter, &item);)
            walk(item, value.raw, arena);
}

// jansson knows no limit of 32 levels, takes a number that is too small for one that is 0, and overlooks a NUL behind a word.
static void compare(struct str text, bool good, const char *why)
{
    bool theirs = other_json_takes(text);
    bool stricter = strstr(why, "nested too deeply") || strstr(why, "too small") || (text.n && memchr(text.p, 0, text.n));
    must(theirs || !good);
    must(good || stricter || !theirs);
}

// Nothing but the whole of an object or array is one.
static void check_cuts(struct json value)
{
    struct json cut;
    char why[ERR_WHY_MAX];
    if ((value.type != JSON_OBJECT && value.type != JSON_ARRAY) || value.raw.n > CUTS_MAX)
        return;
    for (size_t n = 0; n < value.raw.n; n++)
        must(json_check((struct str){value.raw.p, n}, &cut, why) == ERR_INVALID_JSON);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = fuzz_input(data, size);
    struct json value;
    char why[ERR_WHY_MAX] = "";
    struct arena arena;
    arena_init(&arena);
    bool good = json_check(text, &value, why) == ERR_OK;
    must(good || str_starts(str_of(why), STR("Line ")));
    compare(text, good, why);
    if (good) {
        walk(value, text, &arena);
        check_cuts(value);
    }
    arena_done(&arena);
    return 0;
}

// The one user of jansson in the command line. Numbers are only read here, and written only for people to look at, so nothing is
// lost by its number types: what programs read keeps its bytes (text_put_json).
#include "cli/server/value.h"

#include <jansson.h>
#include <string.h>

static const json_t *plain(const struct value *value)
{
    return (const json_t *)value;
}

struct value *value_parse(struct str text)
{
    json_t *json = json_loadb(text.n ? text.p : "", text.n, JSON_ALLOW_NUL, NULL);
    // Integers of any size may stand in a body; as they are not computed with, a rounded one is better than no answer.
    if (!json)
        json = json_loadb(text.n ? text.p : "", text.n, JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, NULL);
    if (json && !json_is_object(json)) {
        json_decref(json);
        return NULL;
    }
    return (struct value *)json;
}

void value_free(struct value *value)
{
    json_decref((json_t *)value);
}

const struct value *value_at(const struct value *object, const char *path)
{
    const json_t *json = plain(object);
    while (json) {
        size_t n = strcspn(path, ".");
        json = json_object_getn(json, path, n);
        if (!path[n])
            break;
        path += n + 1;
    }
    return json_is_null(json) ? NULL : (const struct value *)json;
}

const struct value *value_member(const struct value *object, const char *name)
{
    return (const struct value *)json_object_get(plain(object), name);
}

const struct value *value_item(const struct value *array, size_t index)
{
    return (const struct value *)json_array_get(plain(array), index);
}

size_t value_count(const struct value *array)
{
    return json_array_size(plain(array));
}

struct str value_text(const struct value *value)
{
    return (struct str){json_string_value(plain(value)), json_string_length(plain(value))};
}

int64_t value_int(const struct value *value, int64_t otherwise)
{
    const json_t *json = plain(value);
    if (json_is_integer(json))
        return json_integer_value(json);
    double number = json_is_real(json) ? json_real_value(json) : 1e300;
    return number > -9e15 && number < 9e15 ? (int64_t)number : otherwise;
}

double value_number(const struct value *value, double otherwise)
{
    return value_is_number(value) ? json_number_value(plain(value)) : otherwise;
}

bool value_is_object(const struct value *value)
{
    return json_is_object(plain(value));
}

bool value_is_number(const struct value *value)
{
    return json_is_number(plain(value));
}

bool value_true(const struct value *value)
{
    return json_is_true(plain(value));
}

bool value_false(const struct value *value)
{
    return json_is_false(plain(value));
}

static int put_bytes(const char *bytes, size_t n, void *buf)
{
    buf_put(buf, (struct str){bytes, n});
    return 0;
}

void value_put_json(struct buf *buf, const struct value *value)
{
    enum { DIGITS = 15 }; // the most that a double keeps, so that 0.1 stays 0.1
    if (value)
        json_dump_callback(plain(value), put_bytes, buf, JSON_ENCODE_ANY | JSON_REAL_PRECISION(DIGITS));
}

void value_each(const struct value *object, void (*each)(void *ctx, struct str name, const struct value *value), void *ctx)
{
    json_t *json = (json_t *)object;
    for (void *at = json_object_iter(json); at; at = json_object_iter_next(json, at))
        each(ctx, (struct str){json_object_iter_key(at), json_object_iter_key_len(at)},
             (const struct value *)json_object_iter_value(at));
}

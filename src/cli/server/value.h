// A server's answer, read: JSON values looked at by path. jansson is known only to value.c.
// Layer: cli. One owner at a time.
//
// The API's own reader (base/text/json) is stricter than this one may be: it refuses NUL in strings, and a target may have
// answered one.
#pragma once
#include "base/buf.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct value;

struct value *value_parse(struct str text); // an object, or NULL when the text is none
void value_free(struct value *value);       // only what value_parse returned; accepts NULL

// What the functions below return lives as long as what value_parse returned. All accept NULL, which is the absent value.

const struct value *value_at(const struct value *object, const char *path);     // "retry.max"; NULL when absent or null
const struct value *value_member(const struct value *object, const char *name); // exactly this name, with its dots
const struct value *value_item(const struct value *array, size_t index);        // NULL at the end
size_t value_count(const struct value *array);                                  // 0 when it is none
struct str value_text(const struct value *value);                               // .p is NULL unless it is a string
int64_t value_int(const struct value *value, int64_t otherwise);
double value_number(const struct value *value, double otherwise);
bool value_is_object(const struct value *value);
bool value_is_number(const struct value *value);
bool value_true(const struct value *value);
bool value_false(const struct value *value);

// As JSON on one line, for people: large numbers may be rounded. Nothing for the absent value.
void value_put_json(struct buf *buf, const struct value *value);

// Calls `each` for every member of an object.
void value_each(const struct value *object, void (*each)(void *ctx, struct str name, const struct value *value), void *ctx);

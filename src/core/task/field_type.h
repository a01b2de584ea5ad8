// The plain types of fields: texts, choices, numbers, times and JSON as it came.
// Layer: core, pure.
#pragma once
#include "core/task/field.h"

extern const struct field_type field_type_text;     // a struct str of min to max bytes
extern const struct field_type field_type_word;     // a struct str that is one of `any`
extern const struct field_type field_type_either;   // a bool: the first of `any` is false, the second true
extern const struct field_type field_type_choice;   // an enum: which of `any` it is
extern const struct field_type field_type_flag;     // a bool
extern const struct field_type field_type_number;   // an int32_t from min to max
extern const struct field_type field_type_limit;    // an int64_t from min to max; 0: none
extern const struct field_type field_type_duration; // an int64_t of min to max milliseconds; -1: none, or null where that counts
extern const struct field_type field_type_time;     // an int64_t, wall-clock milliseconds; 0: none
extern const struct field_type field_type_json;     // a struct json of any kind

// What types of a single field are made of.
err_check enum err field_type_take_text(struct field_reader *reader, const struct field *field, struct json value, void *to);
bool field_type_put_text(const struct field *field, const void *from, struct buf *buf);
err_check enum err field_type_take_time(struct field_reader *reader, const struct field *field, struct json value, void *to);
bool field_type_put_time(const struct field *field, const void *from, struct buf *buf);
void field_type_put_duration(int64_t ms, struct buf *buf);

// A struct json that is an object of strings, without the space between them. What stands inside the quotes is kept as it came.
bool field_type_put_strings(const struct field *field, const void *from, struct buf *buf);

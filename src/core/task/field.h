// The fields of a JSON object, as a table. A row says what a field is called, of which type it is, where its value goes and what
// is allowed. Reading looks a name up in the table and writing walks down it, so what is accepted and what is shown stay one.
// Layer: core, pure. What is read are slices of the document, or of the arena where escapes had to be decoded.
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/text/json.h"
#include "core/problem.h"

#include <stdint.h>

struct field;
struct field_form;
struct field_group;
struct fields;

// An object while it is read.
struct field_reader {
    void *object; // what the offsets of the rows count from
    struct arena *arena;
    struct problem *why;
    const char *within;             // the JSON pointer of the object: "" or "/retry"
    const struct field_form *form;  // the one whose fields were given; NULL: none yet
    const struct field *form_field; // the first of them
};

// How one type of field is read and written (core/task/field_type has the plain ones). take() gets a value that is not null,
// unless null counts. put() writes the value, or returns false when there is none to show. A field that is an object of fields
// has those instead of a put().
struct field_type {
    enum err (*take)(struct field_reader *reader, const struct field *field, struct json value, void *to);
    bool (*put)(const struct field *field, const void *from, struct buf *buf);
    const struct fields *of;
};

#define FIELD_NAME(text) .name = {text, sizeof(text) - 1}, .head = {",\"" text "\":", sizeof(text) + 3}

enum { FIELD_DEPENDENT_MAX = 64 };

struct field {
    struct str name, head; // FIELD_NAME(): the name, and what is written before the value
    const struct field_type *type;
    size_t offset;                   // in the object, or in what the object has for its group
    const struct field_form *form;   // the one it belongs to; NULL: every object may have it
    const struct field_group *group; // the one it belongs to; NULL: it is kept in the object itself
    int64_t min, max;                // of a number, a duration in ms, or a text's length in bytes
    const char *const *any;          // the words that are allowed; NULL: not a choice
    // What an object would need to have this field, such as "cron or every"; NULL: it has that. A field without such a function
    // is one that every object may have. A row that has one is among the first FIELD_DEPENDENT_MAX of its table.
    const char *(*lacks)(const void *object);
    bool null_counts; // null is a value and not the default
    bool old;         // there were keys already that had its default in their digests. Never of a field that is added
};

// One of several forms that a part of an object can have, such as the target of a task. Each form has fields of its own, and an
// object has those of exactly one.
struct field_form {
    const char *name; // "an http target"
    struct str key;   // the text that it must have: its name, where it is kept within the part, and what is said without it
    size_t key_offset;
    const char *key_missing;
    const void *defaults; // the part before any field of this form is given
};

// Fields that few objects have, such as those of a recurring task. They are kept apart, and the object has a pointer to them,
// which is NULL until one of them is given; so the other objects need no room for them, and none of them is shown.
struct field_group {
    size_t pointer; // where it is in the object
    size_t size;
    const void *defaults; // before any field of the group is given
};

struct fields {
    const struct field *rows;
    size_t count;         // any number
    const char *what;     // whose fields they are: "a task"
    const void *defaults; // the object before anything is given
    const char *part;     // what comes in several forms: "target". NULL: nothing does
    size_t part_offset, part_size;
    const struct field_form *usual_form; // what is said to be missing of an object that has fields of no form
    // Refuses a name that no row has, if more can be said of it than that; ERR_OK: nothing more. NULL: never.
    enum err (*refuse_name)(struct field_reader *reader, const struct fields *fields, struct str name);
};

// Reads an object into reader->object, which holds the defaults. A refusal is said in reader->why.
err_check enum err field_read_all(struct field_reader *reader, const struct fields *fields, struct json object);

// For whom an object is written: for people, who see every field; or for the digest of a key, which must not have a field that a
// later release has added and nobody gave.
enum field_audience { FIELD_FOR_PEOPLE, FIELD_FOR_KEYS };

// Writes the members of an object of this form (or NULL) without its braces, in the order of the table. A field for which the
// object lacks something is left out.
void field_write_all(const struct fields *fields, const struct field_form *form, const void *object, enum field_audience audience,
                     struct buf *buf);

// Refusals. They fill reader->why and return `err`.
enum err field_refuse(struct field_reader *reader, enum err err, struct str name, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
#define field_refuse_value(reader, field, ...) field_refuse((reader), ERR_INVALID_FIELD, (field)->name, __VA_ARGS__)

// A refusal of one entry of a field that is itself an object: /headers/Host.
#define field_refuse_entry(reader, field, entry, ...) \
    (field_refuse_value((reader), (field), __VA_ARGS__), problem_point((reader)->why, (entry)), ERR_INVALID_FIELD)

// A statement on its way to PostgreSQL: its text, its parameters, and the rows of a batch it works on.
// Layer: port, private to this folder. What is made here belongs to one session.
//
// A statement is written as one text, in which
//
//   @jobs                     is a table of this store's schema
//   {ready} {waiting} {first_final}   are states: `words` in sql.c lists all of these names
//   {job} {moving of step}    are column lists: see columns.h
//   {steps}                   is a part the caller gives: a batch of rows, as a SELECT in brackets
//   {held: text} {not held: text}     is text that belongs to it only if the part `held` is on, or off
#pragma once
#include "base/arena.h"
#include "base/buf.h"

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

// A statement may be longer than the 4095 bytes that C promises for a literal. Every compiler that builds rota takes more.
#pragma GCC diagnostic ignored "-Woverlength-strings"

enum { PG_PARAMS_MAX = 128, PG_COLUMNS_MAX = 44 };

struct pg_session;

// ---- rows

enum pg_kind { PG_INT, PG_BYTES, PG_TEXT, PG_IDS }; // lists of ids travel as text in a batch

struct pg_column {
    const char *name;
    enum pg_kind kind;
    int64_t *ints;
    struct str *strs; // an empty one is NULL
};

// The rows of a batch, column by column. A column that has one value throughout travels as one value, the others as arrays.
struct pg_rows {
    struct arena *arena;
    size_t count;
    int width;
    struct pg_column columns[PG_COLUMNS_MAX];
};

void pg_rows_init(struct pg_rows *rows, struct arena *arena, size_t count);
int64_t *pg_rows_ints(struct pg_rows *rows, const char *name); // to be filled in by the caller, `count` of them
struct str *pg_rows_strs(struct pg_rows *rows, const char *name, enum pg_kind kind);
struct str pg_ids_text(const int64_t *ids, size_t count, struct arena *arena); // an array, as text; none is empty

// ---- text and parameters

struct pg_query {
    struct buf sql;
    bool once;          // its text does not come again, so it needs no name
    struct arena arena; // what the parameters point to
    int count;
    Oid types[PG_PARAMS_MAX];
    const char *values[PG_PARAMS_MAX];
    int lengths[PG_PARAMS_MAX], formats[PG_PARAMS_MAX];
};

// What a name in a statement stands for.
struct pg_part {
    const char *name;
    bool on;                    // whether {name: …} is in the text
    const struct pg_rows *rows; // {name} is these rows, with all their columns and `no`, which counts them
    const char *sql;            // or this text
};

void pg_begin_query(struct pg_session *session);
void pg_put(struct pg_session *session, const char *sql);
void pg_put_parts(struct pg_session *session, const char *sql, const struct pg_part *parts); // the last one has no name
#define pg_put_with(session, sql, ...) pg_put_parts((session), (sql), (const struct pg_part[]){__VA_ARGS__, {0}})
#define PG_ROWS(part, values)            \
    {                                    \
        .name = (part), .rows = (values) \
    }
#define PG_IF(part, is_on)            \
    {                                 \
        .name = (part), .on = (is_on) \
    }
#define PG_TEXT_OF(part, text)        \
    {                                 \
        .name = (part), .sql = (text) \
    }

// Parameters count from $1 in the order they are added; each function returns the number of its own. Those of a batch's rows get
// theirs where the rows stand in the text, so the others are added before it is put.
int pg_param_int(struct pg_session *session, int64_t value);
int pg_param_text(struct pg_session *session, struct str text);
int pg_param_bytes(struct pg_session *session, struct str bytes);
int pg_param_ints(struct pg_session *session, const int64_t *values, size_t count);
void pg_param_each(struct pg_session *session, const int64_t *values, size_t count); // a parameter for each

// ---- answers

int64_t pg_int(const PGresult *result, int row, int column); // of any width; 0 for NULL
struct str pg_bytes(const PGresult *result, int row, int column, struct arena *arena);
const int64_t *pg_ids(const PGresult *result, int row, int column, struct arena *arena, size_t *ret_count); // an array of bigint

// A statement: its text is put together from what stands for something in it, and its parameters are packed as PostgreSQL reads
// them, in binary. What it does not do: send it. That is the session's part.
#include "store/postgres/postgres.h"

#include <assert.h>
#include <endian.h>
#include <stdio.h>

enum { OID_INT8 = 20, OID_INT8S = 1016, OID_BYTES = 17, OID_BYTESS = 1001, OID_TEXT = 25, OID_TEXTS = 1009 };

// ---- parameters

static int add_param(struct pg_session *session, Oid type, const char *value, size_t length)
{
    struct pg_query *query = &session->query;
    assert(query->count < PG_PARAMS_MAX);
    query->types[query->count] = type;
    query->values[query->count] = value;
    query->lengths[query->count] = (int)length;
    query->formats[query->count] = 1;
    return ++query->count;
}

int pg_param_int(struct pg_session *session, int64_t value)
{
    uint64_t *bytes = arena_alloc(&session->query.arena, sizeof *bytes);
    *bytes = htobe64((uint64_t)value);
    return add_param(session, OID_INT8, (const char *)bytes, sizeof *bytes);
}

int pg_param_text(struct pg_session *session, struct str text)
{
    return add_param(session, OID_TEXT, text.n ? text.p : "", text.n);
}

int pg_param_bytes(struct pg_session *session, struct str bytes)
{
    return add_param(session, OID_BYTES, bytes.n ? bytes.p : "", bytes.n);
}

static char *put_u32(char *at, uint32_t value)
{
    value = htobe32(value);
    memcpy(at, &value, sizeof value);
    return at + sizeof value;
}

// The head of an array of one dimension, as PostgreSQL reads it.
static char *put_array_head(char *at, size_t count, Oid element)
{
    at = put_u32(at, count ? 1 : 0);
    at = put_u32(at, 1); // there may be NULLs
    at = put_u32(at, element);
    if (!count)
        return at;
    at = put_u32(at, (uint32_t)count);
    return put_u32(at, 1);
}

enum { ARRAY_HEAD = 20 };

int pg_param_ints(struct pg_session *session, const int64_t *values, size_t count)
{
    char *bytes = arena_alloc_many(&session->query.arena, count + 2, 12), *at = put_array_head(bytes, count, OID_INT8);
    for (size_t i = 0; i < count; i++) {
        at = put_u32(at, 8);
        uint64_t value = htobe64((uint64_t)values[i]);
        memcpy(at, &value, sizeof value);
        at += sizeof value;
    }
    return add_param(session, OID_INT8S, bytes, (size_t)(at - bytes));
}

void pg_param_each(struct pg_session *session, const int64_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        pg_param_int(session, values[i]);
}

static int param_strs(struct pg_session *session, const struct str *values, size_t count, Oid element, Oid type)
{
    size_t size = ARRAY_HEAD + 4 * count;
    for (size_t i = 0; i < count; i++)
        size += values[i].n;
    char *bytes = arena_alloc(&session->query.arena, size), *at = put_array_head(bytes, count, element);
    for (size_t i = 0; i < count; i++) {
        at = put_u32(at, values[i].n ? (uint32_t)values[i].n : UINT32_MAX); // -1: NULL
        if (values[i].n)
            memcpy(at, values[i].p, values[i].n);
        at += values[i].n;
    }
    return add_param(session, type, bytes, (size_t)(at - bytes));
}

// ---- rows

void pg_rows_init(struct pg_rows *rows, struct arena *arena, size_t count)
{
    rows->arena = arena;
    rows->count = count;
    rows->width = 0;
}

static struct pg_column *add_column(struct pg_rows *rows, const char *name, enum pg_kind kind)
{
    assert(rows->width < PG_COLUMNS_MAX);
    struct pg_column *column = &rows->columns[rows->width++];
    *column = (struct pg_column){.name = name, .kind = kind};
    return column;
}

int64_t *pg_rows_ints(struct pg_rows *rows, const char *name)
{
    struct pg_column *column = add_column(rows, name, PG_INT);
    return column->ints = arena_array(rows->arena, int64_t, rows->count);
}

struct str *pg_rows_strs(struct pg_rows *rows, const char *name, enum pg_kind kind)
{
    struct pg_column *column = add_column(rows, name, kind);
    return column->strs = arena_array(rows->arena, struct str, rows->count);
}

struct str pg_ids_text(const int64_t *ids, size_t count, struct arena *arena)
{
    enum { ID_CHARS = 21 }; // with its sign and the comma before it
    if (!count)
        return (struct str){0};
    size_t size = count * ID_CHARS + 3, at = 0;
    char *text = arena_alloc(arena, size);
    for (size_t i = 0; i < count; i++)
        at += (size_t)snprintf(text + at, size - at, "%c%lld", i ? ',' : '{', (long long)ids[i]);
    at += (size_t)snprintf(text + at, size - at, "}");
    return (struct str){text, at};
}

// Whether one value says it all. Texts are compared only with nothing.
static bool is_constant(const struct pg_column *column, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (column->kind == PG_INT ? column->ints[i] != column->ints[0] : column->strs[i].n > 0)
            return false;
    return true;
}

static void put_constant(struct pg_session *session, const struct pg_column *column)
{
    struct buf *sql = &session->query.sql;
    if (column->kind == PG_INT)
        buf_printf(sql, ",$%d AS %s", pg_param_int(session, column->ints[0]), column->name);
    else
        buf_printf(sql, ",NULL::%s AS %s", column->kind == PG_TEXT ? "text" : "bytea", column->name);
}

static int param_column(struct pg_session *session, const struct pg_column *column, size_t count)
{
    if (column->kind == PG_INT)
        return pg_param_ints(session, column->ints, count);
    return column->kind == PG_TEXT ? param_strs(session, column->strs, count, OID_TEXT, OID_TEXTS)
                                   : param_strs(session, column->strs, count, OID_BYTES, OID_BYTESS);
}

// As a SELECT in brackets. `no` counts the rows.
static void put_rows(struct pg_session *session, const struct pg_rows *rows)
{
    struct buf *sql = &session->query.sql;
    buf_auto struct buf from = {0}, names = {0};
    int64_t *numbers = arena_array(rows->arena, int64_t, rows->count);
    for (size_t i = 0; i < rows->count; i++)
        numbers[i] = (int64_t)i;
    buf_puts(sql, "(SELECT u.*");
    buf_printf(&from, "$%d", pg_param_ints(session, numbers, rows->count));
    buf_puts(&names, "no");
    for (int i = 0; i < rows->width; i++) {
        const struct pg_column *column = &rows->columns[i];
        if (rows->count && is_constant(column, rows->count)) {
            put_constant(session, column);
            continue;
        }
        buf_printf(&from, ",$%d", param_column(session, column, rows->count));
        buf_printf(&names, ",%s", column->name);
    }
    buf_printf(sql, " FROM unnest(" STR_FMT ") u(" STR_FMT "))", STR_ARG(buf_str(&from)), STR_ARG(buf_str(&names)));
}

// ---- text

// Numbers that statements call by name: the states of jobs and bulks, a kind of dispatch, and limits that the code has, too.
static const struct word {
    const char *name;
    int value;
    int second; // then it is a list of two, in brackets
} words[] = {
#define X(name, text, final) {text, JOB_##name, 0},
    JOB_STATES(X)
#undef X
        {"waiting", JOB_DELAYED, JOB_READY}, // in its lane, to be claimed: job_state_waiting()
    {"held", JOB_WATCHING, JOB_RESERVED},    // somebody has it in hand, or it has a lease: job_state_held()
    {"first_final", JOB_SUCCESS, 0},         // states from here on are final
    {"first_failed", JOB_ABORTED, 0},        // and from here on they are no success
    {"by_schedule", TRIGGER_SCHEDULE, 0},
    {"bulk_running", STORE_BULK_RUNNING, 0},
    {"called", TARGET_CALLED, 0},
    {"places", STORE_PLACES, 0},           // of a lane, as many numbers are kept for it
    {"last_place", JOB_PRIORITIES - 1, 0}, // as many of them are used: one for each priority
    {"stripes", PG_STRIPES, 0},
    {"small_doc", STORE_SMALL_DOC, 0},
    {"page_bytes", STORE_PAGE_BYTES, 0},
    {"listed_result", STORE_LISTED_RESULT, 0},
    {"task_bytes", STORE_TASK_BYTES, 0},
    {"plan_bytes", STORE_PLAN_BYTES, 0},
    {"job_bytes", STORE_JOB_BYTES, 0},
    {"attempt_bytes", STORE_ATTEMPT_BYTES, 0},
    {"look_floor", PG_LOOK_FLOOR, 0},
    {"look_old", PG_LOOK_OLD, 0},
};

static bool put_word(struct buf *sql, struct str name)
{
    for (size_t i = 0; i < array_count(words); i++)
        if (name.p[0] == words[i].name[0] && str_is(name, words[i].name)) { // most differ in the first letter
            if (words[i].second)
                buf_printf(sql, "(%d,%d)", words[i].value, words[i].second);
            else
                buf_put_int(sql, words[i].value);
            return true;
        }
    return false;
}

static const struct pg_part *find_part(const struct pg_part *parts, struct str name)
{
    while (parts->name && !str_is(name, parts->name))
        parts++;
    return parts->name ? parts : NULL;
}

static const char *put_text(struct pg_session *session, const char *sql, const struct pg_part *parts);

static void put_name(struct pg_session *session, struct str name, const struct pg_part *parts)
{
    struct buf *sql = &session->query.sql;
    const struct pg_part *part = find_part(parts, name);
    if (part && part->rows) {
        put_rows(session, part->rows);
    } else if (part && part->sql) {
        put_text(session, part->sql, parts);
    } else {
        bool known = put_word(sql, name) || pg_put_columns(sql, name);
        assert(known);
    }
}

static bool is_on(struct str name, const struct pg_part *parts)
{
    struct str no = STR("not ");
    bool negated = str_starts(name, no);
    if (negated)
        name = (struct str){name.p + no.n, name.n - no.n};
    const struct pg_part *part = find_part(parts, name);
    assert(part);
    return part->on != negated;
}

// The brace that closes the text.
static const char *skip_text(const char *sql)
{
    for (int depth = 0;; sql++) {
        sql += strcspn(sql, "{}");
        assert(*sql);
        if (*sql == '{')
            depth++;
        else if (depth-- == 0)
            return sql;
    }
}

// What stands behind an opening brace, up to the one that closes it, which is returned.
static const char *put_brace(struct pg_session *session, const char *sql, const struct pg_part *parts)
{
    struct str name = {sql, strcspn(sql, ":}")};
    sql += name.n;
    if (*sql == '}')
        put_name(session, name, parts);
    else
        sql = is_on(name, parts) ? put_text(session, sql + 1, parts) : skip_text(sql + 1);
    assert(*sql == '}');
    return sql;
}

// Up to the end, or to a closing brace that none has opened in it. Returns where that is.
static const char *put_text(struct pg_session *session, const char *sql, const struct pg_part *parts)
{
    struct buf *buf = &session->query.sql;
    for (;; sql++) {
        size_t n = strcspn(sql, "@{}");
        buf_put(buf, (struct str){sql, n});
        sql += n;
        if (*sql == '@')
            buf_puts(buf, session->pg->schema);
        else if (*sql == '{')
            sql = put_brace(session, sql + 1, parts);
        else
            return sql;
    }
}

void pg_put_parts(struct pg_session *session, const char *sql, const struct pg_part *parts)
{
    const char *end = put_text(session, sql, parts);
    assert(!*end);
}

void pg_put(struct pg_session *session, const char *sql)
{
    pg_put_parts(session, sql, &(const struct pg_part){0});
}

void pg_begin_query(struct pg_session *session)
{
    session->query.sql.n = 0;
    session->query.once = false;
    session->query.count = 0;
    arena_done(&session->query.arena);
    arena_init(&session->query.arena);
}

// ---- answers

int64_t pg_int(const PGresult *result, int row, int column)
{
    const char *value = PQgetvalue(result, row, column);
    uint64_t wide;
    uint32_t half;
    uint16_t quarter;
    switch (PQgetlength(result, row, column)) {
    case 8:
        memcpy(&wide, value, sizeof wide);
        return (int64_t)be64toh(wide);
    case 4:
        memcpy(&half, value, sizeof half);
        return (int32_t)be32toh(half);
    case 2:
        memcpy(&quarter, value, sizeof quarter);
        return (int16_t)be16toh(quarter);
    case 1:
        return value[0];
    default:
        return 0;
    }
}

struct str pg_bytes(const PGresult *result, int row, int column, struct arena *arena)
{
    struct str bytes = {PQgetvalue(result, row, column), (size_t)PQgetlength(result, row, column)};
    return bytes.n ? arena_copy(arena, bytes) : (struct str){0};
}

// PostgreSQL sends an array as its head, and then the length of each element before its value. One that is empty has a shorter
// head.
const int64_t *pg_ids(const PGresult *result, int row, int column, struct arena *arena, size_t *ret_count)
{
    enum { ELEMENT = 12 };
    const char *at = PQgetvalue(result, row, column) + ARRAY_HEAD;
    int length = PQgetlength(result, row, column);
    *ret_count = length > ARRAY_HEAD ? (size_t)(length - ARRAY_HEAD) / ELEMENT : 0;
    int64_t *ids = *ret_count ? arena_array(arena, int64_t, *ret_count) : NULL;
    for (size_t i = 0; i < *ret_count; i++) {
        uint64_t value;
        memcpy(&value, at + i * ELEMENT + 4, sizeof value);
        ids[i] = (int64_t)be64toh(value);
    }
    return ids;
}

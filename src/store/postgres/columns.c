// Column lists as texts, and records on their way in and out of statements. All of it follows from the tables in columns.h.
#include "store/postgres/columns.h"
#include "store/postgres/postgres.h"

// ---- lists

enum role {
    FIXED = 1,
    PLANNED = 2,
    CLAIMED = 4,
    TOKEN = 8,
    ATTEMPT = 16,
    BRIEF = 32,
    ANSWER = 64,
    OF_BULK = 128,
    STORED = 256,
    DECIDED = 512
};

#define KIND_bigint PG_INT
#define KIND_int PG_INT
#define KIND_smallint PG_INT
#define KIND_bytea PG_BYTES
#define KIND_text PG_TEXT
#define KIND_ids PG_IDS

struct field {
    const char *name;
    enum pg_kind kind;
    enum role role;
};

#define FIELD(name, type, role) {#name, KIND_##type, role},
#define FIELD_OF_BULK(name) {#name, PG_INT, OF_BULK},
static const struct field job_fields[] = {PG_JOB(FIELD)};
static const struct field attempt_fields[] = {PG_ATTEMPT(FIELD)};
static const struct field plan_fields[] = {PG_PLAN(FIELD)};
static const struct field bulk_fields[] = {BULK_MOVING(FIELD_OF_BULK)};

static const struct columns {
    const char *name;
    const struct field *fields;
    size_t count;
    unsigned roles;
} lists[] = {
    {"job", job_fields, array_count(job_fields), FIXED | PLANNED | CLAIMED | TOKEN | ATTEMPT},
    {"fixed", job_fields, array_count(job_fields), FIXED},
    {"moving", job_fields, array_count(job_fields), PLANNED | CLAIMED | TOKEN | ATTEMPT},
    {"kept", job_fields, array_count(job_fields), FIXED | PLANNED | TOKEN},
    {"attempted", job_fields, array_count(job_fields), ATTEMPT},
    {"attempt", attempt_fields, array_count(attempt_fields), BRIEF | ANSWER},
    {"brief", attempt_fields, array_count(attempt_fields), BRIEF},
    {"bulk", bulk_fields, array_count(bulk_fields), OF_BULK},
    {"plan", plan_fields, array_count(plan_fields), STORED | DECIDED},
    {"decided", plan_fields, array_count(plan_fields), DECIDED},
};

#define BIT_IF_NOT_FIXED(name, type, role) | (role == FIXED ? 0 : PG_BIT(name))
#define BIT(name, type, role) | PG_BIT(name)
const uint64_t pg_job_all = 0 PG_JOB(BIT), pg_job_moving = 0 PG_JOB(BIT_IF_NOT_FIXED);

static const struct columns *find_list(struct str name)
{
    for (size_t i = 0; i < array_count(lists); i++)
        if (str_is(name, lists[i].name))
            return &lists[i];
    return NULL;
}

// Takes the first word off a text.
static struct str take_word(struct str *text)
{
    const char *blank = text->n ? memchr(text->p, ' ', text->n) : NULL;
    struct str word = {text->p, blank ? (size_t)(blank - text->p) : text->n};
    size_t taken = blank ? word.n + 1 : word.n;
    *text = (struct str){text->p + taken, text->n - taken};
    return word;
}

// How the columns of a list are written.
struct form {
    bool set, clear;
    struct str alias;
    struct str other, other_alias; // a column that another relation has
};

static void put_field(struct buf *sql, const struct field *field, const struct form *form)
{
    struct str alias = form->other.n && str_is(form->other, field->name) ? form->other_alias : form->alias;
    if (form->set || form->clear) {
        buf_puts(sql, field->name);
        buf_putc(sql, '=');
    }
    if (form->clear) {
        buf_puts(sql, field->kind == PG_INT ? "0" : "NULL");
        return;
    }
    if (alias.n) {
        buf_put(sql, alias);
        buf_putc(sql, '.');
    }
    buf_puts(sql, field->name);
    if (alias.n && field->kind == PG_IDS)
        buf_puts(sql, "::bigint[]"); // in a batch it is text
}

bool pg_put_columns(struct buf *sql, struct str name)
{
    struct form form = {0};
    struct str first = take_word(&name);
    form.set = str_is(first, "set");
    form.clear = str_is(first, "clear");
    const struct columns *list = find_list(form.set || form.clear ? take_word(&name) : first);
    if (!list)
        return false;
    take_word(&name); // of, from
    form.alias = take_word(&name);
    take_word(&name); // but
    form.other = take_word(&name);
    take_word(&name); // of
    form.other_alias = take_word(&name);
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++)
        if (list->fields[i].role & list->roles) {
            if (count++)
                buf_putc(sql, ',');
            put_field(sql, &list->fields[i], &form);
        }
    return true;
}

// ---- records on their way in

#define FILL_ints(rows, records, name)                 \
    {                                                  \
        int64_t *values = pg_rows_ints((rows), #name); \
        for (size_t i = 0; i < (rows)->count; i++)     \
            values[i] = (records)[i]->name;            \
    }
#define FILL_bigint(rows, records, name) FILL_ints(rows, records, name)
#define FILL_int(rows, records, name) FILL_ints(rows, records, name)
#define FILL_smallint(rows, records, name) FILL_ints(rows, records, name)
#define FILL_bytea(rows, records, name)                             \
    {                                                               \
        struct str *values = pg_rows_strs((rows), #name, PG_BYTES); \
        for (size_t i = 0; i < (rows)->count; i++)                  \
            values[i] = (records)[i]->name;                         \
    }

#define FILL_text(rows, records, name)                             \
    {                                                              \
        struct str *values = pg_rows_strs((rows), #name, PG_TEXT); \
        for (size_t i = 0; i < (rows)->count; i++)                 \
            values[i] = (records)[i]->name;                        \
    }
#define FILL_ids(rows, records, name)                                                               \
    {                                                                                               \
        struct str *values = pg_rows_strs((rows), #name, PG_TEXT);                                  \
        for (size_t i = 0; i < (rows)->count; i++)                                                  \
            values[i] = pg_ids_text((records)[i]->name, (records)[i]->name##_count, (rows)->arena); \
    }

void pg_rows_job(struct pg_rows *rows, const struct job *const *jobs, uint64_t columns)
{
#define X(name, type, role)     \
    if (columns & PG_BIT(name)) \
    FILL_##type(rows, jobs, name)
    PG_JOB(X)
#undef X
}

void pg_rows_touched(struct pg_rows *rows, const struct job *const *jobs)
{
    FILL_bigint(rows, jobs, touched_at)
}

void pg_rows_lease(struct pg_rows *rows, const struct job *const *jobs)
{
    FILL_bigint(rows, jobs, lease_until) FILL_bytea(rows, jobs, result)
}

void pg_rows_attempts(struct pg_rows *rows, const struct attempt *const *attempts)
{
    FILL_int(rows, attempts, number)
#define X(name, type, role) FILL_##type(rows, attempts, name)
        PG_ATTEMPT(X)
#undef X
}

void pg_rows_plans(struct pg_rows *rows, const struct plan *const *plans)
{
#define X(name, type, role) FILL_##type(rows, plans, name)
    PG_PLAN(X)
#undef X
}

const struct job **pg_rows_steps(struct pg_rows *rows, struct arena *arena, const struct store_step *const *steps, size_t count)
{
    const struct job **jobs = arena_array(arena, const struct job *, count);
    pg_rows_init(rows, arena, count);
    int64_t *expected = pg_rows_ints(rows, "expected");
    for (size_t i = 0; i < count; i++) {
        jobs[i] = steps[i]->job;
        expected[i] = steps[i]->token;
    }
    pg_rows_job(rows, jobs, PG_BIT(id) | pg_job_moving);
    return jobs;
}

// ---- and out

#define READ_bigint(name) pg_int(result, row, column++)
#define READ_int READ_bigint
#define READ_smallint READ_bigint
#define READ_bytea(name) pg_bytes(result, row, column++, arena)
#define READ_text READ_bytea
#define READ_ids(name) pg_ids(result, row, column++, arena, &plan->name##_count)

int pg_read_job(const PGresult *result, int row, int column, struct job *ret_job, struct arena *arena)
{
#define X(name, type, role) ret_job->name = READ_##type(name);
    PG_JOB(X)
#undef X
    ret_job->lease_until = ret_job->touched_at = 0;
    ret_job->result = (struct str){0};
    ret_job->result_left_out = false;
    return column;
}

// No text is kept.
int pg_read_kept(const PGresult *result, int row, int column, struct job *job)
{
#define NUMBER_bigint(name) job->name = pg_int(result, row, column++)
#define NUMBER_int NUMBER_bigint
#define NUMBER_smallint NUMBER_bigint
#define NUMBER_bytea(name) assert(!"a claim gives no text back")
#define X(name, type, role)                 \
    if ((role) & (FIXED | PLANNED | TOKEN)) \
        NUMBER_##type(name);
    PG_JOB(X)
#undef X
    return column;
}

int pg_read_lease(const PGresult *result, int row, int column, struct job *job, struct arena *arena)
{
    job->touched_at = pg_int(result, row, column++);
    job->lease_until = pg_int(result, row, column++);
    bool is_there = !PQgetisnull(result, row, column++);
    job->result = pg_bytes(result, row, column++, arena);
    job->result_left_out = is_there && !job->result.n;
    return column;
}

void pg_read_store_jobs(const PGresult *result, struct arena *arena, struct store_job **ret_jobs, size_t *ret_count)
{
    for (int row = 0; row < PQntuples(result); row++) {
        *ret_jobs = store_push(arena, *ret_jobs, *ret_count, sizeof **ret_jobs);
        struct store_job *job = &(*ret_jobs)[(*ret_count)++];
        int at = pg_read_job(result, row, 0, &job->job, arena);
        job->doc = pg_bytes(result, row, at, arena);
        job->version = pg_int(result, row, at + 1);
    }
}

struct store_task pg_read_task(const PGresult *result, int row, int column, struct arena *arena)
{
    struct store_task task = {.id = pg_int(result, row, column),
                              .tenant = (int32_t)pg_int(result, row, column + 1),
                              .created_at = pg_int(result, row, column + 2),
                              .updated_at = pg_int(result, row, column + 3),
                              .version = pg_int(result, row, column + 4),
                              .paused = pg_int(result, row, column + 5),
                              .dispatch = (enum target_dispatch)pg_int(result, row, column + 6)};
    task.queue = pg_bytes(result, row, column + 7, arena);
    task.name = pg_bytes(result, row, column + 8, arena);
    task.doc = pg_bytes(result, row, column + 9, arena);
    return task;
}

static const struct plan *read_plan(const PGresult *result, int row, int column, struct arena *arena)
{
    struct plan *plan = arena_alloc(arena, sizeof *plan);
#define X(name, type, role) plan->name = READ_##type(name);
    PG_PLAN(X)
#undef X
    return plan;
}

struct store_task pg_read_task_and_plan(const PGresult *result, int row, struct arena *arena)
{
    enum { PLAN_AT = 10 }; // behind the columns of PG_TASK
    struct store_task task = pg_read_task(result, row, 0, arena);
    if (!PQgetisnull(result, row, PLAN_AT))
        task.plan = read_plan(result, row, PLAN_AT, arena);
    return task;
}

static void read_attempt(struct store_get *get, const PGresult *result, int row)
{
    struct arena *arena = &get->op.arena;
    int column = 0;
    get->attempts = store_push(arena, get->attempts, get->attempt_count, sizeof *get->attempts);
    struct attempt *attempt = &get->attempts[get->attempt_count++];
    *attempt = (struct attempt){.job_id = pg_int(result, row, column++)};
    attempt->number = (int32_t)pg_int(result, row, column++);
#define X(name, type, role) attempt->name = READ_##type(name);
    PG_ATTEMPT(X)
#undef X
}

// Only attempts of jobs that are given are wanted.
void pg_read_attempts(void *ctx, const PGresult *result)
{
    struct store_get *get = ctx;
    int rows = PQntuples(result);
    for (size_t i = 0; i < get->job_count && rows && !get->op.err; i++) {
        int low = 0, high = rows;
        while (low < high) {
            int middle = low + (high - low) / 2;
            if (pg_int(result, middle, 0) < get->jobs[i].id)
                low = middle + 1;
            else
                high = middle;
        }
        for (; low < rows && pg_int(result, low, 0) == get->jobs[i].id; low++)
            read_attempt(get, result, low);
    }
    store_sort_attempts(get->attempts, get->attempt_count);
}

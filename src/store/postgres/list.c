// LIST: pages of tasks and of jobs.
//
// Rows are found by an index: that of the list, or a tag, or the state that failed. Of several of these their rows are counted
// first. How many rows were looked at is how many the index has: a row of tags whose job is not there counts as one that does not
// match, so it does not end the list.
//
// A row of tags, or a task, does not say under which day its job is filed. Whoever has many such ids looks up the day of the
// first, takes all that lie there, and goes on with the rest: it looks into as many days as the jobs are in, and not for each job
// into each day.
//
// libpq holds a whole answer in memory, so what is large is asked for last. The first statement looks at rows by an index and
// says of those that match only their keys and how many bytes their records have. Where the page ends follows from that, here.
// Then the records are asked for by the ids that are left.
#include "store/postgres/postgres.h"

#include <stdio.h>

_Static_assert(STORE_TASK_BYTES == 256 && STORE_JOB_BYTES == 256 && STORE_ATTEMPT_BYTES == 128, "the SQL below says so");
#define TASK_BYTES(t) "256+coalesce(octet_length(" t ".doc),0)"
#define JOB_BYTES \
    "256+coalesce(octet_length(j.reason),0)+coalesce(octet_length(j.response),0)+coalesce(octet_length(" PG_LISTED_RESULT "),0)"
#define ATTEMPTS_BYTES(job) \
    "(SELECT coalesce(sum(128+coalesce(octet_length(a.reason),0)),0)::bigint FROM @attempts a WHERE a.job_id=" job ")"

// $1 tenant, $2 and $3 the place it begins behind, $4 look, $5 max, $6 the task or 0, $7 the tag that rows are found by or 0, and
// $8 the queue, if there is one.
// clang-format off
#define NEWEST_JOBS " ORDER BY j.scheduled_at DESC, j.id DESC LIMIT $4+1"
static const char of_tenant[] = " j WHERE j.tenant=$1 AND (j.scheduled_at,j.id)<($2,$3)";
#define LOOKED_JOB "j.scheduled_at AS at, j.id, j.task_id, j.lane, j.state, " JOB_BYTES " AS bytes, "
// The days that jobs are filed under, with those of each; what is not found is left out. `ids` are in descending order. OFFSET 0
// keeps PostgreSQL from putting a subquery wherever its value is used.
#define FILED(ids) \
    " filed(day,ids,rest) AS (SELECT NULL::int, NULL::bigint[], ARRAY(" ids ")" \
    " UNION ALL SELECT d.day, h.ids, ARRAY(SELECT unnest(f.rest[2:]) EXCEPT SELECT unnest(h.ids) ORDER BY 1 DESC) FROM filed f" \
    " CROSS JOIN LATERAL (SELECT (SELECT j.day FROM @jobs_done j WHERE j.id=f.rest[1] LIMIT 1) AS day OFFSET 0) d" \
    " CROSS JOIN LATERAL (SELECT ARRAY(SELECT j.id FROM @jobs_done j WHERE j.day=d.day AND j.id=ANY(f.rest)) AS ids OFFSET 0) h" \
    " WHERE cardinality(f.rest)>0)"
#define FROM_FILED "@jobs_done j ON j.day=f.day AND j.id=ANY(f.ids)"
static const char first_tagged[] =
    "WITH RECURSIVE tagged AS MATERIALIZED (SELECT g.at, g.id FROM @tags g WHERE g.tenant=$1 AND g.tag=$7 AND (g.at,g.id)<($2,$3)";
static const char newest_tagged[] = " ORDER BY g.at DESC, g.id DESC LIMIT $4+1)";
static const char live_tagged[] =
    ", live AS MATERIALIZED (SELECT " LOOKED_JOB "-1 AS day FROM @jobs j WHERE j.id=" PG_ANY("SELECT id FROM tagged") ")";
static const char done_tagged[] =
    "," FILED("SELECT id FROM tagged EXCEPT SELECT id FROM live ORDER BY 1 DESC")
    ", jobs AS MATERIALIZED (SELECT * FROM live UNION ALL SELECT " LOOKED_JOB "j.day FROM filed f JOIN " FROM_FILED ")";
static const char only_live_tagged[] = ", jobs AS (SELECT * FROM live)";
static const char looked_tagged[] =
    ", looked AS MATERIALIZED (SELECT g.at, g.id, j.task_id, j.lane, j.state, j.bytes, j.day FROM tagged g"
    " LEFT JOIN jobs j ON j.id=g.id AND j.at=g.at)";
static const char looked_tagged_tasks[] =
    ", looked AS MATERIALIZED (SELECT g.at, g.id, t.lane, t.name, " TASK_BYTES("t") " AS bytes FROM tagged g"
    " LEFT JOIN @tasks t ON " PG_IS("t.id", "g.id") " AND t.tenant=$1)";
static const char is_there[] = " AND r.lane IS NOT NULL";
static const char of_task[] =
    " AND j.id=" PG_ANY("SELECT $6 UNION SELECT id FROM @extras WHERE task_id=$6") " AND j.task_id=$6";
static const char looked_tasks[] =
    "WITH looked AS MATERIALIZED (SELECT 0::bigint AS at, t.id, t.lane, t.name, " TASK_BYTES("t") " AS bytes FROM @tasks t"
    " WHERE t.tenant=$1 AND t.id<$3";
static const char one_task[] = " AND t.id=$6";
static const char newest_tasks[] = " ORDER BY t.id DESC LIMIT $4+1)";
static const char if_queue[] = " AND EXISTS (SELECT FROM @lanes WHERE tenant=$1 AND queue=$8)";
static const char of_queue[] = " AND r.lane=(SELECT id FROM @lanes WHERE tenant=$1 AND queue=$8)";
static const char rank_looked[] =
    ", ranked AS MATERIALIZED (SELECT r.*, row_number() OVER (ORDER BY r.at DESC, r.id DESC) AS rank FROM looked r)"
    ", ends AS MATERIALIZED (SELECT (SELECT count(*) FROM looked) AS count, r.at, r.id FROM ranked r"
    " WHERE r.rank=least($4,(SELECT count(*) FROM looked)))"
    ", page AS MATERIALIZED (SELECT * FROM ranked r WHERE r.rank<=$4";
static const char page_of_tasks[] =
    " ORDER BY r.rank LIMIT $5)"
    " SELECT e.count, e.at, e.id, p.rank, p.at, p.id, p.bytes FROM ends e LEFT JOIN page p ON true ORDER BY p.rank";
#define PAGE_OF_JOBS(doc_bytes) \
    " ORDER BY r.rank LIMIT $5)" \
    " SELECT e.count, e.at, e.id, p.rank, p.at, p.id, p.bytes+" ATTEMPTS_BYTES("p.id") doc_bytes ", p.day" \
    " FROM ends e LEFT JOIN page p ON true ORDER BY p.rank"
static const char page_of_jobs[] = PAGE_OF_JOBS("");
static const char page_of_jobs_with_docs[] =
    PAGE_OF_JOBS("+coalesce((SELECT " TASK_BYTES("t") " FROM @tasks t WHERE t.id=p.task_id),0)");

// $1 the tasks, $2 how many of each.
#define JOB_OF_TASK "j.task_id, j.state, j.scheduled_at, j.id, " JOB_BYTES " AS bytes, "
static const char keys_of_jobs[] =
    "WITH RECURSIVE ids AS MATERIALIZED (SELECT unnest($1::bigint[]) AS id UNION SELECT id FROM @extras WHERE task_id=ANY($1)),"
    " live AS MATERIALIZED (SELECT " JOB_OF_TASK "-1 AS day FROM @jobs j WHERE j.id=" PG_ANY("SELECT id FROM ids") " AND j.task_id=ANY($1)),"
    FILED("SELECT id FROM ids EXCEPT SELECT id FROM live ORDER BY 1 DESC") ","
    " found AS (SELECT * FROM live UNION ALL SELECT " JOB_OF_TASK "j.day FROM filed f JOIN " FROM_FILED " WHERE j.task_id=ANY($1)),"
    " ranked AS (SELECT f.*, row_number() OVER (PARTITION BY f.task_id ORDER BY (f.state>=5), f.scheduled_at DESC, f.id DESC) AS rank FROM found f)"
    " SELECT r.task_id, r.id, r.bytes+" ATTEMPTS_BYTES("r.id") ", r.day FROM ranked r WHERE r.rank<=$2"
    " ORDER BY r.task_id DESC, r.rank";

// $1 the ids; of jobs, $2 the days that those which have ended are filed under.
static const char tasks_by_id[] =
    "SELECT " PG_TASK " FROM @tasks t LEFT JOIN @lanes l ON l.id=t.lane WHERE t.id=ANY($1) ORDER BY t.id DESC";
#define LISTED_JOBS(table) "SELECT {job of j}" PG_LEASE PG_LISTED_RESULT " FROM " table " j WHERE j.id=ANY($1)"
#define JOBS_BY_ID \
    LISTED_JOBS("@jobs") " UNION ALL SELECT j.* FROM (SELECT DISTINCT unnest($2::bigint[])::int AS day) d" \
    " CROSS JOIN LATERAL (" LISTED_JOBS("@jobs_done") " AND j.day=d.day OFFSET 0) j"
static const char jobs_by_id[] = "SELECT * FROM (" JOBS_BY_ID ") j ORDER BY j.scheduled_at DESC, j.id DESC";
static const char jobs_with_docs[] =
    "SELECT j.*, " PG_TASK " FROM (" JOBS_BY_ID ") j LEFT JOIN @tasks t ON t.id=j.task_id LEFT JOIN @lanes l ON l.id=t.lane"
    " ORDER BY j.scheduled_at DESC, j.id DESC";
static const char jobs_by_task[] =
    "SELECT * FROM (" JOBS_BY_ID ") j ORDER BY j.task_id DESC, (j.state>=5), j.scheduled_at DESC, j.id DESC";
static const char attempts_by_job[] = PG_BRIEF_ATTEMPTS " WHERE job_id=ANY($1) ORDER BY job_id, number";
// clang-format on

// A row of the page, or a job of a task in it, before its records are read.
struct row {
    int64_t rank, task_id, day;
    struct store_key key;
    size_t bytes;
};

struct page {
    struct pg_session *session;
    struct store_list *list;
    struct store_get records; // jobs and attempts are read as for a GET; the arena is the operation's
    int64_t task_id;          // the only one there may be; 0: any
    size_t lead;              // the candidate by which rows are found, if there are any: a tag, or the state that failed
    int64_t looked;           // how many rows, one more than may be if there are more
    struct store_key last;    // of those that may be looked at
    struct row *rows;
    size_t row_count;
    struct row *jobs; // of a page of tasks
    size_t job_count;
    size_t bytes;
};

// ---- how they are found

// How many rows a candidate has, up to $4; $1, $2 and $3 as above.
static const char count_tag[] =
    "(SELECT count(*) FROM (SELECT FROM @tags WHERE tenant=$1 AND tag=$%d AND (at,id)<($2,$3) LIMIT $4) x)";
static const char count_failed[] =
    "(SELECT count(*) FROM (SELECT FROM @jobs_done WHERE tenant=$1 AND state>=6 AND state IN (%d,%d) AND"
    " (scheduled_at,id)<($2,$3) LIMIT $4) x)";

static void read_counts(void *ctx, const PGresult *result)
{
    int64_t *counts = ctx;
    for (int i = 0; i < PQnfields(result); i++)
        counts[i] = pg_int(result, 0, i);
}

static void begin_list(struct pg_session *session, const struct store_list *list)
{
    pg_begin_query(session);
    pg_param_int(session, list->tenant);
    pg_param_int(session, list->jobs ? list->before.at : 0);
    pg_param_int(session, list->before.id);
}

// Adds a number as a parameter, and the pattern with its number where that has %d.
static void put_with_int(struct pg_session *session, const char *pattern, int64_t value)
{
    char sql[240];
    snprintf(sql, sizeof sql, pattern, pg_param_int(session, value));
    pg_put(session, sql);
}

static void put_count_failed(struct pg_session *session, const struct store_list *list)
{
    char sql[240];
    int failed[STORE_FAILED_MAX];
    size_t count = store_list_failed(list, failed);
    snprintf(sql, sizeof sql, count_failed, failed[0], failed[count - 1]);
    pg_put(session, sql);
}

// All of them in one statement.
static void count_candidates(void *ctx, size_t candidates, int64_t ret_counts[STORE_CANDIDATES_MAX])
{
    const struct page *page = ctx;
    struct pg_session *session = page->session;
    const struct store_list *list = page->list;
    begin_list(session, list);
    pg_param_int(session, STORE_RARE);
    for (size_t i = 0; i < candidates; i++) {
        pg_put(session, i ? ", " : "SELECT ");
        if (i < list->tag_count)
            put_with_int(session, count_tag, store_list_tag(list, i));
        else
            put_count_failed(session, list);
    }
    pg_send(session, read_counts, ret_counts);
    pg_sync(session);
}

static bool by_tag(const struct page *page)
{
    return store_list_by_tag(page->list, page->lead);
}

static void read_key(void *ctx, const PGresult *result)
{
    *(int64_t *)ctx = PQntuples(result) ? pg_int(result, 0, 0) : 0;
}

// Whether there can be anything at all; and the one task that the key is of.
static bool begin(struct page *page)
{
    struct pg_session *session = page->session;
    const struct store_list *list = page->list;
    page->task_id = list->task_id;
    if (!list->key.p)
        return true;
    pg_begin_query(session);
    pg_put(session, "SELECT task_id FROM @keys WHERE tenant=$1 AND key=$2");
    pg_param_int(session, list->tenant);
    pg_param_text(session, list->key);
    pg_send(session, read_key, &page->task_id);
    pg_sync(session);
    return page->task_id;
}

// ---- which rows

// Adds a text as a parameter, with its number where the pattern has %d.
static void put_with_text(struct pg_session *session, const char *pattern, struct str text)
{
    char sql[160];
    snprintf(sql, sizeof sql, pattern, pg_param_text(session, text));
    pg_put(session, sql);
}

// The rows of one table that are looked at; of one state that has failed, or all (0).
static void put_source(const struct page *page, const char *table, const char *day, int failed)
{
    struct pg_session *session = page->session;
    char text[64];
    pg_put(session, "(SELECT " LOOKED_JOB);
    pg_put(session, day);
    pg_put(session, " AS day FROM ");
    pg_put(session, table);
    pg_put(session, of_tenant);
    if (page->task_id)
        pg_put(session, of_task);
    if (page->list->queue.p)
        pg_put(session, if_queue);
    snprintf(text, sizeof text, " AND j.state>=6 AND j.state=%d", failed);
    if (failed) // which have an index of their own
        pg_put(session, text);
    pg_put(session, NEWEST_JOBS ")");
}

static bool wants_final(const struct store_list *list, bool final)
{
    for (int state = 0; state < JOB_STATE_COUNT; state++)
        if (job_state_final(state) == final && (!list->states || list->states & 1u << state))
            return true;
    return false;
}

static void put_tagged(const struct page *page)
{
    struct pg_session *session = page->session;
    pg_put(session, first_tagged);
    if (page->list->queue.p)
        pg_put(session, if_queue);
    pg_put(session, newest_tagged);
    if (!page->list->jobs) {
        pg_put(session, looked_tagged_tasks);
        return;
    }
    pg_put(session, live_tagged);
    pg_put(session, wants_final(page->list, true) ? done_tagged : only_live_tagged);
    pg_put(session, looked_tagged);
}

static void put_looked_jobs(const struct page *page)
{
    struct pg_session *session = page->session;
    int failed[STORE_FAILED_MAX];
    size_t count = store_list_failed(page->list, failed);
    bool live = wants_final(page->list, false), done = wants_final(page->list, true);
    pg_put(session, "WITH looked AS MATERIALIZED (SELECT * FROM (");
    if (live)
        put_source(page, "@jobs", "-1", 0);
    if (live && done)
        pg_put(session, " UNION ALL ");
    if (done)
        put_source(page, "@jobs_done", "j.day", count ? failed[0] : 0);
    if (count > 1) {
        pg_put(session, " UNION ALL ");
        put_source(page, "@jobs_done", "j.day", failed[1]);
    }
    pg_put(session, ") l ORDER BY l.at DESC, l.id DESC LIMIT $4+1)");
}

static void put_looked_tasks(const struct page *page)
{
    struct pg_session *session = page->session;
    pg_put(session, looked_tasks);
    if (page->task_id)
        pg_put(session, one_task);
    if (page->list->queue.p)
        pg_put(session, if_queue);
    pg_put(session, newest_tasks);
}

static void put_states(struct pg_session *session, unsigned states)
{
    pg_put(session, " AND r.state IN (-1");
    for (int state = 0; state < JOB_STATE_COUNT; state++) {
        char text[16];
        snprintf(text, sizeof text, ",%d", state);
        if (states & 1u << state)
            pg_put(session, text);
    }
    pg_put(session, ")");
}

static void put_conditions(const struct page *page)
{
    struct pg_session *session = page->session;
    const struct store_list *list = page->list;
    if (by_tag(page))
        pg_put(session, is_there);
    if (list->jobs && list->states)
        put_states(session, list->states);
    if (list->queue.p)
        pg_put(session, of_queue);
    for (size_t i = 0; i < list->tag_count; i++)
        if (!by_tag(page) || i != page->lead)
            put_with_int(session, " AND EXISTS (SELECT FROM @tags g WHERE g.tenant=$1 AND g.tag=$%d AND g.at=r.at AND g.id=r.id)",
                         store_list_tag(list, i));
    if (list->name.p && list->jobs)
        put_with_text(session, " AND EXISTS (SELECT FROM @tasks t WHERE t.id=r.task_id AND t.name=$%d)", list->name);
    else if (list->name.p)
        put_with_text(session, " AND r.name=$%d", list->name);
}

static void begin_page(const struct page *page)
{
    struct pg_session *session = page->session;
    const struct store_list *list = page->list;
    int64_t most = INT32_MAX;
    begin_list(session, list);
    pg_param_int(session, time_min((int64_t)list->look, most));
    pg_param_int(session, time_min((int64_t)list->max, most));
    pg_param_int(session, page->task_id);
    pg_param_int(session, by_tag(page) ? store_list_tag(list, page->lead) : 0);
    if (list->queue.p)
        pg_param_text(session, list->queue);
}

static void read_rows(void *ctx, const PGresult *result)
{
    struct page *page = ctx;
    int count = PQntuples(result), width = PQnfields(result);
    if (!count)
        return;
    page->looked = pg_int(result, 0, 0);
    page->last = (struct store_key){pg_int(result, 0, 1), pg_int(result, 0, 2)};
    page->rows = arena_array(&page->session->arena, struct row, (size_t)count);
    for (int row = 0; row < count && !PQgetisnull(result, row, 3); row++)
        page->rows[page->row_count++] = (struct row){.rank = pg_int(result, row, 3),
                                                     .key = {pg_int(result, row, 4), pg_int(result, row, 5)},
                                                     .bytes = (size_t)pg_int(result, row, 6),
                                                     .day = width > 7 ? pg_int(result, row, 7) : 0};
}

static void ask_rows(struct page *page)
{
    struct pg_session *session = page->session;
    const struct store_list *list = page->list;
    begin_page(page);
    if (by_tag(page))
        put_tagged(page);
    else if (list->jobs)
        put_looked_jobs(page);
    else
        put_looked_tasks(page);
    pg_put(session, rank_looked);
    put_conditions(page);
    pg_put(session, !list->jobs ? page_of_tasks : list->docs ? page_of_jobs_with_docs : page_of_jobs);
    pg_send(session, read_rows, page);
    pg_sync(session);
}

static void read_keys_of_jobs(void *ctx, const PGresult *result)
{
    struct page *page = ctx;
    page->job_count = (size_t)PQntuples(result);
    page->jobs = arena_array(&page->session->arena, struct row, page->job_count);
    for (int row = 0; row < PQntuples(result); row++)
        page->jobs[row] = (struct row){.task_id = pg_int(result, row, 0),
                                       .key.id = pg_int(result, row, 1),
                                       .bytes = (size_t)pg_int(result, row, 2),
                                       .day = pg_int(result, row, 3)};
}

static int64_t *ids_of(struct pg_session *session, const struct row *rows, size_t count)
{
    int64_t *ids = arena_array(&session->arena, int64_t, count);
    for (size_t i = 0; i < count; i++)
        ids[i] = rows[i].key.id;
    return ids;
}

static void ask_keys_of_jobs(struct page *page)
{
    struct pg_session *session = page->session;
    if (session->err || !page->row_count)
        return;
    pg_begin_query(session);
    pg_put(session, keys_of_jobs);
    pg_param_ints(session, ids_of(session, page->rows, page->row_count), page->row_count);
    pg_param_int(session, (int64_t)page->list->max_jobs);
    pg_send(session, read_keys_of_jobs, page);
    pg_sync(session);
}

// ---- where it ends

// The page ends behind the row with which it has its bytes. What is given of the jobs are those of the tasks that are.
static void cut(struct page *page)
{
    size_t rows = 0, jobs = 0;
    size_t most = page->list->bytes_max ? page->list->bytes_max : SIZE_MAX;
    for (; rows < page->row_count && page->bytes < most; rows++) {
        page->bytes += page->rows[rows].bytes;
        for (; jobs < page->job_count && page->jobs[jobs].task_id == page->rows[rows].key.id; jobs++)
            page->bytes += page->jobs[jobs].bytes;
    }
    page->job_count = jobs;
    bool whole = rows < page->list->max && page->bytes < most; // then all was looked at that may be
    page->row_count = rows;
    const struct row *last = whole ? NULL : &page->rows[rows - 1];
    int64_t rank = last ? last->rank : time_min((int64_t)page->list->look, page->looked);
    page->list->more = rank < page->looked;
    if (page->looked)
        page->list->next = last ? last->key : page->last;
}

// ---- the records

static void push_task(struct page *page, const PGresult *result, int row, int column)
{
    struct store_list *list = page->list;
    list->tasks = store_push(&page->records.op.arena, list->tasks, list->task_count, sizeof *list->tasks);
    list->tasks[list->task_count++] = pg_read_task(result, row, column, &page->records.op.arena);
}

static void read_tasks(void *ctx, const PGresult *result)
{
    for (int row = 0; row < PQntuples(result); row++)
        push_task(ctx, result, row, 0);
}

static void read_jobs(void *ctx, const PGresult *result)
{
    struct page *page = ctx;
    struct store_get *records = &page->records;
    records->job_count = (size_t)PQntuples(result);
    records->jobs = records->job_count ? arena_array(&records->op.arena, struct job, records->job_count) : NULL;
    for (int row = 0; row < PQntuples(result); row++) {
        struct job *job = &records->jobs[row];
        int column = pg_read_job(result, row, 0, job, &records->op.arena);
        column = pg_read_lease(result, row, column, job, &records->op.arena);
        if (page->list->jobs && page->list->docs)
            push_task(page, result, row, column);
    }
}

static void ask_tasks(struct page *page)
{
    struct pg_session *session = page->session;
    pg_begin_query(session);
    pg_put(session, tasks_by_id);
    pg_param_ints(session, ids_of(session, page->rows, page->row_count), page->row_count);
    pg_send(session, read_tasks, page);
}

static void ask_jobs(struct page *page, const char *sql, const struct row *rows, size_t count)
{
    struct pg_session *session = page->session;
    int64_t *ids = ids_of(session, rows, count), *days = arena_array(&session->arena, int64_t, count);
    size_t day_count = 0;
    for (size_t i = 0; i < count; i++)
        if (rows[i].day >= 0 && (!day_count || days[day_count - 1] != rows[i].day))
            days[day_count++] = rows[i].day;
    pg_begin_query(session);
    pg_put(session, sql);
    pg_param_ints(session, ids, count);
    pg_param_ints(session, days, day_count);
    pg_send(session, read_jobs, page);
    pg_begin_query(session);
    pg_put(session, attempts_by_job);
    pg_param_ints(session, ids, count);
    pg_send(session, pg_read_attempts, &page->records);
}

void pg_list_send(struct pg_session *session, struct store_op *op)
{
    struct store_list *list = container_of(op, struct store_list, op);
    struct page page = {.session = session, .list = list, .records.op.arena = op->arena};
    if (!begin(&page))
        return;
    page.lead = store_list_lead(list, count_candidates, &page);
    ask_rows(&page);
    if (!list->jobs)
        ask_keys_of_jobs(&page);
    if (!session->err && page.looked)
        cut(&page);
    if (!session->err && page.row_count) {
        if (!list->jobs)
            ask_tasks(&page);
        ask_jobs(&page,
                 !list->jobs  ? jobs_by_task
                 : list->docs ? jobs_with_docs
                              : jobs_by_id,
                 list->jobs ? page.rows : page.jobs, list->jobs ? page.row_count : page.job_count);
        pg_sync(session);
    }
    op->arena = page.records.op.arena;
    list->found = page.records.jobs;
    list->found_count = page.records.job_count;
    list->attempts = page.records.attempts;
    list->attempt_count = page.records.attempt_count;
}

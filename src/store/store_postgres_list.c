// LIST: pages of tasks and of jobs.
//
// A statement is put together from what is asked: the rows that are looked at come by an index and are counted, those of them
// that match are the page, and where the page ends follows from both. What belongs to the page (the jobs of its tasks, their
// attempts) is asked for by the ids it has.
#include "store/store_postgres_private.h"

#include <stdio.h>

// clang-format off
#define LEASE ",j.lease_until, octet_length(j.result) AS size, " PG_LISTED_RESULT " AS result"
#define LEASE_OF_U ",u.lease_until,u.size,u.result"
#define NEWEST_JOB " ORDER BY j.scheduled_at DESC, j.id DESC LIMIT $4+1)"
static const char jobs_behind[] = " j WHERE j.tenant=$1 AND (j.scheduled_at,j.id)<($2,$3)";
static const char rank_jobs[] =
    ") j" NEWEST_JOB ", m AS MATERIALIZED (SELECT l.*, row_number() OVER (ORDER BY l.scheduled_at DESC, l.id DESC) AS rank FROM l)";
static const char rank_tasks[] =
    "WITH m AS MATERIALIZED (SELECT t.*, row_number() OVER (ORDER BY t.id DESC) AS rank, 0::bigint AS scheduled_at"
    " FROM (SELECT * FROM @tasks WHERE tenant=$1 AND $2>=0 AND id<$3 AND NOT gone ORDER BY id DESC LIMIT $4+1) t)";
static const char begin_page[] = ", u AS MATERIALIZED (SELECT * FROM m u WHERE u.rank<=$4";
static const char end_page[] =
    " ORDER BY u.rank LIMIT $5), e AS MATERIALIZED (SELECT CASE WHEN (SELECT count(*) FROM u)=$5 THEN (SELECT max(rank) FROM u)"
    " ELSE least((SELECT count(*) FROM m),$4) END AS rank)"
    " SELECT (e.rank<(SELECT count(*) FROM m))::int, n.scheduled_at, n.id, ";
static const char of_page[] = " FROM e LEFT JOIN m n ON n.rank=e.rank LEFT JOIN u ON true";
static const char in_order[] = " ORDER BY u.rank";
enum { END_COLUMNS = 3 };

// $1 the tasks, $2 how many of each.
#define JOBS_OF(table) \
    "SELECT " PG_JOB_OF_J LEASE " FROM " table " j WHERE j.id=" PG_ANY("SELECT unnest($1::bigint[]) UNION SELECT id FROM @extras WHERE task_id=ANY($1)") \
    " AND j.task_id=ANY($1)"
static const char jobs_of_tasks[] =
    "SELECT " PG_JOB_OF_U LEASE_OF_U " FROM (SELECT j.*, row_number() OVER (PARTITION BY j.task_id ORDER BY (j.state>=5), j.scheduled_at DESC, j.id DESC)"
    " AS rank FROM (" JOBS_OF("@jobs") " UNION ALL " JOBS_OF("@jobs_done") ") j) u WHERE u.rank<=$2"
    " ORDER BY u.task_id DESC, u.rank";
static const char attempts_of[] = PG_ATTEMPTS "WHERE job_id=ANY($1) ORDER BY job_id, number";
// clang-format on

// Jobs and attempts are read as for a GET; the arena is the operation's.
struct page {
    struct store_list *list;
    struct store_get records;
};

// Adds a text as a parameter, with its number where the pattern has %d.
static void put_with_text(struct pg_link *link, const char *pattern, struct str text)
{
    char sql[160];
    snprintf(sql, sizeof sql, pattern, pg_param_text(link, text));
    pg_put(link, sql);
}

// The rows of one table that are looked at.
static void put_source(struct pg_link *link, const struct store_list *list, const char *table)
{
    char text[64];
    pg_put(link, "(SELECT " PG_JOB_OF_J LEASE " FROM ");
    pg_put(link, table);
    pg_put(link, jobs_behind);
    if (list->task_id)
        pg_put(link, " AND j.id=" PG_ANY("SELECT $6 UNION SELECT id FROM @extras WHERE task_id=$6") " AND j.task_id=$6");
    if (list->queue.p)
        put_with_text(link, " AND EXISTS (SELECT FROM @lanes WHERE tenant=$1 AND queue=$%d)", list->queue);
    int failed = store_list_failed(list);
    snprintf(text, sizeof text, " AND j.state>=6 AND j.state=%d", failed);
    if (failed) // which have an index of their own
        pg_put(link, text);
    pg_put(link, NEWEST_JOB);
}

static bool wants_final(const struct store_list *list, bool final)
{
    for (int state = 0; state < JOB_STATE_COUNT; state++)
        if (job_state_final(state) == final && (!list->states || list->states & 1u << state))
            return true;
    return false;
}

static void put_sources(struct pg_link *link, const struct store_list *list)
{
    bool live = wants_final(list, false), done = wants_final(list, true);
    pg_put(link, "WITH l AS MATERIALIZED (SELECT * FROM (");
    if (live)
        put_source(link, list, "@jobs");
    if (live && done)
        pg_put(link, " UNION ALL ");
    if (done)
        put_source(link, list, "@jobs_done");
    pg_put(link, rank_jobs);
}

static void put_conditions(struct pg_link *link, const struct store_list *list)
{
    if (list->jobs && list->states) {
        pg_put(link, " AND u.state IN (-1");
        for (int state = 0; state < JOB_STATE_COUNT; state++) {
            char text[16];
            snprintf(text, sizeof text, ",%d", state);
            if (list->states & 1u << state)
                pg_put(link, text);
        }
        pg_put(link, ")");
    }
    if (list->queue.p)
        put_with_text(link, " AND u.lane=(SELECT id FROM @lanes WHERE tenant=$1 AND queue=$%d)", list->queue);
    if (list->name.p && list->jobs)
        put_with_text(link, " AND EXISTS (SELECT FROM @tasks t WHERE t.id=u.task_id AND t.name=$%d)", list->name);
    else if (list->name.p)
        put_with_text(link, " AND u.name=$%d", list->name);
}

static void begin_list(struct pg_link *link, const struct store_list *list)
{
    int64_t most = INT32_MAX;
    pg_begin_query(link);
    pg_param_int(link, list->tenant);
    pg_param_int(link, list->before.at);
    pg_param_int(link, list->before.id);
    pg_param_int(link, time_min((int64_t)list->look, most));
    pg_param_int(link, time_min((int64_t)list->max, most));
    if (list->task_id)
        pg_param_int(link, list->task_id);
}

static void read_end(struct store_list *list, const PGresult *result)
{
    list->more = pg_int(result, 0, 0);
    if (!PQgetisnull(result, 0, 2))
        list->next = (struct store_key){pg_int(result, 0, 1), pg_int(result, 0, 2)};
}

static void push_task(struct page *page, const PGresult *result, int row, int column)
{
    struct store_list *list = page->list;
    list->tasks = store_push(&page->records.op.arena, list->tasks, list->task_count, sizeof *list->tasks);
    list->tasks[list->task_count++] = pg_read_task(result, row, column, &page->records.op.arena);
}

static void read_jobs_page(void *ctx, const PGresult *result)
{
    struct page *page = ctx;
    struct store_get *records = &page->records;
    read_end(page->list, result);
    for (int row = 0; row < PQntuples(result) && !PQgetisnull(result, row, END_COLUMNS); row++) {
        records->jobs = store_push(&records->op.arena, records->jobs, records->job_count, sizeof *records->jobs);
        struct job *job = &records->jobs[records->job_count++];
        int column = pg_read_job(result, row, END_COLUMNS, job, &records->op.arena);
        column = pg_read_lease(result, row, column, job, &records->op.arena);
        if (page->list->docs)
            push_task(page, result, row, column);
    }
}

static void read_tasks_page(void *ctx, const PGresult *result)
{
    struct page *page = ctx;
    read_end(page->list, result);
    for (int row = 0; row < PQntuples(result) && !PQgetisnull(result, row, END_COLUMNS); row++)
        push_task(page, result, row, END_COLUMNS);
}

static void read_jobs_of_tasks(void *ctx, const PGresult *result)
{
    struct store_get *records = &((struct page *)ctx)->records;
    records->job_count = (size_t)PQntuples(result);
    records->jobs = records->job_count ? arena_array(&records->op.arena, struct job, records->job_count) : NULL;
    for (int row = 0; row < PQntuples(result); row++)
        pg_read_lease(result, row, pg_read_job(result, row, 0, &records->jobs[row], &records->op.arena), &records->jobs[row],
                      &records->op.arena);
}

static void ask_jobs(struct pg_link *link, struct page *page)
{
    put_sources(link, page->list);
    pg_put(link, begin_page);
    put_conditions(link, page->list);
    pg_put(link, end_page);
    pg_put(link, page->list->docs ? PG_JOB_OF_U LEASE_OF_U "," PG_TASK_OF_T : PG_JOB_OF_U LEASE_OF_U);
    pg_put(link, of_page);
    if (page->list->docs)
        pg_put(link, " LEFT JOIN @tasks t ON t.id=u.task_id LEFT JOIN @lanes l ON l.id=t.lane");
    pg_put(link, in_order);
    pg_send(link, read_jobs_page, page);
    pg_sync(link);
}

static void ask_tasks(struct pg_link *link, struct page *page)
{
    struct store_list *list = page->list;
    pg_put(link, rank_tasks);
    pg_put(link, begin_page);
    put_conditions(link, list);
    pg_put(link, end_page);
    pg_put(link, PG_TASK_OF_T);
    pg_put(link, of_page);
    pg_put(link, " LEFT JOIN @tasks t ON t.id=u.id LEFT JOIN @lanes l ON l.id=t.lane");
    pg_put(link, in_order);
    pg_send(link, read_tasks_page, page);
    pg_sync(link);
    if (link->err || !list->task_count)
        return;
    int64_t *ids = arena_array(&link->arena, int64_t, list->task_count);
    for (size_t i = 0; i < list->task_count; i++)
        ids[i] = list->tasks[i].id;
    pg_begin_query(link);
    pg_put(link, jobs_of_tasks);
    pg_param_ints(link, ids, list->task_count);
    pg_param_int(link, (int64_t)list->max_jobs);
    pg_send(link, read_jobs_of_tasks, page);
    pg_sync(link);
}

static void ask_attempts(struct pg_link *link, struct page *page)
{
    struct store_get *records = &page->records;
    if (link->err || !records->job_count)
        return;
    int64_t *ids = arena_array(&link->arena, int64_t, records->job_count);
    for (size_t i = 0; i < records->job_count; i++)
        ids[i] = records->jobs[i].id;
    pg_begin_query(link);
    pg_put(link, attempts_of);
    pg_param_ints(link, ids, records->job_count);
    pg_send(link, pg_read_attempts, records);
    pg_sync(link);
}

void pg_list_send(struct pg_link *link, struct store_op *op)
{
    struct store_list *list = container_of(op, struct store_list, op);
    struct page page = {.list = list, .records.op.arena = op->arena};
    begin_list(link, list);
    if (list->jobs)
        ask_jobs(link, &page);
    else
        ask_tasks(link, &page);
    ask_attempts(link, &page);
    op->arena = page.records.op.arena;
    list->found = page.records.jobs;
    list->found_count = page.records.job_count;
    list->attempts = page.records.attempts;
    list->attempt_count = page.records.attempt_count;
}

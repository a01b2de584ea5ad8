// LIST: pages of tasks and of jobs.
//
// Rows are found by an index: that of the list, or a tag, or the state that failed. Of several of these their rows are counted
// first. How many rows were looked at is how many the index has: a row of tags whose job is not there counts as one that does not
// match, so it does not end the list.
//
// A row of tags, or a task, does not say under which day its job is filed. A list that has many such ids looks up the day of the
// first, takes all that lie there, and goes on with the rest: it looks into as many days as the jobs are in, and not for each job
// into each day.
//
// libpq holds a whole answer in memory, so what is large is asked for last. The first statement looks at rows by an index and
// says of those that match only their keys and how many bytes their records have. From these, cut() decides where the page ends.
// Then the records are asked for by the ids that are left.
#include "store/postgres/postgres.h"

#include <stdio.h>

// clang-format off

// How many bytes a record counts for in a page.
#define TASK_BYTES "{task_bytes}+coalesce(octet_length(t.doc),0)"
#define PLAN_BYTES(task) \
    "coalesce((SELECT {plan_bytes}+8*(coalesce(cardinality(p.active),0)+coalesce(cardinality(p.queued),0))" \
    "+coalesce(octet_length(p.skips),0)+coalesce(octet_length(p.missing),0)+coalesce(octet_length(p.paused_note),0)" \
    "+coalesce(octet_length(p.paused_by),0)+coalesce(octet_length(p.reserved),0) FROM @plans p WHERE p.task_id=" task "),0)"
#define JOB_BYTES \
    "{job_bytes}+coalesce(octet_length(j.reason),0)+coalesce(octet_length(j.response),0)+coalesce(octet_length(" PG_LISTED_RESULT "),0)"
#define ATTEMPTS_BYTES(job) \
    "(SELECT coalesce(sum({attempt_bytes}+coalesce(octet_length(a.reason),0)),0)::bigint FROM @attempts a WHERE a.job_id=" job ")"

// The days that jobs are filed under, with those of each; what is not found is left out. `ids` are in descending order. OFFSET 0
// keeps PostgreSQL from putting a subquery wherever its value is used.
#define FILED(ids) \
    " filed(day,ids,rest) AS (SELECT NULL::int, NULL::bigint[], ARRAY(" ids ")" \
    "   UNION ALL SELECT first.day, here.ids, ARRAY(SELECT unnest(f.rest[2:]) EXCEPT SELECT unnest(here.ids) ORDER BY 1 DESC)" \
    "   FROM filed f" \
    "   CROSS JOIN LATERAL (SELECT (SELECT j.day FROM @jobs_done j WHERE j.id=f.rest[1] LIMIT 1) AS day OFFSET 0) first" \
    "   CROSS JOIN LATERAL (SELECT ARRAY(SELECT j.id FROM @jobs_done j WHERE j.day=first.day AND j.id=ANY(f.rest)) AS ids OFFSET 0) here" \
    "   WHERE cardinality(f.rest)>0)"
#define FROM_FILED " FROM filed f JOIN @jobs_done j ON j.day=f.day AND j.id=ANY(f.ids)"

// First, where a list names a key.
static const char task_of_key[] = "SELECT task_id FROM @keys WHERE tenant=$1 AND key=$2";

// How many rows a candidate has, where there are several. $1, $2 and $3 as below, $4 how many are enough; `tag` is the parameter
// that has it, `failed` one or two states.
static const char count_tag[] =
    "(SELECT count(*) FROM (SELECT FROM @tags WHERE tenant=$1 AND tag={tag} AND (at,id)<($2,$3) LIMIT $4) tagged)";
static const char count_failed[] =
    "(SELECT count(*) FROM (SELECT FROM @jobs_done WHERE tenant=$1 AND state>={first_failed} AND state IN ({failed},{failed_too})"
    " AND (scheduled_at,id)<($2,$3) LIMIT $4) failed)";

// The rows of a page: their keys and how many bytes they have. $1 tenant, $2 and $3 the place it begins behind, $4 look, $5 max, $6
// the task or 0, $7 the tag that rows are found by or 0, $8 the queue, $9 the name, and then the other tags.
//
// `looked` are the rows that are looked at and one more, found by a tag (`by_tag`), by the plans of tasks (`by_plan`) or by the
// index of the list; `page` are those of
// them that match. Of jobs, `live` and `final` say in which of the tables a state is wanted; `failed` and `failed_too` are on when
// no other states are, which have an index of their own.
#define IF_THERE_IS_THE_QUEUE "{queue: AND EXISTS (SELECT FROM @lanes WHERE tenant=$1 AND queue=$8)}"
#define LOOKED_JOB "j.scheduled_at AS at, j.id, j.task_id, j.lane, j.state, " JOB_BYTES " AS bytes, "
#define NEWEST_OF(table, day, of_state) \
    "(SELECT " LOOKED_JOB day " AS day FROM " table " j WHERE j.tenant=$1 AND (j.scheduled_at,j.id)<($2,$3)" \
    "{one_task: AND j.id=" PG_ANY(PG_IDS_OF_TASK("$6")) " AND j.task_id=$6}" IF_THERE_IS_THE_QUEUE of_state \
    " ORDER BY j.scheduled_at DESC, j.id DESC LIMIT $4+1)"
static const char find_rows[] =
    "{by_tag:WITH RECURSIVE tagged AS MATERIALIZED (SELECT tag.at, tag.id FROM @tags tag"
    "   WHERE tag.tenant=$1 AND tag.tag=$7 AND (tag.at,tag.id)<($2,$3)" IF_THERE_IS_THE_QUEUE
    "   ORDER BY tag.at DESC, tag.id DESC LIMIT $4+1)"
    "{tasks:, looked AS MATERIALIZED (SELECT tagged.at, tagged.id, t.lane, t.name, " TASK_BYTES " AS bytes FROM tagged"
    "   LEFT JOIN @tasks t ON " PG_IS("t.id", "tagged.id") " AND t.tenant=$1)}"
    "{jobs:, live AS MATERIALIZED (SELECT " LOOKED_JOB "-1 AS day FROM @jobs j WHERE j.id=" PG_ANY("SELECT id FROM tagged") ")"
    "{final:," FILED("SELECT id FROM tagged EXCEPT SELECT id FROM live ORDER BY 1 DESC")
    ", job AS MATERIALIZED (SELECT * FROM live UNION ALL SELECT " LOOKED_JOB "j.day" FROM_FILED ")}"
    "{not final:, job AS (SELECT * FROM live)}"
    ", looked AS MATERIALIZED (SELECT tagged.at, tagged.id, job.task_id, job.lane, job.state, job.bytes, job.day FROM tagged"
    "   LEFT JOIN job ON job.id=tagged.id AND job.at=tagged.at)}}"
    "{not by_tag:{tasks:WITH {by_plan:planned AS MATERIALIZED (SELECT p.task_id FROM @plans p WHERE p.tenant=$1 AND p.task_id<$3"
    "   ORDER BY p.task_id DESC LIMIT $4+1), }"
    "looked AS MATERIALIZED (SELECT 0::bigint AS at, t.id, t.lane, t.name, " TASK_BYTES " AS bytes"
    "   FROM @tasks t WHERE t.tenant=$1{by_plan: AND t.id=" PG_ANY("SELECT task_id FROM planned") "}"
    "   AND t.id<$3{one_task: AND t.id=$6}" IF_THERE_IS_THE_QUEUE " ORDER BY t.id DESC LIMIT $4+1)}"
    "{jobs:WITH looked AS MATERIALIZED (SELECT * FROM ("
    "   {live:" NEWEST_OF("@jobs", "-1", "") "{final: UNION ALL }}"
    "   {final:" NEWEST_OF("@jobs_done", "j.day", "{failed: AND j.state>={first_failed} AND j.state={failed}}") "}"
    "   {failed_too: UNION ALL "
            NEWEST_OF("@jobs_done", "j.day", " AND j.state>={first_failed} AND j.state={failed_too}") "}"
    "   ) newest ORDER BY newest.at DESC, newest.id DESC LIMIT $4+1)}}"
    ", ranked AS MATERIALIZED (SELECT r.*, row_number() OVER (ORDER BY r.at DESC, r.id DESC) AS rank FROM looked r)"
    ", ends AS MATERIALIZED (SELECT (SELECT count(*) FROM looked) AS count, r.at, r.id FROM ranked r"
    "   WHERE r.rank=least($4,(SELECT count(*) FROM looked)))"
    ", page AS MATERIALIZED (SELECT * FROM ranked r WHERE r.rank<=$4"
    "   {by_tag: AND r.lane IS NOT NULL}"
    "   {states: AND r.state IN ({states})}"
    "   {queue: AND r.lane=" PG_ANY("SELECT id FROM @lanes WHERE tenant=$1 AND queue=$8") "}"
    "   {recurring: AND EXISTS (SELECT FROM @plans p WHERE p.task_id=r.id)}"
    "   {other_tags}"
    "   {name:{jobs: AND EXISTS (SELECT FROM @tasks t WHERE t.id=r.task_id AND t.name=$9)}{tasks: AND r.name=$9}}"
    "   ORDER BY r.rank LIMIT $5)"
    " SELECT ends.count, ends.at, ends.id, page.rank, page.at, page.id, page.bytes"
    "   {tasks:+" PLAN_BYTES("page.id") "}"
    "   {jobs:+" ATTEMPTS_BYTES("page.id")
    "   {docs:+coalesce((SELECT " TASK_BYTES " FROM @tasks t WHERE t.id=page.task_id),0)}, page.day}"
    " FROM ends LEFT JOIN page ON true ORDER BY page.rank";
static const char has_tag[] = " AND EXISTS (SELECT FROM @tags tag WHERE tag.tenant=$1 AND tag.tag=$%d AND tag.at=r.at AND tag.id=r.id)";

// The jobs of a page of tasks. $1 the tasks, $2 how many of each.
#define JOB_OF_TASK "j.task_id, j.state, j.scheduled_at, j.id, " JOB_BYTES " AS bytes, "
static const char keys_of_jobs[] =
    "WITH RECURSIVE ids AS MATERIALIZED (SELECT unnest($1::bigint[]) AS id UNION SELECT id FROM @extras WHERE task_id=ANY($1)),"
    " live AS MATERIALIZED (SELECT " JOB_OF_TASK "-1 AS day FROM @jobs j WHERE j.id=" PG_ANY("SELECT id FROM ids")
    "   AND j.task_id=ANY($1)),"
    FILED("SELECT id FROM ids EXCEPT SELECT id FROM live ORDER BY 1 DESC") ","
    " found AS (SELECT * FROM live UNION ALL SELECT " JOB_OF_TASK "j.day" FROM_FILED " WHERE j.task_id=ANY($1)),"
    " ranked AS (SELECT found.*, row_number() OVER (PARTITION BY found.task_id"
    "   ORDER BY (found.state>={first_final}), found.scheduled_at DESC, found.id DESC) AS rank FROM found)"
    " SELECT r.task_id, r.id, r.bytes+" ATTEMPTS_BYTES("r.id") ", r.day FROM ranked r WHERE r.rank<=$2"
    " ORDER BY r.task_id DESC, r.rank";

// Last, the records. $1 the ids; of jobs, $2 the days that those which have ended are filed under.
static const char tasks_by_id[] =
    "SELECT " PG_TASK_AND_PLAN " FROM @tasks t LEFT JOIN @lanes l ON l.id=t.lane" PG_PLAN_IF_ANY
    " WHERE t.id=ANY($1) ORDER BY t.id DESC";
#define LISTED_JOBS(table) "SELECT {job of j}" PG_LEASE PG_LISTED_RESULT " FROM " table " j WHERE j.id=ANY($1)"
#define JOBS_BY_ID \
    LISTED_JOBS("@jobs") " UNION ALL SELECT j.* FROM (SELECT DISTINCT unnest($2::bigint[])::int AS day) d" \
    " CROSS JOIN LATERAL (" LISTED_JOBS("@jobs_done") " AND j.day=d.day OFFSET 0) j"
static const char jobs_by_id[] = "SELECT * FROM (" JOBS_BY_ID ") j ORDER BY j.scheduled_at DESC, j.id DESC";
static const char jobs_with_docs[] =
    "SELECT j.*, " PG_TASK " FROM (" JOBS_BY_ID ") j LEFT JOIN @tasks t ON t.id=j.task_id LEFT JOIN @lanes l ON l.id=t.lane"
    " ORDER BY j.scheduled_at DESC, j.id DESC";
static const char jobs_by_task[] =
    "SELECT * FROM (" JOBS_BY_ID ") j ORDER BY j.task_id DESC, (j.state>={first_final}), j.scheduled_at DESC, j.id DESC";
static const char attempts_by_job[] = PG_BRIEF_ATTEMPTS " WHERE job_id=ANY($1) ORDER BY job_id, number";

// clang-format on

// A row of the page, or a job of a task in it, before its records are read.
struct row {
    int64_t rank, task_id, day;
    struct store_cursor key;
    size_t bytes;
};

struct page {
    struct pg_session *session;
    struct store_list *list;
    struct store_get records; // jobs and attempts are read as for a GET; the arena is the operation's
    int64_t task_id;          // the only one there may be; 0: any
    size_t lead;              // the candidate by which rows are found, if there are any: a tag, or the state that failed
    int64_t looked;           // how many rows, one more than may be if there are more
    struct store_cursor last; // of those that may be looked at
    struct row *rows;
    size_t row_count;
    struct row *jobs; // of a page of tasks
    size_t job_count;
    size_t bytes;
};

// ---- how they are found

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

// The states that have failed, as texts, if only one or two of these are wanted. Returns how many there are.
struct failed {
    char texts[STORE_FAILED_MAX][8];
    size_t count;
};

static struct failed failed_of(const struct store_list *list)
{
    struct failed failed = {0};
    int states[STORE_FAILED_MAX];
    failed.count = store_list_failed(list, states);
    for (size_t i = 0; i < failed.count; i++)
        snprintf(failed.texts[i], sizeof failed.texts[i], "%d", states[i]);
    return failed;
}

static void put_count(struct pg_session *session, const struct store_list *list, size_t candidate)
{
    char param[16];
    if (candidate < list->tag_count) {
        snprintf(param, sizeof param, "$%d", pg_param_int(session, store_list_tag(list, candidate)));
        pg_put_with(session, count_tag, PG_TEXT_OF("tag", param));
        return;
    }
    struct failed failed = failed_of(list);
    pg_put_with(session, count_failed, PG_TEXT_OF("failed", failed.texts[0]),
                PG_TEXT_OF("failed_too", failed.texts[failed.count - 1]));
}

// All of them in one statement.
static void count_candidates(void *ctx, size_t candidates, int64_t ret_counts[STORE_CANDIDATES_MAX])
{
    const struct page *page = ctx;
    struct pg_session *session = page->session;
    begin_list(session, page->list);
    pg_param_int(session, STORE_RARE);
    for (size_t i = 0; i < candidates; i++) {
        pg_put(session, i ? ", " : "SELECT ");
        put_count(session, page->list, i);
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
    pg_put(session, task_of_key);
    pg_param_int(session, list->tenant);
    pg_param_text(session, list->key);
    pg_send(session, read_key, &page->task_id);
    pg_sync(session);
    return page->task_id;
}

// ---- which rows

static bool wants_final(const struct store_list *list, bool final)
{
    for (int state = 0; state < JOB_STATE_COUNT; state++)
        if (job_state_final(state) == final && (!list->states || list->states & 1u << state))
            return true;
    return false;
}

// The states that are wanted, as a list. It begins with one that there is not.
static void put_states(struct buf *text, unsigned states)
{
    buf_puts(text, "-1");
    for (int state = 0; state < JOB_STATE_COUNT; state++)
        if (states & 1u << state)
            buf_printf(text, ",%d", state);
    buf_putc(text, 0);
}

// Rows are found by one tag at most, and must have the others.
static void put_other_tags(struct buf *text, const struct page *page)
{
    const struct store_list *list = page->list;
    for (size_t i = 0; i < list->tag_count; i++)
        if (!by_tag(page) || i != page->lead)
            buf_printf(text, has_tag, pg_param_int(page->session, store_list_tag(list, i)));
    buf_putc(text, 0);
}

static void begin_page(const struct page *page)
{
    struct pg_session *session = page->session;
    const struct store_list *list = page->list;
    begin_list(session, list);
    pg_param_int(session, store_limit(list->look));
    pg_param_int(session, store_limit(list->max));
    pg_param_int(session, page->task_id);
    pg_param_int(session, by_tag(page) ? store_list_tag(list, page->lead) : 0);
    pg_param_text(session, list->queue);
    pg_param_text(session, list->name);
}

static void read_rows(void *ctx, const PGresult *result)
{
    struct page *page = ctx;
    int count = PQntuples(result), width = PQnfields(result);
    if (!count)
        return;
    page->looked = pg_int(result, 0, 0);
    page->last = (struct store_cursor){pg_int(result, 0, 1), pg_int(result, 0, 2)};
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
    buf_auto struct buf states = {0}, other_tags = {0};
    struct failed failed = failed_of(list);
    begin_page(page);
    put_states(&states, list->states);
    put_other_tags(&other_tags, page);
    pg_put_with(session, find_rows, PG_IF("by_tag", by_tag(page)), PG_IF("jobs", list->jobs), PG_IF("tasks", !list->jobs),
                PG_IF("live", wants_final(list, false)), PG_IF("final", wants_final(list, true)),
                PG_IF("one_task", page->task_id), PG_IF("by_plan", store_list_by_plan(list)), PG_IF("recurring", list->recurring),
                PG_IF("queue", list->queue.p), PG_IF("name", list->name.p), PG_IF("docs", list->docs),
                {"states", .on = list->jobs && list->states, .sql = states.p}, PG_TEXT_OF("other_tags", other_tags.p),
                {"failed", .on = failed.count, .sql = failed.texts[0]},
                {"failed_too", .on = failed.count > 1, .sql = failed.texts[1]});
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
    if (session->err || !page->row_count || !page->list->max_jobs)
        return;
    pg_begin_query(session);
    pg_put(session, keys_of_jobs);
    pg_param_ints(session, ids_of(session, page->rows, page->row_count), page->row_count);
    pg_param_int(session, (int64_t)page->list->max_jobs);
    pg_send(session, read_keys_of_jobs, page);
    pg_sync(session);
}

// ---- where it ends

// The page ends behind the row with which it has its bytes. Only jobs of tasks in the page are given.
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

static void push_task(struct page *page, struct store_task task)
{
    struct store_list *list = page->list;
    list->tasks = store_push(&page->records.op.arena, list->tasks, list->task_count, sizeof *list->tasks);
    list->tasks[list->task_count++] = task;
}

static void read_tasks(void *ctx, const PGresult *result)
{
    struct page *page = ctx;
    for (int row = 0; row < PQntuples(result); row++)
        push_task(page, pg_read_task_and_plan(result, row, &page->records.op.arena));
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
            push_task(page, pg_read_task(result, row, column, &records->op.arena));
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
    store_list_end(list, &page.records);
}

// What tasks and jobs are found by: the rows of `tags`, and the column of the same name that a task has. The column says which
// rows there are, so that they can be removed without reading the document again. A statement that writes tasks and jobs writes
// their tags, too; here is what such statements share, and how a database that had no tags gets them.
//
// A transaction that changes a task's tags locks its row FOR UPDATE, one that writes rows of tags for a job of it FOR KEY SHARE:
// one of the two comes first. Both lock tasks in a statement before the one that writes, because a statement that waits for a
// lock still sees the rows of tags that were there when it began; and before they lock a job, because otherwise two could wait
// for each other.
#include "store/postgres/postgres.h"

struct str pg_tags_text(const struct store_task *task, struct arena *arena)
{
    return pg_ids_text(task->tags, task->tag_count, arena);
}

void pg_lock_task(struct pg_session *session, int64_t id)
{
    pg_sql(session,
           "WITH task AS MATERIALIZED (SELECT id FROM @tasks WHERE id=$1 FOR UPDATE) " PG_LOCK_PLANS("(SELECT id FROM task)"),
           NULL, NULL, id);
}

// ---- tasks from before

// Documents that may have something to be found by: a name may be written with escapes. $1 the task to begin behind, $2 how many,
// $3 how many bytes. PostgreSQL knows how long a document is without reading it. `read` has it as a value of its own (which the
// empty text behind it makes), so that it is read once and not for each of the conditions. The answer says where the round ended
// also when it found nothing.
static const char candidates[] =
    "WITH sized AS (SELECT t.id, octet_length(t.doc) AS bytes FROM @tasks t WHERE t.id>$1 ORDER BY t.id LIMIT $2),"
    " summed AS (SELECT sized.id, sized.bytes, sum(sized.bytes) OVER (ORDER BY sized.id) AS total FROM sized),"
    " round AS MATERIALIZED (SELECT max(id) AS last FROM summed WHERE total-bytes<$3),"
    " read AS MATERIALIZED (SELECT t.id, t.name, t.doc||''::bytea AS doc FROM @tasks t"
    "   WHERE t.id>$1 AND t.id<=(SELECT last FROM round) AND NOT t.gone)"
    " SELECT round.last, read.id, read.doc FROM round LEFT JOIN read ON read.name IS NOT NULL"
    "   OR position('\"labels\"'::bytea IN read.doc)>0 OR position('\"tracing_id\"'::bytea IN read.doc)>0"
    "   OR position('\"created_by\"'::bytea IN read.doc)>0 OR position('\\\\u'::bytea IN read.doc)>0"
    " WHERE round.last IS NOT NULL";
static const char set_tags[] = "UPDATE @tasks t SET tags=tagged.tags::bigint[] FROM {tags} tagged WHERE t.id=tagged.id";
static const char fill_tasks[] =
    PG_ADD_TAGS(PG_TAGS_OF("SELECT tenant, tags, 0::bigint AS at, id FROM @tasks WHERE tags IS NOT NULL"));
#define JOBS_OF_TAGGED(table)                                         \
    "SELECT t.tenant, t.tags, j.scheduled_at AS at, j.id FROM " table \
    " j JOIN @tasks t ON t.id=j.task_id WHERE t.tags IS NOT NULL"
static const char fill_jobs[] = PG_ADD_TAGS(PG_TAGS_OF_JOBS(JOBS_OF_TAGGED("@jobs")));
static const char fill_done[] = PG_ADD_TAGS(PG_TAGS_OF_JOBS(JOBS_OF_TAGGED("@jobs_done")));

struct filling {
    struct pg_session *session;
    struct arena arena; // of one round
    int64_t last_id;
    int64_t *ids;
    struct str *tags;
    size_t count, seen;
};

static void read_candidates(void *ctx, const PGresult *result)
{
    struct filling *filling = ctx;
    filling->seen = (size_t)PQntuples(result);
    filling->ids = arena_array(&filling->arena, int64_t, filling->seen);
    filling->tags = arena_array(&filling->arena, struct str, filling->seen);
    for (int row = 0; row < PQntuples(result); row++) {
        struct arena arena;
        struct task task;
        struct store_task stored = {0};
        char why[ERR_WHY_MAX];
        arena_init(&arena);
        filling->last_id = pg_int(result, row, 0);
        if (task_read(&task, pg_bytes(result, row, 2, &arena), &arena, why))
            store_task_tag(&stored, &task, &arena);
        filling->ids[filling->count] = pg_int(result, row, 1);
        filling->tags[filling->count] = pg_tags_text(&stored, &filling->arena);
        filling->count += stored.tag_count > 0;
        arena_done(&arena);
    }
}

static void write_tags(struct filling *filling)
{
    struct pg_session *session = filling->session;
    struct pg_rows rows;
    if (session->err || !filling->count)
        return;
    pg_rows_init(&rows, &filling->arena, filling->count);
    memcpy(pg_rows_ints(&rows, "id"), filling->ids, filling->count * sizeof *filling->ids);
    memcpy(pg_rows_strs(&rows, "tags", PG_TEXT), filling->tags, filling->count * sizeof *filling->tags);
    pg_begin_query(session);
    pg_put_with(session, set_tags, PG_ROWS("tags", &rows));
    pg_send(session, NULL, NULL);
    pg_sync(session);
}

void pg_tags_fill(struct pg_session *session)
{
    enum { ROWS_MAX = 1000, BYTES_MAX = 4 * 1024 * 1024 };
    struct filling filling = {.session = session};
    do {
        arena_init(&filling.arena);
        filling.count = filling.seen = 0;
        pg_sql(session, candidates, read_candidates, &filling, filling.last_id, ROWS_MAX, BYTES_MAX);
        pg_sync(session);
        write_tags(&filling);
        arena_done(&filling.arena);
    } while (filling.seen && !session->err);
    pg_run_once(session, fill_tasks, NULL, NULL);
    pg_run_once(session, fill_jobs, NULL, NULL);
    pg_run_once(session, fill_done, NULL, NULL);
}

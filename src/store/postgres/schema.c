// The schema: a numbered table of steps, each applied in a transaction of its own together with the number it leads to. A process
// that dies on the way leaves whole steps behind, and the next one goes on from there; several that start at once wait for each
// other.
//
// All tables lie in one schema (`rota`, or schema=NAME in the URL) and every statement names it, because what a session sets, as
// search_path, is not kept behind a pooler that gives out connections by transaction. A role that owns the schema needs no other
// right.
//
// What is scanned for work stays small: `jobs` holds what is not final. A job that ends moves to `jobs_done`, in the partition of
// the day it is to be removed, which is dropped when that day has passed. What is kept for ever, or for very long, lies in day 0.
// There is no default partition: as long as there is one, every new day would have to read all of it.
//
// The columns of a job are made of PG_JOB (columns.h). A row that is added there is in the tables of a new database from the
// third step on; a database that has them gets it by a step of its own (ALTER TABLE … ADD COLUMN IF NOT EXISTS, for both tables).
#include "store/postgres/postgres.h"

#include "base/data/hash.h"

#include <stdio.h>

// Rows that change often are vacuumed often, and without waiting in between: a table that is scanned for work must not fill with
// what is gone.
#define BUSY_TABLE "autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0"

#define HANDS_DECLARED \
    "holder bigint NOT NULL, look_at bigint NOT NULL, remain bigint, looks int NOT NULL DEFAULT 0, ids bigint[] NOT NULL"

#define JOBS_OF_GONE \
    "SELECT id FROM @tasks WHERE gone UNION ALL SELECT e.id FROM @extras e JOIN @tasks t ON t.id=e.task_id WHERE t.gone"

static const char *const steps[][16] = {
    {
        "CREATE TABLE @incarnations(id bigint PRIMARY KEY, node int NOT NULL UNIQUE, beat bigint NOT NULL, dead boolean NOT NULL)"
        " WITH (fillfactor=50, " BUSY_TABLE ")",
        // No job waits in the lane with a due_at before `floor`: a look for what waits begins there, and so passes all that was
        // claimed since the table was vacuumed last. A statement that makes a job wait before the floor lowers it.
        "CREATE TABLE @lanes(id bigint PRIMARY KEY, floor bigint NOT NULL DEFAULT 0, tenant int NOT NULL, queue text COLLATE "
        "\"C\" NOT NULL,"
        " paused boolean NOT NULL, UNIQUE(tenant, queue)) WITH (fillfactor=50, " BUSY_TABLE ")",
        // Jobs per lane and state, as the sum over slots. Each session of each node has a slot, so that none waits for another's
        // row. Lane 0 is the sum of all lanes.
        "CREATE TABLE @counts(slot int, lane bigint, state smallint, n bigint NOT NULL, PRIMARY KEY(lane, state, slot))"
        " WITH (fillfactor=50, " BUSY_TABLE ")",
    },
    {
        "CREATE TABLE @tasks(id bigint PRIMARY KEY, lane bigint NOT NULL, created_at bigint NOT NULL, tenant int NOT NULL,"
        " key text COLLATE \"C\", name text COLLATE \"C\", doc bytea)",
        // A key outlives its task, until `until`; only then is it in the index.
        "CREATE TABLE @keys(tenant int, key text COLLATE \"C\", task_id bigint NOT NULL, until bigint NOT NULL,"
        " loose boolean NOT NULL, digest bytea NOT NULL, PRIMARY KEY(tenant, key))",
        "CREATE INDEX keys_loose ON @keys(until, tenant, key) WHERE loose",
        "CREATE TABLE @attempts(job_id bigint, number int, status int NOT NULL, outcome smallint NOT NULL, picked_at bigint NOT "
        "NULL,"
        " started_at bigint NOT NULL, completed_at bigint NOT NULL, holder bigint NOT NULL, reason bytea,"
        " PRIMARY KEY(job_id, number))",
        // Jobs that are not their task's first: a first job has its task's number and is found by it.
        "CREATE TABLE @extras(id bigint PRIMARY KEY, task_id bigint NOT NULL)",
        "CREATE INDEX extras_task ON @extras(task_id)",
    },
    {
        "CREATE TABLE @jobs(place bigint" PG_JOB_DECLARED ", PRIMARY KEY(id)) WITH (fillfactor=70, " BUSY_TABLE ")",
        "CREATE INDEX jobs_place ON @jobs(place, due_at, id) WHERE place IS NOT NULL",
        "CREATE INDEX jobs_expires ON @jobs(expires_at, id) WHERE expires_at>0",
    },
    {
        "CREATE TABLE @jobs_done(day int NOT NULL" PG_JOB_DECLARED ") PARTITION BY LIST (day)",
        "CREATE INDEX jobs_done_id ON @jobs_done(id)",
        "CREATE INDEX jobs_done_purge ON @jobs_done(purge_at, id) WHERE purge_at>0",
        "CREATE TABLE @jobs_done_0 PARTITION OF @jobs_done FOR VALUES IN (0)",
    },
    {
        "ALTER TABLE @incarnations ADD COLUMN pulls boolean NOT NULL DEFAULT true",
        // Who goes first in which bucket. All rows are of one term, the one in meta.
        "CREATE TABLE @owners(bucket int, puller bigint, term bigint NOT NULL, PRIMARY KEY(bucket, puller))",
        // Requests to the holder of a job.
        "CREATE TABLE @asks(holder bigint, job_id bigint, tenant int NOT NULL, wish smallint NOT NULL, PRIMARY KEY(holder, "
        "job_id))"
        " WITH (" BUSY_TABLE ")",
    },
    {
        // An ADD looks at the floor before it is committed, so a floor that is raised meanwhile may be too high for its job. What
        // the floor was five seconds ago is not: floor_old is that, or lower. floor_new becomes floor_old at the next turn.
        "ALTER TABLE @lanes ADD COLUMN floor_new bigint NOT NULL DEFAULT 0, ADD COLUMN floor_old bigint NOT NULL DEFAULT 0,"
        " ADD COLUMN turned_at bigint NOT NULL DEFAULT 0",
    },
    {
        // Vacuuming as fast as it can is worth it for small tables. `jobs` it would go through every minute in vain, for as long
        // as somebody holds a snapshot, and with all its might.
        "ALTER TABLE @jobs RESET (autovacuum_vacuum_cost_delay)",
    },
    {
        // Lists; and tasks that are changed, held or gone.
        "ALTER TABLE @tasks ADD COLUMN version bigint NOT NULL DEFAULT 1, ADD COLUMN paused boolean NOT NULL DEFAULT false,"
        " ADD COLUMN gone boolean NOT NULL DEFAULT false",
        "CREATE INDEX jobs_listed ON @jobs(tenant, scheduled_at, id)",
        "CREATE INDEX jobs_done_listed ON @jobs_done(tenant, scheduled_at, id)",
        "CREATE INDEX jobs_done_failed ON @jobs_done(tenant, state, scheduled_at, id) WHERE state>={first_failed}",
        "CREATE TABLE @bulks(id bigint PRIMARY KEY, tenant int NOT NULL, version bigint NOT NULL, state smallint NOT NULL,"
        " holder bigint NOT NULL, created_at bigint NOT NULL, ended_at bigint NOT NULL, matched bigint NOT NULL,"
        " changed bigint NOT NULL, unchanged bigint NOT NULL, failed bigint NOT NULL, next_at bigint NOT NULL,"
        " next_id bigint NOT NULL, doc bytea)",
        "CREATE INDEX bulks_running ON @bulks(id) WHERE state={bulk_running}",
    },
    {
        // Attempts that go on in nobody's hand, and what came out of them. A plain job has neither, and no entry in the index.
        "ALTER TABLE @jobs ADD COLUMN lease_until bigint NOT NULL DEFAULT 0, ADD COLUMN result bytea",
        "CREATE INDEX jobs_lease ON @jobs(lease_until, id) WHERE lease_until>0",
        "ALTER TABLE @jobs_done ADD COLUMN lease_until bigint NOT NULL DEFAULT 0, ADD COLUMN result bytea",
        "ALTER TABLE @meta ADD COLUMN bytes bytea",
    },
    {
        "ALTER TABLE @incarnations ADD COLUMN listens boolean NOT NULL DEFAULT false, ADD COLUMN tells boolean NOT NULL DEFAULT"
        " true",
        // What processes counted, minute by minute.
        "CREATE TABLE @series(tenant int, at bigint, source bigint, doc text NOT NULL, PRIMARY KEY(tenant, at, source))",
        "CREATE INDEX series_at ON @series(at)",
        // Their events, for nodes that listen: read within a moment, and not worth a line in the log.
        "CREATE UNLOGGED TABLE @news(source bigint, number bigint, told_at bigint NOT NULL, doc text NOT NULL, PRIMARY "
        "KEY(source,"
        " number)) WITH (" BUSY_TABLE ")",
    },
    {
        // A job keeps its place while it is in hand, so that a claim changes no column of an index, and the page has room for the
        // row as it will be then. A rota that does not know this finds no column `place`.
        "ALTER TABLE @jobs RENAME COLUMN place TO waits_at",
        "ALTER TABLE @jobs SET (fillfactor=45)",
        // What came into a hand, by the batch; what left it is taken out at look_at. A job that was claimed says in which row it
        // is, and that row how many of them have not ended (`remain`): so nobody has to look for those.
        "ALTER TABLE @jobs ADD COLUMN hand bigint NOT NULL DEFAULT 0",
        "CREATE TABLE @hands(number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, " HANDS_DECLARED ")"
        " WITH (fillfactor=50, " BUSY_TABLE ")",
        "ALTER TABLE @hands ALTER COLUMN ids SET STORAGE EXTERNAL",
        "CREATE INDEX hands_holder ON @hands(holder)",
        "CREATE INDEX hands_look ON @hands(look_at)",
        "INSERT INTO @hands(holder,look_at,ids) SELECT -waits_at, 0, array_agg(id) FROM @jobs WHERE waits_at<0 GROUP BY waits_at",
        "UPDATE @jobs SET waits_at=lane*{places}+{last_place}-priority WHERE waits_at<0",
    },
    {
        // A key says itself that its task was deleted by a user, because nothing else is left of the task.
        "ALTER TABLE @keys ADD COLUMN spent_at bigint NOT NULL DEFAULT 0",
        // What tasks and jobs are found by, in the order of lists: of a task, by its id at time 0; of its jobs, with the number
        // behind the tag, by scheduled_at and id. A task knows its tags.
        "ALTER TABLE @tasks ADD COLUMN tags bigint[]",
        "CREATE TABLE @tags(tenant int, tag bigint, at bigint, id bigint, PRIMARY KEY(tenant, tag, at, id))",
        // When a task was changed last, and a job by what leaves no other time behind; what targets answered to attempts that
        // failed. None of it is there for a plain job, and then it takes no room.
        "ALTER TABLE @tasks ADD COLUMN updated_at bigint",
        "ALTER TABLE @jobs ADD COLUMN touched_at bigint",
        "ALTER TABLE @jobs_done ADD COLUMN touched_at bigint",
        "ALTER TABLE @attempts ADD COLUMN response bytea, ADD COLUMN response_truncated smallint NOT NULL DEFAULT 0",
    },
    {
        // Whoever adds, claims, changes or removes jobs counts them in the same statement, so a rota of the release before, which
        // knows nothing of tags and of removal, writes no job from here on: it finds no column `n`. The tables it has written to
        // are brought up to date behind that, in the same transaction.
        "ALTER TABLE @counts RENAME COLUMN n TO jobs",
        // Claims look up the sizes of documents only where there has been a large one.
        "INSERT INTO @meta(name, value) SELECT '" PG_LARGE
        "', 1 WHERE EXISTS (SELECT FROM @tasks WHERE octet_length(doc)>={small_doc})"
        " ON CONFLICT DO NOTHING",
        // Tasks that were deleted before and are still there (`gone`, of which nobody knows any more) are nobody's until
        // retention takes them, and begin no more; their keys stay for a day, as those of others that go.
        "UPDATE @jobs SET tenant=0, expires_at=1 WHERE id=" PG_ANY(JOBS_OF_GONE),
        "UPDATE @jobs_done SET tenant=0 WHERE id=" PG_ANY(JOBS_OF_GONE),
        "UPDATE @keys k SET loose=true, until=" PG_CLOCK_MS
        "+86400000 FROM @tasks t WHERE t.gone AND k.tenant=t.tenant AND k.key=t.key",
        "UPDATE @tasks SET tenant=0 WHERE gone",
        // pg_tags_fill() gives tags to all tasks anew: what the release before wrote beside a newer one has none, or wrong ones.
        "TRUNCATE @tags",
        "UPDATE @tasks SET tags=NULL WHERE tags IS NOT NULL",
    },
    {
        // A lane that was dropped, and has had no job since that is not final (PG_SHOWN), is left out of lists.
        "ALTER TABLE @lanes ADD COLUMN dropped boolean NOT NULL DEFAULT false",
    },
    {
        // The jobs of a task in the order of their ids: the first of very many are found without reading the others.
        "CREATE INDEX extras_of_task ON @extras(task_id, id)",
        "DROP INDEX @extras_task",
    },
    {
        // The range that node numbers are given out of.
        "INSERT INTO @meta(name, value) VALUES('range', 0)",
    },
    {
        // A rota of a version before would claim jobs that are handed out, and call them. Each of its statements that writes jobs
        // counts them, too, so from here on it writes none: it finds no column `jobs`.
        "ALTER TABLE @counts RENAME COLUMN jobs TO job_count",
        // How the jobs of a lane are dispatched (enum target_dispatch). Until now all jobs were called.
        ("ALTER TABLE @lanes ADD COLUMN dispatch smallint NOT NULL DEFAULT 1, DROP CONSTRAINT lanes_tenant_queue_key,"
         " ADD UNIQUE(tenant, queue, dispatch)"),
        // The tables of what passes between nodes get the names that the code has.
        "ALTER TABLE @asks RENAME TO requests",
        "ALTER TABLE @requests RENAME COLUMN wish TO kind",
        "ALTER TABLE @news RENAME TO events",
        "ALTER TABLE @events RENAME COLUMN told_at TO relayed_at",
        "ALTER TABLE @incarnations RENAME COLUMN tells TO relays",
    },
    {
        // A rota of a version before would run jobs of schedules without planning the next, so from here on it writes no job: it
        // finds no column `job_count`.
        "ALTER TABLE @counts RENAME COLUMN job_count TO amount",
        "ALTER TABLE @counts RENAME COLUMN slot TO stripe", // a slot is room for a call
                                                            // What made a job (enum job_trigger). Until now all jobs were made by
                                                            // a submit.
        "ALTER TABLE @jobs ADD COLUMN IF NOT EXISTS trigger smallint NOT NULL DEFAULT 0",
        "ALTER TABLE @jobs_done ADD COLUMN IF NOT EXISTS trigger smallint NOT NULL DEFAULT 0",
        // The plans of recurring tasks. `lane` is the task's, so that jobs are added without a look at the task. Each job that
        // ends changes its plan, and no index with it. A plan is `over` (PG_IS_OVER) from when it was written so until a sweep
        // has looked whether its task has jobs.
        "CREATE TABLE @plans(lane bigint NOT NULL" PG_PLAN_DECLARED ", over boolean NOT NULL, PRIMARY KEY(task_id))"
        " WITH (fillfactor=50, " BUSY_TABLE ")",
        "CREATE INDEX plans_check ON @plans(check_at, task_id) WHERE check_at<" PG_NEVER,
        "CREATE INDEX plans_over ON @plans(task_id) WHERE over",
        "CREATE UNIQUE INDEX plans_reserved ON @plans(tenant, reserved) WHERE reserved IS NOT NULL",
        // A planned job that has not begun leaves `jobs` when it is cancelled, and is in jobs_done then, or because somebody has
        // removed it with a tool of the database. In that case its plan notes it, and is looked at with the next round.
        "CREATE FUNCTION @note_missing_job() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN"
        " IF NOT EXISTS (SELECT FROM @jobs_done WHERE id=OLD.id) THEN"
        "  UPDATE @plans SET revision=revision+1, check_at=0,"
        "   missing=concat(missing, OLD.id, ' ', OLD.nominal_at, ';') WHERE task_id=OLD.task_id;"
        " END IF; RETURN NULL; END$$",
        "CREATE TRIGGER jobs_removed AFTER DELETE ON @jobs FOR EACH ROW"
        " WHEN (OLD.trigger=1 AND OLD.state<=2) EXECUTE FUNCTION @note_missing_job()",
    },
};

enum { STEP_THAT_FILLS_TAGS = 12 }; // by its place in the list, from 0

enum { SCHEMA_VERSION = array_count(steps), MIGRATION_MS = 3600000 };

// The keys of this schema's advisory locks: another schema of the same database has others.
int64_t pg_lock_key(const struct pg *pg, enum pg_lock lock)
{
    return (int64_t)((hash_bytes(pg->schema, strlen(pg->schema)) & ~(uint64_t)0xff) | (uint64_t)lock);
}

void pg_lock(struct pg_session *session, enum pg_lock lock)
{
    pg_sql(session, "SELECT pg_advisory_xact_lock($1)", NULL, NULL, pg_lock_key(session->pg, lock));
}

static void read_int(void *ctx, const PGresult *result)
{
    *(int64_t *)ctx = PQntuples(result) ? pg_int(result, 0, 0) : -1;
}

static void run(struct pg_session *session, const char *sql)
{
    pg_run_once(session, sql, NULL, NULL);
}

static int64_t ask_text(struct pg_session *session, const char *sql, const char *text)
{
    int64_t answer = 0;
    pg_begin_query(session);
    pg_put(session, sql);
    pg_param_text(session, str_of(text));
    pg_send(session, read_int, &answer);
    pg_sync(session);
    return answer;
}

// A schema that is there is not made again: that would need a right on the database.
static void make_schema(struct pg_session *session)
{
    char sql[200];
    if (ask_text(session, "SELECT count(*) FROM pg_namespace WHERE nspname=$1", session->pg->schema_name) == 0) {
        snprintf(sql, sizeof sql, "CREATE SCHEMA IF NOT EXISTS %.*s", (int)strlen(session->pg->schema) - 1, session->pg->schema);
        run(session, sql);
    }
    int64_t tables = ask_text(session,
                              "SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid=c.relnamespace"
                              " WHERE n.nspname=$1 AND c.relname='meta'",
                              session->pg->schema_name);
    if (tables == 0 && !session->err)
        run(session, "CREATE TABLE IF NOT EXISTS @meta(name text PRIMARY KEY, value bigint NOT NULL)");
}

static int64_t read_version(struct pg_session *session)
{
    int64_t version = 0;
    run(session, "INSERT INTO @meta(name, value) VALUES('schema', 0) ON CONFLICT DO NOTHING");
    pg_run(session, "SELECT value FROM @meta WHERE name='schema' FOR UPDATE", 0, NULL, read_int, &version);
    pg_sync(session);
    return version;
}

static void check_version(struct pg_session *session, int64_t version)
{
    char why[ERR_WHY_MAX];
    if (version <= SCHEMA_VERSION)
        return;
    snprintf(why, sizeof why,
             "the database has schema version %lld and this rota knows %d: use the rota that wrote it, or a newer one",
             (long long)version, SCHEMA_VERSION);
    pg_fail(session, PG_REFUSED, ERR_STORE_UNAVAILABLE, why);
}

static void read_version_again(void *ctx, const PGresult *result)
{
    check_version(ctx, PQntuples(result) ? pg_int(result, 0, 0) : 0);
}

// A newer rota may have come meanwhile: whoever connects again notices.
void pg_send_version(struct pg_session *session)
{
    pg_run(session, "SELECT value FROM @meta WHERE name='schema'", 0, NULL, read_version_again, session);
}

// One step, from whatever version there is. Returns the version it leads to.
static int64_t take_step(struct pg_session *session)
{
    pg_begin(session, "BEGIN");
    pg_lock(session, PG_LOCK_SCHEMA);
    make_schema(session);
    int64_t version = read_version(session);
    check_version(session, version);
    if (!session->err && version < SCHEMA_VERSION) {
        for (size_t i = 0; i < array_count(steps[version]) && steps[version][i]; i++)
            run(session, steps[version][i]);
        if (version == STEP_THAT_FILLS_TAGS)
            pg_tags_fill(session);
        version++;
        pg_sql(session, "UPDATE @meta SET value=$1 WHERE name='schema'", NULL, NULL, version);
    }
    run(session, "COMMIT");
    pg_sync(session);
    return version;
}

void pg_migrate(struct pg_session *session)
{
    session->deadline_ms = clock_mono_ns() / 1000000 + MIGRATION_MS;
    while (!session->err && take_step(session) < SCHEMA_VERSION)
        ;
    pg_session_reset(session);
}

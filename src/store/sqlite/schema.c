// The schema, as a numbered list of steps, and how a database is brought up to date.
//
// Rows are kept few and narrow: a job costs one row, one entry in the list of its tenant and, while it waits, a narrow row in
// `waiting`; the other indexes are partial and hold nothing for a plain job but, once it is final, when to remove it. A claim
// takes it out of `waiting` and leaves its record alone (sqlite/claims.c).
#include "store/sqlite/db.h"

#include <stdio.h>
#include <stdlib.h>

// Each step leads from one version of the schema to the next. What is written here is in databases out there: a new step is added
// at the end, none is changed. So states are numbers here, and columns are written out, whatever the tables of today say.
static const char *const schema_steps[] = {
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;"
    "CREATE TABLE incarnations(id INTEGER PRIMARY KEY, node INTEGER NOT NULL UNIQUE, beat INTEGER NOT NULL, dead INTEGER NOT "
    "NULL);"
    "CREATE TABLE lanes(id INTEGER PRIMARY KEY, tenant INTEGER NOT NULL, queue TEXT NOT NULL, paused INTEGER NOT NULL);"
    "CREATE UNIQUE INDEX lanes_name ON lanes(tenant, queue);"
    // Jobs per lane and state. Lane 0 is the sum of all.
    "CREATE TABLE counts(lane INTEGER, state INTEGER, n INTEGER NOT NULL, PRIMARY KEY(lane, state)) WITHOUT ROWID;"
    // A key outlives its task, until `until`; only then is it in the index.
    "CREATE TABLE keys(tenant INTEGER, key TEXT, digest BLOB NOT NULL, task_id INTEGER NOT NULL, until INTEGER NOT NULL,"
    " loose INTEGER NOT NULL, PRIMARY KEY(tenant, key)) WITHOUT ROWID;"
    "CREATE INDEX keys_loose ON keys(until) WHERE loose;"
    "CREATE TABLE tasks(id INTEGER PRIMARY KEY, tenant INTEGER NOT NULL, lane INTEGER NOT NULL, created_at INTEGER NOT NULL,"
    " key TEXT, name TEXT, doc BLOB);"
    "CREATE TABLE jobs(id INTEGER PRIMARY KEY, place INTEGER,"
    "state INTEGER NOT NULL,token INTEGER NOT NULL,holder INTEGER NOT NULL,due_at INTEGER NOT NULL,"
    "ready_at INTEGER NOT NULL,scheduled_at INTEGER NOT NULL,expires_at INTEGER NOT NULL,purge_at INTEGER NOT NULL,"
    "picked_at INTEGER NOT NULL,started_at INTEGER NOT NULL,completed_at INTEGER NOT NULL,attempts INTEGER NOT NULL,"
    "retries INTEGER NOT NULL,losses INTEGER NOT NULL,status INTEGER NOT NULL,outcome INTEGER NOT NULL,"
    "late_stage INTEGER NOT NULL,response_truncated INTEGER NOT NULL,task_id INTEGER NOT NULL,"
    "parent_id INTEGER NOT NULL,tenant INTEGER NOT NULL,lane INTEGER NOT NULL,priority INTEGER NOT NULL,"
    "nominal_at INTEGER NOT NULL,"
    "reason BLOB, response BLOB);"
    "CREATE INDEX jobs_place ON jobs(place, due_at) WHERE place IS NOT NULL;"
    "CREATE INDEX jobs_task ON jobs(task_id) WHERE id<>task_id;"
    "CREATE INDEX jobs_expires ON jobs(expires_at) WHERE expires_at>0 AND state<=2;"
    "CREATE INDEX jobs_purge ON jobs(purge_at) WHERE purge_at>0;"
    "CREATE TABLE attempts(job_id INTEGER, number INTEGER, status INTEGER NOT NULL, outcome INTEGER NOT NULL,"
    " picked_at INTEGER NOT NULL, started_at INTEGER NOT NULL, completed_at INTEGER NOT NULL, holder INTEGER NOT "
    "NULL, reason BLOB,"
    " PRIMARY KEY(job_id, number)) WITHOUT ROWID;",
    // Who goes first in which bucket; and what the holder of a job was asked by others.
    "ALTER TABLE incarnations ADD COLUMN pulls INTEGER NOT NULL DEFAULT 1;"
    "CREATE TABLE owners(bucket INTEGER, puller INTEGER, term INTEGER NOT NULL, PRIMARY KEY(bucket, puller)) WITHOUT ROWID;"
    "CREATE TABLE asks(holder INTEGER, job_id INTEGER, tenant INTEGER NOT NULL, wish INTEGER NOT NULL,"
    " PRIMARY KEY(holder, job_id)) WITHOUT ROWID;",
    // Lists; and tasks that are changed, held or gone.
    "ALTER TABLE tasks ADD COLUMN version INTEGER NOT NULL DEFAULT 1;"
    "ALTER TABLE tasks ADD COLUMN paused INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE tasks ADD COLUMN gone INTEGER NOT NULL DEFAULT 0;"
    "CREATE INDEX jobs_listed ON jobs(tenant, scheduled_at);"
    "CREATE INDEX jobs_failed ON jobs(tenant, state, scheduled_at) WHERE state>=6;"
    "CREATE TABLE bulks(id INTEGER PRIMARY KEY, tenant INTEGER NOT NULL, version INTEGER NOT NULL,"
    " state INTEGER NOT NULL, holder INTEGER NOT NULL, created_at INTEGER NOT NULL, ended_at INTEGER NOT NULL,"
    " matched INTEGER NOT NULL, changed INTEGER NOT NULL, unchanged INTEGER NOT NULL, failed INTEGER NOT NULL,"
    " next_at INTEGER NOT NULL, next_id INTEGER NOT NULL, doc BLOB);"
    "CREATE INDEX bulks_running ON bulks(id) WHERE state=0;",
    // Attempts that go on in nobody's hand, and what came out of them. A plain job has neither, and no entry in the index.
    "ALTER TABLE jobs ADD COLUMN lease_until INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE jobs ADD COLUMN result BLOB;"
    "CREATE INDEX jobs_lease ON jobs(lease_until) WHERE lease_until>0;",
    // What processes counted, minute by minute; and what happened at them, for others who listen.
    "ALTER TABLE incarnations ADD COLUMN listens INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE incarnations ADD COLUMN tells INTEGER NOT NULL DEFAULT 1;"
    "CREATE TABLE series(tenant INTEGER, at INTEGER, source INTEGER, doc BLOB, PRIMARY KEY(tenant, at, source)) WITHOUT ROWID;"
    "CREATE INDEX series_at ON series(at);"
    "CREATE TABLE news(source INTEGER, number INTEGER, told_at INTEGER NOT NULL, doc BLOB, PRIMARY KEY(source, number))"
    " WITHOUT ROWID;",
    // What waits has rows of its own, and what is in hand a log (sqlite/claims.c, which makes hand()).
    "CREATE TABLE waiting(place INTEGER, due_at INTEGER, id INTEGER, PRIMARY KEY(place, due_at, id)) WITHOUT ROWID;"
    "CREATE TABLE hands(number INTEGER PRIMARY KEY, entries BLOB);"
    "INSERT INTO waiting(place, due_at, id) SELECT place, due_at, id FROM jobs WHERE place>0 ORDER BY place, due_at, id;"
    "INSERT INTO hands(entries) SELECT hand(id, -place) FROM jobs WHERE place<0;"
    "DROP INDEX jobs_place;"
    "ALTER TABLE jobs DROP COLUMN place;",
    // A key says itself when its task was deleted by a user, for nothing else is left of the task. Tasks that were deleted before
    // this step and are still there (`gone`, which no code knows any more) belong to no tenant until retention takes them, and
    // begin no more; their keys stay for a day, as those of other tasks that go.
    "ALTER TABLE keys ADD COLUMN spent_at INTEGER NOT NULL DEFAULT 0;"
    "CREATE TEMP TABLE left_behind AS SELECT id FROM tasks WHERE gone;"
    "UPDATE jobs SET tenant=0, expires_at=1 WHERE id=task_id AND id IN (SELECT id FROM left_behind);"
    "UPDATE jobs SET tenant=0, expires_at=1 WHERE id<>task_id AND task_id IN (SELECT id FROM left_behind);"
    "UPDATE keys SET loose=1, until=1000*strftime('%s', 'now', '+1 day') WHERE task_id IN (SELECT id FROM left_behind);"
    "UPDATE tasks SET tenant=0 WHERE id IN (SELECT id FROM left_behind);"
    "DROP TABLE left_behind;"
    // What tasks and jobs are found by (sqlite/tags.c, which makes tags_of()), in the order of lists: of a task, by its id
    // at time 0; of its jobs, with the number behind the tag, by scheduled_at and id. A task knows its tags, as a JSON array.
    "ALTER TABLE tasks ADD COLUMN tags TEXT;"
    "CREATE TABLE tags(tenant INTEGER, tag INTEGER, at INTEGER, id INTEGER, PRIMARY KEY(tenant, tag, at, id)) WITHOUT ROWID;"
    "UPDATE tasks SET tags=tags_of(doc) WHERE NOT gone AND tags_of(doc) IS NOT NULL;"
    "INSERT INTO tags(tenant, tag, at, id) SELECT t.tenant, e.value, 0, t.id FROM tasks t, json_each(t.tags) e"
    " WHERE t.tags IS NOT NULL;"
    "INSERT INTO tags(tenant, tag, at, id) SELECT j.tenant, e.value+1, j.scheduled_at, j.id"
    " FROM jobs j CROSS JOIN tasks t ON t.id=j.task_id, json_each(t.tags) e WHERE t.tags IS NOT NULL;"
    // The time when a task was changed last, and a job by a step that leaves no other time behind; and what targets answered to
    // attempts that failed.
    "ALTER TABLE tasks ADD COLUMN updated_at INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE jobs ADD COLUMN touched_at INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE attempts ADD COLUMN response BLOB;"
    "ALTER TABLE attempts ADD COLUMN response_truncated INTEGER NOT NULL DEFAULT 0;",
    // A lane that was dropped is left out of lists until a job that is not final comes into it.
    "ALTER TABLE lanes ADD COLUMN dropped INTEGER NOT NULL DEFAULT 0;",
    // The range that node numbers are given out of.
    "INSERT INTO meta(name, value) VALUES('range', 0);",
    // How the jobs of a lane are dispatched (enum target_dispatch). Until now all jobs were called.
    "ALTER TABLE lanes ADD COLUMN dispatch INTEGER NOT NULL DEFAULT 1;"
    "DROP INDEX lanes_name;"
    "CREATE UNIQUE INDEX lanes_name ON lanes(tenant, queue, dispatch);"
    // The tables of what passes between nodes get the names that the code has.
    "ALTER TABLE asks RENAME TO requests;"
    "ALTER TABLE requests RENAME COLUMN wish TO kind;"
    "ALTER TABLE news RENAME TO events;"
    "ALTER TABLE events RENAME COLUMN told_at TO relayed_at;"
    "ALTER TABLE incarnations RENAME COLUMN tells TO relays;",
    // What made a job (enum job_trigger). Until now users submitted all of them, or repeated them by hand, which has a parent.
    "ALTER TABLE jobs ADD COLUMN trigger INTEGER NOT NULL DEFAULT 0;"
    "UPDATE jobs INDEXED BY jobs_task SET trigger=3 WHERE id<>task_id AND parent_id>0;"
    // Plans of recurring tasks (sqlite/plans.c). active and queued are ids of jobs, 8 bytes each.
    "CREATE TABLE plans(task_id INTEGER PRIMARY KEY, lane INTEGER NOT NULL, version INTEGER NOT NULL, revision INTEGER NOT NULL,"
    " planned_through INTEGER NOT NULL, instants INTEGER NOT NULL, ended_with INTEGER NOT NULL, check_at INTEGER NOT NULL,"
    " success INTEGER NOT NULL, failed INTEGER NOT NULL, cancelled INTEGER NOT NULL, failures_in_row INTEGER NOT NULL, last_at "
    "INTEGER NOT NULL,"
    " paused_at INTEGER NOT NULL, jobless INTEGER NOT NULL, tags TEXT, active BLOB, queued BLOB, skips TEXT, paused_note TEXT,"
    " paused_by TEXT, missing TEXT, tenant INTEGER NOT NULL, reserved TEXT);"
    "CREATE INDEX plans_check ON plans(check_at) WHERE check_at<>9223372036854775807;"
    "CREATE INDEX plans_over ON plans(task_id) WHERE jobless AND planned_through=9223372036854775807;"
    "CREATE UNIQUE INDEX plans_reserved ON plans(tenant, reserved) WHERE reserved IS NOT NULL;"
    // When somebody removes a planned job that has not begun with a tool of the database, its plan notes it, and is looked at
    // with the next round. What the store itself removes fires no trigger (db.c).
    "CREATE TRIGGER jobs_removed AFTER DELETE ON jobs WHEN old.trigger=1 AND old.state<=2 BEGIN"
    " UPDATE plans SET revision=revision+1, check_at=0, missing=coalesce(missing, '')||old.id||' '||old.nominal_at||';'"
    " WHERE task_id=old.task_id; END;",
};

enum { SCHEMA_VERSION = array_count(schema_steps), STEP_SQL_MAX = 8192 };

// A step and the version it leads to are one transaction, so a crash leaves the schema before the step, or the one behind it.
static enum err take_steps(sqlite3 *handle, size_t version, char why[ERR_WHY_MAX])
{
    char sql[STEP_SQL_MAX];
    bool behind = version < SCHEMA_VERSION;
    for (; version < SCHEMA_VERSION; version++) {
        snprintf(sql, sizeof sql, "BEGIN IMMEDIATE; %s REPLACE INTO meta(name, value) VALUES('schema', %zu); COMMIT;",
                 schema_steps[version], version + 1);
        if (sqlite3_exec(handle, sql, NULL, NULL, NULL) != SQLITE_OK)
            return db_fail(handle, "making the tables", why);
    }
    if (behind) // a step may have written everything anew, and the WAL is not to stay that long
        sqlite3_wal_checkpoint_v2(handle, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    return ERR_OK;
}

enum err schema_bring_up_to_date(sqlite3 *handle, char why[ERR_WHY_MAX])
{
    char answer[64];
    if (!db_ask(handle, "SELECT count(*) FROM sqlite_schema", answer))
        return db_fail(handle, "reading the database", why);
    if (strcmp(answer, "0") == 0)
        return take_steps(handle, 0, why);
    if (!db_ask(handle, "SELECT value FROM meta WHERE name='schema'", answer)) {
        snprintf(why, ERR_WHY_MAX, "the database is not one of rota's: it has no schema version");
        return ERR_STORE_UNAVAILABLE;
    }
    long version = strtol(answer, NULL, 10);
    if (version >= 1 && version <= SCHEMA_VERSION)
        return take_steps(handle, (size_t)version, why);
    snprintf(why, ERR_WHY_MAX,
             "the database has schema version %ld and this rota knows %d: use the rota that wrote it, or a newer one", version,
             SCHEMA_VERSION);
    return ERR_STORE_UNAVAILABLE;
}

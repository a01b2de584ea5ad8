// A connection to the database: every SQL statement there is, the schema, and the few ways a statement is used.
//
// Rows are kept few and narrow: a job costs one row, one entry in the list of its tenant and, while it waits, a narrow row in
// `waiting`; the other indexes are partial and hold nothing for a plain job but, once it is final, when to remove it. A claim
// takes it out of `waiting` and leaves its record alone (sqlite/claims.c). Most of what a statement costs is not its row,
// but opening every index of the table. So the usual ones take up to 64 rows.
//
// What it does not do: decide, or know about threads.
#include "store/sqlite/sqlite.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { EXIT_FSYNC = 70 };

_Static_assert(JOB_BLOCKED == 0 && JOB_DELAYED == 1 && JOB_READY == 2, "the SQL below names these states by number");
_Static_assert(JOB_SUCCESS == 5, "the SQL below takes states from here on for final");

#define NAME(name) "," #name
#define NAME_OF_J(name) ",j." #name
#define QUESTION(name) ",?"
#define ASSIGN(name) #name "=?,"
#define DECLARE(name) #name " INTEGER NOT NULL,"

#define JOB_COLUMNS "j.id" JOB_FIXED(NAME_OF_J) JOB_MOVING(NAME_OF_J) ",j.reason,j.response"
#define TASK_COLUMNS                                                                                                             \
    "t.id, t.tenant, t.created_at, t.updated_at, t.version, t.paused, l.queue, t.name, t.doc FROM tasks t LEFT JOIN lanes l ON " \
    "l.id=t.lane"
#define BEHIND " AND (j.scheduled_at, j.id)<(?2, ?3)"
#define JOBS_BEHIND BEHIND " ORDER BY j.scheduled_at DESC, j.id DESC LIMIT ?4"
// What is claimed or in hand has no lease and no result, so these are read only by those who may meet them. `result` is the last
// column but one: who does not ask for it does not go through its pages. What has not ended has a small one, if any.
#define LEASE_COLUMNS ",CASE WHEN j.state<5 THEN j.touched_at END,j.lease_until,length(j.result),"
#define LISTED_RESULT "CASE WHEN length(j.result)<=4096 THEN j.result END"
#define LISTED_JOB JOB_COLUMNS LEASE_COLUMNS LISTED_RESULT
_Static_assert(STORE_LISTED_RESULT == 4096, "the SQL above says so");
// IS, because of two conditions on the state SQLite would take the one of the index, and sort all that ever failed.
#define FAILED(state)                                                                \
    "SELECT " LISTED_JOB " FROM jobs j INDEXED BY jobs_failed WHERE j.tenant=?1 AND" \
    " j.state IS " state " AND j.state>=6" BEHIND
#define WITH_DOC " LEFT JOIN tasks t ON t.id=j.task_id "

// Many rows in one statement. OR FAIL spares SQLite to keep a copy of every page that the statement changes: a failure midway is
// either made undone by the caller, or rolls everything back.
#define ROWS_4(row) row "," row "," row "," row
#define ROWS_16(row) ROWS_4(row) "," ROWS_4(row) "," ROWS_4(row) "," ROWS_4(row)
#define ROWS_64(row) ROWS_16(row) "," ROWS_16(row) "," ROWS_16(row) "," ROWS_16(row)

#define ZERO(name) ",0"
#define ADD_TASKS "INSERT OR FAIL INTO tasks(id, tenant, lane, created_at, name, doc) VALUES"
#define TASK_ROW "(?,?,?,?,?,?)"
#define ADD_TAGGED "INSERT OR FAIL INTO tasks(id, tenant, lane, created_at, name, doc, tags) VALUES"
#define TAGGED_ROW "(?,?,?,?,?,?,?)"
#define ADD_TAGS "INSERT OR REPLACE INTO tags(tenant, tag, at, id) VALUES"
#define ADD_JOBS "INSERT OR FAIL INTO jobs(id" JOB_NEW(NAME) JOB_NEW_ZERO(NAME) ") VALUES"
#define JOB_ROW "(?" JOB_NEW(QUESTION) JOB_NEW_ZERO(ZERO) ")"
#define WAIT "INSERT OR FAIL INTO waiting(place, due_at, id) VALUES"

#define PROMOTE "UPDATE OR FAIL jobs SET state=2 WHERE id IN "
#define COUNT_UP(rows) "INSERT INTO counts(lane, state, n) VALUES" rows " ON CONFLICT(lane, state) DO UPDATE SET n=n+excluded.n"

// The functions are those of sqlite/change.c.
#define ASSIGN_NEW(name) #name "=new_" #name "(id),"
#define CHANGE                                                                                                                  \
    "UPDATE OR FAIL jobs SET " JOB_CHANGED(ASSIGN_NEW) "reason=new_reason(id),response=new_response(id) WHERE stands(id,token," \
                                                       "state,lane,priority,lease_until" JOB_KEPT(NAME) ") AND id IN "

// Each step leads from one version of the schema to the next. What is written here is in databases out there: a new step is added
// at the end, none is changed.
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
    "CREATE TABLE jobs(id INTEGER PRIMARY KEY, place INTEGER," JOB_MOVING(DECLARE) JOB_FIXED(
        DECLARE) "reason BLOB, response BLOB);"
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
    // Whose task was deleted by a user, a key says itself, for nothing else is left of the task. Those that were deleted before
    // and are still there (`gone`, of which nobody knows any more) are nobody's until retention takes them, and begin no more;
    // their keys stay for a day, as those of others that go.
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
    // When a task was changed last, and a job by what leaves no other time behind; what targets answered to attempts that failed.
    "ALTER TABLE tasks ADD COLUMN updated_at INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE jobs ADD COLUMN touched_at INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE attempts ADD COLUMN response BLOB;"
    "ALTER TABLE attempts ADD COLUMN response_truncated INTEGER NOT NULL DEFAULT 0;",
    // A lane that was dropped is left out of lists until a job that is not final comes into it.
    "ALTER TABLE lanes ADD COLUMN dropped INTEGER NOT NULL DEFAULT 0;",
};

enum { SCHEMA_VERSION = array_count(schema_steps), STEP_SQL_MAX = 8192 };

// `read`: the reader has it too.
static const struct {
    const char *text;
    bool read;
} statements[SQL_TOTAL] = {
    [SQL_BEGIN] = {"BEGIN IMMEDIATE"},
    [SQL_BEGIN_READ] = {"BEGIN", true},
    [SQL_COMMIT] = {"COMMIT", true},
    [SQL_ROLLBACK] = {"ROLLBACK", true},
    [SQL_FLOOR] = {"SELECT max(coalesce((SELECT max(id) FROM tasks), 0), coalesce((SELECT max(id) FROM jobs), 0),"
                   " coalesce((SELECT value FROM meta WHERE name='id_floor'), 0))"},
    [SQL_SET_FLOOR] = {"INSERT INTO meta(name, value) VALUES('id_floor', ?1)"
                       " ON CONFLICT(name) DO UPDATE SET value=max(value, ?1)"},
    [SQL_SECRET] = {"SELECT value FROM meta WHERE name='secret'"},
    [SQL_SET_SECRET] = {"INSERT INTO meta(name, value) VALUES('secret', ?1)"},
    [SQL_INCARNATION] = {"SELECT dead, node, beat FROM incarnations WHERE id=?"},
    [SQL_INCARNATIONS] = {"SELECT id, beat, dead, pulls, listens, tells FROM incarnations WHERE id<>? ORDER BY id"},
    [SQL_NODES] = {"SELECT node FROM incarnations ORDER BY node"},
    [SQL_ADD_INCARNATION] = {"INSERT INTO incarnations(id, node, pulls, beat, dead) VALUES(?, ?, ?, 0, 0)"},
    [SQL_BEAT] = {"UPDATE incarnations SET beat=beat+1, listens=?, tells=? WHERE id=?"},
    [SQL_COUNT_BEAT] = {"INSERT INTO meta(name, value) VALUES('beats', 1) ON CONFLICT(name) DO UPDATE SET value=value+1"
                        " RETURNING value"},
    [SQL_BURY] = {"UPDATE incarnations SET dead=1 WHERE id=?"},
    [SQL_FORGET] = {"DELETE FROM incarnations WHERE id=?"},
    [SQL_TERM] = {"SELECT value FROM meta WHERE name='term'", true},
    [SQL_SET_TERM] = {"INSERT INTO meta(name, value) VALUES('term', ?1) ON CONFLICT(name) DO UPDATE SET value=?1"},
    [SQL_OWNERS] = {"SELECT bucket, puller FROM owners ORDER BY bucket, puller", true},
    [SQL_ADD_OWNER] = {"INSERT INTO owners(bucket, puller, term) VALUES(?, ?, ?)"},
    [SQL_REMOVE_OWNERS] = {"DELETE FROM owners"},
    [SQL_ASK] = {"INSERT INTO asks(holder, job_id, tenant, wish) VALUES(?, ?, ?, ?)"
                 " ON CONFLICT(holder, job_id) DO UPDATE SET wish=min(wish, excluded.wish)"},
    [SQL_ASKED] = {"SELECT job_id, tenant, wish FROM asks WHERE holder=? ORDER BY job_id LIMIT ?"},
    [SQL_REMOVE_ASK] = {"DELETE FROM asks WHERE holder=? AND job_id=?"},
    [SQL_REMOVE_ASKS] = {"DELETE FROM asks WHERE holder=?"},
    [SQL_LANE_BY_NAME] = {"SELECT id, paused FROM lanes WHERE tenant=? AND queue=?", true},
    [SQL_LANE_BY_ID] = {"SELECT tenant, paused, queue, dropped FROM lanes WHERE id=?"},
    [SQL_ADD_LANE] = {"INSERT INTO lanes(tenant, queue, paused) VALUES(?, ?, 0)"},
    [SQL_PAUSE_LANE] = {"UPDATE lanes SET paused=?, dropped=0 WHERE id=?"},
    [SQL_DROP_LANE] = {"UPDATE lanes SET dropped=? WHERE id=?"},
    [SQL_OPEN] = {"SELECT sum(n) FROM counts WHERE lane=? AND state<5"},
    [SQL_COUNT_UP_1] = {COUNT_UP("(?,?,?)")},
    [SQL_COUNT_UP_4] = {COUNT_UP(ROWS_4("(?,?,?)"))},
    [SQL_COUNT_UP_16] = {COUNT_UP(ROWS_16("(?,?,?)"))},
    [SQL_COUNT_UP_64] = {COUNT_UP(ROWS_64("(?,?,?)"))},
    [SQL_DELAYED] = {"SELECT n FROM counts WHERE lane=? AND state=1"},
    [SQL_KEY] = {"SELECT task_id, digest, spent_at FROM keys WHERE tenant=? AND key=?", true},
    [SQL_ADD_KEY] = {"INSERT INTO keys(tenant, task_id, key, digest, until, loose) VALUES(?, ?, ?, ?, 0, 0)"},
    [SQL_LOOSEN_KEY] = {"UPDATE keys SET loose=1, until=?, spent_at=? WHERE tenant=? AND key=?"},
    [SQL_LOOSE_KEYS] = {"SELECT tenant, key FROM keys INDEXED BY keys_loose WHERE loose AND until<=?"
                        " ORDER BY until, tenant, key LIMIT ?"},
    [SQL_REMOVE_KEY] = {"DELETE FROM keys WHERE tenant=? AND key=?"},
    [SQL_TASK_LANE] = {"SELECT lane FROM tasks WHERE id=? AND tenant=?"},
    [SQL_TASK_KEY] = {"SELECT tenant, key, tags FROM tasks WHERE id=?"},
    [SQL_TASK_JOBS] =
        {"SELECT id, task_id, lane, state, scheduled_at FROM jobs WHERE id=?1 AND task_id=?1 UNION ALL"
         " SELECT id, task_id, lane, state, scheduled_at FROM jobs INDEXED BY jobs_task WHERE task_id=?1 AND id<>task_id"
         " ORDER BY 1 LIMIT ?2"},
    [SQL_ADD_TASK] = {"INSERT INTO tasks(id, tenant, lane, created_at, name, doc, tags, key) VALUES(?,?,?,?,?,?,?,?)"},
    [SQL_ADD_TASKS_4] = {ADD_TASKS ROWS_4(TASK_ROW)},
    [SQL_ADD_TASKS_16] = {ADD_TASKS ROWS_16(TASK_ROW)},
    [SQL_ADD_TASKS_64] = {ADD_TASKS ROWS_64(TASK_ROW)},
    [SQL_ADD_TAGGED_4] = {ADD_TAGGED ROWS_4(TAGGED_ROW)},
    [SQL_ADD_TAGGED_16] = {ADD_TAGGED ROWS_16(TAGGED_ROW)},
    [SQL_ADD_TAGGED_64] = {ADD_TAGGED ROWS_64(TAGGED_ROW)},
    [SQL_ADD_TAGS_1] = {ADD_TAGS "(?,?,?,?)"},
    [SQL_ADD_TAGS_4] = {ADD_TAGS ROWS_4("(?,?,?,?)")},
    [SQL_ADD_TAGS_16] = {ADD_TAGS ROWS_16("(?,?,?,?)")},
    [SQL_ADD_TAGS_64] = {ADD_TAGS ROWS_64("(?,?,?,?)")},
    [SQL_REMOVE_TAG] = {"DELETE FROM tags WHERE tenant=? AND tag=? AND at=? AND id=?"},
    [SQL_SET_TAGS] = {"UPDATE tasks SET tags=?2 WHERE id=?1"},
    [SQL_TAGS_OF_JOB] = {"SELECT t.tenant, t.tags, j.scheduled_at FROM jobs j JOIN tasks t ON t.id=j.task_id WHERE j.id=?"},
    [SQL_TIMES_OF_TASK] = {"SELECT id, scheduled_at FROM jobs WHERE id=?1 AND task_id=?1 UNION ALL"
                           " SELECT id, scheduled_at FROM jobs INDEXED BY jobs_task WHERE task_id=?1 AND id<>task_id"},
    [SQL_TASK_VERSION] = {"SELECT version FROM tasks WHERE id=? AND tenant=?"},
    [SQL_TASK_HAS_OPEN] = {"SELECT 1 FROM jobs WHERE id=?1 AND task_id=?1 AND state<=?2 UNION ALL"
                           " SELECT 1 FROM jobs INDEXED BY jobs_task WHERE task_id=?1 AND id<>task_id AND state<=?2 LIMIT 1"},
    [SQL_AMEND_TASK] = {"UPDATE tasks SET lane=?2, paused=?3, updated_at=?6, version=version+1, name=?4, doc=?5 WHERE id=?1"},
    [SQL_MOVE_JOB] = {"UPDATE jobs SET lane=?, priority=? WHERE id=?"},
    [SQL_REMOVE_TASK] = {"DELETE FROM tasks WHERE id=?"},
    [SQL_ADD_JOB] = {"INSERT INTO jobs(id" JOB_FIXED(NAME) JOB_MOVING(NAME) ",reason,response) VALUES(?" JOB_FIXED(QUESTION)
                         JOB_MOVING(QUESTION) ",?,?)"},
    [SQL_ADD_JOBS_4] = {ADD_JOBS ROWS_4(JOB_ROW)},
    [SQL_ADD_JOBS_16] = {ADD_JOBS ROWS_16(JOB_ROW)},
    [SQL_ADD_JOBS_64] = {ADD_JOBS ROWS_64(JOB_ROW)},
    [SQL_REMOVE_JOB] = {"DELETE FROM jobs WHERE id=?"},
    [SQL_TASK_HAS_JOB] = {"SELECT 1 FROM jobs WHERE id=?1 AND task_id=?1 UNION ALL"
                          " SELECT 1 FROM jobs INDEXED BY jobs_task WHERE task_id=?1 AND id<>task_id LIMIT 1"},
    [SQL_WAIT_1] = {WAIT "(?,?,?)"},
    [SQL_WAIT_4] = {WAIT ROWS_4("(?,?,?)")},
    [SQL_WAIT_16] = {WAIT ROWS_16("(?,?,?)")},
    [SQL_WAIT_64] = {WAIT ROWS_64("(?,?,?)")},
    [SQL_WAIT_NO_MORE] = {"DELETE FROM waiting WHERE place=? AND due_at=? AND id=?"},
    [SQL_CLAIMS] = {"SELECT entries FROM hands ORDER BY number"},
    [SQL_LOG_CLAIMS] = {"INSERT INTO hands(entries) VALUES(?)"},
    [SQL_CLEAR_CLAIMS] = {"DELETE FROM hands"},
    [SQL_AHEAD] = {"SELECT count(*) FROM (SELECT 1 FROM waiting WHERE place=? AND (due_at, id)<(?, ?) LIMIT ?)", true},
    [SQL_NEXT_PLACE] = {"SELECT place, due_at FROM waiting WHERE place>=? AND place<? ORDER BY place, due_at LIMIT 1", true},
    [SQL_NEXT_DUE] = {"SELECT due_at FROM waiting WHERE place=? AND due_at>=? ORDER BY due_at LIMIT 1", true},
    [SQL_WAITING] = {"SELECT " JOB_COLUMNS ",t.doc FROM waiting w CROSS JOIN jobs j ON j.id=w.id"
                     " LEFT JOIN tasks t ON t.id=j.task_id AND NOT t.paused"
                     " WHERE w.place=? AND w.due_at>=? AND w.due_at<=? ORDER BY w.due_at, w.id LIMIT ?"},
    // What one claim took at a place: all from a time on, up to the last of them.
    [SQL_TAKE] = {"DELETE FROM waiting WHERE place=?1 AND due_at>=?2 AND (due_at, id)<=(?3, ?4)"},
    [SQL_STANDING] = {"SELECT token, state, lane, priority, lease_until, due_at, scheduled_at FROM jobs WHERE id=?"},
    [SQL_CHANGE_1] = {CHANGE "(?)"},
    [SQL_CHANGE_4] = {CHANGE "(" ROWS_4("?") ")"},
    [SQL_CHANGE_16] = {CHANGE "(" ROWS_16("?") ")"},
    [SQL_CHANGE_64] = {CHANGE "(" ROWS_64("?") ")"},
    [SQL_CHANGE_ALL] = {"UPDATE jobs SET " JOB_MOVING(ASSIGN) "reason=?,response=?,touched_at=coalesce(?,touched_at) WHERE id=?"},
    [SQL_CHANGE_LEASED] = {"UPDATE jobs SET " JOB_MOVING(
        ASSIGN) "reason=?,response=?,touched_at=coalesce(?,touched_at),lease_until=?,result=? WHERE id=?"},
    [SQL_KEEP_ATTEMPT] = {"REPLACE INTO attempts(job_id, number, status, outcome, picked_at, started_at, completed_at, holder,"
                          " response_truncated, reason, response) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"},
    [SQL_REMOVE_ATTEMPTS] = {"DELETE FROM attempts WHERE job_id=?"},
    [SQL_DUE_TIES] = {"SELECT w.id, w.due_at FROM waiting w CROSS JOIN jobs j ON j.id=w.id AND j.state=1"
                      " WHERE w.place=? AND w.due_at=? AND w.id>? ORDER BY w.id LIMIT ?"},
    [SQL_DUE_REST] = {"SELECT w.id, w.due_at FROM waiting w CROSS JOIN jobs j ON j.id=w.id AND j.state=1"
                      " WHERE w.place=? AND w.due_at>? AND w.due_at<=? ORDER BY w.due_at, w.id LIMIT ?"},
    [SQL_PROMOTE_1] = {PROMOTE "(?)"},
    [SQL_PROMOTE_4] = {PROMOTE "(" ROWS_4("?") ")"},
    [SQL_PROMOTE_16] = {PROMOTE "(" ROWS_16("?") ")"},
    [SQL_PROMOTE_64] = {PROMOTE "(" ROWS_64("?") ")"},
    [SQL_PURGE] = {"SELECT id, task_id, lane, state, scheduled_at FROM jobs INDEXED BY jobs_purge WHERE purge_at>0 AND "
                   "purge_at<=? AND state>=5"
                   " ORDER BY purge_at, id LIMIT ?"},
    [SQL_HELD] = {"SELECT " JOB_COLUMNS ",t.doc,t.paused FROM jobs j" WITH_DOC "WHERE j.id=? AND j.lease_until=0", true},
    [SQL_EXPIRED] = {"SELECT " JOB_COLUMNS ",t.doc FROM jobs j INDEXED BY jobs_expires" WITH_DOC
                     "WHERE j.expires_at>0 AND j.state<=2 AND j.expires_at<=? ORDER BY j.expires_at, j.id",
                     true},
    [SQL_LAPSED] = {"SELECT " LISTED_JOB ",t.doc FROM jobs j INDEXED BY jobs_lease" WITH_DOC
                    "WHERE j.lease_until>0 AND j.lease_until<=? ORDER BY j.lease_until, j.id LIMIT ?",
                    true},
    [SQL_LANES] = {"SELECT id, tenant, paused, queue FROM lanes WHERE id>? AND NOT dropped ORDER BY id LIMIT ?", true},
    [SQL_LANES_OF] =
        {"SELECT id, tenant, paused, queue FROM lanes INDEXED BY lanes_name WHERE id>?1 AND tenant=?3 AND NOT dropped"
         " ORDER BY id LIMIT ?2",
         true},
    [SQL_COUNTS] = {"SELECT state, n FROM counts WHERE lane=?", true},
    [SQL_COUNTS_OF] =
        {"SELECT c.state, sum(c.n) FROM lanes l CROSS JOIN counts c ON c.lane=l.id WHERE l.tenant=? GROUP BY c.state", true},
    [SQL_GET_TASK] = {"SELECT " TASK_COLUMNS " WHERE t.id=? AND (?2=0 OR t.tenant=?2)", true},
    [SQL_GET_JOB] = {"SELECT " JOB_COLUMNS LEASE_COLUMNS "j.result FROM jobs j WHERE j.id=?", true},
    [SQL_GET_JOBS] = {"SELECT * FROM (SELECT " LISTED_JOB " FROM jobs j WHERE j.id=?1 AND j.task_id=?1 UNION ALL"
                      " SELECT " LISTED_JOB " FROM jobs j INDEXED BY jobs_task WHERE j.task_id=?1 AND j.id<>j.task_id)"
                      " ORDER BY (?3 AND state>=5), scheduled_at DESC, id DESC LIMIT ?2",
                      true},
    [SQL_LIST_TASKS] = {"SELECT id, lane, name FROM tasks WHERE tenant=?1 AND id<?2 ORDER BY id DESC LIMIT ?3", true},
    [SQL_LIST_JOBS] = {"SELECT " LISTED_JOB " FROM jobs j INDEXED BY jobs_listed WHERE j.tenant=?1" JOBS_BEHIND, true},
    [SQL_LIST_FAILED] = {FAILED("?5") " UNION ALL " FAILED("?6") " ORDER BY scheduled_at DESC, id DESC LIMIT ?4", true},
    [SQL_LIST_OF_TASK] = {"SELECT * FROM (SELECT " LISTED_JOB " FROM jobs j WHERE j.id=?5 AND j.task_id=?5 UNION ALL"
                          " SELECT " LISTED_JOB " FROM jobs j INDEXED BY jobs_task WHERE j.task_id=?5 AND j.id<>j.task_id) j"
                          " WHERE j.tenant=?1" JOBS_BEHIND,
                          true},
    [SQL_LIST_TAGGED_TASKS] = {"SELECT t.id, t.lane, t.name FROM tags g CROSS JOIN tasks t ON t.id=g.id"
                               " WHERE g.tenant=?1 AND g.tag=?4 AND g.at=0 AND g.id<?2 ORDER BY g.id DESC LIMIT ?3",
                               true},
    [SQL_LIST_TAGGED_JOBS] = {"SELECT " LISTED_JOB " FROM tags g CROSS JOIN jobs j ON j.id=g.id WHERE g.tenant=?1 AND g.tag=?5"
                              " AND (g.at, g.id)<(?2, ?3) ORDER BY g.at DESC, g.id DESC LIMIT ?4",
                              true},
    [SQL_LIST_ONE_TASK] = {"SELECT id, lane, name FROM tasks WHERE tenant=?1 AND id=?4 AND id<?2 LIMIT ?3", true},
    [SQL_COUNT_TAGGED] = {"SELECT count(*) FROM (SELECT 1 FROM tags WHERE tenant=?1 AND (at, id)<(?2, ?3) AND tag=?5 LIMIT ?4)",
                          true},
    [SQL_COUNT_FAILED] = {"SELECT count(*) FROM (SELECT 1 FROM jobs INDEXED BY jobs_failed WHERE tenant=?1 AND state IN (?5,?6)"
                          " AND state>=6 AND (scheduled_at, id)<(?2, ?3) LIMIT ?4)",
                          true},
    [SQL_HAS_TAG] = {"SELECT 1 FROM tags WHERE tenant=? AND tag=? AND at=? AND id=?", true},
    [SQL_TASK_NAMED] = {"SELECT 1 FROM tasks WHERE id=?1 AND name=?2", true},
    [SQL_BULK] = {"SELECT id,tenant,version" BULK_MOVING(NAME) ",next_at,next_id,doc FROM bulks WHERE id=? AND tenant=?", true},
    [SQL_BULKS] = {"SELECT id,tenant,version" BULK_MOVING(NAME) ",next_at,next_id,doc FROM bulks INDEXED BY bulks_running"
                                                                " WHERE state=0 ORDER BY id LIMIT ?",
                   true},
    [SQL_BULK_VERSION] = {"SELECT version FROM bulks WHERE id=?"},
    [SQL_WRITE_BULK] = {"INSERT INTO bulks(id,tenant,version" BULK_MOVING(
        NAME) ",next_at,next_id,doc)"
              " VALUES(?,?,1" BULK_MOVING(
                  QUESTION) ",?,?,?) ON CONFLICT(id) DO UPDATE SET version=version+1,"
                            " state=excluded.state, holder=excluded.holder, ended_at=excluded.ended_at, matched=excluded.matched,"
                            " changed=excluded.changed, unchanged=excluded.unchanged, failed=excluded.failed,"
                            " next_at=excluded.next_at, next_id=excluded.next_id"},
    [SQL_FORGET_BULKS] = {"DELETE FROM bulks WHERE state>0 AND ended_at<?"},
    [SQL_GET_ATTEMPTS] = {"SELECT number, status, outcome, picked_at, started_at, completed_at, holder, reason,"
                          " CASE WHEN ?2 THEN response_truncated ELSE 0 END, CASE WHEN ?2 THEN response END FROM attempts"
                          " WHERE job_id=?1 ORDER BY number",
                          true},
    [SQL_TALLY] = {"REPLACE INTO series(tenant, at, source, doc) VALUES(?, ?, ?, ?)"},
    [SQL_SERIES] = {"SELECT at, source, doc FROM series WHERE tenant=?1 AND at>=?2 AND at<?3 AND (at>?2 OR source>?4)"
                    " ORDER BY at, source LIMIT ?5",
                    true},
    [SQL_REMOVE_SERIES] = {"DELETE FROM series WHERE (tenant, at, source) IN (SELECT tenant, at, source FROM series INDEXED BY"
                           " series_at WHERE at<? ORDER BY at, tenant, source LIMIT ?)"},
    [SQL_TELL] = {"INSERT INTO news(source, number, told_at, doc) VALUES(?, ?, ?, ?) ON CONFLICT DO NOTHING"},
    [SQL_SOURCES] = {"SELECT source, max(number) FROM news GROUP BY source ORDER BY source", true},
    [SQL_HEAR] = {"SELECT number, doc FROM news WHERE source=? AND number>? ORDER BY number LIMIT ?", true},
    [SQL_REMOVE_NEWS] = {"DELETE FROM news WHERE (source, number) IN (SELECT source, number FROM news WHERE told_at<?"
                         " ORDER BY told_at, source, number LIMIT ?)"},
};

// What a connection is set to, and what it must say when asked.
struct pragma {
    const char *set, *ask, *answer;
};

static const struct pragma writer_pragmas[] = {
    {"PRAGMA journal_mode=WAL", "PRAGMA journal_mode", "wal"},
    {"PRAGMA synchronous=FULL", "PRAGMA synchronous", "2"},
    {"PRAGMA wal_autocheckpoint=0", "PRAGMA wal_autocheckpoint", "0"},
    {"PRAGMA secure_delete=OFF", "PRAGMA secure_delete", "0"},
    {"PRAGMA foreign_keys=OFF", "PRAGMA foreign_keys", "0"},
    {"PRAGMA cache_size=-16384", "PRAGMA cache_size", "-16384"}, // after a page was split, COMMIT walks all that is in it
    {"PRAGMA mmap_size=0", "PRAGMA mmap_size", "0"},
    {"PRAGMA temp_store=MEMORY", "PRAGMA temp_store", "2"},
    {NULL},
};

static const struct pragma reader_pragmas[] = {
    {"PRAGMA query_only=ON", "PRAGMA query_only", "1"},
    {"PRAGMA wal_autocheckpoint=0", "PRAGMA wal_autocheckpoint", "0"},
    {"PRAGMA cache_size=-8192", "PRAGMA cache_size", "-8192"},
    {"PRAGMA mmap_size=0", "PRAGMA mmap_size", "0"},
    {"PRAGMA temp_store=MEMORY", "PRAGMA temp_store", "2"},
    {"PRAGMA busy_timeout=5000", "PRAGMA busy_timeout", "5000"},
    {NULL},
};

// The pages it moves never come into its cache.
static const struct pragma mover_pragmas[] = {
    {"PRAGMA journal_mode=WAL", "PRAGMA journal_mode", "wal"},
    {"PRAGMA synchronous=FULL", "PRAGMA synchronous", "2"},
    {"PRAGMA wal_autocheckpoint=0", "PRAGMA wal_autocheckpoint", "0"},
    {"PRAGMA mmap_size=0", "PRAGMA mmap_size", "0"},
    {NULL},
};

static const struct {
    int flags;
    const struct pragma *pragmas;
} roles[] = {
    [DB_READS] = {SQLITE_OPEN_READONLY, reader_pragmas},
    [DB_WRITES] = {SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, writer_pragmas},
    [DB_MOVES] = {SQLITE_OPEN_READWRITE, mover_pragmas},
};

// ---- opening

// The first column of the first row, as text.
static bool ask(sqlite3 *handle, const char *sql, char ret_answer[64])
{
    sqlite3_stmt *stmt = NULL;
    bool found = sqlite3_prepare_v2(handle, sql, -1, &stmt, NULL) == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW;
    const unsigned char *text = found ? sqlite3_column_text(stmt, 0) : NULL;
    snprintf(ret_answer, 64, "%s", text ? (const char *)text : "");
    sqlite3_finalize(stmt);
    return found;
}

static enum err fail(sqlite3 *handle, const char *doing, char why[ERR_WHY_MAX])
{
    int code = sqlite3_errcode(handle) & 0xff;
    bool damaged = code == SQLITE_CORRUPT || code == SQLITE_NOTADB;
    snprintf(why, ERR_WHY_MAX, "%.120s: %.60s%s", doing, sqlite3_errmsg(handle),
             damaged ? ". Restore a backup into an empty directory" : "");
    return ERR_STORE_UNAVAILABLE;
}

static enum err set_pragmas(sqlite3 *handle, const struct pragma *pragma, char why[ERR_WHY_MAX])
{
    char answer[64];
    for (; pragma->set; pragma++) {
        if (sqlite3_exec(handle, pragma->set, NULL, NULL, NULL) != SQLITE_OK)
            return fail(handle, pragma->set, why);
        if (!ask(handle, pragma->ask, answer) || strcmp(answer, pragma->answer) != 0) {
            snprintf(why, ERR_WHY_MAX, "%s did not take: SQLite says \"%s\"", pragma->set, answer);
            return ERR_STORE_UNAVAILABLE;
        }
    }
    return ERR_OK;
}

// A step and the version it leads to are one transaction: a crash leaves the one before, or the one behind.
static enum err take_steps(sqlite3 *handle, size_t version, char why[ERR_WHY_MAX])
{
    char sql[STEP_SQL_MAX];
    bool behind = version < SCHEMA_VERSION;
    for (; version < SCHEMA_VERSION; version++) {
        snprintf(sql, sizeof sql, "BEGIN IMMEDIATE; %s REPLACE INTO meta(name, value) VALUES('schema', %zu); COMMIT;",
                 schema_steps[version], version + 1);
        if (sqlite3_exec(handle, sql, NULL, NULL, NULL) != SQLITE_OK)
            return fail(handle, "making the tables", why);
    }
    if (behind) // a step may have written all there is; and the WAL is not to stay as long
        sqlite3_wal_checkpoint_v2(handle, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    return ERR_OK;
}

static enum err check_schema(sqlite3 *handle, char why[ERR_WHY_MAX])
{
    char answer[64];
    if (!ask(handle, "SELECT count(*) FROM sqlite_schema", answer))
        return fail(handle, "reading the database", why);
    if (strcmp(answer, "0") == 0)
        return take_steps(handle, 0, why);
    if (!ask(handle, "SELECT value FROM meta WHERE name='schema'", answer)) {
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

static enum err prepare_all(struct db *db, enum db_role role, char why[ERR_WHY_MAX])
{
    for (int i = 0; i < SQL_TOTAL; i++) {
        if (role == DB_READS && !statements[i].read)
            continue;
        if (sqlite3_prepare_v3(db->handle, statements[i].text, -1, SQLITE_PREPARE_PERSISTENT, &db->stmts[i], NULL) != SQLITE_OK)
            return fail(db->handle, statements[i].text, why);
    }
    return ERR_OK;
}

static enum err prepare_writer(struct db *db, char why[ERR_WHY_MAX])
{
    enum err err = claims_prepare(db, why);
    if (!err)
        err = tags_prepare(db, why);
    if (!err)
        err = check_schema(db->handle, why);
    return err ? err : change_prepare(db, why);
}

enum err db_open(struct db *db, const char *path, struct claims *claims, enum db_role role, char why[ERR_WHY_MAX])
{
    *db = (struct db){.claims = claims};
    if (sqlite3_open_v2(path, &db->handle, roles[role].flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
        return fail(db->handle, path, why);
    sqlite3_extended_result_codes(db->handle, 1);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    return set_pragmas(db->handle, roles[role].pragmas, why);
}

enum err db_prepare(struct db *db, enum db_role role, char why[ERR_WHY_MAX])
{
    enum err err = role == DB_WRITES ? prepare_writer(db, why) : ERR_OK;
    return err ? err : prepare_all(db, role, why);
}

bool db_ask_number(struct db *db, const char *sql, int64_t *ret_number)
{
    char answer[64];
    bool found = ask(db->handle, sql, answer);
    if (found)
        *ret_number = strtoll(answer, NULL, 10);
    return found;
}

void db_close(struct db *db)
{
    for (int i = 0; i < SQL_TOTAL; i++)
        sqlite3_finalize(db->stmts[i]);
    sqlite3_close(db->handle);
    *db = (struct db){0};
}

// ---- using statements

// Of the last write that failed: transactions are written into the WAL and nowhere else. (Of a COMMIT, sqlite3_system_errno()
// does not tell.)
static int write_error(struct db *db)
{
    sqlite3_file *wal = NULL;
    int error = 0;
    sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &wal);
    if (wal && wal->pMethods)
        wal->pMethods->xFileControl(wal, SQLITE_FCNTL_LAST_ERRNO, &error);
    return error;
}

void db_note(struct db *db, int rc)
{
    if (db->rc || rc == SQLITE_OK || rc == SQLITE_ROW || rc == SQLITE_DONE)
        return;
    db->rc = rc;
    db->system_error = rc == SQLITE_IOERR_WRITE ? write_error(db) : 0;
    snprintf(db->why, sizeof db->why, "SQLite: %s (%d)", sqlite3_errmsg(db->handle), rc);
}

// SQLite knows only ENOSPC as a full disk. A quota and a limit on the size of files (ulimit -f) are others. The index of the WAL
// (IOERR_SHMSIZE) fails to grow for no other reason.
enum err db_err_of(int rc, int system_error)
{
    bool no_room = system_error == ENOSPC || system_error == EDQUOT || system_error == EFBIG;
    bool full = (rc & 0xff) == SQLITE_FULL || rc == SQLITE_IOERR_SHMSIZE || (rc == SQLITE_IOERR_WRITE && no_room);
    return full ? ERR_STORAGE_FULL : ERR_STORE_UNAVAILABLE;
}

enum err db_err(const struct db *db)
{
    return db_err_of(db->rc, db->system_error);
}

void db_die_if_fsync_failed(const struct db *db, bool in_commit)
{
    bool in_io = (db->rc & 0xff) == SQLITE_IOERR && db_err(db) != ERR_STORAGE_FULL;
    if (db->rc != SQLITE_IOERR_FSYNC && db->rc != SQLITE_IOERR_DIR_FSYNC && !(in_commit && in_io))
        return;
    db_die("rota: the disk did not take a commit (fsync failed). What is on it is uncertain, so rota stops here; start it again "
           "when the disk is well.\n",
           db->why);
}

_Noreturn void db_die(const char *words, const char *why)
{
    ssize_t ignored = write(STDERR_FILENO, words, strlen(words));
    ignored += write(STDERR_FILENO, why, strlen(why));
    ignored += write(STDERR_FILENO, "\n", 1);
    (void)ignored;
    _exit(EXIT_FSYNC);
}

sqlite3_stmt *db_with(struct db *db, enum sql sql, size_t count, const int64_t *values)
{
    sqlite3_stmt *stmt = db->stmts[sql];
    assert(stmt);
    for (size_t i = 0; i < count; i++)
        sqlite3_bind_int64(stmt, (int)i + 1, values[i]);
    return stmt;
}

bool db_row(struct db *db, sqlite3_stmt *stmt)
{
    if (db->rc)
        return false;
    int rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW)
        return true;
    db_note(db, rc);
    sqlite3_reset(stmt);
    return false;
}

void db_run(struct db *db, sqlite3_stmt *stmt)
{
    while (db_row(db, stmt))
        ;
}

bool db_insert(struct db *db, sqlite3_stmt *stmt)
{
    if (db->rc)
        return true;
    int rc = sqlite3_step(stmt);
    sqlite3_reset(stmt);
    if ((rc & 0xff) == SQLITE_CONSTRAINT)
        return false;
    db_note(db, rc);
    return true;
}

void db_end(sqlite3_stmt *stmt)
{
    sqlite3_reset(stmt);
}

bool db_found(struct db *db, sqlite3_stmt *stmt, int64_t *ret_value)
{
    if (!db_row(db, stmt))
        return false;
    *ret_value = sqlite3_column_int64(stmt, 0);
    sqlite3_reset(stmt);
    return true;
}

void db_bind_bytes(sqlite3_stmt *stmt, int at, struct str bytes)
{
    if (bytes.n)
        sqlite3_bind_blob64(stmt, at, bytes.p, bytes.n, SQLITE_STATIC);
    else
        sqlite3_bind_null(stmt, at);
}

void db_bind_text(sqlite3_stmt *stmt, int at, struct str text)
{
    sqlite3_bind_text64(stmt, at, text.n ? text.p : "", text.n, SQLITE_STATIC, SQLITE_UTF8);
}

struct str db_bytes(sqlite3_stmt *stmt, int at, struct arena *arena)
{
    struct str bytes = {.p = sqlite3_column_blob(stmt, at)};
    bytes.n = (size_t)sqlite3_column_bytes(stmt, at);
    return bytes.n ? arena_copy(arena, bytes) : (struct str){0};
}

size_t db_tier(size_t left, size_t least, enum sql first, enum sql *ret_sql)
{
    size_t rows = 0;
    for (size_t next = least; next <= left && next <= DB_ROWS_MAX; next *= 4) {
        rows = next;
        *ret_sql = first++;
    }
    return rows;
}

// Every SQL statement there is, and how its text is made of a template, once, when it is prepared.
//
// A template is SQL with words in braces: {ready} is the number of that state of a job, {job} the columns of its record; the
// tables at the end have all of them. {each …} stands for as many rows as the statement is prepared for, with commas between.
//
// Parameters that have names are bound in the order in which the names appear. Numbers (?1) stand where a statement
// uses its parameters in another order than its caller has them.
#include "store/sqlite/statements.h"
#include "store/sqlite/columns.h"
#include "store/store_private.h"

#include <assert.h>
#include <string.h>

// clang-format off
const struct statement statements[SQL_TOTAL] = {
    // ---- transactions

    [SQL_BEGIN] = {WRITER, "BEGIN IMMEDIATE"},
    [SQL_BEGIN_READ] = {READER, "BEGIN"},
    [SQL_COMMIT] = {READER, "COMMIT"},
    [SQL_ROLLBACK] = {READER, "ROLLBACK"},

    // ---- lives: incarnations, and what one that joins learns

    // The largest id that was ever given out: what is stored, and what was removed.
    [SQL_FLOOR] = {WRITER,
        "SELECT max(coalesce((SELECT max(id) FROM tasks), 0),"
        "           coalesce((SELECT max(id) FROM jobs), 0),"
        "           coalesce((SELECT value FROM meta WHERE name='id_floor'), 0))"},
    // When jobs are removed.
    [SQL_SET_FLOOR] = {WRITER,
        "INSERT INTO meta(name, value) VALUES('id_floor', :largest)"
        " ON CONFLICT(name) DO UPDATE SET value=max(value, :largest)"},
    // The range that node numbers are given out of.
    [SQL_RANGE] = {WRITER, "SELECT value FROM meta WHERE name='range'"},
    [SQL_SECRET] = {WRITER, "SELECT value FROM meta WHERE name='secret'"},
    [SQL_SET_SECRET] = {WRITER, "INSERT INTO meta(name, value) VALUES('secret', :secret)"},
    [SQL_INCARNATION] = {WRITER, "SELECT dead, node, beat FROM incarnations WHERE id=:id"},
    // With a beat: all others.
    [SQL_INCARNATIONS] = {WRITER, "SELECT id, beat, dead, pulls, listens, relays FROM incarnations WHERE id<>:own ORDER BY id"},
    // With a join: the node numbers that are taken.
    [SQL_NODES] = {WRITER, "SELECT node FROM incarnations ORDER BY node"},
    [SQL_ADD_INCARNATION] = {WRITER, "INSERT INTO incarnations(id, node, pulls, beat, dead) VALUES(:id, :node, :pulls, 0, 0)"},
    [SQL_BEAT] = {WRITER, "UPDATE incarnations SET beat=beat+1, listens=:listens, relays=:relays WHERE id=:id"},
    // The beats of all lives, by which a database that is older than its note is known (sqlite/extent.c).
    [SQL_COUNT_BEAT] = {WRITER,
        "INSERT INTO meta(name, value) VALUES('beats', 1)"
        " ON CONFLICT(name) DO UPDATE SET value=value+1 RETURNING value"},
    [SQL_BURY] = {WRITER, "UPDATE incarnations SET dead=1 WHERE id=:id"},
    [SQL_FORGET] = {WRITER, "DELETE FROM incarnations WHERE id=:id"},

    // ---- peers: who goes first, and requests to holders

    [SQL_TERM] = {READER, "SELECT value FROM meta WHERE name='term'"},
    [SQL_SET_TERM] = {WRITER,
        "INSERT INTO meta(name, value) VALUES('term', :term) ON CONFLICT(name) DO UPDATE SET value=:term"},
    [SQL_TZDATA] = {WRITER, "SELECT value FROM meta WHERE name='tzdata'"},
    [SQL_SET_TZDATA] = {WRITER,
        "INSERT INTO meta(name, value) VALUES('tzdata', :text) ON CONFLICT(name) DO UPDATE SET value=:text"},
    [SQL_OWNERS] = {READER, "SELECT bucket, puller FROM owners ORDER BY bucket, puller"},
    [SQL_ADD_OWNER] = {WRITER, "INSERT INTO owners(bucket, puller, term) VALUES(:bucket, :puller, :term)"},
    [SQL_REMOVE_OWNERS] = {WRITER, "DELETE FROM owners"},
    // Of two requests about one job the smaller counts: a cancel is the smallest.
    [SQL_REQUEST] = {WRITER,
        "INSERT INTO requests(holder, job_id, tenant, kind) VALUES(:holder, :job, :tenant, :kind)"
        " ON CONFLICT(holder, job_id) DO UPDATE SET kind=min(kind, excluded.kind)"},
    [SQL_REQUESTS] = {WRITER, "SELECT job_id, tenant, kind FROM requests WHERE holder=:holder ORDER BY job_id LIMIT :max"},
    [SQL_REMOVE_REQUEST] = {WRITER, "DELETE FROM requests WHERE holder=:holder AND job_id=:job"},
    // When a holder is forgotten.
    [SQL_REMOVE_REQUESTS] = {WRITER, "DELETE FROM requests WHERE holder=:holder"},

    // ---- lanes, and how many jobs each has in which state. Lane 0 is the sum of all

    [SQL_LANE_BY_NAME] = {WRITER, "SELECT id FROM lanes WHERE tenant=:tenant AND dispatch=:dispatch AND queue=:queue"},
    [SQL_LANE_BY_ID] = {WRITER, "SELECT tenant, dispatch, queue, paused, dropped FROM lanes WHERE id=:lane"},
    [SQL_LANES_OF_QUEUE] = {READER, "SELECT id FROM lanes WHERE tenant=:tenant AND queue=:queue ORDER BY dispatch"},
    // A lane is made, paused if another one of its queue is.
    [SQL_ADD_LANE] = {WRITER,
        "INSERT INTO lanes(tenant, dispatch, queue, paused)"
        " SELECT :tenant, :dispatch, :queue, coalesce(max(paused), 0) FROM lanes WHERE tenant=:tenant AND queue=:queue"
        " RETURNING id, paused"},
    [SQL_PAUSE_QUEUE] = {WRITER, "UPDATE lanes SET paused=:paused, dropped=0 WHERE tenant=:tenant AND queue=:queue"},
    [SQL_DROP_LANE] = {WRITER, "UPDATE lanes SET dropped=:dropped WHERE id=:lane"},
    // A page of lanes of one kind of dispatch, and a page of queues, each by the first lane it had: of the tenants from ?3 to ?4.
    // Both go through the lanes by id, because in another order all would have to be read and sorted for each page.
    [SQL_LANES] = {READER,
        "SELECT id, tenant, paused, queue FROM lanes NOT INDEXED"
        " WHERE id>?1 AND dispatch=?5 AND tenant BETWEEN ?3 AND ?4 AND NOT dropped ORDER BY id LIMIT ?2"},
    [SQL_QUEUES] = {READER,
        "SELECT id, tenant, paused, queue FROM lanes AS first NOT INDEXED"
        " WHERE id>?1 AND tenant BETWEEN ?3 AND ?4"
        "   AND id=(SELECT min(id) FROM lanes AS lane WHERE lane.tenant=first.tenant AND lane.queue=first.queue)"
        "   AND EXISTS (SELECT 1 FROM lanes AS lane"
        "     WHERE lane.tenant=first.tenant AND lane.queue=first.queue AND NOT lane.dropped)"
        " ORDER BY id LIMIT ?2"},
    [SQL_COUNTS] = {READER, "SELECT state, n FROM counts WHERE lane=:lane"},
    [SQL_COUNTS_OF] = {READER,
        "SELECT counts.state, sum(counts.n)"
        " FROM lanes CROSS JOIN counts ON counts.lane=lanes.id"
        " WHERE lanes.tenant=:tenant GROUP BY counts.state"},
    // Before a lane is dropped: its jobs that are not final.
    [SQL_OPEN] = {WRITER, "SELECT sum(n) FROM counts WHERE lane=:lane AND state<{first_final}"},
    // Before delayed jobs are looked for.
    [SQL_DELAYED] = {WRITER, "SELECT n FROM counts WHERE lane=:lane AND state={delayed}"},
    // Before COMMIT: what the transaction counted.
    [SQL_COUNT_UP] = {WRITER,
        "INSERT INTO counts(lane, state, n) VALUES{each (?,?,?)}"
        " ON CONFLICT(lane, state) DO UPDATE SET n=n+excluded.n",
        .least = 1},

    // ---- keys

    [SQL_KEY] = {READER, "SELECT task_id, digest, spent_at FROM keys WHERE tenant=:tenant AND key=:key"},
    [SQL_ADD_KEY] = {WRITER,
        "INSERT INTO keys(tenant, task_id, key, digest, until, loose) VALUES(:tenant, :task, :key, :digest, 0, 0)"},
    // When its task goes: the key stays until then.
    [SQL_LOOSEN_KEY] = {WRITER, "UPDATE keys SET loose=1, until=:until, spent_at=:spent_at WHERE tenant=:tenant AND key=:key"},
    // With a sweep: keys whose time is over.
    [SQL_LOOSE_KEYS] = {WRITER,
        "SELECT tenant, key FROM keys INDEXED BY keys_loose WHERE loose AND until<=:now ORDER BY until, tenant, key LIMIT :max"},
    [SQL_REMOVE_KEY] = {WRITER, "DELETE FROM keys WHERE tenant=:tenant AND key=:key"},

    // ---- tasks

    // Where jobs go that are added to a task.
    [SQL_TASK_LANE] = {WRITER, "SELECT lane FROM tasks WHERE id=:task AND tenant=:tenant"},
    // What has to go with a task, besides its jobs.
    [SQL_TASK_KEY] = {WRITER,
        "SELECT task.tenant, task.key, task.tags, plan.planned_through"
        " FROM tasks AS task LEFT JOIN plans AS plan ON plan.task_id=task.id WHERE task.id=:task"},
    // A task is added: by itself, whatever it has; many that have no key and no tags; many that have no key.
    [SQL_ADD_TASK] = {WRITER,
        "INSERT INTO tasks(id, tenant, lane, created_at, name, doc, tags, key)"
        " VALUES(:id, :tenant, :lane, :created_at, :name, :doc, :tags, :key)"},
    [SQL_ADD_TASKS] = {WRITER,
        "INSERT OR FAIL INTO tasks(id, tenant, lane, created_at, name, doc) VALUES{each (?,?,?,?,?,?)}",
        .least = 4},
    [SQL_ADD_TAGGED] = {WRITER,
        "INSERT OR FAIL INTO tasks(id, tenant, lane, created_at, name, doc, tags) VALUES{each (?,?,?,?,?,?,?)}",
        .least = 4},
    // Before a task is changed or removed.
    [SQL_TASK_VERSION] = {WRITER, "SELECT version FROM tasks WHERE id=:task AND tenant=:tenant"},
    [SQL_AMEND_TASK] = {WRITER,
        "UPDATE tasks SET lane=?2, paused=?3, updated_at=?6, version=version+1, name=?4, doc=?5 WHERE id=?1"},
    [SQL_SET_TAGS] = {WRITER, "UPDATE tasks SET tags=?2 WHERE id=?1"},
    [SQL_REMOVE_TASK] = {WRITER, "DELETE FROM tasks WHERE id=:task"},
    // With tenant 0 of whichever tenant.
    [SQL_GET_TASK] = {READER,
        "SELECT {task}, {plan}"
        " FROM tasks AS task LEFT JOIN lanes AS lane ON lane.id=task.lane LEFT JOIN plans AS plan ON plan.task_id=task.id"
        " WHERE task.id=:task AND (:tenant=0 OR task.tenant=:tenant)"},
    [SQL_TASK_NAMED] = {READER, "SELECT 1 FROM tasks WHERE id=:task AND name=:name"},

    // ---- the jobs of a task: the first of a one-time task has its id, all others are in an index

    // Before a task is removed: does it have jobs in states up to this one? In removing it: its jobs. After each: is one left?
    [SQL_TASK_HAS_OPEN] = {WRITER,
        "SELECT 1 FROM jobs WHERE id=:task AND task_id=:task AND state<=:last"
        " UNION ALL"
        " SELECT 1 FROM jobs INDEXED BY jobs_task WHERE task_id=:task AND id<>task_id AND state<=:last"
        " LIMIT 1"},
    [SQL_TASK_JOBS] = {WRITER,
        "SELECT id, task_id, lane, state, scheduled_at FROM jobs WHERE id=:task AND task_id=:task"
        " UNION ALL"
        " SELECT id, task_id, lane, state, scheduled_at FROM jobs INDEXED BY jobs_task WHERE task_id=:task AND id<>task_id"
        " ORDER BY 1 LIMIT :max"},
    [SQL_TASK_HAS_JOB] = {WRITER,
        "SELECT 1 FROM jobs WHERE id=:task AND task_id=:task"
        " UNION ALL"
        " SELECT 1 FROM jobs INDEXED BY jobs_task WHERE task_id=:task AND id<>task_id"
        " LIMIT 1"},
    // Where the tags of a task find its jobs.
    [SQL_TIMES_OF_TASK] = {WRITER,
        "SELECT id, scheduled_at FROM jobs WHERE id=:task AND task_id=:task"
        " UNION ALL"
        " SELECT id, scheduled_at FROM jobs INDEXED BY jobs_task WHERE task_id=:task AND id<>task_id"},
    // With a task that is read: its newest jobs; if ?3, before them those that are not final. Only what their order depends on is
    // read of all jobs, because a recurring task may have many and their answers may be long.
    [SQL_GET_JOBS] = {READER,
        "SELECT {listed_job} FROM ("
        "   SELECT id FROM ("
        "     SELECT id, state, scheduled_at FROM jobs WHERE id=?1 AND task_id=?1"
        "     UNION ALL"
        "     SELECT id, state, scheduled_at FROM jobs INDEXED BY jobs_task WHERE task_id=?1 AND id<>task_id)"
        "   ORDER BY (?3 AND state>={first_final}), scheduled_at DESC, id DESC LIMIT ?2) AS newest"
        " CROSS JOIN jobs AS job ON job.id=newest.id"
        " ORDER BY (?3 AND job.state>={first_final}), job.scheduled_at DESC, job.id DESC"},

    // ---- tags: of a task, by its id at time 0; of its jobs, by scheduled_at and id

    [SQL_ADD_TAGS] = {WRITER, "INSERT OR REPLACE INTO tags(tenant, tag, at, id) VALUES{each (?,?,?,?)}", .least = 1},
    [SQL_REMOVE_TAG] = {WRITER, "DELETE FROM tags WHERE tenant=:tenant AND tag=:tag AND at=:at AND id=:id"},
    [SQL_HAS_TAG] = {READER, "SELECT 1 FROM tags WHERE tenant=:tenant AND tag=:tag AND at=:at AND id=:id"},
    // Before and after a job moves to another time.
    [SQL_TAGS_OF_JOB] = {WRITER,
        "SELECT task.tenant, task.tags, job.scheduled_at FROM jobs AS job JOIN tasks AS task ON task.id=job.task_id"
        " WHERE job.id=:job"},

    // ---- plans of recurring tasks. `jobless` says that the task has no job: then nothing but its plan keeps it from being swept

    // With a task that is added or changed: a new plan, or all of the plan but what is counted in it.
    [SQL_SET_PLAN] = {WRITER,
        "INSERT INTO plans(task_id, tenant, lane, version, tags, jobless, {plan_columns})"
        " SELECT task.id, task.tenant, task.lane, task.version, task.tags, ?2, {plan_values} FROM tasks AS task WHERE task.id=?1"
        " ON CONFLICT(task_id) DO UPDATE SET lane=excluded.lane, version=excluded.version, tags=excluded.tags,"
        "  jobless=excluded.jobless, revision=revision+1, planned_through=excluded.planned_through, instants=excluded.instants,"
        "  ended_with=excluded.ended_with,"
        "  check_at=excluded.check_at, paused_at=excluded.paused_at, active=excluded.active, queued=excluded.queued,"
        "  skips=excluded.skips, paused_note=excluded.paused_note, paused_by=excluded.paused_by, missing=excluded.missing"},
    // Who has a name, and whether its plan owes an instant. With a task that is added: the name becomes its own, or nobody's.
    [SQL_RESERVED] = {READER,
        "SELECT task_id, planned_through<>{never} FROM plans INDEXED BY plans_reserved WHERE tenant=:tenant AND reserved=:name"},
    [SQL_RESERVE] = {WRITER, "UPDATE plans SET reserved=?2 WHERE task_id=?1"},
    // Before a task is changed.
    [SQL_PLAN_REVISION] = {WRITER, "SELECT revision FROM plans WHERE task_id=:task"},
    // Before a plan is carried on: what it must still be, and where its jobs go.
    [SQL_PLAN_STANDING] = {WRITER,
        "SELECT version, planned_through, revision, check_at, lane, tags, missing IS NOT NULL FROM plans WHERE task_id=:task"},
    // A plan is carried on: by a caller that has read it; by one that has not, without and with the time by which it must be
    // looked at again.
    [SQL_WRITE_PLAN] = {WRITER,
        "UPDATE plans SET revision=revision+1, jobless=jobless AND ?2, planned_through=?3, instants=?4, ended_with=?5,"
        "  check_at=?6, paused_at=?7, active=?8, queued=?9, skips=?10, paused_note=?11, paused_by=?12, missing=?13"
        " WHERE task_id=?1"},
    [SQL_CARRY_ON] = {WRITER, 
        "UPDATE plans SET revision=revision+1, jobless=jobless AND ?2, planned_through=?3, instants=instants+?4 WHERE task_id=?1"},
    [SQL_CARRY_ON_AND_CHECK] = {WRITER,
        "UPDATE plans SET revision=revision+1, jobless=jobless AND ?2, planned_through=?3, instants=instants+?4, check_at=?5"
        " WHERE task_id=?1"},
    // With the end of the job ?2: whether it succeeded, failed or was cancelled, when it ended if it was not cancelled, and
    // whether the schedule has made it.
    // without() is a function of sqlite/plans.c.
    [SQL_COUNT_IN_PLAN] = {WRITER,
        "UPDATE plans SET revision=revision+1, success=success+?3, failed=failed+?4, cancelled=cancelled+?5,"
        "  failures_in_row=CASE WHEN NOT ?7 THEN failures_in_row WHEN ?3 THEN 0 ELSE failures_in_row+?4 END,"
        "  last_at=max(last_at, ?6),"
        "  active=without(active, ?2), queued=without(queued, ?2)"
        " WHERE task_id=?1"},
    // When the last job of a task is swept, and when a job is added to a task.
    [SQL_SET_JOBLESS] = {WRITER, "UPDATE plans SET jobless=?2 WHERE task_id=?1 AND jobless<>?2"},
    [SQL_REMOVE_PLAN] = {WRITER, "DELETE FROM plans WHERE task_id=:task"},
    // With a sweep: tasks that have no job and will get none.
    [SQL_PLANS_OVER] = {WRITER,
        "SELECT task_id FROM plans INDEXED BY plans_over WHERE jobless AND planned_through={never} ORDER BY task_id LIMIT :max"},
    // <> and not <, because of two upper bounds SQLite would take the one of the index, and look at all plans.
    [SQL_PLANS_TO_CHECK] = {READER,
        "SELECT task_id FROM plans INDEXED BY plans_check"
        " WHERE check_at<>{never} AND check_at<=:now ORDER BY check_at, task_id LIMIT :max"},
    // When a newer tzdata is followed: all plans, page by page.
    [SQL_PLANS_OWING] = {READER,
        "SELECT task_id FROM plans NOT INDEXED WHERE task_id>:after AND planned_through<>{never} ORDER BY task_id LIMIT :max"},

    // ---- records of jobs

    // A job is added: by itself, whatever it has; many that have never been claimed, which users submitted, or plans added. OR
    // FAIL spares SQLite to keep a copy of every page that a statement changes: what a failure midway leaves, the caller
    // removes, or a rollback.
    [SQL_ADD_JOB] = {WRITER, "INSERT INTO jobs({columns}) VALUES({values})"},
    [SQL_ADD_JOBS] = {WRITER, "INSERT OR FAIL INTO jobs({new_columns}) VALUES{each ({new_values})}", .least = 4},
    [SQL_ADD_PLANNED] = {WRITER,
        "INSERT OR FAIL INTO jobs({new_columns}, trigger) VALUES{each ({new_values}, {by_schedule})}",
        .least = 4},
    // What a step depends on, and what says where the job is listed.
    [SQL_STANDING] = {WRITER,
        "SELECT token, state, lane, priority, lease_until, due_at, scheduled_at FROM jobs WHERE id=:job"},
    // Steps are written: many that keep the times by which jobs are found; one that changes them; one about a lease. stands() and
    // new_…() are functions of sqlite/change.c.
    [SQL_CHANGE] = {WRITER,
        "UPDATE OR FAIL jobs SET {set_new}"
        " WHERE stands(id, token, state, lane, priority, lease_until, {kept}) AND id IN ({each ?})",
        .least = 1},
    [SQL_CHANGE_ALL] = {WRITER,
        "UPDATE jobs SET {set}, touched_at=coalesce(:touched_at, touched_at) WHERE id=:job"},
    [SQL_CHANGE_LEASED] = {WRITER,
        "UPDATE jobs SET {set}, touched_at=coalesce(:touched_at, touched_at), lease_until=:lease_until, result=:result"
        " WHERE id=:job"},
    // With a task that is changed.
    [SQL_MOVE_JOB] = {WRITER, "UPDATE jobs SET lane=:lane, priority=:priority, nominal_at=:nominal_at WHERE id=:job"},
    // Delayed jobs whose time has come.
    [SQL_PROMOTE] = {WRITER, "UPDATE OR FAIL jobs SET state={ready} WHERE id IN ({each ?})", .least = 1},
    [SQL_REMOVE_JOB] = {WRITER, "DELETE FROM jobs WHERE id=:job"},
    // With a sweep: final jobs that retention lets go.
    [SQL_PURGE] = {WRITER,
        "SELECT id, task_id, lane, state, scheduled_at FROM jobs INDEXED BY jobs_purge"
        " WHERE purge_at>0 AND purge_at<=:now AND state>={first_final} ORDER BY purge_at, id LIMIT :max"},
    [SQL_GET_JOB] = {READER, "SELECT {job}, {lease}, job.result FROM jobs AS job WHERE job.id=:job"},
    // One of those that are in somebody's hand.
    [SQL_HELD] = {READER,
        "SELECT {job}, task.doc, task.version, task.paused FROM jobs AS job LEFT JOIN tasks AS task ON task.id=job.task_id"
        " WHERE job.id=:job AND job.lease_until=0"},
    // Jobs that have not started by their expires_at.
    [SQL_EXPIRED] = {READER,
        "SELECT {job}, task.doc, task.version"
        " FROM jobs AS job INDEXED BY jobs_expires LEFT JOIN tasks AS task ON task.id=job.task_id"
        " WHERE job.expires_at>0 AND job.state<={ready} AND job.expires_at<=:now ORDER BY job.expires_at, job.id"},
    // Leases that have run out.
    [SQL_LEASES] = {READER,
        "SELECT {listed_job}, task.doc, task.version"
        " FROM jobs AS job INDEXED BY jobs_lease LEFT JOIN tasks AS task ON task.id=job.task_id"
        " WHERE job.lease_until>0 AND job.lease_until<=:now ORDER BY job.lease_until, job.id LIMIT :max"},

    // ---- attempts

    [SQL_KEEP_ATTEMPT] = {WRITER,
        "REPLACE INTO attempts(job_id, number, status, outcome, picked_at, started_at, completed_at, holder,"
        "                      response_truncated, reason, response)"
        " VALUES(:job, :number, :status, :outcome, :picked_at, :started_at, :completed_at, :holder,"
        "        :response_truncated, :reason, :response)"},
    [SQL_REMOVE_ATTEMPTS] = {WRITER, "DELETE FROM attempts WHERE job_id=:job"},
    // If ?2, with what targets answered.
    [SQL_GET_ATTEMPTS] = {READER,
        "SELECT number, status, outcome, picked_at, started_at, completed_at, holder, reason,"
        "       CASE WHEN ?2 THEN response_truncated ELSE 0 END, CASE WHEN ?2 THEN response END"
        " FROM attempts WHERE job_id=?1 ORDER BY number"},

    // ---- what waits in lanes, and what is in hand

    [SQL_WAIT] = {WRITER, "INSERT OR FAIL INTO waiting(place, due_at, id) VALUES{each (?,?,?)}", .least = 1},
    [SQL_WAIT_NO_MORE] = {WRITER, "DELETE FROM waiting WHERE place=:place AND due_at=:due_at AND id=:job"},
    // The first place of a lane where something waits; when something at a place is due from then on.
    [SQL_NEXT_PLACE] = {READER,
        "SELECT place, due_at FROM waiting WHERE place>=:first AND place<:end ORDER BY place, due_at LIMIT 1"},
    [SQL_NEXT_DUE] = {READER, "SELECT due_at FROM waiting WHERE place=:place AND due_at>=:from ORDER BY due_at LIMIT 1"},
    // With a claim: what is due at a place, without the documents of paused tasks.
    [SQL_WAITING] = {WRITER,
        "SELECT {job}, task.doc, task.version"
        " FROM waiting CROSS JOIN jobs AS job ON job.id=waiting.id"
        "      LEFT JOIN tasks AS task ON task.id=job.task_id AND NOT task.paused"
        " WHERE waiting.place=:place AND waiting.due_at>=:from AND waiting.due_at<=:until"
        " ORDER BY waiting.due_at, waiting.id LIMIT :max"},
    // What the claim took there: all from a time on, up to the last one that was read.
    [SQL_TAKE] = {WRITER, "DELETE FROM waiting WHERE place=:place AND due_at>=:from AND (due_at, id)<=(:last_due_at, :last_id)"},
    // Delayed jobs at a place: those that are due at one millisecond, behind an id; and those that are due later.
    [SQL_DUE_TIES] = {WRITER,
        "SELECT waiting.id, waiting.due_at"
        " FROM waiting CROSS JOIN jobs AS job ON job.id=waiting.id AND job.state={delayed}"
        " WHERE waiting.place=:place AND waiting.due_at=:tie AND waiting.id>:from_id ORDER BY waiting.id LIMIT :max"},
    [SQL_DUE_REST] = {WRITER,
        "SELECT waiting.id, waiting.due_at"
        " FROM waiting CROSS JOIN jobs AS job ON job.id=waiting.id AND job.state={delayed}"
        " WHERE waiting.place=:place AND waiting.due_at>:tie AND waiting.due_at<=:to"
        " ORDER BY waiting.due_at, waiting.id LIMIT :max"},
    [SQL_AHEAD] = {READER,
        "SELECT count(*) FROM (SELECT 1 FROM waiting WHERE place=:place AND (due_at, id)<(:due_at, :id) LIMIT :max)"},
    // The log of claims, in the table `hands`.
    [SQL_CLAIMS] = {WRITER, "SELECT entries FROM hands ORDER BY number"},
    [SQL_LOG_CLAIMS] = {WRITER, "INSERT INTO hands(entries) VALUES(:entries)"},
    [SQL_CLEAR_CLAIMS] = {WRITER, "DELETE FROM hands"},

    // ---- lists of tasks, newest first: ?1 the tenant, ?2 behind which id, ?3 how many, ?4 by what they are found. All; those
    // with a tag; the only one there may be

    [SQL_LIST_TASKS] = {READER, "SELECT id, lane, name FROM tasks WHERE tenant=?1 AND id<?2 ORDER BY id DESC LIMIT ?3"},
    [SQL_LIST_TAGGED_TASKS] = {READER,
        "SELECT task.id, task.lane, task.name"
        " FROM tags CROSS JOIN tasks AS task ON task.id=tags.id"
        " WHERE tags.tenant=?1 AND tags.tag=?4 AND tags.at=0 AND tags.id<?2 ORDER BY tags.id DESC LIMIT ?3"},
    [SQL_LIST_ONE_TASK] = {READER, "SELECT id, lane, name FROM tasks WHERE tenant=?1 AND id=?4 AND id<?2 LIMIT ?3"},
    [SQL_LIST_RECURRING_TASKS] = {READER,
        "SELECT task.id, task.lane, task.name"
        " FROM plans CROSS JOIN tasks AS task ON task.id=plans.task_id"
        " WHERE plans.tenant=?1 AND plans.task_id<?2 ORDER BY plans.task_id DESC LIMIT ?3"},
    // Does a task that was found in another way recur?
    [SQL_HAS_PLAN] = {READER, "SELECT 1 FROM plans WHERE task_id=?1"},

    // ---- lists of jobs, newest first: ?1 the tenant, ?2 and ?3 behind which time and id, ?4 how many, ?5 (and ?6) by what they
    // are found. All; those in one or two states that failed; those with a tag; those of a task

    [SQL_LIST_JOBS] = {READER,
        "SELECT {listed_job} FROM jobs AS job INDEXED BY jobs_listed"
        " WHERE job.tenant=?1 AND (job.scheduled_at, job.id)<(?2, ?3)"
        " ORDER BY job.scheduled_at DESC, job.id DESC LIMIT ?4"},
    // IS, because of two conditions on the state SQLite would take the one of the index, and sort all that ever failed.
    [SQL_LIST_FAILED] = {READER,
        "SELECT {listed_job} FROM jobs AS job INDEXED BY jobs_failed"
        " WHERE job.tenant=?1 AND job.state IS ?5 AND job.state>={first_failed} AND (job.scheduled_at, job.id)<(?2, ?3)"
        " UNION ALL "
        "SELECT {listed_job} FROM jobs AS job INDEXED BY jobs_failed"
        " WHERE job.tenant=?1 AND job.state IS ?6 AND job.state>={first_failed} AND (job.scheduled_at, job.id)<(?2, ?3)"
        " ORDER BY scheduled_at DESC, id DESC LIMIT ?4"},
    [SQL_LIST_TAGGED_JOBS] = {READER,
        "SELECT {listed_job} FROM tags CROSS JOIN jobs AS job ON job.id=tags.id"
        " WHERE tags.tenant=?1 AND tags.tag=?5 AND (tags.at, tags.id)<(?2, ?3)"
        " ORDER BY tags.at DESC, tags.id DESC LIMIT ?4"},
    [SQL_LIST_OF_TASK] = {READER,
        "SELECT {listed_job} FROM ("
        "   SELECT id FROM ("
        "     SELECT id, tenant, scheduled_at FROM jobs WHERE id=?5 AND task_id=?5"
        "     UNION ALL"
        "     SELECT id, tenant, scheduled_at FROM jobs INDEXED BY jobs_task WHERE task_id=?5 AND id<>task_id)"
        "   WHERE tenant=?1 AND (scheduled_at, id)<(?2, ?3) ORDER BY scheduled_at DESC, id DESC LIMIT ?4) AS newest"
        " CROSS JOIN jobs AS job ON job.id=newest.id"
        " ORDER BY job.scheduled_at DESC, job.id DESC"},
    // Before a list is made in one of several ways: how many rows there are with a tag, or in states that failed.
    [SQL_COUNT_TAGGED] = {READER,
        "SELECT count(*) FROM (SELECT 1 FROM tags WHERE tenant=?1 AND (at, id)<(?2, ?3) AND tag=?5 LIMIT ?4)"},
    [SQL_COUNT_FAILED] = {READER,
        "SELECT count(*) FROM (SELECT 1 FROM jobs INDEXED BY jobs_failed"
        "  WHERE tenant=?1 AND state IN (?5, ?6) AND state>={first_failed} AND (scheduled_at, id)<(?2, ?3) LIMIT ?4)"},

    // Jobs that have not begun, earliest first: ?1 the tenant, ?2 how many rows. First those of the time ?3 behind the id ?4, then
    // those behind the time ?3 and up to ?4. As one statement it would go through all jobs of that time again for each page. Jobs
    // that have begun or ended come, too, because they count as looked at; their tasks are not looked up.
    [SQL_UPCOMING_THEN] = {READER,
        "SELECT {upcoming} FROM jobs AS job INDEXED BY jobs_listed"
        " LEFT JOIN tasks AS task ON task.id=job.task_id AND job.state<{reserved}"
        " WHERE job.tenant=?1 AND job.scheduled_at=?3 AND job.id>?4 ORDER BY job.id LIMIT ?2"},
    [SQL_UPCOMING_LATER] = {READER,
        "SELECT {upcoming} FROM jobs AS job INDEXED BY jobs_listed"
        " LEFT JOIN tasks AS task ON task.id=job.task_id AND job.state<{reserved}"
        " WHERE job.tenant=?1 AND job.scheduled_at>?3 AND job.scheduled_at<=?4 ORDER BY job.scheduled_at, job.id LIMIT ?2"},

    // ---- the journal: bulks, what was counted, events

    [SQL_BULK] = {READER, "SELECT {bulk} FROM bulks WHERE id=:id AND tenant=:tenant"},
    [SQL_BULKS] = {READER, "SELECT {bulk} FROM bulks INDEXED BY bulks_running WHERE state={bulk_running} ORDER BY id LIMIT :max"},
    [SQL_BULK_VERSION] = {WRITER, "SELECT version FROM bulks WHERE id=:id"},
    // A bulk that is new, or goes on.
    [SQL_WRITE_BULK] = {WRITER,
        "INSERT INTO bulks({bulk}) VALUES({bulk_values})"
        " ON CONFLICT(id) DO UPDATE SET version=version+1, state=excluded.state, holder=excluded.holder,"
        "  ended_at=excluded.ended_at, matched=excluded.matched, changed=excluded.changed, unchanged=excluded.unchanged,"
        "  failed=excluded.failed, next_at=excluded.next_at, next_id=excluded.next_id"},
    [SQL_FORGET_BULKS] = {WRITER, "DELETE FROM bulks WHERE state>{bulk_running} AND ended_at<:before"},
    [SQL_MINUTE] = {WRITER, "REPLACE INTO series(tenant, at, source, doc) VALUES(:tenant, :at, :source, :doc)"},
    [SQL_SERIES] = {READER,
        "SELECT at, source, doc FROM series"
        " WHERE tenant=:tenant AND at>=:from AND at<:to AND (at>:from OR source>:from_source)"
        " ORDER BY at, source LIMIT :max"},
    // With a sweep.
    [SQL_REMOVE_SERIES] = {WRITER,
        "DELETE FROM series WHERE (tenant, at, source) IN"
        " (SELECT tenant, at, source FROM series INDEXED BY series_at WHERE at<:before ORDER BY at, tenant, source LIMIT :max)"},
    [SQL_RELAY] = {WRITER,
        "INSERT INTO events(source, number, relayed_at, doc) VALUES(:source, :number, :now, :doc) ON CONFLICT DO NOTHING"},
    [SQL_SOURCES] = {READER, "SELECT source, max(number) FROM events GROUP BY source ORDER BY source"},
    [SQL_EVENTS] = {READER, "SELECT number, doc FROM events WHERE source=:source AND number>:known ORDER BY number LIMIT :max"},
    // With a sweep.
    [SQL_REMOVE_EVENTS] = {WRITER,
        "DELETE FROM events WHERE (source, number) IN"
        " (SELECT source, number FROM events WHERE relayed_at<:before ORDER BY relayed_at, source, number LIMIT :max)"},
};
// clang-format on

// ---- words that stand for columns

#define OF_JOB(name, type, step, new) ",job." #name
#define NAME(name, type, step, new) "," #name
#define VALUE(name, type, step, new) ",?"
#define NEW_NAME(name, type, step, new) NEW_NAME_##new##_##type(name)
#define NEW_NAME_GIVEN_NUMBER(name) "," #name
#define NEW_NAME_GIVEN_BYTES(name) "," #name
#define NEW_NAME_NONE_NUMBER(name) "," #name
#define NEW_NAME_NONE_BYTES(name)
#define NEW_NAME_APART_NUMBER(name)
#define NEW_VALUE(name, type, step, new) NEW_VALUE_##new##_##type
#define NEW_VALUE_GIVEN_NUMBER ",?"
#define NEW_VALUE_GIVEN_BYTES ",?"
#define NEW_VALUE_NONE_NUMBER ",0"
#define NEW_VALUE_NONE_BYTES
#define NEW_VALUE_APART_NUMBER
#define SET(name, type, step, new) SET_##step(name)
#define SET_FIXED(name)
#define SET_KEPT(name) "," #name "=?"
#define SET_WRITTEN(name) "," #name "=?"
#define SET_NEW(name, type, step, new) SET_NEW_##step(name)
#define SET_NEW_FIXED(name)
#define SET_NEW_KEPT(name)
#define SET_NEW_WRITTEN(name) "," #name "=new_" #name "(id)"
#define KEPT(name, type, step, new) KEPT_##step(name)
#define KEPT_FIXED(name)
#define KEPT_KEPT(name) "," #name
#define KEPT_WRITTEN(name)

#define PLAN_OF(name) ",plan." #name

#define MEMBER(name) "," #name
#define MEMBER_VALUE(name) ",?"

static const struct {
    const char *word, *text; // a comma that the text begins with is left out
} columns[] = {
    {"job", "job.id" JOB_COLUMNS(OF_JOB)},
    {"columns", "id" JOB_COLUMNS(NAME)},
    {"values", "?" JOB_COLUMNS(VALUE)},
    {"new_columns", "id" JOB_COLUMNS(NEW_NAME)},
    {"new_values", "?" JOB_COLUMNS(NEW_VALUE)},
    {"set", JOB_COLUMNS(SET)},
    {"set_new", JOB_COLUMNS(SET_NEW)},
    {"kept", JOB_COLUMNS(KEPT)},
    // What is claimed or in hand has no lease and no result, so these are read only where a job may have them. `result` is the
    // last column but one: a statement that does not ask for it does not go through its pages. A job that has not ended has a
    // small one, if any.
    {"lease", "CASE WHEN job.state<{first_final} THEN job.touched_at END, job.lease_until, length(job.result)"},
    {"listed_job", "{job}, {lease}, CASE WHEN length(job.result)<={listed_result} THEN job.result END"},
    {"task", "task.id, task.tenant, task.created_at, task.updated_at, task.version, task.paused, lane.dispatch, lane.queue, "
             "task.name, task.doc"},
    {"upcoming", "job.id, job.task_id, job.lane, job.scheduled_at, job.state, task.paused, task.name"},
    {"plan", "plan.version" PLAN_NUMBERS(PLAN_OF) ",plan.active,plan.queued" PLAN_TEXTS(PLAN_OF) PLAN_OF(reserved)},
    {"plan_columns", PLAN_NUMBERS(MEMBER) ",active,queued" PLAN_TEXTS(MEMBER)},
    {"plan_values", PLAN_NUMBERS(MEMBER_VALUE) ",?,?" PLAN_TEXTS(MEMBER_VALUE)},
    {"bulk", "id,tenant,version" BULK_MOVING(MEMBER) ",next_at,next_id,doc"},
    {"bulk_values", "?,?,1" BULK_MOVING(MEMBER_VALUE) ",?,?,?"},
};

// ---- words that stand for numbers

#define X(name, text, final) &&(final) == (JOB_##name >= JOB_SUCCESS)
_Static_assert(1 JOB_STATES(X), "the states from success on are the final ones");
#undef X
_Static_assert(JOB_ABORTED == JOB_SUCCESS + 1, "of the final states the first is the only success");
_Static_assert(JOB_BLOCKED < JOB_READY && JOB_DELAYED < JOB_READY && JOB_READY < JOB_WATCHING,
               "the states up to ready are those of jobs that nobody has claimed");

static const struct {
    const char *word;
    int64_t number;
} numbers[] = {
    {"never", TIME_NEVER},
    {"first_final", JOB_SUCCESS},
    {"first_failed", JOB_ABORTED},
    {"by_schedule", TRIGGER_SCHEDULE},
    {"bulk_running", STORE_BULK_RUNNING},
    {"listed_result", STORE_LISTED_RESULT},
};

static bool find_number(struct str word, int64_t *ret_number)
{
    for (size_t i = 0; i < array_count(numbers); i++)
        if (str_eq(word, str_of(numbers[i].word))) {
            *ret_number = numbers[i].number;
            return true;
        }
    for (int state = 0; state < JOB_STATE_COUNT; state++)
        if (str_eq(word, str_of(job_state_text((enum job_state)state)))) {
            *ret_number = state;
            return true;
        }
    return false;
}

static const char *find_columns(struct str word)
{
    for (size_t i = 0; i < array_count(columns); i++)
        if (str_eq(word, str_of(columns[i].word)))
            return columns[i].text + (columns[i].text[0] == ',');
    return NULL;
}

// ---- templates

static const char *write_braces(struct buf *buf, const char *text, const char *end, size_t rows);

static void write_text(struct buf *buf, const char *text, const char *end, size_t rows)
{
    while (text < end) {
        if (*text == '{')
            text = write_braces(buf, text + 1, end, rows);
        else
            buf_putc(buf, *text++);
    }
}

static void write_word(struct buf *buf, struct str word, size_t rows)
{
    int64_t number = 0;
    const char *text = find_columns(word);
    bool known = text || find_number(word, &number);
    assert(known);
    if (text)
        write_text(buf, text, text + strlen(text), rows);
    else
        buf_put_int(buf, number);
}

// From behind a brace on; returns what is behind the one that closes it.
static const char *write_braces(struct buf *buf, const char *text, const char *end, size_t rows)
{
    static const char each[] = "each ";
    const char *close = text;
    for (int depth = 1; close < end && (depth += (*close == '{') - (*close == '}')); close++)
        ;
    assert(close < end);
    if (strncmp(text, each, strlen(each)) != 0) {
        write_word(buf, (struct str){text, (size_t)(close - text)}, rows);
        return close + 1;
    }
    for (size_t i = 0; i < rows; i++) {
        if (i)
            buf_putc(buf, ',');
        write_text(buf, text + strlen(each), close, rows);
    }
    return close + 1;
}

void statement_write(struct buf *buf, const struct statement *statement, size_t rows)
{
    write_text(buf, statement->text, statement->text + strlen(statement->text), rows);
}

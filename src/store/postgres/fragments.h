// Pieces of SQL that several statements share: where a job waits, what is in whose hand, floors, counters, tags. Each is a macro
// that takes SQL and gives SQL, to be read like a function.
// Layer: port, private to this folder.
#pragma once

// clang-format off

// ---- looking up rows

// The rows whose id is among those: each is looked up by the index. In a join with a list PostgreSQL would read all of a table
// that is not large yet, for every batch again.
#define PG_ANY(ids) "ANY(ARRAY(" ids "))"
// The row with this id, in a join with a batch. It is not an equation, so PostgreSQL has no other way to join them than to look
// up each row of the batch, in their order; and it knows that there is one such row, so it does that by the id.
#define PG_IS(id, other) id "=ANY(ARRAY[" other "])"

// The document of a job's task; the second gives none while the task is paused.
#define PG_DOC_OF(job) "(SELECT t.doc FROM @tasks t WHERE t.id=" job ".task_id)"
#define PG_DOC_TO_RUN(job) "(SELECT t.doc FROM @tasks t WHERE t.id=" job ".task_id AND NOT t.paused)"
// The version of that document.
#define PG_VERSION_OF(job) "(SELECT t.version FROM @tasks t WHERE t.id=" job ".task_id)"
#define PG_VERSION_TO_RUN(job) "(SELECT t.version FROM @tasks t WHERE t.id=" job ".task_id AND NOT t.paused)"

// The ids that jobs of a task can have: a first job has its task's number, and the others are in `extras`.
#define PG_IDS_OF_TASK(task) "SELECT " task " UNION SELECT id FROM @extras WHERE task_id=" task

#define PG_NEVER "9223372036854775807" // TIME_NEVER
#define PG_CLOCK_MS "floor(extract(epoch FROM clock_timestamp())*1000)::bigint" // the server's

// ---- places and hands

// Where a job of this lane and priority waits. A job that is claimed stays there while it is in hand, which its state says, and
// one that came into a hand otherwise is at no place: so whatever brings it there or leaves it there changes nothing that an
// index has. `kept` is the place it has.
#define PG_PLACE(state, lane, priority, kept) \
    "CASE WHEN " state " IN {waiting} THEN " lane "*{places}+{last_place}-" priority " WHEN " state " IN {held} THEN " kept " END"
// All places of a lane, the first of its priorities first.
#define PG_PLACES_OF(lane) "generate_series(" lane "*{places}, " lane "*{places}+{last_place})"

// The table `hands` lists all jobs that came into a hand, also those that have left it. A statement that brings jobs (id, holder)
// into a hand adds a row to it; `remain` is how many of them say in which row they are (jobs.hand), or NULL: none does.
#define PG_HOLD(remain, jobs) \
    "INSERT INTO @hands(holder,look_at,remain,ids) SELECT job.holder, " PG_CLOCK_MS "+3000, " remain ", array_agg(job.id)" \
    " FROM (" jobs ") job GROUP BY job.holder ORDER BY job.holder RETURNING number, holder"
#define PG_IN_HAND_OF(holder) "j.holder=" holder " AND j.state IN {held} AND j.lease_until=0"
#define PG_HAND_OF(holder) \
    "SELECT listed.id FROM @hands h CROSS JOIN LATERAL unnest(h.ids) listed(id)" \
    " WHERE h.holder=" holder " AND h.remain IS DISTINCT FROM 0"

// ---- floors

// Lowers the floors of lanes in which jobs (lane, due_at) are to wait from now on. Lanes are locked in order of id, so that two
// such statements do not wait for each other in a circle.
#define PG_LOWER_FLOORS(jobs) \
    "UPDATE @lanes l SET floor=least(l.floor,lower.due_at), floor_new=least(l.floor_new,lower.due_at)," \
    " floor_old=least(l.floor_old,lower.due_at)" \
    " FROM (SELECT l.id, first.due_at FROM (SELECT job.lane, min(job.due_at) AS due_at FROM (" jobs ") job GROUP BY job.lane) first" \
    " JOIN @lanes l ON l.id=first.lane WHERE l.floor>first.due_at ORDER BY l.id FOR UPDATE OF l) lower WHERE l.id=lower.id"

// ---- counters

// Adds up moves (lane, state, n) into the session's own rows; $1 is its stripe, which is another every few seconds: a row that is
// updated again and again keeps all its versions while anybody holds a snapshot, and each update goes through all of them. A
// sweep adds what was counted in past periods to stripe 0.
#define PG_COUNT(moves) \
    "INSERT INTO @counts AS counted(stripe,lane,state,amount) SELECT $1, coalesce(move.lane,0), move.state, sum(move.n)::bigint" \
    " FROM (" moves ") move GROUP BY GROUPING SETS ((move.lane,move.state),(move.state)) HAVING sum(move.n)<>0 ORDER BY 2,3" \
    " ON CONFLICT(lane,state,stripe) DO UPDATE SET amount=counted.amount+excluded.amount"
// The moves of jobs that were counted (lane, was, state, n) before: of a batch there are few.
#define PG_MOVES(changed) \
    "SELECT changed.lane, side.state, side.n FROM (" changed ") changed" \
    " CROSS JOIN LATERAL (VALUES (changed.was,-changed.n),(changed.state,changed.n)) side(state,n)"

// Whether a lane is to be shown: it was not dropped, or has had a job since that is not final. A DROP removes the lane's counters of
// states that are not final, which add up to nothing, and an ADD of such a job writes one (stripe 0 keeps it when a sweep adds it up).
// So an ADD that comes at the same time brings the lane back, and neither looks at its row nor waits for it. It is no EXISTS, for
// which PostgreSQL might read all counters instead of looking up those of one lane.
#define PG_SHOWN(lane) \
    "(NOT " lane ".dropped OR (SELECT true FROM @counts open WHERE open.lane=" lane ".id AND open.state<{first_final} LIMIT 1))"

// Whether a queue is paused, for a lane of it that is made.
#define PG_QUEUE_PAUSED(tenant, queue) \
    "(SELECT coalesce(bool_or(other.paused),false) FROM @lanes other WHERE other.tenant=" tenant " AND other.queue=" queue ")"

// ---- tags

// Rows of tags, from a list of keys (tenant, tags, at, id) with the tags of their tasks.
#define PG_TAGS_OF(keys) "SELECT key.tenant, each.tag, key.at, key.id FROM (" keys ") key CROSS JOIN LATERAL unnest(key.tags) each(tag)"
#define PG_TAGS_OF_JOBS(keys) \
    "SELECT key.tenant, each.tag+1 AS tag, key.at, key.id FROM (" keys ") key CROSS JOIN LATERAL unnest(key.tags) each(tag)"
// Removes such rows. Each is looked up by the index, however many there are.
#define PG_REMOVE_TAGS(rows) \
    "DELETE FROM @tags stored USING (" rows ") going" \
    " WHERE stored.tenant=going.tenant AND stored.tag=going.tag AND stored.at=going.at AND stored.id=going.id"
#define PG_ADD_TAGS(rows) "INSERT INTO @tags(tenant,tag,at,id) " rows " ON CONFLICT DO NOTHING"

// ---- plans

// Whether the plan owes no instant any more. A plan that was written so is `over`, until a sweep has seen whether its task has jobs.
#define PG_IS_OVER(plan) plan ".planned_through=" PG_NEVER
#define PG_LOCK_PLANS(ids) "SELECT FROM @plans WHERE task_id=" ids " ORDER BY task_id FOR UPDATE"

// ---- ids and documents

// Notes the largest id that is gone: a process that joins gets it, so that no id is given out twice. `gone` are jobs (id, task_id).
#define PG_NOTE_GONE_IDS(gone) \
    "INSERT INTO @meta AS noted(name,value) SELECT 'id_floor', max(greatest(gone.id,gone.task_id)) FROM " gone " gone HAVING count(*)>0" \
    " ON CONFLICT(name) DO UPDATE SET value=greatest(noted.value,excluded.value)"

// The row of `meta` that says that a document of STORE_SMALL_DOC bytes or more has been stored, ever.
#define PG_LARGE "large_docs"

// clang-format on

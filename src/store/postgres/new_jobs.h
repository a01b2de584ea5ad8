// Jobs that a statement adds to tasks: their rows, and the part of the statement that writes them. ADD, PLAN and AMEND share it.
// Layer: port, private to this folder.
#pragma once
#include "store/postgres/postgres.h"

// The jobs of a statement, and to which of its items each belongs.
struct pg_new_jobs {
    const struct job **jobs;
    int64_t *items;
    size_t count;
    bool final, extra, held, waiting; // there are some of these
};

void pg_new_jobs_init(struct pg_new_jobs *list, struct arena *arena, size_t max);
void pg_new_jobs_put(struct pg_new_jobs *list, const struct job *jobs, size_t count, size_t item);
void pg_new_jobs_rows(const struct pg_new_jobs *list, struct pg_rows *rows, struct arena *arena);
bool pg_ids_differ(const struct job *jobs, size_t count);

// The parts of the texts below. They are on when a job is not its task's first (`extra`), `final`, `in_hand` or `waits`, and when
// ids that are taken are looked for among jobs that have not ended, too (`look_at_jobs`): otherwise a unique index finds them.
#define PG_NEW_JOBS_PARTS(session, list)                                                                                      \
    PG_IF("look_at_jobs", (session)->careful || (list)->extra), PG_IF("extra", (list)->extra), PG_IF("final", (list)->final), \
        PG_IF("in_hand", (list)->held), PG_IF("waits", (list)->waiting)

// clang-format off

// The rows are `new_job`, and the items they are added to are `accepted` (no, lane, tags).
#define PG_JOBS_OF_ACCEPTED " FROM new_job JOIN accepted ON accepted.no=new_job.item"

// Which row of `hands` a job that is added held is in.
#define PG_HAND_OF_NEW_JOB \
    "{in_hand:coalesce((SELECT hand.number FROM hand WHERE hand.holder=new_job.holder AND new_job.state IN {held}),0)}{not in_hand:0}"

// The ids of `new_job` that are taken. A job that is not its task's first and final is found by no unique index. Where such a job is
// to be added, a first job is only looked for where its task is there: its partition is not known.
#define PG_TAKEN_IDS \
    "(SELECT e.id FROM @extras e WHERE e.id=" PG_ANY("SELECT id FROM new_job") \
    "   {look_at_jobs: UNION ALL SELECT j.id FROM @jobs j WHERE j.id=" PG_ANY("SELECT id FROM new_job") "}" \
    "   {extra: UNION ALL SELECT d.id FROM @jobs_done d WHERE d.id=" \
            PG_ANY("SELECT t.id FROM @tasks t WHERE t.id=" PG_ANY("SELECT id FROM new_job")) "})"

// Writes them, but for floors and counts, which a statement may write only once. `tagged`: the tasks may have tags.
#define PG_ADD_JOBS \
    "{tagged:, tagged_job AS (" PG_ADD_TAGS(PG_TAGS_OF_JOBS("SELECT new_job.tenant, accepted.tags::bigint[] AS tags," \
        " new_job.scheduled_at AS at, new_job.id" PG_JOBS_OF_ACCEPTED)) ")}" \
    "{in_hand:, hand AS (" \
        PG_HOLD("count(*)", "SELECT new_job.holder, new_job.id" PG_JOBS_OF_ACCEPTED " WHERE new_job.state IN {held}") ")}" \
    ", added AS (INSERT INTO @jobs({job},waits_at,hand) SELECT {job of new_job but lane of accepted}," \
        PG_PLACE("new_job.state", "accepted.lane", "new_job.priority", "NULL") "," PG_HAND_OF_NEW_JOB \
        PG_JOBS_OF_ACCEPTED " WHERE new_job.state<{first_final})" \
    "{final:, added_done AS (INSERT INTO @jobs_done({job},day) SELECT {job of new_job but lane of accepted},new_job.day" \
        PG_JOBS_OF_ACCEPTED " WHERE new_job.state>={first_final})}" \
    "{extra:, added_extra AS (INSERT INTO @extras(id,task_id) SELECT new_job.id,new_job.task_id" \
        PG_JOBS_OF_ACCEPTED " WHERE new_job.id<>new_job.task_id)}"
#define PG_NEW_JOBS_WAITING "SELECT accepted.lane, new_job.due_at" PG_JOBS_OF_ACCEPTED " WHERE new_job.state IN {waiting}"
#define PG_NEW_JOBS_COUNTED "SELECT accepted.lane, new_job.state, count(*) AS n" PG_JOBS_OF_ACCEPTED " GROUP BY 1,2"

// clang-format on

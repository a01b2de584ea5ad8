// Jobs that a statement adds to tasks: their rows, and the part of the statement that writes them. ADD, PLAN and AMEND share it.
// Layer: port, private to this folder.
#pragma once
#include "store/postgres/postgres.h"

// The jobs of a statement, and to which of its items each belongs.
struct pg_new_jobs {
    const struct job **jobs;
    int64_t *items;
    size_t count;
    bool first, extra, final, held, waiting; // there are some of these
};

void pg_new_jobs_init(struct pg_new_jobs *list, struct arena *arena, size_t max);
void pg_new_jobs_put(struct pg_new_jobs *list, const struct job *jobs, size_t count, size_t item);
void pg_new_jobs_rows(const struct pg_new_jobs *list, struct pg_rows *rows, struct arena *arena);
bool pg_ids_differ(const struct job *jobs, size_t count);

// The parts of the texts below. They are on when a job is its task's first (`first`), when one is not (`extra`), `final`,
// `in_hand` or `waits`, and when all ids that are taken are looked for (`careful`): otherwise unique indexes find most of them.
#define PG_NEW_JOBS_PARTS(careful, list)                                                                                \
    PG_IF("look_at_extras", (careful) || (list)->first), PG_IF("look_at_jobs", careful), PG_IF("extra", (list)->extra), \
        PG_IF("final", (list)->final), PG_IF("in_hand", (list)->held), PG_IF("waits", (list)->waiting)

// clang-format off

// Which row of `hands` a job that is added held is in.
#define PG_HAND_OF_NEW_JOB \
    "{in_hand:coalesce((SELECT hand.number FROM hand WHERE hand.holder=new_job.holder AND new_job.state IN {held}),0)}{not in_hand:0}"

// The ids of `new_job` that are taken, but for those that the unique indexes of `extras` and `jobs` find. No index finds a first job
// among the extras, nor an extra among the first jobs that have ended. Such a first job is only looked for where its task is there:
// its partition is not known.
#define PG_TAKEN_IDS \
    "(SELECT NULL::bigint AS id WHERE false" \
    "   {look_at_extras: UNION ALL SELECT e.id FROM @extras e WHERE e.id=" PG_ANY("SELECT id FROM new_job") "}" \
    "   {look_at_jobs: UNION ALL SELECT j.id FROM @jobs j WHERE j.id=" PG_ANY("SELECT id FROM new_job") "}" \
    "   {extra: UNION ALL SELECT d.id FROM @jobs_done d WHERE d.id=" \
            PG_ANY("SELECT t.id FROM @tasks t WHERE t.id=" PG_ANY("SELECT id FROM new_job")) "})"

// Writes the rows of `new_job` whose items are `accepted` (no, lane, tags), but for floors and counts, which a statement may write
// only once. `tagged`: the tasks may have tags.
//
// PostgreSQL does not know how many rows a batch has, and may compare each row of one list with each of the other to join them. It
// cannot do so in a FULL JOIN, which it must not recognise as another one: so the conditions are written with coalesce().
#define PG_ADD_JOBS \
    ", accepted_job AS MATERIALIZED (SELECT new_job.*, accepted.lane{tagged:, accepted.tags::bigint[] AS tags}" \
        " FROM new_job FULL JOIN accepted ON accepted.no=new_job.item" \
        " WHERE coalesce(new_job.id,0)<>0 AND coalesce(accepted.lane,0)<>0)" \
    "{tagged:, tagged_job AS (" PG_ADD_TAGS(PG_TAGS_OF_JOBS( \
        "SELECT tenant, tags, scheduled_at AS at, id FROM accepted_job WHERE tags IS NOT NULL")) ")}" \
    "{in_hand:, hand AS (" PG_HOLD("count(*)", "SELECT holder, id FROM accepted_job WHERE state IN {held}") ")}" \
    ", added AS (INSERT INTO @jobs({job},waits_at,hand) SELECT {job of new_job}," \
        PG_PLACE("new_job.state", "new_job.lane", "new_job.priority", "NULL") "," PG_HAND_OF_NEW_JOB \
        " FROM accepted_job new_job WHERE new_job.state<{first_final})" \
    "{final:, added_done AS (INSERT INTO @jobs_done({job},day) SELECT {job},day FROM accepted_job WHERE state>={first_final})}" \
    "{extra:, added_extra AS (INSERT INTO @extras(id,task_id) SELECT id,task_id FROM accepted_job WHERE id<>task_id)}"
#define PG_NEW_JOBS_WAITING "SELECT lane, due_at FROM accepted_job WHERE state IN {waiting}"
#define PG_NEW_JOBS_COUNTED "SELECT lane, state, count(*) AS n FROM accepted_job GROUP BY 1,2"

// clang-format on

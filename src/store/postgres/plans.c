// PLAN and PLANS: the plans of recurring tasks, and the jobs that are added with them.
//
// All operations of a group are one list of items. Items that could meet (the same task, the same id of a job) are cut into
// batches, so that what comes later finds what came before. Those of a batch that were decided without reading are one statement,
// the others another.
//
// The order of locks: a task before its plan, a plan before the task's jobs, and plans in order of the task's id. A CHANGE that
// ends jobs which count in plans locks the plans in a statement before it, and so do AMEND, REMOVE and SWEEP behind that which
// locks the tasks. A PLAN locks no task and no job: it refuses what an AMEND has changed meanwhile by the version, and whoever
// waits for the plan sees in the next statement which jobs were added.
#include "store/postgres/postgres.h"

#include "store/postgres/new_jobs.h"

#include <stdlib.h>

// clang-format off

static const char lock_plans[] = PG_LOCK_PLANS("ANY($1)");

// PLAN. $1 stripe. `unread`: the items were decided without reading the plan; `adds`: there are jobs to add. The items come in order
// of their tasks, so plans are looked up and locked in that order. A plan that another transaction wrote meanwhile is looked at
// anew by PostgreSQL, with its item. For an item that is not accepted the answer is NULL when there is no plan, 1 when an id that
// is taken is the only reason, and otherwise 0.
#define STANDS \
    "p.version=item.version AND p.planned_through=item.from_ms{unread: AND p.missing IS NULL}{not unread: AND p.revision=item.revision}"
#define IS_TAKEN "item.no=ANY(ARRAY(SELECT taken.item FROM taken))"
static const char write_plans[] =
    "WITH item AS MATERIALIZED (SELECT * FROM {items} given"
    "   WHERE given.holder=0 OR given.holder IN (SELECT id FROM @incarnations WHERE NOT dead))"
    "{adds:"
    ", new_job AS MATERIALIZED (SELECT * FROM {jobs} given)"
    ", taken AS MATERIALIZED (SELECT new_job.item FROM new_job WHERE new_job.id IN " PG_TAKEN_IDS ")}"
    ", accepted AS (UPDATE @plans p SET over=" PG_IS_OVER("item") ", revision=p.revision+1,"
    "   {unread:planned_through=item.planned_through, instants=p.instants+item.instants,"
    "     check_at=CASE WHEN p.check_at<item.check_before THEN item.check_at ELSE p.check_at END}"
    "   {not unread:{set decided from item}}"
    "   FROM item WHERE " PG_IS("p.task_id", "item.task_id") " AND item.whole>0 AND " STANDS
    "   {adds: AND NOT " IS_TAKEN "}"
    "   RETURNING item.no, p.lane, (SELECT t.tags FROM @tasks t WHERE t.id=p.task_id) AS tags)"
    "{adds:" PG_ADD_JOBS
    "{waits:, lowered AS (" PG_LOWER_FLOORS(PG_NEW_JOBS_WAITING) ")}"
    ", counted AS (" PG_COUNT(PG_NEW_JOBS_COUNTED) ")}"
    " SELECT item.no, accepted.lane, CASE WHEN accepted.no IS NULL THEN"
    "   (SELECT (" STANDS " AND (item.whole=0{adds: OR " IS_TAKEN "}))::int FROM @plans p WHERE p.task_id=item.task_id) END"
    " FROM item LEFT JOIN accepted ON accepted.no=item.no";

// PLANS. $1 the tasks; or $1 now, $2 max; or $1 the id before, $2 max.
#define TASKS_OF_PLANS \
    " JOIN @tasks t ON " PG_IS("t.id", "p.task_id") " LEFT JOIN @lanes l ON l.id=t.lane"
static const char plans_by_id[] =
    "SELECT " PG_TASK_AND_PLAN " FROM @plans p" TASKS_OF_PLANS " WHERE p.task_id=ANY($1) ORDER BY p.task_id";
static const char plans_to_check[] =
    "SELECT " PG_TASK_AND_PLAN " FROM (SELECT * FROM @plans WHERE check_at<=$1 AND check_at<" PG_NEVER
    "   ORDER BY check_at, task_id LIMIT $2) p" TASKS_OF_PLANS " ORDER BY p.check_at, p.task_id";
static const char plans_owing[] =
    "SELECT " PG_TASK_AND_PLAN " FROM (SELECT * FROM @plans WHERE task_id>$1 AND planned_through<" PG_NEVER
    "   ORDER BY task_id LIMIT $2) p" TASKS_OF_PLANS " ORDER BY p.task_id";

// clang-format on

void pg_lock_plans(struct pg_session *session, const int64_t *tasks, size_t count)
{
    pg_begin_query(session);
    pg_put(session, lock_plans);
    pg_param_ints(session, tasks, count);
    pg_send(session, NULL, NULL);
}

// ---- writing

// An item on its way.
struct entry {
    struct store_planned *item;
    int64_t holder;
    bool whole; // its ids are all different
};

struct part {
    struct entry *entries;
    size_t count;
};

static void read_items(void *ctx, const PGresult *result)
{
    const struct part *part = ctx;
    for (int row = 0; row < PQntuples(result); row++) {
        struct store_planned *item = part->entries[pg_int(result, row, 0)].item;
        bool accepted = !PQgetisnull(result, row, 1), is_there = !PQgetisnull(result, row, 2);
        item->err = accepted ? ERR_OK : !is_there ? ERR_NOT_FOUND : pg_int(result, row, 2) ? ERR_INTERNAL : ERR_MOVED_ON;
        for (size_t i = 0; accepted && i < item->job_count; i++)
            item->jobs[i].lane = pg_int(result, row, 1);
    }
}

static void item_rows(struct pg_session *session, struct pg_rows *rows, const struct part *part)
{
    const struct plan **plans = arena_array(&session->arena, const struct plan *, part->count);
    pg_rows_init(rows, &session->arena, part->count);
    int64_t *holders = pg_rows_ints(rows, "holder"), *from = pg_rows_ints(rows, "from_ms"),
            *before = pg_rows_ints(rows, "check_before"), *whole = pg_rows_ints(rows, "whole");
    for (size_t i = 0; i < part->count; i++) {
        const struct store_planned *item = part->entries[i].item;
        holders[i] = part->entries[i].holder;
        from[i] = item->from;
        before[i] = item->check_before;
        whole[i] = part->entries[i].whole;
        plans[i] = item->plan;
    }
    pg_rows_plans(rows, plans);
}

static void send_part(struct pg_session *session, struct part *part, bool unread)
{
    struct pg_rows items, jobs;
    struct pg_new_jobs list;
    size_t count = 0;
    for (size_t i = 0; i < part->count; i++)
        count += part->entries[i].item->job_count;
    pg_new_jobs_init(&list, &session->arena, count);
    for (size_t i = 0; i < part->count; i++)
        if (part->entries[i].whole)
            pg_new_jobs_put(&list, part->entries[i].item->jobs, part->entries[i].item->job_count, i);
    item_rows(session, &items, part);
    pg_new_jobs_rows(&list, &jobs, &session->arena);
    pg_begin_query(session);
    pg_param_int(session, pg_stripe(session));
    pg_put_with(session, write_plans, PG_ROWS("items", &items), PG_ROWS("jobs", &jobs), PG_IF("unread", unread),
                PG_IF("adds", list.count), PG_IF("tagged", true), PG_NEW_JOBS_PARTS(session->careful, &list));
    pg_send(session, read_items, part);
}

static int by_task(const void *a, const void *b)
{
    int64_t left = ((const struct entry *)a)->item->plan->task_id, right = ((const struct entry *)b)->item->plan->task_id;
    return left < right ? -1 : left > right;
}

// Those of a batch that were decided without reading, or the others.
static void send_kind(struct pg_session *session, const struct entry *entries, size_t count, bool unread)
{
    struct part *part = arena_alloc(&session->arena, sizeof *part);
    *part = (struct part){.entries = arena_array(&session->arena, struct entry, count)};
    for (size_t i = 0; i < count; i++)
        if (entries[i].item->unread == unread)
            part->entries[part->count++] = entries[i];
    if (!part->count)
        return;
    qsort(part->entries, part->count, sizeof *part->entries, by_task);
    send_part(session, part, unread);
}

static void send_batch(struct pg_session *session, const struct entry *entries, size_t count)
{
    send_kind(session, entries, count, true);
    send_kind(session, entries, count, false);
}

// Notes the task and the ids of an item. True: an earlier item of the batch has one of them.
static bool meets_earlier(struct map *seen, const struct store_planned *item)
{
    bool meets = map_put(seen, item->plan->task_id, seen) != NULL;
    for (size_t i = 0; i < item->job_count; i++)
        meets |= map_put(seen, -item->jobs[i].id, seen) != NULL;
    return meets;
}

// Where each batch begins; behind the last, where it ends. Returns how many there are.
static size_t cut(struct pg_session *session, const struct entry *entries, size_t count, size_t **ret_begins)
{
    struct map seen = {0};
    size_t batches = 0;
    size_t *begins = *ret_begins = arena_array(&session->arena, size_t, count + 1);
    for (size_t i = 0; i < count; i++) {
        bool meets = meets_earlier(&seen, entries[i].item);
        if (i && !meets)
            continue;
        begins[batches++] = i;
        map_done(&seen);
        meets_earlier(&seen, entries[i].item);
    }
    begins[batches] = count;
    map_done(&seen);
    return batches;
}

// One statement locks the plans it writes in their order. Where there are several, all are locked before the first.
static void lock_all(struct pg_session *session, const struct entry *entries, size_t count, size_t batches)
{
    int64_t *tasks = arena_array(&session->arena, int64_t, count);
    size_t unread = 0;
    for (size_t i = 0; i < count; i++) {
        tasks[i] = entries[i].item->plan->task_id;
        unread += entries[i].item->unread;
    }
    if (batches > 1 || (unread && unread < count))
        pg_lock_plans(session, tasks, count);
}

static struct entry *list_entries(struct pg_session *session, struct list *group, struct pg_holders *holders, size_t *ret_count)
{
    size_t count = 0, ops = 0;
    list_each (group, node) {
        count += container_of(list_entry(node, struct store_op, link), struct store_plan, op)->count;
        ops++;
    }
    struct entry *entries = arena_array(&session->arena, struct entry, count);
    pg_holders_init(holders, &session->arena, ops);
    *ret_count = 0;
    list_each (group, node) {
        struct store_plan *plan = container_of(list_entry(node, struct store_op, link), struct store_plan, op);
        pg_holders_put(holders, plan->holder);
        for (size_t i = 0; i < plan->count; i++) {
            struct store_planned *item = &plan->items[i];
            entries[(*ret_count)++] = (struct entry){item, plan->holder, pg_ids_differ(item->jobs, item->job_count)};
        }
    }
    return entries;
}

static void make_days_of(struct pg_session *session, const struct entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < entries[i].item->job_count; k++)
            pg_make_days(session, (const struct job *const[]){&entries[i].item->jobs[k]}, 1);
}

void pg_plan_group(struct pg_session *session, struct list *group)
{
    struct pg_holders holders;
    size_t count, *begins;
    struct entry *entries = list_entries(session, group, &holders, &count);
    size_t batches = cut(session, entries, count, &begins);
    make_days_of(session, entries, count);
    pg_begin(session, "BEGIN");
    pg_fence(session, &holders);
    lock_all(session, entries, count, batches);
    for (size_t i = 0; i < batches; i++)
        send_batch(session, &entries[begins[i]], begins[i + 1] - begins[i]);
    pg_commit(session);
    if (session->err)
        return;
    list_each (group, node) {
        struct store_plan *plan = container_of(list_entry(node, struct store_op, link), struct store_plan, op);
        if (!pg_may_act(&holders, plan->holder))
            store_op_fail(&plan->op, ERR_FENCED, "the holder was declared dead, or is unknown");
    }
}

// ---- reading

static void read_plans(void *ctx, const PGresult *result)
{
    struct store_plans *plans = ctx;
    for (int row = 0; row < PQntuples(result); row++) {
        plans->tasks = store_push(&plans->op.arena, plans->tasks, plans->count, sizeof *plans->tasks);
        plans->tasks[plans->count++] = pg_read_task_and_plan(result, row, &plans->op.arena);
    }
}

void pg_plans_send(struct pg_session *session, struct store_op *op)
{
    struct store_plans *plans = container_of(op, struct store_plans, op);
    if (plans->owing) {
        pg_sql(session, plans_owing, read_plans, plans, plans->after_id, store_limit(plans->max));
        return;
    }
    if (!plans->ids) {
        pg_sql(session, plans_to_check, read_plans, plans, plans->now_ms, store_limit(plans->max));
        return;
    }
    pg_begin_query(session);
    pg_put(session, plans_by_id);
    pg_param_ints(session, plans->ids, plans->id_count);
    pg_send(session, read_plans, plans);
}

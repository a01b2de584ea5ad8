// The statements that add a batch of items.
//
// Nothing of an item is stored unless all of it is: the statement first says which items may be added (`accepted`), from what is
// there and from which keys could be taken, and everything else follows from that. Most batches are new tasks without keys that
// have one job each: they have a statement of their own, in which a task and its job are one row.
#include "store/postgres/batch.h"
#include "store/postgres/new_jobs.h"

// clang-format off

// Lanes that the session does not remember. They are made in the order they are first needed: for items that are neither fenced nor
// known by their key, and whose names are not taken. The subquery finds a lane by the index, however many there are.
static const char make_lanes[] =
    "WITH item AS MATERIALIZED (SELECT item.*,"
    "   (SELECT l.id FROM @lanes l WHERE l.tenant=item.tenant AND l.queue=coalesce(item.queue,'') AND l.dispatch=item.dispatch)"
    "   AS lane FROM {items} item"
    "   WHERE (item.holder=0 OR item.holder IN (SELECT id FROM @incarnations WHERE NOT dead))"
    "   AND NOT EXISTS (SELECT FROM @keys k WHERE k.tenant=item.tenant AND k.key=item.key)"
    "   AND NOT EXISTS (SELECT FROM @plans p WHERE p.tenant=item.tenant AND p.reserved=item.reserved)),"
    " missing AS (SELECT tenant, coalesce(queue,'') AS queue, dispatch, min(no) AS no FROM item WHERE lane IS NULL GROUP BY 1,2,3),"
    " made AS (INSERT INTO @lanes(id,tenant,queue,dispatch,paused)"
    "   SELECT (SELECT coalesce(max(id),0) FROM @lanes)+row_number() OVER (ORDER BY no), tenant, queue, dispatch, "
        PG_QUEUE_PAUSED("missing.tenant", "missing.queue") " FROM missing"
    "   RETURNING id, tenant, queue, dispatch)"
    " SELECT item.no, coalesce(item.lane, made.id) FROM item"
    " LEFT JOIN made ON made.tenant=item.tenant AND made.queue=coalesce(item.queue,'') AND made.dispatch=item.dispatch";

// New tasks without keys that have one job each. $1 stripe, $2 the ids. Parts are on when some task is `tagged`, and some job is
// `in_hand`, `final` or `waits`.
static const char add_plain[] =
    "WITH new_job AS MATERIALIZED (SELECT given.*, given.id AS task_id FROM {items} given WHERE given.lane>0"
    "   AND (given.fence=0 OR given.fence IN (SELECT id FROM @incarnations WHERE NOT dead))"
    "   AND given.id<>ALL(ARRAY(SELECT e.id FROM @extras e WHERE e.id=ANY($2))))"
    ", added_task AS (INSERT INTO @tasks(id,tenant,lane,created_at,name,doc{tagged:,tags})"
    "   SELECT id,tenant,lane,created_at,name,doc{tagged:,tags::bigint[]} FROM new_job)"
    "{tagged:"
    ", tagged AS (" PG_ADD_TAGS(PG_TAGS_OF(
        "SELECT tenant, tags::bigint[] AS tags, 0::bigint AS at, id FROM new_job WHERE tags IS NOT NULL")) ")"
    ", tagged_job AS (" PG_ADD_TAGS(PG_TAGS_OF_JOBS(
        "SELECT tenant, tags::bigint[] AS tags, scheduled_at AS at, id FROM new_job WHERE tags IS NOT NULL")) ")}"
    "{in_hand:, hand AS ("
        PG_HOLD("count(*)", "SELECT new_job.holder, new_job.id FROM new_job WHERE new_job.state IN {held}") ")}"
    ", added AS (INSERT INTO @jobs({job},waits_at,hand) SELECT {job of new_job},"
        PG_PLACE("new_job.state", "new_job.lane", "new_job.priority", "NULL") "," PG_HAND_OF_NEW_JOB
    "   FROM new_job WHERE new_job.state<{first_final})"
    "{final:, added_done AS (INSERT INTO @jobs_done({job},day) SELECT {job of new_job},new_job.day"
    "   FROM new_job WHERE new_job.state>={first_final})}"
    "{waits:, lowered AS ("
        PG_LOWER_FLOORS("SELECT new_job.lane, new_job.due_at FROM new_job WHERE new_job.state IN {waiting}") ")}"
    ", counted AS (" PG_COUNT("SELECT lane, state, count(*) AS n FROM new_job GROUP BY 1,2") ")"
    " SELECT no FROM new_job";

// Any items: new tasks (`new_tasks`), or jobs for tasks that are there. $1 stripe, $2 the tasks that are there.
//
// `taken` are items one of whose ids is taken. That never happens unless somebody makes a mistake, so a new task is looked up only
// after its group was refused for it, or where names are reserved (`careful`). `planned`: some of the tasks recur. `reserving`:
// some of them reserve a name, which is taken by writing the plan; such a plan is therefore written before its item is accepted.
// The names of plans that are over have been made free by then.
static const char add_items[] =
    "{new_tasks:WITH item AS MATERIALIZED (SELECT * FROM {items} given WHERE given.lane>0"
    "   AND (given.holder=0 OR given.holder IN (SELECT id FROM @incarnations WHERE NOT dead)))}"
    "{not new_tasks:WITH item AS MATERIALIZED (SELECT given.no, t.lane, t.tags FROM {items} given"
    "   JOIN (SELECT t.id, t.tenant, t.lane, t.tags FROM @tasks t WHERE t.id=ANY($2) ORDER BY t.id FOR KEY SHARE) t"
    "   ON t.id=given.id AND t.tenant=given.tenant"
    "   WHERE given.holder=0 OR given.holder IN (SELECT id FROM @incarnations WHERE NOT dead))}"
    ", new_job AS MATERIALIZED (SELECT * FROM {jobs} given)"
    ", taken AS MATERIALIZED (SELECT new_job.item FROM new_job WHERE new_job.id IN"
    "   " PG_TAKEN_IDS
    "   {new_tasks:{careful: UNION ALL SELECT item.no FROM item WHERE item.id IN"
    "     (SELECT t.id FROM @tasks t WHERE t.id=" PG_ANY("SELECT id FROM item") ")}})"
    "{planned:, new_plan AS MATERIALIZED (SELECT * FROM {plans} given)}"
    "{keyed:, key_taken AS (INSERT INTO @keys(tenant,key,task_id,until,loose,digest) SELECT tenant,key,id,0,false,digest FROM item"
    "   WHERE key IS NOT NULL AND no NOT IN (SELECT item FROM taken) ORDER BY tenant,key ON CONFLICT DO NOTHING RETURNING task_id)}"
    "{reserving:, reserving_plan AS (INSERT INTO @plans({plan},lane,over) SELECT {plan of new_plan},item.lane," PG_IS_OVER("new_plan")
    "   FROM new_plan JOIN item ON item.no=new_plan.item WHERE new_plan.reserved IS NOT NULL"
    "   AND item.no NOT IN (SELECT item FROM taken) ORDER BY new_plan.tenant,new_plan.reserved"
    "   ON CONFLICT (tenant,reserved) WHERE reserved IS NOT NULL DO NOTHING RETURNING task_id)"
    ", refused AS MATERIALIZED (SELECT new_plan.item FROM new_plan WHERE new_plan.reserved IS NOT NULL"
    "   AND new_plan.task_id NOT IN (SELECT task_id FROM reserving_plan))}"
    ", accepted AS MATERIALIZED (SELECT item.* FROM item WHERE no NOT IN (SELECT item FROM taken)"
    "   {reserving: AND no NOT IN (SELECT item FROM refused)}"
    "   {keyed: AND (key IS NULL OR id IN (SELECT task_id FROM key_taken))})"
    "{new_tasks:, added_task AS (INSERT INTO @tasks(id,tenant,lane,created_at,key,name,doc{tagged:,tags})"
    "   SELECT id,tenant,lane,created_at,key,name,doc{tagged:,tags::bigint[]} FROM accepted)"
    "{tagged:, tagged AS (" PG_ADD_TAGS(PG_TAGS_OF(
        "SELECT accepted.tenant, accepted.tags::bigint[] AS tags, 0::bigint AS at, accepted.id FROM accepted")) ")}}"
    "{planned:, added_plan AS (INSERT INTO @plans({plan},lane,over) SELECT {plan of new_plan},accepted.lane,"
        PG_IS_OVER("new_plan") " FROM new_plan JOIN accepted ON accepted.no=new_plan.item{reserving: WHERE new_plan.reserved IS NULL})}"
    PG_ADD_JOBS
    "{waits:, lowered AS (" PG_LOWER_FLOORS(PG_NEW_JOBS_WAITING) ")}"
    ", counted AS (" PG_COUNT(PG_NEW_JOBS_COUNTED) ")"
    " SELECT item.no, item.lane, (accepted.no IS NOT NULL)::int, (item.no IN (SELECT item FROM taken))::int"
    " FROM item LEFT JOIN accepted ON accepted.no=item.no";

// Behind it, where there are keys: what they stand for.
static const char find_keys[] =
    "SELECT item.no, used.task_id, used.digest, used.spent_at FROM {items} item"
    " CROSS JOIN LATERAL (SELECT k.task_id, k.digest, k.spent_at FROM @keys k WHERE k.tenant=item.tenant AND k.key=item.key LIMIT 1)"
    " used";

// Before it, where names are reserved: those of plans that are over become free, for items that will not be refused. Refused are
// those whose holder is dead, or one of whose ids is taken.
static const char free_names[] =
    "WITH new_job AS MATERIALIZED (SELECT * FROM {jobs} given),"
    " taken AS MATERIALIZED (SELECT new_job.item FROM new_job WHERE new_job.id IN " PG_TAKEN_IDS ")"
    " UPDATE @plans SET reserved=NULL WHERE task_id=ANY(ARRAY(SELECT p.task_id FROM {names} item"
    "   JOIN @plans p ON p.tenant=item.tenant AND p.reserved=item.reserved AND " PG_IS_OVER("p")
    "   WHERE (item.holder=0 OR item.holder IN (SELECT id FROM @incarnations WHERE NOT dead))"
    "   AND item.no NOT IN (SELECT taken.item FROM taken) AND NOT EXISTS (SELECT FROM @tasks t WHERE t.id=item.id)"
    "   ORDER BY p.task_id FOR UPDATE OF p))";

// Behind it: who has those names.
static const char find_names[] =
    "SELECT item.no, p.task_id FROM {names} item JOIN @plans p ON p.tenant=item.tenant AND p.reserved=item.reserved";

// clang-format on

// The name that an item reserves; "": none.
static struct str reserved_by(const struct entry *entry)
{
    const struct store_task *task = entry->item->task;
    return task && task->plan ? task->plan->reserved : (struct str){0};
}

// ---- lanes

static void read_lanes(void *ctx, const PGresult *result)
{
    struct batch *batch = ctx;
    for (int row = 0; row < PQntuples(result); row++) {
        struct entry *entry = batch->part[pg_int(result, row, 0)];
        entry->lane = pg_int(result, row, 1);
        pg_remember_lane(batch->session, entry->item->task, entry->lane);
    }
}

// Asks for the lanes of those that have none yet. That is a round trip, once for each lane in the life of a process.
static void make_lanes_of(struct batch *batch)
{
    struct pg_session *session = batch->session;
    struct pg_rows rows;
    batch->part_count = 0;
    for (size_t i = 0; i < batch->count; i++)
        if (batch->entries[i].item->task && !batch->entries[i].lane)
            batch->part[batch->part_count++] = &batch->entries[i];
    if (!batch->part_count)
        return;
    pg_rows_init(&rows, &session->arena, batch->part_count);
    int64_t *tenants = pg_rows_ints(&rows, "tenant"), *holders = pg_rows_ints(&rows, "holder"),
            *dispatches = pg_rows_ints(&rows, "dispatch");
    struct str *queues = pg_rows_strs(&rows, "queue", PG_TEXT), *keys = pg_rows_strs(&rows, "key", PG_TEXT),
               *names = pg_rows_strs(&rows, "reserved", PG_TEXT);
    for (size_t i = 0; i < batch->part_count; i++) {
        const struct store_new *item = batch->part[i]->item;
        tenants[i] = item->task->tenant;
        holders[i] = batch->part[i]->holder;
        dispatches[i] = item->task->dispatch;
        queues[i] = item->task->queue;
        keys[i] = item->key;
        names[i] = reserved_by(batch->part[i]);
    }
    pg_lock(session, PG_LOCK_LANES);
    pg_begin_query(session);
    pg_put_with(session, make_lanes, PG_ROWS("items", &rows));
    pg_send(session, read_lanes, batch);
    pg_sync(session);
}

// ---- rows

// Whether a statement has to do with tags: when one of its tasks has any.
static bool any_tagged(struct entry *const *part, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (part[i]->item->task && part[i]->item->task->tag_count)
            return true;
    return false;
}

static void tag_rows(struct pg_rows *rows, struct entry *const *part)
{
    struct str *tags = pg_rows_strs(rows, "tags", PG_TEXT);
    for (size_t i = 0; i < rows->count; i++)
        tags[i] = pg_tags_text(part[i]->item->task, rows->arena);
}

// Tasks that are there, to which jobs are added.
static void old_task_rows(struct batch *batch, struct pg_rows *rows)
{
    int64_t *ids = pg_rows_ints(rows, "id"), *tenants = pg_rows_ints(rows, "tenant");
    for (size_t i = 0; i < batch->part_count; i++) {
        ids[i] = batch->part[i]->item->jobs[0].task_id;
        tenants[i] = batch->part[i]->item->jobs[0].tenant;
    }
}

// What new tasks have, but for keys.
static void new_task_rows(struct batch *batch, struct pg_rows *rows)
{
    int64_t *ids = pg_rows_ints(rows, "id"), *tenants = pg_rows_ints(rows, "tenant"), *lanes = pg_rows_ints(rows, "lane"),
            *created = pg_rows_ints(rows, "created_at");
    struct str *names = pg_rows_strs(rows, "name", PG_TEXT), *docs = pg_rows_strs(rows, "doc", PG_BYTES);
    for (size_t i = 0; i < batch->part_count; i++) {
        const struct entry *entry = batch->part[i];
        const struct store_task *task = entry->item->task;
        ids[i] = task->id;
        tenants[i] = task->tenant;
        lanes[i] = entry->whole ? entry->lane : 0;
        created[i] = task->created_at;
        names[i] = task->name;
        docs[i] = task->doc;
    }
    if (any_tagged(batch->part, batch->part_count))
        tag_rows(rows, batch->part);
}

static void key_rows(struct batch *batch, struct pg_rows *rows)
{
    struct str *keys = pg_rows_strs(rows, "key", PG_TEXT), *digests = pg_rows_strs(rows, "digest", PG_BYTES);
    for (size_t i = 0; i < batch->part_count; i++) {
        const struct store_new *item = batch->part[i]->item;
        keys[i] = item->key;
        if (keys[i].n)
            digests[i] = (struct str){(const char *)item->digest, sizeof item->digest};
    }
}

// The incarnation that made the ids. It is called `fence` where the rows are jobs, too, which have holders of their own.
static void holder_rows(struct batch *batch, struct pg_rows *rows, const char *name)
{
    int64_t *holders = pg_rows_ints(rows, name);
    for (size_t i = 0; i < batch->part_count; i++)
        holders[i] = batch->part[i]->holder;
}

static void item_rows(struct batch *batch, struct pg_rows *rows, bool of_new)
{
    pg_rows_init(rows, &batch->session->arena, batch->part_count);
    if (of_new) {
        new_task_rows(batch, rows);
        key_rows(batch, rows);
    } else {
        old_task_rows(batch, rows);
    }
    holder_rows(batch, rows, "holder");
}

static struct pg_new_jobs list_jobs(const struct batch *batch)
{
    struct pg_new_jobs list;
    size_t count = 0;
    for (size_t i = 0; i < batch->part_count; i++)
        count += batch->part[i]->item->job_count;
    pg_new_jobs_init(&list, &batch->session->arena, count);
    for (size_t i = 0; i < batch->part_count; i++)
        if (batch->part[i]->whole)
            pg_new_jobs_put(&list, batch->part[i]->item->jobs, batch->part[i]->item->job_count, i);
    return list;
}

// The plans of new tasks that recur. They are of the first version, as the tasks.
static void plan_rows(const struct batch *batch, struct pg_rows *rows)
{
    struct arena *arena = &batch->session->arena;
    const struct plan **plans = arena_array(arena, const struct plan *, batch->part_count);
    int64_t *items = arena_array(arena, int64_t, batch->part_count);
    size_t count = 0;
    for (size_t i = 0; i < batch->part_count; i++) {
        const struct store_task *task = batch->part[i]->item->task;
        if (!task || !task->plan || !batch->part[i]->whole)
            continue;
        struct plan *plan = arena_alloc(arena, sizeof *plan);
        *plan = *task->plan;
        plan->task_id = task->id;
        plan->tenant = task->tenant;
        plan->version = 1;
        items[count] = (int64_t)i;
        plans[count++] = plan;
    }
    pg_rows_init(rows, arena, count);
    memcpy(pg_rows_ints(rows, "item"), items, count * sizeof *items);
    pg_rows_plans(rows, plans);
}

// ---- names that are reserved

static bool any_reserves(struct entry *const *part, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (reserved_by(part[i]).n)
            return true;
    return false;
}

static void read_names(void *ctx, const PGresult *result)
{
    struct batch *batch = ctx;
    for (int row = 0; row < PQntuples(result); row++) {
        struct entry *entry = batch->part[pg_int(result, row, 0)];
        if (entry->added || entry->taken || !entry->whole)
            continue;
        entry->by_key = true;
        entry->item->existing_id = pg_int(result, row, 1);
    }
}

static void name_rows(struct pg_rows *rows, struct arena *arena, struct entry *const *part, size_t count)
{
    pg_rows_init(rows, arena, count);
    int64_t *tenants = pg_rows_ints(rows, "tenant"), *ids = pg_rows_ints(rows, "id"), *holders = pg_rows_ints(rows, "holder");
    struct str *names = pg_rows_strs(rows, "reserved", PG_TEXT);
    for (size_t i = 0; i < count; i++) {
        names[i] = reserved_by(part[i]);
        tenants[i] = names[i].n ? part[i]->item->task->tenant : 0;
        ids[i] = names[i].n ? part[i]->item->task->id : 0;
        holders[i] = part[i]->holder;
    }
}

static void send_find_names(struct batch *batch)
{
    struct pg_rows names;
    name_rows(&names, &batch->session->arena, batch->part, batch->part_count);
    pg_begin_query(batch->session);
    pg_put_with(batch->session, find_names, PG_ROWS("names", &names));
    pg_send(batch->session, read_names, batch);
}

void pg_batch_free_names(struct pg_session *session, struct entry *entries, size_t count)
{
    struct batch batch = {.session = session, .part = arena_array(&session->arena, struct entry *, count)};
    struct pg_rows names, jobs;
    for (size_t i = 0; i < count; i++)
        if (reserved_by(&entries[i]).n && entries[i].whole)
            batch.part[batch.part_count++] = &entries[i];
    if (!batch.part_count)
        return;
    struct pg_new_jobs list = list_jobs(&batch);
    name_rows(&names, &session->arena, batch.part, batch.part_count);
    pg_new_jobs_rows(&list, &jobs, &session->arena);
    pg_begin_query(session);
    pg_put_with(session, free_names, PG_ROWS("names", &names), PG_ROWS("jobs", &jobs), PG_IF("look_at_extras", true),
                PG_IF("look_at_jobs", true), PG_IF("extra", true));
    pg_send(session, NULL, NULL);
}

// ---- any items

static void read_items(void *ctx, const PGresult *result)
{
    struct batch *batch = ctx;
    for (int row = 0; row < PQntuples(result); row++) {
        struct entry *entry = batch->part[pg_int(result, row, 0)];
        entry->found = true;
        entry->lane = pg_int(result, row, 1);
        entry->added = pg_int(result, row, 2);
        entry->taken = pg_int(result, row, 3);
    }
}

static void send_items(struct batch *batch, const struct pg_new_jobs *list, bool of_new, bool keyed)
{
    struct pg_session *session = batch->session;
    struct pg_rows items, jobs, plans;
    item_rows(batch, &items, of_new);
    plan_rows(batch, &plans);
    pg_new_jobs_rows(list, &jobs, &session->arena);
    bool reserving = plans.count && any_reserves(batch->part, batch->part_count), careful = session->careful || reserving;
    pg_begin_query(session);
    pg_param_int(session, pg_stripe(session));
    if (!of_new)
        pg_param_ints(session, items.columns[0].ints, items.count);
    pg_put_with(session, add_items, PG_ROWS("items", &items), PG_ROWS("jobs", &jobs), PG_ROWS("plans", &plans),
                PG_IF("new_tasks", of_new), PG_IF("keyed", keyed), PG_IF("planned", plans.count), PG_IF("reserving", reserving),
                PG_IF("tagged", !of_new || any_tagged(batch->part, batch->part_count)), PG_IF("careful", careful),
                PG_NEW_JOBS_PARTS(careful, list));
    pg_send(session, read_items, batch);
}

static void read_keys(void *ctx, const PGresult *result)
{
    struct batch *batch = ctx;
    for (int row = 0; row < PQntuples(result); row++) {
        struct entry *entry = batch->part[pg_int(result, row, 0)];
        if (entry->added)
            continue;
        bool same = PQgetlength(result, row, 2) == sizeof entry->item->digest &&
                    memcmp(PQgetvalue(result, row, 2), entry->item->digest, sizeof entry->item->digest) == 0;
        entry->by_key = true;
        entry->item->existing_id = pg_int(result, row, 1);
        entry->item->spent_at = pg_int(result, row, 3);
        entry->item->err = entry->item->spent_at ? ERR_KEY_SPENT : same ? ERR_OK : ERR_KEY_REUSED;
    }
}

static void send_find_keys(struct batch *batch)
{
    struct pg_session *session = batch->session;
    struct pg_rows rows;
    pg_rows_init(&rows, &session->arena, batch->part_count);
    int64_t *tenants = pg_rows_ints(&rows, "tenant");
    struct str *keys = pg_rows_strs(&rows, "key", PG_TEXT);
    for (size_t i = 0; i < batch->part_count; i++) {
        tenants[i] = batch->part[i]->item->task->tenant;
        keys[i] = batch->part[i]->item->key;
    }
    pg_begin_query(session);
    pg_put_with(session, find_keys, PG_ROWS("items", &rows));
    pg_send(session, read_keys, batch);
}

// ---- new tasks with one job each

static bool is_plain(const struct batch *batch, const struct pg_new_jobs *list)
{
    bool plain = list->count == batch->part_count && !list->extra && !batch->session->careful;
    for (size_t i = 0; plain && i < batch->part_count; i++) {
        const struct store_new *item = batch->part[i]->item;
        plain = item->job_count == 1 && !item->task->plan && item->jobs[0].id == item->task->id &&
                item->jobs[0].tenant == item->task->tenant;
    }
    return plain;
}

static void read_plain(void *ctx, const PGresult *result)
{
    struct batch *batch = ctx;
    for (int row = 0; row < PQntuples(result); row++)
        batch->part[pg_int(result, row, 0)]->added = true;
}

static void send_plain(struct batch *batch, const struct pg_new_jobs *list)
{
    struct pg_session *session = batch->session;
    struct pg_rows rows;
    pg_rows_init(&rows, &session->arena, batch->part_count);
    new_task_rows(batch, &rows);
    holder_rows(batch, &rows, "fence");
    pg_rows_job(&rows, list->jobs, pg_job_all & ~(PG_BIT(id) | PG_BIT(task_id) | PG_BIT(tenant) | PG_BIT(lane)));
    pg_rows_day(&rows, list->jobs);
    pg_begin_query(session);
    pg_param_int(session, pg_stripe(session));
    pg_param_ints(session, rows.columns[0].ints, rows.count);
    pg_put_with(session, add_plain, PG_ROWS("items", &rows), PG_IF("tagged", any_tagged(batch->part, batch->part_count)),
                PG_IF("final", list->final), PG_IF("in_hand", list->held), PG_IF("waits", list->waiting));
    pg_send(session, read_plain, batch);
}

// The items of a batch that are new tasks, or those that are not. Each statement has a struct of its own: it is read later.
static void send_part(const struct batch *batch, bool of_new)
{
    struct batch *part = arena_alloc(&batch->session->arena, sizeof *part);
    bool keyed = false;
    *part = *batch;
    part->part = arena_array(&batch->session->arena, struct entry *, batch->count);
    part->part_count = 0;
    for (size_t i = 0; i < batch->count; i++) {
        const struct store_new *item = batch->entries[i].item;
        if ((item->task != NULL) != of_new || (!of_new && !item->job_count))
            continue;
        keyed = keyed || (item->task && item->key.n);
        part->part[part->part_count++] = &batch->entries[i];
    }
    if (!part->part_count)
        return;
    struct pg_new_jobs list = list_jobs(part);
    if (of_new && !keyed && is_plain(part, &list))
        send_plain(part, &list);
    else
        send_items(part, &list, of_new, keyed);
    if (keyed)
        send_find_keys(part);
    if (any_reserves(part->part, part->part_count))
        send_find_names(part);
}

void pg_batch_send(struct batch *batch)
{
    batch->part = arena_array(&batch->session->arena, struct entry *, batch->count);
    make_lanes_of(batch);
    send_part(batch, true);
    send_part(batch, false);
}

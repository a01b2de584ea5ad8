// ADD: new tasks with their jobs, and jobs for tasks that exist. All operations of a group are one list of items and, nearly
// always, one statement. Items that could meet (the same key, the same id) are cut into batches, one statement a batch, so that
// what comes later finds what came before.
//
// Nothing of an item is stored unless all of it is: the statement first says which items may be added (`ok`), from what is there
// and from which keys could be taken, and everything else follows from that. Most batches are new tasks without keys that have
// one job each: they are a statement of their own, in which a task and its job are one row (`n`).
#include "store/postgres/postgres.h"

#include "base/hash.h"

enum { LANES_REMEMBERED_MAX = 262144 };

static const char fence[] = "SELECT id FROM @incarnations WHERE id=ANY($1) AND NOT dead ORDER BY id FOR KEY SHARE";

// Lanes are made in the order they are first needed: for items that are neither fenced nor known by their key. What is looked up
// by a subquery is looked up by the index, however many lanes there are.
#define LANE_OF_S "(SELECT l.id FROM @lanes l WHERE l.tenant=s.tenant AND l.queue=coalesce(s.queue,''))"
static const char make_lanes_from[] = "WITH s AS MATERIALIZED (SELECT s.*, " LANE_OF_S " AS lane FROM ";
static const char make_lanes[] =
    " s WHERE (s.holder=0 OR s.holder IN (SELECT id FROM @incarnations WHERE NOT dead)) AND"
    " NOT EXISTS (SELECT FROM @keys k WHERE k.tenant=s.tenant AND k.key=s.key)),"
    " new AS (SELECT tenant, coalesce(queue,'') AS queue, min(no) AS no FROM s WHERE lane IS NULL GROUP BY 1,2),"
    " made AS (INSERT INTO @lanes(id,tenant,queue,paused) SELECT (SELECT coalesce(max(id),0) FROM @lanes)"
    "+row_number() OVER (ORDER BY no), tenant, queue, false FROM new RETURNING id, tenant, queue)"
    " SELECT s.no, coalesce(s.lane, m.id) FROM s LEFT JOIN made m ON m.tenant=s.tenant AND m.queue=coalesce(s.queue,'')";

// The items of a batch: new tasks, or (second form) those whose task is there.
static const char new_items[] =
    " s WHERE s.lane>0 AND (s.holder=0 OR s.holder IN (SELECT id FROM @incarnations WHERE NOT dead)))";
static const char more_items[] =
    " s JOIN (SELECT t.id, t.tenant, t.lane, t.tags FROM @tasks t WHERE t.id=ANY($2) ORDER BY t.id FOR KEY SHARE) t"
    " ON t.id=s.id AND t.tenant=s.tenant WHERE s.holder=0 OR s.holder IN (SELECT id FROM @incarnations WHERE NOT dead))";

// Items one of whose ids is taken. That never happens unless somebody makes a mistake, so a new task is looked up only after its
// group was refused for it; but a job that is not its task's first, and final, is found by no unique index. Where such a job is
// to be added, a first job is only looked for where its task is there: its partition is not known.
// clang-format off
static const char taken_extras[] =
    ", taken AS MATERIALIZED (SELECT n.item FROM n WHERE n.id IN"
    " (SELECT e.id FROM @extras e WHERE e.id=" PG_ANY("SELECT id FROM n");
static const char taken_jobs[] =
    " UNION ALL SELECT j.id FROM @jobs j WHERE j.id=" PG_ANY("SELECT id FROM n");
static const char taken_done[] =
    " UNION ALL SELECT d.id FROM @jobs_done d WHERE d.id=" PG_ANY("SELECT t.id FROM @tasks t WHERE t.id=" PG_ANY("SELECT id FROM n"));
static const char taken_tasks[] =
    " UNION ALL SELECT i.no FROM i WHERE i.id IN (SELECT t.id FROM @tasks t WHERE t.id=" PG_ANY("SELECT id FROM i") ")";
// clang-format on

static const char take_keys[] =
    ", k AS (INSERT INTO @keys(tenant,key,task_id,until,loose,digest) SELECT tenant,key,id,0,false,digest FROM i"
    " WHERE key IS NOT NULL AND no NOT IN (SELECT item FROM taken) ORDER BY tenant,key ON CONFLICT DO NOTHING RETURNING task_id)";

static const char ok_keyed[] = ", ok AS MATERIALIZED (SELECT i.* FROM i WHERE no NOT IN (SELECT item FROM taken)"
                               " AND (key IS NULL OR id IN (SELECT task_id FROM k)))";
static const char ok_plain[] = ", ok AS MATERIALIZED (SELECT i.* FROM i WHERE no NOT IN (SELECT item FROM taken))";

static const char add_tasks[] = ", t AS (INSERT INTO @tasks(id,tenant,lane,created_at,key,name,doc)"
                                " SELECT id,tenant,lane,created_at,key,name,doc FROM ok)";
// clang-format off
static const char add_tagged_tasks[] =
    ", t AS (INSERT INTO @tasks(id,tenant,lane,created_at,key,name,doc,tags)"
    " SELECT id,tenant,lane,created_at,key,name,doc,tags::bigint[] FROM ok)"
    ", tag AS (" PG_ADD_TAGS(PG_TAGS_OF("SELECT ok.tenant, ok.tags::bigint[] AS tags, 0::bigint AS at, ok.id FROM ok")) ")";
static const char tag_jobs[] =
    ", tag_jobs AS (" PG_ADD_TAGS(PG_TAGS_OF_JOBS(
        "SELECT n.tenant, ok.tags::bigint[] AS tags, n.scheduled_at AS at, n.id FROM n JOIN ok ON ok.no=n.item")) ")";
// clang-format on

#define NEW_JOB \
    "n.id,n.task_id,n.parent_id,n.tenant,ok.lane,n.priority,n.nominal_at" JOB_MOVING(PG_NAME_OF_N) ",n.reason,n.response"
static const char add_jobs[] = ", j AS (INSERT INTO @jobs(" PG_JOB_COLUMNS ",waits_at,hand) SELECT " NEW_JOB
                               "," PG_PLACE("n.state", "ok.lane", "n.priority", "NULL") ",";
static const char in_which_hand[] = "coalesce((SELECT h.number FROM h WHERE h.holder=n.holder AND n.state IN (3,4)),0)";
static const char in_no_hand[] = "0";
static const char live_of_items[] = " FROM n JOIN ok ON ok.no=n.item WHERE n.state<5)";
static const char add_done[] = ", d AS (INSERT INTO @jobs_done(" PG_JOB_COLUMNS ",day) SELECT " NEW_JOB
                               ",n.day FROM n JOIN ok ON ok.no=n.item WHERE n.state>=5)";
static const char add_extras[] =
    ", e AS (INSERT INTO @extras(id,task_id) SELECT n.id,n.task_id FROM n JOIN ok ON ok.no=n.item WHERE n.id<>n.task_id)";
static const char hold[] =
    ", h AS (" PG_HOLD("count(*)", "SELECT n.holder, n.id FROM n JOIN ok ON ok.no=n.item WHERE n.state IN (3,4)") ")";
static const char lower_floors[] =
    ", f AS (" PG_LOWER_FLOORS("SELECT ok.lane, n.due_at FROM n JOIN ok ON ok.no=n.item WHERE n.state IN (1,2)") ")";
// clang-format off
static const char add_counts[] =
    ", c AS (" PG_COUNT("SELECT ok.lane, n.state, count(*) AS n FROM n JOIN ok ON ok.no=n.item GROUP BY 1,2") ")"
    " SELECT i.no, i.lane, (ok.no IS NOT NULL)::int FROM i LEFT JOIN ok ON ok.no=i.no";
// clang-format on

// $1 slot, $2 the ids.
static const char plain_from[] = "WITH n AS MATERIALIZED (SELECT * FROM ";
static const char plain_items[] = " n WHERE n.lane>0 AND (n.fence=0 OR n.fence IN (SELECT id FROM @incarnations WHERE NOT dead))"
                                  " AND n.id<>ALL(ARRAY(SELECT e.id FROM @extras e WHERE e.id=ANY($2))))";
static const char plain_tasks[] =
    ", t AS (INSERT INTO @tasks(id,tenant,lane,created_at,name,doc) SELECT id,tenant,lane,created_at,name,doc FROM n)";
// clang-format off
static const char plain_tagged_tasks[] =
    ", t AS (INSERT INTO @tasks(id,tenant,lane,created_at,name,doc,tags)"
    " SELECT id,tenant,lane,created_at,name,doc,tags::bigint[] FROM n)"
    ", tag AS (" PG_ADD_TAGS(PG_TAGS_OF("SELECT tenant, tags::bigint[] AS tags, 0::bigint AS at, id FROM n WHERE tags IS NOT NULL")) ")"
    ", tag_jobs AS (" PG_ADD_TAGS(PG_TAGS_OF_JOBS("SELECT tenant, tags::bigint[] AS tags, scheduled_at AS at, id FROM n WHERE tags IS NOT NULL")) ")";
// clang-format on
#define PLAIN_JOB "n.id,n.id,n.parent_id,n.tenant,n.lane,n.priority,n.nominal_at" JOB_MOVING(PG_NAME_OF_N) ",n.reason,n.response"
static const char plain_jobs[] = ", j AS (INSERT INTO @jobs(" PG_JOB_COLUMNS ",waits_at,hand) SELECT " PLAIN_JOB
                                 "," PG_PLACE("n.state", "n.lane", "n.priority", "NULL") ",";
static const char plain_live[] = " FROM n WHERE n.state<5)";
static const char plain_done[] =
    ", d AS (INSERT INTO @jobs_done(" PG_JOB_COLUMNS ",day) SELECT " PLAIN_JOB ",n.day FROM n WHERE n.state>=5)";
static const char plain_hold[] = ", h AS (" PG_HOLD("count(*)", "SELECT n.holder, n.id FROM n WHERE n.state IN (3,4)") ")";
static const char plain_floors[] = ", f AS (" PG_LOWER_FLOORS("SELECT n.lane, n.due_at FROM n WHERE n.state IN (1,2)") ")";
static const char plain_counts[] =
    ", c AS (" PG_COUNT("SELECT lane, state, count(*) AS n FROM n GROUP BY 1,2") ") SELECT no FROM n";

static const char find_keys_from[] = "SELECT s.no, k.task_id, k.digest, k.spent_at FROM ";
static const char find_keys[] = " s CROSS JOIN LATERAL (SELECT k.task_id, k.digest, k.spent_at FROM @keys k WHERE "
                                "k.tenant=s.tenant AND k.key=s.key LIMIT 1) k";

// An item on its way, and what came of it.
struct entry {
    struct store_new *item;
    int64_t holder, lane;
    bool whole; // its ids are all different
    bool found; // its task is there (for jobs that are added to one)
    bool added, by_key;
};

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

struct batch {
    struct pg_session *session;
    struct entry *entries;
    size_t count;
    struct entry **part; // those a statement is about, by its `no`
    size_t part_count;
};

// ---- lanes remembered

struct known_lane {
    struct known_lane *next;
    int64_t id;
    int32_t tenant;
    struct str queue;
    char bytes[];
};

static int64_t known_lane(const struct pg_session *session, int32_t tenant, struct str queue)
{
    const struct known_lane *lane = map_get(&session->lanes, hash_name(tenant, queue));
    while (lane && (lane->tenant != tenant || !str_eq(lane->queue, queue)))
        lane = lane->next;
    return lane ? lane->id : 0;
}

static void remember_lane(struct pg_session *session, int32_t tenant, struct str queue, int64_t id)
{
    if (known_lane(session, tenant, queue))
        return;
    struct known_lane *lane = mem_zero(sizeof *lane + queue.n + 1);
    if (queue.n)
        memcpy(lane->bytes, queue.p, queue.n);
    lane->id = id;
    lane->tenant = tenant;
    lane->queue = (struct str){lane->bytes, queue.n};
    lane->next = map_put(&session->lanes, hash_name(tenant, queue), lane);
}

void pg_forget_lanes(struct pg_session *session)
{
    struct known_lane *lane;
    int64_t hash;
    for (size_t at = 0; (lane = map_next(&session->lanes, &at, &hash));)
        for (struct known_lane *next; lane; lane = next) {
            next = lane->next;
            mem_free(lane);
        }
    map_done(&session->lanes);
}

static void read_lanes(void *ctx, const PGresult *result)
{
    struct batch *batch = ctx;
    for (int row = 0; row < PQntuples(result); row++) {
        struct entry *entry = batch->part[pg_int(result, row, 0)];
        entry->lane = pg_int(result, row, 1);
        remember_lane(batch->session, entry->item->task->tenant, entry->item->task->queue, entry->lane);
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
    int64_t *tenants = pg_rows_ints(&rows, "tenant"), *holders = pg_rows_ints(&rows, "holder");
    struct str *queues = pg_rows_strs(&rows, "queue", PG_TEXT), *keys = pg_rows_strs(&rows, "key", PG_TEXT);
    for (size_t i = 0; i < batch->part_count; i++) {
        const struct store_new *item = batch->part[i]->item;
        tenants[i] = item->task->tenant;
        holders[i] = batch->part[i]->holder;
        queues[i] = item->task->queue;
        keys[i] = item->key;
    }
    pg_lock(session, PG_LOCK_LANES);
    pg_begin_query(session);
    pg_put(session, make_lanes_from);
    pg_put_rows(session, &rows);
    pg_put(session, make_lanes);
    pg_send(session, read_lanes, batch);
    pg_sync(session);
}

// ---- the statement of a batch

static void read_items(void *ctx, const PGresult *result)
{
    struct batch *batch = ctx;
    for (int row = 0; row < PQntuples(result); row++) {
        struct entry *entry = batch->part[pg_int(result, row, 0)];
        entry->found = true;
        entry->lane = pg_int(result, row, 1);
        entry->added = pg_int(result, row, 2);
    }
}

static void item_rows(struct batch *batch, struct pg_rows *rows, bool of_new)
{
    pg_rows_init(rows, &batch->session->arena, batch->part_count);
    int64_t *ids = pg_rows_ints(rows, "id"), *tenants = pg_rows_ints(rows, "tenant"), *holders = pg_rows_ints(rows, "holder");
    if (!of_new) {
        for (size_t i = 0; i < batch->part_count; i++) {
            const struct entry *entry = batch->part[i];
            ids[i] = entry->item->jobs[0].task_id;
            tenants[i] = entry->item->jobs[0].tenant;
            holders[i] = entry->holder;
        }
        return;
    }
    int64_t *lanes = pg_rows_ints(rows, "lane"), *created = pg_rows_ints(rows, "created_at");
    struct str *keys = pg_rows_strs(rows, "key", PG_TEXT), *names = pg_rows_strs(rows, "name", PG_TEXT),
               *docs = pg_rows_strs(rows, "doc", PG_BYTES), *digests = pg_rows_strs(rows, "digest", PG_BYTES);
    for (size_t i = 0; i < batch->part_count; i++) {
        const struct entry *entry = batch->part[i];
        const struct store_task *task = entry->item->task;
        ids[i] = task->id;
        tenants[i] = task->tenant;
        holders[i] = entry->holder;
        lanes[i] = entry->whole ? entry->lane : 0;
        created[i] = task->created_at;
        keys[i] = entry->item->key;
        names[i] = task->name;
        docs[i] = task->doc;
        if (keys[i].n)
            digests[i] = (struct str){(const char *)entry->item->digest, sizeof entry->item->digest};
    }
    if (any_tagged(batch->part, batch->part_count))
        tag_rows(rows, batch->part);
}

struct job_list {
    const struct job **jobs;
    int64_t *items;
    size_t count;
    bool final, extra, held, waiting; // there are some of these
};

static struct job_list list_jobs(struct batch *batch)
{
    struct job_list list = {0};
    size_t count = 0;
    for (size_t i = 0; i < batch->part_count; i++)
        count += batch->part[i]->whole ? batch->part[i]->item->job_count : 0;
    list.jobs = arena_array(&batch->session->arena, const struct job *, count);
    list.items = arena_array(&batch->session->arena, int64_t, count);
    for (size_t i = 0; i < batch->part_count; i++)
        for (size_t k = 0; batch->part[i]->whole && k < batch->part[i]->item->job_count; k++) {
            const struct job *job = &batch->part[i]->item->jobs[k];
            list.final = list.final || job_state_final(job->state);
            list.held = list.held || job_in_hand(job);
            list.waiting = list.waiting || job_state_waiting(job->state);
            list.extra = list.extra || job->id != job->task_id;
            list.items[list.count] = (int64_t)i;
            list.jobs[list.count++] = job;
        }
    return list;
}

static void job_rows(struct pg_session *session, struct pg_rows *rows, const struct job_list *list)
{
    pg_rows_init(rows, &session->arena, list->count);
    int64_t *items = pg_rows_ints(rows, "item"), *ids = pg_rows_ints(rows, "id"), *tasks = pg_rows_ints(rows, "task_id"),
            *parents = pg_rows_ints(rows, "parent_id"), *tenants = pg_rows_ints(rows, "tenant"),
            *priorities = pg_rows_ints(rows, "priority"), *nominal = pg_rows_ints(rows, "nominal_at");
    for (size_t i = 0; i < list->count; i++) {
        items[i] = list->items[i];
        ids[i] = list->jobs[i]->id;
        tasks[i] = list->jobs[i]->task_id;
        parents[i] = list->jobs[i]->parent_id;
        tenants[i] = list->jobs[i]->tenant;
        priorities[i] = list->jobs[i]->priority;
        nominal[i] = list->jobs[i]->nominal_at;
    }
    pg_rows_moving(rows, list->jobs);
}

static void send_items(struct batch *batch, const struct job_list *jobs_of_batch, bool of_new, bool keyed)
{
    struct pg_session *session = batch->session;
    struct pg_rows items, jobs;
    struct job_list list = *jobs_of_batch;
    item_rows(batch, &items, of_new);
    job_rows(session, &jobs, &list);
    pg_begin_query(session);
    pg_param_int(session, pg_slot(session));
    if (!of_new)
        pg_param_ints(session, items.columns[0].ints, items.count);
    pg_put(session,
           of_new ? "WITH i AS MATERIALIZED (SELECT * FROM " : "WITH i AS MATERIALIZED (SELECT s.no, t.lane, t.tags FROM ");
    pg_put_rows(session, &items);
    pg_put(session, of_new ? new_items : more_items);
    pg_put(session, ", n AS MATERIALIZED (SELECT * FROM ");
    pg_put_rows(session, &jobs);
    pg_put(session, " n)");
    pg_put(session, taken_extras);
    if (session->careful || list.extra)
        pg_put(session, taken_jobs);
    if (list.extra)
        pg_put(session, taken_done);
    pg_put(session, ")");
    if (of_new && session->careful)
        pg_put(session, taken_tasks);
    pg_put(session, ")");
    if (keyed)
        pg_put(session, take_keys);
    pg_put(session, keyed ? ok_keyed : ok_plain);
    bool tagged = any_tagged(batch->part, batch->part_count);
    if (of_new)
        pg_put(session, tagged ? add_tagged_tasks : add_tasks);
    if (tagged || !of_new)
        pg_put(session, tag_jobs);
    if (list.held)
        pg_put(session, hold);
    pg_put(session, add_jobs);
    pg_put(session, list.held ? in_which_hand : in_no_hand);
    pg_put(session, live_of_items);
    if (list.final)
        pg_put(session, add_done);
    if (list.extra)
        pg_put(session, add_extras);
    if (list.waiting)
        pg_put(session, lower_floors);
    pg_put(session, add_counts);
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
    pg_put(session, find_keys_from);
    pg_put_rows(session, &rows);
    pg_put(session, find_keys);
    pg_send(session, read_keys, batch);
}

// ---- the statement of a batch that is plain

static bool is_plain(const struct batch *batch, const struct job_list *list)
{
    bool plain = list->count == batch->part_count && !list->extra && !batch->session->careful;
    for (size_t i = 0; plain && i < batch->part_count; i++) {
        const struct store_new *item = batch->part[i]->item;
        plain = item->job_count == 1 && item->jobs[0].id == item->task->id && item->jobs[0].tenant == item->task->tenant;
    }
    return plain;
}

static void plain_rows(struct batch *batch, struct pg_rows *rows, const struct job_list *list)
{
    pg_rows_init(rows, &batch->session->arena, batch->part_count);
    int64_t *ids = pg_rows_ints(rows, "id"), *tenants = pg_rows_ints(rows, "tenant"), *fences = pg_rows_ints(rows, "fence"),
            *lanes = pg_rows_ints(rows, "lane"), *created = pg_rows_ints(rows, "created_at"),
            *parents = pg_rows_ints(rows, "parent_id"), *priorities = pg_rows_ints(rows, "priority"),
            *nominal = pg_rows_ints(rows, "nominal_at");
    struct str *names = pg_rows_strs(rows, "name", PG_TEXT), *docs = pg_rows_strs(rows, "doc", PG_BYTES);
    for (size_t i = 0; i < batch->part_count; i++) {
        const struct entry *entry = batch->part[i];
        const struct store_task *task = entry->item->task;
        ids[i] = task->id;
        tenants[i] = task->tenant;
        fences[i] = entry->holder;
        lanes[i] = entry->lane;
        created[i] = task->created_at;
        names[i] = task->name;
        docs[i] = task->doc;
        parents[i] = list->jobs[i]->parent_id;
        priorities[i] = list->jobs[i]->priority;
        nominal[i] = list->jobs[i]->nominal_at;
    }
    pg_rows_moving(rows, list->jobs);
    if (any_tagged(batch->part, batch->part_count))
        tag_rows(rows, batch->part);
}

static void read_plain(void *ctx, const PGresult *result)
{
    struct batch *batch = ctx;
    for (int row = 0; row < PQntuples(result); row++)
        batch->part[pg_int(result, row, 0)]->added = true;
}

static void send_plain(struct batch *batch, const struct job_list *list)
{
    struct pg_session *session = batch->session;
    struct pg_rows rows;
    plain_rows(batch, &rows, list);
    pg_begin_query(session);
    pg_param_int(session, pg_slot(session));
    pg_param_ints(session, rows.columns[0].ints, rows.count);
    pg_put(session, plain_from);
    pg_put_rows(session, &rows);
    pg_put(session, plain_items);
    pg_put(session, any_tagged(batch->part, batch->part_count) ? plain_tagged_tasks : plain_tasks);
    if (list->held)
        pg_put(session, plain_hold);
    pg_put(session, plain_jobs);
    pg_put(session, list->held ? in_which_hand : in_no_hand);
    pg_put(session, plain_live);
    if (list->final)
        pg_put(session, plain_done);
    if (list->waiting)
        pg_put(session, plain_floors);
    pg_put(session, plain_counts);
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
    struct job_list list = list_jobs(part);
    if (of_new && !keyed && is_plain(part, &list))
        send_plain(part, &list);
    else
        send_items(part, &list, of_new, keyed);
    if (keyed)
        send_find_keys(part);
}

static void send_batch(struct batch *batch)
{
    batch->part = arena_array(&batch->session->arena, struct entry *, batch->count);
    make_lanes_of(batch);
    send_part(batch, true);
    send_part(batch, false);
}

// ---- the group

// Notes a thing the item has; false when an earlier one of the batch has it. Things are told apart by a hash: when two
// hashes meet by chance, a batch merely ends early.
static bool is_first(struct map *seen, int64_t kind, uint64_t hash)
{
    return !map_put(seen, (int64_t)(hash * 4) + kind, seen);
}

enum { THING_TASK, THING_JOB, THING_KEY };

static bool meets_earlier(struct map *seen, struct entry *entry)
{
    const struct store_new *item = entry->item;
    bool first = true;
    int64_t task_id = item->task ? item->task->id : item->job_count ? item->jobs[0].task_id : 0;
    first &= is_first(seen, THING_TASK, hash_number(task_id)) || !task_id;
    if (item->task && item->key.n)
        first &= is_first(seen, THING_KEY, (uint64_t)hash_name(item->task->tenant, item->key));
    for (size_t i = 0; i < item->job_count; i++)
        first &= is_first(seen, THING_JOB, hash_number(item->jobs[i].id));
    return !first;
}

static bool ids_differ(const struct store_new *item)
{
    for (size_t i = 1; i < item->job_count; i++)
        for (size_t k = 0; k < i; k++)
            if (item->jobs[k].id == item->jobs[i].id)
                return false;
    return true;
}

static void send_batches(struct pg_session *session, struct entry *entries, size_t count)
{
    struct map seen = {0};
    size_t first = 0;
    for (size_t i = 0; i < count; i++) {
        if (i > first && meets_earlier(&seen, &entries[i])) {
            send_batch(&(struct batch){.session = session, .entries = &entries[first], .count = i - first});
            map_done(&seen);
            first = i;
        }
        if (i == first)
            meets_earlier(&seen, &entries[i]);
    }
    if (count > first)
        send_batch(&(struct batch){.session = session, .entries = &entries[first], .count = count - first});
    map_done(&seen);
}

struct holders {
    int64_t *ids, *alive;
    size_t count, alive_count;
};

static void read_alive(void *ctx, const PGresult *result)
{
    struct holders *holders = ctx;
    for (int row = 0; row < PQntuples(result); row++)
        holders->alive[holders->alive_count++] = pg_int(result, row, 0);
}

static bool is_alive(const struct holders *holders, int64_t id)
{
    for (size_t i = 0; i < holders->alive_count; i++)
        if (holders->alive[i] == id)
            return true;
    return false;
}

static void settle_item(struct entry *entry)
{
    struct store_new *item = entry->item;
    if (entry->by_key)
        return;
    entry->added = entry->added && entry->whole;
    item->err = entry->added ? ERR_OK : item->task || entry->found ? ERR_INTERNAL : ERR_NOT_FOUND;
    for (size_t i = 0; entry->added && i < item->job_count; i++)
        item->jobs[i].lane = entry->lane;
}

static struct entry *list_entries(struct pg_session *session, struct list *group, struct holders *holders, size_t *ret_count)
{
    size_t count = 0, ops = 0;
    list_each (group, node) {
        count += container_of(list_entry(node, struct store_op, link), struct store_add, op)->count;
        ops++;
    }
    struct entry *entries = arena_array(&session->arena, struct entry, count);
    holders->ids = arena_array(&session->arena, int64_t, ops);
    holders->alive = arena_array(&session->arena, int64_t, ops);
    *ret_count = 0;
    list_each (group, node) {
        struct store_add *add = container_of(list_entry(node, struct store_op, link), struct store_add, op);
        if (add->holder)
            holders->ids[holders->count++] = add->holder;
        for (size_t i = 0; i < add->count; i++) {
            struct store_new *item = &add->items[i];
            struct entry *entry = &entries[(*ret_count)++];
            *entry = (struct entry){.item = item, .holder = add->holder, .whole = ids_differ(item)};
            entry->lane = item->task ? known_lane(session, item->task->tenant, item->task->queue) : 0;
        }
    }
    return entries;
}

static void make_days_of(struct pg_session *session, const struct entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < entries[i].item->job_count; k++)
            if (job_state_final(entries[i].item->jobs[k].state))
                pg_make_days(session, (const struct job *const[]){&entries[i].item->jobs[k]}, 1);
}

void pg_note_large(struct pg_session *session)
{
    pg_run(session, "INSERT INTO @meta(name, value) VALUES('" PG_LARGE "', 1) ON CONFLICT DO NOTHING", 0, NULL, NULL, NULL);
}

static bool is_large(const struct store_new *item)
{
    return item->task && item->task->doc.n >= STORE_SMALL_DOC;
}

static void note_large(struct pg_session *session, const struct entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is_large(entries[i].item)) {
            pg_note_large(session);
            return;
        }
}

void pg_add_group(struct pg_session *session, struct list *group)
{
    struct holders holders = {0};
    size_t count;
    struct entry *entries = list_entries(session, group, &holders, &count);
    make_days_of(session, entries, count);
    pg_begin(session, "BEGIN");
    note_large(session, entries, count);
    if (holders.count) {
        pg_begin_query(session);
        pg_put(session, fence);
        pg_param_ints(session, holders.ids, holders.count);
        pg_send(session, read_alive, &holders);
    }
    send_batches(session, entries, count);
    pg_commit(session);
    if (session->err) {
        pg_forget_lanes(session); // some may have been made in vain
        return;
    }
    struct entry *entry = entries;
    list_each (group, node) {
        struct store_add *add = container_of(list_entry(node, struct store_op, link), struct store_add, op);
        for (size_t i = 0; i < add->count; i++)
            settle_item(entry++);
        if (add->holder && !is_alive(&holders, add->holder))
            store_op_fail(&add->op, ERR_FENCED, "the holder was declared dead, or is unknown");
    }
    if (session->lanes.count > LANES_REMEMBERED_MAX)
        pg_forget_lanes(session);
}

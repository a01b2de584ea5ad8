// ADD: new tasks with their jobs, and jobs for tasks that exist. All operations of a group are one list of items and, nearly
// always, one batch. Items that could meet (the same key, name or id) are cut into batches, one statement a batch (batch.c), so
// that what comes later finds what came before.
#include "base/data/hash.h"
#include "store/postgres/batch.h"
#include "store/postgres/new_jobs.h"

static const char note_large_docs[] = "INSERT INTO @meta(name, value) VALUES('" PG_LARGE "', 1) ON CONFLICT DO NOTHING";

// Notes a key or an id of the item; false when an earlier item of the batch has it. They are compared by a hash: when two hashes
// are equal by chance, a batch merely ends early.
static bool is_first(struct map *seen, int64_t kind, uint64_t hash)
{
    return !map_put(seen, (int64_t)(hash * 4) + kind, seen);
}

enum { THING_TASK, THING_JOB, THING_KEY, THING_NAME };

static bool meets_earlier(struct map *seen, struct entry *entry)
{
    const struct store_new *item = entry->item;
    bool first = true;
    int64_t task_id = item->task ? item->task->id : item->job_count ? item->jobs[0].task_id : 0;
    first &= is_first(seen, THING_TASK, hash_number(task_id)) || !task_id;
    if (item->task && item->key.n)
        first &= is_first(seen, THING_KEY, (uint64_t)hash_name(item->task->tenant, item->key));
    if (item->task && item->task->plan && item->task->plan->reserved.n)
        first &= is_first(seen, THING_NAME, (uint64_t)hash_name(item->task->tenant, item->task->plan->reserved));
    for (size_t i = 0; i < item->job_count; i++)
        first &= is_first(seen, THING_JOB, hash_number(item->jobs[i].id));
    return !first;
}

static void send_batches(struct pg_session *session, struct entry *entries, size_t count)
{
    struct map seen = {0};
    size_t first = 0;
    for (size_t i = 0; i < count; i++) {
        if (i > first && meets_earlier(&seen, &entries[i])) {
            pg_batch_send(&(struct batch){.session = session, .entries = &entries[first], .count = i - first});
            map_done(&seen);
            first = i;
        }
        if (i == first)
            meets_earlier(&seen, &entries[i]);
    }
    if (count > first)
        pg_batch_send(&(struct batch){.session = session, .entries = &entries[first], .count = count - first});
    map_done(&seen);
}

// An item that was refused for its name alone, although nobody has the name any more.
static bool lost_its_name(const struct entry *entry)
{
    const struct store_task *task = entry->item->task;
    return task && task->plan && task->plan->reserved.n && entry->whole && !entry->taken;
}

static enum err refusal(const struct entry *entry)
{
    if (lost_its_name(entry))
        return ERR_MOVED_ON;
    return entry->item->task || entry->found ? ERR_INTERNAL : ERR_NOT_FOUND;
}

static void settle_item(struct entry *entry)
{
    struct store_new *item = entry->item;
    if (entry->by_key)
        return;
    entry->added = entry->added && entry->whole;
    item->err = entry->added ? ERR_OK : refusal(entry);
    for (size_t i = 0; entry->added && i < item->job_count; i++)
        item->jobs[i].lane = entry->lane;
}

static struct entry *list_entries(struct pg_session *session, struct list *group, struct pg_holders *holders, size_t *ret_count)
{
    size_t count = 0, ops = 0;
    list_each (group, node) {
        count += container_of(list_entry(node, struct store_op, link), struct store_add, op)->count;
        ops++;
    }
    struct entry *entries = arena_array(&session->arena, struct entry, count);
    pg_holders_init(holders, &session->arena, ops);
    *ret_count = 0;
    list_each (group, node) {
        struct store_add *add = container_of(list_entry(node, struct store_op, link), struct store_add, op);
        pg_holders_put(holders, add->holder);
        for (size_t i = 0; i < add->count; i++) {
            struct store_new *item = &add->items[i];
            struct entry *entry = &entries[(*ret_count)++];
            *entry = (struct entry){.item = item, .holder = add->holder, .whole = pg_ids_differ(item->jobs, item->job_count)};
            entry->lane = item->task ? pg_known_lane(session, item->task) : 0;
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
    pg_run(session, note_large_docs, 0, NULL, NULL, NULL);
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
    struct pg_holders holders;
    size_t count;
    struct entry *entries = list_entries(session, group, &holders, &count);
    make_days_of(session, entries, count);
    pg_begin(session, "BEGIN");
    note_large(session, entries, count);
    pg_fence(session, &holders);
    pg_batch_free_names(session, entries, count);
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
        if (!pg_may_act(&holders, add->holder))
            store_op_fail(&add->op, ERR_FENCED, "the holder was declared dead, or is unknown");
    }
    pg_forget_lanes_if_many(session);
}

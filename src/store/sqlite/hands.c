// What is in whose hand. A claim writes no record: it takes the job out of `waiting` and says here that it was claimed, and who
// reads the record adds what job_claim() makes of it, until the next step writes the whole.
//
// In memory this is a map; in the database it is a log, `hands`, which has one row a transaction: what was taken in hand and what
// was let go, all in one blob. So a claim and an end cost a few bytes each instead of a row, and two entries of an index. When
// the log has become much longer than what is in hand, one row with all of it takes its place. Opening the database reads it.
//
// The writer changes the map behind its COMMIT. A reader may still see the database as it was before: so what was let go stays
// until every read that had begun by then has ended, unless it was claimed again. That it stays does no harm: it only speaks of a
// record that waits, and has the token that was claimed.
//
// What it does not do: know where a job waits (sqlite/db.c).
#include "store/sqlite/sqlite.h"

#include <assert.h>
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    RECORDED = -1,       // in place of claimed_at: the record says itself in whose hand it is
    LOG_ENTRIES = 65536, // the log may have so many more than it needs
    LOG_TIMES = 4,       // and so many times as many as there are in hand
};

struct hand {
    struct list link; // in `gone`, or among the spare ones
    int64_t id, holder, token, claimed_at;
    int64_t read; // in `gone`: the last read that may still want it
};

// As it is in the log. Numbers are little-endian; holder 0: was let go.
struct entry {
    int64_t id, holder, token, claimed_at;
};

void hands_init(struct hands *hands)
{
    *hands = (struct hands){0};
    pthread_mutex_init(&hands->lock, NULL);
    list_init(&hands->gone);
}

static struct hand *new_hand(struct hands *hands)
{
    struct list *node = hands->spare;
    if (!node)
        return mem_zero(sizeof(struct hand));
    hands->spare = node->next;
    return list_entry(node, struct hand, link);
}

static void free_hand(struct hands *hands, struct hand *hand)
{
    hand->link.next = hands->spare; // the latest one is still in the processor's cache
    hands->spare = &hand->link;
}

static void free_map(struct map *map)
{
    struct hand *hand;
    int64_t id;
    for (size_t at = 0; (hand = map_next(map, &at, &id));)
        mem_free(hand);
    map_done(map);
}

void hands_done(struct hands *hands)
{
    free_map(&hands->moved);
    free_map(&hands->by_id); // what is gone is in it, too
    while (hands->spare)
        mem_free(new_hand(hands));
    pthread_mutex_destroy(&hands->lock);
}

// ---- the writer's side

static bool holds(const struct hand *hand, int64_t holder)
{
    return hand->holder == holder && !hand->link.next;
}

static void move(struct hands *hands, int64_t id, int64_t holder, int64_t token, int64_t claimed_at)
{
    struct hand *hand = new_hand(hands), *old = map_put(&hands->moved, id, hand);
    *hand = (struct hand){.id = id, .holder = holder, .token = token, .claimed_at = claimed_at};
    if (old)
        free_hand(hands, old);
}

void hands_claim(struct hands *hands, const struct job *job, int64_t holder, int64_t now_ms)
{
    move(hands, job->id, holder, job->token, now_ms);
}

void hands_hold(struct hands *hands, const struct job *job)
{
    move(hands, job->id, job->holder, 0, RECORDED);
}

void hands_let_go(struct hands *hands, int64_t id)
{
    move(hands, id, 0, 0, RECORDED);
}

static const struct hand *find(const struct hands *hands, int64_t id)
{
    const struct hand *hand = map_get(&hands->moved, id);
    return hand ? hand : map_get(&hands->by_id, id);
}

bool hands_holds(const struct hands *hands, const struct job *job)
{
    const struct hand *hand = find(hands, job->id);
    return hand && holds(hand, job->holder);
}

bool hands_has(const struct hands *hands, int64_t holder)
{
    const struct hand *hand;
    int64_t id;
    for (size_t at = 0; (hand = map_next(&hands->moved, &at, &id));)
        if (hand->holder == holder)
            return true;
    for (size_t at = 0; (hand = map_next(&hands->by_id, &at, &id));)
        if (holds(hand, holder) && !map_get(&hands->moved, id))
            return true;
    return false;
}

// A record that waits is one that was claimed if the token is that of the claim. Of others nothing is to be seen here.
static void see(const struct hand *hand, struct job *job)
{
    if (!hand || !hand->holder || hand->claimed_at == RECORDED || hand->token != job->token)
        return;
    enum err err = job_claim(job, hand->holder, hand->claimed_at);
    assert(!err);
}

void hands_see_now(const struct hands *hands, struct job *job)
{
    if (job_state_waiting(job->state))
        see(find(hands, job->id), job);
}

static size_t add_entry(struct entry *entries, size_t count, const struct hand *hand)
{
    entries[count] = (struct entry){(int64_t)htole64((uint64_t)hand->id), (int64_t)htole64((uint64_t)hand->holder),
                                    (int64_t)htole64((uint64_t)hand->token), (int64_t)htole64((uint64_t)hand->claimed_at)};
    return count + 1;
}

void hands_write(struct hands *hands, struct db *db)
{
    const struct hand *hand;
    int64_t id;
    size_t count = 0;
    if (!hands->moved.count)
        return;
    bool anew = hands->logged > LOG_ENTRIES + LOG_TIMES * hands->by_id.count;
    mem_auto struct entry *entries = mem_alloc((hands->moved.count + (anew ? hands->by_id.count : 0)) * sizeof *entries);
    for (size_t at = 0; (hand = map_next(&hands->moved, &at, &id));)
        if (hand->holder || !anew)
            count = add_entry(entries, count, hand);
    for (size_t at = 0; anew && (hand = map_next(&hands->by_id, &at, &id));)
        if (holds(hand, hand->holder) && !map_get(&hands->moved, id))
            count = add_entry(entries, count, hand);
    if (anew)
        db_run(db, db->stmts[SQL_CLEAR_HANDS]);
    sqlite3_stmt *stmt = db->stmts[SQL_LOG_HANDS];
    db_bind_bytes(stmt, 1, (struct str){(const char *)entries, count * sizeof *entries});
    db_run(db, stmt);
    hands->logged_then = (anew ? 0 : hands->logged) + count;
}

static void drop(struct hands *hands, struct hand *hand)
{
    list_remove(&hand->link);
    free_hand(hands, hand);
}

static void forget_gone(struct hands *hands)
{
    while (!list_empty(&hands->gone)) {
        struct hand *hand = list_entry(hands->gone.next, struct hand, link);
        if (hand->read > hands->reads_ended)
            return;
        map_remove(&hands->by_id, hand->id);
        drop(hands, hand);
    }
}

static void let_go(struct hands *hands, int64_t id)
{
    if (hands->reads_begun == hands->reads_ended) {
        struct hand *hand = map_remove(&hands->by_id, id);
        if (hand)
            drop(hands, hand);
        return;
    }
    struct hand *hand = map_get(&hands->by_id, id);
    if (hand && !hand->link.next) {
        hand->read = hands->reads_begun;
        list_append(&hands->gone, &hand->link);
    }
}

static void take_over(struct hands *hands, struct hand *hand)
{
    if (hand->holder) {
        struct hand *old = map_put(&hands->by_id, hand->id, hand);
        if (old)
            drop(hands, old);
    } else {
        let_go(hands, hand->id);
        free_hand(hands, hand);
    }
}

void hands_commit(struct hands *hands)
{
    struct hand *hand;
    int64_t id;
    pthread_mutex_lock(&hands->lock);
    for (size_t at = 0; (hand = map_next(&hands->moved, &at, &id));)
        take_over(hands, hand);
    forget_gone(hands);
    pthread_mutex_unlock(&hands->lock);
    map_clear(&hands->moved);
    hands->logged = hands->logged_then;
}

void hands_roll_back(struct hands *hands)
{
    struct hand *hand;
    int64_t id;
    for (size_t at = 0; (hand = map_next(&hands->moved, &at, &id));)
        free_hand(hands, hand);
    map_clear(&hands->moved);
    hands->logged_then = hands->logged;
}

// hand(id, holder): an entry for the log, of one whose record says it. For a database that had no log.
static void make_entry(sqlite3_context *ctx, int count, sqlite3_value **args)
{
    struct entry entry;
    const struct hand hand = {.id = sqlite3_value_int64(args[0]), .holder = sqlite3_value_int64(args[1]), .claimed_at = RECORDED};
    add_entry(&entry, 0, &hand);
    sqlite3_result_blob(ctx, &entry, sizeof entry, SQLITE_TRANSIENT);
}

enum err hands_prepare(struct db *db, char why[ERR_WHY_MAX])
{
    if (sqlite3_create_function(db->handle, "hand", 2, SQLITE_UTF8 | SQLITE_DIRECTONLY, NULL, make_entry, NULL, NULL) ==
        SQLITE_OK)
        return ERR_OK;
    snprintf(why, ERR_WHY_MAX, "making a function: %s", sqlite3_errmsg(db->handle));
    return ERR_STORE_UNAVAILABLE;
}

void hands_load(struct hands *hands, struct db *db)
{
    sqlite3_stmt *stmt = db->stmts[SQL_HANDS];
    while (db_row(db, stmt)) {
        const struct entry *entries = sqlite3_column_blob(stmt, 0);
        size_t count = (size_t)sqlite3_column_bytes(stmt, 0) / sizeof *entries;
        for (size_t i = 0; i < count; i++) {
            struct entry entry;
            memcpy(&entry, &entries[i], sizeof entry);
            move(hands, (int64_t)le64toh((uint64_t)entry.id), (int64_t)le64toh((uint64_t)entry.holder),
                 (int64_t)le64toh((uint64_t)entry.token), (int64_t)le64toh((uint64_t)entry.claimed_at));
        }
        hands->logged_then = hands->logged + count;
        hands_commit(hands);
    }
}

// ---- the reader's side

void hands_begin_read(struct hands *hands)
{
    pthread_mutex_lock(&hands->lock);
    hands->reads_begun++;
    pthread_mutex_unlock(&hands->lock);
}

void hands_end_read(struct hands *hands)
{
    pthread_mutex_lock(&hands->lock);
    hands->reads_ended++;
    pthread_mutex_unlock(&hands->lock);
}

void hands_see(struct hands *hands, struct job *job)
{
    if (!job_state_waiting(job->state))
        return;
    pthread_mutex_lock(&hands->lock);
    see(map_get(&hands->by_id, job->id), job);
    pthread_mutex_unlock(&hands->lock);
}

static int compare_ids(const void *a, const void *b)
{
    const int64_t *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

int64_t *hands_of(struct hands *hands, int64_t holder, int64_t after_id, struct arena *arena, size_t *ret_count)
{
    const struct hand *hand;
    int64_t id;
    *ret_count = 0;
    pthread_mutex_lock(&hands->lock);
    int64_t *ids = arena_array(arena, int64_t, hands->by_id.count + 1);
    for (size_t at = 0; (hand = map_next(&hands->by_id, &at, &id));)
        if (hand->holder == holder && id > after_id)
            ids[(*ret_count)++] = id;
    pthread_mutex_unlock(&hands->lock);
    qsort(ids, *ret_count, sizeof *ids, compare_ids);
    return ids;
}

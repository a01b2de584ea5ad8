// Claims: which jobs are in whose hand. A claim writes no record. It takes the job out of `waiting` and is noted here, and
// whoever reads the record adds what job_claim() makes of it (claims_see()), until the next step writes the whole record.
//
// In memory this is a map; in the database it is a log, `hands`, which has one row a transaction: what was taken in hand and what
// was let go, all in one blob. So a claim and an end cost a few bytes each instead of a row and two entries of an index. When
// the log has become much longer than what is in hand, one row with all of it takes its place. Opening the database reads it.
//
// The writer changes the map after its COMMIT. A reader may still see the database as it was before, so a claim that was let go
// stays in the map until every read that had begun by then has ended, unless the job was claimed again. It does no harm there,
// because it only applies to a record that waits and has the token that was claimed. Decision 19 says what this brought.
//
// What it does not do: know where a job waits (sqlite/waiting.c).
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

struct claim {
    struct list link; // in `gone`, or among the spare ones
    int64_t id, holder, token, claimed_at;
    int64_t read; // in `gone`: the last read that may still want it
};

// A claim as it is in the log. Numbers are little-endian. Holder 0 says that the job was let go.
struct entry {
    int64_t id, holder, token, claimed_at;
};

void claims_init(struct claims *claims)
{
    *claims = (struct claims){0};
    pthread_mutex_init(&claims->lock, NULL);
    list_init(&claims->gone);
}

static struct claim *new_claim(struct claims *claims)
{
    struct list *node = claims->spare;
    if (!node)
        return mem_zero(sizeof(struct claim));
    claims->spare = node->next;
    return list_entry(node, struct claim, link);
}

static void free_claim(struct claims *claims, struct claim *claim)
{
    claim->link.next = claims->spare; // the latest one is still in the processor's cache
    claims->spare = &claim->link;
}

static void free_map(struct map *map)
{
    struct claim *claim;
    int64_t id;
    for (size_t at = 0; (claim = map_next(map, &at, &id));)
        mem_free(claim);
    map_done(map);
}

void claims_done(struct claims *claims)
{
    free_map(&claims->moved);
    free_map(&claims->by_id); // what is gone is in it, too
    while (claims->spare)
        mem_free(new_claim(claims));
    pthread_mutex_destroy(&claims->lock);
}

// ---- the writer's side

static bool holds(const struct claim *claim, int64_t holder)
{
    return claim->holder == holder && !claim->link.next;
}

static void move(struct claims *claims, int64_t id, int64_t holder, int64_t token, int64_t claimed_at)
{
    struct claim *claim = new_claim(claims), *old = map_put(&claims->moved, id, claim);
    *claim = (struct claim){.id = id, .holder = holder, .token = token, .claimed_at = claimed_at};
    if (old)
        free_claim(claims, old);
}

void claims_take(struct claims *claims, const struct job *job, int64_t holder, int64_t now_ms)
{
    move(claims, job->id, holder, job->token, now_ms);
}

void claims_hold(struct claims *claims, const struct job *job)
{
    move(claims, job->id, job->holder, 0, RECORDED);
}

void claims_let_go(struct claims *claims, int64_t id)
{
    move(claims, id, 0, 0, RECORDED);
}

static const struct claim *find(const struct claims *claims, int64_t id)
{
    const struct claim *claim = map_get(&claims->moved, id);
    return claim ? claim : map_get(&claims->by_id, id);
}

bool claims_holds(const struct claims *claims, const struct job *job)
{
    const struct claim *claim = find(claims, job->id);
    return claim && holds(claim, job->holder);
}

bool claims_any(const struct claims *claims, int64_t holder)
{
    const struct claim *claim;
    int64_t id;
    for (size_t at = 0; (claim = map_next(&claims->moved, &at, &id));)
        if (claim->holder == holder)
            return true;
    for (size_t at = 0; (claim = map_next(&claims->by_id, &at, &id));)
        if (holds(claim, holder) && !map_get(&claims->moved, id))
            return true;
    return false;
}

// A record that waits was claimed if its token is that of the claim. All other records say themselves how they are.
static void see(const struct claim *claim, struct job *job)
{
    if (!claim || !claim->holder || claim->claimed_at == RECORDED || claim->token != job->token)
        return;
    enum err err = job_claim(job, claim->holder, claim->claimed_at);
    assert(!err);
}

void claims_see_now(const struct claims *claims, struct job *job)
{
    if (job_state_waiting(job->state))
        see(find(claims, job->id), job);
}

static size_t add_entry(struct entry *entries, size_t count, const struct claim *claim)
{
    entries[count] = (struct entry){(int64_t)htole64((uint64_t)claim->id), (int64_t)htole64((uint64_t)claim->holder),
                                    (int64_t)htole64((uint64_t)claim->token), (int64_t)htole64((uint64_t)claim->claimed_at)};
    return count + 1;
}

void claims_write(struct claims *claims, struct db *db)
{
    const struct claim *claim;
    int64_t id;
    size_t count = 0;
    if (!claims->moved.count)
        return;
    bool anew = claims->logged > LOG_ENTRIES + LOG_TIMES * claims->by_id.count;
    mem_auto struct entry *entries = mem_alloc((claims->moved.count + (anew ? claims->by_id.count : 0)) * sizeof *entries);
    for (size_t at = 0; (claim = map_next(&claims->moved, &at, &id));)
        if (claim->holder || !anew)
            count = add_entry(entries, count, claim);
    for (size_t at = 0; anew && (claim = map_next(&claims->by_id, &at, &id));)
        if (holds(claim, claim->holder) && !map_get(&claims->moved, id))
            count = add_entry(entries, count, claim);
    if (anew)
        db_run(db, db_stmt(db, SQL_CLEAR_CLAIMS));
    sqlite3_stmt *stmt = db_stmt(db, SQL_LOG_CLAIMS);
    db_bind_bytes(stmt, 1, (struct str){(const char *)entries, count * sizeof *entries});
    db_run(db, stmt);
    claims->logged_then = (anew ? 0 : claims->logged) + count;
}

static void drop(struct claims *claims, struct claim *claim)
{
    list_remove(&claim->link);
    free_claim(claims, claim);
}

static void forget_gone(struct claims *claims)
{
    while (!list_empty(&claims->gone)) {
        struct claim *claim = list_entry(claims->gone.next, struct claim, link);
        if (claim->read > claims->reads_ended)
            return;
        map_remove(&claims->by_id, claim->id);
        drop(claims, claim);
    }
}

static void let_go(struct claims *claims, int64_t id)
{
    if (claims->reads_begun == claims->reads_ended) {
        struct claim *claim = map_remove(&claims->by_id, id);
        if (claim)
            drop(claims, claim);
        return;
    }
    struct claim *claim = map_get(&claims->by_id, id);
    if (claim && !claim->link.next) {
        claim->read = claims->reads_begun;
        list_append(&claims->gone, &claim->link);
    }
}

static void take_over(struct claims *claims, struct claim *claim)
{
    if (claim->holder) {
        struct claim *old = map_put(&claims->by_id, claim->id, claim);
        if (old)
            drop(claims, old);
    } else {
        let_go(claims, claim->id);
        free_claim(claims, claim);
    }
}

void claims_commit(struct claims *claims)
{
    struct claim *claim;
    int64_t id;
    pthread_mutex_lock(&claims->lock);
    for (size_t at = 0; (claim = map_next(&claims->moved, &at, &id));)
        take_over(claims, claim);
    forget_gone(claims);
    pthread_mutex_unlock(&claims->lock);
    map_clear(&claims->moved);
    claims->logged = claims->logged_then;
}

void claims_roll_back(struct claims *claims)
{
    struct claim *claim;
    int64_t id;
    for (size_t at = 0; (claim = map_next(&claims->moved, &at, &id));)
        free_claim(claims, claim);
    map_clear(&claims->moved);
    claims->logged_then = claims->logged;
}

// The SQL function hand(id, holder) makes an entry for the log, of a job whose record says that it is held. Only the step of the
// schema that begins the log uses it.
static void make_entry(sqlite3_context *ctx, int count, sqlite3_value **args)
{
    struct entry entry;
    const struct claim claim = {
        .id = sqlite3_value_int64(args[0]), .holder = sqlite3_value_int64(args[1]), .claimed_at = RECORDED};
    add_entry(&entry, 0, &claim);
    sqlite3_result_blob(ctx, &entry, sizeof entry, SQLITE_TRANSIENT);
}

enum err claims_prepare(struct db *db, char why[ERR_WHY_MAX])
{
    if (sqlite3_create_function(db->handle, "hand", 2, SQLITE_UTF8 | SQLITE_DIRECTONLY, NULL, make_entry, NULL, NULL) ==
        SQLITE_OK)
        return ERR_OK;
    snprintf(why, ERR_WHY_MAX, "making a function: %s", sqlite3_errmsg(db->handle));
    return ERR_STORE_UNAVAILABLE;
}

void claims_load(struct claims *claims, struct db *db)
{
    sqlite3_stmt *stmt = db_stmt(db, SQL_CLAIMS);
    while (db_row(db, stmt)) {
        const struct entry *entries = sqlite3_column_blob(stmt, 0);
        size_t count = (size_t)sqlite3_column_bytes(stmt, 0) / sizeof *entries;
        for (size_t i = 0; i < count; i++) {
            struct entry entry;
            memcpy(&entry, &entries[i], sizeof entry);
            move(claims, (int64_t)le64toh((uint64_t)entry.id), (int64_t)le64toh((uint64_t)entry.holder),
                 (int64_t)le64toh((uint64_t)entry.token), (int64_t)le64toh((uint64_t)entry.claimed_at));
        }
        claims->logged_then = claims->logged + count;
        claims_commit(claims);
    }
}

// ---- the reader's side

void claims_begin_read(struct claims *claims)
{
    pthread_mutex_lock(&claims->lock);
    claims->reads_begun++;
    pthread_mutex_unlock(&claims->lock);
}

void claims_end_read(struct claims *claims)
{
    pthread_mutex_lock(&claims->lock);
    claims->reads_ended++;
    pthread_mutex_unlock(&claims->lock);
}

void claims_see(struct claims *claims, struct job *job)
{
    if (!job_state_waiting(job->state))
        return;
    pthread_mutex_lock(&claims->lock);
    see(map_get(&claims->by_id, job->id), job);
    pthread_mutex_unlock(&claims->lock);
}

static int compare_ids(const void *a, const void *b)
{
    const int64_t *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

int64_t *claims_of(struct claims *claims, int64_t holder, int64_t after_id, struct arena *arena, size_t *ret_count)
{
    const struct claim *claim;
    int64_t id;
    *ret_count = 0;
    pthread_mutex_lock(&claims->lock);
    int64_t *ids = arena_array(arena, int64_t, claims->by_id.count + 1);
    for (size_t at = 0; (claim = map_next(&claims->by_id, &at, &id));)
        if (claim->holder == holder && id > after_id)
            ids[(*ret_count)++] = id;
    pthread_mutex_unlock(&claims->lock);
    qsort(ids, *ret_count, sizeof *ids, compare_ids);
    return ids;
}

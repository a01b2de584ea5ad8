// What is left after a power loss, compared with the ledger: the database agrees with itself, everything that was acknowledged is
// there, and nothing that nobody wanted.
#include "disk_support.h"
#include "power_ledger.h"
#include "store/lives.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

void note(struct verdict *verdict, int *counter, const char *format, ...)
{
    va_list args;
    if (verdict->lost + verdict->wrong + verdict->broken == 0) {
        int n = snprintf(verdict->first, sizeof verdict->first, "seed %" PRIu64 ", round %d: ", verdict->seed, verdict->round);
        va_start(args, format);
        vsnprintf(verdict->first + n, sizeof verdict->first - (size_t)n, format, args);
        va_end(args);
    }
    ++*counter;
}

// Records as they are seen: what was claimed and not written since has the token of its claim (read_log).
#define SEEN                                                                                                                 \
    "(SELECT j.id, j.lane, CASE WHEN h.claimed_at>=0 AND h.token=j.token THEN 3 ELSE j.state END AS state FROM jobs j LEFT " \
    "JOIN "                                                                                                                  \
    "temp.held h USING(id))"
#define COUNTED \
    "(SELECT lane, state, count(*) FROM " SEEN " GROUP BY 1, 2 UNION SELECT 0, state, count(*) FROM " SEEN " GROUP BY 2)"

// Each must answer what is written behind it; the first one before all tables are made, too.
static const struct {
    const char *what, *sql, *answer;
} rules[] = {
    {"integrity", "PRAGMA integrity_check", "ok"},
    {"tasks without a job", "SELECT count(*) FROM tasks t WHERE NOT EXISTS(SELECT 1 FROM jobs j WHERE j.task_id=t.id)", "0"},
    {"jobs without a task", "SELECT count(*) FROM jobs j WHERE NOT EXISTS(SELECT 1 FROM tasks t WHERE t.id=j.task_id)", "0"},
    {"jobs without a lane", "SELECT count(*) FROM jobs j WHERE NOT EXISTS(SELECT 1 FROM lanes l WHERE l.id=j.lane)", "0"},
    {"keys without a task",
     "SELECT count(*) FROM keys k WHERE NOT EXISTS(SELECT 1 FROM tasks t WHERE t.id=k.task_id AND t.key=k.key)", "0"},
    {"tasks without their key",
     "SELECT count(*) FROM tasks t WHERE t.key IS NOT NULL AND NOT EXISTS"
     " (SELECT 1 FROM keys k WHERE k.tenant=t.tenant AND k.key=t.key AND k.task_id=t.id)",
     "0"},
    {"attempts without a job", "SELECT count(*) FROM attempts a WHERE NOT EXISTS(SELECT 1 FROM jobs j WHERE j.id=a.job_id)", "0"},
    {"jobs that wait and are not listed so, or the other way round",
     "SELECT count(*) FROM (SELECT * FROM (SELECT id FROM " SEEN " WHERE state IN (1,2) EXCEPT SELECT id FROM waiting) UNION ALL"
     " SELECT * FROM (SELECT id FROM waiting EXCEPT SELECT id FROM " SEEN " WHERE state IN (1,2)))",
     "0"},
    {"jobs that wait, listed elsewhere",
     "SELECT count(*) FROM waiting w JOIN jobs j USING(id) WHERE w.due_at<>j.due_at OR w.place<>j.lane*16+9-j.priority", "0"},
    {"jobs in hand that are not listed so, or the other way round",
     "SELECT count(*) FROM (SELECT * FROM (SELECT s.id FROM " SEEN
     " s JOIN jobs j USING(id) WHERE s.state IN (3,4) AND j.lease_until=0"
     " EXCEPT SELECT id FROM temp.held) UNION ALL SELECT * FROM (SELECT id FROM temp.held EXCEPT SELECT id FROM " SEEN
     " WHERE state IN (3,4)))",
     "0"},
    {"counters too high", "SELECT count(*) FROM (SELECT lane, state, n FROM counts WHERE n<>0 EXCEPT SELECT * FROM " COUNTED ")",
     "0"},
    {"counters too low", "SELECT count(*) FROM (SELECT * FROM " COUNTED " EXCEPT SELECT lane, state, n FROM counts)", "0"},
};

static void put_held(sqlite3 *handle, const unsigned char *entry)
{
    int64_t numbers[4] = {0}; // id, holder, token, claimed_at
    for (size_t i = 0; i < sizeof numbers; i++)
        numbers[i / 8] |= (int64_t)((uint64_t)entry[i] << i % 8 * 8);
    char *sql = numbers[1] ? sqlite3_mprintf("REPLACE INTO temp.held VALUES(%lld, %lld, %lld)", (long long)numbers[0],
                                             (long long)numbers[2], (long long)numbers[3])
                           : sqlite3_mprintf("DELETE FROM temp.held WHERE id=%lld", (long long)numbers[0]);
    assert_int_equal(sqlite3_exec(handle, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_free(sql);
}

// The log of hands as a table.
static void read_log(sqlite3 *handle)
{
    enum { ENTRY = 32 };
    sqlite3_stmt *stmt = NULL;
    assert_int_equal(sqlite3_exec(handle, "CREATE TEMP TABLE held(id INTEGER PRIMARY KEY, token, claimed_at)", NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_prepare_v2(handle, "SELECT entries FROM hands ORDER BY number", -1, &stmt, NULL);
    while (sqlite3_step(stmt) == SQLITE_ROW)
        for (int at = 0; at < sqlite3_column_bytes(stmt, 0); at += ENTRY)
            put_held(handle, (const unsigned char *)sqlite3_column_blob(stmt, 0) + at);
    sqlite3_finalize(stmt);
}

static void check_rule(struct verdict *verdict, sqlite3 *handle, size_t i)
{
    sqlite3_stmt *stmt = NULL;
    sqlite3_prepare_v2(handle, rules[i].sql, -1, &stmt, NULL);
    bool answered = sqlite3_step(stmt) == SQLITE_ROW;
    const char *answer = answered ? (const char *)sqlite3_column_text(stmt, 0) : sqlite3_errmsg(handle);
    if (!answered || strcmp(answer, rules[i].answer) != 0)
        note(verdict, &verdict->broken, "%s: %s", rules[i].what, answer);
    sqlite3_finalize(stmt);
}

// The last connection to close would move the WAL into the database: the store is to find it as it is.
static void check_database(struct verdict *verdict, const char *dir)
{
    char path[200];
    sqlite3 *handle;
    bool made = false;
    sqlite3_stmt *stmt = NULL;
    snprintf(path, sizeof path, "%s/rota.db", dir);
    assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_prepare_v2(handle, "SELECT count(*) FROM sqlite_schema WHERE name='hands'", -1, &stmt, NULL);
    if (sqlite3_step(stmt) == SQLITE_ROW)
        made = sqlite3_column_int(stmt, 0);
    else
        note(verdict, &verdict->broken, "the schema: %s", sqlite3_errmsg(handle));
    sqlite3_finalize(stmt);
    if (made)
        read_log(handle);
    for (size_t i = 0; i < (made ? array_count(rules) : 1); i++)
        check_rule(verdict, handle, i);
    assert_int_equal(sqlite3_close(handle), SQLITE_OK);
}

static bool is_version(const struct store_get *get, const struct version *version)
{
    return same_job(&get->jobs[0], &version->job) && get->attempt_count == (size_t)version->kept;
}

// Whether the record is this version, or this one taken by the claim that was in flight. The ledger goes on with what was found.
static bool is_version_or_claimed(const struct ledger *ledger, const struct store_get *get, struct version version,
                                  struct entry *entry)
{
    if (!version.job.lane)
        version.job.lane = get->jobs[0].lane;
    bool found = is_version(get, &version);
    if (!found && ledger->is_claiming && job_claim(&version.job, ledger->holder, NOW + 100) == ERR_OK)
        found = is_version(get, &version);
    if (found)
        entry->now = version;
    return found;
}

static void check_found(struct verdict *verdict, const struct ledger *ledger, struct entry *entry, const struct store_get *get)
{
    int64_t id = get->task.id;
    if (!str_eq(get->task.doc, entry->doc) || !str_eq(get->task.queue, entry->queue) || !str_is(get->task.name, "a name"))
        note(verdict, &verdict->wrong, "task %" PRId64 " is not what was submitted", id);
    bool fits = (entry->is_there && is_version_or_claimed(ledger, get, entry->now, entry)) ||
                (entry->is_moving && is_version_or_claimed(ledger, get, entry->next, entry));
    if (!fits)
        note(verdict, entry->is_there ? &verdict->lost : &verdict->wrong,
             "job %" PRId64 " is neither as acknowledged nor as wanted", id);
}

// True when it is there.
static bool check_entry(struct verdict *verdict, struct world *world, struct ledger *ledger, struct entry *entry)
{
    struct store_get *get = OP(world, store_get, STORE_GET);
    get->tenant = TENANT;
    get->task_id = FIRST_ID + (entry - ledger->entries);
    get->max_jobs = 2;
    enum err err = call(world, &get->op);
    if (err && err != ERR_NOT_FOUND)
        note(verdict, &verdict->broken, "reading: %s", get->op.why);
    else if (err && entry->is_there)
        note(verdict, &verdict->lost, "task %" PRId64 " was acknowledged and is gone", get->task_id);
    else if (!err && !entry->is_there && !entry->is_moving)
        note(verdict, &verdict->wrong, "task %" PRId64 " was gone and is back", get->task_id);
    else if (!err && get->job_count != 1)
        note(verdict, &verdict->wrong, "task %" PRId64 " has %zu jobs", get->task_id, get->job_count);
    else if (!err)
        check_found(verdict, ledger, entry, get);
    return !err;
}

static void check_key(struct verdict *verdict, struct world *world, const struct ledger *ledger, const struct entry *entry)
{
    enum err err;
    if (!entry->is_there || !entry->key[0])
        return;
    int64_t id = FIRST_ID + (entry - ledger->entries);
    if (try_add(world, (struct sample){.key = str_of(entry->key)}, &err)->existing_id != id || err)
        note(verdict, &verdict->lost, "the key of task %" PRId64 " is forgotten", id);
}

static int64_t jobs_in_all(struct world *world)
{
    struct store_stats *stats = OP(world, store_stats, STORE_STATS);
    assert_int_equal(call(world, &stats->op), ERR_OK);
    int64_t sum = 0;
    for (int state = 0; state < JOB_STATE_COUNT; state++)
        sum += stats->counts[state];
    return sum;
}

static void check_entries(struct verdict *verdict, struct world *world, struct ledger *ledger)
{
    int64_t found = 0;
    bool was_there = false;
    for (size_t i = 0; i < ledger->count; i++) {
        struct entry *entry = &ledger->entries[i];
        bool is_there = check_entry(verdict, world, ledger, entry);
        if (i > 0 && !entry->is_there && entry->is_moving && entry->add == entry[-1].add && is_there != was_there)
            note(verdict, &verdict->wrong, "half of an add is there (task %zu)", FIRST_ID + i);
        was_there = is_there;
        found += is_there;
        entry->is_there = is_there;
        entry->is_moving = false;
    }
    if (jobs_in_all(world) != found)
        note(verdict, &verdict->wrong, "%" PRId64 " jobs are counted and %" PRId64 " known", jobs_in_all(world), found);
}

static void check_join(struct verdict *verdict, struct world *world, const struct ledger *ledger)
{
    struct store_beat *beat = OP(world, store_beat, STORE_BEAT);
    struct store_join *op = OP(world, store_join, STORE_JOIN);
    beat->incarnation = ledger->joined;
    if (ledger->joined && call(world, &beat->op) != ERR_OK)
        note(verdict, &verdict->lost, "who joined is not known any more");
    op->incarnation = 9999;
    int64_t largest = 0;
    for (size_t i = 0; i < ledger->count; i++)
        if (ledger->entries[i].is_there)
            largest = FIRST_ID + (int64_t)i;
    if (call(world, &op->op) != ERR_OK || !op->alone || op->id_floor < largest)
        note(verdict, &verdict->wrong, "joining: %s, ids up to %" PRId64, op->op.why, op->id_floor);
}

static void check_store(struct verdict *verdict, struct ledger *ledger, const char *dir)
{
    char url[200], why[ERR_WHY_MAX] = "";
    struct world *world = world_new("memory");
    store_close(world->store);
    world->store = NULL;
    world->last_id = FIRST_ID + ENTRIES_MAX;
    snprintf(url, sizeof url, "sqlite:%s", dir);
    if (store_open(&world->store, url, why) != ERR_OK)
        note(verdict, &verdict->broken, "%s", why);
    if (world->store) {
        check_entries(verdict, world, ledger);
        check_join(verdict, world, ledger);
        for (size_t i = 0; i < ledger->count; i++)
            check_key(verdict, world, ledger, &ledger->entries[i]);
    }
    ledger->is_claiming = false;
    world_free(world);
}

// How far the store had come (rota.extent) is never more than is left. The next round opens the store with the note as it was at
// the cut; here it is that from the beginning of the round, which was synced when the store was opened: those behind it need not
// have come to the disk.
void check_what_is_left(struct verdict *verdict, struct ledger *ledger, const char *dir)
{
    char data[160], copy[160];
    snprintf(data, sizeof data, "%s/data", dir);
    snprintf(copy, sizeof copy, "%s/copy", dir);
    mkdir(copy, 0700);
    bool is_there = copy_file(data, copy, "rota.db");
    copy_file(data, copy, "rota.db-wal");
    copy_file(data, copy, "rota.db-journal");
    copy_file(dir, copy, "rota.extent");
    if (is_there)
        check_database(verdict, copy);
    if (!verdict->broken)
        check_store(verdict, ledger, copy);
}

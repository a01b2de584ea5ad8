// Power loss: what the SQLite store has acknowledged is on the disk, whatever the disk did with the writes it was not told to
// sync.
//
// A round runs in a process of its own on a disk that loses its power (power_support.h): batches of operations are submitted,
// what is wanted and what was acknowledged is written into a ledger in shared memory, and in some call to the disk the power
// goes. Then the parent looks at a copy of what is left, compares it with the ledger, and the next round goes on with the
// original.
//
// Each batch is submitted from the done() of the last operation of the one before, that is while the writer can take nothing: so
// the groups, the calls to the disk and the end are the same for the same seed (SEED=n runs one).
//
// That the loop finds what it looks for is a test too: it must fail with synchronous=NORMAL, and on a disk that does not wait for
// the pages of a checkpoint.
#include "disk_support.h"
#include "power_support.h"
#include "store/lives.h"
#include "store_support.h"

#include <fcntl.h>
#include <inttypes.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FIRST_ID = 1000, ENTRIES_MAX = 4096, BATCH_MAX = 8, LANES = 3, POOL_BYTES = 1 << 20, LATER = NOW * 1000, EXIT_BAD = 99 };

static const char *const queues[LANES] = {"a", "b", "a longer name"};
static const struct job_policy policy = {
    .retry = {.max = 2, .delay_ms = 1000, .max_delay_ms = 9000}, .sla_ms = 1000, .ttl_ms = -1};
static char pool[POOL_BYTES]; // documents, reasons and responses are slices of this: made before the fork, so pointers hold

// ---- the ledger

struct version {
    struct job job; // lane 0: not known yet
    int kept;       // attempts
};

// A task with its one job. `now` is what was acknowledged (if is_there), `next` is what is wanted of it in flight (if is_moving).
struct entry {
    int64_t add; // the number of the operation that adds it
    bool is_there, is_moving;
    char key[24];
    struct str doc, queue;
    struct version now, next;
};

struct ledger {
    struct entry entries[ENTRIES_MAX];
    size_t count;
    int64_t adds, acknowledged;
    int64_t holder;   // joined in this round
    int64_t joined;   // the latest one acknowledged
    bool is_claiming; // a claim is in flight
    struct power_seen seen;
};

struct scenario {
    enum power_disk disk;
    int rounds, batches;
    size_t doc_max;
    size_t first_bytes; // of documents, in the first batch: large ones until it is reached
    bool goes_quiet;    // once, half way: until the writer has cut the WAL back
    bool fills_up;      // now and then there is no room for what is to be written
    void (*plan)(struct rand *rand, int round);
};

static bool same_job(const struct job *a, const struct job *b)
{
#define SAME(name) a->name == b->name
    return SAME(id) && SAME(task_id) && SAME(parent_id) && SAME(tenant) && SAME(state) && SAME(priority) && SAME(scheduled_at) &&
           SAME(ready_at) && SAME(due_at) && SAME(nominal_at) && SAME(expires_at) && SAME(holder) && SAME(token) &&
           SAME(picked_at) && SAME(started_at) && SAME(completed_at) && SAME(attempts) && SAME(retries) && SAME(losses) &&
           SAME(status) && SAME(outcome) && SAME(late_stage) && SAME(response_truncated) && SAME(purge_at) &&
           (SAME(lane) || !a->lane || !b->lane) && str_eq(a->reason, b->reason) && str_eq(a->response, b->response) &&
           SAME(lease_until) && str_eq(a->result, b->result);
#undef SAME
}

static bool copy_file(const char *from_dir, const char *to_dir, const char *name)
{
    char from[200], to[200];
    static char bytes[1 << 16];
    snprintf(from, sizeof from, "%s/%s", from_dir, name);
    snprintf(to, sizeof to, "%s/%s", to_dir, name);
    int in = open(from, O_RDONLY), out = in < 0 ? -1 : open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ssize_t n = 0;
    while (out >= 0 && (n = read(in, bytes, sizeof bytes)) > 0)
        assert_int_equal(write(out, bytes, (size_t)n), n);
    if (in >= 0)
        close(in);
    if (out >= 0)
        assert_int_equal(close(out), 0);
    else
        unlink(to);
    return out >= 0;
}

// ---- a round, in a process of its own, on the writer's thread

static struct {
    const struct scenario *scenario;
    struct ledger *ledger;
    struct store *store;
    struct rand rand;
    int batches_left;
    size_t in_flight, bytes;
    sem_t ended;
} run;

struct flight_add {
    struct store_add op;
    struct entry *first;
    struct store_task tasks[BATCH_MAX];
    struct job jobs[BATCH_MAX];
    struct store_new items[BATCH_MAX];
};

struct flight_change {
    struct store_change op;
    struct entry *entries[BATCH_MAX];
    struct job_step kept[BATCH_MAX];
    struct store_step steps[BATCH_MAX];
};

struct flight_claim {
    struct store_claim op;
    struct store_want wants[LANES];
};

static void next_batch(void);

static void expect(bool is_so, const char *what, const char *why)
{
    if (is_so)
        return;
    fprintf(stderr, "before the cut: %s: %s\n", what, why);
    _exit(EXIT_BAD);
}

static void submit(struct store_op *op, enum store_verb verb, void (*done)(struct store_op *op))
{
    store_op_init(op, verb, done);
    run.in_flight++;
    store_submit(run.store, op);
}

// Operations are the first member of their flights, so this frees the flight.
static void end_flight(struct store_op *op)
{
    store_op_done(op);
    mem_free(op);
    run.ledger->acknowledged++;
    if (--run.in_flight == 0)
        next_batch();
}

static size_t below(size_t limit)
{
    return rand_below(&run.rand, limit);
}

static struct str slice(size_t max)
{
    size_t n = below(max + 1);
    return (struct str){pool + below(POOL_BYTES - n), n};
}

// Then nothing of it may ever be seen.
static bool found_no_room(const struct store_op *op, const char *what)
{
    bool full = run.scenario->fills_up && op->err == ERR_STORAGE_FULL;
    expect(full || !op->err, what, op->why);
    return full;
}

static void done_add(struct store_op *op)
{
    struct flight_add *add = (struct flight_add *)op;
    bool full = found_no_room(op, "add");
    for (size_t i = 0; i < add->op.count; i++) {
        add->first[i].is_moving = false;
        if (full)
            continue;
        expect(!add->items[i].err && !add->items[i].existing_id, "an item", err_info(add->items[i].err)->code);
        add->first[i].now = (struct version){.job = add->jobs[i]};
        add->first[i].is_there = true;
    }
    end_flight(op);
}

static void fill_item(struct flight_add *add, size_t i)
{
    struct entry *entry = &add->first[i];
    int64_t id = FIRST_ID + (entry - run.ledger->entries);
    *entry = (struct entry){.add = run.ledger->adds, .is_moving = true};
    entry->doc = slice(run.bytes < run.scenario->first_bytes ? POOL_BYTES / 2 : run.scenario->doc_max);
    run.bytes += entry->doc.n;
    entry->queue = str_of(queues[below(LANES)]);
    if (below(3) == 0)
        snprintf(entry->key, sizeof entry->key, "key %" PRId64, id);
    add->tasks[i] = (struct store_task){
        .id = id, .tenant = TENANT, .created_at = NOW, .queue = entry->queue, .name = STR("a name"), .doc = entry->doc};
    struct job *job = &add->jobs[i];
    *job = (struct job){.id = id, .task_id = id, .tenant = TENANT, .token = 1, .state = JOB_READY};
    job->priority = (uint8_t)below(JOB_PRIORITIES);
    job->due_at = job->ready_at = job->scheduled_at = NOW + (int64_t)below(100);
    entry->next = (struct version){.job = *job};
    add->items[i] = (struct store_new){.task = &add->tasks[i], .jobs = job, .job_count = 1, .key = str_of(entry->key)};
}

static void submit_add(void)
{
    struct flight_add *add = mem_zero(sizeof *add);
    struct ledger *ledger = run.ledger;
    ledger->adds++;
    add->op.now_ms = NOW;
    add->op.items = add->items;
    add->op.count = 1 + below(BATCH_MAX);
    add->first = &ledger->entries[ledger->count];
    expect(ledger->count + add->op.count <= ENTRIES_MAX, "add", "the ledger is full");
    for (size_t i = 0; i < add->op.count; i++)
        fill_item(add, i);
    ledger->count += add->op.count;
    submit(&add->op.op, STORE_ADD, done_add);
}

static void done_change(struct store_op *op)
{
    struct flight_change *change = (struct flight_change *)op;
    bool full = found_no_room(op, "change");
    for (size_t i = 0; i < change->op.count; i++) {
        change->entries[i]->is_moving = false;
        if (full)
            continue;
        expect(!change->steps[i].err, "a step", err_info(change->steps[i].err)->code);
        change->entries[i]->now = change->entries[i]->next;
    }
    end_flight(op);
}

static enum err decide(struct job *job, struct job_step *ret_step)
{
    if (job->state == JOB_WATCHING)
        return below(4) ? job_start(job, &policy, NOW + 200) : job_release(job, NOW, NOW + 200);
    if (!job->lease_until && below(4) == 0) {
        struct job_result later = {.status = 202, .response = slice(200), .later = true};
        return job_detach(job, &policy, &later);
    }
    if (job->lease_until && below(3) == 0)
        return job_extend(job, &policy, NOW + 250 + (int64_t)below(1000), slice(100));
    struct job_result result = {.outcome = below(3) ? OUTCOME_SUCCESS : OUTCOME_FAILED, .status = 200, .completed_at = NOW + 300};
    result.reason = slice(40);
    result.response = slice(600);
    if (job->lease_until)
        result.result = slice(3000);
    return job_finish(job, &policy, &result, 0, ret_step);
}

static void fill_step(struct flight_change *change, struct entry *entry)
{
    size_t i = change->op.count++;
    change->entries[i] = entry;
    entry->next = entry->now;
    enum err err = decide(&entry->next.job, &change->kept[i]);
    expect(!err, "decide", err_info(err)->code);
    entry->next.kept += change->kept[i].kept;
    entry->is_moving = true;
    change->steps[i] =
        (struct store_step){.token = entry->now.job.token, .lease = entry->now.job.lease_until, .job = &entry->next.job};
    change->steps[i].attempt = change->kept[i].kept ? &change->kept[i].attempt : NULL;
}

static void submit_change(void)
{
    struct ledger *ledger = run.ledger;
    struct flight_change *change = mem_zero(sizeof *change);
    change->op.steps = change->steps;
    size_t start = ledger->count ? below(ledger->count) : 0;
    for (size_t i = 0; i < ledger->count && change->op.count < BATCH_MAX; i++) {
        struct entry *entry = &ledger->entries[(start + i) % ledger->count];
        if (entry->is_there && !entry->is_moving && job_state_held(entry->now.job.state))
            fill_step(change, entry);
    }
    if (change->op.count)
        submit(&change->op.op, STORE_CHANGE, done_change);
    else
        mem_free(change);
}

// It was submitted behind the adds and changes of its batch and is given back behind them, so `now` is what it was taken from.
static void done_claim(struct store_op *op)
{
    struct flight_claim *claim = (struct flight_claim *)op;
    found_no_room(op, "claim");
    for (size_t i = 0; i < claim->op.job_count; i++) {
        const struct job *job = &claim->op.jobs[i].job;
        struct entry *entry = &run.ledger->entries[job->id - FIRST_ID];
        enum err err = job_claim(&entry->now.job, run.ledger->holder, NOW + 100);
        expect(!err && same_job(&entry->now.job, job), "claim", "another record than was stored");
    }
    run.ledger->is_claiming = false;
    end_flight(op);
}

static void submit_claim(void)
{
    struct flight_claim *claim = mem_zero(sizeof *claim);
    claim->op.holder = run.ledger->holder;
    claim->op.now_ms = NOW + 100;
    claim->op.until_ms = LATER;
    claim->op.wants = claim->wants;
    claim->op.want_count = LANES;
    for (int i = 0; i < LANES; i++)
        claim->wants[i] = (struct store_want){.lane = 1 + i, .max = below(4)};
    run.ledger->is_claiming = true;
    submit(&claim->op.op, STORE_CLAIM, done_claim);
}

// On the writer's thread, so none of these ends before all are submitted.
static void next_batch(void)
{
    if (run.batches_left-- == 0) {
        sem_post(&run.ended);
        return;
    }
    while (run.bytes < run.scenario->first_bytes)
        submit_add();
    if (run.scenario->fills_up && below(3) == 0)
        power_full(below(30), below(2));
    for (size_t i = 1 + below(4); i > 0; i--)
        submit_add();
    for (size_t i = below(3); i > 0; i--)
        submit_change();
    if (below(2))
        submit_claim();
}

static void done_join(struct store_op *op)
{
    expect(!op->err, "join", op->why);
    run.ledger->joined = run.ledger->holder;
    end_flight(op);
}

// Joining, because that comes first in a server's life too, and then the batches.
static void run_batches(int batches)
{
    struct store_join *join = mem_zero(sizeof *join);
    join->incarnation = run.ledger->holder;
    join->now_ms = NOW;
    run.batches_left = batches;
    submit(&join->op, STORE_JOIN, done_join);
    while (sem_wait(&run.ended) != 0)
        ;
}

static _Noreturn void run_until_the_cut(const struct scenario *scenario, struct ledger *ledger, const char *dir, uint64_t seed,
                                        int round)
{
    char url[160], why[ERR_WHY_MAX] = "";
    run.scenario = scenario;
    run.ledger = ledger;
    rand_init(&run.rand, seed * 1000 + (uint64_t)round);
    sem_init(&run.ended, 0, 0);
    power_on(scenario->disk, rand_next(&run.rand), &ledger->seen);
    if (below(5) == 0 && !scenario->goes_quiet)
        power_plan(POWER_FROM_NOW, below(40)); // while it is opened
    snprintf(url, sizeof url, "sqlite:%s/data", dir);
    enum err err = store_open(&run.store, url, why);
    expect(!err, "open", why);
    copy_file(url + strlen("sqlite:"), dir, "rota.extent");
    scenario->plan(&run.rand, round);
    run_batches(scenario->batches);
    if (scenario->goes_quiet) {
        power_await_cut_back();
        run_batches(scenario->batches);
    }
    store_close(run.store);
    power_cut();
}

// ---- what is left

struct verdict {
    uint64_t seed;
    int round;
    int lost;   // acknowledged, and gone or not as acknowledged
    int wrong;  // neither what was acknowledged nor what was wanted; a phantom; half an operation
    int broken; // the database contradicts itself, or cannot be opened
    bool said;  // the next start would not have been silent
    int cuts, in_checkpoint, acknowledged;
    uint64_t restarts, cut_backs, wal_syncs, beside, refused;
    char first[400];
};

__attribute__((format(printf, 3, 4))) static void note(struct verdict *verdict, int *counter, const char *format, ...)
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
static void check_what_is_left(struct verdict *verdict, struct ledger *ledger, const char *dir)
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

// ---- rounds

static void add_up(struct verdict *verdict, const struct ledger *ledger, int64_t acknowledged_before)
{
    verdict->cuts += ledger->seen.cut;
    verdict->in_checkpoint += ledger->seen.in_checkpoint;
    verdict->restarts += ledger->seen.restarts;
    verdict->cut_backs += ledger->seen.cut_backs;
    verdict->wal_syncs += ledger->seen.wal_syncs;
    verdict->beside += ledger->seen.beside;
    verdict->refused += ledger->seen.refused;
    verdict->acknowledged += (int)(ledger->acknowledged - acknowledged_before);
}

static bool is_bad(const struct verdict *verdict)
{
    return verdict->lost || verdict->wrong || verdict->broken;
}

static void run_round(const struct scenario *scenario, struct ledger *ledger, const char *dir, struct verdict *verdict)
{
    int status = 0;
    int64_t before = ledger->acknowledged;
    char data[160];
    snprintf(data, sizeof data, "%s/data", dir);
    ledger->holder = 1 + verdict->round;
    copy_file(data, dir, "rota.extent");
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        run_until_the_cut(scenario, ledger, dir, verdict->seed, verdict->round);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != POWER_CUT)
        note(verdict, &verdict->broken, "the process ended with status %x", (unsigned)status);
    else
        check_what_is_left(verdict, ledger, dir);
    add_up(verdict, ledger, before);
}

// A start that is refused says what to do. Why differs: tasks are lost, or, on a disk that forgot pages, SQLite finds its file
// malformed.
static bool starts(const char *data)
{
    char url[200], why[ERR_WHY_MAX] = "";
    struct store *store = NULL;
    snprintf(url, sizeof url, "sqlite:%s", data);
    bool started = store_open(&store, url, why) == ERR_OK;
    assert_true(started || strstr(why, "tasks are lost") || (strstr(why, "malformed") && strstr(why, "Restore a backup")));
    store_close(store);
    return started;
}

// Rounds on one directory, until something is wrong.
static void run_seed(const struct scenario *scenario, uint64_t seed, struct verdict *verdict)
{
    struct world *world = world_new("sqlite"); // for its directory: the store is another, made in the first round
    store_close(world->store);
    world->store = NULL;
    char data[160], emptied[160];
    snprintf(data, sizeof data, "%s/data", world->dir);
    snprintf(emptied, sizeof emptied, "%s/closed", world->dir);
    assert_int_equal(rename(data, emptied), 0);
    // cppcheck-suppress invalidFunctionArg; memory that belongs to no file has no descriptor
    struct ledger *ledger = mmap(NULL, sizeof *ledger, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(ledger, MAP_FAILED);
    verdict->seed = seed;
    for (verdict->round = 0; verdict->round < scenario->rounds && !is_bad(verdict); verdict->round++)
        run_round(scenario, ledger, world->dir, verdict);
    munmap(ledger, sizeof *ledger);
    verdict->said = !starts(data);
    world_free(world);
}

static struct verdict run_seeds(const struct scenario *scenario, uint64_t seeds)
{
    struct verdict verdict = {0};
    const char *only = getenv("SEED");
    if (only)
        run_seed(scenario, strtoull(only, NULL, 10), &verdict);
    for (uint64_t seed = 1; !only && seed <= seeds && !is_bad(&verdict); seed++)
        run_seed(scenario, seed, &verdict);
    print_message("%d cuts, %d of them in a checkpoint; %d operations acknowledged; the WAL was synced %" PRIu64
                  " times, %" PRIu64 " of them while pages were moved, begun anew %" PRIu64 " times, truncated %" PRIu64
                  " times%s%s\n",
                  verdict.cuts, verdict.in_checkpoint, verdict.acknowledged, verdict.wal_syncs, verdict.beside, verdict.restarts,
                  verdict.cut_backs, is_bad(&verdict) ? "; " : "", verdict.first);
    return verdict;
}

static void assert_nothing_lost(const struct verdict *verdict)
{
    if (is_bad(verdict))
        fail_msg("%s", verdict->first);
    assert_false(verdict->said);
}

// Anywhere; now and then from the checkpoint on that closing the store makes, or from its last step.
static void plan_anywhere(struct rand *rand, int round)
{
    uint64_t way = rand_below(rand, 8);
    if (way == 0)
        power_plan(POWER_FROM_CUT_BACK, rand_below(rand, 2));
    else if (way == 1)
        power_plan(POWER_FROM_CHECKPOINT, rand_below(rand, 60));
    else
        power_plan(POWER_FROM_NOW, rand_below(rand, 40));
}

// In the checkpoint that a large WAL makes (some 4,000 pages, each a call), or when the WAL has begun anew behind it.
static void plan_checkpoint(struct rand *rand, int round)
{
    if (round % 2)
        power_plan(POWER_FROM_RESTART, rand_below(rand, 20));
    else
        power_plan(POWER_FROM_CHECKPOINT, rand_below(rand, 4500));
}

// In the truncation, which is not synced, or soon behind it, when the WAL is written from its beginning.
static void plan_cut_back(struct rand *rand, int round)
{
    power_plan(POWER_FROM_CUT_BACK, rand_below(rand, 2) ? 0 : rand_below(rand, 60));
}

// When something was refused for lack of room: before the next write, or soon behind it.
static void plan_refused(struct rand *rand, int round)
{
    power_plan(POWER_FROM_REFUSED, rand_below(rand, 2) ? rand_below(rand, 6) : rand_below(rand, 100));
}

static const struct scenario small = {.rounds = 5, .batches = 12, .doc_max = 2000, .plan = plan_anywhere};
static const struct scenario large = {.rounds = 2, .batches = 40, .doc_max = 200000, .plan = plan_checkpoint};
static const struct scenario quiet = {
    .rounds = 1, .batches = 2, .doc_max = 2000, .first_bytes = 68 << 20, .goes_quiet = true, .plan = plan_cut_back};

static const struct scenario filling = {.rounds = 10, .batches = 20, .doc_max = 9000, .fills_up = true, .plan = plan_refused};
static const struct scenario filling_large = {
    .rounds = 2, .batches = 40, .doc_max = 200000, .fills_up = true, .plan = plan_checkpoint};

// ---- the promises

static void what_was_acknowledged_is_there_after_power_loss(void **state)
{
    struct verdict verdict = run_seeds(&small, 10);
    assert_nothing_lost(&verdict);
    if (getenv("SEED"))
        return;
    assert_int_equal(verdict.cuts, 50);
    assert_true(verdict.in_checkpoint > 0 && verdict.cut_backs > 0);
}

static void checkpoints_lose_nothing(void **state)
{
    struct verdict verdict = run_seeds(&large, 4);
    assert_nothing_lost(&verdict);
    if (getenv("SEED"))
        return;
    assert_int_equal(verdict.cuts, 8);
    assert_true(verdict.in_checkpoint > 0 && verdict.restarts > 0 && verdict.beside > 0);
}

static void cutting_a_large_wal_back_loses_nothing(void **state)
{
    struct verdict verdict = run_seeds(&quiet, 2);
    assert_nothing_lost(&verdict);
    assert_true(verdict.cut_backs > 0);
}

static void what_a_full_disk_refused_never_comes_to_life(void **state)
{
    struct verdict verdict = run_seeds(&filling, 20), large_one = run_seeds(&filling_large, 2);
    assert_nothing_lost(&verdict);
    assert_nothing_lost(&large_one);
    if (getenv("SEED"))
        return;
    assert_true(verdict.refused > 0 && large_one.refused > 0 && large_one.restarts > 0);
}

static void with_synchronous_normal_the_loss_is_found(void **state)
{
    struct scenario normal = small;
    normal.disk = POWER_NORMAL;
    struct verdict verdict = run_seeds(&normal, 10);
    assert_true(verdict.lost > 0);
    assert_int_equal(verdict.broken, 0); // NORMAL keeps the database whole, only old
    assert_true(verdict.said);
}

static void with_a_log_not_waited_for_the_loss_is_found(void **state)
{
    struct scenario hasty = small;
    hasty.disk = POWER_FORGETS_LOG;
    struct verdict verdict = run_seeds(&hasty, 10);
    assert_true(verdict.lost > 0 || verdict.broken > 0);
}

static void with_pages_not_waited_for_the_loss_is_found(void **state)
{
    struct scenario hasty = large;
    hasty.disk = POWER_FORGETS_PAGES;
    struct verdict verdict = run_seeds(&hasty, 4);
    assert_true(verdict.lost > 0 || verdict.broken > 0);
}

// Where memory has no room for the large ones, the disk must do.
static void choose_dir(void)
{
    struct statvfs room;
    if (statvfs("/dev/shm", &room) != 0 || room.f_bavail * room.f_frsize < 1 << 30)
        setenv("ROTA_TEST_DIR", "/tmp", 0);
}

static int set_up(void **state)
{
    choose_dir();
    struct rand rand;
    rand_init(&rand, 1);
    for (size_t i = 0; i < POOL_BYTES; i++)
        pool[i] = (char)rand_next(&rand);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_acknowledged_is_there_after_power_loss),
        cmocka_unit_test(checkpoints_lose_nothing),
        cmocka_unit_test(cutting_a_large_wal_back_loses_nothing),
        cmocka_unit_test(what_a_full_disk_refused_never_comes_to_life),
        cmocka_unit_test(with_synchronous_normal_the_loss_is_found),
        cmocka_unit_test(with_a_log_not_waited_for_the_loss_is_found),
        cmocka_unit_test(with_pages_not_waited_for_the_loss_is_found),
    };
    return cmocka_run_group_tests_name("store sqlite: power loss", tests, set_up, NULL);
}

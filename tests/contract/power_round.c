// A round: operations in batches, in a process of its own, until the power goes. What is wanted and what was acknowledged is
// written into the ledger, on the writer's thread.
#include "power_ledger.h"
#include "store/lives.h"

#include <fcntl.h>
#include <inttypes.h>
#include <semaphore.h>
#include <sqlite3.h>
#include <stdio.h>
#include <unistd.h>

static const char *const queues[LANES] = {"a", "b", "a longer name"};
static const struct job_policy policy = {
    .retry = {.max = 2, .delay_ms = 1000, .max_delay_ms = 9000}, .sla_ms = 1000, .ttl_ms = -1};
char pool[POOL_BYTES];

bool same_job(const struct job *a, const struct job *b)
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

bool copy_file(const char *from_dir, const char *to_dir, const char *name)
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

static struct {
    const struct scenario *scenario;
    struct ledger *ledger;
    struct store *store;
    sqlite3 *reader; // the writer thread's
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
    add->tasks[i] = (struct store_task){.id = id,
                                        .tenant = TENANT,
                                        .created_at = NOW,
                                        .dispatch = TARGET_CALLED,
                                        .queue = entry->queue,
                                        .name = STR("a name"),
                                        .doc = entry->doc};
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

static void open_reader(const char *dir)
{
    char path[160];
    snprintf(path, sizeof path, "%s/data/rota.db", dir);
    int rc = sqlite3_open_v2(path, &run.reader, SQLITE_OPEN_READONLY, NULL);
    expect(rc == SQLITE_OK, "open a reader", sqlite3_errstr(rc));
}

// While somebody reads, a checkpoint moves no page that came later. Nor does it sync those that it moves: that is left to the
// checkpoint that moves the last one, behind other commits.
static void begin_or_end_read(void)
{
    bool reads = !sqlite3_get_autocommit(run.reader);
    int rc = sqlite3_exec(run.reader, reads ? "COMMIT" : "BEGIN; SELECT value FROM meta", NULL, NULL, NULL);
    expect(rc == SQLITE_OK, "read", sqlite3_errstr(rc));
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
    if (run.scenario->reads && below(2))
        begin_or_end_read();
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

_Noreturn void run_until_the_cut(const struct scenario *scenario, struct ledger *ledger, const char *dir, uint64_t seed,
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
    open_reader(dir);
    scenario->plan(&run.rand, round);
    run_batches(scenario->batches);
    if (scenario->goes_quiet) {
        power_await_cut_back();
        run_batches(scenario->batches);
    }
    sqlite3_close(run.reader);
    store_close(run.store);
    power_cut();
}

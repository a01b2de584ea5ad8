// Drives the store's port for a bench: reads commands from its input, one a line, and answers each with one line of JSON.
//
//   bench_store --store URL [--batch 500] [--lane 0]
//   plan N               adds N jobs within the hour that `claim` has come to, a month from now: no two that are due one after
//                        the other are added one after the other
//   soon N               adds N jobs due one after the other within the tenth of a second that `claim` has come to
//   claim N              claims the N that are due first, as if their time had come. Those of `plan` lie scattered among the
//                        others, each on a page of its own; those of `soon` side by side
//   hold N               adds N jobs already in hand, as the push path does
//   finish               finishes all that are in hand
//   pace RATE SECONDS    in real time, on a thread each: adds RATE jobs a second, claims them as they come near, finishes them as
//                        they are due; the answer's times are those of the claims
//   churn SECONDS [RATE] claims what waits in a lane (the oldest, or --lane N), however late it is due, and gives it back: RATE
//                        jobs a second, or as fast as it can
//
// An answer has the count of jobs, the seconds, the CPU of this process and how long each call of the port took; run.py adds
// what the database has used meanwhile.
#include "common.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/rand.h"
#include "store/jobs.h"
#include "store/lives.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum {
    BEGIN_MS = 1000, // when `pace` begins to claim what comes near, as flow/lanes does,
    HORIZON_MS =
        2000,     // and how far ahead `pace` claims: at 2,000 jobs a second that is as much as rota lets one lane have in hand
    PACE_MS = 50, // how often `pace` adds
    BEAT_MS = 2500,
    CLAIM_MAX = 1000,
    IN_HAND_MAX = 1 << 16,
    HOUR_MS = 3600000,
    STRANDS = 67, // more than there are rows on a page
};
static const int64_t day_ms = 86400000;

struct bench {
    struct store *store;
    int64_t batch, incarnation, next_id, lane;
    int64_t lane_no; // of `churn`: which lane it claims from, in the order in which they were made
    struct rand rand;
    int64_t strand;   // of `plan`: counts its jobs
    int64_t now_ms;   // of `claim`: where it has come to
    struct job *jobs; // in hand, of `claim` and `hold`
    size_t in_hand;
    struct hist calls; // of the command that runs
};

static void timed_call(struct bench *bench, struct hist *hist, struct store_op *op)
{
    int64_t began = clock_mono_ns();
    store_call(bench->store, op);
    hist_add(hist, (clock_mono_ns() - began) / 1000);
    if (op->err)
        die("bench_store: %s: %s", err_info(op->err)->code, op->why);
}

static void add_jobs(struct bench *bench, struct hist *hist, struct job *jobs, size_t count, bool held)
{
    static char doc[] =
        "{\"url\":\"http://127.0.0.1:8080/hook\",\"method\":\"POST\",\"headers\":{\"content-type\":\"application/json\"},"
        "\"body\":{\"order\":123456,\"who\":\"somebody\",\"note\":\"a usual body of a usual task\"}}";
    struct store_add add = {.now_ms = clock_now().wall_ms, .holder = held ? bench->incarnation : 0, .count = count};
    store_op_init(&add.op, STORE_ADD, NULL);
    struct store_task *tasks = arena_array(&add.op.arena, struct store_task, count);
    add.items = arena_array(&add.op.arena, struct store_new, count);
    for (size_t i = 0; i < count; i++) {
        struct job *job = &jobs[i];
        int64_t due = job->due_at;
        *job = (struct job){.id = bench->next_id += 512, .tenant = 1, .token = 1, .priority = 5, .due_at = due};
        job->task_id = job->id;
        job->scheduled_at = job->ready_at = due;
        job->state = held ? JOB_WATCHING : JOB_DELAYED;
        job->holder = held ? bench->incarnation : 0;
        job->picked_at = held ? due : 0;
        tasks[i] = (struct store_task){.id = job->id,
                                       .tenant = 1,
                                       .created_at = due,
                                       .dispatch = TARGET_CALLED,
                                       .queue = STR("default"),
                                       .doc = str_of(doc)};
        add.items[i] = (struct store_new){.task = &tasks[i], .jobs = job, .job_count = 1};
    }
    timed_call(bench, hist, &add.op);
    bench->lane = jobs[0].lane;
    store_op_done(&add.op);
}

// Returns how many; *ret_next_due is that of the first one left.
static size_t claim_jobs(struct bench *bench, struct hist *hist, struct job *jobs, size_t max, int64_t from_ms, int64_t now_ms,
                         int64_t until_ms, int64_t *ret_next_due)
{
    struct store_want want = {.lane = bench->lane, .max = max, .from_ms = from_ms};
    struct store_claim claim = {
        .holder = bench->incarnation, .now_ms = now_ms, .until_ms = until_ms, .wants = &want, .want_count = 1};
    store_op_init(&claim.op, STORE_CLAIM, NULL);
    timed_call(bench, hist, &claim.op);
    for (size_t i = 0; i < claim.job_count; i++)
        jobs[i] = claim.jobs[i].job;
    size_t count = claim.job_count;
    *ret_next_due = want.next_due;
    store_op_done(&claim.op);
    return count;
}

static void finish_job(struct job *job)
{
    struct job_policy policy = {.ttl_ms = 7 * day_ms, .sla_ms = 30000};
    struct job_result result = {.outcome = OUTCOME_SUCCESS, .status = 200, .response = STR("{\"ok\":true}")};
    struct job_step step;
    result.completed_at = job->due_at + 20;
    enum err err = job_start(job, &policy, job->due_at + 10);
    err = err ? err : job_finish(job, &policy, &result, 0, &step);
    assert(!err);
}

static void give_back_job(struct job *job)
{
    enum err err = job_release(job, job->due_at, clock_now().wall_ms);
    assert(!err);
}

static void change_jobs(struct bench *bench, struct hist *hist, struct job *jobs, size_t count, void (*decide)(struct job *job))
{
    struct store_change change = {.count = count};
    store_op_init(&change.op, STORE_CHANGE, NULL);
    change.steps = arena_array(&change.op.arena, struct store_step, count);
    for (size_t i = 0; i < count; i++) {
        change.steps[i] = (struct store_step){.token = jobs[i].token, .job = &jobs[i]};
        decide(&jobs[i]);
    }
    timed_call(bench, hist, &change.op);
    for (size_t i = 0; i < count; i++)
        if (change.steps[i].err)
            die("bench_store: a step was refused: %s", err_info(change.steps[i].err)->code);
    store_op_done(&change.op);
}

static size_t batch_at(const struct bench *bench, size_t done, size_t count)
{
    return count - done < (size_t)bench->batch ? count - done : (size_t)bench->batch;
}

// ---- commands. Each returns how many jobs it was about.

// The hour moves on with `claim`, so that jobs stay as dense as they are many. Each strand of it fills up from its beginning: as
// scattered as in no order at all for who claims, but adding writes to as many pages as there are strands, not to all.
static int64_t due_planned(struct bench *bench, double part)
{
    return bench->now_ms + (int64_t)(((double)(bench->strand++ % STRANDS) + part) * HOUR_MS / STRANDS);
}

static int64_t due_soon(struct bench *bench, double part)
{
    return bench->now_ms + (int64_t)(part * 100);
}

static int64_t add_waiting(struct bench *bench, int64_t count, int64_t (*due)(struct bench *bench, double part))
{
    struct job *jobs = mem_zero((size_t)bench->batch * sizeof *jobs);
    for (size_t done = 0, n; done < (size_t)count; done += n) {
        n = batch_at(bench, done, (size_t)count);
        for (size_t i = 0; i < n; i++)
            jobs[i].due_at = due(bench, (double)(done + i) / (double)count);
        add_jobs(bench, &bench->calls, jobs, n, false);
    }
    mem_free(jobs);
    return count;
}

static int64_t plan(struct bench *bench, int64_t count, int64_t unused)
{
    (void)unused;
    return add_waiting(bench, count, due_planned);
}

static int64_t soon(struct bench *bench, int64_t count, int64_t unused)
{
    (void)unused;
    return add_waiting(bench, count, due_soon);
}

static struct job *more_in_hand(struct bench *bench, size_t count)
{
    bench->jobs = mem_grow(bench->jobs, (bench->in_hand + count) * sizeof *bench->jobs);
    bench->in_hand += count;
    return &bench->jobs[bench->in_hand - count];
}

static int64_t hold(struct bench *bench, int64_t count, int64_t unused)
{
    (void)unused;
    struct job *jobs = more_in_hand(bench, (size_t)count);
    for (size_t i = 0; i < (size_t)count; i++)
        jobs[i].due_at = clock_now().wall_ms;
    for (size_t i = 0; i < (size_t)count; i += batch_at(bench, i, (size_t)count))
        add_jobs(bench, &bench->calls, &jobs[i], batch_at(bench, i, (size_t)count), true);
    return count;
}

static int64_t claim(struct bench *bench, int64_t count, int64_t unused)
{
    (void)unused;
    struct job *jobs = more_in_hand(bench, (size_t)count);
    for (size_t done = 0, n; done < (size_t)count; done += n) {
        int64_t next_due;
        n = batch_at(bench, done, (size_t)count);
        if (claim_jobs(bench, &bench->calls, &jobs[done], n, bench->now_ms, bench->now_ms, TIME_NEVER - 1, &next_due) != n)
            die("bench_store: a claim found less than is there");
        bench->now_ms = next_due < TIME_NEVER ? next_due : bench->now_ms;
    }
    return count;
}

static int64_t finish(struct bench *bench, int64_t unused, int64_t unused_too)
{
    (void)unused;
    (void)unused_too;
    size_t count = bench->in_hand;
    for (size_t i = 0; i < count; i += batch_at(bench, i, count))
        change_jobs(bench, &bench->calls, &bench->jobs[i], batch_at(bench, i, count), finish_job);
    bench->in_hand = 0;
    return (int64_t)count;
}

// ---- pace

struct pace {
    struct bench *bench;
    int64_t rate, end_ns;
    pthread_mutex_t lock;            // of what follows
    struct job in_hand[IN_HAND_MAX]; // a ring
    size_t first, count;
    int64_t finished;
};

static bool pace_on(const struct pace *pace)
{
    return clock_mono_ns() < pace->end_ns;
}

static void sleep_ms(int64_t ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    if (ms > 0)
        nanosleep(&time, NULL);
}

static void *pace_add(void *ctx)
{
    struct pace *pace = ctx;
    struct hist hist = {0};
    int64_t began = clock_mono_ns(), added = 0;
    struct job *jobs = mem_zero((size_t)pace->rate * sizeof *jobs);
    while (pace_on(pace)) {
        int64_t count = time_min((clock_mono_ns() - began) / 1000000 * pace->rate / 1000 - added, pace->rate);
        for (int64_t i = 0; i < count; i++) // beyond the horizon, so that each is claimed as it comes near
            jobs[i].due_at = clock_now().wall_ms + HORIZON_MS + 1000 + (int64_t)rand_below(&pace->bench->rand, 4000);
        if (count > 0)
            add_jobs(pace->bench, &hist, jobs, (size_t)count, false);
        added += count;
        sleep_ms(PACE_MS);
    }
    mem_free(jobs);
    return NULL;
}

// As flow/stages/pull does: one claim at a time, the next one when something has come near, from where it is known to be.
static void *pace_claim(void *ctx)
{
    struct pace *pace = ctx;
    struct job *jobs = mem_zero(CLAIM_MAX * sizeof *jobs);
    int64_t from_ms = 0, next_due = 0;
    while (pace_on(pace)) {
        int64_t now_ms = clock_now().wall_ms, until_ms = now_ms + HORIZON_MS;
        if (next_due > now_ms + BEGIN_MS) {
            sleep_ms(PACE_MS);
            continue;
        }
        size_t count = claim_jobs(pace->bench, &pace->bench->calls, jobs, CLAIM_MAX, from_ms, now_ms, until_ms, &next_due);
        from_ms = count < CLAIM_MAX ? until_ms + 1 : jobs[count - 1].due_at;
        next_due = time_min(next_due, until_ms + 1); // what was added meanwhile is due behind that
        pthread_mutex_lock(&pace->lock);
        if (pace->count + count > IN_HAND_MAX)
            die("bench_store: what is in hand is not finished in time");
        for (size_t i = 0; i < count; i++)
            pace->in_hand[(pace->first + pace->count++) % IN_HAND_MAX] = jobs[i];
        pthread_mutex_unlock(&pace->lock);
    }
    mem_free(jobs);
    return NULL;
}

// As flow/tend/lane_scan does.
static void *pace_look(void *ctx)
{
    struct pace *pace = ctx;
    struct hist hist = {0};
    while (pace_on(pace)) {
        struct store_lanes lanes = {.dispatch = TARGET_CALLED, .max = 500};
        store_op_init(&lanes.op, STORE_LANES, NULL);
        timed_call(pace->bench, &hist, &lanes.op);
        store_op_done(&lanes.op);
        struct store_sweep sweep = {.now_ms = clock_now().wall_ms, .max = CLAIM_MAX};
        store_op_init(&sweep.op, STORE_SWEEP, NULL);
        timed_call(pace->bench, &hist, &sweep.op);
        store_op_done(&sweep.op);
        sleep_ms(1000);
    }
    return NULL;
}

static void *pace_finish(void *ctx)
{
    struct pace *pace = ctx;
    struct hist hist = {0};
    struct job *jobs = mem_zero(CLAIM_MAX * sizeof *jobs);
    while (pace_on(pace)) {
        size_t count = 0;
        pthread_mutex_lock(&pace->lock);
        while (pace->count && count < CLAIM_MAX && pace->in_hand[pace->first].due_at <= clock_now().wall_ms) {
            jobs[count++] = pace->in_hand[pace->first];
            pace->first = (pace->first + 1) % IN_HAND_MAX;
            pace->count--;
        }
        pthread_mutex_unlock(&pace->lock);
        if (count)
            change_jobs(pace->bench, &hist, jobs, count, finish_job);
        pace->finished += (int64_t)count;
        sleep_ms(5);
    }
    mem_free(jobs);
    return NULL;
}

// What is in hand at the end stays there for the next `pace`.
static int64_t pace(struct bench *bench, int64_t rate, int64_t seconds)
{
    static struct pace pace = {.lock = PTHREAD_MUTEX_INITIALIZER};
    void *(*const threads[])(void *ctx) = {pace_add, pace_claim, pace_look, pace_finish};
    pthread_t started[array_count(threads)] = {0};
    pace.bench = bench;
    pace.rate = rate;
    pace.finished = 0;
    pace.end_ns = clock_mono_ns() + seconds * 1000000000;
    if (!bench->lane) // the first claim needs one
        plan(bench, 1, 0);
    for (size_t i = 0; i < array_count(threads); i++)
        if (pthread_create(&started[i], NULL, threads[i], &pace))
            die("bench_store: no thread");
    for (size_t i = 0; i < array_count(threads); i++)
        pthread_join(started[i], NULL);
    return pace.finished;
}

// ---- churn

static void beat(struct bench *bench)
{
    struct store_beat beat = {.incarnation = bench->incarnation};
    struct hist hist = {0};
    store_op_init(&beat.op, STORE_BEAT, NULL);
    timed_call(bench, &hist, &beat.op);
    store_op_done(&beat.op);
}

static void find_lane(struct bench *bench)
{
    size_t no = (size_t)bench->lane_no;
    struct store_lanes lanes = {.dispatch = TARGET_CALLED, .max = no + 1};
    struct hist hist = {0};
    store_op_init(&lanes.op, STORE_LANES, NULL);
    timed_call(bench, &hist, &lanes.op);
    if (lanes.lane_count <= no)
        die("bench_store: there is no lane to claim from");
    bench->lane = lanes.lanes[no].id;
    store_op_done(&lanes.op);
}

static int64_t churn(struct bench *bench, int64_t seconds, int64_t rate)
{
    int64_t began_ns = clock_mono_ns(), end_ns = began_ns + seconds * 1000000000, beat_ns = 0, next_due, count = 0;
    struct job *jobs = mem_zero((size_t)bench->batch * sizeof *jobs);
    find_lane(bench);
    while (clock_mono_ns() < end_ns) {
        if (clock_mono_ns() >= beat_ns) { // who is silent is declared dead by the rota beside
            beat(bench);
            beat_ns = clock_mono_ns() + BEAT_MS * 1000000ll;
        }
        size_t n =
            claim_jobs(bench, &bench->calls, jobs, (size_t)bench->batch, 0, clock_now().wall_ms, TIME_NEVER - 1, &next_due);
        if (n)
            change_jobs(bench, &bench->calls, jobs, n, give_back_job);
        count += (int64_t)n;
        if (rate) // what it is behind it makes up for
            sleep_ms(count * 1000 / rate - (clock_mono_ns() - began_ns) / 1000000);
    }
    mem_free(jobs);
    return count;
}

// ----

static const struct command {
    const char *name;
    int64_t (*run)(struct bench *bench, int64_t first, int64_t second);
} commands[] = {{"plan", plan},     {"soon", soon}, {"hold", hold},  {"claim", claim},
                {"finish", finish}, {"pace", pace}, {"churn", churn}};

static double cpu_us(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void run(struct bench *bench, const struct command *command, int64_t first, int64_t second)
{
    bench->calls = (struct hist){0};
    double cpu = cpu_us();
    int64_t began = clock_mono_ns(), count = command->run(bench, first, second);
    printf("{\"count\":%ld,\"seconds\":%.3f,\"cpu_us\":%.0f,\"calls\":%lu,\"p50_us\":%ld,\"p99_us\":%ld,\"p999_us\":%ld,\"max_"
           "us\":%ld}\n",
           count, (double)(clock_mono_ns() - began) / 1e9, cpu_us() - cpu, bench->calls.count,
           hist_quantile_us(&bench->calls, 0.5), hist_quantile_us(&bench->calls, 0.99), hist_quantile_us(&bench->calls, 0.999),
           bench->calls.max_us);
    fflush(stdout);
}

static void obey(struct bench *bench, const char *line)
{
    char name[20] = "";
    long long first = 0, second = 0;
    sscanf(line, "%19s %lld %lld", name, &first, &second);
    for (size_t i = 0; i < array_count(commands); i++)
        if (strcmp(commands[i].name, name) == 0) {
            run(bench, &commands[i], first, second);
            return;
        }
    die("bench_store: there is no command %s", name);
}

static void join(struct bench *bench)
{
    struct store_join join = {.incarnation = bench->incarnation, .now_ms = clock_now().wall_ms};
    struct hist hist = {0};
    store_op_init(&join.op, STORE_JOIN, NULL);
    timed_call(bench, &hist, &join.op);
    bench->next_id = join.id_floor > 512 ? join.id_floor : (1LL << 60);
    store_op_done(&join.op);
}

int main(int argc, char **argv)
{
    static struct bench bench = {.batch = 500};
    const char *url = NULL;
    char why[ERR_WHY_MAX] = "", line[100];
    const struct option_row rows[] = {
        {.name = "store", .text = &url, .help = "URL  sqlite:DIR or postgres://…"},
        {.name = "batch", .number = &bench.batch, .help = "N    jobs in one call (500)"},
        {.name = "lane", .number = &bench.lane_no, .help = "N     churn: the lane, in the order in which they were made (0)"},
    };
    options_read(argc, argv, rows, array_count(rows));
    if (!url || bench.batch < 1 || bench.lane_no < 0 || store_open(&bench.store, url, why))
        die("bench_store: --store URL and a batch of 1 or more are needed: %s", why);
    rand_init(&bench.rand, 1);
    bench.incarnation = clock_wall_ns();
    bench.now_ms = clock_now().wall_ms + 30 * day_ms;
    join(&bench);
    while (fgets(line, sizeof line, stdin))
        obey(&bench, line);
    store_close(bench.store);
    mem_free(bench.jobs);
    return 0;
}

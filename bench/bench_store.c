// What the store costs: CPU a task for added + claimed + finished, and for the push path (added already held + finished),
// in batches, on a directory of the disk that is given. Prints; asserts nothing about time. With "random" the due times are in
// no order, as planned jobs are: then each claimed row lies on a page of its own.
//
//   bench_store sqlite:DIR [tasks] [batch] [random]
//   tests/support/postgres.py bench_store postgres [tasks] [batch] [random]     the CPU of PostgreSQL's processes is told apart
#include "base/clock.h"
#include "base/rand.h"
#include "store/store.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { HOLDER = 12345 };

struct bench {
    struct store *store;
    size_t tasks, batch;
    int64_t next_id, lane;
    struct job *jobs;
    bool random;
    struct rand rand;
};

static double cpu_us(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

// Of the process and of its children that have ended.
static double cpu_of_process(int pid)
{
    char path[64], text[1024];
    unsigned long long own, system, dead, dead_system;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    const char *end = fgets(text, sizeof text, file) ? strrchr(text, ')') : NULL;
    fclose(file);
    if (!end || sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu", &own, &system, &dead,
                       &dead_system) != 4)
        return 0;
    return (double)(own + system + dead + dead_system) * 1e6 / (double)sysconf(_SC_CLK_TCK);
}

// Of all processes of the cluster that postgres.py has made; 0 when there is none.
static double cpu_postgres_us(void)
{
    const char *dir = getenv("ROTA_TEST_POSTGRES_DIR");
    char path[200];
    int postmaster = 0, child;
    snprintf(path, sizeof path, "%s/data/postmaster.pid", dir ? dir : "");
    FILE *file = dir ? fopen(path, "r") : NULL;
    if (!file)
        return 0;
    bool found = fscanf(file, "%d", &postmaster) == 1;
    fclose(file);
    double sum = cpu_of_process(postmaster);
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", postmaster, postmaster);
    file = found ? fopen(path, "r") : NULL;
    while (file && fscanf(file, "%d", &child) == 1)
        sum += cpu_of_process(child);
    if (file)
        fclose(file);
    return sum;
}

static void add_batch(struct bench *bench, size_t first, bool held)
{
    static char doc[] =
        "{\"url\":\"http://127.0.0.1:8080/hook\",\"method\":\"POST\",\"headers\":{\"content-type\":\"application/json\"},"
        "\"body\":{\"order\":123456,\"who\":\"somebody\",\"note\":\"a usual body of a usual task\"}}";
    struct store_add add = {.now_ms = 1, .holder = held ? HOLDER : 0, .count = bench->batch};
    store_op_init(&add.op, STORE_ADD, NULL);
    struct store_task *tasks = arena_array(&add.op.arena, struct store_task, bench->batch);
    add.items = arena_array(&add.op.arena, struct store_new, bench->batch);
    for (size_t i = 0; i < bench->batch; i++) {
        struct job *job = &bench->jobs[first + i];
        int64_t now = 1763200000000 + (int64_t)(bench->random ? rand_below(&bench->rand, bench->tasks) : first + i);
        *job = (struct job){.id = bench->next_id += 512, .tenant = 1, .token = 1, .priority = 5, .due_at = now, .ready_at = now};
        job->task_id = job->id;
        job->scheduled_at = now;
        job->state = held ? JOB_WATCHING : JOB_READY;
        job->holder = held ? HOLDER : 0;
        job->picked_at = held ? now : 0;
        tasks[i] =
            (struct store_task){.id = job->id, .tenant = 1, .created_at = now, .queue = STR("default"), .doc = str_of(doc)};
        add.items[i] = (struct store_new){.task = &tasks[i], .jobs = job, .job_count = 1};
    }
    store_call(bench->store, &add.op);
    assert(!add.op.err);
    bench->lane = bench->jobs[first].lane;
    store_op_done(&add.op);
}

static void claim_batch(struct bench *bench, size_t first)
{
    struct store_want want = {.lane = bench->lane, .max = bench->batch};
    struct store_claim claim = {.holder = HOLDER,
                                .now_ms = 1763200000000 + (int64_t)first + 60000,
                                .until_ms = TIME_NEVER - 1,
                                .wants = &want,
                                .want_count = 1};
    store_op_init(&claim.op, STORE_CLAIM, NULL);
    store_call(bench->store, &claim.op);
    assert(!claim.op.err && claim.job_count == bench->batch);
    for (size_t i = 0; i < claim.job_count; i++)
        bench->jobs[first + i] = claim.jobs[i].job;
    store_op_done(&claim.op);
}

static void finish_batch(struct bench *bench, size_t first)
{
    struct store_change change = {.count = bench->batch};
    store_op_init(&change.op, STORE_CHANGE, NULL);
    change.steps = arena_array(&change.op.arena, struct store_step, bench->batch);
    struct job_policy policy = {.ttl_ms = 7LL * 86400 * 1000, .sla_ms = 30000};
    struct job_result result = {.outcome = OUTCOME_SUCCESS, .status = 200, .response = STR("{\"ok\":true}")};
    for (size_t i = 0; i < bench->batch; i++) {
        struct job *job = &bench->jobs[first + i];
        struct job_step step;
        change.steps[i] = (struct store_step){.token = job->token, .job = job};
        result.completed_at = job->due_at + 20;
        enum err err = job_start(job, &policy, job->due_at + 10);
        err = err ? err : job_finish(job, &policy, &result, 0, &step);
        assert(!err);
    }
    store_call(bench->store, &change.op);
    assert(!change.op.err && !change.steps[bench->batch - 1].err);
    store_op_done(&change.op);
}

struct cost {
    double rota, postgres;
};

static void print_cost(const char *name, struct cost cost)
{
    printf("%-16s %6.2f us CPU a task", name, cost.rota + cost.postgres);
    if (cost.postgres > 0)
        printf(" (rota %.2f, PostgreSQL %.2f)", cost.rota, cost.postgres);
}

static struct cost run_part(struct bench *bench, const char *name, void (*part)(struct bench *bench, size_t first))
{
    double before = cpu_us(), before_postgres = cpu_postgres_us();
    int64_t began = clock_mono_ns();
    for (size_t first = 0; first < bench->tasks; first += bench->batch)
        part(bench, first);
    struct cost cost = {(cpu_us() - before) / (double)bench->tasks, (cpu_postgres_us() - before_postgres) / (double)bench->tasks};
    print_cost(name, cost);
    printf(", %8.0f a second\n", (double)bench->tasks * 1e9 / (double)(clock_mono_ns() - began));
    return cost;
}

struct part {
    const char *name;
    void (*run)(struct bench *bench, size_t first);
};

static void run_all(struct bench *bench, const char *name, size_t count, const struct part *parts)
{
    struct cost sum = {0};
    for (size_t i = 0; i < count; i++) {
        struct cost cost = run_part(bench, parts[i].name, parts[i].run);
        sum.rota += cost.rota;
        sum.postgres += cost.postgres;
    }
    print_cost(name, sum);
    printf("\n");
}

static void add_waiting(struct bench *bench, size_t first)
{
    add_batch(bench, first, false);
}

static void add_held(struct bench *bench, size_t first)
{
    add_batch(bench, first, true);
}

int main(int argc, char **argv)
{
    char why[ERR_WHY_MAX] = "";
    struct bench bench = {.tasks = argc > 2 ? strtoul(argv[2], NULL, 10) : 10000,
                          .batch = argc > 3 ? strtoul(argv[3], NULL, 10) : 500};
    const char *url = argc > 1 && strcmp(argv[1], "postgres") == 0 ? getenv("ROTA_TEST_POSTGRES") : argv[1];
    if (argc < 2 || !url || !bench.batch || bench.tasks % bench.batch || store_open(&bench.store, url, why)) {
        fprintf(stderr, "bench_store sqlite:DIR [tasks] [batch] [random]: %s\n", argc < 2 ? "" : why);
        return 2;
    }
    bench.random = argc > 4;
    rand_init(&bench.rand, 1);
    struct store_join join = {.incarnation = HOLDER};
    store_op_init(&join.op, STORE_JOIN, NULL);
    store_call(bench.store, &join.op);
    bench.next_id = join.id_floor > 512 ? join.id_floor : (1LL << 60);
    bench.jobs = mem_zero(bench.tasks * sizeof *bench.jobs);
    run_all(&bench, "whole", 3, (struct part[]){{"add", add_waiting}, {"claim", claim_batch}, {"finish", finish_batch}});
    run_all(&bench, "push path", 2, (struct part[]){{"add held", add_held}, {"finish", finish_batch}});
    store_op_done(&join.op);
    store_close(bench.store);
    mem_free(bench.jobs);
    return 0;
}

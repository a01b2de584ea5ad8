// What core/schedule/cron says of patterns, as lines that cron_oracle.py compares with code of its own.
//
// cron_lines ZONE, with lines on stdin, each answered by one line:
//   runs GAP OVERLAP FROM UNTIL PATTERN   the instants behind FROM and up to UNTIL: run_after|skip, first|last|both
//   words PATTERN                         what it says in words
// cron_lines --cost ZONE…: how long cron_next() takes in these zones, in nanoseconds.
#include "base/mem.h"
#include "core/schedule/cron.h"
#include "zone_file.h"

#include <inttypes.h>
#include <time.h>

static struct cron parsed(const char *pattern)
{
    struct cron cron;
    char why[ERR_WHY_MAX];
    enum err err = cron_parse(str_of(pattern), 0, &cron, why);
    if (err && err != ERR_CRON_NEVER) {
        fprintf(stderr, "%s: %s\n", pattern, why);
        exit(1);
    }
    return cron;
}

static void say_runs(const struct zone *zone, const char *line)
{
    char gap[16], overlap[16];
    int64_t at_s, until_s;
    int read = 0;
    if (sscanf(line, "%15s %15s %" SCNd64 " %" SCNd64 " %n", gap, overlap, &at_s, &until_s, &read) != 4 || !read)
        exit(2);
    struct cron cron = parsed(line + read);
    enum cron_gap in_gap = strcmp(gap, "skip") == 0 ? CRON_GAP_SKIP : CRON_GAP_RUN_AFTER;
    enum cron_overlap in_overlap = strcmp(overlap, "first") == 0  ? CRON_OVERLAP_FIRST
                                   : strcmp(overlap, "last") == 0 ? CRON_OVERLAP_LAST
                                                                  : CRON_OVERLAP_BOTH;
    while ((at_s = cron_next(&cron, zone, in_gap, in_overlap, at_s)) <= until_s)
        printf("%" PRId64 " ", at_s);
}

static void say_words(const char *pattern)
{
    struct cron cron = parsed(pattern);
    buf_auto struct buf buf = {0};
    cron_describe(&cron, &buf);
    printf(STR_FMT, STR_ARG(buf_str(&buf)));
}

static void answer(const struct zone *zone)
{
    char line[4096];
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        if (strncmp(line, "runs ", 5) == 0)
            say_runs(zone, line + 5);
        else if (strncmp(line, "words ", 6) == 0)
            say_words(line + 6);
        else
            exit(2);
        putchar('\n');
    }
}

// ---- cost

static const char *const patterns[] = {
    "* * * * *",
    "*/15 9-17 * * MON-FRI",
    "0 0 * * *",
    "30 2 * * *",
    "@monthly",
    "@yearly",
    "0 0 L * *",
    "0 12 15W * *",
    "0 0 * * FRI#L",
    "0 0 13 * +FRI",
    "0 0 29 2 *",
    "0 0 29 2 +MON",
    "*/10 * * * * *",
    "0 0 0 1 1 * 2199",
    "0 0 * 2 SUN#5",
    "0 12 1 * MON",
    "5,35 6-22/4 * * *",
    "0 0 31W 1 +FRI",
    "0 0 0 29 2 +MON 2072",
    "0 0 0 31 12 * 2150-2199",
};

// Of this thread alone, so that what else the machine does counts as little as it can.
static int64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

enum { CALLS = 20000, TRIES = 5 };

// The slowest call, where each is timed several times and the quickest counts: what else the machine does is not asked.
static int64_t slowest_ns(const struct cron *cron, const struct zone *zone, enum cron_overlap overlap, int64_t from_s,
                          int64_t until_s)
{
    int64_t slowest = 0;
    for (int i = 0; i < CALLS / 10; i++) {
        int64_t least = INT64_MAX, at_s = from_s + i * INT64_C(7919) * 104729 % (until_s - from_s);
        for (int k = 0; k < TRIES; k++) {
            int64_t began = cpu_ns();
            cron_next(cron, zone, CRON_GAP_RUN_AFTER, overlap, at_s);
            int64_t taken = cpu_ns() - began;
            least = taken < least ? taken : least;
        }
        slowest = least > slowest ? least : slowest;
    }
    return slowest;
}

static void say_cost(const char *name, const struct zone *zone, int64_t from_s, int64_t until_s)
{
    int64_t sum = 0, worst = 0, total = 0, worst_mean = 0;
    const char *worst_pattern = "", *worst_mean_pattern = "";
    for (size_t i = 0; i < array_count(patterns); i++) {
        struct cron cron = parsed(patterns[i]);
        int64_t began = cpu_ns();
        for (int k = 0; k < CALLS; k++)
            sum += cron_next(&cron, zone, CRON_GAP_RUN_AFTER, CRON_OVERLAP_FIRST,
                             from_s + k * INT64_C(7919) * 104729 % (until_s - from_s));
        int64_t mean = (cpu_ns() - began) / CALLS, slowest = slowest_ns(&cron, zone, CRON_OVERLAP_LAST, from_s, until_s);
        total += mean;
        if (mean > worst_mean) {
            worst_mean = mean;
            worst_mean_pattern = patterns[i];
        }
        if (slowest > worst) {
            worst = slowest;
            worst_pattern = patterns[i];
        }
    }
    printf("%s: mean %" PRId64 " ns, of \"%s\" %" PRId64 " ns; worst call %" PRId64 " ns of \"%s\" (%d)\n", name,
           total / (int64_t)array_count(patterns), worst_mean_pattern, worst_mean, worst, worst_pattern, (int)(sum & 1));
}

int main(int argc, char **argv)
{
    bool cost = argc > 1 && strcmp(argv[1], "--cost") == 0;
    for (int i = 1 + cost; i < argc; i++) {
        struct arena arena;
        arena_init(&arena);
        const struct zone *zone = zone_file(argv[i], &arena);
        if (cost)
            say_cost(argv[i], zone, INT64_C(1767225600), INT64_C(2208988800)); // 2026 to 2040
        else
            answer(zone);
        arena_done(&arena);
    }
    return 0;
}

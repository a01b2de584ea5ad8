// Tables of patterns and their next runs, for the tests of core/schedule/cron.
#pragma once
#include "base/text/when.h"
#include "core/schedule/cron.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { RUNS_MAX = 6 };

static inline int64_t seconds(const char *text)
{
    char whole[WHEN_TEXT_SIZE];
    int64_t ms;
    snprintf(whole, sizeof whole, "%s%s", text, strlen(text) == 16 ? ":00Z" : "Z"); // "2026-01-31T08:00", and with seconds
    if (!when_parse(str_of(whole), &ms))
        fail_msg("%s is no time", text);
    return ms / 1000;
}

static inline struct cron parsed(const char *pattern, uint64_t hash)
{
    struct cron cron;
    char why[ERR_WHY_MAX];
    if (cron_parse(str_of(pattern), hash, &cron, why))
        fail_msg("%s: %s", pattern, why);
    return cron;
}

static inline const char *shown(int64_t at_s)
{
    static char text[WHEN_TEXT_SIZE];
    when_format(text, at_s * 1000);
    text[strlen("2026-01-31T08:00:00")] = 0;
    return at_s == INT64_MAX ? "never" : text;
}

// A pattern and its next runs after a time; all times are UTC.
struct row {
    const char *pattern, *after, *runs[RUNS_MAX];
};

static inline void check_row(const struct row *row, const struct cron *cron, const struct zone *zone, enum cron_gap gap,
                             enum cron_overlap overlap)
{
    int64_t at_s = seconds(row->after);
    for (size_t k = 0; k < RUNS_MAX && row->runs[k]; k++) {
        int64_t wanted_s = strcmp(row->runs[k], "never") == 0 ? INT64_MAX : seconds(row->runs[k]);
        at_s = cron_next(cron, zone, gap, overlap, at_s);
        if (at_s != wanted_s)
            fail_msg("%s: run %zu is %s, not %s", row->pattern, k + 1, shown(at_s), row->runs[k]);
    }
}

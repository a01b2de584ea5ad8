// core/schedule/cron: what is parsed fires at times that go up and that its fields have, and says something of itself. Input: one
// byte for a zone, a gap and an overlap, then the pattern.
#include "base/calendar.h"
#include "core/schedule/cron.h"
#include "core/schedule/zone.h"
#include "fuzz.h"
#include "schedule/zone_file.h"

enum { RUNS = 8, DAY_S = 24 * 3600 };

static const struct zone *pick_zone(unsigned which)
{
    static struct arena arena;
    static const struct zone *zones[4];
    if (!zones[0]) {
        arena_init(&arena);
        zones[0] = &zone_utc;
        zones[1] = zone_file("Europe/Berlin", &arena);
        zones[2] = zone_file("Australia/Lord_Howe", &arena);
        zones[3] = zone_file("Pacific/Apia", &arena);
    }
    return zones[which % 4];
}

// Whether the fields have what the wall clock shows, read one by one.
static bool fits(const struct cron *cron, int64_t wall_s)
{
    int64_t day = calendar_day_of(wall_s);
    int second = (int)(wall_s - day * DAY_S);
    struct calendar_date date = calendar_date(day);
    int first_weekday = calendar_weekday(calendar_days(date.year, date.month, 1)), year = date.year - CRON_YEAR_MIN;
    uint32_t days = cron_month_days(cron, first_weekday, calendar_month_days(date.year, date.month));
    return cron->seconds >> second % 60 & 1 && cron->minutes >> second / 60 % 60 & 1 && cron->hours >> second / 3600 & 1 &&
           days >> date.day & 1 && cron->months >> date.month & 1 && cron->years[year / 64] >> year % 64 & 1;
}

// A run that does not fit is right behind a gap, which has swallowed it.
static bool is_behind_gap(const struct zone *zone, int64_t at_s)
{
    struct zone_span span = zone_span_at(zone, at_s);
    return span.from_s == at_s && zone_span_at(zone, at_s - 1).offset_s < span.offset_s;
}

static void check_runs(const struct cron *cron, const struct zone *zone, enum cron_gap gap, enum cron_overlap overlap,
                       int64_t after_s)
{
    for (int i = 0; i < RUNS && after_s != INT64_MAX; i++) {
        int64_t at_s = cron_next(cron, zone, gap, overlap, after_s);
        must(at_s > after_s);
        if (at_s == INT64_MAX)
            return;
        must(cron_next(cron, zone, gap, overlap, at_s - 1) == at_s);
        bool swallowed = gap == CRON_GAP_RUN_AFTER && !cron->elapsed && is_behind_gap(zone, at_s);
        must(fits(cron, at_s + zone_span_at(zone, at_s).offset_s) || swallowed);
        after_s = at_s;
    }
}

static void check_words(const struct cron *cron)
{
    struct buf buf = {0};
    cron_describe(cron, &buf);
    must(buf.n > 0);
    for (size_t i = 0; i < buf.n; i++)
        must(buf.p[i] >= ' ' && buf.p[i] <= '~');
    buf_done(&buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cron cron;
    char why[ERR_WHY_MAX] = "";
    if (!size)
        return 0;
    struct str text = fuzz_input(data + 1, size - 1);
    enum err err = cron_parse(text, 0x0123456789abcdef, &cron, why);
    must(!err == !why[0]);
    if (err && err != ERR_CRON_NEVER) {
        must(err == ERR_INVALID_FIELD);
        return 0;
    }
    const struct zone *zone = pick_zone(data[0]);
    enum cron_gap gap = (enum cron_gap)(data[0] / 4 % 2);
    enum cron_overlap overlap = (enum cron_overlap)(data[0] / 8 % 3);
    check_words(&cron);
    must((cron_next(&cron, &zone_utc, gap, overlap, INT64_MIN) == INT64_MAX) == (err == ERR_CRON_NEVER));
    check_runs(&cron, zone, gap, overlap, INT64_C(1767225600)); // 2026
    check_runs(&cron, zone, gap, overlap, INT64_C(1774700000)); // before a gap in Berlin
    check_runs(&cron, zone, gap, overlap, INT64_C(1325100000)); // before the day that Samoa skipped
    check_runs(&cron, zone, gap, overlap, INT64_C(7226582400)); // 2199
    return 0;
}

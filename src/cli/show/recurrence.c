// The words of a choice are those of its field, so that whoever reads them knows what to give to change them.
#include "cli/show/recurrence.h"

#include "base/mem.h"
#include "cli/show/member.h"
#include "cli/show/text.h"
#include "core/id.h"
#include "core/task/recurrence.h"

enum { DAYS_SHOWN = 10 };

// A member behind words, or nothing when there is no such member.
static void put_with(struct buf *buf, const struct show *show, const struct value *task, const char *words, const char *path)
{
    if (!value_at(task, path))
        return;
    buf_puts(buf, words);
    member_put_text(buf, show, task, path);
}

static void put_jitter(struct buf *buf, const struct show *show, const struct value *task)
{
    if (!str_is(value_text(value_at(task, "jitter")), "0s"))
        put_with(buf, show, task, ", put off by up to ", "jitter");
}

void recurrence_put_schedule(struct buf *buf, const struct show *show, const struct value *task, const char *path)
{
    put_with(buf, show, task, "", "cron");
    put_with(buf, show, task, "every ", "every");
    put_with(buf, show, task, " from ", "anchor");
    if (value_at(task, "cron"))
        put_with(buf, show, task, " in ", "timezone");
    put_jitter(buf, show, task);
}

// The pattern in words. A pattern that this version cannot read is shown as it is.
static bool put_cron_words(struct buf *buf, const struct value *task)
{
    struct cron cron;
    char why[ERR_WHY_MAX];
    int64_t id = 0;
    struct str text = value_text(value_at(task, "cron"));
    if (!text.n || !id_parse(value_text(value_at(task, "id")), ID_TASK, &id) ||
        cron_parse(text, recurrence_hash(value_text(value_at(task, "name")), id), &cron, why))
        return false;
    cron_describe(&cron, buf);
    return true;
}

void recurrence_put_words(struct buf *buf, const struct show *show, const struct value *task, const char *path)
{
    if (!put_cron_words(buf, task)) {
        recurrence_put_schedule(buf, show, task, path);
        return;
    }
    if (!str_is(value_text(value_at(task, "timezone")), "UTC"))
        put_with(buf, show, task, " in ", "timezone");
    put_jitter(buf, show, task);
}

void recurrence_put_missed(struct buf *buf, const struct show *show, const struct value *task, const char *path)
{
    put_with(buf, show, task, "", "misfire");
    put_with(buf, show, task, ", up to ", "misfire_window");
    if (value_at(task, "misfire_window"))
        buf_puts(buf, " late");
}

void recurrence_put_overlap(struct buf *buf, const struct show *show, const struct value *task, const char *path)
{
    int64_t most = value_int(value_at(task, "max_active"), 0);
    put_with(buf, show, task, "", "overlap");
    if (most > 0)
        buf_printf(buf, ", %lld at once", (long long)most);
}

void recurrence_put_clocks(struct buf *buf, const struct show *show, const struct value *task, const char *path)
{
    put_with(buf, show, task, "skipped times: ", "dst_gap");
    put_with(buf, show, task, ", times that come twice: ", "dst_overlap");
}

void recurrence_put_excluded(struct buf *buf, const struct show *show, const struct value *task, const char *path)
{
    const struct value *days = value_at(task, path);
    size_t count = value_count(days);
    for (size_t i = 0; i < count && i < DAYS_SHOWN; i++) {
        buf_puts(buf, i ? ", " : "");
        text_put_short(buf, value_text(value_item(days, i)), MEMBER_TEXT_MAX);
    }
    if (count > DAYS_SHOWN)
        buf_printf(buf, " and %zu more", count - DAYS_SHOWN);
    if (count && !value_at(task, "cron")) // whose schedule has shown the zone
        put_with(buf, show, task, " in ", "timezone");
    if (count > DAYS_SHOWN)
        buf_puts(buf, " (see -o json)");
}

void recurrence_put_bounds(struct buf *buf, const struct show *show, const struct value *task, const char *path)
{
    static const struct {
        const char *words, *path;
    } times[] = {{"from ", "starts_at"}, {"until ", "ends_at"}};
    const char *between = "";
    int64_t runs = value_int(value_at(task, "max_runs"), 0);
    for (size_t i = 0; i < array_count(times); i++) {
        if (!value_at(task, times[i].path))
            continue;
        buf_printf(buf, "%s%s", between, times[i].words);
        member_put_time(buf, show, task, times[i].path);
        between = ", ";
    }
    if (runs > 0)
        buf_printf(buf, "%s%lld runs at most", between, (long long)runs);
}

void recurrence_put_pauses(struct buf *buf, const struct show *show, const struct value *task, const char *path)
{
    int64_t failures = value_int(value_at(task, "pause_after_failures"), 0);
    if (failures > 0)
        buf_printf(buf, "after %lld failed jobs in a row", (long long)failures);
}

void recurrence_put_paused(struct buf *buf, const struct show *show, const struct value *task, const char *path)
{
    if (!value_text(value_at(task, "paused.since")).n)
        return;
    buf_puts(buf, "since ");
    member_put_time(buf, show, task, "paused.since");
    buf_puts(buf, str_is(value_text(value_at(task, "paused.by")), "failures") ? ", by itself after failures" : ", by hand");
    if (value_text(value_at(task, "paused.note")).n)
        put_with(buf, show, task, ": ", "paused.note");
}

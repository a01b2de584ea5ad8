// Skips as text: "misfire 1000 2000 3;", with the first and the last instant and how many there are. A plan has few of them, and
// most have none, so they are one text of the plan and not rows of their own.
#include "core/schedule/plan_skips.h"

#include "base/clock.h"

enum { DIGITS_MAX = 18, CUT_MAX = 20000 };

static const char *const reasons[PLAN_REASON_COUNT] = {
    [PLAN_MISFIRE] = "misfire",   [PLAN_OVERLAP] = "overlap", [PLAN_PAUSED] = "paused",
    [PLAN_EXCLUDED] = "excluded", [PLAN_WINDOW] = "window",
};

const char *plan_reason_text(enum plan_reason reason)
{
    return reasons[reason];
}

// ---- text

static bool read_reason(struct str text, enum plan_reason *ret_reason)
{
    for (int i = 0; i < PLAN_REASON_COUNT; i++) {
        if (str_is(text, reasons[i])) {
            *ret_reason = (enum plan_reason)i;
            return true;
        }
    }
    return false;
}

static bool read_number(struct str text, int64_t *ret_number)
{
    *ret_number = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (!str_is_digit(text.p[i]) || i == DIGITS_MAX)
            return false;
        *ret_number = *ret_number * 10 + (text.p[i] - '0');
    }
    return text.n > 0;
}

static bool read_skip(struct str text, struct plan_skip *ret_skip)
{
    return read_reason(str_cut(&text, ' '), &ret_skip->reason) && read_number(str_cut(&text, ' '), &ret_skip->from) &&
           read_number(str_cut(&text, ' '), &ret_skip->to) && read_number(text, &ret_skip->count);
}

size_t plan_skips_read(struct str text, struct plan_skip ret_skips[PLAN_SKIPS_MAX])
{
    size_t count = 0;
    while (text.n) {
        if (count == PLAN_SKIPS_MAX || !read_skip(str_cut(&text, ';'), &ret_skips[count]))
            return 0;
        count++;
    }
    return count;
}

void plan_skips_write(const struct plan_skip *skips, size_t count, struct buf *buf)
{
    for (size_t i = 0; i < count; i++)
        buf_printf(buf, "%s %lld %lld %lld;", reasons[skips[i].reason], (long long)skips[i].from, (long long)skips[i].to,
                   (long long)skips[i].count);
}

void plan_skips_load(struct plan_skips *skips, const struct plan *plan)
{
    skips->count = plan_skips_read(plan->skips, skips->skips);
}

void plan_skips_save(const struct plan_skips *skips, struct plan *plan, struct arena *arena)
{
    buf_auto struct buf text = {0};
    plan_skips_write(skips->skips, skips->count, &text);
    if (!str_eq(buf_str(&text), plan->skips))
        plan->skips = arena_copy(arena, buf_str(&text));
}

// ---- adding

// Whether two skips are one: nothing lies between the instants of both, and they have one reason.
static bool are_neighbours(const struct schedule *schedule, const struct plan_skip *skip, const struct plan_skip *next)
{
    return skip->reason == next->reason && schedule_next(schedule, skip->to).at_ms == next->from;
}

static void merge_with_next(struct plan_skips *skips, const struct schedule *schedule, size_t at)
{
    struct plan_skip *skip = &skips->skips[at];
    if (at + 1 >= skips->count || !are_neighbours(schedule, skip, skip + 1))
        return;
    skip->to = skip[1].to;
    skip->count += skip[1].count;
    memmove(skip + 1, skip + 2, (--skips->count - at - 1) * sizeof *skip);
}

static size_t insert(struct plan_skips *skips, struct plan_skip skip, size_t at)
{
    if (skips->count == PLAN_SKIPS_MAX) {
        memmove(skips->skips, skips->skips + 1, --at * sizeof skip);
    } else {
        memmove(skips->skips + at + 1, skips->skips + at, (skips->count - at) * sizeof skip);
        skips->count++;
    }
    skips->skips[at] = skip;
    return at;
}

void plan_skips_add(struct plan_skips *skips, const struct schedule *schedule, struct plan_skip skip)
{
    size_t at = skips->count;
    while (at && skips->skips[at - 1].from > skip.from)
        at--;
    if (at && skip.to <= skips->skips[at - 1].to)
        return;
    if (!at && skips->count == PLAN_SKIPS_MAX)
        return; // it is the oldest, and there are enough that are younger
    at = insert(skips, skip, at);
    merge_with_next(skips, schedule, at);
    if (at)
        merge_with_next(skips, schedule, at - 1);
}

void plan_skip(struct plan *plan, const struct schedule *schedule, struct plan_skip skip, struct arena *arena)
{
    struct plan_skips skips;
    plan_skips_load(&skips, plan);
    plan_skips_add(&skips, schedule, skip);
    plan_skips_save(&skips, plan, arena);
}

// ---- cutting

// How many instants of a skip lie after `through_ms`. The schedule that the skip was made by may be another one: then it is a
// guess.
static int64_t instants_cut(const struct schedule *schedule, const struct plan_skip *skip, int64_t through_ms)
{
    int64_t count = 0, at_ms = schedule_next(schedule, through_ms).at_ms;
    for (; at_ms <= skip->to && count < CUT_MAX; count++)
        at_ms = schedule_next(schedule, at_ms).at_ms;
    return count;
}

void plan_skips_cut(struct plan_skips *skips, const struct schedule *schedule, int64_t through_ms)
{
    while (skips->count && skips->skips[skips->count - 1].from > through_ms)
        skips->count--;
    struct plan_skip *last = skips->count ? &skips->skips[skips->count - 1] : NULL;
    if (!last || last->to <= through_ms)
        return;
    last->count = time_max(last->count - instants_cut(schedule, last, through_ms), 1);
    last->to = through_ms;
}

// Missing jobs as text: "ID INSTANT;" for each. The stores write it by a trigger of their database, because whoever removes a row
// with a tool of the database does not ask rota. So the text is as simple as a trigger can make it.
#include "base/clock.h"
#include "core/schedule/plan.h"

static bool read_number(struct str text, int64_t *ret_number)
{
    *ret_number = 0;
    for (size_t i = 0; i < text.n; i++) {
        int64_t digit = text.p[i] - '0';
        if (!str_is_digit(text.p[i]) || *ret_number > (INT64_MAX - digit) / 10)
            return false;
        *ret_number = *ret_number * 10 + digit;
    }
    return text.n > 0;
}

// Cuts off the first entry. One that cannot be read is passed over.
static bool cut_entry(struct str *text, struct str *ret_entry, int64_t *ret_id, int64_t *ret_instant)
{
    while (text->n) {
        struct str rest = *ret_entry = str_cut(text, ';');
        if (read_number(str_cut(&rest, ' '), ret_id) && read_number(rest, ret_instant))
            return true;
    }
    return false;
}

static void remove_id(const int64_t **ids, size_t *count, int64_t id, struct arena *arena)
{
    int64_t *left = arena_array(arena, int64_t, *count + 1);
    size_t n = 0;
    for (size_t i = 0; i < *count; i++)
        if ((*ids)[i] != id)
            left[n++] = (*ids)[i];
    if (n == *count)
        return;
    *ids = left;
    *count = n;
}

bool plan_take_missing(struct plan *plan, const struct schedule *schedule, struct arena *arena, struct plan_missing *ret_missing)
{
    struct str entry;
    int64_t id, instant;
    bool found = cut_entry(&plan->missing, &entry, &id, &instant);
    if (!plan->missing.n)
        plan->missing = (struct str){0};
    if (!found)
        return false;
    remove_id(&plan->active, &plan->active_count, id, arena);
    remove_id(&plan->queued, &plan->queued_count, id, arena);
    *ret_missing = (struct plan_missing){.job_id = id,
                                         .row = {.nominal_at = instant, .due_at = schedule_due(schedule, instant)},
                                         .owed = schedule_has_run(schedule, instant)};
    return true;
}

bool plan_forget_active(struct plan *plan, int64_t job_id, struct arena *arena)
{
    size_t before = plan->active_count;
    remove_id(&plan->active, &plan->active_count, job_id, arena);
    return plan->active_count < before;
}

size_t plan_forget_missing(struct plan *plan, int64_t after_ms, struct arena *arena)
{
    struct str text = plan->missing, entry;
    int64_t id, instant;
    size_t forgotten = 0;
    char *kept = arena_array(arena, char, text.n + 1);
    plan->missing = (struct str){0};
    while (cut_entry(&text, &entry, &id, &instant)) {
        if (instant > after_ms) {
            forgotten++;
            continue;
        }
        memcpy(kept + plan->missing.n, entry.p, entry.n);
        plan->missing = (struct str){kept, plan->missing.n + entry.n + 1};
        kept[plan->missing.n - 1] = ';';
    }
    return forgotten;
}

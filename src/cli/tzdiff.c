// The server does the same when it follows a newer tzdata (plan_change()): so many instants as are planned, counted from now on.
#include "cli/tzdiff.h"

#include "base/clock.h"

static bool is_among(int64_t at, const int64_t *instants, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (instants[i] == at)
            return true;
    return false;
}

static size_t list_runs(const struct schedule *schedule, int64_t now_ms, size_t count, int64_t *ret_runs)
{
    int64_t at = now_ms;
    size_t found = 0;
    while (found < count && (at = schedule_next_run(schedule, at, now_ms + TASK_HORIZON_MS)) != TIME_NEVER)
        ret_runs[found++] = at;
    return found;
}

size_t tzdiff_moves(const struct schedule *schedule, const int64_t *planned, size_t count, int64_t now_ms,
                    struct tzdiff_move ret_moves[TZDIFF_MAX])
{
    int64_t runs[TZDIFF_MAX];
    size_t run_count = list_runs(schedule, now_ms, count, runs), moves = 0, next = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_among(planned[i], runs, run_count))
            continue;
        while (next < run_count && is_among(runs[next], planned, count))
            next++;
        ret_moves[moves++] = (struct tzdiff_move){planned[i], next < run_count ? runs[next++] : 0};
    }
    return moves;
}

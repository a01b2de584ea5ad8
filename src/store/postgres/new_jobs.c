// Jobs that a statement adds, as rows of it. What is written with them is in new_jobs.h.
#include "store/postgres/new_jobs.h"

void pg_new_jobs_init(struct pg_new_jobs *list, struct arena *arena, size_t max)
{
    *list = (struct pg_new_jobs){0};
    list->jobs = arena_array(arena, const struct job *, max);
    list->items = arena_array(arena, int64_t, max);
}

void pg_new_jobs_put(struct pg_new_jobs *list, const struct job *jobs, size_t count, size_t item)
{
    for (size_t i = 0; i < count; i++) {
        list->final = list->final || job_state_final(jobs[i].state);
        list->held = list->held || job_in_hand(&jobs[i]);
        list->waiting = list->waiting || job_state_waiting(jobs[i].state);
        list->first = list->first || jobs[i].id == jobs[i].task_id;
        list->extra = list->extra || jobs[i].id != jobs[i].task_id;
        list->items[list->count] = (int64_t)item;
        list->jobs[list->count++] = &jobs[i];
    }
}

void pg_new_jobs_rows(const struct pg_new_jobs *list, struct pg_rows *rows, struct arena *arena)
{
    pg_rows_init(rows, arena, list->count);
    int64_t *items = pg_rows_ints(rows, "item");
    for (size_t i = 0; i < list->count; i++)
        items[i] = list->items[i];
    pg_rows_job(rows, list->jobs, pg_job_all & ~PG_BIT(lane));
    pg_rows_day(rows, list->jobs);
}

bool pg_ids_differ(const struct job *jobs, size_t count)
{
    for (size_t i = 1; i < count; i++)
        for (size_t k = 0; k < i; k++)
            if (jobs[k].id == jobs[i].id)
                return false;
    return true;
}

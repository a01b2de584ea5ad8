// The store filters by what it has in columns, and finds tasks by their tags. Labels, of which it knows only the tags, and what a
// state is at this moment are looked at here.
#include "flow/commands/match.h"

#include "base/log.h"

#include <assert.h>

struct store_list match_query(const struct filter *filter, int32_t tenant)
{
    bool jobs = filter->of == FILTER_JOBS;
    struct store_list list = {.tenant = tenant,
                              .jobs = jobs,
                              .states = filter_stored_states(filter),
                              .queue = filter->queue,
                              .name = filter->name,
                              .key = filter->key,
                              .bytes_max = MATCH_BYTES_MAX,
                              .recurring = filter->recurring == FILTER_RECURRING,
                              .docs = jobs && filter_needs_task(filter)};
    list.tag_count = tags_of_filter(filter, list.tags);
    return list;
}

bool match_read(const struct store_task *stored, struct task *ret_task, struct arena *arena)
{
    char why[ERR_WHY_MAX];
    if (task_read(ret_task, stored->doc, arena, why))
        return true;
    log_error("the stored document of task %lld cannot be read: %s", (long long)stored->id, why);
    return false;
}

// The jobs of each task lie together, in the order of the tasks.
static void take_row(struct match *match)
{
    const struct store_list *page = match->page;
    size_t row = match->rows_seen++;
    match->stored = page->jobs && !page->docs ? NULL : &page->tasks[row];
    match->jobs = &page->found[match->jobs_seen];
    match->job_count = page->jobs;
    while (!page->jobs && match->jobs_seen + match->job_count < page->found_count &&
           match->jobs[match->job_count].task_id == match->stored->id)
        match->job_count++;
    match->jobs_seen += match->job_count;
}

static enum job_sla sla_of(const struct match *match, const struct job *job)
{
    size_t count = match->page->attempt_count;
    const struct attempt *attempts = job_attempts(job->id, match->page->attempts, &count);
    return job_sla(job, attempts, count);
}

static bool row_matches(struct match *match)
{
    struct arena *arena = &match->page->op.arena;
    bool jobs = match->page->jobs;
    struct filter_row row = {.task = &match->task, .job = jobs ? match->jobs : task_job_to_show(match->jobs, match->job_count)};
    if (match->stored && !match_read(match->stored, &match->task, arena))
        return false;
    assert(jobs || match->stored); // only a page of jobs may come without its tasks
    row.recurring = !jobs && match->stored->plan;
    if (!jobs)
        row.words = task_words(match->stored->paused, plan_owes(match->stored->plan), match->jobs, match->job_count);
    if (row.job && match->filter->sla)
        row.sla = sla_of(match, row.job);
    return filter_takes(match->filter, &row, match->now_ms, arena);
}

bool match_next(struct match *match)
{
    size_t rows = match->page->jobs ? match->page->found_count : match->page->task_count;
    while (match->rows_seen < rows) {
        take_row(match);
        if (row_matches(match))
            return true;
    }
    return false;
}

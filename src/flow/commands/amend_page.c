// See amend_page.h. The newest jobs come first, as they were read. Those are claimed last, so hardly any amendment is refused.
#include "flow/commands/amend_page.h"

static struct map by_id(const struct store_get *get)
{
    struct map jobs = {0};
    for (size_t i = 0; i < get->job_count; i++)
        map_put(&jobs, get->jobs[i].id, &get->jobs[i]);
    return jobs;
}

static bool is_planned_anew(const struct job *was, const struct job *job)
{
    return job->nominal_at != was->nominal_at || job_state_final(job->state);
}

void amend_page_cut(struct store_amend *amend, const struct store_get *get, const struct command_past *past, bool ends)
{
    struct map jobs = by_id(get);
    size_t kept = 0, others = 0;
    for (size_t i = 0; i < amend->count; i++) {
        const struct job *job = amend->steps[i].job;
        bool must = !ends && is_planned_anew(map_get(&jobs, job->id), job);
        bool follows = !ends && command_is_noted(past, job->id);
        if (!must && (follows || others == AMEND_PAGE_JOBS))
            continue;
        others += !must;
        amend->steps[kept++] = amend->steps[i];
    }
    amend->count = kept;
    map_done(&jobs);
}

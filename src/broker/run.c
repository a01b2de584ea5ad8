// Makes, copies and frees runs. The document is copied behind the struct, so a run is one piece of memory, and the parsed task is
// slices of it; the arena is only touched where escapes were decoded or an earlier attempt left words.
#include "broker/run.h"

#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"

uint64_t run_host(const struct target *target)
{
    struct target_host host;
    return target_host(target, &host) ? hash_bytes(host.name.p, host.name.n) + host.port : 0;
}

static void parse(struct run *run, struct str doc)
{
    char why[ERR_WHY_MAX];
    run->readable = task_read(&run->task, doc, &run->arena, why);
    if (!run->readable)
        run->result.reason = arena_printf(&run->arena, "its document cannot be read: %s", why);
    run->host = run_host(&run->task.target);
}

struct run *run_new(const struct job *job, struct str doc)
{
    struct run *run = mem_alloc(sizeof *run + doc.n + 1);
    *run = (struct run){.job = *job, .token = job->token, .doc_size = doc.n};
    if (doc.n)
        memcpy(run->doc, doc.p, doc.n);
    run->doc[doc.n] = 0;
    if (run->job.reason.n)
        run->job.reason = arena_copy(&run->arena, run->job.reason);
    if (run->job.response.n)
        run->job.response = arena_copy(&run->arena, run->job.response);
    run->job.result = (struct str){0}; // of what is claimed there is none
    parse(run, (struct str){run->doc, run->doc_size});
    return run;
}

struct run *run_copy(const struct run *run)
{
    return run_new(&run->job, (struct str){run->doc, run->doc_size});
}

void run_free(struct run *run)
{
    if (!run)
        return;
    arena_done(&run->arena);
    mem_free(run);
}

// Makes, copies and frees runs. The document is copied behind the struct, so a run is one piece of memory, and the parsed task is
// slices of it; the arena is only touched where escapes were decoded or an earlier attempt left words.
#include "broker/run.h"

#include "base/mem.h"
#include "store/store.h"

#include <stdio.h>

static enum err parse(struct run *run, struct str doc, char why[ERR_WHY_MAX])
{
    struct json value;
    struct problem problem;
    enum err err = json_check(doc, &value, why);
    if (err)
        return err;
    err = task_parse(&run->task, value, &run->arena, &problem);
    if (err)
        snprintf(why, ERR_WHY_MAX, "%.90s: %.150s", problem.field, problem.detail);
    return err;
}

struct run *run_new(const struct store_job *from, char why[ERR_WHY_MAX])
{
    struct run *run = mem_alloc(sizeof *run + from->doc.n + 1);
    *run = (struct run){.job = from->job, .token = from->job.token};
    if (from->doc.n)
        memcpy(run->doc, from->doc.p, from->doc.n);
    run->doc[from->doc.n] = 0;
    if (run->job.reason.n)
        run->job.reason = arena_copy(&run->arena, run->job.reason);
    if (run->job.response.n)
        run->job.response = arena_copy(&run->arena, run->job.response);
    if (parse(run, (struct str){run->doc, from->doc.n}, why)) {
        run_free(run);
        return NULL;
    }
    return run;
}

struct run *run_copy(const struct run *run)
{
    char why[ERR_WHY_MAX];
    // A checked document holds no NUL, so its length is that of its text; and what was read once can be read again.
    struct run *copy = run_new(&(struct store_job){.job = run->job, .doc = str_of(run->doc)}, why);
    copy->token = run->token;
    return copy;
}

void run_free(struct run *run)
{
    if (!run)
        return;
    arena_done(&run->arena);
    mem_free(run);
}

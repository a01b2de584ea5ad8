// A task: what the user asked for. Its document is parsed into this struct when it is submitted, shown or run.
// Layer: core, pure. The struct holds slices of the document, or of the arena where escapes had to be decoded.
#pragma once
#include "base/arena.h"
#include "base/text/json.h"
#include "core/job.h"
#include "core/problem.h"
#include "core/task/recurrence.h"
#include "core/task/target.h"

enum {
    TASK_LABELS_MAX = 16,
    TASK_NAME_MAX = 256,
    TASK_QUEUE_MAX = 64,
    TASK_KEY_MAX = 255,
    TASK_CRON_MAX = 1024,
    TASK_RUNS_MAX = 2147483647,
    TASK_FAILURES_MAX = 1000000,
    TASK_DOC_MAX = 1 << 20
};

struct task {
    struct target target;
    int64_t at_ms;                   // 0: not given
    int64_t in_ms;                   // -1: not given
    int64_t not_after_ms;            // a time; 0: not given
    int64_t not_after_in_ms;         // a duration after the planned time; -1: not given
    const struct recurrence *recurs; // NULL: it does not
    struct job_policy policy;        // retry, timeout, sla, ttl, on_lost, lost_max
    int priority;
    struct str queue, key, name, tracing_id, created_by, traceparent;
    struct json labels;
};

// Parses and checks a document that json_check() has passed. On a problem nothing but `why` is set.
err_check enum err task_parse(struct task *ret_task, struct json doc, struct arena *arena, struct problem *why);

// The task of a stored document. That was checked when it was stored; but a newer rota may have written it, or something else
// have changed the database, so it is checked again. False: it cannot be read, and `why` says why. Then it is a task without a
// target and with the default policy, and its jobs are ended by that policy all the same.
bool task_read(struct task *ret_task, struct str doc, struct arena *arena, char why[ERR_WHY_MAX]);

#define TASK_NAME_WORDS "1 to 64 letters, digits, '.', '_' or '-'"
bool task_name_fits(struct str name);        // of a queue: TASK_NAME_WORDS
bool task_traceparent_fits(struct str text); // what the field `traceparent` may hold; text.p may be NULL

// When the job of a one-time task is planned and when it expires (0: never), if it is submitted at now_ms. A recurring task has a
// schedule instead (core/task/recurrence), and must not be given. ERR_INVALID_FIELD when beyond the horizon
// of 10 years or when it would expire before it is planned.
err_check enum err task_plan(const struct task *task, int64_t now_ms, int64_t *ret_scheduled_at, int64_t *ret_expires_at,
                             struct problem *why);
int64_t task_expiry(const struct task *task, int64_t scheduled_at); // of a job that is planned for then; 0: it never expires

// Writes the members of a task document, as given or defaulted, without the braces: `"url":"…","method":"POST",…`. The
// text of one task is the same whatever order and spacing it was given in.
void task_render(const struct task *task, struct buf *buf);

// The same, to know a task again by: what is in the digest of its key. It never changes for a document that once had a key.
void task_render_for_key(const struct task *task, struct buf *buf);

// The policy of a stored document, as task_read() says.
struct job_policy task_policy(struct str doc, struct arena *arena);

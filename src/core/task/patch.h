// Changing a task: a JSON merge patch (RFC 7396) onto its document, and what follows for a job of it that waits.
// Layer: core, pure but for the arena.
#pragma once
#include "core/task/task.h"

// What a patched task is.
struct patched {
    struct str doc;
    struct task task;
    bool replanned; // the patch says when: it has a field that the times of the task follow from
};

// `doc` is a stored document, `patch` a checked object. A new `at` takes the place of an old `in`, and the other way round; so do
// `cron` and `every`. A patch that would make a recurring task of a one-time one, or the other way round, is refused.
err_check enum err patch_task(struct patched *ret_patched, struct str doc, struct json patch, struct arena *arena,
                              struct problem *why);

// The task becomes what `whole` says, a checked object, whatever its document `doc` said.
err_check enum err patch_replace(struct patched *ret_patched, struct str doc, struct json whole, struct arena *arena,
                                 struct problem *why);

// Does the task say the same as a stored document, however that is written down?
bool patch_changes_nothing(const struct task *task, struct str doc, struct arena *arena);

// The same for a job that waits: its time (if no attempt of it was made yet), expiry and priority.
err_check enum err patch_job(const struct patched *patched, struct job *job, int64_t now_ms, struct problem *why);

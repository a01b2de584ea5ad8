// Stage 1, admit: validated tasks become durable. The answer follows the commit.
//
// Layer: flow. Called on the HTTP thread; done() runs on a thread of the store, where it may only enqueue (http_resume).
// Many admissions share one commit: the store groups what is waiting. A task due now or within seconds whose lane has room is
// inserted already held by this node, in the same commit, and handed to the puller: the push path.
#pragma once
#include "base/clock.h"
#include "core/task/task.h"
#include "flow/record.h"
#include "store/jobs.h"

struct admit;
struct zones;

// One request's tasks. The caller owns the struct and everything in it until admit_submit() and again after done().
struct admission {
    struct addition addition;   // .add.items[i].err and .existing_id are the answers, .jobs the jobs as inserted
    struct store_task *tasks;   // .id is known after admit_submit()
    struct job *jobs;           // of one-time tasks
    const struct task **recurs; // for each task, what it is if it recurs; NULL: it does not
    struct str reserved;        // the name that its only task reserves, which recurs (store/plans.h); "": none
    bool pushes;                // counted by node_push_begin
    size_t count, max;
    int32_t tenant;
    struct admit *admit;
    void (*done)(struct admission *admission);
    void *ctx;
};

struct admit *admit_new(struct node *node, struct recorder *recorder, struct zones *zones);
void admit_free(struct admit *admit);

void admission_init(struct admission *admission, int32_t tenant, size_t max);
void admission_done(struct admission *admission); // frees all but the struct

// Adds a parsed task; its document, and what of the task points elsewhere, must live until done(). The schedule of one that
// recurs has been checked (zones_schedule()). A refusal leaves the admission as it was. `digest`, when the task has a key:
// SHA-256 of task_render_for_key().
err_check enum err admission_add(struct admission *admission, const struct task *task, struct str doc, const uint8_t *digest,
                                 int64_t now_ms, struct problem *why);

// An error here is a refusal at once: done() is not called. Otherwise done() comes, with addition.add.op.err set when it
// failed (store/store.h).
err_check enum err admit_submit(struct admit *admit, struct admission *admission, struct now now);

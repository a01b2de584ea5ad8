// Stage 1, admit: validated tasks become durable. The answer follows the commit.
//
// Layer: flow. admit_submit is called on the HTTP thread; done() on a thread of the store, where it may only enqueue (http_resume).
// Many admissions share one commit: the store groups what is waiting. A task due now whose lane has room is inserted already held by
// this node, in the same commit, and handed to the puller: the push path.
#pragma once
#include "core/task.h"
#include "flow/node.h"
#include "store/store.h"

struct admission {
    struct store_add add; // .items[i].err / .existing_id are the answers
    struct store_task *tasks;
    struct job *jobs;
    size_t count, max;
    int32_t tenant;
    struct admit *admit;
    void (*done)(struct admission *admission);
    void *ctx;
};

struct admit;

struct admit *admit_new(struct node *node);
void admit_free(struct admit *admit);

void admission_init(struct admission *admission, int32_t tenant, size_t max);
void admission_done(struct admission *admission); // frees all but the struct

// Adds a parsed task; its document and strings must live until done(). ERR_INVALID_FIELD and the like leave the admission as it was.
// The task's id is admission->tasks[i].id after admit_submit(). `digest` is needed when the task has a key: SHA-256 of task_render().
err_check enum err admission_add(struct admission *admission, const struct task *task, struct str doc, const uint8_t digest[32], int64_t now_ms, struct problem *why);

// ERR_STOPPING, ERR_STORE_UNAVAILABLE: refused at once, done() is not called. Otherwise done() comes, with add.op.err set when nothing was stored.
err_check enum err admit_submit(struct admit *admit, struct admission *admission, int64_t now_ms);

// Asks the store whether jobs that count as active are still there. A job that somebody removes from the database while it runs
// would count for ever, and a task whose jobs may not overlap would not run again. Layer: flow. Owned by the flow thread.
#pragma once
#include "flow/node.h"

enum { ACTIVE_CHECKS_MAX = 100 }; // under way; the next job that has to wait asks again

struct active_check;

// gone() is called from active_check_turn(): the job is not in the store, or has ended.
struct active_check *active_check_new(struct node *node, void (*gone)(void *ctx, int64_t task_id, int64_t job_id), void *ctx);
void active_check_free(struct active_check *check);
void active_check_turn(struct active_check *check);                                 // takes the answers
void active_check_ask(struct active_check *check, int64_t task_id, int64_t job_id); // one a task at a time

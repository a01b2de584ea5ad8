// What is said of a schedule that something is wrong with: in the log, by an event, and as a warning where the node should look
// bad. Layer: flow. Of the flow thread, which calls it from recur.
#pragma once
#include "flow/node.h"
#include "store/jobs.h"

// So many planned jobs were removed from the store by somebody else, and are planned again.
void recur_report_missing(struct node *node, const struct store_task *task, size_t missing, int64_t now_ms);

// A job that ran was removed from the store by somebody else, and does not keep others from running any more.
void recur_report_gone(struct node *node, const struct store_task *task, int64_t job_id, int64_t now_ms);

// So many runs of the schedule failed in a row, which is halfway to where the task pauses itself.
void recur_report_failing(struct node *node, const struct store_task *task, int64_t failures, int64_t pauses_after,
                          int64_t now_ms);

struct str recur_skip_words(enum plan_reason reason); // why a job was cancelled, as its record says

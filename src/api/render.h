// How things look from outside: tasks, jobs, queues and counts as the JSON of docs/openapi.yaml.
// Layer: api, pure: everything shown is an argument.
#pragma once
#include "core/id.h"
#include "core/schedule/upcoming.h"
#include "core/task/task.h"
#include "store/jobs.h"

// What is known of a task. Jobs are newest first, as STORE_GET gives them; attempts are those of the jobs.
struct task_view {
    const struct store_task *stored; // its id, version and times; created_at 0: not known any more
    const struct task *task;
    const struct job *jobs;
    size_t job_count;
    const struct attempt *attempts;
    size_t attempt_count;
};

void render_task(struct buf *buf, const struct task_view *view, int64_t now_ms);

// `attempts` may hold other jobs' attempts too; they are sorted by job, then by number.
void render_job(struct buf *buf, const struct job *job, const struct attempt *attempts, size_t attempt_count, int64_t now_ms);

// The same without what the attempts were answered, which the store gives with one job only: in lists, and within a task.
void render_listed_job(struct buf *buf, const struct job *job, const struct attempt *attempts, size_t attempt_count,
                       int64_t now_ms);

void render_upcoming(struct buf *buf, const struct upcoming_item *item);
void render_queue(struct buf *buf, const struct store_lane *lane);
void render_counts(struct buf *buf, const int64_t counts[JOB_STATE_COUNT]); // "states":{…},"pending":n
void render_id(struct buf *buf, enum id_kind kind, int64_t id);             // quoted

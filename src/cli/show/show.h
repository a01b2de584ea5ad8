// Tasks and jobs as text for people.
// Layer: cli. Pure: the time, the colours and the width are given.
#pragma once
#include "base/buf.h"
#include "cli/server/value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct show {
    int64_t now_ms;
    size_t width; // columns of the terminal, 0: no limit
    bool colours;
    bool absolute;    // tables show times as such, not how far away they are
    bool paused;      // the task is
    bool within_task; // a job shown below its task need not name it
};

void show_put_task(struct buf *buf, const struct show *show, const struct value *task); // with its job
void show_put_job(struct buf *buf, const struct show *show, const struct value *job);   // with its attempts

// What a job waits for: the answer of /v1/jobs/{id}/explain.
void show_put_explanation(struct buf *buf, const struct show *show, const struct value *explanation);

// Its sentences alone, each with what the command line can do about it.
void show_put_waits(struct buf *buf, const struct value *explanation, const char *between);

// The job that an answer is about: the answer itself, or the job of the task that it is.
const struct value *show_job(const struct value *object);

// One line about how a job ended: the id that was asked for, a task's or the job's, its state, status and reason.
void show_put_end(struct buf *buf, const struct show *show, const struct value *object);

// One line about a task or job that is waited for: the job's state, the try it is at, and why the last one failed.
void show_put_progress(struct buf *buf, const struct show *show, const struct value *task, int64_t waited_ms);

void show_put_head(struct buf *buf, const struct show *show, const struct value *object); // "t…  active", of a task or job

// A bulk: what it does to what, and how far it has come. The line, without its end, is for a user who waits for it.
void show_put_bulk_line(struct buf *buf, const struct show *show, const struct value *bulk);
void show_put_bulk(struct buf *buf, const struct show *show, const struct value *bulk);

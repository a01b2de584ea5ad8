// Tasks and jobs as text for people.
// Layer: cli. Pure: the time and the colours are given.
#pragma once
#include "base/buf.h"
#include "cli/value.h"

#include <stdbool.h>
#include <stdint.h>

struct show {
    int64_t now_ms;
    bool colours;
    bool within_task; // a job shown below its task need not name it
};

void show_put_task(struct buf *buf, const struct show *show, const struct value *task); // with its job
void show_put_job(struct buf *buf, const struct show *show, const struct value *job);   // with its attempts

// "31ms" "4.2s" "5s" "9m 58s" "2h 5m" "3d 4h"
void show_put_duration(struct buf *buf, int64_t ms);

// Warnings: what rota has found to be wrong with a task or job and somebody should look at, although the node can do its work.
// GET /readyz lists them.
// Layer: flow. Any thread; one short lock.
#pragma once
#include "base/buf.h"

#include <stdint.h>

enum {
    WARNINGS_MAX = 100,                // that are kept: the latest
    WARNINGS_KEPT_MS = 10 * 60 * 1000, // since it was last so
};

// name, text, what it means
#define WARNING_CODES(X)                                                                                        \
    X(SCHEDULE_MISSING, "schedule_missing", "a planned job was not in the store, and was planned again")        \
    X(JOB_OVERDUE, "job_overdue", "an attempt goes on although its timeout has passed by more than 30 seconds") \
    X(ZONE_MISSING, "zone_missing", "the time zone of a task is not installed any more; its plan stays as it is")

enum warning_code {
#define X(name, text, words) WARNING_##name,
    WARNING_CODES(X)
#undef X
        WARNING_CODE_COUNT
};

const char *warnings_code_text(enum warning_code code);

struct warnings;

struct warnings *warnings_new(void);
void warnings_free(struct warnings *warnings); // accepts NULL

// Another one with the same code about the same task takes the place of the earlier. True: there was none. Times are
// wall-clock milliseconds. The detail is a sentence without a full stop, and is cut off where it is too long.
bool warnings_add(struct warnings *warnings, enum warning_code code, int64_t task_id, int64_t now_ms, const char *detail);

// It is so no longer.
void warnings_remove(struct warnings *warnings, enum warning_code code, int64_t task_id);

// A JSON array of those that are not too old, the latest last: [{"code": …, "task_id": …, "detail": …}].
void warnings_put_json(struct warnings *warnings, int64_t now_ms, struct buf *buf);
int warnings_count(struct warnings *warnings, enum warning_code code, int64_t now_ms); // of those, with this code

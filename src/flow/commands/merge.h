// The changed document of a task: made of the one that was read, and checked before anything is called back for it.
// Layer: flow. Any thread: it only looks at what it is given.
#pragma once
#include "core/task/patch.h"
#include "flow/zones.h"
#include "store/jobs.h"

struct merging {
    const struct store_task *task; // as it was read
    struct json patch;
    bool whole; // the patch is a document that takes the place of the other
    struct zones *zones;
    int64_t now_ms;
};

// What the task becomes; its texts are in the arena. An error: `why` says what is wrong with the patch.
err_check enum err merge_task(const struct merging *merging, struct patched *ret_patched, struct arena *arena,
                              struct problem *why);

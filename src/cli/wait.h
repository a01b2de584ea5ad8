// Waiting for something at the server to end, with a line about it on a terminal.
// Layer: cli. One thread.
#pragma once
#include "cli/call.h"

struct wait {
    const char *path;
    bool (*ended)(const struct value *object);
    void (*put)(struct buf *line, const struct value *object, int64_t waited_ms); // how it stands
};

// Leaves the last answer in *reply, which has the first. A server that is away for a moment, for a restart, does not end the
// waiting.
void wait_end(struct caller *caller, const struct wait *wait, struct reply *reply);

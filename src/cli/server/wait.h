// Waiting for something at the server to end, with a line about it on a terminal.
// Layer: cli. One thread.
#pragma once
#include "cli/server/call.h"

struct wait {
    const char *path;
    bool (*ended)(const struct value *object);
    void (*put)(struct buf *line, const struct value *object, int64_t waited_ms); // how it stands
    // Puts the reason why it does not go on, as lines, or nothing. The first line tells one reason from another: a new reason is
    // told on stderr, terminal or not. It is asked for now and then. May be NULL.
    void (*put_held)(struct buf *lines, struct caller *caller, const struct value *object);
};

// Leaves the last answer in *reply, which has the first. A server that is away for a moment, for a restart, does not end the
// waiting.
void wait_end(struct caller *caller, const struct wait *wait, struct reply *reply);

// The same for the job of a task, or a job, named by `id`.
void wait_for_job(struct caller *caller, const char *id, struct reply *reply);

// The exit code of what has ended: CLI_OK for a success, CLI_REFUSED for what was cancelled, else CLI_JOB_FAILED.
int wait_code(const struct value *object);

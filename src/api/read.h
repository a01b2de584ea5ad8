// Reads a task or a job from the store and answers with it: what GETs do, and what steering ends with.
// Layer: api. HTTP thread.
#pragma once
#include "api/handlers.h"

// How many jobs of one task are looked at: what a person retried by hand is counted up to here.
enum { READ_JOBS_MAX = 1000 };

// How many reads of one task or job are under way at once (api->reads): it has up to 1 MiB, and its answer as much again.
enum { READS_MAX = 16 };

// How many lists are made at once (api->lists): each has a page of the store and an answer.
enum { LISTS_MAX = 4 };

enum read_what { READ_TASK, READ_JOB };

struct read_plan {
    enum read_what what;
    int64_t id;          // of the task or the job
    struct str reserved; // of a task, in place of its id: the name that it has reserved
    int status;          // of the answer when it is there
    // What the answer is when the store has it no more. `given`: the task as it was submitted again under its key, shown without
    // jobs. `steered`: 204, because what was asked for was done, and retention was quick. Neither: 404.
    const struct task *given;
    bool steered;
};

void read_reply(const struct api_call *call, const struct read_plan *plan);

// The id in the path. Answers 404 and returns false when it cannot be one: nothing has such an id.
bool read_path_id(const struct api_call *call, enum id_kind kind, int64_t *ret_id);

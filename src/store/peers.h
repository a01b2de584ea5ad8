// What incarnations agree on through the store: which of them goes first in which bucket, requests to the holder of a job, and
// which tzdata plans follow.
// Layer: port. What an operation is: store/store.h.
#pragma once
#include "store/store.h"

struct store_owner {
    int32_t bucket;
    int64_t puller; // an incarnation, which may be gone by now
};

struct store_owners {
    struct store_op op;
    int64_t term;               // out: grows with each division; 0 before the first
    struct store_owner *owners; // out: by bucket, then by puller
    size_t owner_count;
};

// Replaces all owners, if the term still is `term`, and begins the next. ERR_MOVED_ON: somebody else did meanwhile.
struct store_divide {
    struct store_op op;
    int64_t term;
    const struct store_owner *owners; // no two alike
    size_t owner_count;
};

enum store_request_kind {
    STORE_REQUEST_CANCEL,
    STORE_REQUEST_RUN,
    STORE_REQUEST_RECALL, // give it back, if it still waits for its time
    STORE_REQUEST_COUNT
};

struct store_job_request {
    int64_t job_id;
    int32_t tenant;
    enum store_request_kind kind;
};

// Of two requests about one job the first of the above counts: a cancel is not taken back. ERR_MOVED_ON: there is no such
// incarnation any more.
struct store_request {
    struct store_op op;
    int64_t holder;
    struct store_job_request job;
};

// Takes the requests to `holder`, by job id, at most `max`: they are not given again.
struct store_requests {
    struct store_op op;
    int64_t holder;
    size_t max;
    struct store_job_request *jobs; // out
    size_t job_count;
};

// A short text that says which tzdata the plans of recurring tasks follow (flow/tend/tzdata knows how to read it); empty at
// first. With `writes` it becomes `next`, if it still is `was`. ERR_MOVED_ON: somebody else has written it meanwhile.
struct store_tzdata {
    struct store_op op;
    bool writes;
    struct str was, next; // printable ASCII
    struct str text;      // out, when it is only read
};

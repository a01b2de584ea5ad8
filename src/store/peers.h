// What incarnations agree on through the store: which of them goes first in which bucket, and what the holder of a job is asked
// to do with it.
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

// Replaces all owners, if the term still is `term`, and begins the next. ERR_LEASE_LOST: somebody else did meanwhile.
struct store_divide {
    struct store_op op;
    int64_t term;
    const struct store_owner *owners; // no two alike
    size_t owner_count;
};

enum store_wish {
    STORE_WISH_CANCEL,
    STORE_WISH_RUN,
    STORE_WISH_RECALL, // give it back, if it still waits for its time
    STORE_WISH_COUNT
};

struct store_asked_job {
    int64_t job_id;
    int32_t tenant;
    enum store_wish wish;
};

// Of two wishes about one job the first of the above counts: a cancel is not taken back. ERR_LEASE_LOST: there is no such
// incarnation any more.
struct store_ask {
    struct store_op op;
    int64_t holder;
    struct store_asked_job job;
};

// Takes what `holder` was asked, by job id, at most `max`: it is not told again.
struct store_asked {
    struct store_op op;
    int64_t holder;
    size_t max;
    struct store_asked_job *jobs; // out
    size_t job_count;
};

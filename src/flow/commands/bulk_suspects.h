// Whose bulk may be taken over: rows whose holder was not known to live, and since when.
// Layer: flow. Owned by the flow thread.
#pragma once
#include "base/clock.h"
#include "flow/peers/peers.h"
#include "store/journal.h"

enum { BULK_ROWS_MAX = 100 }; // bulks that are looked at at once

struct bulk_suspects {
    struct bulk_suspect {
        int64_t id, holder;
        int64_t since; // monotonic
    } rows[BULK_ROWS_MAX];
    size_t count;
};

// Says of each row of a look at the bulks that run whether this node may take it: nobody has it, this life has it, or its holder
// has been silent for so long that it must not act any more.
void bulk_suspects_judge(struct bulk_suspects *suspects, struct node *node, const struct peers *peers,
                         const struct store_bulks *look, struct now now, bool ret_free[BULK_ROWS_MAX]);

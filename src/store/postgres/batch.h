// A batch of an ADD: items that cannot meet (no key and no id is in it twice), so they can be added by one statement.
// Layer: port, private to add.c and batch.c.
#pragma once
#include "store/postgres/postgres.h"

// An item on its way, and what came of it.
struct entry {
    struct store_new *item;
    int64_t holder, lane;
    bool whole; // its ids are all different
    bool found; // its task is there (for jobs that are added to one)
    bool added, by_key;
};

struct batch {
    struct pg_session *session;
    struct entry *entries;
    size_t count;
    struct entry **part; // those a statement is about, by its `no`
    size_t part_count;
};

// Sends what adds the items of a batch. The answers are written into the entries.
void pg_batch_send(struct batch *batch);

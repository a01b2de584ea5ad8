// A batch of an ADD: items that cannot meet (no key, reserved name or id is in it twice), so they can be added by one statement.
// Layer: port, private to add.c and batch.c.
#pragma once
#include "store/postgres/postgres.h"

// An item on its way, and what came of it.
struct entry {
    struct store_new *item;
    int64_t holder, lane;
    bool whole; // its ids are all different
    bool found; // its task is there (for jobs that are added to one)
    bool added;
    bool taken;  // one of its ids is
    bool by_key; // it was answered by its key, or by the name that it reserves
};

struct batch {
    struct pg_session *session;
    struct entry *entries;
    size_t count;
    struct entry **part; // those a statement is about, by its `no`
    size_t part_count;
};

// Sends what makes names free that the items reserve and plans that are over have. What is refused frees no name. It comes before
// anything that locks a lane, because whoever changes a task locks its plan before a lane.
void pg_batch_free_names(struct pg_session *session, struct entry *entries, size_t count);

// Sends what adds the items of a batch. The answers are written into the entries.
void pg_batch_send(struct batch *batch);

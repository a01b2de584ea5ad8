// A lane and the table of lanes as lanes.c and lane_turns.c share them. Private to these two files.
// Layer: flow. The table's lock is held around every function here.
#pragma once
#include "base/data/heap.h"
#include "base/data/list.h"
#include "base/data/map.h"
#include "flow/lanes.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    QUEUE_NAME_MAX = 64,
    BACKLOG_MS = 1000, // what has been due for less than this is not a backlog
};

struct lane {
    int64_t id;
    int32_t tenant, bucket;
    char queue[QUEUE_NAME_MAX + 1];
    struct lane *same_name; // next lane whose name has the same hash
    bool paused;
    bool pause_known; // I15: the store has said whether it is paused
    bool planned;     // a claim for it is under way
    bool aside;       // in lanes->aside: no room when last looked at
    int weight;
    int held;
    int64_t bytes;         // of the documents of those that are held
    int64_t size;          // of one document, on the average of the last claim
    size_t ask;            // how many jobs a claim asks for at most, so that it has room for other lanes
    int64_t next_due;      // of what waits in it, as far as is known
    int64_t next_id;       // and of what is due at that time, none that waits has a smaller id, as far as is known
    int64_t anew_ms;       // when a claim was last planned for all ids
    int64_t due_meanwhile; // noted while a claim was under way
    int64_t served_ms;
    int64_t planned_ms;           // when the claim that is under way was planned
    struct lanes_version version; // lanes->version when it was last paused or let go here, and when its next_due last changed
    int64_t promoted_ms;          // what is due up to here is marked ready,
    int64_t promoted_id;          // and of the next millisecond what is up to this id
    struct heap_node turn;
    struct list link; // in lanes->aside
};

struct lanes {
    pthread_mutex_t lock;
    int room, used;
    int64_t bytes_room, bytes_used;
    struct broker *broker; // carries pauses to the executors; NULL: to nobody
    _Atomic int paused;    // how many lanes are: while none is, nobody has to ask under the lock
    struct lanes_version version;
    int64_t behind_ms;                    // when a claim last left something that was due
    bool mine[BUCKETS], buckets[BUCKETS]; // where this node goes first; what lanes fall into
    struct map by_id, by_name;            // by_name: hash of tenant and queue -> chain
    struct lane **all;                    // in the order they became known, for walking round
    size_t count, cap, walk;
    struct heap due;
    struct list aside;
};

// lanes.c: room.
int lanes_more_room(const struct lanes *lanes, const struct lane *lane);      // how many more jobs the lane's share allows
int64_t lanes_more_bytes(const struct lanes *lanes, const struct lane *lane); // and how many more bytes of documents
bool lanes_has_room(const struct lanes *lanes);
void lanes_occupy(struct lanes *lanes, struct lane *lane, int places, int64_t bytes); // negative numbers give back

// lane_turns.c: puts the lane where it belongs after anything about it changed.
void lanes_arrange(struct lanes *lanes, struct lane *lane);

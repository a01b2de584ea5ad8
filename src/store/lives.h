// Incarnations in the store: each run of a process joins, beats while it lives, is buried when it does not, and is forgotten when
// it holds nothing any more. A beat also tells the store's clock.
// Layer: port. What an operation is: store/store.h.
#pragma once
#include "store/store.h"

enum { STORE_SECRET_SIZE = 32 };

// ERR_FENCED from JOIN: the node numbers are used up, or this incarnation was declared dead. Joining again changes nothing.
//
// Node numbers are of a range (core/id.h), whose number is kept in the store: 0, unless somebody has written another.
// ERR_FENCED, too, when there is no such range.
struct store_join {
    struct store_op op;
    int64_t incarnation, now_ms;
    bool pulls; // it claims and runs jobs
    int node;   // out: the smallest number of the range that no other incarnation has, dead ones that are not forgotten included
    int64_t id_floor;                  // out: no id given out so far is larger
    int64_t clock_ms;                  // out: as of a beat
    uint8_t secret[STORE_SECRET_SIZE]; // out: the store's secret, which the first incarnation that ever joined came with
    bool alone;                        // out: every other incarnation is certainly dead (this process holds the lock)
};

struct store_peer {
    int64_t incarnation;
    int64_t beat; // counts up while it lives
    bool pulls;   // as it said when it joined
    bool dead;    // has been declared dead
    bool listens; // as it said with its latest beat; false before the first
    bool relays;  // the same; true before the first
};

// ERR_FENCED: this incarnation was declared dead, or is unknown.
struct store_beat {
    struct store_op op;
    int64_t incarnation;
    bool listens;             // it has clients that want the events of all nodes
    bool relays;              // it writes down its own events (STORE_RELAY)
    bool in_turn;             // beats that set this come one after the other: what one of them wrote, the next one sees
    int64_t clock_ms;         // out: the wall clock of the store, read after the beat was asked for; 0: it has none of its own
    struct store_peer *peers; // out: all but itself, by incarnation
    size_t peer_count;
};

// Declares an incarnation dead if its beat still stands where it was seen. ERR_MOVED_ON: it moved, it lives.
// Dead already, or forgotten: ERR_OK.
struct store_bury {
    struct store_op op;
    int64_t incarnation, beat;
};

// Removes an incarnation's row, and the requests to it. ERR_MOVED_ON: it still holds jobs. Removed already: ERR_OK.
struct store_forget {
    struct store_op op;
    int64_t incarnation;
};

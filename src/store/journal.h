// What the store keeps beside tasks and jobs: bulks, what processes counted minute by minute, the events they relay to each
// other, and copies of everything.
// Layer: port. What an operation is: store/store.h.
#pragma once
#include "store/jobs.h"

// A bulk: one action on everything that matches a filter, done bit by bit.
enum store_bulk_state { STORE_BULK_RUNNING, STORE_BULK_DONE, STORE_BULK_STOPPED };

struct store_bulk_row {
    int64_t id;
    int32_t tenant;
    int64_t version; // 0: it is new; else as it was read, and one more with each write
    uint8_t state;   // enum store_bulk_state
    int64_t holder;  // the incarnation that is at it, or 0
    int64_t created_at, ended_at;
    int64_t matched, changed, unchanged, failed;
    struct store_cursor next; // how far it has come
    struct str doc;           // what was asked, as JSON; does not change
};

// Writes a row. ERR_MOVED_ON: somebody else has written it meanwhile. In any case those that ended
// before `forget_before` are forgotten.
struct store_bulk {
    struct store_op op;
    struct store_bulk_row row;
    int64_t forget_before;
};

// One bulk of a tenant (ERR_NOT_FOUND: there is none), or, with id 0, those of all tenants that run, by id.
struct store_bulks {
    struct store_op op;
    int32_t tenant;
    int64_t id;
    size_t max;
    struct store_bulk_row *rows; // out
    size_t row_count;
};

// ERR_UNSUPPORTED: the database has better ways to make copies.
struct store_backup {
    struct store_op op;
    int fd; // out: of the copy, a file without a name; the caller closes it
};

// What one process counted for a tenant in one minute, as a text that only its writer and reader understand.
struct store_minute_row {
    int32_t tenant;
    int64_t at;     // when the minute began
    int64_t source; // which process
    struct str doc;
};

// Written again, it replaces what was there.
struct store_minute {
    struct store_op op;
    struct store_minute_row minute;
};

// A tenant's minutes with from_ms <= at < to_ms, by time, then by source. A caller that goes on behind the last one given
// names its time as from_ms and its source as from_source: of that time, only larger sources are given. Otherwise from_source is
// 0.
struct store_series {
    struct store_op op;
    int32_t tenant;
    int64_t from_ms, to_ms, from_source;
    size_t max;
    struct store_minute_row *minutes; // out
    size_t minute_count;
};

// Events of one process, several in one text. A source numbers its own from 1, so that a reader notices when some are missing:
// they are kept for a short time, and need not survive a crash of the database.
struct store_event_row {
    int64_t source, number;
    struct str doc;
};

// Written again, they change nothing.
struct store_relay {
    struct store_op op;
    int64_t now_ms;
    struct store_event_row events;
};

// How far the events of a source are known.
struct store_event_place {
    int64_t source, number;
};

// Events behind those that are known, by source, then by number; of a source that is not named, all. `skip` is who reads.
// With from_now no events are given, but `last`: the latest number of every source.
struct store_events {
    struct store_op op;
    int64_t skip;
    const struct store_event_place *known; // no source twice
    size_t known_count;
    size_t max; // of each source
    bool from_now;
    struct store_event_row *rows; // out
    size_t row_count;
    struct store_event_place *last; // out
    size_t last_count;
};

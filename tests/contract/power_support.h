// A disk that loses its power: what was written since the last fsync of a file may be gone, wholly or in part, and the process
// is. For a process of its own (fork): power_on() before the store is opened, power_plan() when the end is to come. What is left
// in the files is what a machine would find after it was switched on again.
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum { POWER_CUT = 42 }; // how the process exits

enum power_disk {
    POWER_HONEST,
    POWER_NORMAL,        // honest, but SQLite runs with synchronous=NORMAL and says it were FULL
    POWER_FORGETS_LOG,   // fsync of the WAL does nothing: a commit that does not wait for the disk
    POWER_FORGETS_PAGES, // fsync of the database does nothing (of the WAL it does): a checkpoint that does not wait for the disk
};

enum power_from {
    POWER_FROM_NOW,
    POWER_FROM_CHECKPOINT, // the first write to the database itself
    POWER_FROM_RESTART,    // the WAL is begun anew over the old one
    POWER_FROM_CUT_BACK,   // the WAL is truncated
    POWER_FROM_REFUSED,    // the disk was full
};

// What happened until the cut. Lives in memory that is shared with the parent.
struct power_seen {
    bool cut;
    bool in_checkpoint;       // the database had writes that were not synced
    uint64_t wal_syncs;       // done
    uint64_t beside;          // of them, while the database had such writes
    uint64_t checkpoint_ends; // the database was synced
    uint64_t restarts;        // the WAL was begun anew over the old one
    uint64_t cut_backs;       // it was truncated
    uint64_t refused;         // writes failed for lack of room
};

void power_on(enum power_disk disk, uint64_t seed, struct power_seen *seen);

// The power goes in the call (write, truncate, fsync) that comes `calls` calls behind the one that `from` names.
void power_plan(enum power_from from, uint64_t calls);

// The disk has no room for a write to the WAL, the one behind `after` more, or the first behind them that ends a transaction: it
// takes none of its bytes, some, or all, and fails.
void power_full(uint64_t after, bool at_the_end);

void power_await_cut_back(void); // returns when the WAL has been truncated

_Noreturn void power_cut(void); // it goes now

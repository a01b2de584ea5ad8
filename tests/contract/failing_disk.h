// A disk that fails when a test says so, between SQLite and the files: it is full, it breaks, or it holds the writer up while it
// moves the WAL.
#pragma once
#include <semaphore.h>
#include <stdatomic.h>

// From now on every database of this process is on such a disk. Once a process; 0 if it worked.
int put_failing_disk(void);

extern atomic_bool disk_is_broken;     // no fsync succeeds,
extern atomic_bool database_is_broken; // or none of the database: that is synced when the WAL has been moved
enum fullness {
    HAS_ROOM,
    IS_FULL,      // as SQLite says it
    HAS_QUOTA,    // the system says EDQUOT, which SQLite takes for a failure
    HAS_LIMIT,    // EFBIG, likewise
    TOOK_AND_FULL // it says so when the last byte of a commit is in the file
};
extern _Atomic enum fullness fullness;

extern atomic_int wal_begun;        // how often it was begun, or begun anew
extern atomic_bool move_is_held_up; // the writer waits before it writes the next page into the database
extern sem_t move_waits, move_may_go_on;

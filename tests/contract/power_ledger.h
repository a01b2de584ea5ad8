// A round of the suite of power losses: what it does until the cut, the ledger of what was wanted and acknowledged, and the check
// of what is left.
#pragma once
#include "power_support.h"
#include "store_support.h"

enum { FIRST_ID = 1000, ENTRIES_MAX = 4096, BATCH_MAX = 8, LANES = 3, POOL_BYTES = 1 << 20, LATER = NOW * 1000, EXIT_BAD = 99 };

struct version {
    struct job job; // lane 0: not known yet
    int kept;       // attempts
};

// A task with its one job. `now` is what was acknowledged (if is_there), `next` is what is wanted of it in flight (if is_moving).
struct entry {
    int64_t add; // the number of the operation that adds it
    bool is_there, is_moving;
    char key[24];
    struct str doc, queue;
    struct version now, next;
};

struct ledger {
    struct entry entries[ENTRIES_MAX];
    size_t count;
    int64_t adds, acknowledged;
    int64_t holder;   // joined in this round
    int64_t joined;   // the latest one acknowledged
    bool is_claiming; // a claim is in flight
    struct power_seen seen;
};

struct scenario {
    enum power_disk disk;
    int rounds, batches;
    size_t doc_max;
    size_t first_bytes; // of documents, in the first batch: large ones until it is reached
    bool goes_quiet;    // once, half way: until the writer has cut the WAL back
    bool fills_up;      // now and then there is no room for what is to be written
    bool reads;         // now and then a reader keeps a checkpoint from its end
    void (*plan)(struct rand *rand, int round);
};

struct verdict {
    uint64_t seed;
    int round;
    int lost;   // acknowledged, and gone or not as acknowledged
    int wrong;  // neither what was acknowledged nor what was wanted; a phantom; half an operation
    int broken; // the database contradicts itself, or cannot be opened
    bool said;  // the next start would not have been silent
    int cuts, in_checkpoint, acknowledged;
    uint64_t restarts, cut_backs, wal_syncs, beside, refused;
    char first[400];
};

// Counts a finding, and writes the first one down.
__attribute__((format(printf, 3, 4))) void note(struct verdict *verdict, int *counter, const char *format, ...);
void check_what_is_left(struct verdict *verdict, struct ledger *ledger, const char *dir); // power_check.c

// Documents, reasons and responses are slices of this. It is filled before the fork, so pointers hold.
extern char pool[POOL_BYTES];
bool copy_file(const char *from_dir, const char *to_dir, const char *name); // false: there is none
bool same_job(const struct job *a, const struct job *b);
// power_round.c, in a process of its own.
_Noreturn void run_until_the_cut(const struct scenario *scenario, struct ledger *ledger, const char *dir, uint64_t seed,
                                 int round);

// Which jobs are in whose hand, in memory and in a log: sqlite/claims.c. The writer changes it, the reader looks at it.
// Layer: port, private to this folder.
#pragma once
#include "base/data/list.h"
#include "base/data/map.h"
#include "core/job.h"

#include <pthread.h>

struct arena;
struct db;

struct claims {
    struct map moved;     // the writer's: what this transaction takes in hand and lets go
    size_t logged;        // the writer's: how many entries the log has,
    size_t logged_then;   // and will have when this transaction is committed
    struct list *spare;   // the writer's: a stack
    pthread_mutex_t lock; // what follows is changed only under it; the map and the list only by the writer
    struct map by_id;
    struct list gone; // was let go while a read was under way
    int64_t reads_begun, reads_ended;
};

void claims_init(struct claims *claims);
void claims_done(struct claims *claims);
err_check enum err claims_prepare(struct db *db, char why[ERR_WHY_MAX]); // before the schema is brought up to date
void claims_load(struct claims *claims, struct db *db);                  // from the log, before there are threads
// What follows is the writer's. A transaction sees what it has done itself.
void claims_take(struct claims *claims, const struct job *job, int64_t holder,
                 int64_t now_ms);                               // the record as it stays until it is written
void claims_hold(struct claims *claims, const struct job *job); // the record says it
void claims_let_go(struct claims *claims, int64_t id);
bool claims_holds(const struct claims *claims, const struct job *job); // its holder has it
bool claims_any(const struct claims *claims, int64_t holder);
void claims_see_now(const struct claims *claims, struct job *job); // what a claim has made of the record
void claims_write(struct claims *claims, struct db *db);           // before COMMIT
void claims_commit(struct claims *claims);                         // behind it
void claims_roll_back(struct claims *claims);
// What follows is the reader's.
void claims_begin_read(struct claims *claims);
void claims_end_read(struct claims *claims);
void claims_see(struct claims *claims, struct job *job); // the same, of the database as it was when the read began
// The jobs in the hand of the holder: their ids, by size, behind `after_id`. Some may have left it, which their records say.
int64_t *claims_of(struct claims *claims, int64_t holder, int64_t after_id, struct arena *arena, size_t *ret_count);

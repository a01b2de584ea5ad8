// Incarnations: which processes there are, which node number each has, and whether it still lives.
//
// What it does not do: decide who is dead (flow/tend/reap.c), or who goes first (sqlite/peers.c).
#include "core/id.h"
#include "store/sqlite/sqlite.h"

struct incarnation lives_find(struct db *db, int64_t id)
{
    struct incarnation found = {0};
    sqlite3_stmt *stmt = db_sql(db, SQL_INCARNATION, id);
    if (db_row(db, stmt)) {
        found =
            (struct incarnation){true, sqlite3_column_int(stmt, 0), sqlite3_column_int(stmt, 1), sqlite3_column_int64(stmt, 2)};
        db_end(stmt);
    }
    return found;
}

// The writer remembers the holder that it last found alive, because every claim asks for the same one.
bool lives_is_fenced(struct writer *writer, int64_t holder)
{
    if (holder && holder == writer->live_holder)
        return false;
    struct incarnation found = lives_find(&writer->db, holder);
    if (found.known && !found.dead)
        writer->live_holder = holder;
    return !found.known || found.dead;
}

static int free_node(struct db *db)
{
    int node = 0;
    sqlite3_stmt *stmt = db_stmt(db, SQL_NODES);
    while (db_row(db, stmt)) {
        if (sqlite3_column_int(stmt, 0) > node)
            break;
        node++;
    }
    db_end(stmt);
    return node;
}

static void take_secret(struct db *db, struct store_join *join)
{
    sqlite3_stmt *stmt = db_stmt(db, SQL_SECRET);
    if (db_row(db, stmt)) {
        struct str kept = db_bytes(stmt, 0, &join->op.arena);
        db_end(stmt);
        if (kept.n == sizeof join->secret)
            memcpy(join->secret, kept.p, kept.n);
        return;
    }
    stmt = db_stmt(db, SQL_SET_SECRET);
    db_bind_bytes(stmt, 1, (struct str){(const char *)join->secret, sizeof join->secret});
    db_run(db, stmt);
}

void lives_join(struct writer *writer, struct store_op *op)
{
    struct store_join *join = container_of(op, struct store_join, op);
    struct incarnation found = lives_find(&writer->db, join->incarnation);
    if (found.known && found.dead) {
        store_op_fail(op, ERR_FENCED, "this incarnation was declared dead");
        return;
    }
    if (!found.known) {
        found.node = free_node(&writer->db);
        if (found.node >= ID_RANGE_NODES) {
            store_op_fail(op, ERR_FENCED, "all node numbers are in use");
            return;
        }
        db_run(&writer->db, db_sql(&writer->db, SQL_ADD_INCARNATION, join->incarnation, found.node, join->pulls));
    }
    take_secret(&writer->db, join);
    int64_t range = 0;
    db_found(&writer->db, db_stmt(&writer->db, SQL_RANGE), &range);
    join->alone = true;
    if (!db_found(&writer->db, db_stmt(&writer->db, SQL_FLOOR), &join->id_floor))
        join->id_floor = 0;
    store_join_number(join, range, found.node);
}

void lives_beat(struct writer *writer, struct store_op *op)
{
    struct store_beat *beat = container_of(op, struct store_beat, op);
    if (lives_is_fenced(writer, beat->incarnation)) {
        store_op_fail(op, ERR_FENCED, "this incarnation was declared dead, or is unknown");
        return;
    }
    db_run(&writer->db, db_sql(&writer->db, SQL_BEAT, beat->listens, beat->relays, beat->incarnation));
    sqlite3_stmt *count = db_stmt(&writer->db, SQL_COUNT_BEAT);
    db_found(&writer->db, count, &writer->beats_then);
    sqlite3_stmt *stmt = db_sql(&writer->db, SQL_INCARNATIONS, beat->incarnation);
    while (db_row(&writer->db, stmt)) {
        beat->peers = store_push(&op->arena, beat->peers, beat->peer_count, sizeof *beat->peers);
        beat->peers[beat->peer_count++] = (struct store_peer){.incarnation = sqlite3_column_int64(stmt, 0),
                                                              .beat = sqlite3_column_int64(stmt, 1),
                                                              .dead = sqlite3_column_int(stmt, 2),
                                                              .pulls = sqlite3_column_int(stmt, 3),
                                                              .listens = sqlite3_column_int(stmt, 4),
                                                              .relays = sqlite3_column_int(stmt, 5)};
    }
}

void lives_bury(struct writer *writer, struct store_op *op)
{
    struct store_bury *bury = container_of(op, struct store_bury, op);
    struct incarnation found = lives_find(&writer->db, bury->incarnation);
    if (!found.known || found.dead)
        return;
    if (found.beat != bury->beat) {
        store_op_fail(op, ERR_MOVED_ON, "it has beaten since");
        return;
    }
    writer->live_holder = 0;
    db_run(&writer->db, db_sql(&writer->db, SQL_BURY, bury->incarnation));
}

void lives_forget(struct writer *writer, struct store_op *op)
{
    struct store_forget *forget = container_of(op, struct store_forget, op);
    if (!lives_find(&writer->db, forget->incarnation).known)
        return;
    if (claims_any(writer->db.claims, forget->incarnation)) {
        store_op_fail(op, ERR_MOVED_ON, "it still holds jobs");
        return;
    }
    writer->live_holder = 0;
    db_run(&writer->db, db_sql(&writer->db, SQL_FORGET, forget->incarnation));
    db_run(&writer->db, db_sql(&writer->db, SQL_REMOVE_REQUESTS, forget->incarnation));
}

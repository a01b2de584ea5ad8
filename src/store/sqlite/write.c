// The verbs that write: which function does which. They run one after the other on the writer's connection, many in one
// transaction; what they remember of it is written before its COMMIT, and forgotten when it is rolled back.
//
// What it does not do: begin or end transactions (sqlite/sqlite.c).
#include "store/sqlite/sqlite.h"

void writer_flush(struct writer *writer)
{
    lane_flush(writer);
    claims_write(writer->db.claims, &writer->db);
}

void writer_settle(struct writer *writer)
{
    writer->beats = writer->beats_then ? writer->beats_then : writer->beats;
    writer->beats_then = 0;
    claims_commit(writer->db.claims);
    lane_settle(writer);
}

void writer_forget(struct writer *writer)
{
    lane_forget(writer);
    writer->live_holder = 0;
    writer->beats_then = 0;
    writer->plain_count = 0;
    claims_roll_back(writer->db.claims);
}

void (*const sqlite_writes[STORE_VERB_COUNT])(struct writer *writer, struct store_op *op) = {
    [STORE_JOIN] = lives_join,         [STORE_BEAT] = lives_beat,     [STORE_BURY] = lives_bury,
    [STORE_FORGET] = lives_forget,     [STORE_DIVIDE] = peers_divide, [STORE_REQUEST] = peers_request,
    [STORE_REQUESTS] = peers_requests, [STORE_ADD] = add_items,       [STORE_CLAIM] = waiting_claim,
    [STORE_CHANGE] = change_steps,     [STORE_AMEND] = amend_task,    [STORE_BULK] = journal_bulk,
    [STORE_DUE] = waiting_promote,     [STORE_PAUSE] = lane_pause,    [STORE_SWEEP] = remove_swept,
    [STORE_MINUTE] = journal_minute,   [STORE_RELAY] = journal_relay, [STORE_REMOVE] = remove_deleted,
    [STORE_DROP] = lane_drop,          [STORE_PLAN] = plans_write,    [STORE_TZDATA] = peers_tzdata,
};

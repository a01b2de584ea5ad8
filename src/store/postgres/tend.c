// The verbs of the queue that claims are in: which function sends which. What they do is in the files of
// their subjects.
#include "store/postgres/postgres.h"

static void (*const sends[STORE_VERB_COUNT])(struct pg_session *session, struct store_op *op) = {
    [STORE_JOIN] = pg_join_send,         [STORE_BEAT] = pg_beat_send,     [STORE_BURY] = pg_bury_send,
    [STORE_FORGET] = pg_forget_send,     [STORE_DIVIDE] = pg_divide_send, [STORE_REQUEST] = pg_request_send,
    [STORE_REQUESTS] = pg_requests_send, [STORE_PAUSE] = pg_pause_send,   [STORE_CLAIM] = pg_claim_send,
    [STORE_DUE] = pg_due_send,           [STORE_AMEND] = pg_amend_send,   [STORE_BULK] = pg_bulk_send,
    [STORE_MINUTE] = pg_minute_send,     [STORE_RELAY] = pg_relay_send,   [STORE_REMOVE] = pg_remove_send,
    [STORE_DROP] = pg_drop_send,         [STORE_TZDATA] = pg_tzdata_send,
};

// A sweep is a group of its own (see runs_alone in postgres.c), because it needs to see one answer before it asks on.
void pg_tend_group(struct pg_session *session, struct list *group)
{
    struct store_op *first = list_entry(group->next, struct store_op, link);
    if (first->verb == STORE_SWEEP) {
        pg_sweep_run(session, first);
        return;
    }
    if (first->verb == STORE_AMEND) // which is a group of its own, too
        pg_amend_prepare(session, first);
    pg_begin(session, "BEGIN");
    list_each (group, node) {
        struct store_op *op = list_entry(node, struct store_op, link);
        sends[op->verb](session, op);
    }
    pg_commit(session);
}

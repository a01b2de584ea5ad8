// All stages and tenders of one node, put together: the server runs it on threads, the simulator on virtual time.
// Layer: flow. flow_turn belongs to the flow thread, flow_exec_turn to the exec thread.
#pragma once
#include "flow/commands/backfills.h"
#include "flow/commands/bulk.h"
#include "flow/commands/commands.h"
#include "flow/commands/lease_reports.h"
#include "flow/node.h"
#include "flow/peers/assignment.h"
#include "flow/peers/event_relay.h"
#include "flow/peers/peer_requests.h"
#include "flow/peers/peers.h"
#include "flow/record.h"
#include "flow/stages/admit.h"
#include "flow/stages/complete.h"
#include "flow/stages/dispatch.h"
#include "flow/stages/pull.h"
#include "flow/stages/recur.h"
#include "flow/tend/beat.h"
#include "flow/tend/lane_scan.h"
#include "flow/tend/lease_expiry.h"
#include "flow/tend/reap.h"
#include "flow/tend/stats_writer.h"
#include "flow/tend/sweep.h"
#include "flow/tend/tzdata.h"

struct flow_config {
    int room;          // jobs held at most …
    size_t room_bytes; // … and bytes of their documents
    int slots;         // attempts at once
    uint64_t seed;
    const uint8_t *shared_secret;                    // STORE_SECRET_SIZE bytes, copied; NULL: tickets have the store's
    struct zones *zones;                             // of recurring tasks; the caller's. NULL: there is no such task
    bool api_only;                                   // neither claims nor runs jobs: other nodes of the store do
    void (*correct_clock)(void *ctx, int64_t by_ms); // see struct node
    void *clock_ctx;
};

struct flow {
    struct node node;
    struct lanes *lanes;
    struct dispatch *dispatch;
    struct pull *pull;
    struct recur *recur;
    struct recorder *recorder;
    struct admit *admit;
    struct complete *complete;
    struct commands *commands;
    struct bulk *bulk;
    struct backfills *backfills;
    struct peers *peers;
    struct reap *reap;
    struct beat *beat;
    struct sweep *sweep;
    struct lane_scan *lane_scan;
    struct assignment *assignment;
    struct peer_requests *peer_requests;
    struct lease_reports *lease_reports;
    struct lease_expiry *lease_expiry;
    struct event_relay *relay;
    struct stats_writer *stats_writer;
    struct tzdata *tzdata;
};

// The store, broker and executor stay the caller's. flow_waker and exec_waker wake the threads that run the turns.
struct flow *flow_new(const struct flow_config *config, struct store *store, struct broker *broker, struct exec *exec,
                      struct waker *flow_waker, struct waker *exec_waker);
void flow_free(struct flow *flow); // nothing may be in flight

// Does all that is due and says when, on the wall clock, to call it again.
int64_t flow_turn(struct flow *flow, struct now now);
int64_t flow_exec_turn(struct flow *flow, struct now now);

// Begins nothing more, and gives back what has not begun. Any thread.
void flow_stop(struct flow *flow);

// Writes the statistics and events that are left, and then that this life has ended: call when nothing is held any more, and no
// turn is to come. Waits for the store.
void flow_leave(struct flow *flow);

bool flow_drained(struct flow *flow); // stopping, and nothing is in hand or to be written any more. Flow thread

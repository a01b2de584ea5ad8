// What the stages of one node have in common: its incarnation, its clock rights, its ports.
// Layer: flow. Plain members are set before the stages start and do not change; the rest says who may touch it.
#pragma once
#include "base/data/digest.h"
#include "base/mailbox.h"
#include "base/rand.h"
#include "broker/broker.h"
#include "core/id.h"
#include "flow/events.h"
#include "flow/failures.h"
#include "flow/lanes.h"
#include "flow/stats.h"
#include "flow/warnings.h"
#include "store/lives.h"

#include <stdatomic.h>

struct event_relay;

struct node {
    struct store *store;
    struct broker *broker;
    struct lanes *lanes;
    struct waker *flow_waker;                        // wakes the thread that runs pull, complete and the tenders
    void (*correct_clock)(void *ctx, int64_t by_ms); // the wall clock is to go by so much more, or less; NULL: it is right
    void *clock_ctx;
    bool pulls;                // claims and runs jobs; otherwise it only takes requests and tends
    struct event_relay *relay; // fills in what a beat says of events; NULL: nothing
    struct events *events;     // any thread
    struct stats stats;        // any thread
    struct warnings *warnings; // any thread

    uint8_t secret[STORE_SECRET_SIZE]; // of the store. Set once, by the flow thread, before there is an incarnation
    bool has_secret;
    uint8_t shared_secret[STORE_SECRET_SIZE]; // from a file that servers of several databases may have in common
    bool has_shared_secret;

    pthread_mutex_t id_lock;
    struct id_maker ids; // under id_lock

    bool beat_soon;           // the flow thread's: a beat has to carry something new to the others
    bool clock_set;           // the flow thread's: the clock was corrected, and the turn under way still has the time of before
    int64_t said_at;          // the flow thread's, monotonic: when a failure of the store was last logged
    int unsaid;               // and how many were not since
    struct failures failures; // the flow thread's

    // Which life this is. Changes only when this process was declared dead by the others and begins anew.
    _Atomic int64_t incarnation;
    // On the monotonic clock: until when this incarnation may start and claim jobs. Moved on by each heartbeat that was
    // written, so a process that was frozen finds it in the past.
    _Atomic int64_t alive_until_ms;
    // While pull asks the store what this incarnation holds, no answer that brings a job in hand may be under way: otherwise it
    // could be taken in hand twice. So pushes are counted, and held back during a recount.
    _Atomic int pushing;
    _Atomic bool counting;
    _Atomic bool recount_wanted;   // an answer of the store was lost: something may be held unknowingly
    _Atomic bool lane_scan_wanted; // … or a peer went: something may wait in a lane that this node does not know
    _Atomic int add_err;           // enum err of the last insertion: what a client would meet now
    _Atomic bool store_lost;       // the store's files were taken away: there is nothing this process can do any more
    _Atomic bool stopping;
    _Atomic int nodes; // that live, this one included, as the last beat showed
};

void node_init(struct node *node, struct store *store, struct broker *broker, struct lanes *lanes, struct waker *flow_waker);
void node_done(struct node *node);
// To sign and read tickets with, once there is an incarnation: under the shared secret if there is one, else the store's.
struct digest_key *node_ticket_key(const struct node *node);
struct digest_key *node_store_key(const struct node *node); // under the store's secret
int64_t node_make_id(struct node *node, int64_t wall_ms);
// Logs that the store failed `who`; an outage is one line every few seconds, however many it meets. Flow thread.
void node_say_failed(struct node *node, const char *who, const struct store_op *op, int64_t mono_ms);

bool node_push_begin(struct node *node); // false: not now
void node_push_end(struct node *node);
bool node_alive(struct node *node, int64_t mono_ms);

// A life begins, may act until that time on the monotonic clock (I3), or ends. The stages see it at once, and executors get a
// control.
void node_begin_life(struct node *node, int64_t incarnation, int64_t until_ms);
void node_renew_life(struct node *node, int64_t until_ms);
void node_end_life(struct node *node);

// When a tender that looks once in a period looks again: they all do at the same moment, so that the thread is woken once and the
// store asked in one transaction. Other lives have other moments, or nodes of one machine would find the same things to do.
int64_t node_round(const struct node *node, int64_t mono_ms, int64_t period_ms);

// A node whose ports are played: the flow's stages are the shipped ones, the clock, the store's moods and the targets are the
// test's. Nothing happens unless a test says so, so every order of events can be told.
#pragma once
#include "exec/exec.h"
#include "flow/flow.h"

enum { PLAY_LIFE = 77, PLAY_TENANT = 1 };

// The store: the reference backend behind a front that can hold operations back, refuse them, or lose their answers.
//
// Its moods are one a verb. STORE_FIND is the exception: it has a mood for each enum store_find_what, in rows behind the verbs.
enum { PLAY_FIND_HELD = STORE_VERB_COUNT, PLAY_FIND_EXPIRED, PLAY_FIND_LEASES, PLAY_VERB_COUNT };

struct play_store {
    struct store store;
    struct store *memory;
    bool hold[PLAY_VERB_COUNT];      // operations of this verb wait for play_answer() and its kin
    enum err fails[PLAY_VERB_COUNT]; // … are answered with this error at once, and nothing is done
    int count[PLAY_VERB_COUNT];      // how many were submitted
    struct list waiting;
};

// The executor: what was started runs until the test ends it.
struct play_exec {
    struct exec exec;
    struct exec_attempt *running[64]; // in the order they were started
    size_t count;
    int started, cancelled;
    int64_t unknown_to;                 // what the jobs up to this one need is not known …
    struct exec_attempt *preparing[64]; // … and found out, until play_prepare()
    size_t preparing_count;
};

struct play {
    struct flow *flow;
    struct node *node;
    struct lanes *lanes;
    struct play_store store;
    struct broker *broker;
    struct play_exec exec;
    struct waker waker;
    int woken;
    struct now now;
    int64_t last_id;
};

struct play_config {
    int room, slots, broker_max; // 0: 100, 10, 100
    size_t room_bytes;           // 0: 64 MiB
    struct zones *zones;         // for recurring tasks; the test's
};

struct play *play_new(struct play_config config); // it has joined, as PLAY_LIFE, and is alive
void play_free(struct play *play);                // ends what runs, answers what waits
void play_pass(struct play *play, int64_t ms);    // time passes; nothing is turned
void play_live(struct play *play);                // alive from now on
int64_t play_turn(struct play *play);             // all turns, until none has anything more to do. When to turn again

void play_prepare(struct play *play, int64_t job_id); // what it needs is known now

// ---- the store

struct store_op *play_waiting(struct play *play, int verb);             // the oldest that is held back; NULL: none
void play_answer(struct play *play, struct store_op *op);               // carried out and answered
void play_do(struct play *play, struct store_op *op);                   // carried out; the answer is still on its way
void play_deliver(struct play *play, struct store_op *op);              // … and comes
void play_lose(struct play *play, struct store_op *op);                 // carried out, but the answer says it failed
void play_refuse(struct play *play, struct store_op *op, enum err err); // not carried out

// What is 0 is usual: queue "q", priority 5, ready and due now, in nobody's hand.
struct play_job {
    const char *queue, *doc;
    enum target_dispatch dispatch; // 0: called
    int priority;
    enum job_state state;
    int64_t due_at, expires_at, purge_at, holder, task_id;
};
int64_t play_add(struct play *play, struct play_job job); // straight into the store; returns its id
struct job play_job_of(struct play *play, int64_t id);    // as stored, without its texts
size_t play_attempts_of(struct play *play, int64_t id);
bool play_gone(struct play *play, int64_t id);
int64_t play_lane(struct play *play, const char *queue);            // the store's id of a lane, which the node learns too
void play_pause(struct play *play, const char *queue, bool paused); // in the store only

// A peer that joined the store, and one beat of it.
void play_peer(struct play *play, int64_t incarnation);
void play_peer_beats(struct play *play, int64_t incarnation);

// ---- orders, for who has no use for a store

struct order *play_order(struct play *play, int64_t id, int64_t lane, int priority); // claimed by this life, token 2

// What was reported, one a call: the outcome (the caller's), or NULL. That something began is left in *ret_began if it is given,
// else freed.
struct outcome *play_back(struct play *play, struct outcome **ret_began);

// ---- the executor

struct exec_attempt *play_running(struct play *play, int64_t job_id); // NULL: it does not run
void play_end(struct play *play, int64_t job_id, enum job_outcome outcome);
void play_detach(struct play *play, int64_t job_id); // its target answers that it will say later how it ended

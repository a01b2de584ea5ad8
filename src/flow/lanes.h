// The lanes this node knows, and how much room each has: shared by admit, pull and record. They are lanes of jobs that are
// called (core/task/target): what is handed out waits in others, which this table does not know, so it plans no claim of them.
// Layer: flow. Any thread; one short lock, never held over I/O.
#pragma once
#include "base/str.h"
#include "broker/broker.h"
#include "core/bucket.h"
#include "store/jobs.h"

enum {
    LANES_AHEAD_MS = 5000, // how long before its time a job is claimed at the earliest;
    LANES_BEGIN_MS = 4000, // an owner begins so long before: so jobs are claimed a second's worth at a time
};

struct lanes;

struct lanes *lanes_new(int room, size_t bytes); // how many jobs this node holds at most, and how many bytes of documents
void lanes_free(struct lanes *lanes);
void lanes_control(struct lanes *lanes, struct broker *broker); // from now on it carries pauses to its executors

// Takes one place for a job that is due now or soon and has a document of so many bytes, if its lane is known to the store as not
// paused, without backlog and within its share of both: the push path. Returns the lane, or 0.
int64_t lanes_take(struct lanes *lanes, int32_t tenant, struct str queue, size_t bytes, int64_t now_ms);
void lanes_give(struct lanes *lanes, int64_t lane, size_t bytes); // a place is free again
// Takes a place for a job found held. False: no room, or the lane is unknown.
bool lanes_hold(struct lanes *lanes, int64_t lane, size_t bytes);

// Something waits in this lane and is due then. Learns lanes it does not know. True: that is sooner than what was known, so
// lanes_plan() may find something earlier than lanes_next_plan() said.
bool lanes_note(struct lanes *lanes, int64_t lane, int32_t tenant, struct str queue, int64_t due_ms);
void lanes_due(struct lanes *lanes, int64_t lane, int64_t due_ms); // the same, of a lane that is known

// Counts what was noted of lanes on this node, other than by lanes_learn().
struct lanes_version {
    int64_t pauses, dues;
};
struct lanes_version lanes_version(struct lanes *lanes);

// What the store says of a lane in answer to a question. `asked` is lanes_version() of when the question was asked: what was
// noted of the lane since is newer. With a next_due of 0 it says nothing of what is due.
void lanes_learn(struct lanes *lanes, const struct store_lane *lane, struct lanes_version asked);

// In which buckets this node goes first (core/bucket). Until this is called it goes first everywhere.
void lanes_assign(struct lanes *lanes, const bool mine[BUCKETS]);
void lanes_buckets(struct lanes *lanes, bool ret_used[BUCKETS]); // those that lanes fall into

bool lanes_is_paused(struct lanes *lanes, int64_t lane);
bool lanes_is_queue_paused(struct lanes *lanes, int32_t tenant, struct str queue); // the same by its name

// What keeps this node from taking more jobs of a lane in hand.
enum lanes_limit {
    LANES_FREE,        // nothing
    LANES_JOBS,        // it has as many as it may have,
    LANES_JOBS_SHARE,  // … or the lane has its share of them
    LANES_BYTES,       // the same by the bytes of their documents
    LANES_BYTES_SHARE, //
};

struct lanes_view {
    enum lanes_limit limit;
    int64_t has;  // jobs or bytes in hand, of all or of the lane: as the limit is
    int64_t most; // that all may have
    int held;     // jobs of the lane in hand, those included that run
};
struct lanes_view lanes_look(struct lanes *lanes, int64_t lane);
void lanes_pause(struct lanes *lanes, int64_t lane, int32_t tenant, struct str queue, bool paused);

// The puller's side (lane_turns.c). Picks lanes with something due now, or due soon where this node goes first, longest unserved
// first, and gives each what its share allows. The places are taken until lanes_planned() says what came of it. Returns how many
// wants were written.
size_t lanes_plan(struct lanes *lanes, int64_t now_ms, struct store_want *ret_wants, size_t max_wants, size_t max_jobs);

// What came of a want: `got` of its places stay taken, by documents of so many bytes. `known` says that next_due and next_id are
// an answer.
void lanes_planned(struct lanes *lanes, const struct store_want *want, size_t got, size_t bytes, bool known);

int64_t lanes_next_plan(struct lanes *lanes); // when lanes_plan() may find something; TIME_NEVER while there is no room
int lanes_held(struct lanes *lanes);

// The next lane where this node goes first, walking round, whose jobs have been due for a while without being claimed, and up to
// which time they are marked ready already. Returns 0 when there is none.
int64_t lanes_overdue(struct lanes *lanes, int64_t before_ms, int64_t *ret_from_ms, int64_t *ret_from_id);
void lanes_promoted(struct lanes *lanes, int64_t lane, int64_t upto_ms, int64_t upto_id);

// The wall clock was set back: what was remembered in its terms no longer holds.
void lanes_clock_back(struct lanes *lanes);

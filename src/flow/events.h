// Events: what happens to jobs and queues, for whoever listens. Each is made into text once, and kept for a while.
//
// Layer: flow. Any thread emits and reads them; one short lock. While nobody listens, emitting one costs one relaxed load. Two
// kinds of listeners: clients of this node read the ring (api/event_streams); other nodes read what was put out for them
// (flow/peers/event_relay).
#pragma once
#include "base/buf.h"
#include "base/mailbox.h"
#include "core/job.h"

#include <stdatomic.h>

// name, text, what it means
#define EVENT_TYPES(X)                                                                      \
    X(SUBMITTED, "submitted", "a job was accepted and stored")                              \
    X(STARTED, "started", "an attempt began")                                               \
    X(RETRIED, "retried", "an attempt failed, another follows")                             \
    X(LOST, "lost", "the node that ran an attempt died; the job is ready")                  \
    X(RELEASED, "released", "the node that ran an attempt stops; it is ready")              \
    X(SUCCESS, "success", "the job succeeded")                                              \
    X(ABORTED, "aborted", "the job failed for good")                                        \
    X(BURIED, "buried", "the job was lost once too often")                                  \
    X(CANCELLED, "cancelled", "the job was cancelled, or expired")                          \
    X(TASK_PAUSED, "task_paused", "a task is paused")                                       \
    X(TASK_RESUMED, "task_resumed", "a task is let go")                                     \
    X(TASK_CHANGED, "task_changed", "a task was changed")                                   \
    X(TASK_DELETED, "task_deleted", "a task was ended and forgotten")                       \
    X(QUEUE_PAUSED, "queue_paused", "a queue is paused")                                    \
    X(QUEUE_RESUMED, "queue_resumed", "a queue is let go")                                  \
    X(QUEUE_DELETED, "queue_deleted", "a queue was forgotten")                              \
    X(SCHEDULE_MISSING, "schedule_missing", "a planned job was removed behind rota's back") \
    X(JOB_OVERDUE, "job_overdue", "an attempt goes on long after its timeout")              \
    X(SCHEDULE_FAILING, "schedule_failing", "halfway to where the task pauses itself")      \
    X(ZONE_MISSING, "zone_missing", "the time zone of a task is not installed any more")    \
    X(GAP, "gap", "something may have been missed here")

enum event_type {
#define X(name, text, words) EVENT_##name,
    EVENT_TYPES(X)
#undef X
        EVENT_TYPE_COUNT
};

const char *events_type_text(enum event_type type);
bool events_type_parse(struct str text, enum event_type *ret_type);

struct event_item {
    enum event_type type;
    int32_t tenant; // 0: of all
    int64_t at_ms;
    int64_t task_id, job_id; // 0: it is about no job
    enum job_state state;
    struct str queue, name;
    int32_t attempt, status;  // 0: none
    enum job_outcome outcome; // NONE: none
    struct str reason;
    int64_t next_at;                // RETRIED: when the next attempt is due
    int64_t failures, pauses_after; // SCHEDULE_FAILING: how many jobs failed in a row, and after how many the task pauses itself
};

enum { EVENT_QUEUE_SIZE = 65 };
enum { EVENT_KEPT = 32768, EVENT_BYTES = 16 << 20, EVENT_OUT_BYTES = 1 << 20 };

struct events;

struct events *
events_new(struct waker *flow_waker); // woken when there is something to put out, and when a client comes; may be NULL
void events_free(struct events *events);

bool events_wanted(const struct events *events); // does anybody listen? To be asked before an event_item is made that costs work
void events_emit(struct events *events, const struct event_item *item);

// ---- clients of this node

// `waker` is woken when there is something new to read. NULL: nobody.
void events_wake(struct events *events, struct waker *waker);
void events_listen(struct events *events); // one client more; keeping begins with the first
void events_leave(struct events *events);  // one less
int events_clients(const struct events *events);
void events_stop_keeping(struct events *events); // unless somebody listens
bool events_kept(struct events *events);

// Whether all nodes put out their events for this one: from then on nothing is missed.
void events_set_ready(struct events *events, bool ready);
bool events_ready(const struct events *events);

struct events_filter {
    int32_t tenant;
    int64_t task_id;              // 0: all
    unsigned types;               // a bit for each; everybody gets a gap
    char queue[EVENT_QUEUE_SIZE]; // "": all
};

// Where a client is: the next one to read, and how much of it was read.
struct events_at {
    uint64_t seq;
    size_t offset;
};

struct events_at events_end(struct events *events); // behind all that is there
// The position behind what a client has seen, by the id it was given. False: what follows is not there any more, or never was;
// then it is where to go on from.
bool events_find(struct events *events, struct str id, struct events_at *ret_at);
void events_put_id(struct events *events, struct buf *buf, struct events_at at); // of the event before it

enum events_reading {
    EVENT_NOTHING,
    EVENT_SOME,
    EVENT_GONE
}; // GONE: the client was too slow, and the next ones are not kept any more

// Passes over what the filter leaves out, and says whether there is something to read then.
enum events_reading events_seek(struct events *events, const struct events_filter *filter, struct events_at *at);
enum events_reading events_read(struct events *events, const struct events_filter *filter, struct events_at *at, char *to,
                                size_t max, size_t *ret_n);

// ---- other nodes

void events_put_out(struct events *events, bool on);                // whether events of this node are put out for others
bool events_take_out(struct events *events, struct buf *ret_lines); // false: there is nothing
void events_take_in(struct events *events, struct str lines);       // of another node

// News: what happens to jobs and queues, for whoever listens. Each is made into text once, and kept for a while.
//
// Layer: flow. Any thread tells and reads; one short lock. While nobody listens, telling costs one relaxed load. Two kinds of
// listeners: clients of this node read the ring (api/events); other nodes read what was put out for them (flow/hear).
#pragma once
#include "base/buf.h"
#include "base/mailbox.h"
#include "core/job.h"

#include <stdatomic.h>

// name, text, what it means
#define NEWS_TYPES(X)                                                          \
    X(SUBMITTED, "submitted", "a job was accepted and stored")                 \
    X(STARTED, "started", "an attempt began")                                  \
    X(RETRIED, "retried", "an attempt failed, another follows")                \
    X(LOST, "lost", "the node that ran an attempt died; the job is ready")     \
    X(RELEASED, "released", "the node that ran an attempt stops; it is ready") \
    X(SUCCESS, "success", "the job succeeded")                                 \
    X(ABORTED, "aborted", "the job failed for good")                           \
    X(BURIED, "buried", "the job was lost once too often")                     \
    X(CANCELLED, "cancelled", "the job was cancelled, or expired")             \
    X(TASK_PAUSED, "task_paused", "a task is held")                            \
    X(TASK_RESUMED, "task_resumed", "a task is let go")                        \
    X(TASK_CHANGED, "task_changed", "a task was changed")                      \
    X(TASK_DELETED, "task_deleted", "a task was ended and forgotten")          \
    X(QUEUE_PAUSED, "queue_paused", "a queue is held")                         \
    X(QUEUE_RESUMED, "queue_resumed", "a queue is let go")                     \
    X(QUEUE_DELETED, "queue_deleted", "a queue was forgotten")                 \
    X(GAP, "gap", "something may have been missed here")

enum news_type {
#define X(name, text, words) NEWS_##name,
    NEWS_TYPES(X)
#undef X
        NEWS_TYPE_COUNT
};

const char *news_type_text(enum news_type type);
bool news_type_parse(struct str text, enum news_type *ret_type);

struct news_item {
    enum news_type type;
    int32_t tenant; // 0: of all
    int64_t at_ms;
    int64_t task_id, job_id; // 0: it is about no job
    enum job_state state;
    struct str queue, name;
    int32_t attempt, status;  // 0: none
    enum job_outcome outcome; // NONE: none
    struct str reason;
    int64_t next_at; // RETRIED: when the next attempt is due
};

enum { NEWS_QUEUE_SIZE = 65 };
enum { NEWS_KEPT = 32768, NEWS_BYTES = 16 << 20, NEWS_OUT_BYTES = 1 << 20 };

struct news;

struct news *news_new(struct waker *flow_waker); // woken when there is something to put out, and when a client comes; may be NULL
void news_free(struct news *news);

bool news_wanted(const struct news *news); // would anybody hear it? Who has to do work for a news_item asks first
void news_tell(struct news *news, const struct news_item *item);

// ---- clients of this node

// `waker` is woken when there is something new to read. NULL: nobody.
void news_wake(struct news *news, struct waker *waker);
void news_listen(struct news *news); // one client more; keeping begins with the first
void news_leave(struct news *news);  // one less
int news_clients(const struct news *news);
void news_stop_keeping(struct news *news); // unless somebody listens
bool news_kept(struct news *news);

// Whether everybody whose news are to be heard was told so: from then on nothing is missed.
void news_set_ready(struct news *news, bool ready);
bool news_ready(const struct news *news);

struct news_filter {
    int32_t tenant;
    int64_t task_id;             // 0: all
    unsigned types;              // a bit for each; a gap is told to everybody
    char queue[NEWS_QUEUE_SIZE]; // "": all
};

// Where a client is: the next one to read, and how much of it was read.
struct news_at {
    uint64_t seq;
    size_t offset;
};

struct news_at news_end(struct news *news); // behind all that is there
// The position behind what a client has seen, by the id it was given. False: what follows is not there any more, or never was;
// then it is where to go on from.
bool news_find(struct news *news, struct str id, struct news_at *ret_at);
void news_put_id(struct news *news, struct buf *buf, struct news_at at); // of what is before it

enum news_reading {
    NEWS_NOTHING,
    NEWS_SOME,
    NEWS_GONE
}; // GONE: the client was too slow, and the next ones are not kept any more

// Passes over what the filter leaves out, and says whether there is something to read then.
enum news_reading news_seek(struct news *news, const struct news_filter *filter, struct news_at *at);
enum news_reading news_read(struct news *news, const struct news_filter *filter, struct news_at *at, char *to, size_t max,
                            size_t *ret_n);

// ---- other nodes

void news_put_out(struct news *news, bool on);                // whether what is told is put out for others
bool news_take_out(struct news *news, struct buf *ret_lines); // false: there is nothing
void news_take_in(struct news *news, struct str lines);       // of another node

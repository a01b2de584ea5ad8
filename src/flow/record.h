// The recorder: writes down what was decided, and does what follows once it is written. What was written is counted and becomes
// an event, the lanes learn what waits in them, and a place that was held is given back.
//
// Layer: flow. It alone submits additions, steps, amendments and removals to the store. Owned by the flow thread, but for
// recorder_add(), which any thread may call.
#pragma once
#include "base/clock.h"
#include "flow/node.h"
#include "store/plans.h"

struct backfills;
struct pull;
struct recorder;
struct recur;

struct recorder *recorder_new(struct node *node, struct pull *pull);
void recorder_free(struct recorder *recorder);
// Who wants to know of the ends of scheduled jobs, and of those that backfills have added.
void recorder_tell(struct recorder *recorder, struct recur *recur, struct backfills *backfills);
void recorder_turn(struct recorder *recorder,
                   struct now now); // takes the store's answers: done() of what they belong to is called

// ---- steps of jobs

// Whom a step is about, for events and the log.
struct record_subject {
    struct str queue, name; // of its task; queue.p == NULL: they stand in `doc`
    struct str doc;
    bool calm;    // nothing follows for the schedule of its task when it ends, as its policy says; false: that is not known
    int64_t held; // the token under which this node has it in hand: its place is given back, written or refused; 0: it has not
};

// Steps that are decided, and handed to the store together. Each is written whole or not at all.
struct recording {
    struct store_change change; // .steps[i].err says what became of each, unless .op.err says that all failed
    struct record_subject *subjects;
    size_t max;
    void (*done)(struct recording *recording, struct now now); // on the flow thread
};

void recording_init(struct recording *recording, size_t max, void (*done)(struct recording *recording, struct now now));
void recording_done(struct recording *recording); // frees all but the struct
// The record and the attempt of a step live until done().
void recording_add(struct recording *recording, struct store_step step, struct record_subject subject);

void recorder_write(struct recorder *recorder, struct recording *recording); // the same again, if the store failed, is allowed

// ---- tasks

// A change of a task with its waiting jobs; `event` is emitted when it is written, EVENT_TYPE_COUNT: none.
struct amending {
    struct store_amend amend;
    enum event_type event;
    struct str reason;                                       // that the event gives
    void (*done)(struct amending *amending, struct now now); // on the flow thread
};
void recorder_amend(struct recorder *recorder, struct amending *amending);

// The removal of `task`; its event is emitted when nothing of it is left.
struct removing {
    struct store_remove remove;
    const struct store_task *task;
    void (*done)(struct removing *removing, struct now now); // on the flow thread
};
void recorder_remove(struct recorder *recorder, struct removing *removing);

// Plans of recurring tasks, with the jobs that they plan. Each item is written or refused by itself.
struct planning {
    struct store_plan plan;          // .items[i].err says what became of each, unless .op.err says that all failed
    struct record_subject *subjects; // of whom the jobs are
    size_t max;
    void (*done)(struct planning *planning, struct now now); // on the flow thread
};

void planning_init(struct planning *planning, size_t max, void (*done)(struct planning *planning, struct now now));
void planning_done(struct planning *planning); // frees all but the struct
void planning_add(struct planning *planning, struct store_planned item, struct record_subject subject);
void recorder_plan(struct recorder *recorder, struct planning *planning,
                   int64_t now_ms); // again, if the store failed, is allowed

// New tasks with their jobs, or new jobs. Jobs that were inserted in hand are handed to pull before done() is called; the
// lanes of the others learn what waits in them.
struct addition {
    struct store_add add;
    struct order **orders;         // for each item the order of a job inserted in hand, or NULL; all NULL: .orders == NULL
    const struct store_task *task; // of jobs that are added to a task that exists
    int64_t began_ns;              // monotonic
    struct recorder *recorder;
    void (*done)(struct addition *addition); // on a thread of the store: must not block
};
void recorder_add(struct recorder *recorder, struct addition *addition);

// Counts, and says by an event and a warning, that an attempt goes on although its timeout has passed by more than
// RECORD_OVERDUE_MS. Nothing is said of other jobs. Flow thread.
enum { RECORD_OVERDUE_MS = 30000 };
void record_overdue(struct node *node, const struct store_job *found, int64_t now_ms);

// An attempt begins: nothing is written yet, but it is counted and becomes an event. The dispatcher's thread.
void record_started(struct node *node, const struct outcome *running);

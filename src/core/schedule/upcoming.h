// What is coming: planned jobs, and instants of schedules that have no job yet, in one list by time.
//
// Layer: core, pure. A list keeps the earliest items of all that it is offered, as many as it has room for, in whatever order
// they come. So schedules are gone through one after the other, and each only up to the last item that is kept so far.
#pragma once
#include "core/schedule/plan.h"

// Where an item stands. Of one time jobs come first, by their ids, and then computed instants, by the ids of their tasks. With
// jitter two instants of a task may be due at the same time: then the earlier instant comes first.
struct upcoming_place {
    int64_t at_ms;
    bool computed;
    int64_t id;         // of the job; of a computed instant that of the task
    int64_t nominal_at; // of a computed instant; else 0
};

int upcoming_compare(struct upcoming_place a, struct upcoming_place b); // < 0: `a` comes first

// What is shown of a task.
struct upcoming_task {
    int64_t id;
    struct str name; // empty: it has none
    bool paused;     // it, or its queue
};

struct upcoming_item {
    struct upcoming_place place;
    const struct upcoming_task *task;
};

// A list is filled by offers, then sorted once, and then united. The first four are given.
struct upcoming {
    struct upcoming_item *items;
    size_t max;                    // that `items` has room for; at least 1
    struct upcoming_place after;   // only items behind this are kept,
    struct upcoming_place through; // … and up to this one, which may be among them
    size_t count;
};

void upcoming_offer(struct upcoming *list, struct upcoming_item item); // keeps it if it is among the earliest so far
int64_t upcoming_end(const struct upcoming *list);                     // what is offered for a later time is not kept
void upcoming_sort(struct upcoming *list);                             // nothing can be offered afterwards

// Drops what lies behind `through`, if that was moved since, and each computed instant whose job is in the list, too: it was
// planned after its plan was read. To be called when the list is sorted.
void upcoming_unite(struct upcoming *list);

// Goes through the instants of a schedule that have no job yet, and offers each when its job will be due.
struct upcoming_walk {
    const struct schedule *schedule;
    const struct upcoming_task *task;
    int64_t after_ms; // the instant it has come to
    int64_t left;     // instants that max_runs still allows
};

// A plan that owes nothing any more has no such instant. Whether the task is paused is not asked here.
struct upcoming_walk upcoming_walk_begin(const struct upcoming *list, const struct schedule *schedule, const struct plan *plan,
                                         int64_t max_runs, const struct upcoming_task *task);

// Takes at most *steps steps, and counts them down. True: it has come to the end of the schedule, or of what the list keeps.
bool upcoming_walk(struct upcoming_walk *walk, struct upcoming *list, int64_t *steps);

// Sessions whose statements come in every order: the rows they find, what each of them may do, and the play of all orders.
#pragma once
#include "store_support.h"

#include "../support/proxy.h"
#include "postgres_support.h"

#include <stdatomic.h>

enum { SESSIONS = 3, FIRST = 11, STEPS_MAX = 12, JOBS = 5, DAY_MS = 86400 * 1000 };

struct session {
    struct stage *stage;
    struct store *store;
    struct proxy *proxy;
    int number;
    int64_t incarnation;
    struct store_op *op;
    enum store_verb verb;
    atomic_bool done; // since the store gave the operation back
    int allowed;      // statements, up to now
    bool ended;       // as seen by the one who steps
    bool waits;       // for a lock, when it was last looked at
};

struct stage {
    struct world *world; // beside the sessions; makes what they find
    PGconn *watcher;
    struct session sessions[SESSIONS];
    int64_t lanes[2], ids[JOBS];
    int64_t ended;              // a task that has no job any more
    long long held_when_buried; // -1: nobody was buried
    int claims_when_paused;     // statements that the claims had sent when the pause was done; -1: nothing was paused
};

// What a session does in a scenario.
typedef void beginning(struct session *session);

struct scenario {
    beginning *begin[SESSIONS];
    int coarse; // statements that go together as one step, where three sessions would have too many orders
    void (*check)(struct stage *stage);
};

// An operation of a session, which submits it.
void *new_op(struct session *session, size_t size, enum store_verb verb);
#define NEW_OP(session, type, verb) ((struct type *)new_op((session), sizeof(struct type), (verb)))
void bring_ended_back(struct stage *stage); // the job of the task that has none any more

// The operations (interleaved_operations.c). "First" is the first session's incarnation, or the first job.
beginning claim_one_lane, claim_two_lanes, claim_other_lane;
beginning change_first, replan_first, make_due, plan_ended_again, sweep_ended;
beginning add_in_hand_of_first, add_late, add_to_ended, add_to_empty, move_first_to_empty;
beginning amend_first, pause_first, retag_first, retag_first_and_replan, delete_first, delete_ended, hand_out_first,
    hand_out_first_in_empty;
beginning list_lanes, pause_lane, pause_other_lane, pause_empty, drop_empty;
beginning beat_of_first, bury_first, forget_first, divide, ask_first, asked_of_first;

// Those of recurring tasks (interleaved_plans.c). Each finds that the tasks it is about recur, from PLANNED on.
enum { PLANNED = NOW + 100 };
beginning plan_first, plan_first_unread, plan_last_for_ended, plan_ended_unread;
beginning end_first_of_plan, end_two_of_plans, amend_first_and_plan, retag_first_and_plan;
beginning delete_ended_and_plan, sweep_ended_and_plan;
beginning reserve, reserve_name_of_first, reserve_name_of_first_by_first, delete_ended_and_its_name;

// The play (interleaved_support.c).
int set_up(void **state);
int tear_down(void **state);
long long ask(struct stage *stage, const char *sql_with_at); // a number; @ stands for the schema
int times_written(const struct stage *stage, int64_t id);    // how many operations wrote the job
// Tries the scenario in every order of its statements, each time from the same rows. No order may end in a deadlock, which would
// be an error of the server.
void try_every_order(void **state, struct scenario scenario);

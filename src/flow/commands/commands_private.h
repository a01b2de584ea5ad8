// A command under way, as commands.c and command_tasks.c have it.
// Layer: flow, private to `commands`. Owned by the flow thread.
#pragma once
#include "flow/commands/command_next.h"
#include "flow/commands/commands.h"
#include "flow/commands/merge.h"
#include "flow/commands/recalls.h"
#include "flow/commands/revise.h"
#include "store/peers.h"

// One command under way. It has one operation or question out at a time; or its document is with whoever asked, to be merged.
struct work {
    struct revision revision;
    struct commands *commands;
    struct command *op;
    struct command_past past;
    struct addition addition;
    struct store_new item;
    struct store_request request;
    struct amending amending;
    struct removing removing;
    struct pull_ask ask;
    struct recalls recalls;
    struct patched patched;   // of a change: what the task becomes
    struct arena merged;      // its texts
    int64_t requested_holder; // whom the last request went to,
    int64_t requested_at;     // and when, on the monotonic clock; 0: it is to be sent
};

struct commands {
    struct reviser reviser;
    struct pull *pull;
    struct zones *zones;
    struct mailbox inbox;   // struct command, new
    struct mailbox merged;  // struct command, with its changed document
    struct mailbox answers; // struct store_op of requests that were sent and jobs that were added
};

static inline struct node *work_node(const struct work *work)
{
    return work->commands->reviser.node;
}

static inline struct now work_now(const struct work *work)
{
    return work->commands->reviser.now;
}

void work_finish(struct work *work, enum err err, const char *why); // answers the command: `work` is gone
void work_decide(struct work *work);                                // by the record as it was read last

// ---- command_tasks.c: tasks that are changed, paused, resumed and removed

void work_do_merge(struct work *work, const struct command_next *next);
void work_do_amend(struct work *work, const struct command_next *next);
void work_do_remove(struct work *work, const struct command_next *next);
void work_take_merged(struct work *work);                // its changed document is there
void work_take_gone(struct work *work, const char *why); // its task cannot be found

// Each is asked before anything is called back. False: the command was ended.
bool work_is_apt(struct work *work);    // has the task what the command speaks of?
bool work_plan_fits(struct work *work); // is a change that plans the task anew possible now?

bool work_moves(struct work *work); // of a REPLAN: would a planned job get another instant?

// Commands that are given to a played node, and what another node does with the jobs it has in hand.
#pragma once
#include "store/peers.h"
#include "support/play.h"

struct request {
    struct command op;
    int64_t version; // that it is meant for
    bool done;
};

void ask(struct play *play, struct request *request, enum command_act act, int64_t task_id, int64_t job_id);
enum err commands(struct play *play, enum command_act act, int64_t task_id,
                  int64_t job_id); // asks, and plays until it is answered
// Asks for a change and plays one turn; version 0: whichever there is. ERR_BUSY: it is not answered yet.
enum err patch(struct play *play, struct request *request, int64_t task_id, const char *text, int64_t version);
extern bool merges_later; // a test merges the documents of changes itself
extern int merges;        // how often that was asked for since the last ask()

int64_t in_future(struct play *play, int64_t ms); // adds a job that is due so much later
void pass_turning(struct play *play, int64_t ms);
bool is_paused(struct play *play, int64_t id);
bool doc_has(struct play *play, int64_t id, const char *text);
void assert_cancelled(struct play *play, int64_t id); // and that nothing begins, nor is held, for a while
void assert_runs_soon(struct play *play, int64_t id);

// Another node, which has jobs in hand.
enum { OTHER = 55 };
int64_t asked_of_other(struct play *play, enum store_request_kind *ret_kind); // takes a request to it: the job, or 0
void other_writes(struct play *play, struct job job, int64_t token);          // it gives the job back, or up, as the record says
void cancel_as_other(struct play *play, int64_t id);
// The other node does nothing: a command is given up after a while, and another command when this node stops.
void assert_given_up(struct play *play, int64_t id, enum command_act act, enum command_act other_act, int64_t stop_ms);

// This node's claims are carried out by the store from now on, and their answers held back. Returns the first.
struct store_op *claim_on_its_way(struct play *play);

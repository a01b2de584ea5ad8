// A request is carried out as if it had been made here: only the holder knows what becomes of a job in its hand. There is no
// answer: the node that asked sees it in the record, or asks again.
//
// A node that is alone does not look, and one that has nothing in hand seldom does.
#include "flow/peers/peer_requests.h"

#include "base/mark.h"
#include "base/mem.h"
#include "flow/commands/commands.h"
#include "flow/peers/peers.h"
#include "flow/stages/pull.h"
#include "store/peers.h"

enum {
    LOOK_MS = 200,
    IDLE_MS = 5000, // with nothing in hand: only what came too late is left to be taken away
    REQUESTS_MAX = 500,
};

struct peer_requests {
    struct node *node;
    const struct peers *peers;
    const struct pull *pull;
    struct commands *commands;
    struct mailbox answers;
    bool waiting;
    int64_t next_at; // monotonic
    struct store_requests taken;
};

struct peer_requests *peer_requests_new(struct node *node, const struct peers *peers, const struct pull *pull,
                                        struct commands *commands)
{
    struct peer_requests *requests = mem_zero(sizeof *requests);
    requests->node = node;
    requests->peers = peers;
    requests->pull = pull;
    requests->commands = commands;
    mailbox_init(&requests->answers, node->flow_waker);
    return requests;
}

void peer_requests_free(struct peer_requests *requests)
{
    if (!requests)
        return;
    store_op_done(&requests->taken.op); // of an answer that came too late
    mailbox_done(&requests->answers);
    mem_free(requests);
}

static void carried_out(struct command *op)
{
    if (!op->err)
        mark(MARK_PEER_REQUEST_DONE);
    mem_free(op);
}

static void take_requests(struct peer_requests *requests, struct now now)
{
    static const enum command_act acts[] = {
        [STORE_REQUEST_CANCEL] = COMMAND_CANCEL, [STORE_REQUEST_RUN] = COMMAND_RUN, [STORE_REQUEST_RECALL] = COMMAND_RECALL};
    struct store_requests *taken = &requests->taken;
    size_t count = taken->op.err || atomic_load(&requests->node->stopping) ? 0 : taken->job_count;
    for (size_t i = 0; i < count; i++) {
        const struct store_job_request *job = &taken->jobs[i];
        if (job->kind >= STORE_REQUEST_COUNT)
            continue; // of a newer rota
        struct command *op = mem_zero(sizeof *op);
        *op = (struct command){.act = acts[job->kind], .tenant = job->tenant, .job_id = job->job_id, .done = carried_out};
        commands_submit(requests->commands, op);
    }
    requests->waiting = false;
    requests->next_at = now.mono_ms + (count == REQUESTS_MAX ? 0 : pull_count(requests->pull) ? LOOK_MS : IDLE_MS);
    store_op_done(&taken->op);
}

int64_t peer_requests_turn(struct peer_requests *requests, struct now now)
{
    struct node *node = requests->node;
    struct list answers;
    list_init(&answers);
    mailbox_take(&requests->answers, &answers);
    if (!list_empty(&answers))
        take_requests(requests, now);
    bool listens = node->pulls && peers_has_company(requests->peers) && node_alive(node, now.mono_ms);
    if (requests->waiting || !listens || atomic_load(&node->stopping))
        return TIME_NEVER; // the next beat or answer wakes
    if (pull_count(requests->pull) && requests->next_at > now.mono_ms + LOOK_MS)
        requests->next_at = now.mono_ms + LOOK_MS;
    if (now.mono_ms < requests->next_at)
        return now.wall_ms + requests->next_at - now.mono_ms;
    store_op_post(&requests->taken.op, STORE_REQUESTS, &requests->answers);
    requests->taken.holder = atomic_load(&node->incarnation);
    requests->taken.max = REQUESTS_MAX;
    requests->waiting = true;
    store_submit(node->store, &requests->taken.op);
    return TIME_NEVER;
}

// A wish is carried out as if it had been made here: only the holder knows what becomes of a job in its hand. Nobody is answered:
// who asked sees it in the record, or asks again.
//
// Who is alone does not look, and who has nothing in hand seldom.
#include "flow/heed.h"

#include "base/mark.h"
#include "base/mem.h"
#include "flow/peers.h"
#include "flow/pull.h"
#include "flow/steer.h"
#include "store/peers.h"

enum {
    LOOK_MS = 200,
    IDLE_MS = 5000, // with nothing in hand: only what came too late is left to be taken away
    ASKED_MAX = 500,
};

struct heed {
    struct node *node;
    const struct peers *peers;
    const struct pull *pull;
    struct steer *steer;
    struct mailbox answers;
    bool waiting;
    int64_t next_at; // monotonic
    struct store_asked asked;
};

struct heed *heed_new(struct node *node, const struct peers *peers, const struct pull *pull, struct steer *steer)
{
    struct heed *heed = mem_zero(sizeof *heed);
    heed->node = node;
    heed->peers = peers;
    heed->pull = pull;
    heed->steer = steer;
    mailbox_init(&heed->answers, node->flow_waker);
    return heed;
}

void heed_free(struct heed *heed)
{
    if (!heed)
        return;
    store_op_done(&heed->asked.op); // of an answer that came too late
    mailbox_done(&heed->answers);
    mem_free(heed);
}

static void carried_out(struct steer_op *op)
{
    if (!op->err)
        mark(MARK_HEEDED);
    mem_free(op);
}

static void take_asked(struct heed *heed, struct now now)
{
    static const enum steer_act acts[] = {
        [STORE_WISH_CANCEL] = STEER_CANCEL, [STORE_WISH_RUN] = STEER_RUN, [STORE_WISH_RECALL] = STEER_RECALL};
    struct store_asked *asked = &heed->asked;
    size_t count = asked->op.err || atomic_load(&heed->node->stopping) ? 0 : asked->job_count;
    for (size_t i = 0; i < count; i++) {
        const struct store_asked_job *job = &asked->jobs[i];
        if (job->wish >= STORE_WISH_COUNT)
            continue; // of a newer rota
        struct steer_op *op = mem_zero(sizeof *op);
        *op = (struct steer_op){.act = acts[job->wish], .tenant = job->tenant, .job_id = job->job_id, .done = carried_out};
        steer_submit(heed->steer, op);
    }
    heed->waiting = false;
    heed->next_at = now.mono_ms + (count == ASKED_MAX ? 0 : pull_count(heed->pull) ? LOOK_MS : IDLE_MS);
    store_op_done(&asked->op);
}

int64_t heed_turn(struct heed *heed, struct now now)
{
    struct node *node = heed->node;
    struct list answers;
    list_init(&answers);
    mailbox_take(&heed->answers, &answers);
    if (!list_empty(&answers))
        take_asked(heed, now);
    bool listens = node->pulls && peers_has_company(heed->peers) && node_alive(node, now.mono_ms);
    if (heed->waiting || !listens || atomic_load(&node->stopping))
        return TIME_NEVER; // the next beat or answer wakes
    if (pull_count(heed->pull) && heed->next_at > now.mono_ms + LOOK_MS)
        heed->next_at = now.mono_ms + LOOK_MS;
    if (now.mono_ms < heed->next_at)
        return now.wall_ms + heed->next_at - now.mono_ms;
    store_op_post(&heed->asked.op, STORE_ASKED, &heed->answers);
    heed->asked.holder = atomic_load(&node->incarnation);
    heed->asked.max = ASKED_MAX;
    heed->waiting = true;
    store_submit(node->store, &heed->asked.op);
    return TIME_NEVER;
}

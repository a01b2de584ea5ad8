// A wish is carried out as if it had been made here: only the holder knows what becomes of a job in its hand. Nobody is answered:
// who asked sees it in the record, or asks again.
//
// While there is nobody else who could ask, nothing is looked for.
#include "flow/heed.h"

#include "base/mark.h"
#include "base/mem.h"
#include "flow/reap.h"
#include "flow/steer.h"

enum { LOOK_MS = 200, ASKED_MAX = 500 };

struct heed {
    struct node *node;
    const struct reap *reap;
    struct steer *steer;
    struct mailbox answers;
    bool waiting;
    int64_t next_at; // monotonic
    struct store_asked asked;
};

struct heed *heed_new(struct node *node, const struct reap *reap, struct steer *steer)
{
    struct heed *heed = mem_zero(sizeof *heed);
    heed->node = node;
    heed->reap = reap;
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
    static const enum steer_act acts[] = {[STORE_WISH_CANCEL] = STEER_CANCEL, [STORE_WISH_RUN] = STEER_RUN};
    struct store_asked *asked = &heed->asked;
    size_t count = asked->op.err ? 0 : asked->job_count;
    for (size_t i = 0; i < count; i++) {
        const struct store_asked_job *job = &asked->jobs[i];
        struct steer_op *op = mem_zero(sizeof *op);
        *op = (struct steer_op){.act = acts[job->wish], .tenant = job->tenant, .job_id = job->job_id, .done = carried_out};
        steer_submit(heed->steer, op);
    }
    heed->waiting = false;
    heed->next_at = now.mono_ms + (count == ASKED_MAX ? 0 : LOOK_MS);
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
    if (!node->pulls || heed->waiting || !node_alive(node, now.mono_ms) || !reap_has_company(heed->reap))
        return TIME_NEVER; // the next beat or answer wakes
    if (now.mono_ms < heed->next_at)
        return now.wall_ms + heed->next_at - now.mono_ms;
    store_op_post(&heed->asked.op, STORE_ASKED, &heed->answers);
    heed->asked.holder = atomic_load(&node->incarnation);
    heed->asked.max = ASKED_MAX;
    heed->waiting = true;
    store_submit(node->store, &heed->asked.op);
    return TIME_NEVER;
}

// One read by its key for a job that was skipped or has to wait is little beside the plan that is read and written for it;
// comparing all that is active with all that is there, again and again, would not be.
#include "flow/stages/active_check.h"

#include "base/data/map.h"
#include "base/mem.h"
#include "store/jobs.h"

struct asked {
    struct store_get get;
    int64_t task_id;
};

struct active_check {
    struct node *node;
    void (*gone)(void *ctx, int64_t task_id, int64_t job_id);
    void *ctx;
    struct mailbox answers; // struct store_op of struct asked
    struct map asked;       // task id -> struct asked that is under way
};

struct active_check *active_check_new(struct node *node, void (*gone)(void *ctx, int64_t task_id, int64_t job_id), void *ctx)
{
    struct active_check *check = mem_zero(sizeof *check);
    check->node = node;
    check->gone = gone;
    check->ctx = ctx;
    mailbox_init(&check->answers, node->flow_waker);
    return check;
}

static void asked_free(struct asked *asked)
{
    store_op_done(&asked->get.op);
    mem_free(asked);
}

// Nothing is out: the store has been closed, and has answered everything before.
void active_check_free(struct active_check *check)
{
    struct asked *asked;
    int64_t task_id;
    if (!check)
        return;
    for (size_t at = 0; (asked = map_next(&check->asked, &at, &task_id));)
        asked_free(asked);
    map_done(&check->asked);
    mailbox_done(&check->answers);
    mem_free(check);
}

void active_check_ask(struct active_check *check, int64_t task_id, int64_t job_id)
{
    if (map_get(&check->asked, task_id) || check->asked.count >= ACTIVE_CHECKS_MAX)
        return;
    struct asked *asked = mem_zero(sizeof *asked);
    asked->task_id = task_id;
    asked->get.job_id = job_id;
    map_put(&check->asked, task_id, asked);
    store_op_post(&asked->get.op, STORE_GET, &check->answers);
    store_submit(check->node->store, &asked->get.op);
}

static bool is_gone(const struct store_get *get)
{
    return get->op.err == ERR_NOT_FOUND ||
           (!get->op.err && get->job_count && job_state_final((enum job_state)get->jobs[0].state));
}

void active_check_turn(struct active_check *check)
{
    struct list answers;
    list_init(&answers);
    mailbox_take(&check->answers, &answers);
    list_each (&answers, link) {
        struct store_op *op = list_entry(link, struct store_op, link);
        struct asked *asked = container_of(op, struct asked, get.op);
        map_remove(&check->asked, asked->task_id);
        if (is_gone(&asked->get))
            check->gone(check->ctx, asked->task_id, asked->get.job_id);
        asked_free(asked);
    }
}

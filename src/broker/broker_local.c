// The broker of one process: two mailboxes. Orders are bounded by a count of those that wait, so that an executor that does not
// keep up pushes back on the puller; outcomes are bounded by their orders. Pointers are handed over, nothing is copied or
// encoded, and a control is carried out on the thread that gives it.
#include "base/mem.h"
#include "broker/broker.h"

#include <stdatomic.h>

struct local {
    struct broker broker;
    struct broker_executor executor;
    struct mailbox orders, outcomes;
    atomic_int waiting; // published and not taken
    int max;
};

static struct local *local_of(struct broker *broker)
{
    return container_of(broker, struct local, broker);
}

static enum err local_open(struct broker **ret_broker, const struct broker_config *config, char why[ERR_WHY_MAX])
{
    struct local *local = mem_zero(sizeof *local);
    local->broker.ops = &broker_local_ops;
    local->max = config->max;
    mailbox_init(&local->orders, config->orders_waker);
    mailbox_init(&local->outcomes, config->outcomes_waker);
    *ret_broker = &local->broker;
    return ERR_OK;
}

static void local_attach(struct broker *broker, const struct broker_executor *executor)
{
    local_of(broker)->executor = *executor;
}

static enum err local_publish(struct broker *broker, struct order *order)
{
    struct local *local = local_of(broker);
    if (atomic_fetch_add(&local->waiting, 1) >= local->max) {
        atomic_fetch_sub(&local->waiting, 1);
        return ERR_BUSY;
    }
    mailbox_post(&local->orders, &order->link);
    return ERR_OK;
}

static void local_take(struct broker *broker, struct list *ret_orders)
{
    struct local *local = local_of(broker);
    struct list taken;
    int count = 0;
    list_init(&taken);
    mailbox_take(&local->orders, &taken);
    list_each (&taken, link)
        count++;
    list_splice(ret_orders, &taken);
    if (count)
        atomic_fetch_sub(&local->waiting, count);
}

static void local_report(struct broker *broker, struct outcome *outcome)
{
    mailbox_post(&local_of(broker)->outcomes, &outcome->link);
}

static void local_take_outcomes(struct broker *broker, struct list *ret_outcomes)
{
    mailbox_take(&local_of(broker)->outcomes, ret_outcomes);
}

static void local_acknowledge(struct broker *broker, struct outcome *outcome)
{
    outcome_free(outcome);
}

static void local_control(struct broker *broker, const struct control *control)
{
    const struct broker_executor *executor = &local_of(broker)->executor;
    if (executor->control)
        executor->control(executor->ctx, control);
}

static void local_close(struct broker *broker)
{
    struct local *local = local_of(broker);
    struct list left, *link;
    list_init(&left);
    mailbox_take(&local->orders, &left);
    while ((link = list_take(&left)))
        order_free(list_entry(link, struct order, link));
    mailbox_take(&local->outcomes, &left);
    while ((link = list_take(&left)))
        outcome_free(list_entry(link, struct outcome, link));
    mailbox_done(&local->orders);
    mailbox_done(&local->outcomes);
    mem_free(local);
}

const struct broker_ops broker_local_ops = {
    .scheme = "local",
    .open = local_open,
    .attach = local_attach,
    .publish = local_publish,
    .take = local_take,
    .report = local_report,
    .take_outcomes = local_take_outcomes,
    .acknowledge = local_acknowledge,
    .control = local_control,
    .close = local_close,
};

// The front door of the broker port: which backend serves a URL, and one call through to it each.
#include "broker/broker.h"

#include <stdio.h>
#include <string.h>

static const struct broker_ops *const backends[] = {&broker_local_ops};

enum err broker_open(struct broker **ret_broker, const char *url, const struct broker_config *config, char why[ERR_WHY_MAX])
{
    size_t scheme = strcspn(url, ":");
    *ret_broker = NULL;
    for (size_t i = 0; i < array_count(backends); i++)
        if (url[scheme] && strlen(backends[i]->scheme) == scheme && !strncmp(url, backends[i]->scheme, scheme))
            return backends[i]->open(ret_broker, config, why);
    snprintf(why, ERR_WHY_MAX, "no broker is known by \"%.100s\"; \"local:\" is", url);
    return ERR_BAD_REQUEST;
}

void broker_close(struct broker *broker)
{
    if (broker)
        broker->ops->close(broker);
}

enum err broker_publish(struct broker *broker, struct order *order)
{
    return broker->ops->publish(broker, order);
}

void broker_control(struct broker *broker, const struct control *control)
{
    broker->ops->control(broker, control);
}

void broker_attach(struct broker *broker, const struct broker_executor *executor)
{
    broker->ops->attach(broker, executor);
}

void broker_take(struct broker *broker, struct list *ret_orders)
{
    broker->ops->take(broker, ret_orders);
}

void broker_report(struct broker *broker, struct outcome *outcome)
{
    broker->ops->report(broker, outcome);
}

void broker_take_outcomes(struct broker *broker, struct list *ret_outcomes)
{
    broker->ops->take_outcomes(broker, ret_outcomes);
}

void broker_acknowledge(struct broker *broker, struct outcome *outcome)
{
    broker->ops->acknowledge(broker, outcome);
}

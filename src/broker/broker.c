// The front door of the broker port: one call through to the backend each.
#include "broker/broker.h"

enum err broker_publish(struct broker *broker, struct run *run)
{
    return broker->ops->publish(broker, run);
}

void broker_take(struct broker *broker, struct list *ret_runs)
{
    broker->ops->take(broker, ret_runs);
}

void broker_note(struct broker *broker, struct run_note *note)
{
    broker->ops->note(broker, note);
}

void broker_take_notes(struct broker *broker, struct list *ret_notes)
{
    broker->ops->take_notes(broker, ret_notes);
}

void broker_close(struct broker *broker)
{
    if (broker)
        broker->ops->close(broker);
}

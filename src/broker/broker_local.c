// The broker of one process: two mailboxes. Runs are bounded by a count of those that wait, so that a dispatcher that does not
// keep up pushes back on the puller; notes are bounded by the runs they speak of. Runs are handed over, never copied.
#include "base/mem.h"
#include "broker/broker.h"

#include <stdatomic.h>

struct local {
    struct broker broker;
    struct mailbox runs, notes;
    atomic_int waiting; // published and not taken
    int max;
};

static enum err local_publish(struct broker *broker, struct run *run)
{
    struct local *local = container_of(broker, struct local, broker);
    if (atomic_fetch_add(&local->waiting, 1) >= local->max) {
        atomic_fetch_sub(&local->waiting, 1);
        return ERR_BUSY;
    }
    mailbox_post(&local->runs, &run->link);
    return ERR_OK;
}

static void local_take(struct broker *broker, struct list *ret_runs)
{
    struct local *local = container_of(broker, struct local, broker);
    struct list taken;
    int count = 0;
    list_init(&taken);
    mailbox_take(&local->runs, &taken);
    list_each (&taken, node)
        count++;
    list_splice(ret_runs, &taken);
    if (count)
        atomic_fetch_sub(&local->waiting, count);
}

static void local_note(struct broker *broker, struct run_note *note)
{
    mailbox_post(&container_of(broker, struct local, broker)->notes, &note->link);
}

static void local_take_notes(struct broker *broker, struct list *ret_notes)
{
    mailbox_take(&container_of(broker, struct local, broker)->notes, ret_notes);
}

static void local_close(struct broker *broker)
{
    struct local *local = container_of(broker, struct local, broker);
    struct list left, *node;
    list_init(&left);
    mailbox_take(&local->runs, &left);
    while ((node = list_take(&left)))
        run_free(list_entry(node, struct run, link));
    mailbox_take(&local->notes, &left);
    while ((node = list_take(&left))) {
        struct run_note *note = list_entry(node, struct run_note, link);
        if (note->run)
            run_free(note->run); // the note is a part of it
        else
            mem_free(container_of(note, struct run_began, note));
    }
    mailbox_done(&local->runs);
    mailbox_done(&local->notes);
    mem_free(local);
}

static const struct broker_ops local_ops = {
    .scheme = "local",
    .publish = local_publish,
    .take = local_take,
    .note = local_note,
    .take_notes = local_take_notes,
    .close = local_close,
};

struct broker *broker_local_new(int max, struct waker *runs_waker, struct waker *notes_waker)
{
    struct local *local = mem_zero(sizeof *local);
    local->broker.ops = &local_ops;
    local->max = max;
    mailbox_init(&local->runs, runs_waker);
    mailbox_init(&local->notes, notes_waker);
    return &local->broker;
}

// A record that moves faster than it can be revised is given up after TRIES_MAX rounds without a step forward; how long to wait
// for a record that does not move is for the owner to say.
#include "flow/commands/revise.h"

#include "base/mark.h"

#include <stdio.h>

enum { TRIES_MAX = 20 };

void reviser_init(struct reviser *reviser, struct node *node, struct recorder *recorder, enum mark again)
{
    *reviser = (struct reviser){.node = node, .recorder = recorder, .again = again};
    mailbox_init(&reviser->answers, node->flow_waker);
    list_init(&reviser->revisions);
}

void reviser_done(struct reviser *reviser)
{
    mailbox_done(&reviser->answers);
}

void revision_begin(struct revision *revision, struct reviser *reviser)
{
    revision->reviser = reviser;
    list_append(&reviser->revisions, &revision->link);
}

void revision_end(struct revision *revision)
{
    list_remove(&revision->link);
    store_op_done(&revision->get.op);
}

void revision_read(struct revision *revision)
{
    struct store_get *get = &revision->get;
    store_op_done(&get->op);
    if (revision->tries++ == TRIES_MAX) {
        get->op.err = ERR_BUSY;
        snprintf(get->op.why, sizeof get->op.why, "the job changes faster than it can be changed; try again");
        revision->decide(revision);
        return;
    }
    *get = (struct store_get){.tenant = get->tenant,
                              .task_id = get->task_id,
                              .job_id = get->job_id,
                              .max_jobs = get->max_jobs,
                              .open_first = get->open_first};
    store_op_post(&get->op, STORE_GET, &revision->reviser->answers);
    store_submit(revision->reviser->node->store, &get->op);
}

void revision_read_later(struct revision *revision, int64_t first_ms)
{
    if (!revision->look_ms)
        revision->look_ms = first_ms;
    revision->tries = 0; // waiting is bounded by time
    revision->look_at = revision->reviser->now.mono_ms + revision->look_ms;
    revision->look_ms = time_min(2 * revision->look_ms, REVISE_LOOK_MAX_MS);
}

void revision_moved(struct revision *revision)
{
    revision->tries = 0;
    revision->look_ms = 0;
}

static void written(struct recording *recording, struct now now)
{
    struct revision *revision = container_of(recording, struct revision, recording);
    enum err err = recording->change.op.err, refused = err ? ERR_OK : recording->change.steps[0].err;
    revision->reviser->now = now;
    recording_done(recording);
    if (refused) {
        mark(revision->reviser->again);
        revision_read(revision);
        return;
    }
    revision->written(revision, err);
}

void revision_write(struct revision *revision, const struct job *was, size_t result_bytes)
{
    const struct store_task *task = &revision->get.task;
    recording_init(&revision->recording, 1, written);
    revision->recording.change.bytes = result_bytes;
    recording_add(&revision->recording, store_step_from(was, &revision->job, &revision->step),
                  (struct record_subject){.queue = task->queue, .name = task->name});
    recorder_write(revision->reviser->recorder, &revision->recording);
}

// Reads the records whose time has come; says when to come back for the others.
static int64_t look_again(struct reviser *reviser)
{
    int64_t next = TIME_NEVER;
    list_each (&reviser->revisions, link) {
        struct revision *revision = list_entry(link, struct revision, link);
        if (revision->look_at && revision->look_at <= reviser->now.mono_ms) {
            revision->look_at = 0;
            revision_read(revision);
        } else if (revision->look_at) {
            next = time_min(next, reviser->now.wall_ms + revision->look_at - reviser->now.mono_ms);
        }
    }
    return next;
}

int64_t reviser_turn(struct reviser *reviser, struct now now)
{
    struct list answers;
    list_init(&answers);
    reviser->now = now;
    mailbox_take(&reviser->answers, &answers);
    list_each (&answers, link) {
        struct store_get *get = container_of(list_entry(link, struct store_op, link), struct store_get, op);
        struct revision *revision = container_of(get, struct revision, get);
        revision->decide(revision);
    }
    return look_again(reviser);
}

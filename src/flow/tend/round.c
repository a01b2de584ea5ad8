// The records that are written are those that were found, so what was found lives until the recording is done.
#include "flow/tend/round.h"

#include "core/task/task.h"

void round_init(struct round *round, struct node *node, struct recorder *recorder, const char *who, struct mailbox *answers)
{
    *round = (struct round){.node = node, .recorder = recorder, .who = who, .answers = answers};
}

void round_done(struct round *round)
{
    store_op_done(&round->find.op); // of answers that came too late
    recording_done(&round->recording);
}

void round_begin(struct round *round, struct now now)
{
    round->under_way = true;
    round->find.now_ms = now.wall_ms;
    round->find.job_count = 0;
    store_op_post(&round->find.op, STORE_FIND, round->answers);
    store_submit(round->node->store, &round->find.op);
}

// The owner may begin the next round at once, so everything of this one goes before.
static void end(struct round *round, const struct store_op *op)
{
    enum err err = op->err;
    if (err)
        node_say_failed(round->node, round->who, op, round->now.mono_ms);
    recording_done(&round->recording);
    store_op_done(&round->find.op);
    round->under_way = false;
    round->ended(round, err);
}

static void recorded(struct recording *recording, struct now now)
{
    struct round *round = container_of(recording, struct round, recording);
    round->now = now;
    for (size_t i = 0; round->wrote && !recording->change.op.err && i < recording->change.count; i++)
        if (!recording->change.steps[i].err)
            round->wrote(round, recording->change.steps[i].job);
    end(round, &recording->change.op);
}

static void record_found(struct round *round)
{
    recording_init(&round->recording, round->find.job_count, recorded);
    struct arena *arena = &round->recording.change.op.arena;
    for (size_t i = 0; i < round->find.job_count; i++) {
        struct store_job *found = &round->find.jobs[i];
        struct job_policy policy = task_policy(found->doc, arena);
        struct job_step *step = arena_alloc(arena, sizeof *step);
        struct job was = found->job;
        if (!round->decide(round, &found->job, &policy, step))
            recording_add(&round->recording, store_step_from(&was, &found->job, step),
                          (struct record_subject){.doc = found->doc});
    }
    recorder_write(round->recorder, &round->recording);
}

void round_found(struct round *round, struct now now)
{
    round->now = now;
    if (!round->find.op.err && round->find.job_count)
        record_found(round);
    else
        end(round, &round->find.op);
}

// What a session may do in a scenario: each function makes one operation, which the session then submits.
#include "interleaved_support.h"
#include "store/lives.h"
#include "store/peers.h"

static void note_done(struct store_op *op);

void *new_op(struct session *session, size_t size, enum store_verb verb)
{
    struct store_op *op = world_op(session->stage->world, size, verb);
    op->done = note_done;
    op->answers = (struct mailbox *)session; // which is whose it is, here
    session->op = op;
    session->verb = verb;
    return op;
}

static void note_done(struct store_op *op)
{
    ((struct session *)op->answers)->done = true;
}

static void begin_claim_of(struct session *session, size_t count, bool backwards)
{
    struct store_claim *op = NEW_OP(session, store_claim, STORE_CLAIM);
    op->wants = world_mem(session->stage->world, count * sizeof *op->wants);
    op->want_count = count;
    for (size_t i = 0; i < count; i++)
        op->wants[i] = (struct store_want){.lane = session->stage->lanes[backwards ? count - 1 - i : i], .max = 2};
    op->holder = session->incarnation;
    op->now_ms = op->until_ms = NOW;
}

void claim_one_lane(struct session *session)
{
    begin_claim_of(session, 1, false);
}

void claim_two_lanes(struct session *session)
{
    begin_claim_of(session, 2, session->number % 2);
}

// The first session ends the job, the others put it off: on the token it has at the beginning.
void change_first(struct session *session)
{
    struct store_change *op = NEW_OP(session, store_change, STORE_CHANGE);
    struct {
        struct store_step step;
        struct job job;
    } *made = world_mem(session->stage->world, sizeof *made);
    made->job = (struct job){.id = session->stage->ids[0], .token = 2, .due_at = NOW - 20000, .scheduled_at = NOW - 5};
    made->job.state = session->number ? JOB_DELAYED : JOB_CANCELLED;
    made->job.completed_at = session->number ? 0 : NOW;
    made->step = (struct store_step){.token = 1, .job = &made->job};
    op->steps = &made->step;
    op->count = 1;
}

// … and plans it for another time.
void replan_first(struct session *session)
{
    change_first(session);
    const struct store_step *step = container_of(session->op, struct store_change, op)->steps;
    ((struct job *)step->job)->scheduled_at = NOW + 7;
}

void add_in_hand_of_first(struct session *session)
{
    struct store_add *op = NEW_OP(session, store_add, STORE_ADD);
    struct {
        struct store_task task;
        struct job job;
        struct store_new item;
    } *made = world_mem(session->stage->world, sizeof *made);
    struct sample sample = {.queue = "one", .state = JOB_WATCHING, .holder = FIRST};
    sample_fill(session->stage->world, &sample, &made->task, &made->job, &made->item);
    op->now_ms = NOW;
    op->holder = FIRST;
    op->items = &made->item;
    op->count = 1;
}

void add_late(struct session *session)
{
    struct store_add *op = NEW_OP(session, store_add, STORE_ADD);
    struct {
        struct store_task task;
        struct job job;
        struct store_new item;
    } *made = world_mem(session->stage->world, sizeof *made);
    struct sample sample = {.queue = "two",
                            .due_at = NOW + 60000}; // behind all that waits there, and long past by the server's clock
    sample_fill(session->stage->world, &sample, &made->task, &made->job, &made->item);
    op->now_ms = NOW;
    op->items = &made->item;
    op->count = 1;
}

void claim_other_lane(struct session *session)
{
    begin_claim_of(session, 1, false);
    struct store_claim *op = container_of(session->op, struct store_claim, op);
    op->wants[0].lane = session->stage->lanes[1];
    op->wants[0].max = 10;
}

void list_lanes(struct session *session)
{
    struct store_lanes *op = NEW_OP(session, store_lanes, STORE_LANES);
    op->dispatch = TARGET_CALLED;
    op->max = 10;
}

void bury_first(struct session *session)
{
    NEW_OP(session, store_bury, STORE_BURY)->incarnation = FIRST;
}

void forget_first(struct session *session)
{
    NEW_OP(session, store_forget, STORE_FORGET)->incarnation = FIRST;
}

void beat_of_first(struct session *session)
{
    NEW_OP(session, store_beat, STORE_BEAT)->incarnation = FIRST;
}

// Each session wants all buckets for itself.
void divide(struct session *session)
{
    struct store_divide *op = NEW_OP(session, store_divide, STORE_DIVIDE);
    struct store_owner *owners = world_mem(session->stage->world, 2 * sizeof *owners);
    for (int32_t i = 0; i < 2; i++)
        owners[i] = (struct store_owner){i, session->incarnation};
    op->owners = owners;
    op->owner_count = 2;
}

void ask_first(struct session *session)
{
    struct store_request *op = NEW_OP(session, store_request, STORE_REQUEST);
    op->holder = FIRST;
    op->job = (struct store_job_request){.job_id = session->stage->ids[0], .tenant = TENANT};
}

void asked_of_first(struct session *session)
{
    struct store_requests *op = NEW_OP(session, store_requests, STORE_REQUESTS);
    op->holder = FIRST;
    op->max = 10;
}

// The first task goes to the other queue, its job on the token it has at the beginning.
void amend_first(struct session *session)
{
    struct store_amend *op = NEW_OP(session, store_amend, STORE_AMEND);
    struct {
        struct store_step step;
        struct job job;
    } *made = world_mem(session->stage->world, sizeof *made);
    made->job = (struct job){.id = session->stage->ids[0],
                             .token = 2,
                             .state = JOB_DELAYED,
                             .due_at = NOW + 1000,
                             .scheduled_at = NOW + 1000,
                             .priority = 7};
    made->step = (struct store_step){.token = 1, .job = &made->job};
    op->task = (struct store_task){.id = session->stage->ids[0],
                                   .tenant = TENANT,
                                   .version = 1,
                                   .dispatch = TARGET_CALLED,
                                   .queue = STR("two"),
                                   .doc = STR("{\"amended\":1}")};
    op->steps = &made->step;
    op->count = 1;
}

void pause_first(struct session *session)
{
    struct store_amend *op = NEW_OP(session, store_amend, STORE_AMEND);
    op->task = (struct store_task){.id = session->stage->ids[0],
                                   .tenant = TENANT,
                                   .version = 1,
                                   .paused = true,
                                   .dispatch = TARGET_CALLED,
                                   .queue = STR("one"),
                                   .doc = STR("{}")};
}

// The first task gets another tag, whoever has its job.
void retag_first(struct session *session)
{
    static const int64_t tags[] = {4};
    struct store_amend *op = NEW_OP(session, store_amend, STORE_AMEND);
    op->task = (struct store_task){.id = session->stage->ids[0],
                                   .tenant = TENANT,
                                   .version = 1,
                                   .dispatch = TARGET_CALLED,
                                   .queue = STR("one"),
                                   .doc = STR("{}"),
                                   .tags = tags,
                                   .tag_count = 1};
    op->retag = true;
}

// … and its job is planned for another time with it.
void retag_first_and_replan(struct session *session)
{
    retag_first(session);
    struct store_amend *retag = container_of(session->op, struct store_amend, op);
    struct store_task task = retag->task;
    amend_first(session);
    struct store_amend *op = container_of(session->op, struct store_amend, op);
    op->task.tags = task.tags;
    op->task.tag_count = task.tag_count;
    op->retag = true;
}

void delete_ended(struct session *session)
{
    struct store_remove *op = NEW_OP(session, store_remove, STORE_REMOVE);
    op->task_id = session->stage->ended;
    op->tenant = TENANT;
    op->version = 1;
    op->max = 10;
}

void delete_first(struct session *session)
{
    delete_ended(session);
    container_of(session->op, struct store_remove, op)->task_id = session->stage->ids[0];
}

void add_to_ended(struct session *session)
{
    struct store_add *op = NEW_OP(session, store_add, STORE_ADD);
    struct {
        struct job job;
        struct store_new item;
    } *made = world_mem(session->stage->world, sizeof *made);
    made->job = (struct job){.id = ++session->stage->world->last_id,
                             .task_id = session->stage->ended,
                             .tenant = TENANT,
                             .state = JOB_READY,
                             .due_at = NOW,
                             .token = 1};
    made->item = (struct store_new){.jobs = &made->job, .job_count = 1};
    op->now_ms = NOW;
    op->items = &made->item;
    op->count = 1;
}

void bring_ended_back(struct stage *stage)
{
    session_do(stage->watcher, "DELETE FROM jobs_done; INSERT INTO jobs_done SELECT * FROM was_done;"
                               " INSERT INTO counts SELECT 0,unnest(ARRAY[0,lane]),5,1 FROM was_done ON CONFLICT DO NOTHING");
}

// What has ended is taken away by retention.
void sweep_ended(struct session *session)
{
    bring_ended_back(session->stage);
    struct store_sweep *op = NEW_OP(session, store_sweep, STORE_SWEEP);
    op->now_ms = NOW + 2;
    op->keys_until = NOW + 10;
    op->max = 1;
}

// What has ended is planned again, for another time.
void plan_ended_again(struct session *session)
{
    bring_ended_back(session->stage);
    replan_first(session);
    const struct store_step *step = container_of(session->op, struct store_change, op)->steps;
    ((struct job *)step->job)->id = session->stage->ended;
}

void make_due(struct session *session)
{
    struct store_due *op = NEW_OP(session, store_due, STORE_DUE);
    op->lane = session->stage->lanes[0];
    op->to_ms = NOW;
    op->max = 10;
}

static void pause_queue(struct session *session, const char *queue)
{
    struct store_pause *op = NEW_OP(session, store_pause, STORE_PAUSE);
    op->tenant = TENANT;
    op->queue = str_of(queue);
    op->paused = true;
}

void pause_lane(struct session *session)
{
    pause_queue(session, "one");
}

void pause_other_lane(struct session *session)
{
    pause_queue(session, "two");
}

void add_to_empty(struct session *session)
{
    add_late(session);
    struct store_add *op = container_of(session->op, struct store_add, op);
    ((struct store_task *)op->items[0].task)->queue = STR("empty");
}

void move_first_to_empty(struct session *session)
{
    amend_first(session);
    container_of(session->op, struct store_amend, op)->task.queue = STR("empty");
}

// Each makes a lane of a queue that has another one.
void hand_out_first(struct session *session)
{
    amend_first(session);
    container_of(session->op, struct store_amend, op)->task.dispatch = TARGET_HANDED_OUT;
}

void hand_out_first_in_empty(struct session *session)
{
    move_first_to_empty(session);
    container_of(session->op, struct store_amend, op)->task.dispatch = TARGET_HANDED_OUT;
}

void pause_empty(struct session *session)
{
    pause_queue(session, "empty");
}

void drop_empty(struct session *session)
{
    struct store_drop *op = NEW_OP(session, store_drop, STORE_DROP);
    op->tenant = TENANT;
    op->queue = STR("empty");
}

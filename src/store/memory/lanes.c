// The memory store's verbs about lanes, and the counters of jobs that each lane has.
#include "store/memory/memory.h"

#include <assert.h>

static struct memory_lane *find_lane(const struct memory *memory, int32_t tenant, enum target_dispatch dispatch, struct str queue)
{
    for (size_t i = 0; i < memory->lane_count; i++)
        if (memory->lanes[i]->tenant == tenant && memory->lanes[i]->dispatch == dispatch &&
            str_eq(memory->lanes[i]->queue, queue))
            return memory->lanes[i];
    return NULL;
}

// The lanes that a queue has, one for each kind of dispatch.
struct queue_lanes {
    struct memory_lane *lanes[TARGET_DISPATCH_COUNT];
    size_t count;
};

static struct queue_lanes lanes_of_queue(const struct memory *memory, int32_t tenant, struct str queue)
{
    struct queue_lanes found = {0};
    for (int dispatch = TARGET_CALLED; dispatch < TARGET_DISPATCH_COUNT; dispatch++) {
        struct memory_lane *lane = find_lane(memory, tenant, (enum target_dispatch)dispatch, queue);
        if (lane)
            found.lanes[found.count++] = lane;
    }
    return found;
}

// A lane that is made is paused if its queue is.
static struct memory_lane *lane_named(struct memory *memory, int32_t tenant, enum target_dispatch dispatch, struct str queue)
{
    struct memory_lane *lane = find_lane(memory, tenant, dispatch, queue);
    if (lane)
        return lane;
    assert(dispatch > TARGET_NOT_DISPATCHED && dispatch < TARGET_DISPATCH_COUNT);
    struct queue_lanes others = lanes_of_queue(memory, tenant, queue);
    lane = mem_zero(sizeof *lane);
    memory->lanes = mem_grow(memory->lanes, (memory->lane_count + 1) * sizeof *memory->lanes);
    memory->lanes[memory->lane_count++] = lane;
    lane->id = (int64_t)memory->lane_count;
    lane->tenant = tenant;
    lane->dispatch = dispatch;
    lane->queue = memory_copy(queue);
    lane->paused = others.count && others.lanes[0]->paused;
    return lane;
}

struct memory_lane *memory_lane_of_task(struct memory *memory, const struct store_task *task)
{
    return lane_named(memory, task->tenant, task->dispatch, task->queue);
}

struct memory_lane *memory_lane_by_id(const struct memory *memory, int64_t id)
{
    return id >= 1 && (size_t)id <= memory->lane_count ? memory->lanes[id - 1] : NULL;
}

void memory_run_pause(struct memory *memory, struct store_op *op)
{
    struct store_pause *pause = container_of(op, struct store_pause, op);
    pause->lane = lane_named(memory, pause->tenant, TARGET_CALLED, pause->queue)->id;
    struct queue_lanes found = lanes_of_queue(memory, pause->tenant, pause->queue);
    for (size_t i = 0; i < found.count; i++) {
        found.lanes[i]->paused = pause->paused;
        found.lanes[i]->dropped = false;
    }
}

void memory_run_drop(struct memory *memory, struct store_op *op)
{
    struct store_drop *drop = container_of(op, struct store_drop, op);
    struct queue_lanes found = lanes_of_queue(memory, drop->tenant, drop->queue);
    bool known = false, paused = false;
    int64_t open = 0;
    for (size_t i = 0; i < found.count; i++) {
        known |= !found.lanes[i]->dropped;
        paused |= found.lanes[i]->paused;
        for (int state = 0; state < JOB_STATE_COUNT; state++)
            open += job_state_final((enum job_state)state) ? 0 : found.lanes[i]->counts[state];
    }
    store_drop_judge(drop, known, open, paused);
    for (size_t i = 0; i < found.count && !op->err; i++)
        found.lanes[i]->dropped = true;
}

static void add_lane(const struct memory *memory, const struct store_lanes *lanes, const struct memory_lane *from,
                     struct store_lane *to)
{
    if (!lanes->names_only)
        to->next_due = time_min(to->next_due, memory_next_due(memory, from->id, INT64_MIN, 0, &(int64_t){0}));
    for (int state = 0; state < JOB_STATE_COUNT && lanes->counts; state++)
        to->counts[state] += from->counts[state];
}

static struct store_lane *push_lane(struct store_lanes *lanes, const struct memory_lane *from)
{
    lanes->lanes = store_push(&lanes->op.arena, lanes->lanes, lanes->lane_count, sizeof *lanes->lanes);
    struct store_lane *lane = &lanes->lanes[lanes->lane_count++];
    *lane = (struct store_lane){.id = from->id, .tenant = from->tenant, .dispatch = lanes->dispatch, .paused = from->paused};
    lane->queue = memory_give(&lanes->op.arena, from->queue);
    lane->next_due = lanes->names_only ? 0 : TIME_NEVER;
    return lane;
}

// `first` has the smallest id of the queue's lanes, or gives nothing.
static void give_queue(const struct memory *memory, struct store_lanes *lanes, const struct memory_lane *first)
{
    struct queue_lanes found = lanes_of_queue(memory, first->tenant, first->queue);
    bool shown = false;
    for (size_t i = 0; i < found.count; i++) {
        if (found.lanes[i]->id < first->id)
            return;
        shown |= !found.lanes[i]->dropped;
    }
    struct store_lane *lane = shown ? push_lane(lanes, first) : NULL;
    for (size_t i = 0; i < found.count && lane; i++)
        add_lane(memory, lanes, found.lanes[i], lane);
}

void memory_run_lanes(struct memory *memory, struct store_op *op)
{
    struct store_lanes *lanes = container_of(op, struct store_lanes, op);
    for (size_t i = 0; i < memory->lane_count && lanes->lane_count < lanes->max; i++) {
        const struct memory_lane *from = memory->lanes[i];
        if (from->id <= lanes->after_id || (lanes->tenant && from->tenant != lanes->tenant))
            continue;
        if (lanes->dispatch == TARGET_NOT_DISPATCHED)
            give_queue(memory, lanes, from);
        else if (lanes->dispatch == from->dispatch && !from->dropped)
            add_lane(memory, lanes, from, push_lane(lanes, from));
    }
}

void memory_run_stats(struct memory *memory, struct store_op *op)
{
    struct store_stats *stats = container_of(op, struct store_stats, op);
    for (size_t i = 0; i < memory->lane_count; i++)
        for (int state = 0; state < JOB_STATE_COUNT; state++)
            if (!stats->tenant || stats->tenant == memory->lanes[i]->tenant)
                stats->counts[state] += memory->lanes[i]->counts[state];
}

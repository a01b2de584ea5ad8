// The memory store's verbs about lanes, and the counters of jobs that each lane has.
#include "store/memory/memory.h"

static struct memory_lane *find_lane(const struct memory *memory, int32_t tenant, struct str queue)
{
    for (size_t i = 0; i < memory->lane_count; i++)
        if (memory->lanes[i]->tenant == tenant && str_eq(memory->lanes[i]->queue, queue))
            return memory->lanes[i];
    return NULL;
}

struct memory_lane *memory_lane_by_name(struct memory *memory, int32_t tenant, struct str queue)
{
    struct memory_lane *lane = find_lane(memory, tenant, queue);
    if (lane)
        return lane;
    lane = mem_zero(sizeof *lane);
    memory->lanes = mem_grow(memory->lanes, (memory->lane_count + 1) * sizeof *memory->lanes);
    memory->lanes[memory->lane_count++] = lane;
    lane->id = (int64_t)memory->lane_count;
    lane->tenant = tenant;
    lane->queue = memory_copy(queue);
    return lane;
}

struct memory_lane *memory_lane_by_id(const struct memory *memory, int64_t id)
{
    return id >= 1 && (size_t)id <= memory->lane_count ? memory->lanes[id - 1] : NULL;
}

void memory_run_pause(struct memory *memory, struct store_op *op)
{
    struct store_pause *pause = container_of(op, struct store_pause, op);
    struct memory_lane *lane = memory_lane_by_name(memory, pause->tenant, pause->queue);
    lane->paused = pause->paused;
    lane->dropped = false;
    pause->lane = lane->id;
}

void memory_run_drop(struct memory *memory, struct store_op *op)
{
    struct store_drop *drop = container_of(op, struct store_drop, op);
    struct memory_lane *lane = find_lane(memory, drop->tenant, drop->queue);
    int64_t open = 0;
    for (int state = 0; state < JOB_STATE_COUNT && lane; state++)
        open += job_state_final((enum job_state)state) ? 0 : lane->counts[state];
    store_drop_judge(drop, lane && !lane->dropped, open, lane && lane->paused);
    if (lane && !op->err)
        lane->dropped = true;
}

void memory_run_lanes(struct memory *memory, struct store_op *op)
{
    struct store_lanes *lanes = container_of(op, struct store_lanes, op);
    for (size_t i = 0; i < memory->lane_count && lanes->lane_count < lanes->max; i++) {
        const struct memory_lane *from = memory->lanes[i];
        if (from->dropped || from->id <= lanes->after_id || (lanes->tenant && from->tenant != lanes->tenant))
            continue;
        lanes->lanes = store_push(&op->arena, lanes->lanes, lanes->lane_count, sizeof *lanes->lanes);
        struct store_lane *lane = &lanes->lanes[lanes->lane_count++];
        *lane = (struct store_lane){.id = from->id, .tenant = from->tenant, .paused = from->paused};
        lane->queue = memory_give(&op->arena, from->queue);
        lane->next_due = lanes->names_only ? 0 : memory_next_due(memory, from->id, INT64_MIN, 0, &(int64_t){0});
        if (lanes->counts)
            memcpy(lane->counts, from->counts, sizeof lane->counts);
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

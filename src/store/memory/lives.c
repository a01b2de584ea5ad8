// The memory store's verbs about incarnations: an array by id, which is as long as a cluster is large.
#include "store/memory/memory.h"

#include "core/id.h"

struct memory_incarnation *memory_incarnation(struct memory *memory, int64_t id)
{
    for (size_t i = 0; i < memory->incarnation_count; i++)
        if (memory->incarnations[i].id == id)
            return &memory->incarnations[i];
    return NULL;
}

bool memory_is_fenced(struct memory *memory, int64_t holder)
{
    struct memory_incarnation *incarnation = memory_incarnation(memory, holder);
    return !incarnation || incarnation->dead;
}

static int free_number(const struct memory *memory)
{
    bool used[ID_RANGE_NODES] = {false};
    for (size_t i = 0; i < memory->incarnation_count; i++)
        used[memory->incarnations[i].number] = true;
    int number = 0;
    while (number < ID_RANGE_NODES && used[number])
        number++;
    return number;
}

static struct memory_incarnation *add_incarnation(struct memory *memory, int64_t id, int number)
{
    size_t at = 0, count = memory->incarnation_count++;
    memory->incarnations = mem_grow(memory->incarnations, memory->incarnation_count * sizeof *memory->incarnations);
    while (at < count && memory->incarnations[at].id < id)
        at++;
    memmove(&memory->incarnations[at + 1], &memory->incarnations[at], (count - at) * sizeof *memory->incarnations);
    memory->incarnations[at] = (struct memory_incarnation){.id = id, .number = number, .relays = true};
    return &memory->incarnations[at];
}

void memory_run_join(struct memory *memory, struct store_op *op)
{
    struct store_join *join = container_of(op, struct store_join, op);
    struct memory_incarnation *incarnation = memory_incarnation(memory, join->incarnation);
    if (incarnation && incarnation->dead) {
        store_op_fail(op, ERR_FENCED, "this incarnation was declared dead");
        return;
    }
    if (!incarnation) {
        int number = free_number(memory);
        if (number == ID_RANGE_NODES) {
            store_op_fail(op, ERR_FENCED, "all node numbers are in use");
            return;
        }
        incarnation = add_incarnation(memory, join->incarnation, number);
        incarnation->pulls = join->pulls;
    }
    if (!memory->has_secret)
        memcpy(memory->secret, join->secret, sizeof memory->secret);
    memory->has_secret = true;
    memcpy(join->secret, memory->secret, sizeof join->secret);
    join->id_floor = memory->id_floor;
    store_join_number(join, memory->range, incarnation->number);
}

void memory_run_beat(struct memory *memory, struct store_op *op)
{
    struct store_beat *beat = container_of(op, struct store_beat, op);
    if (memory_is_fenced(memory, beat->incarnation)) {
        store_op_fail(op, ERR_FENCED, "this incarnation was declared dead, or is unknown");
        return;
    }
    struct memory_incarnation *self = memory_incarnation(memory, beat->incarnation);
    self->beat++;
    self->listens = beat->listens;
    self->relays = beat->relays;
    for (size_t i = 0; i < memory->incarnation_count; i++) {
        const struct memory_incarnation *other = &memory->incarnations[i];
        if (other->id == beat->incarnation)
            continue;
        beat->peers = store_push(&op->arena, beat->peers, beat->peer_count, sizeof *beat->peers);
        beat->peers[beat->peer_count++] =
            (struct store_peer){other->id, other->beat, other->pulls, other->dead, other->listens, other->relays};
    }
}

void memory_run_bury(struct memory *memory, struct store_op *op)
{
    struct store_bury *bury = container_of(op, struct store_bury, op);
    struct memory_incarnation *incarnation = memory_incarnation(memory, bury->incarnation);
    if (!incarnation || incarnation->dead)
        return;
    if (incarnation->beat != bury->beat)
        store_op_fail(op, ERR_MOVED_ON, "it has beaten since");
    else
        incarnation->dead = true;
}

static bool holds_jobs(const struct memory *memory, int64_t holder)
{
    size_t at = memory_find(memory, (struct spot){-holder, INT64_MIN, INT64_MIN});
    return at < memory->place_count && store_place(&memory->places[at]->job) == -holder;
}

void memory_run_forget(struct memory *memory, struct store_op *op)
{
    struct store_forget *forget = container_of(op, struct store_forget, op);
    struct memory_incarnation *incarnation = memory_incarnation(memory, forget->incarnation);
    if (!incarnation)
        return;
    if (holds_jobs(memory, forget->incarnation)) {
        store_op_fail(op, ERR_MOVED_ON, "it still holds jobs");
        return;
    }
    size_t at = (size_t)(incarnation - memory->incarnations);
    mem_free(incarnation->asked);
    memory->incarnation_count--;
    memmove(incarnation, incarnation + 1, (memory->incarnation_count - at) * sizeof *incarnation);
}

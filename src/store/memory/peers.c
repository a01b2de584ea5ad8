// The memory store's verbs about who goes first in a bucket, and about requests to the holder of a job.
#include "store/memory/memory.h"

#include <stdlib.h>

static int compare_owners(const void *one, const void *other)
{
    const struct store_owner *a = one, *b = other;
    return a->bucket != b->bucket ? compare_ints(a->bucket, b->bucket) : compare_ints(a->puller, b->puller);
}

void memory_run_owners(struct memory *memory, struct store_op *op)
{
    struct store_owners *owners = container_of(op, struct store_owners, op);
    owners->term = memory->term;
    owners->owner_count = memory->owner_count;
    owners->owners = arena_array(&op->arena, struct store_owner, memory->owner_count);
    if (memory->owner_count)
        memcpy(owners->owners, memory->owners, memory->owner_count * sizeof *memory->owners);
}

void memory_run_divide(struct memory *memory, struct store_op *op)
{
    struct store_divide *divide = container_of(op, struct store_divide, op);
    if (memory->term != divide->term) {
        store_op_fail(op, ERR_MOVED_ON, "they were divided by another meanwhile");
        return;
    }
    memory->term++;
    memory->owner_count = divide->owner_count;
    memory->owners = mem_grow(memory->owners, (divide->owner_count + 1) * sizeof *memory->owners);
    if (divide->owner_count)
        memcpy(memory->owners, divide->owners, divide->owner_count * sizeof *memory->owners);
    qsort(memory->owners, memory->owner_count, sizeof *memory->owners, compare_owners);
}

void memory_run_request(struct memory *memory, struct store_op *op)
{
    struct store_request *request = container_of(op, struct store_request, op);
    struct memory_incarnation *holder = memory_incarnation(memory, request->holder);
    if (!holder) {
        store_op_fail(op, ERR_MOVED_ON, "there is no such incarnation any more");
        return;
    }
    size_t at = 0;
    while (at < holder->asked_count && holder->asked[at].job_id < request->job.job_id)
        at++;
    if (at == holder->asked_count || holder->asked[at].job_id != request->job.job_id) {
        holder->asked = mem_grow(holder->asked, (holder->asked_count + 1) * sizeof *holder->asked);
        memmove(&holder->asked[at + 1], &holder->asked[at], (holder->asked_count - at) * sizeof *holder->asked);
        holder->asked_count++;
        holder->asked[at] = request->job;
    }
    if (request->job.kind < holder->asked[at].kind)
        holder->asked[at].kind = request->job.kind;
}

void memory_run_requests(struct memory *memory, struct store_op *op)
{
    struct store_requests *requests = container_of(op, struct store_requests, op);
    struct memory_incarnation *holder = memory_incarnation(memory, requests->holder);
    size_t count = holder && holder->asked_count < requests->max ? holder->asked_count : holder ? requests->max : 0;
    if (count == 0)
        return;
    requests->jobs = arena_array(&op->arena, struct store_job_request, count);
    requests->job_count = count;
    memcpy(requests->jobs, holder->asked, count * sizeof *holder->asked);
    holder->asked_count -= count;
    memmove(holder->asked, &holder->asked[count], holder->asked_count * sizeof *holder->asked);
}

void memory_run_tzdata(struct memory *memory, struct store_op *op)
{
    struct store_tzdata *tzdata = container_of(op, struct store_tzdata, op);
    struct str text = str_of(memory->tzdata ? memory->tzdata : "");
    if (!tzdata->writes) {
        tzdata->text = arena_copy(&op->arena, text);
    } else if (str_eq(text, tzdata->was)) {
        mem_free(memory->tzdata);
        memory->tzdata = mem_copy(tzdata->next.p, tzdata->next.n);
    } else {
        store_op_fail(op, ERR_MOVED_ON, "it was written by another meanwhile");
    }
}

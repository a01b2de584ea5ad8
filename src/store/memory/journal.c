// The memory store's verbs about bulks, about what processes counted and about the events they relay: three sorted arrays,
// searched from the front. There are no copies of the whole.
#include "store/memory/memory.h"

// ---- minutes

static int compare_minutes(const struct store_minute_row *a, const struct store_minute_row *b)
{
    int order = compare_ints(a->tenant, b->tenant);
    if (!order)
        order = compare_ints(a->at, b->at);
    return order ? order : compare_ints(a->source, b->source);
}

void memory_run_minute(struct memory *memory, struct store_op *op)
{
    const struct store_minute_row *minute = &container_of(op, struct store_minute, op)->minute;
    size_t at = 0;
    while (at < memory->minute_count && compare_minutes(&memory->minutes[at], minute) < 0)
        at++;
    if (at < memory->minute_count && compare_minutes(&memory->minutes[at], minute) == 0) {
        memory_free_str(&memory->minutes[at].doc);
    } else {
        memory->minutes = mem_grow(memory->minutes, (memory->minute_count + 1) * sizeof *memory->minutes);
        memmove(&memory->minutes[at + 1], &memory->minutes[at], (memory->minute_count - at) * sizeof *memory->minutes);
        memory->minute_count++;
    }
    memory->minutes[at] = *minute;
    memory->minutes[at].doc = memory_copy(minute->doc);
}

void memory_run_series(struct memory *memory, struct store_op *op)
{
    struct store_series *series = container_of(op, struct store_series, op);
    for (size_t i = 0; i < memory->minute_count && series->minute_count < series->max; i++) {
        const struct store_minute_row *from = &memory->minutes[i];
        bool behind = from->at > series->from_ms || (from->at == series->from_ms && from->source > series->from_source);
        if (from->tenant != series->tenant || !behind || from->at >= series->to_ms)
            continue;
        series->minutes = store_push(&op->arena, series->minutes, series->minute_count, sizeof *series->minutes);
        struct store_minute_row *minute = &series->minutes[series->minute_count++];
        *minute = *from;
        minute->doc = memory_give(&op->arena, from->doc);
    }
}

static void sweep_minutes(struct memory *memory, const struct store_sweep *sweep)
{
    for (size_t removed = 0; removed < sweep->max; removed++) {
        struct store_minute_row *oldest = NULL;
        for (size_t i = 0; i < memory->minute_count; i++)
            if (memory->minutes[i].at < sweep->series_before && (!oldest || memory->minutes[i].at < oldest->at))
                oldest = &memory->minutes[i];
        if (!oldest)
            return;
        memory_free_str(&oldest->doc);
        size_t at = (size_t)(oldest - memory->minutes);
        memory->minute_count--;
        memmove(oldest, oldest + 1, (memory->minute_count - at) * sizeof *oldest);
    }
}

// ---- events between nodes

static int compare_events(const struct memory_event *a, const struct store_event_row *b)
{
    int order = compare_ints(a->events.source, b->source);
    return order ? order : compare_ints(a->events.number, b->number);
}

void memory_run_relay(struct memory *memory, struct store_op *op)
{
    const struct store_relay *relay = container_of(op, struct store_relay, op);
    size_t at = 0;
    while (at < memory->events_count && compare_events(&memory->events[at], &relay->events) < 0)
        at++;
    if (at < memory->events_count && compare_events(&memory->events[at], &relay->events) == 0)
        return;
    memory->events = mem_grow(memory->events, (memory->events_count + 1) * sizeof *memory->events);
    memmove(&memory->events[at + 1], &memory->events[at], (memory->events_count - at) * sizeof *memory->events);
    memory->events_count++;
    memory->events[at] = (struct memory_event){.events = relay->events, .relayed_at = relay->now_ms};
    memory->events[at].events.doc = memory_copy(relay->events.doc);
}

static void give_last(struct memory *memory, struct store_events *events)
{
    for (size_t i = 0; i < memory->events_count; i++) {
        const struct store_event_row *from = &memory->events[i].events;
        bool known = events->last_count && events->last[events->last_count - 1].source == from->source;
        if (!known) {
            events->last = store_push(&events->op.arena, events->last, events->last_count, sizeof *events->last);
            events->last_count++;
        }
        events->last[events->last_count - 1] = (struct store_event_place){from->source, from->number};
    }
}

static int64_t known_of(const struct store_events *events, int64_t source)
{
    for (size_t i = 0; i < events->known_count; i++)
        if (events->known[i].source == source)
            return events->known[i].number;
    return 0;
}

void memory_run_events(struct memory *memory, struct store_op *op)
{
    struct store_events *events = container_of(op, struct store_events, op);
    if (events->from_now) {
        give_last(memory, events);
        return;
    }
    int64_t source = 0;
    size_t given = 0; // of this source
    for (size_t i = 0; i < memory->events_count; i++) {
        const struct store_event_row *from = &memory->events[i].events;
        given = i && from->source == source ? given : 0;
        source = from->source;
        if (source == events->skip || from->number <= known_of(events, source) || given == events->max)
            continue;
        given++;
        events->rows = store_push(&op->arena, events->rows, events->row_count, sizeof *events->rows);
        struct store_event_row *row = &events->rows[events->row_count++];
        *row = *from;
        row->doc = memory_give(&op->arena, from->doc);
    }
}

static void sweep_events(struct memory *memory, const struct store_sweep *sweep)
{
    for (size_t removed = 0; removed < sweep->max; removed++) {
        struct memory_event *oldest = NULL;
        for (size_t i = 0; i < memory->events_count; i++)
            if (memory->events[i].relayed_at < sweep->events_before &&
                (!oldest || memory->events[i].relayed_at < oldest->relayed_at))
                oldest = &memory->events[i];
        if (!oldest)
            return;
        memory_free_str(&oldest->events.doc);
        size_t at = (size_t)(oldest - memory->events);
        memory->events_count--;
        memmove(oldest, oldest + 1, (memory->events_count - at) * sizeof *oldest);
    }
}

void memory_sweep_journal(struct memory *memory, const struct store_sweep *sweep)
{
    sweep_minutes(memory, sweep);
    sweep_events(memory, sweep);
}

// ---- bulks

void memory_run_bulks(struct memory *memory, struct store_op *op)
{
    struct store_bulks *bulks = container_of(op, struct store_bulks, op);
    for (size_t i = 0; i < memory->bulk_count; i++) {
        const struct store_bulk_row *row = &memory->bulks[i];
        bool wanted = bulks->id ? row->id == bulks->id && row->tenant == bulks->tenant
                                : row->state == STORE_BULK_RUNNING && bulks->row_count < bulks->max;
        if (!wanted)
            continue;
        bulks->rows = store_push(&op->arena, bulks->rows, bulks->row_count, sizeof *bulks->rows);
        bulks->rows[bulks->row_count] = *row;
        bulks->rows[bulks->row_count++].doc = memory_give(&op->arena, row->doc);
    }
    if (bulks->id && !bulks->row_count)
        store_op_fail(op, ERR_NOT_FOUND, "there is no such bulk");
}

void memory_run_backup(struct memory *memory, struct store_op *op)
{
    store_op_fail(op, ERR_UNSUPPORTED, "what is kept in memory only is not backed up");
}

static struct store_bulk_row *find_bulk(struct memory *memory, int64_t id)
{
    for (size_t i = 0; i < memory->bulk_count; i++)
        if (memory->bulks[i].id == id)
            return &memory->bulks[i];
    return NULL;
}

static void add_bulk(struct memory *memory, const struct store_bulk_row *row)
{
    memory->bulks = mem_grow(memory->bulks, (memory->bulk_count + 1) * sizeof *memory->bulks);
    size_t at = memory->bulk_count++;
    for (; at > 0 && memory->bulks[at - 1].id > row->id; at--)
        memory->bulks[at] = memory->bulks[at - 1];
    memory->bulks[at] = *row;
    memory->bulks[at].version = 1;
    memory->bulks[at].doc = memory_copy(row->doc);
}

static void forget_bulks(struct memory *memory, int64_t before)
{
    size_t kept = 0;
    for (size_t i = 0; i < memory->bulk_count; i++) {
        struct store_bulk_row *row = &memory->bulks[i];
        if (row->state != STORE_BULK_RUNNING && row->ended_at < before)
            memory_free_str(&row->doc);
        else
            memory->bulks[kept++] = *row;
    }
    memory->bulk_count = kept;
}

void memory_run_bulk(struct memory *memory, struct store_op *op)
{
    struct store_bulk *bulk = container_of(op, struct store_bulk, op);
    struct store_bulk_row *row = find_bulk(memory, bulk->row.id);
    if ((row ? row->version : 0) != bulk->row.version) {
        store_op_fail(op, ERR_MOVED_ON, "the bulk has changed meanwhile");
    } else if (row) {
        struct str doc = row->doc;
        *row = bulk->row;
        row->version++;
        row->doc = doc;
    } else {
        add_bulk(memory, &bulk->row);
    }
    forget_bulks(memory, bulk->forget_before);
}

// ---- the end

void memory_free_journal(struct memory *memory)
{
    for (size_t i = 0; i < memory->bulk_count; i++)
        memory_free_str(&memory->bulks[i].doc);
    mem_free(memory->bulks);
    for (size_t i = 0; i < memory->minute_count; i++)
        memory_free_str(&memory->minutes[i].doc);
    for (size_t i = 0; i < memory->events_count; i++)
        memory_free_str(&memory->events[i].events.doc);
    mem_free(memory->minutes);
    mem_free(memory->events);
}

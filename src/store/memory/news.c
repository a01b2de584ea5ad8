// The memory store's verbs about what processes counted and what happened at them: two sorted arrays, searched from the front.
#include "store/memory/memory.h"

// ---- minutes

static int compare_minutes(const struct store_minute *a, const struct store_minute *b)
{
    int order = compare_ints(a->tenant, b->tenant);
    if (!order)
        order = compare_ints(a->at, b->at);
    return order ? order : compare_ints(a->source, b->source);
}

void memory_run_tally(struct memory *memory, struct store_op *op)
{
    const struct store_minute *minute = &container_of(op, struct store_tally, op)->minute;
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
        const struct store_minute *from = &memory->minutes[i];
        bool behind = from->at > series->from_ms || (from->at == series->from_ms && from->source > series->from_source);
        if (from->tenant != series->tenant || !behind || from->at >= series->to_ms)
            continue;
        series->minutes = store_push(&op->arena, series->minutes, series->minute_count, sizeof *series->minutes);
        struct store_minute *minute = &series->minutes[series->minute_count++];
        *minute = *from;
        minute->doc = memory_give(&op->arena, from->doc);
    }
}

static void sweep_minutes(struct memory *memory, const struct store_sweep *sweep)
{
    for (size_t removed = 0; removed < sweep->max; removed++) {
        struct store_minute *oldest = NULL;
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

// ---- news

static int compare_news(const struct memory_news *a, const struct store_news *b)
{
    int order = compare_ints(a->news.source, b->source);
    return order ? order : compare_ints(a->news.number, b->number);
}

void memory_run_tell(struct memory *memory, struct store_op *op)
{
    const struct store_tell *tell = container_of(op, struct store_tell, op);
    size_t at = 0;
    while (at < memory->news_count && compare_news(&memory->news[at], &tell->news) < 0)
        at++;
    if (at < memory->news_count && compare_news(&memory->news[at], &tell->news) == 0)
        return;
    memory->news = mem_grow(memory->news, (memory->news_count + 1) * sizeof *memory->news);
    memmove(&memory->news[at + 1], &memory->news[at], (memory->news_count - at) * sizeof *memory->news);
    memory->news_count++;
    memory->news[at] = (struct memory_news){.news = tell->news, .told_at = tell->now_ms};
    memory->news[at].news.doc = memory_copy(tell->news.doc);
}

static void give_last(struct memory *memory, struct store_hear *hear)
{
    for (size_t i = 0; i < memory->news_count; i++) {
        const struct store_news *news = &memory->news[i].news;
        bool known = hear->last_count && hear->last[hear->last_count - 1].source == news->source;
        if (!known) {
            hear->last = store_push(&hear->op.arena, hear->last, hear->last_count, sizeof *hear->last);
            hear->last_count++;
        }
        hear->last[hear->last_count - 1] = (struct store_heard){news->source, news->number};
    }
}

static int64_t heard_of(const struct store_hear *hear, int64_t source)
{
    for (size_t i = 0; i < hear->heard_count; i++)
        if (hear->heard[i].source == source)
            return hear->heard[i].number;
    return 0;
}

void memory_run_hear(struct memory *memory, struct store_op *op)
{
    struct store_hear *hear = container_of(op, struct store_hear, op);
    if (hear->from_now) {
        give_last(memory, hear);
        return;
    }
    int64_t source = 0;
    size_t given = 0; // of this source
    for (size_t i = 0; i < memory->news_count; i++) {
        const struct store_news *from = &memory->news[i].news;
        given = i && from->source == source ? given : 0;
        source = from->source;
        if (source == hear->skip || from->number <= heard_of(hear, source) || given == hear->max)
            continue;
        given++;
        hear->news = store_push(&op->arena, hear->news, hear->news_count, sizeof *hear->news);
        struct store_news *news = &hear->news[hear->news_count++];
        *news = *from;
        news->doc = memory_give(&op->arena, from->doc);
    }
}

static void sweep_told(struct memory *memory, const struct store_sweep *sweep)
{
    for (size_t removed = 0; removed < sweep->max; removed++) {
        struct memory_news *oldest = NULL;
        for (size_t i = 0; i < memory->news_count; i++)
            if (memory->news[i].told_at < sweep->news_before && (!oldest || memory->news[i].told_at < oldest->told_at))
                oldest = &memory->news[i];
        if (!oldest)
            return;
        memory_free_str(&oldest->news.doc);
        size_t at = (size_t)(oldest - memory->news);
        memory->news_count--;
        memmove(oldest, oldest + 1, (memory->news_count - at) * sizeof *oldest);
    }
}

void memory_sweep_news(struct memory *memory, const struct store_sweep *sweep)
{
    sweep_minutes(memory, sweep);
    sweep_told(memory, sweep);
}

void memory_free_news(struct memory *memory)
{
    for (size_t i = 0; i < memory->minute_count; i++)
        memory_free_str(&memory->minutes[i].doc);
    for (size_t i = 0; i < memory->news_count; i++)
        memory_free_str(&memory->news[i].news.doc);
    mem_free(memory->minutes);
    mem_free(memory->news);
}

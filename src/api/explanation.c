#include "api/explanation.h"

#include "base/text/json.h"
#include "base/text/when.h"
#include "core/id.h"

#include <assert.h>

static void put_reason(struct buf *body, const struct reason *reason)
{
    buf_printf(body, "{\"what\":\"%s\"", reason->what);
    if (reason->limit)
        buf_printf(body, ",\"limit\":\"%s\"", reason->limit);
    if (reason->id.n) {
        buf_puts(body, ",\"id\":");
        json_put_string(body, reason->id);
    }
    buf_puts(body, ",\"detail\":");
    json_put_string(body, reason->detail);
    buf_putc(body, '}');
}

static void put_expected(struct buf *body, int64_t ms)
{
    char text[WHEN_TEXT_SIZE];
    buf_puts(body, ",\"expected_start\":");
    if (!ms) {
        buf_puts(body, "null");
        return;
    }
    when_format(text, ms);
    buf_printf(body, "\"%s\"", text);
}

void explanation_note(struct explanation *explanation, struct str sentence)
{
    assert(explanation->note_count < EXPLANATION_NOTES_MAX);
    explanation->notes[explanation->note_count++] = sentence;
}

static void put_reasons(struct buf *body, struct buf *text, const struct explanation *explanation)
{
    buf_puts(body, ",\"waiting_for\":[");
    for (size_t i = 0; i < explanation->count; i++) {
        const struct reason *reason = &explanation->reasons[i];
        buf_puts(body, i ? "," : "");
        put_reason(body, reason);
        buf_puts(text, text->n ? " " : "");
        buf_put(text, reason->detail);
        buf_put(text, reason->way);
    }
    buf_putc(body, ']');
}

static void put_notes(struct buf *body, struct buf *text, const struct explanation *explanation)
{
    buf_puts(body, ",\"notes\":[");
    for (size_t i = 0; i < explanation->note_count; i++) {
        buf_puts(body, i ? "," : "");
        json_put_string(body, explanation->notes[i]);
        buf_puts(text, text->n ? " " : "");
        buf_put(text, explanation->notes[i]);
    }
    buf_putc(body, ']');
}

void explanation_put(struct buf *body, const struct explanation *explanation)
{
    buf_auto struct buf text = {0};
    buf_printf(body, "{\"state\":\"%s\"", explanation->state);
    put_reasons(body, &text, explanation);
    put_notes(body, &text, explanation);
    put_expected(body, explanation->expected_at);
    buf_puts(body, ",\"text\":");
    json_put_string(body, buf_str(&text));
    buf_putc(body, '}');
}

struct str explanation_duration(struct arena *arena, int64_t ms)
{
    long long s = ms / 1000, m = s / 60, h = m / 60;
    if (ms < 1000)
        return arena_printf(arena, "%lld ms", (long long)ms);
    if (m < 1)
        return arena_printf(arena, "%lld s", s);
    if (h < 1)
        return arena_printf(arena, "%lldm %llds", m, s % 60);
    return h < 24 ? arena_printf(arena, "%lldh %lldm", h, m % 60) : arena_printf(arena, "%lldd %lldh", h / 24, h % 24);
}

struct str explanation_when(struct arena *arena, int64_t ms, int64_t now_ms)
{
    char text[WHEN_TEXT_SIZE];
    when_format(text, ms);
    if (ms < now_ms)
        return arena_copy(arena, str_of(text));
    return arena_printf(arena, "%s (in " STR_FMT ")", text, STR_ARG(explanation_duration(arena, ms - now_ms)));
}

struct str explanation_jobs(struct arena *arena, const int64_t *ids, size_t count)
{
    enum { NAMED_MAX = 5 };
    size_t named = count > NAMED_MAX ? NAMED_MAX : count;
    struct str words = {0};
    for (size_t i = 0; i < named; i++) {
        char id[ID_TEXT_SIZE];
        id_format(id, ID_JOB, ids[i]);
        const char *between = i == 0 ? "" : i + 1 == count ? " and " : ", ";
        words = arena_printf(arena, STR_FMT "%s%s", STR_ARG(words), between, id);
    }
    return count > named ? arena_printf(arena, STR_FMT " and %zu more", STR_ARG(words), count - named) : words;
}

struct reason explanation_queue_paused(struct arena *arena, struct str queue)
{
    return (struct reason){.what = "queue_paused",
                           .id = queue,
                           .detail = arena_printf(arena, "Its queue \"" STR_FMT "\" is paused.", STR_ARG(queue)),
                           .way = arena_printf(arena, " Let it go with POST /v1/queues/" STR_FMT "/resume.", STR_ARG(queue))};
}

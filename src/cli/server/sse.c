// See sse.h. Lines end in LF, CR or both; a line is a field and its value; an empty line ends an event; a line that begins with a
// colon is a comment, with which servers show that they live.
#include "cli/server/sse.h"

void sse_init(struct sse *sse, bool (*event)(void *ctx, const struct sse_event *event), void *ctx)
{
    *sse = (struct sse){.event = event, .ctx = ctx, .retry_ms = -1};
}

void sse_done(struct sse *sse)
{
    buf_done(&sse->line);
    buf_done(&sse->type);
    buf_done(&sse->data);
    buf_done(&sse->id);
    buf_done(&sse->new_id);
}

static void set(struct buf *buf, struct str value)
{
    buf->n = 0;
    buf_put(buf, value);
}

void sse_restart(struct sse *sse)
{
    sse->line.n = sse->type.n = sse->data.n = 0;
    set(&sse->new_id, buf_str(&sse->id));
    sse->has_data = sse->after_cr = false;
}

// An event without data is none, but its id counts.
static bool end_event(struct sse *sse)
{
    set(&sse->id, buf_str(&sse->new_id));
    struct str type = sse->type.n ? buf_str(&sse->type) : STR("message");
    struct sse_event event = {type, buf_str(&sse->data), buf_str(&sse->id)};
    bool go_on = !sse->has_data || sse->event(sse->ctx, &event);
    sse->type.n = sse->data.n = 0;
    sse->has_data = false;
    return go_on;
}

static void set_retry(struct sse *sse, struct str value)
{
    int64_t ms = 0;
    for (size_t i = 0; i < value.n; i++) {
        if (value.p[i] < '0' || value.p[i] > '9' || ms > 1000000000)
            return;
        ms = ms * 10 + (value.p[i] - '0');
    }
    if (value.n)
        sse->retry_ms = ms;
}

static void take_field(struct sse *sse, struct str name, struct str value)
{
    if (str_is(name, "event"))
        set(&sse->type, value);
    else if (str_is(name, "id") && !(value.n && memchr(value.p, 0, value.n)))
        set(&sse->new_id, value);
    else if (str_is(name, "retry"))
        set_retry(sse, value);
    if (!str_is(name, "data"))
        return;
    if (sse->has_data)
        buf_putc(&sse->data, '\n');
    buf_put(&sse->data, value);
    sse->has_data = true;
}

static bool end_line(struct sse *sse)
{
    struct str line = buf_str(&sse->line);
    if (!line.n)
        return end_event(sse);
    const char *colon = memchr(line.p, ':', line.n);
    struct str name = {line.p, colon ? (size_t)(colon - line.p) : line.n};
    struct str value = {line.p + line.n, 0};
    if (colon) {
        bool space = name.n + 1 < line.n && colon[1] == ' ';
        value.p = colon + 1 + space;
        value.n = (size_t)(line.p + line.n - value.p);
    }
    if (name.n)
        take_field(sse, name, value);
    sse->line.n = 0;
    return true;
}

bool sse_take(struct sse *sse, struct str bytes)
{
    for (size_t i = 0; i < bytes.n; i++) {
        char c = bytes.p[i];
        bool second = c == '\n' && sse->after_cr; // the end of a line that has ended
        sse->after_cr = c == '\r';
        if (second)
            continue;
        if (c == '\n' || c == '\r') {
            if (!end_line(sse))
                return false;
            continue;
        }
        if (sse->line.n + sse->data.n >= SSE_EVENT_MAX) {
            sse->too_long = true;
            return false;
        }
        buf_putc(&sse->line, c);
    }
    return true;
}

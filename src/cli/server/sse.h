// Server-sent events, read as they come, in pieces of any size (WHATWG HTML, "Server-sent events").
// Layer: cli. Pure. One owner at a time.
#pragma once
#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

struct sse_event {
    struct str type, data, id; // `type` is "message" when the event has none; `id` is the last that came
};

struct sse {
    struct buf line, type, data;
    struct buf id, new_id; // of the last event that was whole; what the next one says
    bool has_data, after_cr, too_long;
    int64_t retry_ms; // how long to wait before asking again, as the server said; -1: it did not
    // Returns false to stop: sse_take then stops too.
    bool (*event)(void *ctx, const struct sse_event *event);
    void *ctx;
};

enum { SSE_EVENT_MAX = 16 << 20 }; // what is longer is no event of rota's

void sse_init(struct sse *sse, bool (*event)(void *ctx, const struct sse_event *event), void *ctx);
void sse_done(struct sse *sse);

bool sse_take(struct sse *sse, struct str bytes); // false: an event's callback said so, or an event was too long
void sse_restart(struct sse *sse);                // the connection broke: half an event is forgotten, the last id is kept

// An event as one line for people.
// Layer: cli. Pure.
#pragma once
#include "cli/server/sse.h"
#include "cli/show/show.h"

void event_put(struct buf *buf, const struct show *show, const struct sse_event *event);

// An event as one line for people.
// Layer: cli. Pure. Here so that the unit tests see it.
#pragma once
#include "cli/show.h"
#include "cli/sse.h"

void tail_put_event(struct buf *buf, const struct show *show, const struct sse_event *event);

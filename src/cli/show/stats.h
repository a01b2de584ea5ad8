// The server's figures as text.
// Layer: cli. Pure.
#pragma once
#include "cli/show/show.h"

// Any object of figures: what has a value first, then each object within it below its name. What ends in _ms is shown as a
// duration, what ends in _at as a time, so that a figure the server learns to give needs no change here.
void stats_put(struct buf *buf, const struct show *show, const struct value *stats);

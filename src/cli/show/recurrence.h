// How a task recurs, as text: lines of rota get. Of a one-time task they are all empty.
// Layer: cli. Pure.
//
// The functions have the signature of those in show/member. Each is made of members whose names it knows, but for the excluded
// days.
#pragma once
#include "cli/show/show.h"

void recurrence_put_schedule(struct buf *buf, const struct show *show, const struct value *task, const char *path);
// The same in words, for a table: "at 02:30 every day in Europe/Berlin"; without the jitter.
void recurrence_put_words(struct buf *buf, const struct show *show, const struct value *task, const char *path);
void recurrence_put_missed(struct buf *buf, const struct show *show, const struct value *task, const char *path);
void recurrence_put_overlap(struct buf *buf, const struct show *show, const struct value *task, const char *path);
void recurrence_put_clocks(struct buf *buf, const struct show *show, const struct value *task, const char *path);
void recurrence_put_excluded(struct buf *buf, const struct show *show, const struct value *task, const char *path);
void recurrence_put_bounds(struct buf *buf, const struct show *show, const struct value *task, const char *path);
void recurrence_put_pauses(struct buf *buf, const struct show *show, const struct value *task, const char *path);
void recurrence_put_paused(struct buf *buf, const struct show *show, const struct value *task, const char *path);

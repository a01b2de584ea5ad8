// Times as people write and read them.
// Layer: cli. Pure: the present is given; the local zone is the process's.
#pragma once
#include "base/buf.h"
#include "base/text/when.h"
#include "cli/server/value.h"

#include <stdbool.h>
#include <stdint.h>

// "31ms" "4.2s" "5s" "9m 58s" "2h 5m" "3d 4h"
void times_put_duration(struct buf *buf, int64_t ms);

void times_put_local(struct buf *buf, int64_t ms, const char *format); // strftime's format
void times_put_away(struct buf *buf, int64_t ms, int64_t now_ms);      // "now" "in 5m" "2h 5m ago"
void times_put_both(struct buf *buf, int64_t ms, int64_t now_ms);      // "2026-01-01 09:00:00  (in 5m)"

bool times_read(const struct value *object, const char *path, int64_t *ret_ms); // false unless an RFC 3339 time is there

void times_put_api(struct buf *buf, int64_t ms); // as the API takes it

// A time as people type it. `forms` are all that are understood: the next such time of day, a date and time on this machine's
// clock, and times with a zone, with or without seconds.
extern const char times_forms[];

enum times_note { TIMES_PLAIN, TIMES_LEFT_OUT, TIMES_TWICE }; // what the clock of this machine does at that time

struct times_typed {
    int64_t ms;
    enum times_note note;
};

bool times_read_typed(struct times_typed *ret_typed, struct str text, int64_t now_ms);

// A line about a time that clocks leave out or show twice; nothing about others.
void times_put_note(struct buf *buf, const struct times_typed *typed, struct str text);

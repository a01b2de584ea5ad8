// Times as people write and read them.
// Layer: cli. Pure: the present is given; the local zone is the process's.
#pragma once
#include "base/buf.h"
#include "base/when.h"
#include "cli/value.h"

#include <stdbool.h>
#include <stdint.h>

// "31ms" "4.2s" "5s" "9m 58s" "2h 5m" "3d 4h"
void times_put_duration(struct buf *buf, int64_t ms);

void times_put_local(struct buf *buf, int64_t ms, const char *format); // strftime's format
void times_put_away(struct buf *buf, int64_t ms, int64_t now_ms);      // "now" "in 5m" "2h 5m ago"

bool times_read(const struct value *object, const char *path, int64_t *ret_ms); // false unless an RFC 3339 time is there

// What the API takes for what people type. Text that is neither is left as it is: the server says what it allows.
void times_put_api_time(struct buf *buf, struct str text, int64_t now_ms); // "10m", "1h30m": so long from now
void times_put_api_local(struct buf *buf,
                         struct str text); // "2030-01-31 09:00", with or without seconds, on this machine's clock

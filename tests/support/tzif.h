// Files of time zones for tests, made by hand: what they say is known, and nothing of tzdata is needed.
#pragma once
#include "base/buf.h"

struct tzif_kind {
    int32_t offset_s;
    uint8_t is_dst;
    uint8_t name_at; // in names
};

struct tzif {
    char version; // 0 for the first, otherwise '2' to '4'
    size_t time_count, kind_count;
    const int64_t *times;
    const uint8_t *kind_at;
    const struct tzif_kind *kinds;
    struct str names; // each with a NUL at its end
    const char *footer;
};

void tzif_put(struct buf *buf, const struct tzif *tzif);

// Which planned runs of a schedule another tzdata moves.
// Layer: cli. Pure: no server, file or clock.
#pragma once
#include "core/schedule/schedule.h"

enum { TZDIFF_MAX = 100 }; // runs of one task that are looked at

struct tzdiff_move {
    int64_t from, to; // to == 0: it would not be planned any more
};

// `planned` are instants, in order, all of them after now_ms; `schedule` is as the other tzdata has it. A run whose instant stays
// is left out; of the others the first gets the first instant that is new, and so on. Returns how many there are.
size_t tzdiff_moves(const struct schedule *schedule, const int64_t *planned, size_t count, int64_t now_ms,
                    struct tzdiff_move ret_moves[TZDIFF_MAX]);

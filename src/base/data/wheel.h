// A timing wheel: what is due in the next seconds, released at its millisecond.
// Layer: base. One owner at a time. O(1) to add and remove; the next due slot is found by a few words of bits.
#pragma once
#include "base/data/list.h"

#include <stdint.h>

enum { WHEEL_SLOTS = 8192 }; // one a millisecond; what lies further is kept in the last slot and sorted in again

struct wheel_node {
    struct list link;
    int64_t at_ms;
};

struct wheel {
    int64_t now_ms; // everything before this has been released
    size_t count;
    uint64_t used[WHEEL_SLOTS / 64];            // a bit a slot
    uint64_t used_words[WHEEL_SLOTS / 64 / 64]; // a bit a word of `used`
    struct list slots[WHEEL_SLOTS];
};

void wheel_init(struct wheel *wheel, int64_t now_ms);
void wheel_add(struct wheel *wheel, struct wheel_node *node, int64_t at_ms);
void wheel_remove(struct wheel *wheel, struct wheel_node *node); // one that was removed before or never added (zeroed): nothing

// Moves all that is due at now_ms to the end of ret_due and makes it the caller's: wheel_remove() is not for it any more.
// In order of time; what was overdue when it was added counts as due then. Of one millisecond: as added, if it was within the
// wheel's length then. A clock that jumped, back or by more than the wheel is long, sorts the wheel anew.
void wheel_turn(struct wheel *wheel, int64_t now_ms, struct list *ret_due);

int64_t wheel_next(const struct wheel *wheel); // when to turn again; TIME_NEVER when empty

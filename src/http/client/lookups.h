// Which name is looked up next: look-ups wait by lane, as calls do.
//
// Layer: port (http), part of the resolver. Pure: decides by counting only; time is an argument. One thread.
//
// So many names of all lanes are asked for at once that a name server can be expected to take it, and a lane may use as many of
// these places as are free besides (core/share). A name that is not answered quickly gives its place up and goes on beside, where
// there is room for many: so names that nobody answers for do not keep others out, not even those of their own lane.
//
// A name whose last waiter has gone stands behind all of its lane that somebody waits for. Whoever waited will mostly come back,
// so it is asked for when there is nothing else to do; but only so many are remembered, or dead names would fill the memory.
#pragma once
#include "base/data/list.h"
#include "base/data/map.h"

#include <stdbool.h>
#include <stdint.h>

enum lookup_state { LOOKUP_NONE, LOOKUP_WAITS, LOOKUP_LEFT, LOOKUP_ASKED, LOOKUP_SLOW };

struct lookups_lane;

// One name's. To be zero at the beginning.
struct lookup {
    enum lookup_state state;
    struct list link;
    struct lookups_lane *lane;
    int64_t asked_ns;
};

struct lookups {
    struct map lanes;  // those that have a look-up here
    struct list turns; // of those in which a name waits
    struct list asked; // oldest first
    int left_count, asked_count, slow_count;
};

void lookups_init(struct lookups *lookups);
void lookups_done(struct lookups *lookups); // nothing may be in it

// The look-up waits from now on. A name that was known before goes before one that was never asked for.
void lookups_add(struct lookups *lookups, struct lookup *lookup, int64_t lane, bool known);
// Somebody of this lane wants it, too: if it waits elsewhere, and here it would not have to, it is this lane's from now on. If
// nobody waited for it any more, it stands in this lane's line again.
void lookups_join(struct lookups *lookups, struct lookup *lookup, int64_t lane);
// Nobody waits for it any more. False: it stands in a line, and there is no room to remember it: it is to be ended.
bool lookups_leave(struct lookups *lookups, struct lookup *lookup);
// The one that is to be asked for now, which it counts as from now on; NULL: none.
struct lookup *lookups_next(struct lookups *lookups, int64_t now_ns);
void lookups_end(struct lookups *lookups, struct lookup *lookup); // it was answered, or is forgotten
// Look-ups that are slow give up their places. Returns when there may be others; TIME_NEVER: nothing is asked for.
int64_t lookups_turn(struct lookups *lookups, int64_t now_ns);

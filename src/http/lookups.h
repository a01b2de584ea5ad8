// Which name is looked up next: look-ups wait by lane, as calls do.
//
// Layer: port (http), part of the resolver. Pure: decides by counting only; time is an argument. One thread.
//
// So many names of all lanes are asked for at once that a name server can be expected to take it, and a lane may use as many of
// these places as are free besides (core/share). A name that is not answered quickly gives its place up and goes on beside, where
// there is room for many: so names that nobody answers for do not keep others out, not even those of their own lane.
#pragma once
#include "base/list.h"
#include "base/map.h"

#include <stdbool.h>
#include <stdint.h>

enum lookup_state { LOOKUP_NONE, LOOKUP_WAITS, LOOKUP_ASKED, LOOKUP_SLOW };

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
    struct list turns; // of those in which somebody waits
    struct list asked; // oldest first
    int asked_count, slow_count;
};

void lookups_init(struct lookups *lookups);
void lookups_done(struct lookups *lookups); // nothing may be in it

// Waits from now on. What was known before goes before what was never asked for.
void lookups_add(struct lookups *lookups, struct lookup *lookup, int64_t lane, bool known);
// Somebody of this lane wants it, too: if it waits elsewhere, and here it would not have to, it is this lane's from now on.
void lookups_join(struct lookups *lookups, struct lookup *lookup, int64_t lane);
// The one that is to be asked for now, which it counts as from now on; NULL: none.
struct lookup *lookups_next(struct lookups *lookups, int64_t now_ns);
void lookups_end(struct lookups *lookups, struct lookup *lookup); // it was answered, or nobody wants it any more
// Those that are slow give up their places. Returns when there may be others; TIME_NEVER: nothing is asked for.
int64_t lookups_turn(struct lookups *lookups, int64_t now_ns);

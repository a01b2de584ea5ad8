// What nodes tell each other, through the store, about the tzdata that plans follow; and what follows from it for one of them.
// Layer: flow, pure: no I/O, clock or thread.
#pragma once
#include "core/schedule/zone_list.h"

#include <stdint.h>

enum { TZDATA_TEXT_SIZE = 80 };

struct tzdata_row {
    char followed[ZONE_VERSION_SIZE]; // all plans follow this version; "": none yet
    char next[ZONE_VERSION_SIZE];     // a node sees to it that they follow this one; "": none does
    int64_t holder;                   // … this incarnation
    // They have to be looked at again by the next node that begins: one with an older tzdata has planned since, or a time zone
    // was missing.
    bool again;
};

struct tzdata_row tzdata_row_read(struct str text); // what cannot be read is as if nothing had been written
void tzdata_row_write(const struct tzdata_row *row, char ret_text[TZDATA_TEXT_SIZE]);

enum tzdata_act {
    TZDATA_REST,  // there is nothing to do
    TZDATA_WAIT,  // another node is at it
    TZDATA_TAKE,  // this node lets the plans follow
    TZDATA_BEHIND // this node's tzdata is older than that of others, which is to be noted
};

struct tzdata_view {
    const char *version; // of this node's tzdata; "": it is not known
    bool fresh;          // this node has begun, or got another version, since it last looked
    bool renewed;        // … the latter: until then it planned by an older one
    int64_t life;        // this node's incarnation
    bool holder_lives;   // that of the row
};

enum tzdata_act tzdata_judge(const struct tzdata_row *row, const struct tzdata_view *view);

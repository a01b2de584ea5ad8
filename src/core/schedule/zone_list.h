// The names of all time zones, as tzdata lists them.
// Layer: core, pure. Any thread, once it is read.
//
// A file of tzdata is opened by a name of this list and never by a text of a user. The list has no name that could lead out of
// tzdata's folder.
#pragma once
#include "base/arena.h"

enum { ZONE_NAMES_MAX = 4000, ZONE_NAME_MAX = 64, ZONE_VERSION_SIZE = 16 };

struct zone_name {
    struct str name;
    struct str link; // the zone that it is another name of; empty: none
};

struct zone_list {
    size_t count;
    const struct zone_name *names;   // in the order of their bytes
    char version[ZONE_VERSION_SIZE]; // "2025b"; empty: not said
};

// Lines that do not name a zone are left out, and so are names beyond ZONE_NAMES_MAX. The list lives in the arena and does not
// point into `text`.
struct zone_list zone_list_read(struct str text, struct arena *arena);     // of tzdata.zi
struct zone_list zone_list_read_tab(struct str text, struct arena *arena); // of zone1970.tab, which knows no version and no links

bool zone_list_name_fits(struct str name); // whether it could be the name of a zone: it has the letters and the length of one

const struct zone_name *zone_list_find(const struct zone_list *list, struct str name); // NULL: there is none of exactly this name
struct str zone_list_guess(const struct zone_list *list, struct str name);             // which was probably meant; may be empty

// Is the version of the one tzdata newer than that of the other? Any is newer than none.
bool zone_list_is_newer(const struct zone_list *list, const struct zone_list *than);

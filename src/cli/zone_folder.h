// The time zones in a folder, which need not be those of any server.
// Layer: cli. One thread. What is found lives in the arena of whoever asks.
#pragma once
#include "core/schedule/zone.h"
#include "core/schedule/zone_list.h"

struct zone_folder {
    const char *dir;
    struct zone_list list;
};

// NULL: the folder that TZDIR names, or the system's. False: it has no tzdata.zi, or that does not say a version.
bool zone_folder_open(struct zone_folder *ret_folder, const char *dir, struct arena *arena);
// NULL: it has no such zone, or the zone's file cannot be used; `why` says which.
const struct zone *zone_folder_find(const struct zone_folder *folder, struct str name, struct arena *arena,
                                    char why[ERR_WHY_MAX]);

// A time zone of this machine, by its name or by the path of its file. A test that needs one ends when there is none.
#pragma once
#include "core/schedule/zone.h"

#include <stdio.h>
#include <stdlib.h>

static inline const struct zone *zone_file(const char *name, struct arena *arena)
{
    static char bytes[ZONE_FILE_MAX + 1];
    char path[256];
    const struct zone *zone;
    const char *why = "it cannot be read";
    snprintf(path, sizeof path, "%s%s", name[0] == '/' ? "" : "/usr/share/zoneinfo/", name);
    FILE *file = fopen(path, "rb");
    size_t n = file ? fread(bytes, 1, sizeof bytes, file) : 0;
    if (file)
        fclose(file);
    if (!file || zone_read((struct str){bytes, n}, arena, &zone, &why)) {
        fprintf(stderr, "%s: %s\n", path, why);
        exit(1);
    }
    return zone;
}

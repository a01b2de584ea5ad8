// The server has its own reader (flow/zones), which keeps zones for all its threads. Here each is read when it is asked for.
#include "cli/zone_folder.h"

#include "cli/whole_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_FILE_MAX = 1 << 20 };

static bool read_file(const char *dir, struct str name, size_t max, struct buf *ret_text)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/" STR_FMT, dir, STR_ARG(name));
    return whole_file_read(path, max, ret_text);
}

bool zone_folder_open(struct zone_folder *ret_folder, const char *dir, struct arena *arena)
{
    buf_auto struct buf text = {0};
    const char *given = dir ? dir : getenv("TZDIR");
    *ret_folder = (struct zone_folder){.dir = given && *given ? given : "/usr/share/zoneinfo"};
    if (read_file(ret_folder->dir, STR("tzdata.zi"), LIST_FILE_MAX, &text))
        ret_folder->list = zone_list_read(buf_str(&text), arena);
    return ret_folder->list.version[0];
}

const struct zone *zone_folder_find(const struct zone_folder *folder, struct str name, struct arena *arena, char why[ERR_WHY_MAX])
{
    buf_auto struct buf bytes = {0};
    const struct zone *zone = NULL;
    const char *problem = NULL;
    const struct zone_name *listed = zone_list_find(&folder->list, name);
    if (!listed) {
        snprintf(why, ERR_WHY_MAX, "tzdata %s does not have the time zone " STR_FMT, folder->list.version, STR_ARG(name));
        return NULL;
    }
    if (!read_file(folder->dir, listed->name, ZONE_FILE_MAX, &bytes) &&
        !(listed->link.n && read_file(folder->dir, listed->link, ZONE_FILE_MAX, &bytes)))
        problem = strerror(errno);
    if (problem || zone_read(buf_str(&bytes), arena, &zone, &problem)) {
        snprintf(why, ERR_WHY_MAX, "the file of the time zone " STR_FMT " cannot be used: %s", STR_ARG(name), problem);
        return NULL;
    }
    return zone;
}

// Only a newer version moves plans. So of nodes with different ones that with the newest has the last word, and a plan never goes
// back and forth between them.
#include "flow/tend/tzdata_row.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void read_version(char ret_version[ZONE_VERSION_SIZE], const char *word)
{
    snprintf(ret_version, ZONE_VERSION_SIZE, "%s", strcmp(word, "-") == 0 ? "" : word);
}

struct tzdata_row tzdata_row_read(struct str text)
{
    struct tzdata_row row = {0};
    char copy[TZDATA_TEXT_SIZE], followed[ZONE_VERSION_SIZE], next[ZONE_VERSION_SIZE];
    int64_t holder;
    int again;
    snprintf(copy, sizeof copy, STR_FMT, STR_ARG(text));
    if (sscanf(copy, "%15s %15s %" SCNd64 " %d", followed, next, &holder, &again) != 4)
        return row;
    read_version(row.followed, followed);
    read_version(row.next, next);
    row.holder = holder;
    row.again = again;
    return row;
}

void tzdata_row_write(const struct tzdata_row *row, char ret_text[TZDATA_TEXT_SIZE])
{
    snprintf(ret_text, TZDATA_TEXT_SIZE, "%s %s %" PRId64 " %d", row->followed[0] ? row->followed : "-",
             row->next[0] ? row->next : "-", row->holder, row->again);
}

static bool is_at_work(const struct tzdata_row *row, const struct tzdata_view *view)
{
    return row->next[0] && row->holder != view->life && view->holder_lives && strcmp(view->version, row->next) <= 0;
}

enum tzdata_act tzdata_judge(const struct tzdata_row *row, const struct tzdata_view *view)
{
    int order = strcmp(view->version, row->followed);
    if (!view->version[0])
        return TZDATA_REST;
    if (order < 0)
        return TZDATA_BEHIND;
    if (order == 0 && !(view->fresh && (view->renewed || row->again)))
        return TZDATA_REST;
    return is_at_work(row, view) ? TZDATA_WAIT : TZDATA_TAKE;
}

// See state.h.
#include "cli/show/state.h"

#include "base/mem.h"
#include "core/job.h"

const char *state_colour(const struct show *show, struct str state)
{
    static const struct {
        const char *state, *colour;
    } colours[] = {
        {"success", "32"},  {"aborted", "31"},  {"buried", "31"}, {"cancelled", "33"},
        {"reserved", "36"}, {"watching", "36"}, {"active", "36"}, {"paused", "33"},
    };
    for (size_t i = 0; show->colours && i < array_count(colours); i++)
        if (str_is(state, colours[i].state))
            return colours[i].colour;
    return NULL;
}

bool state_final(struct str state)
{
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        if (str_is(state, job_state_text((enum job_state)i)))
            return job_state_final((enum job_state)i);
    return false;
}

void state_put_coloured(struct buf *buf, const char *colour, struct str text)
{
    if (colour)
        buf_printf(buf, "\033[%sm", colour);
    buf_put(buf, text);
    if (colour)
        buf_puts(buf, "\033[0m");
}

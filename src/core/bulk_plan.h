// A bulk: what is to be done, and to what.
// Layer: core, pure but for the arena.
#pragma once
#include "core/filter.h"

// name, text, is it done to jobs (else to tasks)
#define BULK_ACTIONS(X)        \
    X(CANCEL, "cancel", false) \
    X(RETRY, "retry", true)    \
    X(RUN, "run", false)       \
    X(PAUSE, "pause", false)   \
    X(RESUME, "resume", false) \
    X(DELETE, "delete", false)

enum bulk_action {
#define X(name, text, jobs) BULK_##name,
    BULK_ACTIONS(X)
#undef X
        BULK_ACTION_COUNT
};

struct bulk_plan {
    enum bulk_action action;
    struct filter filter;
};

// Reads {"action": …, "filter": {…}} from a checked document. The filter's slices are of the document, or of the arena.
err_check enum err bulk_plan_parse(struct bulk_plan *ret_plan, struct json doc, struct arena *arena, struct problem *why);

// A backfill (core/schedule/backfill) is a bulk of its own kind, and its document another one, which the API has written:
// {"action": "backfill", "task_id": …, "backfill": {…}}. Of a document that was checked.
bool bulk_plan_is_backfill(struct str doc);

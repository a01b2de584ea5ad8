// A list of the API, page by page.
// Layer: cli. One owner at a time.
//
// A page may have fewer items than its limit, even none, while there are more: the server has then looked through as much as it
// looks through at once. So pages are followed until there is no cursor.
#pragma once
#include "cli/server/call.h"

enum { PAGES_LIMIT_MAX = 1000 };

struct pages {
    struct caller *caller;
    struct str path;   // with its filters, without limit and cursor
    struct str cursor; // of the next page; empty before the first and behind the last
};

// The next page, of at most `limit` items (or as many as a page can have). *ret_items is of the reply, which the caller ends. A
// failure is told; the code is returned.
int pages_next(struct pages *pages, int64_t limit, struct reply *ret_reply, const struct value **ret_items);

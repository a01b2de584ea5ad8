// See pages.h.
#include "cli/server/pages.h"

#include "base/clock.h"
#include "cli/server/failure.h"
#include "cli/show/terminal.h"

#include <stdio.h>

static void get_page(struct pages *pages, int64_t limit, struct reply *ret_reply)
{
    buf_auto struct buf path = {0};
    char number[24];
    buf_put(&path, pages->path);
    snprintf(number, sizeof number, "%d", (int)time_min(limit, PAGES_LIMIT_MAX));
    call_put_query(&path, STR("limit"), str_of(number));
    if (pages->cursor.n)
        call_put_query(&path, STR("cursor"), pages->cursor);
    buf_putc(&path, 0);
    call(pages->caller, "GET", path.p, (struct str){0}, ret_reply);
}

int pages_next(struct pages *pages, int64_t limit, struct reply *ret_reply, const struct value **ret_items)
{
    get_page(pages, limit, ret_reply);
    *ret_items = value_at(ret_reply->value, "items");
    if (ret_reply->code != CLI_OK)
        return failure_tell(pages->caller, ret_reply);
    struct str next = value_text(value_at(ret_reply->value, "next"));
    if (next.n && str_eq(next, pages->cursor)) { // it would be followed for ever
        terminal_talk("rota %s: the server gave the same cursor twice, so the list is not complete\n",
                      pages->caller->cli->verb->name);
        return CLI_REFUSED;
    }
    pages->cursor = next.n ? arena_copy(pages->caller->arena, next) : (struct str){0};
    return CLI_OK;
}

// Lists: tasks, jobs, and the jobs of one task, newest first.
//
// Not all that the store looks at matches, nor all that it gives back (flow/commands/match). So a list goes from page to page
// until it has as many as were asked for, has come to the end, has been at it for LOOK_MS, or its answer has BYTES_MAX bytes:
// then the answer is short, and its cursor leads on. The first page of the store looks at no more rows than are wanted, and each
// that follows at more, LOOK_MAX at most; other reads go in between. So no list keeps the store for long, however little matches,
// nor takes much memory, however large tasks are.
#include "api/params.h"
#include "api/read.h"
#include "api/render.h"
#include "api/reply.h"
#include "base/clock.h"
#include "flow/commands/match.h"
#include "store/jobs.h"

enum { LIMIT_DEFAULT = 100, LIMIT_MAX = 1000, LOOK_MAX = 2000, LOOK_TIMES = 4, LOOK_MS = 50, BYTES_MAX = MATCH_BYTES_MAX };

struct listing {
    struct store_list page;
    struct gate_wait wait;
    struct api_call call;
    struct filter filter;
    struct buf body;
    uint32_t digest;
    size_t limit, shown, look;
    struct now began;
};

static void begin_item(struct listing *listing)
{
    if (listing->shown++)
        buf_putc(&listing->body, ',');
}

static void put_task(struct listing *listing, const struct match *match)
{
    const struct store_list *page = &listing->page;
    render_task(&listing->body,
                &(struct task_view){.stored = match->stored,
                                    .task = &match->task,
                                    .jobs = match->jobs,
                                    .job_count = match->job_count,
                                    .attempts = page->attempts,
                                    .attempt_count = page->attempt_count},
                listing->began.wall_ms);
}

static void put_page(struct listing *listing)
{
    struct store_list *page = &listing->page;
    struct match match = {.page = page, .filter = &listing->filter, .now_ms = listing->began.wall_ms};
    while (match_next(&match)) {
        begin_item(listing);
        if (page->jobs)
            render_listed_job(&listing->body, match.jobs, page->attempts, page->attempt_count, listing->began.wall_ms);
        else
            put_task(listing, &match);
    }
}

static void finish(struct listing *listing)
{
    const struct store_list *page = &listing->page;
    if (page->more) {
        char cursor[CURSOR_TEXT_SIZE];
        cursor_format(cursor, (struct cursor){page->next.at, page->next.id}, listing->digest);
        buf_printf(&listing->body, "],\"next\":\"%s\"}", cursor);
    } else {
        buf_puts(&listing->body, "],\"next\":null}");
    }
    reply_json(listing->call.request, 200, &listing->body);
}

static void listed(struct store_op *op)
{
    http_resume(container_of(op, struct listing, page.op)->call.request);
}

static void answer(struct http_request *request, void *state);

// Looks at no more rows than are wanted, if all of them will do.
static void ask(struct listing *listing)
{
    struct store_list *page = &listing->page;
    page->max = listing->limit - listing->shown;
    page->look = filter_takes_all(&listing->filter) ? page->max : listing->look;
    page->bytes_max = BYTES_MAX - listing->body.n;
    http_wait(listing->call.request, answer, listing);
    store_submit(listing->call.api->store, &page->op);
}

static bool may_go_on(const struct listing *listing)
{
    return listing->page.more && listing->shown < listing->limit && listing->body.n < BYTES_MAX &&
           clock_now().mono_ms - listing->began.mono_ms < LOOK_MS;
}

static void answer(struct http_request *request, void *state)
{
    struct listing *listing = state;
    struct store_list *page = &listing->page;
    if (page->op.err) {
        buf_done(&listing->body);
        problem_store(request, page->op.err, page->op.why);
        enum err failed = page->op.err;
        store_op_done(&page->op);
        gate_leave(&listing->call.api->lists, failed);
        return;
    }
    put_page(listing);
    bool absent = page->task_id && !listing->shown && !page->more && page->before.at == INT64_MAX;
    bool go_on = may_go_on(listing);
    if (absent) {
        buf_done(&listing->body);
        problem_say(request, ERR_NOT_FOUND, NULL, "There is no such task.");
    } else if (!go_on) {
        finish(listing);
    }
    page->before = page->next;
    listing->look = listing->look * LOOK_TIMES < LOOK_MAX ? listing->look * LOOK_TIMES : LOOK_MAX;
    store_op_done(&page->op);
    if (!go_on) {
        gate_leave(&listing->call.api->lists, ERR_OK);
        return;
    }
    store_op_init(&page->op, STORE_LIST, listed);
    ask(listing);
}

// Its time begins here, not when it came.
static void begin(struct http_request *request, void *state)
{
    struct listing *listing = state;
    listing->began.mono_ms = clock_now().mono_ms;
    store_op_init(&listing->page.op, STORE_LIST, listed);
    listing->page.op.err = listing->wait.failed;
    if (listing->wait.failed) {
        answer(request, listing);
        return;
    }
    buf_puts(&listing->body, "{\"items\":[");
    ask(listing);
}

struct query {
    struct filter *filter;
    struct problem why;
};

static bool take_parameter(void *ctx, struct str name, struct str value)
{
    struct query *query = ctx;
    if (str_is(name, "limit") || str_is(name, "cursor"))
        return true;
    return filter_set(query->filter, name, value, &query->why) == ERR_OK;
}

static bool read_cursor(struct listing *listing)
{
    struct http_request *request = listing->call.request;
    struct str text = http_query(request, "cursor");
    struct cursor cursor;
    if (!text.p)
        return true;
    if (!cursor_parse(text, listing->digest, &cursor)) {
        problem_say(request, ERR_INVALID_FIELD, "cursor",
                    "This is no cursor of this list: pass on `next` of the page before, with the same filters.");
        return false;
    }
    listing->page.before = (struct store_cursor){cursor.at, cursor.id};
    return true;
}

static void list(const struct api_call *call, enum filter_of of, int64_t task_id)
{
    struct http_request *request = call->request;
    struct listing *listing = arena_alloc(http_arena(request), sizeof *listing);
    struct store_list *page = &listing->page;
    int64_t limit = LIMIT_DEFAULT;
    *listing = (struct listing){.call = *call, .filter = filter_any(of), .began = clock_now()};
    struct query query = {.filter = &listing->filter};
    if (!params_number(call, "limit", 1, LIMIT_MAX, &limit))
        return;
    if (!http_query_each(request, take_parameter, &query)) {
        problem_reply(request, &query.why);
        return;
    }
    struct cursor newest = filter_newest(&listing->filter, listing->began.wall_ms);
    listing->limit = listing->look = (size_t)limit;
    listing->digest = filter_digest(&listing->filter) + (uint32_t)task_id;
    *page = match_query(&listing->filter, call->tenant);
    page->task_id = task_id;
    page->before = (struct store_cursor){newest.at, newest.id};
    page->max_jobs = READ_JOBS_MAX;
    if (!read_cursor(listing))
        return;
    gate_enter(&call->api->lists, LISTS_MAX, &listing->wait, request, begin, listing);
}

void tasks_list(const struct api_call *call)
{
    list(call, FILTER_TASKS, 0);
}

void jobs_list(const struct api_call *call)
{
    list(call, FILTER_JOBS, 0);
}

void tasks_jobs(const struct api_call *call)
{
    int64_t id;
    if (read_path_id(call, ID_TASK, &id))
        list(call, FILTER_JOBS, id);
}

// What is coming in a window of time, over all tasks: jobs that are planned, and instants of schedules that have no job yet.
//
// Recurring tasks are gone through page by page, newest first, and each schedule is followed from where its plan ends to the last
// item that is kept (core/schedule/upcoming). Then jobs are read, which an index finds in order: in this order, because an
// instant that is planned meanwhile is then seen twice, and not missed. Before all that jobs are read once, to know how far the
// answer can reach at all. So it costs what it shows, and a look at every plan. That is bounded by SCHEDULES_MAX, BYTES_MAX and
// STEPS_MAX; what was left out because of a bound, the answer says. Other requests go in between: each page is a read of the
// store of its own, and a long walk stops every STEPS_AT_ONCE steps.
#include "api/params.h"
#include "api/read.h"
#include "api/render.h"
#include "api/reply.h"
#include "base/clock.h"
#include "base/text/when.h"
#include "core/filter.h"
#include "core/fnv.h"
#include "flow/commands/match.h"
#include "flow/zones.h"
#include "store/jobs.h"

enum { LIMIT_DEFAULT = 100, LIMIT_MAX = 1000 };

enum {
    JOBS_MAX = 20000, // rows of jobs that are looked at; those that have begun early or were cancelled may lie among them
    LOOK_MAX = 2000,  // … at once: as many as are wanted in the first read, and more in each that follows
    LOOK_TIMES = 4,
    PAGE_TASKS = 200,
    PAGE_BYTES = 1024 * 1024,
    SCHEDULES_MAX = 10000, // that one answer looks at,
    BYTES_MAX = 64 << 20,  // … with documents of about so many bytes,
    STEPS_MAX = 200000,    // … and instants of them, all together
    STEPS_AT_ONCE = 5000,
};

static const int64_t DAY_MS = INT64_C(24) * 3600 * 1000;
static const int64_t UNTIL_MAX_DAYS = 366;

#define TOO_MANY                                                                             \
    "There is more to compute than one answer does: instants without a job are shown of the" \
    " newest recurring tasks only. Planned jobs are all shown."
#define CANNOT_FOLLOW "Instants without a job are not shown of tasks whose schedule cannot be followed here: see /readyz."

struct window {
    struct store_upcoming jobs;
    struct store_list tasks;
    struct gate_wait wait;
    struct api_call call;
    struct upcoming list; // with room for one more than are shown: it tells whether there are more
    size_t limit;
    int64_t now_ms, until_ms;
    uint32_t digest; // of what was asked for, so that a cursor goes with it
    bool bounded;    // it is known how far the answer reaches: list.through,
    bool cut;        // … which is not the end of the window
    size_t job_rows, schedules, bytes;
    int64_t steps_left;
    size_t at; // in the page of tasks
    bool walking;
    struct schedule schedule; // of the task at hand
    struct upcoming_walk walk;
    const char *left_out; // why something was; NULL: nothing was
};

// ---- the cursor: the place of the last item, and the end of the window, which stays the same from page to page

enum { CURSOR_LENGTH = CURSOR_TEXT_SIZE - 1 };

static void put_cursor(struct buf *body, const struct window *window, struct upcoming_place place)
{
    char first[CURSOR_TEXT_SIZE], second[CURSOR_TEXT_SIZE];
    cursor_format(first, (struct cursor){place.at_ms, place.computed ? -place.id : place.id}, window->digest);
    cursor_format(second, (struct cursor){place.nominal_at, window->until_ms}, window->digest + 1);
    buf_printf(body, ",\"next\":\"%s%s\"", first, second);
}

static bool parse_cursor(struct window *window, struct str text)
{
    struct cursor first, second;
    if (text.n != 2 * CURSOR_LENGTH || !cursor_parse((struct str){text.p, CURSOR_LENGTH}, window->digest, &first) ||
        !cursor_parse((struct str){text.p + CURSOR_LENGTH, CURSOR_LENGTH}, window->digest + 1, &second))
        return false;
    bool computed = first.id < 0;
    if (first.at < 0 || first.id == INT64_MIN || second.at < 0 || second.id > window->now_ms + (UNTIL_MAX_DAYS + 1) * DAY_MS)
        return false;
    window->list.after = (struct upcoming_place){first.at, computed, computed ? -first.id : first.id, second.at};
    window->until_ms = second.id;
    return true;
}

// ---- the answer

// `last`: up to where the list is whole.
static void put_end(struct buf *body, const struct window *window, bool more, struct upcoming_place last)
{
    char until[WHEN_TEXT_SIZE];
    when_format(until, window->until_ms);
    if (window->list.count > window->limit)
        put_cursor(body, window, window->list.items[window->limit - 1].place);
    else if (more)
        put_cursor(body, window, last);
    else
        buf_puts(body, ",\"next\":null");
    buf_printf(body, ",\"until\":\"%s\",\"incomplete\":%s", until, window->left_out ? "true" : "false");
    if (window->left_out)
        buf_printf(body, ",\"note\":\"%s\"", window->left_out);
    buf_putc(body, '}');
}

static void reply_list(struct window *window)
{
    struct upcoming *list = &window->list;
    struct buf body = {0};
    upcoming_sort(list);
    bool full = list->count == list->max;
    if (full && upcoming_compare(list->items[list->count - 1].place, list->through) < 0)
        list->through = list->items[list->count - 1].place;
    upcoming_unite(list);
    buf_puts(&body, "{\"items\":[");
    for (size_t i = 0; i < list->count && i < window->limit; i++) {
        if (i)
            buf_putc(&body, ',');
        render_upcoming(&body, &list->items[i]);
    }
    buf_putc(&body, ']');
    put_end(&body, window, full || window->cut, list->through);
    reply_json(window->call.request, 200, &body);
    gate_leave(&window->call.api->lists, ERR_OK);
}

static void reply_failure(struct window *window, enum err err, const char *why)
{
    problem_store(window->call.request, err, why);
    gate_leave(&window->call.api->lists, err);
}

static const struct upcoming_task *keep_task(const struct window *window, int64_t id, struct str name, bool paused)
{
    struct arena *arena = http_arena(window->call.request);
    struct upcoming_task *task = arena_alloc(arena, sizeof *task);
    *task = (struct upcoming_task){.id = id, .name = name.n ? arena_copy(arena, name) : name, .paused = paused};
    return task;
}

// ---- instants without a job

static void ask_tasks(struct window *window);
static void begin_jobs(struct window *window);

// Sets out on the schedule of a task, unless it has no instant before the end of the list.
static void begin_walk(struct window *window, const struct store_task *stored)
{
    struct api *api = window->call.api;
    struct arena *arena = &window->tasks.op.arena;
    struct problem why = {0};
    struct task task;
    if (stored->paused || !plan_owes(stored->plan) || stored->plan->planned_through >= upcoming_end(&window->list))
        return;
    if (!match_read(stored, &task, arena) || !task_recurs(&task) ||
        !zones_schedule(api->zones, &task, stored->id, stored->created_at, arena, &window->schedule, &why)) {
        window->left_out = CANNOT_FOLLOW;
        return;
    }
    bool queue_paused = lanes_is_queue_paused(api->lanes, stored->tenant, stored->queue);
    window->walk = upcoming_walk_begin(&window->list, &window->schedule, stored->plan, task.recurs->rules.max_runs,
                                       keep_task(window, stored->id, stored->name, queue_paused));
    window->walking = true;
}

// Goes on with the page of tasks. False: it has taken enough steps for now.
static bool walk_page(struct window *window)
{
    int64_t steps = time_min(STEPS_AT_ONCE, window->steps_left), granted = steps;
    bool ended = true;
    while (ended && (window->walking || window->at < window->tasks.task_count)) {
        if (!window->walking) {
            const struct store_task *stored = &window->tasks.tasks[window->at++];
            window->bytes += store_task_bytes(stored);
            window->schedules++;
            begin_walk(window, stored);
        }
        if (window->walking)
            ended = upcoming_walk(&window->walk, &window->list, &steps);
        window->walking = !ended;
    }
    window->steps_left -= granted - steps;
    return ended;
}

static void walk(struct http_request *request, void *state)
{
    struct window *window = state;
    bool ended = walk_page(window);
    if (!ended && window->steps_left) {
        http_wait(request, walk, window);
        http_resume(request);
        return;
    }
    bool more = window->tasks.more;
    bool may_go_on = ended && window->schedules < SCHEDULES_MAX && window->bytes < BYTES_MAX;
    window->tasks.before = window->tasks.next;
    store_op_done(&window->tasks.op);
    if (more && may_go_on) {
        ask_tasks(window);
        return;
    }
    if (more || !ended)
        window->left_out = TOO_MANY;
    begin_jobs(window);
}

static void take_tasks(struct http_request *request, void *state)
{
    struct window *window = state;
    struct store_op *op = &window->tasks.op;
    if (op->err) {
        reply_failure(window, op->err, op->why);
        store_op_done(op);
        return;
    }
    window->at = 0;
    walk(request, window);
}

static void tasks_found(struct store_op *op)
{
    http_resume(container_of(op, struct window, tasks.op)->call.request);
}

static void ask_tasks(struct window *window)
{
    struct store_list *tasks = &window->tasks;
    store_op_init(&tasks->op, STORE_LIST, tasks_found);
    http_wait(window->call.request, take_tasks, window);
    store_submit(window->call.api->store, &tasks->op);
}

static void begin_tasks(struct window *window)
{
    window->tasks = (struct store_list){.tenant = window->call.tenant,
                                        .recurring = true,
                                        .before = {INT64_MAX, INT64_MAX},
                                        .max = PAGE_TASKS,
                                        .look = PAGE_TASKS,
                                        .bytes_max = PAGE_BYTES};
    ask_tasks(window);
}

// ---- planned jobs

static void ask_jobs(struct window *window);

static void offer_jobs(struct window *window)
{
    struct store_upcoming *jobs = &window->jobs;
    for (size_t i = 0; i < jobs->job_count; i++) {
        const struct store_upcoming_job *job = &jobs->jobs[i];
        bool paused = job->paused || lanes_is_paused(window->call.api->lanes, job->lane);
        upcoming_offer(&window->list, (struct upcoming_item){.place = {.at_ms = job->scheduled_at, .id = job->id},
                                                             .task = keep_task(window, job->task_id, job->name, paused)});
    }
    window->job_rows += jobs->look;
}

// Do jobs that are planned behind this one come too late for the list?
static bool is_enough(const struct upcoming *list, struct upcoming_place last)
{
    bool full = list->count == list->max;
    return upcoming_compare(last, list->through) >= 0 || (full && upcoming_compare(last, list->items[0].place) >= 0);
}

// The first time only how far the answer reaches is kept: up to the last job that it has room for.
static void end_jobs(struct window *window)
{
    struct upcoming *list = &window->list;
    if (window->bounded) {
        reply_list(window);
        return;
    }
    if (list->count == list->max) {
        list->through = list->items[0].place;
        window->cut = true;
    }
    list->count = 0;
    window->bounded = true;
    begin_tasks(window);
}

static void take_jobs(struct http_request *request, void *state)
{
    struct window *window = state;
    struct store_upcoming *jobs = &window->jobs;
    if (jobs->op.err) {
        reply_failure(window, jobs->op.err, jobs->op.why);
        store_op_done(&jobs->op);
        return;
    }
    offer_jobs(window);
    struct upcoming_place last = {.at_ms = jobs->next.at, .id = jobs->next.id};
    bool more = jobs->more && !is_enough(&window->list, last);
    jobs->after = jobs->next;
    store_op_done(&jobs->op);
    if (more && window->job_rows < JOBS_MAX) {
        jobs->look = jobs->look * LOOK_TIMES < LOOK_MAX ? jobs->look * LOOK_TIMES : LOOK_MAX;
        ask_jobs(window);
        return;
    }
    if (more) { // nothing is known of what lies behind the last row
        window->list.through = last;
        window->cut = true;
    }
    end_jobs(window);
}

static void jobs_found(struct store_op *op)
{
    http_resume(container_of(op, struct window, jobs.op)->call.request);
}

static void ask_jobs(struct window *window)
{
    struct store_upcoming *jobs = &window->jobs;
    store_op_init(&jobs->op, STORE_UPCOMING, jobs_found);
    http_wait(window->call.request, take_jobs, window);
    store_submit(window->call.api->store, &jobs->op);
}

// Behind a computed instant only jobs of a later time follow.
static void begin_jobs(struct window *window)
{
    const struct upcoming_place *after = &window->list.after;
    window->job_rows = 0;
    window->jobs = (struct store_upcoming){.tenant = window->call.tenant,
                                           .after = {after->at_ms, after->computed ? INT64_MAX : after->id},
                                           .until_ms = window->list.through.at_ms,
                                           .look = window->list.max};
    ask_jobs(window);
}

static void begin(struct http_request *request, void *state)
{
    struct window *window = state;
    if (window->wait.failed)
        reply_failure(window, window->wait.failed, "");
    else
        begin_jobs(window);
}

// ---- what is asked

static bool read_until(struct window *window, struct str text)
{
    int64_t until = window->now_ms + DAY_MS, duration;
    if (text.p && duration_parse(text, &duration))
        until = window->now_ms + duration;
    else if (text.p && !when_parse(text, &until))
        until = 0;
    if (until > window->now_ms && until <= window->now_ms + UNTIL_MAX_DAYS * DAY_MS) {
        window->until_ms = until;
        return true;
    }
    problem_say(window->call.request, ERR_INVALID_FIELD, "until",
                "until is a time to come, like 2030-01-31T09:00:00Z, or a duration like 12h; at most %lldd from now.",
                (long long)UNTIL_MAX_DAYS);
    return false;
}

static bool read_window(struct window *window)
{
    struct http_request *request = window->call.request;
    struct str until = http_query(request, "until"), cursor = http_query(request, "cursor");
    window->digest = (uint32_t)fnv_add(fnv_add(FNV_START, STR("upcoming")), until);
    window->list.after = (struct upcoming_place){window->now_ms, true, INT64_MAX, INT64_MAX};
    if (!cursor.p)
        return read_until(window, until);
    if (parse_cursor(window, cursor))
        return true;
    problem_say(request, ERR_INVALID_FIELD, "cursor",
                "This is no cursor of this list: pass on `next` of the page before, with the same until.");
    return false;
}

void upcoming_show(const struct api_call *call)
{
    struct arena *arena = http_arena(call->request);
    struct window *window = arena_alloc(arena, sizeof *window);
    int64_t limit = LIMIT_DEFAULT;
    *window = (struct window){.call = *call, .now_ms = clock_now().wall_ms, .steps_left = STEPS_MAX};
    if (!params_number(call, "limit", 1, LIMIT_MAX, &limit) || !read_window(window))
        return;
    window->limit = (size_t)limit;
    window->list.max = window->limit + 1;
    window->list.items = arena_array(arena, struct upcoming_item, window->list.max);
    window->list.through = (struct upcoming_place){window->until_ms, true, INT64_MAX, INT64_MAX};
    gate_enter(&call->api->lists, LISTS_MAX, &window->wait, call->request, begin, window);
}

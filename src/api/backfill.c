// Backfills: what is asked for is checked against the schedule of the task, and becomes a bulk, or an answer that says what the
// bulk would do. flow/commands/backfills carries it out.
//
// Both the instants and the jobs of a task may be many, so only a few requests look at them at once (api->lists).
#include "api/bulk.h"
#include "api/params.h"
#include "api/read.h"
#include "api/render.h"
#include "api/reply.h"
#include "base/text/when.h"
#include "core/bulk_plan.h"
#include "flow/commands/backfill_walk.h"
#include "flow/commands/backfills.h"
#include "flow/commands/bulk_suspects.h"

enum { AT_ONCE_MAX = 4, RUNS_SHOWN = 100 };

struct backfilling {
    struct api_call call;
    struct gate_wait wait;
    int64_t task_id;
    struct str body; // as it was given
    struct backfill_walk walk;
    struct store_get get;
    struct store_bulks running;
};

static void leave(struct backfilling *backfilling, enum err failed)
{
    store_op_done(&backfilling->get.op);
    gate_leave(&backfilling->call.api->lists, failed);
}

static void fail(struct backfilling *backfilling, enum err err, const char *why)
{
    problem_store(backfilling->call.request, err, why);
    leave(backfilling, err);
}

// ---- a dry run

static void put_time(struct buf *body, const struct backfill_walk *walk, size_t i)
{
    char text[WHEN_TEXT_SIZE];
    if (i >= walk->count) {
        buf_puts(body, "null");
        return;
    }
    when_format(text, walk->instants[i].at_ms);
    buf_printf(body, "\"%s\"", text);
}

static void reply_dry(struct backfilling *backfilling)
{
    const struct backfill_walk *walk = &backfilling->walk;
    struct buf body = {0};
    buf_printf(&body, "{\"instants\":%zu,\"first\":", walk->count);
    put_time(&body, walk, 0);
    buf_puts(&body, ",\"last\":");
    put_time(&body, walk, walk->count - 1);
    buf_puts(&body, ",\"runs\":[");
    for (size_t i = 0; i < walk->count && i < RUNS_SHOWN; i++) {
        if (i)
            buf_putc(&body, ',');
        put_time(&body, walk, i);
    }
    buf_puts(&body, "]}");
    reply_json(backfilling->call.request, 200, &body);
}

static void listed(struct store_op *op)
{
    http_resume(container_of(op, struct backfilling, walk.page.op)->call.request);
}

static void read_page(struct backfilling *backfilling);

static void answer_page(struct http_request *request, void *state)
{
    struct backfilling *backfilling = state;
    const struct store_task *task = &backfilling->get.task;
    struct store_op *op = &backfilling->walk.page.op;
    if (op->err) {
        fail(backfilling, op->err, op->why);
        store_op_done(op);
        return;
    }
    bool more = backfill_walk_take(&backfilling->walk, task->plan, task->created_at);
    store_op_done(op);
    if (more) {
        read_page(backfilling);
        return;
    }
    reply_dry(backfilling);
    leave(backfilling, ERR_OK);
}

static void read_page(struct backfilling *backfilling)
{
    store_op_init(&backfilling->walk.page.op, STORE_LIST, listed);
    http_wait(backfilling->call.request, answer_page, backfilling);
    store_submit(backfilling->call.api->store, &backfilling->walk.page.op);
}

// ---- a bulk

static struct str write_doc(const struct backfilling *backfilling)
{
    buf_auto struct buf doc = {0};
    buf_puts(&doc, "{\"action\":\"backfill\",\"task_id\":");
    render_id(&doc, ID_TASK, backfilling->task_id);
    buf_puts(&doc, ",\"backfill\":");
    buf_put(&doc, backfilling->body);
    buf_putc(&doc, '}');
    return arena_copy(http_arena(backfilling->call.request), buf_str(&doc));
}

static bool is_room(const struct store_bulks *running)
{
    size_t count = 0;
    for (size_t i = 0; i < running->row_count; i++)
        count += bulk_plan_is_backfill(running->rows[i].doc);
    return count < BACKFILLS_MAX && running->row_count < BULK_ROWS_MAX;
}

static void answer_running(struct http_request *request, void *state)
{
    struct backfilling *backfilling = state;
    struct store_bulks *running = &backfilling->running;
    enum err err = running->op.err;
    bool room = !err && is_room(running);
    if (err)
        problem_store(request, err, running->op.why);
    else if (!room)
        problem_say(request, ERR_BUSY, NULL, "%d backfills run already: wait until one has ended, or stop one.", BACKFILLS_MAX);
    store_op_done(&running->op);
    leave(backfilling, err);
    if (room) {
        struct store_bulk_row row = bulk_new_row(&backfilling->call, write_doc(backfilling));
        bulk_begin(&backfilling->call, &row);
    }
}

static void counted(struct store_op *op)
{
    http_resume(container_of(op, struct backfilling, running.op)->call.request);
}

static void count_running(struct backfilling *backfilling)
{
    backfilling->running = (struct store_bulks){.max = BULK_ROWS_MAX};
    store_op_init(&backfilling->running.op, STORE_BULKS, counted);
    http_wait(backfilling->call.request, answer_running, backfilling);
    store_submit(backfilling->call.api->store, &backfilling->running.op);
}

// ---- the task

static void answer_task(struct http_request *request, void *state)
{
    struct backfilling *backfilling = state;
    const struct store_op *op = &backfilling->get.op;
    struct problem why = {0};
    if (op->err == ERR_NOT_FOUND) {
        problem_say(request, ERR_NOT_FOUND, NULL, "There is no such task.");
        leave(backfilling, ERR_OK);
    } else if (op->err) {
        fail(backfilling, op->err, op->why);
    } else if (backfill_walk_begin(&backfilling->walk, &backfilling->get.task, backfilling->call.api->zones, http_arena(request),
                                   &why)) {
        problem_reply(request, &why);
        leave(backfilling, ERR_OK);
    } else if (backfilling->walk.backfill.dry_run) {
        read_page(backfilling);
    } else {
        count_running(backfilling);
    }
}

static void found(struct store_op *op)
{
    http_resume(container_of(op, struct backfilling, get.op)->call.request);
}

static void read_task(struct http_request *request, void *state)
{
    struct backfilling *backfilling = state;
    store_op_init(&backfilling->get.op, STORE_GET, found);
    if (backfilling->wait.failed) {
        fail(backfilling, backfilling->wait.failed, "");
        return;
    }
    http_wait(request, answer_task, backfilling);
    store_submit(backfilling->call.api->store, &backfilling->get.op);
}

// What can be said without having read the task.
static bool read_body(struct backfilling *backfilling)
{
    const struct api_call *call = &backfilling->call;
    struct backfill *backfill = &backfilling->walk.backfill;
    struct problem why = {0};
    struct json doc;
    if (!params_no_key(call, "each backfill is a new one. Before you repeat one, look at the one whose id was answered.") ||
        !params_json(call, &doc))
        return false;
    backfilling->body = doc.raw;
    if (!backfill_parse(backfill, doc, http_arena(call->request), &why) && backfill->to_ms > clock_now().wall_ms)
        problem_set(&why, ERR_INVALID_FIELD, "/to", "to lies in the future: the schedule itself runs the instants to come.");
    if (why.err)
        problem_reply(call->request, &why);
    return !why.err;
}

void tasks_backfill(const struct api_call *call)
{
    struct backfilling *backfilling = arena_alloc(http_arena(call->request), sizeof *backfilling);
    *backfilling = (struct backfilling){.call = *call, .walk = {.begun_ms = TIME_NEVER}};
    if (!read_path_id(call, ID_TASK, &backfilling->task_id) || !read_body(backfilling))
        return;
    if (!atomic_load(&call->api->node->incarnation)) { // until it has joined, its ids may be another's
        problem_store(call->request, ERR_STORE_UNAVAILABLE, "this node has not joined the others yet");
        return;
    }
    backfilling->get = (struct store_get){.tenant = call->tenant, .task_id = backfilling->task_id, .max_jobs = 1};
    gate_enter(&call->api->lists, AT_ONCE_MAX, &backfilling->wait, call->request, read_task, backfilling);
}

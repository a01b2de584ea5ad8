// Bulks: asked for, looked at, stopped. flow/commands/bulk and flow/commands/backfills carry them out.
#include "api/bulk.h"

#include "api/params.h"
#include "api/render.h"
#include "api/reply.h"
#include "base/clock.h"
#include "base/text/when.h"
#include "core/bulk_plan.h"
#include "flow/commands/backfills.h"
#include "flow/commands/bulk.h"
#include "store/jobs.h"
#include "store/journal.h"

struct bulking {
    struct store_bulks read;
    struct store_bulk write;
    struct store_list newest;
    struct store_bulk_row start;
    struct api_call call;
    int64_t id;
    int status; // of the answer when all went well
    bool stop;
};

static void put_time(struct buf *body, const char *name, int64_t ms)
{
    char text[WHEN_TEXT_SIZE];
    when_format(text, ms);
    buf_printf(body, ms ? ",\"%s\":\"%s\"" : ",\"%s\":null", name, text);
}

static void put_member(struct buf *body, struct json doc, const char *name)
{
    struct json member = json_member(doc, str_of(name));
    if (member.type == JSON_ABSENT)
        return;
    buf_printf(body, ",\"%s\":", name);
    buf_put(body, member.raw);
}

static void put_row(struct buf *body, const struct store_bulk_row *row)
{
    static const char *const states[] = {"running", "done", "stopped"};
    struct json doc = {JSON_OBJECT, row->doc};
    buf_puts(body, "{\"id\":");
    render_id(body, ID_BULK, row->id);
    buf_puts(body, ",\"action\":");
    buf_put(body, json_member(doc, STR("action")).raw);
    put_member(body, doc, "filter");
    put_member(body, doc, "task_id");
    put_member(body, doc, "backfill");
    buf_printf(body, ",\"state\":\"%s\",\"matched\":%lld,\"changed\":%lld,\"unchanged\":%lld,\"failed\":%lld", states[row->state],
               (long long)row->matched, (long long)row->changed, (long long)row->unchanged, (long long)row->failed);
    put_time(body, "created_at", row->created_at);
    put_time(body, "ended_at", row->ended_at);
    buf_putc(body, '}');
}

static void reply_row(struct bulking *bulking, const struct store_bulk_row *row)
{
    struct buf body = {0};
    put_row(&body, row);
    reply_json(bulking->call.request, bulking->status, &body);
}

static void written(struct store_op *op)
{
    http_resume(container_of(op, struct bulking, write.op)->call.request);
}

static void read_row(struct bulking *bulking);

static void answer_write(struct http_request *request, void *state)
{
    struct bulking *bulking = state;
    enum err err = bulking->write.op.err;
    store_op_done(&bulking->write.op);
    if (err == ERR_MOVED_ON && bulking->stop) {
        read_row(bulking); // it went on meanwhile
        return;
    }
    if (err) {
        problem_store(request, err, bulking->write.op.why);
        return;
    }
    if (!bulking->stop && bulk_plan_is_backfill(bulking->write.row.doc))
        backfills_poke(bulking->call.api->backfills);
    else if (!bulking->stop)
        bulk_poke(bulking->call.api->bulk);
    reply_row(bulking, &bulking->write.row);
}

static void write_row(struct bulking *bulking, const struct store_bulk_row *row)
{
    bulking->write = (struct store_bulk){.row = *row};
    store_op_init(&bulking->write.op, STORE_BULK, written);
    http_wait(bulking->call.request, answer_write, bulking);
    store_submit(bulking->call.api->store, &bulking->write.op);
}

static void found(struct store_op *op)
{
    http_resume(container_of(op, struct bulking, read.op)->call.request);
}

static void answer_read(struct http_request *request, void *state)
{
    struct bulking *bulking = state;
    struct store_bulks *read = &bulking->read;
    if (read->op.err == ERR_NOT_FOUND) {
        problem_say(request, ERR_NOT_FOUND, NULL, "There is no such bulk.");
    } else if (read->op.err) {
        problem_store(request, read->op.err, read->op.why);
    } else if (bulking->stop && read->rows[0].state == STORE_BULK_RUNNING) {
        struct store_bulk_row row = read->rows[0];
        row.doc = arena_copy(http_arena(request), row.doc);
        row.state = STORE_BULK_STOPPED;
        row.ended_at = clock_now().wall_ms;
        store_op_done(&read->op);
        write_row(bulking, &row);
        return;
    } else {
        reply_row(bulking, &read->rows[0]);
    }
    store_op_done(&read->op);
}

static void read_row(struct bulking *bulking)
{
    bulking->read = (struct store_bulks){.tenant = bulking->call.tenant, .id = bulking->id};
    store_op_init(&bulking->read.op, STORE_BULKS, found);
    http_wait(bulking->call.request, answer_read, bulking);
    store_submit(bulking->call.api->store, &bulking->read.op);
}

static void look(const struct api_call *call, bool stop)
{
    struct bulking *bulking = arena_alloc(http_arena(call->request), sizeof *bulking);
    *bulking = (struct bulking){.call = *call, .status = 200, .stop = stop};
    if (!id_parse(call->param, ID_BULK, &bulking->id))
        problem_say(call->request, ERR_NOT_FOUND, NULL, "There is no such bulk.");
    else if (!stop || params_no_body(call))
        read_row(bulking);
}

void bulks_show(const struct api_call *call)
{
    look(call, false);
}

void bulks_stop(const struct api_call *call)
{
    look(call, true);
}

static void found_newest(struct store_op *op)
{
    http_resume(container_of(op, struct bulking, newest.op)->call.request);
}

static void answer_newest(struct http_request *request, void *state)
{
    struct bulking *bulking = state;
    struct store_list *newest = &bulking->newest;
    if (newest->op.err) {
        problem_store(request, newest->op.err, newest->op.why);
    } else {
        if (newest->task_count && newest->tasks[0].id >= bulking->start.next.id)
            bulking->start.next.id = newest->tasks[0].id + 1;
        write_row(bulking, &bulking->start);
    }
    store_op_done(&newest->op);
}

// It begins with what is there now: what is submitted later is not its business. Ids of a node whose clock was ahead are larger
// than the bulk's own, so it is asked which is the newest.
static void find_newest(struct bulking *bulking)
{
    bulking->newest =
        (struct store_list){.tenant = bulking->call.tenant, .before = {INT64_MAX, INT64_MAX}, .max = 1, .look = 1, .max_jobs = 1};
    store_op_init(&bulking->newest.op, STORE_LIST, found_newest);
    http_wait(bulking->call.request, answer_newest, bulking);
    store_submit(bulking->call.api->store, &bulking->newest.op);
}

// Which bulk it is stands in the answer, also as its Location.
static struct bulking *begin(const struct api_call *call, const struct store_bulk_row *row)
{
    struct bulking *bulking = arena_alloc(http_arena(call->request), sizeof *bulking);
    char text[ID_TEXT_SIZE];
    *bulking = (struct bulking){.call = *call, .status = 202, .start = *row};
    id_format(text, ID_BULK, row->id);
    http_header_set(call->request, "Location", arena_printf(http_arena(call->request), "/v1/bulk/%s", text).p);
    return bulking;
}

struct store_bulk_row bulk_new_row(const struct api_call *call, struct str doc)
{
    int64_t now_ms = clock_now().wall_ms;
    return (struct store_bulk_row){
        .id = node_make_id(call->api->node, now_ms), .tenant = call->tenant, .created_at = now_ms, .doc = doc};
}

void bulk_begin(const struct api_call *call, const struct store_bulk_row *row)
{
    struct bulking *bulking = begin(call, row);
    write_row(bulking, &bulking->start);
}

static void start(const struct api_call *call, const struct bulk_plan *plan, struct str doc)
{
    struct store_bulk_row row = bulk_new_row(call, doc);
    struct cursor newest = filter_newest(&plan->filter, row.created_at);
    bool tasks = plan->filter.of == FILTER_TASKS;
    row.next = (struct store_cursor){newest.at, tasks ? row.id : newest.id};
    if (tasks)
        find_newest(begin(call, &row));
    else
        bulk_begin(call, &row);
}

void bulks_start(const struct api_call *call)
{
    struct json doc;
    struct problem why = {0};
    struct bulk_plan plan;
    if (!params_no_key(call, "each bulk is a new one. Before you repeat one, look at the one whose id was answered.") ||
        !params_json(call, &doc))
        return;
    if (bulk_plan_parse(&plan, doc, http_arena(call->request), &why))
        problem_reply(call->request, &why);
    else if (!atomic_load(&call->api->node->incarnation)) // until it has joined, its ids may be another's
        problem_store(call->request, ERR_STORE_UNAVAILABLE, "this node has not joined the others yet");
    else
        start(call, &plan, doc.raw);
}

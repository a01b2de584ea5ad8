// Queues as a tenant sees them: all lanes of one name together.
#include "api/params.h"
#include "api/render.h"
#include "api/reply.h"
#include "store/jobs.h"

enum { LIMIT_DEFAULT = 100, LIMIT_MAX = 1000 };

struct listing {
    struct store_lanes lanes;
    struct api_call call;
};

static void listed(struct store_op *op)
{
    http_resume(container_of(op, struct listing, lanes.op)->call.request);
}

// The cursor is the id of the last queue shown; a full page may be followed by an empty one.
static void put_list(struct buf *body, const struct store_lanes *lanes)
{
    buf_puts(body, "{\"items\":[");
    for (size_t i = 0; i < lanes->lane_count; i++) {
        if (i)
            buf_putc(body, ',');
        render_queue(body, &lanes->lanes[i]);
    }
    if (lanes->lane_count < lanes->max)
        buf_puts(body, "],\"next\":null}");
    else
        buf_printf(body, "],\"next\":\"%lld\"}", (long long)lanes->lanes[lanes->lane_count - 1].id);
}

static void answer_list(struct http_request *request, void *state)
{
    struct listing *listing = state;
    struct store_op *op = &listing->lanes.op;
    if (op->err) {
        problem_store(request, op->err, op->why);
    } else {
        struct buf body = {0};
        put_list(&body, &listing->lanes);
        reply_json(request, 200, &body);
    }
    store_op_done(op);
}

void queues_list(const struct api_call *call)
{
    int64_t limit = LIMIT_DEFAULT, after = 0;
    if (!params_number(call, "limit", 1, LIMIT_MAX, &limit) || !params_number(call, "cursor", 1, INT64_MAX, &after))
        return;
    struct listing *listing = arena_alloc(http_arena(call->request), sizeof *listing);
    listing->call = *call;
    store_op_init(&listing->lanes.op, STORE_LANES, listed);
    listing->lanes.tenant = call->tenant;
    listing->lanes.after_id = after;
    listing->lanes.max = (size_t)limit;
    listing->lanes.counts = true;
    http_wait(call->request, answer_list, listing);
    store_submit(call->api->store, &listing->lanes.op);
}

static void tell(const struct api_call *call, enum event_type type, struct str queue)
{
    if (call->api->node)
        events_emit(call->api->node->events,
                    &(struct event_item){.type = type, .tenant = call->tenant, .at_ms = clock_now().wall_ms, .queue = queue});
}

// The name in the path, which outlives the request's first bytes. False: the request was refused.
static bool read_name(const struct api_call *call, struct str *ret_queue)
{
    if (!task_name_fits(call->param)) {
        problem_say(call->request, ERR_INVALID_FIELD, "queue", "The name of a queue is " TASK_NAME_WORDS ".");
        return false;
    }
    *ret_queue = arena_copy(http_arena(call->request), call->param);
    return params_no_body(call);
}

struct pausing {
    struct store_pause pause;
    struct api_call call;
};

static void paused(struct store_op *op)
{
    http_resume(container_of(op, struct pausing, pause.op)->call.request);
}

// This node's lane is told before the answer goes out: what is submitted afterwards is not pushed into a held queue. The event
// stands on the right side of the starts that a pause ends and that a resume lets begin.
static void apply_pause(const struct api_call *call, const struct store_pause *pause)
{
    const struct api *api = call->api;
    if (!pause->paused)
        tell(call, EVENT_QUEUE_RESUMED, pause->queue);
    lanes_pause(api->lanes, pause->lane, pause->tenant, pause->queue, pause->paused);
    if (pause->paused)
        tell(call, EVENT_QUEUE_PAUSED, pause->queue);
    if (api->node && api->node->flow_waker)
        api->node->flow_waker->wake(api->node->flow_waker);
}

static void answer_pause(struct http_request *request, void *state)
{
    struct pausing *pausing = state;
    struct store_pause *pause = &pausing->pause;
    if (pause->op.err) {
        problem_store(request, pause->op.err, pause->op.why);
    } else {
        apply_pause(&pausing->call, pause);
        struct buf body = {0};
        buf_puts(&body, "{\"queue\":");
        json_put_string(&body, pause->queue);
        buf_puts(&body, pause->paused ? ",\"paused\":true}" : ",\"paused\":false}");
        reply_json(request, 200, &body);
    }
    store_op_done(&pause->op);
}

static void set_paused(const struct api_call *call, bool hold)
{
    struct str queue;
    if (!read_name(call, &queue))
        return;
    struct pausing *pausing = arena_alloc(http_arena(call->request), sizeof *pausing);
    pausing->call = *call;
    store_op_init(&pausing->pause.op, STORE_PAUSE, paused);
    pausing->pause.tenant = call->tenant;
    pausing->pause.queue = queue;
    pausing->pause.paused = hold;
    http_wait(call->request, answer_pause, pausing);
    store_submit(call->api->store, &pausing->pause.op);
}

void queues_pause(const struct api_call *call)
{
    set_paused(call, true);
}

void queues_resume(const struct api_call *call)
{
    set_paused(call, false);
}

struct dropping {
    struct store_drop drop;
    struct api_call call;
};

static void dropped(struct store_op *op)
{
    http_resume(container_of(op, struct dropping, drop.op)->call.request);
}

static void refuse_drop(struct http_request *request, const struct store_drop *drop)
{
    long long open = (long long)drop->open;
    if (drop->op.err == ERR_QUEUE_NOT_EMPTY)
        problem_say(request, ERR_QUEUE_NOT_EMPTY, NULL,
                    "Queue " STR_FMT " has %lld job%s that %s not ended. Cancel or delete %s first, with POST /v1/bulk by the"
                    " filter {\"queue\": \"" STR_FMT "\"}.",
                    STR_ARG(drop->queue), open, open == 1 ? "" : "s", open == 1 ? "has" : "have", open == 1 ? "it" : "them",
                    STR_ARG(drop->queue));
    else if (drop->op.err == ERR_QUEUE_PAUSED)
        problem_say(request, ERR_QUEUE_PAUSED, NULL,
                    "Queue " STR_FMT " is paused. Resume it first, with POST /v1/queues/" STR_FMT
                    "/resume: what is submitted to a queue that was deleted runs.",
                    STR_ARG(drop->queue), STR_ARG(drop->queue));
    else if (drop->op.err == ERR_NOT_FOUND)
        problem_say(request, ERR_NOT_FOUND, NULL, "There is no queue " STR_FMT ".", STR_ARG(drop->queue));
    else
        problem_store(request, drop->op.err, drop->op.why);
}

// What nodes know of the queue's lane stays as it is: it has the same id when it comes back, and is not paused.
static void answer_drop(struct http_request *request, void *state)
{
    struct dropping *dropping = state;
    struct store_drop *drop = &dropping->drop;
    if (drop->op.err) {
        refuse_drop(request, drop);
    } else {
        tell(&dropping->call, EVENT_QUEUE_DELETED, drop->queue);
        http_reply(request, 204, NULL, NULL);
    }
    store_op_done(&drop->op);
}

void queues_delete(const struct api_call *call)
{
    struct str queue;
    if (!read_name(call, &queue))
        return;
    struct dropping *dropping = arena_alloc(http_arena(call->request), sizeof *dropping);
    dropping->call = *call;
    store_op_init(&dropping->drop.op, STORE_DROP, dropped);
    dropping->drop.tenant = call->tenant;
    dropping->drop.queue = queue;
    http_wait(call->request, answer_drop, dropping);
    store_submit(call->api->store, &dropping->drop.op);
}

// Attempts that are HTTP calls: a task becomes a request, the answer becomes a result. What a call needs is written into the
// order's own arena, so it lives exactly as long as the order.
//
// Does not decide about retries, and does not know sockets: that is http/client.
#include "exec/exec.h"

#include "base/mem.h"
#include "base/text/when.h"
#include "core/id.h"
#include "core/url.h"
#include "http/client/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct exec_http {
    struct exec exec;
    struct exec_http_config config;
    _Atomic size_t response_max;
    struct http_client *client;
    struct list refused; // calls that could not begin; ended by the next poll
    struct buf headers;  // of the call that is started: the client has copied them when that returns
};

struct call {
    struct exec_http *http;
    struct exec_attempt *attempt;
    struct http_call *call; // NULL: refused
    struct list link;
    struct resolve_waiter waiter; // until it is known where the host is
    struct url url;
    struct str wrong; // why it cannot be called; .p == NULL: it can
};

static_assert(sizeof(struct call) <= ORDER_ROOM_EXEC, "an order has room for its call");

static struct str write_headers(struct exec_http *http, const struct exec_attempt *attempt);
static void on_done(void *ctx, const struct http_answer *answer);

static void on_known(struct resolve_waiter *waiter, const struct resolve_answer *answer)
{
    struct call *call = container_of(waiter, struct call, waiter);
    struct exec *exec = &call->http->exec;
    call->attempt->own = NULL;
    exec->prepared(exec->ctx, call->attempt);
}

// What an attempt is to call, made by prepare() for start() right behind it.
static struct call *new_call(struct exec_http *http, struct exec_attempt *attempt)
{
    struct arena *arena = &attempt->order->arena;
    struct call *call = arena_alloc(arena, sizeof *call);
    char why[ERR_WHY_MAX];
    *call = (struct call){.http = http, .attempt = attempt, .waiter = {.done = on_known}};
    attempt->own = call;
    if (url_parse(attempt->order->task.target.http.url, &call->url, why))
        call->wrong = arena_copy(arena, str_of(why));
    return call;
}

static bool http_prepare(struct exec *exec, struct exec_attempt *attempt)
{
    struct exec_http *http = container_of(exec, struct exec_http, exec);
    struct call *call = new_call(http, attempt);
    return call->wrong.p || http_client_knows(http->client, &call->url, attempt->order->job.lane, &call->waiter);
}

static void http_forget(struct exec *exec, struct exec_attempt *attempt)
{
    struct call *call = attempt->own;
    resolve_forget(&call->waiter);
    attempt->own = NULL;
}

static void http_start(struct exec *exec, struct exec_attempt *attempt, struct now now)
{
    struct exec_http *http = container_of(exec, struct exec_http, exec);
    struct order *order = attempt->order;
    struct call *call = attempt->own ? attempt->own : new_call(http, attempt);
    if (call->wrong.p) {
        attempt->outcome->result = (struct job_result){.outcome = OUTCOME_REFUSED, .reason = call->wrong};
        list_append(&http->refused, &call->link);
        return;
    }
    const struct target_http *target = &order->task.target.http;
    struct str body = {0};
    if (target->body.type == JSON_STRING)
        body = json_text(target->body, &order->arena);
    else if (target->body.type != JSON_ABSENT)
        body = target->body.raw;
    call->call = http_client_start(http->client, &(struct http_call_order){
                                                     .url = &call->url,
                                                     .lane = order->job.lane,
                                                     .method = target->method.p,
                                                     .headers = write_headers(http, attempt),
                                                     .body = body,
                                                     .timeout_ms = order->task.policy.timeout_ms,
                                                     .response_max = http->response_max,
                                                     .private_allowed = http->config.private_allowed,
                                                     .done = on_done,
                                                     .ctx = call,
                                                 });
}

static void http_cancel(struct exec *exec, struct exec_attempt *attempt)
{
    struct call *call = attempt->own;
    if (call->call)
        http_client_cancel(call->call);
}

static void end(struct call *call)
{
    struct exec *exec = &call->http->exec;
    struct exec_attempt *attempt = call->attempt;
    attempt->outcome->result.completed_at = clock_now().wall_ms;
    attempt->own = NULL;
    exec->ended(exec->ctx, attempt);
}

static void http_poll(struct exec *exec, int64_t wait_ns)
{
    struct exec_http *http = container_of(exec, struct exec_http, exec);
    struct list refused, *node;
    list_init(&refused);
    list_splice(&refused, &http->refused);
    http_client_poll(http->client, list_empty(&refused) ? wait_ns : 0);
    while ((node = list_take(&refused)))
        end(list_entry(node, struct call, link));
}

static void http_close(struct exec *exec)
{
    struct exec_http *http = container_of(exec, struct exec_http, exec);
    http_client_free(http->client);
    buf_done(&http->headers);
    mem_free(http);
}

static const struct exec_ops http_ops = {.prepare = http_prepare,
                                         .forget = http_forget,
                                         .start = http_start,
                                         .cancel = http_cancel,
                                         .poll = http_poll,
                                         .close = http_close};

enum err exec_http_new(struct exec **ret_exec, const struct exec_http_config *config, char why[ERR_WHY_MAX])
{
    struct exec_http *http = mem_zero(sizeof *http);
    http->exec.ops = &http_ops;
    http->config = *config;
    http->response_max = config->response_max;
    list_init(&http->refused);
    struct http_client_config client = {.connections_max = config->connections_max};
    enum err err = http_client_new(&http->client, &client, why);
    if (err)
        mem_free(http);
    else
        *ret_exec = &http->exec;
    return err;
}

void exec_http_keep_response(struct exec *exec, size_t response_max)
{
    container_of(exec, struct exec_http, exec)->response_max = response_max;
}

struct waker *exec_http_waker(struct exec *exec)
{
    return http_client_waker(container_of(exec, struct exec_http, exec)->client);
}

// --- the request

static char *put(char *at, const char *text)
{
    return stpcpy(at, text);
}

static char *put_str(char *at, struct str text)
{
    if (text.n)
        memcpy(at, text.p, text.n);
    at[text.n] = 0;
    return at + text.n;
}

static char *put_own_headers(char *at, const struct exec_attempt *attempt)
{
    const struct job *record = &attempt->outcome->job;
    const struct order *order = attempt->order;
    char job[ID_TEXT_SIZE], task[ID_TEXT_SIZE], planned[WHEN_TEXT_SIZE], number[16];
    id_format(job, ID_JOB, record->id);
    id_format(task, ID_TASK, record->task_id);
    when_format(planned, record->scheduled_at);
    snprintf(number, sizeof number, "%d", record->attempts);
    at = put(put(at, "Rota-Job-Id: "), job);
    at = put(put(at, "\r\nRota-Task-Id: "), task);
    at = put(put(at, "\r\nRota-Attempt: "), number);
    at = put(put(at, "\r\nRota-Scheduled-At: "), planned);
    at = put(put(at, "\r\nIdempotency-Key: "), job);
    if (record->trigger)
        at = put(put(at, "\r\nRota-Trigger: "), job_trigger_text(record->trigger));
    if (record->nominal_at) {
        when_format(planned, record->nominal_at);
        at = put(put(at, "\r\nRota-Nominal-At: "), planned);
    }
    if (order->ticket[0])
        at = put(put(at, "\r\nRota-Token: "), order->ticket);
    if (order->task.traceparent.n)
        at = put_str(put(at, "\r\ntraceparent: "), order->task.traceparent);
    return put(at, "\r\n");
}

static char *put_header(char *at, struct str name, struct str value)
{
    at = put(put_str(at, name), value.n ? ": " : ":");
    return put(put_str(at, value), "\r\n");
}

// What is sent unless the task says otherwise.
enum { DEFAULT_AGENT, DEFAULT_ACCEPT, DEFAULT_TYPE, DEFAULT_COUNT };
static const struct str defaults[DEFAULT_COUNT] = {{"User-Agent", 10}, {"Accept", 6}, {"Content-Type", 12}};

static struct str write_headers(struct exec_http *http, const struct exec_attempt *attempt)
{
    enum { OWN_MAX = 512 }; // what is written besides the texts counted below
    const struct target_http *target = &attempt->order->task.target.http;
    struct arena *arena = &attempt->order->arena;
    struct json name, value;
    bool typed = target->body.type != JSON_ABSENT && target->body.type != JSON_STRING, given[DEFAULT_COUNT] = {0};
    size_t agent_n = strlen(http->config.user_agent);
    // A text is not longer than it is in JSON, which has quotes, a colon and a comma besides.
    http->headers.n = 0;
    buf_reserve(&http->headers, OWN_MAX + agent_n + attempt->order->task.traceparent.n + target->headers.raw.n);
    char *at = put_own_headers(http->headers.p, attempt);
    if (target->headers.type == JSON_OBJECT)
        for (struct json_iter iter = json_iter(target->headers); json_next(&iter, &name, &value);) {
            struct str what = json_text(name, arena);
            for (int i = 0; i < DEFAULT_COUNT; i++)
                given[i] |= str_eq_nocase(what, defaults[i]);
            at = put_header(at, what, json_text(value, arena));
        }
    if (!given[DEFAULT_AGENT])
        at = put_header(at, defaults[DEFAULT_AGENT], (struct str){http->config.user_agent, agent_n});
    if (!given[DEFAULT_ACCEPT])
        at = put_header(at, defaults[DEFAULT_ACCEPT], STR("*/*"));
    if (!given[DEFAULT_TYPE] && typed)
        at = put_header(at, defaults[DEFAULT_TYPE], STR("application/json"));
    return (struct str){http->headers.p, (size_t)(at - http->headers.p)};
}

// --- the answer

static int64_t date_ms(const char *text)
{
    static const char *const forms[] = {"%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"};
    for (size_t i = 0; i < array_count(forms); i++) {
        struct tm at = {0};
        const char *end = strptime(text, forms[i], &at);
        if (end && !*end)
            return timegm(&at) * INT64_C(1000);
    }
    return 0;
}

// "120" or an HTTP date; anything else asks for nothing.
static int64_t retry_after_ms(struct str value, int64_t now_ms)
{
    char text[64];
    if (!value.n || value.n >= sizeof text)
        return 0;
    memcpy(text, value.p, value.n);
    text[value.n] = 0;
    int64_t wait;
    if (strspn(text, "0123456789") == value.n)
        wait = value.n > 9 ? RETRY_AFTER_MAX_MS : strtoll(text, NULL, 10) * 1000;
    else
        wait = date_ms(text) - now_ms;
    return time_max(0, time_min(wait, RETRY_AFTER_MAX_MS));
}

static void on_done(void *ctx, const struct http_answer *answer)
{
    struct call *call = ctx;
    struct order *order = call->attempt->order;
    struct job_result *result = &call->attempt->outcome->result;
    result->outcome = answer->outcome;
    result->status = answer->status;
    result->truncated = answer->truncated;
    if (answer->body.n)
        result->response = arena_copy(&order->arena, answer->body);
    if (answer->reason)
        result->reason = arena_copy(&order->arena, str_of(answer->reason));
    if (answer->outcome == OUTCOME_SUCCESS && answer->status == 202 && answer->async)
        result->later = true;
    else if (answer->outcome == OUTCOME_SUCCESS && !target_http_success(&order->task.target.http, answer->status)) {
        result->outcome = OUTCOME_FAILED;
        result->reason = arena_printf(&order->arena, "HTTP %d", answer->status);
    }
    if (result->outcome != OUTCOME_SUCCESS && answer->retry_after.n)
        result->retry_after_ms = retry_after_ms(answer->retry_after, clock_now().wall_ms);
    end(call);
}

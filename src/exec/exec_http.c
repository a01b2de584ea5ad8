// Attempts that are HTTP calls: a task becomes a request, the answer becomes a result. What a call needs is written into the
// run's own arena, so it lives exactly as long as the run.
//
// Does not decide about retries, and does not know sockets: that is http/client.
#include "exec/exec.h"

#include "base/mem.h"
#include "base/when.h"
#include "core/id.h"
#include "core/url.h"
#include "http/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct exec_http {
    struct exec exec;
    struct exec_http_config config;
    _Atomic size_t response_max;
    struct http_client *client;
    struct list refused; // calls that could not begin; ended by the next poll
};

struct call {
    struct exec_http *http;
    struct run *run;
    struct http_call *call; // NULL: refused
    struct list link;
    struct resolve_waiter waiter; // until it is known where the host is
    struct url url;
    bool wrong; // it cannot be called: run->result.reason
};

static struct str write_headers(const struct exec_http *http, const struct run *run, struct arena *arena);
static void on_done(void *ctx, const struct http_answer *answer);

static void on_known(struct resolve_waiter *waiter, const struct resolve_answer *answer)
{
    struct call *call = container_of(waiter, struct call, waiter);
    struct exec *exec = &call->http->exec;
    call->run->exec = NULL;
    exec->prepared(exec->ctx, call->run);
}

// What a run is to call, made by prepare() for start() right behind it.
static struct call *new_call(struct exec_http *http, struct run *run)
{
    struct call *call = arena_alloc(&run->arena, sizeof *call);
    char why[ERR_WHY_MAX];
    *call = (struct call){.http = http, .run = run, .waiter = {.done = on_known}};
    run->exec = call;
    run->result = (struct job_result){0};
    call->wrong = url_parse(run->task.target.http.url, &call->url, why);
    if (call->wrong) {
        run->result.outcome = OUTCOME_REFUSED;
        run->result.reason = arena_copy(&run->arena, str_of(why));
    }
    return call;
}

static bool http_prepare(struct exec *exec, struct run *run)
{
    struct exec_http *http = container_of(exec, struct exec_http, exec);
    struct call *call = new_call(http, run);
    return call->wrong || http_client_knows(http->client, &call->url, run->job.lane, &call->waiter);
}

static void http_forget(struct exec *exec, struct run *run)
{
    struct call *call = run->exec;
    resolve_forget(&call->waiter);
    run->exec = NULL;
}

static void http_start(struct exec *exec, struct run *run, struct now now)
{
    struct exec_http *http = container_of(exec, struct exec_http, exec);
    struct call *call = run->exec ? run->exec : new_call(http, run);
    if (call->wrong) {
        list_append(&http->refused, &call->link);
        return;
    }
    const struct target_http *target = &run->task.target.http;
    struct str body = {0};
    if (target->body.type == JSON_STRING)
        body = json_text(target->body, &run->arena);
    else if (target->body.type != JSON_ABSENT)
        body = target->body.raw;
    call->call = http_client_start(http->client, &(struct http_call_order){
                                                     .url = &call->url,
                                                     .lane = run->job.lane,
                                                     .method = target->method.p,
                                                     .headers = write_headers(http, run, &run->arena),
                                                     .body = body,
                                                     .timeout_ms = run->task.policy.timeout_ms,
                                                     .response_max = http->response_max,
                                                     .private_allowed = http->config.private_allowed,
                                                     .done = on_done,
                                                     .ctx = call,
                                                 });
}

static void http_cancel(struct exec *exec, struct run *run)
{
    struct call *call = run->exec;
    if (call->call)
        http_client_cancel(call->call);
}

static void end(struct call *call)
{
    struct exec *exec = &call->http->exec;
    struct run *run = call->run;
    run->result.completed_at = clock_now().wall_ms;
    run->exec = NULL;
    exec->ended(exec->ctx, run);
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

static char *put_own_headers(char *at, const struct run *run)
{
    char job[ID_TEXT_SIZE], task[ID_TEXT_SIZE], planned[WHEN_TEXT_SIZE], attempt[16];
    id_format(job, ID_JOB, run->job.id);
    id_format(task, ID_TASK, run->job.task_id);
    when_format(planned, run->job.scheduled_at);
    snprintf(attempt, sizeof attempt, "%d", run->job.attempts);
    at = put(put(at, "Rota-Job-Id: "), job);
    at = put(put(at, "\r\nRota-Task-Id: "), task);
    at = put(put(at, "\r\nRota-Attempt: "), attempt);
    at = put(put(at, "\r\nRota-Scheduled-At: "), planned);
    at = put(put(at, "\r\nIdempotency-Key: "), job);
    if (run->ticket[0])
        at = put(put(at, "\r\nRota-Token: "), run->ticket);
    if (run->task.traceparent.n)
        at = put_str(put(at, "\r\ntraceparent: "), run->task.traceparent);
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

static struct str write_headers(const struct exec_http *http, const struct run *run, struct arena *arena)
{
    enum { OWN_MAX = 512 }; // what is written besides the texts counted below
    const struct target_http *target = &run->task.target.http;
    struct json name, value;
    bool typed = target->body.type != JSON_ABSENT && target->body.type != JSON_STRING, given[DEFAULT_COUNT] = {0};
    size_t agent_n = strlen(http->config.user_agent);
    // A text is not longer than it is in JSON, which has quotes, a colon and a comma besides.
    char *text = arena_alloc(arena, OWN_MAX + agent_n + run->task.traceparent.n + target->headers.raw.n),
         *at = put_own_headers(text, run);
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
    return (struct str){text, (size_t)(at - text)};
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
    struct run *run = call->run;
    struct job_result *result = &run->result;
    result->outcome = answer->outcome;
    result->status = answer->status;
    result->truncated = answer->truncated;
    if (answer->body.n)
        result->response = arena_copy(&run->arena, answer->body);
    if (answer->reason)
        result->reason = arena_copy(&run->arena, str_of(answer->reason));
    if (answer->outcome == OUTCOME_SUCCESS && answer->status == 202 && answer->async)
        result->later = true;
    else if (answer->outcome == OUTCOME_SUCCESS && !target_http_success(&run->task.target.http, answer->status)) {
        result->outcome = OUTCOME_FAILED;
        result->reason = arena_printf(&run->arena, "HTTP %d", answer->status);
    }
    if (result->outcome != OUTCOME_SUCCESS && answer->retry_after.n)
        result->retry_after_ms = retry_after_ms(answer->retry_after, clock_now().wall_ms);
    end(call);
}

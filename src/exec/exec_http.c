// Attempts that are HTTP calls: a task becomes a request, the answer becomes a result. What a call needs is written into the
// run's own arena, so it lives exactly as long as the run.
//
// rota's own headers go to the client as one block of lines: one piece to copy instead of six. Does not decide about retries, and
// does not know sockets: that is http/client.
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
    const char **headers;
    size_t header_count;
    struct str body;
};

static void write_headers(struct call *call, struct arena *arena);
static void on_done(void *ctx, const struct http_answer *answer);

static void http_start(struct exec *exec, struct run *run, struct now now)
{
    struct exec_http *http = container_of(exec, struct exec_http, exec);
    const struct task *task = &run->task;
    struct call *call = arena_alloc(&run->arena, sizeof *call);
    struct url url;
    char why[ERR_WHY_MAX];
    *call = (struct call){.http = http, .run = run};
    run->exec = call;
    run->result = (struct job_result){0};
    if (url_parse(task->url, &url, why)) {
        run->result.outcome = OUTCOME_REFUSED;
        run->result.reason = arena_copy(&run->arena, str_of(why));
        list_append(&http->refused, &call->link);
        return;
    }
    if (task->body.type == JSON_STRING)
        call->body = json_text(task->body, &run->arena);
    else if (task->body.type != JSON_ABSENT)
        call->body = task->body.raw;
    write_headers(call, &run->arena);
    call->call = http_client_start(http->client, &(struct http_call_order){
                                                     .url = &url,
                                                     .method = task->method.p,
                                                     .headers = call->headers,
                                                     .header_count = call->header_count,
                                                     .body = call->body,
                                                     .timeout_ms = task->policy.timeout_ms,
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

static const struct exec_ops http_ops = {.start = http_start, .cancel = http_cancel, .poll = http_poll, .close = http_close};

enum err exec_http_new(struct exec **ret_exec, const struct exec_http_config *config, char why[ERR_WHY_MAX])
{
    struct exec_http *http = mem_zero(sizeof *http);
    http->exec.ops = &http_ops;
    http->config = *config;
    http->response_max = config->response_max;
    list_init(&http->refused);
    struct http_client_config client = {.connections_max = config->connections_max, .user_agent = config->user_agent};
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

static const char *own_headers(const struct run *run, struct arena *arena)
{
    char job[ID_TEXT_SIZE], task[ID_TEXT_SIZE], planned[WHEN_TEXT_SIZE], attempt[16];
    id_format(job, ID_JOB, run->job.id);
    id_format(task, ID_TASK, run->job.task_id);
    when_format(planned, run->job.scheduled_at);
    snprintf(attempt, sizeof attempt, "%d", run->job.attempts);
    char *text = arena_alloc(arena, 384 + run->task.traceparent.n), *at = text;
    at = put(put(at, "Rota-Job-Id: "), job);
    at = put(put(at, "\r\nRota-Task-Id: "), task);
    at = put(put(at, "\r\nRota-Attempt: "), attempt);
    at = put(put(at, "\r\nRota-Scheduled-At: "), planned);
    at = put(put(at, "\r\nIdempotency-Key: "), job);
    if (run->ticket[0])
        at = put(put(at, "\r\nRota-Token: "), run->ticket);
    if (run->task.traceparent.n)
        put_str(put(at, "\r\ntraceparent: "), run->task.traceparent);
    return text;
}

// A header without a value is written with a semicolon: with a colon it would mean to leave the header out.
static const char *header_line(struct str name, struct str value, struct arena *arena)
{
    bool empty = true;
    for (size_t i = 0; i < value.n; i++)
        empty &= value.p[i] == ' ' || value.p[i] == '\t';
    char *line = arena_alloc(arena, name.n + value.n + 3), *at = put_str(line, name);
    if (empty)
        put(at, ";");
    else
        put_str(put(at, ": "), value);
    return line;
}

static const char *default_type(const struct task *task)
{
    return task->body.type == JSON_ABSENT || task->body.type == JSON_STRING ? "Content-Type:" : "Content-Type: application/json";
}

static void write_headers(struct call *call, struct arena *arena)
{
    const struct task *task = &call->run->task;
    struct json name, value;
    size_t count = 0;
    if (task->headers.type == JSON_OBJECT)
        for (struct json_iter iter = json_iter(task->headers); json_next(&iter, &name, &value);)
            count++;
    call->headers = arena_array(arena, const char *, count + 2);
    call->headers[call->header_count++] = own_headers(call->run, arena);
    bool typed = false;
    if (count)
        for (struct json_iter iter = json_iter(task->headers); json_next(&iter, &name, &value);) {
            struct str text = json_text(name, arena);
            typed |= str_eq_nocase(text, STR("Content-Type"));
            call->headers[call->header_count++] = header_line(text, json_text(value, arena), arena);
        }
    if (!typed)
        call->headers[call->header_count++] = default_type(task);
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
    else if (answer->outcome == OUTCOME_SUCCESS && !task_success(&run->task, answer->status)) {
        result->outcome = OUTCOME_FAILED;
        result->reason = arena_printf(&run->arena, "HTTP %d", answer->status);
    }
    if (result->outcome != OUTCOME_SUCCESS && answer->retry_after.n)
        result->retry_after_ms = retry_after_ms(answer->retry_after, clock_now().wall_ms);
    end(call);
}

// See call.h. A reply that is no JSON object does not come from rota: something else listens there, and that is "not reached".
#include "cli/server/call.h"

#include "core/id.h"
#include "core/url.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CALL_TIMEOUT_MS = 30000 };

// "localhost:7070", as people write it: only one thing can be meant.
static bool is_host_and_port(const char *server)
{
    const char *colon = strrchr(server, ':');
    size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;
    return digits && !strstr(server, "://") && (!colon[1 + digits] || str_is(str_of(colon + 1 + digits), "/"));
}

static int check_server(const struct cli *cli, struct str server)
{
    struct url url;
    char why[ERR_WHY_MAX];
    if (url_parse(server, &url, why))
        return verb_misused(cli, "the server " STR_FMT " cannot be called: %s It is written http://HOST:PORT, or HOST:PORT",
                            STR_ARG(server), why);
    if (memchr(server.p, '?', server.n) || memchr(server.p, '#', server.n))
        return verb_misused(cli, "the server " STR_FMT " must be a plain URL, without ? and #", STR_ARG(server));
    return CLI_OK;
}

struct str call_server(const struct options *options, struct arena *arena)
{
    const char *server = options_get(options, "server");
    if (!server)
        server = getenv("ROTA_SERVER");
    if (!server || !*server)
        return STR("http://127.0.0.1:7070");
    return is_host_and_port(server) ? arena_printf(arena, "http://%s", server) : str_of(server);
}

int call_open(struct caller *ret_caller, struct cli *cli)
{
    *ret_caller = (struct caller){.cli = cli, .arena = &cli->arena, .server = call_server(&cli->options, &cli->arena)};
    int code = check_server(cli, ret_caller->server);
    if (code)
        return code;
    while (ret_caller->server.p[ret_caller->server.n - 1] == '/')
        ret_caller->server.n--;
    const char *key = getenv("ROTA_API_KEY");
    ret_caller->key = key && *key ? key : NULL;
    for (const char *c = ret_caller->key; c && *c; c++)
        if (!isgraph((unsigned char)*c))
            return verb_misused(cli, "ROTA_API_KEY contains spaces or characters that no key has");
    ret_caller->fetcher = fetcher_new();
    return CLI_OK;
}

void call_close(struct caller *caller)
{
    fetcher_free(caller->fetcher);
    caller->fetcher = NULL;
}

void reply_done(struct reply *reply)
{
    value_free(reply->value);
    buf_done(&reply->body);
}

static int judge(struct reply *reply)
{
    if (reply->status >= 200 && reply->status < 300) {
        if (reply->value || reply->status == 204)
            return CLI_OK;
        snprintf(reply->why, sizeof reply->why, "what answers there is not a rota server (HTTP %d without a JSON object)",
                 reply->status);
        return CLI_UNREACHED;
    }
    return CLI_REFUSED;
}

// Puts into a request what every one carries, and returns how many headers it has. `url` and `bearer` must live as long as it.
static size_t begin_request(const struct caller *caller, struct fetch_request *request, const char *path, struct buf *url,
                            struct buf *bearer)
{
    size_t n = 0;
    buf_printf(url, STR_FMT "%s", STR_ARG(caller->server), path);
    buf_putc(url, 0);
    request->url = url->p;
    if (caller->key) {
        buf_printf(bearer, "Bearer %s", caller->key);
        buf_putc(bearer, 0);
        request->headers[n++] = (struct fetch_header){"Authorization", bearer->p};
    }
    return n;
}

void call(struct caller *caller, const char *method, const char *path, struct str body, struct reply *ret_reply)
{
    call_if(caller, method, path, body, NULL, ret_reply);
}

void call_get(struct caller *caller, const char *id, const char *rest, struct reply *ret_reply)
{
    buf_auto struct buf path = {0};
    *ret_reply =
        (struct reply){.code = CLI_UNREACHED, .why = "what answers there is not a rota server (no id of a job came back)"};
    if (call_path(&path, id, rest))
        call(caller, "GET", path.p, (struct str){0}, ret_reply);
}

void call_if(struct caller *caller, const char *method, const char *path, struct str body, const char *tag,
             struct reply *ret_reply)
{
    *ret_reply = (struct reply){.code = CLI_UNREACHED};
    buf_auto struct buf url = {0};
    buf_auto struct buf bearer = {0};
    struct fetch_request request = {.method = method, .body = body, .timeout_ms = CALL_TIMEOUT_MS};
    size_t n = begin_request(caller, &request, path, &url, &bearer);
    request.headers[n++] = (struct fetch_header){"Accept", "application/json, application/problem+json"};
    if (body.n)
        request.headers[n++] = (struct fetch_header){"Content-Type", "application/json"};
    if (tag)
        request.headers[n++] = (struct fetch_header){"If-Match", tag};
    struct fetch_answer answer;
    bool whole = fetch(caller->fetcher, &request, &answer, ret_reply->why);
    ret_reply->asked = answer.asked;
    if (!whole)
        return;
    ret_reply->status = answer.status;
    ret_reply->body = answer.body;
    ret_reply->value = value_parse(buf_str(&answer.body));
    ret_reply->code = judge(ret_reply);
}

struct taking {
    struct stream *stream;
    bool other; // an answer of another type: not rota's
};

static bool take_stream(void *ctx, const struct fetch_answer *answer, struct str bytes)
{
    struct taking *taking = ctx;
    taking->other = !str_is(str_of(answer->type), taking->stream->type);
    if (taking->other)
        return false;
    return taking->stream->take(taking->stream->ctx, bytes);
}

void call_stream(struct caller *caller, struct stream *stream, struct reply *ret_reply)
{
    *ret_reply = (struct reply){.code = CLI_UNREACHED};
    buf_auto struct buf url = {0};
    buf_auto struct buf bearer = {0};
    buf_auto struct buf accept = {0};
    struct taking taking = {.stream = stream};
    struct fetch_request request = {.method = "GET", .idle_s = stream->idle_s, .take = take_stream, .ctx = &taking};
    size_t n = begin_request(caller, &request, stream->path, &url, &bearer);
    buf_printf(&accept, "%s, application/problem+json", stream->type);
    buf_putc(&accept, 0);
    request.headers[n++] = (struct fetch_header){"Accept", accept.p};
    if (stream->header)
        request.headers[n++] = (struct fetch_header){stream->header, stream->header_value};
    struct fetch_answer answer;
    bool whole = fetch(caller->fetcher, &request, &answer, ret_reply->why);
    ret_reply->status = answer.status;
    ret_reply->body = answer.body;
    bool success = answer.status >= 200 && answer.status < 300;
    stream->began = success && str_is(str_of(answer.type), stream->type);
    bool other = taking.other || (whole && success && !stream->began);
    if (other)
        snprintf(ret_reply->why, sizeof ret_reply->why, "what answers there is not a rota server (HTTP %d without %s)",
                 answer.status, stream->type);
    if (!whole || other)
        return;
    ret_reply->value = value_parse(buf_str(&answer.body));
    ret_reply->code = success ? CLI_OK : CLI_REFUSED;
}

bool reply_may_retry(const struct reply *reply)
{
    return reply->code == CLI_UNREACHED || reply->status == 429 || reply->status == 502 || reply->status == 503 ||
           reply->status == 504;
}

void call_pause(int64_t ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

bool call_path(struct buf *buf, const char *id, const char *rest)
{
    enum { ID_LONGEST = 64 };
    size_t n = strlen(id);
    const char *place = id[0] == ID_TASK ? "tasks" : id[0] == ID_JOB ? "jobs" : id[0] == CALL_BULK ? "bulk" : NULL;
    if (n > ID_LONGEST || !place)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)id[i]))
            return false;
    buf_printf(buf, "/v1/%s/%s%s", place, id, rest);
    buf_putc(buf, 0);
    return true;
}

static int check_ids(const struct cli *cli, const char *kinds)
{
    for (size_t i = 0; i < cli->options.arg_count; i++) {
        const char *id = cli->options.args[i];
        buf_auto struct buf path = {0};
        if (!call_path(&path, id, ""))
            return verb_misused(cli, "%s is not an id: a task's is t and letters and digits, a job's begins with j", id);
        if (strchr(kinds, id[0]))
            continue;
        if (id[0] == CALL_BULK)
            return verb_misused(cli, "%s is the id of a bulk: rota get %s shows it, rota cancel %s stops it", id, id, id);
        if (id[0] == ID_JOB)
            return verb_misused(cli, "%s is the id of a job, and rota %s takes a task's: rota get %s shows which it belongs to",
                                id, cli->verb->name, id);
        return verb_misused(cli, "%s is the id of a task, and rota %s takes a job's: rota get %s shows its job", id,
                            cli->verb->name, id);
    }
    return CLI_OK;
}

int call_open_for_ids(struct caller *ret_caller, struct cli *cli, const char *kinds)
{
    *ret_caller = (struct caller){0};
    int code = check_ids(cli, kinds);
    return code ? code : call_open(ret_caller, cli);
}

int call_for_ids(struct cli *cli, const char *kinds, int (*one)(struct caller *caller, const char *id))
{
    struct caller caller;
    int code = call_open_for_ids(&caller, cli, kinds);
    if (code)
        return code;
    for (size_t i = 0; i < cli->options.arg_count && (code == CLI_OK || code == CLI_REFUSED); i++) {
        int latest = one(&caller, cli->options.args[i]);
        code = latest ? latest : code;
    }
    call_close(&caller);
    return code;
}

void call_put_escaped(struct buf *buf, struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if (isalnum(c) || strchr("-._~", c))
            buf_putc(buf, (char)c);
        else
            buf_printf(buf, "%%%02X", c);
    }
}

void call_put_query(struct buf *path, struct str name, struct str value)
{
    buf_putc(path, path->n && memchr(path->p, '?', path->n) ? '&' : '?');
    call_put_escaped(path, name);
    buf_putc(path, '=');
    call_put_escaped(path, value);
}

// See call.h. A reply that is no JSON object does not come from rota: something else listens there, and that is "not reached".
#include "cli/call.h"

#include "cli/terminal.h"
#include "cli/text.h"
#include "core/id.h"
#include "core/url.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

static const char SERVER_DEFAULT[] = "http://127.0.0.1:7070";
enum { CALL_TIMEOUT_MS = 30000 };

static int check_server(const struct cli *cli, struct str server)
{
    struct url url;
    char why[ERR_WHY_MAX];
    if (url_parse(server, &url, why))
        return verb_misused(cli, "the server " STR_FMT " cannot be called: %s", STR_ARG(server), why);
    if (memchr(server.p, '?', server.n) || memchr(server.p, '#', server.n))
        return verb_misused(cli, "the server " STR_FMT " must be a plain URL, without ? and #", STR_ARG(server));
    return CLI_OK;
}

int call_open(struct caller *ret_caller, const struct cli *cli)
{
    const char *server = options_get(&cli->options, "server");
    if (!server)
        server = getenv("ROTA_SERVER");
    *ret_caller = (struct caller){.cli = cli, .server = str_of(server && *server ? server : SERVER_DEFAULT)};
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
        if (reply->value)
            return CLI_OK;
        snprintf(reply->why, sizeof reply->why, "what answers there is not a rota server (HTTP %d without a JSON object)",
                 reply->status);
        return CLI_UNREACHED;
    }
    return CLI_REFUSED;
}

void call(struct caller *caller, const char *method, const char *path, struct str body, struct reply *ret_reply)
{
    *ret_reply = (struct reply){.code = CLI_UNREACHED};
    buf_auto struct buf url = {0};
    buf_auto struct buf bearer = {0};
    buf_printf(&url, STR_FMT "%s", STR_ARG(caller->server), path);
    buf_putc(&url, 0);
    struct fetch_request request = {.method = method, .url = url.p, .body = body, .timeout_ms = CALL_TIMEOUT_MS};
    size_t n = 0;
    request.headers[n++] = (struct fetch_header){"Accept", "application/json, application/problem+json"};
    if (body.n)
        request.headers[n++] = (struct fetch_header){"Content-Type", "application/json"};
    if (caller->key) {
        buf_printf(&bearer, "Bearer %s", caller->key);
        buf_putc(&bearer, 0);
        request.headers[n++] = (struct fetch_header){"Authorization", bearer.p};
    }
    struct fetch_answer answer;
    if (!fetch(caller->fetcher, &request, &answer, ret_reply->why))
        return;
    ret_reply->status = answer.status;
    ret_reply->body = answer.body;
    ret_reply->value = value_parse(buf_str(&answer.body));
    ret_reply->code = judge(ret_reply);
}

// One line of what the server said, if it said it.
static void put_said(struct buf *buf, const struct reply *reply, const char *member, const char *before)
{
    struct str text = value_text(value_at(reply->value, member));
    if (!text.n)
        return;
    buf_puts(buf, before);
    text_put_short(buf, text, 500);
}

static void explain_refusal(struct buf *buf, const struct caller *caller, const struct reply *reply)
{
    buf_printf(buf, "the server says no (HTTP %d)", reply->status);
    if (reply->status >= 300 && reply->status < 400)
        buf_puts(buf, ": it sends elsewhere, and redirects are not followed");
    if (!reply->value && reply->body.n) {
        buf_puts(buf, ": ");
        text_put_short(buf, buf_str(&reply->body), 200);
    }
    put_said(buf, reply, "title", ": ");
    put_said(buf, reply, "detail", "\n  ");
    put_said(buf, reply, "field", "\n  field: ");
    put_said(buf, reply, "code", "\n  code: ");
    put_said(buf, reply, "request_id", "\n  request: ");
    if (reply->status == 401)
        buf_puts(buf, caller->key ? "\n  the key in ROTA_API_KEY is not accepted" : "\n  put your API key into ROTA_API_KEY");
}

int call_explain(const struct caller *caller, const struct reply *reply)
{
    buf_auto struct buf words = {0};
    if (reply->code == CLI_REFUSED)
        explain_refusal(&words, caller, reply);
    else if (reply->code == CLI_UNREACHED)
        buf_printf(&words,
                   "no rota server was reached at " STR_FMT ": %s\n"
                   "  start one with `rota serve`, or name another with --server URL or ROTA_SERVER",
                   STR_ARG(caller->server), reply->why);
    if (words.n)
        terminal_talk("rota %s: " STR_FMT "\n", caller->cli->verb->name, STR_ARG(buf_str(&words)));
    return reply->code;
}

bool reply_may_retry(const struct reply *reply)
{
    return reply->code == CLI_UNREACHED || reply->status == 429 || reply->status == 502 || reply->status == 503 ||
           reply->status == 504;
}

bool call_path(struct buf *buf, const char *id, const char *rest)
{
    enum { ID_LONGEST = 64 };
    size_t n = strlen(id);
    bool job = id[0] == ID_JOB;
    if (n > ID_LONGEST || (!job && id[0] != ID_TASK))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)id[i]))
            return false;
    buf_printf(buf, "/v1/%s/%s%s", job ? "jobs" : "tasks", id, rest);
    buf_putc(buf, 0);
    return true;
}

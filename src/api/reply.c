// What it does not do: decide what is wrong. Words and statuses come from the table in base/err.
#include "api/reply.h"

#include "base/log.h"
#include "base/rand.h"
#include "base/text/json.h"
#include "core/task/task.h"

#include <stdio.h>

void problem_put(struct buf *buf, const struct problem *problem)
{
    const struct err_info *info = err_info(problem->err);
    // A relative reference: the document is read where it was served, and no foreign host is asked.
    buf_puts(buf, "\"type\":\"/docs/errors#");
    buf_puts(buf, info->code);
    buf_puts(buf, "\",\"title\":");
    json_put_string(buf, str_of(info->title));
    buf_puts(buf, ",\"status\":");
    buf_put_int(buf, info->status);
    buf_puts(buf, ",\"detail\":");
    json_put_string(buf, str_of(problem->detail[0] ? problem->detail : info->title));
    buf_puts(buf, ",\"code\":\"");
    buf_puts(buf, info->code);
    buf_putc(buf, '"');
    if (problem->field[0]) {
        buf_puts(buf, ",\"field\":");
        json_put_string(buf, str_of(problem->field));
    }
}

// The client's own id when it sent one that could be a name, so that its logs and ours speak of the same request.
static const char *request_id(struct http_request *request)
{
    struct str given = http_header(request, "X-Request-Id");
    if (task_name_fits(given))
        return arena_copy(http_arena(request), given).p;
    uint64_t number;
    rand_secret(&number, sizeof number);
    return arena_printf(http_arena(request), "%016llx", (unsigned long long)number).p;
}

void problem_reply(struct http_request *request, const struct problem *problem)
{
    const struct err_info *info = err_info(problem->err);
    const char *id = request_id(request);
    struct buf body = {0};
    buf_putc(&body, '{');
    problem_put(&body, problem);
    buf_puts(&body, ",\"request_id\":");
    json_put_string(&body, str_of(id));
    buf_puts(&body, "}\n");
    http_header_set(request, "Rota-Request-Id", id);
    if (info->status == 503)
        http_header_set(request, "Retry-After", "1");
    if (info->status == 401)
        http_header_set(request, "WWW-Authenticate", "Bearer");
    http_reply(request, info->status, "application/problem+json", &body);
}

void problem_say(struct http_request *request, enum err err, const char *field, const char *format, ...)
{
    struct problem problem;
    va_list args;
    va_start(args, format);
    problem_set_args(&problem, err, field, format, args);
    va_end(args);
    problem_reply(request, &problem);
}

void reply_version(struct http_request *request, int64_t version)
{
    char tag[24];
    snprintf(tag, sizeof tag, "\"%lld\"", (long long)version);
    http_header_set(request, "ETag", tag);
}

void reply_json(struct http_request *request, int status, struct buf *body)
{
    buf_putc(body, '\n');
    http_reply(request, status, "application/json", body);
}

void problem_store(struct http_request *request, enum err err, const char *why)
{
    const struct err_info *info = err_info(err);
    if (info->status == 503) {
        problem_say(request, err, NULL, "%s Try again in a second; a submit with a key is safe to repeat.",
                    err == ERR_STORE_UNAVAILABLE ? "It is not known to be done." : "Nothing was done.");
        return;
    }
    if (info->status == 500) {
        log_error("api: %s: %s", info->code, why);
        problem_say(request, err, NULL, "The server's log says what happened.");
        return;
    }
    problem_say(request, err, NULL, "%s", why && why[0] ? why : info->title);
}

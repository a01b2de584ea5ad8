// What the handlers and the server itself answer with. An answer whose client has left goes nowhere.
#include "http/server/reply.h"

#include "base/clock.h"
#include "http/server/peer.h"
#include "http/server/private.h"
#include "http/server/request.h"

#include <assert.h>
#include <unistd.h>

static const char *reason_of(int status)
{
    static const struct {
        int status;
        const char *reason;
    } reasons[] = {{200, "OK"},
                   {201, "Created"},
                   {202, "Accepted"},
                   {204, "No Content"},
                   {304, "Not Modified"},
                   {400, "Bad Request"},
                   {401, "Unauthorized"},
                   {403, "Forbidden"},
                   {404, "Not Found"},
                   {405, "Method Not Allowed"},
                   {406, "Not Acceptable"},
                   {408, "Request Timeout"},
                   {409, "Conflict"},
                   {412, "Precondition Failed"},
                   {413, "Content Too Large"},
                   {415, "Unsupported Media Type"},
                   {421, "Misdirected Request"},
                   {422, "Unprocessable Content"},
                   {429, "Too Many Requests"},
                   {431, "Request Header Fields Too Large"},
                   {500, "Internal Server Error"},
                   {503, "Service Unavailable"},
                   {507, "Insufficient Storage"}};
    for (size_t i = 0; i < array_count(reasons); i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return "Status";
}

static const char *date_of(struct reply_date *date)
{
    time_t now = (time_t)(clock_wall_ns() / 1000000000);
    struct tm tm;
    if (now != date->at && gmtime_r(&now, &tm)) {
        date->at = now;
        strftime(date->text, sizeof date->text, "%a, %d %b %Y %H:%M:%S GMT", &tm);
    }
    return date->text;
}

static void put_line(struct buf *out, const char *name, const char *value)
{
    buf_puts(out, name);
    buf_puts(out, ": ");
    buf_puts(out, value);
    buf_puts(out, "\r\n");
}

struct buf *reply_put_head(struct http_request *request, int status, const char *type)
{
    struct peer *peer = request->peer;
    struct buf *out = &peer->out;
    peer->closing |=
        peer->reserved || request->head.closes || request->head.old || request->unread || server_is_quiesced(request->server);
    buf_puts(out, "HTTP/1.1 ");
    buf_put_int(out, status);
    buf_putc(out, ' ');
    buf_puts(out, reason_of(status));
    buf_puts(out, "\r\n");
    put_line(out, "Date", date_of(&request->server->date));
    if (peer->closing)
        put_line(out, "Connection", "close");
    if (type)
        put_line(out, "Content-Type", type);
    for (struct pair *pair = request->headers; pair; pair = pair->next)
        put_line(out, pair->name.p, pair->value.p);
    return out;
}

static void put_length(struct buf *out, uint64_t length)
{
    buf_puts(out, "Content-Length: ");
    buf_put_int(out, (int64_t)length);
    buf_puts(out, "\r\n\r\n");
}

static bool wants_head_only(const struct http_request *request)
{
    return str_is(request->head.method, "HEAD");
}

void http_reply(struct http_request *request, int status, const char *type, struct buf *body)
{
    struct buf none = {0};
    body = body ? body : &none;
    assert(!request->answered);
    request->answered = true;
    if (request->peer) {
        struct buf *out = reply_put_head(request, status, type);
        if (status == 204 || status == 304)
            buf_puts(out, "\r\n");
        else
            put_length(out, body->n);
        if (!wants_head_only(request) && status != 204 && status != 304)
            buf_put(out, buf_str(body));
    }
    buf_done(body);
}

void http_reply_head(struct http_request *request, const char *type)
{
    assert(!request->answered && wants_head_only(request));
    request->answered = true;
    if (request->peer)
        buf_puts(reply_put_head(request, 200, type), "\r\n");
}

void reply_close_file(struct http_file *file)
{
    if (file->fd < 0)
        return;
    close(file->fd);
    file->fd = -1;
    file->closed(file->ctx);
}

void http_reply_file(struct http_request *request, const char *type, const struct http_file *file)
{
    struct http_file unwanted = *file;
    assert(!request->answered);
    request->answered = true;
    if (request->peer)
        put_length(reply_put_head(request, 200, type), file->size);
    if (!request->peer || wants_head_only(request)) {
        reply_close_file(&unwanted);
        return;
    }
    request->peer->file = *file;
    request->peer->file_left = file->size;
}

void http_header_set(struct http_request *request, const char *name, const char *value)
{
    struct pair *pair = arena_alloc(&request->arena, sizeof *pair);
    pair->name = arena_copy(&request->arena, str_of(name));
    pair->value = arena_copy(&request->arena, str_of(value));
    pair->next = request->headers;
    request->headers = pair;
}

// ---- refusals

void reply_refuse(struct http_request *request, enum err err, const char *detail)
{
    const struct http_server_config *config = &request->server->config;
    config->refuse(config->ctx, request, err, detail);
}

void reply_refuse_and_close(struct http_request *request, enum err err, const char *detail)
{
    request->peer->closing = true;
    request->complete = true;
    reply_refuse(request, err, detail);
}

void reply_refuse_instead(struct http_request *request, enum err err, const char *detail)
{
    struct buf *out = &request->peer->out;
    out->n = request->peer->out_at ? out->n : 0; // what has begun to be sent is the word to go on
    request->answered = false;
    request->headers = NULL;
    reply_refuse_and_close(request, err, detail);
}

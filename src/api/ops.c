// What operators ask: does it live, can it work, what may be asked; and a copy of all there is.
#include "api/documents.h"
#include "api/reply.h"
#include "api/routes.h"
#include "store/journal.h"

#include <sys/stat.h>
#include <unistd.h>

// One at a time: each lies on the disk beside the database until its client has it.
struct copying {
    struct store_backup backup;
    struct api_call call;
};

static void copied(struct store_op *op)
{
    http_resume(container_of(op, struct copying, backup.op)->call.request);
}

static void copy_gone(void *ctx)
{
    struct api *api = ctx;
    api->copying = false;
}

static void name_copy(struct http_request *request)
{
    http_header_set(request, "Content-Disposition", "attachment; filename=\"rota.db\"");
}

static void answer_backup(struct http_request *request, void *state)
{
    struct copying *copying = state;
    struct store_backup *backup = &copying->backup;
    struct api *api = copying->call.api;
    struct stat file;
    api->copying = false;
    if (backup->op.err == ERR_STORAGE_FULL) {
        problem_say(request, ERR_STORAGE_FULL, NULL, "There is no copy: %s.", backup->op.why);
    } else if (backup->op.err == ERR_UNSUPPORTED) {
        problem_say(request, ERR_UNSUPPORTED, NULL, "There is no backup through rota here: %s.", backup->op.why);
    } else if (backup->op.err) {
        problem_store(request, backup->op.err, backup->op.why);
    } else if (fstat(backup->fd, &file)) {
        close(backup->fd);
        problem_store(request, ERR_INTERNAL, "the copy cannot be looked at");
    } else {
        name_copy(request);
        api->copying = true;
        http_reply_file(request, "application/octet-stream",
                        &(struct http_file){.fd = backup->fd, .size = (uint64_t)file.st_size, .closed = copy_gone, .ctx = api});
    }
    store_op_done(&backup->op);
}

void ops_backup(const struct api_call *call)
{
    if (call->api->copying) {
        problem_say(call->request, ERR_BUSY, NULL, "Another backup is being made or fetched, and there is one at a time.");
        return;
    }
    if (str_is(http_method(call->request), "HEAD") && call->api->store->ops->copies) { // only a copy could tell how long it is
        name_copy(call->request);
        http_reply_head(call->request, "application/octet-stream");
        return;
    }
    struct copying *copying = arena_alloc(http_arena(call->request), sizeof *copying);
    call->api->copying = true;
    copying->call = *call;
    store_op_init(&copying->backup.op, STORE_BACKUP, copied);
    http_wait(call->request, answer_backup, copying);
    store_submit(call->api->store, &copying->backup.op);
}

void ops_health(const struct api_call *call)
{
    struct buf body = {0};
    buf_puts(&body, "{\"status\":\"ok\"}");
    reply_json(call->request, 200, &body);
}

void ops_ready(const struct api_call *call)
{
    const struct api *api = call->api;
    buf_auto struct buf problems = {0};
    bool ready = !api->ready || api->ready(api->ready_ctx, &problems);
    struct buf body = {0};
    buf_puts(&body, ready ? "{\"status\":\"ready\",\"problems\":" : "{\"status\":\"not_ready\",\"problems\":");
    buf_put(&body, problems.n ? buf_str(&problems) : STR("[]"));
    buf_puts(&body, ",\"warnings\":");
    if (api->node)
        warnings_put_json(api->node->warnings, clock_wall_ns() / 1000000, &body);
    else
        buf_puts(&body, "[]");
    buf_putc(&body, '}');
    if (!ready)
        http_header_set(call->request, "Retry-After", "1");
    reply_json(call->request, ready ? 200 : 503, &body);
}

void ops_root(const struct api_call *call)
{
    size_t count;
    const struct route *routes = route_table(&count);
    struct buf body = {0};
    buf_puts(&body, "rota, a task scheduler. It understands:\n\n");
    for (size_t i = 0; i < count; i++)
        buf_printf(&body, "  %-6s  %-28s  %s\n", routes[i].method, routes[i].path, routes[i].about);
    buf_puts(&body, "\nThe smallest task: curl --json '{\"url\":\"https://hooks.example/ring\"}' ADDRESS/v1/tasks\n");
    http_reply(call->request, 200, "text/plain; charset=utf-8", &body);
}

static void reply_document(const struct api_call *call, const char *type, struct str document)
{
    struct buf body = {0};
    buf_put(&body, document);
    http_reply(call->request, 200, type, &body);
}

void ops_openapi(const struct api_call *call)
{
    reply_document(call, "application/json", document_openapi);
}

void ops_errors(const struct api_call *call)
{
    reply_document(call, "text/html; charset=utf-8", document_errors);
}

// What operators ask: does it live, can it work, what may be asked.
#include "api/reply.h"
#include "api/routes.h"

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
        buf_printf(&body, "  %-4s  %-28s  %s\n", routes[i].method, routes[i].path, routes[i].about);
    buf_puts(&body, "\nThe smallest task: curl --json '{\"url\":\"https://example.com/hook\"}' ADDRESS/v1/tasks\n");
    http_reply(call->request, 200, "text/plain; charset=utf-8", &body);
}

// Everything that is checked before a body is read stands in api_begin(), in this order: may this place call, who is it, is there
// such a route, is there room for it, does it take these query parameters and this type of body.
//
// What it does not do: look into bodies. Handlers do.
#include "api/routes.h"

#include "api/auth.h"
#include "api/reply.h"
#include "core/filter.h"

// Read by tests/unit/check_openapi.py: one row a line, method and path first. The most frequent come first. A name
// may be `jobs`, so the routes by name come before /v1/tasks/{id}/jobs.
// clang-format off
static const struct route routes[] = {
    {"POST", "/v1/tasks",                ROUTE_BODY_BULK,  TYPE_JSON | TYPE_NDJSON, "brief", tasks_submit, "submit one task, an array, or NDJSON"},
    {"GET",  "/v1/tasks/{id}",           ROUTE_BODY_NONE,  TYPE_NONE, "",             tasks_show,    "a task and the job that stands for it"},
    {"GET",  "/v1/tasks/by-name/{name}", ROUTE_BODY_NONE,  TYPE_NONE, "",             named_show,    "the task that was declared under a name"},
    {"PUT",  "/v1/tasks/by-name/{name}", ROUTE_BODY_ONE,   TYPE_JSON, "dry_run",      named_put,     "declare a recurring task: it becomes what the body says"},
    {"GET",  "/v1/jobs/{id}",            ROUTE_BODY_NONE,  TYPE_NONE, "",             jobs_show,     "a job and its attempts"},
    {"GET",  "/v1/tasks/{id}/jobs",      ROUTE_BODY_NONE,  TYPE_NONE, "limit cursor", tasks_jobs,    "the jobs of a task, newest first"},
    {"GET",  "/v1/tasks",                ROUTE_BODY_NONE,  TYPE_NONE, FILTER_NAMES " recurring limit cursor", tasks_list, "tasks, newest first"},
    {"GET",  "/v1/jobs",                 ROUTE_BODY_NONE,  TYPE_NONE, FILTER_NAMES " limit cursor", jobs_list, "jobs, newest first"},
    {"POST", "/v1/tasks/{id}/cancel",    ROUTE_BODY_SMALL, TYPE_JSON, "",             tasks_cancel,  "cancel what is not final"},
    {"POST", "/v1/tasks/{id}/run",       ROUTE_BODY_SMALL, TYPE_JSON, "",             tasks_run,     "start its waiting job now; a recurring task runs once more"},
    {"POST", "/v1/tasks/{id}/pause",     ROUTE_BODY_SMALL, TYPE_JSON, "",             tasks_pause,   "no job of it begins"},
    {"POST", "/v1/tasks/{id}/resume",    ROUTE_BODY_SMALL, TYPE_JSON, "",             tasks_resume,  "what was due meanwhile is due now; of a recurring task it is skipped, unless `missed` says otherwise"},
    {"PATCH", "/v1/tasks/{id}",          ROUTE_BODY_ONE,   TYPE_JSON | TYPE_MERGE, "", tasks_patch,  "change it; its planned jobs follow"},
    {"DELETE", "/v1/tasks/{id}",         ROUTE_BODY_SMALL, TYPE_JSON, "running",      tasks_delete,  "end and forget it; what runs goes on to its end, unless ?running=1"},
    {"POST", "/v1/jobs/{id}/cancel",     ROUTE_BODY_SMALL, TYPE_JSON, "",             jobs_cancel,   "cancel a job that is not final"},
    {"POST", "/v1/jobs/{id}/retry",      ROUTE_BODY_SMALL, TYPE_JSON, "",             jobs_retry,    "a new job from a final one"},
    {"GET",  "/v1/jobs/{id}/explain",    ROUTE_BODY_NONE,  TYPE_NONE, "",             jobs_explain,  "what it waits for, and when it is expected to start"},
    {"POST", "/v1/jobs/{id}/complete",   ROUTE_BODY_RESULT,TYPE_JSON, "",             jobs_complete, "an attempt that goes on elsewhere succeeded"},
    {"POST", "/v1/jobs/{id}/fail",       ROUTE_BODY_SMALL, TYPE_JSON, "",             jobs_fail,     "an attempt that goes on elsewhere failed"},
    {"POST", "/v1/jobs/{id}/heartbeat",  ROUTE_BODY_SMALL, TYPE_JSON, "",             jobs_heartbeat,"an attempt goes on elsewhere: it has its time again"},
    {"GET",  "/v1/queues",               ROUTE_BODY_NONE,  TYPE_NONE, "limit cursor", queues_list,   "what waits where"},
    {"POST", "/v1/queues/{queue}/pause", ROUTE_BODY_SMALL, TYPE_JSON, "",             queues_pause,  "hold a queue; submits go on"},
    {"POST", "/v1/queues/{queue}/resume",ROUTE_BODY_SMALL, TYPE_JSON, "",             queues_resume, "let it go"},
    {"DELETE", "/v1/queues/{queue}",     ROUTE_BODY_SMALL, TYPE_JSON, "",             queues_delete, "forget a queue in which nothing waits or runs"},
    {"POST", "/v1/bulk",                 ROUTE_BODY_SMALL, TYPE_JSON, "",             bulks_start,    "do something to all that match a filter"},
    {"GET",  "/v1/bulk/{id}",            ROUTE_BODY_NONE,  TYPE_NONE, "",             bulks_show,     "how far it has come"},
    {"POST", "/v1/bulk/{id}/stop",       ROUTE_BODY_SMALL, TYPE_JSON, "",             bulks_stop,     "leave the rest as it is"},
    {"GET",  "/v1/tasks/{id}/explain",   ROUTE_BODY_NONE,  TYPE_NONE, "",             tasks_explain,  "what happens next to it; of a one-time task, what its job waits for"},
    {"POST", "/v1/tasks/{id}/backfill",  ROUTE_BODY_SMALL, TYPE_JSON, "",             tasks_backfill, "run instants of its schedule that have passed"},
    {"GET",  "/v1/cron/preview",         ROUTE_BODY_NONE,  TYPE_NONE, "cron timezone count from exclude dst_gap dst_overlap name task", cron_preview, "when a cron pattern or a task's schedule fires, and what it means"},
    {"GET",  "/v1/upcoming",             ROUTE_BODY_NONE,  TYPE_NONE, "until limit cursor", upcoming_show, "what is coming over all tasks: planned jobs, and instants without a job yet"},
    {"GET",  "/v1/backup",               ROUTE_BODY_NONE,  TYPE_NONE, "",             ops_backup,    "a copy of the SQLite database, as it is at this moment"},
    {"GET",  "/v1/stats",                ROUTE_BODY_NONE,  TYPE_NONE, "",             stats_show,    "jobs per state; rates, lateness, SLA of the last minute"},
    {"GET",  "/v1/stats/series",         ROUTE_BODY_NONE,  TYPE_NONE, "from to step", stats_series,  "the same over time"},
    {"GET",  "/v1/events",               ROUTE_BODY_NONE,  TYPE_NONE, "task queue type", event_streams_stream, "what happens, as it happens (SSE)"},
    {"POST", "/tasks",                   ROUTE_BODY_BULK,  TYPE_JSON | TYPE_NDJSON, "brief", tasks_submit, "the same as POST /v1/tasks"},
    {"GET",  "/tasks/{id}",              ROUTE_BODY_NONE,  TYPE_NONE, "",             tasks_show,    "the same as GET /v1/tasks/{id}"},
    {"POST", "/task/create",             ROUTE_BODY_ONE,   TYPE_JSON, "",             tasks_create,  "submit one task; takes schedule_at for at, total_retry for retry.max"},
    {"GET",  "/task/status",             ROUTE_BODY_NONE,  TYPE_NONE, "id",           tasks_status,  "the same as GET /v1/tasks/{id}"},
    {"GET",  "/healthz",                 ROUTE_BODY_NONE,  TYPE_NONE, "",             ops_health,    "the process lives", true},
    {"GET",  "/readyz",                  ROUTE_BODY_NONE,  TYPE_NONE, "",             ops_ready,     "it can do its work; says what not", true},
    {"GET",  "/openapi.json",            ROUTE_BODY_NONE,  TYPE_NONE, "",             ops_openapi,   "these routes, for machines (OpenAPI 3.1)", true},
    {"GET",  "/docs/errors",             ROUTE_BODY_NONE,  TYPE_NONE, "",             ops_errors,    "what the codes of refusals mean", true},
    {"GET",  "/metrics",                 ROUTE_BODY_NONE,  TYPE_NONE, "",             metrics_show,  "counters and histograms for Prometheus", true},
    {"GET",  "/",                        ROUTE_BODY_NONE,  TYPE_NONE, "",             ops_root,      "this page", true},
};
// clang-format on

const struct route *route_table(size_t *ret_count)
{
    *ret_count = array_count(routes);
    return routes;
}

// Takes a byte off the front of a path, unescaped. A slash that was escaped is no end of a segment, and stands in no pattern: -1.
static int take_byte(const char **at, const char *end)
{
    int byte = (unsigned char)**at, meant = byte == '%' ? str_escaped((struct str){*at, (size_t)(end - *at)}) : -1;
    *at += meant < 0 ? 1 : 3;
    return meant < 0 ? byte : meant == '/' ? -1 : meant;
}

struct str route_unescape(struct str segment, struct arena *arena)
{
    if (!segment.n || !memchr(segment.p, '%', segment.n))
        return segment;
    const char *at = segment.p, *end = segment.p + segment.n;
    struct str text = arena_copy(arena, segment);
    char *to = (char *)text.p;
    while (at < end) {
        int byte = take_byte(&at, end);
        *to++ = (char)(byte < 0 ? '/' : byte);
    }
    *to = 0;
    return (struct str){text.p, (size_t)(to - text.p)};
}

// A placeholder stands for one segment that is not empty.
static bool path_matches(const char *pattern, struct str path, struct str *ret_param)
{
    const char *at = path.p, *end = path.p + path.n;
    *ret_param = (struct str){0};
    while (*pattern) {
        if (*pattern != '{') {
            if (at == end || take_byte(&at, end) != (unsigned char)*pattern++)
                return false;
            continue;
        }
        const char *from = at;
        while (at < end && *at != '/')
            at++;
        if (at == from)
            return false;
        *ret_param = (struct str){from, (size_t)(at - from)};
        pattern = strchr(pattern, '}') + 1;
    }
    return at == end;
}

static bool method_matches(const char *have, struct str method)
{
    return str_is(method, have) || (str_is(method, "HEAD") && str_is(STR("GET"), have));
}

enum err route_find(struct str method, struct str path, const struct route **ret_route, struct str *ret_param)
{
    enum err err = ERR_NOT_FOUND;
    for (size_t i = 0; i < array_count(routes); i++) {
        if (!path_matches(routes[i].path, path, ret_param))
            continue;
        if (method_matches(routes[i].method, method)) {
            *ret_route = &routes[i];
            return ERR_OK;
        }
        err = ERR_METHOD_NOT_ALLOWED;
    }
    return err;
}

void route_allow(struct str path, struct buf *buf)
{
    struct str param;
    for (size_t i = 0; i < array_count(routes); i++) {
        if (!path_matches(routes[i].path, path, &param))
            continue;
        if (buf->n)
            buf_puts(buf, ", ");
        buf_puts(buf, routes[i].method);
        if (str_is(STR("GET"), routes[i].method))
            buf_puts(buf, ", HEAD");
    }
}

static bool charset_fits(struct str params)
{
    while (params.n) {
        struct str value = str_trim(str_cut(&params, ';'));
        struct str name = str_cut(&value, '=');
        if (!str_eq_nocase(name, STR("charset")))
            continue;
        if (value.n >= 2 && value.p[0] == '"' && value.p[value.n - 1] == '"')
            value = (struct str){value.p + 1, value.n - 2};
        if (!str_eq_nocase(value, STR("utf-8")))
            return false;
    }
    return true;
}

enum route_type route_type(struct str content_type)
{
    struct str rest = content_type;
    struct str type = str_trim(str_cut(&rest, ';'));
    if (!type.n)
        return TYPE_NONE;
    if (!charset_fits(rest))
        return TYPE_OTHER;
    if (str_eq_nocase(type, STR("application/json")))
        return TYPE_JSON;
    if (str_eq_nocase(type, STR("application/merge-patch+json")))
        return TYPE_MERGE;
    return str_eq_nocase(type, STR("application/x-ndjson")) ? TYPE_NDJSON : TYPE_OTHER;
}

struct query_check {
    const struct route *route;
    struct arena *arena;
    struct problem *why;
    unsigned seen; // which of the route's names, by their place
};

// What other APIs call a parameter.
static const struct {
    const char *ours, *theirs;
} asked_as[] = {
    {"state", "status"},   {"state", "outcome"},     {"label.*", "label"},   {"label.*", "labels"}, {"label.*", "tag"},
    {"label.*", "tags"},   {"limit", "per_page"},    {"limit", "page_size"}, {"limit", "count"},    {"limit", "size"},
    {"limit", "max"},      {"cursor", "page"},       {"cursor", "offset"},   {"cursor", "next"},    {"cursor", "after"},
    {"due_before", "due"}, {"due_before", "before"}, {"task", "task_id"},    {"type", "types"},     {"type", "event"},
    {"from", "since"},     {"to", "until"},          {"until", "to"},        {"step", "interval"},  {"sla_met", "late"},
};

// The parameter of this route that was probably meant, or one without text.
static struct str guess_parameter(const struct route *route, struct str name)
{
    struct str names = str_of(route->query), best = {0};
    size_t least = STR_FAR;
    while (names.n) {
        struct str known = str_cut(&names, ' ');
        for (size_t i = 0; i < array_count(asked_as); i++)
            if (str_is(known, asked_as[i].ours) && str_eq_nocase(name, str_of(asked_as[i].theirs)))
                return known;
        if (str_nearer(name, known, &least))
            best = known;
    }
    return best;
}

static void refuse_parameter(struct query_check *check, struct str name)
{
    struct str meant = guess_parameter(check->route, name);
    const char *field = arena_copy(check->arena, name).p;
    if (!check->route->query[0])
        problem_set(check->why, ERR_UNKNOWN_FIELD, field, "There is no such query parameter here; none is allowed.");
    else if (meant.n)
        problem_set(check->why, ERR_UNKNOWN_FIELD, field,
                    "There is no such query parameter here; did you mean " STR_FMT "? Allowed: %s.", STR_ARG(meant),
                    check->route->query);
    else
        problem_set(check->why, ERR_UNKNOWN_FIELD, field, "There is no such query parameter here; allowed: %s.",
                    check->route->query);
}

static bool check_parameter(void *ctx, struct str name, struct str value)
{
    struct query_check *check = ctx;
    struct str names = str_of(check->route->query);
    for (unsigned bit = 1; names.n; bit <<= 1) {
        struct str known = str_cut(&names, ' ');
        bool family = known.p[known.n - 1] == '*'; // any name that begins so; whoever reads them tells twice the same
        if (family ? !str_starts(name, (struct str){known.p, known.n - 1}) : !str_eq(known, name))
            continue;
        if (family || !(check->seen & bit)) {
            check->seen |= bit;
            return true;
        }
        problem_set(check->why, ERR_INVALID_FIELD, arena_copy(check->arena, name).p, "The query parameter is given twice.");
        return false;
    }
    refuse_parameter(check, name);
    return false;
}

static enum err check_query(struct http_request *request, const struct route *route, struct problem *why)
{
    struct query_check check = {.route = route, .arena = http_arena(request), .why = why};
    return http_query_each(request, check_parameter, &check) ? ERR_OK : why->err;
}

// A body without a type is taken as JSON; no body needs no type.
static enum err check_type(struct http_request *request, const struct route *route, struct problem *why)
{
    struct str length = http_header(request, "Content-Length");
    bool has_body = (length.p && !str_is(length, "0")) || http_header(request, "Transfer-Encoding").p;
    if (!has_body || !route->types)
        return ERR_OK;
    enum route_type type = route_type(http_header(request, "Content-Type"));
    if (type == TYPE_NONE || (route->types & type))
        return ERR_OK;
    return problem_set(why, ERR_UNSUPPORTED_TYPE, NULL, "Send Content-Type: application/json%s%s, in UTF-8 (curl has --json).",
                       route->types & TYPE_NDJSON ? " or application/x-ndjson" : "",
                       route->types & TYPE_MERGE ? " or application/merge-patch+json" : "");
}

static enum err check_path(struct http_request *request, const struct route **ret_route, struct problem *why)
{
    struct str param;
    struct str path = http_path(request);
    enum err err = route_find(http_method(request), path, ret_route, &param);
    if (err == ERR_NOT_FOUND)
        return problem_set(why, err, NULL, "There is no such path. GET / lists those there are.");
    if (err == ERR_METHOD_NOT_ALLOWED) {
        buf_auto struct buf allow = {0};
        route_allow(path, &allow);
        const char *methods = arena_copy(http_arena(request), buf_str(&allow)).p;
        http_header_set(request, "Allow", methods);
        return problem_set(why, err, NULL, "This path takes %s.", methods);
    }
    return err;
}

static enum err check_role(const struct api *api, const struct route *route, struct problem *why)
{
    if (!api->no_api || route->everywhere)
        return ERR_OK;
    return problem_set(why, ERR_NOT_HERE, NULL,
                       "This node runs jobs and takes no requests about them: ask one that has the role api.");
}

static enum err check_crowd(struct http_request *request, const struct route *route, struct problem *why)
{
    if (route->everywhere || !http_crowded(request))
        return ERR_OK;
    return problem_set(why, ERR_BUSY, NULL, "All connections of this server are taken (http.connections). Nothing was done.");
}

size_t api_begin(void *ctx, struct http_request *request)
{
    const struct api *api = ctx;
    const struct route *route = NULL;
    struct problem why = {0};
    int32_t tenant;
    enum err err = auth_place(api, request, &why);
    if (!err)
        err = auth_tenant(api, request, &tenant, &why);
    if (!err)
        err = check_path(request, &route, &why);
    if (!err)
        err = check_role(api, route, &why);
    if (!err)
        err = check_crowd(request, route, &why);
    if (!err)
        err = check_query(request, route, &why);
    if (!err)
        err = check_type(request, route, &why);
    if (!err)
        return route->body_max;
    problem_reply(request, &why);
    return 0;
}

void api_handle(void *ctx, struct http_request *request)
{
    struct api_call call = {.api = ctx, .request = request};
    const struct route *route = NULL;
    struct problem why = {0};
    enum err err = auth_tenant(call.api, request, &call.tenant, &why);
    if (!err)
        err = route_find(http_method(request), http_path(request), &route, &call.param);
    call.param = route_unescape(call.param, http_arena(request));
    if (err)
        problem_say(request, err, NULL, "%s", err_info(err)->title);
    else
        route->handle(&call);
}

void api_refuse(void *ctx, struct http_request *request, enum err err, const char *detail)
{
    problem_say(request, err, NULL, "%s", detail ? detail : err_info(err)->title);
}

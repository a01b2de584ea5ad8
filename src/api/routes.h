// The routes: one table says which methods and paths there are, how large and of which type a body may be, and who handles it.
// Layer: api. Finding a route is pure.
#pragma once
#include "api/handlers.h"
#include "core/task/task.h"

enum {
    ROUTE_BODY_NONE = 0,
    ROUTE_BODY_SMALL = 64 * 1024,
    ROUTE_BODY_ONE = TASK_DOC_MAX,
    ROUTE_BODY_RESULT = JOB_RESULT_MAX + ROUTE_BODY_SMALL,
    ROUTE_BODY_BULK = 16 * 1024 * 1024
};

enum route_type { TYPE_NONE, TYPE_JSON = 1, TYPE_NDJSON = 2, TYPE_OTHER = 4, TYPE_MERGE = 8 };

struct route {
    const char *method;
    const char *path; // one segment may be {id}, {queue} or {name}
    size_t body_max;
    unsigned types;    // enum route_type, those a body may have
    const char *query; // names of the parameters it takes, with a space between
    void (*handle)(const struct api_call *call);
    const char *about;
    bool everywhere; // also on a node without the role api, and when all connections are taken
};

// ERR_NOT_FOUND: no such path. ERR_METHOD_NOT_ALLOWED: it has other methods. HEAD is taken where GET is. The path may have
// escapes, and what stands for a placeholder has them still: it was cut at the slashes that are none.
err_check enum err route_find(struct str method, struct str path, const struct route **ret_route, struct str *ret_param);

struct str route_unescape(struct str segment, struct arena *arena);
void route_allow(struct str path, struct buf *buf);  // the methods of a path, as header Allow has them
enum route_type route_type(struct str content_type); // TYPE_NONE when there is none
const struct route *route_table(size_t *ret_count);  // for the page that lists them, and for tests

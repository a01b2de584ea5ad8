// What a request costs grows with its bytes, and hardly faster: every route is asked with every shape of input that makes readers
// slow, once with n bytes and once with four times as many. guard.py compares the two counts; n log n passes, n * n does not.
//
// The API is the shipped one, its neighbours are played (tests/unit/fake_api.h). Under callgrind each request is a part of its
// own, `POST__v1_tasks__many_keys 6000`; without, the program only shows that every request is answered.
#include "unit/fake_api.h"

#include "api/routes.h"
#include "core/task/patch.h"
#include "http/server/head.h"
#include "store/jobs.h"

#include <valgrind/callgrind.h>

enum { BODY = 6000, HEAD = 3000, TIMES = 4, PART_NAME = 120 };

// ---- shapes of bodies

static void put_many_keys(struct buf *buf, size_t size)
{
    buf_putc(buf, '{');
    size_t end = buf->n + size;
    for (int i = 0; buf->n < end; i++)
        buf_printf(buf, "%s\"k%x\":0", i ? "," : "", i);
    buf_putc(buf, '}');
}

// They differ only in their last letters, and none is written as it reads.
static void put_alike_keys(struct buf *buf, size_t size)
{
    buf_putc(buf, '{');
    size_t end = buf->n + size;
    for (int i = 0; buf->n < end; i++)
        buf_printf(buf, "%s\"\\u0061aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa%06x\":0", i ? "," : "", i);
    buf_putc(buf, '}');
}

// Objects in objects, as deep as may be, each with two keys that have escapes; then the same again.
static void put_deep(struct buf *buf, size_t size)
{
    enum { DEPTH = 26 };
    size_t end = buf->n + size;
    buf_putc(buf, '[');
    for (int i = 0; buf->n < end; i++) {
        buf_puts(buf, i ? "," : "");
        for (int depth = 0; depth < DEPTH; depth++)
            buf_puts(buf, "{\"\\u0061\":[],\"b\":");
        buf_puts(buf, "0");
        for (int depth = 0; depth < DEPTH; depth++)
            buf_putc(buf, '}');
    }
    buf_putc(buf, ']');
}

static void put_repeated(struct buf *buf, size_t size, const char *open, const char *text, const char *close)
{
    size_t end = buf->n + size;
    buf_puts(buf, open);
    while (buf->n < end)
        buf_puts(buf, text);
    buf_puts(buf, close);
}

static void put_escapes(struct buf *buf, size_t size)
{
    put_repeated(buf, size, "\"", "\\ud83d\\ude00\\n\\\"", "\"");
}

static void put_digits(struct buf *buf, size_t size)
{
    put_repeated(buf, size, "0.", "9", "e1");
}

static void put_zeros(struct buf *buf, size_t size)
{
    put_repeated(buf, size, "1.", "0", "");
}

static void put_brackets(struct buf *buf, size_t size)
{
    put_repeated(buf, size, "[", "[],", "[]]");
}

static void put_text(struct buf *buf, size_t size)
{
    put_repeated(buf, size, "\"", "a.%41/-:", "\"");
}

static void put_long_key(struct buf *buf, size_t size)
{
    put_repeated(buf, size, "{\"", "a\\u0061", "\":0}");
}

static void put_space(struct buf *buf, size_t size)
{
    put_repeated(buf, size, "[", " \n", "]");
}

static void put_unclosed(struct buf *buf, size_t size)
{
    put_repeated(buf, size, "", "[{\"a\":", "");
}

static const struct value {
    const char *name;
    void (*put)(struct buf *buf, size_t size);
} values[] = {{"many_keys", put_many_keys}, {"long_key", put_long_key}, {"alike_keys", put_alike_keys},
              {"deep", put_deep},           {"escapes", put_escapes},   {"digits", put_digits},
              {"zeros", put_zeros},         {"brackets", put_brackets}, {"text", put_text},
              {"space", put_space},         {"unclosed", put_unclosed}};

// Where such a value stands in a body: a place for each field that is read in a way of its own, and which paths read it.
static const struct place {
    const char *paths, *name, *before, *after;
} places[] = {
    {"/", "", "", ""},
    {"/task", "body", "{\"url\":\"http://a/\",\"body\":", "}"},
    {"/task", "url", "{\"url\":", "}"},
    {"/task", "headers", "{\"url\":\"http://a/\",\"headers\":", "}"},
    {"/task", "labels", "{\"url\":\"http://a/\",\"labels\":", "}"},
    {"/task", "retry", "{\"url\":\"http://a/\",\"retry\":", "}"},
    {"/task", "codes", "{\"url\":\"http://a/\",\"success_codes\":", "}"},
    {"/task", "at", "{\"url\":\"http://a/\",\"at\":", "}"},
    {"/task", "in", "{\"url\":\"http://a/\",\"in\":", "}"},
    {"/task", "keyed", "{\"url\":\"http://a/\",\"key\":\"k\",\"body\":", "}"},
    {"/bulk", "filter", "{\"action\":\"cancel\",\"filter\":", "}"},
    {"/jobs/{id}/", "result", "{\"token\":\"t\",\"result\":", "}"},
    {"/jobs/{id}/", "reason", "{\"token\":\"t\",\"reason\":", "}"},
};

// ---- asking

static struct buf stored; // what the store has as a task's document: as large as what is asked

static void answer_get(struct store_get *get)
{
    get->task = (struct store_task){.id = 1, .tenant = 1, .version = 1, .queue = STR("default"), .doc = buf_str(&stored)};
    get->jobs = arena_array(&get->op.arena, struct job, 1);
    get->jobs[0] = (struct job){.id = 1, .task_id = 1, .tenant = 1, .state = JOB_DELAYED};
    get->job_count = 1;
}

static void answer_store(struct store_op *op)
{
    if (op->verb == STORE_GET)
        answer_get(container_of(op, struct store_get, op));
    else
        op->err = op->verb == STORE_BULKS ? ERR_NOT_FOUND : ERR_OK;
}

static void answer_steer(struct command *op)
{
    struct arena arena = {0};
    struct patched patched;
    op->err = ERR_OK;
    if (op->act == COMMAND_PATCH)
        op->err = patch_task(&patched, buf_str(&stored), op->patch, &arena, &op->problem);
    arena_done(&arena);
}

static void answer_settle(struct lease_report *op)
{
    op->err = ERR_LEASE_LOST;
}

// A part's name has letters, digits and underlines.
static void part_end(const char *method, const char *path, const char *place, const char *value, size_t size)
{
    char words[PART_NAME];
    snprintf(words, sizeof words, "%s_%s_%s_%s", method, path, place, value);
    for (char *at = words; *at; at++)
        if (!((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9')))
            *at = '_';
    snprintf(words + strlen(words), sizeof words - strlen(words), " %zu", size);
    CALLGRIND_DUMP_STATS_AT(words);
}

static void ask(const struct route *route, const char *query, const char *headers, struct str body)
{
    char target[16384];
    const char *open = strchr(route->path, '{'), *close = open ? strchr(open, '}') : NULL;
    snprintf(target, sizeof target, "%.*s%s%s%s%s", open ? (int)(open - route->path) : (int)strlen(route->path), route->path,
             !open                              ? ""
             : strstr(route->path, "/jobs/{")   ? "j0000000000001"
             : strstr(route->path, "/bulk/{")   ? "b0000000000001"
             : strstr(route->path, "/queues/{") ? "q"
                                                : "t0000000000001",
             close ? close + 1 : "", query[0] ? "?" : "", query);
    CALLGRIND_ZERO_STATS;
    struct http_request *request = fake_ask_str(route->method, target, headers, body);
    assert_true(request->answered && request->status < 500);
    fake_free(request);
}

static void ask_body(const struct route *route, const struct place *place, const struct value *value, size_t size)
{
    buf_auto struct buf body = {0};
    buf_puts(&body, place->before);
    value->put(&body, size);
    buf_puts(&body, place->after);
    stored.n = 0;
    buf_puts(&stored, "{\"url\":\"http://a/\",\"body\":");
    put_many_keys(&stored, size);
    buf_puts(&stored, "}");
    ask(route, "", NULL, buf_str(&body));
    part_end(route->method, route->path, place->name, value->name, size);
}

// As many tasks as fit, each wrong in a way whose words have to be found.
static void ask_many(const struct route *route, bool lines, const char *task, const char *name, size_t size)
{
    buf_auto struct buf body = {0};
    buf_puts(&body, lines ? "" : "[");
    for (int i = 0; body.n < size; i++)
        buf_printf(&body, "%s%s%s", i && !lines ? "," : "", task, lines ? "\n" : "");
    buf_puts(&body, lines ? "" : "]");
    ask(route, "", lines ? "Content-Type: application/x-ndjson" : NULL, buf_str(&body));
    part_end(route->method, route->path, lines ? "ndjson" : "array", name, size);
}

static void ask_bodies(const struct route *route, size_t size)
{
    static const struct {
        const char *name, *task;
    } tasks[] = {{"good", "{\"url\":\"http://a/\",\"key\":\"k\"}"},
                 {"unknown", "{\"url\":\"http://a/\",\"prioritty\":1}"},
                 {"broken", "{\"url\":"},
                 {"tiny", "1"}};
    bool takes_fields = route->body_max > ROUTE_BODY_SMALL || !strstr(route->path, "/task"); // others take no body but {}
    for (size_t i = 0; i < array_count(places); i++)
        for (size_t k = 0; k < array_count(values) && strstr(route->path, places[i].paths) && (takes_fields || !i); k++)
            ask_body(route, &places[i], &values[k], size);
    for (size_t i = 0; i < array_count(tasks) && route->types & TYPE_NDJSON; i++) {
        ask_many(route, true, tasks[i].task, tasks[i].name, size);
        ask_many(route, false, tasks[i].task, tasks[i].name, size);
    }
}

// ---- what stands before a body

static void ask_query(const struct route *route, struct str name, const char *text, size_t size)
{
    buf_auto struct buf query = {0};
    buf_put(&query, name);
    if (name.p[name.n - 1] == '*')
        query.n--;
    struct buf label = {0};
    put_repeated(&query, size, "=", text, "");
    buf_putc(&query, 0);
    ask(route, query.p, NULL, (struct str){0});
    buf_puts(&label, "query_");
    buf_put(&label, name);
    buf_putc(&label, 0);
    part_end(route->method, route->path, label.p, text, size);
    buf_done(&label);
}

static void ask_queries(const struct route *route, size_t size)
{
    struct str names = str_of(route->query);
    while (names.n) {
        const char *space = memchr(names.p, ' ', names.n);
        struct str name = {names.p, space ? (size_t)(space - names.p) : names.n};
        names = (struct str){names.p + name.n + (space != NULL), names.n - name.n - (space != NULL)};
        ask_query(route, name, "9", size);
        ask_query(route, name, "aA,:.", size);
    }
}

static void ask_header(const struct route *route, const char *name, const char *text, size_t size)
{
    buf_auto struct buf header = {0};
    buf_printf(&header, "%s: ", name);
    put_repeated(&header, size, "", text, "");
    buf_putc(&header, 0);
    ask(route, "", header.p, STR("{}"));
    part_end(route->method, route->path, name, text, size);
}

static void ask_headers(const struct route *route, size_t size)
{
    static const char *const names[] = {"Host",        "Origin",          "Authorization", "If-Match",
                                        "traceparent", "Idempotency-Key", "Accept",        "Content-Type"};
    static const char *const texts[] = {"a;b=c, ", "\"1\", ", "127."};
    for (size_t i = 0; i < array_count(names); i++)
        for (size_t k = 0; k < array_count(texts); k++)
            ask_header(route, names[i], texts[k], size);
}

// The head of a request as the server reads it: it comes byte by byte, then it is taken apart.
static void read_head(const char *name, const char *line, size_t size)
{
    buf_auto struct buf head = {0};
    struct head parsed;
    struct arena arena = {0};
    size_t scanned = 0, n = 0;
    buf_puts(&head, "GET /v1/tasks HTTP/1.1\r\nHost: localhost\r\n");
    put_repeated(&head, size, "", line, "\r\n\r\n");
    CALLGRIND_ZERO_STATS;
    for (size_t came = 1; came <= head.n && !n; came++)
        n = head_size((struct str){head.p, came}, &scanned);
    assert_true(n > 0);
    (void)head_read(buf_str(&head), &arena, &parsed);
    part_end("head", "", "", name, size);
    arena_done(&arena);
}

static bool is_other_name(const struct route *routes, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (routes[i].handle == routes[at].handle)
            return true;
    return false;
}

int main(void)
{
    size_t count;
    const struct route *routes = route_table(&count);
    fake.on_store = answer_store;
    fake.on_command = answer_steer;
    fake.on_lease_report = answer_settle;
    for (size_t size = 1; size <= TIMES; size *= TIMES) {
        for (size_t i = 0; i < count; i++) {
            if (is_other_name(routes, i))
                continue;
            if (routes[i].body_max)
                ask_bodies(&routes[i], size * BODY);
            ask_queries(&routes[i], size * HEAD);
            if (routes[i].body_max >= ROUTE_BODY_ONE)
                ask_headers(&routes[i], size * HEAD);
        }
        read_head("fields", "a: b\r\n", size * HEAD / 2);
        read_head("feeds", "a:\n", size * HEAD / 2);
        read_head("long", "abc, ", size * HEAD);
    }
    buf_done(&stored);
    return 0;
}

// The API from the request line to the answer, with its neighbours played (tests/unit/fake_api.h): every request is answered
// once, never with a 5xx, and every answer is the JSON it says it is. Input: a line `METHOD /path?query type`, then the body.
#include "unit/fake_api.h"

#include "api/routes.h"
#include "fuzz.h"

// The store is empty: nothing is found, no list has a row.
static void find_nothing(struct store_op *op)
{
    op->err = ERR_NOT_FOUND;
}

static void steer_nothing(struct steer_op *op)
{
    op->err = ERR_NOT_FOUND;
}

// What http/server makes of a target, but for the escapes.
static void split_target(struct http_request *request, struct str target)
{
    request->path = fuzz_cut(&target, '?');
    while (target.n && request->query_count < FAKE_PAIRS) {
        struct str value = fuzz_cut(&target, '&'), name = fuzz_cut(&value, '=');
        request->query[request->query_count++] = (struct fake_pair){name, value};
    }
}

static bool is_json(const char *type)
{
    return type && (strcmp(type, "application/json") == 0 || strcmp(type, "application/problem+json") == 0);
}

// A JSON pointer into the body.
static void check_field(struct json field, struct arena *arena)
{
    if (field.type == JSON_ABSENT)
        return;
    const char *text = arena_copy(arena, json_text(field, arena)).p;
    must(text[0]);
    for (const char *tilde = strchr(text, '~'); tilde; tilde = strchr(tilde + 1, '~'))
        must(tilde[1] == '0' || tilde[1] == '1');
}

static void check_answer(struct http_request *request)
{
    struct json reply;
    char why[ERR_WHY_MAX];
    must(request->status >= 200 && request->status < 500);
    must(is_json(request->type) || request->status < 400);
    if (!is_json(request->type))
        return;
    must(json_check(buf_str(&request->reply), &reply, why) == ERR_OK);
    if (request->status < 400)
        return;
    must(strcmp(request->type, "application/problem+json") == 0);
    must(json_member(reply, STR("code")).type == JSON_STRING);
    must(json_member(reply, STR("detail")).type == JSON_STRING);
    must(json_member(reply, STR("request_id")).type == JSON_STRING);
    if (!request->query_count) // the name of a parameter may be anything
        check_field(json_member(reply, STR("field")), &request->arena);
}

static void add_header(struct http_request *request, struct str name, struct str value)
{
    request->headers[request->header_count++] = (struct fake_pair){name, value};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str body = fuzz_input(data, size), type = fuzz_cut(&body, '\n');
    struct str method = fuzz_cut(&type, ' '), target = fuzz_cut(&type, ' ');
    struct http_request *request = mem_zero(sizeof *request);
    fake.on_store = find_nothing;
    fake.on_steer = steer_nothing;
    arena_init(&request->arena);
    request->method = method;
    request->body = body;
    split_target(request, target);
    add_header(request, STR("Host"), STR("localhost"));
    if (body.n)
        add_header(request, STR("Content-Length"), STR("1"));
    if (type.n)
        add_header(request, STR("Content-Type"), type);
    fake_run(request);
    check_answer(request);
    fake_free(request);
    return 0;
}

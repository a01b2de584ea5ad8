// The API from the request line to the answer, with its neighbours played (tests/unit/fake_api.h): every request is answered
// once, never with a 5xx, and every answer is the JSON it says it is. What a submit stores can be read and changed. Input: a line
// `METHOD /path?query type`, then the body. It is asked twice, the second time with the headers that say something of a task.
#include "unit/fake_api.h"

#include "api/routes.h"
#include "core/task/patch.h"
#include "fuzz.h"

// The store is empty: nothing is found, no list has a row.
static void find_nothing(struct store_op *op)
{
    op->err = ERR_NOT_FOUND;
}

static void command_nothing(struct command *op)
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

// With an empty patch it stays the task that it is.
static void check_stored(struct str doc)
{
    struct arena arena;
    struct task task;
    struct patched patched;
    struct problem why = {0};
    char words[ERR_WHY_MAX];
    arena_init(&arena);
    must(doc.n <= TASK_DOC_MAX && task_read(&task, doc, &arena, words));
    must(patch_task(&patched, doc, (struct json){JSON_OBJECT, STR("{}")}, &arena, &why) == ERR_OK);
    buf_auto struct buf first = {0}, second = {0};
    task_render(&task, &first);
    task_render(&patched.task, &second);
    must(str_eq(buf_str(&first), buf_str(&second)));
    arena_done(&arena);
}

static void check_added(struct admission *admission)
{
    for (size_t i = 0; i < admission->count; i++)
        check_stored(admission->tasks[i].doc);
}

static void add_header(struct http_request *request, struct str name, struct str value)
{
    request->headers[request->header_count++] = (struct fake_pair){name, value};
}

static void ask(struct str body, bool with_headers)
{
    struct str type = fuzz_cut(&body, '\n');
    struct str method = fuzz_cut(&type, ' '), target = fuzz_cut(&type, ' ');
    struct http_request *request = mem_zero(sizeof *request);
    fake.on_add = check_added;
    fake.on_store = find_nothing;
    fake.on_command = command_nothing;
    arena_init(&request->arena);
    request->method = method;
    request->body = body;
    split_target(request, target);
    add_header(request, STR("Host"), STR("localhost"));
    if (body.n)
        add_header(request, STR("Content-Length"), STR("1"));
    if (type.n)
        add_header(request, STR("Content-Type"), type);
    if (with_headers) {
        add_header(request, STR("traceparent"), STR("00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"));
        add_header(request, STR("Idempotency-Key"), STR("k\"\\"));
    }
    fake_run(request);
    check_answer(request);
    fake_free(request);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str input = fuzz_input(data, size);
    ask(input, false);
    ask(input, true);
    return 0;
}

// Complete, fail and heartbeat, by the token an attempt was sent: the request waits for flow/commands/lease_reports, and is then
// answered with the job, read afresh. The token alone is the right to it.
#include "api/params.h"
#include "api/read.h"
#include "api/reply.h"

enum { REASON_MAX = 1024 };

struct settling {
    struct lease_report op;
    struct api_call call;
};

// What the body of a report may have.
struct report {
    enum lease_report_kind kind;
    const char *fields[4]; // ends with NULL
    const char *about;
};

static const struct report reports[] = {
    [LEASE_COMPLETE] = {LEASE_COMPLETE, {"token", "result"}, "token and result"},
    [LEASE_FAIL] = {LEASE_FAIL, {"token", "reason", "retry"}, "token, reason and retry"},
    [LEASE_HEARTBEAT] = {LEASE_HEARTBEAT, {"token", "progress"}, "token and progress"},
};

static void settle_done(struct lease_report *op)
{
    struct settling *settling = op->ctx;
    http_resume(settling->call.request);
}

static void answer(struct http_request *request, void *state)
{
    struct settling *settling = state;
    const struct lease_report *op = &settling->op;
    if (op->err) {
        problem_store(request, op->err, op->why);
        return;
    }
    settling->call.tenant = op->job_tenant; // the token was right, whoever asks
    read_reply(&settling->call, &(struct read_plan){.what = READ_JOB, .id = op->job_id, .status = 200, .steered = true});
}

// ---- the body

static bool too_large(const struct api_call *call, const char *field, size_t size, size_t most)
{
    if (size <= most)
        return false;
    problem_say(call->request, ERR_TOO_LARGE, field, "It has %zu bytes; at most %zu are kept.", size, most);
    return true;
}

static bool take_text(const struct api_call *call, const char *field, struct json value, size_t most, struct str *ret_text)
{
    *ret_text = value.type == JSON_STRING ? json_text(value, http_arena(call->request)) : (struct str){0};
    if (ret_text->n && ret_text->n <= most)
        return true;
    problem_say(call->request, ERR_INVALID_FIELD, field, "It must be a string of 1 to %zu bytes.", most);
    return false;
}

static bool take_field(const struct api_call *call, struct lease_report *op, struct str name, struct json value)
{
    bool null = value.type == JSON_NULL;
    if (str_is(name, "token"))
        return take_text(call, "/token", value, ORDER_TICKET_SIZE * 4, &op->ticket);
    if (str_is(name, "reason"))
        return take_text(call, "/reason", value, REASON_MAX, &op->reason);
    if (str_is(name, "result")) {
        op->result = !null ? value.raw : (struct str){0};
        return !too_large(call, "/result", op->result.n, JOB_RESULT_MAX);
    }
    if (str_is(name, "progress")) {
        op->result = null ? STR("") : value.raw; // null takes back what was said before
        return !too_large(call, "/progress", op->result.n, JOB_PROGRESS_MAX);
    }
    op->no_retry = value.type == JSON_FALSE;
    if (value.type == JSON_TRUE || op->no_retry)
        return true;
    problem_say(call->request, ERR_INVALID_FIELD, "/retry", "It is true or false.");
    return false;
}

static bool has_field(const struct report *report, struct str name)
{
    for (const char *const *field = report->fields; *field; field++)
        if (str_is(name, *field))
            return true;
    return false;
}

static bool take_fields(const struct api_call *call, const struct report *report, struct json doc, struct lease_report *op)
{
    struct arena *arena = http_arena(call->request);
    struct json key, value;
    for (struct json_iter iter = json_iter(doc); json_next(&iter, &key, &value);) {
        struct str name = json_text(key, arena);
        if (!has_field(report, name)) {
            problem_say(call->request, ERR_UNKNOWN_FIELD, arena_printf(arena, "/%.80s", arena_copy(arena, name).p).p,
                        "There is no such field here: it takes %s.", report->about);
            return false;
        }
        if (!take_field(call, op, name, value))
            return false;
    }
    const char *missing = !op->ticket.n ? "/token" : report->kind == LEASE_FAIL && !op->reason.n ? "/reason" : NULL;
    if (missing)
        problem_say(call->request, ERR_MISSING_FIELD, missing, "%s",
                    op->ticket.n ? "Say in a few words why it failed." : "The token is what the target was sent in Rota-Token.");
    return !missing;
}

static bool take_body(const struct api_call *call, const struct report *report, struct lease_report *op)
{
    struct json doc;
    if (!params_json(call, &doc))
        return false;
    if (doc.type == JSON_OBJECT)
        return take_fields(call, report, doc, op);
    problem_say(call->request, ERR_INVALID_FIELD, NULL, "The body must be a JSON object with %s.", report->about);
    return false;
}

static void submit(const struct api_call *call, enum lease_report_kind kind)
{
    struct settling *settling = arena_alloc(http_arena(call->request), sizeof *settling);
    int64_t id;
    settling->call = *call;
    settling->op = (struct lease_report){.kind = kind, .tenant = call->tenant, .done = settle_done, .ctx = settling};
    if (!read_path_id(call, ID_JOB, &id) || !take_body(call, &reports[kind], &settling->op))
        return;
    settling->op.job_id = id;
    http_wait(call->request, answer, settling);
    lease_reports_submit(call->api->lease_reports, &settling->op);
}

void jobs_complete(const struct api_call *call)
{
    submit(call, LEASE_COMPLETE);
}

void jobs_fail(const struct api_call *call)
{
    submit(call, LEASE_FAIL);
}

void jobs_heartbeat(const struct api_call *call)
{
    submit(call, LEASE_HEARTBEAT);
}

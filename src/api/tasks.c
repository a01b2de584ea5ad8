// Submitting: one object, an array, or a line each (NDJSON). The body is checked, each document becomes a task of one admission,
// and the answer follows its commit.
//
// The answer to a single submit is written from what was stored, not read back. An answer to many holds only ids and refusals.
// Nothing is allocated for a task but from the request's arena and the admission's arrays, which are made once with the right
// size.
#include "api/params.h"
#include "api/read.h"
#include "api/render.h"
#include "api/reply.h"
#include "api/routes.h"
#include "base/clock.h"
#include "base/data/digest.h"
#include "base/text/when.h"
#include "core/task/task_headers.h"
#include "flow/zones.h"
#include "store/jobs.h"

#include <stdio.h>

enum { BULK_MAX = 10000, TASK_TEXT_SIZE = 1536 };

// What became of one document of many.
struct item {
    uint32_t at;                   // its place in the admission
    uint32_t line;                 // of NDJSON, from 1 on; empty ones count
    const struct problem *problem; // or why it has none
};

struct submission {
    struct admission admission;
    struct api_call call;
    struct task task; // of a single submit
    struct item *items;
    size_t count;
    bool many, brief;
    struct task_headers headers;
    struct buf scratch;
    struct now now;
};

// The digest is of the task as its user wrote it: another trace around the same submit is no other task.
static void make_digest(struct submission *submission, const struct task *task, uint8_t ret_digest[DIGEST_SIZE])
{
    submission->scratch.n = 0;
    task_render_for_key(task, &submission->scratch);
    digest_sha256(buf_str(&submission->scratch), ret_digest);
}

static enum err add_document(struct submission *submission, struct json doc, struct task *ret_task, struct problem *why)
{
    struct arena *arena = http_arena(submission->call.request);
    struct str text;
    uint8_t digest[DIGEST_SIZE];
    if (doc.type != JSON_OBJECT)
        return problem_set(why, ERR_INVALID_FIELD, NULL, "A task is a JSON object.");
    if (doc.raw.n > TASK_DOC_MAX)
        return problem_set(why, ERR_TOO_LARGE, NULL, "A task may have 1 MiB, this one has %zu bytes.", doc.raw.n);
    enum err err = task_parse(ret_task, doc, arena, why);
    if (!err)
        err = zones_check(submission->call.api->zones, ret_task, submission->now.wall_ms, arena, why);
    if (!err)
        err = task_headers_key(&submission->headers, ret_task, why);
    if (err)
        return why->err = err;
    if (ret_task->key.n)
        make_digest(submission, ret_task, digest);
    err = task_headers_document(&submission->headers, ret_task, doc, arena, &text, why);
    if (!err)
        err =
            admission_add(&submission->admission, ret_task, text, ret_task->key.n ? digest : NULL, submission->now.wall_ms, why);
    return why->err = err;
}

static void put_id(struct buf *body, int64_t id)
{
    buf_puts(body, "{\"id\":");
    render_id(body, ID_TASK, id);
    buf_putc(body, '}');
}

void tasks_reply_created(struct http_request *request, const struct admission *admission, const struct task *task)
{
    const struct store_new *item = &admission->addition.add.items[0];
    char location[sizeof "/v1/tasks/" + ID_TEXT_SIZE] = "/v1/tasks/";
    struct buf body = {0};
    id_format(location + strlen(location), ID_TASK, item->task->id);
    if (task) {
        struct task_view view = {.stored = item->task, .task = task, .jobs = item->jobs, .job_count = item->job_count};
        buf_reserve(&body, TASK_TEXT_SIZE);
        render_task(&body, &view, clock_now().wall_ms);
    } else {
        put_id(&body, item->task->id);
    }
    reply_version(request, item->task->version);
    http_header_set(request, "Location", location);
    reply_json(request, 201, &body);
}

static void answer_existing(struct submission *submission, int64_t id)
{
    if (!submission->brief) {
        read_reply(&submission->call,
                   &(struct read_plan){.what = READ_TASK, .id = id, .status = 200, .given = &submission->task});
        return;
    }
    struct buf body = {0};
    put_id(&body, id);
    reply_json(submission->call.request, 200, &body);
}

static enum err item_problem(const struct store_new *item, struct problem *ret_problem)
{
    char id[ID_TEXT_SIZE], at[WHEN_TEXT_SIZE];
    id_format(id, ID_TASK, item->existing_id);
    if (item->err == ERR_KEY_SPENT) {
        when_format(at, item->spent_at);
        return problem_set(ret_problem, item->err, "/key",
                           "Task %s had this key and was deleted at %s: nothing will run. Another key makes a new task.", id, at);
    }
    if (item->err == ERR_KEY_REUSED)
        return problem_set(ret_problem, item->err, "/key", "Task %s has this key and is not the same as this one.", id);
    return problem_set(ret_problem, item->err, NULL, "%s", err_info(item->err)->title);
}

static void answer_one(struct submission *submission)
{
    struct http_request *request = submission->call.request;
    const struct store_new *item = &submission->admission.addition.add.items[0];
    struct problem problem;
    if (item->err) {
        item_problem(item, &problem);
        problem_reply(request, &problem);
        return;
    }
    if (item->existing_id) {
        answer_existing(submission, item->existing_id);
        return;
    }
    tasks_reply_created(request, &submission->admission, submission->brief ? NULL : &submission->task);
}

// The id a document of many has now, or 0 and why it has none.
static int64_t item_id(const struct submission *submission, const struct item *item, struct problem *ret_problem)
{
    if (item->problem) {
        *ret_problem = *item->problem;
        return 0;
    }
    const struct store_new *stored = &submission->admission.addition.add.items[item->at];
    if (stored->err) {
        item_problem(stored, ret_problem);
        return 0;
    }
    return stored->existing_id ? stored->existing_id : submission->admission.tasks[item->at].id;
}

// What is no JSON says already where, but within its line.
static void name_line(struct problem *problem, uint32_t line)
{
    char words[ERR_WHY_MAX];
    const char *detail = problem->detail[0] ? problem->detail : err_info(problem->err)->title;
    bool placed = problem->err == ERR_INVALID_JSON && str_starts(str_of(detail), STR("Line 1,"));
    snprintf(words, sizeof words, "Line %u%s%.230s", line, placed ? "" : ": ", placed ? detail + strlen("Line 1") : detail);
    memcpy(problem->detail, words, sizeof words);
}

// With where the document stands in the body.
static void put_error(struct buf *body, struct problem *problem, const struct item *item, size_t index)
{
    if (item->line)
        name_line(problem, item->line);
    buf_puts(body, "{\"error\":{");
    problem_put(body, problem);
    buf_puts(body, item->line ? ",\"line\":" : ",\"index\":");
    buf_put_int(body, item->line ? item->line : (int64_t)index);
    buf_puts(body, "}}");
}

// Returns how many were refused.
static size_t put_results(const struct submission *submission, struct buf *body)
{
    struct problem problem;
    size_t refused = 0;
    buf_reserve(body, submission->count * 24 + 64);
    buf_puts(body, "{\"results\":[");
    for (size_t i = 0; i < submission->count; i++) {
        int64_t id = item_id(submission, &submission->items[i], &problem);
        if (i)
            buf_putc(body, ',');
        if (id) {
            put_id(body, id);
        } else {
            put_error(body, &problem, &submission->items[i], i);
            refused++;
        }
    }
    buf_puts(body, "]}");
    return refused;
}

// Only counts and ids, null where one was refused, so that the places still tell which is which.
static size_t put_brief(const struct submission *submission, struct buf *body)
{
    struct problem problem;
    size_t refused = 0;
    buf_reserve(body, submission->count * 18 + 64);
    buf_puts(body, "{\"ids\":[");
    for (size_t i = 0; i < submission->count; i++) {
        int64_t id = item_id(submission, &submission->items[i], &problem);
        if (i)
            buf_putc(body, ',');
        if (id)
            render_id(body, ID_TASK, id);
        else
            buf_puts(body, "null");
        refused += id == 0;
    }
    buf_printf(body, "],\"taken\":%zu,\"refused\":%zu}", submission->count - refused, refused);
    return refused;
}

static void answer_many(struct submission *submission)
{
    struct buf body = {0};
    size_t refused = submission->brief ? put_brief(submission, &body) : put_results(submission, &body);
    reply_json(submission->call.request, refused ? 207 : 201, &body);
}

static void answer(struct http_request *request, void *state)
{
    struct submission *submission = state;
    const struct store_op *op = &submission->admission.addition.add.op;
    if (op->err)
        problem_store(request, op->err, op->why);
    else if (submission->many)
        answer_many(submission);
    else
        answer_one(submission);
    admission_done(&submission->admission);
}

static void admitted(struct admission *admission)
{
    struct submission *submission = admission->ctx;
    http_resume(submission->call.request);
}

// The request waits before it is handed over, because the store may be done before admit_submit() returns.
static void submit(struct submission *submission)
{
    struct admission *admission = &submission->admission;
    admission->done = admitted;
    admission->ctx = submission;
    buf_done(&submission->scratch);
    http_wait(submission->call.request, answer, submission);
    enum err err = admit_submit(submission->call.api->admit, admission, submission->now);
    if (err) {
        admission->addition.add.op.err = err;
        http_resume(submission->call.request);
    }
}

static void submit_one(struct submission *submission, struct json doc)
{
    struct problem why = {0};
    admission_init(&submission->admission, submission->call.tenant, 1);
    enum err err = add_document(submission, doc, &submission->task, &why);
    if (!err) {
        submit(submission);
        return;
    }
    buf_done(&submission->scratch);
    admission_done(&submission->admission);
    problem_reply(submission->call.request, &why);
}

// The documents of one request, one after the other, whichever way they are written down.
struct source {
    bool lines;
    struct str rest;        // NDJSON: what is left of the body
    uint32_t line;          // … and how many lines are not
    struct json_iter items; // array
};

// False at the end. What is not JSON comes back as JSON_ABSENT, with `why`.
static bool next_document(struct source *source, struct json *ret_doc, struct problem *why)
{
    if (!source->lines)
        return json_next_item(&source->items, ret_doc);
    while (source->rest.n) {
        const char *end = memchr(source->rest.p, '\n', source->rest.n);
        struct str line = {source->rest.p, end ? (size_t)(end - source->rest.p) : source->rest.n};
        size_t taken = end ? line.n + 1 : line.n;
        source->rest = (struct str){source->rest.p + taken, source->rest.n - taken};
        source->line++;
        if (line.n && line.p[line.n - 1] == '\r')
            line.n--;
        if (!line.n)
            continue;
        why->err = json_check(line, ret_doc, why->detail);
        if (why->err)
            *ret_doc = (struct json){JSON_ABSENT, line};
        return true;
    }
    return false;
}

// Counted before anything is parsed, so that all arrays are made once. NDJSON lines that are empty count for nothing.
static size_t count_documents(struct source source)
{
    struct json doc;
    size_t count = 0;
    if (!source.lines) {
        while (json_next_item(&source.items, &doc))
            count++;
        return count;
    }
    const char *at = source.rest.p, *end = at + source.rest.n;
    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        line_end = line_end ? line_end : end;
        size_t n = (size_t)(line_end - at);
        count += n > 1 || (n == 1 && *at != '\r');
        at = line_end + 1;
    }
    return count;
}

static void take_documents(struct submission *submission, struct source *source)
{
    struct arena *arena = http_arena(submission->call.request);
    struct task task;
    struct json doc;
    for (size_t i = 0; i < submission->count; i++) {
        struct problem why = {0};
        struct item *item = &submission->items[i];
        if (!next_document(source, &doc, &why))
            break;
        item->at = (uint32_t)submission->admission.count;
        item->line = source->line;
        if (doc.type != JSON_ABSENT && !add_document(submission, doc, &task, &why))
            continue;
        struct problem *kept = arena_alloc(arena, sizeof *kept);
        *kept = why;
        item->problem = kept;
    }
}

static void submit_many(struct submission *submission, struct source source)
{
    struct http_request *request = submission->call.request;
    if (!params_no_key(&submission->call, "it names one task. In an array or NDJSON give each task its own `key`."))
        return;
    submission->many = true;
    submission->count = count_documents(source);
    if (submission->count > BULK_MAX) {
        problem_say(request, ERR_TOO_LARGE, NULL, "At most %d tasks at once, these are %zu. Send them in parts.", BULK_MAX,
                    submission->count);
        return;
    }
    submission->items = arena_array(http_arena(request), struct item, submission->count);
    admission_init(&submission->admission, submission->call.tenant, submission->count);
    take_documents(submission, &source);
    if (submission->admission.count) {
        submit(submission);
        return;
    }
    // Nothing to be stored: the refusals are the whole answer.
    buf_done(&submission->scratch);
    answer_many(submission);
    admission_done(&submission->admission);
}

static void submit_json(struct submission *submission)
{
    struct json value;
    if (!params_json(&submission->call, &value))
        return;
    if (value.type == JSON_OBJECT)
        submit_one(submission, value);
    else if (value.type == JSON_ARRAY)
        submit_many(submission, (struct source){.items = json_iter(value)});
    else
        problem_say(submission->call.request, ERR_INVALID_FIELD, NULL, "The body is a task (an object) or an array of tasks.");
}

static bool read_key(struct submission *submission)
{
    struct http_request *request = submission->call.request;
    struct str key = http_header(request, PARAMS_KEY);
    if (!key.p)
        return true;
    const char *wrong = task_headers_key_wrong(key);
    if (!wrong && http_header_count(request, PARAMS_KEY) > 1)
        wrong = "Idempotency-Key is given twice.";
    if (wrong)
        problem_say(request, ERR_INVALID_FIELD, PARAMS_KEY, "%s", wrong);
    submission->headers.key = arena_copy(http_arena(request), key); // the header goes when the client does
    return !wrong;
}

// NULL: it was refused.
static struct submission *begin(const struct api_call *call)
{
    struct submission *submission = arena_alloc(http_arena(call->request), sizeof *submission);
    submission->call = *call;
    submission->now = clock_now();
    struct str traceparent = http_header(call->request, "traceparent");
    if (task_traceparent_fits(traceparent))
        submission->headers.traceparent = arena_copy(http_arena(call->request), traceparent);
    return read_key(submission) ? submission : NULL;
}

void tasks_submit(const struct api_call *call)
{
    struct submission *submission = begin(call);
    if (!submission || !params_flag(call, "brief", &submission->brief))
        return;
    if (route_type(http_header(call->request, "Content-Type")) == TYPE_NDJSON)
        submit_many(submission, (struct source){.lines = true, .rest = http_body(call->request)});
    else
        submit_json(submission);
}

// The document with the names of now: schedule_at is `at`, total_retry is `retry.max`.
static struct str rename_fields(struct json doc, struct arena *arena)
{
    buf_auto struct buf text = {0};
    struct json key, value;
    struct json_iter iter = json_iter(doc);
    while (json_next(&iter, &key, &value)) {
        struct str name = json_text(key, arena);
        buf_putc(&text, text.n ? ',' : '{');
        if (str_is(name, "total_retry")) {
            buf_printf(&text, "\"retry\":{\"max\":" STR_FMT "}", STR_ARG(value.raw));
            continue;
        }
        buf_put(&text, str_is(name, "schedule_at") ? STR("\"at\"") : key.raw);
        buf_putc(&text, ':');
        buf_put(&text, value.raw);
    }
    buf_puts(&text, text.n ? "}" : "{}");
    return arena_copy(arena, buf_str(&text));
}

void tasks_create(const struct api_call *call)
{
    struct http_request *request = call->request;
    struct submission *submission = begin(call);
    struct json doc;
    char why[ERR_WHY_MAX];
    if (!submission || !params_json(call, &doc))
        return;
    if (doc.type != JSON_OBJECT)
        problem_say(request, ERR_INVALID_FIELD, NULL, "The body is a task: an object.");
    else if (json_check(rename_fields(doc, http_arena(request)), &doc, why))
        problem_say(request, ERR_INVALID_FIELD, NULL, "Give a field once: schedule_at is `at`, and total_retry is `retry.max`.");
    else
        submit_one(submission, doc);
}

// The API alone: its neighbours (HTTP server, admit, commands, lanes, store, time zones) are played by the functions below, in
// one thread. A test file that includes this gets the API's real objects from the library and these in place of the others'.
//
// fake_ask() sends a request through api_begin() and api_handle() until it is answered. What the store says is set by
// fake.on_store, what becomes of submitted items by fake.on_add.
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/api.h"
#include "base/mem.h"
#include "flow/commands/backfills.h"
#include "flow/commands/bulk.h"
#include "flow/zones.h"
#include "store/jobs.h"
#include "store/journal.h"

#include <stdio.h>
#include <stdlib.h>

enum { FAKE_PAIRS = 16 };

struct fake_pair {
    struct str name, value;
};

struct http_request {
    struct arena arena;
    struct str method, path, body;
    struct fake_pair headers[FAKE_PAIRS], query[FAKE_PAIRS], reply_headers[FAKE_PAIRS];
    int header_count, query_count, reply_header_count;
    void (*next)(struct http_request *request, void *state);
    void *state;
    bool resumed, answered;
    int status;
    const char *type;
    struct buf reply;
};

static struct {
    struct api api;
    void (*on_store)(struct store_op *op);
    void (*on_add)(struct admission *admission);
    void (*on_command)(struct command *op);
    void (*on_lease_report)(struct lease_report *op);
    enum err submit_err; // what admit_submit() refuses with
    int submits, pauses, pokes, room, live_admissions;
    bool paused;         // the queue
    struct str last_doc; // of the task that was added last
    bool last_had_digest;
    uint8_t last_digest[32];
} fake = {.api = {.listen = "127.0.0.1:7070"}};

// --- the HTTP port

struct str http_method(struct http_request *request)
{
    return request->method;
}

struct str http_path(struct http_request *request)
{
    return request->path;
}

bool http_crowded(struct http_request *request)
{
    return http_header(request, "X-Crowded").p;
}

struct str http_host(struct http_request *request)
{
    return http_header(request, "Host");
}

struct str http_header_list(struct http_request *request, const char *name)
{
    return http_header(request, name);
}

struct str http_body(struct http_request *request)
{
    return request->body;
}

struct arena *http_arena(struct http_request *request)
{
    return &request->arena;
}

static struct str fake_find(const struct fake_pair *pairs, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (str_eq_nocase(pairs[i].name, str_of(name)))
            return pairs[i].value;
    return (struct str){0};
}

struct str http_header(struct http_request *request, const char *name)
{
    return fake_find(request->headers, request->header_count, name);
}

size_t http_header_count(struct http_request *request, const char *name)
{
    size_t count = 0;
    for (int i = 0; i < request->header_count; i++)
        count += str_eq_nocase(request->headers[i].name, str_of(name));
    return count;
}

struct str http_query(struct http_request *request, const char *name)
{
    return fake_find(request->query, request->query_count, name);
}

bool http_query_each(struct http_request *request, bool (*each)(void *ctx, struct str name, struct str value), void *ctx)
{
    for (int i = 0; i < request->query_count; i++)
        if (!each(ctx, request->query[i].name, request->query[i].value))
            return false;
    return true;
}

void http_header_set(struct http_request *request, const char *name, const char *value)
{
    assert_true(request->reply_header_count < FAKE_PAIRS);
    request->reply_headers[request->reply_header_count++] =
        (struct fake_pair){str_of(name), arena_copy(&request->arena, str_of(value))};
}

void http_reply_file(struct http_request *request, const char *type, const struct http_file *file)
{
    fail_msg("no file is answered here");
}

void http_reply_head(struct http_request *request, const char *type)
{
    http_reply(request, 200, type, NULL);
}

void http_reply(struct http_request *request, int status, const char *type, struct buf *body)
{
    assert_false(request->answered);
    request->answered = true;
    request->status = status;
    request->type = type;
    if (body)
        request->reply = *body;
}

void http_wait(struct http_request *request, void (*next)(struct http_request *request, void *state), void *state)
{
    assert_null(request->next);
    request->next = next;
    request->state = state;
}

void http_resume(struct http_request *request)
{
    assert_non_null(request->next);
    request->resumed = true;
}

struct http_stream *http_reply_stream(struct http_request *request, const char *type, const struct http_stream_ops *ops,
                                      void *ctx)
{
    fail_msg("streams are tried over real sockets"); // tests/e2e/test_events.py
    return NULL;
}

void http_stream_wake(struct http_stream *stream)
{
}

void http_stream_cut(struct http_stream *stream)
{
}

// --- flow

bool stats_writer_now(struct stats_writer *stats_writer, struct store_minute_row *ret_key, struct stats_values *ret_values)
{
    return false;
}

bool beat_ok(const struct beat *beat)
{
    return true;
}

void admission_init(struct admission *admission, int32_t tenant, size_t max)
{
    *admission = (struct admission){.tenant = tenant, .max = max};
    admission->tasks = mem_zero(max * sizeof *admission->tasks);
    admission->jobs = mem_zero(max * sizeof *admission->jobs);
    admission->addition.add.items = mem_zero(max * sizeof *admission->addition.add.items);
    fake.live_admissions++;
}

void admission_done(struct admission *admission)
{
    mem_free(admission->tasks);
    mem_free(admission->jobs);
    mem_free(admission->addition.add.items);
    fake.live_admissions--;
}

enum err admission_add(struct admission *admission, const struct task *task, struct str doc, const uint8_t *digest,
                       int64_t now_ms, struct problem *why)
{
    size_t i = admission->count;
    int64_t scheduled_at, expires_at;
    assert_true(i < admission->max);
    enum err err = task_plan(task, now_ms, &scheduled_at, &expires_at, why);
    if (err)
        return err;
    admission->count++;
    admission->tasks[i] =
        (struct store_task){.tenant = admission->tenant, .created_at = now_ms, .version = 1, .queue = task->queue, .doc = doc};
    admission->jobs[i] = (struct job){.state = scheduled_at > now_ms ? JOB_DELAYED : JOB_READY,
                                      .tenant = admission->tenant,
                                      .scheduled_at = scheduled_at,
                                      .ready_at = scheduled_at,
                                      .due_at = scheduled_at};
    admission->addition.add.items[i] =
        (struct store_new){.task = &admission->tasks[i], .jobs = &admission->jobs[i], .job_count = 1, .key = task->key};
    fake.last_doc = doc;
    fake.last_had_digest = digest != NULL;
    if (digest)
        memcpy(fake.last_digest, digest, sizeof fake.last_digest);
    return ERR_OK;
}

enum err admit_submit(struct admit *admit, struct admission *admission, struct now now)
{
    fake.submits++;
    if (fake.submit_err)
        return fake.submit_err;
    for (size_t i = 0; i < admission->count; i++)
        admission->tasks[i].id = admission->jobs[i].id = admission->jobs[i].task_id = 1000 + (int64_t)i;
    if (fake.on_add)
        fake.on_add(admission);
    admission->done(admission);
    return ERR_OK;
}

// There is only UTC.
enum err zones_find(struct zones *zones, struct str name, const struct zone **ret_zone, char why[ERR_WHY_MAX])
{
    *ret_zone = &zone_utc;
    snprintf(why, ERR_WHY_MAX, "There is no such time zone.");
    return str_is(name, "UTC") ? ERR_OK : ERR_INVALID_FIELD;
}

bool zones_schedule(struct zones *zones, const struct task *task, int64_t task_id, int64_t since_ms, struct arena *arena,
                    struct schedule *ret_schedule, struct problem *why)
{
    const struct zone *zone;
    char words[ERR_WHY_MAX];
    why->err = zones_find(zones, task->recurs->timezone, &zone, words);
    if (why->err)
        problem_set(why, why->err, "/timezone", "%s", words);
    else
        why->err = task_schedule(task, task_id, since_ms, zone, arena, ret_schedule, why);
    return !why->err;
}

enum err zones_check(struct zones *zones, const struct task *task, int64_t now_ms, struct arena *arena, struct problem *why)
{
    struct schedule schedule;
    if (!task_recurs(task))
        return ERR_OK;
    return zones_schedule(zones, task, 0, now_ms, arena, &schedule, why) ? recurrence_check_ahead(task, &schedule, now_ms, why)
                                                                         : why->err;
}

void lease_reports_submit(struct lease_reports *lease_reports, struct lease_report *op)
{
    assert_non_null(fake.on_lease_report);
    fake.on_lease_report(op);
    op->done(op);
}

void commands_merge(struct commands *commands, struct command *op, int64_t now_ms)
{
    assert_non_null(fake.on_command);
    fake.on_command(op);
    op->done(op);
}

// What changes a task is asked to merge the document first, as by the real one.
void commands_submit(struct commands *commands, struct command *op)
{
    if (op->act == COMMAND_PATCH)
        op->merge(op);
    else
        commands_merge(commands, op, 0);
}
void lanes_pause(struct lanes *lanes, int64_t lane, int32_t tenant, struct str queue, bool paused)
{
    fake.pauses++;
}

bool lanes_is_paused(struct lanes *lanes, int64_t lane)
{
    return fake.paused;
}

bool lanes_is_queue_paused(struct lanes *lanes, int32_t tenant, struct str queue)
{
    return fake.paused;
}

struct lanes_view lanes_look(struct lanes *lanes, int64_t lane)
{
    return (struct lanes_view){.limit = fake.room ? LANES_FREE : LANES_JOBS_SHARE};
}

void dispatch_ask(struct dispatch *dispatch, struct dispatch_question *question)
{
    question->done(question);
}

int64_t slots_wait_ms(const struct slots_view *view, int64_t more)
{
    return 0;
}

void bulk_poke(struct bulk *bulk)
{
    fake.pokes++;
}

void backfills_poke(struct backfills *backfills)
{
    fake.pokes++;
}

int64_t node_make_id(struct node *node, int64_t wall_ms)
{
    return 77;
}

// --- the store port

void store_op_init(struct store_op *op, enum store_verb verb, void (*done)(struct store_op *op))
{
    *op = (struct store_op){.verb = verb, .done = done};
}

void store_op_done(struct store_op *op)
{
    arena_done(&op->arena);
}

void store_submit(struct store *store, struct store_op *op)
{
    assert_non_null(fake.on_store);
    fake.on_store(op);
    op->done(op);
}

// --- asking

// "a=1&b=2" or "A: x\nB: y" into pairs.
static int fake_split(struct fake_pair *ret_pairs, const char *text, char between, char end, int skip)
{
    int count = 0;
    while (text && *text) {
        const char *stop = strchr(text, end), *colon = strchr(text, between);
        stop = stop ? stop : text + strlen(text);
        assert_true(colon && colon < stop && count < FAKE_PAIRS);
        const char *value = colon + 1 + skip;
        ret_pairs[count++] = (struct fake_pair){{text, (size_t)(colon - text)}, {value, (size_t)(stop - value)}};
        text = *stop ? stop + 1 : stop;
    }
    return count;
}

static void fake_run(struct http_request *request)
{
    size_t limit = api_begin(&fake.api, request);
    if (!request->answered && request->body.n > limit)
        api_refuse(&fake.api, request, ERR_TOO_LARGE, "The body is too large.");
    if (!request->answered)
        api_handle(&fake.api, request);
    while (!request->answered) {
        assert_true(request->next && request->resumed);
        void (*next)(struct http_request *, void *) = request->next;
        request->next = NULL;
        request->resumed = false;
        next(request, request->state);
    }
    assert_int_equal(fake.live_admissions, 0);
}

// `headers` and `body` may be NULL. A Content-Length is added as a client would.
static struct http_request *fake_ask_str(const char *method, const char *target, const char *headers, struct str body)
{
    struct http_request *request = mem_zero(sizeof *request);
    const char *mark = strchr(target, '?');
    request->method = str_of(method);
    request->path = (struct str){target, mark ? (size_t)(mark - target) : strlen(target)};
    request->query_count = fake_split(request->query, mark ? mark + 1 : NULL, '=', '&', 0);
    request->header_count = fake_split(request->headers, headers, ':', '\n', 1);
    request->body = body;
    if (body.n)
        request->headers[request->header_count++] =
            (struct fake_pair){STR("Content-Length"), arena_printf(&request->arena, "%zu", body.n)};
    fake_run(request);
    return request;
}

static inline struct http_request *fake_ask(const char *method, const char *target, const char *headers, const char *body)
{
    return fake_ask_str(method, target, headers, str_of(body));
}

static inline void fake_free(struct http_request *request)
{
    buf_done(&request->reply);
    arena_done(&request->arena);
    mem_free(request);
}

static inline const char *fake_reply_header(struct http_request *request, const char *name)
{
    return fake_find(request->reply_headers, request->reply_header_count, name).p;
}

// The reply as a checked JSON value.
static inline struct json fake_json(struct http_request *request)
{
    struct json value;
    char why[ERR_WHY_MAX] = "";
    if (json_check(buf_str(&request->reply), &value, why))
        fail_msg("not JSON: %s: " STR_FMT, why, STR_ARG(buf_str(&request->reply)));
    return value;
}

// A member of a member…, by a path like "job.delays.queue"; numbers are places in arrays.
static inline struct json json_at(struct json value, const char *path)
{
    while (*path) {
        size_t n = strcspn(path, ".");
        if (value.type == JSON_ARRAY) {
            struct json_iter iter = json_iter(value);
            for (int i = atoi(path); i >= 0; i--)
                if (!json_next_item(&iter, &value))
                    return (struct json){0};
        } else {
            value = json_member(value, (struct str){path, n});
        }
        path += n + (path[n] == '.');
    }
    return value;
}

#define assert_json(value, path, expected)                                              \
    do {                                                                                \
        struct json found_ = json_at(value, path);                                      \
        if (!str_is(found_.raw, expected))                                              \
            fail_msg("%s is " STR_FMT ", not %s", path, STR_ARG(found_.raw), expected); \
    } while (0)

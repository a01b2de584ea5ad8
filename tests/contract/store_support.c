// See store_support.h. Directories are made in memory (/dev/shm) where there is one: these suites try what is promised, not the
// disk.
#include "store_support.h"

#include "store/journal.h"
#include "store/lives.h"
#include "store/peers.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *temp_root(void)
{
    const char *given = getenv("ROTA_TEST_DIR");
    return given ? given : access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
}

void world_url(const struct world *world, char ret_url[160])
{
    if (world->dir[0])
        snprintf(ret_url, 160, "sqlite:%s/data", world->dir);
    else if (world->schema[0])
        snprintf(ret_url, 160, "%s&schema=%s", getenv("ROTA_TEST_POSTGRES"), world->schema);
    else
        snprintf(ret_url, 160, "memory:");
}

void world_open(struct world *world)
{
    char url[160], why[ERR_WHY_MAX] = "";
    world_url(world, url);
    enum err err = store_open(&world->store, url, why);
    if (err)
        fail_msg("%s: %s", url, why);
}

struct world *world_new(const char *scheme)
{
    struct world *world = mem_zero(sizeof *world);
    if (strcmp(scheme, "sqlite") == 0) {
        snprintf(world->dir, sizeof world->dir, "%s/rota-store-XXXXXX", temp_root());
        assert_non_null(mkdtemp(world->dir));
    }
    if (strcmp(scheme, "postgres") == 0) {
        static int made;
        assert_non_null(getenv("ROTA_TEST_POSTGRES")); // tests/support/postgres.py sets it
        snprintf(world->schema, sizeof world->schema, "t%d_%d", (int)getpid(), made++);
    }
    world->last_id = 1000;
    world_open(world);
    return world;
}

void world_reopen(struct world *world)
{
    store_close(world->store);
    world_open(world);
}

static int remove_entry(const char *path, const struct stat *stat, int type, struct FTW *ftw)
{
    return remove(path);
}

void world_free(struct world *world)
{
    store_close(world->store);
    for (size_t i = 0; i < world->kept_count; i++) {
        struct store_op *op = world->kept[i];
        store_op_done(op);
        mem_free(op);
    }
    mem_free(world->kept);
    if (world->dir[0])
        nftw(world->dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    mem_free(world);
}

void *world_op(struct world *world, size_t size, enum store_verb verb)
{
    struct store_op *op = mem_zero(size);
    store_op_init(op, verb, NULL);
    world->kept = mem_grow(world->kept, (world->kept_count + 1) * sizeof *world->kept);
    world->kept[world->kept_count++] = op;
    return op;
}

// Memory is an operation that is never submitted.
void *world_mem(struct world *world, size_t size)
{
    return (char *)world_op(world, sizeof(struct store_op) + size, STORE_STATS) + sizeof(struct store_op);
}

enum err call(struct world *world, struct store_op *op)
{
    store_call(world->store, op);
    return op->err;
}

void sample_fill(struct world *world, const struct sample *sample, struct store_task *ret_task, struct job *ret_job,
                 struct store_new *ret_item)
{
    int64_t id = ++world->last_id;
    int32_t tenant = sample->tenant ? sample->tenant : TENANT;
    *ret_task = (struct store_task){.id = id, .tenant = tenant, .created_at = NOW};
    ret_task->dispatch = sample->dispatch ? sample->dispatch : TARGET_CALLED;
    ret_task->queue = str_of(sample->queue ? sample->queue : "q");
    ret_task->name = STR("a name");
    ret_task->doc = sample->doc.n ? sample->doc : STR("{\"url\":\"http://localhost/\"}");
    ret_task->tags = sample->tags;
    while (ret_task->tag_count < TAGS_MAX && sample->tags[ret_task->tag_count])
        ret_task->tag_count++;
    *ret_job = (struct job){.id = id, .task_id = id, .tenant = tenant, .token = 1, .holder = sample->holder};
    ret_job->state = sample->state ? sample->state : JOB_READY;
    ret_job->priority = (uint8_t)(sample->priority == 0 ? 5 : sample->priority < 0 ? 0 : sample->priority);
    ret_job->due_at = ret_job->ready_at = sample->due_at ? sample->due_at : NOW;
    ret_job->scheduled_at = sample->scheduled_at ? sample->scheduled_at : ret_job->due_at;
    ret_job->expires_at = sample->expires_at;
    ret_job->purge_at = sample->purge_at;
    ret_job->response = sample->response;
    *ret_item = (struct store_new){.task = ret_task, .jobs = ret_job, .job_count = 1, .key = sample->key};
    memset(ret_item->digest, sample->digest, sizeof ret_item->digest);
}

struct store_new *try_add(struct world *world, struct sample sample, enum err *ret_err)
{
    struct {
        struct store_task task;
        struct job job;
        struct store_new item;
    } *made = world_mem(world, sizeof *made);
    sample_fill(world, &sample, &made->task, &made->job, &made->item);
    struct store_add *op = OP(world, store_add, STORE_ADD);
    op->now_ms = NOW;
    op->holder = sample.holder;
    op->items = &made->item;
    op->count = 1;
    *ret_err = call(world, &op->op);
    return &made->item;
}

int64_t add(struct world *world, struct sample sample)
{
    enum err err;
    struct store_new *item = try_add(world, sample, &err);
    assert_int_equal(err, ERR_OK);
    assert_int_equal(item->err, ERR_OK);
    assert_int_equal(item->existing_id, 0);
    return item->task->id;
}

void join(struct world *world, int64_t incarnation)
{
    struct store_join *op = OP(world, store_join, STORE_JOIN);
    op->incarnation = incarnation;
    op->now_ms = NOW;
    assert_int_equal(call(world, &op->op), ERR_OK);
}

void bury(struct world *world, int64_t incarnation)
{
    struct store_bury *op = OP(world, store_bury, STORE_BURY);
    op->incarnation = incarnation;
    assert_int_equal(call(world, &op->op), ERR_OK);
}

int64_t lane_of(struct world *world, int32_t tenant, const char *queue)
{
    struct store_pause *op = OP(world, store_pause, STORE_PAUSE);
    op->tenant = tenant;
    op->queue = str_of(queue);
    assert_int_equal(call(world, &op->op), ERR_OK);
    return op->lane;
}

struct store_drop *drop(struct world *world, int32_t tenant, const char *queue)
{
    struct store_drop *op = OP(world, store_drop, STORE_DROP);
    op->tenant = tenant;
    op->queue = str_of(queue);
    call(world, &op->op);
    return op;
}

static int times_listed(struct world *world, struct store_lanes *op, int32_t tenant, const char *queue)
{
    int times = 0;
    op->max = 1000;
    assert_int_equal(call(world, &op->op), ERR_OK);
    for (size_t i = 0; i < op->lane_count; i++)
        times += op->lanes[i].tenant == tenant && str_is(op->lanes[i].queue, queue);
    return times;
}

bool is_listed(struct world *world, int32_t tenant, const char *queue)
{
    struct store_lanes *all = OP(world, store_lanes, STORE_LANES), *names = OP(world, store_lanes, STORE_LANES),
                       *own = OP(world, store_lanes, STORE_LANES);
    names->names_only = true;
    own->tenant = tenant;
    own->counts = true;
    int times = times_listed(world, all, tenant, queue);
    assert_int_equal(times_listed(world, names, tenant, queue), times);
    assert_int_equal(times_listed(world, own, tenant, queue), times);
    assert_in_range(times, 0, 1);
    return times;
}

struct store_claim *claim(struct world *world, int64_t holder, int64_t until_ms, int64_t lane, size_t max)
{
    struct store_claim *op = OP(world, store_claim, STORE_CLAIM);
    op->wants = world_mem(world, sizeof *op->wants);
    op->wants[0] = (struct store_want){.lane = lane, .max = max};
    op->want_count = 1;
    op->holder = holder;
    op->now_ms = NOW;
    op->until_ms = until_ms;
    call(world, &op->op);
    return op;
}

struct store_find *held_by(struct world *world, int64_t holder)
{
    struct store_find *held = OP(world, store_find, STORE_FIND);
    held->what = STORE_FIND_HELD;
    held->holder = holder;
    held->max = 10000;
    assert_int_equal(call(world, &held->op), ERR_OK);
    return held;
}

struct store_get *get_job(struct world *world, int64_t id)
{
    struct store_get *op = OP(world, store_get, STORE_GET);
    op->tenant = TENANT;
    op->job_id = id;
    call(world, &op->op);
    return op;
}

struct job job_now(struct world *world, int64_t id)
{
    struct store_get *get = get_job(world, id);
    assert_int_equal(get->op.err, ERR_OK);
    assert_int_equal(get->job_count, 1);
    return get->jobs[0];
}

enum err change(struct world *world, int64_t token, struct job job, const struct attempt *attempt)
{
    struct store_change *op = OP(world, store_change, STORE_CHANGE);
    struct store_step step = {.token = token, .job = &job, .attempt = attempt};
    op->steps = &step;
    op->count = 1;
    assert_int_equal(call(world, &op->op), ERR_OK);
    return step.err;
}

size_t sweep(struct world *world, int64_t now_ms, size_t max)
{
    struct store_sweep *op = OP(world, store_sweep, STORE_SWEEP);
    op->now_ms = now_ms;
    op->keys_until = now_ms + KEYS_KEPT;
    op->max = max;
    assert_int_equal(call(world, &op->op), ERR_OK);
    return op->removed;
}

// ---- what had other names

enum { OLD_NODE = 77 };

void add_old_names(struct world *world)
{
    join(world, OLD_NODE);
    add(world, (struct sample){.queue = "open"});
    struct store_pause *pause = OP(world, store_pause, STORE_PAUSE);
    *pause = (struct store_pause){.op = pause->op, .tenant = TENANT, .queue = STR("held"), .paused = true};
    assert_int_equal(call(world, &pause->op), ERR_OK);
    struct store_request *request = OP(world, store_request, STORE_REQUEST);
    *request = (struct store_request){
        .op = request->op, .holder = OLD_NODE, .job = {.job_id = 5, .tenant = TENANT, .kind = STORE_REQUEST_RECALL}};
    assert_int_equal(call(world, &request->op), ERR_OK);
    struct store_relay *relay = OP(world, store_relay, STORE_RELAY);
    *relay = (struct store_relay){.op = relay->op, .now_ms = NOW, .events = {OLD_NODE, 3, STR("an event")}};
    assert_int_equal(call(world, &relay->op), ERR_OK);
}

static void assert_old_lanes_are_called(struct world *world)
{
    struct store_lanes *lanes = OP(world, store_lanes, STORE_LANES);
    *lanes = (struct store_lanes){.op = lanes->op, .dispatch = TARGET_CALLED, .max = 10, .counts = true};
    assert_int_equal(call(world, &lanes->op), ERR_OK);
    assert_int_equal(lanes->lane_count, 2);
    assert_true(str_is(lanes->lanes[0].queue, "open") && !lanes->lanes[0].paused);
    assert_true(str_is(lanes->lanes[1].queue, "held") && lanes->lanes[1].paused);
    assert_int_equal(lanes->lanes[0].counts[JOB_READY], 1);
    int64_t called = add(world, (struct sample){.queue = "open"});
    int64_t handed_out = add(world, (struct sample){.queue = "open", .dispatch = TARGET_HANDED_OUT});
    assert_int_equal(job_now(world, called).lane, lanes->lanes[0].id);
    assert_true(job_now(world, handed_out).lane > lanes->lanes[1].id);
}

void assert_old_names_are_kept(struct world *world)
{
    assert_old_lanes_are_called(world);
    struct store_requests *requests = OP(world, store_requests, STORE_REQUESTS);
    *requests = (struct store_requests){.op = requests->op, .holder = OLD_NODE, .max = 10};
    assert_int_equal(call(world, &requests->op), ERR_OK);
    assert_int_equal(requests->job_count, 1);
    assert_int_equal(requests->jobs[0].job_id, 5);
    assert_int_equal(requests->jobs[0].kind, STORE_REQUEST_RECALL);
    struct store_events *events = OP(world, store_events, STORE_EVENTS);
    *events = (struct store_events){.op = events->op, .max = 10};
    assert_int_equal(call(world, &events->op), ERR_OK);
    assert_int_equal(events->row_count, 1);
    assert_int_equal(events->rows[0].number, 3);
    struct store_beat *beat = OP(world, store_beat, STORE_BEAT);
    *beat = (struct store_beat){.op = beat->op, .incarnation = OLD_NODE, .relays = true};
    assert_int_equal(call(world, &beat->op), ERR_OK);
}

// ---- tasks from before there were tags

static const struct {
    const char *doc, *filter, *value; // by which it, and no other, is found; NULL: by none
} old_tasks[] = {
    {"{\"url\":\"http://x/\"}", NULL, NULL},
    {"{\"url\":\"http://x/\",\"name\":\"nightly\"}", "name", "nightly"},
    {"{\"url\":\"http://x/\",\"labels\":{\"team\":\"a\",\"n\":\"1\"}}", "label.n", "1"},
    {"{\"url\":\"http://x/\",\"l\\u0061bels\":{\"team\":\"\\u0062\"}}", "label.team", "b"},
    {"{\"url\":\"http://x/\",\"tracing_id\":\"t-1\"}", "tracing_id", "t-1"},
    {"{\"url\":\"http://x/\",\"created_by\":\"me\"}", "created_by", "me"},
    {"not a task, \"labels\"", NULL, NULL},
};

void add_old_tasks(struct world *world)
{
    for (size_t i = 0; i < array_count(old_tasks); i++)
        add(world, (struct sample){.doc = str_of(old_tasks[i].doc), .state = i % 2 ? JOB_SUCCESS : JOB_READY});
}

void assert_old_tasks_are_found(struct world *world)
{
    int64_t id = world->last_id - (int64_t)array_count(old_tasks);
    for (size_t i = 0; i < array_count(old_tasks); i++) {
        struct filter filter = filter_any(FILTER_JOBS);
        struct problem why;
        id++;
        if (!old_tasks[i].filter)
            continue;
        assert_int_equal(filter_set(&filter, str_of(old_tasks[i].filter), str_of(old_tasks[i].value), &why), ERR_OK);
        for (int jobs = 0; jobs < 2; jobs++) {
            struct store_list *list = OP(world, store_list, STORE_LIST);
            list->tenant = TENANT;
            list->jobs = jobs;
            list->before = (struct store_cursor){INT64_MAX, INT64_MAX};
            list->max = list->look = list->max_jobs = 2;
            list->tag_count = tags_of_filter(&filter, list->tags);
            assert_int_equal(call(world, &list->op), ERR_OK);
            assert_int_equal(list->found_count, 1);
            assert_int_equal(list->found[0].id, id);
        }
    }
}

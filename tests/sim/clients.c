// Clients of two tenants: they submit, with and without keys, try again when they get no answer, cancel, hurry and retry, pause,
// resume, change and delete, one by one or all that match, and now and then ask for what is not theirs. A client remembers what
// was acknowledged. When the storm is over they resume what is still paused.
#include "world.h"

#include "core/bulk_plan.h"
#include "store/jobs.h"
#include "store/journal.h"

#include <stdio.h>

enum { RANDOM_MAX = 400, TASKS_MAX = 1200, BULKS_MAX = 64, RESUME_MS = 3000 };

struct steering {
    struct command op;
    struct sim_node *node;
    int32_t owner;   // the tenant whose task it is
    char patch[160]; // of a patch …
    int serial;      // … which is told by its number in the URL
    struct list link;
};

static struct client_task *everybody[TASKS_MAX];
static size_t submitted, answered, steering_count;
static struct list steerings = {&steerings, &steerings};
static struct {
    int64_t id;
    int32_t tenant;
} bulks[BULKS_MAX];
static size_t bulk_count;
static int patch_count;
static bool all_resumed; // since the storm is over, and no bulk is at it

static void submit(struct event *event);

static void again_or_give_up(struct client_task *task)
{
    task->node = NULL;
    if (task->key[0]) {
        world_at(task->world, task->world->now + between(task->world, 10, 3000), &task->event, submit);
        return;
    }
    task->gave_up = true;
    answered++;
}

// Its task was deleted before its client knew of it.
static void answer_spent(struct client_task *task, int64_t id)
{
    if (!task_shadow_of(task->world, id)->gone)
        violate(task->world, 9, "key %s was spent, and nobody has deleted task %lld", task->key, (long long)id);
    task->node = NULL;
    task->gave_up = true;
    answered++;
}

static void answer(struct admission *admission)
{
    struct client_task *task = admission->ctx;
    const struct store_new *item = &admission->addition.add.items[0];
    enum err err = admission->addition.add.op.err ? admission->addition.add.op.err : item->err;
    bool refused = err == ERR_KEY_REUSED;
    int64_t id = item->existing_id ? item->existing_id : admission->tasks[0].id;
    admission_done(admission);
    if (err == ERR_KEY_SPENT) {
        answer_spent(task, id);
        return;
    }
    if (err && !refused) {
        again_or_give_up(task);
        return;
    }
    task->node = NULL;
    if (refused != task->must_be_refused)
        violate(task->world, 9, "key %s was %s", task->key, refused ? "refused" : "taken for another body");
    if (!refused)
        task->id = id;
    answered++;
}

static void submit(struct event *event)
{
    struct client_task *task = container_of(event, struct client_task, event);
    struct world *world = event->world;
    struct sim_node *node = any_node(world);
    struct arena arena;
    struct task parsed;
    struct problem problem;
    char why[ERR_WHY_MAX];
    if (!node) {
        world_at(world, world->now + 500, event, submit);
        return;
    }
    arena_init(&arena);
    if (!task_read(&parsed, str_of(task->doc), &arena, why))
        violate(world, 0, "the client's document is refused: %s", task->doc);
    struct now now = node_now(node);
    admission_init(&task->admission, task->tenant, 1);
    task->admission.done = answer;
    task->admission.ctx = task;
    if (admission_add(&task->admission, &parsed, str_of(task->doc), task->digest, now.wall_ms, &problem))
        violate(world, 0, "the client's task is refused: %s", task->doc);
    task->node = node;
    task->life = node->life;
    if (admit_submit(node->flow->admit, &task->admission, now)) {
        admission_done(&task->admission);
        again_or_give_up(task);
    }
    arena_done(&arena);
}

struct client_task *client_submit(struct world *world, int32_t tenant, const char *key, const char *host, const char *members)
{
    struct client_task *task = mem_zero(sizeof *task);
    char key_member[64] = "";
    task->world = world;
    task->tenant = tenant;
    snprintf(task->key, sizeof task->key, "%s", key);
    if (key[0])
        snprintf(key_member, sizeof key_member, ",\"key\":\"%s\"", key);
    snprintf(task->doc, sizeof task->doc, "{\"url\":\"http://%s/%zu\"%s%s}", host, submitted, members, key_member);
    if (submitted == TASKS_MAX) {
        violate(world, 0, "more tasks than the simulator remembers");
        return task;
    }
    everybody[submitted++] = task;
    world_at(world, world->now, &task->event, submit);
    return task;
}

// Both tenants use the same keys: each has its own.
static void submit_something(struct world *world)
{
    char members[320], when[64] = "", expiry[64] = "", sla[32] = "", key[32] = "";
    int32_t tenant = (int32_t)(submitted % TENANTS) + 1;
    if (chance(world, 400))
        snprintf(when, sizeof when, ",\"in\":\"%lldms\"", (long long)between(world, 1, 30000));
    if (chance(world, 120))
        snprintf(expiry, sizeof expiry, ",\"not_after\":\"%lldms\"", (long long)between(world, 1, 3000));
    if (chance(world, 200))
        snprintf(sla, sizeof sla, ",\"sla\":\"%lldms\"", (long long)between(world, 1, 3000));
    if (chance(world, 500))
        snprintf(key, sizeof key, "key-%zu", submitted / TENANTS);
    snprintf(members, sizeof members,
             ",\"queue\":\"q%lld\",\"priority\":%lld,\"ttl\":%s%s%s%s,\"retry\":{\"max\":%lld,\"delay\":\"%lldms\"}",
             (long long)between(world, 1, QUEUES), (long long)between(world, 0, 9), chance(world, 100) ? "\"0s\"" : "null", when,
             expiry, sla, (long long)between(world, 0, 3), (long long)between(world, 0, 4000));
    client_submit(world, tenant, key, "target", members);
}

// A key that was acknowledged is used again for something else.
static void reuse_key(struct world *world)
{
    if (!submitted)
        return;
    const struct client_task *used = everybody[between(world, 0, (int64_t)submitted - 1)];
    if (!used->key[0] || !used->id || submitted >= RANDOM_MAX)
        return;
    struct client_task *task = client_submit(world, used->tenant, used->key, "target", "");
    task->digest[31] = 1;
    task->must_be_refused = true;
}

void clients_crash(struct world *world, struct sim_node *node)
{
    for (size_t i = 0; i < submitted; i++) {
        struct client_task *task = everybody[i];
        if (task->node != node)
            continue;
        order_free(task->admission.addition.orders[0]);
        arena_done(&task->admission.addition.add.op.arena);
        again_or_give_up(task);
    }
    list_each (&steerings, link) {
        struct steering *steering = list_entry(link, struct steering, link);
        if (steering->node != node)
            continue;
        list_remove(link);
        steering_count--;
        mem_free(steering);
    }
}

static void steered(struct command *op)
{
    struct steering *steering = container_of(op, struct steering, op);
    struct world *world = steering->node->world;
    if (op->tenant != steering->owner && op->err != ERR_NOT_FOUND && op->err != ERR_STORE_UNAVAILABLE)
        violate(world, 14, "tenant %d steered a task of tenant %d: %s", op->tenant, steering->owner, err_info(op->err)->code);
    if (op->act == COMMAND_CANCEL && !op->err) {
        int64_t id;
        size_t at = 0;
        for (struct shadow *shadow; (shadow = map_next(&world->shadows, &at, &id));)
            if (shadow->job.task_id == op->task_id && shadow->job.state == JOB_CANCELLED)
                shadow->cancelled = true;
    }
    if (!op->err && op->task_id)
        check_confirmed(steering->node, op, steering->serial);
    list_remove(&steering->link);
    steering_count--;
    mem_free(steering);
}

static void merged(struct command *op)
{
    struct sim_node *node = container_of(op, struct steering, op)->node;
    commands_merge(node->flow->commands, op, node_now(node).wall_ms);
}

static struct steering *steering_new(struct sim_node *node, const struct client_task *task, enum command_act act, int32_t tenant)
{
    struct steering *steering = mem_zero(sizeof *steering);
    steering->node = node;
    steering->owner = task->tenant;
    steering->op = (struct command){.act = act, .tenant = tenant, .merge = merged, .done = steered};
    if (act == COMMAND_RETRY)
        steering->op.job_id = task->id;
    else
        steering->op.task_id = task->id;
    return steering;
}

static void steering_begin(struct steering *steering)
{
    list_append(&steerings, &steering->link);
    steering_count++;
    commands_submit(steering->node->flow->commands, &steering->op);
}

void client_steer(struct world *world, struct sim_node *node, const struct client_task *task, enum command_act act,
                  int32_t tenant)
{
    struct steering *steering = steering_new(node, task, act, tenant);
    steering->op.running = act == COMMAND_DELETE && chance(world, 300);
    if (act == COMMAND_RUN && tenant == task->tenant)
        map_put(&world->hurried, task->id, world);
    if (act == COMMAND_RESUME && tenant == task->tenant)
        task_shadow_of(world, task->id)->resume_asked = true;
    steering_begin(steering);
}

void client_resume(struct world *world, struct sim_node *node, const struct client_task *task, enum plan_misfire missed)
{
    struct steering *steering = steering_new(node, task, COMMAND_RESUME, task->tenant);
    steering->op.runs_missed = missed != PLAN_MISFIRE_SKIP;
    steering->op.missed = missed;
    task_shadow_of(world, task->id)->resume_asked = true;
    steering_begin(steering);
}

void client_patch(struct world *world, struct sim_node *node, const struct client_task *task, const char *members)
{
    struct steering *steering = steering_new(node, task, COMMAND_PATCH, task->tenant);
    steering->serial = patch_count++;
    snprintf(steering->patch, sizeof steering->patch, "{\"url\":\"http://target/p%d\"%s}", steering->serial, members);
    steering->op.patch = (struct json){JSON_OBJECT, str_of(steering->patch)};
    steering_begin(steering);
}

static void patch_something(struct world *world, struct sim_node *node, const struct client_task *task)
{
    char members[100] = "";
    int64_t kind = between(world, 0, 3);
    if (kind == 1)
        snprintf(members, sizeof members, ",\"in\":\"%lldms\"", (long long)between(world, 0, 20000));
    if (kind == 2)
        snprintf(members, sizeof members, ",\"queue\":\"q%lld\"", (long long)between(world, 1, QUEUES));
    if (kind == 3)
        snprintf(members, sizeof members, ",\"priority\":%lld,\"at\":null", (long long)between(world, 0, 9));
    client_patch(world, node, task, members);
}

// ---- bulks

// What a bulk may do to the tasks there are, as far as checks must know of it.
static void note_bulk(struct world *world, int32_t tenant, enum bulk_action action)
{
    int64_t id;
    size_t at = 0;
    world->hurrying[tenant] |= action == BULK_RUN; // and to those that are submitted just now
    world->resuming[tenant] |= action == BULK_RESUME;
    for (const struct shadow *shadow; (shadow = map_next(&world->shadows, &at, &id));) {
        if (shadow->job.tenant != tenant)
            continue;
        if (action == BULK_RUN)
            map_put(&world->hurried, shadow->job.task_id, world);
        if (action == BULK_RESUME)
            task_shadow_of(world, shadow->job.task_id)->resume_asked = true;
    }
}

// As the API does it.
int64_t client_bulk(struct world *world, struct sim_node *node, int32_t tenant, const char *action, const char *filter)
{
    char text[200], why[ERR_WHY_MAX];
    struct bulk_plan plan;
    struct problem problem;
    struct json doc;
    struct arena arena;
    int64_t now_ms = node_now(node).wall_ms;
    if (bulk_count == BULKS_MAX || !atomic_load(&node->flow->node.incarnation))
        return 0;
    arena_init(&arena);
    snprintf(text, sizeof text, "{\"action\":\"%s\",\"filter\":{%s}}", action, filter);
    if (json_check(str_of(text), &doc, why) || bulk_plan_parse(&plan, doc, &arena, &problem)) {
        violate(world, 0, "the client's bulk is refused: %s", text);
        return 0;
    }
    int64_t id = node_make_id(&node->flow->node, now_ms);
    struct cursor newest = filter_newest(&plan.filter, now_ms);
    struct store_list tasks = {.tenant = tenant, .before = {INT64_MAX, INT64_MAX}, .max = 1, .look = 1};
    store_op_init(&tasks.op, STORE_LIST, NULL);
    store_call(world->memory, &tasks.op);
    int64_t newest_id = time_max(id, tasks.task_count ? tasks.tasks[0].id + 1 : 0);
    store_op_done(&tasks.op);
    struct store_bulk start = {.row = {.id = id,
                                       .tenant = tenant,
                                       .created_at = now_ms,
                                       .next = {newest.at, plan.filter.of == FILTER_TASKS ? newest_id : newest.id},
                                       .doc = doc.raw}};
    store_op_init(&start.op, STORE_BULK, NULL);
    store_call(world->memory, &start.op);
    store_op_done(&start.op);
    note_bulk(world, tenant, plan.action);
    bulks[bulk_count].id = id;
    bulks[bulk_count++].tenant = tenant;
    bulk_poke(node->flow->bulk);
    arena_done(&arena);
    return id;
}

struct store_bulk_row client_bulk_row(struct world *world, int32_t tenant, int64_t id)
{
    struct store_bulks read = {.tenant = tenant, .id = id};
    store_op_init(&read.op, STORE_BULKS, NULL);
    store_call(world->memory, &read.op);
    struct store_bulk_row row = read.row_count ? read.rows[0] : (struct store_bulk_row){0};
    row.doc = (struct str){0};
    store_op_done(&read.op);
    return row;
}

static void stop_some_bulk(struct world *world)
{
    if (!bulk_count)
        return;
    size_t at = (size_t)between(world, 0, (int64_t)bulk_count - 1);
    struct store_bulk stop = {.row = client_bulk_row(world, bulks[at].tenant, bulks[at].id)};
    if (!stop.row.id || stop.row.state != STORE_BULK_RUNNING)
        return;
    stop.row.state = STORE_BULK_STOPPED;
    stop.row.ended_at = EPOCH + world->now;
    store_op_init(&stop.op, STORE_BULK, NULL);
    store_call(world->memory, &stop.op);
    store_op_done(&stop.op);
}

static void bulk_something(struct world *world)
{
    static const char *const actions[] = {"cancel", "retry", "run", "pause", "pause", "resume", "resume", "delete"};
    struct sim_node *node = any_node(world);
    char filter[64] = "";
    if (!node)
        return;
    const char *action = actions[between(world, 0, (int64_t)array_count(actions) - 1)];
    if (chance(world, 700))
        snprintf(filter, sizeof filter, "\"queue\":\"q%lld\"", (long long)between(world, 1, QUEUES));
    else if (str_is(str_of(action), "retry"))
        snprintf(filter, sizeof filter, "\"state\":\"aborted\"");
    else if (str_is(str_of(action), "delete") || chance(world, 500))
        snprintf(filter, sizeof filter, "\"state\":\"done\"");
    client_bulk(world, node, (int32_t)between(world, 1, TENANTS), action, filter);
}

static bool bulks_run(struct world *world)
{
    for (size_t i = 0; i < bulk_count; i++)
        if (client_bulk_row(world, bulks[i].tenant, bulks[i].id).state == STORE_BULK_RUNNING)
            return true;
    return false;
}

// When the storm is over: whatever is paused, by hand or by a bulk, is resumed, until nothing is.
static bool resume_paused(struct world *world, struct sim_node *node)
{
    bool none = true;
    int64_t id;
    size_t at = 0;
    for (const struct shadow *shadow; (shadow = map_next(&world->shadows, &at, &id));) {
        const struct task_shadow *task = map_get(&world->tasks, shadow->job.task_id);
        if (!task || !task->paused || shadow->removed || job_state_final(shadow->job.state))
            continue;
        if (map_get(&world->plans, shadow->job.task_id))
            continue; // recurring.c does it
        none = false;
        struct client_task its = {.tenant = shadow->job.tenant, .id = shadow->job.task_id};
        client_steer(world, node, &its, COMMAND_RESUME, its.tenant);
    }
    return none;
}

static void resume_all(struct event *event)
{
    struct world *world = event->world;
    struct sim_node *node = any_node(world);
    all_resumed = node && !bulks_run(world) && steering_count == 0 && resume_paused(world, node);
    if (all_resumed && !world->faults)
        mem_free(event);
    else
        world_at(world, world->now + RESUME_MS, event, resume_all);
}

static void command_something(struct world *world)
{
    struct sim_node *node = any_node(world);
    if (!node || !submitted)
        return;
    // Mostly something recent, which is still under way.
    int64_t back = chance(world, 800) ? between(world, 1, 8) : between(world, 1, RANDOM_MAX);
    const struct client_task *task = everybody[back > (int64_t)submitted ? 0 : (int64_t)submitted - back];
    if (!task->id)
        return;
    int32_t tenant = chance(world, 50) ? TENANTS + 1 - task->tenant : task->tenant;
    static const enum command_act acts[] = {COMMAND_CANCEL, COMMAND_CANCEL, COMMAND_RUN,    COMMAND_RETRY,
                                            COMMAND_PAUSE,  COMMAND_PAUSE,  COMMAND_RESUME, COMMAND_RESUME,
                                            COMMAND_PATCH,  COMMAND_PATCH,  COMMAND_DELETE};
    enum command_act act = acts[between(world, 0, (int64_t)array_count(acts) - 1)];
    if (act == COMMAND_PATCH)
        patch_something(world, node, task);
    else
        client_steer(world, node, task, act, tenant);
}

static void tick(struct event *event)
{
    struct world *world = event->world;
    if (!world->faults || submitted >= RANDOM_MAX) {
        world_at(world, world->now + RESUME_MS, event, resume_all);
        return;
    }
    for (int64_t count = between(world, 0, 4); count > 0; count--)
        submit_something(world);
    for (int64_t count = between(world, 0, 2); count > 0; count--)
        command_something(world);
    if (chance(world, 50))
        reuse_key(world);
    for (int32_t tenant = 1; tenant <= TENANTS && !bulks_run(world); tenant++)
        world->hurrying[tenant] = world->resuming[tenant] = false;
    if (chance(world, 40))
        bulk_something(world);
    if (chance(world, 10))
        stop_some_bulk(world);
    world_at(world, world->now + between(world, 50, 1500), event, tick);
}

void clients_start(struct world *world)
{
    struct event *event = mem_zero(sizeof *event);
    world_at(world, world->now + 1000, event, tick);
}

bool clients_done(struct world *world)
{
    return answered == submitted && steering_count == 0 && all_resumed && recurring_done();
}

static void check_bulks(struct world *world)
{
    for (size_t i = 0; i < bulk_count; i++) {
        struct store_bulks read = {.tenant = bulks[i].tenant, .id = bulks[i].id};
        store_op_init(&read.op, STORE_BULKS, NULL);
        store_call(world->memory, &read.op);
        if (read.row_count)
            check_bulk(world, &read.rows[0]);
        store_op_done(&read.op);
    }
}

void clients_check(struct world *world)
{
    check_bulks(world);
    for (size_t i = 0; i < submitted; i++) {
        const struct client_task *task = everybody[i];
        if (task->id && !map_get(&world->shadows, task->id) && !map_get(&world->plans, task->id))
            violate(world, 1, "task %lld was acknowledged and is unknown", (long long)task->id);
        for (size_t j = 0; j < i && task->key[0] && task->id; j++)
            if (everybody[j]->id == task->id)
                violate(world, 9, "two keys lead to one task");
    }
}

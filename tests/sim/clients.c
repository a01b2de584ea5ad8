// Clients of two tenants: they submit, with and without keys, try again when they get no answer, cancel, hurry and retry, and now
// and then ask for what is not theirs. A client remembers what was acknowledged.
#include "world.h"

#include <stdio.h>

enum { RANDOM_MAX = 400, TASKS_MAX = 1000 };

struct steering {
    struct steer_op op;
    struct sim_node *node;
    int32_t owner; // the tenant whose task it is
    struct list link;
};

static struct client_task *everybody[TASKS_MAX];
static size_t submitted, answered, steering_count;
static struct list steerings = {&steerings, &steerings};

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

static void answer(struct admission *admission)
{
    struct client_task *task = admission->ctx;
    const struct store_new *item = &admission->add.items[0];
    enum err err = admission->add.op.err ? admission->add.op.err : item->err;
    bool refused = err == ERR_KEY_REUSED;
    int64_t id = item->existing_id ? item->existing_id : admission->tasks[0].id;
    admission_done(admission);
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
    struct json value;
    struct task parsed;
    struct problem problem;
    char why[ERR_WHY_MAX];
    if (!node) {
        world_at(world, world->now + 500, event, submit);
        return;
    }
    arena_init(&arena);
    if (json_check(str_of(task->doc), &value, why) || task_parse(&parsed, value, &arena, &problem))
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
        run_free(task->admission.runs[0]);
        arena_done(&task->admission.add.op.arena);
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

static void steered(struct steer_op *op)
{
    struct steering *steering = container_of(op, struct steering, op);
    struct world *world = steering->node->world;
    if (op->tenant != steering->owner && op->err != ERR_NOT_FOUND && op->err != ERR_STORE_UNAVAILABLE)
        violate(world, 14, "tenant %d steered a task of tenant %d: %s", op->tenant, steering->owner, err_info(op->err)->code);
    if (op->act == STEER_CANCEL && !op->err) {
        int64_t id;
        size_t at = 0;
        for (struct shadow *shadow; (shadow = map_next(&world->shadows, &at, &id));)
            if (shadow->job.task_id == op->task_id && shadow->job.state == JOB_CANCELLED)
                shadow->cancelled = true;
    }
    list_remove(&steering->link);
    steering_count--;
    mem_free(steering);
}

void client_steer(struct world *world, struct sim_node *node, const struct client_task *task, enum steer_act act, int32_t tenant)
{
    struct steering *steering = mem_zero(sizeof *steering);
    steering->node = node;
    steering->owner = task->tenant;
    steering->op = (struct steer_op){.act = act, .tenant = tenant, .done = steered};
    if (act == STEER_RETRY)
        steering->op.job_id = task->id;
    else
        steering->op.task_id = task->id;
    if (act == STEER_RUN && tenant == task->tenant)
        map_put(&world->hurried, task->id, world);
    list_append(&steerings, &steering->link);
    steering_count++;
    steer_submit(node->flow->steer, &steering->op);
}

static void steer_something(struct world *world)
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
    client_steer(world, node, task, (enum steer_act)between(world, 0, 2), tenant);
}

static void tick(struct event *event)
{
    struct world *world = event->world;
    if (!world->faults || submitted >= RANDOM_MAX) {
        mem_free(event);
        return;
    }
    for (int64_t count = between(world, 0, 4); count > 0; count--)
        submit_something(world);
    for (int64_t count = between(world, 0, 2); count > 0; count--)
        steer_something(world);
    if (chance(world, 50))
        reuse_key(world);
    world_at(world, world->now + between(world, 50, 1500), event, tick);
}

void clients_start(struct world *world)
{
    struct event *event = mem_zero(sizeof *event);
    world_at(world, world->now + 1000, event, tick);
}

bool clients_done(struct world *world)
{
    return answered == submitted && steering_count == 0;
}

void clients_check(struct world *world)
{
    for (size_t i = 0; i < submitted; i++) {
        const struct client_task *task = everybody[i];
        if (task->id && !map_get(&world->shadows, task->id))
            violate(world, 1, "task %lld was acknowledged and is unknown", (long long)task->id);
        for (size_t j = 0; j < i && task->key[0] && task->id; j++)
            if (everybody[j]->id == task->id)
                violate(world, 9, "two keys lead to one task");
    }
}

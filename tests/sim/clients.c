// Clients: they submit, with and without keys, try again when they get no answer, cancel, hurry and retry. A client remembers
// what was acknowledged.
#include "world.h"

#include <stdio.h>

enum { SUBMITS_MAX = 400 };

// A task somebody wants done.
struct client_task {
    struct event event;
    struct world *world;
    struct sim_node *node; // asked now; NULL: nobody
    int life;
    struct admission admission;
    char doc[512];
    char key[32];
    int64_t id;   // once acknowledged
    bool gave_up; // no key, no answer: it may be there or not
    int tries;
};

struct client_steer {
    struct steer_op op;
    struct event event;
    struct sim_node *node;
    int life;
    struct list link;
};

static struct client_task *everybody[SUBMITS_MAX];
static size_t submitted, answered, steering;
static struct list steers = {&steers, &steers};

static struct sim_node *any_node(struct world *world)
{
    for (int tries = 0; tries < 20; tries++) {
        struct sim_node *node = &world->nodes[between(world, 0, NODES - 1)];
        if (node_acts(node))
            return node;
    }
    return NULL;
}

static void write_doc(struct world *world, struct client_task *task)
{
    char when[64] = "", expiry[64] = "", retry[96] = "", key[64] = "";
    int64_t dice = between(world, 0, 9);
    if (dice < 4)
        snprintf(when, sizeof when, ",\"in\":\"%lldms\"", (long long)between(world, 1, 30000));
    if (chance(world, 120))
        snprintf(expiry, sizeof expiry, ",\"not_after\":\"%lldms\"", (long long)between(world, 1, 3000));
    snprintf(retry, sizeof retry, ",\"retry\":{\"max\":%lld,\"delay\":\"%lldms\"}", (long long)between(world, 0, 3),
             (long long)between(world, 0, 4000));
    if (chance(world, 500)) {
        snprintf(task->key, sizeof task->key, "key-%zu", submitted);
        snprintf(key, sizeof key, ",\"key\":\"%s\"", task->key);
    }
    snprintf(task->doc, sizeof task->doc,
             "{\"url\":\"http://target%zu/\",\"queue\":\"q%lld\",\"priority\":%lld,\"ttl\":%s%s%s%s%s}", submitted % 5,
             (long long)between(world, 1, 4), (long long)between(world, 0, 9), chance(world, 100) ? "\"0s\"" : "null", when,
             expiry, retry, key);
}

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
    if (err) {
        admission_done(admission);
        again_or_give_up(task);
        return;
    }
    task->node = NULL;
    task->id = item->existing_id ? item->existing_id : admission->tasks[0].id;
    map_put(&task->world->acked, task->id, task);
    admission_done(admission);
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
    uint8_t digest[32] = {0};
    task->tries++;
    if (!node) {
        world_at(world, world->now + 500, event, submit);
        return;
    }
    arena_init(&arena);
    if (json_check(str_of(task->doc), &value, why) || task_parse(&parsed, value, &arena, &problem))
        violate(world, 0, "the client's document is refused: %s", task->doc);
    struct now now = node_now(node);
    admission_init(&task->admission, 1, 1);
    task->admission.done = answer;
    task->admission.ctx = task;
    if (admission_add(&task->admission, &parsed, str_of(task->doc), digest, now.wall_ms, &problem))
        violate(world, 0, "the client's task is refused: %s", task->doc);
    task->node = node;
    task->life = node->life;
    if (admit_submit(node->flow->admit, &task->admission, now)) {
        admission_done(&task->admission);
        again_or_give_up(task);
    }
    arena_done(&arena);
}

void clients_crash(struct world *world, struct sim_node *node)
{
    for (size_t i = 0; i < submitted; i++) {
        struct client_task *task = everybody[i];
        if (task->node != node)
            continue;
        arena_done(&task->admission.add.op.arena);
        again_or_give_up(task);
    }
    list_each (&steers, link) {
        struct client_steer *steer = list_entry(link, struct client_steer, link);
        if (steer->node != node)
            continue;
        list_remove(link);
        steering--;
        mem_free(steer);
    }
}

static void steered(struct steer_op *op)
{
    struct client_steer *steer = container_of(op, struct client_steer, op);
    struct world *world = steer->node->world;
    if (op->act == STEER_CANCEL && !op->err) {
        int64_t id;
        size_t at = 0;
        for (struct shadow *shadow; (shadow = map_next(&world->shadows, &at, &id));)
            if (shadow->job.task_id == op->task_id && shadow->job.state == JOB_CANCELLED)
                shadow->cancelled_on = steer->node->number + 1;
    }
    list_remove(&steer->link);
    steering--;
    mem_free(steer);
}

static void steer_something(struct world *world)
{
    struct sim_node *node = any_node(world);
    if (!node || !submitted)
        return;
    // Mostly something recent, which is still under way.
    int64_t back = chance(world, 800) ? between(world, 1, 8) : between(world, 1, SUBMITS_MAX);
    struct client_task *task = everybody[back > (int64_t)submitted ? 0 : (int64_t)submitted - back];
    if (!task->id)
        return;
    struct client_steer *steer = mem_zero(sizeof *steer);
    steer->node = node;
    steer->op = (struct steer_op){.act = (enum steer_act)between(world, 0, 2), .tenant = 1, .done = steered};
    if (steer->op.act == STEER_RETRY)
        steer->op.job_id = task->id;
    else
        steer->op.task_id = task->id;
    list_append(&steers, &steer->link);
    steering++;
    steer_submit(node->flow->steer, &steer->op);
}

static void tick(struct event *event)
{
    struct world *world = event->world;
    if (!world->faults || submitted == SUBMITS_MAX) {
        mem_free(event);
        return;
    }
    for (int64_t count = between(world, 0, 4); count > 0 && submitted < SUBMITS_MAX; count--) {
        struct client_task *task = mem_zero(sizeof *task);
        task->world = world;
        write_doc(world, task);
        everybody[submitted++] = task;
        world_at(world, world->now, &task->event, submit);
    }
    for (int64_t count = between(world, 0, 2); count > 0; count--)
        steer_something(world);
    world_at(world, world->now + between(world, 50, 1500), event, tick);
}

void clients_start(struct world *world)
{
    struct event *event = mem_zero(sizeof *event);
    world_at(world, world->now + 1000, event, tick);
}

bool clients_done(struct world *world)
{
    return answered == submitted && steering == 0;
}

void clients_check(struct world *world)
{
    for (size_t i = 0; i < submitted; i++) {
        struct client_task *task = everybody[i];
        struct shadow *shadow = task->id ? map_get(&world->shadows, task->id) : NULL;
        if (task->id && !shadow)
            violate(world, 1, "task %lld was acknowledged and is unknown", (long long)task->id);
        for (size_t j = 0; j < i && task->key[0]; j++)
            if (everybody[j]->id == task->id)
                violate(world, 9, "two keys lead to one task");
    }
}

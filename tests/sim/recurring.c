// Clients with recurring tasks: they submit schedules of all kinds, pause and resume them, change, cancel and delete them, run
// them by hand and retry their jobs. When the storm has been over for a while, so that the checks have seen schedules that
// nothing disturbs, they cancel all that still recur: otherwise nothing would ever come to its end.
#include "world.h"

#include <stdio.h>

enum {
    RECURRING_MAX = 20,
    LIVE_MS = 130000, // after the storm
    LOOK_MS = 3000,
};

static int submitted;
static bool all_ended; // since the storm is over

bool recurring_done(void)
{
    return all_ended;
}

// Most seconds that divide a minute are steps of a pattern, too.
static void write_when(struct world *world, bool all, char *text, size_t size)
{
    static const int steps[] = {2, 3, 5, 10, 15, 20};
    if (chance(world, 300))
        snprintf(text, size, ",\"cron\":\"*/%d * * * * *\"", all ? 20 : steps[between(world, 0, 5)]);
    else
        snprintf(text, size, ",\"every\":\"%llds\"", all ? 20LL : (long long)between(world, 1, 20));
}

// A clock may be hours ahead. So a task that runs all that was missed has few runs, and seldom.
static void submit_recurring(struct world *world)
{
    static const char *const misfires[] = {"one", "skip", "all"}, *const overlaps[] = {"allow", "skip", "queue", "cancel"};
    char members[320], when[48], runs[32] = "", active[32] = "", failures[40] = "", window[32] = "", key[32];
    int64_t misfire = between(world, 0, 2), overlap = between(world, 0, 3);
    int number = submitted++;
    write_when(world, misfire == PLAN_MISFIRE_ALL, when, sizeof when);
    if (misfire == PLAN_MISFIRE_ALL || chance(world, 300))
        snprintf(runs, sizeof runs, ",\"max_runs\":%lld", (long long)between(world, 1, 30));
    if (overlap)
        snprintf(active, sizeof active, ",\"max_active\":%lld", (long long)between(world, 1, 3));
    if (chance(world, 200))
        snprintf(failures, sizeof failures, ",\"pause_after_failures\":%lld", (long long)between(world, 1, 3));
    if (chance(world, 200))
        snprintf(window, sizeof window, ",\"misfire_window\":\"%llds\"", (long long)between(world, 0, 20));
    snprintf(key, sizeof key, "recurring-%d", number);
    snprintf(members, sizeof members,
             ",\"name\":\"r%d\",\"queue\":\"q%lld\",\"ttl\":null,\"misfire\":\"%s\",\"overlap\":\"%s\",\"jitter\":\"%lldms\","
             "\"retry\":{\"max\":%lld,\"delay\":\"%lldms\"}%s%s%s%s%s",
             number, (long long)between(world, 1, QUEUES), misfires[misfire], overlaps[overlap],
             chance(world, 700) ? 0 : (long long)between(world, 1, 1000), (long long)between(world, 0, 2),
             (long long)between(world, 0, 4000), when, runs, active, failures, window);
    client_submit(world, (int32_t)between(world, 1, TENANTS), key, "target", members);
}

// ---- steering

static struct plan_shadow *any_plan(struct world *world)
{
    int64_t id, skipped = between(world, 0, RECURRING_MAX - 1);
    size_t at = 0;
    struct plan_shadow *plan = map_next(&world->plans, &at, &id);
    while (plan && skipped-- > 0 && at)
        plan = map_next(&world->plans, &at, &id);
    return plan;
}

static void patch_recurring(struct world *world, struct sim_node *node, const struct client_task *task)
{
    char members[100] = "";
    int64_t kind = between(world, 0, 4);
    if (kind == 1)
        snprintf(members, sizeof members, ",\"every\":\"%llds\",\"cron\":null", (long long)between(world, 5, 20));
    if (kind == 2)
        snprintf(members, sizeof members, ",\"queue\":\"q%lld\"", (long long)between(world, 1, QUEUES));
    if (kind == 3)
        snprintf(members, sizeof members, ",\"jitter\":\"%lldms\"", (long long)between(world, 0, 1000));
    if (kind == 4)
        snprintf(members, sizeof members, ",\"cron\":\"*/10 * * * * *\",\"every\":null");
    client_patch(world, node, task, members);
}

static void retry_recurring(struct world *world, struct sim_node *node, const struct plan_shadow *plan)
{
    if (!plan->job_count)
        return;
    const struct shadow *job = plan->jobs[between(world, 0, (int64_t)plan->job_count - 1)];
    struct client_task its = {.tenant = plan->tenant, .id = job->job.id};
    client_steer(world, node, &its, COMMAND_RETRY, its.tenant);
}

static void steer_recurring(struct world *world)
{
    static const enum command_act acts[] = {COMMAND_PAUSE, COMMAND_PAUSE,  COMMAND_RESUME, COMMAND_RESUME, COMMAND_RESUME,
                                            COMMAND_PATCH, COMMAND_PATCH,  COMMAND_RUN,    COMMAND_RUN,    COMMAND_RETRY,
                                            COMMAND_RETRY, COMMAND_CANCEL, COMMAND_DELETE};
    struct sim_node *node = any_node(world);
    const struct plan_shadow *plan = any_plan(world);
    if (!node || !plan)
        return;
    struct client_task its = {.tenant = plan->tenant, .id = plan->task_id};
    enum command_act act = acts[between(world, 0, (int64_t)array_count(acts) - 1)];
    bool few = plan->step_ms >= 10000 && !node_clock_wrong(node);
    if (act == COMMAND_PATCH)
        patch_recurring(world, node, &its);
    else if (act == COMMAND_RETRY)
        retry_recurring(world, node, plan);
    else if (act == COMMAND_RESUME)
        client_resume(world, node, &its, few ? (enum plan_misfire)between(world, 0, 2) : PLAN_MISFIRE_ONE);
    else
        client_steer(world, node, &its, act, its.tenant);
}

// ---- the end

// A job that is left may fail and so pause its task, which then has to be resumed.
static bool jobs_are_left(struct world *world)
{
    int64_t id;
    size_t at = 0;
    for (const struct shadow *shadow; (shadow = map_next(&world->shadows, &at, &id));)
        if (map_get(&world->plans, shadow->job.task_id) && !shadow->removed && !job_state_final(shadow->job.state))
            return true;
    return false;
}

static void end_all(struct event *event)
{
    struct world *world = event->world;
    struct sim_node *node = any_node(world);
    bool cancels = world->now > world->quiet_since + LIVE_MS, open = false;
    int64_t id;
    size_t at = 0;
    for (const struct plan_shadow *plan; node && (plan = map_next(&world->plans, &at, &id));) {
        const struct task_shadow *task = map_get(&world->tasks, id);
        struct client_task its = {.tenant = plan->tenant, .id = id};
        if (task && task->gone)
            continue;
        bool owes = plan->planned_through != TIME_NEVER, paused = task && task->paused;
        open |= owes || paused;
        if (cancels && owes)
            client_steer(world, node, &its, COMMAND_CANCEL, its.tenant);
        else if (paused)
            client_resume(world, node, &its, PLAN_MISFIRE_ONE);
    }
    all_ended = node && cancels && !open && !jobs_are_left(world);
    if (all_ended)
        mem_free(event);
    else
        world_at(world, world->now + LOOK_MS, event, end_all);
}

static void tick(struct event *event)
{
    struct world *world = event->world;
    if (!world->faults) {
        world_at(world, world->now + LOOK_MS, event, end_all);
        return;
    }
    if (submitted < RECURRING_MAX && chance(world, 400))
        submit_recurring(world);
    if (chance(world, 600))
        steer_recurring(world);
    world_at(world, world->now + between(world, 500, 4000), event, tick);
}

void recurring_start(struct world *world)
{
    struct event *event = mem_zero(sizeof *event);
    world_at(world, world->now + 1000, event, tick);
}

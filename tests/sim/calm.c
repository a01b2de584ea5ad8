// The calm: the storm is over, every job final, every clock right. Now each step does one thing, knows what must follow, and by
// when. Where the storm proves that nothing is lost, the calm proves that nothing is late.
#include "store/journal.h"
#include "world.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    EXACT_MS = 100,        // a start, when nothing is in its way: a few turns and answers of the store
    ROUND_MS = 400,        // … when it has to be found by looking round
    ANSWER_LOST_MS = 6000, // … when answers get lost: a few tries and a recount
    STEP_MAX_MS = 600000,
    FLOOD = 60,
    SLOW_HOSTS = 8,
    DEATH_MAX_MS = 30000,  // a dead node's jobs are taken back
    RESTART_MAX_MS = 5000, // … when the one that comes back knows it was alone
};

static void wait_ms(struct world *world, int64_t ms)
{
    world_run(world, world->now + ms, NULL);
}

static void wait_idle(struct world *world, const char *step)
{
    world_run(world, world->now + STEP_MAX_MS, world_idle);
    if (!world_idle(world))
        violate(world, 12, "%s: not at its end after %d ms", step, STEP_MAX_MS);
}

// Each has a host of its own, or one of a few slow ones.
static struct client_task *submit(struct world *world, int32_t tenant, const char *members)
{
    static int number;
    char key[32];
    snprintf(key, sizeof key, "calm-%d", number++);
    return client_submit(world, tenant, key, key, members);
}

static struct client_task *submit_slow(struct world *world, int i)
{
    char key[32], host[32];
    snprintf(key, sizeof key, "slow-%lld-%d", (long long)world->now, i);
    snprintf(host, sizeof host, "slow-%d", i % SLOW_HOSTS);
    return client_submit(world, 1, key, host, ",\"queue\":\"q1\"");
}

static const struct shadow *shadow_of_task(struct world *world, const struct client_task *task)
{
    static const struct shadow none;
    const struct shadow *shadow = task->id ? map_get(&world->shadows, task->id) : NULL;
    return shadow ? shadow : &none;
}

// Tasks for now and soon, on all nodes, whose targets fail as often as ever: first try and retry start at their time.
static void submit_some(struct world *world, int count)
{
    for (int i = 0; i < count; i++) {
        char members[160];
        snprintf(members, sizeof members, ",\"queue\":\"q%lld\",\"in\":\"%lldms\",\"retry\":{\"max\":3,\"delay\":\"%lldms\"}",
                 (long long)between(world, 1, QUEUES), chance(world, 500) ? 0 : (long long)between(world, 1, 8000),
                 (long long)between(world, 1, 1500));
        submit(world, (int32_t)between(world, 1, TENANTS), members);
        wait_ms(world, between(world, 0, 400));
    }
}

// What a node that only takes requests was given, the others find when they look round.
static int64_t exact_ms(const struct world *world)
{
    return world->api_node ? ROUND_MS : EXACT_MS;
}

static void in_time(struct world *world)
{
    world->late_max_ms = exact_ms(world);
    submit_some(world, 40);
    wait_idle(world, "in time");
    world->late_max_ms = 0;
}

static void answers_lost(struct world *world)
{
    world->late_max_ms = ANSWER_LOST_MS;
    world->flaky = true;
    submit_some(world, 40);
    wait_ms(world, 10000);
    world->flaky = false;
    wait_idle(world, "answers lost");
    world->late_max_ms = 0;
}

static void hurried(struct world *world)
{
    struct client_task *far = submit(world, 1, ",\"in\":\"2h\"");
    struct client_task *near = submit(world, 2, ",\"in\":\"4s\",\"retry\":{\"max\":0}");
    struct client_task *never = submit(world, 2, ",\"in\":\"3s\"");
    struct client_task *running = submit_slow(world, 0);
    wait_ms(world, 1000);
    int64_t asked = world->now;
    client_steer(world, any_node(world), far, COMMAND_RUN, 1);
    for (int i = 0; i < world->node_count; i++) {
        client_steer(world, &world->nodes[i], near, COMMAND_RUN, 2); // one of them has it in hand
        client_steer(world, &world->nodes[i], never, COMMAND_CANCEL, 2);
        client_steer(world, &world->nodes[i], running, COMMAND_CANCEL, 1);
    }
    wait_ms(world, 1000);
    if (shadow_of_task(world, running)->last_call_end > world->now)
        violate(world, 5, "a call that was cancelled a second ago goes on");
    wait_idle(world, "hurried");
    if (shadow_of_task(world, far)->calls == 0 || world->now - asked > STEP_MAX_MS / 2)
        violate(world, 12, "a task that was hurried did not start");
    if (shadow_of_task(world, near)->job.scheduled_at > EPOCH + asked + EXACT_MS)
        violate(world, 12, "task %lld was hurried in the wheel and kept its time", (long long)near->id);
    if (shadow_of_task(world, never)->job.state != JOB_CANCELLED || shadow_of_task(world, never)->calls)
        violate(world, 5, "a task that was cancelled before its time is %s and was called %d times",
                job_state_text(shadow_of_task(world, never)->job.state), shadow_of_task(world, never)->calls);
}

static void paused(struct world *world)
{
    set_paused(world, 1, 1, true);
    wait_ms(world, 2500); // everybody has looked
    struct client_task *held = submit(world, 1, ",\"queue\":\"q1\",\"retry\":{\"max\":0}");
    struct client_task *expiring = submit(world, 1, ",\"queue\":\"q1\",\"not_after\":\"500ms\"");
    struct client_task *other = submit(world, 2, ",\"queue\":\"q1\"");
    wait_ms(world, 5000);
    if (shadow_of_task(world, held)->calls)
        violate(world, 15, "a job of a paused queue was started");
    if (shadow_of_task(world, held)->job.state != JOB_READY)
        violate(world, 12, "a job that waits in a paused queue is %s", job_state_text(shadow_of_task(world, held)->job.state));
    if (shadow_of_task(world, expiring)->job.state != JOB_CANCELLED)
        violate(world, 4, "a job that expired in a paused queue is %s",
                job_state_text(shadow_of_task(world, expiring)->job.state));
    if (!shadow_of_task(world, other)->calls)
        violate(world, 15, "another tenant's queue of the same name was held too");
    set_paused(world, 1, 1, false);
    int64_t resumed = world->now;
    wait_idle(world, "paused");
    if (shadow_of_task(world, held)->last_call_start > resumed + 2500)
        violate(world, 12, "a job of a resumed queue was left waiting");
}

// I19, I20, I21: tasks that wait in the lane and in the wheel are paused, changed and deleted, and what follows is exact.
static void steered(struct world *world)
{
    enum { NEAR_MS = 4000 };
    static const char near[] = ",\"in\":\"4s\",\"queue\":\"q1\",\"retry\":{\"max\":0}";
    static const char far[] = ",\"in\":\"1h\",\"queue\":\"q1\",\"retry\":{\"max\":0}";
    int64_t begun = world->now;
    struct client_task *held = submit(world, 1, near), *far_held = submit(world, 1, far);
    struct client_task *moved = submit(world, 1, far), *kept = submit(world, 1, near), *gone = submit(world, 1, near);
    wait_ms(world, 1000);
    int64_t asked = world->now;
    client_steer(world, any_node(world), held, COMMAND_PAUSE, 1);
    client_steer(world, any_node(world), far_held, COMMAND_PAUSE, 1);
    client_patch(world, any_node(world), moved, ",\"in\":\"2s\",\"queue\":\"q2\"");
    client_patch(world, any_node(world), kept, ",\"priority\":9");
    client_steer(world, any_node(world), gone, COMMAND_DELETE, 1);
    wait_ms(world, 30000);
    if (!clients_done(world))
        violate(world, 19, "what was asked 30 s ago is not answered");
    if (shadow_of_task(world, held)->calls)
        violate(world, 19, "a job of a paused task was started");
    if (shadow_of_task(world, gone)->calls || shadow_of_task(world, gone)->job.state != JOB_CANCELLED)
        violate(world, 21, "a job of a deleted task is %s", job_state_text(shadow_of_task(world, gone)->job.state));
    int64_t moved_at = shadow_of_task(world, moved)->last_call_start, kept_at = shadow_of_task(world, kept)->last_call_start;
    if (!moved_at || moved_at > asked + 2000 + 2 * ROUND_MS)
        violate(world, 20, "a task that was moved to be in 2 s ran after %lld ms", (long long)(moved_at - asked));
    if (!kept_at || kept_at > begun + NEAR_MS + 2 * ROUND_MS)
        violate(world, 20, "a task that was changed but for its time ran after %lld of %d ms", (long long)(kept_at - begun),
                NEAR_MS);
    asked = world->now;
    client_steer(world, any_node(world), held, COMMAND_RESUME, 1);
    client_steer(world, any_node(world), far_held, COMMAND_RESUME, 1);
    wait_ms(world, 3 * ROUND_MS);
    if (!shadow_of_task(world, held)->calls)
        violate(world, 19, "a task that was resumed %lld ms ago did not run", (long long)(world->now - asked));
    if (shadow_of_task(world, far_held)->job.due_at < EPOCH + begun + 3600000 - EXACT_MS)
        violate(world, 19, "a task whose time had not come was brought forward by resuming it");
    client_steer(world, any_node(world), far_held, COMMAND_CANCEL, 1);
    wait_idle(world, "steered");
}

static void check_ended_bulk(struct world *world, int64_t id, int64_t changed)
{
    struct store_bulk_row row = client_bulk_row(world, 2, id);
    if (row.state != STORE_BULK_DONE || row.changed < changed)
        violate(world, 22, "a bulk that has %lld tasks to change has changed %lld after 10 s", (long long)changed,
                (long long)row.changed);
}

static void bulked(struct world *world)
{
    enum { TASKS = 130 }; // more than a page
    struct client_task *tasks[TASKS];
    for (int i = 0; i < TASKS; i++)
        tasks[i] = submit(world, 2, ",\"in\":\"13s\",\"queue\":\"q3\",\"retry\":{\"max\":0}");
    wait_ms(world, 1000);
    int64_t id = client_bulk(world, any_node(world), 2, "pause", "\"queue\":\"q3\",\"state\":\"active\"");
    wait_ms(world, 10000);
    check_ended_bulk(world, id, TASKS);
    wait_ms(world, 10000);
    for (int i = 0; i < TASKS; i++)
        if (shadow_of_task(world, tasks[i])->calls)
            violate(world, 22, "a task was not held by the bulk that paused it");
    world->late_max_ms = -1; // these wait for one another
    id = client_bulk(world, any_node(world), 2, "resume", "\"queue\":\"q3\",\"state\":\"paused\"");
    wait_ms(world, 10000);
    check_ended_bulk(world, id, TASKS);
    wait_idle(world, "bulked");
    world->late_max_ms = 0;
}

static size_t held_by(struct world *world, int64_t incarnation)
{
    size_t count = 0, at = 0;
    int64_t id;
    for (const struct shadow *shadow; (shadow = map_next(&world->shadows, &at, &id));)
        count += job_in_hand(&shadow->job) && !shadow->removed && shadow->job.holder == incarnation;
    return count;
}

static void flood(struct world *world)
{
    world->late_max_ms = -1; // these wait for one another
    for (int i = 0; i < FLOOD; i++)
        submit_slow(world, i);
    wait_ms(world, 2000);
}

// One tenant's slow targets fill what they may; the other's job starts all the same.
static void crowded(struct world *world)
{
    flood(world);
    int64_t asked = world->now;
    struct client_task *small = submit(world, 2, ",\"queue\":\"q2\",\"retry\":{\"max\":0}");
    wait_ms(world, 2000);
    const struct shadow *shadow = shadow_of_task(world, small);
    if (!shadow->calls || shadow->last_call_start - asked > 10 * EXACT_MS + exact_ms(world))
        violate(world, 12, "one tenant's slow targets kept the other's job waiting");
}

// I10. A lone node that comes back takes its own back at once.
static void death(struct world *world)
{
    struct sim_node *node = any_node(world);
    int64_t incarnation = atomic_load(&node->flow->node.incarnation);
    int64_t bound = world->node_count == 1 ? RESTART_MAX_MS : DEATH_MAX_MS;
    node_crash(node);
    node_start_later(node, world->node_count == 1 ? 100 : DEATH_MAX_MS + 5000);
    wait_ms(world, bound);
    if (held_by(world, incarnation))
        violate(world, 10, "%zu jobs are still held %lld ms after their holder died", held_by(world, incarnation),
                (long long)bound);
    wait_idle(world, "death");
}

// A node sleeps until the others have declared it dead and taken its jobs back, and wakes while its calls still run: it has to
// find out by itself, and may be given a job that it is still running from its earlier life.
static void frozen(struct world *world)
{
    flood(world);
    struct sim_node *node = any_node(world);
    for (int i = 0; i < 12; i++) // their insertions and claims are on their way to the store just then, and come late
        submit(world, 2, i % 2 ? ",\"queue\":\"q3\"" : ",\"queue\":\"q4\",\"in\":\"1ms\"");
    wait_ms(world, between(world, 0, 5));
    node_freeze(node, SLOW_MS - 2500);
    wait_idle(world, "frozen");
}

// I4. What was due and waits for a slot is not due any more when the clock is set back.
static void set_back(struct world *world)
{
    flood(world);
    struct sim_node *node = any_node(world);
    node->offset_ms = -SLOW_MS - 10000;
    wait_ms(world, 4000);
    long long wrong_ms = node->offset_ms + node->correction_ms;
    if (world->store_clock && llabs(wrong_ms) > CLOCK_MAX_MS)
        violate(world, 17, "the clock of a node is still %lld ms wrong a beat after it was set back", wrong_ms);
    wait_ms(world, SLOW_MS + 1000);
    node->offset_ms = 0;
    wait_idle(world, "set back");
}

// I16. What runs longer than the grace is interrupted; nothing is left in hand, and no try is used (I13).
static void stopping(struct world *world)
{
    flood(world);
    struct sim_node *node = any_node(world);
    int64_t incarnation = atomic_load(&node->flow->node.incarnation);
    node_stop(node);
    wait_ms(world, 7000);
    if (held_by(world, incarnation))
        violate(world, 16, "%zu jobs are in the hand of a node that was stopped", held_by(world, incarnation));
    wait_idle(world, "stopping");
    world->late_max_ms = 0;
}

// I18. Attempts that go on at their targets: their reports count on any node, and no node's death ends them.
static void later(struct world *world)
{
    world->late_max_ms = exact_ms(world);
    struct client_task *spoken = client_submit(world, 1, "later-1", "later-1", ",\"retry\":{\"max\":0}");
    struct client_task *silent = client_submit(world, 2, "silent-1", "silent-1", ",\"retry\":{\"max\":1,\"delay\":\"1s\"}");
    wait_ms(world, 3000);
    for (int i = 0; i < world->node_count; i++) {
        if (lanes_held(world->nodes[i].flow->lanes))
            violate(world, 18, "node %d has something in hand while all that runs has leases", i);
        if (world->node_count > 1 ? i > 0 : true) {
            node_crash(&world->nodes[i]);
            node_start_later(&world->nodes[i], 1000);
        }
    }
    wait_ms(world, 2000);
    int64_t asked = world->now;
    wait_idle(world, "later");
    const struct shadow *shadow = shadow_of_task(world, spoken);
    if (shadow->job.state != JOB_SUCCESS || shadow->calls != 1 || shadow->job.losses)
        violate(world, 18, "a job that was completed by its target is %s after %d calls", job_state_text(shadow->job.state),
                shadow->calls);
    shadow = shadow_of_task(world, silent);
    if (shadow->job.state != JOB_SUCCESS || shadow->calls != 2 || shadow->job.losses || shadow->job.retries != 1)
        violate(world, 18, "a job whose target fell silent once is %s after %d calls", job_state_text(shadow->job.state),
                shadow->calls);
    if (world->now - asked > 3 * 30000)
        violate(world, 18, "it took %lld ms to notice that a target was silent", (long long)(world->now - asked));
    world->late_max_ms = 0;
}

// Every instant up to then has a job that ran, or, if it may be skipped, lies in a skip and was not called.
static void check_recurred(struct world *world, const struct client_task *task, bool may_skip, int64_t until)
{
    const struct plan_shadow *plan = map_get(&world->plans, task->id);
    size_t ran = 0;
    for (size_t i = 0; plan && i < plan->job_count; i++) {
        const struct shadow *job = plan->jobs[i];
        if (job->job.nominal_at > EPOCH + until)
            continue;
        bool skipped = plan_has_skip(world, task->id, job->job.nominal_at);
        ran += job->calls > 0;
        if (!job->calls && !(may_skip && skipped))
            violate(world, 23, "job %lld of a schedule is %s and was never called", (long long)job->job.id,
                    job_state_text(job->job.state));
        if (skipped && !may_skip)
            violate(world, 23, "an instant of task %lld was skipped that had to run", (long long)task->id);
    }
    if (!ran)
        violate(world, 23, "no instant of task %lld has run", (long long)task->id);
}

// I23. Two schedules go on while a node dies, one sleeps, and answers get lost. Of the first every instant runs, however late; of
// the other those that are missed are skipped.
static void recurred(struct world *world)
{
    enum { UNDISTURBED_MS = 20000, ASIDE_MS = 30000 };
    struct client_task *whole = submit(world, 1, ",\"every\":\"3s\",\"misfire\":\"all\",\"ttl\":null,\"retry\":{\"max\":0}");
    struct client_task *partly = submit(world, 2, ",\"every\":\"2s\",\"misfire\":\"skip\",\"ttl\":null,\"retry\":{\"max\":0}");
    world->late_max_ms = exact_ms(world);
    wait_ms(world, UNDISTURBED_MS);
    check_recurred(world, whole, false, world->now - ROUND_MS);
    check_recurred(world, partly, false, world->now - ROUND_MS);
    world->late_max_ms = -1; // what a dead node holds waits until it is declared dead
    struct sim_node *node = any_node(world);
    node_crash(node);
    node_start_later(node, 100);
    wait_ms(world, ASIDE_MS);
    node_freeze(any_node(world), SLOW_MS - 2500);
    wait_ms(world, ASIDE_MS);
    world->flaky = true;
    wait_ms(world, UNDISTURBED_MS);
    world->flaky = false;
    wait_ms(world, ASIDE_MS);
    int64_t until = world->now - ANSWER_LOST_MS;
    client_steer(world, any_node(world), whole, COMMAND_CANCEL, 1);
    client_steer(world, any_node(world), partly, COMMAND_CANCEL, 2);
    wait_idle(world, "recurred");
    world->late_max_ms = 0;
    check_recurred(world, whole, false, until);
    check_recurred(world, partly, true, until);
}

void calm_run(struct world *world)
{
    wait_ms(world,
            30000); // the aftermath of the storm: what was asked is answered, who slept has been declared dead and has joined
    in_time(world);
    answers_lost(world);
    hurried(world);
    later(world);
    paused(world);
    steered(world);
    bulked(world);
    crowded(world);
    death(world);
    frozen(world);
    set_back(world);
    stopping(world);
    recurred(world);
    wait_ms(world, 11000); // for retention
}

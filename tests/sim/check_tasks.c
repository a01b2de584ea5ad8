// The invariants of tasks that are paused, changed and deleted (I19, I20, I21), and of bulks (I22). As the others they are judged
// by what the store accepted, what reached the targets, and what was confirmed to a client.
//
// What a holder has taken in hand before a task was changed may still begin as it was, if its time had come by the clock of the
// node that was asked, or before that clock was set back: then it cannot be told from what has begun. A claim is known by its
// token, so that is what is remembered.
#include "store/jobs.h"
#include "store/journal.h"
#include "world.h"

enum { SERIAL_AT = sizeof "http://target/p" - 1 };

struct task_shadow *task_shadow_of(struct world *world, int64_t task_id)
{
    struct task_shadow *task = map_get(&world->tasks, task_id);
    if (!task) {
        task = mem_zero(sizeof *task);
        task->serials[0] = -1; // as it was submitted
        task->version = 1;
        map_put(&world->tasks, task_id, task);
    }
    return task;
}

bool task_is_gone(struct world *world, int64_t task_id)
{
    const struct task_shadow *task = map_get(&world->tasks, task_id);
    return task && task->gone;
}

// The number in the URL that each patch gives: http://target/p17.
static int serial_of_url(struct str url)
{
    int serial = 0;
    if (url.n <= SERIAL_AT || !str_starts(url, STR("http://target/p")))
        return -1;
    for (size_t i = SERIAL_AT; i < url.n; i++)
        serial = serial * 10 + (url.p[i] - '0');
    return serial;
}

static int serial_of_doc(struct str doc, struct arena *arena)
{
    return serial_of_url(json_text(json_member((struct json){JSON_OBJECT, doc}, STR("url")), arena));
}

// The newest version that a URL was in.
static int64_t version_of(const struct task_shadow *task, int serial)
{
    for (size_t i = VERSIONS_MAX; i > 0; i--)
        if (i <= (size_t)task->version && task->serials[i - 1] == serial)
            return (int64_t)i;
    return 0;
}

// I21: what has not begun is not removed, or it could begin later. From now on nothing of the task starts or is written.
void check_remove(struct sim_node *node, const struct store_remove *remove)
{
    struct world *world = node->world;
    int64_t id;
    size_t at = 0;
    task_shadow_of(world, remove->task_id)->gone = true;
    for (struct shadow *shadow; (shadow = map_next(&world->shadows, &at, &id));) {
        if (shadow->job.task_id != remove->task_id)
            continue;
        bool runs = shadow->job.state == JOB_RESERVED;
        if (!job_state_final(shadow->job.state) && (!runs || remove->ended))
            violate(world, 21, "job %lld is still %s when its task is deleted", (long long)id, job_state_text(shadow->job.state));
        shadow->removed = true;
    }
}

static void check_amended_job(struct sim_node *node, const struct store_step *step)
{
    struct world *world = node->world;
    struct shadow *shadow = shadow_of(world, step->job->id);
    if (shadow->job.token != step->token)
        violate(world, 3, "job %lld: an amendment with token %lld was accepted, the record had %lld", (long long)step->job->id,
                (long long)step->token, (long long)shadow->job.token);
    // A change of a recurring task cancels what it has no use for any more.
    shadow->released = map_get(&world->plans, step->job->task_id) && step->job->state == JOB_CANCELLED;
    if (!job_state_waiting(shadow->job.state) || !(job_state_waiting(step->job->state) || shadow->released))
        violate(world, 2, "job %lld was amended from %s to %s", (long long)step->job->id, job_state_text(shadow->job.state),
                job_state_text(step->job->state));
    if (step->job->scheduled_at != shadow->job.scheduled_at)
        shadow->not_before = step->job->scheduled_at;
    shadow->clock_was_wrong |= node_clock_wrong(node);
    take_record(shadow, step->job);
}

void check_amend(struct sim_node *node, const struct store_amend *amend)
{
    struct world *world = node->world;
    struct task_shadow *task = task_shadow_of(world, amend->task.id);
    struct arena arena;
    arena_init(&arena);
    if (amend->task.version != task->version)
        violate(world, 20, "task %lld was amended as of version %lld, it had %lld", (long long)amend->task.id,
                (long long)amend->task.version, (long long)task->version);
    int serial = serial_of_doc(amend->task.doc, &arena);
    bool patches = task->version < VERSIONS_MAX && task->serials[task->version - 1] != serial;
    if (task->version < VERSIONS_MAX)
        task->serials[task->version] = serial;
    else
        violate(world, 0, "more versions than the simulator remembers");
    task->version++;
    if (task->paused && !amend->task.paused && !task->resume_asked)
        violate(world, 19, "task %lld is not paused any more, and nobody asked for it", (long long)amend->task.id);
    bool resumes = task->paused && !amend->task.paused;
    task->resumed |= resumes;
    task->paused = amend->task.paused;
    task->pause_confirmed &= task->paused;
    for (size_t i = 0; i < amend->count; i++)
        check_amended_job(node, &amend->steps[i]);
    if (amend->task.plan)
        check_amended_plan(node, amend, patches, resumes);
    arena_done(&arena);
}

// I19: nobody is given what it needs to begin a job of a paused task.
void check_handed_out(struct world *world, const struct store_job *job)
{
    const struct task_shadow *task = map_get(&world->tasks, job->job.task_id);
    bool paused = task && task->paused;
    if (job->job.state == JOB_WATCHING && paused && job->doc.n)
        violate(world, 19, "job %lld of a paused task was handed out to be run", (long long)job->job.id);
    if (!paused && !job->doc.n)
        violate(world, 19, "job %lld was handed out without what it is to do", (long long)job->job.id);
}

// What was confirmed to a client, at the moment it hears of it.
void check_confirmed(struct sim_node *node, const struct command *op, int serial)
{
    struct world *world = node->world;
    struct task_shadow *task = task_shadow_of(world, op->task_id);
    int64_t id;
    size_t at = 0;
    if (op->act == COMMAND_PATCH)
        task->least_version = time_max(task->least_version, version_of(task, serial));
    if (op->act == COMMAND_PATCH && !version_of(task, serial))
        violate(world, 20, "a patch of task %lld was confirmed and never written", (long long)op->task_id);
    if (op->act == COMMAND_PAUSE)
        task->pause_confirmed = task->paused; // unless it was resumed by now
    for (struct shadow *shadow; (shadow = map_next(&world->shadows, &at, &id));) {
        if (shadow->job.task_id != op->task_id)
            continue;
        bool begins = job_is_at_hand(&shadow->job, time_max(node_now(node).wall_ms, EPOCH + world->now));
        if (op->act == COMMAND_PAUSE)
            shadow->paused_token = begins ? shadow->job.token : 0;
        if (op->act == COMMAND_PATCH)
            shadow->patched_token = begins ? shadow->job.token : 0;
        bool open = !job_state_final(shadow->job.state);
        if (op->act == COMMAND_DELETE && open && (op->running || !shadow->removed))
            violate(world, 21, "job %lld is %s after its task was deleted", (long long)id, job_state_text(shadow->job.state));
    }
}

void check_task_start(struct sim_node *node, const struct exec_attempt *attempt, const struct shadow *shadow)
{
    struct world *world = node->world;
    const struct task_shadow *task = map_get(&world->tasks, attempt->outcome->job.task_id);
    if (!task)
        return;
    if (task->pause_confirmed && attempt->outcome->token != shadow->paused_token)
        violate(world, 19, "job %lld was started after the pause of its task was confirmed", (long long)attempt->outcome->job.id);
    int64_t version = version_of(task, serial_of_url(attempt->order->task.target.http.url));
    if (version < task->least_version && attempt->outcome->token != shadow->patched_token)
        violate(world, 20, "job %lld was started as version %lld of its task says, %lld was confirmed",
                (long long)attempt->outcome->job.id, (long long)version, (long long)task->least_version);
    if (task->gone)
        violate(world, 21, "job %lld was started after its task was deleted", (long long)attempt->outcome->job.id);
}

static bool lives(struct world *world, int64_t incarnation)
{
    for (int i = 0; i < world->node_count; i++) {
        const struct sim_node *node = &world->nodes[i];
        if (node->up && atomic_load(&node->flow->node.incarnation) == incarnation &&
            node_alive(&node->flow->node, node_now(node).mono_ms))
            return true;
    }
    return false;
}

// I22: a page is counted once, and nobody is at what another is at.
void check_bulk_write(struct sim_node *node, const struct store_bulk_row *row)
{
    struct world *world = node->world;
    struct store_bulk_row *was = map_get(&world->bulks, row->id);
    if (!was) {
        was = mem_zero(sizeof *was);
        *was = client_bulk_row(world, row->tenant, row->id);
        map_put(&world->bulks, row->id, was);
        was->matched = 0;
    }
    if (row->matched > was->matched && row->next.at == was->next.at && row->next.id == was->next.id && was->holder)
        violate(world, 22, "bulk %lld: a page was counted twice", (long long)row->id);
    if (row->matched < was->matched)
        violate(world, 22, "bulk %lld: a page is not counted any more", (long long)row->id);
    bool taken = row->state == STORE_BULK_RUNNING && was->holder && was->holder != row->holder;
    if (taken && lives(world, was->holder))
        violate(world, 22, "bulk %lld was taken from somebody who is at it", (long long)row->id);
    *was = *row;
    was->doc = (struct str){0};
}

// I22, when everything has come to its end.
void check_bulk(struct world *world, const struct store_bulk_row *row)
{
    int64_t id, tasks = 0, jobs = 0;
    size_t at = 0;
    for (const struct shadow *shadow; (shadow = map_next(&world->shadows, &at, &id));) {
        tasks += shadow->job.tenant == row->tenant && shadow->job.id == shadow->job.task_id;
        jobs += shadow->job.tenant == row->tenant;
    }
    at = 0;
    for (const struct plan_shadow *plan; (plan = map_next(&world->plans, &at, &id));)
        tasks += plan->tenant == row->tenant;
    if (row->state == STORE_BULK_RUNNING)
        violate(world, 22, "bulk %lld has not come to its end: %.*s", (long long)row->id, STR_ARG(row->doc));
    if (row->matched != row->changed + row->unchanged + row->failed)
        violate(world, 22, "bulk %lld matched %lld: %lld changed, %lld unchanged, %lld failed", (long long)row->id,
                (long long)row->matched, (long long)row->changed, (long long)row->unchanged, (long long)row->failed);
    if (row->matched > (memmem(row->doc.p, row->doc.n, "retry", 5) ? jobs : tasks))
        violate(world, 22, "bulk %lld matched %lld, there were never more than %lld tasks and %lld jobs", (long long)row->id,
                (long long)row->matched, (long long)tasks, (long long)jobs);
}

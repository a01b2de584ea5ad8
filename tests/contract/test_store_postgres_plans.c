// What plans cost on PostgreSQL: nothing where nothing recurs, and one lookup each where something does.
#include "postgres_contract.h"
#include "store/plans.h"

#include <stdio.h>

// What the server has counted when it knows that so many jobs and so many tasks have gone. A session tells of what it did when it
// ends.
static long long counted_when_gone(struct world *world, const char *sql, long long at_least)
{
    static const char gone[] = "SELECT min(n_tup_del) FROM pg_stat_user_tables"
                               " WHERE relid IN ('@jobs'::regclass,'@tasks'::regclass)";
    store_close(world->store);
    while (session_ask_in(world->schema, gone) < at_least)
        ;
    long long counted = session_ask_in(world->schema, sql);
    world_open(world);
    return counted;
}

// The end of a job as it was claimed, so that nothing has to be read for it.
static void end_claimed(struct world *world, struct job job, struct str result)
{
    int64_t token = job.token++;
    job.state = JOB_SUCCESS;
    job.completed_at = NOW;
    job.purge_at = NOW + 1;
    job.result = result;
    assert_int_equal(change(world, token, job, NULL), ERR_OK);
}

static void one_time_tasks_have_nothing_to_do_with_plans(void **state)
{
    struct world *world = *state;
    static const char lookups[] = "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelid='@plans_pkey'::regclass";
    join(world, A);
    for (int i = 0; i < 2; i++)
        add(world, (struct sample){0});
    struct store_claim *claimed = claim(world, A, NOW, lane_of(world, TENANT, "q"), 2);
    assert_int_equal(claimed->job_count, 2);
    end_claimed(world, claimed->jobs[0].job, (struct str){0});
    end_claimed(world, claimed->jobs[1].job, STR("{}")); // by the statement of all other steps
    assert_int_equal(sweep(world, NOW + 1, 10), 2);
    assert_int_equal(counted_when_gone(world, lookups, 2), 0);
}

// Makes a task recur, and as many others that have nothing but their plans.
static void make_recur(struct world *world, int64_t task_id, int others)
{
    char sql[700];
    snprintf(
        sql, sizeof sql,
        "INSERT INTO "
        "%s.plans(task_id,tenant,lane,version,revision,planned_through,instants,ended_with,check_at,success,failed,cancelled,"
        "failures_in_row,last_at,paused_at,over) SELECT CASE n WHEN 0 THEN %lld ELSE 1000000+n "
        "END,7,1,1,0,1,0,0,1000+n,0,0,0,0,0,"
        "0,false FROM generate_series(0,%d) n; UPDATE %s.jobs SET trigger=1; ANALYZE %s.plans",
        world->schema, (long long)task_id, others, world->schema, world->schema);
    session_do_as(false, sql);
}

static void carry_on(struct world *world, int64_t task_id, int64_t from, bool unread)
{
    // The first one is written without being read, and makes the revision 1.
    struct plan plan = {
        .task_id = task_id, .version = 1, .revision = !unread, .planned_through = from + 1, .check_at = TIME_NEVER};
    struct job job = {.id = ++world->last_id, .task_id = task_id, .tenant = TENANT, .token = 1, .trigger = TRIGGER_SCHEDULE};
    job.state = JOB_DELAYED;
    job.due_at = NOW + from;
    struct store_planned item = {.from = from, .unread = unread, .plan = &plan, .jobs = &job, .job_count = 1};
    struct store_plan *op = OP(world, store_plan, STORE_PLAN);
    *op = (struct store_plan){.op = op->op, .holder = A, .now_ms = NOW, .items = &item, .count = 1};
    assert_int_equal(call(world, &op->op), ERR_OK);
    assert_int_equal(item.err, ERR_OK);
}

// Rows are counted: each verb reads those of the one plan it is about.
static void a_plan_is_looked_up_however_many_there_are(void **state)
{
    struct world *world = *state;
    enum { OTHERS = 4000 };
    static const char reads[] = "SELECT seq_tup_read+sum(i.idx_tup_read)::bigint FROM pg_stat_user_tables t JOIN"
                                " pg_stat_user_indexes i USING(relid) WHERE relid='@plans'::regclass GROUP BY seq_tup_read";
    join(world, A);
    int64_t id = add(world, (struct sample){0});
    make_recur(world, id, OTHERS);
    long long before = session_ask_in(world->schema, reads);
    carry_on(world, id, 1, true);
    carry_on(world, id, 2, false);
    struct store_claim *claimed = claim(world, A, NOW, lane_of(world, TENANT, "q"), 1);
    assert_int_equal(claimed->job_count, 1);
    end_claimed(world, claimed->jobs[0].job, (struct str){0});
    assert_int_equal(sweep(world, NOW + 1, 10), 1);
    struct store_plans *due = OP(world, store_plans, STORE_PLANS);
    *due = (struct store_plans){.op = due->op, .now_ms = 1010, .max = 5};
    assert_int_equal(call(world, &due->op), ERR_OK);
    struct store_get *get = get_job(world, world->last_id);
    assert_true(get->task.plan->success == 1 && get->task.plan->planned_through == 3);
    struct store_amend *amend = OP(world, store_amend, STORE_AMEND);
    amend->task = get->task;
    assert_int_equal(call(world, &amend->op), ERR_OK);
    int64_t gone = add(world, (struct sample){.state = JOB_SUCCESS});
    struct store_remove *removal = OP(world, store_remove, STORE_REMOVE);
    *removal = (struct store_remove){.op = removal->op, .task_id = gone, .version = 1, .tenant = TENANT, .max = 10};
    assert_int_equal(call(world, &removal->op), ERR_OK);
    long long read = counted_when_gone(world, reads, 1) - before;
    assert_in_range(read, 1, OTHERS / 10);
}

// A job that the store itself takes out of `jobs`, because it is cancelled, is not missing.
static void a_planned_job_that_is_removed_behind_its_back_is_noted(void **state)
{
    struct world *world = *state;
    join(world, A);
    int64_t id = add(world, (struct sample){0});
    make_recur(world, id, 0);
    carry_on(world, id, 1, true);
    int64_t removed = world->last_id;
    carry_on(world, id, 2, true);
    struct job job = job_now(world, world->last_id);
    job.state = JOB_CANCELLED;
    job.completed_at = NOW;
    job.purge_at = NOW + DAY;
    assert_int_equal(change(world, job.token, job, NULL), ERR_OK);
    assert_null(get_job(world, id)->task.plan->missing.p);
    char sql[200];
    snprintf(sql, sizeof sql, "UPDATE %s.jobs SET nominal_at=5 WHERE id=%lld; DELETE FROM %s.jobs WHERE id=%lld", world->schema,
             (long long)removed, world->schema, (long long)removed);
    session_do_as(false, sql);
    snprintf(sql, sizeof sql, "%lld 5;", (long long)removed);
    const struct plan *plan = get_job(world, id)->task.plan;
    assert_true(str_is(plan->missing, sql));
    assert_true(plan->check_at == 0 && plan->revision == 4); // of two plans, the end of a job, and the removal
}

int contract_postgres_plans(void)
{
    const struct CMUnitTest tests[] = {
        PROMISE(one_time_tasks_have_nothing_to_do_with_plans),
        PROMISE(a_plan_is_looked_up_however_many_there_are),
        PROMISE(a_planned_job_that_is_removed_behind_its_back_is_noted),
    };
    return cmocka_run_group_tests_name("store postgres: plans", tests, NULL, NULL);
}

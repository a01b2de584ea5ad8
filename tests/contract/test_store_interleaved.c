// Two or three sessions at once, in every interleaving of their statements.
//
// Each session is a store of its own behind a proxy that holds its statements back (tests/support/proxy.h). A scenario says what
// each of them does; every order in which their statements can come is tried, from the same rows, and after each order what must
// always be true is looked up in the tables. A statement that waits for a lock goes on when the lock is free, and the order
// around it.
//
// How many statements an operation has is found out by letting it run alone. BEGIN commutes with everything and goes along with
// the statement behind it.
#include "interleaved_support.h"
#include "store/peers.h"
#include "store/plans.h"

#include <stdio.h>

// ---- two sessions

static size_t claimed_by_all(const struct stage *stage)
{
    size_t count = 0;
    for (int i = 0; i < SESSIONS; i++)
        if (stage->sessions[i].op && stage->sessions[i].verb == STORE_CLAIM)
            count += container_of(stage->sessions[i].op, struct store_claim, op)->job_count;
    return count;
}

static void all_of_lane_one_are_claimed(struct stage *stage)
{
    assert_int_equal(claimed_by_all(stage), 3);
}

static void all_are_claimed_but_what_is_over_the_limit(struct stage *stage)
{
    assert_int_equal(claimed_by_all(stage), JOBS);
}

static void the_first_job_was_written_once(struct stage *stage)
{
    assert_int_equal(times_written(stage, stage->ids[0]), 1);
}

static void one_of_both_wins(struct stage *stage)
{
    enum err first = stage->sessions[0].op->err, second = stage->sessions[1].op->err;
    assert_true((first == ERR_OK && second == ERR_MOVED_ON) || (first == ERR_FENCED && second == ERR_OK));
}

static void nothing_was_claimed_once_it_was_paused(struct stage *stage)
{
    if (stage->claims_when_paused < 2) // the fence only
        assert_int_equal(claimed_by_all(stage), 0);
}

// Of those who divide at once one is heard, and all rows are its own.
static void one_divided(struct stage *stage)
{
    int heard = 0;
    for (int i = 0; i < SESSIONS; i++)
        heard += stage->sessions[i].op && stage->sessions[i].op->err == ERR_OK;
    assert_int_equal(heard, 1);
    assert_int_equal(ask(stage, "SELECT count(*) FROM @owners WHERE term=1"), 2);
    assert_int_equal(ask(stage, "SELECT count(DISTINCT puller) FROM @owners"), 1);
    assert_int_equal(ask(stage, "SELECT value FROM @meta WHERE name='term'"), 1);
}

static void no_wish_is_left_to_the_gone(struct stage *stage)
{
    assert_int_equal(ask(stage, "SELECT count(*) FROM @requests WHERE holder NOT IN (SELECT id FROM @incarnations)"), 0);
}

// A request is told, still there, or was refused.
static void no_wish_is_lost(struct stage *stage)
{
    const struct store_requests *asked = container_of(stage->sessions[1].op, struct store_requests, op);
    assert_int_equal(stage->sessions[0].op->err, ERR_OK);
    assert_int_equal((long long)asked->job_count + ask(stage, "SELECT count(*) FROM @requests"), 1);
}

static void two_claims(void **state)
{
    try_every_order(state, (struct scenario){{claim_one_lane, claim_one_lane}, .check = all_of_lane_one_are_claimed});
}

static void two_claims_of_two_lanes_in_opposite_order(void **state)
{
    try_every_order(state,
                    (struct scenario){{claim_two_lanes, claim_two_lanes}, .check = all_are_claimed_but_what_is_over_the_limit});
}

static void a_change_that_ends_a_job_and_a_claim(void **state)
{
    try_every_order(state, (struct scenario){{change_first, claim_one_lane}, .check = the_first_job_was_written_once});
}

static void a_claim_and_a_change_that_puts_a_job_off(void **state)
{
    try_every_order(state, (struct scenario){{claim_one_lane, change_first}});
}

static void a_claim_and_the_burial_of_its_holder(void **state)
{
    try_every_order(state, (struct scenario){{claim_one_lane, bury_first}});
}

static void a_job_added_in_hand_and_the_burial_of_its_holder(void **state)
{
    try_every_order(state, (struct scenario){{add_in_hand_of_first, bury_first}});
}

static void a_claim_and_the_forgetting_of_its_holder(void **state)
{
    try_every_order(state, (struct scenario){{claim_one_lane, forget_first}, .check = one_of_both_wins});
}

static void a_beat_and_a_burial(void **state)
{
    try_every_order(state, (struct scenario){{beat_of_first, bury_first}, .check = one_of_both_wins});
}

static void two_changes_on_one_token(void **state)
{
    try_every_order(state, (struct scenario){{change_first, change_first}, .check = the_first_job_was_written_once});
}

static void jobs_that_become_due_and_a_claim(void **state)
{
    try_every_order(state, (struct scenario){{make_due, claim_one_lane}});
}

static void jobs_that_become_due_and_a_change(void **state)
{
    try_every_order(state, (struct scenario){{make_due, change_first}});
}

static void a_pause_and_a_claim(void **state)
{
    try_every_order(state, (struct scenario){{pause_lane, claim_one_lane}, .check = nothing_was_claimed_once_it_was_paused});
}

// The list raises the floor of an emptied lane above what is being added. Who looks afterwards must find it all the same.
static void what_was_added_is_found(struct stage *stage)
{
    struct store_claim *op = claim(stage->world, FIRST, NOW + 120000, stage->lanes[1], 10);
    const struct store_claim *before = container_of(stage->sessions[2].op, struct store_claim, op);
    assert_int_equal(op->job_count + before->job_count, 3);
    assert_int_equal(op->wants[0].next_due, TIME_NEVER);
}

static void a_job_that_is_added_while_floors_are_raised(void **state)
{
    try_every_order(state,
                    (struct scenario){{add_late, list_lanes, claim_other_lane}, .coarse = 2, .check = what_was_added_is_found});
}

static void two_divisions(void **state)
{
    try_every_order(state, (struct scenario){{divide, divide}, .check = one_divided});
}

static void a_wish_and_the_forgetting_of_who_is_asked(void **state)
{
    try_every_order(state, (struct scenario){{ask_first, forget_first}, .check = no_wish_is_left_to_the_gone});
}

static void a_wish_and_who_takes_it(void **state)
{
    try_every_order(state, (struct scenario){{ask_first, asked_of_first}, .check = no_wish_is_lost});
}

// What the amendment found is what it wrote with: the job went along, or nothing did.
static void the_amendment_took_its_job_along_or_nothing(struct stage *stage)
{
    bool amended = false;
    for (int i = 0; i < SESSIONS; i++)
        if (stage->sessions[i].op && stage->sessions[i].verb == STORE_AMEND) {
            amended |= !stage->sessions[i].op->err;
            assert_true(!stage->sessions[i].op->err || stage->sessions[i].op->err == ERR_MOVED_ON);
        }
    char sql[200];
    snprintf(sql, sizeof sql, "SELECT version*10+(doc='{\"amended\":1}')::int FROM @tasks WHERE id=%lld",
             (long long)stage->ids[0]);
    assert_int_equal(ask(stage, sql), amended ? 21 : 10);
    snprintf(sql, sizeof sql, "SELECT count(*) FROM @jobs WHERE id=%lld AND lane=%lld AND priority=7", (long long)stage->ids[0],
             (long long)stage->lanes[1]);
    assert_int_equal(ask(stage, sql), amended);
}

static void one_was_first(struct stage *stage)
{
    the_amendment_took_its_job_along_or_nothing(stage);
    assert_int_equal(times_written(stage, stage->ids[0]), 1);
}

static void one_amended(struct stage *stage)
{
    assert_int_equal(!stage->sessions[0].op->err + !stage->sessions[1].op->err, 1);
    one_was_first(stage);
}

// Who claims after the pause gets nothing to run of that task, and of the others all the same.
static void a_claim_behind_the_pause_brings_no_document(struct stage *stage)
{
    assert_int_equal(stage->sessions[0].op->err, ERR_OK);
    const struct store_claim *claim = container_of(stage->sessions[1].op, struct store_claim, op);
    for (size_t i = 0; i < claim->job_count; i++)
        if (claim->jobs[i].job.id != stage->ids[0])
            assert_true(claim->jobs[i].doc.n > 0);
        else if (stage->claims_when_paused < 2) // the fence only
            assert_int_equal(claim->jobs[i].doc.n, 0);
}

static void nothing_waits_of_a_task_that_is_gone(struct stage *stage)
{
    assert_int_equal(ask(stage, "SELECT count(*) FROM @jobs j WHERE NOT EXISTS (SELECT FROM @tasks t WHERE t.id=j.task_id)"), 0);
    enum err added = container_of(stage->sessions[1].op, struct store_add, op)->items[0].err;
    assert_true(stage->sessions[0].op->err ? stage->sessions[0].op->err == ERR_MOVED_ON && !added : added == ERR_NOT_FOUND);
}

// Its job waits, or somebody has it in hand: in whichever order, that keeps the task.
static void the_task_is_still_there(struct stage *stage)
{
    assert_int_equal(stage->sessions[0].op->err, ERR_MOVED_ON);
    assert_int_equal(ask(stage, "SELECT count(*) FROM @jobs j WHERE NOT EXISTS (SELECT FROM @tasks t WHERE t.id=j.task_id)"), 0);
}

static void an_amendment_and_a_claim(void **state)
{
    try_every_order(state, (struct scenario){{amend_first, claim_one_lane}, .check = one_was_first});
}

static void an_amendment_and_a_change(void **state)
{
    try_every_order(state, (struct scenario){{change_first, amend_first}, .check = one_was_first});
}

static void both_were_done(struct stage *stage)
{
    assert_int_equal(stage->sessions[0].op->err, ERR_OK);
    assert_int_equal(times_written(stage, stage->ids[0]), 1);
}

static void new_tags_of_a_task_and_a_new_plan_for_its_job(void **state)
{
    try_every_order(state, (struct scenario){{retag_first, replan_first}, .check = both_were_done});
}

static void new_tags_with_a_new_plan_and_another_plan(void **state)
{
    try_every_order(state, (struct scenario){{replan_first, retag_first_and_replan}, .check = one_was_first});
}

static void it_was_swept_or_planned(struct stage *stage)
{
    bool swept = container_of(stage->sessions[0].op, struct store_sweep, op)->removed;
    enum err err = container_of(stage->sessions[1].op, struct store_change, op)->steps[0].err;
    assert_int_equal(err, swept ? ERR_NOT_FOUND : ERR_OK);
    assert_int_equal(ask(stage, "SELECT count(*) FROM @jobs j WHERE NOT EXISTS (SELECT FROM @tasks t WHERE t.id=j.task_id)"), 0);
}

static void a_sweep_and_a_new_plan_for_what_has_ended(void **state)
{
    try_every_order(state, (struct scenario){{sweep_ended, plan_ended_again}, .coarse = 2, .check = it_was_swept_or_planned});
}

static void two_amendments(void **state)
{
    try_every_order(state, (struct scenario){{amend_first, amend_first}, .check = one_amended});
}

static void a_pause_of_a_task_and_a_claim(void **state)
{
    try_every_order(state,
                    (struct scenario){{pause_first, claim_one_lane}, .check = a_claim_behind_the_pause_brings_no_document});
}

static void a_deletion_and_a_new_job_of_the_task(void **state)
{
    try_every_order(state, (struct scenario){{delete_ended, add_to_ended}, .check = nothing_waits_of_a_task_that_is_gone});
}

static void a_deletion_and_a_claim(void **state)
{
    try_every_order(state, (struct scenario){{delete_first, claim_one_lane}, .check = the_task_is_still_there});
}

static void a_deletion_and_a_change(void **state)
{
    try_every_order(state, (struct scenario){{delete_first, change_first}, .check = the_task_is_still_there});
}

// Whoever was first: what was added is in a lane that is listed.
static void the_lane_is_listed(struct stage *stage)
{
    enum err err = stage->sessions[0].op->err;
    assert_true(err == ERR_OK || err == ERR_QUEUE_NOT_EMPTY);
    assert_int_equal(stage->sessions[1].op->err, ERR_OK);
    assert_true(is_listed(stage->world, TENANT, "empty"));
}

static void the_lane_is_listed_and_paused(struct stage *stage)
{
    enum err err = stage->sessions[0].op->err;
    assert_true(err == ERR_OK || err == ERR_QUEUE_PAUSED);
    assert_int_equal(stage->sessions[1].op->err, ERR_OK);
    assert_true(is_listed(stage->world, TENANT, "empty"));
    assert_int_equal(ask(stage, "SELECT count(*) FROM @lanes WHERE queue='empty' AND paused"), 1);
}

static void both_lanes_are_paused(struct stage *stage)
{
    assert_int_equal(stage->sessions[0].op->err, ERR_OK);
    assert_int_equal(stage->sessions[1].op->err, ERR_OK);
    assert_int_equal(ask(stage, "SELECT count(*) FROM @lanes WHERE queue='two' AND paused"), 2);
}

static void one_dropped(struct stage *stage)
{
    enum err first = stage->sessions[0].op->err, second = stage->sessions[1].op->err;
    assert_true((first == ERR_OK && second == ERR_NOT_FOUND) || (first == ERR_NOT_FOUND && second == ERR_OK));
    assert_false(is_listed(stage->world, TENANT, "empty"));
}

static void a_dropped_lane_and_a_job_that_is_added_to_it(void **state)
{
    try_every_order(state, (struct scenario){{drop_empty, add_to_empty}, .check = the_lane_is_listed});
}

static void a_dropped_lane_and_a_job_that_is_moved_there(void **state)
{
    try_every_order(state, (struct scenario){{drop_empty, move_first_to_empty}, .check = the_lane_is_listed});
}

static void a_dropped_lane_and_its_pause(void **state)
{
    try_every_order(state, (struct scenario){{drop_empty, pause_empty}, .check = the_lane_is_listed_and_paused});
}

static void a_dropped_queue_and_another_lane_that_is_made_of_it(void **state)
{
    try_every_order(state, (struct scenario){{drop_empty, hand_out_first_in_empty}, .check = the_lane_is_listed});
}

static void a_paused_queue_and_another_lane_that_is_made_of_it(void **state)
{
    try_every_order(state, (struct scenario){{pause_other_lane, hand_out_first}, .check = both_lanes_are_paused});
}

static void a_lane_that_is_dropped_twice(void **state)
{
    try_every_order(state, (struct scenario){{drop_empty, drop_empty}, .check = one_dropped});
}

// ---- three sessions

static void two_jobs_that_are_added_to_a_dropped_lane(void **state)
{
    try_every_order(state, (struct scenario){{drop_empty, add_to_empty, add_to_empty}, .coarse = 2, .check = the_lane_is_listed});
}

static void an_amendment_a_claim_and_a_change(void **state)
{
    try_every_order(state, (struct scenario){{amend_first, claim_one_lane, change_first},
                                             .coarse = 2,
                                             .check = the_amendment_took_its_job_along_or_nothing});
}

static void three_divisions(void **state)
{
    try_every_order(state, (struct scenario){{divide, divide, divide}, .check = one_divided});
}

static void a_claim_a_change_and_the_burial_of_the_holder(void **state)
{
    try_every_order(state, (struct scenario){{claim_one_lane, change_first, bury_first}});
}

static void a_claim_a_change_and_jobs_that_become_due(void **state)
{
    try_every_order(state, (struct scenario){{claim_one_lane, change_first, make_due}, .coarse = 2});
}

static void three_claims(void **state)
{
    try_every_order(
        state,
        (struct scenario){{claim_one_lane, claim_one_lane, claim_one_lane}, .coarse = 2, .check = all_of_lane_one_are_claimed});
}

static void two_claims_of_two_lanes_and_a_change(void **state)
{
    try_every_order(state, (struct scenario){{claim_two_lanes, claim_two_lanes, change_first}, .coarse = 2});
}

// Who holds one of the lanes makes both claims wait in the middle of a statement, if they wait at all.
static void two_claims_of_two_lanes_and_a_pause(void **state)
{
    try_every_order(state, (struct scenario){{claim_two_lanes, claim_two_lanes, pause_other_lane}, .coarse = 2});
}

// ---- recurring tasks

static enum err result_of_plan(const struct stage *stage, int session)
{
    return container_of(stage->sessions[session].op, struct store_plan, op)->items[0].err;
}

// Of the plan of the first task.
static long long of_first(struct stage *stage, const char *column)
{
    char sql[100];
    snprintf(sql, sizeof sql, "SELECT %s FROM @plans WHERE task_id=%lld", column, (long long)stage->ids[0]);
    return ask(stage, sql);
}

static const char planned_jobs[] = "SELECT count(*) FROM @jobs WHERE nominal_at>100100"; // behind PLANNED

static void the_instant_was_planned_once(struct stage *stage)
{
    enum err first = result_of_plan(stage, 0), second = result_of_plan(stage, 1);
    assert_true((first == ERR_OK && second == ERR_MOVED_ON) || (first == ERR_MOVED_ON && second == ERR_OK));
    assert_int_equal(ask(stage, planned_jobs), 1);
}

static void two_plans_of_one_instant(void **state)
{
    try_every_order(state, (struct scenario){{plan_first_unread, plan_first_unread}, .check = the_instant_was_planned_once});
    try_every_order(state, (struct scenario){{plan_first, plan_first_unread}, .check = the_instant_was_planned_once});
}

static void the_end_is_counted_and_the_instant_planned(struct stage *stage)
{
    assert_int_equal(result_of_plan(stage, 0), ERR_OK);
    assert_int_equal(times_written(stage, stage->ids[0]), 1);
    assert_true(of_first(stage, "success") == 1 && of_first(stage, "revision") == 2);
    assert_true(of_first(stage, "planned_through") > PLANNED && ask(stage, planned_jobs) == 1);
}

static void a_plan_that_was_not_read_and_the_end_of_a_job(void **state)
{
    try_every_order(
        state, (struct scenario){{plan_first_unread, end_first_of_plan}, .check = the_end_is_counted_and_the_instant_planned});
}

static void the_end_is_counted_and_the_plan_written_before_it_or_not(struct stage *stage)
{
    bool written = result_of_plan(stage, 0) == ERR_OK;
    assert_true(written || result_of_plan(stage, 0) == ERR_MOVED_ON);
    assert_true(of_first(stage, "success") == 1 && of_first(stage, "revision") == 1 + written);
    assert_true(of_first(stage, "cardinality(active)") == 0 && ask(stage, planned_jobs) == written);
}

static void a_plan_that_was_read_and_the_end_of_a_job(void **state)
{
    try_every_order(state, (struct scenario){{plan_first, end_first_of_plan},
                                             .check = the_end_is_counted_and_the_plan_written_before_it_or_not});
}

// The amendment locks the plan before the job. A change that did otherwise would end in a deadlock.
static void the_job_was_amended_or_counted(struct stage *stage)
{
    bool amended = stage->sessions[0].op->err == ERR_OK;
    assert_int_equal(times_written(stage, stage->ids[0]), 1);
    assert_int_equal(of_first(stage, "success"), !amended);
    assert_int_equal(of_first(stage, "version"), 1 + amended);
    assert_int_equal(of_first(stage, "revision"), 1);
}

static void an_amendment_of_a_plan_and_the_end_of_a_job(void **state)
{
    try_every_order(state, (struct scenario){{amend_first_and_plan, end_first_of_plan}, .check = the_job_was_amended_or_counted});
}

static void both_are_counted_once(struct stage *stage)
{
    assert_int_equal(ask(stage, "SELECT sum(success)::bigint FROM @plans"), 2);
    assert_int_equal(ask(stage, "SELECT sum(revision)::bigint FROM @plans"), 2);
}

static void two_changes_that_end_jobs_of_two_plans_in_opposite_order(void **state)
{
    try_every_order(state, (struct scenario){{end_two_of_plans, end_two_of_plans}, .check = both_are_counted_once});
}

// What is tagged anew has the tags of its task, whoever came first: that is looked up after every order.
static void new_tags_of_a_recurring_task_and_its_plan(void **state)
{
    try_every_order(state, (struct scenario){{retag_first_and_plan, plan_first_unread}});
    try_every_order(state, (struct scenario){{retag_first_and_plan, plan_first}});
}

static void no_job_is_left_without_its_task(struct stage *stage)
{
    assert_int_equal(ask(stage, "SELECT count(*) FROM @jobs j WHERE NOT EXISTS (SELECT FROM @tasks t WHERE t.id=j.task_id)"), 0);
    assert_int_equal(ask(stage, "SELECT count(*) FROM @plans p WHERE NOT EXISTS (SELECT FROM @tasks t WHERE t.id=p.task_id)"), 0);
    assert_int_equal(ask(stage, planned_jobs), result_of_plan(stage, 1) == ERR_OK);
}

static void a_deletion_of_a_recurring_task_and_its_plan(void **state)
{
    try_every_order(state,
                    (struct scenario){{delete_ended_and_plan, plan_ended_unread}, .check = no_job_is_left_without_its_task});
}

static void a_sweep_and_the_last_plan_of_a_task(void **state)
{
    try_every_order(
        state,
        (struct scenario){{sweep_ended_and_plan, plan_last_for_ended}, .coarse = 2, .check = no_job_is_left_without_its_task});
}

// One of them adds its task, and the other is told of it.
static void the_name_leads_to_one_task(struct stage *stage)
{
    const struct store_new *items[] = {container_of(stage->sessions[0].op, struct store_add, op)->items,
                                       container_of(stage->sessions[1].op, struct store_add, op)->items};
    int64_t owner = ask(stage, "SELECT task_id FROM @plans WHERE reserved='nightly'");
    int winner = items[0]->existing_id != 0;
    assert_true(!items[0]->err && !items[1]->err);
    assert_true(items[winner]->existing_id == 0 && items[winner]->task->id == owner);
    assert_int_equal(items[!winner]->existing_id, owner);
    assert_int_equal(ask(stage, "SELECT count(*) FROM @plans p WHERE NOT EXISTS (SELECT FROM @tasks t WHERE t.id=p.task_id)"), 0);
}

static void two_tasks_that_reserve_one_name(void **state)
{
    try_every_order(state, (struct scenario){{reserve, reserve}, .check = the_name_leads_to_one_task});
}

static void two_tasks_that_take_over_one_name(void **state)
{
    try_every_order(state,
                    (struct scenario){{reserve_name_of_first, reserve_name_of_first}, .check = the_name_leads_to_one_task});
}

static int64_t owner_of_name(struct stage *stage)
{
    return ask(stage, "SELECT coalesce((SELECT task_id FROM @plans WHERE reserved='nightly'),0)");
}

// It is added, or told who has the name, or told that the name was taken a moment ago and is free now.
static void the_name_is_free_taken_or_was_taken(struct stage *stage)
{
    const struct store_new *item = container_of(stage->sessions[1].op, struct store_add, op)->items;
    assert_int_equal(stage->sessions[1].op->err, ERR_OK);
    bool added = !item->err && !item->existing_id;
    assert_true(added || item->err == ERR_MOVED_ON || (!item->err && item->existing_id == stage->ended));
    assert_int_equal(owner_of_name(stage), added ? item->task->id : 0);
    assert_int_equal(ask(stage, "SELECT count(*) FROM @plans p WHERE NOT EXISTS (SELECT FROM @tasks t WHERE t.id=p.task_id)"), 0);
}

static void a_deletion_and_a_task_that_reserves_the_name(void **state)
{
    try_every_order(state, (struct scenario){{delete_ended_and_its_name, reserve}, .check = the_name_is_free_taken_or_was_taken});
}

// What is refused has not taken the name from the task that had it.
static void the_name_was_taken_over_or_stayed(struct stage *stage)
{
    const struct store_add *add = container_of(stage->sessions[0].op, struct store_add, op);
    assert_true(add->op.err == ERR_OK || add->op.err == ERR_FENCED);
    assert_int_equal(owner_of_name(stage), add->op.err ? stage->ids[0] : add->items[0].task->id);
}

static void a_task_that_takes_over_a_name_and_the_burial_of_who_adds_it(void **state)
{
    try_every_order(state,
                    (struct scenario){{reserve_name_of_first_by_first, bury_first}, .check = the_name_was_taken_over_or_stayed});
}

static void an_amendment_of_a_plan_a_plan_and_the_end_of_a_job(void **state)
{
    try_every_order(state, (struct scenario){{amend_first_and_plan, plan_first, end_first_of_plan}, .coarse = 2});
}

#define PROMISE(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PROMISE(two_claims),
        PROMISE(two_claims_of_two_lanes_in_opposite_order),
        PROMISE(a_change_that_ends_a_job_and_a_claim),
        PROMISE(a_claim_and_a_change_that_puts_a_job_off),
        PROMISE(a_claim_and_the_burial_of_its_holder),
        PROMISE(a_job_added_in_hand_and_the_burial_of_its_holder),
        PROMISE(a_claim_and_the_forgetting_of_its_holder),
        PROMISE(a_beat_and_a_burial),
        PROMISE(two_changes_on_one_token),
        PROMISE(jobs_that_become_due_and_a_claim),
        PROMISE(jobs_that_become_due_and_a_change),
        PROMISE(a_pause_and_a_claim),
        PROMISE(a_job_that_is_added_while_floors_are_raised),
        PROMISE(two_divisions),
        PROMISE(a_wish_and_the_forgetting_of_who_is_asked),
        PROMISE(a_wish_and_who_takes_it),
        PROMISE(an_amendment_and_a_claim),
        PROMISE(an_amendment_and_a_change),
        PROMISE(new_tags_of_a_task_and_a_new_plan_for_its_job),
        PROMISE(new_tags_with_a_new_plan_and_another_plan),
        PROMISE(a_sweep_and_a_new_plan_for_what_has_ended),
        PROMISE(two_amendments),
        PROMISE(a_pause_of_a_task_and_a_claim),
        PROMISE(a_deletion_and_a_new_job_of_the_task),
        PROMISE(a_deletion_and_a_claim),
        PROMISE(a_deletion_and_a_change),
        PROMISE(a_dropped_lane_and_a_job_that_is_added_to_it),
        PROMISE(a_dropped_lane_and_a_job_that_is_moved_there),
        PROMISE(a_dropped_lane_and_its_pause),
        PROMISE(a_dropped_queue_and_another_lane_that_is_made_of_it),
        PROMISE(a_paused_queue_and_another_lane_that_is_made_of_it),
        PROMISE(a_lane_that_is_dropped_twice),
        PROMISE(two_jobs_that_are_added_to_a_dropped_lane),
        PROMISE(an_amendment_a_claim_and_a_change),
        PROMISE(three_divisions),
        PROMISE(a_claim_a_change_and_the_burial_of_the_holder),
        PROMISE(a_claim_a_change_and_jobs_that_become_due),
        PROMISE(three_claims),
        PROMISE(two_claims_of_two_lanes_and_a_change),
        PROMISE(two_claims_of_two_lanes_and_a_pause),
        PROMISE(two_plans_of_one_instant),
        PROMISE(a_plan_that_was_not_read_and_the_end_of_a_job),
        PROMISE(a_plan_that_was_read_and_the_end_of_a_job),
        PROMISE(an_amendment_of_a_plan_and_the_end_of_a_job),
        PROMISE(two_changes_that_end_jobs_of_two_plans_in_opposite_order),
        PROMISE(two_tasks_that_reserve_one_name),
        PROMISE(two_tasks_that_take_over_one_name),
        PROMISE(a_deletion_and_a_task_that_reserves_the_name),
        PROMISE(a_task_that_takes_over_a_name_and_the_burial_of_who_adds_it),
        PROMISE(new_tags_of_a_recurring_task_and_its_plan),
        PROMISE(a_deletion_of_a_recurring_task_and_its_plan),
        PROMISE(a_sweep_and_the_last_plan_of_a_task),
        PROMISE(an_amendment_of_a_plan_a_plan_and_the_end_of_a_job),
    };
    return cmocka_run_group_tests_name("store postgres: every interleaving", tests, set_up, tear_down);
}

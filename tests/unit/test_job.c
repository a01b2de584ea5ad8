// The life of a job: the table over all states and events, every step in every state, and leases.
//
// With --print-states it prints docs/states.md from the shipped table instead; the suite fails when the committed file differs.
#include "job_samples.h"

#include "base/buf.h"
#include "base/mem.h"

#include <stdio.h>

static const struct job_policy POLICY_KEPT = {.sla_ms = 30000, .ttl_ms = -1, .lost_max = 3};

// ---- the table ----

// The picture of a job's life, arrow by arrow, written down a second time. What is not here must not be possible.
static const struct arrow {
    enum job_state from;
    enum job_event event;
    enum job_state to;
} arrows[] = {
    {JOB_BLOCKED, JOB_ON_UNBLOCK, JOB_DELAYED}, // (unblocked)
    {JOB_BLOCKED, JOB_ON_DUE, JOB_READY},       // unblocked when its time has passed
    {JOB_BLOCKED, JOB_ON_GIVE_UP, JOB_ABORTED}, // (dependency failed, rule "fail")
    {JOB_DELAYED, JOB_ON_DUE, JOB_READY},       // (due)
    {JOB_DELAYED, JOB_ON_CLAIM, JOB_WATCHING},  // (near)
    {JOB_READY, JOB_ON_CLAIM, JOB_WATCHING},
    {JOB_WATCHING, JOB_ON_RELEASE, JOB_READY},    // (given back: free)
    {JOB_WATCHING, JOB_ON_POSTPONE, JOB_DELAYED}, // a full host, an open breaker: go back as delayed
    {JOB_WATCHING, JOB_ON_LOSE, JOB_READY},       // (its holder died: free)
    {JOB_WATCHING, JOB_ON_START, JOB_RESERVED},   // (a slot is free: the attempt begins)
    {JOB_RESERVED, JOB_ON_SUCCEED, JOB_SUCCESS},  // (success)
    {JOB_RESERVED, JOB_ON_GIVE_UP, JOB_ABORTED},  // (no attempt left)
    {JOB_RESERVED, JOB_ON_RETRY, JOB_DELAYED},    // (failed, timed out; tries left)
    {JOB_RESERVED, JOB_ON_LOSE, JOB_READY},       // (holder died)
    {JOB_RESERVED, JOB_ON_BURY, JOB_BURIED},      // (holder died ≥ lost_max)
    {JOB_RESERVED, JOB_ON_INTERRUPT, JOB_READY},  // its holder stops and says so
    {JOB_DELAYED, JOB_ON_REPLAN, JOB_DELAYED},    // its task was changed or resumed; when it is due, that follows
    {JOB_READY, JOB_ON_REPLAN, JOB_DELAYED},
    {JOB_BLOCKED, JOB_ON_CANCEL, JOB_CANCELLED}, // cancel, expiry: from any state that is not final
    {JOB_DELAYED, JOB_ON_CANCEL, JOB_CANCELLED},
    {JOB_READY, JOB_ON_CANCEL, JOB_CANCELLED},
    {JOB_WATCHING, JOB_ON_CANCEL, JOB_CANCELLED},
    {JOB_RESERVED, JOB_ON_CANCEL, JOB_CANCELLED},
    {JOB_WATCHING, JOB_ON_BLOCK, JOB_BLOCKED},
    {JOB_RESERVED, JOB_ON_DETACH, JOB_RESERVED}, // answered 202: who runs it will say how it ended
    {JOB_RESERVED, JOB_ON_EXTEND, JOB_RESERVED}, // a heartbeat
};

static enum job_state expected_next(enum job_state from, enum job_event event)
{
    for (size_t i = 0; i < array_count(arrows); i++)
        if (arrows[i].from == from && arrows[i].event == event)
            return arrows[i].to;
    return JOB_STATE_COUNT;
}

static void the_table_is_the_picture_over_all_states_and_events(void **state)
{
    for (int s = 0; s < JOB_STATE_COUNT; s++)
        for (int e = 0; e < JOB_EVENT_COUNT; e++)
            assert_int_equal(job_next((enum job_state)s, (enum job_event)e), expected_next((enum job_state)s, (enum job_event)e));
}

static void final_states_are_never_left_and_the_others_all_can_be(void **state)
{
    for (int s = 0; s < JOB_STATE_COUNT; s++) {
        int ways_out = 0;
        for (int e = 0; e < JOB_EVENT_COUNT; e++)
            ways_out += job_next((enum job_state)s, (enum job_event)e) != JOB_STATE_COUNT;
        assert_int_equal(ways_out == 0, job_state_final((enum job_state)s));
    }
}

static void every_state_is_of_one_sort(void **state)
{
    for (int s = 0; s < JOB_STATE_COUNT; s++) {
        enum job_state one = (enum job_state)s;
        assert_int_equal(job_state_final(one) + job_state_held(one) + job_state_waiting(one) + (one == JOB_BLOCKED), 1);
    }
}

static void everything_has_its_word(void **state)
{
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        assert_non_null(job_state_text((enum job_state)i));
    for (int i = 0; i < JOB_EVENT_COUNT; i++)
        assert_true(job_event_text((enum job_event)i) && job_event_words((enum job_event)i));
    for (int i = 0; i < OUTCOME_COUNT; i++)
        assert_non_null(job_outcome_text((enum job_outcome)i));
    assert_null(job_stage_text(STAGE_NONE));
    assert_string_equal(job_stage_text(STAGE_PULLER), "puller");
    assert_string_equal(job_stage_text(STAGE_QUEUE), "queue");
    assert_string_equal(job_stage_text(STAGE_TARGET), "target");
    assert_string_equal(job_state_text(JOB_WATCHING), "watching");
    assert_string_equal(job_outcome_text(OUTCOME_EGRESS_DENIED), "egress_denied");
}

// ---- every step in every state ----

static struct job_policy now_policy;

static enum err claim(struct job *job)
{
    return job_claim(job, ME + 1, T);
}

static enum err begin(struct job *job)
{
    return job_start(job, &now_policy, T);
}

static enum err succeed(struct job *job)
{
    struct job_result result = {.outcome = OUTCOME_SUCCESS, .status = 200, .completed_at = T};
    return job_finish(job, &now_policy, &result, 0, &step);
}

static enum err fail_try(struct job *job)
{
    struct job_result result = failure(T);
    return job_finish(job, &now_policy, &result, 0, &step);
}

static enum err release(struct job *job)
{
    return job_release(job, T, T);
}

static enum err postpone(struct job *job)
{
    return job_release(job, T + 5000, T);
}

static enum err interrupt(struct job *job)
{
    return job_interrupt(job, T, &step);
}

static enum err lose(struct job *job)
{
    return job_lose(job, &now_policy, T, &step);
}

static enum err cancel(struct job *job)
{
    return job_cancel(job, &now_policy, T, STR("by hand"), &step);
}

static enum err detach(struct job *job)
{
    struct job_result answer = {.outcome = OUTCOME_SUCCESS, .status = 202, .later = true, .completed_at = T};
    return job_detach(job, &now_policy, &answer);
}

#define IN(state) (1u << JOB_##state)

static const struct {
    const char *name;
    enum err (*act)(struct job *job);
    unsigned allowed; // in which states
    bool raises;      // the token: a right to the job has ended
} steps[] = {
    {"claim", claim, IN(DELAYED) | IN(READY), true},
    {"start", begin, IN(WATCHING), false},
    {"succeed", succeed, IN(RESERVED), true},
    {"fail", fail_try, IN(RESERVED), true},
    {"release", release, IN(WATCHING), true},
    {"postpone", postpone, IN(WATCHING), true},
    {"interrupt", interrupt, IN(RESERVED), true},
    {"detach", detach, IN(RESERVED), true},
    {"lose", lose, IN(WATCHING) | IN(RESERVED), true},
    {"cancel", cancel, IN(BLOCKED) | IN(DELAYED) | IN(READY) | IN(WATCHING) | IN(RESERVED), true},
};

static void a_step_the_table_has_not_changes_nothing(void **state)
{
    now_policy = policy();
    for (size_t i = 0; i < array_count(steps); i++) {
        for (int s = 0; s < JOB_STATE_COUNT; s++) {
            struct job job = job_in((enum job_state)s), before = job;
            step.kept = false;
            enum err err = steps[i].act(&job);
            if (steps[i].allowed & 1u << s) {
                assert_int_equal(err, ERR_OK);
                assert_int_equal(job.token, before.token + steps[i].raises);
                continue;
            }
            assert_int_equal(err, ERR_ILLEGAL_TRANSITION);
            assert_memory_equal(&job, &before, sizeof job);
            assert_false(step.kept);
        }
    }
}

static enum err extend(struct job *job)
{
    job->lease_until = T + 1;
    return job_extend(job, &now_policy, T, STR("1"));
}

static enum err run_now(struct job *job)
{
    job->due_at = T + 9;
    return job_run_now(job, T);
}

static enum err replan(struct job *job)
{
    return job_replan(job, T + 9, T);
}

static enum err resume(struct job *job)
{
    return job_resume(job, T);
}

// By whatever step: each leaves the time of its change behind, in a time of its own or in touched_at, which is 0 otherwise.
static void a_job_says_when_it_was_changed_last(void **state)
{
    static const struct {
        enum job_state in;
        enum err (*act)(struct job *job);
        bool touches;
    } cases[] = {
        {JOB_READY, claim, false},      {JOB_WATCHING, begin, false},   {JOB_RESERVED, succeed, false},
        {JOB_RESERVED, fail_try, true}, {JOB_WATCHING, postpone, true}, {JOB_RESERVED, interrupt, true},
        {JOB_RESERVED, detach, true},   {JOB_RESERVED, lose, true},     {JOB_WATCHING, lose, true},
        {JOB_DELAYED, cancel, false},   {JOB_RESERVED, cancel, false},  {JOB_RESERVED, extend, true},
        {JOB_DELAYED, run_now, true},   {JOB_DELAYED, replan, true},    {JOB_READY, replan, true},
        {JOB_READY, resume, true},
    };
    now_policy = policy();
    for (size_t i = 0; i < array_count(cases); i++) {
        struct job job = job_in(cases[i].in);
        job.id = -1577836800000 * (1 << 21); // made long before T
        job.touched_at = T - 500;            // as it was read
        assert_int_equal(cases[i].act(&job), ERR_OK);
        assert_int_equal(job_updated_at(&job), T);
        assert_int_equal(job.touched_at, cases[i].touches ? T : 0);
    }
    struct job job = {.id = 7ll << 21, .state = JOB_DELAYED, .due_at = T};
    assert_int_equal(job_updated_at(&job), 1577836800007); // when it was made
    job.touched_at = 1577836800008;
    assert_int_equal(job_updated_at(&job), 1577836800008);
    job = job_in(JOB_WATCHING);
    job.touched_at = T - 500;
    assert_int_equal(release(&job), ERR_OK); // a claim that was given back is no change
    assert_int_equal(job.touched_at, 0);
}

static void the_attempts_of_a_job_are_found_among_those_of_others(void **state)
{
    static const struct attempt attempts[] = {{.job_id = 3, .number = 1}, {.job_id = 5, .number = 1}, {.job_id = 5, .number = 2},
                                              {.job_id = 8, .number = 4}, {.job_id = 9, .number = 1}, {.job_id = 9, .number = 2}};
    static const struct {
        int64_t job_id;
        size_t from, count;
    } rows[] = {{1, 0, 0}, {3, 0, 1}, {4, 0, 0}, {5, 1, 2}, {8, 3, 1}, {9, 4, 2}, {10, 0, 0}};
    for (size_t i = 0; i < array_count(rows); i++) {
        size_t count = array_count(attempts);
        const struct attempt *found = job_attempts(rows[i].job_id, attempts, &count);
        assert_int_equal(count, rows[i].count);
        assert_ptr_equal(found, rows[i].count ? attempts + rows[i].from : NULL);
    }
    size_t none = 0;
    assert_null(job_attempts(3, NULL, &none));
}

static void a_kept_attempt_has_what_was_answered(void **state)
{
    struct job_policy p = policy();
    struct job job = job_in(JOB_RESERVED);
    struct job_result result = failure(T);
    result.response = STR("no");
    result.truncated = true;
    assert_int_equal(job_finish(&job, &p, &result, 0, &step), ERR_OK);
    assert_true(str_is(step.attempt.response, "no") && step.attempt.response_truncated);
    job = job_in(JOB_RESERVED);
    job.retries = p.retry.max;
    assert_int_equal(job_finish(&job, &p, &result, 0, &step), ERR_OK);
    assert_int_equal(job.state, JOB_ABORTED);
    assert_true(str_is(job.response, "no") && job.response_truncated); // where it stays, and need not be kept twice
    assert_true(step.kept && !step.attempt.response.n && !step.attempt.response_truncated);
}

// What identifies a job and where it waits is nobody's to change after it was added.
static void no_step_changes_who_the_job_is(void **state)
{
    now_policy = policy();
    for (size_t i = 0; i < array_count(steps); i++) {
        for (int s = 0; s < JOB_STATE_COUNT; s++) {
            struct job job = job_in((enum job_state)s), before = job;
            (void)!steps[i].act(&job);
            assert_true(job.id == before.id && job.task_id == before.task_id && job.parent_id == before.parent_id);
            assert_true(job.lane == before.lane && job.tenant == before.tenant && job.priority == before.priority);
            assert_true(job.nominal_at == before.nominal_at && job.scheduled_at == before.scheduled_at);
        }
    }
}

static void purge_and_completion_are_set_with_the_end_and_only_then(void **state)
{
    now_policy = policy();
    for (size_t i = 0; i < array_count(steps); i++) {
        for (int s = 0; s < JOB_STATE_COUNT; s++) {
            struct job job = job_in((enum job_state)s);
            if (steps[i].act(&job))
                continue;
            bool final = job_state_final((enum job_state)job.state);
            assert_int_equal(job.purge_at, final ? T + now_policy.ttl_ms : 0);
            assert_int_equal(job.completed_at, final ? T : 0);
        }
    }
}

static void a_job_without_ttl_is_kept(void **state)
{
    struct job job = job_in(JOB_READY);
    assert_int_equal(job_cancel(&job, &POLICY_KEPT, T, STR("by hand"), &step), ERR_OK);
    assert_int_equal(job.purge_at, 0);
    struct job_policy at_once = {.ttl_ms = 0};
    job = job_in(JOB_READY);
    assert_int_equal(job_cancel(&job, &at_once, T, STR("by hand"), &step), ERR_OK);
    assert_int_equal(job.purge_at, T);
}

// ---- leases ----

static struct job leased(void)
{
    struct job job = job_in(JOB_RESERVED);
    struct job_policy now = policy();
    struct job_result answer = {
        .outcome = OUTCOME_SUCCESS, .status = 202, .response = STR("later"), .truncated = true, .later = true, .completed_at = T};
    assert_int_equal(job_detach(&job, &now, &answer), ERR_OK);
    return job;
}

static void a_detached_attempt_goes_on_in_nobodys_hand(void **state)
{
    struct job job = leased();
    assert_int_equal(job.state, JOB_RESERVED);
    assert_int_equal(job.token, 11);
    assert_int_equal(job.lease_until, T - 50 + 20000); // it counts from when the attempt began
    assert_int_equal(job.holder, ME);                  // who called it, for the record
    assert_false(job_in_hand(&job));
    assert_int_equal(job.status, 202);
    assert_true(str_is(job.response, "later") && job.response_truncated);
    assert_int_equal(job.completed_at, 0);
    assert_int_equal(job.outcome, OUTCOME_NONE);
    struct job_policy now = policy();
    struct job_result answer = {.later = true};
    assert_int_equal(job_detach(&job, &now, &answer), ERR_ILLEGAL_TRANSITION); // not twice
}

static void a_heartbeat_gives_the_attempt_its_whole_time_again(void **state)
{
    struct job job = leased();
    struct job_policy now = policy();
    assert_int_equal(job_extend(&job, &now, T + 7000, STR("{\"done\":1}")), ERR_OK);
    assert_int_equal(job.lease_until, T + 27000);
    assert_int_equal(job.token, 11); // the same lease
    assert_true(str_is(job.result, "{\"done\":1}"));
    assert_int_equal(job_extend(&job, &now, T + 8000, (struct str){0}), ERR_OK);
    assert_true(str_is(job.result, "{\"done\":1}")); // nothing was said of it
    assert_int_equal(job_extend(&job, &now, T + 9000, STR("")), ERR_OK);
    assert_int_equal(job.result.n, 0);
    struct job held = job_in(JOB_RESERVED);
    assert_int_equal(job_extend(&held, &now, T, (struct str){0}), ERR_ILLEGAL_TRANSITION);
    assert_int_equal(held.lease_until, 0);
}

static void a_lease_ends_with_its_attempt_however_it_ends(void **state)
{
    for (size_t i = 0; i < array_count(steps); i++) {
        struct job job = leased();
        job.result = STR("\"half way\"");
        now_policy = policy();
        if (steps[i].act == detach || steps[i].act(&job))
            continue;
        assert_int_equal(job.lease_until, 0);
        assert_int_equal(job.result.n, 0);
    }
    struct job job = leased();
    struct job_policy now = policy();
    struct job_result result = {.outcome = OUTCOME_SUCCESS, .status = 202, .completed_at = T + 60, .result = STR("[1]")};
    assert_int_equal(job_finish(&job, &now, &result, 0, &step), ERR_OK);
    assert_true(str_is(job.result, "[1]"));
    assert_int_equal(job_delays(&job).target, 110);
}

static void a_lease_that_ran_out_is_a_timeout_and_not_before(void **state)
{
    struct job job = leased(), before = job;
    struct job_policy now = policy();
    assert_int_equal(job_expire_lease(&job, &now, job.lease_until - 1, 0, &step), ERR_ILLEGAL_TRANSITION);
    assert_memory_equal(&job, &before, sizeof job);
    assert_int_equal(job_expire_lease(&job, &now, before.lease_until, 0, &step), ERR_OK);
    assert_int_equal(job.state, JOB_DELAYED);
    assert_int_equal(job.retries, 1);
    assert_int_equal(job.losses, 0);
    assert_int_equal(job.due_at, before.lease_until + 5000);
    assert_true(step.kept);
    assert_int_equal(step.attempt.outcome, OUTCOME_TIMEOUT);
    struct job held = job_in(JOB_RESERVED);
    assert_int_equal(job_expire_lease(&held, &now, T * 2, 0, &step), ERR_ILLEGAL_TRANSITION);
}

static void a_failure_may_say_that_another_try_is_in_vain(void **state)
{
    struct job job = leased();
    struct job_policy now = policy();
    struct job_result result = failure(T);
    result.no_retry = true;
    assert_int_equal(job_finish(&job, &now, &result, 0, &step), ERR_OK);
    assert_int_equal(job.state, JOB_ABORTED);
    assert_int_equal(job.retries, 0);
}

// What a token is worth at every point of a life: claim 10, detach, fail, claim, give back, claim, start, succeed.
static void a_token_is_of_one_attempt_only(void **state)
{
    struct job job = job_in(JOB_READY);
    struct job_policy now = policy();
    struct job_result result = failure(T);
    assert_int_equal(job_standing(&job, 11), JOB_NOT_YET); // its claim is not visible yet
    assert_int_equal(job_claim(&job, ME, T), ERR_OK);
    assert_int_equal(job_standing(&job, 11), JOB_NOT_YET); // nor that it began
    assert_int_equal(job_standing(&job, 12), JOB_NOT_YET);
    assert_int_equal(job_standing(&job, 10), JOB_OUTDATED);
    assert_int_equal(job_start(&job, &now, T), ERR_OK);
    assert_int_equal(job_standing(&job, 11), JOB_UNDER_WAY);
    struct job quick = job;
    assert_int_equal(job_finish(&quick, &now, &result, 0, &step), ERR_OK);
    assert_int_equal(job_standing(&quick, 11), JOB_ENDED);
    assert_int_equal(detach(&job), ERR_OK);
    assert_int_equal(job_standing(&job, 11), JOB_UNDER_WAY);
    assert_int_equal(job_standing(&job, 10), JOB_OUTDATED);
    assert_int_equal(job_standing(&job, 12), JOB_NOT_YET);
    assert_int_equal(job_finish(&job, &now, &result, 0, &step), ERR_OK);
    assert_int_equal(job_standing(&job, 11), JOB_ENDED);
    assert_int_equal(job_standing(&job, 10), JOB_OUTDATED);
    assert_int_equal(job_claim(&job, ME, T), ERR_OK);
    assert_int_equal(job_standing(&job, 11), JOB_OUTDATED);
    assert_int_equal(job_release(&job, T, T), ERR_OK);
    assert_int_equal(job_standing(&job, 11), JOB_OUTDATED);
    assert_int_equal(job_claim(&job, ME, T), ERR_OK);
    int64_t last = job.token;
    assert_int_equal(job_start(&job, &now, T), ERR_OK);
    assert_int_equal(job_standing(&job, last), JOB_UNDER_WAY);
    assert_int_equal(job_cancel(&job, &now, T, STR("by hand"), &step), ERR_OK);
    assert_int_equal(job_standing(&job, last), JOB_ENDED);
    assert_int_equal(job_standing(&job, 11), JOB_OUTDATED);
}

// ---- docs/states.md ----

static void put_events(struct buf *buf)
{
    buf_puts(buf, "## Events\n\n| event | what happened |\n|---|---|\n");
    for (int e = 0; e < JOB_EVENT_COUNT; e++)
        buf_printf(buf, "| %s | %s |\n", job_event_text((enum job_event)e), job_event_words((enum job_event)e));
}

static void put_table(struct buf *buf)
{
    buf_puts(buf,
             "\n## What follows\n\nAn empty cell cannot happen: the step is refused with `illegal_transition`.\n\n| event |");
    for (int s = 0; s < JOB_STATE_COUNT; s++)
        buf_printf(buf, " %s |", job_state_text((enum job_state)s));
    buf_puts(buf, "\n|---|");
    for (int s = 0; s < JOB_STATE_COUNT; s++)
        buf_puts(buf, "---|");
    buf_putc(buf, '\n');
    for (int e = 0; e < JOB_EVENT_COUNT; e++) {
        buf_printf(buf, "| **%s** |", job_event_text((enum job_event)e));
        for (int s = 0; s < JOB_STATE_COUNT; s++) {
            enum job_state next = job_next((enum job_state)s, (enum job_event)e);
            if (next != JOB_STATE_COUNT)
                buf_printf(buf, " %s", job_state_text(next));
            buf_puts(buf, " |");
        }
        buf_putc(buf, '\n');
    }
}

static void put_picture(struct buf *buf)
{
    buf_puts(buf, "\n## The picture\n\n```mermaid\nstateDiagram-v2\n");
    buf_puts(buf, "    [*] --> blocked\n    [*] --> delayed\n    [*] --> ready\n    [*] --> watching: pushed\n");
    for (int s = 0; s < JOB_STATE_COUNT; s++) {
        for (int e = 0; e < JOB_EVENT_COUNT; e++) {
            enum job_state next = job_next((enum job_state)s, (enum job_event)e);
            if (next != JOB_STATE_COUNT)
                buf_printf(buf, "    %s --> %s: %s\n", job_state_text((enum job_state)s), job_state_text(next),
                           job_event_text((enum job_event)e));
        }
    }
    for (int s = 0; s < JOB_STATE_COUNT; s++)
        if (job_state_final((enum job_state)s))
            buf_printf(buf, "    %s --> [*]\n", job_state_text((enum job_state)s));
    buf_puts(buf, "```\n");
}

static void print_states(struct buf *buf)
{
    buf_puts(
        buf,
        "# The states of a job\n\nMade from the table in `src/core/job.c` by `build-test/tests/unit/test_job --print-states > "
        "docs/states.md`; the suite `job` fails when this file differs.\n\n");
    put_events(buf);
    put_table(buf);
    put_picture(buf);
}

static void the_committed_picture_is_the_table(void **state)
{
    buf_auto struct buf made = {0}, committed = {0};
    print_states(&made);
    FILE *file = fopen(STATES_MD, "r");
    assert_non_null(file);
    for (int c; (c = fgetc(file)) != EOF;)
        buf_putc(&committed, (char)c);
    fclose(file);
    assert_true(str_eq(buf_str(&made), buf_str(&committed)));
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--print-states") == 0) {
        buf_auto struct buf buf = {0};
        print_states(&buf);
        return fwrite(buf.p, 1, buf.n, stdout) == buf.n ? 0 : 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_is_the_picture_over_all_states_and_events),
        cmocka_unit_test(final_states_are_never_left_and_the_others_all_can_be),
        cmocka_unit_test(every_state_is_of_one_sort),
        cmocka_unit_test(everything_has_its_word),
        cmocka_unit_test(a_step_the_table_has_not_changes_nothing),
        cmocka_unit_test(no_step_changes_who_the_job_is),
        cmocka_unit_test(purge_and_completion_are_set_with_the_end_and_only_then),
        cmocka_unit_test(a_job_without_ttl_is_kept),
        cmocka_unit_test(a_job_says_when_it_was_changed_last),
        cmocka_unit_test(the_attempts_of_a_job_are_found_among_those_of_others),
        cmocka_unit_test(a_kept_attempt_has_what_was_answered),
        cmocka_unit_test(a_detached_attempt_goes_on_in_nobodys_hand),
        cmocka_unit_test(a_heartbeat_gives_the_attempt_its_whole_time_again),
        cmocka_unit_test(a_lease_ends_with_its_attempt_however_it_ends),
        cmocka_unit_test(a_lease_that_ran_out_is_a_timeout_and_not_before),
        cmocka_unit_test(a_failure_may_say_that_another_try_is_in_vain),
        cmocka_unit_test(a_token_is_of_one_attempt_only),
        cmocka_unit_test(the_committed_picture_is_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

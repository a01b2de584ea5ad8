// For tests of the life of a job: a job in each state, a policy, the beginning of an attempt, and its failure.
#pragma once
#include "core/job.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { T = 1000000 }; // now, where nothing depends on it
enum { ME = 77 };

static struct job_step step; // of the last call that gave one

// What a job has been through to be in a state, with fields set as they would be then.
static inline struct job job_in(enum job_state state)
{
    bool held = job_state_held(state);
    return (struct job){.id = 512,
                        .task_id = 512,
                        .lane = 3,
                        .tenant = 1,
                        .state = (uint8_t)state,
                        .priority = 5,
                        .scheduled_at = T - 100,
                        .ready_at = T - 100,
                        .due_at = T - 100,
                        .holder = held ? ME : 0,
                        .token = 10,
                        .picked_at = held ? T - 90 : 0,
                        .started_at = state == JOB_RESERVED ? T - 50 : 0,
                        .attempts = state == JOB_RESERVED ? 1 : 0};
}

static inline struct job_policy policy(void)
{
    return (struct job_policy){.retry = {.max = 3, .delay_ms = 5000, .max_delay_ms = 600000},
                               .timeout_ms = 20000,
                               .sla_ms = 30000,
                               .ttl_ms = 86400000,
                               .lost_max = 3};
}

static inline struct job_result failure(int64_t completed_at)
{
    return (struct job_result){.outcome = OUTCOME_FAILED,
                               .status = 500,
                               .completed_at = completed_at,
                               .reason = STR("answered 500"),
                               .response = STR("oops"),
                               .truncated = true};
}

static inline void run_attempt(struct job *job, const struct job_policy *p, int64_t at)
{
    assert_int_equal(job_claim(job, ME, at), ERR_OK);
    assert_int_equal(job_start(job, p, at), ERR_OK);
}

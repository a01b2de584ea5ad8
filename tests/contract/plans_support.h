// Recurring tasks for the suites of the store: tasks with a plan and some jobs, and short ways to carry a plan on. A plan is
// given here as it is to be stored; what would be decided about it is the business of core/schedule/plan.
#pragma once
#include "store/plans.h"
#include "store_contract.h"

enum { MINUTE = 60000, AHEAD = 2 };

struct job job_at(struct world *world, int64_t task_id, int64_t nominal_at); // a new one, due at its instant

// A plan that goes up to NOW and a minute, as the instants of the jobs that add_recurring() adds: NOW, and a minute later. The
// full one has something in every member.
struct plan plan_new(void);
struct plan plan_full(void);
struct store_new *try_add_recurring(struct world *world, struct sample sample, struct plan plan, size_t job_count);
int64_t add_recurring(struct world *world, struct plan plan, size_t job_count); // the id of the task; up to AHEAD jobs
int64_t add_usual(struct world *world);                                         // with a new plan and AHEAD jobs

struct plan plan_now(struct world *world, int64_t id);                    // as it is stored
int64_t job_of(struct world *world, int64_t task_id, int64_t nominal_at); // of the instant, which must have one job
void assert_same_plan(const struct plan *is, const struct plan *as);      // in every member
struct store_amend *amend_with(struct world *world, struct plan plan);    // a change of its task, and of no job
enum err end_job(struct world *world, int64_t id, enum job_state as, int64_t completed_at);

// The next instant of a plan as it was read, with its job.
struct store_planned next_of(struct world *world, struct plan was, bool unread);
struct store_plan *submit_plans(struct world *world, const struct store_planned *items, size_t count);
enum err submit_plan(struct world *world, struct store_planned item); // what became of the item

struct store_plans *read_plans(struct world *world, const int64_t *ids, size_t id_count, int64_t now_ms, size_t max);
void assert_plans(const struct store_plans *op, const int64_t *ids, size_t count);

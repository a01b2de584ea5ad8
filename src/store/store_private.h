// What the backends of the store port have in common. Private to this folder.
// Layer: port.
#pragma once
#include "base/clock.h"
#include "store/jobs.h"
#include "store/journal.h"
#include "store/lives.h"
#include "store/peers.h"
#include "store/plans.h"

extern const struct store_ops store_memory_ops;
extern const struct store_ops store_sqlite_ops;
extern const struct store_ops store_postgres_ops, store_postgresql_ops;

// Where a job is found: in a lane at its priority, in the hand of an incarnation, or nowhere (0) when it is final or
// blocked, or leased. Within a lane smaller places come first, so priority 9 does.
enum { STORE_NOWHERE = 0, STORE_PLACES = 16 };

int64_t store_place(const struct job *job);

// Does the step change what the record has of a lease? All others leave the columns lease_until and result alone.
static inline bool store_step_leased(const struct store_step *step)
{
    return step->lease || step->job->lease_until || step->job->result.n;
}

// Does the step end a job that counts in the plan of its task, if that has one? `was` is the state before it.
static inline bool store_step_counts(enum job_state was, const struct job *is)
{
    return is->trigger != TRIGGER_SUBMIT && !job_state_final(was) && job_state_final((enum job_state)is->state);
}

void store_sort_attempts(struct attempt *attempts, size_t count); // by job, then by number

// A slot behind `count` results: the array lives in the operation's arena and doubles as it fills.
void *store_push(struct arena *arena, void *array, size_t count, size_t size) __attribute__((returns_nonnull));

// May a job be claimed with which the documents of its lane are so many bytes, when `left` of the want's jobs are not taken yet?
static inline bool store_want_fits(const struct store_want *want, size_t bytes, size_t left)
{
    return !want->bytes || bytes <= want->bytes || left == want->max;
}

// A size as the LIMIT of a statement. SQLite takes a negative LIMIT for none, so the size is cut to what fits.
static inline int64_t store_limit(size_t max)
{
    return max > INT32_MAX ? INT32_MAX : (int64_t)max;
}

// Has a page of jobs with their documents come to its end?
static inline bool store_page_ends(size_t count, size_t max, size_t bytes)
{
    return count >= max || bytes >= STORE_PAGE_BYTES;
}

// The same of one that was given as a whole.
bool store_page_is_full(const struct store_job *jobs, size_t count, size_t max);

// The operation failed as a whole: what it gave back before is taken away, and every item says the same.
void store_op_fail(struct store_op *op, enum err err, const char *why);

// Gives the incarnation that joins its node number: the one it has in the store's range. ERR_FENCED: there is no such range.
void store_join_number(struct store_join *join, int64_t range, int number);

// Says what keeps a queue from being dropped, if anything does: `known` means that it is there and not all dropped already.
void store_drop_judge(struct store_drop *drop, bool known, int64_t open, bool paused);

// An operation as it was before it was carried out, but for the arena: what a backend starts from.
void store_op_clear(struct store_op *op);

// The states when only one or two that have failed, or were cancelled, are asked for: then no others are looked at. How many
// there are, 0 when all rows are looked at.
enum { STORE_FAILED_MAX = 2 };
size_t store_list_failed(const struct store_list *list, int ret_states[STORE_FAILED_MAX]);

// By what rows can be found without looking at others, unless there is only one task anyway: tag after tag, and then the state
// that failed, if there is one.
enum { STORE_CANDIDATES_MAX = TAGS_MAX + 1 };
size_t store_list_candidates(const struct store_list *list);

// Counts the rows of each candidate behind `before`, up to STORE_RARE.
typedef void store_counter(void *ctx, size_t candidates, int64_t ret_counts[STORE_CANDIDATES_MAX]);
// The candidate by which rows are found: the one with fewest rows, of several the first. They are counted only where there is a
// choice.
size_t store_list_lead(const struct store_list *list, store_counter *count, void *ctx);
bool store_list_by_tag(const struct store_list *list, size_t lead);
bool store_list_by_plan(const struct store_list *list); // rows are found by the plans of tasks      // is it a tag?
int64_t store_list_tag(const struct store_list *list, size_t candidate); // the tag that its rows have

// The tag of a task's jobs: they are found in another order than tasks.
static inline int64_t store_tag_of_jobs(int64_t tag)
{
    return tag + 1;
}

// How far a page has come.
struct store_page {
    size_t looked, given, bytes;
    size_t tasks, jobs, attempts; // so many of the records are in `bytes`
};

// Each row of a list is shown to this, in order: false when the page ends before it.
bool store_list_look(struct store_list *list, struct store_page *page, struct store_cursor key);
// A row is given: its records are those that came to the list's tasks and to these jobs and attempts.
void store_list_give(const struct store_list *list, struct store_page *page, const struct store_get *records);
// The page has come to its end: the jobs and attempts that were given, and the arena they live in, become the list's.
void store_list_end(struct store_list *list, const struct store_get *records);

// A row of a page of STORE_UPCOMING is looked at, in order: true when it has not begun, and is to be given.
bool store_upcoming_look(struct store_upcoming *upcoming, size_t *looked, struct store_cursor key, int state);

// The members of a bulk as they are stored, in their order; `id`, `tenant` and `version` come before them, `doc` behind.
#define BULK_MOVING(X) X(state) X(holder) X(created_at) X(ended_at) X(matched) X(changed) X(unchanged) X(failed)

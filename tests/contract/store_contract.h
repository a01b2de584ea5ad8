// What the files of the store's contract share: which backend is tried, incarnations that have joined, and short ways to say what
// is asked of it.
#pragma once
#include "store_support.h"

#include "store/jobs.h"
#include "store/lives.h"

enum { A = 11, B = 22 }; // incarnations; A has joined

extern const char *scheme; // of the backend that is tried

int set_up(void **state);
int tear_down(void **state);
#define PROMISE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

// The promises of a header, or of a part of it, tried on the backend `scheme`. Each returns how many were broken.
int contract_jobs(void);
int contract_claims(void);
int contract_changes(void);
int contract_lists(void);
int contract_lanes(void);
int contract_lives(void);
int contract_peers(void);
int contract_journal(void);
int contract_plans(void);
int contract_plan_counts(void);
int contract_names(void);

void assert_ids(const struct store_job *jobs, size_t count, const int64_t *ids, size_t expected);
#define ASSERT_IDS(op, ...)                                                 \
    do {                                                                    \
        __typeof__(op) listed = (op);                                       \
        int64_t ids[] = {__VA_ARGS__};                                      \
        assert_ids(listed->jobs, listed->job_count, ids, array_count(ids)); \
    } while (0)

// Writes down the range of node numbers in the store.
void set_range(struct world *world, int range);
struct store_join *try_join(struct world *world, int64_t incarnation);
enum err forget(struct world *world, int64_t incarnation);
// Adds `count` samples in one operation.
struct store_add *add_many(struct world *world, const struct sample *samples, size_t count);
struct store_claim *claim_bytes(struct world *world, const char *queue, size_t max, size_t bytes);
// A document of so many bytes; what is in it is nobody's business here.
struct str doc_of(struct world *world, size_t size);
struct store_list *list(struct world *world, struct store_list want);
struct store_get *get_task(struct world *world, int64_t id);
struct store_due *due(struct world *world, int64_t from_ms, int64_t from_id, int64_t to_ms, size_t max);
void assert_stats(struct world *world, int32_t tenant, const int64_t expected[JOB_STATE_COUNT]);
// An amendment of the task as it is, with all its jobs that wait, moved by a second.
struct store_amend *make_amend(struct world *world, int64_t id);
struct store_remove *remove_of(struct world *world, int64_t id);
enum err remove_task(struct world *world, int64_t id, bool ended);

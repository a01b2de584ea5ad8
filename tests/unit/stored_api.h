// For tests of the API: a store that has one job, or none, for fake_api.h, and a fresh start for each test.
#pragma once
#include "fake_api.h"

static bool by_token; // who reads has shown a token, and so stands for OWNER
enum { OWNER = 5 };

static inline int reset(void **state)
{
    fake.on_store = NULL;
    fake.on_add = NULL;
    fake.on_command = NULL;
    fake.on_lease_report = NULL;
    by_token = false;
    fake.submit_err = ERR_OK;
    fake.submits = fake.pauses = 0;
    fake.api.ready = NULL;
    return 0;
}

static struct job stored_job;
static const char *stored_doc;

static inline void list_has(struct store_op *op)
{
    struct store_list *list = container_of(op, struct store_list, op);
    assert_int_equal(list->tenant, 1);
    if (!stored_doc)
        return;
    list->found = &stored_job;
    list->found_count = 1;
    if (list->jobs)
        return;
    list->tasks = arena_alloc(&op->arena, sizeof *list->tasks);
    list->tasks[0] = (struct store_task){.id = stored_job.task_id, .tenant = 1, .version = 1, .doc = str_of(stored_doc)};
    list->task_count = 1;
}

// Answers STORE_GET and STORE_LIST with stored_job and stored_doc, or that there is nothing.
static inline void store_has(struct store_op *op)
{
    struct store_get *get = container_of(op, struct store_get, op);
    if (op->verb == STORE_LIST) {
        list_has(op);
        return;
    }
    assert_int_equal(op->verb, STORE_GET);
    assert_int_equal(get->tenant, by_token ? OWNER : 1);
    op->err = stored_doc ? ERR_OK : ERR_NOT_FOUND;
    get->task = (struct store_task){.id = stored_job.task_id, .tenant = 1, .created_at = 1, .doc = str_of(stored_doc)};
    get->jobs = &stored_job;
    get->job_count = 1;
}

#define TEST(name) cmocka_unit_test_setup(name, reset)

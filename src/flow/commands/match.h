// What matches a filter: how the store is asked for it, and which rows of a page that it gave back do. For lists and for bulks.
// Layer: flow. Of whoever asks; any thread.
#pragma once
#include "core/filter.h"
#include "store/jobs.h"

// About what the records of a page may take, in memory and in an answer: one task may have a quarter of it.
enum { MATCH_BYTES_MAX = 4 * 1024 * 1024 };

// The page to ask for, but for where it begins and how many rows it may have.
struct store_list match_query(const struct filter *filter, int32_t tenant);

// A walk over a page: the first three are given, the others are the row at hand.
struct match {
    struct store_list *page; // its arena is used for what is read
    const struct filter *filter;
    int64_t now_ms;
    const struct store_task *stored; // of a page of tasks, or with docs; else NULL
    struct task task;                // of `stored`
    const struct job *jobs;          // of the task; or the job of a page of jobs
    size_t job_count;
    size_t rows_seen, jobs_seen;
};

// Goes on to the next row that matches. A task that cannot be read does not.
bool match_next(struct match *match);

// Reads the document of a stored task. Says so in the log when it cannot be read.
bool match_read(const struct store_task *stored, struct task *ret_task, struct arena *arena);

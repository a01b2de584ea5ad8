// Every SQL statement there is, by name; sqlite/statements.c has the texts.
// Layer: port, private to this folder.
#pragma once
#include "base/buf.h"

#include <stdbool.h>

enum sql {
    // transactions
    SQL_BEGIN,
    SQL_BEGIN_READ,
    SQL_COMMIT,
    SQL_ROLLBACK,

    // lives
    SQL_FLOOR,
    SQL_SET_FLOOR,
    SQL_RANGE,
    SQL_SECRET,
    SQL_SET_SECRET,
    SQL_INCARNATION,
    SQL_INCARNATIONS,
    SQL_NODES,
    SQL_ADD_INCARNATION,
    SQL_BEAT,
    SQL_COUNT_BEAT,
    SQL_BURY,
    SQL_FORGET,

    // peers
    SQL_TERM,
    SQL_SET_TERM,
    SQL_OWNERS,
    SQL_TZDATA,
    SQL_SET_TZDATA,
    SQL_ADD_OWNER,
    SQL_REMOVE_OWNERS,
    SQL_REQUEST,
    SQL_REQUESTS,
    SQL_REMOVE_REQUEST,
    SQL_REMOVE_REQUESTS,

    // lanes
    SQL_LANE_BY_NAME,
    SQL_LANE_BY_ID,
    SQL_LANES_OF_QUEUE,
    SQL_ADD_LANE,
    SQL_PAUSE_QUEUE,
    SQL_DROP_LANE,
    SQL_LANES,
    SQL_QUEUES,
    SQL_COUNTS,
    SQL_COUNTS_OF,
    SQL_OPEN,
    SQL_DELAYED,
    SQL_COUNT_UP,

    // keys
    SQL_KEY,
    SQL_ADD_KEY,
    SQL_LOOSEN_KEY,
    SQL_LOOSE_KEYS,
    SQL_REMOVE_KEY,

    // tasks
    SQL_TASK_LANE,
    SQL_TASK_KEY,
    SQL_ADD_TASK,
    SQL_ADD_TASKS,
    SQL_ADD_TAGGED,
    SQL_TASK_VERSION,
    SQL_AMEND_TASK,
    SQL_SET_TAGS,
    SQL_REMOVE_TASK,
    SQL_GET_TASK,
    SQL_TASK_NAMED,

    // the jobs of a task
    SQL_TASK_HAS_OPEN,
    SQL_TASK_JOBS,
    SQL_TASK_HAS_JOB,
    SQL_TIMES_OF_TASK,
    SQL_GET_JOBS,

    // tags
    SQL_ADD_TAGS,
    SQL_REMOVE_TAG,
    SQL_HAS_TAG,
    SQL_TAGS_OF_JOB,

    // plans
    SQL_SET_PLAN,
    SQL_RESERVED,
    SQL_RESERVE,
    SQL_PLAN_REVISION,
    SQL_PLAN_STANDING,
    SQL_WRITE_PLAN,
    SQL_CARRY_ON,
    SQL_CARRY_ON_AND_CHECK,
    SQL_COUNT_IN_PLAN,
    SQL_SET_JOBLESS,
    SQL_REMOVE_PLAN,
    SQL_PLANS_OVER,
    SQL_PLANS_TO_CHECK,
    SQL_PLANS_OWING,

    // records of jobs
    SQL_ADD_JOB,
    SQL_ADD_JOBS,
    SQL_ADD_PLANNED,
    SQL_STANDING,
    SQL_CHANGE,
    SQL_CHANGE_ALL,
    SQL_CHANGE_LEASED,
    SQL_MOVE_JOB,
    SQL_PROMOTE,
    SQL_REMOVE_JOB,
    SQL_PURGE,
    SQL_GET_JOB,
    SQL_HELD,
    SQL_EXPIRED,
    SQL_LEASES,

    // attempts
    SQL_KEEP_ATTEMPT,
    SQL_REMOVE_ATTEMPTS,
    SQL_GET_ATTEMPTS,

    // what waits in lanes
    SQL_WAIT,
    SQL_WAIT_NO_MORE,
    SQL_NEXT_PLACE,
    SQL_NEXT_DUE,
    SQL_WAITING,
    SQL_TAKE,
    SQL_DUE_TIES,
    SQL_DUE_REST,
    SQL_AHEAD,
    SQL_CLAIMS,
    SQL_LOG_CLAIMS,
    SQL_CLEAR_CLAIMS,

    // lists of tasks
    SQL_LIST_TASKS,
    SQL_LIST_TAGGED_TASKS,
    SQL_LIST_ONE_TASK,
    SQL_LIST_RECURRING_TASKS,
    SQL_HAS_PLAN,

    // lists of jobs
    SQL_LIST_JOBS,
    SQL_LIST_FAILED,
    SQL_LIST_TAGGED_JOBS,
    SQL_LIST_OF_TASK,
    SQL_COUNT_TAGGED,
    SQL_COUNT_FAILED,
    SQL_UPCOMING_THEN,
    SQL_UPCOMING_LATER,

    // the journal
    SQL_BULK,
    SQL_BULKS,
    SQL_BULK_VERSION,
    SQL_WRITE_BULK,
    SQL_FORGET_BULKS,
    SQL_MINUTE,
    SQL_SERIES,
    SQL_REMOVE_SERIES,
    SQL_RELAY,
    SQL_SOURCES,
    SQL_EVENTS,
    SQL_REMOVE_EVENTS,
    SQL_TOTAL
};

// Most of what a statement costs is not its row, but opening every index of the table. So a statement that is used much takes
// many rows: it is prepared for 1, 4, 16 and 64 of them. What is left is written by the smaller ones.
enum { STATEMENT_SIZES = 4, STATEMENT_ROWS_MAX = 64 };

struct statement {
    enum { WRITER, READER } user; // the writer has all of them, the reader its own
    const char *text;             // a template
    size_t least;                 // the smallest number of rows it is prepared for; 0: it has no {each …}, and is one statement
};

extern const struct statement statements[SQL_TOTAL];

// Writes the text as SQLite takes it, for so many rows.
void statement_write(struct buf *buf, const struct statement *statement, size_t rows);

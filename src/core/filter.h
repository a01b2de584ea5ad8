// What a list shows and what a bulk acts on: exact matches, all of which must hold.
// Layer: core, pure. The slices are the caller's.
#pragma once
#include "core/task/task.h"
#include "core/task/task_state.h"

enum filter_of { FILTER_TASKS, FILTER_JOBS };

enum { FILTER_LABELS_MAX = TASK_LABELS_MAX };

// The query names of both, as a route lists them: `label.*` stands for label.k with any k.
#define FILTER_NAMES "state queue name key label.* due_before sla_met late_stage tracing_id created_by"

// Of tasks one can ask besides: recurring.
enum filter_recurring { FILTER_RECURRING_ANY, FILTER_RECURRING, FILTER_ONE_TIME };

struct filter {
    enum filter_of of;
    unsigned states;                                     // of tasks bits of enum task_word, of jobs of enum job_state; 0: any
    struct str queue, name, key, tracing_id, created_by; // .p == NULL: any
    int64_t due_before;                                  // 0: any
    enum job_sla sla;                                    // of the job; JOB_SLA_OPEN: any
    enum job_stage late_stage;                           // STAGE_NONE: any
    enum filter_recurring recurring;                     // of tasks
    struct {
        struct str key, value;
    } labels[FILTER_LABELS_MAX];
    size_t label_count;
};

struct filter filter_any(enum filter_of of);

// Adds one condition. `why` says what is wrong, with `name` as its field.
err_check enum err filter_set(struct filter *filter, struct str name, struct str value, struct problem *why);

// The states a store has to look for: a delayed job shows as ready when its time has come. 0: all.
unsigned filter_stored_states(const struct filter *filter);

// A row that a list may show. Of a task, `job` is the one that stands for it, or NULL.
struct filter_row {
    const struct job *job;
    const struct task *task; // may be NULL when filter_needs_task() is false
    unsigned words;          // of a task: task_words()
    enum job_sla sla;        // of the job
    bool recurring;          // of a task: it has a plan
};

// What a store cannot check by itself: does it take the task, and does a row match?
bool filter_needs_task(const struct filter *filter);
bool filter_takes(const struct filter *filter, const struct filter_row *row, int64_t now_ms, struct arena *arena);
bool filter_takes_all(const struct filter *filter); // there is no condition
bool filter_is_flag(struct str name);               // its values are true and false

// Differs between filters, so that a cursor of one list is not taken by another.
uint32_t filter_digest(const struct filter *filter);

// Where a list goes on: behind this row. Opaque to users.
struct cursor {
    int64_t at, id;
};
// Where a list with this filter begins: what has begun or is about to cannot have been planned for later than about now.
struct cursor filter_newest(const struct filter *filter, int64_t now_ms);

enum { CURSOR_TEXT_SIZE = 41 };
void cursor_format(char ret_text[CURSOR_TEXT_SIZE], struct cursor cursor, uint32_t digest);
bool cursor_parse(struct str text, uint32_t digest, struct cursor *ret_cursor); // false: not one of this list

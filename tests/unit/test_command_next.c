// What each command does next, row by row: no store, no clock, no other node.
#include "flow/commands/command_next.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { US = 7, OTHER = 8, NOW = 1000000, ID = 5, TOKEN = 3 };

// A task with one job, a command, and what it is to do next. What is 0 is usual: the job is due now, in nobody's hand.
struct row {
    const char *what;
    enum command_act act;
    enum job_state state;
    enum command_phase next;
    int64_t holder;
    int64_t due_in; // ms
    bool task_paused, queue_paused, running;
    unsigned did;
    bool asked;                      // pull was asked for this very record
    bool begins;                     // it is known to begin
    int64_t wished_for;              // its holder was asked so long ago, in ms; 0: it was not
    int64_t merged_from;             // the task has version 4
    enum order_end end;              // with COMMAND_FETCH
    enum store_request_kind request; // with COMMAND_REQUEST
    bool refused;                    // with COMMAND_DONE
    bool moves;                      // a planned job has another instant by now
};

static const struct row rows[] = {
    {"cancel writes what waits", COMMAND_CANCEL, JOB_DELAYED, COMMAND_END_JOB},
    {"cancel fetches what is in this hand", COMMAND_CANCEL, JOB_WATCHING, COMMAND_FETCH, US, .end = ORDER_CANCELLED},
    {"cancel fetches what runs in this hand", COMMAND_CANCEL, JOB_RESERVED, COMMAND_FETCH, US, .end = ORDER_CANCELLED},
    {"cancel writes what is held here without being in hand", COMMAND_CANCEL, JOB_WATCHING, COMMAND_END_JOB, US, .asked = true},
    {"cancel asks for what another has", COMMAND_CANCEL, JOB_RESERVED, COMMAND_REQUEST, OTHER, .request = STORE_REQUEST_CANCEL},
    {"cancel of a cancelled job is told to pull", COMMAND_CANCEL, JOB_CANCELLED, COMMAND_FETCH, .end = ORDER_CANCELLED},
    {"… once", COMMAND_CANCEL, JOB_CANCELLED, COMMAND_DONE, .did = COMMAND_DID_CALL_OFF},
    {"cancel of what has ended is refused", COMMAND_CANCEL, JOB_SUCCESS, COMMAND_DONE, .refused = true},

    {"run brings forward what waits", COMMAND_RUN, JOB_DELAYED, COMMAND_HURRY_JOB, .due_in = 1000},
    {"run leaves what is due", COMMAND_RUN, JOB_READY, COMMAND_DONE},
    {"run hurries what is in this hand", COMMAND_RUN, JOB_WATCHING, COMMAND_FETCH, US, 1000, .end = ORDER_HURRIED},
    {"run asks who has it", COMMAND_RUN, JOB_WATCHING, COMMAND_REQUEST, OTHER, 1000, .request = STORE_REQUEST_RUN},
    {"run of a paused task is refused", COMMAND_RUN, JOB_DELAYED, COMMAND_DONE, 0, 1000, .task_paused = true, .refused = true},
    {"run in a paused queue is refused", COMMAND_RUN, JOB_DELAYED, COMMAND_DONE, 0, 1000, .queue_paused = true, .refused = true},
    {"run of what has ended is refused", COMMAND_RUN, JOB_SUCCESS, COMMAND_DONE, .refused = true},
    {"… unless it ended since", COMMAND_RUN, JOB_SUCCESS, COMMAND_DONE, .did = COMMAND_DID_MEET},
    {"… or was cancelled meanwhile", COMMAND_RUN, JOB_CANCELLED, COMMAND_DONE, .did = COMMAND_DID_MEET, .refused = true},

    {"replan leaves what is where it should be", COMMAND_REPLAN, JOB_DELAYED, COMMAND_DONE},
    {"replan writes what is not", COMMAND_REPLAN, JOB_DELAYED, COMMAND_AMEND, .moves = true},
    {"replan calls back what is in this hand", COMMAND_REPLAN, JOB_WATCHING, COMMAND_FETCH, US, .moves = true,
     .end = ORDER_POSTPONED},

    {"retry repeats what has ended", COMMAND_RETRY, JOB_ABORTED, COMMAND_ADD_JOB},
    {"retry of what has not is refused", COMMAND_RETRY, JOB_RESERVED, COMMAND_DONE, US, .refused = true},

    {"pause writes the task first", COMMAND_PAUSE, JOB_DELAYED, COMMAND_AMEND},
    {"pause then calls back what is in this hand", COMMAND_PAUSE, JOB_WATCHING, COMMAND_FETCH, US, .task_paused = true,
     .did = COMMAND_DID_AMEND, .end = ORDER_POSTPONED},
    {"pause waits for what pull does not know of", COMMAND_PAUSE, JOB_WATCHING, COMMAND_WAIT, US, .task_paused = true,
     .asked = true},
    {"pause asks another to give it back", COMMAND_PAUSE, JOB_WATCHING, COMMAND_REQUEST, OTHER, .task_paused = true,
     .request = STORE_REQUEST_RECALL},
    {"pause takes what stays there for begun", COMMAND_PAUSE, JOB_WATCHING, COMMAND_BEGINS, OTHER, .task_paused = true,
     .wished_for = 10000},
    {"… but not before its time", COMMAND_PAUSE, JOB_WATCHING, COMMAND_REQUEST, OTHER, 1000, .task_paused = true,
     .wished_for = 10000, .request = STORE_REQUEST_RECALL},
    {"pause lets go what begins", COMMAND_PAUSE, JOB_WATCHING, COMMAND_DONE, US, .task_paused = true, .begins = true},
    {"pause lets go what runs", COMMAND_PAUSE, JOB_RESERVED, COMMAND_DONE, US, .task_paused = true},
    {"pause writes again what came back meanwhile", COMMAND_PAUSE, JOB_READY, COMMAND_AMEND, .task_paused = true,
     .did = COMMAND_DID_AMEND},
    {"pause of what has ended is refused", COMMAND_PAUSE, JOB_SUCCESS, COMMAND_DONE, .refused = true},
    {"… unless it ended since", COMMAND_PAUSE, JOB_SUCCESS, COMMAND_DONE, .did = COMMAND_DID_AMEND},

    {"resume writes the task", COMMAND_RESUME, JOB_DELAYED, COMMAND_AMEND, .task_paused = true},
    {"resume calls back what is being put off", COMMAND_RESUME, JOB_WATCHING, COMMAND_FETCH, US, .task_paused = true,
     .end = ORDER_POSTPONED},
    {"resume of what is not paused changes nothing", COMMAND_RESUME, JOB_DELAYED, COMMAND_DONE},
    {"resume of what has ended is refused", COMMAND_RESUME, JOB_SUCCESS, COMMAND_DONE, .refused = true},

    {"a change is merged first", COMMAND_PATCH, JOB_DELAYED, COMMAND_MERGE},
    {"… again when the task moved", COMMAND_PATCH, JOB_DELAYED, COMMAND_MERGE, .merged_from = 3},
    {"a change calls back what is in hand", COMMAND_PATCH, JOB_WATCHING, COMMAND_FETCH, US, .merged_from = 4,
     .end = ORDER_POSTPONED},
    {"a change is written with what waits", COMMAND_PATCH, JOB_DELAYED, COMMAND_AMEND, .merged_from = 4},
    {"a change is done when nothing waits as it was", COMMAND_PATCH, JOB_RESERVED, COMMAND_DONE, US, .merged_from = 4,
     .did = COMMAND_DID_AMEND},
    {"a change of what has ended is refused", COMMAND_PATCH, JOB_SUCCESS, COMMAND_DONE, .refused = true},

    {"delete cancels what waits", COMMAND_DELETE, JOB_DELAYED, COMMAND_END_JOB},
    {"delete calls back what is in hand", COMMAND_DELETE, JOB_WATCHING, COMMAND_FETCH, US, .end = ORDER_POSTPONED},
    {"delete waits for what begins", COMMAND_DELETE, JOB_WATCHING, COMMAND_WAIT, US, .begins = true},
    {"delete removes what runs", COMMAND_DELETE, JOB_RESERVED, COMMAND_REMOVE, US},
    {"… after it is cancelled, if that was asked for", COMMAND_DELETE, JOB_RESERVED, COMMAND_FETCH, US, .running = true,
     .end = ORDER_CANCELLED},
    {"delete removes what has ended", COMMAND_DELETE, JOB_SUCCESS, COMMAND_REMOVE},

    {"a recall fetches what waits in this hand", COMMAND_RECALL, JOB_WATCHING, COMMAND_FETCH, US, .end = ORDER_POSTPONED},
    {"… and leaves what begins", COMMAND_RECALL, JOB_WATCHING, COMMAND_DONE, US, .begins = true},
    {"… and what another has", COMMAND_RECALL, JOB_WATCHING, COMMAND_DONE, OTHER},
};

static void try(const struct row *row)
{
    struct job job = {.id = ID, .token = TOKEN, .state = row->state, .holder = row->holder, .due_at = NOW + row->due_in};
    struct store_get get = {.task = {.id = ID, .version = 4, .paused = row->task_paused}, .jobs = &job, .job_count = 1};
    struct command_past past = {.did = row->did, .merged_from = row->merged_from};
    struct command_view view = {.act = row->act,
                                .running = row->running,
                                .life = US,
                                .now = {.wall_ms = NOW, .mono_ms = NOW},
                                .get = &get,
                                .queue_paused = row->queue_paused,
                                .moves = row->moves,
                                .past = &past};
    if (row->asked) {
        past.asked_id = ID;
        past.asked_token = TOKEN;
    }
    if (row->begins)
        command_note_beginning(&past, ID, TOKEN);
    if (row->wished_for) {
        past.requested_id = ID;
        past.request_began = NOW - row->wished_for;
    }
    struct command_next next = command_next(&view);
    if (next.phase != row->next)
        fail_msg("%s: phase %d, not %d", row->what, next.phase, row->next);
    if (next.phase == COMMAND_FETCH && next.end != row->end)
        fail_msg("%s: fetched as %d, not %d", row->what, next.end, row->end);
    if (next.phase == COMMAND_REQUEST && next.request != row->request)
        fail_msg("%s: request %d, not %d", row->what, next.request, row->request);
    if (next.phase == COMMAND_DONE && (next.err != ERR_OK) != row->refused)
        fail_msg("%s: error %d", row->what, next.err);
    if (next.phase == COMMAND_DONE && (next.err != ERR_OK) != (next.why[0] != 0))
        fail_msg("%s: words \"%s\"", row->what, next.why);
    command_past_done(&past);
}

static void every_command_does_next_what_its_row_says(void **state)
{
    for (size_t i = 0; i < array_count(rows); i++)
        try(&rows[i]);
}

static void every_job_that_begins_is_remembered(void **state)
{
    struct command_past past = {0};
    for (int64_t id = 1; id <= COMMAND_JOBS_ALL; id++)
        command_note_beginning(&past, id, 1);
    assert_true(command_is_noted(&past, 1) && command_is_noted(&past, COMMAND_JOBS_ALL));
    assert_false(command_is_noted(&past, COMMAND_JOBS_ALL + 1));
    command_past_done(&past);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_command_does_next_what_its_row_says),
        cmocka_unit_test(every_job_that_begins_is_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

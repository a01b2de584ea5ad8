// See recalls.h. Of the jobs that pull does not have, the first is remembered as the one that it was asked for: if the record
// still says that it is in hand, the command waits a moment, and then asks for all of them again.
#include "flow/commands/recalls.h"

static void recalled(struct pull_ask *ask)
{
    struct recalls *recalls = ask->ctx;
    struct command_past *past = recalls->past;
    if (ask->begins)
        command_note_beginning(past, ask->job_id, ask->token);
    if (ask->found || ask->begins) {
        revision_moved(recalls->revision);
    } else if (!past->asked_id) {
        past->asked_id = ask->job_id;
        past->asked_token = ask->token;
    }
    if (--recalls->out == 0)
        revision_read(recalls->revision);
}

void recalls_begin(struct recalls *recalls, struct pull *pull, const struct command_view *view, int64_t postpone_to)
{
    struct store_get *get = &recalls->revision->get;
    struct pull_ask *asks = arena_array(&get->op.arena, struct pull_ask, get->job_count);
    recalls->past->asked_id = 0;
    recalls->past->did &= ~(unsigned)COMMAND_DID_CALL_OFF;
    for (size_t i = 0; i < get->job_count; i++) {
        if (!command_may_recall(view, &get->jobs[i]))
            continue;
        asks[recalls->out] = (struct pull_ask){.job_id = get->jobs[i].id,
                                               .token = get->jobs[i].token,
                                               .end = ORDER_POSTPONED,
                                               .postpone_to = postpone_to,
                                               .done = recalled,
                                               .ctx = recalls};
        pull_ask(pull, &asks[recalls->out++]);
    }
}

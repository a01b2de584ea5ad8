// A bulk is a row that says how far it has come. A node takes one that nobody alive is at, and goes on from there: a page of what
// matches, the action for each, and then the row is written. A crash in between repeats at most a page; all actions but a retry
// do nothing the second time.
//
// A node that stops a bulk writes its row; the node that carries it out notices when it writes the next page.
#include "flow/commands/bulk.h"

#include "base/mem.h"
#include "core/bulk_plan.h"
#include "flow/commands/bulk_suspects.h"
#include "flow/commands/commands.h"
#include "flow/commands/match.h"
#include "store/jobs.h"
#include "store/journal.h"

#include <stdio.h>

enum {
    PAGE_MAX = 100,
    LOOK_MAX = 2000,     // rows that are looked at for a page
    IDLE_MS = 5000,      // how often it is looked for one that somebody else began, or left behind
    FAIL_WAIT_MS = 1000, // when the store failed
    ROUNDS_MAX = 3,      // how often a page is tried again when it is not the store that fails
    KEPT_MS = 7 * 24 * 3600 * 1000,
};

struct bulk {
    struct node *node;
    const struct peers *peers;
    struct commands *commands;
    struct mailbox answers;
    _Atomic bool poked;
    bool waiting;    // for the store
    int64_t next_at; // monotonic

    struct store_bulks look;
    struct store_bulk save;
    struct store_list page;
    struct bulk_suspects suspects;

    struct store_bulk_row row; // the one this node is at; id 0: none
    struct arena arena;        // of the row's document
    struct bulk_plan plan;
    struct command ops[PAGE_MAX]; // what is done to the page at hand
    size_t count, pending;
    int rounds; // of them
    enum { AT_LOOK, AT_PAGE, AT_ACTS, AT_SAVE } at;
    bool counted; // the page at hand is in the row, but not in the store's
    int64_t matched, changed, unchanged, failed;
};

struct bulk *bulk_new(struct node *node, const struct peers *peers, struct commands *commands)
{
    struct bulk *bulk = mem_zero(sizeof *bulk);
    bulk->node = node;
    bulk->peers = peers;
    bulk->commands = commands;
    mailbox_init(&bulk->answers, node->flow_waker);
    arena_init(&bulk->arena);
    return bulk;
}

void bulk_free(struct bulk *bulk)
{
    if (!bulk)
        return;
    store_op_done(&bulk->look.op); // of answers that came too late
    store_op_done(&bulk->save.op);
    store_op_done(&bulk->page.op);
    arena_done(&bulk->arena);
    mailbox_done(&bulk->answers);
    mem_free(bulk);
}

void bulk_poke(struct bulk *bulk)
{
    atomic_store(&bulk->poked, true);
    if (bulk->node->flow_waker)
        bulk->node->flow_waker->wake(bulk->node->flow_waker);
}

static void submit(struct bulk *bulk, struct store_op *op)
{
    bulk->waiting = true;
    store_submit(bulk->node->store, op);
}

static void let_go(struct bulk *bulk)
{
    bulk->row = (struct store_bulk_row){0};
    bulk->counted = false;
    bulk->at = AT_LOOK;
    arena_done(&bulk->arena);
    arena_init(&bulk->arena);
}

// ---- the row

static void look(struct bulk *bulk, int64_t id, int32_t tenant)
{
    bulk->look = (struct store_bulks){.id = id, .tenant = tenant, .max = BULK_ROWS_MAX};
    store_op_post(&bulk->look.op, STORE_BULKS, &bulk->answers);
    submit(bulk, &bulk->look.op);
}

static void save(struct bulk *bulk, struct now now)
{
    bulk->at = AT_SAVE;
    bulk->save = (struct store_bulk){.row = bulk->row, .forget_before = now.wall_ms - KEPT_MS};
    store_op_post(&bulk->save.op, STORE_BULK, &bulk->answers);
    submit(bulk, &bulk->save.op);
}

static void count_page(struct bulk *bulk)
{
    bulk->row.matched += bulk->matched;
    bulk->row.changed += bulk->changed;
    bulk->row.unchanged += bulk->unchanged;
    bulk->row.failed += bulk->failed;
}

// The row is not as this node wrote it last: it was stopped, or another has taken it, or that write was this node's own and its
// answer was lost. Only the node that carries out the bulk counts, so the counters show which it was.
static void meet_row(struct bulk *bulk, const struct store_bulk_row *found, struct now now)
{
    if (found->state == STORE_BULK_RUNNING && found->holder != bulk->row.holder) {
        let_go(bulk);
        return;
    }
    struct str doc = bulk->row.doc;
    struct store_cursor next = bulk->row.next;
    bool uncounted = bulk->counted && found->matched != bulk->row.matched;
    bulk->row = *found;
    bulk->row.doc = doc;
    if (uncounted) {
        bulk->row.next = next;
        count_page(bulk);
        save(bulk, now);
    } else if (bulk->row.state != STORE_BULK_RUNNING) {
        let_go(bulk);
    } else {
        bulk->counted = false;
        bulk->at = AT_PAGE;
    }
}

static void take_row(struct bulk *bulk, const struct store_bulk_row *found, struct now now)
{
    struct json doc;
    struct problem why = {0};
    bulk->row = *found;
    bulk->row.doc = arena_copy(&bulk->arena, found->doc);
    bulk->row.holder = atomic_load(&bulk->node->incarnation);
    if (json_check(bulk->row.doc, &doc, why.detail) || bulk_plan_parse(&bulk->plan, doc, &bulk->arena, &why)) {
        bulk->row.state = STORE_BULK_STOPPED; // of a newer rota, which knows more
        bulk->row.ended_at = now.wall_ms;
    }
    save(bulk, now);
}

// Takes the first that nobody is at. Backfills are carried out elsewhere (flow/commands/backfills).
static void find_row(struct bulk *bulk, struct now now)
{
    bool is_free[BULK_ROWS_MAX];
    bulk_suspects_judge(&bulk->suspects, bulk->node, bulk->peers, &bulk->look, now, is_free);
    for (size_t i = 0; i < bulk->look.row_count && !bulk->row.id; i++)
        if (is_free[i] && !bulk_plan_is_backfill(bulk->look.rows[i].doc))
            take_row(bulk, &bulk->look.rows[i], now);
}

static void take_look(struct bulk *bulk, struct now now)
{
    const struct store_bulks *found = &bulk->look;
    if (!bulk->row.id)
        find_row(bulk, now);
    else if (found->op.err == ERR_NOT_FOUND)
        let_go(bulk);
    else if (!found->op.err)
        meet_row(bulk, &found->rows[0], now);
    if (!bulk->row.id)
        bulk->next_at = node_round(bulk->node, now.mono_ms, IDLE_MS);
    else if (found->op.err)
        bulk->next_at = now.mono_ms + FAIL_WAIT_MS;
    store_op_done(&bulk->look.op);
}

static void take_save(struct bulk *bulk, struct now now)
{
    enum err err = bulk->save.op.err;
    store_op_done(&bulk->save.op);
    if (err == ERR_MOVED_ON) {
        look(bulk, bulk->row.id, bulk->row.tenant);
    } else if (err) {
        bulk->next_at = now.mono_ms + FAIL_WAIT_MS;
    } else {
        bulk->row.version++;
        bulk->counted = false;
        bulk->at = AT_PAGE;
        if (bulk->row.state != STORE_BULK_RUNNING) {
            let_go(bulk);
            bulk->next_at = now.mono_ms; // there may be another
        }
    }
}

// ---- a page

static void ask_page(struct bulk *bulk)
{
    bulk->page = match_query(&bulk->plan.filter, bulk->row.tenant);
    bulk->page.before = bulk->row.next;
    bulk->page.max = PAGE_MAX;
    bulk->page.look = LOOK_MAX;
    bulk->page.max_jobs = PAGE_MAX;
    store_op_post(&bulk->page.op, STORE_LIST, &bulk->answers);
    submit(bulk, &bulk->page.op);
}

static void acted(struct command *op)
{
    struct bulk *bulk = op->ctx;
    bulk->pending--;
    if (!bulk->pending && bulk->node->flow_waker) // in a turn that bulk's own was before
        bulk->node->flow_waker->wake(bulk->node->flow_waker);
}

static void act(struct bulk *bulk, int64_t id)
{
    static const enum command_act acts[BULK_ACTION_COUNT] = {
        [BULK_CANCEL] = COMMAND_CANCEL, [BULK_RETRY] = COMMAND_RETRY,   [BULK_RUN] = COMMAND_RUN,
        [BULK_PAUSE] = COMMAND_PAUSE,   [BULK_RESUME] = COMMAND_RESUME, [BULK_DELETE] = COMMAND_DELETE,
    };
    bool jobs = bulk->plan.filter.of == FILTER_JOBS;
    struct command *op = &bulk->ops[bulk->count++];
    *op = (struct command){.act = acts[bulk->plan.action],
                           .tenant = bulk->row.tenant,
                           .task_id = jobs ? 0 : id,
                           .job_id = jobs ? id : 0,
                           .done = acted,
                           .ctx = bulk};
    bulk->pending++;
    commands_submit(bulk->commands, op);
}

static void act_on_page(struct bulk *bulk, struct now now)
{
    struct match match = {.page = &bulk->page, .filter = &bulk->plan.filter, .now_ms = now.wall_ms};
    while (match_next(&match))
        act(bulk, bulk->page.jobs ? match.jobs->id : match.stored->id);
}

static void take_page(struct bulk *bulk, struct now now)
{
    if (bulk->page.op.err) {
        bulk->next_at = now.mono_ms + FAIL_WAIT_MS;
        store_op_done(&bulk->page.op);
        return;
    }
    bulk->count = 0;
    bulk->rounds = 0;
    act_on_page(bulk, now);
    bulk->at = AT_ACTS;
    store_op_done(&bulk->page.op);
}

// As long as the store is away nothing else could be done either; what is busy for another reason is not waited for without end.
static bool is_worth_trying(const struct bulk *bulk, enum err err)
{
    bool store = err == ERR_STORE_UNAVAILABLE || err == ERR_STORAGE_FULL || err == ERR_FENCED;
    return err && err_info(err)->may_retry && (store || bulk->rounds < ROUNDS_MAX);
}

// What could not be done just now is tried again, alone, before the page counts as done.
static bool try_again(struct bulk *bulk, struct now now)
{
    for (size_t i = 0; i < bulk->count; i++) {
        struct command *op = &bulk->ops[i];
        if (!is_worth_trying(bulk, op->err))
            continue;
        *op = (struct command){
            .act = op->act, .tenant = op->tenant, .task_id = op->task_id, .job_id = op->job_id, .done = acted, .ctx = bulk};
        bulk->pending++;
        commands_submit(bulk->commands, op);
    }
    bulk->rounds++;
    bulk->next_at = now.mono_ms + (bulk->pending ? FAIL_WAIT_MS : 0);
    return bulk->pending > 0;
}

static void end_page(struct bulk *bulk, struct now now)
{
    if (try_again(bulk, now))
        return;
    bulk->matched = (int64_t)bulk->count;
    bulk->changed = bulk->unchanged = bulk->failed = 0;
    for (size_t i = 0; i < bulk->count; i++) {
        enum err err = bulk->ops[i].err;
        bulk->changed += !err;
        bulk->unchanged += err == ERR_ILLEGAL_TRANSITION || err == ERR_NOT_FOUND;
        bulk->failed += err && err != ERR_ILLEGAL_TRANSITION && err != ERR_NOT_FOUND;
    }
    count_page(bulk);
    bulk->counted = true;
    bulk->row.next = bulk->page.next;
    if (!bulk->page.more) {
        bulk->row.state = STORE_BULK_DONE;
        bulk->row.ended_at = now.wall_ms;
        bulk->row.holder = 0;
    }
    save(bulk, now);
}

static void take_answers(struct bulk *bulk, struct now now)
{
    struct list answers;
    list_init(&answers);
    mailbox_take(&bulk->answers, &answers);
    list_each (&answers, link) {
        struct store_op *op = list_entry(link, struct store_op, link);
        bulk->waiting = false;
        if (op->err && op->err != ERR_MOVED_ON && op->err != ERR_NOT_FOUND)
            node_say_failed(bulk->node, "bulk", op, now.mono_ms);
        if (op == &bulk->look.op)
            take_look(bulk, now);
        else if (op == &bulk->save.op)
            take_save(bulk, now);
        else
            take_page(bulk, now);
    }
}

int64_t bulk_turn(struct bulk *bulk, struct now now)
{
    take_answers(bulk, now);
    // Not while it is looked already: that may have been before what it was poked for.
    if (!bulk->waiting && atomic_exchange(&bulk->poked, false) && !bulk->row.id)
        bulk->next_at = 0;
    if (bulk->waiting || bulk->pending || atomic_load(&bulk->node->stopping) || !node_alive(bulk->node, now.mono_ms))
        return TIME_NEVER; // an answer or a beat wakes
    if (now.mono_ms < bulk->next_at)
        return now.wall_ms + bulk->next_at - now.mono_ms;
    switch (bulk->at) {
    case AT_LOOK:
        look(bulk, 0, 0);
        break;
    case AT_PAGE:
        ask_page(bulk);
        break;
    case AT_ACTS:
        end_page(bulk, now);
        break;
    case AT_SAVE: // which failed
        save(bulk, now);
    }
    return TIME_NEVER;
}

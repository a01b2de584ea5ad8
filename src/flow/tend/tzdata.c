// The main thread notices a newer tzdata (zones_refresh()), and from then on new jobs are planned by it. Those that were planned
// before follow here: all plans are walked, page by page, and each task with a pattern in a time zone gets a COMMAND_REPLAN,
// which changes nothing where nothing has moved.
//
// The store has a row that says which version the plans follow, and which node is at it (flow/tend/tzdata_row). The version is
// written when the walk is over. A node that dies before that leaves no more behind than its name: another, or its next life,
// walks all plans again, and finds those that follow already. For the same reason two walks at once would do no harm.
//
// Tasks whose time zone is missing keep their plans. They are remembered and looked at again, until the zone is back or the task
// has another.
#include "flow/tend/tzdata.h"

#include "base/log.h"
#include "base/mem.h"
#include "flow/tend/tzdata_row.h"
#include "store/peers.h"

#include <stdio.h>

enum {
    LOOK_MS = 5000,      // how often it is asked whether this node has another tzdata
    ROW_MS = 60 * 1000,  // how often the row is read all the same, and missing zones are looked for
    FAIL_WAIT_MS = 5000, // when the store failed
    PAGE_MAX = 100,      // tasks that are looked at at once
    MISSING_MAX = 100,   // tasks with a missing zone that are remembered
    NOTE_SIZE = 64,
};

// What it waits for.
enum at {
    AT_REST,     // the time of the next look
    AT_READ,     // the row
    AT_NOTE,     // … or that it is written: this node's tzdata is older than that of others,
    AT_TAKE,     // … this node lets the plans follow,
    AT_END,      // … they do
    AT_PAGE,     // the next plans of the walk
    AT_COMMANDS, // … that their tasks follow
    AT_MISSING,  // the tasks whose time zone was missing
};

struct tzdata {
    struct node *node;
    const struct peers *peers;
    struct commands *commands;
    struct zones *zones;
    struct mailbox answers;
    struct now now; // of the turn at hand
    enum at at;
    int64_t next_at, row_at; // monotonic: when to look again, and when to read the row at the latest

    char version[ZONE_VERSION_SIZE]; // of this node's tzdata, as it was at the last look
    bool fresh, renewed;             // see struct tzdata_view
    struct tzdata_row row;
    char text[TZDATA_TEXT_SIZE], wanted[TZDATA_TEXT_SIZE]; // the row as it is in the store; and as it shall be
    struct store_tzdata op;

    struct store_plans page;
    int64_t after_id; // how far the walk has come
    struct command ops[PAGE_MAX];
    size_t count, pending;
    bool failed;                  // some task could not follow
    char note[NOTE_SIZE];         // why tasks are changed
    int64_t missing[MISSING_MAX]; // tasks whose time zone is missing
    size_t missing_count;
};

struct tzdata *tzdata_new(struct node *node, const struct peers *peers, struct commands *commands, struct zones *zones)
{
    struct tzdata *tzdata = mem_zero(sizeof *tzdata);
    tzdata->node = node;
    tzdata->peers = peers;
    tzdata->commands = commands;
    tzdata->zones = zones;
    tzdata->fresh = true;
    if (zones)
        zones_version(zones, tzdata->version);
    mailbox_init(&tzdata->answers, node->flow_waker);
    return tzdata;
}

void tzdata_free(struct tzdata *tzdata)
{
    if (!tzdata)
        return;
    store_op_done(&tzdata->op.op); // of answers that came too late
    store_op_done(&tzdata->page.op);
    mailbox_done(&tzdata->answers);
    mem_free(tzdata);
}

void tzdata_warn(struct node *node, const struct store_task *task, int64_t now_ms, const char *why)
{
    char id[ID_TEXT_SIZE];
    if (!warnings_add(node->warnings, WARNING_ZONE_MISSING, task->id, now_ms, why))
        return; // it was said before
    id_format(id, ID_TASK, task->id);
    log_warn("task %s: %s", id, why);
    events_emit(node->events, &(struct event_item){.type = EVENT_ZONE_MISSING,
                                                   .tenant = task->tenant,
                                                   .at_ms = now_ms,
                                                   .task_id = task->id,
                                                   .queue = task->queue,
                                                   .name = task->name,
                                                   .reason = str_of(why)});
}

static void rest(struct tzdata *tzdata, int64_t wait_ms)
{
    tzdata->at = AT_REST;
    tzdata->next_at = node_round(tzdata->node, tzdata->now.mono_ms, wait_ms);
}

// ---- the row

static void read_row(struct tzdata *tzdata)
{
    tzdata->at = AT_READ;
    tzdata->op = (struct store_tzdata){0};
    store_op_post(&tzdata->op.op, STORE_TZDATA, &tzdata->answers);
    store_submit(tzdata->node->store, &tzdata->op.op);
}

static void write_row(struct tzdata *tzdata, enum at at, const struct tzdata_row *row)
{
    tzdata->at = at;
    tzdata_row_write(row, tzdata->wanted);
    tzdata->op = (struct store_tzdata){.writes = true, .was = str_of(tzdata->text), .next = str_of(tzdata->wanted)};
    store_op_post(&tzdata->op.op, STORE_TZDATA, &tzdata->answers);
    store_submit(tzdata->node->store, &tzdata->op.op);
}

static void take_work(struct tzdata *tzdata)
{
    struct tzdata_row row = tzdata->row;
    memcpy(row.next, tzdata->version, sizeof row.next);
    row.holder = atomic_load(&tzdata->node->incarnation);
    write_row(tzdata, AT_TAKE, &row);
}

static void note_behind(struct tzdata *tzdata)
{
    struct tzdata_row row = tzdata->row;
    if (tzdata->fresh)
        log_warn("tzdata %s of this machine is older than %s, which the plans follow: install the newer one", tzdata->version,
                 row.followed);
    tzdata->fresh = tzdata->renewed = false;
    if (row.again) {
        rest(tzdata, LOOK_MS);
        return;
    }
    row.again = true;
    write_row(tzdata, AT_NOTE, &row);
}

static void judge_row(struct tzdata *tzdata)
{
    tzdata->row = tzdata_row_read(tzdata->op.text);
    snprintf(tzdata->text, sizeof tzdata->text, STR_FMT, STR_ARG(tzdata->op.text));
    struct tzdata_view view = {.version = tzdata->version,
                               .fresh = tzdata->fresh,
                               .renewed = tzdata->renewed,
                               .life = atomic_load(&tzdata->node->incarnation),
                               .holder_lives = peers_lives(tzdata->peers, tzdata->row.holder)};
    enum tzdata_act act = tzdata_judge(&tzdata->row, &view);
    if (act == TZDATA_TAKE) {
        take_work(tzdata);
    } else if (act == TZDATA_BEHIND) {
        note_behind(tzdata);
    } else {
        if (act == TZDATA_REST)
            tzdata->fresh = tzdata->renewed = false;
        rest(tzdata, LOOK_MS);
    }
}

// ---- the walk

static void read_page(struct tzdata *tzdata)
{
    tzdata->at = AT_PAGE;
    tzdata->page = (struct store_plans){.owing = true, .after_id = tzdata->after_id, .max = PAGE_MAX};
    store_op_post(&tzdata->page.op, STORE_PLANS, &tzdata->answers);
    store_submit(tzdata->node->store, &tzdata->page.op);
}

static void begin_walk(struct tzdata *tzdata)
{
    memcpy(tzdata->text, tzdata->wanted, sizeof tzdata->text);
    tzdata->row = tzdata_row_read(str_of(tzdata->text));
    snprintf(tzdata->note, sizeof tzdata->note, "the time zones are those of tzdata %s now", tzdata->version);
    tzdata->after_id = 0;
    tzdata->missing_count = 0;
    tzdata->failed = false;
    read_page(tzdata);
}

static void end_walk(struct tzdata *tzdata)
{
    struct tzdata_row row = {.again = tzdata->missing_count > 0};
    if (tzdata->failed) {
        rest(tzdata, FAIL_WAIT_MS);
        return;
    }
    memcpy(row.followed, tzdata->row.next, sizeof row.followed);
    write_row(tzdata, AT_END, &row);
}

static void ended(struct command *op)
{
    struct tzdata *tzdata = op->ctx;
    tzdata->pending--;
    if (!op->err || op->err == ERR_NOT_FOUND)
        return;
    tzdata->failed = true;
    log_warn("a recurring task does not follow the new time zones yet: %s", op->why);
}

static void note_missing(struct tzdata *tzdata, const struct store_task *task, const char *why)
{
    if (tzdata->missing_count < MISSING_MAX)
        tzdata->missing[tzdata->missing_count++] = task->id;
    tzdata_warn(tzdata->node, task, tzdata->now.wall_ms, why);
}

// Has the task a pattern in a time zone that is there? One that is not is noted.
static bool has_zone(struct tzdata *tzdata, const struct store_task *stored, struct arena *arena)
{
    struct task task;
    char why[ERR_WHY_MAX];
    if (!task_read(&task, stored->doc, arena, why) || !task_recurs(&task) || !task.recurs->cron.p ||
        str_is(task.recurs->timezone, "UTC"))
        return false;
    if (!zones_is_installed(tzdata->zones, task.recurs->timezone, why)) {
        note_missing(tzdata, stored, why);
        return false;
    }
    warnings_remove(tzdata->node->warnings, WARNING_ZONE_MISSING, stored->id);
    return true;
}

static void follow(struct tzdata *tzdata, const struct store_task *task)
{
    struct command *op = &tzdata->ops[tzdata->count++];
    *op = (struct command){.act = COMMAND_REPLAN,
                           .tenant = task->tenant,
                           .task_id = task->id,
                           .note = str_of(tzdata->note),
                           .done = ended,
                           .ctx = tzdata};
    tzdata->pending++;
    commands_submit(tzdata->commands, op);
}

static void take_page(struct tzdata *tzdata)
{
    struct store_plans *page = &tzdata->page;
    tzdata->at = AT_COMMANDS;
    tzdata->count = 0;
    for (size_t i = 0; i < page->count; i++)
        if (has_zone(tzdata, &page->tasks[i], &page->op.arena))
            follow(tzdata, &page->tasks[i]);
    if (page->count)
        tzdata->after_id = page->tasks[page->count - 1].id;
}

// ---- zones that are missing

static void read_missing(struct tzdata *tzdata)
{
    tzdata->at = AT_MISSING;
    tzdata->page = (struct store_plans){.ids = tzdata->missing, .id_count = tzdata->missing_count};
    store_op_post(&tzdata->page.op, STORE_PLANS, &tzdata->answers);
    store_submit(tzdata->node->store, &tzdata->page.op);
}

// Those that are gone, or have a zone again, are forgotten.
static void take_missing(struct tzdata *tzdata)
{
    int64_t before[MISSING_MAX];
    size_t count = tzdata->missing_count;
    memcpy(before, tzdata->missing, sizeof before);
    tzdata->missing_count = 0;
    for (size_t i = 0; i < tzdata->page.count; i++)
        has_zone(tzdata, &tzdata->page.tasks[i], &tzdata->page.op.arena);
    for (size_t i = 0, kept = 0; i < count; i++) {
        while (kept < tzdata->missing_count && tzdata->missing[kept] < before[i])
            kept++;
        if (kept == tzdata->missing_count || tzdata->missing[kept] != before[i])
            warnings_remove(tzdata->node->warnings, WARNING_ZONE_MISSING, before[i]);
    }
    read_row(tzdata);
}

// ---- the turn

static void take_row_answer(struct tzdata *tzdata)
{
    if (tzdata->op.op.err && tzdata->op.op.err != ERR_MOVED_ON)
        node_say_failed(tzdata->node, "tzdata", &tzdata->op.op, tzdata->now.mono_ms);
    if (tzdata->op.op.err) {
        rest(tzdata, FAIL_WAIT_MS);
    } else if (tzdata->at == AT_READ) {
        judge_row(tzdata);
    } else if (tzdata->at == AT_TAKE) {
        begin_walk(tzdata);
    } else {
        if (tzdata->at == AT_END && tzdata->row.followed[0])
            log_info("all plans follow tzdata %s", tzdata->row.next);
        tzdata->fresh = tzdata->renewed = false;
        rest(tzdata, LOOK_MS);
    }
}

static void take_page_answer(struct tzdata *tzdata)
{
    if (tzdata->page.op.err) {
        node_say_failed(tzdata->node, "tzdata", &tzdata->page.op, tzdata->now.mono_ms);
        rest(tzdata, FAIL_WAIT_MS);
    } else if (tzdata->at == AT_MISSING) {
        take_missing(tzdata);
    } else {
        take_page(tzdata);
    }
    store_op_done(&tzdata->page.op);
}

static void take_answers(struct tzdata *tzdata)
{
    struct list answers;
    list_init(&answers);
    mailbox_take(&tzdata->answers, &answers);
    list_each (&answers, link) {
        if (list_entry(link, struct store_op, link) == &tzdata->page.op) {
            take_page_answer(tzdata);
            continue;
        }
        struct arena texts = tzdata->op.op.arena; // the next question may follow at once, with an arena of its own
        tzdata->op.op.arena = (struct arena){0};
        take_row_answer(tzdata);
        arena_done(&texts);
    }
}

static bool has_another(struct tzdata *tzdata)
{
    char version[ZONE_VERSION_SIZE] = "";
    if (tzdata->zones)
        zones_version(tzdata->zones, version);
    if (strcmp(version, tzdata->version) == 0)
        return false;
    memcpy(tzdata->version, version, sizeof version);
    tzdata->fresh = tzdata->renewed = true;
    return true;
}

static void look(struct tzdata *tzdata)
{
    int64_t now = tzdata->now.mono_ms;
    bool another = has_another(tzdata);
    if (!tzdata->version[0] || (!another && !tzdata->fresh && now < tzdata->row_at)) {
        rest(tzdata, LOOK_MS);
        return;
    }
    tzdata->row_at = now + ROW_MS;
    if (tzdata->missing_count && !another)
        read_missing(tzdata);
    else
        read_row(tzdata);
}

int64_t tzdata_turn(struct tzdata *tzdata, struct now now)
{
    struct node *node = tzdata->node;
    tzdata->now = now;
    take_answers(tzdata);
    if (atomic_load(&node->stopping) || !node_alive(node, now.mono_ms))
        return TIME_NEVER; // the next beat wakes
    if (tzdata->at == AT_COMMANDS && !tzdata->pending) {
        if (tzdata->page.count == PAGE_MAX)
            read_page(tzdata);
        else
            end_walk(tzdata);
    }
    if (tzdata->at == AT_REST && now.mono_ms >= tzdata->next_at)
        look(tzdata);
    return tzdata->at == AT_REST ? now.wall_ms + time_max(tzdata->next_at - now.mono_ms, 1) : TIME_NEVER;
}

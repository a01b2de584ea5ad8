// A backfill is a row among the bulks, and a node takes one that nobody alive is at. It finds the instants that are wanted
// (flow/commands/backfill_walk), and from then on it looks at the task whenever a job of the backfill has ended at this node, and
// once a second for what ends at others: as many jobs are added as max_active leaves room for, and then the row is written. The
// row is done when the last of its jobs has ended.
//
// Each instant gets one job, whatever happens. A node that dies between adding jobs and writing the row leaves jobs of trigger
// backfill, planned for a time since the row began; whoever takes the row next finds them by that. An addition whose answer was
// lost is found in the same way. A life that has ended cannot add any more (ERR_FENCED).
//
// A task that is paused keeps the jobs that were added, so a backfill waits with it. A task that was deleted ends its backfill.
#include "flow/commands/backfills.h"

#include "base/mem.h"
#include "core/bulk_plan.h"
#include "flow/commands/backfill_walk.h"
#include "flow/commands/bulk_suspects.h"

enum {
    IDLE_MS = 5000,      // how often it is looked for one that somebody else began, or left behind
    LOOK_MS = 1000,      // … while there is one; and how often the task is looked at when no job of it ends here
    FAIL_WAIT_MS = 1000, // when the store failed
    OPEN_MAX = 500,      // open jobs of a task that are read
    KEPT_MS = 7 * 24 * 3600 * 1000,
};

// A backfill that this node is at. It has one operation out at a time.
struct filling {
    struct list link;
    struct backfills *backfills;
    struct store_bulk_row row;
    struct arena arena;    // of the row's document
    struct arena instants; // that were found
    int64_t task_id;
    struct backfill_walk walk;
    size_t next; // of the instants: the first without a job
    enum { AT_SAVE, AT_TASK, AT_WALK, AT_STEP, AT_ADD, AT_ROW } at;
    bool ready;      // the instants are known
    bool waiting;    // for the store
    bool seen;       // by the latest look
    bool ended;      // a job of it has ended since the task was last read
    int64_t next_at; // monotonic

    struct store_bulk save;
    struct store_bulks found; // the row, when it has moved on
    struct store_get get;
    struct addition addition;
    struct store_new item;
};

struct backfills {
    struct node *node;
    const struct peers *peers;
    struct recorder *recorder;
    struct zones *zones;
    struct mailbox answers;
    struct list fillings;
    struct store_bulks look;
    struct bulk_suspects suspects;
    _Atomic bool poked;
    bool looking;
    int64_t look_at; // monotonic
};

struct backfills *backfills_new(struct node *node, const struct peers *peers, struct recorder *recorder, struct zones *zones)
{
    struct backfills *backfills = mem_zero(sizeof *backfills);
    backfills->node = node;
    backfills->peers = peers;
    backfills->recorder = recorder;
    backfills->zones = zones;
    mailbox_init(&backfills->answers, node->flow_waker);
    list_init(&backfills->fillings);
    return backfills;
}

static void let_go(struct filling *filling)
{
    list_remove(&filling->link);
    store_op_done(&filling->save.op);
    store_op_done(&filling->found.op);
    store_op_done(&filling->get.op);
    store_op_done(&filling->walk.page.op);
    store_op_done(&filling->addition.add.op);
    arena_done(&filling->arena);
    arena_done(&filling->instants);
    mem_free(filling);
}

void backfills_free(struct backfills *backfills)
{
    if (!backfills)
        return;
    list_each (&backfills->fillings, link)
        let_go(list_entry(link, struct filling, link));
    store_op_done(&backfills->look.op);
    mailbox_done(&backfills->answers);
    mem_free(backfills);
}

void backfills_poke(struct backfills *backfills)
{
    atomic_store(&backfills->poked, true);
    if (backfills->node->flow_waker)
        backfills->node->flow_waker->wake(backfills->node->flow_waker);
}

void backfills_ended(struct backfills *backfills, int64_t task_id)
{
    list_each (&backfills->fillings, link) {
        struct filling *filling = list_entry(link, struct filling, link);
        filling->ended |= filling->task_id == task_id;
    }
}

static void submit(struct filling *filling, struct store_op *op)
{
    filling->waiting = true;
    store_submit(filling->backfills->node->store, op);
}

// ---- the row

static void save(struct filling *filling, struct now now)
{
    filling->at = AT_SAVE;
    filling->save = (struct store_bulk){.row = filling->row, .forget_before = now.wall_ms - KEPT_MS};
    store_op_post(&filling->save.op, STORE_BULK, &filling->backfills->answers);
    submit(filling, &filling->save.op);
}

static void end(struct filling *filling, enum store_bulk_state state, struct now now)
{
    filling->row.state = state;
    filling->row.ended_at = now.wall_ms;
    filling->row.holder = 0;
    save(filling, now);
}

static void read_row(struct filling *filling)
{
    filling->at = AT_ROW;
    filling->found = (struct store_bulks){.id = filling->row.id, .tenant = filling->row.tenant};
    store_op_post(&filling->found.op, STORE_BULKS, &filling->backfills->answers);
    submit(filling, &filling->found.op);
}

static void read_task(struct filling *filling);

// If the row is not as this node wrote it last, it was stopped, or another has taken it, or that write was this node's own and
// its answer was lost. The jobs that were added are counted in any case but the second.
static void take_found(struct filling *filling, struct now now)
{
    const struct store_bulk_row *found = filling->found.rows;
    enum err err = filling->found.op.err;
    if (!err && found->version == filling->row.version) {
        store_op_done(&filling->found.op);
        filling->at = filling->ready ? AT_STEP : AT_TASK;
        read_task(filling);
        return;
    }
    bool lost = err == ERR_NOT_FOUND || (!err && found->state == STORE_BULK_RUNNING && found->holder != filling->row.holder);
    if (err && !lost) {
        filling->next_at = now.mono_ms + FAIL_WAIT_MS;
        return;
    }
    if (!lost) {
        filling->row.version = found->version;
        if (found->state != STORE_BULK_RUNNING) {
            filling->row.state = found->state;
            filling->row.ended_at = found->ended_at;
            filling->row.holder = found->holder;
        }
    }
    store_op_done(&filling->found.op);
    if (lost)
        let_go(filling);
    else
        save(filling, now);
}

static void take_saved(struct filling *filling, struct now now)
{
    enum err err = filling->save.op.err;
    store_op_done(&filling->save.op);
    if (err == ERR_MOVED_ON) {
        read_row(filling);
    } else if (err) {
        filling->next_at = now.mono_ms + FAIL_WAIT_MS;
    } else if (filling->row.state != STORE_BULK_RUNNING) {
        let_go(filling);
    } else {
        filling->row.version++;
        filling->at = filling->ready ? AT_STEP : AT_TASK;
        filling->next_at = now.mono_ms + (filling->next ? LOOK_MS : 0);
    }
}

// ---- the instants

static void read_task(struct filling *filling)
{
    filling->ended = false;
    filling->get =
        (struct store_get){.tenant = filling->row.tenant, .task_id = filling->task_id, .max_jobs = OPEN_MAX, .open_first = true};
    store_op_post(&filling->get.op, STORE_GET, &filling->backfills->answers);
    submit(filling, &filling->get.op);
}

static void read_page(struct filling *filling)
{
    filling->at = AT_WALK;
    store_op_post(&filling->walk.page.op, STORE_LIST, &filling->backfills->answers);
    submit(filling, &filling->walk.page.op);
}

static void begin_walk(struct filling *filling, struct now now)
{
    struct problem why = {0};
    arena_done(&filling->instants);
    arena_init(&filling->instants);
    filling->walk.begun_ms = filling->row.created_at;
    filling->walk.after_ms = filling->row.next.at;
    if (backfill_walk_begin(&filling->walk, &filling->get.task, filling->backfills->zones, &filling->instants, &why))
        end(filling, STORE_BULK_STOPPED, now); // the task has changed since it was asked for
    else
        read_page(filling);
}

static void take_page(struct filling *filling, struct now now)
{
    struct store_list *page = &filling->walk.page;
    const struct store_task *task = &filling->get.task;
    bool failed = page->op.err;
    bool more = !failed && backfill_walk_take(&filling->walk, task->plan, task->created_at);
    store_op_done(&page->op);
    if (more) {
        read_page(filling);
        return;
    }
    store_op_done(&filling->get.op);
    filling->at = AT_TASK;
    if (failed) {
        filling->next_at = now.mono_ms + FAIL_WAIT_MS;
        return;
    }
    filling->ready = true;
    filling->next = 0;
    filling->row.changed = time_max(filling->row.changed, (int64_t)filling->walk.added);
    filling->row.matched = filling->row.changed + (int64_t)filling->walk.count;
    save(filling, now);
}

// What was found is not relied on any more, because nobody knows whether jobs were added.
static void find_again(struct filling *filling, struct now now)
{
    filling->ready = false;
    filling->next = 0;
    filling->at = AT_TASK;
    filling->next_at = now.mono_ms + FAIL_WAIT_MS;
}

// ---- jobs

static void added(struct addition *addition)
{
    struct filling *filling = container_of(addition, struct filling, addition);
    mailbox_post(&filling->backfills->answers, &addition->add.op.link);
}

// They are due now, and never planned for a time before the row began: by that they are known to be this backfill's.
static struct job *make_jobs(struct filling *filling, size_t count, struct now now)
{
    struct arena *arena = &filling->get.op.arena;
    struct job *jobs = arena_array(arena, struct job, count);
    struct task task;
    char why[ERR_WHY_MAX];
    int64_t due_at = time_max(now.wall_ms, filling->row.created_at);
    bool known = task_read(&task, filling->get.task.doc, arena, why);
    for (size_t i = 0; i < count; i++)
        jobs[i] = (struct job){.id = node_make_id(filling->backfills->node, now.wall_ms),
                               .task_id = filling->task_id,
                               .tenant = filling->row.tenant,
                               .state = JOB_READY,
                               .priority = known ? (uint8_t)task.priority : 0,
                               .trigger = TRIGGER_BACKFILL,
                               .scheduled_at = due_at,
                               .ready_at = due_at,
                               .due_at = due_at,
                               .nominal_at = filling->walk.instants[filling->next + i].at_ms,
                               .token = 1};
    return jobs;
}

static void add_jobs(struct filling *filling, size_t count, struct now now)
{
    filling->at = AT_ADD;
    filling->item = (struct store_new){.jobs = make_jobs(filling, count, now), .job_count = count};
    filling->addition = (struct addition){.task = &filling->get.task, .done = added};
    store_op_init(&filling->addition.add.op, STORE_ADD, NULL);
    filling->addition.add.now_ms = now.wall_ms;
    filling->addition.add.holder = filling->row.holder;
    filling->addition.add.items = &filling->item;
    filling->addition.add.count = 1;
    filling->waiting = true;
    recorder_add(filling->backfills->recorder, &filling->addition);
}

static void take_added(struct filling *filling, struct now now)
{
    enum err err = filling->addition.add.op.err ? filling->addition.add.op.err : filling->item.err;
    size_t count = filling->item.job_count;
    store_op_done(&filling->addition.add.op);
    store_op_done(&filling->get.op);
    if (err) {
        find_again(filling, now);
        return;
    }
    filling->next += count;
    filling->row.changed += (int64_t)count;
    filling->row.next.at = filling->walk.instants[filling->next - 1].at_ms;
    save(filling, now);
}

// If more jobs are open than were read, nobody knows how many of them are this backfill's.
static size_t room_of(const struct filling *filling)
{
    const struct store_get *get = &filling->get;
    bool unknown = get->job_count == OPEN_MAX && !job_state_final(get->jobs[OPEN_MAX - 1].state);
    return unknown ? 0 : backfill_room(&filling->walk.backfill, get->jobs, get->job_count, filling->row.created_at);
}

static void step(struct filling *filling, struct now now)
{
    size_t left = filling->walk.count - filling->next, room = room_of(filling);
    if (left && room) {
        add_jobs(filling, left < room ? left : room, now);
        return;
    }
    store_op_done(&filling->get.op);
    if (!left && room == (size_t)filling->walk.backfill.max_active)
        end(filling, STORE_BULK_DONE, now);
    else
        filling->next_at = now.mono_ms + LOOK_MS;
}

static void take_task(struct filling *filling, struct now now)
{
    enum err err = filling->get.op.err;
    if (!err && filling->at == AT_TASK) {
        begin_walk(filling, now);
    } else if (!err) {
        step(filling, now);
    } else {
        store_op_done(&filling->get.op);
        filling->next_at = now.mono_ms + FAIL_WAIT_MS;
        if (err == ERR_NOT_FOUND) // it was deleted
            end(filling, STORE_BULK_DONE, now);
    }
}

// ---- looking for rows

static bool read_doc(struct filling *filling)
{
    struct json doc;
    struct problem why = {0};
    if (json_check(filling->row.doc, &doc, why.detail))
        return false;
    struct json task_id = json_member(doc, STR("task_id"));
    return task_id.type == JSON_STRING && id_parse(json_text(task_id, &filling->arena), ID_TASK, &filling->task_id) &&
           !backfill_parse(&filling->walk.backfill, json_member(doc, STR("backfill")), &filling->arena, &why);
}

static void take_row(struct backfills *backfills, const struct store_bulk_row *found, struct now now)
{
    struct filling *filling = mem_zero(sizeof *filling);
    filling->backfills = backfills;
    arena_init(&filling->arena);
    arena_init(&filling->instants);
    list_append(&backfills->fillings, &filling->link);
    filling->row = *found;
    filling->row.doc = arena_copy(&filling->arena, found->doc);
    filling->row.holder = atomic_load(&backfills->node->incarnation);
    filling->seen = true;
    if (read_doc(filling))
        save(filling, now);
    else
        end(filling, STORE_BULK_STOPPED, now); // of a newer rota, which knows more
}

static struct filling *find(struct backfills *backfills, int64_t id)
{
    list_each (&backfills->fillings, link)
        if (list_entry(link, struct filling, link)->row.id == id)
            return list_entry(link, struct filling, link);
    return NULL;
}

// Those that do not run any more were stopped. One that waits for the store learns of it when it writes its row.
static void drop_unseen(struct backfills *backfills)
{
    int64_t life = atomic_load(&backfills->node->incarnation);
    list_each (&backfills->fillings, link) {
        struct filling *filling = list_entry(link, struct filling, link);
        bool over = !filling->seen || (filling->row.holder && filling->row.holder != life);
        if (over && !filling->waiting && filling->at != AT_SAVE && filling->at != AT_ROW)
            let_go(filling);
    }
}

static void take_look(struct backfills *backfills, struct now now)
{
    bool is_free[BULK_ROWS_MAX];
    struct store_bulks *look = &backfills->look;
    backfills->looking = false;
    if (!look->op.err) {
        bulk_suspects_judge(&backfills->suspects, backfills->node, backfills->peers, look, now, is_free);
        list_each (&backfills->fillings, link)
            list_entry(link, struct filling, link)->seen = false;
        for (size_t i = 0; i < look->row_count; i++) {
            struct filling *filling = find(backfills, look->rows[i].id);
            if (filling)
                filling->seen = true;
            else if (is_free[i] && bulk_plan_is_backfill(look->rows[i].doc))
                take_row(backfills, &look->rows[i], now);
        }
        drop_unseen(backfills);
    }
    store_op_done(&look->op);
    backfills->look_at = node_round(backfills->node, now.mono_ms, list_empty(&backfills->fillings) ? IDLE_MS : LOOK_MS);
}

static int64_t look(struct backfills *backfills, struct now now)
{
    if (backfills->looking)
        return TIME_NEVER;
    if (atomic_exchange(&backfills->poked, false))
        backfills->look_at = 0;
    if (now.mono_ms < backfills->look_at)
        return now.wall_ms + backfills->look_at - now.mono_ms;
    backfills->looking = true;
    backfills->look = (struct store_bulks){.max = BULK_ROWS_MAX};
    store_op_post(&backfills->look.op, STORE_BULKS, &backfills->answers);
    store_submit(backfills->node->store, &backfills->look.op);
    return TIME_NEVER;
}

// ---- the turn

static struct filling *filling_of(struct store_op *op)
{
    switch (op->verb) {
    case STORE_BULK:
        return container_of(op, struct filling, save.op);
    case STORE_BULKS:
        return container_of(op, struct filling, found.op);
    case STORE_GET:
        return container_of(op, struct filling, get.op);
    case STORE_LIST:
        return container_of(op, struct filling, walk.page.op);
    default:
        return container_of(op, struct filling, addition.add.op);
    }
}

static void take_answer(struct filling *filling, struct now now)
{
    static void (*const takes[])(struct filling *,
                                 struct now) = {[AT_SAVE] = take_saved, [AT_TASK] = take_task, [AT_WALK] = take_page,
                                                [AT_STEP] = take_task,  [AT_ADD] = take_added, [AT_ROW] = take_found};
    filling->waiting = false;
    takes[filling->at](filling, now);
}

static void take_answers(struct backfills *backfills, struct now now)
{
    struct list answers;
    list_init(&answers);
    mailbox_take(&backfills->answers, &answers);
    list_each (&answers, link) {
        struct store_op *op = list_entry(link, struct store_op, link);
        if (op->err && op->err != ERR_MOVED_ON && op->err != ERR_NOT_FOUND)
            node_say_failed(backfills->node, "backfill", op, now.mono_ms);
        if (op == &backfills->look.op)
            take_look(backfills, now);
        else
            take_answer(filling_of(op), now);
    }
}

// Goes on with what waits for its time, or for the store to be there again.
static void go_on(struct filling *filling, struct now now)
{
    if (filling->at == AT_SAVE)
        save(filling, now);
    else if (filling->at == AT_ROW || filling->at == AT_STEP) // before jobs are added it is asked whether it was stopped
        read_row(filling);
    else
        read_task(filling);
}

static bool is_due(const struct filling *filling, struct now now)
{
    return now.mono_ms >= filling->next_at || (filling->ended && filling->at == AT_STEP);
}

int64_t backfills_turn(struct backfills *backfills, struct now now)
{
    int64_t next = TIME_NEVER;
    take_answers(backfills, now);
    if (atomic_load(&backfills->node->stopping) || !node_alive(backfills->node, now.mono_ms))
        return TIME_NEVER; // an answer or a beat wakes
    list_each (&backfills->fillings, link) {
        struct filling *filling = list_entry(link, struct filling, link);
        if (filling->waiting)
            continue;
        if (is_due(filling, now))
            go_on(filling, now);
        else
            next = time_min(next, now.wall_ms + filling->next_at - now.mono_ms);
    }
    return time_min(next, look(backfills, now));
}

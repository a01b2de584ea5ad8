// Random lives of plans: whatever the schedule, the clock and the order of what happens, every instant up to planned_through has
// exactly one job or lies in exactly one skip. Each life has a seed, which is told if it fails.
#include "base/data/map.h"
#include "base/rand.h"
#include "plan_world.h"
#include "schedule/zone_file.h"

enum { LIVES = 3000, STEPS = 80, LEDGER_MAX = 40000 };

// What became of each instant, kept beside the plan, without its bounds.
struct entry {
    struct plan_row row;
    enum fate { PLANNED, PICKED, SKIPPED, TAKEN_AWAY } fate;
    enum plan_reason reason;
};

struct life {
    struct plan_world world;
    struct rand rand;
    struct exclude excludes[3];
    int64_t now_ms, latest_ms; // the clock, and the most that it has shown
    struct entry entries[LEDGER_MAX];
    size_t count;
    struct map fates;                    // the entry of each instant that has one
    struct plan_row planned[LEDGER_MAX]; // the jobs that a change or resume is told of
    size_t places[LEDGER_MAX];           // … and where they are in the ledger
    struct plan_moved moved[LEDGER_MAX];
};

static int64_t below(struct life *life, int64_t limit)
{
    return (int64_t)rand_below(&life->rand, (uint64_t)limit);
}

// ---- the ledger

static struct entry *find(const struct life *life, int64_t nominal_at)
{
    return map_get(&life->fates, nominal_at);
}

static void note(struct life *life, struct plan_row row, enum fate fate, enum plan_reason reason)
{
    assert_null(find(life, row.nominal_at)); // one fate for an instant
    assert_true(life->count < LEDGER_MAX);
    struct entry *entry = &life->entries[life->count++];
    *entry = (struct entry){row, fate, reason};
    map_put(&life->fates, row.nominal_at, entry);
}

static void take_away(struct life *life, struct entry *entry)
{
    entry->fate = TAKEN_AWAY;
    map_remove(&life->fates, entry->row.nominal_at);
}

static void note_rows(struct life *life)
{
    for (size_t i = 0; i < life->world.rows.count; i++)
        note(life, life->world.rows.rows[i], PLANNED, 0);
}

// A step begins without skips, so all that are there afterwards are its own.
static void note_skips(struct life *life)
{
    struct plan_skip skips[PLAN_SKIPS_MAX];
    size_t count = plan_skips_read(life->world.plan.skips, skips);
    assert_true(count < PLAN_SKIPS_MAX); // otherwise some may have gone
    for (size_t i = 0; i < count; i++) {
        int64_t left = skips[i].count, at_ms = skips[i].from;
        assert_int_equal(schedule_next(&life->world.schedule, at_ms - 1).at_ms, at_ms);
        for (; at_ms <= skips[i].to; at_ms = schedule_next(&life->world.schedule, at_ms).at_ms, left--) {
            struct entry *entry = find(life, at_ms);
            if (entry && entry->fate == PLANNED) { // its job is cancelled
                entry->fate = SKIPPED;
                entry->reason = skips[i].reason;
            } else {
                note(life, (struct plan_row){at_ms, 0}, SKIPPED, skips[i].reason);
            }
        }
        assert_int_equal(left, 0);
    }
    life->world.plan.skips = (struct str){0};
}

// ---- what must be true

static bool may_follow(const struct life *life, int64_t instants)
{
    return !life->world.rules.max_runs || instants < life->world.rules.max_runs;
}

static void check_instants(struct life *life, int64_t from_ms)
{
    const struct plan *plan = &life->world.plan;
    int64_t through = plan->planned_through == TIME_NEVER ? plan->ended_with : plan->planned_through;
    struct schedule_instant next = schedule_next(&life->world.schedule, from_ms);
    for (; next.at_ms <= through && next.at_ms != TIME_NEVER; next = schedule_next(&life->world.schedule, next.at_ms)) {
        struct entry *entry = find(life, next.at_ms);
        assert_non_null(entry);
        assert_int_equal(entry->fate == SKIPPED && entry->reason == PLAN_EXCLUDED, next.excluded);
    }
}

// While the clock shows less than it has shown, a change would plan again what has run already, and some of the instants ahead
// were never owed.
static bool was_set_back(const struct life *life)
{
    return life->now_ms < life->latest_ms;
}

// Instants ahead that have, or had, a job. Some may have run or been missed, if the clock was set back.
static size_t count_ahead(const struct life *life)
{
    size_t count = 0;
    for (size_t i = 0; i < life->count; i++) {
        const struct entry *entry = &life->entries[i];
        bool excluded = entry->fate == SKIPPED && entry->reason == PLAN_EXCLUDED;
        count += entry->row.nominal_at > life->now_ms && entry->fate != TAKEN_AWAY && !excluded;
    }
    return count;
}

static void check_ahead(const struct life *life, size_t before)
{
    const struct plan_world *world = &life->world;
    size_t ahead = count_ahead(life);
    if (world->plan.planned_through == TIME_NEVER) {
        assert_int_equal(world->plan.check_at == TIME_NEVER, world->plan.queued_count == 0); // who waits is looked after
        assert_true(ahead <= before); // some lie ahead again if the clock was set back
        return;
    }
    assert_true(world->plan.check_at > life->now_ms);
    if (world->plan.planned_through > life->now_ms)
        assert_true(world->plan.check_at <= schedule_due(&world->schedule, world->plan.planned_through) + PLAN_CHECK_MS);
    assert_true(ahead <= PLAN_AHEAD || ahead <= before);
    int64_t horizon_ms = life->now_ms + TASK_HORIZON_MS;
    if (ahead < PLAN_AHEAD && may_follow(life, world->plan.instants) && !was_set_back(life))
        assert_int_equal(schedule_next_run(&world->schedule, world->plan.planned_through, horizon_ms), TIME_NEVER);
}

// ---- what happens

static void extend(struct life *life)
{
    struct plan_world *world = &life->world;
    if (world->plan.paused_at)
        return;
    do {
        struct plan before = world->plan;
        size_t ahead = count_ahead(life);
        plan_world_extend(world, life->now_ms);
        if (!below(life, 4)) { // the write was lost: it is decided again, later
            world->plan = before;
            life->now_ms += below(life, 10000);
            world->rows.more = true;
            continue;
        }
        assert_true(world->plan.planned_through >= before.planned_through);
        note_rows(life);
        note_skips(life);
        check_instants(life, before.planned_through);
        if (!world->rows.more)
            check_ahead(life, ahead);
    } while (world->rows.more);
}

// Whoever has not read the plan decides as one who has.
static void check_unread(struct life *life, struct plan_row row)
{
    struct plan_world *world = &life->world, read = *world;
    struct plan_unread unread;
    if (world->plan.paused_at || !plan_extend_unread(&world->schedule, &world->rules, row, life->now_ms, &unread) ||
        unread.from != world->plan.planned_through)
        return;
    plan_world_extend(&read, life->now_ms);
    assert_int_equal(read.rows.count, 1);
    assert_true(read.rows.rows[0].nominal_at == unread.row.nominal_at && read.rows.rows[0].due_at == unread.row.due_at);
    assert_int_equal(read.plan.planned_through, unread.row.nominal_at);
    assert_int_equal(read.plan.instants, world->plan.instants + 1);
    assert_int_equal(read.plan.skips.n, 0);
    assert_true(unread.check_at > life->now_ms && unread.check_at <= unread.row.due_at + PLAN_CHECK_MS);
}

static void pick(struct life *life)
{
    struct plan_world *world = &life->world;
    struct entry *entry = life->count ? &life->entries[below(life, (int64_t)life->count)] : NULL;
    if (!entry || entry->fate != PLANNED || world->plan.paused_at)
        return;
    life->now_ms = time_max(life->now_ms, entry->row.due_at);
    check_unread(life, entry->row);
    bool sure = plan_pick_unread(&world->schedule, &world->rules, entry->row, true, life->now_ms);
    int64_t job_id = entry - life->entries + 1;
    struct plan before = world->plan;
    struct plan_pick picked =
        plan_pick(&world->plan, &world->schedule, &world->rules, job_id, entry->row, life->now_ms, &world->arena);
    if (!below(life, 4)) {
        world->plan = before;
        return;
    }
    assert_true(!sure || picked.verdict == PLAN_RUNS);
    if (picked.verdict == PLAN_SKIPPED)
        note_skips(life);
    else
        entry->fate = PICKED;
    assert_int_equal(entry->fate == SKIPPED, picked.verdict == PLAN_SKIPPED);
    assert_int_equal(world->plan.skips.n, 0);
    if (world->plan.active_count > 3) // the oldest have ended
        world->plan.active_count = world->plan.queued_count = 0;
}

static int by_instant(const void *a, const void *b)
{
    const struct plan_row *one = a, *other = b;
    return (one->nominal_at > other->nominal_at) - (one->nominal_at < other->nominal_at);
}

static size_t gather_planned(struct life *life)
{
    size_t count = 0;
    for (size_t i = 0; i < life->count; i++) {
        if (life->entries[i].fate == PLANNED)
            life->planned[count++] = life->entries[i].row;
    }
    qsort(life->planned, count, sizeof life->planned[0], by_instant);
    for (size_t i = 0; i < count; i++)
        life->places[i] = (size_t)(find(life, life->planned[i].nominal_at) - life->entries);
    return count;
}

// Writes down what has become of the jobs that were planned.
static void note_moved(struct life *life, size_t count)
{
    for (size_t i = 0; i < count; i++)
        take_away(life, &life->entries[life->places[i]]);
    for (size_t i = 0; i < count; i++) {
        if (life->moved[i].keeps)
            note(life, life->moved[i].row, PLANNED, 0);
    }
}

static void choose_schedule(struct life *life);

static void change(struct life *life)
{
    struct plan_world *world = &life->world;
    extend(life);
    if (was_set_back(life) || life->now_ms - world->plan.planned_through > 3600 * 1000)
        return; // of an hour, the ledger has room for all that another schedule may have in it
    int64_t from_ms = time_min(world->plan.planned_through, life->now_ms);
    size_t count = gather_planned(life);
    choose_schedule(life);
    for (size_t i = 0; i < life->count; i++) {
        if (life->entries[i].fate == SKIPPED && life->entries[i].row.nominal_at > from_ms)
            take_away(life, &life->entries[i]); // it is planned again
    }
    plan_change(&world->plan, &world->schedule, &world->rules, life->planned, count, life->now_ms, &world->arena, life->moved,
                &world->rows);
    note_moved(life, count);
    note_rows(life);
    note_skips(life);
    check_instants(life, from_ms);
    for (size_t i = 0; i < count; i++)
        assert_true(!life->moved[i].keeps || schedule_next_run(&world->schedule, life->moved[i].row.nominal_at - 1,
                                                               life->moved[i].row.nominal_at) != TIME_NEVER);
}

// The same schedule again: nothing moves.
static void change_nothing(struct life *life)
{
    struct plan_world *world = &life->world;
    extend(life);
    struct plan before = world->plan, after;
    if (before.planned_through <= life->now_ms || before.planned_through == TIME_NEVER)
        return;
    if (world->plan.paused_at || was_set_back(life))
        return;
    size_t count = gather_planned(life);
    plan_change(&world->plan, &world->schedule, &world->rules, life->planned, count, life->now_ms, &world->arena, life->moved,
                &world->rows);
    after = world->plan;
    world->plan = before;
    assert_int_equal(world->rows.count, 0);
    assert_int_equal(after.planned_through, before.planned_through);
    assert_int_equal(after.instants, before.instants);
    assert_int_equal(after.check_at, before.check_at);
    for (size_t i = 0; i < count; i++) {
        assert_true(life->moved[i].keeps);
        assert_int_equal(life->moved[i].row.nominal_at, life->planned[i].nominal_at);
        assert_int_equal(life->moved[i].row.due_at, life->planned[i].due_at);
    }
}

static void pause_or_resume(struct life *life)
{
    struct plan_world *world = &life->world;
    if (!world->plan.paused_at) {
        world->plan.paused_at = life->now_ms;
        return;
    }
    enum plan_misfire missed = (enum plan_misfire)below(life, 3);
    do {
        int64_t from_ms = world->plan.planned_through;
        size_t count = gather_planned(life);
        plan_resume(&world->plan, &world->schedule, &world->rules, missed, life->planned, count, life->now_ms, &world->arena,
                    life->moved, &world->rows);
        for (size_t i = 0; i < count; i++) {
            if (life->moved[i].keeps)
                find(life, life->planned[i].nominal_at)->row = life->moved[i].row;
        }
        note_rows(life);
        note_skips(life);
        for (size_t i = 0; i < count; i++)
            assert_int_equal(life->moved[i].keeps, find(life, life->planned[i].nominal_at)->fate == PLANNED);
        check_instants(life, from_ms);
    } while (world->rows.more);
    assert_int_equal(world->plan.paused_at, 0);
}

// Mostly forward by a few instants, sometimes far, sometimes back.
static void move_clock(struct life *life)
{
    int64_t first = schedule_next(&life->world.schedule, life->now_ms).at_ms;
    int64_t second = schedule_next(&life->world.schedule, first).at_ms;
    int64_t gap = second == TIME_NEVER ? 60000 : time_min(second - first, INT64_C(40) * 86400 * 1000);
    static const int64_t spans[] = {1, 1, 1, 3, 40};
    int64_t span = spans[below(life, 5)];
    life->now_ms += below(life, 8) ? below(life, gap * span + 1) : -below(life, gap * 3 + 1);
}

// ---- what a life is made of

static void choose_bounds(struct life *life)
{
    struct schedule *schedule = &life->world.schedule;
    static const int64_t jitters_ms[] = {0, 0, 2000, 90000, 3600000};
    schedule->hash = rand_next(&life->rand);
    schedule->starts_at = below(life, 4) ? 0 : life->now_ms + below(life, 3600000);
    schedule->ends_at = below(life, 6) ? 0 : life->now_ms + below(life, INT64_C(10) * 86400 * 1000);
    schedule->excludes = life->excludes;
    schedule->exclude_count = 0;
    int64_t first = schedule_next(schedule, life->now_ms).at_ms, second = schedule_next(schedule, first).at_ms;
    bool dense = second - first < 60000; // too many instants of a day for the ledger
    schedule->jitter_ms = jitters_ms[below(life, 5)];
    if (second != TIME_NEVER) // neighbours change places, but not so many that a step has more skips than are kept
        schedule->jitter_ms = time_min(schedule->jitter_ms, 30 * (second - first));
    schedule->exclude_count = dense || below(life, 2) ? 0 : (size_t)(1 + below(life, 3));
}

static void choose_schedule(struct life *life)
{
    static const char *const patterns[] = {"* * * * *",    "*/15 * * * *", "30 2 * * *",   "0 0 1 * *",  "*/7 * * * * *",
                                           "0 12 * * 1#1", "30 1-3 * * *", "0 0 0 29 2 *", "0 */6 * * *"};
    static const int64_t everys_s[] = {1, 7, 60, 3600, 90000};
    if (below(life, 2)) {
        life->world.schedule.every_ms = everys_s[below(life, 5)] * 1000;
        life->world.schedule.anchor_ms = life->now_ms - below(life, 100000);
        life->world.schedule.anchor_is_instant = below(life, 2);
    } else {
        plan_world_cron(&life->world, patterns[below(life, array_count(patterns))]);
    }
    choose_bounds(life);
    life->world.rules = (struct plan_rules){
        .misfire = (enum plan_misfire)below(life, 3),
        .misfire_window_ms = below(life, 3) ? -1 : below(life, 600000),
        .overlap = (enum plan_overlap)below(life, 4),
        .max_active = 1 + (int)below(life, 3),
        .max_runs = below(life, 5) ? 0 : life->world.plan.instants + 1 + below(life, 40),
    };
}

static struct life *life_at_hand;
static uint64_t seed;

static void begin(struct life *life, const struct zone *berlin)
{
    static const char *const days[] = {"2026-03-29", "10-25", "2026-03-26/2026-03-28"};
    static const int64_t starts_ms[] = {INT64_C(1774569600000), INT64_C(1792800000000)}; // two days before the clocks change
    life->count = 0;
    life->latest_ms = 0;
    rand_init(&life->rand, seed);
    for (int i = 0; i < 3; i++)
        assert_true(exclude_read(str_of(days[i]), &life->excludes[i]));
    life->now_ms = starts_ms[below(life, 2)] + below(life, 3600000);
    plan_world_begin(&life->world, 60);
    life->world.schedule.zone = below(life, 2) ? berlin : &zone_utc;
    choose_schedule(life);
    plan_begin(&life->world.plan, life->now_ms);
}

static void live(struct life *life)
{
    static void (*const happens[])(struct life *) = {extend, extend, pick, pick, pick, pick, move_clock, change_nothing};
    for (int step = 0; step < STEPS && life->count < LEDGER_MAX / 4; step++) {
        life->latest_ms = time_max(life->latest_ms, life->now_ms);
        if (!below(life, 25))
            change(life);
        else if (!below(life, life->world.plan.paused_at ? 3 : 25))
            pause_or_resume(life);
        else
            happens[below(life, array_count(happens))](life);
    }
}

static void every_instant_has_one_job_or_lies_in_one_skip(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    const struct zone *berlin = zone_file("Europe/Berlin", &arena);
    for (seed = 1; seed <= LIVES; seed++) {
        begin(life_at_hand, berlin);
        live(life_at_hand);
        map_clear(&life_at_hand->fates);
        plan_world_end(&life_at_hand->world);
    }
    arena_done(&arena);
}

static int set_up(void **state)
{
    (void)state;
    life_at_hand = mem_zero(sizeof *life_at_hand);
    return 0;
}

static int tell_seed(void **state)
{
    (void)state;
    if (seed <= LIVES)
        print_message("It was the life of seed %llu.\n", (unsigned long long)seed);
    map_done(&life_at_hand->fates);
    mem_free(life_at_hand);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_instant_has_one_job_or_lies_in_one_skip, set_up, tell_seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

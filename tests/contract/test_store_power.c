// Power loss: what the SQLite store has acknowledged is on the disk, whatever the disk did with the writes it was not told to
// sync.
//
// A round runs in a process of its own on a disk that loses its power (power_support.h): batches of operations are submitted,
// what is wanted and what was acknowledged is written into a ledger in shared memory, and in some call to the disk the power
// goes. Then the parent looks at a copy of what is left, compares it with the ledger, and the next round goes on with the
// original.
//
// Each batch is submitted from the done() of the last operation of the one before, that is while the writer can take nothing: so
// the groups, the calls to the disk and the end are the same for the same seed (SEED=n runs one).
//
// That the loop finds what it looks for is a test too: it must fail with synchronous=NORMAL, and on a disk that does not wait for
// the pages of a checkpoint.
#include "power_ledger.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

// ---- rounds

static void add_up(struct verdict *verdict, const struct ledger *ledger, int64_t acknowledged_before)
{
    verdict->cuts += ledger->seen.cut;
    verdict->in_checkpoint += ledger->seen.in_checkpoint;
    verdict->restarts += ledger->seen.restarts;
    verdict->cut_backs += ledger->seen.cut_backs;
    verdict->wal_syncs += ledger->seen.wal_syncs;
    verdict->beside += ledger->seen.beside;
    verdict->refused += ledger->seen.refused;
    verdict->acknowledged += (int)(ledger->acknowledged - acknowledged_before);
}

static bool is_bad(const struct verdict *verdict)
{
    return verdict->lost || verdict->wrong || verdict->broken;
}

static void run_round(const struct scenario *scenario, struct ledger *ledger, const char *dir, struct verdict *verdict)
{
    int status = 0;
    int64_t before = ledger->acknowledged;
    char data[160];
    snprintf(data, sizeof data, "%s/data", dir);
    ledger->holder = 1 + verdict->round;
    copy_file(data, dir, "rota.extent");
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        run_until_the_cut(scenario, ledger, dir, verdict->seed, verdict->round);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != POWER_CUT)
        note(verdict, &verdict->broken, "the process ended with status %x", (unsigned)status);
    else
        check_what_is_left(verdict, ledger, dir);
    add_up(verdict, ledger, before);
}

// A start that is refused says what to do. Why differs: tasks are lost, or, on a disk that forgot pages, SQLite finds its file
// malformed.
static bool starts(const char *data)
{
    char url[200], why[ERR_WHY_MAX] = "";
    struct store *store = NULL;
    snprintf(url, sizeof url, "sqlite:%s", data);
    bool started = store_open(&store, url, why) == ERR_OK;
    assert_true(started || strstr(why, "tasks are lost") || (strstr(why, "malformed") && strstr(why, "Restore a backup")));
    store_close(store);
    return started;
}

// Rounds on one directory, until something is wrong.
static void run_seed(const struct scenario *scenario, uint64_t seed, struct verdict *verdict)
{
    struct world *world = world_new("sqlite"); // for its directory: the store is another, made in the first round
    store_close(world->store);
    world->store = NULL;
    char data[160], emptied[160];
    snprintf(data, sizeof data, "%s/data", world->dir);
    snprintf(emptied, sizeof emptied, "%s/closed", world->dir);
    assert_int_equal(rename(data, emptied), 0);
    // cppcheck-suppress invalidFunctionArg; memory that belongs to no file has no descriptor
    struct ledger *ledger = mmap(NULL, sizeof *ledger, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(ledger, MAP_FAILED);
    verdict->seed = seed;
    for (verdict->round = 0; verdict->round < scenario->rounds && !is_bad(verdict); verdict->round++)
        run_round(scenario, ledger, world->dir, verdict);
    munmap(ledger, sizeof *ledger);
    verdict->said = !starts(data);
    world_free(world);
}

static struct verdict run_seeds(const struct scenario *scenario, uint64_t seeds)
{
    struct verdict verdict = {0};
    const char *only = getenv("SEED");
    if (only)
        run_seed(scenario, strtoull(only, NULL, 10), &verdict);
    for (uint64_t seed = 1; !only && seed <= seeds && !is_bad(&verdict); seed++)
        run_seed(scenario, seed, &verdict);
    print_message("%d cuts, %d of them in a checkpoint; %d operations acknowledged; the WAL was synced %" PRIu64
                  " times, %" PRIu64 " of them before moved pages were, begun anew %" PRIu64 " times, truncated %" PRIu64
                  " times%s%s\n",
                  verdict.cuts, verdict.in_checkpoint, verdict.acknowledged, verdict.wal_syncs, verdict.beside, verdict.restarts,
                  verdict.cut_backs, is_bad(&verdict) ? "; " : "", verdict.first);
    return verdict;
}

static void assert_nothing_lost(const struct verdict *verdict)
{
    if (is_bad(verdict))
        fail_msg("%s", verdict->first);
    assert_false(verdict->said);
}

// Anywhere; now and then from the checkpoint on that closing the store makes, or from its last step.
static void plan_anywhere(struct rand *rand, int round)
{
    uint64_t way = rand_below(rand, 8);
    if (way == 0)
        power_plan(POWER_FROM_CUT_BACK, rand_below(rand, 2));
    else if (way == 1)
        power_plan(POWER_FROM_CHECKPOINT, rand_below(rand, 60));
    else
        power_plan(POWER_FROM_NOW, rand_below(rand, 40));
}

// In the checkpoint that a large WAL makes (some 4,000 pages, each a call), in the commits behind it, or when the WAL has begun
// anew.
static void plan_checkpoint(struct rand *rand, int round)
{
    if (round % 2)
        power_plan(POWER_FROM_RESTART, rand_below(rand, 20));
    else
        power_plan(POWER_FROM_CHECKPOINT, rand_below(rand, 9000));
}

// In the truncation, which is not synced, or soon behind it, when the WAL is written from its beginning.
static void plan_cut_back(struct rand *rand, int round)
{
    power_plan(POWER_FROM_CUT_BACK, rand_below(rand, 2) ? 0 : rand_below(rand, 60));
}

// When something was refused for lack of room: before the next write, or soon behind it.
static void plan_refused(struct rand *rand, int round)
{
    power_plan(POWER_FROM_REFUSED, rand_below(rand, 2) ? rand_below(rand, 6) : rand_below(rand, 100));
}

static const struct scenario small = {.rounds = 5, .batches = 12, .doc_max = 2000, .plan = plan_anywhere};
static const struct scenario large = {.rounds = 2, .batches = 40, .doc_max = 200000, .reads = true, .plan = plan_checkpoint};
static const struct scenario quiet = {
    .rounds = 1, .batches = 2, .doc_max = 2000, .first_bytes = 68 << 20, .goes_quiet = true, .plan = plan_cut_back};

static const struct scenario filling = {.rounds = 10, .batches = 20, .doc_max = 9000, .fills_up = true, .plan = plan_refused};
static const struct scenario filling_large = {
    .rounds = 2, .batches = 40, .doc_max = 200000, .fills_up = true, .plan = plan_checkpoint};

// ---- the promises

static void what_was_acknowledged_is_there_after_power_loss(void **state)
{
    struct verdict verdict = run_seeds(&small, 10);
    assert_nothing_lost(&verdict);
    if (getenv("SEED"))
        return;
    assert_int_equal(verdict.cuts, 50);
    assert_true(verdict.in_checkpoint > 0 && verdict.cut_backs > 0);
}

static void checkpoints_lose_nothing(void **state)
{
    struct verdict verdict = run_seeds(&large, 8);
    assert_nothing_lost(&verdict);
    if (getenv("SEED"))
        return;
    assert_int_equal(verdict.cuts, 16);
    assert_true(verdict.in_checkpoint > 0 && verdict.restarts > 0 && verdict.beside > 0);
}

static void cutting_a_large_wal_back_loses_nothing(void **state)
{
    struct verdict verdict = run_seeds(&quiet, 2);
    assert_nothing_lost(&verdict);
    assert_true(verdict.cut_backs > 0);
}

static void what_a_full_disk_refused_never_comes_to_life(void **state)
{
    struct verdict verdict = run_seeds(&filling, 20), large_one = run_seeds(&filling_large, 2);
    assert_nothing_lost(&verdict);
    assert_nothing_lost(&large_one);
    if (getenv("SEED"))
        return;
    assert_true(verdict.refused > 0 && large_one.refused > 0 && large_one.restarts > 0);
}

static void with_synchronous_normal_the_loss_is_found(void **state)
{
    struct scenario normal = small;
    normal.disk = POWER_NORMAL;
    struct verdict verdict = run_seeds(&normal, 10);
    assert_true(verdict.lost > 0);
    assert_int_equal(verdict.broken, 0); // NORMAL keeps the database whole, only old
    assert_true(verdict.said);
}

static void with_a_log_not_waited_for_the_loss_is_found(void **state)
{
    struct scenario hasty = small;
    hasty.disk = POWER_FORGETS_LOG;
    struct verdict verdict = run_seeds(&hasty, 10);
    assert_true(verdict.lost > 0 || verdict.broken > 0);
}

static void with_pages_not_waited_for_the_loss_is_found(void **state)
{
    struct scenario hasty = large;
    hasty.disk = POWER_FORGETS_PAGES;
    struct verdict verdict = run_seeds(&hasty, 4);
    assert_true(verdict.lost > 0 || verdict.broken > 0);
}

// Where memory has no room for the large ones, the disk must do.
static void choose_dir(void)
{
    struct statvfs room;
    if (statvfs("/dev/shm", &room) != 0 || room.f_bavail * room.f_frsize < 1 << 30)
        setenv("ROTA_TEST_DIR", "/tmp", 0);
}

static int set_up(void **state)
{
    choose_dir();
    struct rand rand;
    rand_init(&rand, 1);
    for (size_t i = 0; i < POOL_BYTES; i++)
        pool[i] = (char)rand_next(&rand);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_acknowledged_is_there_after_power_loss),
        cmocka_unit_test(checkpoints_lose_nothing),
        cmocka_unit_test(cutting_a_large_wal_back_loses_nothing),
        cmocka_unit_test(what_a_full_disk_refused_never_comes_to_life),
        cmocka_unit_test(with_synchronous_normal_the_loss_is_found),
        cmocka_unit_test(with_a_log_not_waited_for_the_loss_is_found),
        cmocka_unit_test(with_pages_not_waited_for_the_loss_is_found),
    };
    return cmocka_run_group_tests_name("store sqlite: power loss", tests, set_up, NULL);
}

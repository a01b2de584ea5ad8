// Files of the SQLite store that are taken away, replaced, or have lost their end.
#include "failing_disk.h"
#include "sqlite_contract.h"
#include "store/lives.h"
#include "store/sqlite/disk.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

// ---- files that are taken away

// Whatever they were told before the beat is another matter.
static void are_missed_with_the_next_beat(struct world *world, const char *what)
{
    enum err err;
    assert_int_equal(beat(world), ERR_OK);
    shell(world, what);
    assert_int_equal(beat(world), ERR_STORE_LOST);
    struct store_new *item = try_add(world, (struct sample){0}, &err);
    assert_int_equal(err, ERR_STORE_LOST);
    assert_int_equal(item->err, ERR_STORE_LOST);
    assert_int_equal(beat(world), ERR_STORE_LOST); // and stays so
}

static void a_directory_that_is_removed_is_missed(void **state)
{
    are_missed_with_the_next_beat(*state, "rm -r data");
}

static void a_directory_that_is_replaced_is_missed(void **state)
{
    are_missed_with_the_next_beat(*state, "cp -r data copy && mv data away && mv copy data");
}

static void a_database_that_is_replaced_is_missed(void **state)
{
    are_missed_with_the_next_beat(*state, "cp data/rota.db copy && mv copy data/rota.db");
}

static void what_was_in_a_removed_wal_is_saved(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){0});
    are_missed_with_the_next_beat(world, "rm data/rota.db-wal");
    world_reopen(world);
    assert_true(is_there(world, id));
}

static void a_directory_that_is_moved_has_everything(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){0});
    are_missed_with_the_next_beat(world, "mv data away");
    store_close(world->store);
    shell(world, "mv away data");
    world_open(world);
    assert_true(is_there(world, id));
}

// It is made anew with the next start. The index of the WAL is nobody else's.
static void a_second_one_is_refused_without_the_lock_file_too(void **state)
{
    struct world *world = *state;
    shell(world, "rm data/rota.lock data/rota.db-shm");
    assert_int_equal(beat(world), ERR_OK);
    a_second_one_is_refused(world, 0);
    world_reopen(world);
    a_second_one_is_refused(world, getpid());
}

static void a_log_that_is_cut_short_is_missed(void **state)
{
    struct world *world = *state;
    add(world, (struct sample){0});
    are_missed_with_the_next_beat(world, "truncate -s 1000 data/rota.db-wal");
}

// ---- files that lost their end

// How far it has come is noted behind the answer to a write, and before the next one, which here changes nothing.
static void let_note(struct world *world)
{
    struct store_forget *op = OP(world, store_forget, STORE_FORGET);
    op->incarnation = 999;
    assert_int_equal(call(world, &op->op), ERR_OK);
}

// The directory as it was when the process died, then treated as `what` says. Returns what the start said, "" if it started.
static const char *start_after(struct world *world, const char *what)
{
    static char why[ERR_WHY_MAX];
    char url[160], command[400];
    struct store *store = NULL;
    snprintf(command, sizeof command, "rm -rf crashed && cp -r data crashed && cd crashed && %s", what);
    shell(world, command);
    snprintf(url, sizeof url, "sqlite:%s/crashed", world->dir);
    why[0] = 0;
    enum err err = store_open(&store, url, why);
    assert_int_equal(err == ERR_OK, why[0] == 0);
    store_close(store);
    return why;
}

static bool is_said(const char *said, const char *what)
{
    return strstr(said, what) && strstr(said, "Restore a backup into an empty directory");
}

static bool is_said_with_a_way_on(const char *said, const char *what)
{
    return is_said(said, what) && strstr(said, "remove rota.extent");
}

static void a_log_that_lost_its_end_is_said_at_the_start(void **state)
{
    struct world *world = *state;
    add(world, (struct sample){0});
    let_note(world);
    assert_string_equal(start_after(world, "true"), "");
    assert_true(is_said_with_a_way_on(start_after(world, "truncate -s -1 rota.db-wal"), "rota.db-wal has lost its end"));
    assert_true(is_said_with_a_way_on(start_after(world, "truncate -s 32 rota.db-wal"), "rota.db-wal has lost its end"));
    assert_true(is_said_with_a_way_on(start_after(world, "truncate -s 31 rota.db-wal"), "rota.db-wal is gone"));
    assert_true(is_said_with_a_way_on(start_after(world, "rm rota.db-wal"), "rota.db-wal is gone"));
    assert_true(is_said_with_a_way_on(start_after(world, "printf x | dd conv=notrunc bs=1 seek=5000 of=rota.db-wal 2>/dev/null"),
                                      "is damaged"));
    assert_string_equal(start_after(world, "rm rota.db-wal rota.extent"), "");
    assert_string_equal(start_after(world, "truncate -s -1 rota.db-wal && rm rota.extent"), "");
}

// The note behind a beat. Its pages are in the log then and not in the database: the writer is held up before it moves the first.
static struct extent_note beat_and_hold(struct world *world, int64_t beats_before)
{
    struct extent_note note = {0};
    char path[160];
    snprintf(path, sizeof path, "%s/data/rota.extent", world->dir);
    move_is_held_up = true;
    assert_int_equal(beat(world), ERR_OK);
    int fd = open(path, O_RDONLY);
    while (note.beats <= beats_before) {
        assert_int_equal(pread(fd, &note, sizeof note, 0), sizeof note);
        sched_yield();
    }
    close(fd);
    assert_int_equal(note.unmoved, note.frames);
    sem_wait(&move_waits);
    return note;
}

// What is written next finds an empty log.
static void let_move(struct world *world)
{
    sem_post(&move_may_go_on);
    let_note(world);
}

// Behind each move the log begins anew. A beat writes the same pages each time, so then the log has as many as before.
static void a_log_begun_anew_with_as_many_pages_is_missed_too(void **state)
{
    struct world *world = *state;
    struct extent_note first = beat_and_hold(world, 0); // with what came before it
    let_move(world);
    struct extent_note second = beat_and_hold(world, first.beats);
    let_move(world);
    struct extent_note third = beat_and_hold(world, second.beats);
    bool said = is_said_with_a_way_on(start_after(world, "rm rota.db-wal"), "rota.db-wal is gone");
    sem_post(&move_may_go_on);
    assert_true(said);
    assert_memory_not_equal(third.salt, second.salt, sizeof third.salt);
    assert_int_equal(third.frames, second.frames);
}

// A transaction that was being written when the power went is in no note, nor are bytes of a WAL of before.
static void a_torn_transaction_is_no_loss(void **state)
{
    struct world *world = *state;
    add(world, (struct sample){0});
    let_note(world);
    assert_string_equal(start_after(world, "head -c 3000 rota.db-wal >>rota.db-wal"), "");
}

static void a_database_that_lost_its_end_is_said_at_the_start(void **state)
{
    struct world *world = *state;
    add_large(world);
    store_close(world->store);
    world->store = NULL;
    assert_string_equal(start_after(world, "true"), "");
    assert_true(is_said(start_after(world, "truncate -s -4096 rota.db"), "rota.db has lost its end"));
    assert_true(is_said(start_after(world, "truncate -s -4096 rota.db && rm rota.extent"), "malformed"));
    assert_true(is_said_with_a_way_on(start_after(world, "rm rota.db"), "rota.db is gone"));
    assert_string_equal(start_after(world, "rm rota.db-wal rota.lock"), "");
    assert_string_equal(start_after(world, "rm rota.db-wal rota.lock rota.extent"), "");
}

static void an_older_database_is_said_at_the_start(void **state)
{
    struct world *world = *state;
    store_close(world->store);
    shell(world, "cp data/rota.db old");
    world_open(world);
    assert_int_equal(beat(world), ERR_OK);
    store_close(world->store);
    world->store = NULL;
    assert_true(is_said_with_a_way_on(start_after(world, "cp ../old rota.db"), "rota.db or its log is an older one"));
}

int contract_sqlite_files(void)
{
    const struct CMUnitTest tests[] = {
        PROMISE(a_directory_that_is_removed_is_missed),
        PROMISE(a_directory_that_is_replaced_is_missed),
        PROMISE(a_database_that_is_replaced_is_missed),
        PROMISE(what_was_in_a_removed_wal_is_saved),
        PROMISE(a_directory_that_is_moved_has_everything),
        PROMISE(a_second_one_is_refused_without_the_lock_file_too),
        PROMISE(a_log_that_is_cut_short_is_missed),
        PROMISE(a_log_that_lost_its_end_is_said_at_the_start),
        PROMISE(a_log_begun_anew_with_as_many_pages_is_missed_too),
        PROMISE(a_torn_transaction_is_no_loss),
        PROMISE(a_database_that_lost_its_end_is_said_at_the_start),
        PROMISE(an_older_database_is_said_at_the_start),
    };
    return cmocka_run_group_tests_name("store sqlite: files", tests, NULL, NULL);
}

// A whole life in one thread on virtual time: the shipped stages with a played executor on the memory store, so that what admit,
// pull, dispatch and complete cost is seen apart from disk and network. `push` is due at once, `plan` is claimed when its time
// comes near, `recur` is what its schedule has planned, so the job that follows it is planned, too.
#include "base/mem.h"
#include "guard.h"
#include "support/play.h"

enum { ROUNDS = 40, BATCH = 50, TASKS = ROUNDS * BATCH };

static void ignore(struct admission *admission)
{
    (void)admission;
}

static void submit(struct play *play, const char *doc)
{
    struct admission admission;
    struct arena arena = {0};
    struct problem problem;
    char why[ERR_WHY_MAX];
    struct task task;
    admission_init(&admission, PLAY_TENANT, BATCH);
    admission.done = ignore; // the memory store is done when admit_submit() returns
    for (int i = 0; i < BATCH; i++)
        if (!task_read(&task, str_of(doc), &arena, why) ||
            admission_add(&admission, &task, str_of(doc), NULL, play->now.wall_ms, &problem))
            guard_die("life", why);
    if (admit_submit(play->flow->admit, &admission, play->now) || admission.addition.add.op.err)
        guard_die("life", "a submit was refused");
    admission_done(&admission);
    arena_done(&arena);
}

// Runs what is due to its end; returns how many there were.
static size_t run_all(struct play *play)
{
    size_t count = 0;
    play_live(play);
    play_turn(play);
    while (play->exec.count) {
        count += play->exec.count;
        while (play->exec.count) // the one that was started last is found and taken out without moving others
            play_end(play, play->exec.running[0]->order->job.id, OUTCOME_SUCCESS);
        play_turn(play);
    }
    return count;
}

static void lives(struct play *play, const char *doc, int64_t pass_ms)
{
    size_t count = 0;
    for (int i = 0; i < ROUNDS; i++) {
        submit(play, doc);
        for (int64_t passed = 0; passed <= pass_ms; passed += 1000) {
            play_pass(play, 1000);
            count += run_all(play);
        }
    }
    if (count != TASKS)
        guard_die("life", "not every task was run once");
}

// One batch of schedules, each of which runs once a round.
static void recurs(struct play *play)
{
    size_t count = 0;
    for (int i = 0; i < ROUNDS * 20; i++) {
        play_pass(play, 1000);
        count += run_all(play);
    }
    if (count != TASKS)
        guard_die("life", "not every instant was run once");
}

void guard_life(const char *folder)
{
    (void)folder;
    struct play *play = play_new((struct play_config){.room = 1000, .slots = 64});
    play_lane(play, "default");

    part_begin();
    lives(play, "{\"url\":\"http://h/\"}", 0);
    part_end("push", TASKS);

    part_begin();
    lives(play, "{\"url\":\"http://h/\",\"in\":\"20s\"}", 21000);
    part_end("plan", TASKS);

    submit(play, "{\"url\":\"http://h/\",\"every\":\"20s\"}");
    part_begin();
    recurs(play);
    part_end("recur", TASKS);
    play_free(play);
}

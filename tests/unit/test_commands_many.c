// Commands about a task of which hundreds of jobs have not ended: each of them follows, wherever it is.
#include "support/play_commands.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { MANY = 250, IN_HAND = 120, ROOM = 2 * IN_HAND }; // of the room one lane may have half

// A task with many jobs, as many of them in this node's hand as it has room for. Their ids follow each other.
static int64_t begin(struct play **ret_play)
{
    struct play *play = play_new((struct play_config){.room = ROOM, .slots = 40});
    int64_t first = in_future(play, 3000), in_hand = 0;
    for (int i = 1; i < MANY; i++)
        play_add(play, (struct play_job){.state = JOB_DELAYED, .due_at = play->now.wall_ms + 3000, .task_id = first});
    pass_turning(play, 1000);
    for (int64_t id = first; id < first + MANY; id++)
        in_hand += play_job_of(play, id).state == JOB_WATCHING;
    assert_int_equal(in_hand, IN_HAND);
    *ret_play = play;
    return first;
}

static void a_pause_holds_all_of_them_and_a_resume_lets_all_go(void **state)
{
    struct play *play;
    int64_t first = begin(&play);
    assert_int_equal(commands(play, COMMAND_PAUSE, first, 0), ERR_OK);
    for (int i = 0; i < 30; i++)
        pass_turning(play, 1000);
    assert_int_equal(play->exec.started, 0);
    assert_int_equal(commands(play, COMMAND_RESUME, first, 0), ERR_OK);
    for (int64_t id = first; id < first + MANY; id++)
        assert_true(play_job_of(play, id).due_at <= play->now.wall_ms); // although they had been put off for longer
    play_free(play);
}

static void a_change_takes_all_of_them_with_it(void **state)
{
    struct play *play;
    struct request request;
    int64_t first = begin(&play);
    (void)patch(play, &request, first, "{\"queue\":\"z\",\"priority\":9,\"in\":\"20s\"}", 1);
    for (int i = 0; i < 50 && !request.done; i++)
        pass_turning(play, 50);
    assert_true(request.done);
    assert_int_equal(request.op.err, ERR_OK);
    for (int64_t id = first; id < first + MANY; id++) {
        struct job job = play_job_of(play, id);
        assert_true(job.priority == 9 && job.lane == play_lane(play, "z"));
        assert_true(job.due_at > play->now.wall_ms + 10000);
    }
    play_free(play);
}

static void a_cancel_ends_all_of_them(void **state)
{
    struct play *play;
    int64_t first = begin(&play);
    assert_int_equal(commands(play, COMMAND_CANCEL, first, 0), ERR_OK);
    for (int64_t id = first; id < first + MANY; id++)
        assert_int_equal(play_job_of(play, id).state, JOB_CANCELLED);
    pass_turning(play, 5000);
    assert_int_equal(play->exec.started, 0);
    play_free(play);
}

static void a_delete_leaves_none_of_them(void **state)
{
    struct play *play;
    int64_t first = begin(&play);
    assert_int_equal(commands(play, COMMAND_DELETE, first, 0), ERR_OK);
    for (int64_t id = first; id < first + MANY; id++)
        assert_true(play_gone(play, id));
    pass_turning(play, 5000);
    assert_int_equal(play->exec.started, 0);
    play_free(play);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pause_holds_all_of_them_and_a_resume_lets_all_go),
        cmocka_unit_test(a_change_takes_all_of_them_with_it),
        cmocka_unit_test(a_cancel_ends_all_of_them),
        cmocka_unit_test(a_delete_leaves_none_of_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

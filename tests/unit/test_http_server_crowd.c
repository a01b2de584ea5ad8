// More clients than the HTTP server has connections for: who is answered, and who makes room.
#include "support/http_world.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static void fill(int fds[], int count)
{
    http_server_stop(world.server);
    start_with(FEW, 60, 0);
    for (int i = 0; i < count; i++)
        fds[i] = get("/wait");
    wait_until_held(count);
}

static void empty(int fds[], int count)
{
    for (int i = 0; i < count; i++) {
        http_resume(take_held());
        close(fds[i]);
    }
    wait_until_ended(count);
}

static void expect_last(int fd, int status, const char *body)
{
    struct answer answer = hear(fd);
    assert_int_equal(answer.status, status);
    assert_string_equal(answer.body, body);
    assert_true(answer.closes);
    expect_closed(fd);
}

static void who_comes_when_all_are_busy_is_told_so_and_health_is_answered(void **state)
{
    int busy[FEW];
    fill(busy, FEW);
    for (int i = 0; i < 3 * RESERVE; i++) {
        expect_last(get("/health"), 200, "GET /health ");
        expect_last(get("/other"), 503, "crowded");
        int fd = dial(); // its body is not waited for
        say(fd, "POST /other HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhe");
        expect_last(fd, 503, "crowded");
    }
    empty(busy, FEW);
}

static void who_says_nothing_in_a_full_house_makes_room_for_who_does(void **state)
{
    int busy[FEW], silent[2 * RESERVE];
    fill(busy, FEW);
    for (int i = 0; i < 2 * RESERVE; i++)
        silent[i] = dial();
    for (int i = 0; i < RESERVE; i++)
        expect_last(silent[i], 503, "busy");
    expect_last(get("/health"), 200, "GET /health ");
    say(silent[2 * RESERVE - 1], "GET /he"); // the rest does not come
    for (int i = RESERVE; i < 2 * RESERVE; i++)
        expect_last(silent[i], 503, "busy");
    empty(busy, FEW);
}

static void who_waits_for_its_answer_in_a_full_house_gets_it(void **state)
{
    int busy[FEW], waiting[RESERVE];
    fill(busy, FEW);
    for (int i = 0; i < RESERVE; i++)
        waiting[i] = get("/health/wait");
    wait_until_held(FEW + RESERVE);
    for (int i = 0; i < 2 * RESERVE; i++)
        expect_last(get("/health"), 503, "busy"); // nobody can make room
    for (int i = 0; i < RESERVE; i++)
        http_resume(take_held());
    for (int i = 0; i < RESERVE; i++)
        expect_last(waiting[i], 200, "waited");
    expect_last(get("/health"), 200, "GET /health ");
    empty(busy, FEW);
}

static void who_has_its_answer_makes_room_before_who_waits_for_one(void **state)
{
    int busy[FEW];
    fill(busy, FEW);
    int waiting = get("/health/wait"), half = dial();
    wait_until_held(FEW + 1);
    say(half, "GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n"); // the body does not come
    int answered = get("/other");
    expect_last(half, 503, "busy");
    assert_int_equal(hear(answered).status, 503); // and does not close its side
    expect_last(get("/health"), 200, "GET /health ");
    http_resume(take_held());
    expect_last(waiting, 200, "waited");
    close(answered);
    empty(busy, FEW);
}

// Asks until there is room.
static void ask_until_served(void)
{
    for (;;) {
        int fd = get("/other");
        struct answer answer = hear(fd);
        close(fd);
        if (answer.status == 200)
            return;
        assert_string_equal(answer.body, "crowded");
        poll(NULL, 0, 10);
    }
}

static void who_has_been_silent_for_a_while_makes_room(void **state)
{
    int busy[FEW - 2], kept = -1, half = -1;
    fill(busy, FEW - 2);
    kept = get("/kept");
    expect_answer(kept, 200, "GET /kept ");
    half = dial();
    say(half, "GET /half HTTP/1.1\r\nHo");
    expect_last(get("/other"), 503, "crowded"); // they may be about to ask
    ask(kept, "/again");
    expect_answer(kept, 200, "GET /again ");
    ask_until_served();
    expect_last(half, 503, "busy");
    int more = get("/wait"); // takes the place that was given up
    ask_until_served();
    expect_closed(kept);
    empty(busy, FEW - 2);
    http_resume(take_held());
    close(more);
}

static void when_one_leaves_the_next_is_served(void **state)
{
    int busy[FEW];
    fill(busy, FEW);
    expect_last(get("/other"), 503, "crowded");
    struct pollfd waiting[FEW];
    for (int i = 0; i < FEW; i++)
        waiting[i] = (struct pollfd){.fd = busy[i], .events = POLLIN};
    http_resume(take_held());
    assert_int_equal(poll(waiting, FEW, -1), 1);
    for (int i = 0; i < FEW; i++)
        if (waiting[i].revents)
            close(busy[i]);
    ask_until_served();
    for (int i = 1; i < FEW; i++)
        http_resume(take_held());
    for (int i = 0; i < FEW; i++)
        if (!waiting[i].revents)
            close(busy[i]);
}

static void without_a_descriptor_who_comes_is_answered_one_after_another(void **state)
{
    enum { CLIENTS = 6, LIMIT = 256 };
    int clients[CLIENTS], fillers[LIMIT], filler_count = 0;
    struct rlimit before, tight;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    tight = (struct rlimit){.rlim_cur = LIMIT, .rlim_max = before.rlim_max};
    for (int i = 0; i < CLIENTS; i++)
        clients[i] = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    while ((fillers[filler_count] = dup(clients[0])) >= 0)
        filler_count++;
    for (int i = 0; i < CLIENTS; i++) {
        assert_true(reach(clients[i]));
        ask(clients[i], i % 2 ? "/health" : "/other");
    }
    for (int i = 0; i < CLIENTS; i++) {
        struct answer answer = hear(clients[i]);
        assert_int_equal(answer.status, i % 2 ? 200 : 503);
        assert_true(answer.closes);
    }
    while (filler_count)
        close(fillers[--filler_count]);
    for (int i = 0; i < CLIENTS; i++)
        close(clients[i]);
    setrlimit(RLIMIT_NOFILE, &before);
    ask_until_served();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        promise(who_comes_when_all_are_busy_is_told_so_and_health_is_answered),
        promise(who_says_nothing_in_a_full_house_makes_room_for_who_does),
        promise(who_waits_for_its_answer_in_a_full_house_gets_it),
        promise(who_has_its_answer_makes_room_before_who_waits_for_one),
        promise(who_has_been_silent_for_a_while_makes_room),
        promise(when_one_leaves_the_next_is_served),
        promise(without_a_descriptor_who_comes_is_answered_one_after_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

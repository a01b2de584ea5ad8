// What a call costs: the order made from a document, the request sent, the answer taken. One after the other over one connection.
//
// The target is played within epoll_pwait2(), which every poll of the executor calls before it sleeps: so the answer is always
// there when it is looked for, and the count does not depend on how quick somebody else was.
#include "base/mem.h"
#include "exec/exec.h"
#include "guard.h"

#include <netinet/in.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CALLS = 1000, WARM = 20 };

static int listener, served = -1;
static struct exec_attempt *ended;

// A request comes in one piece here, and has no body.
static void target_turn(void)
{
    static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    char bytes[4096];
    if (served < 0)
        served = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
    if (served >= 0 && recv(served, bytes, sizeof bytes, 0) > 0 && send(served, answer, sizeof answer - 1, 0) < 0)
        guard_die("call", "the target cannot answer");
}

// Takes the place of the C library's. Debian 12's valgrind does not know that system call, and this one does as well.
int epoll_pwait2(int epoll, struct epoll_event *events, int max, const struct timespec *wait, const sigset_t *mask)
{
    target_turn();
    return epoll_pwait(epoll, events, max, wait ? (int)(wait->tv_sec * 1000 + (wait->tv_nsec + 999999) / 1000000) : -1, mask);
}

static void on_ended(void *ctx, struct exec_attempt *attempt)
{
    (void)ctx;
    ended = attempt;
}

static int target_listen(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 8) ||
        getsockname(listener, (struct sockaddr *)&address, &size))
        guard_die("call", "no socket");
    return ntohs(address.sin_port);
}

static void make_calls(struct exec *exec, struct str doc, int count)
{
    struct job job = {.id = 1LL << 60, .task_id = 1LL << 60, .attempts = 1, .scheduled_at = 1800000000000};
    for (int i = 0; i < count; i++) {
        struct exec_attempt attempt = {.order = order_new(&job, doc)};
        attempt.outcome = outcome_new(attempt.order);
        ended = NULL;
        exec->ops->start(exec, &attempt, clock_now());
        while (!ended)
            exec->ops->poll(exec, 1000000000);
        if (attempt.outcome->result.outcome != OUTCOME_SUCCESS)
            guard_die("call", "a call did not succeed");
        outcome_free(attempt.outcome);
    }
}

void guard_call(const char *folder)
{
    (void)folder;
    struct exec_http_config config = {
        .connections_max = 8, .response_max = 4096, .private_allowed = true, .user_agent = "rota/test"};
    struct exec *exec;
    char why[ERR_WHY_MAX], doc[100];
    snprintf(doc, sizeof doc, "{\"url\":\"http://127.0.0.1:%d/\"}", target_listen());
    if (exec_http_new(&exec, &config, why))
        guard_die("call", why);
    exec->ended = on_ended;
    make_calls(exec, str_of(doc), WARM);

    part_begin();
    make_calls(exec, str_of(doc), CALLS);
    part_end("http", CALLS);
    exec->ops->close(exec);
    close(served);
    close(listener);
}

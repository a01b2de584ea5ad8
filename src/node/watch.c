// The HTTP thread is asked as a client would, since that it turns does not prove that it answers: a request each
// turn on one connection, which is opened at the start and never silent, so that a crowd of clients cannot keep it out.
#include "node/watch.h"

#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TURN_MS = 1000, STARTING_MS = 10, FEEDS = 4 }; // a sign of life comes FEEDS times in the time that one is waited for

// ---- the probe

static void probe_close(struct probe *probe)
{
    if (probe->fd >= 0)
        close(probe->fd);
    probe->fd = -1;
    probe->asked = false;
    probe->answer_n = 0;
}

// Without waiting: what is not there yet is there the next time.
static void probe_open(struct probe *probe)
{
    probe->fd = socket(probe->to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (probe->fd >= 0 && connect(probe->fd, (struct sockaddr *)&probe->to, probe->to_size) && errno != EINPROGRESS)
        probe_close(probe);
}

static void probe_ask(struct probe *probe, const char *path)
{
    char text[128];
    int n = snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: localhost\r\nUser-Agent: rota-watch\r\n\r\n", path);
    probe->answer_n = 0;
    probe->asked = send(probe->fd, text, (size_t)n, MSG_NOSIGNAL) == n;
    if (!probe->asked && errno != EAGAIN && errno != ENOTCONN)
        probe_close(probe);
}

// The status of a whole answer, or 0.
static int answer_status(const char *answer)
{
    const char *body = strstr(answer, "\r\n\r\n"), *length = strcasestr(answer, "\r\nContent-Length:");
    if (!body || !length || length > body || strncmp(answer, "HTTP/1.1 ", 9) != 0)
        return 0;
    return strlen(body + 4) >= strtoull(length + 17, NULL, 10) ? atoi(answer + 9) : 0;
}

// Takes what has come. Returns the status when the answer is whole, else 0.
static int probe_take(struct probe *probe)
{
    ssize_t n = recv(probe->fd, probe->answer + probe->answer_n, sizeof probe->answer - 1 - probe->answer_n, 0);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        probe_close(probe);
        return 0;
    }
    probe->answer_n += n > 0 ? (size_t)n : 0;
    probe->answer[probe->answer_n] = 0;
    return answer_status(probe->answer);
}

// The status of the answer to the last question, 0 while there is none; then asks the next.
static int probe_turn(struct probe *probe, const char *path)
{
    int status = probe->asked ? probe_take(probe) : 0;
    if (probe->fd < 0)
        probe_open(probe);
    if (probe->fd >= 0 && (status || !probe->asked))
        probe_ask(probe, path);
    return status;
}

// ---- the watch

void watch_init(struct watch *ret_watch)
{
    *ret_watch = (struct watch){.probe = {.fd = -1}};
    notify_init(&ret_watch->notify);
}

void watch_done(struct watch *watch)
{
    probe_close(&watch->probe);
    notify_done(&watch->notify);
}

void watch_server(struct watch *watch, const struct sockaddr_storage *address, socklen_t address_size)
{
    watch->probe.to = *address;
    watch->probe.to_size = address_size;
}

void watch_loop(struct watch *watch, const struct loop *loop)
{
    if (watch->loop_count == array_count(watch->loops))
        abort();
    watch->loops[watch->loop_count++] = loop;
}

static bool all_alive(const struct watch *watch)
{
    for (size_t i = 0; i < watch->loop_count; i++)
        if (atomic_load(&watch->loops[i]->turns) == watch->turns[i])
            return false;
    return watch->answered;
}

static void feed(struct watch *watch)
{
    if (!all_alive(watch))
        return;
    notify_send(&watch->notify, "WATCHDOG=1");
    watch->answered = false;
    for (size_t i = 0; i < watch->loop_count; i++)
        watch->turns[i] = atomic_load(&watch->loops[i]->turns);
}

static void say_status(struct watch *watch, const char *status)
{
    if (strcmp(status, watch->status) == 0)
        return;
    snprintf(watch->status, sizeof watch->status, "%s", status);
    notify_send(&watch->notify, "STATUS=%s", watch->status);
}

int64_t watch_turn(struct watch *watch, const char *status)
{
    if (!notify_wanted(&watch->notify))
        return -1;
    int answer = probe_turn(&watch->probe, watch->ready ? "/healthz" : "/readyz");
    watch->answered = watch->answered || answer;
    if (!watch->ready && answer == 200) {
        watch->ready = true;
        notify_send(&watch->notify, "READY=1");
    }
    say_status(watch, watch->ready ? status : "starting");
    if (watch->notify.watchdog_ms)
        feed(watch);
    if (!watch->ready)
        return STARTING_MS;
    int64_t often = watch->notify.watchdog_ms / FEEDS;
    return often && often < TURN_MS ? often : TURN_MS;
}

void watch_reloading(struct watch *watch)
{
    notify_send(&watch->notify, "RELOADING=1\nMONOTONIC_USEC=%lld", (long long)(clock_mono_ns() / 1000));
}

void watch_reloaded(struct watch *watch)
{
    if (watch->ready)
        notify_send(&watch->notify, "READY=1");
}

void watch_stopping(struct watch *watch, int64_t at_most_ms)
{
    probe_close(&watch->probe);
    notify_send(&watch->notify, "STOPPING=1\nSTATUS=stopping\nEXTEND_TIMEOUT_USEC=%lld", (long long)at_most_ms * 1000);
}

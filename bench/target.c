// The HTTP target of the bench: answers 200 "ok" as cheaply as one thread can, counts the calls, and with --late measures how
// late each one is: the wall clock when its bytes were read, less its Rota-Scheduled-At. Beside it a thread that only sleeps says
// how late the machine wakes anybody ("sleeper"): nothing can be more punctual than that.
//
// GET /stats answers the figures so far as JSON, GET /reset begins the lateness anew; SIGTERM prints them
// and ends. It reads no more of HTTP than it needs: the end of the head, Content-Length, and that one header.
#include "common.h"

#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { READ_SIZE = 64 * 1024, EVENTS = 256, HEAD_MAX = 64 * 1024, SLEEP_MS = 5 };

struct conn {
    int fd;
    bool writing;    // EPOLLOUT is asked for: the peer does not read its answers
    size_t skip;     // bytes of a body still to come
    struct buf rest; // the start of a head that is not complete
    struct buf out;  // answers not sent yet
};

struct target {
    int epoll, listener, signals;
    bool late, stop;
    uint64_t calls, early, unmarked; // unmarked: without a readable Rota-Scheduled-At
    int64_t early_us_max;
    struct hist lateness;
    pthread_mutex_t lock;
    struct hist sleeper; // under the lock
};

static void hist_write(const struct hist *hist, struct buf *out)
{
    buf_printf(out, "\"count\":%lu,\"p50_us\":%ld,\"p90_us\":%ld,\"p99_us\":%ld,\"p999_us\":%ld,\"max_us\":%ld", hist->count,
               hist_quantile_us(hist, 0.5), hist_quantile_us(hist, 0.9), hist_quantile_us(hist, 0.99),
               hist_quantile_us(hist, 0.999), hist->max_us);
}

static void stats_write(struct target *target, struct buf *out)
{
    buf_printf(out, "{\"calls\":%lu,\"early\":%lu,\"early_max_us\":%ld,\"unmarked\":%lu,", target->calls, target->early,
               target->early_us_max, target->unmarked);
    hist_write(&target->lateness, out);
    buf_puts(out, ",\"sleeper\":{");
    pthread_mutex_lock(&target->lock);
    hist_write(&target->sleeper, out);
    pthread_mutex_unlock(&target->lock);
    buf_puts(out, "}}\n");
}

static void *sleeper_main(void *ctx)
{
    struct target *target = ctx;
    for (int64_t at = clock_mono_ns();;) {
        at += SLEEP_MS * 1000000;
        struct timespec until = {at / 1000000000, at % 1000000000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        int64_t now = clock_mono_ns();
        pthread_mutex_lock(&target->lock);
        hist_add(&target->sleeper, (now - at) / 1000);
        pthread_mutex_unlock(&target->lock);
        at = now; // one that overslept does not make the next ones late, too
    }
    return NULL;
}

static void lateness_reset(struct target *target)
{
    target->lateness = (struct hist){0};
    pthread_mutex_lock(&target->lock);
    target->sleeper = (struct hist){0};
    pthread_mutex_unlock(&target->lock);
}

static void stats_answer(struct target *target, struct buf *out)
{
    buf_auto struct buf body = {0};
    stats_write(target, &body);
    buf_printf(out, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n", body.n);
    buf_put(out, buf_str(&body));
}

static void lateness_note(struct target *target, struct str head, int64_t now_us)
{
    struct str text = http_head_field(head, STR("Rota-Scheduled-At"));
    int64_t planned_ms = text.p ? time_read_ms(text) : -1;
    if (planned_ms < 0) {
        target->unmarked++;
        return;
    }
    int64_t late_us = now_us - planned_ms * 1000;
    if (late_us < 0) {
        target->early++;
        target->early_us_max = -late_us > target->early_us_max ? -late_us : target->early_us_max;
    }
    hist_add(&target->lateness, late_us);
}

static void request_take(struct target *target, struct conn *conn, struct str head, int64_t now_us)
{
    if (str_starts(head, STR("GET /reset ")))
        lateness_reset(target);
    if (str_starts(head, STR("GET /stats ")) || str_starts(head, STR("GET /reset "))) {
        stats_answer(target, &conn->out);
        return;
    }
    target->calls++;
    if (target->late)
        lateness_note(target, head, now_us);
    buf_put(&conn->out, STR("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
}

// Answers every request that is complete in `in`; returns how many bytes of it are done with.
static size_t requests_take(struct target *target, struct conn *conn, struct str in, int64_t now_us)
{
    size_t at = 0;
    while (at < in.n) {
        size_t skip = conn->skip < in.n - at ? conn->skip : in.n - at;
        conn->skip -= skip;
        at += skip;
        struct http_head head = http_head_read((struct str){in.p + at, in.n - at});
        if (!head.size)
            break;
        // Answered at its head: the target does not care for bodies, and the peer sends them all the same.
        request_take(target, conn, (struct str){in.p + at, head.size}, now_us);
        at += head.size;
        conn->skip = head.body_size;
    }
    return at;
}

static void conn_close(struct conn *conn)
{
    close(conn->fd);
    buf_done(&conn->rest);
    buf_done(&conn->out);
    mem_free(conn);
}

// False when the connection is gone and freed.
static bool conn_send(struct target *target, struct conn *conn)
{
    ssize_t sent = conn->out.n ? send(conn->fd, conn->out.p, conn->out.n, MSG_NOSIGNAL) : 0;
    if (sent < 0 && errno != EAGAIN && errno != EINTR) {
        conn_close(conn);
        return false;
    }
    if (sent > 0) {
        memmove(conn->out.p, conn->out.p + sent, conn->out.n - (size_t)sent);
        conn->out.n -= (size_t)sent;
    }
    if (conn->writing != (conn->out.n > 0)) {
        conn->writing = !conn->writing;
        // No reading while answers wait, so that a peer that does not read cannot fill the memory.
        epoll_set(target->epoll, EPOLL_CTL_MOD, conn->fd, conn->writing ? EPOLLOUT : EPOLLIN, conn);
    }
    return true;
}

static void conn_read(struct target *target, struct conn *conn)
{
    static char bytes[READ_SIZE];
    ssize_t n = recv(conn->fd, bytes, sizeof bytes, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0 || conn->rest.n > HEAD_MAX) {
        conn_close(conn);
        return;
    }
    int64_t now_us = target->late ? clock_wall_ns() / 1000 : 0;
    struct str in = {bytes, (size_t)n};
    if (conn->rest.n) {
        buf_put(&conn->rest, in);
        in = buf_str(&conn->rest);
    }
    size_t done = requests_take(target, conn, in, now_us);
    if (conn->rest.n) {
        memmove(conn->rest.p, conn->rest.p + done, in.n - done);
        conn->rest.n = in.n - done;
    } else if (done < in.n) {
        buf_put(&conn->rest, (struct str){in.p + done, in.n - done});
    }
    conn_send(target, conn);
}

static void conns_accept(struct target *target)
{
    int fd;
    while ((fd = accept4(target->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        struct conn *conn = mem_zero(sizeof *conn);
        conn->fd = fd;
        epoll_set(target->epoll, EPOLL_CTL_ADD, fd, EPOLLIN, conn);
    }
}

static void event_take(struct target *target, const struct epoll_event *event)
{
    if (event->data.ptr == &target->listener)
        conns_accept(target);
    else if (event->data.ptr == &target->signals)
        target->stop = true;
    else if (event->events & EPOLLOUT)
        conn_send(target, event->data.ptr);
    else
        conn_read(target, event->data.ptr);
}

int main(int argc, char **argv)
{
    static struct target target = {.lock = PTHREAD_MUTEX_INITIALIZER};
    int64_t port = 0;
    const struct option_row rows[] = {
        {.name = "port", .number = &port, .help = "N   on 127.0.0.1; 0, the default, is any free one"},
        {.name = "late", .flag = &target.late, .help = "    measure lateness against Rota-Scheduled-At"},
    };
    options_read(argc, argv, rows, array_count(rows));
    int bound;
    target.listener = tcp_listen((int)port, &bound);
    target.signals = signals_open();
    target.epoll = epoll_create1(EPOLL_CLOEXEC);
    epoll_set(target.epoll, EPOLL_CTL_ADD, target.listener, EPOLLIN, &target.listener);
    epoll_set(target.epoll, EPOLL_CTL_ADD, target.signals, EPOLLIN, &target.signals);
    pthread_t sleeper;
    if (target.late && pthread_create(&sleeper, NULL, sleeper_main, &target))
        die("no thread: %s", strerror(errno));
    printf("listening %d\n", bound);
    fflush(stdout);
    while (!target.stop) {
        struct epoll_event events[EVENTS];
        int n = epoll_wait(target.epoll, events, EVENTS, -1);
        for (int i = 0; i < n; i++)
            event_take(&target, &events[i]);
    }
    buf_auto struct buf out = {0};
    stats_write(&target, &out);
    fwrite(out.p, 1, out.n, stdout);
    return 0;
}

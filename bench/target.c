// The HTTP target of the bench: answers 200 "ok" as cheaply as one thread can, counts the calls, and with --late measures how
// late each one is: the wall clock when its bytes were read, less its Rota-Scheduled-At.
//
// GET /stats answers the figures so far as JSON, GET /reset begins the lateness anew; SIGTERM prints them
// and ends. It reads no more of HTTP than it needs: the end of the head, Content-Length, and that one header.
#include "common.h"

#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READ_SIZE = 64 * 1024, EVENTS = 256, HEAD_MAX = 64 * 1024 };

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
};

static void stats_write(const struct target *target, struct buf *out)
{
    const struct hist *hist = &target->lateness;
    buf_printf(out,
               "{\"calls\":%lu,\"count\":%lu,\"p50_us\":%ld,\"p90_us\":%ld,\"p99_us\":%ld,\"p999_us\":%ld,\"max_us\":%ld,"
               "\"early\":%lu,\"early_max_us\":%ld,\"unmarked\":%lu}\n",
               target->calls, hist->count, hist_quantile_us(hist, 0.5), hist_quantile_us(hist, 0.9), hist_quantile_us(hist, 0.99),
               hist_quantile_us(hist, 0.999), hist->max_us, target->early, target->early_us_max, target->unmarked);
}

static void stats_answer(const struct target *target, struct buf *out)
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
        target->lateness = (struct hist){0};
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
    static struct target target;
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

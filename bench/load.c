// The load generator: submits tasks to rota over keep-alive connections, one request in flight on each, from one thread.
//
// Three brakes, each off when its option is 0: --rate (tasks a second), --pending (stops while rota has that many jobs that are
// not final, asked with GET /v1/stats on a connection of its own), --count. Requests that are all alike are written from one
// prepared text, so that the generator takes little of the cores it shares with rota; with --spread each task gets its own `at`,
// with
// --queues each goes to the next of so many queues.
// With --read it submits nothing: each request GETs one of the paths in a file, drawn at random.
//
// It prints one line of JSON. What it does not do: check that the tasks ran (run.py does), try again, or reconnect.
#include "common.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/rand.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS = 256, READ_SIZE = 256 * 1024, ASK_MS = 20, STOP_MS = 10000 };

struct conn {
    int fd; // -1: gone
    bool busy, writing;
    int64_t sent_ns;
    struct str out; // what is left to send: of the prepared text, or of `assignment`
    struct buf own, in;
    int status;
};

struct load {
    // options
    int64_t port, connections, bulk, count, seconds, rate, pending_max, spread_from_ms, spread_to_ms, queues;
    const char *url, *in, *at, *queue, *read_file;
    // state
    int epoll, signals;
    struct conn *conns, asker;
    struct buf prepared;
    struct buf paths; // of --read, each a line of the same length
    size_t path_size;
    struct rand rand;
    int64_t next_queue; // of --queues
    int64_t start_ns, end_ns, asked_ns;
    int64_t live;                                           // connections that are not gone
    int64_t sent, sent_when_asked, pending_seen, in_flight; // tasks, tasks, jobs, requests
    int64_t acknowledged, errors;                           // tasks, requests
    bool stop;
    struct hist latency;
};

static void task_write(struct load *load, struct buf *out)
{
    buf_printf(out, "{\"url\":\"%s\"", load->url);
    if (load->in)
        buf_printf(out, ",\"in\":\"%s\"", load->in);
    if (load->at)
        buf_printf(out, ",\"at\":\"%s\"", load->at);
    if (load->queue)
        buf_printf(out, ",\"queue\":\"%s\"", load->queue);
    if (load->queues)
        buf_printf(out, ",\"queue\":\"q%ld\"", load->next_queue++ % load->queues);
    if (load->spread_to_ms) {
        char at[TIME_TEXT_SIZE];
        int64_t width = load->spread_to_ms - load->spread_from_ms;
        time_write(at, clock_now().wall_ms + load->spread_from_ms + (int64_t)rand_below(&load->rand, (uint64_t)width + 1));
        buf_printf(out, ",\"at\":\"%s\"", at);
    }
    buf_putc(out, '}');
}

static void request_write(struct load *load, struct buf *out)
{
    buf_auto struct buf body = {0};
    if (load->bulk > 0)
        buf_putc(&body, '[');
    for (int64_t i = 0; i < (load->bulk ? load->bulk : 1); i++) {
        if (i)
            buf_putc(&body, ',');
        task_write(load, &body);
    }
    if (load->bulk > 0)
        buf_putc(&body, ']');
    buf_printf(
        out, "POST /v1/tasks%s HTTP/1.1\r\nHost: 127.0.0.1:%ld\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
        load->bulk ? "?brief=1" : "", load->port, body.n);
    buf_put(out, buf_str(&body));
}

// The lines are of one length, so that one is found without an index.
static void paths_read(struct load *load)
{
    char line[200];
    FILE *file = fopen(load->read_file, "r");
    while (file && fgets(line, sizeof line, file)) {
        size_t size = strlen(line);
        if (load->path_size && size != load->path_size)
            die("load: the lines of %s are not of one length", load->read_file);
        load->path_size = size;
        buf_put(&load->paths, str_of(line));
    }
    if (file)
        fclose(file);
    if (!load->path_size)
        die("load: no path in %s", load->read_file);
}

static void read_write(struct load *load, struct buf *out)
{
    size_t line = rand_below(&load->rand, load->paths.n / load->path_size);
    struct str path = {load->paths.p + line * load->path_size, load->path_size - 1};
    buf_printf(out, "GET " STR_FMT " HTTP/1.1\r\nHost: 127.0.0.1:%ld\r\n\r\n", (int)path.n, path.p, load->port);
}

static int64_t tasks_a_request(const struct load *load)
{
    return load->bulk ? load->bulk : 1;
}

static void conn_lose(struct load *load, struct conn *conn, const char *why)
{
    fprintf(stderr, "load: connection lost: %s\n", why);
    close(conn->fd);
    conn->fd = -1;
    load->errors++;
    load->live--;
    if (conn->busy && conn != &load->asker)
        load->in_flight--;
    conn->busy = false;
    if (conn == &load->asker || load->live <= 0)
        load->stop = true;
}

static void conn_send(struct load *load, struct conn *conn)
{
    ssize_t n = send(conn->fd, conn->out.p, conn->out.n, MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN && errno != EINTR) {
        conn_lose(load, conn, strerror(errno));
        return;
    }
    if (n > 0)
        conn->out = (struct str){conn->out.p + n, conn->out.n - (size_t)n};
    if (conn->writing != (conn->out.n > 0)) {
        conn->writing = !conn->writing;
        epoll_set(load->epoll, EPOLL_CTL_MOD, conn->fd, conn->writing ? EPOLLIN | EPOLLOUT : EPOLLIN, conn);
    }
}

static void submit_send(struct load *load, struct conn *conn, int64_t now_ns)
{
    conn->out = buf_str(&load->prepared);
    if (load->spread_to_ms || load->queues || load->read_file) {
        conn->own.n = 0;
        if (load->read_file)
            read_write(load, &conn->own);
        else
            request_write(load, &conn->own);
        conn->out = buf_str(&conn->own);
    }
    conn->busy = true;
    conn->sent_ns = now_ns;
    load->sent += tasks_a_request(load);
    load->in_flight++;
    conn_send(load, conn);
}

static void stats_ask(struct load *load, int64_t now_ns)
{
    const struct str ask = STR("GET /v1/stats HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    load->asked_ns = now_ns;
    load->sent_when_asked = load->sent;
    load->asker.busy = true;
    load->asker.out = ask;
    conn_send(load, &load->asker);
}

// How many tasks may be sent now.
static int64_t room(const struct load *load, int64_t now_ns)
{
    int64_t room = INT64_MAX;
    if (load->stop || (load->end_ns && now_ns >= load->end_ns))
        return 0;
    if (load->count)
        room = time_min(room, load->count - load->sent);
    if (load->rate)
        room = time_min(room, (int64_t)((double)(now_ns - load->start_ns) / 1e9 * (double)load->rate) - load->sent);
    if (load->pending_max) // what was sent since rota was asked counts as pending in full
        room = time_min(room, load->pending_max - load->pending_seen - (load->sent - load->sent_when_asked));
    return room;
}

static void submits_send(struct load *load, int64_t now_ns)
{
    int64_t left = room(load, now_ns), each = tasks_a_request(load);
    for (int64_t i = 0; i < load->connections && left >= each; i++) {
        struct conn *conn = &load->conns[i];
        if (conn->fd < 0 || conn->busy)
            continue;
        submit_send(load, conn, now_ns);
        left -= each;
    }
}

static void submit_answered(struct load *load, struct conn *conn, struct str body, int64_t now_ns)
{
    conn->busy = false;
    load->in_flight--;
    hist_add(&load->latency, (now_ns - conn->sent_ns) / 1000);
    if (conn->status == 200 || conn->status == 201) {
        load->acknowledged += tasks_a_request(load);
        return;
    }
    if (!load->errors++)
        fprintf(stderr, "load: answer %d: " STR_FMT "\n", conn->status, (int)(body.n < 300 ? body.n : 300), body.p);
}

static void stats_answered(struct load *load, struct str body)
{
    const struct str name = STR("\"pending\":");
    const char *at = body.n ? memmem(body.p, body.n, name.p, name.n) : NULL;
    load->asker.busy = false;
    if (at) // an error leaves what was known: rota may be busy, which is no reason to send more
        load->pending_seen = strtoll(at + name.n, NULL, 10);
}

// Takes one answer out of what was read; false when it is not complete.
static bool answer_take(struct load *load, struct conn *conn, int64_t now_ns)
{
    struct str in = buf_str(&conn->in);
    struct http_head head = http_head_read(in);
    if (!head.size || in.n < head.size + head.body_size)
        return false;
    conn->status = head.status;
    struct str body = {in.p + head.size, head.body_size};
    if (conn == &load->asker)
        stats_answered(load, body);
    else
        submit_answered(load, conn, body, now_ns);
    size_t used = head.size + head.body_size;
    memmove(conn->in.p, conn->in.p + used, conn->in.n - used);
    conn->in.n -= used;
    return true;
}

static void conn_read(struct load *load, struct conn *conn)
{
    static char bytes[READ_SIZE];
    ssize_t n = recv(conn->fd, bytes, sizeof bytes, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        conn_lose(load, conn, n ? strerror(errno) : "closed by the server");
        return;
    }
    buf_put(&conn->in, (struct str){bytes, (size_t)n});
    int64_t now_ns = clock_mono_ns();
    if (!conn->busy || !answer_take(load, conn, now_ns))
        return;
    // The next one goes out from here: walking all connections for each answer would cost more than the answer.
    if (conn != &load->asker && room(load, now_ns) >= tasks_a_request(load))
        submit_send(load, conn, now_ns);
}

static void conn_open(struct load *load, struct conn *conn)
{
    conn->fd = tcp_connect((int)load->port);
    if (conn->fd < 0)
        die("load: cannot connect to 127.0.0.1:%ld: %s", load->port, strerror(errno));
    epoll_set(load->epoll, EPOLL_CTL_ADD, conn->fd, EPOLLIN, conn);
    load->live++;
}

static void conns_open(struct load *load)
{
    load->epoll = epoll_create1(EPOLL_CLOEXEC);
    load->signals = signals_open();
    epoll_set(load->epoll, EPOLL_CTL_ADD, load->signals, EPOLLIN, &load->signals);
    load->conns = mem_zero(sizeof *load->conns * (size_t)load->connections);
    for (int64_t i = 0; i < load->connections; i++)
        conn_open(load, &load->conns[i]);
    load->asker.fd = -1;
    if (load->pending_max) {
        conn_open(load, &load->asker);
        load->live--; // it submits nothing
    }
}

static void event_take(struct load *load, const struct epoll_event *event)
{
    struct conn *conn = event->data.ptr;
    if (event->data.ptr == &load->signals) {
        load->stop = true;
        return;
    }
    if (conn->fd >= 0 && event->events & EPOLLOUT)
        conn_send(load, conn);
    if (conn->fd >= 0 && event->events & ~(uint32_t)EPOLLOUT)
        conn_read(load, conn);
}

static bool finished(const struct load *load, int64_t now_ns)
{
    bool no_more = load->stop || (load->end_ns && now_ns >= load->end_ns) ||
                   (load->count && load->count - load->sent < tasks_a_request(load));
    return no_more && (load->in_flight == 0 || (load->end_ns && now_ns > load->end_ns + STOP_MS * 1000000ll));
}

static void turn(struct load *load)
{
    struct epoll_event events[EVENTS];
    int n = epoll_wait(load->epoll, events, EVENTS, load->rate || load->pending_max ? 1 : 100);
    for (int i = 0; i < n; i++)
        event_take(load, &events[i]);
    int64_t now_ns = clock_mono_ns();
    if (load->asker.fd >= 0 && !load->asker.busy && now_ns - load->asked_ns > ASK_MS * 1000000ll)
        stats_ask(load, now_ns);
    if (load->rate || load->pending_max)
        submits_send(load, now_ns);
}

static void report(const struct load *load, int64_t now_ns)
{
    double seconds = (double)(now_ns - load->start_ns) / 1e9;
    const struct hist *hist = &load->latency;
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    int64_t cpu_us = (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 + used.ru_utime.tv_usec + used.ru_stime.tv_usec;
    printf("{\"acknowledged\":%ld,\"sent\":%ld,\"errors\":%ld,\"seconds\":%.3f,\"per_s\":%.0f,\"p50_us\":%ld,\"p99_us\":%ld,"
           "\"max_us\":%ld,\"cpu_us\":%ld}\n",
           load->acknowledged, load->sent, load->errors, seconds, (double)load->acknowledged / seconds,
           hist_quantile_us(hist, 0.5), hist_quantile_us(hist, 0.99), hist->max_us, cpu_us);
}

static void options_take(struct load *load, int argc, char **argv)
{
    const struct option_row rows[] = {
        {.name = "port", .number = &load->port, .help = "N         rota's port on 127.0.0.1"},
        {.name = "url", .text = &load->url, .help = "URL       what the tasks call"},
        {.name = "connections", .number = &load->connections, .help = "N  one request in flight on each (64)"},
        {.name = "bulk", .number = &load->bulk, .help = "N         tasks in one request; 0: one object a request (0)"},
        {.name = "count", .number = &load->count, .help = "N         stop after so many tasks"},
        {.name = "seconds", .number = &load->seconds, .help = "N         stop after this time (10 unless --count)"},
        {.name = "rate", .number = &load->rate, .help = "N         tasks a second at most"},
        {.name = "pending", .number = &load->pending_max, .help = "N         keep rota's pending jobs below this"},
        {.name = "in", .text = &load->in, .help = "DURATION  the tasks' `in`"},
        {.name = "at", .text = &load->at, .help = "TIME      their `at`"},
        {.name = "queue", .text = &load->queue, .help = "NAME     their `queue`"},
        {.name = "queues", .number = &load->queues, .help = "N       one queue after the other of q0, q1, …"},
        {.name = "spread-from",
         .number = &load->spread_from_ms,
         .help = "MS  with --spread-to: `at` lies between these, from now"},
        {.name = "spread-to", .number = &load->spread_to_ms, .help = "MS"},
        {.name = "read", .text = &load->read_file, .help = "FILE      GET one of its paths instead; they are of one length"},
    };
    options_read(argc, argv, rows, array_count(rows));
    bool wrong = load->port < 1 || load->connections < 1 || load->bulk < 0 || load->spread_to_ms < load->spread_from_ms;
    if (wrong || (load->pending_max && load->pending_max < tasks_a_request(load)))
        die("load: --port is missing, or a number does not fit the others");
    if (!load->seconds && !load->count)
        load->seconds = 10;
}

int main(int argc, char **argv)
{
    static struct load load = {.connections = 64, .url = "http://127.0.0.1:9/"};
    options_take(&load, argc, argv);
    rand_init(&load.rand, 1);
    if (load.read_file)
        paths_read(&load);
    else
        request_write(&load, &load.prepared);
    conns_open(&load);
    int64_t now_ns = load.start_ns = clock_mono_ns();
    load.end_ns = load.seconds ? load.start_ns + load.seconds * 1000000000 : 0;
    submits_send(&load, now_ns);
    while (!finished(&load, now_ns)) {
        turn(&load);
        now_ns = clock_mono_ns();
    }
    report(&load, now_ns);
    return load.errors ? 1 : 0;
}

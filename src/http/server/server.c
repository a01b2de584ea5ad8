// The HTTP server: one thread, one epoll, HTTP/1.1 and 1.0.
//
// A connection goes round: HEAD (a request's head is read), BODY, WORK (the handler has it, or somebody who will resume it),
// SEND, and HEAD again; STREAM instead of SEND for an answer without an end; LINGER when it is to be closed, so that what the
// client still sends does not tear away the answer it has not read. drive() takes it as far as it gets without waiting.
//
// What other threads want comes through two mailboxes: requests that are resumed, streams that are woken. So everything else
// belongs to the HTTP thread alone, and a batch of resumes costs one wake-up. A connection stays in epoll for reading, also while
// its request is worked on: only if it has something to say then is it taken out. So a request costs a recv and a send.
//
// When all connections are taken, whoever comes is let into a small reserve. Who brings a request from there takes the place of a
// connection that has been silent for a while; if there is none, only what tells how the server is gets an answer (the handler
// decides: http_crowded), everything else a refusal, and the connection ends. So nobody is closed without a word, and a crowd
// does not keep out who asks whether the server lives.
//
// Who does not take what was answered loses it when memory is short: beyond `bodies_max` bytes of such answers, the connection
// that has moved least recently is closed. So those who do not read neither fill the memory nor keep answers from those who do.
//
// A request may outlive its connection (the client left while it waited): it goes on without one, so that whoever waits for its
// end is not forgotten. Does not route, and does not know what a task is.
#include "http/server/server.h"

#include "base/clock.h"
#include "base/list.h"
#include "base/mailbox.h"
#include "base/mem.h"
#include "base/wheel.h"
#include "http/chunks.h"
#include "http/server/head.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    HEADERS_MAX = 16 * 1024,
    DISCARD_MAX = 64 * 1024 * 1024, // of a refused body; a client that sends more is cut off
    BODY_TIMEOUT_MS = 30 * 1000,
    BODIES_MAX = 48 * 1024 * 1024, // of all requests together; and of all answers
    BODY_SMALL = 64 * 1024,        // taken even then: whoever fills the room with large bodies does not shut out the small
    QUERY_MAX = 64,                // parameters
    STOP_WAIT_MS = 5000,           // for clients that are slow to take their last answer
    LINGER_MS = 2000,
    SEND_PATIENCE = 5, // times the idle timeout, for an answer
    FILE_RATE = 262,   // bytes a millisecond that must be taken of a file
    DEAF_MS = 100,     // when no descriptor is left for a newcomer
    RESERVE = 16,      // connections for who comes when all are taken
    RESERVE_MS = 2000, // for each part of what they do there
    GRACE_MS = 2000,   // who was heard of within this time does not have to make room: it may be about to ask
    READ_SIZE = 64 * 1024,
    STREAM_BLOCK = 16 * 1024,
    BUFFER_KEPT = 16 * 1024, // capacity that an idle connection may keep
    EVENTS = 256,
    ACCEPTS = 64,     // newcomers and
    FILE_BLOCKS = 4,  // pieces of a file and
    AHEAD_MAX = 32,   // requests sent ahead before others have their turn
    SLEEP_MS = 60000, // when there is nothing to wait for
};

struct pair {
    struct str name, value;
    struct pair *next;
};

enum peer_state { PEER_HEAD, PEER_BODY, PEER_WORK, PEER_SEND, PEER_STREAM, PEER_LINGER, PEER_DEAD };

struct peer {
    struct list link;  // of all; of the dead, until the end of the turn
    struct list idle;  // of those between two requests, longest first; or of the reserve, first come first
    struct list again; // of those that have more to be read already
    struct list slow;  // of those that have not taken their answer, the one that moved least recently first
    struct http_server *server;
    int fd;
    enum peer_state state;
    uint32_t watched;
    struct buf in; // came and was not read yet
    size_t scanned;
    struct http_request *request;
    struct buf out;
    size_t out_at;
    size_t unsent;         // what it is counted with among the slow
    struct http_file file; // fd -1: none
    uint64_t file_left;
    bool half_closed;            // the client sends no more
    bool closing;                // behind this answer
    bool reserved;               // it came when all places were taken, and is in the reserve
    int64_t active_ns, began_ns; // when it last moved; since when it is in this state
    size_t discarded;
    struct wheel_node timer;
};

struct http_stream {
    struct peer *peer; // NULL: closed
    const struct http_stream_ops *ops;
    void *ctx;
    struct list link, woken; // among all; in the mailbox
    atomic_bool queued;      // it is in there
    bool over;
};

struct http_request {
    struct http_server *server;
    struct peer *peer; // NULL: the client has left
    struct arena arena;
    struct head head;
    struct pair *query, **query_end;
    struct pair *headers; // of the answer, newest first
    struct buf body;
    size_t body_max;
    uint64_t body_left;
    struct chunks chunks;
    int64_t body_until_ns;
    void (*next)(struct http_request *request, void *state);
    void *state;
    bool complete, answered;
    bool unread;      // what stands behind the head will not be read if this is the answer
    struct list link; // in the mailbox
    struct http_stream *stream;
};

struct http_server {
    struct waker waker;
    struct http_server_config config;
    atomic_int body_timeout_ms;
    atomic_size_t bodies_max;
    int listen_fd, port, epoll_fd, wake_fd;
    pthread_t thread;
    struct mailbox resumed, woken;
    atomic_bool quiesced, stopping;
    atomic_int resuming; // threads within http_resume()
    // From here on the HTTP thread's.
    struct list peers, idle, reserve, again, slow, dead, streams;
    int peer_count, reserve_count, request_count;
    int spare_fd;          // given up for a newcomer when there is no other descriptor; -1: it was
    bool deaf;             // newcomers are not listened to
    size_t bodies, unsent; // bytes that came, and that were answered and not taken yet
    int64_t now_ns, deaf_until_ns, stop_at_ns;
    struct wheel timers;
    time_t date_at;
    char date[40];
    char read[READ_SIZE], block[STREAM_BLOCK];
};

// ---- what is asked of a request

struct str http_method(struct http_request *request)
{
    return request->head.method;
}

struct str http_path(struct http_request *request)
{
    return request->head.path;
}

struct str http_host(struct http_request *request)
{
    return request->head.host;
}

struct str http_query(struct http_request *request, const char *name)
{
    for (struct pair *pair = request->query; pair; pair = pair->next)
        if (str_is(pair->name, name))
            return pair->value;
    return (struct str){0};
}

bool http_query_each(struct http_request *request, bool (*each)(void *ctx, struct str name, struct str value), void *ctx)
{
    for (struct pair *pair = request->query; pair; pair = pair->next)
        if (!each(ctx, pair->name, pair->value))
            return false;
    return true;
}

struct str http_header(struct http_request *request, const char *name)
{
    return head_value(&request->head, name);
}

size_t http_header_count(struct http_request *request, const char *name)
{
    return head_count(&request->head, name);
}

struct str http_header_list(struct http_request *request, const char *name)
{
    return head_list(&request->head, name, &request->arena);
}

struct str http_body(struct http_request *request)
{
    return buf_str(&request->body);
}

struct arena *http_arena(struct http_request *request)
{
    return &request->arena;
}

void http_header_set(struct http_request *request, const char *name, const char *value)
{
    struct pair *pair = arena_alloc(&request->arena, sizeof *pair);
    pair->name = arena_copy(&request->arena, str_of(name));
    pair->value = arena_copy(&request->arena, str_of(value));
    pair->next = request->headers;
    request->headers = pair;
}

void http_wait(struct http_request *request, void (*next)(struct http_request *request, void *state), void *state)
{
    assert(!request->next && !request->answered);
    request->next = next;
    request->state = state;
}

void http_resume(struct http_request *request)
{
    struct http_server *server = request->server; // the request may be gone once it was posted
    atomic_fetch_add(&server->resuming, 1);
    mailbox_post(&server->resumed, &request->link);
    atomic_fetch_sub(&server->resuming, 1);
}

// ---- answers

static const char *reason_of(int status)
{
    static const struct {
        int status;
        const char *reason;
    } reasons[] = {{200, "OK"},
                   {201, "Created"},
                   {202, "Accepted"},
                   {204, "No Content"},
                   {304, "Not Modified"},
                   {400, "Bad Request"},
                   {401, "Unauthorized"},
                   {403, "Forbidden"},
                   {404, "Not Found"},
                   {405, "Method Not Allowed"},
                   {406, "Not Acceptable"},
                   {408, "Request Timeout"},
                   {409, "Conflict"},
                   {412, "Precondition Failed"},
                   {413, "Content Too Large"},
                   {415, "Unsupported Media Type"},
                   {421, "Misdirected Request"},
                   {422, "Unprocessable Content"},
                   {429, "Too Many Requests"},
                   {431, "Request Header Fields Too Large"},
                   {500, "Internal Server Error"},
                   {503, "Service Unavailable"},
                   {507, "Insufficient Storage"}};
    for (size_t i = 0; i < array_count(reasons); i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return "Status";
}

static const char *date_of(struct http_server *server)
{
    time_t now = (time_t)(clock_wall_ns() / 1000000000);
    struct tm tm;
    if (now != server->date_at && gmtime_r(&now, &tm)) {
        server->date_at = now;
        strftime(server->date, sizeof server->date, "%a, %d %b %Y %H:%M:%S GMT", &tm);
    }
    return server->date;
}

static bool is_quiesced(const struct http_server *server)
{
    return atomic_load_explicit(&server->quiesced, memory_order_relaxed);
}

static void put_line(struct buf *out, const char *name, const char *value)
{
    buf_puts(out, name);
    buf_puts(out, ": ");
    buf_puts(out, value);
    buf_puts(out, "\r\n");
}

// All but what says how long the answer is, and the empty line.
static struct buf *put_head(struct http_request *request, int status, const char *type)
{
    struct peer *peer = request->peer;
    struct buf *out = &peer->out;
    peer->closing |=
        peer->reserved || request->head.closes || request->head.old || request->unread || is_quiesced(request->server);
    buf_puts(out, "HTTP/1.1 ");
    buf_put_int(out, status);
    buf_putc(out, ' ');
    buf_puts(out, reason_of(status));
    buf_puts(out, "\r\n");
    put_line(out, "Date", date_of(request->server));
    if (peer->closing)
        put_line(out, "Connection", "close");
    if (type)
        put_line(out, "Content-Type", type);
    for (struct pair *pair = request->headers; pair; pair = pair->next)
        put_line(out, pair->name.p, pair->value.p);
    return out;
}

static void put_length(struct buf *out, uint64_t length)
{
    buf_puts(out, "Content-Length: ");
    buf_put_int(out, (int64_t)length);
    buf_puts(out, "\r\n\r\n");
}

static bool wants_head_only(const struct http_request *request)
{
    return str_is(request->head.method, "HEAD");
}

void http_reply(struct http_request *request, int status, const char *type, struct buf *body)
{
    struct buf none = {0};
    body = body ? body : &none;
    assert(!request->answered);
    request->answered = true;
    if (request->peer) {
        struct buf *out = put_head(request, status, type);
        if (status == 204 || status == 304)
            buf_puts(out, "\r\n");
        else
            put_length(out, body->n);
        if (!wants_head_only(request) && status != 204 && status != 304)
            buf_put(out, buf_str(body));
    }
    buf_done(body);
}

void http_reply_head(struct http_request *request, const char *type)
{
    assert(!request->answered && wants_head_only(request));
    request->answered = true;
    if (request->peer)
        buf_puts(put_head(request, 200, type), "\r\n");
}

static void close_file(struct http_file *file)
{
    if (file->fd < 0)
        return;
    close(file->fd);
    file->fd = -1;
    file->closed(file->ctx);
}

void http_reply_file(struct http_request *request, const char *type, const struct http_file *file)
{
    struct http_file unwanted = *file;
    assert(!request->answered);
    request->answered = true;
    if (request->peer)
        put_length(put_head(request, 200, type), file->size);
    if (!request->peer || wants_head_only(request)) {
        close_file(&unwanted);
        return;
    }
    request->peer->file = *file;
    request->peer->file_left = file->size;
}

struct http_stream *http_reply_stream(struct http_request *request, const char *type, const struct http_stream_ops *ops,
                                      void *ctx)
{
    assert(!request->answered && request->peer);
    struct http_server *server = request->server;
    struct http_stream *stream = mem_zero(sizeof *stream);
    stream->peer = request->peer;
    stream->ops = ops;
    stream->ctx = ctx;
    list_append(&server->streams, &stream->link);
    request->stream = stream;
    request->answered = true;
    struct buf *out = put_head(request, 200, type);
    buf_puts(out, request->head.old ? "\r\n" : "Transfer-Encoding: chunked\r\n\r\n");
    return stream;
}

void http_stream_wake(struct http_stream *stream)
{
    if (!atomic_exchange(&stream->queued, true))
        mailbox_post(&stream->peer->server->woken, &stream->woken);
}

void http_stream_cut(struct http_stream *stream)
{
    shutdown(stream->peer->fd, SHUT_RDWR);
    http_stream_wake(stream);
}

// ---- requests and connections come and go

static void drop_body(struct http_request *request)
{
    request->server->bodies -= request->body.n;
    buf_done(&request->body);
}

static void close_stream(struct http_request *request)
{
    struct http_stream *stream = request->stream;
    request->stream = NULL;
    list_remove(&stream->link);
    stream->ops->closed(stream->ctx); // nobody wakes it any more
    stream->peer = NULL;
    if (!atomic_load(&stream->queued)) // else it is freed when it comes out of the mailbox
        mem_free(stream);
}

static void request_free(struct http_request *request)
{
    request->server->request_count--;
    if (request->stream)
        close_stream(request);
    drop_body(request);
    arena_done(&request->arena);
    mem_free(request);
}

static void set_state(struct peer *peer, enum peer_state state)
{
    peer->state = state;
    peer->began_ns = peer->active_ns = peer->server->now_ns;
}

static void leave_slow(struct peer *peer)
{
    if (!peer->unsent)
        return;
    list_remove(&peer->slow);
    peer->server->unsent -= peer->unsent;
    peer->unsent = 0;
}

static void peer_close(struct peer *peer)
{
    struct http_server *server = peer->server;
    struct http_request *request = peer->request;
    set_state(peer, PEER_DEAD);
    peer->request = NULL;
    if (request && request->next)
        request->peer = NULL; // whoever works for it will resume it
    else if (request)
        request_free(request);
    wheel_remove(&server->timers, &peer->timer);
    list_remove(&peer->idle);
    list_remove(&peer->again);
    leave_slow(peer);
    list_remove(&peer->link);
    list_append(&server->dead, &peer->link);
    close_file(&peer->file);
    close(peer->fd);
    buf_done(&peer->in);
    buf_done(&peer->out);
    server->peer_count--;
    server->reserve_count -= peer->reserved;
}

static void free_dead(struct http_server *server)
{
    struct list *node;
    while ((node = list_take(&server->dead)))
        mem_free(list_entry(node, struct peer, link));
}

static void watch(struct peer *peer, uint32_t want)
{
    struct epoll_event event = {.events = want, .data.ptr = peer};
    if (peer->watched == want)
        return;
    peer->watched = want;
    epoll_ctl(peer->server->epoll_fd, EPOLL_CTL_MOD, peer->fd, &event);
}

// How long what was sent of a file may have taken.
static int64_t file_ns(const struct peer *peer)
{
    return (int64_t)((peer->file.size - peer->file_left) / FILE_RATE) * 1000000;
}

// When it is to be looked at whether the connection has had its time.
static int64_t deadline_ns(const struct peer *peer)
{
    int64_t idle_ns = peer->server->config.idle_timeout_s * INT64_C(1000000000), idle_until = peer->active_ns + idle_ns;
    if (peer->reserved && peer->state != PEER_WORK)
        return peer->began_ns + RESERVE_MS * INT64_C(1000000);
    switch (peer->state) {
    case PEER_HEAD: // a head that drips has no more time than one that does not come
        return peer->in.n ? time_min(idle_until, peer->began_ns + idle_ns) : idle_until;
    case PEER_BODY:
        return time_min(idle_until, peer->request->body_until_ns);
    case PEER_LINGER:
        return peer->began_ns + LINGER_MS * INT64_C(1000000);
    case PEER_WORK:
        return TIME_NEVER;
    case PEER_STREAM:
        return peer->out_at < peer->out.n ? idle_until : TIME_NEVER;
    case PEER_SEND: // who takes a little now and then does not keep its place for ever
        return time_min(idle_until, peer->began_ns + (peer->file.fd >= 0 ? idle_ns + file_ns(peer) : SEND_PATIENCE * idle_ns));
    default:
        return idle_until;
    }
}

// The timer is set once and looks again by itself. So only a deadline that is sooner has to be told.
static void set_timer(struct peer *peer)
{
    int64_t at_ns = time_min(deadline_ns(peer), peer->server->now_ns + SLEEP_MS * INT64_C(1000000));
    int64_t at_ms = (at_ns + 999999) / 1000000;
    if (peer->timer.link.next && peer->timer.at_ms <= at_ms)
        return;
    wheel_remove(&peer->server->timers, &peer->timer);
    wheel_add(&peer->server->timers, &peer->timer, at_ms);
}

// ---- answers are sent

enum sent { SENT_ALL, SENT_PART, SENT_FAILED };

static enum sent send_out(struct peer *peer)
{
    while (peer->out_at < peer->out.n) {
        int more = peer->file.fd >= 0 ? MSG_MORE : 0;
        ssize_t n = send(peer->fd, peer->out.p + peer->out_at, peer->out.n - peer->out_at, MSG_NOSIGNAL | more);
        if (n < 0)
            return errno == EAGAIN || errno == EINTR ? SENT_PART : SENT_FAILED;
        peer->out_at += (size_t)n;
        peer->active_ns = peer->server->now_ns;
    }
    for (int i = 0; peer->file.fd >= 0 && peer->file_left; i++) {
        if (i == FILE_BLOCKS)
            return SENT_PART; // others have their turn
        ssize_t n = sendfile(peer->fd, peer->file.fd, NULL, peer->file_left < READ_SIZE ? peer->file_left : READ_SIZE);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return SENT_PART;
        if (n <= 0)
            return SENT_FAILED; // 0: the file has become shorter
        peer->file_left -= (uint64_t)n;
        peer->active_ns = peer->server->now_ns;
    }
    peer->out.n = peer->out_at = 0;
    if (peer->out.cap > BUFFER_KEPT)
        buf_done(&peer->out);
    return SENT_ALL;
}

// ---- a request begins

static void refuse(struct http_request *request, enum err err, const char *detail)
{
    const struct http_server_config *config = &request->server->config;
    config->refuse(config->ctx, request, err, detail);
}

static bool decode(struct http_request *request, struct str text, struct str *ret_text)
{
    struct str copy = arena_copy(&request->arena, text);
    char *to = (char *)copy.p;
    for (const char *at = copy.p, *end = copy.p + copy.n; at < end; at++) {
        int c = *at == '+' ? ' ' : (unsigned char)*at;
        if (c == '%') {
            c = str_escaped((struct str){at, (size_t)(end - at)});
            if (c <= 0)
                return false;
            at += 2;
        }
        *to++ = (char)c;
    }
    *to = 0;
    *ret_text = (struct str){copy.p, (size_t)(to - copy.p)};
    return true;
}

// A path is taken apart before it is unescaped: an escaped slash is none. So only whether that can be done is looked at here.
static bool escapes_are_sound(struct str text)
{
    for (const char *at; text.n && (at = memchr(text.p, '%', text.n));) {
        text = (struct str){at, text.n - (size_t)(at - text.p)};
        if (str_escaped(text) <= 0)
            return false;
        text = (struct str){at + 3, text.n - 3};
    }
    return true;
}

static const char *read_target(struct http_request *request)
{
    static const char broken[] = "The path or the query has a percent sign that escapes nothing, or NUL.";
    struct str rest = request->head.query;
    if (!escapes_are_sound(request->head.path))
        return broken;
    for (int count = 0; rest.n; count++) {
        struct str value = str_cut(&rest, '&'), name = str_cut(&value, '=');
        struct pair *pair = arena_alloc(&request->arena, sizeof *pair);
        if (count == QUERY_MAX)
            return "The query has more than 64 parameters.";
        if (!decode(request, name, &pair->name) || !decode(request, value, &pair->value))
            return broken;
        *request->query_end = pair;
        request->query_end = &pair->next;
    }
    return NULL;
}

static void refuse_too_large(struct http_request *request)
{
    char detail[ERR_WHY_MAX];
    snprintf(detail, sizeof detail, "The body may have %zu bytes.", request->body_max);
    refuse(request, ERR_TOO_LARGE, detail);
}

// An answer to what cannot be read on: behind it the connection ends.
static void refuse_and_close(struct http_request *request, enum err err, const char *detail)
{
    struct peer *peer = request->peer;
    peer->closing = true;
    request->complete = true;
    refuse(request, err, detail);
}

// The answer that was written is taken back: it was never sent, and there is another.
static void refuse_instead(struct http_request *request, enum err err, const char *detail)
{
    struct peer *peer = request->peer;
    peer->out.n = peer->out_at ? peer->out.n : 0; // what has begun to be sent is that it may go on
    request->answered = false;
    request->headers = NULL;
    refuse_and_close(request, err, detail);
}

static struct http_request *request_new(struct peer *peer)
{
    struct http_request *request = mem_zero(sizeof *request);
    request->server = peer->server;
    request->peer = peer;
    request->query_end = &request->query;
    peer->request = request;
    peer->server->request_count++;
    if (!peer->reserved)
        list_remove(&peer->idle);
    return request;
}

// What is wrong with the head, and what the handler says to it. An answer that comes before the body is held back until the body
// was read past, as long as that is bounded and the client is sending it anyway.
static void begin(struct http_request *request, struct str head)
{
    const struct http_server_config *config = &request->server->config;
    const char *wrong = head_read(arena_copy(&request->arena, head), &request->arena, &request->head);
    if (wrong) {
        refuse_and_close(request, ERR_BAD_REQUEST, wrong);
        return;
    }
    uint64_t length = request->head.length > 0 ? (uint64_t)request->head.length : 0;
    request->complete = !length && !request->head.chunked;
    request->unread = !request->complete && (request->head.asks_first || length > DISCARD_MAX || request->peer->reserved);
    wrong = read_target(request);
    if (wrong)
        refuse(request, ERR_BAD_REQUEST, wrong);
    if (!request->answered)
        request->body_max = config->begin(config->ctx, request);
    if (!request->answered && length > request->body_max)
        refuse_too_large(request);
    request->body_left = length;
    request->body_until_ns = request->server->now_ns + atomic_load(&request->server->body_timeout_ms) * INT64_C(1000000);
    request->complete |= request->answered && request->unread;
    request->unread = false;
    if (!request->answered && !request->complete) {
        buf_reserve(&request->body, length < BODY_SMALL ? length : BODY_SMALL); // the rest when it comes
        if (request->head.asks_first && !request->head.old)
            buf_puts(&request->peer->out, "HTTP/1.1 100 Continue\r\n\r\n");
    }
}

static void handle(struct http_request *request)
{
    const struct http_server_config *config = &request->server->config;
    if (atomic_load(&request->server->stopping))
        refuse(request, ERR_STOPPING, "Try another server, or this one again in a while.");
    else
        config->handle(config->ctx, request);
    assert(request->answered || request->next);
}

// ---- who may have a place

static const char crowded[] = "All connections of this server are taken.";

static bool is_full(const struct http_server *server)
{
    return server->peer_count - server->reserve_count >= server->config.connections_max || server->spare_fd < 0;
}

// Closes who has to make room. Who has begun to ask, or only just come, is told why, as far as the kernel takes it at once.
static void turn_away(struct peer *peer)
{
    if (peer->state == PEER_HEAD && (peer->in.n || peer->reserved))
        refuse_and_close(request_new(peer), ERR_BUSY, crowded);
    else if (peer->state == PEER_BODY && !peer->request->answered)
        refuse_instead(peer->request, ERR_BUSY, crowded);
    if (peer->request && send_out(peer) == SENT_ALL)
        shutdown(peer->fd, SHUT_WR);
    peer_close(peer);
}

// Makes room: the connection that has been without a request for the longest has to go.
static bool make_room(struct http_server *server)
{
    if (list_empty(&server->idle))
        return false;
    struct peer *peer = list_entry(server->idle.next, struct peer, idle);
    if (peer->began_ns + GRACE_MS * INT64_C(1000000) > server->now_ns)
        return false;
    turn_away(peer);
    return true;
}

// Who brings a request goes before who brings none.
static void leave_reserve(struct peer *peer)
{
    struct http_server *server = peer->server;
    if (!peer->reserved || (is_full(server) && !make_room(server)))
        return;
    peer->reserved = false;
    server->reserve_count--;
    list_remove(&peer->idle);
}

bool http_crowded(struct http_request *request)
{
    return request->peer && request->peer->reserved;
}

// ---- what came is read

// Empty lines before a request are passed over, as old clients send them behind a body.
static void skip_empty_lines(struct str *rest)
{
    while (rest->n >= 2 && rest->p[0] == '\r' && rest->p[1] == '\n')
        *rest = (struct str){rest->p + 2, rest->n - 2};
}

// True: there is a request now.
static bool take_head(struct peer *peer, struct str *rest)
{
    if (!peer->scanned)
        skip_empty_lines(rest);
    if (rest->n == 1 && rest->p[0] == '\r')
        return false; // half of one
    size_t n = head_size(*rest, &peer->scanned);
    if (!n && rest->n <= HEADERS_MAX)
        return false;
    leave_reserve(peer);
    struct http_request *request = request_new(peer);
    peer->scanned = 0;
    if (!n || n > HEADERS_MAX)
        refuse_and_close(request, ERR_HEADERS_TOO_LARGE, "The request line and the headers may have 16 KiB.");
    else
        begin(request, (struct str){rest->p, n});
    n = n ? n : rest->n;
    *rest = (struct str){rest->p + n, rest->n - n};
    set_state(peer, PEER_BODY);
    return true;
}

static void keep_body(struct http_request *request, struct str bytes)
{
    struct http_server *server = request->server;
    if (bytes.n > request->body_max - request->body.n) {
        drop_body(request);
        refuse_too_large(request);
    } else if (request->body.n + bytes.n > BODY_SMALL && server->bodies + bytes.n > atomic_load(&server->bodies_max)) {
        drop_body(request);
        refuse(request, ERR_BUSY, "Too many large requests are on their way.");
    } else {
        buf_put(&request->body, bytes);
        server->bodies += bytes.n;
    }
}

static void take_bytes(struct http_request *request, struct str bytes)
{
    if (!request->answered)
        keep_body(request, bytes);
    else if ((request->peer->discarded += bytes.n) > DISCARD_MAX)
        refuse_instead(request, ERR_TOO_LARGE, "The body has no end.");
}

// True: the body is complete, or what is wrong with it has been answered.
static bool take_body(struct http_request *request, struct str *rest)
{
    struct str bytes;
    while (rest->n && !request->complete) {
        if (!request->head.chunked) {
            size_t n = request->body_left < rest->n ? (size_t)request->body_left : rest->n;
            bytes = (struct str){rest->p, n};
            *rest = (struct str){rest->p + n, rest->n - n};
            request->body_left -= n;
            request->complete = !request->body_left;
            take_bytes(request, bytes);
            continue;
        }
        switch (chunks_read(&request->chunks, rest, &bytes)) {
        case CHUNKS_DATA:
            take_bytes(request, bytes);
            break;
        case CHUNKS_END:
            request->complete = true;
            break;
        case CHUNKS_BAD:
            refuse_instead(request, ERR_BAD_REQUEST, "The chunks of the body cannot be read.");
            break;
        default:
            break;
        }
    }
    return request->complete;
}

// ---- answers end

// The client did not take the whole answer at once. Of its request nothing is needed any more.
static void wait_to_be_taken(struct peer *peer)
{
    struct http_server *server = peer->server;
    drop_body(peer->request);
    arena_done(&peer->request->arena);
    leave_slow(peer);
    peer->unsent = peer->out.cap + peer->in.cap;
    server->unsent += peer->unsent;
    list_append(&server->slow, &peer->slow);
}

// Of all answers that wait to be taken only so much is kept; a single one always.
static void cut_slow(struct http_server *server)
{
    size_t most = atomic_load(&server->bodies_max);
    while (server->unsent > most && server->slow.next != server->slow.prev)
        peer_close(list_entry(server->slow.next, struct peer, slow));
}

// The answer is out.
static void finish(struct peer *peer)
{
    leave_slow(peer);
    request_free(peer->request);
    peer->request = NULL;
    peer->discarded = 0;
    close_file(&peer->file);
    if (peer->closing && peer->half_closed) {
        peer_close(peer);
    } else if (peer->closing) {
        shutdown(peer->fd, SHUT_WR);
        set_state(peer, PEER_LINGER);
    } else {
        set_state(peer, PEER_HEAD);
        list_append(&peer->server->idle, &peer->idle);
    }
}

// Asks the stream for more as long as the client takes it. True: the answer has ended.
static bool pump(struct peer *peer, struct http_stream *stream)
{
    char *block = peer->server->block;
    bool chunked = !peer->request->head.old;
    for (;;) {
        enum sent sent = send_out(peer);
        if (sent == SENT_FAILED)
            peer->closing = stream->over = true;
        if (sent != SENT_ALL || stream->over)
            return stream->over && sent != SENT_PART;
        long n = is_quiesced(peer->server) ? -1 : stream->ops->read(stream->ctx, block, STREAM_BLOCK);
        if (!n)
            return false;
        stream->over = n < 0;
        peer->closing |= stream->over && (!chunked || is_quiesced(peer->server));
        if (chunked)
            buf_printf(&peer->out, "%zx\r\n", n > 0 ? (size_t)n : 0);
        if (n > 0)
            buf_put(&peer->out, (struct str){block, (size_t)n});
        if (chunked)
            buf_puts(&peer->out, "\r\n");
    }
}

// ---- a connection goes on

// Who has sent more ahead than is taken at a time is not read further.
static bool is_reading(const struct peer *peer)
{
    return (peer->state == PEER_HEAD && !peer->again.next) || peer->state == PEER_BODY || peer->state == PEER_LINGER;
}

// Does one step. False: it has to wait for something.
static bool step(struct peer *peer, struct str *rest)
{
    struct http_request *request = peer->request;
    switch (peer->state) {
    case PEER_HEAD:
        return take_head(peer, rest);
    case PEER_BODY:
        if (!request->complete && !request->answered && peer->out_at < peer->out.n && send_out(peer) == SENT_FAILED) {
            peer_close(peer); // it was to be told to go on
            return false;
        }
        if (!take_body(request, rest))
            return false;
        set_state(peer, PEER_WORK);
        if (!request->answered)
            handle(request);
        return true;
    case PEER_WORK:
        if (!request->answered)
            return false;
        set_state(peer, request->stream ? PEER_STREAM : PEER_SEND);
        return true;
    case PEER_SEND: {
        size_t before = peer->out_at;
        enum sent sent = send_out(peer);
        if (sent == SENT_FAILED)
            peer_close(peer);
        else if (sent == SENT_ALL)
            finish(peer);
        else if (peer->file.fd < 0 && (peer->out_at > before || !peer->unsent))
            wait_to_be_taken(peer);
        return sent == SENT_ALL;
    }
    case PEER_STREAM:
        if (!pump(peer, request->stream))
            return false;
        finish(peer);
        return true;
    default: // what comes behind the end is of no interest
        *rest = (struct str){0};
        return false;
    }
}

static uint32_t wanted_events(const struct peer *peer)
{
    bool held_back = peer->state == PEER_WORK || (peer->state == PEER_BODY && peer->request->answered);
    bool streams = peer->state == PEER_STREAM && !peer->request->stream->over;
    uint32_t out = (peer->out_at < peer->out.n && !held_back) || peer->state == PEER_SEND ? EPOLLOUT : 0u;
    return out | (is_reading(peer) && !peer->half_closed ? EPOLLIN : 0u) | (streams ? EPOLLRDHUP : 0u);
}

// It has begun to ask: from now on it is not the one that has been silent for the longest.
static void wait_again(struct peer *peer)
{
    if (peer->state != PEER_HEAD || peer->reserved)
        return;
    list_remove(&peer->idle);
    list_append(&peer->server->idle, &peer->idle);
}

// As far as it gets with what came. What is left over is kept.
static void drive(struct peer *peer, struct str came)
{
    struct str rest = came;
    if (peer->in.n) {
        buf_put(&peer->in, came);
        rest = buf_str(&peer->in);
    }
    struct http_server *server = peer->server;
    int ahead = 0;
    enum peer_state before = peer->state;
    while (peer->state != PEER_DEAD && step(peer, &rest)) {
        ahead += peer->state == PEER_HEAD && before != PEER_HEAD;
        before = peer->state;
        if (ahead == AHEAD_MAX && rest.n)
            break;
    }
    if (peer->state == PEER_DEAD)
        return;
    if (peer->half_closed && peer->state < PEER_WORK) { // nothing more will come
        peer_close(peer);
        return;
    }
    if (ahead == AHEAD_MAX && rest.n && !peer->again.next)
        list_append(&server->again, &peer->again);
    if (!rest.n) {
        peer->in.n = 0;
        if (peer->in.cap > BUFFER_KEPT)
            buf_done(&peer->in);
    } else if (peer->in.n) {
        memmove(peer->in.p, rest.p, rest.n);
        peer->in.n = rest.n;
    } else {
        buf_put(&peer->in, rest);
        wait_again(peer);
    }
    uint32_t want = wanted_events(peer);
    if ((want & ~EPOLLIN) != (peer->watched & ~EPOLLIN) || (want & EPOLLIN && !(peer->watched & EPOLLIN)))
        watch(peer, want);
    set_timer(peer);
}

// ---- what the kernel says

static void on_readable(struct peer *peer)
{
    struct http_server *server = peer->server;
    if (!is_reading(peer)) { // it is ahead, or leaves: that is heard when its turn comes
        watch(peer, wanted_events(peer));
        return;
    }
    ssize_t n = recv(peer->fd, server->read, READ_SIZE, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n < 0 || (!n && (peer->state == PEER_LINGER || (peer->state == PEER_HEAD && !peer->in.n)))) {
        peer_close(peer);
        return;
    }
    peer->active_ns = server->now_ns;
    peer->half_closed = !n;
    if (peer->state == PEER_HEAD && !peer->in.n)
        peer->began_ns = server->now_ns;
    if (peer->state == PEER_LINGER && (peer->discarded += (size_t)n) > DISCARD_MAX)
        peer_close(peer);
    else if (peer->state != PEER_LINGER)
        drive(peer, (struct str){server->read, (size_t)n});
}

static void on_peer_event(struct peer *peer, uint32_t events)
{
    if (peer->state == PEER_DEAD)
        return;
    bool unread = peer->state == PEER_LINGER && events & EPOLLIN; // with bytes unread, closing would tear the answer away
    if (events & EPOLLERR || (events & EPOLLHUP && !unread) || (peer->state == PEER_STREAM && events & EPOLLRDHUP)) {
        peer_close(peer);
        return;
    }
    if (events & EPOLLOUT)
        drive(peer, (struct str){0});
    if (peer->state != PEER_DEAD && events & EPOLLIN)
        on_readable(peer);
}

static bool listen_again(struct http_server *server, bool listens)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &server->listen_fd};
    server->deaf = !listens;
    return !epoll_ctl(server->epoll_fd, listens ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, server->listen_fd, &event);
}

static struct peer *welcome(struct http_server *server, int fd, bool reserved)
{
    struct peer *peer = mem_zero(sizeof *peer);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    peer->server = server;
    peer->fd = fd;
    peer->file.fd = -1;
    peer->watched = EPOLLIN;
    peer->reserved = reserved;
    set_state(peer, PEER_HEAD);
    list_append(&server->peers, &peer->link);
    list_append(reserved ? &server->reserve : &server->idle, &peer->idle);
    server->peer_count++;
    server->reserve_count += reserved;
    epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, fd, &(struct epoll_event){.events = EPOLLIN, .data.ptr = peer});
    set_timer(peer);
    return peer;
}

static bool is_being_answered(const struct peer *peer)
{
    return peer->state == PEER_WORK || peer->state == PEER_SEND || peer->state == PEER_STREAM;
}

// Of those in the reserve the oldest goes that has its answer, or else the oldest that has not asked yet. It is heard first: it
// may have asked since it was let in. Who waits for an answer, or is taking one, stays.
static bool turn_away_oldest(struct http_server *server)
{
    static const bool may_go[][PEER_DEAD + 1] = {{[PEER_LINGER] = true}, {[PEER_HEAD] = true, [PEER_BODY] = true}};
    for (size_t i = 0; i < array_count(may_go); i++)
        list_each (&server->reserve, link) {
            struct peer *peer = list_entry(link, struct peer, idle);
            if (!may_go[i][peer->state])
                continue;
            on_readable(peer);
            if (is_being_answered(peer))
                continue;
            if (peer->state != PEER_DEAD && peer->reserved)
                turn_away(peer);
            return true;
        }
    return false;
}

// There is nobody who could go for it. What it has said is taken in, or the kernel would tear the refusal away.
static void refuse_newcomer(struct http_server *server, int fd)
{
    struct peer *peer = welcome(server, fd, true);
    if (recv(fd, server->read, READ_SIZE, 0) != 0)
        turn_away(peer);
    else
        peer_close(peer);
}

// No descriptor is left for a newcomer: somebody makes room, or the one goes that was kept for this.
static bool free_descriptor(struct http_server *server)
{
    if (make_room(server) || turn_away_oldest(server))
        return true;
    if (server->spare_fd < 0)
        return false;
    close(server->spare_fd);
    server->spare_fd = -1;
    return true;
}

// The reserve is small, so who is let into it is heard at once: others come behind.
static void let_in(struct http_server *server, int fd)
{
    bool reserved = is_full(server) && !make_room(server);
    if (reserved && server->reserve_count >= server->config.reserve_max && !turn_away_oldest(server)) {
        refuse_newcomer(server, fd);
        return;
    }
    struct peer *peer = welcome(server, fd, reserved);
    if (reserved)
        on_readable(peer);
}

// accept4() wants a descriptor before it looks whether anybody is there: without one, it says so to nobody as well.
static bool somebody_waits(const struct http_server *server)
{
    struct pollfd newcomers = {.fd = server->listen_fd, .events = POLLIN};
    return poll(&newcomers, 1, 0) == 1;
}

static void on_newcomers(struct http_server *server)
{
    for (int i = 0; i < ACCEPTS; i++) {
        int fd = accept4(server->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        bool lacking = fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM);
        if (fd >= 0) {
            let_in(server, fd);
        } else if (errno == EAGAIN || errno == EINVAL || (lacking && !somebody_waits(server))) {
            return;
        } else if (lacking && !free_descriptor(server)) {
            server->deaf_until_ns = server->now_ns + DEAF_MS * INT64_C(1000000);
            listen_again(server, false);
            return;
        }
    }
}

// ---- what other threads want

static void on_wake(struct waker *waker)
{
    struct http_server *server = container_of(waker, struct http_server, waker);
    if (write(server->wake_fd, &(uint64_t){1}, sizeof(uint64_t)) < 0)
        return; // full: it will wake anyway
}

static void go_on(struct http_request *request)
{
    void (*next)(struct http_request *, void *) = request->next;
    struct peer *peer = request->peer;
    request->next = NULL;
    next(request, request->state);
    assert(request->answered || request->next);
    if (!peer && !request->next)
        request_free(request);
    else if (peer)
        drive(peer, (struct str){0});
}

static void take_messages(struct http_server *server)
{
    struct list resumed, woken, *node;
    list_init(&resumed);
    list_init(&woken);
    mailbox_take(&server->resumed, &resumed);
    while ((node = list_take(&resumed)))
        go_on(list_entry(node, struct http_request, link));
    mailbox_take(&server->woken, &woken);
    while ((node = list_take(&woken))) {
        struct http_stream *stream = list_entry(node, struct http_stream, woken);
        atomic_store(&stream->queued, false);
        if (stream->peer)
            drive(stream->peer, (struct str){0});
        else
            mem_free(stream);
    }
}

// ---- time

static void on_late(struct peer *peer)
{
    if (peer->state == PEER_BODY) {
        refuse_instead(peer->request, ERR_REQUEST_TIMEOUT, "The body did not arrive in time.");
    } else if (peer->state == PEER_HEAD && (peer->in.n || peer->reserved)) {
        refuse_and_close(request_new(peer), peer->reserved ? ERR_BUSY : ERR_REQUEST_TIMEOUT,
                         peer->reserved ? crowded : "The headers did not arrive in time.");
        set_state(peer, PEER_BODY);
    } else {
        peer_close(peer);
        return;
    }
    drive(peer, (struct str){0});
}

static void turn_timers(struct http_server *server)
{
    struct list due, *node;
    list_init(&due);
    wheel_turn(&server->timers, server->now_ns / 1000000, &due);
    while ((node = list_take(&due))) {
        struct peer *peer = container_of(list_entry(node, struct wheel_node, link), struct peer, timer);
        if (deadline_ns(peer) <= server->now_ns)
            on_late(peer);
        else
            set_timer(peer);
    }
}

static int time_to_wait_ms(struct http_server *server)
{
    int64_t wait = SLEEP_MS, next_ms = server->timers.count ? wheel_next(&server->timers) : TIME_NEVER;
    if (!list_empty(&server->again))
        return 0;
    if (next_ms != TIME_NEVER)
        wait = time_min(wait, next_ms - server->now_ns / 1000000);
    if (server->deaf)
        wait = time_min(wait, DEAF_MS);
    if (atomic_load(&server->stopping))
        wait = time_min(wait, DEAF_MS);
    return (int)time_max(wait, 0);
}

// ---- the thread

static void on_quiesce(struct http_server *server)
{
    if (!server->deaf)
        listen_again(server, false);
    server->deaf_until_ns = TIME_NEVER;
    list_each (&server->streams, link) {
        struct http_stream *stream = list_entry(link, struct http_stream, link);
        drive(stream->peer, (struct str){0});
    }
}

static void read_ahead(struct http_server *server)
{
    struct list again, *node;
    list_init(&again);
    list_splice(&again, &server->again);
    while ((node = list_take(&again)))
        drive(list_entry(node, struct peer, again), (struct str){0});
}

static bool has_ended(struct http_server *server)
{
    if (!atomic_load(&server->stopping))
        return false;
    if (!server->stop_at_ns) {
        server->stop_at_ns = server->now_ns + STOP_WAIT_MS * INT64_C(1000000);
        list_each (&server->streams, link) // what their clients have not taken by now
            peer_close(list_entry(link, struct http_stream, link)->peer);
    }
    int waiting = server->request_count, lingering = 0;
    list_each (&server->peers, link) { // those whose answer is not taken are not waited for without end
        const struct peer *peer = list_entry(link, struct peer, link);
        waiting -= peer->request && !peer->request->next;
        lingering += peer->state == PEER_LINGER && !peer->half_closed;
    }
    return (!server->request_count && !lingering) || (!waiting && server->now_ns >= server->stop_at_ns);
}

static void turn(struct http_server *server)
{
    struct epoll_event events[EVENTS];
    int n = epoll_wait(server->epoll_fd, events, EVENTS, time_to_wait_ms(server));
    server->now_ns = clock_mono_ns();
    for (int i = 0; i < n; i++) {
        void *what = events[i].data.ptr;
        uint64_t count;
        if (what == &server->listen_fd)
            on_newcomers(server);
        else if (what != server)
            on_peer_event(what, events[i].events);
        else if (read(server->wake_fd, &count, sizeof count) < 0)
            continue; // somebody else's wake was taken with the last one
    }
    take_messages(server);
    read_ahead(server);
    turn_timers(server);
    if (server->unsent)
        cut_slow(server);
    if (server->deaf && server->deaf_until_ns <= server->now_ns)
        listen_again(server, true);
    if (is_quiesced(server) && server->deaf_until_ns != TIME_NEVER)
        on_quiesce(server);
    free_dead(server);
    if (server->spare_fd < 0)
        server->spare_fd = fcntl(server->wake_fd, F_DUPFD_CLOEXEC, 0);
}

static void *run(void *arg)
{
    struct http_server *server = arg;
    server->now_ns = clock_mono_ns();
    while (!has_ended(server))
        turn(server);
    while (!list_empty(&server->peers))
        peer_close(list_entry(server->peers.next, struct peer, link));
    take_messages(server); // frees the streams in there
    free_dead(server);
    return NULL;
}

enum { BACKLOG = 4096 };

static int open_socket(const struct http_server_config *config, char why[ERR_WHY_MAX])
{
    int fd = config->bound ? config->bound : http_bind(config->listen, why);
    if (fd < 0 || !listen(fd, BACKLOG))
        return fd;
    snprintf(why, ERR_WHY_MAX, "cannot listen on %.100s: %s", config->listen, strerror(errno));
    close(fd);
    return -1;
}

static int port_of(int fd)
{
    struct sockaddr_storage at;
    socklen_t n = sizeof at;
    char port[8] = "0";
    if (!getsockname(fd, (struct sockaddr *)&at, &n))
        getnameinfo((struct sockaddr *)&at, n, NULL, 0, port, sizeof port, NI_NUMERICSERV);
    return atoi(port);
}

enum err http_server_start(struct http_server **ret_server, const struct http_server_config *config, char why[ERR_WHY_MAX])
{
    int fd = config->socket ? config->socket : open_socket(config, why);
    if (fd < 0)
        return ERR_BAD_REQUEST;
    struct http_server *server = mem_zero(sizeof *server);
    server->config = *config;
    server->config.reserve_max = config->reserve_max ? config->reserve_max : RESERVE;
    server->waker.wake = on_wake;
    http_server_limit_bodies(server, config->body_timeout_ms ? config->body_timeout_ms : BODY_TIMEOUT_MS,
                             config->bodies_max ? config->bodies_max : BODIES_MAX);
    server->listen_fd = fd;
    server->port = port_of(fd);
    server->now_ns = clock_mono_ns();
    wheel_init(&server->timers, server->now_ns / 1000000);
    mailbox_init(&server->resumed, &server->waker);
    mailbox_init(&server->woken, &server->waker);
    struct list *lists[] = {&server->peers, &server->idle, &server->reserve, &server->again,
                            &server->slow,  &server->dead, &server->streams};
    for (size_t i = 0; i < array_count(lists); i++)
        list_init(lists[i]);
    server->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    server->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    server->spare_fd = fcntl(server->wake_fd, F_DUPFD_CLOEXEC, 0);
    struct epoll_event wakes = {.events = EPOLLIN, .data.ptr = server};
    bool ready = listen_again(server, true) && !epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, server->wake_fd, &wakes);
    if (!ready || (errno = pthread_create(&server->thread, NULL, run, server))) {
        snprintf(why, ERR_WHY_MAX, "the HTTP server cannot be started on %s: %s", config->listen, strerror(errno));
        int fds[] = {fd, server->epoll_fd, server->wake_fd, server->spare_fd};
        for (size_t i = 0; i < array_count(fds); i++)
            if (fds[i] >= 0)
                close(fds[i]);
        mem_free(server);
        return ERR_INTERNAL;
    }
    pthread_setname_np(server->thread, "http");
    *ret_server = server;
    return ERR_OK;
}

int http_server_port(const struct http_server *server)
{
    return server->port;
}

bool http_server_address(const struct http_server *server, struct sockaddr_storage *ret_address, socklen_t *ret_size)
{
    *ret_size = sizeof *ret_address;
    return getsockname(server->listen_fd, (struct sockaddr *)ret_address, ret_size) == 0;
}

void http_server_limit_bodies(struct http_server *server, int body_timeout_ms, size_t bodies_max)
{
    atomic_store(&server->body_timeout_ms, body_timeout_ms);
    atomic_store(&server->bodies_max, bodies_max);
}

void http_server_quiesce(struct http_server *server)
{
    if (atomic_exchange(&server->quiesced, true))
        return;
    // Shut down, it refuses newcomers at once. One that was passed to us is not ours to shut down: who passed it goes on
    // listening.
    if (!server->config.socket)
        shutdown(server->listen_fd, SHUT_RDWR);
    server->waker.wake(&server->waker);
}

void http_server_stop(struct http_server *server)
{
    if (!server)
        return;
    http_server_quiesce(server);
    atomic_store(&server->stopping, true);
    server->waker.wake(&server->waker);
    pthread_join(server->thread, NULL);
    while (atomic_load(&server->resuming))
        sched_yield(); // somebody has a few instructions left to do with it
    close(server->listen_fd);
    close(server->wake_fd);
    close(server->epoll_fd);
    if (server->spare_fd >= 0)
        close(server->spare_fd);
    mailbox_done(&server->resumed);
    mailbox_done(&server->woken);
    mem_free(server);
}

// The steps of a connection, one function a state. What a client sent ahead is read as far as AHEAD_MAX requests at a time, then
// others have their turn.
#include "http/server/drive.h"

#include "http/server/peer.h"
#include "http/server/private.h"
#include "http/server/request.h"
#include "http/server/stream.h"

#include <errno.h>
#include <sys/epoll.h>

enum {
    HEADERS_MAX = 16 * 1024,
    AHEAD_MAX = 32, // requests
};

// ---- one step in each state. True: it has gone on; false: it has to wait for something, or is dead

// Empty lines before a request are passed over, as old clients send them behind a body.
static void skip_empty_lines(struct str *rest)
{
    while (rest->n >= 2 && rest->p[0] == '\r' && rest->p[1] == '\n')
        *rest = str_skip(*rest, 2);
}

static bool step_head(struct peer *peer, struct str *rest)
{
    if (!peer->scanned)
        skip_empty_lines(rest);
    if (rest->n == 1 && rest->p[0] == '\r')
        return false; // half of an empty line
    size_t n = head_size(*rest, &peer->scanned);
    if (!n && rest->n <= HEADERS_MAX)
        return false;
    places_leave_reserve(peer);
    struct http_request *request = request_new(peer);
    peer->scanned = 0;
    if (!n || n > HEADERS_MAX)
        reply_refuse_and_close(request, ERR_HEADERS_TOO_LARGE, "The request line and the headers may have 16 KiB.");
    else
        request_begin(request, (struct str){rest->p, n});
    *rest = str_skip(*rest, n ? n : rest->n);
    peer_set_state(peer, PEER_BODY);
    return true;
}

static bool step_body(struct peer *peer, struct str *rest)
{
    struct http_request *request = peer->request;
    bool waits_to_go_on = !request->complete && !request->answered && peer->out_at < peer->out.n;
    if (waits_to_go_on && peer_send(peer) == PEER_SENT_FAILED) {
        peer_close(peer);
        return false;
    }
    if (!body_take(request, rest))
        return false;
    peer_set_state(peer, PEER_WORK);
    if (!request->answered)
        request_handle(request);
    return true;
}

static bool step_work(struct peer *peer, struct str *rest)
{
    if (!peer->request->answered)
        return false;
    peer_set_state(peer, peer->request->stream ? PEER_STREAM : PEER_SEND);
    return true;
}

// The answer is out.
static void finish(struct peer *peer)
{
    unsent_remove(peer);
    request_free(peer->request);
    peer->request = NULL;
    peer->discarded = 0;
    reply_close_file(&peer->file);
    if (peer->closing && peer->half_closed) {
        peer_close(peer);
    } else if (peer->closing) {
        shutdown(peer->fd, SHUT_WR);
        peer_set_state(peer, PEER_LINGER);
    } else {
        peer_set_state(peer, PEER_HEAD);
        places_wait(peer);
    }
}

static bool step_send(struct peer *peer, struct str *rest)
{
    size_t before = peer->out_at;
    enum peer_sent sent = peer_send(peer);
    if (sent == PEER_SENT_FAILED)
        peer_close(peer);
    else if (sent == PEER_SENT_ALL)
        finish(peer);
    else if (peer->file.fd < 0 && (peer->out_at > before || !peer->unsent))
        unsent_put(peer);
    return sent == PEER_SENT_ALL;
}

static bool step_stream(struct peer *peer, struct str *rest)
{
    if (!stream_pump(peer))
        return false;
    finish(peer);
    return true;
}

// What comes behind the end is of no interest.
static bool step_linger(struct peer *peer, struct str *rest)
{
    *rest = (struct str){0};
    return false;
}

static bool (*const steps[])(struct peer *peer, struct str *rest) = {
    [PEER_HEAD] = step_head, [PEER_BODY] = step_body,     [PEER_WORK] = step_work,
    [PEER_SEND] = step_send, [PEER_STREAM] = step_stream, [PEER_LINGER] = step_linger,
};

// ---- as many steps as it gets

// A peer that has sent more ahead than is taken at a time is not read further.
static bool is_reading(const struct peer *peer)
{
    return (peer->state == PEER_HEAD && !peer->again.next) || peer->state == PEER_BODY || peer->state == PEER_LINGER;
}

static uint32_t wanted_events(const struct peer *peer)
{
    bool held_back = peer->state == PEER_WORK || (peer->state == PEER_BODY && peer->request->answered);
    bool streams = peer->state == PEER_STREAM && !peer->request->stream->over;
    uint32_t out = (peer->out_at < peer->out.n && !held_back) || peer->state == PEER_SEND ? EPOLLOUT : 0u;
    return out | (is_reading(peer) && !peer->half_closed ? EPOLLIN : 0u) | (streams ? EPOLLRDHUP : 0u);
}

// That epoll tells of something to read although nobody wants to read it costs nothing before there is something: so for that
// alone epoll is not told (drive_readable() does it then).
static void watch_for_more(struct peer *peer)
{
    uint32_t want = wanted_events(peer), lacking = want & ~peer->watched;
    if (lacking || (want & ~EPOLLIN) != (peer->watched & ~EPOLLIN))
        peer_watch(peer, want);
}

// What was not read stays in `in`, of which `rest` may be a part.
static void keep_rest(struct peer *peer, struct str rest)
{
    if (!rest.n) {
        peer->in.n = 0;
        if (peer->in.cap > SERVER_BUFFER_KEPT)
            buf_done(&peer->in);
    } else if (peer->in.n) {
        memmove(peer->in.p, rest.p, rest.n);
        peer->in.n = rest.n;
    } else {
        buf_put(&peer->in, rest);
        if (peer->state == PEER_HEAD) // it has begun to ask: it is not the one that has been silent for the longest
            places_wait(peer);
    }
}

// True: it stopped only because others have their turn, and there is more to be read.
static bool take_steps(struct peer *peer, struct str *rest)
{
    int ahead = 0;
    enum peer_state before = peer->state;
    while (peer->state != PEER_DEAD && steps[peer->state](peer, rest)) {
        ahead += peer->state == PEER_HEAD && before != PEER_HEAD;
        before = peer->state;
        if (ahead == AHEAD_MAX && rest->n)
            return true;
    }
    return false;
}

// As far as it gets with what came.
static void drive_with(struct peer *peer, struct str came)
{
    struct str rest = came;
    if (peer->in.n) {
        buf_put(&peer->in, came);
        rest = buf_str(&peer->in);
    }
    bool more = take_steps(peer, &rest);
    if (peer->state == PEER_DEAD)
        return;
    if (peer->half_closed && peer->state < PEER_WORK) { // nothing more will come
        peer_close(peer);
        return;
    }
    if (more && !peer->again.next)
        list_append(&peer->server->again, &peer->again);
    keep_rest(peer, rest);
    watch_for_more(peer);
    peer_set_timer(peer);
}

void drive(struct peer *peer)
{
    drive_with(peer, (struct str){0});
}

// ---- what the kernel says, and the time

void drive_readable(struct peer *peer)
{
    struct http_server *server = peer->server;
    if (!is_reading(peer)) { // it is ahead, or leaves: that is heard when its turn comes
        peer_watch(peer, wanted_events(peer));
        return;
    }
    ssize_t n = recv(peer->fd, server->read, SERVER_READ_SIZE, 0);
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
    if (peer->state == PEER_LINGER && (peer->discarded += (size_t)n) > BODY_DISCARD_MAX)
        peer_close(peer);
    else if (peer->state != PEER_LINGER)
        drive_with(peer, (struct str){server->read, (size_t)n});
}

void drive_event(struct peer *peer, uint32_t events)
{
    if (peer->state == PEER_DEAD)
        return;
    bool unread = peer->state == PEER_LINGER && events & EPOLLIN; // with bytes unread, closing would tear the answer away
    if (events & EPOLLERR || (events & EPOLLHUP && !unread) || (peer->state == PEER_STREAM && events & EPOLLRDHUP)) {
        peer_close(peer);
        return;
    }
    if (events & EPOLLOUT)
        drive(peer);
    if (peer->state != PEER_DEAD && events & EPOLLIN)
        drive_readable(peer);
}

void drive_late(struct peer *peer)
{
    if (peer->state == PEER_BODY) {
        reply_refuse_instead(peer->request, ERR_REQUEST_TIMEOUT, "The body did not arrive in time.");
    } else if (peer->state == PEER_HEAD && (peer->in.n || peer->reserved)) {
        reply_refuse_and_close(request_new(peer), peer->reserved ? ERR_BUSY : ERR_REQUEST_TIMEOUT,
                               peer->reserved ? places_crowded : "The headers did not arrive in time.");
        peer_set_state(peer, PEER_BODY);
    } else {
        peer_close(peer);
        return;
    }
    drive(peer);
}

// A call is a reusable record with its buffers; on a kept connection it allocates nothing and costs one send and one recv.
//
// The address that was judged is the one that is connected to. Only a failure to connect moves on to the name's next address, and
// only a kept connection that took no byte of the request is replaced by another: once anything was sent nobody can tell whether
// the target has acted, so the end of the connection ends the call. A second call is another attempt, with its own record.
//
// Does not retry, does not follow redirects, knows no proxies, keeps no cookies, decodes no content.
#include "http/client/call.h"

#include "base/clock.h"
#include "base/mem.h"
#include "http/client/addr.h"
#include "http/client/answer.h"
#include "http/client/outgoing.h"
#include "http/client/private.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

enum {
    DRAIN_MAX = 1024 * 1024, // of a body nobody keeps: read so that the connection can be used again
    FREE_MAX = 2048,         // idle calls kept
    BUFFER_KEPT = 4 * 1024,  // capacity of a buffer that a call may keep
    READS_MAX = 16,          // of one connection before others have their turn
    CONNECT_LEAST = 1000,    // ms for one address of several, at least
    HOST_SIZE = 256,
};

enum call_state { CALL_FREE, CALL_RESOLVING, CALL_RUNNING, CALL_ENDED };

struct http_call {
    struct list link; // among the free, or those that ended and are to be told
    struct http_client *client;
    enum call_state state;
    struct http_call_order order;
    char host[HOST_SIZE];
    struct conn_place place;
    struct resolve_waiter waiter;
    struct wheel_node timer;
    union addr addresses[RESOLVE_ADDRESSES_MAX]; // allowed ones
    int address_count, address_at;
    struct conn *conn;
    struct outgoing outgoing;
    int send_error; // what ended the sending: the answer may have come before
    int64_t deadline_ms;
    struct answer answer;
    struct buf body; // what is kept of it
    size_t body_seen;
    enum job_outcome outcome;
    char reason[ERR_WHY_MAX];
};

// --- the record

static void call_free(struct http_call *call)
{
    answer_done(&call->answer);
    buf_done(&call->outgoing.text);
    buf_done(&call->body);
    mem_free(call);
}

void http_call_free_kept(struct http_client *client)
{
    struct list *node;
    while ((node = list_take(&client->free)))
        call_free(list_entry(node, struct http_call, link));
}

// --- a call ends

static void call_end(struct http_call *call, enum job_outcome outcome, const char *reason)
{
    struct http_client *client = call->client;
    wheel_remove(&client->timers, &call->timer);
    if (call->conn && outcome == OUTCOME_SUCCESS && call->answer.keep && outgoing_is_sent(&call->outgoing))
        conn_keep(&client->pool, call->conn, client->now_ns);
    else if (call->conn)
        conn_drop(&client->pool, call->conn);
    call->conn = NULL;
    call->state = CALL_ENDED;
    call->outcome = outcome;
    if (reason != call->reason)
        snprintf(call->reason, sizeof call->reason, "%s", reason);
    list_append(&client->ended, &call->link);
}

// The connection is of no use any more. An answer that had begun is a bad one.
static void broke(struct http_call *call, const char *reason)
{
    call_end(call, call->answer.status ? OUTCOME_BAD_RESPONSE : OUTCOME_CONNECT_ERROR, reason);
}

// --- the request

static void receive(struct http_call *call);

static void drop_conn(struct http_call *call)
{
    conn_drop(&call->client->pool, call->conn);
    call->conn = NULL;
}

// A target may have answered and closed without reading all of the request: that answer counts.
static void on_send_error(struct http_call *call, int error)
{
    struct conn *conn = call->conn;
    call->send_error = error ? error : EPIPE;
    if (call->outgoing.sent)
        receive(call);
    if (call->conn == conn)
        broke(call, strerror(call->send_error));
}

// Without a connection afterwards, the one there was had been closed before anything was sent: another may take it.
static void send_request(struct http_call *call)
{
    struct conn *conn = call->conn;
    while (!outgoing_is_sent(&call->outgoing)) {
        ssize_t n = conn_send(conn, outgoing_next(&call->outgoing));
        if (n > 0) {
            call->outgoing.sent += (size_t)n;
            continue;
        }
        if (n == CONN_AGAIN)
            conn_watch(&call->client->pool, conn, true);
        else if (!call->outgoing.sent && conn->reused)
            drop_conn(call);
        else
            on_send_error(call, errno);
        return;
    }
    conn_watch(&call->client->pool, conn, false);
}

// --- the answer as it comes

static bool take_body(void *ctx, struct str bytes)
{
    struct http_call *call = ctx;
    size_t room = call->order.response_max - call->body.n;
    buf_put(&call->body, (struct str){bytes.p, bytes.n < room ? bytes.n : room});
    call->body_seen += bytes.n;
    return call->body_seen <= call->order.response_max || call->body_seen <= DRAIN_MAX;
}

static void answered(struct http_call *call, enum answer_step step)
{
    bool bad = step == ANSWER_BAD;
    call_end(call, bad ? OUTCOME_BAD_RESPONSE : OUTCOME_SUCCESS, bad ? call->answer.why : "");
}

static bool is_untouched(const struct http_call *call)
{
    return !call->answer.head_n;
}

// The other side has ended the connection. That a kept connection ends before anything of an answer came tells nothing of the
// target.
static void on_end(struct http_call *call)
{
    bool untouched = is_untouched(call);
    enum answer_step step = answer_closed(&call->answer);
    if (untouched && call->send_error)
        broke(call, strerror(call->send_error));
    else if (untouched && call->conn->reused)
        broke(call, call->answer.why);
    else
        answered(call, step);
}

static void receive(struct http_call *call)
{
    struct http_client *client = call->client;
    struct conn *conn = call->conn;
    // A record of TLS is smaller than CLIENT_READ_SIZE: nothing of it stays behind.
    for (int reads = 0; reads < READS_MAX; reads++) {
        ssize_t n = conn_recv(conn, client->read, CLIENT_READ_SIZE);
        if (n == CONN_AGAIN) {
            conn_watch(&client->pool, conn, !outgoing_is_sent(&call->outgoing));
            return;
        }
        if (n == CONN_BROKEN && (errno || !is_untouched(call))) {
            broke(call, errno ? strerror(errno) : "TLS: the connection was closed without a word");
            return;
        }
        if (n <= 0) {
            on_end(call);
            return;
        }
        enum answer_step step = answer_read(&call->answer, (struct str){client->read, (size_t)n});
        if (step != ANSWER_MORE) {
            answered(call, step);
            return;
        }
        if (n < CLIENT_READ_SIZE && !conn->tls)
            return; // that was all there is
    }
}

// --- a connection for it

// This address cannot be reached. If the name has another, that is tried; later calls try it first, too.
static void leave_address(struct http_call *call, const char *why)
{
    char text[ADDR_TEXT_SIZE];
    const union addr *address = &call->addresses[call->address_at++];
    snprintf(call->reason, sizeof call->reason, "%s port %d: %.180s", addr_text(address, text), call->place.port, why);
    if (call->address_at < call->address_count)
        resolve_demote(call->client->resolver, call->order.url->host, address);
}

// While there are other addresses, one has only a part of the time that is left.
static void set_timer(struct http_call *call)
{
    struct http_client *client = call->client;
    int64_t now_ms = client->now_ns / 1000000, at_ms = call->deadline_ms;
    int others = call->address_count - call->address_at;
    if (call->conn && call->conn->state == CONN_CONNECTING && others > 1)
        at_ms = time_min(at_ms, now_ms + time_max(CONNECT_LEAST, (at_ms - now_ms) / others));
    wheel_remove(&client->timers, &call->timer);
    wheel_add(&client->timers, &call->timer, at_ms);
}

// The first address that can be tried; the request is written where there is a connection already.
static void connect_next(struct http_call *call)
{
    struct http_client *client = call->client;
    char why[ERR_WHY_MAX];
    while (call->state == CALL_RUNNING && !call->conn) {
        if (call->address_at == call->address_count) {
            call_end(call, OUTCOME_CONNECT_ERROR, call->reason);
            return;
        }
        call->place.address = call->addresses[call->address_at];
        call->conn = conn_get(&client->pool, &call->place, client->now_ns, call, why);
        if (!call->conn)
            leave_address(call, why);
        else if (call->conn->state == CONN_OPEN)
            send_request(call);
        else if (call->address_count > 1)
            set_timer(call);
    }
}

static void give_up_address(struct http_call *call, const char *why)
{
    drop_conn(call);
    leave_address(call, why);
    connect_next(call);
}

// False: the connection is not open yet, or the call has ended.
static bool is_connected(struct http_call *call)
{
    char why[ERR_WHY_MAX];
    struct conn *conn = call->conn;
    bool connecting = conn->state == CONN_CONNECTING;
    if (conn->state >= CONN_OPEN)
        return true;
    int how = conn_advance(&call->client->pool, conn, why);
    if (how == CONN_BROKEN && conn->state == CONN_SHAKING)
        call_end(call, OUTCOME_TLS_ERROR, why);
    else if (how == CONN_BROKEN)
        give_up_address(call, why);
    else if (connecting && call->address_count > 1)
        set_timer(call);
    return !how;
}

void http_call_go_on(struct http_call *call, bool readable)
{
    struct conn *conn = call->conn;
    if (!is_connected(call))
        return;
    if (readable && call->outgoing.sent)
        receive(call);
    if (call->conn == conn && !outgoing_is_sent(&call->outgoing)) {
        send_request(call);
        connect_next(call);
    }
}

static void use_addresses(struct http_call *call, const struct resolve_answer *answer)
{
    char text[ADDR_TEXT_SIZE];
    for (int i = 0; i < answer->count; i++)
        if (addr_allowed(&answer->addresses[i].any, call->order.private_allowed))
            call->addresses[call->address_count++] = answer->addresses[i];
    if (call->address_count) {
        call->state = CALL_RUNNING;
        connect_next(call);
    } else if (!answer->count) {
        snprintf(call->reason, sizeof call->reason, "%.128s: %s", call->host, answer->why);
        call_end(call, OUTCOME_DNS_ERROR, call->reason);
    } else {
        snprintf(call->reason, sizeof call->reason, "%s is a %s address and must not be called",
                 addr_text(&answer->addresses[0], text), addr_class_text(addr_class(&answer->addresses[0].any)));
        call_end(call, OUTCOME_EGRESS_DENIED, call->reason);
    }
}

static void on_resolved(struct resolve_waiter *waiter, const struct resolve_answer *answer)
{
    use_addresses(container_of(waiter, struct http_call, waiter), answer);
}

// --- a call begins

static struct http_call *call_new(struct http_client *client)
{
    if (!list_empty(&client->free)) {
        struct list *node = client->free.prev; // the one used last is the warmest
        list_remove(node);
        client->free_count--;
        return list_entry(node, struct http_call, link);
    }
    struct http_call *call = mem_zero(sizeof *call);
    call->client = client;
    call->waiter.done = on_resolved;
    return call;
}

static void call_init(struct http_call *call, const struct http_call_order *order)
{
    const struct url *url = order->url;
    assert(url->host.n < HOST_SIZE); // url_parse() sees to that
    memcpy(call->host, url->host.p, url->host.n);
    call->host[url->host.n] = 0;
    call->order = *order;
    call->order.headers = (struct str){0}; // they need not live longer than this
    call->place = (struct conn_place){.port = url->port, .tls = url->tls, .host = call->host};
    call->address_count = call->address_at = 0;
    call->body.n = call->body_seen = 0;
    call->reason[0] = 0;
    call->send_error = 0;
    answer_begin(&call->answer, take_body, call);
    outgoing_write(&call->outgoing, order);
}

struct http_call *http_client_start(struct http_client *client, const struct http_call_order *order)
{
    struct http_call *call = call_new(client);
    struct resolve_answer literal = {.count = 1};
    const struct resolve_answer *answer = &literal;
    client->call_count++;
    client->now_ns = clock_mono_ns();
    call_init(call, order);
    call->deadline_ms = (client->now_ns + order->timeout_ms * 1000000 + 999999) / 1000000;
    set_timer(call);
    call->state = CALL_RESOLVING;
    call->place.host_is_address = addr_parse(&literal.addresses[0], call->host, order->url->ipv6);
    if (!call->place.host_is_address)
        answer = resolve_ask(client->resolver, str_of(call->host), order->lane, client->now_ns, &call->waiter);
    if (answer)
        use_addresses(call, answer);
    else
        client->resolve_due_ns = 0; // the question may have been answered already
    return call;
}

void http_client_cancel(struct http_call *call)
{
    if (call->state == CALL_ENDED)
        return;
    resolve_forget(&call->waiter);
    call_end(call, OUTCOME_CANCELLED, "cancelled");
}

// --- its end is told

void http_call_tell(struct list *node)
{
    struct http_call *call = list_entry(node, struct http_call, link);
    struct http_client *client = call->client;
    const struct answer *got = &call->answer;
    struct http_answer answer = {
        .outcome = call->outcome,
        .status = got->status,
        .reason = call->outcome == OUTCOME_SUCCESS ? NULL : call->reason,
        .body = buf_str(&call->body),
        .truncated = call->body_seen > call->body.n,
        .retry_after = {got->retry_after, got->retry_after_n},
        .async = got->async,
    };
    client->call_count--;
    call->order.done(call->order.ctx, &answer);
    call->state = CALL_FREE;
    if (client->free_count >= FREE_MAX) {
        call_free(call);
        return;
    }
    if (call->body.cap > BUFFER_KEPT)
        buf_done(&call->body);
    if (call->outgoing.text.cap > BUFFER_KEPT)
        buf_done(&call->outgoing.text);
    if (got->line.cap > BUFFER_KEPT)
        answer_done(&call->answer);
    list_append(&client->free, &call->link);
    client->free_count++;
}

// --- a call takes too long

static const char *missing(const struct http_call *call)
{
    return call->state == CALL_RESOLVING          ? "the name was not found"
           : call->conn->state == CONN_CONNECTING ? "no connection"
           : call->conn->state == CONN_SHAKING    ? "no TLS handshake"
           : !outgoing_is_sent(&call->outgoing)   ? "the request was not taken"
                                                  : "no complete answer";
}

void http_call_end_late(struct http_client *client)
{
    struct list due, *node;
    list_init(&due);
    wheel_turn(&client->timers, client->now_ns / 1000000, &due);
    while ((node = list_take(&due))) {
        struct http_call *call = container_of(list_entry(node, struct wheel_node, link), struct http_call, timer);
        if (client->now_ns / 1000000 < call->deadline_ms) { // that was for one address
            give_up_address(call, "no answer");
            continue;
        }
        resolve_forget(&call->waiter);
        snprintf(call->reason, sizeof call->reason, "%s within %lld ms", missing(call), (long long)call->order.timeout_ms);
        call_end(call, OUTCOME_TIMEOUT, call->reason);
    }
}

// Many calls on one thread: a libcurl multi handle driven through its socket interface, c-ares (resolve.c) beside it on the same
// epoll, and timeouts to the nanosecond.
//
// A call is a reusable easy handle with all it needs around it. The options that never change are set once; a call to a known
// host on an open connection allocates nothing of its own. Descriptors stay in epoll when libcurl loses interest in them, because
// the next call on that connection will want the same events again: that saves two system calls a call.
//
// Every address is judged twice: when the name was looked up, and when the socket is opened. Only connect errors move on to the
// name's next address, since then nothing was sent. libcurl would send a request again, up to five times, when a reused
// connection ends before any byte of an answer came. Nobody can tell whether the target had acted by then, so a call is sent once
// and the end of the connection ends it: a second call is another attempt, with its own record. That connections are not reused
// for long keeps it rare that one is closed by the other side just when it is wanted.
//
// Does not retry, does not follow redirects, keeps no cookies, decodes no content.
#include "http/client.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/wheel.h"
#include "http/addr.h"
#include "http/resolve.h"

#include <arpa/inet.h>
#include <assert.h>
#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    DRAIN_MAX = 1024 * 1024, // of a body nobody keeps: read so that the connection can be used again
    HEAD_MAX = 64 * 1024,
    FREE_MAX = 2048,       // idle handles kept
    BODY_KEPT = 64 * 1024, // capacity a handle may keep between calls
    EXPECT_FROM = 1000000, // from this size on libcurl would ask first
    EVENTS = 256,
    RETRY_AFTER_SIZE = 64,
    REUSE_S = 4, // idle connections are used again for so long: many servers close theirs after 5 s
};

enum call_state { CALL_FREE, CALL_RESOLVING, CALL_RUNNING, CALL_ENDED };

struct http_call {
    struct list link; // among the free, or those that ended and are to be told
    struct http_client *client;
    CURL *easy;
    enum call_state state;
    struct http_call_order order;
    int64_t deadline_ns;
    struct buf url;  // as handed to libcurl
    struct str host; // within it
    uint16_t port;
    struct resolve_waiter waiter;
    struct wheel_node timer;                                // while resolving
    union resolve_address addresses[RESOLVE_ADDRESSES_MAX]; // allowed ones
    int address_count, address_at;
    char connect_to[INET6_ADDRSTRLEN + 16];
    struct curl_slist connect_node;
    struct curl_slist *header_nodes;
    size_t header_cap;
    char method_set[16]; // what the handle was last told
    // The answer
    struct buf body;
    size_t body_seen, head_seen;
    bool cut, denied, async, sent;
    char retry_after[RETRY_AFTER_SIZE];
    size_t retry_after_n;
    enum job_outcome outcome;
    int status;
    char reason[CURL_ERROR_SIZE];
};

// What is watched for on a descriptor: as epoll knows it, and as its owner wants it.
struct watch {
    uint32_t have, want;
    bool names; // c-ares's
};

struct http_client {
    struct waker waker;
    int epoll_fd, wake_fd;
    CURLM *multi;
    struct resolver *resolver;
    struct wheel timers;
    int64_t now_ns, curl_due_ns, resolve_due_ns;
    struct watch *watches; // by descriptor
    size_t watch_cap;
    struct list free, ended;
    int free_count, call_count;
    const char *user_agent;
};

// --- making and freeing

static void on_wake(struct waker *waker)
{
    struct http_client *client = container_of(waker, struct http_client, waker);
    if (write(client->wake_fd, &(uint64_t){1}, sizeof(uint64_t)) < 0)
        return; // full: it will wake anyway
}

static void init_curl(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

static int on_curl_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *unused);
static int on_curl_timer(CURLM *multi, long timeout_ms, void *ctx);
static void watch_name_socket(void *ctx, int fd, bool readable, bool writable);

static bool open_multi(struct http_client *client, const struct http_client_config *config)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_curl);
    client->multi = curl_multi_init();
    if (!client->multi)
        return false;
    curl_multi_setopt(client->multi, CURLMOPT_SOCKETFUNCTION, on_curl_socket);
    curl_multi_setopt(client->multi, CURLMOPT_SOCKETDATA, client);
    curl_multi_setopt(client->multi, CURLMOPT_TIMERFUNCTION, on_curl_timer);
    curl_multi_setopt(client->multi, CURLMOPT_TIMERDATA, client);
    curl_multi_setopt(client->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
    curl_multi_setopt(client->multi, CURLMOPT_MAXCONNECTS, (long)config->connections_max);
    return true;
}

enum err http_client_new(struct http_client **ret_client, const struct http_client_config *config, char why[ERR_WHY_MAX])
{
    struct http_client *client = mem_zero(sizeof *client);
    client->waker.wake = on_wake;
    client->user_agent = config->user_agent;
    client->curl_due_ns = client->resolve_due_ns = TIME_NEVER;
    client->now_ns = clock_mono_ns();
    list_init(&client->free);
    list_init(&client->ended);
    wheel_init(&client->timers, client->now_ns / 1000000);
    client->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    client->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = client->wake_fd};
    if (epoll_ctl(client->epoll_fd, EPOLL_CTL_ADD, client->wake_fd, &event) || !open_multi(client, config)) {
        snprintf(why, ERR_WHY_MAX, "the HTTP client cannot be started: %s", strerror(errno));
        http_client_free(client);
        return ERR_INTERNAL;
    }
    enum err err = resolver_new(&client->resolver, watch_name_socket, client, why);
    if (err)
        http_client_free(client);
    else
        *ret_client = client;
    return err;
}

static void call_free(struct http_call *call)
{
    curl_easy_cleanup(call->easy);
    buf_done(&call->url);
    buf_done(&call->body);
    mem_free(call->header_nodes);
    mem_free(call);
}

void http_client_free(struct http_client *client)
{
    if (!client)
        return;
    assert(!client->call_count);
    struct list *node;
    while ((node = list_take(&client->free)))
        call_free(list_entry(node, struct http_call, link));
    resolver_free(client->resolver);
    curl_multi_cleanup(client->multi);
    if (client->wake_fd >= 0)
        close(client->wake_fd);
    if (client->epoll_fd >= 0)
        close(client->epoll_fd);
    mem_free(client->watches);
    mem_free(client);
}

struct waker *http_client_waker(struct http_client *client)
{
    return &client->waker;
}

// --- descriptors

static void set_watch(struct http_client *client, int fd, uint32_t want)
{
    struct watch *watch = &client->watches[fd];
    watch->want = want;
    if (watch->have == want)
        return;
    int how = !want ? EPOLL_CTL_DEL : watch->have ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    epoll_ctl(client->epoll_fd, how, fd, &(struct epoll_event){.events = want, .data.fd = fd});
    watch->have = want;
}

static struct watch *watch_of(struct http_client *client, int fd)
{
    if ((size_t)fd >= client->watch_cap) {
        size_t cap = client->watch_cap ? client->watch_cap : 64;
        while (cap <= (size_t)fd)
            cap *= 2;
        client->watches = mem_grow(client->watches, cap * sizeof *client->watches);
        memset(client->watches + client->watch_cap, 0, (cap - client->watch_cap) * sizeof *client->watches);
        client->watch_cap = cap;
    }
    return &client->watches[fd];
}

static void watch_name_socket(void *ctx, int fd, bool readable, bool writable)
{
    struct http_client *client = ctx;
    watch_of(client, fd)->names = true;
    set_watch(client, fd, (readable ? EPOLLIN : 0u) | (writable ? EPOLLOUT : 0u));
}

static const uint32_t curl_wants[] = {[CURL_POLL_NONE] = 0,
                                      [CURL_POLL_IN] = EPOLLIN,
                                      [CURL_POLL_OUT] = EPOLLOUT,
                                      [CURL_POLL_INOUT] = EPOLLIN | EPOLLOUT,
                                      [CURL_POLL_REMOVE] = 0};

static int on_curl_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *unused)
{
    struct http_client *client = ctx;
    struct watch *watch = watch_of(client, fd);
    watch->names = false;
    if (curl_wants[what])
        set_watch(client, fd, curl_wants[what]);
    else
        watch->want = 0; // stays in epoll, see above, until it is closed or has something to say
    return 0;
}

static int on_curl_close(void *ctx, curl_socket_t fd)
{
    struct http_client *client = ctx;
    *watch_of(client, fd) = (struct watch){0}; // closing takes it out of epoll
    return close(fd);
}

static curl_socket_t on_curl_open(void *ctx, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct http_call *call = ctx;
    call->denied = !addr_allowed(&address->addr, call->order.private_allowed);
    if (call->denied)
        return CURL_SOCKET_BAD;
    return socket(address->family, address->socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, address->protocol);
}

static int on_curl_timer(CURLM *multi, long timeout_ms, void *ctx)
{
    struct http_client *client = ctx;
    client->curl_due_ns = timeout_ms < 0 ? TIME_NEVER : timeout_ms == 0 ? 0 : clock_mono_ns() + timeout_ms * INT64_C(1000000);
    return 0;
}

// --- the answer as it comes

static size_t on_body(char *bytes, size_t size, size_t n, void *ctx)
{
    struct http_call *call = ctx;
    size_t room = call->order.response_max - call->body.n;
    buf_put(&call->body, (struct str){bytes, n < room ? n : room});
    call->body_seen += n;
    call->cut = call->body_seen > call->order.response_max && call->body_seen > DRAIN_MAX;
    return call->cut ? 0 : n;
}

static bool header_value(struct str line, struct str name, struct str *ret_value)
{
    if (line.n <= name.n || line.p[name.n] != ':' || strncasecmp(line.p, name.p, name.n) != 0)
        return false;
    line.p += name.n + 1;
    line.n -= name.n + 1;
    while (line.n && strchr(" \t", line.p[0])) {
        line.p++;
        line.n--;
    }
    while (line.n && strchr(" \t\r\n", line.p[line.n - 1]))
        line.n--;
    *ret_value = line;
    return true;
}

static size_t on_header(char *bytes, size_t size, size_t n, void *ctx)
{
    struct http_call *call = ctx;
    struct str line = {bytes, n}, value;
    if ((call->head_seen += n) > HEAD_MAX)
        return 0;
    if (str_starts(line, STR("HTTP/"))) { // a new answer begins: what came before was a 1xx
        call->retry_after_n = 0;
        call->async = false;
    } else if ((*bytes | 0x20) != 'r') {
        return n;
    } else if (header_value(line, STR("Retry-After"), &value)) {
        call->retry_after_n = value.n < RETRY_AFTER_SIZE ? value.n : 0;
        memcpy(call->retry_after, value.p, call->retry_after_n);
    } else if (header_value(line, STR("Rota-Async"), &value)) {
        call->async = str_is(value, "1");
    }
    return n;
}

// --- a call begins

// A connection is there, new or reused, and the request is about to be written to it.
static int on_sending(void *ctx, char *to, char *from, int to_port, int from_port)
{
    struct http_call *call = ctx;
    bool again = call->sent;
    call->sent = true;
    return again ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

static void set_constant_options(struct http_call *call)
{
    CURL *easy = call->easy;
    curl_easy_setopt(easy, CURLOPT_PRIVATE, call);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->reason);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_HTTP_CONTENT_DECODING, 0L);
    curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(easy, CURLOPT_DNS_CACHE_TIMEOUT, 0L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, call->client->user_agent);
    curl_easy_setopt(easy, CURLOPT_CONNECT_TO, &call->connect_node);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_curl_open);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, call);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, on_curl_close);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, call->client);
    curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, (long)REUSE_S);
    curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_sending);
    curl_easy_setopt(easy, CURLOPT_PREREQDATA, call);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, call);
}

static void on_resolved(struct resolve_waiter *waiter, const struct resolve_answer *answer);

static struct http_call *call_new(struct http_client *client)
{
    struct list *node = client->free.prev; // the one used last is the warmest
    if (!list_empty(&client->free)) {
        list_remove(node);
        client->free_count--;
        return list_entry(node, struct http_call, link);
    }
    struct http_call *call = mem_zero(sizeof *call);
    call->client = client;
    call->waiter.done = on_resolved;
    call->connect_node.data = call->connect_to;
    call->easy = curl_easy_init();
    if (!call->easy)
        abort();
    set_constant_options(call);
    return call;
}

static void call_reset(struct http_call *call)
{
    call->body.n = call->body_seen = call->head_seen = call->retry_after_n = 0;
    call->cut = call->denied = call->async = call->sent = false;
    call->outcome = OUTCOME_NONE;
    call->status = 0;
    call->reason[0] = 0;
}

static void call_end(struct http_call *call, enum job_outcome outcome)
{
    call->state = CALL_ENDED;
    call->outcome = outcome;
    list_append(&call->client->ended, &call->link);
}

// Written anew from its parts, so that libcurl cannot read it otherwise than it was checked.
static void write_url(struct http_call *call, const struct url *url)
{
    struct buf *text = &call->url;
    text->n = 0;
    buf_puts(text, url->tls ? "https://" : "http://");
    if (url->ipv6)
        buf_putc(text, '[');
    size_t host_at = text->n;
    buf_put(text, url->host);
    if (url->ipv6)
        buf_putc(text, ']');
    if (url->port != (url->tls ? 443 : 80)) {
        buf_putc(text, ':');
        buf_put_int(text, url->port);
    }
    if (!url->rest.n || url->rest.p[0] != '/')
        buf_putc(text, '/');
    buf_put(text, url->rest);
    buf_putc(text, 0);
    call->host = (struct str){text->p + host_at, url->host.n};
    call->port = url->port;
}

static bool parse_address(struct str host, bool ipv6, union resolve_address *ret_address)
{
    char text[INET6_ADDRSTRLEN];
    if (host.n >= sizeof text)
        return false;
    memcpy(text, host.p, host.n);
    text[host.n] = 0;
    memset(ret_address, 0, sizeof *ret_address);
    ret_address->any.sa_family = ipv6 ? AF_INET6 : AF_INET;
    return inet_pton(ret_address->any.sa_family, text, ipv6 ? (void *)&ret_address->v6.sin6_addr : &ret_address->v4.sin_addr) ==
           1;
}

static void use_addresses(struct http_call *call, const struct resolve_answer *answer);

struct http_call *http_client_start(struct http_client *client, const struct http_call_order *order)
{
    struct http_call *call = call_new(client);
    client->call_count++;
    client->now_ns = clock_mono_ns();
    call_reset(call);
    call->order = *order;
    call->deadline_ns = client->now_ns + order->timeout_ms * 1000000;
    write_url(call, order->url);
    struct resolve_answer literal = {.count = 1};
    const struct resolve_answer *answer = &literal;
    if (!parse_address(call->host, order->url->ipv6, &literal.addresses[0]))
        answer = resolve_ask(client->resolver, call->host, client->now_ns, &call->waiter);
    if (answer) {
        use_addresses(call, answer);
        return call;
    }
    call->state = CALL_RESOLVING;
    client->resolve_due_ns = 0; // the question may have been answered already
    wheel_add(&client->timers, &call->timer, (call->deadline_ns + 999999) / 1000000);
    return call;
}

static void on_resolved(struct resolve_waiter *waiter, const struct resolve_answer *answer)
{
    struct http_call *call = container_of(waiter, struct http_call, waiter);
    wheel_remove(&call->client->timers, &call->timer);
    use_addresses(call, answer);
}

static const char *address_text(const union resolve_address *address, char ret_text[INET6_ADDRSTRLEN])
{
    bool v6 = address->any.sa_family == AF_INET6;
    inet_ntop(address->any.sa_family, v6 ? (const void *)&address->v6.sin6_addr : &address->v4.sin_addr, ret_text,
              INET6_ADDRSTRLEN);
    return ret_text;
}

static void transfer(struct http_call *call);

static void use_addresses(struct http_call *call, const struct resolve_answer *answer)
{
    call->address_count = call->address_at = 0;
    for (int i = 0; i < answer->count; i++)
        if (addr_allowed(&answer->addresses[i].any, call->order.private_allowed))
            call->addresses[call->address_count++] = answer->addresses[i];
    if (call->address_count) {
        transfer(call);
        return;
    }
    if (!answer->count) {
        snprintf(call->reason, sizeof call->reason, "%.*s: %s", (int)(call->host.n < 128 ? call->host.n : 128), call->host.p,
                 answer->why);
        call_end(call, OUTCOME_DNS_ERROR);
        return;
    }
    char text[INET6_ADDRSTRLEN];
    snprintf(call->reason, sizeof call->reason, "%s is a %s address and must not be called",
             address_text(&answer->addresses[0], text), addr_class_text(addr_class(&answer->addresses[0].any)));
    call_end(call, OUTCOME_EGRESS_DENIED);
}

static struct curl_slist *header_list(struct http_call *call)
{
    const struct http_call_order *order = &call->order;
    size_t n = order->header_count, need = n + 1;
    if (need > call->header_cap) {
        call->header_cap = need * 2;
        call->header_nodes = mem_grow(call->header_nodes, call->header_cap * sizeof *call->header_nodes);
    }
    struct curl_slist *nodes = call->header_nodes;
    for (size_t i = 0; i < n; i++)
        nodes[i] = (struct curl_slist){.data = (char *)order->headers[i], .next = &nodes[i + 1]};
    if (order->body.n >= EXPECT_FROM)
        nodes[n++] = (struct curl_slist){.data = (char *)"Expect:"};
    if (n)
        nodes[n - 1].next = NULL;
    return n ? nodes : NULL;
}

static void set_method(struct http_call *call)
{
    const struct http_call_order *order = &call->order;
    bool bodiless = !order->body.p && (!strcmp(order->method, "GET") || !strcmp(order->method, "DELETE"));
    if (bodiless) {
        curl_easy_setopt(call->easy, CURLOPT_HTTPGET, 1L);
    } else {
        curl_easy_setopt(call->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)order->body.n);
        curl_easy_setopt(call->easy, CURLOPT_POSTFIELDS, order->body.n ? order->body.p : "");
        curl_easy_setopt(call->easy, CURLOPT_POST, 1L);
    }
    if (strcmp(call->method_set, order->method) != 0) {
        snprintf(call->method_set, sizeof call->method_set, "%s", order->method);
        curl_easy_setopt(call->easy, CURLOPT_CUSTOMREQUEST, call->method_set);
    }
}

static void transfer(struct http_call *call)
{
    int64_t left_ms = (call->deadline_ns - call->client->now_ns + 999999) / 1000000;
    if (left_ms <= 0) {
        call_end(call, OUTCOME_TIMEOUT);
        return;
    }
    const union resolve_address *address = &call->addresses[call->address_at];
    char text[INET6_ADDRSTRLEN];
    bool v6 = address->any.sa_family == AF_INET6;
    snprintf(call->connect_to, sizeof call->connect_to, v6 ? "::[%s]:%d" : "::%s:%d", address_text(address, text), call->port);
    curl_easy_setopt(call->easy, CURLOPT_URL, call->url.p);
    curl_easy_setopt(call->easy, CURLOPT_HTTPHEADER, header_list(call));
    curl_easy_setopt(call->easy, CURLOPT_TIMEOUT_MS, (long)left_ms);
    set_method(call);
    call->state = CALL_RUNNING;
    curl_multi_add_handle(call->client->multi, call->easy);
}

void http_client_cancel(struct http_call *call)
{
    if (call->state == CALL_ENDED)
        return;
    if (call->state == CALL_RUNNING)
        curl_multi_remove_handle(call->client->multi, call->easy);
    resolve_forget(&call->waiter);
    wheel_remove(&call->client->timers, &call->timer);
    snprintf(call->reason, sizeof call->reason, "cancelled");
    call_end(call, OUTCOME_CANCELLED);
}

// --- a call ends

static const struct {
    CURLcode code;
    enum job_outcome outcome;
} outcomes[] = {
    {CURLE_OK, OUTCOME_SUCCESS},
    {CURLE_OPERATION_TIMEDOUT, OUTCOME_TIMEOUT},
    {CURLE_COULDNT_RESOLVE_HOST, OUTCOME_DNS_ERROR},
    {CURLE_COULDNT_CONNECT, OUTCOME_CONNECT_ERROR},
    {CURLE_SEND_ERROR, OUTCOME_CONNECT_ERROR},
    {CURLE_RECV_ERROR, OUTCOME_CONNECT_ERROR},
    {CURLE_ABORTED_BY_CALLBACK, OUTCOME_CONNECT_ERROR}, // it would have been sent again
    {CURLE_SSL_CONNECT_ERROR, OUTCOME_TLS_ERROR},
    {CURLE_PEER_FAILED_VERIFICATION, OUTCOME_TLS_ERROR},
    {CURLE_SSL_ENGINE_NOTFOUND, OUTCOME_TLS_ERROR},
    {CURLE_SSL_ENGINE_SETFAILED, OUTCOME_TLS_ERROR},
    {CURLE_SSL_CERTPROBLEM, OUTCOME_TLS_ERROR},
    {CURLE_SSL_CIPHER, OUTCOME_TLS_ERROR},
    {CURLE_SSL_CACERT_BADFILE, OUTCOME_TLS_ERROR},
    {CURLE_SSL_SHUTDOWN_FAILED, OUTCOME_TLS_ERROR},
    {CURLE_SSL_CRL_BADFILE, OUTCOME_TLS_ERROR},
    {CURLE_SSL_ISSUER_ERROR, OUTCOME_TLS_ERROR},
    {CURLE_SSL_PINNEDPUBKEYNOTMATCH, OUTCOME_TLS_ERROR},
    {CURLE_SSL_INVALIDCERTSTATUS, OUTCOME_TLS_ERROR},
    {CURLE_UNSUPPORTED_PROTOCOL, OUTCOME_BAD_RESPONSE}, // what came is not HTTP
    {CURLE_WEIRD_SERVER_REPLY, OUTCOME_BAD_RESPONSE},
    {CURLE_GOT_NOTHING, OUTCOME_BAD_RESPONSE},
    {CURLE_PARTIAL_FILE, OUTCOME_BAD_RESPONSE},
    {CURLE_WRITE_ERROR, OUTCOME_BAD_RESPONSE},   // the headers have no end
    {CURLE_OUT_OF_MEMORY, OUTCOME_BAD_RESPONSE}, // one of them has none: memory itself never runs out, see base/mem
    {CURLE_BAD_CONTENT_ENCODING, OUTCOME_BAD_RESPONSE},
};

static enum job_outcome outcome_of(const struct http_call *call, CURLcode code)
{
    if (call->denied)
        return OUTCOME_EGRESS_DENIED;
    if (call->cut)
        return OUTCOME_SUCCESS; // the status line came, the rest of the body is not waited for
    enum job_outcome outcome = OUTCOME_FAILED;
    for (size_t i = 0; i < array_count(outcomes); i++)
        if (outcomes[i].code == code)
            outcome = outcomes[i].outcome;
    return outcome == OUTCOME_CONNECT_ERROR && call->status ? OUTCOME_BAD_RESPONSE : outcome;
}

static bool try_next_address(struct http_call *call, CURLcode code)
{
    if (code != CURLE_COULDNT_CONNECT || call->denied || call->address_at + 1 >= call->address_count)
        return false;
    resolve_demote(call->client->resolver, call->host, &call->addresses[call->address_at]);
    call->address_at++;
    transfer(call);
    return true;
}

// Where libcurl's own words would mislead.
static const char *reason_of(CURLcode code)
{
    return code == CURLE_ABORTED_BY_CALLBACK ? "the connection was closed before an answer came"
           : code == CURLE_OUT_OF_MEMORY     ? "a header of the answer is too long"
                                             : NULL;
}

static void on_transferred(struct http_call *call, CURLcode code)
{
    long status = 0;
    curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    call->status = (int)status;
    curl_multi_remove_handle(call->client->multi, call->easy);
    if (try_next_address(call, code))
        return;
    if (code && !call->reason[0])
        snprintf(call->reason, sizeof call->reason, "%s", curl_easy_strerror(code));
    if (reason_of(code))
        snprintf(call->reason, sizeof call->reason, "%s", reason_of(code));
    if (call->denied)
        snprintf(call->reason, sizeof call->reason, "the address must not be called");
    call_end(call, outcome_of(call, code));
}

static void tell(struct http_call *call)
{
    struct http_client *client = call->client;
    if (call->outcome == OUTCOME_TIMEOUT)
        snprintf(call->reason, sizeof call->reason, "no complete answer within %lld ms", (long long)call->order.timeout_ms);
    struct http_answer answer = {
        .outcome = call->outcome,
        .status = call->status,
        .reason = call->outcome == OUTCOME_SUCCESS ? NULL : call->reason,
        .body = buf_str(&call->body),
        .truncated = call->body_seen > call->body.n,
        .retry_after = {call->retry_after, call->retry_after_n},
        .async = call->async,
    };
    client->call_count--;
    call->order.done(call->order.ctx, &answer);
    call->state = CALL_FREE;
    if (client->free_count >= FREE_MAX) {
        call_free(call);
        return;
    }
    if (call->body.cap > BODY_KEPT)
        buf_done(&call->body);
    list_append(&client->free, &call->link);
    client->free_count++;
}

// --- the loop

static void collect(struct http_client *client)
{
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(client->multi, &left))) {
        struct http_call *call;
        CURLcode code = message->data.result;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &call);
        on_transferred(call, code);
    }
}

static void end_late_lookups(struct http_client *client)
{
    struct list due, *node;
    list_init(&due);
    wheel_turn(&client->timers, client->now_ns / 1000000, &due);
    while ((node = list_take(&due))) {
        struct http_call *call = container_of(list_entry(node, struct wheel_node, link), struct http_call, timer);
        resolve_forget(&call->waiter);
        call_end(call, OUTCOME_TIMEOUT);
    }
}

// Everything that time brings.
static void do_due(struct http_client *client)
{
    client->now_ns = clock_mono_ns();
    if (client->resolve_due_ns <= client->now_ns)
        client->resolve_due_ns = resolve_turn(client->resolver, client->now_ns);
    if (client->timers.count)
        end_late_lookups(client);
    if (client->curl_due_ns <= client->now_ns) {
        int running;
        client->curl_due_ns = TIME_NEVER;
        curl_multi_socket_action(client->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
    collect(client);
}

static void on_event(struct http_client *client, const struct epoll_event *event)
{
    int fd = event->data.fd, running;
    if (fd == client->wake_fd) {
        uint64_t count;
        if (read(fd, &count, sizeof count) < 0)
            return; // somebody else's wake was taken with the last one
        return;
    }
    struct watch *watch = &client->watches[fd];
    bool broken = event->events & (EPOLLERR | EPOLLHUP);
    bool readable = event->events & EPOLLIN || broken, writable = event->events & EPOLLOUT || broken;
    if (!watch->want) {
        set_watch(client, fd, 0);
    } else if (watch->names) {
        resolve_ready(client->resolver, fd, readable, writable, client->now_ns);
        client->resolve_due_ns = 0;
    } else {
        int what = (readable ? CURL_CSELECT_IN : 0) | (writable ? CURL_CSELECT_OUT : 0) | (broken ? CURL_CSELECT_ERR : 0);
        curl_multi_socket_action(client->multi, fd, what, &running);
    }
}

static int64_t time_to_wait(struct http_client *client, int64_t wait_ns)
{
    if (!list_empty(&client->ended))
        return 0;
    int64_t until = time_min(client->curl_due_ns, client->resolve_due_ns);
    int64_t timer_ms = client->timers.count ? wheel_next(&client->timers) : TIME_NEVER;
    if (timer_ms != TIME_NEVER)
        until = time_min(until, timer_ms * 1000000);
    if (until == TIME_NEVER)
        return wait_ns;
    return time_min(wait_ns, time_max(until - client->now_ns, 0));
}

void http_client_poll(struct http_client *client, int64_t wait_ns)
{
    do_due(client);
    wait_ns = time_to_wait(client, wait_ns);
    struct epoll_event events[EVENTS];
    struct timespec wait = {.tv_sec = wait_ns / 1000000000, .tv_nsec = wait_ns % 1000000000};
    int n = epoll_pwait2(client->epoll_fd, events, EVENTS, &wait, NULL);
    for (int i = 0; i < n; i++)
        on_event(client, &events[i]);
    do_due(client);
    struct list ended, *node;
    list_init(&ended);
    list_splice(&ended, &client->ended); // what ends from here on is told by the next poll
    while ((node = list_take(&ended)))
        tell(list_entry(node, struct http_call, link));
}

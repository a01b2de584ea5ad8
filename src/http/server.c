// The HTTP server over libmicrohttpd: one internal thread with epoll; connections whose answer is not ready are suspended.
//
// The library calls on_request() once when the headers are there, then for each piece of body, then when all of it came, and
// again after each resume; on_completed() comes last, whatever happened. An answer made before the whole request came is held
// back until it did, because the library can only answer early by closing, which would cut off a client that is still sending. A
// request that outlives its connection (the client left while it waited) becomes an orphan: it goes on without one, so that
// whoever waits for its end is not forgotten.
//
// A stream sleeps as a suspended connection: then the library does not look at its socket, so whoever is woken looks first
// whether the client is still there.
//
// Escapes in paths and queries are decoded here: the library would make strings with NUL in the middle of them.
// Does not route, and does not know what a task is.
#include "http/server.h"

#include "base/clock.h"
#include "base/cond.h"
#include "base/list.h"
#include "base/mailbox.h"
#include "base/mem.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    HEADERS_MAX = 16 * 1024,
    CONNECTION_MEMORY = 32 * 1024,  // holds HEADERS_MAX and what is made of them; it is wiped for each request, so not more
    DISCARD_MAX = 64 * 1024 * 1024, // of a refused body; a client that sends more is cut off
    BODY_TIMEOUT_MS = 30 * 1000,
    BODIES_MAX = 256 * 1024 * 1024, // of all requests together
    BODY_SMALL = 64 * 1024,         // taken even then: whoever fills the room with large bodies does not shut out the small
    QUERY_MAX = 64,                 // parameters
    STOP_WAIT_MS = 5000,            // for clients that are slow to take their last answer
    BACKLOG = 4096,
};

struct pair {
    struct str name, value;
    struct pair *next;
};

struct http_stream {
    struct http_server *server;
    struct MHD_Connection *connection; // there until closed() has returned
    int fd;
    const struct http_stream_ops *ops;
    void *ctx;
    struct list link; // among the server's, under its lock
    pthread_mutex_t lock;
    bool asleep; // its connection is suspended
    bool woken;  // while it was not asleep: it must look again before it sleeps
};

struct http_request {
    struct http_server *server;
    struct MHD_Connection *connection; // NULL: an orphan
    struct arena arena;
    struct str method, path;
    struct pair *query, **query_end;
    struct pair *headers; // of the answer, newest first
    struct buf body;
    size_t body_max, discarded;
    size_t length;                 // as announced; 0: no body, or its end is not known before it comes
    int lengths, encodings, hosts; // headers of these names
    const char *line;              // where the next header must begin
    bool unknown_encoding, asks_first, closing;
    int64_t body_until_ns;
    void (*next)(struct http_request *request, void *state);
    void *state;
    struct MHD_Response *response; // made and not yet handed to the library
    int status;
    bool answered, malformed;
    bool adrift;      // it waits as an orphan
    bool raw;         // the library can no longer answer: the reply is written to the socket
    struct list link; // among the orphans to be continued
    struct http_stream *stream;
};

struct http_server {
    struct http_server_config config;
    atomic_int body_timeout_ms;
    atomic_size_t bodies_max;
    struct MHD_Daemon *daemon;
    int listen_fd, port;
    struct mailbox orphans; // resumed, and to be continued on the HTTP thread
    atomic_bool orphans_waiting;
    atomic_bool quiesced, stopping;
    size_t bodies; // bytes of them that are kept
    // What stop waits for: requests that are not done; of them, those suspended and those that wait as orphans; and
    // calls of http_resume() that are within the library.
    atomic_int busy, suspended, adrift, resuming;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct list streams;
};

static int open_socket(const struct http_server_config *config, char why[ERR_WHY_MAX]);
static int port_of(int fd);
static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *url, const char *method,
                                  const char *version, const char *upload, size_t *upload_size, void **slot);
static void on_completed(void *ctx, struct MHD_Connection *connection, void **slot, enum MHD_RequestTerminationCode how);
static size_t leave_escapes(void *ctx, struct MHD_Connection *connection, char *text);
static void *on_uri(void *ctx, const char *uri, struct MHD_Connection *connection);

enum err http_server_start(struct http_server **ret_server, const struct http_server_config *config, char why[ERR_WHY_MAX])
{
    int fd = config->socket ? config->socket : open_socket(config, why);
    if (fd < 0)
        return ERR_BAD_REQUEST;
    struct http_server *server = mem_zero(sizeof *server);
    server->config = *config;
    http_server_limit_bodies(server, config->body_timeout_ms ? config->body_timeout_ms : BODY_TIMEOUT_MS,
                             config->bodies_max ? config->bodies_max : BODIES_MAX);
    server->listen_fd = fd;
    server->port = port_of(fd);
    mailbox_init(&server->orphans, NULL);
    list_init(&server->streams);
    pthread_mutex_init(&server->lock, NULL);
    cond_init(&server->changed);
    // Without `turbo` the library shuts a connection down before it tells us that it timed out, and a 408 could not be sent.
    server->daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_TURBO, 0, NULL, NULL, on_request, server,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, (unsigned)config->connections_max,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)config->idle_timeout_s, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)CONNECTION_MEMORY, MHD_OPTION_NOTIFY_COMPLETED, on_completed, server, MHD_OPTION_UNESCAPE_CALLBACK, leave_escapes,
        server, MHD_OPTION_URI_LOG_CALLBACK, on_uri, server, MHD_OPTION_END);
    if (!server->daemon) {
        snprintf(why, ERR_WHY_MAX, "the HTTP server cannot be started on %s", config->listen);
        close(fd);
        mem_free(server);
        return ERR_INTERNAL;
    }
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
static void for_all_streams(struct http_server *server, void (*each)(struct http_stream *stream));

void http_server_quiesce(struct http_server *server)
{
    if (atomic_exchange(&server->quiesced, true))
        return;
    // The descriptor may still be in use by the HTTP thread and is closed by stop; shut down, it refuses newcomers at once. One
    // that was passed to us is not ours to shut down: who passed it goes on listening.
    MHD_quiesce_daemon(server->daemon);
    if (!server->config.socket)
        shutdown(server->listen_fd, SHUT_RDWR);
    for_all_streams(server, http_stream_wake);
}

static void wait_until_answered(struct http_server *server);
static void wait_for_orphans(struct http_server *server);
static void continue_orphans(struct http_server *server);

void http_server_stop(struct http_server *server)
{
    if (!server)
        return;
    http_server_quiesce(server);
    for_all_streams(server, http_stream_cut);
    wait_until_answered(server);
    MHD_stop_daemon(server->daemon);
    wait_for_orphans(server);
    close(server->listen_fd);
    mailbox_done(&server->orphans);
    pthread_cond_destroy(&server->changed);
    pthread_mutex_destroy(&server->lock);
    mem_free(server);
}

struct str http_method(struct http_request *request)
{
    return request->method;
}

struct str http_path(struct http_request *request)
{
    return request->path;
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
    struct str value = {0};
    if (request->connection)
        MHD_lookup_connection_value_n(request->connection, MHD_HEADER_KIND, name, strlen(name), &value.p, &value.n);
    return value;
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

static void make_response(struct http_request *request, const char *type, struct buf *body);
static void send_raw(struct http_request *request, const char *type, struct buf *body);

void http_reply(struct http_request *request, int status, const char *type, struct buf *body)
{
    assert(!request->answered);
    struct buf none = {0};
    body = body ? body : &none;
    request->answered = true;
    request->status = status;
    if (!request->connection)
        buf_done(body);
    else if (request->raw)
        send_raw(request, type, body);
    else
        make_response(request, type, body);
}

void http_wait(struct http_request *request, void (*next)(struct http_request *request, void *state), void *state)
{
    assert(!request->next && !request->answered);
    request->next = next;
    request->state = state;
    request->adrift = !request->connection;
    atomic_fetch_add(request->adrift ? &request->server->adrift : &request->server->suspended, 1);
    // Suspended first: from here on any thread may resume it, even before the handler has returned.
    if (request->connection)
        MHD_suspend_connection(request->connection);
}

void http_resume(struct http_request *request)
{
    struct http_server *server = request->server;
    if (!request->adrift) {
        atomic_fetch_add(&server->resuming, 1);
        MHD_resume_connection(request->connection); // the request may be gone when this returns
        atomic_fetch_sub(&server->resuming, 1);
        return;
    }
    pthread_mutex_lock(&server->lock);
    mailbox_post(&server->orphans, &request->link);
    atomic_store(&server->orphans_waiting, true);
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

// --- starting and stopping

static bool split_address(const char *address, char host[256], char port[16])
{
    const char *colon = strrchr(address, ':');
    size_t port_n = colon ? strlen(colon + 1) : 0;
    if (!port_n || port_n >= 16)
        return false;
    size_t n = (size_t)(colon - address);
    bool bracketed = n >= 2 && address[0] == '[' && address[n - 1] == ']';
    if (bracketed) {
        address++;
        n -= 2;
    }
    if (!n || n >= 256 || (!bracketed && memchr(address, ':', n)))
        return false;
    memcpy(host, address, n);
    host[n] = 0;
    memcpy(port, colon + 1, port_n + 1);
    return true;
}

static bool valid_port(const char *port)
{
    char *end;
    long number = strtol(port, &end, 10);
    return *port >= '0' && *port <= '9' && !*end && number <= 65535;
}

bool http_listen_is_valid(const char *listen)
{
    char host[256], port[16];
    return split_address(listen, host, port) && valid_port(port);
}

bool http_listen_is_loopback(const char *listen)
{
    char host[256], port[16];
    struct in_addr v4;
    struct in6_addr v6;
    if (!split_address(listen, host, port))
        return false;
    if (inet_pton(AF_INET, host, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == 127;
    return strcmp(host, "localhost") == 0 || (inet_pton(AF_INET6, host, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6));
}

static int bind_to(const struct addrinfo *at)
{
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (!bind(fd, at->ai_addr, at->ai_addrlen))
        return fd;
    int why = errno;
    close(fd);
    errno = why;
    return -1;
}

static int say_not_listening(const char *address, char why[ERR_WHY_MAX])
{
    snprintf(why, ERR_WHY_MAX, "cannot listen on %.100s: %s%s", address, strerror(errno),
             errno == EADDRINUSE ? " (another address can be named with --listen)" : "");
    return -1;
}

int http_bind(const char *address, char why[ERR_WHY_MAX])
{
    char host[256], port[16];
    if (!split_address(address, host, port) || !valid_port(port)) {
        snprintf(why, ERR_WHY_MAX, "\"%.100s\" is not an address to listen on, like 127.0.0.1:7070 or [::1]:7070", address);
        return -1;
    }
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV}, *found;
    int failed = getaddrinfo(host, port, &hints, &found);
    if (failed) {
        snprintf(why, ERR_WHY_MAX, "cannot listen on %.100s: %s", address, gai_strerror(failed));
        return -1;
    }
    int fd = bind_to(found);
    if (fd < 0)
        say_not_listening(address, why);
    freeaddrinfo(found);
    return fd;
}

static int open_socket(const struct http_server_config *config, char why[ERR_WHY_MAX])
{
    int fd = config->bound ? config->bound : http_bind(config->listen, why);
    if (fd < 0 || !listen(fd, BACKLOG))
        return fd;
    say_not_listening(config->listen, why);
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

// Without end for those who wait, since somebody holds them; for a while for those whose answer is being taken.
static void wait_until_answered(struct http_server *server)
{
    int64_t until = cond_until(STOP_WAIT_MS);
    atomic_store(&server->stopping, true);
    pthread_mutex_lock(&server->lock);
    while (atomic_load(&server->suspended))
        pthread_cond_wait(&server->changed, &server->lock);
    // The orphans among the busy ones are waited for later, when the HTTP thread is gone and cannot continue them.
    bool patient = true;
    while (patient && atomic_load(&server->busy) > atomic_load(&server->adrift))
        patient = cond_wait(&server->changed, &server->lock, until);
    while (atomic_load(&server->suspended))
        pthread_cond_wait(&server->changed, &server->lock);
    pthread_mutex_unlock(&server->lock);
    while (atomic_load(&server->resuming))
        sched_yield(); // the library is about to be taken down under a thread that has a few instructions left in it
}

static void wait_for_orphans(struct http_server *server)
{
    continue_orphans(server);
    while (atomic_load(&server->adrift)) {
        pthread_mutex_lock(&server->lock);
        while (!atomic_load(&server->orphans_waiting))
            pthread_cond_wait(&server->changed, &server->lock);
        pthread_mutex_unlock(&server->lock);
        continue_orphans(server);
    }
}

// --- the way of a request

static struct http_request *request_new(struct http_server *server, struct MHD_Connection *connection, const char *method)
{
    struct http_request *request = mem_zero(sizeof *request);
    request->server = server;
    request->connection = connection;
    request->method = str_of(method);
    request->query_end = &request->query;
    return request;
}

static void tell_stop(struct http_server *server)
{
    if (!atomic_load(&server->stopping))
        return;
    pthread_mutex_lock(&server->lock);
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

static void drop_body(struct http_request *request)
{
    request->server->bodies -= request->body.n;
    buf_done(&request->body);
}

static void stream_free(struct http_stream *stream);

static void request_free(struct http_request *request)
{
    struct http_server *server = request->server;
    if (request->stream)
        stream_free(request->stream);
    if (request->response)
        MHD_destroy_response(request->response);
    drop_body(request);
    arena_done(&request->arena);
    mem_free(request);
    atomic_fetch_sub(&server->busy, 1);
    tell_stop(server);
}

static void run_next(struct http_request *request)
{
    void (*next)(struct http_request *, void *) = request->next;
    struct http_server *server = request->server;
    atomic_int *count = request->adrift ? &server->adrift : &server->suspended;
    request->next = NULL;
    next(request, request->state);
    atomic_fetch_sub(count, 1);
    tell_stop(server);
}

static enum MHD_Result hand_over(struct http_request *request)
{
    if (!request->response)
        return MHD_YES;
    enum MHD_Result done = MHD_queue_response(request->connection, (unsigned)request->status, request->response);
    MHD_destroy_response(request->response);
    request->response = NULL;
    return done;
}

// Until the headers are there, the library keeps for us how long the request's target is: up to what may not be in it. A space or
// control character the library would take as part of it, and at a NUL it would end early; the distance to the version behind it
// tells. The number is marked by its lowest bit, which no pointer has.
//
// A query with more parameters than the connection's memory can hold would leave the client without an answer for ever: the
// library makes one and then forgets that it did. So the query is ended here, in the library's own buffer and before it looks,
// and the next bit says so.
static void *on_uri(void *ctx, const char *uri, struct MHD_Connection *connection)
{
    size_t length = 0, count = 0;
    while ((unsigned char)uri[length] > ' ' && uri[length] != 0x7f)
        length++;
    char *query = strchr(uri, '?');
    for (const char *at = query; at && count <= QUERY_MAX; at = strchr(at + 1, '&'))
        count++;
    bool crowded = count > QUERY_MAX;
    if (crowded)
        query[1] = 0;
    return (void *)(length << 2 | (crowded ? 2 : 0) | 1);
}

static bool is_uri_length(const void *slot)
{
    return (uintptr_t)slot & 1;
}

static size_t uri_length(const void *slot)
{
    return (uintptr_t)slot >> 2;
}

static bool is_crowded(const void *slot)
{
    return (uintptr_t)slot & 2;
}

static void handle(struct http_request *request);
static enum MHD_Result begin(struct http_request *request, const char *url, const char *version, const void *slot);
static enum MHD_Result take_body(struct http_request *request, const char *bytes, size_t *n);

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *url, const char *method,
                                  const char *version, const char *upload, size_t *upload_size, void **slot)
{
    struct http_server *server = ctx;
    if (atomic_load_explicit(&server->orphans_waiting, memory_order_relaxed))
        continue_orphans(server);
    if (is_uri_length(*slot)) {
        const void *noted = *slot;
        struct http_request *fresh = *slot = request_new(server, connection, method);
        atomic_fetch_add(&server->busy, 1);
        return begin(fresh, url, version, noted);
    }
    struct http_request *request = *slot;
    if (*upload_size)
        return take_body(request, upload, upload_size);
    if (request->next)
        run_next(request);
    else if (!request->answered)
        handle(request);
    assert(request->answered || request->next);
    return hand_over(request);
}

static bool decode(struct http_request *request, const char *text, struct str *ret_text);

static enum MHD_Result add_query(void *ctx, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct http_request *request = ctx;
    struct pair *pair = arena_alloc(&request->arena, sizeof *pair);
    if (!decode(request, name, &pair->name) || !decode(request, value ? value : "", &pair->value))
        request->malformed = true;
    *request->query_end = pair;
    request->query_end = &pair->next;
    return MHD_YES;
}

static void refuse(struct http_request *request, enum err err, const char *detail)
{
    const struct http_server_config *config = &request->server->config;
    config->refuse(config->ctx, request, err, detail);
}

static bool is_token(struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
        if (!plain && !(c && strchr("!#$%&'*+.^_`|~", c)))
            return false;
    }
    return text.n > 0;
}

static bool has_control(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (((unsigned char)text.p[i] < 0x20 && text.p[i] != '\t') || text.p[i] == 0x7f)
            return true;
    return false;
}

static enum MHD_Result note_header(void *ctx, enum MHD_ValueKind kind, const char *name, size_t name_n, const char *value,
                                   size_t value_n)
{
    struct http_request *request = ctx;
    struct str key = {name, name_n}, text = {value, value_n};
    request->malformed |= name != request->line || !is_token(key) || has_control(text);
    request->line = value + value_n + 2;
    if (str_eq_nocase(key, STR(MHD_HTTP_HEADER_CONTENT_LENGTH))) {
        request->lengths++;
        request->length = strtoull(value, NULL, 10); // the library has refused what is not a number; too large a one saturates
    } else if (str_eq_nocase(key, STR(MHD_HTTP_HEADER_TRANSFER_ENCODING))) {
        request->encodings++;
        request->unknown_encoding |= !str_eq_nocase(text, STR("chunked"));
    } else if (str_eq_nocase(key, STR(MHD_HTTP_HEADER_HOST))) {
        request->hosts++;
    } else if (str_eq_nocase(key, STR(MHD_HTTP_HEADER_EXPECT))) {
        request->asks_first = true;
    }
    return MHD_YES;
}

static size_t head_size(struct http_request *request)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return info ? info->header_size : 0;
}

// Where the body ends must be beyond doubt, else a proxy in front might see other requests than we do.
//
// The library is lenient: it takes a space before a header's colon as part of the name (and then overlooks the length), ends a
// value at a NUL, joins lines that begin with a space, and takes a line feed alone for the end of a line. But it leaves the lines
// where they came, with two NULs for each CRLF between them. So each part must begin exactly where the one before it ended, from
// the method to the end of the head.
static void check_framing(struct http_request *request, const char *url, size_t url_length, const char *version)
{
    struct str method = request->method;
    bool old = str_is(str_of(version), "HTTP/1.0");
    request->malformed = !is_token(method) || url != method.p + method.n + 1 || url + url_length + 1 != version;
    request->line = version + strlen(version) + 2;
    MHD_get_connection_values_n(request->connection, MHD_HEADER_KIND, note_header, request);
    bool whole = request->line && request->line + 2 == method.p + head_size(request);
    request->malformed |= !whole || memcmp(request->line - 2, "\0\0\0", 4) != 0;
    request->closing = true;
    if (request->malformed)
        refuse(request, ERR_BAD_REQUEST,
               "The request line and each header end with CRLF, and have no space or control character where none may be.");
    else if (request->lengths + request->encodings > 1 || request->hosts > 1 || request->unknown_encoding)
        refuse(request, ERR_BAD_REQUEST,
               "Content-Length, Transfer-Encoding (chunked) and Host may come once, and only one of the first two.");
    else if (old ? request->encodings : !request->hosts)
        refuse(request, ERR_BAD_REQUEST, old ? "HTTP/1.0 has no Transfer-Encoding." : "HTTP/1.1 asks for the header Host.");
    else
        request->closing = false;
}

static void check_target(struct http_request *request, const char *url)
{
    request->malformed = !decode(request, url, &request->path);
    MHD_get_connection_values(request->connection, MHD_GET_ARGUMENT_KIND, add_query, request);
    if (request->malformed)
        refuse(request, ERR_BAD_REQUEST, "The path or the query has a percent sign that escapes nothing, or NUL.");
    request->malformed = false;
}

static void check_size(struct http_request *request)
{
    if (head_size(request) > HEADERS_MAX)
        refuse(request, ERR_HEADERS_TOO_LARGE, "The request line and the headers may have 16 KiB.");
}

// Once the server stops no request may begin to wait: the library cannot be taken down with one suspended.
static void handle(struct http_request *request)
{
    const struct http_server_config *config = &request->server->config;
    if (atomic_load(&request->server->stopping))
        refuse(request, ERR_STOPPING, "Try another server, or this one again in a while.");
    else
        config->handle(config->ctx, request);
}

static void refuse_too_large(struct http_request *request)
{
    char detail[ERR_WHY_MAX];
    snprintf(detail, sizeof detail, "The body may have %zu bytes.", request->body_max);
    refuse(request, ERR_TOO_LARGE, detail);
}

static enum MHD_Result begin(struct http_request *request, const char *url, const char *version, const void *slot)
{
    const struct http_server_config *config = &request->server->config;
    // First: whatever else is wrong, it is known whether this connection can go on.
    check_framing(request, url, uri_length(slot), version);
    if (!request->answered)
        check_target(request, url);
    if (!request->answered && is_crowded(slot))
        refuse(request, ERR_BAD_REQUEST, "The query has more than 64 parameters.");
    if (!request->answered)
        check_size(request);
    if (!request->answered)
        request->body_max = config->begin(config->ctx, request);
    if (!request->answered && request->length > request->body_max)
        refuse_too_large(request);
    request->body_until_ns = clock_mono_ns() + atomic_load(&request->server->body_timeout_ms) * INT64_C(1000000);
    if (!request->answered) {
        buf_reserve(&request->body, request->length < BODY_SMALL ? request->length : BODY_SMALL); // the rest when it comes
        return MHD_YES;
    }
    return request->closing || request->asks_first || request->length > DISCARD_MAX ? hand_over(request) : MHD_YES;
}

// Ends a request in the midst of its body, where the library has no way to answer.
static enum MHD_Result cut_off(struct http_request *request, enum err err, const char *detail)
{
    if (request->response)
        MHD_destroy_response(request->response);
    request->response = NULL;
    request->answered = false;
    request->headers = NULL;
    request->raw = true;
    refuse(request, err, detail);
    return MHD_NO;
}

// Whether more bytes of the body may be kept.
static void check_room(struct http_request *request, size_t more)
{
    struct http_server *server = request->server;
    if (more > request->body_max - request->body.n) {
        drop_body(request);
        refuse_too_large(request);
    } else if (request->body.n + more > BODY_SMALL && server->bodies + more > atomic_load(&server->bodies_max)) {
        drop_body(request);
        refuse(request, ERR_BUSY, "Too many large requests are on their way.");
    }
}

static void keep_body(struct http_request *request, struct str bytes)
{
    buf_put(&request->body, bytes);
    request->server->bodies += bytes.n;
}

static enum MHD_Result take_body(struct http_request *request, const char *bytes, size_t *n)
{
    if (clock_mono_ns() > request->body_until_ns)
        return cut_off(request, ERR_REQUEST_TIMEOUT, "The body did not arrive in time.");
    if (!request->answered)
        check_room(request, *n);
    if (!request->answered)
        keep_body(request, (struct str){bytes, *n});
    else if ((request->discarded += *n) > DISCARD_MAX)
        return cut_off(request, ERR_TOO_LARGE, "The body has no end.");
    *n = 0;
    return MHD_YES;
}

// The connection ends. A request that somebody still works for goes on without it.
static void leave(struct http_request *request)
{
    if (request->connection && request->next)
        request->method = arena_copy(&request->arena, request->method);
    request->connection = NULL;
    if (request->next)
        run_next(request);
    if (!request->next)
        request_free(request);
}

static void on_completed(void *ctx, struct MHD_Connection *connection, void **slot, enum MHD_RequestTerminationCode how)
{
    struct http_request *request = *slot;
    if (!request || is_uri_length(request))
        return;
    *slot = NULL;
    if (how == MHD_REQUEST_TERMINATED_TIMEOUT_REACHED && !request->answered && !request->next)
        cut_off(request, ERR_REQUEST_TIMEOUT, "The body did not arrive in time.");
    leave(request);
}

// Orphans are continued when the HTTP thread next comes by, at the latest when the server stops.
static void continue_orphans(struct http_server *server)
{
    struct list orphans, *node;
    list_init(&orphans);
    while (atomic_exchange(&server->orphans_waiting, false)) {
        mailbox_take(&server->orphans, &orphans);
        while ((node = list_take(&orphans)))
            leave(list_entry(node, struct http_request, link));
    }
}

// --- answers

static void add_headers(struct http_request *request, const char *type)
{
    if (type)
        MHD_add_response_header(request->response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    for (struct pair *pair = request->headers; pair; pair = pair->next)
        MHD_add_response_header(request->response, pair->name.p, pair->value.p);
    if (request->closing || atomic_load_explicit(&request->server->quiesced, memory_order_relaxed))
        MHD_add_response_header(request->response, MHD_HTTP_HEADER_CONNECTION, "close");
}

static void make_response(struct http_request *request, const char *type, struct buf *body)
{
    if (body->n) {
        request->response = MHD_create_response_from_buffer(body->n, body->p, MHD_RESPMEM_MUST_FREE);
    } else {
        buf_done(body);
        request->response = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    }
    if (!request->response)
        abort();
    *body = (struct buf){0};
    add_headers(request, type);
}

void http_reply_file(struct http_request *request, const char *type, int fd, uint64_t size)
{
    assert(!request->answered && !request->raw);
    request->answered = true;
    request->status = MHD_HTTP_OK;
    if (!request->connection) {
        close(fd);
        return;
    }
    request->response = MHD_create_response_from_fd64(size, fd);
    if (!request->response)
        abort();
    add_headers(request, type);
}

// --- streams

static bool client_left(const struct http_stream *stream)
{
    char byte;
    return recv(stream->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static bool ending(const struct http_stream *stream)
{
    return atomic_load(&stream->server->quiesced);
}

// True: it sleeps from now on. False: something came meanwhile.
static bool fall_asleep(struct http_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    bool sleeps = !stream->woken && !ending(stream);
    stream->woken = false;
    stream->asleep = sleeps;
    if (sleeps)
        MHD_suspend_connection(stream->connection);
    pthread_mutex_unlock(&stream->lock);
    return sleeps;
}

static ssize_t on_stream(void *ctx, uint64_t at, char *to, size_t max)
{
    struct http_stream *stream = ctx;
    if (client_left(stream))
        return MHD_CONTENT_READER_END_WITH_ERROR;
    while (!ending(stream)) {
        long n = stream->ops->read(stream->ctx, to, max);
        if (n)
            return n > 0 ? n : MHD_CONTENT_READER_END_OF_STREAM;
        if (fall_asleep(stream))
            return 0;
    }
    return MHD_CONTENT_READER_END_OF_STREAM;
}

struct http_stream *http_reply_stream(struct http_request *request, const char *type, const struct http_stream_ops *ops,
                                      void *ctx)
{
    enum { BLOCK = 16 * 1024 };
    assert(!request->answered && request->connection && !request->raw);
    struct http_server *server = request->server;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct http_stream *stream = mem_zero(sizeof *stream);
    *stream = (struct http_stream){
        .server = server, .connection = request->connection, .fd = info ? info->connect_fd : -1, .ops = ops, .ctx = ctx};
    pthread_mutex_init(&stream->lock, NULL);
    pthread_mutex_lock(&server->lock);
    list_append(&server->streams, &stream->link);
    pthread_mutex_unlock(&server->lock);
    request->stream = stream;
    request->answered = true;
    request->status = MHD_HTTP_OK;
    request->response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, on_stream, stream, NULL);
    if (!request->response)
        abort();
    add_headers(request, type);
    return stream;
}

// closed() is called with no lock held: it waits for those who are just waking this stream.
static void stream_free(struct http_stream *stream)
{
    struct http_server *server = stream->server;
    pthread_mutex_lock(&server->lock);
    list_remove(&stream->link);
    pthread_mutex_unlock(&server->lock);
    stream->ops->closed(stream->ctx);
    pthread_mutex_destroy(&stream->lock);
    mem_free(stream);
}

void http_stream_wake(struct http_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    stream->woken = !stream->asleep;
    if (stream->asleep)
        MHD_resume_connection(stream->connection);
    stream->asleep = false;
    pthread_mutex_unlock(&stream->lock);
}

void http_stream_cut(struct http_stream *stream)
{
    shutdown(stream->fd, SHUT_RDWR);
    http_stream_wake(stream);
}

static void for_all_streams(struct http_server *server, void (*each)(struct http_stream *stream))
{
    pthread_mutex_lock(&server->lock);
    list_each (&server->streams, link)
        each(list_entry(link, struct http_stream, link));
    pthread_mutex_unlock(&server->lock);
}

// Best effort, on a connection that is closed right after.
static void send_raw(struct http_request *request, const char *type, struct buf *body)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    buf_auto struct buf text = {0};
    buf_printf(&text, "HTTP/1.1 %d %s\r\n", request->status, MHD_get_reason_phrase_for((unsigned)request->status));
    if (type)
        buf_printf(&text, "Content-Type: %s\r\n", type);
    for (struct pair *pair = request->headers; pair; pair = pair->next)
        buf_printf(&text, "%s: %s\r\n", pair->name.p, pair->value.p);
    buf_printf(&text, "Content-Length: %zu\r\nConnection: close\r\n\r\n", body->n);
    buf_put(&text, buf_str(body));
    buf_done(body);
    if (info && send(info->connect_fd, text.p, text.n, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        return; // it left, which is as well
}

// --- escapes

static size_t leave_escapes(void *ctx, struct MHD_Connection *connection, char *text)
{
    return strlen(text);
}

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool decode(struct http_request *request, const char *text, struct str *ret_text)
{
    struct str copy = arena_copy(&request->arena, str_of(text));
    char *to = (char *)copy.p;
    for (const char *at = copy.p, *end = copy.p + copy.n; at < end; at++) {
        int c = (unsigned char)*at;
        if (c == '%') {
            int high = hex(at[1]), low = high < 0 ? -1 : hex(at[2]);
            c = high < 0 || low < 0 ? 0 : high << 4 | low;
            if (!c)
                return false;
            at += 2;
        }
        *to++ = (char)c;
    }
    ret_text->p = copy.p;
    *to = 0;
    ret_text->n = (size_t)(to - copy.p);
    return true;
}

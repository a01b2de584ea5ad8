// The HTTP server: requests in, answers out.
//
// Layer: port. One thread of its own, the HTTP thread, calls all handlers. A handler answers at once with http_reply(), or
// asks to be continued with http_wait(); any thread may then call http_resume(), and the continuation runs on the HTTP thread.
// Exactly one reply for each request. The request and its arena live until the answer was sent.
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#include <sys/socket.h>

struct http_server;
struct http_request;

struct http_server_config {
    const char *listen; // "127.0.0.1:7070", "[::1]:7070"; port 0: any free one
    int socket;         // one that listens already and is the server's from now on, in place of `listen`; 0: none
    int bound;          // one that http_bind() (listen.h) gave for `listen`, and is the server's from now on; 0: none
    int connections_max;
    int reserve_max;     // connections more, for newcomers when those are taken: see http_crowded(); 0: 16
    int idle_timeout_s;  // of a connection that sends or takes nothing
    int body_timeout_ms; // from the headers to the end of the body, else `request_timeout`; 0: 30 s
    // Bytes of body kept for all requests together, else `busy`; small ones are always taken. And as many of answers that were
    // not taken yet, else the connection that moved least recently is closed. 0: 48 MiB.
    size_t bodies_max;
    // Called when the headers are there, before any body. Returns how many bytes of body the request may have (0: none), or
    // answers itself. A larger body is then refused with `too_large` and never kept: it is read past, up to a limit, only so that
    // a client that sends before it listens gets its answer; beyond that limit, or when the client asks first, it is not read at
    // all.
    size_t (*begin)(void *ctx, struct http_request *request);
    void (*handle)(void *ctx, struct http_request *request); // the body is complete
    // Writes the server's own refusals (`too_large`, `headers_too_large`, `request_timeout`, `bad_request`, `busy`) in the API's
    // form.
    void (*refuse)(void *ctx, struct http_request *request, enum err err, const char *detail);
    void *ctx;
};

err_check enum err http_server_start(struct http_server **ret_server, const struct http_server_config *config,
                                     char why[ERR_WHY_MAX]);
int http_server_port(const struct http_server *server);
bool http_server_address(const struct http_server *server, struct sockaddr_storage *ret_address, socklen_t *ret_size);
// From now on, see the config. Any thread.
void http_server_limit_bodies(struct http_server *server, int body_timeout_ms, size_t bodies_max);
// No new connections; answers carry Connection: close; streams end. Newcomers are refused, but wait for the next server if the
// socket was another's.
void http_server_quiesce(struct http_server *server);
// Waits until every waiting request was resumed by somebody, and a little for answers still being sent; accepts NULL.
void http_server_stop(struct http_server *server);

// Is the request in the reserve, because all connections are taken? Then only what tells how the server is should be answered,
// everything else refused as `busy`. The connection is closed behind either.
bool http_crowded(struct http_request *request);
struct str http_method(struct http_request *request);
struct str http_host(struct http_request *request);                     // who is asked; .p == NULL: it was not said
struct str http_path(struct http_request *request);                     // as it came, without query; what is escaped can be read
struct str http_query(struct http_request *request, const char *name);  // .p == NULL when absent
struct str http_header(struct http_request *request, const char *name); // .p == NULL when absent
size_t http_header_count(struct http_request *request, const char *name);    // http_header() gives the first of them
struct str http_header_list(struct http_request *request, const char *name); // the same, but all that came, with commas between
struct str http_body(struct http_request *request);
struct arena *http_arena(struct http_request *request);

// For every query parameter, in order. Stops when `each` returns false, and then returns false.
bool http_query_each(struct http_request *request, bool (*each)(void *ctx, struct str name, struct str value), void *ctx);

struct http_file {
    int fd;
    uint64_t size;
    void (*closed)(void *ctx);
    void *ctx;
};

void http_header_set(struct http_request *request, const char *name, const char *value); // of the answer
void http_reply(struct http_request *request, int status, const char *type,
                struct buf *body); // takes the bytes of `body`, which may be NULL

// Answers a HEAD with 200, without saying how long the body is: for what would have to be made to know it.
void http_reply_head(struct http_request *request, const char *type);

// Answers 200 with a file from its beginning, and closes it when it is sent, or the client has left or is too slow: after the
// idle timeout it must have taken 256 KiB for each second. Then, or at once, closed() is called, on the HTTP thread.
void http_reply_file(struct http_request *request, const char *type, const struct http_file *file);
// An answer without an end. read() is called on the HTTP thread whenever there is room to send: it copies up to `max` bytes and
// returns how many; 0: nothing now, it sleeps until it is woken; -1: that was all. closed() comes last, on the HTTP thread,
// whatever happened; until then the stream may be woken and cut. When the server is quiesced all streams end.
struct http_stream;
struct http_stream_ops {
    long (*read)(void *ctx, char *to, size_t max);
    void (*closed)(void *ctx);
};
struct http_stream *http_reply_stream(struct http_request *request, const char *type, const struct http_stream_ops *ops,
                                      void *ctx);
void http_stream_wake(struct http_stream *stream); // any thread; never from read() or closed()
void http_stream_cut(struct http_stream *stream);  // the same: ends it, even if the client does not take what was sent

// To be called before the work is handed out that will resume it. `next` is called exactly once for each wait, even if the client
// has left meanwhile: the reply then goes nowhere.
void http_wait(struct http_request *request, void (*next)(struct http_request *request, void *state), void *state);
void http_resume(struct http_request *request); // any thread, once for each http_wait

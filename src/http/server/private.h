// The server's own record, which its files share.
//
// Layer: port (http/server), private to this folder. The HTTP thread owns everything, but for the first part: that is written by
// the thread that starts and stops the server, is atomic, or is a mailbox.
#pragma once
#include "base/data/wheel.h"
#include "base/mailbox.h"
#include "http/server/body.h"
#include "http/server/places.h"
#include "http/server/reply.h"
#include "http/server/server.h"
#include "http/server/unsent.h"
#include "http/wake_fd.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    SERVER_READ_SIZE = 64 * 1024,
    SERVER_STREAM_BLOCK = 16 * 1024,
    SERVER_BUFFER_KEPT = 16 * 1024, // capacity that an idle connection may keep
    SERVER_SLEEP_MS = 60000,        // when there is nothing to wait for
};

struct http_server {
    struct wake_fd wake;
    struct http_server_config config; // never changes
    struct body_limits limits;
    struct mailbox resumed, woken; // requests; streams
    atomic_bool quiesced, stopping;
    atomic_int resuming; // threads within http_resume()
    pthread_t thread;
    int listen_fd, port, epoll_fd;
    // From here on the HTTP thread's.
    int64_t now_ns;
    int64_t deaf_until_ns; // until when newcomers are not listened to; TIME_NEVER: never again
    bool deaf;
    int64_t stop_at_ns; // when answers that were not taken are no longer waited for; 0: it is not stopping
    struct wheel timers;
    struct list peers;   // all that are alive
    struct list dead;    // until the end of the turn
    struct list again;   // those that have more to be read already
    struct list streams; // all that are open
    int request_count;
    struct places places;
    struct unsent unsent;
    size_t body_bytes; // of all requests together
    struct reply_date date;
    char read[SERVER_READ_SIZE], block[SERVER_STREAM_BLOCK];
};

static inline bool server_is_quiesced(const struct http_server *server)
{
    return atomic_load_explicit(&server->quiesced, memory_order_relaxed);
}

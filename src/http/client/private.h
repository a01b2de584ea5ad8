// The client's own record, which its files share.
//
// Layer: port (http/client), private to this folder. Everything belongs to the thread that polls, but for the waker.
#pragma once
#include "base/data/wheel.h"
#include "http/client/client.h"
#include "http/client/conn.h"
#include "http/client/resolve.h"
#include "http/wake_fd.h"

enum { CLIENT_READ_SIZE = 64 * 1024 };

struct http_client {
    struct wake_fd wake;
    int epoll_fd;
    struct conn_pool pool;
    struct resolver *resolver;
    int64_t now_ns;
    int64_t resolve_due_ns; // when the resolver wants its turn
    struct wheel timers;    // of calls
    struct list ended;      // calls that are to be told
    struct list free;       // calls that may be used again
    int free_count, call_count;
    char read[CLIENT_READ_SIZE];
};

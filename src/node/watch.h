// Looks after the server from outside its loops, and tells the service manager: ready, its status, that it lives.
// Layer: node. The main thread's.
//
// A sign of life is sent only when since the last one every loop has turned and the HTTP thread has answered a request. So a
// process in which one of them is stuck falls silent, and is started anew.
#pragma once
#include "base/buf.h"
#include "node/loop.h"
#include "node/notify.h"

enum { WATCH_LOOPS_MAX = 4 };

// A connection of our own to the server, kept open, with one request on its way.
struct probe {
    struct sockaddr_storage to;
    socklen_t to_size;
    int fd; // -1: to be opened
    bool asked;
    char answer[4096];
    size_t answer_n;
};

struct watch {
    struct notify notify;
    struct probe probe;
    const struct loop *loops[WATCH_LOOPS_MAX];
    uint64_t turns[WATCH_LOOPS_MAX]; // as they were at the last sign of life
    size_t loop_count;
    bool answered;    // the HTTP thread, since the last sign of life
    bool ready;       // it was said
    char status[512]; // as it was said last
};

void watch_init(struct watch *ret_watch); // reads the environment
void watch_done(struct watch *watch);

// What is watched: call when the server listens.
void watch_server(struct watch *watch, const struct sockaddr_storage *address, socklen_t address_size);
void watch_loop(struct watch *watch, const struct loop *loop);

// Does what is due, never waits. `status` is one line about how it is. Returns after how many ms to call it again; < 0: never,
// nobody wants to know.
int64_t watch_turn(struct watch *watch, const char *status);

void watch_reloading(struct watch *watch);
void watch_reloaded(struct watch *watch);
void watch_stopping(struct watch *watch, int64_t at_most_ms); // closes the connection too

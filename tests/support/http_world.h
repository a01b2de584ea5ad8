// An HTTP server to try, over real sockets on loopback: its handler answers by path, and clients talk to it.
#pragma once
#include "http/server/server.h"

#include <pthread.h>

enum { BODY_MAX = 1000, LARGE = 200 * 1024, SMALL = 50 * 1024, HELD_MAX = 16, FEW = 4, RESERVE = 2, VAST = 32 << 20 };

// The server under test and the requests its handler holds.
struct world {
    struct http_server *server;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct http_request *held[HELD_MAX];
    int held_count, ended;
    struct http_stream *stream; // the one that was opened last, until it is closed
    struct buf told;            // what it is to send; "!" ends it
    bool endless;               // it never runs dry
    int closed;
};

extern struct world world;

int setup(void **state); // starts it, as start(60, 0) does
int teardown(void **state);
#define promise(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
void start(int idle_timeout_s, int body_timeout_ms);
void start_with(int connections_max, int idle_timeout_s, int body_timeout_ms);

// Requests that the handler holds: the tests say when they go on.
struct http_request *take_held(void);
void *resume_held(void *arg); // for a thread
void wait_until_held(int count);
void wait_until_ended(int count);

// A client. hear() reads one whole answer.
struct answer {
    int status; // 0: the connection was closed
    bool closes;
    char head[4096], body[4096];
};
bool reach(int fd);
int dial(void);
void say(int fd, const char *text);
void ask(int fd, const char *path);
int get(const char *path); // dials and asks
bool read_exactly(int fd, char *to, size_t n);
struct answer hear(int fd);
void expect_answer(int fd, int status, const char *body);
void expect_closed(int fd);

// Connections to targets, and those that are kept to be used again.
//
// Layer: port (http), part of the client. One thread. A connection leads to one address and port, and with TLS to one name there;
// a call to such a place gets the connection that became idle last, or a new one. Nothing here blocks: epoll says when to go
// on, with the connection as its data.
#pragma once
#include "base/data/list.h"
#include "base/data/map.h"
#include "http/client/addr.h"
#include "http/client/tls.h"

enum { CONN_AGAIN = -1, CONN_BROKEN = -2 };

// Where to.
struct conn_place {
    union addr address; // its port is `port`
    uint16_t port;
    bool tls;
    const char *host; // with TLS: who must answer
    bool host_is_address;
};

struct conn {
    struct list link, age; // idle: among those of its place, and among all
    struct conn_origin *origin;
    enum { CONN_CONNECTING, CONN_SHAKING, CONN_OPEN, CONN_IDLE, CONN_DEAD } state;
    int fd;
    struct tls *tls;  // NULL: none
    uint32_t watched; // as epoll knows it
    bool wants_out;   // TLS cannot go on before something was sent
    bool reused;      // it has carried an answer before
    int64_t idle_ns;  // since when
    void *user;       // whose it is while it is not idle
};

struct conn_pool {
    int epoll_fd;
    int idle_max, idle_count;
    struct tls_client *tls;
    struct map origins; // by the hash of their place
    struct list idle;   // oldest first
    struct list dead;   // freed by the next turn: events may still name them
};

err_check enum err conn_pool_init(struct conn_pool *pool, int epoll_fd, int idle_max, char why[ERR_WHY_MAX]);
void conn_pool_done(struct conn_pool *pool); // no connection may be in use
void conn_pool_turn(struct conn_pool *pool, int64_t now_ns);

// An idle connection (CONN_OPEN) or a new one, for `user`. NULL: none can be made, `why`.
struct conn *conn_get(struct conn_pool *pool, const struct conn_place *place, int64_t now_ns, void *user, char why[ERR_WHY_MAX]);
void conn_keep(struct conn_pool *pool, struct conn *conn, int64_t now_ns); // it is idle now
void conn_drop(struct conn_pool *pool, struct conn *conn);                 // closed, and freed later
bool conn_is_quiet(struct conn *conn); // an idle one: has the other side said nothing, not even that it leaves?

// A connection that is not open yet goes on. 0: it is open; CONN_AGAIN; CONN_BROKEN: `why`, and by `state` whether the peer was
// not reached or TLS failed.
int conn_advance(struct conn_pool *pool, struct conn *conn, char why[ERR_WHY_MAX]);

// How many bytes; 0: the other side has ended it; CONN_AGAIN: nothing now; CONN_BROKEN: errno says why, or is 0 when it was ended
// without the word that TLS asks for.
ssize_t conn_send(struct conn *conn, struct str bytes);
ssize_t conn_recv(struct conn *conn, char *bytes, size_t n);

void conn_watch(struct conn_pool *pool, struct conn *conn,
                bool writable); // to be told when it is readable, and if wished writable

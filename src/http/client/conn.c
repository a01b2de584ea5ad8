// Connections stay in epoll while they are idle, waiting for what they will wait for in the next call: so a call on a kept
// connection costs no epoll_ctl. A kept one is used for REUSE_NS at most, since many servers close theirs after 5 s, and looked
// at before it is used if it was idle for longer than a loop takes: a request on a connection that is closed just then is lost,
// and nobody can tell whether it was read.
#include "http/client/conn.h"

#include "base/data/hash.h"
#include "base/mem.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { KEY_MAX = 320 };
static const int64_t REUSE_NS = INT64_C(4000000000), LOOK_NS = 5000000;

// A place, as long as there is a connection to it.
struct conn_origin {
    uint64_t hash;
    struct list idle; // used last at its end
    size_t count;     // of connections
    size_t key_n;
    char key[KEY_MAX];
};

enum err conn_pool_init(struct conn_pool *pool, int epoll_fd, int idle_max, char why[ERR_WHY_MAX])
{
    *pool = (struct conn_pool){.epoll_fd = epoll_fd, .idle_max = idle_max};
    list_init(&pool->idle);
    list_init(&pool->dead);
    return tls_client_new(&pool->tls, why);
}

static void free_dead(struct conn_pool *pool)
{
    struct list *node;
    while ((node = list_take(&pool->dead)))
        mem_free(list_entry(node, struct conn, link));
}

static void drop_oldest(struct conn_pool *pool)
{
    conn_drop(pool, list_entry(pool->idle.next, struct conn, age));
}

void conn_pool_done(struct conn_pool *pool)
{
    if (!pool->tls)
        return;
    while (pool->idle_count)
        drop_oldest(pool);
    free_dead(pool);
    map_done(&pool->origins);
    tls_client_free(pool->tls);
}

void conn_pool_turn(struct conn_pool *pool, int64_t now_ns)
{
    while (pool->idle_count && now_ns - list_entry(pool->idle.next, struct conn, age)->idle_ns >= REUSE_NS)
        drop_oldest(pool);
    free_dead(pool);
}

// ---- places

static size_t put_key(char *key, size_t at, const void *bytes, size_t n)
{
    memcpy(key + at, bytes, n);
    return at + n;
}

// All that two connections must have in common to be used for each other.
static size_t make_key(const struct conn_place *place, char ret_key[KEY_MAX])
{
    bool v6 = place->address.any.sa_family == AF_INET6;
    size_t n = put_key(ret_key, 0, &place->address.any.sa_family, sizeof place->address.any.sa_family);
    n = put_key(ret_key, n, &place->port, sizeof place->port);
    n = put_key(ret_key, n, &place->tls, sizeof place->tls);
    if (v6)
        n = put_key(ret_key, n, &place->address.v6.sin6_addr, sizeof place->address.v6.sin6_addr);
    else
        n = put_key(ret_key, n, &place->address.v4.sin_addr, sizeof place->address.v4.sin_addr);
    size_t host_n = place->tls ? strlen(place->host) : 0;
    return put_key(ret_key, n, place->host, host_n < KEY_MAX - n ? host_n : KEY_MAX - n);
}

// Two places with one hash share nothing but that: the second has no origin, and its connections are not kept.
static struct conn_origin *find_origin(struct conn_pool *pool, const struct conn_place *place)
{
    char key[KEY_MAX];
    size_t n = make_key(place, key);
    uint64_t hash = hash_bytes(key, n);
    struct conn_origin *origin = map_get(&pool->origins, (int64_t)hash);
    if (origin)
        return origin->key_n == n && memcmp(origin->key, key, n) == 0 ? origin : NULL;
    origin = mem_zero(sizeof *origin);
    origin->hash = hash;
    origin->key_n = n;
    memcpy(origin->key, key, n);
    list_init(&origin->idle);
    map_put(&pool->origins, (int64_t)hash, origin);
    return origin;
}

static void forget_unused(struct conn_pool *pool, struct conn_origin *origin)
{
    if (!origin || origin->count)
        return;
    map_remove(&pool->origins, (int64_t)origin->hash);
    mem_free(origin);
}

// ---- one connection

void conn_watch(struct conn_pool *pool, struct conn *conn, bool writable)
{
    // While TLS has to send first, what there is to read would only wake us in vain.
    uint32_t want = conn->wants_out ? EPOLLOUT : EPOLLIN | EPOLLRDHUP | (writable ? EPOLLOUT : 0u);
    if (conn->watched == want)
        return;
    struct epoll_event event = {.events = want, .data.ptr = conn};
    epoll_ctl(pool->epoll_fd, conn->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, conn->fd, &event);
    conn->watched = want;
}

static void leave_idle(struct conn_pool *pool, struct conn *conn)
{
    list_remove(&conn->link);
    list_remove(&conn->age);
    pool->idle_count--;
}

static void close_conn(struct conn_pool *pool, struct conn *conn)
{
    if (conn->state == CONN_IDLE)
        leave_idle(pool, conn);
    tls_free(conn->tls);
    close(conn->fd); // which takes it out of epoll
    if (conn->origin)
        conn->origin->count--;
    conn->state = CONN_DEAD;
    list_append(&pool->dead, &conn->link);
}

static struct conn *take_idle(struct conn_pool *pool, struct conn_origin *origin, int64_t now_ns)
{
    while (!list_empty(&origin->idle)) {
        struct conn *conn = list_entry(origin->idle.prev, struct conn, link);
        int64_t idle_ns = now_ns - conn->idle_ns;
        if (idle_ns < REUSE_NS && (idle_ns < LOOK_NS || conn_is_quiet(conn))) {
            leave_idle(pool, conn);
            conn->state = CONN_OPEN;
            conn->reused = true;
            return conn;
        }
        close_conn(pool, conn);
    }
    return NULL;
}

// When there are no descriptors left, one is that of a connection nobody uses.
static int new_socket(struct conn_pool *pool, int family)
{
    int kind = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, fd = socket(family, kind, IPPROTO_TCP);
    if (fd >= 0 || (errno != EMFILE && errno != ENFILE) || !pool->idle_count)
        return fd;
    drop_oldest(pool);
    return socket(family, kind, IPPROTO_TCP);
}

static struct conn *conn_open(struct conn_pool *pool, const struct conn_place *place, char why[ERR_WHY_MAX])
{
    union addr to = place->address;
    bool v6 = to.any.sa_family == AF_INET6;
    if (v6)
        to.v6.sin6_port = htons(place->port);
    else
        to.v4.sin_port = htons(place->port);
    int fd = new_socket(pool, to.any.sa_family);
    if (fd < 0 || (connect(fd, &to.any, v6 ? sizeof to.v6 : sizeof to.v4) && errno != EINPROGRESS)) {
        snprintf(why, ERR_WHY_MAX, "%s", strerror(errno));
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &(int){1}, sizeof(int));
    struct conn *conn = mem_zero(sizeof *conn);
    conn->fd = fd;
    if (place->tls && !(conn->tls = tls_new(pool->tls, fd, place->host, place->host_is_address))) {
        snprintf(why, ERR_WHY_MAX, "TLS cannot be begun");
        close(fd);
        mem_free(conn);
        return NULL;
    }
    return conn;
}

struct conn *conn_get(struct conn_pool *pool, const struct conn_place *place, int64_t now_ns, void *user, char why[ERR_WHY_MAX])
{
    struct conn_origin *origin = find_origin(pool, place);
    struct conn *conn = origin ? take_idle(pool, origin, now_ns) : NULL;
    if (!conn && (conn = conn_open(pool, place, why))) {
        conn->origin = origin;
        if (origin)
            origin->count++;
        conn_watch(pool, conn, true);
    }
    if (conn)
        conn->user = user;
    else
        forget_unused(pool, origin);
    return conn;
}

void conn_keep(struct conn_pool *pool, struct conn *conn, int64_t now_ns)
{
    if (!conn->origin) {
        conn_drop(pool, conn);
        return;
    }
    conn->state = CONN_IDLE;
    conn->idle_ns = now_ns;
    conn->user = NULL;
    conn->wants_out = false;
    conn_watch(pool, conn, false);
    list_append(&conn->origin->idle, &conn->link);
    list_append(&pool->idle, &conn->age);
    if (++pool->idle_count > pool->idle_max)
        drop_oldest(pool);
}

void conn_drop(struct conn_pool *pool, struct conn *conn)
{
    close_conn(pool, conn);
    forget_unused(pool, conn->origin);
}

bool conn_is_quiet(struct conn *conn)
{
    char byte;
    if (conn->tls) // what it says of its own is no concern of ours
        return conn_recv(conn, &byte, 1) == CONN_AGAIN;
    return recv(conn->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

int conn_advance(struct conn_pool *pool, struct conn *conn, char why[ERR_WHY_MAX])
{
    if (conn->state == CONN_CONNECTING) {
        int error = 0;
        getsockopt(conn->fd, SOL_SOCKET, SO_ERROR, &error, &(socklen_t){sizeof error});
        if (error) {
            snprintf(why, ERR_WHY_MAX, "%s", strerror(error));
            return CONN_BROKEN;
        }
        conn->state = CONN_SHAKING;
    }
    int shaken = conn->tls ? tls_shake(conn->tls, why) : 0;
    if (shaken == TLS_FAILED)
        return CONN_BROKEN;
    if (shaken) {
        conn_watch(pool, conn, shaken == TLS_WANT_WRITE);
        return CONN_AGAIN;
    }
    conn->state = CONN_OPEN;
    return 0;
}

// What TLS and a plain socket say, in one way.
static ssize_t told(struct conn *conn, ssize_t result)
{
    conn->wants_out = conn->tls && result == TLS_WANT_WRITE;
    if (!result)
        errno = 0;
    if (result >= 0)
        return result;
    bool again = conn->tls ? result != TLS_FAILED : errno == EAGAIN || errno == EINTR;
    return again ? CONN_AGAIN : CONN_BROKEN;
}

ssize_t conn_send(struct conn *conn, struct str bytes)
{
    return told(conn, conn->tls ? tls_send(conn->tls, bytes) : send(conn->fd, bytes.p, bytes.n, MSG_NOSIGNAL));
}

ssize_t conn_recv(struct conn *conn, char *bytes, size_t n)
{
    return told(conn, conn->tls ? tls_recv(conn->tls, bytes, n) : recv(conn->fd, bytes, n, 0));
}

// See proxy.h. One thread moves the bytes of all connections.
#include "proxy.h"

#include "base/buf.h"
#include "base/mem.h"

#include <arpa/inet.h>
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PAIRS_MAX = 32, CHUNK = 65536 };

struct pair {
    int client, server; // -1: free
    bool committing;    // the answer to come is to be lost
};

struct proxy {
    int listener, port, to_port;
    pthread_t thread;
    atomic_bool stopping, cut_commit;
    atomic_int syncs_left; // 0: not counted
    struct pair pairs[PAIRS_MAX];
};

static void end_pair(struct pair *pair)
{
    close(pair->client);
    close(pair->server);
    *pair = (struct pair){-1, -1, false};
}

static void accept_pair(struct proxy *proxy)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)proxy->to_port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int client = accept(proxy->listener, NULL, NULL), server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    for (int i = 0; i < PAIRS_MAX && client >= 0; i++)
        if (proxy->pairs[i].client < 0 && connect(server, (struct sockaddr *)&to, sizeof to) == 0) {
            proxy->pairs[i] = (struct pair){client, server, false};
            return;
        }
    close(client);
    close(server);
}

static bool send_all(int fd, const char *bytes, size_t n)
{
    while (n) {
        ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        bytes += sent;
        n -= (size_t)sent;
    }
    return true;
}

static const char sync_bytes[5] = {'S', 0, 0, 0, 4};

// How much of what the client sent is to be passed on: all, or what lies before the Sync that is to be lost.
static size_t pass_syncs(struct proxy *proxy, const char *bytes, size_t n)
{
    const char *at = bytes;
    while (proxy->syncs_left > 0 && (at = memmem(at, n - (size_t)(at - bytes), sync_bytes, sizeof sync_bytes))) {
        if (atomic_fetch_sub(&proxy->syncs_left, 1) == 1)
            return (size_t)(at - bytes);
        at += sizeof sync_bytes;
    }
    return n;
}

static bool from_client(struct proxy *proxy, struct pair *pair, char *bytes)
{
    ssize_t got = recv(pair->client, bytes, CHUNK, 0);
    if (got <= 0)
        return false;
    size_t pass = pass_syncs(proxy, bytes, (size_t)got);
    if (memmem(bytes, pass, "COMMIT", 7) && atomic_exchange(&proxy->cut_commit, false))
        pair->committing = true;
    return send_all(pair->server, bytes, pass) && pass == (size_t)got;
}

static bool from_server(struct pair *pair, char *bytes)
{
    ssize_t got = recv(pair->server, bytes, CHUNK, 0);
    if (got <= 0)
        return false;
    // The answer of COMMIT may come behind answers of what was sent before it.
    if (pair->committing && memmem(bytes, (size_t)got, "COMMIT", 7))
        return false;
    return send_all(pair->client, bytes, (size_t)got);
}

static void *proxy_main(void *ctx)
{
    struct proxy *proxy = ctx;
    char *bytes = mem_alloc(CHUNK);
    while (!proxy->stopping) {
        struct pollfd fds[1 + 2 * PAIRS_MAX] = {{.fd = proxy->listener, .events = POLLIN}};
        for (int i = 0; i < PAIRS_MAX; i++) {
            fds[1 + 2 * i] = (struct pollfd){.fd = proxy->pairs[i].client, .events = POLLIN};
            fds[2 + 2 * i] = (struct pollfd){.fd = proxy->pairs[i].server, .events = POLLIN};
        }
        poll(fds, 1 + 2 * PAIRS_MAX, 20);
        for (int i = 0; i < PAIRS_MAX; i++)
            if ((fds[1 + 2 * i].revents && !from_client(proxy, &proxy->pairs[i], bytes)) ||
                (fds[2 + 2 * i].revents && !from_server(&proxy->pairs[i], bytes)))
                end_pair(&proxy->pairs[i]);
        if (fds[0].revents)
            accept_pair(proxy);
    }
    mem_free(bytes);
    return NULL;
}

struct proxy *proxy_start(int to_port)
{
    struct proxy *proxy = mem_zero(sizeof *proxy);
    struct sockaddr_in on = {.sin_family = AF_INET};
    socklen_t size = sizeof on;
    on.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    proxy->to_port = to_port;
    proxy->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    for (int i = 0; i < PAIRS_MAX; i++)
        proxy->pairs[i] = (struct pair){-1, -1, false};
    int failed = bind(proxy->listener, (struct sockaddr *)&on, sizeof on) || listen(proxy->listener, 16) ||
                 getsockname(proxy->listener, (struct sockaddr *)&on, &size) ||
                 pthread_create(&proxy->thread, NULL, proxy_main, proxy);
    assert(!failed);
    proxy->port = ntohs(on.sin_port);
    return proxy;
}

int proxy_port(const struct proxy *proxy)
{
    return proxy->port;
}

void proxy_stop(struct proxy *proxy)
{
    proxy->stopping = true;
    pthread_join(proxy->thread, NULL);
    for (int i = 0; i < PAIRS_MAX; i++)
        if (proxy->pairs[i].client >= 0)
            end_pair(&proxy->pairs[i]);
    close(proxy->listener);
    mem_free(proxy);
}

void proxy_cut_after_commit(struct proxy *proxy)
{
    proxy->cut_commit = true;
}

void proxy_cut_at_sync(struct proxy *proxy, int n)
{
    proxy->syncs_left = n;
}

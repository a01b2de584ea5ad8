// See proxy.h. One thread moves the bytes of all connections.
#include "proxy.h"

#include "base/buf.h"
#include "base/mem.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PAIRS_MAX = 32, CHUNK = 65536, NAMES_MAX = 1024 };

struct pair {
    int client, server;                                          // -1: free
    bool greeted;                                                // the message that begins a connection has passed
    bool committing;                                             // the answer to come is to be lost
    struct buf held;                                             // what the client sent and may not yet pass
    enum kind { ORDINARY, UNNOTICED, COMMITS } kinds[NAMES_MAX]; // of statements, by the number at the end of a name (0: none)
    bool counted;                                                // the statement whose Execute comes next needed leave
    bool waiting;                                                // its answer is to come
    int before;                                                  // and behind the answers of so many that needed none
    bool failed;  // up to the next Sync nothing is carried out, so nothing needs leave
    char head[5]; // of the server's message under way: its type and length
    size_t head_n, body_left;
};

struct proxy {
    int listener, port, to_port;
    pthread_t thread;
    atomic_bool stopping, cut_commit;
    atomic_int syncs_left; // 0: not counted
    int wake;              // an eventfd: there is leave for something
    atomic_bool holding;
    atomic_int leave, answered, errors, parses;
    struct pair pairs[PAIRS_MAX];
};

static void end_pair(struct pair *pair)
{
    close(pair->client);
    close(pair->server);
    buf_done(&pair->held);
    *pair = (struct pair){.client = -1, .server = -1};
}

static void accept_pair(struct proxy *proxy)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)proxy->to_port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int client = accept(proxy->listener, NULL, NULL), server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    for (int i = 0; i < PAIRS_MAX && client >= 0; i++)
        if (proxy->pairs[i].client < 0 && connect(server, (struct sockaddr *)&to, sizeof to) == 0) {
            proxy->pairs[i] = (struct pair){.client = client, .server = server};
            setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)); // messages are passed one by one
            setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
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

static uint32_t length_of(const char *bytes)
{
    uint32_t length;
    memcpy(&length, bytes, sizeof length);
    return ntohl(length);
}

static enum kind *kind_of(struct pair *pair, const char *name)
{
    size_t number = strtoul(name + strcspn(name, "0123456789"), NULL, 10);
    assert(number < NAMES_MAX);
    return &pair->kinds[number];
}

static void note_parse(struct proxy *proxy, struct pair *pair, const char *message)
{
    static const char session[] = "SELECT current_setting("; // what every transaction begins with
    const char *name = message + 5, *sql = name + strlen(name) + 1;
    bool unnoticed = strncmp(sql, "BEGIN", 5) == 0 || strncmp(sql, session, sizeof session - 1) == 0;
    *kind_of(pair, name) = unnoticed ? UNNOTICED : strcmp(sql, "COMMIT") == 0 ? COMMITS : ORDINARY;
    proxy->parses++;
}

static enum kind kind_of_bind(struct pair *pair, const char *bind)
{
    const char *portal = bind + 5;
    return *kind_of(pair, portal + strlen(portal) + 1);
}

// Whether the connection is to end here: this is the Sync that is to be lost.
static bool is_last(struct proxy *proxy, char type)
{
    return type == 'S' && proxy->syncs_left > 0 && atomic_fetch_sub(&proxy->syncs_left, 1) == 1;
}

// Passes what may pass of what the client sent. A Flush behind each statement that is held back makes the server answer before
// the Sync comes.
static bool pass_held(struct proxy *proxy, struct pair *pair)
{
    static const char flush_bytes[5] = {'H', 0, 0, 0, 4};
    while (pair->held.n >= 5) {
        const char *message = pair->held.p;
        char type = pair->greeted ? message[0] : 0; // the first message has none
        size_t n = type ? 1 + length_of(message + 1) : length_of(message);
        if (pair->held.n < n)
            return true;
        enum kind kind = type == 'B' ? kind_of_bind(pair, message) : UNNOTICED;
        if (kind != UNNOTICED && proxy->holding && !pair->failed) {
            if (pair->waiting || proxy->leave == 0)
                return true;
            proxy->leave--;
            pair->counted = true;
        }
        if (is_last(proxy, type))
            return false;
        if (type == 'P')
            note_parse(proxy, pair, message);
        if (kind == COMMITS && atomic_exchange(&proxy->cut_commit, false))
            pair->committing = true;
        bool executes = type == 'E';
        pair->before += executes && !pair->counted && !pair->failed;
        pair->waiting = pair->waiting || (executes && pair->counted);
        pair->counted = pair->counted && !executes;
        pair->greeted = true;
        if (!send_all(pair->server, message, n) ||
            (executes && proxy->holding && !send_all(pair->server, flush_bytes, sizeof flush_bytes)))
            return false;
        pair->held.n -= n;
        memmove(pair->held.p, pair->held.p + n, pair->held.n);
    }
    return true;
}

static void note_answer(struct proxy *proxy, struct pair *pair, char type)
{
    bool answers = type == 'C' || type == 'I' || type == 's' || type == 'E';
    if (type == 'E' || type == 'Z') {
        pair->failed = type == 'E';
        pair->before = 0;
    }
    proxy->errors += type == 'E';
    if (answers && pair->before) {
        pair->before--;
    } else if (answers && pair->waiting) {
        pair->waiting = false;
        proxy->answered++;
    }
}

// Follows the server's messages, wherever they are cut.
static void read_answers(struct proxy *proxy, struct pair *pair, const char *bytes, size_t n)
{
    for (size_t at = 0; at < n;) {
        if (pair->body_left) {
            size_t skip = pair->body_left < n - at ? pair->body_left : n - at;
            pair->body_left -= skip;
            at += skip;
            continue;
        }
        pair->head[pair->head_n++] = bytes[at++];
        if (pair->head_n < sizeof pair->head)
            continue;
        pair->head_n = 0;
        pair->body_left = length_of(pair->head + 1) - 4;
        note_answer(proxy, pair, pair->head[0]);
    }
}

static bool from_client(struct proxy *proxy, struct pair *pair, char *bytes)
{
    ssize_t got = recv(pair->client, bytes, CHUNK, 0);
    if (got <= 0)
        return false;
    buf_put(&pair->held, (struct str){bytes, (size_t)got});
    return pass_held(proxy, pair);
}

static bool from_server(struct proxy *proxy, struct pair *pair, char *bytes)
{
    ssize_t got = recv(pair->server, bytes, CHUNK, 0);
    if (got <= 0)
        return false;
    read_answers(proxy, pair, bytes, (size_t)got);
    if (!pass_held(proxy, pair))
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
        struct pollfd fds[2 + 2 * PAIRS_MAX] = {{.fd = proxy->listener, .events = POLLIN}};
        fds[1 + 2 * PAIRS_MAX] = (struct pollfd){.fd = proxy->wake, .events = POLLIN};
        for (int i = 0; i < PAIRS_MAX; i++) {
            fds[1 + 2 * i] = (struct pollfd){.fd = proxy->pairs[i].client, .events = POLLIN};
            fds[2 + 2 * i] = (struct pollfd){.fd = proxy->pairs[i].server, .events = POLLIN};
        }
        poll(fds, 2 + 2 * PAIRS_MAX, 20);
        uint64_t times;
        if (fds[1 + 2 * PAIRS_MAX].revents && read(proxy->wake, &times, sizeof times) > 0)
            for (int i = 0; i < PAIRS_MAX; i++)
                if (proxy->pairs[i].client >= 0 && !pass_held(proxy, &proxy->pairs[i]))
                    end_pair(&proxy->pairs[i]);
        for (int i = 0; i < PAIRS_MAX; i++)
            if ((fds[1 + 2 * i].revents && !from_client(proxy, &proxy->pairs[i], bytes)) ||
                (fds[2 + 2 * i].revents && !from_server(proxy, &proxy->pairs[i], bytes)))
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
    proxy->wake = eventfd(0, EFD_CLOEXEC);
    for (int i = 0; i < PAIRS_MAX; i++)
        proxy->pairs[i] = (struct pair){.client = -1, .server = -1};
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
    close(proxy->wake);
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

static void wake(struct proxy *proxy)
{
    uint64_t once = 1;
    ssize_t written = write(proxy->wake, &once, sizeof once);
    assert(written == sizeof once);
}

void proxy_hold(struct proxy *proxy, bool on)
{
    proxy->leave = 0;
    proxy->answered = 0;
    proxy->holding = on;
    wake(proxy);
}

void proxy_allow(struct proxy *proxy, int statements)
{
    proxy->leave = statements;
    wake(proxy);
}

int proxy_answered(struct proxy *proxy)
{
    return proxy->answered;
}

int proxy_errors(struct proxy *proxy)
{
    return proxy->errors;
}

int proxy_parses(struct proxy *proxy)
{
    return proxy->parses;
}

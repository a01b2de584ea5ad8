// Each connection reads a request to its end, finds the script of its path, and plays it. What is hard to do with a proper server
// (reset, junk, an endless body) is plain here.
#include "support/target.h"

#include "base/mem.h"

#include <arpa/inet.h>
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNECTIONS_MAX = 512, REQUEST_MAX = 256 * 1024, TLS_HANDSHAKE = 0x16 };

struct connection {
    struct target *target;
    pthread_t thread;
    int fd; // -1 once it is closed
};

struct target {
    const struct target_script *scripts;
    int listen_fd, port, count, request_count;
    pthread_t thread;
    pthread_mutex_t lock;
    struct connection connections[CONNECTIONS_MAX];
    char request[REQUEST_MAX];
    char shown[REQUEST_MAX]; // the copy that the test looks at
};

static void *accept_all(void *arg);

struct target *target_start(const struct target_script *scripts)
{
    struct target *target = mem_zero(sizeof *target);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    target->scripts = scripts;
    target->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    pthread_mutex_init(&target->lock, NULL);
    if (bind(target->listen_fd, (struct sockaddr *)&at, n) || listen(target->listen_fd, 512) ||
        getsockname(target->listen_fd, (struct sockaddr *)&at, &n))
        abort();
    target->port = ntohs(at.sin_port);
    pthread_create(&target->thread, NULL, accept_all, target);
    return target;
}

void target_stop(struct target *target)
{
    shutdown(target->listen_fd, SHUT_RDWR);
    pthread_join(target->thread, NULL);
    pthread_mutex_lock(&target->lock);
    for (int i = 0; i < target->count; i++)
        if (target->connections[i].fd >= 0)
            shutdown(target->connections[i].fd, SHUT_RDWR);
    pthread_mutex_unlock(&target->lock);
    for (int i = 0; i < target->count; i++)
        pthread_join(target->connections[i].thread, NULL);
    close(target->listen_fd);
    pthread_mutex_destroy(&target->lock);
    mem_free(target);
}

int target_port(const struct target *target)
{
    return target->port;
}

int target_connections(struct target *target)
{
    pthread_mutex_lock(&target->lock);
    int count = target->count;
    pthread_mutex_unlock(&target->lock);
    return count;
}

int target_requests(struct target *target)
{
    pthread_mutex_lock(&target->lock);
    int count = target->request_count;
    pthread_mutex_unlock(&target->lock);
    return count;
}

const char *target_request(struct target *target)
{
    pthread_mutex_lock(&target->lock);
    strcpy(target->shown, target->request);
    pthread_mutex_unlock(&target->lock);
    return target->shown;
}

static void *serve(void *arg);

static void *accept_all(void *arg)
{
    struct target *target = arg;
    int fd;
    while ((fd = accept4(target->listen_fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        pthread_mutex_lock(&target->lock);
        assert(target->count < CONNECTIONS_MAX);
        struct connection *connection = &target->connections[target->count++];
        *connection = (struct connection){.target = target, .fd = fd};
        pthread_create(&connection->thread, NULL, serve, connection);
        pthread_mutex_unlock(&target->lock);
    }
    return NULL;
}

static bool say(int fd, const char *text)
{
    size_t n = strlen(text);
    return send(fd, text, n, MSG_NOSIGNAL) == (ssize_t)n;
}

static bool read_request(int fd, char text[REQUEST_MAX])
{
    size_t n = 0, need = 0;
    while (!need || n < need) {
        ssize_t more = recv(fd, text + n, REQUEST_MAX - 1 - n, 0);
        if (more <= 0)
            return false;
        n += (size_t)more;
        text[n] = 0;
        if (text[0] == TLS_HANDSHAKE)
            return say(fd, "HTTP/1.1 400 This is not TLS\r\n\r\n") && false;
        const char *end = strstr(text, "\r\n\r\n"), *length = strcasestr(text, "\r\nContent-Length: ");
        if (end)
            need = (size_t)(end + 4 - text) + (length && length < end ? strtoul(length + 18, NULL, 10) : 0);
    }
    return true;
}

static const struct target_script *script_of(const struct target *target, const char *request)
{
    char path[256] = "";
    sscanf(request, "%*s %255[^ ?]", path);
    const struct target_script *script = target->scripts;
    while (script->path && strcmp(script->path, path) != 0)
        script++;
    return script->path ? script : NULL;
}

static void reset(int fd)
{
    struct linger now = {.l_onoff = 1};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

// True while the connection is to be kept.
static bool play(int fd, const struct target_script *script)
{
    struct pollfd left = {.fd = fd, .events = POLLIN};
    if (!script || !say(fd, script->text))
        return false;
    if (script->then == TARGET_RESET)
        reset(fd);
    if (script->then == TARGET_HANG)
        poll(&left, 1, -1);
    while (script->then == TARGET_DRIP && !poll(&left, 1, 10) && say(fd, script->more))
        continue;
    while (script->then == TARGET_ENDLESS && say(fd, script->more))
        continue;
    return script->then == TARGET_KEEP;
}

static void *serve(void *arg)
{
    struct connection *connection = arg;
    struct target *target = connection->target;
    pthread_mutex_lock(&target->lock);
    int fd = connection->fd;
    pthread_mutex_unlock(&target->lock);
    char *request = mem_alloc(REQUEST_MAX);
    bool kept = true;
    while (kept && read_request(fd, request)) {
        pthread_mutex_lock(&target->lock);
        strcpy(target->request, request);
        target->request_count++;
        pthread_mutex_unlock(&target->lock);
        kept = play(fd, script_of(target, request));
    }
    mem_free(request);
    pthread_mutex_lock(&target->lock);
    connection->fd = -1;
    close(fd);
    pthread_mutex_unlock(&target->lock);
    return NULL;
}

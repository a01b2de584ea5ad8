// "127.0.0.1:7070", "[::1]:7070" or a name with a port; of a name's addresses the first is used.
#include "http/server/listen.h"

#include "base/str.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 4096 };

static bool split_address(const char *address, char host[256], char port[16])
{
    const char *colon = strrchr(address, ':');
    size_t port_n = colon ? strlen(colon + 1) : 0;
    if (!port_n || port_n >= 16)
        return false;
    size_t n = (size_t)(colon - address);
    bool bracketed = n >= 2 && address[0] == '[' && address[n - 1] == ']';
    if (bracketed) {
        address++;
        n -= 2;
    }
    if (!n || n >= 256 || (!bracketed && memchr(address, ':', n)))
        return false;
    memcpy(host, address, n);
    host[n] = 0;
    memcpy(port, colon + 1, port_n + 1);
    return true;
}

static bool valid_port(const char *port)
{
    char *end;
    long number = strtol(port, &end, 10);
    return str_is_digit(*port) && !*end && number <= 65535;
}

bool http_listen_is_valid(const char *address)
{
    char host[256], port[16];
    return split_address(address, host, port) && valid_port(port);
}

bool http_listen_is_loopback(const char *address)
{
    char host[256], port[16];
    struct in_addr v4;
    struct in6_addr v6;
    if (!split_address(address, host, port))
        return false;
    if (inet_pton(AF_INET, host, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == 127;
    return strcmp(host, "localhost") == 0 || (inet_pton(AF_INET6, host, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6));
}

static int bind_to(const struct addrinfo *at)
{
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (!bind(fd, at->ai_addr, at->ai_addrlen))
        return fd;
    int why = errno;
    close(fd);
    errno = why;
    return -1;
}

static int say_not_listening(const char *address, char why[ERR_WHY_MAX])
{
    snprintf(why, ERR_WHY_MAX, "cannot listen on %.100s: %s%s", address, strerror(errno),
             errno == EADDRINUSE ? " (another address can be named with --listen)" : "");
    return -1;
}

int http_bind(const char *address, char why[ERR_WHY_MAX])
{
    char host[256], port[16];
    if (!split_address(address, host, port) || !valid_port(port)) {
        snprintf(why, ERR_WHY_MAX, "\"%.100s\" is not an address to listen on, like 127.0.0.1:7070 or [::1]:7070", address);
        return -1;
    }
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV}, *found;
    int failed = getaddrinfo(host, port, &hints, &found);
    if (failed) {
        snprintf(why, ERR_WHY_MAX, "cannot listen on %.100s: %s", address, gai_strerror(failed));
        return -1;
    }
    int fd = bind_to(found);
    if (fd < 0)
        say_not_listening(address, why);
    freeaddrinfo(found);
    return fd;
}

int http_listen(const char *address, int bound, char why[ERR_WHY_MAX])
{
    int fd = bound ? bound : http_bind(address, why);
    if (fd < 0 || !listen(fd, BACKLOG))
        return fd;
    snprintf(why, ERR_WHY_MAX, "cannot listen on %.100s: %s", address, strerror(errno));
    close(fd);
    return -1;
}

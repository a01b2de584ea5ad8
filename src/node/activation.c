// See sd_listen_fds(3): the descriptors from 3 on are ours if LISTEN_PID names us.
#include "node/activation.h"

#include "http/server/listen.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FIRST_FD = 3 };

static int count_passed(void)
{
    const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
    int passed = pid && count && strtoll(pid, NULL, 10) == getpid() ? atoi(count) : 0;
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    return passed;
}

static bool is_listening(int fd)
{
    int listening = 0, type = 0;
    socklen_t n = sizeof listening;
    return !getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &n) && !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) &&
           listening && type == SOCK_STREAM;
}

static bool name_of(int fd, char ret_name[ACTIVATION_NAME_MAX])
{
    struct sockaddr_storage at = {0};
    socklen_t n = sizeof at;
    char host[48], port[8];
    if (getsockname(fd, (struct sockaddr *)&at, &n) || (at.ss_family != AF_INET && at.ss_family != AF_INET6) ||
        getnameinfo((struct sockaddr *)&at, n, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV))
        return false;
    snprintf(ret_name, ACTIVATION_NAME_MAX, at.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
    return true;
}

bool activation_take(int *ret_fd, char ret_name[ACTIVATION_NAME_MAX], char why[ERR_WHY_MAX])
{
    int passed = count_passed();
    *ret_fd = 0;
    if (passed <= 0)
        return true;
    if (passed > 1) {
        snprintf(why, ERR_WHY_MAX, "%d sockets were passed (LISTEN_FDS); one is enough: keep one ListenStream", passed);
        return false;
    }
    if (!is_listening(FIRST_FD) || !name_of(FIRST_FD, ret_name)) {
        snprintf(why, ERR_WHY_MAX,
                 "the socket that was passed (LISTEN_FDS) does not listen for TCP: give it ListenStream=127.0.0.1:7070");
        return false;
    }
    // Without keys, whoever can reach the port may do everything.
    if (!http_listen_is_loopback(ret_name)) {
        snprintf(
            why, ERR_WHY_MAX,
            "the socket that was passed (LISTEN_FDS) listens on %s, which is not a loopback address: this version has no API "
            "keys yet, so it serves this machine only",
            ret_name);
        return false;
    }
    fcntl(FIRST_FD, F_SETFD, FD_CLOEXEC);
    fcntl(FIRST_FD, F_SETFL, fcntl(FIRST_FD, F_GETFL) | O_NONBLOCK);
    *ret_fd = FIRST_FD;
    return true;
}

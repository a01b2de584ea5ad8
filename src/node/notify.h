// What the service manager is told: systemd's protocol, one datagram a message.
// Layer: node. One thread.
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

struct notify {
    int fd; // -1: nobody listens
    struct sockaddr_un to;
    socklen_t to_size;
    int64_t watchdog_ms; // how long it waits for a sign of life before it ends us; 0: it does not
};

// From NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, which are taken out of the environment.
void notify_init(struct notify *ret_notify);
void notify_done(struct notify *notify);

static inline bool notify_wanted(const struct notify *notify)
{
    return notify->fd >= 0;
}

// Lines NAME=value, as sd_notify(3) names them. Does nothing when nobody listens.
void notify_send(struct notify *notify, const char *format, ...) __attribute__((format(printf, 2, 3)));

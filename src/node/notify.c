// The documented protocol in place of libsystemd: docs/decisions/0009-settings.md says why.
#include "node/notify.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// A path, or with @ in front a name in the abstract space.
static bool read_address(struct notify *notify, const char *path)
{
    size_t n = strlen(path);
    if ((path[0] != '/' && path[0] != '@') || n < 2 || n >= sizeof notify->to.sun_path)
        return false;
    notify->to.sun_family = AF_UNIX;
    memcpy(notify->to.sun_path, path, n);
    if (path[0] == '@')
        notify->to.sun_path[0] = 0;
    notify->to_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
    return true;
}

static int64_t read_watchdog(void)
{
    const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    if (!usec || (pid && strtoll(pid, NULL, 10) != getpid()))
        return 0;
    long long ms = strtoll(usec, NULL, 10) / 1000;
    return ms > 0 ? ms : 0;
}

void notify_init(struct notify *ret_notify)
{
    *ret_notify = (struct notify){.fd = -1};
    const char *path = getenv("NOTIFY_SOCKET");
    if (path && read_address(ret_notify, path)) {
        ret_notify->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        ret_notify->watchdog_ms = read_watchdog();
    }
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
}

void notify_done(struct notify *notify)
{
    if (notify->fd >= 0)
        close(notify->fd);
    notify->fd = -1;
}

void notify_send(struct notify *notify, const char *format, ...)
{
    char text[1024];
    va_list args;
    if (notify->fd < 0)
        return;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n < 0 || n >= (int)sizeof text)
        return;
    // Nothing depends on it that would not show by itself: who is not told waits, or starts us anew.
    (void)sendto(notify->fd, text, (size_t)n, MSG_NOSIGNAL, (struct sockaddr *)&notify->to, notify->to_size);
}

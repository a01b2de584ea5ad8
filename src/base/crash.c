// The crash points' names, and the dying. A name that is not in the list is a programmer's mistake and aborts, so that the
// list stays complete.
#include "base/crash.h"

#include <stddef.h>

const char *const crash_points[] = {
#define X(name) #name,
    CRASH_POINTS(X)
#undef X
        NULL};

#ifdef ROTA_CRASH_POINTS
#include <assert.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_listed(const char *name)
{
    for (size_t i = 0; crash_points[i]; i++)
        if (strcmp(crash_points[i], name) == 0)
            return true;
    return false;
}

void crash_point(const char *name)
{
    static atomic_int passed;
    assert(is_listed(name));
    const char *wanted = getenv("ROTA_CRASH");
    size_t n = strlen(name);
    if (!wanted || strncmp(wanted, name, n) != 0 || (wanted[n] != 0 && wanted[n] != ':'))
        return;
    int at = wanted[n] == ':' ? atoi(wanted + n + 1) : 1;
    if (atomic_fetch_add(&passed, 1) + 1 == at)
        kill(getpid(), SIGKILL);
}
#endif

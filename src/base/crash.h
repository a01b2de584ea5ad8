// Named places where a test lets the process die: a crash is only survived for sure where it has been tried.
// Layer: base. Any thread. Without -DROTA_CRASH_POINTS a crash point is nothing at all.
//
// ROTA_CRASH=name kills the process (SIGKILL, as a power cut would) when it first comes past the point, ROTA_CRASH=name:N when it
// comes past for the Nth time.
#pragma once

// Every crash point there is. A test that dies at each of them walks this list.
#define CRASH_POINTS(X)       \
    X(store.before_commit)    \
    X(store.after_commit)     \
    X(admit.before_submit)    \
    X(admit.after_commit)     \
    X(pull.after_claim)       \
    X(dispatch.before_start)  \
    X(dispatch.after_end)     \
    X(complete.before_change) \
    X(complete.after_change)  \
    X(recur.before_plan)      \
    X(recur.after_plan)       \
    X(reap.before_change)     \
    X(sweep.before)

// The names in the order of the list, NULL behind the last: for the tests, and for `ROTA_CRASH=?` to be answered.
extern const char *const crash_points[];

#ifdef ROTA_CRASH_POINTS
void crash_point(const char *name);
#define CRASH_POINT(name) crash_point(name)
#else
#define CRASH_POINT(name) ((void)0)
#endif

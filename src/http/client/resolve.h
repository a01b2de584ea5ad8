// Names to addresses, without blocking: c-ares and a small cache.
//
// Layer: port (http), part of the client. One thread. Look-ups of one name that are under way together share one question; which
// name is asked for next, lookups.h says. What is known is kept for 10 to 30 s as the answer says, at most 2,048 names. What
// failed is kept for 1 s, and that nobody answered for 10 s; at most 2,048 names, which take no room from those that are known.
// Of the names that nobody waits for any more before they were asked for, 2,048 stay in line behind the others.
#pragma once
#include "base/data/list.h"
#include "base/err.h"
#include "base/str.h"
#include "http/client/addr.h"

#include <stdint.h>

enum { RESOLVE_ADDRESSES_MAX = 8 };

struct resolve_answer {
    int count;                                   // 0: `why`
    union addr addresses[RESOLVE_ADDRESSES_MAX]; // in the order they should be tried; ports are 0
    const char *why;
};

struct resolve_name;

// Somebody who waits for a name. The owner's memory, zero at first but for done(), which may be called once, and never from
// within resolve_ask().
struct resolve_waiter {
    struct list link;
    struct resolve_name *name; // for which it waits; NULL: none
    void (*done)(struct resolve_waiter *waiter, const struct resolve_answer *answer);
};

struct resolver;

// `watch` tells the owner to watch a descriptor (neither: no longer), and to call resolve_ready() for it.
err_check enum err resolver_new(struct resolver **ret_resolver, void (*watch)(void *ctx, int fd, bool readable, bool writable),
                                void *ctx, char why[ERR_WHY_MAX]);
void resolver_free(struct resolver *resolver); // nobody may wait; accepts NULL

// What is known of `host` now, or NULL: the waiter will be told. The answer is good until the next call.
// The lane is whose look-up it is.
const struct resolve_answer *resolve_ask(struct resolver *resolver, struct str host, int64_t lane, int64_t now_ns,
                                         struct resolve_waiter *waiter);
void resolve_forget(struct resolve_waiter *waiter); // no longer waits

// This address of the name did not answer: it is tried last from now on.
void resolve_demote(struct resolver *resolver, struct str host, const union addr *address);

void resolve_ready(struct resolver *resolver, int fd, bool readable, bool writable, int64_t now_ns);
int64_t resolve_turn(struct resolver *resolver, int64_t now_ns); // repeats and gives up questions; returns when to call it again

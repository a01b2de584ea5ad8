#include "base/mark.h"

#include <stdatomic.h>

static _Atomic uint64_t counts[MARK_COUNT];

static const char *const names[MARK_COUNT] = {
#define X(name, text) #name,
    MARKS(X)
#undef X
};

static const char *const texts[MARK_COUNT] = {
#define X(name, text) text,
    MARKS(X)
#undef X
};

void mark(enum mark what)
{
    atomic_fetch_add_explicit(&counts[what], 1, memory_order_relaxed);
}

uint64_t mark_count(enum mark what)
{
    return atomic_load_explicit(&counts[what], memory_order_relaxed);
}

const char *mark_name(enum mark what)
{
    return names[what];
}

const char *mark_text(enum mark what)
{
    return texts[what];
}

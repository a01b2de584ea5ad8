// Allocation that cannot fail: see mem.h for why aborting is safe here.
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static void *checked(void *mem)
{
    if (!mem)
        abort();
    return mem;
}

void *mem_alloc(size_t size)
{
    return checked(malloc(size ? size : 1));
}

void *mem_zero(size_t size)
{
    return checked(calloc(1, size ? size : 1));
}

void *mem_grow(void *old, size_t size)
{
    return checked(realloc(old, size ? size : 1));
}

char *mem_copy(const void *bytes, size_t size)
{
    char *copy = mem_alloc(size + 1);
    if (size)
        memcpy(copy, bytes, size);
    copy[size] = 0;
    return copy;
}

void mem_free(void *mem)
{
    free(mem);
}

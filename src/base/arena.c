// A list of chunks; each new one is twice the last, up to a limit, so a small request costs one malloc.
#include "base/arena.h"

#include "base/mem.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// With its head, the smallest chunk is one that malloc keeps at hand for its thread.
enum { CHUNK_MIN = 1008, CHUNK_MAX = 256 * 1024, ALIGN = 16 };

struct arena_chunk {
    struct arena_chunk *older;
    size_t size; // the next one has twice as many bytes
    _Alignas(ALIGN) char bytes[];
};

void arena_init(struct arena *arena)
{
    *arena = (struct arena){0};
}

void arena_done(struct arena *arena)
{
    struct arena_chunk *chunk = arena->chunk;
    while (chunk) {
        struct arena_chunk *older = chunk->older;
        mem_free(chunk);
        chunk = older;
    }
    *arena = (struct arena){0};
}

static void add_chunk(struct arena *arena, size_t size)
{
    struct arena_chunk *chunk = mem_alloc(sizeof *chunk + size);
    chunk->older = arena->chunk;
    chunk->size = size;
    arena->chunk = chunk;
    arena->at = chunk->bytes;
    arena->end = chunk->bytes + size;
}

static void grow(struct arena *arena, size_t need)
{
    size_t size = arena->chunk ? arena->chunk->size * 2 : CHUNK_MIN;
    if (size > CHUNK_MAX)
        size = CHUNK_MAX;
    add_chunk(arena, size < need ? need : size);
}

void arena_init_for(struct arena *arena, size_t size)
{
    arena_init(arena);
    add_chunk(arena, size);
    arena->chunk->size = CHUNK_MIN / 2; // whatever comes besides begins small, as in an arena that had nothing
}

static void *take(struct arena *arena, size_t size)
{
    if (size > SIZE_MAX / 2)
        abort(); // rounded up it would come out as next to nothing
    size = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if (!arena->chunk || (size_t)(arena->end - arena->at) < size)
        grow(arena, size);
    char *mem = arena->at;
    arena->at += size;
    return mem;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    return memset(take(arena, size), 0, size);
}

void *arena_alloc_many(struct arena *arena, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        abort();
    return arena_alloc(arena, bytes);
}

struct str arena_copy(struct arena *arena, struct str text)
{
    char *copy = take(arena, text.n + 1);
    if (text.n)
        memcpy(copy, text.p, text.n);
    copy[text.n] = 0;
    return (struct str){copy, text.n};
}

struct str arena_printf(struct arena *arena, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    assert(n >= 0); // only a format that is wrong in the source makes it fail
    char *text = arena_alloc(arena, (size_t)n + 1);
    vsnprintf(text, (size_t)n + 1, format, again);
    va_end(again);
    return (struct str){text, (size_t)n};
}

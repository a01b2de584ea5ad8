// Memory freed by lifetime: what one request, batch or turn needs is taken here and given back at once.
// Layer: base. One owner at a time.
#pragma once
#include "base/str.h"

#include <stddef.h>

struct arena {
    struct arena_chunk *chunk; // newest first
    char *at, *end;            // free bytes of the newest chunk
};

void arena_init(struct arena *arena);
void arena_init_for(struct arena *arena, size_t size); // with room for so many bytes at once
void arena_done(struct arena *arena);
void *arena_alloc(struct arena *arena, size_t size) __attribute__((returns_nonnull)); // zeroed, aligned to 16
struct str arena_copy(struct arena *arena, struct str text);                          // with a NUL behind it
struct str arena_printf(struct arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3), nonnull(2)));

#define arena_array(arena, type, count) ((type *)arena_alloc_many((arena), (count), sizeof(type)))

// Aborts when count * size does not fit, as when memory is gone: a count that came from outside cannot make a small block.
void *arena_alloc_many(struct arena *arena, size_t count, size_t size) __attribute__((returns_nonnull));

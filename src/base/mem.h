// Heap memory for the server: it aborts when memory is gone, because the store makes a restart safe.
// Layer: base. Any thread.
#pragma once
#include <stddef.h>

void *mem_alloc(size_t size) __attribute__((malloc, returns_nonnull));
void *mem_zero(size_t size) __attribute__((malloc, returns_nonnull));
void *mem_grow(void *old, size_t size) __attribute__((returns_nonnull));
char *mem_copy(const void *bytes, size_t size) __attribute__((returns_nonnull)); // adds a NUL behind the bytes
void mem_free(void *mem);

// mem_auto char *p = …;  frees when p goes out of scope
static inline void mem_free_at(void *slot)
{
    mem_free(*(void **)slot);
}
#define mem_auto __attribute__((cleanup(mem_free_at)))

#define array_count(a) (sizeof(a) / sizeof((a)[0]))
#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

// An intrusive binary min-heap by a 64-bit key.
// Layer: base. One owner at a time. Does not own its nodes.
#pragma once
#include <stddef.h>
#include <stdint.h>

struct heap_node {
    int64_t key;
    size_t at; // its place + 1; 0: in no heap
};

struct heap {
    struct heap_node **nodes;
    size_t count, cap;
};

void heap_done(struct heap *heap);
void heap_set(struct heap *heap, struct heap_node *node, int64_t key); // adds it, or moves it
void heap_remove(struct heap *heap, struct heap_node *node);           // may be in no heap
struct heap_node *heap_top(const struct heap *heap);                   // NULL when empty

// Each node knows its place, so that one whose key changed is moved from where it is instead of being looked for.
// What it does not do: keep the order of equal keys.
#include "base/data/heap.h"

#include "base/mem.h"

void heap_done(struct heap *heap)
{
    mem_free(heap->nodes);
    *heap = (struct heap){0};
}

static void place(struct heap *heap, size_t at, struct heap_node *node)
{
    heap->nodes[at] = node;
    node->at = at + 1;
}

static void sift_up(struct heap *heap, size_t at)
{
    struct heap_node *node = heap->nodes[at];
    while (at > 0 && heap->nodes[(at - 1) / 2]->key > node->key) {
        place(heap, at, heap->nodes[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    place(heap, at, node);
}

static void sift_down(struct heap *heap, size_t at)
{
    struct heap_node *node = heap->nodes[at];
    for (size_t child; (child = 2 * at + 1) < heap->count; at = child) {
        if (child + 1 < heap->count && heap->nodes[child + 1]->key < heap->nodes[child]->key)
            child++;
        if (heap->nodes[child]->key >= node->key)
            break;
        place(heap, at, heap->nodes[child]);
    }
    place(heap, at, node);
}

void heap_set(struct heap *heap, struct heap_node *node, int64_t key)
{
    if (!node->at) {
        if (heap->count == heap->cap) {
            heap->cap = heap->cap ? heap->cap * 2 : 64;
            heap->nodes = mem_grow(heap->nodes, heap->cap * sizeof *heap->nodes);
        }
        place(heap, heap->count++, node);
    }
    node->key = key;
    sift_up(heap, node->at - 1);
    sift_down(heap, node->at - 1);
}

void heap_remove(struct heap *heap, struct heap_node *node)
{
    if (!node->at)
        return;
    size_t at = node->at - 1;
    struct heap_node *last = heap->nodes[--heap->count];
    node->at = 0;
    if (last == node)
        return;
    place(heap, at, last);
    sift_up(heap, at);
    sift_down(heap, last->at - 1);
}

struct heap_node *heap_top(const struct heap *heap)
{
    return heap->count ? heap->nodes[0] : NULL;
}

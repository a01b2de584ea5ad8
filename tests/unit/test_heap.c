// The heap against the simplest thing that is right: the least of an array.
#include "base/data/heap.h"

#include "base/rand.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { NODES = 200 };

// Every node knows its place, and none is before its parent.
static void check(const struct heap *heap, const struct heap_node *nodes)
{
    size_t in = 0;
    int64_t least = INT64_MAX;
    for (int i = 0; i < NODES; i++) {
        if (!nodes[i].at)
            continue;
        in++;
        least = nodes[i].key < least ? nodes[i].key : least;
        size_t at = nodes[i].at - 1;
        assert_ptr_equal(heap->nodes[at], &nodes[i]);
        assert_true(at == 0 || heap->nodes[(at - 1) / 2]->key <= nodes[i].key);
    }
    assert_int_equal(heap->count, in);
    assert_true(in ? heap_top(heap)->key == least : heap_top(heap) == NULL);
}

static void the_top_is_the_least_through_every_change(void **state)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct rand rand;
        rand_init(&rand, seed);
        struct heap heap = {0};
        static struct heap_node nodes[NODES];
        memset(nodes, 0, sizeof nodes);
        for (int i = 0; i < 2000; i++) {
            struct heap_node *node = &nodes[rand_below(&rand, NODES)];
            if (rand_below(&rand, 3))
                heap_set(&heap, node, (int64_t)rand_below(&rand, 50) - 25); // many of the same
            else
                heap_remove(&heap, node);
            check(&heap, nodes);
        }
        for (int64_t last = INT64_MIN; heap.count;) {
            struct heap_node *top = heap_top(&heap);
            assert_true(top->key >= last);
            last = top->key;
            heap_remove(&heap, top);
        }
        heap_done(&heap);
    }
}

static void an_empty_heap_answers(void **state)
{
    struct heap heap = {0};
    struct heap_node node = {0};
    assert_null(heap_top(&heap));
    heap_remove(&heap, &node);
    heap_set(&heap, &node, INT64_MAX);
    assert_ptr_equal(heap_top(&heap), &node);
    heap_set(&heap, &node, INT64_MIN);
    heap_remove(&heap, &node);
    heap_remove(&heap, &node);
    assert_null(heap_top(&heap));
    heap_done(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_top_is_the_least_through_every_change),
        cmocka_unit_test(an_empty_heap_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

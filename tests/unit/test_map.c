// The map against the simplest thing that is right: an array of what should be in it.
#include "base/data/map.h"

#include "base/data/hash.h"
#include "base/rand.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include <cmocka.h>

enum { KEYS = 500 };

struct model {
    int64_t keys[KEYS];
    void *values[KEYS]; // NULL: not in the map
    size_t count;
};

static char things[1000]; // to point at

static void check_walk(const struct map *map, const struct model *model)
{
    size_t at = 0, seen = 0;
    int64_t key;
    bool met[KEYS] = {false};
    for (void *value; (value = map_next(map, &at, &key)); seen++) {
        size_t i = 0;
        while (i < KEYS && model->keys[i] != key)
            i++;
        assert_true(i < KEYS);
        assert_false(met[i]);
        met[i] = true;
        assert_ptr_equal(model->values[i], value);
    }
    assert_int_equal(seen, model->count);
    assert_int_equal(map->count, model->count);
}

static void step(struct map *map, struct model *model, struct rand *rand, unsigned put_chance)
{
    size_t i = rand_below(rand, KEYS);
    void *was = model->values[i];
    assert_ptr_equal(map_get(map, model->keys[i]), was);
    if (rand_below(rand, 100) < put_chance) {
        void *value = &things[rand_below(rand, sizeof things)];
        assert_ptr_equal(map_put(map, model->keys[i], value), was);
        model->values[i] = value;
        model->count += !was;
    } else {
        assert_ptr_equal(map_remove(map, model->keys[i]), was);
        model->values[i] = NULL;
        model->count -= was != NULL;
    }
    assert_ptr_equal(map_get(map, model->keys[i]), model->values[i]);
}

// Keys that differ in few bits, large ones, negative ones, 0.
static int64_t make_key(struct rand *rand, int i)
{
    if (i < 4)
        return (const int64_t[]){0, -1, INT64_MAX, INT64_MIN}[i];
    if (i % 3 == 0)
        return (int64_t)i << 21;
    return i % 3 == 1 ? i : (int64_t)rand_next(rand);
}

static void it_holds_what_a_simple_model_holds(void **state)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct rand rand;
        rand_init(&rand, seed);
        struct map map = {0};
        static struct model model;
        model = (struct model){0};
        for (int i = 0; i < KEYS; i++)
            model.keys[i] = make_key(&rand, i);
        for (int round = 0; round < 20; round++) { // fills and empties by turns
            for (int i = 0; i < 500; i++)
                step(&map, &model, &rand, round % 4 < 2 ? 75 : 20);
            check_walk(&map, &model);
        }
        map_done(&map);
    }
}

static void an_empty_map_answers(void **state)
{
    struct map map = {0};
    size_t at = 0;
    int64_t key;
    assert_null(map_get(&map, 1));
    assert_null(map_remove(&map, 1));
    assert_null(map_next(&map, &at, &key));
    map_done(&map);
}

// The keys of months: each is there for a while, never many at once.
static void many_keys_may_pass_through_and_it_stays_small(void **state)
{
    enum { ALIVE = 300, PASSING = 1000000 };
    struct map map = {0};
    for (int64_t i = 0; i < PASSING; i++) {
        assert_null(map_put(&map, i * 512 + 7, &things[i % 1000]));
        if (i >= ALIVE)
            assert_ptr_equal(map_remove(&map, (i - ALIVE) * 512 + 7), &things[(i - ALIVE) % 1000]);
    }
    assert_int_equal(map.count, ALIVE);
    assert_true(map.cap <= 1024);
    for (int64_t i = PASSING - ALIVE; i < PASSING; i++)
        assert_ptr_equal(map_get(&map, i * 512 + 7), &things[i % 1000]);
    assert_null(map_get(&map, 7));
    map_done(&map);
}

static void hashes_depend_on_every_byte(void **state)
{
    char text[16] = "rota";
    uint64_t first = hash_bytes(text, 16);
    for (int i = 0; i < 16; i++) {
        text[i] ^= 1;
        assert_true(hash_bytes(text, 16) != first);
        text[i] ^= 1;
    }
    assert_true(hash_bytes(text, 15) != first);
    assert_true(hash_bytes(text, 16) == first);
}

static void what_was_cleared_is_empty_and_can_be_used_again(void **state)
{
    static int value;
    struct map map = {0};
    map_clear(&map);
    for (int64_t keys = 10; keys <= 100000; keys *= 100) {
        for (int64_t key = 0; key < keys; key++)
            assert_null(map_put(&map, key, &value));
        map_clear(&map);
        assert_int_equal(map.count, 0);
        assert_null(map_get(&map, 5));
        assert_in_range(map.cap, 0, 16384); // what was large is given back
    }
    map_done(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_holds_what_a_simple_model_holds),
        cmocka_unit_test(an_empty_map_answers),
        cmocka_unit_test(many_keys_may_pass_through_and_it_stays_small),
        cmocka_unit_test(what_was_cleared_is_empty_and_can_be_used_again),
        cmocka_unit_test(hashes_depend_on_every_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

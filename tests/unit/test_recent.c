// The latest are remembered, the oldest forgotten, and an id that comes again counts as new.
#include "base/data/recent.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void the_latest_are_known_and_the_oldest_forgotten(void **state)
{
    struct recent *recent = recent_new(4);
    assert_int_equal(recent_get(recent, 1), 0);
    for (int64_t id = 1; id <= 6; id++)
        recent_put(recent, id, 10 * id);
    for (int64_t id = 1; id <= 6; id++)
        assert_int_equal(recent_get(recent, id), id <= 2 ? 0 : 10 * id);
    recent_free(recent);
    recent_free(NULL);
}

static void an_id_that_is_put_in_again_has_its_new_number_and_a_new_place(void **state)
{
    struct recent *recent = recent_new(3);
    recent_put(recent, 1, 5);
    recent_put(recent, 2, 5);
    recent_put(recent, 1, 8); // its first place is overwritten next but one, and must not take this along
    recent_put(recent, 3, 5);
    assert_int_equal(recent_get(recent, 1), 8);
    recent_put(recent, 4, 5);
    assert_int_equal(recent_get(recent, 1), 8);
    assert_int_equal(recent_get(recent, 2), 0);
    recent_put(recent, 5, 5);
    assert_int_equal(recent_get(recent, 1), 0);
    recent_free(recent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_latest_are_known_and_the_oldest_forgotten),
        cmocka_unit_test(an_id_that_is_put_in_again_has_its_new_number_and_a_new_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

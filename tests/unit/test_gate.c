// A gate lets so many in at once, and the others in the order they came.
#include "fake_api.h"

#include "api/gate.h"

enum { MAX = 2, MANY = 5 };

static int entered[MANY + 1], entered_count;

static void enter(struct http_request *request, void *state)
{
    entered[entered_count++] = *(int *)state;
}

static void go_on(struct http_request *request)
{
    assert_true(request->next && request->resumed);
    void (*next)(struct http_request *, void *) = request->next;
    request->next = NULL;
    request->resumed = false;
    next(request, request->state);
}

static void so_many_are_inside_and_the_next_has_the_place_of_who_leaves(void **state)
{
    struct gate gate = {0};
    struct gate_wait waits[MANY];
    entered_count = 0;
    struct http_request requests[MANY] = {0};
    int numbers[MANY];
    for (int i = 0; i < MANY; i++) {
        numbers[i] = i;
        gate_enter(&gate, MAX, &waits[i], &requests[i], enter, &numbers[i]);
    }
    assert_int_equal(entered_count, MAX);
    for (int i = MAX; i < MANY; i++) {
        assert_false(requests[i].resumed);
        gate_leave(&gate, ERR_OK);
        go_on(&requests[i]);
        assert_int_equal(entered_count, i + 1);
        assert_int_equal(entered[i], i);
    }
    gate_leave(&gate, ERR_OK);
    gate_leave(&gate, ERR_OK);
    assert_int_equal(gate.inside, 0);
    gate_enter(&gate, MAX, &waits[0], &requests[0], enter, &numbers[0]); // and it is open again
    assert_int_equal(entered_count, MANY + 1);
}

static void when_the_store_failed_all_who_wait_are_told_at_once(void **state)
{
    struct gate gate = {0};
    struct gate_wait waits[MANY] = {0};
    struct http_request requests[MANY] = {0};
    int number = 0;
    entered_count = 0;
    for (int i = 0; i < MANY; i++)
        gate_enter(&gate, MAX, &waits[i], &requests[i], enter, &number);
    gate_leave(&gate, ERR_STORE_UNAVAILABLE);
    for (int i = MAX; i < MANY; i++) {
        assert_true(requests[i].resumed);
        assert_int_equal(waits[i].failed, ERR_STORE_UNAVAILABLE);
    }
    for (int i = 1; i < MANY; i++)
        gate_leave(&gate, ERR_OK);
    assert_int_equal(gate.inside, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(so_many_are_inside_and_the_next_has_the_place_of_who_leaves),
                                       cmocka_unit_test(when_the_store_failed_all_who_wait_are_told_at_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

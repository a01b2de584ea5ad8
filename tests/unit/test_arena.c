// Arenas: what is taken is zeroed, aligned and stays where it is until all is given back. Also the slices of str.h, which have
// no suite of their own.
#include "base/arena.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void memory_is_zeroed_aligned_and_apart(void **state)
{
    struct arena arena;
    arena_init(&arena);
    unsigned char *blocks[2000];
    size_t sizes[2000];
    for (size_t i = 0; i < 2000; i++) {
        sizes[i] = i * 37 % 1500;
        blocks[i] = arena_alloc(&arena, sizes[i]);
        assert_int_equal((uintptr_t)blocks[i] % 16, 0);
        for (size_t k = 0; k < sizes[i]; k++)
            assert_int_equal(blocks[i][k], 0);
        memset(blocks[i], (int)(i % 255 + 1), sizes[i]);
    }
    for (size_t i = 0; i < 2000; i++)
        for (size_t k = 0; k < sizes[i]; k++)
            assert_int_equal(blocks[i][k], i % 255 + 1);
    arena_done(&arena);
}

static void an_arena_can_be_used_again_after_it_was_done(void **state)
{
    struct arena arena;
    arena_init(&arena);
    arena_done(&arena);
    assert_non_null(arena_alloc(&arena, 0));
    assert_non_null(arena_alloc(&arena, 1));
    arena_done(&arena);
    assert_true(str_is(arena_copy(&arena, STR("again")), "again"));
    arena_done(&arena);
    arena_done(&arena);
}

static void a_block_larger_than_any_chunk_fits(void **state)
{
    struct arena arena;
    arena_init(&arena);
    char *small = arena_alloc(&arena, 10);
    char *large = arena_alloc(&arena, 3000000);
    large[0] = large[2999999] = 1;
    char *after = arena_alloc(&arena, 10);
    assert_true(after != small);
    int64_t *numbers = arena_array(&arena, int64_t, 1000);
    assert_int_equal(numbers[999], 0);
    arena_done(&arena);
}

static void copies_end_with_a_nul_and_may_hold_one(void **state)
{
    struct arena arena;
    arena_init(&arena);
    struct str text = arena_copy(&arena, (struct str){"a\0b", 3});
    assert_int_equal(text.n, 3);
    assert_memory_equal(text.p, "a\0b\0", 4);
    struct str none = arena_copy(&arena, (struct str){0});
    assert_int_equal(none.n, 0);
    assert_string_equal(none.p, "");
    struct str printed = arena_printf(&arena, "%d " STR_FMT, 42, STR_ARG(STR("jobs")));
    assert_true(str_is(printed, "42 jobs"));
    assert_string_equal(printed.p, "42 jobs");
    struct str large = arena_printf(&arena, "%5000d", 7);
    assert_int_equal(large.n, 5000);
    arena_done(&arena);
}

static void ask_for_too_many(struct arena *arena)
{
    volatile size_t count = SIZE_MAX / 8 + 2; // times 8 this is 8 when it wraps around
    (void)arena_array(arena, int64_t, count);
}

static void ask_for_too_much(struct arena *arena)
{
    volatile size_t size = SIZE_MAX - 3; // rounded up to 16 this is 0 when it wraps around
    (void)arena_alloc(arena, size);
}

// A child process, because the right answer is to abort.
static void expect_abort(void (*act)(struct arena *arena))
{
    pid_t child = fork();
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        struct arena arena;
        arena_init(&arena);
        act(&arena);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void sizes_that_wrap_around_abort(void **state)
{
    expect_abort(ask_for_too_many);
    expect_abort(ask_for_too_much);
}

static void slices_compare_by_bytes(void **state)
{
    assert_true(str_eq((struct str){0}, STR("")));
    assert_false(str_eq(STR("a"), STR("ab")));
    assert_true(str_is((struct str){0}, ""));
    assert_true(str_is(STR("a"), "a"));
    assert_true(str_starts(STR("sqlite:x"), STR("sqlite:")));
    assert_false(str_starts(STR("sql"), STR("sqlite:")));
    assert_true(str_starts(STR("x"), (struct str){0}));
    assert_int_equal(str_of(NULL).n, 0);
}

static void slices_without_case_look_behind_a_nul(void **state)
{
    assert_true(str_eq_nocase(STR("Content-TYPE"), STR("content-type")));
    assert_false(str_eq_nocase(STR("content-type"), STR("content_type")));
    assert_false(str_eq_nocase(STR("@"), STR("`"))); // next to the letters, 32 apart
    assert_false(str_eq_nocase(STR("["), STR("{")));
    assert_true(str_eq_nocase((struct str){0}, STR("")));
    assert_false(str_eq_nocase((struct str){"a\0b", 3}, (struct str){"a\0c", 3}));
    assert_false(str_eq_nocase(STR("\xc4"), STR("\xe4"))); // ASCII only, whatever the locale
}

static void distance_counts_the_letters_that_differ(void **state)
{
    assert_int_equal(str_distance(STR(""), STR("")), 0);
    assert_int_equal(str_distance(STR("retry"), STR("retry")), 0);
    assert_int_equal(str_distance(STR("RETRY"), STR("retry")), 0);
    assert_int_equal(str_distance(STR("retry"), STR("")), 5);
    assert_int_equal(str_distance(STR("timout"), STR("timeout")), 1);
    assert_int_equal(str_distance(STR("quue"), STR("queue")), 1);
    assert_int_equal(str_distance(STR("kitten"), STR("sitting")), 3);
    assert_int_equal(str_distance(STR("0123456789abcdef0123456789abcdef"), STR("123456789abcdef0123456789abcdef0")), 2);
    assert_int_equal(str_distance(STR("0123456789abcdef0123456789abcdefX"), STR("a")), 33);
    assert_int_equal(str_distance((struct str){0}, (struct str){0}), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed_aligned_and_apart),    cmocka_unit_test(an_arena_can_be_used_again_after_it_was_done),
        cmocka_unit_test(a_block_larger_than_any_chunk_fits),    cmocka_unit_test(copies_end_with_a_nul_and_may_hold_one),
        cmocka_unit_test(sizes_that_wrap_around_abort),          cmocka_unit_test(slices_compare_by_bytes),
        cmocka_unit_test(slices_without_case_look_behind_a_nul), cmocka_unit_test(distance_counts_the_letters_that_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

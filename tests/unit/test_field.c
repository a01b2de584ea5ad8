// Tables of fields, with tables of the test's own: what is read is what is written, however many rows there are.
#include "core/field_type.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

struct pair {
    int left, right;
    struct str text;
};

#define ROW(text, kind, member) \
    .name = {text, sizeof(text) - 1}, .type = &field_type_##kind, .offset = offsetof(struct pair, member)

static const struct field pair_rows[] = {
    {ROW("left", number, left), .max = 9, .old = true},
    {ROW("right", number, right), .max = 9},
    {ROW("text", text, text), .max = 9},
};
static const struct pair pair_defaults = {.left = 1, .right = 2};
static const struct fields pair_fields = {
    .rows = pair_rows, .count = array_count(pair_rows), .what = "a pair", .defaults = &pair_defaults};

static enum err read(const struct fields *fields, void *object, const char *text, struct problem *why)
{
    struct arena arena;
    struct json doc;
    arena_init(&arena);
    struct field_reader reader = {.object = object, .arena = &arena, .why = why, .within = ""};
    assert_int_equal(json_check(str_of(text), &doc, why->detail), ERR_OK);
    enum err err = field_read_all(&reader, fields, doc);
    arena_done(&arena);
    return err;
}

static void assert_written(const struct fields *fields, const void *object, enum field_audience audience, const char *text)
{
    buf_auto struct buf buf = {0};
    field_write_all(fields, object, audience, &buf);
    buf_putc(&buf, 0);
    assert_string_equal(buf.p, text);
}

static void fields_are_read_in_any_order_and_written_in_the_table_s(void **state)
{
    struct pair pair = pair_defaults;
    struct problem why;
    assert_int_equal(read(&pair_fields, &pair, "{\"text\": \"t\", \"left\": 3}", &why), ERR_OK);
    assert_written(&pair_fields, &pair, FIELD_FOR_PEOPLE, "\"left\":3,\"right\":2,\"text\":\"t\"");
}

static void a_field_without_a_value_is_not_written(void **state)
{
    assert_written(&pair_fields, &pair_defaults, FIELD_FOR_PEOPLE, "\"left\":1,\"right\":2");
}

static void a_key_sees_a_field_that_was_added_only_when_it_is_given(void **state)
{
    struct pair pair = pair_defaults;
    assert_written(&pair_fields, &pair, FIELD_FOR_KEYS, "\"left\":1");
    pair.right = 7;
    assert_written(&pair_fields, &pair, FIELD_FOR_KEYS, "\"left\":1,\"right\":7");
}

static void a_name_that_no_row_has_is_refused_with_the_nearest(void **state)
{
    struct pair pair = pair_defaults;
    struct problem why;
    assert_int_equal(read(&pair_fields, &pair, "{\"rihgt\": 3}", &why), ERR_UNKNOWN_FIELD);
    assert_string_equal(why.field, "/rihgt");
    assert_string_equal(why.detail, "There is no such field in a pair; did you mean \"right\"?");
    assert_int_equal(read(&pair_fields, &pair, "{\"something\": 3}", &why), ERR_UNKNOWN_FIELD);
    assert_string_equal(why.detail, "There is no such field in a pair.");
}

static void a_table_may_have_any_number_of_rows(void **state)
{
    enum { MANY = 300 };
    static int numbers[MANY], none[MANY];
    static struct field rows[MANY];
    static char names[MANY][8];
    buf_auto struct buf doc = {0};
    struct problem why;
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "f%d", i);
        rows[i] =
            (struct field){.name = str_of(names[i]), .type = &field_type_number, .offset = (size_t)i * sizeof(int), .max = MANY};
        buf_printf(&doc, "%c\"f%d\":%d", i ? ',' : '{', i, i);
    }
    buf_puts(&doc, "}");
    buf_putc(&doc, 0);
    struct fields fields = {.rows = rows, .count = MANY, .what = "many", .defaults = none};
    assert_int_equal(read(&fields, numbers, doc.p, &why), ERR_OK);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(numbers[i], i);
    doc.p[doc.n - 2] = 0; // without the braces
    assert_written(&fields, numbers, FIELD_FOR_PEOPLE, doc.p + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_read_in_any_order_and_written_in_the_table_s),
        cmocka_unit_test(a_field_without_a_value_is_not_written),
        cmocka_unit_test(a_key_sees_a_field_that_was_added_only_when_it_is_given),
        cmocka_unit_test(a_name_that_no_row_has_is_refused_with_the_nearest),
        cmocka_unit_test(a_table_may_have_any_number_of_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

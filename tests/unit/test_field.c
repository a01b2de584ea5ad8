// Tables of fields, with tables of the test's own: what is read is what is written, however many rows there are.
#include "core/task/field_type.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct pair {
    int left, right;
    struct str text;
};

#define ROW_OF(object, text, kind, member) FIELD_NAME(text), .type = &field_type_##kind, .offset = offsetof(struct object, member)
#define ROW(text, kind, member) ROW_OF(pair, text, kind, member)

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

static void assert_written(const struct fields *fields, const struct field_form *form, const void *object,
                           enum field_audience audience, const char *text)
{
    buf_auto struct buf buf = {0};
    field_write_all(fields, form, object, audience, &buf);
    buf_putc(&buf, 0);
    assert_string_equal(buf.p, text);
}

static void fields_are_read_in_any_order_and_written_in_the_table_s(void **state)
{
    struct pair pair = pair_defaults;
    struct problem why;
    assert_int_equal(read(&pair_fields, &pair, "{\"text\": \"t\", \"left\": 3}", &why), ERR_OK);
    assert_written(&pair_fields, NULL, &pair, FIELD_FOR_PEOPLE, "\"left\":3,\"right\":2,\"text\":\"t\"");
}

static void a_field_without_a_value_is_not_written(void **state)
{
    assert_written(&pair_fields, NULL, &pair_defaults, FIELD_FOR_PEOPLE, "\"left\":1,\"right\":2");
}

static void a_key_sees_a_field_that_was_added_only_when_it_is_given(void **state)
{
    struct pair pair = pair_defaults;
    assert_written(&pair_fields, NULL, &pair, FIELD_FOR_KEYS, "\"left\":1");
    pair.right = 7;
    assert_written(&pair_fields, NULL, &pair, FIELD_FOR_KEYS, "\"left\":1,\"right\":7");
}

// A text may stand beside a `left` that is large, and a `right` beside a text.
static const char *lacks_large(const void *object)
{
    return ((const struct pair *)object)->left > 5 ? NULL : "a left above 5";
}

static const char *lacks_text(const void *object)
{
    return ((const struct pair *)object)->text.p ? NULL : "text";
}

static void a_field_is_read_and_written_only_with_what_it_needs(void **state)
{
    static const struct field rows[] = {
        {ROW("left", number, left), .max = 9},
        {ROW("right", number, right), .max = 9, .lacks = lacks_text},
        {ROW("text", text, text), .max = 9, .lacks = lacks_large},
    };
    static const struct fields fields = {.rows = rows, .count = array_count(rows), .what = "a pair", .defaults = &pair_defaults};
    struct pair pair = pair_defaults;
    struct problem why;
    assert_written(&fields, NULL, &pair, FIELD_FOR_PEOPLE, "\"left\":1");
    assert_int_equal(read(&fields, &pair, "{\"right\":2}", &why), ERR_INVALID_FIELD); // also when it is the default
    assert_string_equal(why.field, "/right");
    assert_string_equal(why.detail, "right may only be given with text.");
    assert_int_equal(read(&fields, &pair, "{\"text\":\"t\",\"left\":5}", &why), ERR_INVALID_FIELD);
    assert_string_equal(why.detail, "text may only be given with a left above 5.");
    pair = pair_defaults;
    assert_int_equal(read(&fields, &pair, "{\"right\":null,\"text\":null}", &why), ERR_OK);
    assert_int_equal(read(&fields, &pair, "{\"right\":3,\"text\":\"t\",\"left\":6}", &why), ERR_OK); // what is needed comes last
    assert_written(&fields, NULL, &pair, FIELD_FOR_PEOPLE, "\"left\":6,\"right\":3,\"text\":\"t\"");
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

#define TEN(x) ONE(x##0), ONE(x##1), ONE(x##2), ONE(x##3), ONE(x##4), ONE(x##5), ONE(x##6), ONE(x##7), ONE(x##8), ONE(x##9)
#define HUNDRED(x) TEN(x##0), TEN(x##1), TEN(x##2), TEN(x##3), TEN(x##4), TEN(x##5), TEN(x##6), TEN(x##7), TEN(x##8), TEN(x##9)
#define ONE(x)                                                                                          \
    {                                                                                                   \
        FIELD_NAME("f" #x), .type = &field_type_number, .offset = (x - 1000) * sizeof(int), .max = 9999 \
    }

static void a_table_may_have_any_number_of_rows(void **state)
{
    static const struct field rows[] = {HUNDRED(10), HUNDRED(11), HUNDRED(12)};
    enum { MANY = array_count(rows) };
    static const int none[MANY];
    static const struct fields fields = {.rows = rows, .count = MANY, .what = "many", .defaults = none};
    int numbers[MANY] = {0};
    struct problem why;
    buf_auto struct buf members = {0}, doc = {0};
    for (int i = 0; i < MANY; i++)
        buf_printf(&members, "%s\"f%d\":%d", i ? "," : "", 1000 + i, i);
    buf_putc(&members, 0);
    buf_printf(&doc, "{%s}", members.p);
    buf_putc(&doc, 0);
    assert_int_equal(read(&fields, numbers, doc.p, &why), ERR_OK);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(numbers[i], i);
    assert_written(&fields, NULL, numbers, FIELD_FOR_PEOPLE, members.p);
}

// A letter goes to a house or to a mailbox. The address comes in these two forms.
struct letter {
    int sheets;
    struct address {
        enum { NOWHERE, HOUSE, MAILBOX } kind;
        union {
            struct {
                struct str street;
                int floor;
            } house;
            struct {
                struct str email;
                int copies;
            } mailbox;
        };
    } address;
};

static const struct address house_defaults = {.kind = HOUSE, .house.floor = 1}, mailbox_defaults = {.kind = MAILBOX};
static const struct field_form house = {.name = "a house",
                                        .key = {"street", 6},
                                        .key_offset = offsetof(struct address, house.street),
                                        .key_missing = "A letter needs an address: street.",
                                        .defaults = &house_defaults},
                               mailbox = {.name = "a mailbox",
                                          .key = {"email", 5},
                                          .key_offset = offsetof(struct address, mailbox.email),
                                          .key_missing = "A letter to a mailbox needs its email.",
                                          .defaults = &mailbox_defaults};
static const struct field letter_rows[] = {
    {ROW_OF(letter, "street", text, address.house.street), .max = 99, .form = &house},
    {ROW_OF(letter, "email", text, address.mailbox.email), .max = 99, .form = &mailbox},
    {ROW_OF(letter, "sheets", number, sheets), .max = 9, .old = true},
    {ROW_OF(letter, "floor", number, address.house.floor), .max = 99, .form = &house},
    {ROW_OF(letter, "copies", number, address.mailbox.copies), .max = 99, .form = &mailbox, .old = true},
};
static const struct letter letter_defaults = {.sheets = 1};
static const struct fields letter_fields = {.rows = letter_rows,
                                            .count = array_count(letter_rows),
                                            .what = "a letter",
                                            .defaults = &letter_defaults,
                                            .part = "address",
                                            .part_offset = offsetof(struct letter, address),
                                            .part_size = sizeof(struct address),
                                            .usual_form = &house};

static void the_fields_of_a_form_are_read_in_any_order_and_written_only_with_it(void **state)
{
    struct problem why;
    struct letter letter = letter_defaults;
    assert_int_equal(read(&letter_fields, &letter, "{\"floor\": 4, \"sheets\": 2, \"street\": \"High\"}", &why), ERR_OK);
    assert_int_equal(letter.address.kind, HOUSE);
    assert_written(&letter_fields, &house, &letter, FIELD_FOR_PEOPLE, "\"street\":\"High\",\"sheets\":2,\"floor\":4");
    letter = letter_defaults;
    assert_int_equal(read(&letter_fields, &letter, "{\"email\": \"a@b\"}", &why), ERR_OK);
    assert_int_equal(letter.address.kind, MAILBOX);
    assert_written(&letter_fields, &mailbox, &letter, FIELD_FOR_PEOPLE, "\"email\":\"a@b\",\"sheets\":1,\"copies\":0");
}

static void a_form_has_its_own_defaults_which_a_key_does_not_see_of_an_added_field(void **state)
{
    struct problem why;
    struct letter letter = letter_defaults;
    assert_int_equal(read(&letter_fields, &letter, "{\"street\": \"High\"}", &why), ERR_OK);
    assert_int_equal(letter.address.house.floor, 1);
    assert_written(&letter_fields, &house, &letter, FIELD_FOR_KEYS, "\"street\":\"High\",\"sheets\":1");
    letter.address.house.floor = 0;
    assert_written(&letter_fields, &house, &letter, FIELD_FOR_KEYS, "\"street\":\"High\",\"sheets\":1,\"floor\":0");
}

static void an_object_has_the_fields_of_exactly_one_form(void **state)
{
    static const struct {
        const char *doc;
        enum err err;
        const char *field, *words;
    } cases[] = {
        {"{\"street\": \"High\", \"email\": \"a@b\"}", ERR_INVALID_FIELD, "/email",
         "There must be exactly one address: email belongs to a mailbox, and other fields here to a house."},
        {"{\"email\": \"a@b\", \"street\": \"High\"}", ERR_INVALID_FIELD, "/street",
         "There must be exactly one address: street belongs to a house, and other fields here to a mailbox."},
        {"{\"floor\": 1, \"copies\": 1}", ERR_INVALID_FIELD, "/copies",
         "There must be exactly one address: copies belongs to a mailbox, and other fields here to a house."},
        // The form whose key is given is the one that is meant, whatever comes first.
        {"{\"street\": \"High\", \"copies\": 2}", ERR_INVALID_FIELD, "/copies",
         "copies belongs to a mailbox, which needs email; street makes this a house."},
        {"{\"sheets\": 3, \"copies\": 2, \"street\": \"High\"}", ERR_INVALID_FIELD, "/copies",
         "copies belongs to a mailbox, which needs email; street makes this a house."},
        {"{\"email\": null, \"street\": \"High\", \"copies\": 2}", ERR_INVALID_FIELD, "/copies",
         "copies belongs to a mailbox, which needs email; street makes this a house."},
        {"{\"email\": null, \"copies\": 2, \"street\": \"High\"}", ERR_INVALID_FIELD, "/copies",
         "copies belongs to a mailbox, which needs email; street makes this a house."},
        // Without any key the form is missing.
        {"{}", ERR_MISSING_FIELD, "/street", "A letter needs an address: street."},
        {"{\"sheets\": 3}", ERR_MISSING_FIELD, "/street", "A letter needs an address: street."},
        {"{\"copies\": 3}", ERR_MISSING_FIELD, "/email", "A letter to a mailbox needs its email."},
    };
    for (size_t i = 0; i < array_count(cases); i++) {
        struct problem why;
        struct letter letter = letter_defaults;
        assert_int_equal(read(&letter_fields, &letter, cases[i].doc, &why), cases[i].err);
        assert_string_equal(why.field, cases[i].field);
        assert_string_equal(why.detail, cases[i].words);
    }
}

static void null_gives_no_field_of_a_form(void **state)
{
    struct problem why;
    struct letter letter = letter_defaults;
    assert_int_equal(read(&letter_fields, &letter, "{\"email\": null, \"copies\": null, \"street\": \"High\"}", &why), ERR_OK);
    assert_int_equal(letter.address.kind, HOUSE);
}

// Few houses have a garden.
struct home {
    int rooms;
    const struct garden *garden;
};
struct garden {
    int trees, gates;
};

static void the_fields_of_a_group_take_room_only_in_an_object_that_gives_one(void **state)
{
    static const struct garden garden_defaults = {.gates = 1};
    static const struct field_group garden = {
        .pointer = offsetof(struct home, garden), .size = sizeof garden_defaults, .defaults = &garden_defaults};
    static const struct field rows[] = {
        {ROW_OF(garden, "trees", number, trees), .max = 9, .group = &garden},
        {ROW_OF(home, "rooms", number, rooms), .max = 9},
        {ROW_OF(garden, "gates", number, gates), .max = 9, .group = &garden},
    };
    static const struct home defaults = {.rooms = 2};
    static const struct fields fields = {.rows = rows, .count = array_count(rows), .what = "a home", .defaults = &defaults};
    struct arena arena;
    struct home home = defaults;
    struct field_reader reader = {.object = &home, .arena = &arena, .within = ""};
    arena_init(&arena);
    assert_int_equal(field_read_all(&reader, &fields, (struct json){JSON_OBJECT, STR("{\"rooms\":3,\"trees\":null}")}), ERR_OK);
    assert_null(home.garden);
    assert_written(&fields, NULL, &home, FIELD_FOR_PEOPLE, "\"rooms\":3");
    assert_int_equal(field_read_all(&reader, &fields, (struct json){JSON_OBJECT, STR("{\"trees\":4}")}), ERR_OK);
    assert_written(&fields, NULL, &home, FIELD_FOR_PEOPLE, "\"trees\":4,\"rooms\":3,\"gates\":1");
    assert_written(&fields, NULL, &home, FIELD_FOR_KEYS, "\"trees\":4,\"rooms\":3");
    assert_int_equal(field_read_all(&reader, &fields, (struct json){JSON_OBJECT, STR("{\"gates\":2}")}), ERR_OK);
    assert_written(&fields, NULL, &home, FIELD_FOR_KEYS, "\"trees\":4,\"rooms\":3,\"gates\":2");
    assert_int_equal(garden_defaults.trees, 0);
    arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_read_in_any_order_and_written_in_the_table_s),
        cmocka_unit_test(a_field_without_a_value_is_not_written),
        cmocka_unit_test(a_key_sees_a_field_that_was_added_only_when_it_is_given),
        cmocka_unit_test(a_field_is_read_and_written_only_with_what_it_needs),
        cmocka_unit_test(a_name_that_no_row_has_is_refused_with_the_nearest),
        cmocka_unit_test(a_table_may_have_any_number_of_rows),
        cmocka_unit_test(the_fields_of_a_form_are_read_in_any_order_and_written_only_with_it),
        cmocka_unit_test(a_form_has_its_own_defaults_which_a_key_does_not_see_of_an_added_field),
        cmocka_unit_test(an_object_has_the_fields_of_exactly_one_form),
        cmocka_unit_test(null_gives_no_field_of_a_form),
        cmocka_unit_test(the_fields_of_a_group_take_room_only_in_an_object_that_gives_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

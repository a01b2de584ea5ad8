// A ticket is of one job and one claim, made under one secret; everything else is refused.
#include "flow/commands/ticket.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static struct digest_key *key_of(const char *secret)
{
    return digest_key_new(str_of(secret));
}

static void a_ticket_says_its_number_to_who_has_the_secret(void **state)
{
    static const int64_t numbers[] = {1, 2, 15, 16, 4711, (1ll << 60) - 1};
    struct digest_key *one = key_of("a secret"), *same = key_of("a secret"), *other = key_of("another");
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char text[TICKET_TEXT_SIZE];
        int64_t number;
        ticket_write(one, 42, numbers[i], text);
        assert_true(strlen(text) < TICKET_TEXT_SIZE);
        assert_true(ticket_read(same, 42, str_of(text), &number));
        assert_true(number == numbers[i]);
        assert_false(ticket_read(same, 43, str_of(text), &number));
        assert_false(ticket_read(other, 42, str_of(text), &number));
    }
    digest_key_free(one);
    digest_key_free(same);
    digest_key_free(other);
}

static void a_ticket_with_one_letter_changed_is_none(void **state)
{
    struct digest_key *key = key_of("a secret");
    char text[TICKET_TEXT_SIZE], other[TICKET_TEXT_SIZE + 1];
    int64_t number;
    ticket_write(key, 42, 0x1a, text);
    for (size_t i = 0; text[i]; i++)
        for (int c = 0; c < 128; c++) {
            memcpy(other, text, sizeof text);
            other[i] = (char)c;
            assert_int_equal(ticket_read(key, 42, (struct str){other, strlen(text)}, &number), c == text[i]);
        }
    for (size_t n = 0; n <= strlen(text); n++) // nor is a part of one
        assert_int_equal(ticket_read(key, 42, (struct str){text, n}, &number), n == strlen(text));
    digest_key_free(key);
}

static void what_looks_like_one_is_none(void **state)
{
    static const char *const texts[] = {
        "",
        "-",
        "0-",
        "1",
        "01-00000000000000000000000000000000",
        "0-00000000000000000000000000000000",
        "-00000000000000000000000000000000",
        "ffffffffffffffff-00000000000000000000000000000000",
        "1ffffffffffffffffffffffffffffff-0",
        "g-00000000000000000000000000000000",
    };
    struct digest_key *key = key_of("a secret");
    char text[TICKET_TEXT_SIZE], longer[TICKET_TEXT_SIZE + 8];
    int64_t number;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_false(ticket_read(key, 42, str_of(texts[i]), &number));
    ticket_write(key, 42, 7, text);
    static const char *const around[][2] = {{"0", ""}, {"", "0"}, {" ", ""}, {"", " "}, {"", "\n"}};
    for (size_t i = 0; i < sizeof around / sizeof *around; i++) {
        strcpy(longer, around[i][0]);
        strcat(longer, text);
        strcat(longer, around[i][1]);
        assert_false(ticket_read(key, 42, str_of(longer), &number));
    }
    digest_key_free(key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ticket_says_its_number_to_who_has_the_secret),
        cmocka_unit_test(a_ticket_with_one_letter_changed_is_none),
        cmocka_unit_test(what_looks_like_one_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

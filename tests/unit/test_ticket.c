// A ticket is of one tenant, job and claim, made under one secret; everything else is refused.
#include "flow/commands/ticket.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static struct digest_key *key_of(const char *secret)
{
    return digest_key_new(str_of(secret));
}

static const struct ticket example = {.tenant = 3, .number = 0x1a};

static bool reads(struct digest_key *key, int64_t job_id, const char *text, struct ticket right)
{
    struct ticket ticket;
    return ticket_read(key, job_id, str_of(text), &ticket) && ticket.tenant == right.tenant && ticket.number == right.number;
}

static bool is_one(struct digest_key *key, int64_t job_id, struct str text)
{
    struct ticket ticket;
    return ticket_read(key, job_id, text, &ticket);
}

static void a_ticket_says_its_tenant_and_number_to_who_has_the_secret(void **state)
{
    static const int64_t numbers[] = {1, 2, 15, 16, 4711, (1ll << 60) - 1};
    static const int32_t tenants[] = {1, 16, 4711, INT32_MAX};
    struct digest_key *one = key_of("a secret"), *same = key_of("a secret"), *other = key_of("another");
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers * 4; i++) {
        struct ticket ticket = {.tenant = tenants[i % 4], .number = numbers[i / 4]};
        char text[TICKET_TEXT_SIZE];
        ticket_write(one, 42, ticket, text);
        assert_true(strlen(text) < TICKET_TEXT_SIZE);
        assert_true(reads(same, 42, text, ticket));
        assert_false(is_one(same, 43, str_of(text)));
        assert_false(is_one(other, 42, str_of(text)));
    }
    digest_key_free(one);
    digest_key_free(same);
    digest_key_free(other);
}

// Worked out apart from the program: the first half of HMAC-SHA-256 under "a secret" over "rota ticket", filled with zeros to 16
// bytes, 42 and 26 in 8 bytes each, the highest first; for the new form over "rota ticket of" and 3 in 8 bytes more.
static const char OLD_TEXT[] = "1a-c247cb56ffb131e51cffa25c006b9180", NEW_TEXT[] = "3-1a-f9d6431d0ae2c5dc4b59b06f1dc77a86";

static void a_ticket_of_the_release_before_is_read_and_names_no_tenant(void **state)
{
    struct digest_key *key = key_of("a secret"), *other = key_of("another");
    assert_true(reads(key, 42, OLD_TEXT, (struct ticket){.tenant = 0, .number = 0x1a}));
    assert_false(is_one(key, 43, str_of(OLD_TEXT)));
    assert_false(is_one(other, 42, str_of(OLD_TEXT)));
    digest_key_free(key);
    digest_key_free(other);
}

static void what_is_written_names_the_tenant(void **state)
{
    struct digest_key *key = key_of("a secret");
    char text[TICKET_TEXT_SIZE];
    ticket_write(key, 42, example, text);
    assert_string_equal(text, NEW_TEXT);
    digest_key_free(key);
}

// A target may write another tenant into its ticket, add one to an old ticket, or take it out: none of it is signed.
static void the_tenant_of_a_ticket_cannot_be_changed(void **state)
{
    struct digest_key *key = key_of("a secret");
    char text[TICKET_TEXT_SIZE + 8];
    assert_true(reads(key, 42, NEW_TEXT, example));
    assert_false(is_one(key, 42, str_of(NEW_TEXT + 2)));
    static const char *const tenants[] = {"1-", "2-", "0-", "-", "03-", "3-3-", "100000003-", "80000000-", "7fffffff-"};
    for (size_t i = 0; i < sizeof tenants / sizeof *tenants; i++) {
        strcpy(text, tenants[i]);
        assert_false(is_one(key, 42, str_of(strcat(text, NEW_TEXT + 2))));
        strcpy(text, tenants[i]);
        assert_false(is_one(key, 42, str_of(strcat(text, OLD_TEXT))));
    }
    digest_key_free(key);
}

static void assert_only_the_whole_is_one(struct digest_key *key, const char *text)
{
    char other[TICKET_TEXT_SIZE];
    size_t size = strlen(text);
    for (size_t i = 0; i < size; i++)
        for (int c = 0; c < 128; c++) {
            memcpy(other, text, size);
            other[i] = (char)c;
            assert_int_equal(is_one(key, 42, (struct str){other, size}), c == text[i]);
        }
    for (size_t n = 0; n <= size; n++) // nor is a part of one
        assert_int_equal(is_one(key, 42, (struct str){text, n}), n == size);
}

static void a_ticket_with_one_letter_changed_is_none(void **state)
{
    struct digest_key *key = key_of("a secret");
    assert_only_the_whole_is_one(key, NEW_TEXT);
    assert_only_the_whole_is_one(key, OLD_TEXT);
    digest_key_free(key);
}

static void what_looks_like_one_is_none(void **state)
{
    static const char mac[] = "00000000000000000000000000000000";
    static const char *const before[] = {"",
                                         "-",
                                         "0-",
                                         "01-",
                                         "g-",
                                         "1-",
                                         "ffffffffffffffff-",
                                         "1ffffffffffffffffffffffffffffff-",
                                         "1-0-",
                                         "1--",
                                         "--",
                                         "1-01-",
                                         "g-1-",
                                         "1-g-",
                                         "123456789-1-",
                                         "ffffffff-1-",
                                         "1-ffffffffffffffff-",
                                         "1-1-1-"};
    struct digest_key *key = key_of("a secret");
    char text[TICKET_TEXT_SIZE * 2];
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        assert_false(is_one(key, 42, str_of(before[i])));
        strcpy(text, before[i]);
        assert_false(is_one(key, 42, str_of(strcat(text, mac))));
    }
    digest_key_free(key);
}

static void a_ticket_with_something_around_it_is_none(void **state)
{
    static const char *const around[][2] = {{"0", ""}, {"", "0"}, {" ", ""}, {"", " "}, {"", "\n"}, {"", "-"}, {"-", ""}};
    static const char *const texts[] = {NEW_TEXT, OLD_TEXT};
    struct digest_key *key = key_of("a secret");
    char longer[TICKET_TEXT_SIZE + 8];
    for (size_t i = 0; i < sizeof around / sizeof *around * 2; i++) {
        strcpy(longer, around[i / 2][0]);
        strcat(longer, texts[i % 2]);
        strcat(longer, around[i / 2][1]);
        assert_false(is_one(key, 42, str_of(longer)));
    }
    digest_key_free(key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ticket_says_its_tenant_and_number_to_who_has_the_secret),
        cmocka_unit_test(a_ticket_of_the_release_before_is_read_and_names_no_tenant),
        cmocka_unit_test(what_is_written_names_the_tenant),
        cmocka_unit_test(the_tenant_of_a_ticket_cannot_be_changed),
        cmocka_unit_test(a_ticket_with_one_letter_changed_is_none),
        cmocka_unit_test(what_looks_like_one_is_none),
        cmocka_unit_test(a_ticket_with_something_around_it_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

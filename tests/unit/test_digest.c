#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/digest.h"

#include <stdio.h>

static void the_known_answers(void **state)
{
    static const struct {
        const char *text, *hex;
    } cases[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t digest[DIGEST_SIZE];
        char hex[2 * DIGEST_SIZE + 1];
        digest_sha256(str_of(cases[i].text), digest);
        for (int k = 0; k < DIGEST_SIZE; k++)
            snprintf(hex + 2 * k, 3, "%02x", digest[k]);
        assert_string_equal(hex, cases[i].hex);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_known_answers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

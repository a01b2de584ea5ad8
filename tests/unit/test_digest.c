#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/data/digest.h"

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

// RFC 4231, cases 1 to 3, 6 and 7.
static void the_known_answers_under_a_key(void **state)
{
    static char key20[20], key131[131], data50[50];
    memset(key20, 0x0b, sizeof key20);
    memset(key131, 0xaa, sizeof key131);
    memset(data50, 0xdd, sizeof data50);
    const struct {
        struct str key, text;
        const char *hex;
    } cases[] = {
        {{key20, 20}, STR("Hi There"), "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
        {STR("Jefe"), STR("what do ya want for nothing?"), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
        {{key131, 20}, {data50, 50}, "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
        {{key131, 131},
         STR("Test Using Larger Than Block-Size Key - Hash Key First"),
         "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
        {{key131, 131},
         STR("This is a test using a larger than block-size key and a larger than block-size data. The key needs to be hashed "
             "before being used by the HMAC algorithm."),
         "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct digest_key *key = digest_key_new(cases[i].key);
        for (int again = 0; again < 2; again++) { // a key is used many times
            uint8_t digest[DIGEST_SIZE];
            char hex[2 * DIGEST_SIZE + 1];
            digest_hmac(key, cases[i].text, digest);
            for (int k = 0; k < DIGEST_SIZE; k++)
                snprintf(hex + 2 * k, 3, "%02x", digest[k]);
            assert_string_equal(hex, cases[i].hex);
        }
        digest_key_free(key);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_known_answers), cmocka_unit_test(the_known_answers_under_a_key)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

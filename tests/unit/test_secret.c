// The file of secret_file: which are taken, which are refused, and what is said.
#include "node/secret.h"

#include "base/data/digest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char path[] = "/tmp/rota-test-secret-XXXXXX";
static char bytes[SECRET_FILE_MAX + 1];

static int set_up(void **state)
{
    strcpy(path + strlen(path) - 6, "XXXXXX");
    int fd = mkstemp(path); // mode 0600
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 7);
    return fd < 0 ? -1 : close(fd);
}

static int tear_down(void **state)
{
    return unlink(path);
}

static void write_bytes(size_t n)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

static void assert_refused(const char *where, const char *words)
{
    uint8_t secret[STORE_SECRET_SIZE];
    char why[ERR_WHY_MAX] = "";
    assert_false(secret_read(where, secret, why));
    if (!strstr(why, words) || !strstr(why, where) || !strstr(why, "give a file of 32 to 4096 bytes"))
        fail_msg("\"%s\" is not what it says: %s", words, why);
}

static void a_secret_is_the_digest_of_all_bytes(void **state)
{
    static const size_t sizes[] = {SECRET_FILE_MIN, SECRET_FILE_MIN + 1, SECRET_FILE_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint8_t secret[STORE_SECRET_SIZE], right[DIGEST_SIZE];
        char why[ERR_WHY_MAX] = "left over";
        write_bytes(sizes[i]);
        assert_true(secret_read(path, secret, why));
        assert_string_equal(why, "");
        digest_sha256((struct str){bytes, sizes[i]}, right);
        assert_memory_equal(secret, right, sizeof right);
    }
}

static void a_newline_at_the_end_makes_another_secret(void **state)
{
    uint8_t without[STORE_SECRET_SIZE], with[STORE_SECRET_SIZE];
    char why[ERR_WHY_MAX];
    write_bytes(64);
    assert_true(secret_read(path, without, why));
    bytes[64] = '\n';
    write_bytes(65);
    assert_true(secret_read(path, with, why));
    assert_memory_not_equal(without, with, sizeof with);
}

static void what_cannot_be_a_secret_is_refused(void **state)
{
    assert_refused("/no/such/file", "No such file or directory");
    assert_refused("/tmp", "Is a directory");
    assert_refused(path, "it is empty");
    write_bytes(1);
    assert_refused(path, "it is so short that it could be guessed");
    write_bytes(SECRET_FILE_MIN - 1);
    assert_refused(path, "it is so short that it could be guessed");
    write_bytes(SECRET_FILE_MAX + 1);
    assert_refused(path, "it is too long for a secret");
}

static void what_is_said_does_not_show_the_secret(void **state)
{
    uint8_t secret[STORE_SECRET_SIZE];
    char why[ERR_WHY_MAX];
    strcpy(bytes, "tell nobody");
    write_bytes(11);
    assert_false(secret_read(path, secret, why));
    assert_null(strstr(why, "nobody"));
}

// Secrets of containers may have no other mode.
static void a_file_that_everybody_may_read_is_taken_with_a_warning(void **state)
{
    static const mode_t quiet[] = {0400, 0600, 0640};
    uint8_t secret[STORE_SECRET_SIZE];
    char why[ERR_WHY_MAX];
    write_bytes(SECRET_FILE_MIN);
    assert_int_equal(chmod(path, 0444), 0);
    assert_true(secret_read(path, secret, why));
    assert_non_null(strstr(why, "can be read by everybody on this machine (mode 0444)"));
    for (size_t i = 0; i < sizeof quiet / sizeof *quiet; i++) {
        assert_int_equal(chmod(path, quiet[i]), 0);
        assert_true(secret_read(path, secret, why));
        assert_string_equal(why, "");
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_secret_is_the_digest_of_all_bytes),
        TEST(a_newline_at_the_end_makes_another_secret),
        TEST(what_cannot_be_a_secret_is_refused),
        TEST(what_is_said_does_not_show_the_secret),
        TEST(a_file_that_everybody_may_read_is_taken_with_a_warning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

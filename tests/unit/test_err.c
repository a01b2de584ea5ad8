// The table of errors: complete, with codes that are stable words and statuses that say the same as may_retry.
#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void every_error_has_its_row(void **state)
{
    for (int i = 0; i < ERR_COUNT; i++) {
        const struct err_info *info = err_info((enum err)i);
        assert_non_null(info->code);
        assert_non_null(info->title);
        assert_true(strlen(info->code) > 0 && strspn(info->code, "abcdefghijklmnopqrstuvwxyz_") == strlen(info->code));
        assert_true(strlen(info->title) > 0 && strlen(info->title) < ERR_WHY_MAX);
    }
}

static void codes_are_different(void **state)
{
    for (int i = 0; i < ERR_COUNT; i++)
        for (int k = 0; k < i; k++)
            assert_string_not_equal(err_info((enum err)i)->code, err_info((enum err)k)->code);
}

static void ok_is_zero_so_that_errors_can_be_tested_for(void **state)
{
    assert_int_equal(ERR_OK, 0);
    assert_int_equal(err_info(ERR_OK)->status, 200);
    for (int i = 1; i < ERR_COUNT; i++)
        assert_in_range(err_info((enum err)i)->status, 400, 599);
}

static void what_passes_by_itself_may_be_tried_again(void **state)
{
    for (int i = 1; i < ERR_COUNT; i++) {
        int status = err_info((enum err)i)->status;
        assert_int_equal(err_info((enum err)i)->may_retry, status == 503 || status == 408 || status == 429);
    }
}

// These words are in API.md, users hold on to them.
static void the_promised_codes_keep_their_status(void **state)
{
    static const struct {
        enum err err;
        const char *code;
        int status;
    } promised[] = {
        {ERR_LEASE_LOST, "lease_lost", 409},       {ERR_MOVED_ON, "moved_on", 409},
        {ERR_KEY_REUSED, "key_reused", 409},       {ERR_ILLEGAL_TRANSITION, "illegal_transition", 409},
        {ERR_STORAGE_FULL, "storage_full", 503},   {ERR_INVALID_JSON, "invalid_json", 400},
        {ERR_UNKNOWN_FIELD, "unknown_field", 422}, {ERR_METHOD_NOT_ALLOWED, "method_not_allowed", 405},
        {ERR_TOO_LARGE, "too_large", 413},         {ERR_UNSUPPORTED_TYPE, "unsupported_type", 415},
        {ERR_NOT_FOUND, "not_found", 404},
    };
    for (size_t i = 0; i < sizeof promised / sizeof *promised; i++) {
        assert_string_equal(err_info(promised[i].err)->code, promised[i].code);
        assert_int_equal(err_info(promised[i].err)->status, promised[i].status);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_error_has_its_row),
        cmocka_unit_test(codes_are_different),
        cmocka_unit_test(ok_is_zero_so_that_errors_can_be_tested_for),
        cmocka_unit_test(what_passes_by_itself_may_be_tried_again),
        cmocka_unit_test(the_promised_codes_keep_their_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

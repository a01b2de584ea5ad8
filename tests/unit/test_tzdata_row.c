// Which tzdata plans follow: of nodes with different ones the newest has the last word, and one node at a time is at it.
#include "flow/tend/tzdata_row.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { US = 7 }; // 8 is another

static struct tzdata_row row_of(const char *text)
{
    return tzdata_row_read((struct str){text, strlen(text)});
}

static void what_was_written_is_read(void **state)
{
    static const char *const texts[] = {"- - 0 0", "2025b - 0 1", "2025b 2026a 4611686018427387904 0", "- 2026a 8 1"};
    char text[TZDATA_TEXT_SIZE];
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct tzdata_row row = row_of(texts[i]);
        tzdata_row_write(&row, text);
        assert_string_equal(text, texts[i]);
    }
}

static void what_cannot_be_read_says_nothing(void **state)
{
    static const char *const texts[] = {"", "2025b", "2025b 2026a x 0", "2025b 2026a 8"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct tzdata_row row = row_of(texts[i]);
        assert_true(!row.followed[0] && !row.next[0] && !row.holder && !row.again);
    }
}

static const struct {
    const char *what, *row;
    enum tzdata_act act;
    struct tzdata_view view;
} cases[] = {
    {"the first version of all is followed", "", TZDATA_TAKE, {.version = "2025b", .fresh = true}},
    {"an unknown version moves nothing", "", TZDATA_REST, {.version = "", .fresh = true}},
    {"a newer letter is followed", "2025a - 0 0", TZDATA_TAKE, {.version = "2025b"}},
    {"a newer year is followed", "2025b - 0 0", TZDATA_TAKE, {.version = "2026a"}},
    {"the same moves nothing", "2025b - 0 0", TZDATA_REST, {.version = "2025b", .fresh = true}},
    {"an older letter is behind", "2025b - 0 0", TZDATA_BEHIND, {.version = "2025a", .fresh = true}},
    {"an older year is behind", "2026a - 0 0", TZDATA_BEHIND, {.version = "2025b", .fresh = true}},
    {"who planned by an older one looks again", "2025b - 0 0", TZDATA_TAKE, {.version = "2025b", .fresh = true, .renewed = true}},
    {"so does who begins when it is asked for", "2025b - 0 1", TZDATA_TAKE, {.version = "2025b", .fresh = true}},
    {"… and nobody who has begun before", "2025b - 0 1", TZDATA_REST, {.version = "2025b"}},
    {"another that lives is waited for", "2025b 2026a 8 0", TZDATA_WAIT, {.version = "2026a", .holder_lives = true}},
    {"one that is dead is not", "2025b 2026a 8 0", TZDATA_TAKE, {.version = "2026a"}},
    {"who had begun goes on", "2025b 2026a 7 0", TZDATA_TAKE, {.version = "2026a", .holder_lives = true}},
    {"a still newer one does not wait", "2025b 2026a 8 0", TZDATA_TAKE, {.version = "2026b", .holder_lives = true}},
    {"what others are at does not concern who has followed", "2025b 2026a 8 0", TZDATA_REST, {.version = "2025b"}},
};

static void only_a_newer_version_moves_plans(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tzdata_row row = row_of(cases[i].row);
        struct tzdata_view view = cases[i].view;
        view.life = US;
        if (tzdata_judge(&row, &view) != cases[i].act)
            fail_msg("%s: it is judged as %d", cases[i].what, tzdata_judge(&row, &view));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_read),
        cmocka_unit_test(what_cannot_be_read_says_nothing),
        cmocka_unit_test(only_a_newer_version_moves_plans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// core/filter: a condition that is taken can be told from having none, one that is refused is named; a cursor leads back to where
// it was made, and to no other list.
#include "core/filter.h"

#include "fuzz.h"

static void check_cursor(const struct filter *filter, struct str text)
{
    char shown[CURSOR_TEXT_SIZE];
    struct cursor cursor, again;
    uint32_t digest = filter_digest(filter);
    if (!cursor_parse(text, digest, &cursor)) // hardly any text is one: so one is made of it
        memcpy(&cursor, (char[sizeof cursor]){0}, sizeof cursor);
    size_t n = text.n < sizeof cursor ? text.n : sizeof cursor;
    if (n)
        memcpy(&cursor, text.p, n);
    cursor_format(shown, cursor, digest);
    must(cursor_parse(str_of(shown), digest, &again));
    must(again.at == cursor.at && again.id == cursor.id);
    must(!cursor_parse(str_of(shown), digest + 1, &again));
    shown[n % (CURSOR_TEXT_SIZE - 1)] ^= 1;
    must(!cursor_parse(str_of(shown), digest, &again));
}

// Lines are NAME=VALUE, as in a query.
static void check_filter(enum filter_of of, struct str lines)
{
    struct filter filter = filter_any(of);
    while (lines.n) {
        struct str value = fuzz_cut(&lines, '\n'), name = fuzz_cut(&value, '=');
        struct problem why = {0};
        uint32_t before = filter_digest(&filter);
        enum err err = filter_set(&filter, name, value, &why);
        must(err == why.err);
        if (err)
            must(why.detail[0] && (err == ERR_INVALID_FIELD || err == ERR_UNKNOWN_FIELD));
        else
            must(!str_starts(name, STR("label.")) || filter_digest(&filter) != before);
    }
    must(filter.label_count <= FILTER_LABELS_MAX);
    must(filter_stored_states(&filter) < 1u << JOB_STATE_COUNT);
    struct cursor newest = filter_newest(&filter, 1794700000000);
    must(newest.at > 0);
    check_cursor(&filter, filter.name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_filter(FILTER_TASKS, fuzz_input(data, size));
    check_filter(FILTER_JOBS, fuzz_input(data, size));
    return 0;
}

// base/text/when, durations: what is read is written and read again as the same length, and the written form is a fixed point.
#include "base/text/when.h"
#include "fuzz.h"

static const int64_t HUNDRED_YEARS_MS = 36525LL * 24 * 3600 * 1000;

// "30s" and its kin, read the simple way; -1: not of this form, or too long to be sure.
static int64_t plainly(struct str text)
{
    static const struct {
        const char *unit;
        int64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
    char copy[12], *end;
    if (!text.n || text.n >= sizeof copy || text.p[0] < '0' || text.p[0] > '9')
        return -1;
    memcpy(copy, text.p, text.n);
    copy[text.n] = 0;
    long long count = strtoll(copy, &end, 10);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(end, units[i].unit) == 0 && strlen(copy) == text.n)
            return count * units[i].ms;
    return -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = fuzz_input(data, size);
    char shown[WHEN_TEXT_SIZE], twice[WHEN_TEXT_SIZE];
    int64_t ms = -1, again = -1, plain = plainly(text);
    if (!duration_parse(text, &ms)) {
        must(ms == -1);
        must(plain == -1 || plain > HUNDRED_YEARS_MS);
        return 0;
    }
    must(ms >= 0);
    must(ms <= HUNDRED_YEARS_MS);
    must(plain == -1 || plain == ms);
    duration_format(shown, ms);
    must(duration_parse(str_of(shown), &again));
    must(again == ms);
    duration_format(twice, again);
    must(strcmp(shown, twice) == 0);
    return 0;
}

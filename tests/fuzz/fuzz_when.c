// base/text/when, times: what is read is written and read again as the same instant, and the C library counts the same seconds.
#include "base/text/when.h"
#include "fuzz.h"

#include <time.h>

// The first 19 bytes and the zone, read by strptime() and timegm(): -1 when it cannot say. A leap second is not theirs.
static int64_t their_seconds(struct str text)
{
    char date[20], zone[7] = "";
    struct tm tm = {0};
    int hours = 0, minutes = 0;
    memcpy(date, text.p, 19);
    date[19] = 0;
    date[10] = 'T';
    if (!strptime(date, "%Y-%m-%dT%H:%M:%S", &tm) || tm.tm_sec == 60)
        return -1;
    bool utc = text.p[text.n - 1] == 'Z' || text.p[text.n - 1] == 'z';
    if (!utc) {
        memcpy(zone, text.p + text.n - 6, 6);
        must(sscanf(zone + 1, "%2d:%2d", &hours, &minutes) == 2);
    }
    int64_t offset = (hours * 60 + minutes) * 60;
    return timegm(&tm) - (zone[0] == '-' ? -offset : offset);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = fuzz_input(data, size);
    char shown[WHEN_TEXT_SIZE];
    int64_t ms = -1, again = -1;
    if (!when_parse(text, &ms)) {
        must(ms == -1);
        return 0;
    }
    must(ms >= 0);
    must(text.n >= 20);
    when_format(shown, ms);
    must(strlen(shown) == 24);
    must(when_parse(str_of(shown), &again));
    must(again == ms);
    int64_t theirs = their_seconds(text);
    must(theirs == -1 || theirs == ms / 1000);
    return 0;
}

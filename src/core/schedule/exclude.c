// A text is digits and hyphens in fixed places, so its length says which of the three it is.
#include "core/schedule/exclude.h"

#include "base/calendar.h"

enum { DATE_LENGTH = 10, YEARLY_LENGTH = 5, RANGE_LENGTH = 2 * DATE_LENGTH + 1, LEAP_YEAR = 2000 };

// Reads so many digits. Returns -1: they are not all digits.
static int number(const char *p, size_t digits)
{
    int value = 0;
    for (size_t i = 0; i < digits; i++) {
        if (p[i] < '0' || p[i] > '9')
            return -1;
        value = value * 10 + (p[i] - '0');
    }
    return value;
}

static bool is_day(int year, int month, int day)
{
    return year >= 0 && month >= 1 && month <= 12 && day >= 1 && day <= calendar_month_days(year, month);
}

static bool read_date(const char *p, int32_t *ret_day)
{
    int year = number(p, 4), month = number(p + 5, 2), day = number(p + 8, 2);
    if (p[4] != '-' || p[7] != '-' || !is_day(year, month, day))
        return false;
    *ret_day = (int32_t)calendar_days(year, month, day);
    return true;
}

static int32_t yearly(int month, int day)
{
    return month * 32 + day;
}

static bool read_yearly(const char *p, struct exclude *ret_exclude)
{
    int month = number(p, 2), day = number(p + 3, 2);
    if (p[2] != '-' || !is_day(LEAP_YEAR, month, day))
        return false;
    *ret_exclude = (struct exclude){.yearly = true, .first = yearly(month, day), .last = yearly(month, day)};
    return true;
}

static bool read_range(const char *p, struct exclude *ret_exclude)
{
    *ret_exclude = (struct exclude){0};
    return p[DATE_LENGTH] == '/' && read_date(p, &ret_exclude->first) && read_date(p + DATE_LENGTH + 1, &ret_exclude->last) &&
           ret_exclude->first <= ret_exclude->last;
}

bool exclude_read(struct str text, struct exclude *ret_exclude)
{
    if (text.n == YEARLY_LENGTH)
        return read_yearly(text.p, ret_exclude);
    if (text.n == RANGE_LENGTH)
        return read_range(text.p, ret_exclude);
    *ret_exclude = (struct exclude){0};
    if (text.n != DATE_LENGTH || !read_date(text.p, &ret_exclude->first))
        return false;
    ret_exclude->last = ret_exclude->first;
    return true;
}

bool exclude_has(const struct exclude *excludes, size_t count, int64_t day)
{
    if (!count)
        return false;
    struct calendar_date date = calendar_date(day);
    for (size_t i = 0; i < count; i++) {
        int64_t at = excludes[i].yearly ? yearly(date.month, date.day) : day;
        if (at >= excludes[i].first && at <= excludes[i].last)
            return true;
    }
    return false;
}

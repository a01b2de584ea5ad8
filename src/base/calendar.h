// Days since 1970-01-01 and the dates of the Gregorian calendar, counted with integers alone: no file, locale or environment of
// the machine takes part.
// Layer: base, pure. Inline, because every answer shows half a dozen times.
//
// The calendar is continued before its introduction, and there is a year 0 (1 BC). Years from -100,000 to 100,000.
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct calendar_date {
    int year, month, day; // month and day count from 1
};

enum { CALENDAR_ERA_YEARS = 400, CALENDAR_ERA_DAYS = 146097, CALENDAR_ERA_TO_1970_DAYS = 719468 };

// A year is taken to begin in March, so that a leap day is its last day; 400 years are one era. A negative year is rounded down
// to its era, so that days before the year 0 are counted as those after it.
static inline int64_t calendar_days(int year, int month, int day)
{
    int years = month <= 2 ? year - 1 : year;
    int era = (years >= 0 ? years : years - (CALENDAR_ERA_YEARS - 1)) / CALENDAR_ERA_YEARS;
    int year_of_era = years - era * CALENDAR_ERA_YEARS;
    int day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    int day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return (int64_t)era * CALENDAR_ERA_DAYS + day_of_era - CALENDAR_ERA_TO_1970_DAYS;
}

static inline struct calendar_date calendar_date(int64_t days)
{
    days += CALENDAR_ERA_TO_1970_DAYS;
    int64_t era = (days >= 0 ? days : days - (CALENDAR_ERA_DAYS - 1)) / CALENDAR_ERA_DAYS;
    int day_of_era = (int)(days - era * CALENDAR_ERA_DAYS);
    int year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int month_from_march = (5 * day_of_year + 2) / 153;
    int month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
    return (struct calendar_date){.year = year_of_era + (int)era * CALENDAR_ERA_YEARS + (month <= 2),
                                  .month = month,
                                  .day = day_of_year - (153 * month_from_march + 2) / 5 + 1};
}

static inline bool calendar_is_leap(int year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static inline int calendar_month_days(int year, int month)
{
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && calendar_is_leap(year));
}

// 0 is Sunday. 1970-01-01 was a Thursday.
static inline int calendar_weekday(int64_t days)
{
    int weekday = (int)((days + 4) % 7);
    return weekday < 0 ? weekday + 7 : weekday;
}

// The day that a second falls on, also before 1970.
static inline int64_t calendar_day_of(int64_t seconds)
{
    enum { DAY_S = 24 * 3600 };
    return seconds / DAY_S - (seconds % DAY_S < 0);
}

"""Compares core/schedule/cron with code that shares nothing with it: patterns are expanded into sets here, each matching reading of the
wall clock is mapped to instants by Python's zoneinfo, and what comes of it must be the runs that rota finds.

cron_oracle.py PROGRAM [--sample] [ZONE…]: PROGRAM is cron_lines. Without names all zones of the machine are compared. Of each zone are compared:
every minute in four hours around each change of the clock from 2020 to 2040, for all patterns, with every way to treat gaps and overlaps in
turn; and all of these years for patterns that fire at most once a day. Beside the patterns below each zone gets some of its own, made at
random from its name. --sample takes fewer patterns and years. Prints what differs, then one line `N passed, M failed`; a zone counts as one.
"""

import bisect
import calendar
import concurrent.futures
import datetime
import functools
import hashlib
import itertools
import os
import random
import subprocess
import sys
import zoneinfo

import zone_oracle

EPOCH = datetime.datetime(1970, 1, 1)
FIRST_YEAR, END_YEAR = 2020, 2041
AROUND = 4 * 3600
DAY = 24 * 3600
RARE = 8000  # runs in all years
CHOICES = list(itertools.product(("run_after", "skip"), ("first", "last", "both")))

PATTERNS = """
* * * * *|*/15 * * * *|*/7 * * * *|0 * * * *|30 * * * *|17 */3 * * *|*/20 1-3 * * *|* 2 * * *|0-59 2 * * *|*,5 1 * * *|0 0 * * *|30 0 * * *|59 23 * * *
0 1 * * *|30 1 * * *|0 2 * * *|30 2 * * *|15,45 2 * * *|0 3 * * *|0 2,3 * * *|0,30 0-4 * * *|10-50/20 1,2,3 * * *|59 1 * * *|1 2 * * SUN|30 2 * 3,10,11 *
30 1 * APR-oct 0|0 2 L * *|0 0 1 * *|0 0 31 * *|0 0 L * *|0 0 L 2 *|0 0 29 2 *|0 12 15W * *|0 12 1W * *|0 12 31W * *|0 0 30W * *|0 0 * * 5L
0 0 * * SUN#L|30 2 * * SUN#L|30 2 * * 7#1|30 1 * * 0#1|15 2 * * SUN#2|0 0 * * MON#1,WED#3,FRI#5|0 0 * * TUE#5|0 12 1 * MON|0 12 1-31 * MON|0 12 *,1 * MON
0 0 13 * +FRI|0 0 1-7 * +SAT|0 0 29 2 +MON|0 0 */2 * *|0 0 */10 * 3|0 0 ? * 1-5|0 0 15 * ?|0 0 1 */3 *|@yearly|@annually|@monthly|@weekly|@daily|@midnight|@hourly
*/10 * * * * *|30 0 2 * * *|* 30 2 * * *|15,45 59 1 * * *|0 30 2 * * * 2026|0 0 0 1 1 * */2|0 30 1 * * SUN 2025-2030/2|0 0 3 * 3 +SUN#L 2021,2031|5 1-23/2 * * *|0 22-23 * * *
"""

NAMES = {name: number for names, first in ((calendar.month_abbr[1:], 1), (["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"], 0))
         for number, name in enumerate((name.upper() for name in names), first)}
NICKNAMES = {"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0", "@daily": "0 0 * * *",
             "@midnight": "0 0 * * *", "@hourly": "0 * * * *"}


# ---- patterns

def number(word):
    return NAMES[word.upper()] if word.upper() in NAMES else int(word)


@functools.lru_cache(None)
def expand(field, first, last):
    """The numbers of a field without days' letters."""
    found = set()
    for entry in field.split(","):
        body, _, step = entry.partition("/")
        low, dash, high = body.partition("-")
        numbers = range(first, last + 1) if body in "*?" else range(number(low), number(high if dash else low) + 1)
        found.update(numbers[::int(step or 1)])
    return found


class Pattern:
    def __init__(self, text):
        self.text = text
        words = NICKNAMES.get(text, text).split()
        words = ["0"] * (len(words) == 5) + words + ["*"] * (len(words) < 7)
        second, minute, hour, self.day, month, weekday, year = words
        self.joined, self.weekday = weekday.startswith("+"), weekday.removeprefix("+")
        self.elapsed = minute.startswith("*") or hour.startswith("*")
        self.months, self.years = expand(month, 1, 12), expand(year, 1970, 2199)
        self.seconds = sorted(expand(second, 0, 59))
        hours, minutes = expand(hour, 0, 23), expand(minute, 0, 59)
        self.minutes = [at for at in range(24 * 60) if at // 60 in hours and at % 60 in minutes]
        self.in_minutes = set(self.minutes)
        self.day_cache = {}

    def date_fits(self, date):
        last = calendar.monthrange(date.year, date.month)[1]
        if self.day.endswith("W"):
            return date.day == nearest(date.year, date.month, int(self.day[:-1]), last)
        plain = ",".join(entry for entry in self.day.split(",") if entry != "L")
        return bool(plain) and date.day in expand(plain, 1, 31) or "L" in self.day and date.day == last

    def weekday_fits(self, date):
        return any(entry_fits(entry, date) for entry in self.weekday.split(","))

    def fits(self, day):
        """Whether a day, counted from 1970, fits."""
        if day not in self.day_cache:
            self.day_cache[day] = self.decide(datetime.date(1970, 1, 1) + datetime.timedelta(day))
        return self.day_cache[day]

    def decide(self, date):
        if date.month not in self.months or date.year not in self.years:
            return False
        free = [field.split(",")[0] in "*?" for field in (self.day, self.weekday)]
        either = not self.joined and not any(free)
        return (any if either else all)((self.date_fits(date), self.weekday_fits(date)))


@functools.lru_cache(None)
def nearest(year, month, day, last):
    """Of the days of this month that are no weekend the nearest one; None: the month has no such day. No two are as near."""
    days = [other for other in range(1, last + 1) if datetime.date(year, month, other).weekday() < 5]
    return min(days, key=lambda other: abs(other - day)) if day <= last else None


def entry_fits(entry, date):
    weekday = date.isoweekday() % 7
    if "#" in entry or entry.endswith("L"):
        name, _, count = entry.partition("#") if "#" in entry else (entry[:-1], "", "L")
        last = calendar.monthrange(date.year, date.month)[1]
        return number(name) % 7 == weekday and (date.day + 7 > last if count == "L" else (date.day + 6) // 7 == int(count))
    return weekday in {value % 7 for value in expand(entry, 0, 7)}


def random_pattern(dice):
    def field(first, last, most):
        def entry():
            low, high = sorted(dice.sample(range(first, last + 1), 2))
            return dice.choice([str(low), str(low), f"{low}-{high}", f"{low}-{high}/{dice.randint(1, 9)}", f"*/{dice.randint(2, 20)}"])
        return ",".join(entry() for _ in range(dice.randint(1, most)))
    minute, hour = dice.choice(["*", "0", "30", field(0, 59, 3)]), dice.choice(["*", "2", "1-3", "0-3", field(0, 23, 2)])
    day = dice.choice(["*", "*", "*", "L", f"{dice.randint(1, 31)}W", field(1, 31, 3), f"{dice.randint(1, 28)},L"])
    weekday = dice.choice(["*", "*", "0", "7", "SUN#L", f"{dice.randint(0, 7)}#{dice.randint(1, 5)}", f"{dice.randint(0, 7)}L", field(0, 7, 2)])
    month = dice.choice(["*", "*", "*", "3,10", field(1, 12, 2)])
    second, year = dice.choice(["", "", "", "0 ", f"{dice.randint(0, 59)} "]), dice.choice(["", " *", f" {dice.randint(2020, 2030)}-2040"])
    return f"{second}{minute} {hour} {day} {month} {dice.choice(['', '+'])}{weekday}{year if second else ''}"


# ---- zones

class Zone:
    """When the clocks change, and for readings of the wall clock near a change what they stand for."""

    def __init__(self, path, first_year, end_year):
        with open(path, "rb") as file:
            self.zone = zoneinfo.ZoneInfo.from_file(file)
        self.start, self.end = (int((datetime.datetime(year, 1, 1) - EPOCH).total_seconds()) for year in (first_year, end_year))
        self.changes = self.find_changes()
        self.plain, self.folds = functools.lru_cache(None)(self.plain), functools.lru_cache(None)(self.folds)

    def offset(self, utc):
        return int((EPOCH + datetime.timedelta(seconds=utc)).replace(tzinfo=datetime.timezone.utc).astimezone(self.zone).utcoffset().total_seconds())

    def find_changes(self):
        found, before = [], self.offset(self.start - DAY)
        for at in range(self.start - DAY, self.end + 2 * DAY, DAY // 4):
            after = self.offset(at)
            if after != before:
                found.append(self.narrow(at - DAY // 4, at))
            before = after
        return found

    def narrow(self, low, high):
        before = self.offset(low)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.offset(middle) == before else (low, middle)
        return high

    def plain(self, day):
        """The offset of a day in and around which no clock changes; None: one does."""
        at = bisect.bisect_left(self.changes, (day - 2) * DAY)
        return None if at < len(self.changes) and self.changes[at] < (day + 3) * DAY else self.offset(day * DAY)

    def folds(self, minute):
        """PEP 495: the two offsets of a reading differ where it comes twice or not at all. No clock of these years changes within a minute."""
        local = (EPOCH + datetime.timedelta(minutes=minute)).replace(tzinfo=self.zone)
        return [int(local.replace(fold=fold).utcoffset().total_seconds()) for fold in (0, 1)]

    def instants(self, wall, elapsed, gap, overlap):
        first, last = (wall - offset for offset in self.folds(wall // 60))
        if first > last:
            behind = next(change for change in self.changes if last < change <= first)
            return [] if elapsed or gap == "skip" else [behind]
        if first == last or elapsed or overlap == "both":
            return [first, last]
        return [first] if overlap == "first" else [last]


def near_runs(zone, pattern, change, gap, overlap):
    """The runs in AROUND seconds on both sides of a change."""
    low, high = change - AROUND, change + AROUND
    offsets = zone.offset(low), zone.offset(high)
    found = set()
    for at in range((low + min(offsets)) // 60, (high + max(offsets)) // 60 + 1):
        if at % 1440 in pattern.in_minutes and pattern.fits(at // 1440):
            for second in pattern.seconds:
                found.update(zone.instants(at * 60 + second, pattern.elapsed, gap, overlap))
    return [at for at in sorted(found) if low < at <= high]


def all_runs(zone, pattern, gap, overlap):
    found = set()
    for day in range(zone.start // DAY - 1, zone.end // DAY + 1):
        if not pattern.fits(day):
            continue
        offset = zone.plain(day)
        for wall in (day * DAY + minute * 60 + second for minute in pattern.minutes for second in pattern.seconds):
            found.update([wall - offset] if offset is not None else zone.instants(wall, pattern.elapsed, gap, overlap))
    return [at for at in sorted(found) if zone.start < at <= zone.end]


# ---- what is asked, and what should be answered

@functools.lru_cache(None)
def parsed(text):
    return Pattern(text)


def questions(zone, patterns):
    for i, pattern in enumerate(patterns):
        for k, change in enumerate(zone.changes):
            gap, overlap = CHOICES[(i + k) % len(CHOICES)]
            yield pattern, gap, overlap, change - AROUND, change + AROUND, near_runs(zone, pattern, change, gap, overlap)
        days = (zone.end - zone.start) // DAY
        if len(pattern.minutes) * len(pattern.seconds) * days <= RARE:
            gap, overlap = CHOICES[i % len(CHOICES)]
            yield pattern, gap, overlap, zone.start, zone.end, all_runs(zone, pattern, gap, overlap)


def check(program, name, sample):
    """What differs in one zone."""
    path = zone_oracle.folder() / name
    dice = random.Random(name)
    texts = PATTERNS.replace("\n", "|").strip("|").split("|")
    texts = texts[::3] if sample else texts
    texts += [random_pattern(dice) for _ in range(6 if sample else 15)]
    zone = Zone(path, FIRST_YEAR, FIRST_YEAR + 4 if sample else END_YEAR)
    asked = list(questions(zone, [parsed(text) for text in texts]))
    lines = "".join(f"runs {gap} {overlap} {low} {high} {pattern.text}\n" for pattern, gap, overlap, low, high, _ in asked)
    said = subprocess.run([program, path], input=lines, capture_output=True, text=True)
    answers = said.stdout.splitlines()
    if said.returncode or len(answers) != len(asked):
        return [said.stderr.strip() or f"{len(answers)} answers to {len(asked)} questions"]
    return [f"\"{pattern.text}\" {gap} {overlap} {difference(runs, [int(word) for word in answer.split()])}"
            for (pattern, gap, overlap, _, _, runs), answer in zip(asked, answers) if runs != [int(word) for word in answer.split()]]


def difference(wanted, found):
    at = min(set(wanted) ^ set(found), default=None)
    if at is None:
        return "has a run twice, or not in order"
    when = (EPOCH + datetime.timedelta(seconds=at)).isoformat()
    return f"runs at {when}Z, and should not" if at in found else f"does not run at {when}Z, and should"


def different_zones():
    """One name for each file: links are copies."""
    files = {}
    for name in zone_oracle.all_names():
        files.setdefault(hashlib.sha256((zone_oracle.folder() / name).read_bytes()).digest(), name)
    return sorted(files.values())


def main():
    arguments = sys.argv[1:]
    sample = "--sample" in arguments
    program, *names = [word for word in arguments if word != "--sample"] or sys.exit(__doc__)
    names, failed = names or different_zones(), 0
    with concurrent.futures.ProcessPoolExecutor(1 if sample else os.cpu_count()) as pool:
        for name, wrong in zip(names, pool.map(check, itertools.repeat(program), names, itertools.repeat(sample))):
            failed += bool(wrong)
            for words in wrong[:5]:
                print(f"{name}: {words}")
    print(f"{len(names) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

"""Compares core/schedule/zone with Python's zoneinfo, an implementation that shares nothing with it, from 1970 to the end of 2199.

zone_oracle.py PROGRAM [ZONE…]: PROGRAM is zone_lines. Without names all zones of the machine are compared. Of each are compared: offset and
abbreviation at both ends of every span, on the first of each month, and every week in between, so that no span hides a change; and what a
wall clock's reading stands for around each change and on the first of each month. Prints what differs, then one line `N passed, M failed`;
a zone counts as one.
"""

import datetime
import pathlib
import subprocess
import sys
import zoneinfo

SECOND, WEEK = datetime.timedelta(seconds=1), 7 * 24 * 3600
UTC = datetime.timezone.utc
EPOCH = datetime.datetime(1970, 1, 1)
EPOCH_UTC = EPOCH.replace(tzinfo=UTC)
END = int((datetime.datetime(2200, 1, 1) - EPOCH).total_seconds())
MONTHS = [int((datetime.datetime(year, month, 1) - EPOCH).total_seconds()) for year in range(1970, 2200) for month in range(1, 13)]


def folder():
    return next(pathlib.Path(path) for path in zoneinfo.TZPATH if (pathlib.Path(path) / "tzdata.zi").is_file())


def all_names():
    """Names of zones and of links; a folder of tzdata has other files besides."""
    lines = [line.split() for line in (folder() / "tzdata.zi").read_text().splitlines()]
    return sorted({words[1] for words in lines if words[:1] == ["Z"]} | {words[2] for words in lines if words[:1] == ["L"]})


class Other:
    """A zone as zoneinfo has it."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.zone = zoneinfo.ZoneInfo.from_file(file)

    def at(self, utc):
        local = (EPOCH_UTC + utc * SECOND).astimezone(self.zone)
        return int(local.utcoffset().total_seconds()), local.tzname()

    def wall(self, wall):
        """(kind, first, last): by PEP 495 the two folds differ where a reading is not one instant."""
        local = (EPOCH + wall * SECOND).replace(tzinfo=self.zone)
        first, last = (wall - int(local.replace(fold=fold).utcoffset().total_seconds()) for fold in (0, 1))
        if first == last:
            return "once", first, last
        if first < last:
            return "twice", first, last
        end = self.change(last, first)
        return "skipped", end, end

    def change(self, low, high):
        """The one change of offset in (low, high]."""
        before = self.at(low)[0]
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.at(middle)[0] == before else (low, middle)
        return high


def check_spans(other, spans):
    at, months = 0, iter(MONTHS)
    month = next(months)
    for start, until, offset, name in spans:
        if at and start != at or start > at or until <= at:
            yield f"the span from {start} to {until} does not follow {at}"
        start, last = max(start, 0), min(until, END) - 1
        probes = {start, last, *range(start, last, WEEK)}
        while month is not None and month <= last:
            probes.add(month)
            month = next(months, None)
        for probe in sorted(probes):
            if other.at(probe) != (offset, name):
                yield f"at {probe}: {offset} {name}, zoneinfo has {other.at(probe)}"
        at = until
    if at < END:
        yield f"the spans end at {at}"


def check_walls(other, spans, walls):
    asked = {wall for wall, *_ in walls}
    ends = {until + by for _, until, offset, _ in spans if until < END for by in (offset - 1, offset, offset + 1)}
    if not asked.issuperset(MONTHS) or not asked.issuperset(ends):
        yield "not every change and month was asked for"
    for wall, *answer in walls:
        if tuple(answer) != other.wall(wall):
            yield f"wall {wall}: {answer}, zoneinfo has {other.wall(wall)}"


def check(path, lines):
    words = [line.split() for line in lines]
    spans = [(int(start), int(until), int(offset), name) for what, start, until, offset, _, name in
             (line for line in words if line[0] == "span")]
    walls = [(int(wall), kind, int(first), int(last)) for what, wall, kind, first, last in
             (line for line in words if line[0] == "wall")]
    other = Other(path)
    return [*check_spans(other, spans), *check_walls(other, spans, walls)]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    names, failed = sys.argv[2:] or all_names(), 0
    for name in names:
        path = folder() / name
        said = subprocess.run([sys.argv[1], path], capture_output=True, text=True)
        wrong = check(path, said.stdout.splitlines()[1:]) if said.returncode == 0 else [said.stderr.strip()]
        failed += bool(wrong)
        for words in wrong[:5]:
            print(f"{name}: {words}")
    print(f"{len(names) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

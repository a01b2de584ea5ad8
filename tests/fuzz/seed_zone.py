"""Writes the inputs of fuzz_zone: seed_zone.py FOLDER. They are files of time zones that exist nowhere, each for one branch of the
reader; nothing of tzdata is in them."""

import pathlib
import struct
import sys

KINDS = [(-11111, 0, 0), (3600, 0, 4), (7200, 1, 8)]
NAMES = b"LMT\0CET\0+0200\0"


def header(version, isut=0, isstd=0, leap=0, times=0, kinds=0, chars=0):
    return struct.pack(">4sc15x6I", b"TZif", version, isut, isstd, leap, times, kinds, chars)


def block(version, form, times=(), kinds=KINDS, names=NAMES, leaps=(), indicators=0):
    """`times` are pairs of an instant and the kind that begins."""
    text = header(version, indicators, indicators, len(leaps), len(times), len(kinds), len(names))
    text += b"".join(struct.pack(">" + form, at) for at, _ in times) + bytes(kind for _, kind in times)
    text += b"".join(struct.pack(">iBB", *kind) for kind in kinds) + names
    return text + b"".join(struct.pack(f">{form}i", *leap) for leap in leaps) + bytes(2 * indicators)


def whole(footer, version=b"2", **parts):
    return block(version, "i") + block(version, "q", **parts) + b"\n" + footer + b"\n"


YEAR = 365 * 86400
TABLE = [(-YEAR, 1), (YEAR, 2), (YEAR + 3600, 1), (2 * YEAR, 2)]
SEEDS = {
    "first_version": block(b"\0", "i", TABLE),
    "first_version_indicators": block(b"\0", "i", TABLE, indicators=3),
    "table_and_rule": whole(b"CET-1CEST,M3.5.0,M10.5.0/3", times=TABLE),
    "table_and_no_rule": whole(b"", times=TABLE),
    "fourth_version": whole(b"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", b"4", times=TABLE),
    "only_a_rule": whole(b"AAA-10:30BBB-11,M10.1.0,M4.1.0"),
    "only_an_offset": whole(b"<+0545>-5:45"),
    "all_year": whole(b"EST5EDT,0/0,J365/25"),
    "far_times": whole(b"AAA0BBB,J1/-167,365/167"),
    "days": whole(b"AAA0BBB1:02:03,59/0,J60/2:03:04"),
    "winter_is_daylight": whole(b"IST-1GMT0,M10.5.0,M3.5.0/1"),
    "skipped_day": whole(b"<+14>-14", times=[(YEAR, 1)], kinds=[(-36000, 0, 0), (50400, 0, 8)]),
    "first_and_last_instant": whole(b"", times=[(-2**63, 1), (2**63 - 1, 2)]),
    "leap_seconds": whole(b"UTC0", leaps=[(78796800, 1)]),
    "not_in_order": whole(b"UTC0", times=[(5, 1), (5, 2)]),
    "no_such_kind": whole(b"UTC0", times=[(5, 3)]),
    "name_not_ended": whole(b"UTC0", names=b"LMT\0CET\0+0200"),
    "bad_offset": whole(b"UTC0", kinds=[(93600, 0, 0)]),
    "no_dates": whole(b"EST5EDT"),
    "bad_rule": whole(b"EST5EDT,M13.1.0,M1.1.0"),
    "many": header(b"\0", times=2**32 - 1, kinds=2**32 - 1, chars=2**32 - 1),
    "empty": b"",
}


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(exist_ok=True)
    for name, text in SEEDS.items():
        (folder / name).write_bytes(text)


if __name__ == "__main__":
    main()

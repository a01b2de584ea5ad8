"""The layers of STYLE.md, checked: who may include whom, which folder sees which foreign library, and that core stays pure.

check_layers.py TREE: TREE is a build directory without sanitizers; its objects of core are asked with nm which symbols they need.
Prints each breach, then one line `N passed, M failed`. A header that no table here knows is a breach too, so that the
tables grow by decision and not by accident.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SRC = ROOT / "src"

# A folder may include itself and these.
BELOW = {
    "base": [],
    "core": ["base"],
    "store": ["base", "core"],
    "broker": ["base", "core"],
    "coord": ["base", "core"],
    "blob": ["base", "core"],
    "http": ["base", "core"],
    "exec": ["base", "core", "http"],
    "flow": ["base", "core", "store", "broker", "coord", "blob", "http", "exec"],
    "api": ["base", "core", "store", "broker", "coord", "blob", "http", "exec", "flow"],
    "cli": ["base", "core", "http", "node"],
    "node": ["base", "core", "store", "broker", "coord", "blob", "http", "exec", "flow", "api"],
}

# Folders whose headers are for themselves: the command line knows its verbs only by their rows.
CLOSED = ["cli/verbs"]

# A foreign library, by the start of its headers' names, and the folders that hide it.
FOREIGN = {
    "sqlite3.h": ["store"],
    "libpq": ["store"],
    "curl/": ["http", "exec"],
    "ares": ["http", "exec"],
    "jansson.h": ["base", "cli"],
    "openssl/": ["base", "store", "http", "exec", "api"],
    "librdkafka/": ["broker"],
    "zookeeper/": ["coord"],
}

# Headers of the C library that promise no I/O, clock or thread: all that core may see.
PURE = """arpa/inet.h assert.h ctype.h endian.h errno.h float.h inttypes.h limits.h math.h stdalign.h stdarg.h stdbool.h stddef.h stdint.h
stdio.h stdlib.h string.h strings.h""".split()

SYSTEM = PURE + """dirent.h fcntl.h fnmatch.h getopt.h glob.h libgen.h locale.h malloc.h netdb.h poll.h pthread.h pwd.h sched.h signal.h
stdatomic.h sysexits.h syslog.h termios.h threads.h time.h ucontext.h unistd.h wchar.h""".split()
SYSTEM_FOLDERS = ("sys/", "net/", "netinet/", "linux/")

# What objects of core may ask for: each other, the pure part of base, and these of the C library.
PURE_BASE = ["arena", "buf", "data/hash", "err", "mask", "str", "text/json", "text/toml", "text/utf8", "text/when"]
PURE_SYMBOLS = re.compile(
    r"_GLOBAL_OFFSET_TABLE_|__stack_chk_fail|__assert_fail|inet_pton|inet_ntop|qsort|bsearch|abs|labs"
    r"|(__)?(v?snprintf|memcpy|memmove|memset|strcpy|strncpy|strcat)(_chk)?"
    r"|memcmp|memchr|memrchr|memmem|mempcpy"
    r"|str(n?len|n?cmp|n?casecmp|r?chr|str|casestr|c?spn|pbrk|chrnul|tol|toul|toll|toull|tod)"
    r"|__isoc99_strto[a-z]+|__isoc23_strto[a-z]+|__ctype_[a-z_]+|tolower|toupper"
)

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


def why_not_own(place, name):
    """Why a file in the folder `place`, "cli/show", may not include this one of ours; None: it may."""
    if not (SRC / name).is_file():
        return "there is no such file in src/"
    if name.rpartition("/")[0] in CLOSED and name.rpartition("/")[0] != place:
        return "only its own folder may know it"
    folder = place.split("/")[0]
    other = name.split("/")[0]
    if other == folder or other in BELOW[folder]:
        return None
    return f"{folder} may not know {other}"


def why_not_foreign(place, name):
    folder = place.split("/")[0]
    for start, folders in FOREIGN.items():
        if name.startswith(start):
            return None if folder in folders else f"only {' and '.join(folders)} may see it"
    if folder == "core":
        return None if name in PURE else "core may see only what has no I/O, clock or thread"
    if name in SYSTEM or name.startswith(SYSTEM_FOLDERS):
        return None
    return "no table of check_layers.py knows this header"


def check_file(path):
    """The breaches in one file, and how many includes were looked at."""
    place = path.relative_to(SRC).parent.as_posix()
    folder = place.split("/")[0]
    if folder not in BELOW:
        return [f"src/{folder}: no table of check_layers.py knows this folder"], 1
    breaches, count = [], 0
    for mark, name in INCLUDE.findall(path.read_text()):
        count += 1
        why = (why_not_own if mark == '"' else why_not_foreign)(place, name)
        if why:
            breaches.append(f"{path.relative_to(ROOT)} includes {name}: {why}")
    return breaches, count


def symbols(objects, *which):
    if not objects:
        return set()
    text = subprocess.run(["nm", "-P", *which, *map(str, objects)], check=True, capture_output=True, text=True).stdout
    return {line.split()[0] for line in text.splitlines() if line and not line.endswith(":")}


def check_symbols(tree):
    folder = tree / "src" / "librota.a.p"
    core = sorted(folder.glob("core_*.o"))
    if not core:
        return [f"{folder} has no object of core: build it first"], 1
    base = [folder / f"base_{name.replace('/', '_')}.c.o" for name in PURE_BASE]
    known = symbols(core + [path for path in base if path.exists()], "--defined-only")
    breaches, count = [], 0
    for path in core:
        for name in sorted(symbols([path], "--undefined-only")):
            count += 1
            if name not in known and not PURE_SYMBOLS.fullmatch(name):
                breaches.append(f"{path.name} needs {name}: core has no I/O, clock, thread or heap of its own")
    return breaches, count


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: check_layers.py TREE")
    results = [check_file(path) for path in sorted(SRC.rglob("*.[ch]"))]
    results.append(check_symbols(pathlib.Path(sys.argv[1])))
    breaches = [breach for found, _ in results for breach in found]
    count = sum(count for _, count in results)
    for breach in breaches:
        print(breach)
    print(f"{count - len(breaches)} passed, {len(breaches)} failed")
    sys.exit(1 if breaches else 0)


if __name__ == "__main__":
    main()

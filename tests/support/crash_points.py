"""The crash points that a server can be told to die at: the rows of the table in src/base/crash.h."""

import re

from support.rota import REPO

HEADER = REPO / "src" / "base" / "crash.h"
ROW = re.compile(r"^\s+X\(([\w.]+)\)", re.MULTILINE)


def crash_names():
    return ROW.findall(HEADER.read_text()) if HEADER.exists() else []

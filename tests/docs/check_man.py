"""The manual pages are what the verbs' tables say, and scdoc can read them.

    check_man.py ROTA           compares docs/man/*.1.scd with `ROTA help --scd`, builds them; prints `N passed, M failed`
    check_man.py ROTA --renew   writes them
"""

import pathlib
import re
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "docs" / "man"


def pages(rota):
    """Name and source of every page that the tables make."""
    overview = subprocess.run([rota, "help", "--scd"], check=True, capture_output=True, text=True).stdout
    yield "rota.1.scd", overview
    for verb in re.findall(r"^\*rota-([a-z]+)\*\(1\)$", overview, re.M):
        page = subprocess.run([rota, "help", "--scd", verb], check=True, capture_output=True, text=True).stdout
        yield f"rota-{verb}.1.scd", page


def build(source):
    """Why scdoc does not take it, or what came out lacks; None when all is well."""
    done = subprocess.run(["scdoc"], input=source, capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip()
    title = source.split("(")[0]
    lacking = [part for part in [f'.TH "{title}" "1"', ".SH NAME", ".SH SYNOPSIS"] if part not in done.stdout]
    return f"the built page lacks {lacking[0]}" if lacking else None


def check(rota):
    made = dict(pages(rota))
    here = {path.name for path in FOLDER.glob("*.1.scd")}
    for name in sorted(here - made.keys()):
        yield False, f"docs/man/{name} is no verb's page"
    for name, source in made.items():
        same = name in here and (FOLDER / name).read_text() == source
        yield same, f"docs/man/{name} is not what `rota help --scd` prints: tests/docs/check_man.py ROTA --renew"
        why = build(source)
        yield why is None, f"docs/man/{name}: {why}"


def main():
    rota = sys.argv[1]
    if sys.argv[2:] == ["--renew"]:
        made = dict(pages(rota))
        for path in FOLDER.glob("*.1.scd"):
            if path.name not in made:
                path.unlink()
        for name, source in made.items():
            (FOLDER / name).write_text(source)
        return
    results = list(check(rota))
    breaches = [why for good, why in results if not good]
    print("\n".join(breaches + [f"{len(results) - len(breaches)} passed, {len(breaches)} failed"]))
    sys.exit(1 if breaches else 0)


if __name__ == "__main__":
    main()

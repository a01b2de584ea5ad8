"""What the pages promise, as far as a script can tell: links lead somewhere, every folder of src/ says what it is, the verbs of
./dev that a page shows exist, docs/api.md has every route and field, docs/words.md names nothing that rota has not, files of src/
that a comment or a page names exist, every decision is in the index, which has a word for each number, ARCHITECTURE.md names every thread, what rota serves at /openapi.json is OpenAPI 3.1
of which a generator makes types, and the examples do what they show. Prints each breach, then one line `N passed, M failed`."""

import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys

import examples
import words
from support.rota import Rota

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
SOURCE = re.compile(r"(?<![\w./:-])(?:src/)?((?:base|core|store|broker|http|exec|flow|api|cli|node)/[a-z_]+(?:/[a-z_]+)*)(?![\w/{*…<-])")
VERB = re.compile(r"\./dev ([a-z]+)\b")
CODE = re.compile(r"^```.*?^```", re.M | re.S)
ROUTE = re.compile(r'^    \{"([A-Z]+)", +"(/[^"]*)"', re.M)
FIELD = re.compile(r'\{(?:ROW|RECURRENCE)\("([a-z_]+)"')
RUN_PAGES = ["README.md", "docs/guide.md"]


def pages():
    skipped = re.compile(r"build|rota-data|\.")
    return sorted(page for page in ROOT.rglob("*.md") if not skipped.match(str(page.relative_to(ROOT))))


def verbs():
    text = subprocess.run([ROOT / "dev"], check=True, capture_output=True, text=True).stdout
    return set(re.findall(r"^  ([a-z]+)\b", text, re.M))


def check_links(page):
    for link in LINK.findall(CODE.sub("", page.read_text())):
        if re.match(r"[a-z]+:|#", link):
            continue
        there = (page.parent / link.split("#")[0]).exists()
        yield there, f"{page.relative_to(ROOT)} links to {link}, which is not there"


def check_verbs(page, known):
    for verb in VERB.findall(page.read_text()):
        yield verb in known, f"{page.relative_to(ROOT)} speaks of ./dev {verb}, which is no verb"


def check_readmes():
    for folder in sorted(path for path in (ROOT / "src").iterdir() if path.is_dir()):
        yield (folder / "README.md").is_file(), f"{folder.relative_to(ROOT)} has no README.md"


def check_api():
    page = (ROOT / "docs" / "api.md").read_text()
    for method, path in ROUTE.findall((ROOT / "src" / "api" / "routes.c").read_text()):
        yield f"`{method} {path}`" in page, f"docs/api.md has no `{method} {path}`"
    for field in FIELD.findall((ROOT / "src" / "core" / "task" / "task_fields.c").read_text()):
        yield f"`{field}`" in page, f"docs/api.md does not explain the field `{field}`"


def check_sources(path):
    """Decisions and the change log speak of what was, and may name what is gone."""
    text = path.read_text()
    for name in SOURCE.findall(text if path.suffix == ".md" else "\n".join(re.findall(r"//.*", text))):
        at = ROOT / "src" / name
        there = at.is_dir() or at.with_suffix(".c").is_file() or at.with_suffix(".h").is_file()
        yield there, f"{path.relative_to(ROOT)} speaks of {name}, which is not in src/"


def check_decisions():
    folder = ROOT / "docs" / "decisions"
    index = (folder / "README.md").read_text()
    for page in sorted(folder.glob("[0-9]*.md")):
        yield f"({page.name})" in index, f"docs/decisions/README.md does not list {page.name}"
    listed = [int(number) for number in re.findall(r"^\| \[?([0-9]{4})\b", index, re.M)]
    yield listed == list(range(1, len(listed) + 1)), "docs/decisions/README.md leaves out a number without a word, or is not in their order"


def check_architecture():
    """It names every thread, and its lines fit a terminal."""
    page = (ROOT / "ARCHITECTURE.md").read_text()
    threads = page.partition("## Threads")[2].partition("\n## ")[0]
    named = re.compile(r'(?:op_queue_start\(|pthread_setname_np\().*?"([a-z-]+)"|= \{"(store-[a-z]+)"')
    for path in sorted((ROOT / "src").rglob("*.c")):
        for name in filter(None, (first or second for first, second in named.findall(path.read_text()))):
            yield f"`{name}`" in threads, f"ARCHITECTURE.md does not name the thread {name} of {path.relative_to(ROOT)}"
    long = [number for number, line in enumerate(page.splitlines(), 1) if len(line) > 120]
    yield not long, f"ARCHITECTURE.md has more than 120 columns in lines {long}"


def install_modules(here, there):
    """The modules are installed where what is built lies."""
    there.mkdir(exist_ok=True)
    lock = (here / "package-lock.json").read_bytes()
    done = there / "installed"
    if not done.exists() or done.read_bytes() != lock:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(here / name, there / name)
        subprocess.run(["npm", "ci", "--silent", "--no-audit", "--no-fund"], cwd=there, check=True)
        done.write_bytes(lock)


def check_openapi():
    """As rota serves it: by the specification's own schema, its examples by the schemas beside them, and the types that a generator
    makes of it by a program that uses them."""
    here, there = ROOT / "tests" / "docs" / "openapi", pathlib.Path(os.environ["ROTA_TEST_DIR"]) / "openapi"
    install_modules(here, there)
    with contextlib.closing(Rota()) as rota:
        rota.start()
        answer = rota.api.get("/openapi.json")
        (there / "openapi.json").write_bytes(answer.body)
        page = rota.api.get("/docs/errors")
    shutil.copy(here / "client.ts", there / "client.ts")
    bin = there / "node_modules" / ".bin"
    for command, words in ((["node", here / "validate.mjs", "openapi.json"], "is not OpenAPI 3.1"),
                           (["node", here / "examples.mjs", "openapi.json"], "has an example that is none"),
                           ([bin / "openapi-typescript", "openapi.json", "-o", "openapi.ts"], "cannot be made into types"),
                           ([bin / "tsc", "--strict", "--noEmit", "--target", "es2022", "client.ts"], "does not make the types it did")):
        checked = subprocess.run(command, cwd=there, capture_output=True, text=True)
        yield checked.returncode == 0, f"/openapi.json {words}: {checked.stdout}{checked.stderr}"
    for code in re.findall(r'id="(\w+)"', (ROOT / "docs" / "errors.md").read_text()):
        yield f'id="{code}"'.encode() in page.body, f"/docs/errors has no {code}"


def check_reference():
    made = subprocess.run([sys.executable, ROOT / "tools" / "reference.py", ROOT / "docs" / "openapi.yaml"], check=True,
                          capture_output=True, text=True).stdout
    yield made == (ROOT / "docs" / "reference.md").read_text(), \
        "docs/reference.md is old: /usr/bin/python3 tools/reference.py docs/openapi.yaml > docs/reference.md"


def check_examples():
    for name in RUN_PAGES:
        yield from examples.check_page(ROOT / name)


def main():
    known, results = verbs(), [*check_readmes(), *check_api(), *words.check(ROOT / "docs"), *check_decisions(), *check_architecture(),
                               *check_openapi(), *check_reference(), *check_examples()]
    for page in pages():
        results += list(check_links(page)) + list(check_verbs(page, known))
        if "decisions" not in page.parts and page.name != "CHANGELOG.md":
            results += check_sources(page)
    for folder in ("src", "tests", "bench"):
        for path in sorted((ROOT / folder).rglob("*.[ch]")):
            results += check_sources(path)
    breaches = [why for good, why in results if not good]
    print("\n".join(breaches + [f"{len(results) - len(breaches)} passed, {len(breaches)} failed"]))
    sys.exit(1 if breaches else 0)


if __name__ == "__main__":
    main()

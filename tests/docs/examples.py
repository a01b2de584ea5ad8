"""The examples of the pages are run: every ```sh block under a line `<!-- run -->`, in order, in one shell a page, against a fresh
server and docs/target.py. A block must end well; a ```text block behind it is what it prints, up to ids, times and durations,
and `…` stands for anything.

    /usr/bin/python3 tests/docs/examples.py PAGE…      writes what the blocks print now into those pages

The pages speak of 127.0.0.1:7070 and 127.0.0.1:8000; here both are ports that were free.
"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from support.rota import DIES_WITH_US, Rota, binary  # noqa: E402

BLOCK = re.compile(r"^<!-- run -->\n```sh\n(?P<code>.*?)^```\n(?:\n*```text\n(?P<output>.*?)^```\n)?", re.M | re.S)
SECONDS_MAX = 90
MARK = "\x1e"  # printed before each block

# What is different each time, and what it is compared as.
VOLATILE = [
    (r"\b[tjib][0-9a-z]{13}\b", "ID"),
    (r"\b[0-9a-f]{16}\b", "REQUEST"),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{3}Z)?", "TIME"),
    (r"\b\d\d:\d\d:\d\d\b", "TIME"),
    (r"\((now|in [^)]*|[^)]* ago)\)", "(WHEN)"),
    (r"\b\d+(\.\d+)?( ?ms|s|m|h|d)( \d+(ms|s|m|h))?(?![a-z0-9])", "DURATION"),
    (r'("(puller|queue|target|late_by)": ?)\d+', r"\1N"),
    (r"[ \t]+", " "),
    (r" $", ""),
]


def normal(text):
    for pattern, name in VOLATILE:
        text = re.sub(pattern, name, text, flags=re.M)
    return text.strip()


def same(expected, printed):
    pattern = ".*".join(re.escape(normal(part)) for part in expected.split("…"))
    return re.fullmatch(pattern, normal(printed), re.S) is not None


class Target:
    def __init__(self):
        command = [*DIES_WITH_US, sys.executable, str(ROOT / "docs" / "target.py"), "0"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.address = re.search(r"127\.0\.0\.1:\d+", self.process.stdout.readline()).group()

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def environment(scratch, rota):
    """The reader's: `rota` is found, and curl does not draw its progress into what is kept."""
    bin_dir = pathlib.Path(scratch, "bin")
    bin_dir.mkdir()
    (bin_dir / "rota").symlink_to(binary())
    pathlib.Path(scratch, ".curlrc").write_text("silent\nshow-error\n")
    return dict(os.environ, PATH=f"{bin_dir}:{os.environ['PATH']}", CURL_HOME=scratch, ROTA_SERVER=rota.url, NO_COLOR="1")


def run_shell(script, env):
    """Exit code and output; a script that takes too long is killed with all it started."""
    shell = subprocess.Popen(["bash", "-c", script], cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, start_new_session=True)
    try:
        output, _ = shell.communicate(timeout=SECONDS_MAX)
    except subprocess.TimeoutExpired:
        os.killpg(shell.pid, signal.SIGKILL)
        output = shell.communicate()[0] + b"\nkilled: it took too long\n"
    return shell.returncode, output.decode(errors="replace")


def run_blocks(codes):
    """What each block printed, and the exit code of the whole. The last of the outputs is that of the block that failed."""
    rota, target = Rota(), None
    try:
        rota.start()
        target = Target()
        places = [("127.0.0.1:7070", f"127.0.0.1:{rota.port}"), ("127.0.0.1:8000", target.address)]
        script = "set -eu -o pipefail\n" + "".join(f"printf '\\x1e'\n{code}" for code in codes)
        for ours, theirs in [*places, ("build/src/rota", binary())]:
            script = script.replace(ours, theirs)
        with tempfile.TemporaryDirectory() as scratch:
            code, output = run_shell(script, environment(scratch, rota))
        for ours, theirs in places:
            output = output.replace(theirs, ours)
        return output.split(MARK)[1:], code
    finally:
        if target:
            target.close()
        rota.close(stop=False)


def check_page(page):
    """Yields (is it well, what is wrong) for every block of a page."""
    text = page.read_text()
    blocks = list(BLOCK.finditer(text))
    outputs, code = run_blocks([block["code"] for block in blocks])
    for i, block in enumerate(blocks):
        where = f"{page.relative_to(ROOT)}:{text.count(chr(10), 0, block.start('code')) + 1}"
        ran = i < len(outputs)
        well = ran and (code == 0 or i < len(outputs) - 1)
        yield well, f"{where}: the example " + (f"ended with {code}:\n{outputs[i]}" if ran else "was not reached")
        if well and block["output"] is not None:
            yield same(block["output"], outputs[i]), f"{where}: the example prints something else now:\n{outputs[i]}"


def renew(page):
    text = page.read_text()
    blocks = list(BLOCK.finditer(text))
    outputs, code = run_blocks([block["code"] for block in blocks])
    if code:
        sys.exit(f"{page}: ended with {code}:\n{outputs[-1]}")
    for block, output in reversed(list(zip(blocks, outputs))):
        if block["output"] is not None and not same(block["output"] or "-", output):
            text = text[: block.start("output")] + output.rstrip("\n") + "\n" + text[block.end("output"):]
    page.write_text(text)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        renew(pathlib.Path(name))

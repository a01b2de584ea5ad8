"""Completion, in the shells themselves: each reads the script that rota prints, and is asked what may follow."""

import os
import pty
import re
import select
import shlex
import subprocess
import time

import pytest

from support.fake import set_width
from support.rota import run_cli
from support.wait import PATIENCE_S

# What is typed, what must be offered, and what must not.
CASES = [
    ("rota su", {"submit"}, {"get", "list"}),
    ("rota re", {"retry", "resume"}, {"run"}),
    ("rota list --q", {"--queues", "--queue"}, {"--body"}),
    ("rota submit --bo", {"--body"}, {"--queues"}),
    ("rota get -o js", {"json", "jsonl"}, {"text"}),
    ("rota submit --method P", {"POST", "PUT", "PATCH"}, {"GET"}),
    ("rota list --state bu", {"buried"}, {"active"}),
    ("rota completion ", {"bash", "zsh", "fish"}, {"submit"}),
    ("rota help ex", {"explain"}, {"serve"}),
    ("rota config ", {"check", "show"}, {"FILE"}),
    ("rota serve --log-level ", {"debug", "info", "warn", "error"}, {"text"}),
    ("rota serve --log-format ", {"text", "json"}, {"jsonl"}),
    ("rota serve --store me", {"memory:"}, {"sqlite:"}),
    ("rota serve --role p", {"puller"}, {"api"}),
    ("rota tail --type ret", {"retried"}, {"lost"}),
]


def script_of(shell, tmp_path):
    path = tmp_path / f"rota.{shell}"
    path.write_text(run_cli("completion", shell).stdout)
    return path


def ids(case):
    return case[0] if isinstance(case, tuple) else None


def bash_offers(line, script, cwd=None):
    words = shlex.split(line) + ([""] if line.endswith(" ") else [])
    program = (f"source {script}\nCOMP_WORDS=({' '.join(map(shlex.quote, words))})\nCOMP_CWORD={len(words) - 1}\n"
               "complete -p rota >/dev/null || exit 1\n_rota 2>/dev/null\nprintf '%s\\n' \"${COMPREPLY[@]}\"")
    done = subprocess.run(["bash", "--norc", "-c", program], capture_output=True, text=True, timeout=60, check=True, cwd=cwd)
    return set(done.stdout.split())


def fish_offers(line, script, cwd=None):
    program = f"source {script}; complete -C {shlex.quote(line)}"
    env = dict(os.environ, HOME=str(script.parent), XDG_CONFIG_HOME=str(script.parent), PATH="/usr/bin:/bin")
    done = subprocess.run(["fish", "--no-config", "-c", program], capture_output=True, text=True, timeout=60, check=True, env=env,
                          cwd=cwd)
    return {offer.split("\t")[0] for offer in done.stdout.splitlines()}


class Zsh:
    """zsh completes only where somebody types, so it is given a terminal and typed to."""

    def __init__(self, script):
        self.fd, theirs = pty.openpty()
        set_width(theirs, 200)
        env = dict(os.environ, TERM="dumb", HOME=str(script.parent), ZDOTDIR=str(script.parent), PS1="", LC_ALL="C.UTF-8")
        self.process = subprocess.Popen(["zsh", "-f", "-i"], stdin=theirs, stdout=theirs, stderr=theirs, env=env,
                                        start_new_session=True)
        os.close(theirs)
        self.type("unsetopt prompt_cr prompt_sp beep; LISTMAX=1000; unset zle_bracketed_paste\n")
        self.type("autoload -U compinit; compinit -u -D\n")
        self.type(f"source {script}; zstyle ':completion:*' verbose no; PS1='<rea''dy>'; print -n EN; print D\n")
        self.read_until_ready()

    def type(self, text):
        os.write(self.fd, text.encode())

    def read_until_ready(self):
        """To the END that was printed and the prompt behind it: only then does zsh take what is typed, and not the terminal."""
        text, end = "", time.monotonic() + PATIENCE_S
        while not re.search(r"END.*<ready>", text, re.S):
            assert time.monotonic() < end, f"zsh is not ready: {text}"
            if select.select([self.fd], [], [], 1)[0]:
                text += os.read(self.fd, 65536).decode(errors="replace")
        return text.split("END")[0]

    def offers(self, line):
        # Ctrl-D lists what there is for a line that is not empty; Ctrl-U takes the line away again.
        self.type(line + "\x04")
        self.type("\x15print -n EN; print D\n")
        text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.read_until_ready())
        return set(re.findall(r"[-\w:/]+", text.split(line, 1)[1]))

    def close(self):
        os.close(self.fd)
        self.process.kill()
        self.process.wait()


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_bash(case, tmp_path):
    line, offered, not_offered = case
    offers = bash_offers(line, script_of("bash", tmp_path))
    assert offers >= offered and not offers & not_offered, offers


def test_bash_knows_values_behind_an_equals_sign(tmp_path):
    script = script_of("bash", tmp_path)
    assert bash_offers("rota get --output = js", script) == {"json", "jsonl"}
    assert bash_offers("rota get --output =", script) == {"text", "json", "jsonl"}


def test_bash_and_fish_know_where_a_file_belongs(tmp_path):
    (tmp_path / "some.db").touch()
    assert "some.db" in bash_offers("rota backup so", script_of("bash", tmp_path), cwd=tmp_path)
    assert "some.db" in fish_offers("rota backup so", script_of("fish", tmp_path), cwd=tmp_path)
    assert "some.db" in bash_offers("rota config check so", script_of("bash", tmp_path), cwd=tmp_path)
    assert "some.db" in fish_offers("rota config check so", script_of("fish", tmp_path), cwd=tmp_path)
    assert "some.db" not in bash_offers("rota get so", script_of("bash", tmp_path), cwd=tmp_path)
    assert "some.db" not in fish_offers("rota get so", script_of("fish", tmp_path), cwd=tmp_path)


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_fish(case, tmp_path):
    line, offered, not_offered = case
    offers = fish_offers(line, script_of("fish", tmp_path))
    assert offers >= offered and not offers & not_offered, offers


def test_zsh(tmp_path):
    zsh = Zsh(script_of("zsh", tmp_path))
    try:
        for line, offered, not_offered in CASES:
            offers = zsh.offers(line)
            assert offers >= offered and not offers & not_offered, (line, offers)
    finally:
        zsh.close()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_read_without_a_word(shell, tmp_path):
    script = script_of(shell, tmp_path)
    done = subprocess.run([shell, "-n", str(script)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

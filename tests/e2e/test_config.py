"""Settings: what counts more, what is shown, and what is said about mistakes, as a user meets it."""

import json

import pytest

from support.rota import run_cli

OK, USAGE = 0, 2


def shown(*args, env=None):
    done = run_cli("config", "show", "-o", "json", *args, env=env)
    assert done.returncode == OK, done
    return {row["setting"]: row for row in json.loads(done.stdout)["settings"]}


@pytest.fixture
def file(tmp_path):
    file = tmp_path / "rota.toml"
    file.write_text("# mine\n[log]\nlevel = 'debug'\n[calls]\nmax = 10\nper_host = 5\n")
    return file


def test_a_flag_counts_more_than_a_variable_more_than_the_file(file):
    rows = shown("--config", str(file), "--calls-max", "30", env={"ROTA_CALLS_MAX": "20", "ROTA_CALLS_PER_HOST": "6"})
    brief = {name: (rows[name]["value"], rows[name]["source"], rows[name]["where"]) for name in rows}
    assert brief["calls.max"] == ("30", "flag", "--calls-max")
    assert brief["calls.per_host"] == ("6", "variable", "ROTA_CALLS_PER_HOST")
    assert brief["log.level"] == ("debug", "file", f"{file}:3")
    assert brief["listen"] == ("127.0.0.1:7070", "default", "default")


def test_the_file_may_be_named_by_a_variable(file):
    assert shown(env={"ROTA_CONFIG": str(file)})["log.level"]["value"] == "debug"


def test_show_as_text_and_as_lines(file):
    text = run_cli("config", "show", "--config", str(file)).stdout
    assert f"log.level            debug                      {file}:3\n" in text
    lines = run_cli("config", "show", "--config", str(file), "-o", "jsonl").stdout.splitlines()
    assert len(lines) == len(text.splitlines()) and all(json.loads(line)["setting"] for line in lines)


def test_check_of_a_good_file(file):
    done = run_cli("config", "check", str(file))
    assert (done.returncode, done.stdout, done.stderr) == (OK, f"{file}: fine; 3 of 17 settings are given\n", "")


def test_check_remarks_on_variables_that_are_nearly_settings():
    env = {"ROTA_LOG_LEVLE": "debug", "ROTA_SERVICE_HOST": "10.0.0.1", "ROTA_PORT": "tcp://10.0.0.1:7070", "ROTA_CALLS_MAX": "5"}
    done = run_cli("config", "check", env=env)
    assert done.returncode == OK
    assert "the variable ROTA_LOG_LEVLE is no setting; is ROTA_LOG_LEVEL meant?" in done.stderr
    assert not [name for name in env if name in done.stderr and name != "ROTA_LOG_LEVLE"]


def test_check_says_everything_that_is_wrong(file):
    file.write_text("listn = '127.0.0.1:7070'\ndata = here\n[log]\n  level = 'loud'\n  format = json\n")
    done = run_cli("config", "check", str(file))
    assert done.returncode == USAGE and done.stdout == ""
    assert done.stderr.splitlines() == [
        f"rota config: {file}:1:1: there is no setting listn; did you mean listen?",
        f'rota config: {file}:2:8: text is written in quotes: "…"',
        f'rota config: {file}:4:11: log.level takes debug, info, warn or error, not "loud"',
        f'rota config: {file}:5:12: text is written in quotes: "…"',
    ]


@pytest.mark.parametrize(
    "args, words",
    [
        (["check", "/no/such/file"], "/no/such/file: cannot be read: No such file or directory"),
        (["check", "a", "b"], "one argument too many"),
        (["check", "a", "--config", "b"], "give one of them"),
        (["show", "a"], "one argument too many"),
        (["chekc"], "chekc is not known; check and show are"),
        ([], "something is missing"),
    ],
)
def test_wrong_usage(args, words):
    done = run_cli("config", *args)
    assert done.returncode == USAGE and done.stdout == ""
    assert words in done.stderr


@pytest.mark.parametrize(
    "args, words",
    [
        (["--listen", "7079"], "--listen takes an address and a port, like 127.0.0.1:7070 or [::1]:7070, not \"7079\"; did you mean "
                               "127.0.0.1:7079?"),
        (["--role", ""], '--role takes all, or a list of api, puller, executor, completer, not ""'),
        (["--role", "api"], "only a postgres:// store can have several"),
        (["--data", ""], "--data takes the path of a directory"),
        (["--data", "a", "--store", "memory:"], "--store and --data exclude each other"),
        (["--config", "/no/such"], "/no/such: cannot be read"),
        (["--config", ""], '--config takes the path of a file, not ""'),
        (["--log-levle", "info"], "there is no option --log-levle; did you mean --log-level?"),
    ],
)
def test_serve_refuses_wrong_settings_with_words(args, words):
    done = run_cli("serve", *args)
    assert done.returncode == USAGE and done.stdout == ""
    assert words in done.stderr


@pytest.mark.parametrize(
    "content, words",
    [
        (None, "No such file or directory"),
        (b"", "it is empty"),
        (b"x" * 31, "it is so short that it could be guessed"),
        (b"x" * 5000, "it is too long for a secret"),
    ],
)
def test_a_file_that_cannot_be_a_secret_is_refused_before_anything_is_made(tmp_path, content, words):
    secret = tmp_path / "secret"
    if content is not None:
        secret.write_bytes(content)
    for verb in (["config", "check"], ["serve", "--data", str(tmp_path / "data")]):
        done = run_cli(*verb, "--secret-file", str(secret))
        assert done.returncode == USAGE and done.stdout == ""
        assert f"secret_file {secret} cannot be used: {words}; give a file of 32 to 4096 bytes" in done.stderr
    assert not (tmp_path / "data").exists()


def test_check_reads_the_secret_and_show_does_not(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("nobody knows that my name is such\n")
    secret.chmod(0o600)
    done = run_cli("config", "check", "--secret-file", str(secret))
    assert (done.returncode, done.stderr) == (OK, "")
    secret.chmod(0o644)
    done = run_cli("config", "check", "--secret-file", str(secret))
    assert done.returncode == OK and "can be read by everybody on this machine (mode 0644)" in done.stderr
    text = run_cli("config", "show", "--secret-file", str(secret)).stdout
    assert str(secret) in text and "nobody" not in text + done.stderr
    row = shown("--secret-file", str(tmp_path / "absent"))["secret_file"]
    assert (row["value"], row["source"], row["reloads"]) == (str(tmp_path / "absent"), "flag", False)
    assert shown()["secret_file"]["value"] is None


def test_the_sample_is_a_good_file(tmp_path):
    sample = tmp_path / "sample.toml"
    sample.write_text(run_cli("config", "show", "--sample").stdout)
    assert run_cli("config", "check", str(sample)).returncode == OK


def test_help_of_serve_is_readable():
    lines = run_cli("serve", "--help").stdout.splitlines()
    assert len(lines) < 40 and max(map(len, lines)) <= 130

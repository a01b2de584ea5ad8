"""rota apply: tasks become what files say. The server is a stand-in that keeps tasks by their names."""

import json
import urllib.parse

import pytest

from support.fake import Fake, reply
from support.rota import run_cli

FILE = """
[[task]]
name = "night/ly"
cron = "0 3 * * *"
url = "http://h/a"
labels = { team = "shop" }

[[task]]
name = "hourly"
cron = "@hourly"
url = "http://h/b"
"""


class Server:
    """Answers as the API does: {name: task}, and `others` that only the list has."""

    def __init__(self):
        self.tasks, self.others, self.made = {}, [], 0

    def answer(self, handler):
        url = urllib.parse.urlsplit(handler.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        name = urllib.parse.unquote(url.path.removeprefix("/v1/tasks/by-name/"))
        status, value = getattr(self, handler.command)(url.path, name, query, handler.body)
        reply(handler, status, json.dumps(value).encode(), "application/json")

    def GET(self, path, name, query, body):
        if path == "/v1/tasks":
            every = [*self.tasks.values(), *self.others]
            return 200, {"items": [task for task in every if task["labels"].get("rota.set") == query["label.rota.set"]], "next": None}
        return (200, self.tasks[name]) if name in self.tasks else (404, {"code": "not_found", "detail": "There is nothing here."})

    def PUT(self, path, name, query, body):
        document = json.loads(body)
        assert document["name"] == name
        if document["url"] == "bad":
            return 422, {"code": "invalid_field", "detail": "The URL must begin with http.", "field": "/url"}
        old = self.tasks.get(name)
        change = "created" if not old else "none" if old["document"] == document else "changed"
        if query.get("dry_run"):
            return 200, {"changes": change, **document}
        if not old:
            self.made += 1
        if change != "none":
            self.tasks[name] = {**document, "document": document, "id": old["id"] if old else f"t0000000000{self.made:03}",
                                "version": old["version"] + 1 if old else 1}
        return 201 if not old else 200, self.tasks[name]

    def DELETE(self, path, name, query, body):
        self.tasks = {name: task for name, task in self.tasks.items() if not path.endswith(task["id"])}
        return 200, {}


@pytest.fixture
def server():
    return Server()


@pytest.fixture
def apply(server, tmp_path):
    def run(text, *args, name="tasks.toml"):
        (tmp_path / name).write_text(text)
        with Fake(server.answer) as fake:
            return run_cli("apply", str(tmp_path / name), *args, server=fake.url)
    return run


def test_what_is_not_there_is_created_and_what_is_equal_stays(server, apply):
    done = apply(FILE)
    assert (done.returncode, done.stdout) == (0, "+ night/ly\n+ hourly\n")
    assert done.stderr == "2 created, 0 changed, 0 as they were, 0 deleted, 0 refused\n"
    assert server.tasks["night/ly"]["labels"] == {"team": "shop", "rota.set": "default"}
    assert apply(FILE).stdout == "= night/ly\n= hourly\n"
    assert apply(FILE.replace("http://h/b", "http://h/c")).stdout == "= night/ly\n~ hourly\n"
    assert server.tasks["hourly"]["version"] == 2


def test_a_dry_run_changes_nothing(server, apply):
    apply('[[task]]\nname = "old"\nurl = "http://h"\n[[task]]\nname = "hourly"\nurl = "http://h"\n')
    before = dict(server.tasks)
    done = apply(FILE, "--dry-run", "--prune")
    assert (done.returncode, done.stdout) == (0, "+ night/ly\n~ hourly\n- old\n")
    assert "nothing was changed" in done.stderr and server.tasks == before


def test_prune_removes_only_what_apply_has_made_under_the_set(server, apply):
    apply('[[task]]\nname = "mine"\nurl = "http://h"\n', "--set", "a")
    apply('[[task]]\nname = "theirs"\nurl = "http://h"\n', "--set", "b")
    server.others = [{"id": "t0000000000999", "name": "submitted", "labels": {"rota.set": "a"}}]
    assert apply(FILE, "--set", "a").stdout == "+ night/ly\n+ hourly\n"
    done = apply(FILE, "--set", "a", "--prune")
    assert (done.returncode, done.stdout) == (0, "= night/ly\n= hourly\n- mine\n")
    assert sorted(server.tasks) == ["hourly", "night/ly", "theirs"]


def test_a_task_that_is_refused_is_named_by_its_place_and_keeps_prune_from_removing(server, apply, tmp_path):
    apply('[[task]]\nname = "old"\nurl = "http://h"\n')
    done = apply(FILE.replace("http://h/a", "bad"), "--prune")
    assert (done.returncode, done.stdout) == (3, "+ hourly\n")
    assert f"{tmp_path}/tasks.toml:2: The URL must begin with http. (/url)\n" in done.stderr
    assert "nothing is pruned" in done.stderr and "old" in server.tasks


def test_a_file_that_is_wrong_changes_nothing(server, apply):
    done = apply('[[task]]\nname = "x"\nurl = "http://h"\n[[task]]\nname = "x"\n')
    assert done.returncode == 2 and "second time" in done.stderr and "nothing was changed" in done.stderr
    assert not server.tasks
    done = apply("[]", "--prune", name="tasks.json")
    assert done.returncode == 2 and "--prune would remove the whole set" in done.stderr


def test_json_says_what_became_of_each(apply):
    lines = apply(FILE, "-o", "jsonl").stdout.splitlines()
    assert [json.loads(line) for line in lines] == [{"change": "created", "name": "night/ly"}, {"change": "created", "name": "hourly"}]
    assert json.loads(apply('[{"name": "hourly", "url": "http://h"}]', "-o", "json", name="t.json").stdout) == [{"change": "changed", "name": "hourly"}]


def test_an_answer_that_does_not_say_what_became_of_it_is_no_success(server, apply):
    server.PUT = lambda *args: (200, {})
    done = apply(FILE)
    assert done.returncode == 4 and "does not say" in done.stderr and not done.stdout

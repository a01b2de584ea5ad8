"""rota apply against the server itself: what the stand-in of test_apply.py promises is what a real one answers."""

import concurrent.futures
import json
import urllib.parse

import pytest

CREATED = "+"


def toml(*tasks):
    return "\n".join("[[task]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in task.items()) for task in tasks)


def task(target, name, **fields):
    return {"name": name, "url": target.url("/ok"), "cron": "0 3 * * *", **fields}


def by_name(api, name):
    return api.get("/v1/tasks/by-name/" + urllib.parse.quote(name, safe=""))


@pytest.fixture
def apply(rota, tmp_path):
    def run(text, *args, code=0):
        (tmp_path / "tasks.toml").write_text(text)
        done = rota.cli("apply", str(tmp_path / "tasks.toml"), *args)
        assert done.returncode == code, done
        return done.stdout.splitlines()
    return run


def test_a_file_is_applied_changed_and_pruned(api, target, apply):
    first = toml(task(target, "night/ly"), task(target, "hourly", cron="@hourly"))
    assert apply(first) == ["+ night/ly", "+ hourly"]
    assert apply(first) == ["= night/ly", "= hourly"]
    nightly = by_name(api, "night/ly").json
    assert nightly["version"] == 1 and nightly["labels"] == {"rota.set": "default"}
    second = toml(task(target, "night/ly", priority=2), task(target, "weekly", cron="@weekly"))
    assert apply(second, "--prune", "--dry-run") == ["~ night/ly", "+ weekly", "- hourly"]
    assert by_name(api, "night/ly").json == nightly and by_name(api, "weekly").status == 404
    assert apply(second, "--prune") == ["~ night/ly", "+ weekly", "- hourly"]
    changed = by_name(api, "night/ly").json
    assert (changed["id"], changed["version"], changed["priority"]) == (nightly["id"], 2, 2)
    assert by_name(api, "hourly").status == 404
    assert apply(second, "--prune") == ["= night/ly", "= weekly"]


def test_prune_leaves_other_sets_and_submitted_tasks_alone(api, target, apply):
    apply(toml(task(target, "theirs")), "--set", "b")
    posted = api.post("/v1/tasks", task(target, "posted", labels={"rota.set": "a"})).json
    apply(toml(task(target, "old"), task(target, "kept")), "--set", "a")
    assert apply(toml(task(target, "kept")), "--set", "a", "--prune") == ["= kept", "- old"]
    assert by_name(api, "theirs").status == 200 and api.task(posted["id"])["state"] == "active"


def test_a_task_that_is_taken_from_another_set_is_named(rota, target, tmp_path):
    (tmp_path / "tasks.toml").write_text(toml(task(target, "shared")))

    def said(*args):
        return rota.cli("apply", str(tmp_path / "tasks.toml"), *args).stderr

    said("--set", "a")
    assert "shared: it is in the set a, and would be in b\n" in said("--set", "b", "--dry-run")
    assert "shared: it was in the set a, and is now in b\n" in said("--set", "b")
    assert "shared" not in said("--set", "b")


def test_a_task_that_is_refused_does_not_keep_others_from_being_applied(api, target, apply):
    text = toml(task(target, "wrong", timezone="Mars/Olympus"), task(target, "right"))
    assert apply(text, code=3) == ["+ right"]
    assert by_name(api, "wrong").status == 404


def test_a_cancelled_task_is_made_anew(api, target, apply):
    text = toml(task(target, "a"))
    apply(text)
    api.post(f"/v1/tasks/{by_name(api, 'a').json['id']}/cancel")
    assert apply(text, "--dry-run") == ["+ a"]
    assert apply(text) == ["+ a"]
    assert apply(text) == ["= a"]


def test_applies_at_the_same_time_make_each_task_once(rota, api, target, tmp_path):
    names = [f"n{number}" for number in range(20)]
    (tmp_path / "tasks.toml").write_text(toml(*(task(target, name) for name in names)))
    with rota.cli_begun("apply", str(tmp_path / "tasks.toml")) as first, rota.cli_begun("apply", str(tmp_path / "tasks.toml")) as second:
        outputs = [process.communicate(timeout=60)[0].splitlines() for process in (first, second)]
        assert first.returncode == second.returncode == 0
    signs = {name: sorted(line[0] for output in outputs for line in output if line[2:] == name) for name in names}
    assert all(CREATED in made and len(made) == 2 for made in signs.values()), signs
    assert sum(made.count(CREATED) for made in signs.values()) == len(names)
    assert sorted(item["name"] for item in api.read("/v1/tasks?limit=1000")["items"]) == sorted(names)


def test_two_that_prune_at_once_both_succeed_and_the_next_one_says_what_shall_be(rota, api, target, apply, tmp_path):
    """One removes what the other has just made, perhaps while the other changes it: that fails neither of them."""
    files = [toml(task(target, "a"), task(target, "both")), toml(task(target, "both", priority=2), task(target, "b"))]
    for number, text in enumerate(files):
        (tmp_path / f"{number}.toml").write_text(text)

    def run(number):
        return [rota.cli("apply", str(tmp_path / f"{number % 2}.toml"), "--prune") for _ in range(3)]

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        done = [each for some in pool.map(run, range(4)) for each in some]
    assert [each for each in done if each.returncode] == []
    apply(files[0], "--prune")
    assert sorted(each["name"] for each in api.read("/v1/tasks")["items"]) == ["a", "both"]
    assert by_name(api, "both").json["runs"]["planned"] == 5

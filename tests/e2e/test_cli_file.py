"""rota submit -f: many tasks out of a file. What was taken, refused and is in doubt is told, line by line."""

import json

import pytest

from support.fake import Fake, reply, run_on_terminal
from support.rota import run_cli

OK, JOB_FAILED, USAGE, SERVER_SAYS_NO, NOT_REACHED = 0, 1, 2, 3, 4
U = "http://127.0.0.1:9/never-called"


def task(**fields):
    return json.dumps({"url": U, "in": "1d", **fields})


def write(path, text):
    path.write_text(text)
    return str(path)


class TestFiles:
    def test_lines(self, shared, tmp_path):
        file = write(tmp_path / "tasks.ndjson", "".join(task(name=f"line {i}") + "\n" for i in range(5)))
        done = shared.cli("submit", "-f", file)
        assert (done.returncode, done.stderr) == (OK, "5 taken, 0 refused\n"), done
        names = [shared.api.task(task_id)["name"] for task_id in done.stdout.split()]
        assert names == [f"line {i}" for i in range(5)]

    def test_an_array_and_an_object_over_several_lines(self, shared, tmp_path):
        for text, count in [(f"[{task()},\n {task()}]", 2), (json.dumps(json.loads(task()), indent=2), 1)]:
            done = shared.cli("submit", "--file", write(tmp_path / "tasks.json", text))
            assert (done.returncode, len(done.stdout.split())) == (OK, count), done

    def test_stdin(self, shared):
        done = shared.cli("submit", "-f", "-", "-o", "jsonl", input=task() + "\n" + task())
        assert [(item["line"], "id" in item) for item in map(json.loads, done.stdout.splitlines())] == [(1, True), (2, True)]

    def test_many_are_sent_in_parts(self, shared, tmp_path):
        file = write(tmp_path / "many.ndjson", "".join(task(key=f"many {i}") + "\n" for i in range(12_345)))
        first, second = shared.cli("submit", "-f", file), shared.cli("submit", "-f", file)
        assert first.stderr == "12345 taken, 0 refused\n" and len(set(first.stdout.split())) == 12_345
        assert (second.returncode, second.stdout) == (OK, first.stdout), "the same keys are the same tasks"

    def test_nothing_is_nothing(self, unharmed, tmp_path):
        for text in ["", "\n\n", "[]"]:
            done = unharmed.cli("submit", "-f", write(tmp_path / "empty", text))
            assert (done.returncode, done.stdout, done.stderr) == (OK, "", "0 taken, 0 refused\n"), done


class TestRefusals:
    def test_each_is_told_with_its_line_and_the_others_are_taken(self, shared, tmp_path):
        file = write(tmp_path / "mixed.ndjson", "\n".join([task(), "", '{"url": }', task(priority=99), "[]", task()]))
        done = shared.cli("submit", "-f", file)
        assert (done.returncode, len(done.stdout.split())) == (SERVER_SAYS_NO, 2), done
        third, fourth, fifth, counts = done.stderr.splitlines()
        assert third == f"{file}:3: column 9: a value was expected here."
        assert fourth.startswith(f"{file}:4: priority must be") and fourth.endswith("(/priority)")
        assert fifth == f"{file}:5: A task is a JSON object."
        assert counts == "2 taken, 3 refused"

    def test_as_json_in_order(self, shared, tmp_path):
        file = write(tmp_path / "mixed.json", f"[{task()}, 7, {task(priority=99)}, {task()}]")
        done = shared.cli("submit", "-f", file, "-o", "json")
        items = json.loads(done.stdout)
        assert [item["index"] for item in items] == [0, 1, 2, 3]
        assert [item.get("error", {}).get("code") for item in items] == [None, "invalid_field", "invalid_field", None]
        assert done.returncode == SERVER_SAYS_NO

    def test_a_flood_of_them_is_counted(self, unharmed, tmp_path):
        done = unharmed.cli("submit", "-f", write(tmp_path / "flood", '{"url": "x"}\n' * 1000))
        assert done.returncode == SERVER_SAYS_NO and len(done.stderr.splitlines()) == 22, done
        assert done.stderr.endswith("0 taken, 1000 refused\n")

    @pytest.mark.parametrize(
        "text, words",
        [
            (f'[{task()}, {{"url": ]', "Line 1, column"),
            ('{\n "url": "x"\n', "Line 3, column 1"),
            ("url,method\nhttp://x/,GET\n", "Line 1, column 1"),
        ],
    )
    def test_what_is_no_json_is_not_sent_at_all(self, unharmed, tmp_path, text, words):
        done = unharmed.cli("submit", "-f", write(tmp_path / "wrong", text))
        assert (done.returncode, done.stdout) == (USAGE, ""), done
        assert "nothing was sent" in done.stderr and words in done.stderr

    def test_wrong_usage(self, unharmed, tmp_path):
        file = write(tmp_path / "one.json", task())
        for args, words in [
            (["-f", file, U], "exclude each other"),
            (["-f", file, "--retry", "3"], "--retry and --file exclude each other"),
            (["-f", str(tmp_path / "none")], "No such file"),
            (["-f", str(tmp_path)], "Is a directory"),
            ([file], f"rota submit -f {file}"),
            ([], "rota submit -f FILE"),
        ]:
            done = unharmed.cli("submit", *args)
            assert (done.returncode, done.stdout) == (USAGE, "") and words in done.stderr, done


class TestBadDays:
    """A stand-in that takes each task, after it has had a bad day with some of the parts."""

    def run(self, tmp_path, bad, count=5000, key=True):
        parts = []

        def answer(handler):
            tasks = json.loads(handler.body)
            parts.append([one["name"] for one in tasks])
            if bad(handler, len(parts)):
                return
            results = [{"id": f"t{one['name']}"} for one in tasks]
            reply(handler, 201, json.dumps({"results": results}).encode(), "application/json")

        lines = [task(name=str(i), **({"key": f"k{i}"} if key else {})) for i in range(count)]
        file = write(tmp_path / "tasks.ndjson", "\n".join(lines) + "\n")
        with Fake(answer) as fake:
            done = run_cli("submit", "-f", file, server=fake.url)
        return done, parts, file

    @staticmethod
    def lose_answer(handler, number):
        if number == 2:
            reply(handler, 201, b"{", "application/json", length=100)
        return number == 2

    def test_busy_is_tried_again(self, tmp_path):
        def busy(handler, number):
            if number == 2:
                reply(handler, 503, b'{"code": "busy"}', "application/problem+json")
            return number == 2

        done, parts, _ = self.run(tmp_path, busy, key=False)
        assert (done.returncode, done.stderr) == (OK, "5000 taken, 0 refused\n"), done
        assert parts[1] == parts[2] and done.stdout.split() == [f"t{i}" for i in range(5000)]

    def test_a_lost_answer_is_asked_for_again_when_all_have_keys(self, tmp_path):
        done, parts, _ = self.run(tmp_path, self.lose_answer)
        assert (done.returncode, done.stderr) == (OK, "5000 taken, 0 refused\n"), done
        assert parts[1] == parts[2]

    def test_a_lost_answer_leaves_those_without_keys_in_doubt(self, tmp_path):
        done, parts, file = self.run(tmp_path, self.lose_answer, key=False)
        assert done.returncode == NOT_REACHED and len(parts) == 2, done
        first, last = int(parts[1][0]) + 1, int(parts[1][-1]) + 1
        assert f"from {file}:{first} to {file}:{last} it is not known what was taken" in done.stderr
        assert done.stderr.endswith(f"{first - 1} taken, 0 refused\n") and len(done.stdout.split()) == first - 1

    def test_a_refusal_of_a_part_ends_it(self, tmp_path):
        def refuse(handler, number):
            if number == 2:
                reply(handler, 401, b'{"code": "unauthorized"}', "application/problem+json")
            return number == 2

        done, parts, file = self.run(tmp_path, refuse)
        assert done.returncode == SERVER_SAYS_NO and len(parts) == 2, done
        assert f"from {file}:{int(parts[1][0]) + 1} on nothing was taken" in done.stderr

    def test_no_server(self, tmp_path):
        done = run_cli("submit", "-f", write(tmp_path / "x", task()), server="http://127.0.0.1:9")
        assert (done.returncode, done.stdout) == (NOT_REACHED, ""), done
        assert "on nothing was taken" in done.stderr

    def test_what_is_no_rota(self, tmp_path):
        done, _, _ = self.run(tmp_path, lambda handler, number: not reply(handler, 201, b'{"results": []}', "application/json"))
        assert done.returncode == NOT_REACHED and "not a rota server" in done.stderr, done


def test_a_terminal_shows_how_far_it_is(shared, tmp_path):
    file = write(tmp_path / "tasks.ndjson", (task() + "\n") * 3000)
    code, written = run_on_terminal("submit", "-f", file, server=shared.url, columns=100)
    assert code == OK
    assert "[################" in written and "100 %  3000 taken, 0 refused" in written

"""As a service: what it tells the service manager, sockets passed to it, SIGHUP, and its log."""

import json
import os
import pty
import re
import socket
import subprocess

import pytest

from support.notify import Held, Manager, activated
from support.rota import DIES_WITH_US, Rota, binary, run_cli
from support.wait import wait_until

WATCHDOG_S = 2


@pytest.fixture
def manager(tmp_path):
    manager = Manager(tmp_path)
    yield manager
    manager.close()


@pytest.fixture
def make():
    """Makes servers; whatever still runs at the end is stopped gracefully."""
    made = []

    def make(**given):
        made.append(Rota(**given))
        return made[-1]

    yield make
    for rota in made:
        rota.close()


def wait_log(rota, text):
    wait_until(lambda: text in rota.log_text(), f"the log says: {text}")


class TestNotify:
    def test_ready_is_said_when_it_serves(self, manager, make, target):
        rota = make(env=manager.env())
        rota.start()
        manager.wait("READY")
        assert rota.api.get("/readyz").status == 200
        assert rota.api.finished(rota.api.submit(target.url("/ok/ready"))["id"])["state"] == "success"
        wait_until(lambda: manager.times("STATUS", f"serves {rota.url} (store sqlite:{rota.data})"), "the status says where it serves")

    def test_a_server_that_cannot_start_is_never_ready(self, manager, make):
        rota = make(env=manager.env())
        rota.start()
        other = make(data=rota.data, env=manager.env())
        manager.wait("READY")
        assert not other.start(ready=False)
        assert other.forget() == 1
        assert len(manager.times("READY")) == 1

    def test_stopping_is_said_with_the_time_it_may_take(self, manager, make):
        rota = make(env=manager.env(), options=["--stop-timeout", "20s"])
        rota.start()
        manager.wait("READY")
        rota.stop()
        manager.wait("STOPPING")
        assert int(manager.message("STOPPING")["EXTEND_TIMEOUT_USEC"]) > 20e6

    def test_a_reload_is_announced_and_ended(self, manager, make):
        rota = make(env=manager.env())
        rota.start()
        manager.wait("READY")
        rota.reload()
        manager.wait("RELOADING")
        manager.wait("READY", count=2)
        assert manager.names() == ["READY", "RELOADING", "READY"]
        assert int(manager.message("RELOADING")["MONOTONIC_USEC"]) > 0

    def test_without_a_watchdog_no_sign_of_life_is_sent(self, manager, make):
        rota = make(env=manager.env())
        rota.start()
        manager.wait("READY")
        rota.stop()
        manager.wait("STOPPING")
        assert not manager.times("WATCHDOG")

    @pytest.mark.parametrize("thread", ["flow", "exec", "http"])
    def test_it_falls_silent_while_a_thread_hangs_and_only_then(self, manager, make, thread):
        rota = make(env=manager.env(watchdog_s=WATCHDOG_S))
        rota.start()
        manager.wait("READY")
        manager.wait("WATCHDOG", count=5)
        with Held(rota.process.pid, thread):
            silent = lambda: manager.now() - manager.times("WATCHDOG")[-1] > WATCHDOG_S
            wait_until(silent, f"no sign of life comes for {WATCHDOG_S} s, so that the service manager would end it")
        manager.wait("WATCHDOG", count=len(manager.times("WATCHDOG")) + 2)

    def test_a_crowd_of_clients_does_not_silence_it(self, manager, make):
        rota = make(env=manager.env(watchdog_s=WATCHDOG_S), options=["--http-connections", "8"])
        rota.start()
        manager.wait("READY")
        manager.wait("WATCHDOG")
        crowd = [socket.create_connection(rota.where()) for _ in range(40)]
        manager.wait("WATCHDOG", count=len(manager.times("WATCHDOG")) + 8)
        for client in crowd:
            client.close()


class TestSocketActivation:
    @pytest.fixture
    def listener(self):
        with socket.create_server(("127.0.0.1", 0), backlog=16) as listener:
            yield listener

    def test_the_socket_that_was_passed_is_served(self, make, listener, target):
        early = socket.create_connection(listener.getsockname())
        early.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        rota = make(**activated([listener]))
        rota.start()
        assert rota.port == listener.getsockname()[1]
        assert early.makefile("rb").readline() == b"HTTP/1.1 200 OK\r\n", "who came before the server is answered too"
        early.close()
        assert rota.api.finished(rota.api.submit(target.url("/ok/passed"))["id"])["state"] == "success"
        assert "passed by the service manager" in rota.log_text()

    def test_who_comes_between_two_servers_waits_for_the_next(self, make, listener, target):
        rota = make(**activated([listener]))
        rota.start()
        rota.stop()
        body = json.dumps({"url": target.url("/ok/between")}).encode()
        with socket.create_connection(listener.getsockname()) as between:
            head = f"POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {len(body)}\r\n"
            between.sendall(head.encode() + b"Content-Type: application/json\r\n\r\n" + body)
            rota.start()
            assert between.makefile("rb").readline() == b"HTTP/1.1 201 Created\r\n"
        target.wait_calls(1)

    def test_sockets_passed_to_another_process_are_left_alone(self, make, listener):
        rota = make(**activated([listener]), env={"LISTEN_PID": "1"})
        rota.start()
        assert rota.port != listener.getsockname()[1]

    def refused(self, make, listeners):
        rota = make(**activated(listeners))
        assert not rota.start(ready=False)
        assert rota.forget() == 1
        return rota.log_text()

    def test_two_sockets_are_refused(self, make, listener):
        with socket.create_server(("127.0.0.1", 0)) as second:
            assert "2 sockets were passed (LISTEN_FDS); one is enough" in self.refused(make, [listener, second])

    def test_a_socket_that_others_can_reach_is_refused(self, make):
        with socket.create_server(("0.0.0.0", 0)) as open_to_all:
            assert "is not a loopback address" in self.refused(make, [open_to_all])

    def test_a_socket_that_does_not_listen_is_refused(self, make):
        with socket.socket() as deaf:
            assert "does not listen for TCP" in self.refused(make, [deaf])


class TestReload:
    @pytest.fixture
    def file(self, tmp_path):
        file = tmp_path / "rota.toml"
        file.write_text("log.level = 'info'\n")
        return file

    @pytest.fixture
    def rota(self, make, file):
        rota = make(options=["--config", str(file)])
        rota.start()
        return rota

    def test_what_can_change_changes_and_what_cannot_is_named(self, rota, file):
        file.write_text("stop_timeout = '3s'\n[log]\nlevel = 'debug'\n[calls]\nmax = 7\n[jobs]\nin_hand = 100\n")
        rota.reload()
        wait_log(rota, "reload: stop_timeout = 3s (was 10s), log.level = debug (was info)\n")
        wait_log(rota, "reload: needs a restart: calls.max = 7 (was 1024), jobs.in_hand = 100 (was 32768)\n")

    def test_another_secret_file_needs_a_restart(self, rota, file):
        file.write_text("secret_file = '/no/such/file'\n")
        rota.reload()
        wait_log(rota, "reload: needs a restart: secret_file = /no/such/file (was none)\n")
        assert rota.api.get("/readyz").status == 200

    def test_nothing_new(self, rota):
        rota.reload()
        wait_log(rota, "reload: nothing has changed\n")

    def test_a_wrong_file_changes_nothing_and_is_explained(self, rota, file):
        file.write_text("log.level = 'debug'\nstop_timeout = 'soon'\n")
        rota.reload()
        wait_log(rota, f"reload: the settings stay as they were: {file}:2:16: stop_timeout takes a duration from 0s to 1h, like 10s, "
                       'not "soon"')
        file.write_text("log.level = 'debug'\n")
        rota.reload()
        wait_log(rota, "reload: log.level = debug (was info)\n")

    def test_a_file_that_is_gone_changes_nothing(self, rota, file):
        file.unlink()
        rota.reload()
        wait_log(rota, "cannot be read: No such file or directory")
        assert rota.api.get("/readyz").status == 200

    def test_a_quieter_log_says_that_it_becomes_quiet(self, rota, file):
        file.write_text("log.level = 'error'\n")
        rota.reload()
        wait_log(rota, "reload: log.level = error (was info)\n")
        file.write_text("log.level = 'warn'\njobs.in_hand = 100")
        rota.reload()
        wait_log(rota, "reload: needs a restart: jobs.in_hand = 100 (was 32768)\n")
        file.write_text("log.level = 'info'\n")
        rota.reload()
        wait_log(rota, "reload: log.level = info (was warn)\n")
        assert "log.level = warn (was error)" not in rota.log_text(), "nobody asked to hear of it at either level"

    def test_how_much_of_an_answer_is_kept_changes(self, rota, file, target):
        job = lambda: rota.api.finished(rota.api.submit(target.url("/big/1000"))["id"])
        assert len(job()["response"]) == 1000
        file.write_text("calls.keep_response = 10")
        rota.reload()
        wait_log(rota, "calls.keep_response = 10 (was 4KiB)")
        assert (len(job()["response"]), job()["response_truncated"]) == (10, True)

    def test_how_many_calls_a_host_gets_at_once_changes(self, rota, file, target):
        file.write_text("calls.per_host = 1")
        rota.reload()
        wait_log(rota, "calls.per_host = 1 (was 0)")
        # Two queues: the limit is the host's, not a queue's.
        tasks = [{"url": target.url(f"/slow/50/{i}"), "queue": f"q{i % 2}"} for i in range(6)]
        for task_id in rota.api.submit_many(tasks):
            rota.api.finished(task_id)
        calls = sorted(target.calls(), key=lambda call: call.arrived)
        assert len(calls) == 6
        assert all(before.ended <= after.arrived for before, after in zip(calls, calls[1:])), "two at once"
        held = rota.api.submit_many([{"url": target.url(f"/gate/all/{i}")} for i in range(2)])
        target.wait_calls(7)
        file.write_text("calls.per_host = 2")
        rota.reload()
        target.wait_calls(8)
        target.open("all")
        for task_id in held:
            rota.api.finished(task_id)

    def test_a_second_signal_to_stop_hurries_but_a_reload_does_not(self, rota, target):
        task = rota.api.submit(target.url("/gate/slow/x"))
        target.wait_calls(1)
        rota.terminate()
        wait_log(rota, "stopping:")
        rota.reload()
        target.open("slow")
        assert rota.wait_end() == 0
        rota.start()
        job = rota.api.finished(task["id"])
        assert (job["state"], len(job["attempts"])) == ("success", 1), "the call was not given up"


def test_a_server_ends_with_its_terminal(tmp_path):
    master, slave = pty.openpty()
    command = DIES_WITH_US + ["setsid", "--ctty", binary(), "serve", "--listen", "127.0.0.1:0", "--data", str(tmp_path / "data")]
    server = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    shown = b""
    while b"try: curl" not in shown:
        shown += os.read(master, 1000)
    os.close(master)
    assert server.wait(timeout=60) == 0


class TestLog:
    def lines(self, rota):
        return [json.loads(line) for line in rota.log_text().splitlines()]

    def test_every_line_is_json_whatever_happens(self, make, tmp_path):
        file = os.path.join(os.fsencode(tmp_path), b"a\n\x1b[31m\xff\".toml")
        write = lambda text: open(file, "w", encoding="utf-8").write(text)
        write("log.format = 'json'")
        rota = make(options=["--config", os.fsdecode(file)])
        rota.start()
        for text in ["log.level = 'x\u202e\u009b'", "\"a\\u0007\" = 1", "\"", "calls.per_host = 3"]:
            write(f"log.format = 'json'\n{text}")
            before = rota.log_text().count("reload:")
            rota.reload()
            wait_until(lambda: rota.log_text().count("reload:") > before, "it is said")
        rota.stop()
        lines = self.lines(rota)
        assert {line["level"] for line in lines} == {"info", "error"}
        assert all(set(line) == {"time", "level", "msg"} and re.fullmatch(r"[\d-]+T[\d:.]+Z", line["time"]) for line in lines)
        assert not [line for line in lines if re.search("[\x00-\x1f\x7f-\x9f\u202e]", line["msg"])]
        assert any("serves http://127.0.0.1:" in line["msg"] for line in lines) and lines[-1]["msg"] == "stopped"

    def test_mistakes_at_the_start_are_json_too(self):
        done = run_cli("serve", "--log-format", "json", "--calls-max", "many")
        assert done.returncode == 2
        assert json.loads(done.stderr)["level"] == "error"

    def test_the_level_says_what_is_logged(self, make):
        quiet = make(options=["--log-level", "error"])
        quiet.start()
        quiet.stop()
        assert "stopping" not in quiet.log_text()
        loud = make(options=["--log-level", "info"])
        loud.start()
        loud.stop()
        assert "stopping" in loud.log_text()

    @pytest.mark.parametrize(
        "url",
        [
            "postgres://rota:s3cret@127.0.0.1:1/rota",
            "postgres://rota:s3cret@[::1/rota",
            "postgres://rota:%zs3cret@127.0.0.1:1/rota",
            "postgres://rota:s3cret@127.0.0.1:1/rota?s3cret",
            "postgres://rota:s3 cret@127.0.0.1:1/rota",
            "postgres:host=127.0.0.1 port=1 password=my s3cret",
            "postgres:host=127.0.0.1 port=1 password=s3cret",
            "postgre://rota:s3cret@127.0.0.1/rota",
        ],
    )
    @pytest.mark.parametrize("format", ["text", "json"])
    def test_no_password_of_a_store_is_said(self, url, format):
        done = run_cli("serve", "--listen", "127.0.0.1:0", "--store", url, "--log-format", format)
        assert done.returncode in (1, 2), done
        assert done.stderr
        assert "cret" not in done.stdout + done.stderr, done

    @pytest.mark.stores("postgres")
    def test_nor_of_one_that_works(self, place, make):
        url = re.sub("//([^@/]*@)?", "//rota:s3cret@", place["store"], count=1)
        rota = make(store=url, options=["--log-level", "debug"])
        rota.start()
        assert "s3cret" not in rota.api.get("/readyz").body.decode() + rota.log_text()
        shown = run_cli("config", "show", env={"ROTA_STORE": url}).stdout
        assert "postgres://rota:***@" in shown and "s3cret" not in shown

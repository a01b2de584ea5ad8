"""A small HTTP client for the API: one kept-alive connection, JSON in and out, nothing hidden.

It never sends a request twice by itself: whether a submit that got no answer was taken is for the test to think about.
"""

import http.client
import json
import select
import socket

from support.wait import wait_until

FINAL = {"success", "aborted", "buried", "cancelled"}
NOT_REACHED = (OSError, http.client.HTTPException)


class Answer:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers  # an email.message.Message: names compare without case
        self.body = body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def type(self):
        return (self.headers.get("Content-Type") or "").split(";")[0].strip()

    def __repr__(self):
        return f"<{self.status} {self.body[:400]!r}>"


class Api:
    """Talks to a server; `where` gives (host, port) afresh for each connection, because a restarted server has a new port."""

    def __init__(self, where, timeout=90):
        self.where = where if callable(where) else lambda: where
        self.timeout = timeout
        self.connection = None

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def request(self, method, path, body=None, headers=None):
        """`body`: bytes or text go as they are, anything else as JSON. Without a whole answer one of NOT_REACHED is raised."""
        send = {"Connection": "keep-alive"}
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        if isinstance(body, str):
            body = body.encode()
        if body is not None:
            send["Content-Type"] = "application/json"
        send.update(headers or {})
        if self.connection and closed_by_peer(self.connection.sock):
            self.close()
        if self.connection is None:
            self.connection = http.client.HTTPConnection(*self.where(), timeout=self.timeout)
        try:
            self.connection.request(method, path, body=body, headers=send)
            response = self.connection.getresponse()
            answer = Answer(response.status, response.headers, response.read())
        except BaseException:
            self.close()
            raise
        if response.will_close:
            self.close()
        return answer

    def get(self, path, **more):
        return self.request("GET", path, **more)

    def post(self, path, body=None, **more):
        return self.request("POST", path, body, **more)

    # What nearly every test does, with the answer checked.

    def submit(self, url, **fields):
        answer = self.post("/v1/tasks", {"url": url, **fields})
        assert answer.status == 201, answer
        return answer.json

    def submit_many(self, tasks, path="/v1/tasks"):
        answer = self.post(path, tasks)
        assert answer.status == 201, answer
        return [result["id"] for result in answer.json["results"]]

    def read(self, path):
        answer = self.get(path)
        assert answer.status == 200, answer
        return answer.json

    def task(self, task_id):
        return self.read(f"/v1/tasks/{task_id}")

    def job(self, job_id):
        return self.read(f"/v1/jobs/{job_id}")

    def jobs(self, task_id):
        """Newest scheduled_at first."""
        return self.read(f"/v1/tasks/{task_id}/jobs")["items"]

    def first_job(self, task_id):
        return self.job(first_job_id(task_id))

    def wait_state(self, job_id, *states):
        wanted = set(states)

        def look():
            job = self.job(job_id)
            return job if job["state"] in wanted else None

        return wait_until(look, f"job {job_id} is {' or '.join(sorted(wanted))}")

    def finished(self, task_id):
        """The first job of a task, once it is final."""
        return self.wait_state(first_job_id(task_id), *FINAL)

    def pending(self):
        return self.read("/v1/stats")["pending"]

    def wait_idle(self):
        wait_until(lambda: self.pending() == 0, "no job is pending", timeout=180, interval=0.05)


def first_job_id(task_id):
    """A task's first job has the task's number."""
    return "j" + task_id[1:]


def closed_by_peer(sock):
    """Between two answers a connection that has something to read can only have been closed."""
    return sock is not None and bool(select.select([sock], [], [], 0)[0])


def raw_exchange(where, data, timeout=60):
    """Sends bytes as they are and returns everything that comes back until the server closes, or stops with a whole answer."""
    with socket.create_connection(where, timeout=timeout) as connection:
        connection.sendall(data)
        received = b""
        while not answer_is_whole(received):
            piece = connection.recv(65536)
            if not piece:
                break
            received += piece
        return received


def answer_is_whole(received):
    head, gap, body = received.partition(b"\r\n\r\n")
    if not gap:
        return False
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            return len(body) >= int(value)
    return False

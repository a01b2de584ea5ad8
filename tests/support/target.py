"""The HTTP target that rota calls in the tests: it does what the path says, and writes down every call.

The first part of the path names the behaviour, the next parts its argument, the rest is free for the test:

    /ok/…             200, "ok ATTEMPT"                       /status/503/…     that status
    /fail/2/…         the job's first 2 calls get 500         /fail/2/429/…     … or that status
    /gate/NAME/…      answers once the test calls open(NAME)  /slow/300/…       200 after 300 ms
    /echo/…           200 with the body that came             /big/100000/…     200 with so many bytes
    /retry-after/2/…  the job's first call gets 503 with that Retry-After
    /redirect/…       302 to /ok                              /hang/…           never answers
    /drip/…           a byte now and then, for ever           /reset/…          resets the connection
    /junk/…           something that is not HTTP              /close/…          closes without an answer
    /short/…          a body shorter than it said             /header/…         200 with a header of 300 KiB
    /later/…          202 and Rota-Async: 1                   /later/2/…        … to the job's first 2 calls
    /gate-later/NAME/…  the same once the test calls open(NAME)

It has one thread with an asyncio loop. It reads requests with a parser of its own, so that what arrived is kept byte for byte.
"""

import asyncio
import collections
import dataclasses
import socket
import struct
import threading
import time

from support.wait import wait_until


def wall_ms():
    return time.time_ns() / 1e6


@dataclasses.dataclass
class Call:
    """One request as it reached the target. `ended` is when the answer was sent, or the caller had gone."""

    number: int
    method: str
    path: str
    headers: list  # of (name, value), as they came
    body: bytes
    arrived: float
    ended: float = None
    status: int = None  # what it was answered with; None: nothing
    answer: bytes = b""

    def header(self, name):
        for key, value in self.headers:
            if key.lower() == name.lower():
                return value
        return None

    @property
    def job_id(self):
        return self.header("Rota-Job-Id")

    @property
    def task_id(self):
        return self.header("Rota-Task-Id")

    @property
    def attempt(self):
        return int(self.header("Rota-Attempt") or 0)

    @property
    def marker(self):
        """What the test put behind `?` to know its task again."""
        return self.path.partition("?")[2]


class CallerGone(Exception):
    pass


class Talk:
    """One call being answered: what the behaviours below write with."""

    def __init__(self, target, call, reader, writer):
        self.target, self.call, self.reader, self.writer = target, call, reader, writer
        self.args = call.path.partition("?")[0].strip("/").split("/")[1:]

    def number(self, index, default):
        try:
            return int(self.args[index])
        except (IndexError, ValueError):
            return default

    async def send(self, data):
        self.writer.write(data)
        await self.writer.drain()

    async def answer(self, status, body=None, headers=()):
        if body is None:
            body = b"%s %d" % (b"ok" if status < 300 else b"no", self.call.attempt)
        self.call.status, self.call.answer = status, body
        head = [f"HTTP/1.1 {status} Scripted", f"Content-Length: {len(body)}", "Content-Type: text/plain"]
        head += [f"{name}: {value}" for name, value in headers]
        self.call.ended = wall_ms()  # before the caller can know: its next call must not seem to overlap
        await self.send("\r\n".join(head).encode() + b"\r\n\r\n" + body)

    async def until_gone(self):
        """Waits until the caller closes the connection."""
        while await self.reader.read(65536):
            pass
        raise CallerGone


async def do_ok(talk):
    await talk.answer(200)


async def do_status(talk):
    status = talk.number(0, 200)
    await talk.answer(status, b"" if status in (204, 304) else None)


async def do_fail(talk):
    earlier = talk.target.count_job(talk.call.job_id)
    failing = earlier <= talk.number(0, 1)
    await talk.answer(talk.number(1, 500) if failing else 200)


async def do_gate(talk):
    await wait_for_gate(talk)
    await talk.answer(200)


async def wait_for_gate(talk):
    gate = talk.target.gate(talk.args[0])
    opened = asyncio.ensure_future(gate.wait())
    gone = asyncio.ensure_future(talk.reader.read(1))
    await asyncio.wait({opened, gone}, return_when=asyncio.FIRST_COMPLETED)
    opened.cancel()
    if not gone.done():
        gone.cancel()
        await asyncio.wait({gone})
    elif not gone.result():
        raise CallerGone


async def answer_later(talk):
    await talk.answer(202, b"I will say", headers=[("Rota-Async", "1")])


async def do_later(talk):
    earlier = talk.target.count_job(talk.call.job_id)
    await (answer_later(talk) if earlier <= talk.number(0, earlier) else talk.answer(200))


async def do_gate_later(talk):
    await wait_for_gate(talk)
    await answer_later(talk)


async def do_slow(talk):
    await asyncio.sleep(talk.number(0, 100) / 1000)
    await talk.answer(200)


async def do_echo(talk):
    await talk.answer(200, talk.call.body)


async def do_big(talk):
    size = talk.number(0, 100_000)
    await talk.answer(200, (b"0123456789abcdef" * (size // 16 + 1))[:size])


async def do_retry_after(talk):
    first = talk.target.count_job(talk.call.job_id) <= 1
    await (talk.answer(503, headers=[("Retry-After", talk.args[0])]) if first else talk.answer(200))


async def do_redirect(talk):
    await talk.answer(302, headers=[("Location", talk.target.url("/ok/redirected"))])


async def do_hang(talk):
    await talk.until_gone()


async def do_drip(talk):
    await talk.send(b"HTTP/1.1 200 Scripted\r\nContent-Length: 1000000\r\n\r\n")
    while True:
        await talk.send(b".")
        await asyncio.sleep(0.02)


async def do_reset(talk):
    # Lingering for no time at all makes the kernel send RST instead of FIN.
    talk.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    talk.writer.transport.abort()
    raise CallerGone


async def do_close(talk):
    raise CallerGone


async def do_junk(talk):
    await talk.send(b"\x00\x01\x02 what is this? not a status line\r\n\r\n\xff\xfe")
    raise CallerGone


async def do_short(talk):
    await talk.send(b"HTTP/1.1 200 Scripted\r\nContent-Length: 100\r\n\r\nonly this")
    raise CallerGone


async def do_header(talk):
    await talk.answer(200, headers=[("X-Long", "x" * 300 * 1024)])


BEHAVIOURS = {
    "ok": do_ok,
    "status": do_status,
    "fail": do_fail,
    "gate": do_gate,
    "slow": do_slow,
    "echo": do_echo,
    "big": do_big,
    "retry-after": do_retry_after,
    "redirect": do_redirect,
    "hang": do_hang,
    "drip": do_drip,
    "reset": do_reset,
    "close": do_close,
    "junk": do_junk,
    "short": do_short,
    "header": do_header,
    "later": do_later,
    "gate-later": do_gate_later,
}


TLS_HELLO = b"\x16"  # how a caller begins who takes this for an https server


class Target:
    def __init__(self):
        self.lock = threading.Lock()
        self.calls_made = []  # under lock
        self.per_job = collections.Counter()  # the loop's
        self.gates = {}  # the loop's
        self.loop = asyncio.new_event_loop()
        self.tasks = set()
        self.listening = threading.Event()
        self.thread = threading.Thread(target=self.run, name="target", daemon=True)
        self.thread.start()
        self.listening.wait()

    def run(self):
        asyncio.set_event_loop(self.loop)
        self.server = self.loop.run_until_complete(
            asyncio.start_server(self.serve, "127.0.0.1", 0, limit=4 << 20, backlog=4096)
        )
        self.port = self.server.sockets[0].getsockname()[1]
        self.listening.set()
        self.loop.run_forever()

    def close(self):
        async def end():
            self.server.close()
            await asyncio.sleep(0)  # a connection that was just accepted gets its task first, so that it is ended here too
            for task in list(self.tasks):
                task.cancel()
            await asyncio.gather(*self.tasks, return_exceptions=True)
            self.loop.stop()

        asyncio.run_coroutine_threadsafe(end(), self.loop)
        self.thread.join()
        self.loop.close()

    def url(self, path):
        return f"http://127.0.0.1:{self.port}{path}"

    def gate(self, name):
        return self.gates.setdefault(name, asyncio.Event())

    def open(self, name):
        """Lets go whoever waits, or will wait, at /gate/NAME."""
        self.loop.call_soon_threadsafe(lambda: self.gate(name).set())

    def count_job(self, job_id):
        self.per_job[job_id] += 1
        return self.per_job[job_id]

    # What was called.

    def calls(self, path=None, job_id=None, task_id=None):
        """A copy of the log; `path` is the beginning of the path."""
        with self.lock:
            made = list(self.calls_made)
        return [
            call
            for call in made
            if (path is None or call.path.startswith(path))
            and (job_id is None or call.job_id == job_id)
            and (task_id is None or call.task_id == task_id)
        ]

    def wait_calls(self, count=1, **which):
        def enough():
            made = self.calls(**which)
            return made if len(made) >= count else None

        return wait_until(enough, f"the target was called {count} times with {which}")

    # One connection.

    async def serve(self, reader, writer):
        task = asyncio.current_task()
        self.tasks.add(task)
        try:
            while await self.serve_one(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, CallerGone):
            pass
        except asyncio.CancelledError:
            pass  # the test is over
        finally:
            self.tasks.discard(task)
            writer.close()

    async def serve_one(self, reader, writer):
        first = await reader.readexactly(1)
        arrived = wall_ms()
        if first == TLS_HELLO:
            writer.write(b"HTTP/1.1 400 Plain text here\r\n\r\n")
            raise CallerGone
        head = first + await reader.readuntil(b"\r\n\r\n")
        lines = head[:-4].decode("latin-1").split("\r\n")
        method, path, _ = lines[0].split(" ", 2)
        headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines[1:])]
        sent = {name.lower(): value for name, value in headers}
        if sent.get("expect", "").lower() == "100-continue":
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = await read_body(reader, sent)
        call = self.note(method, path, headers, body, arrived)
        try:
            behaviour = BEHAVIOURS.get(path.partition("?")[0].strip("/").split("/")[0], do_ok)
            await behaviour(Talk(self, call, reader, writer))
        finally:
            call.ended = call.ended or wall_ms()
        return sent.get("connection", "").lower() != "close"

    def note(self, method, path, headers, body, arrived):
        with self.lock:
            call = Call(len(self.calls_made), method, path, headers, body, arrived)
            self.calls_made.append(call)
        return call


async def read_body(reader, sent):
    if sent.get("transfer-encoding", "").lower() != "chunked":
        return await reader.readexactly(int(sent.get("content-length", 0)))
    body = b""
    while True:
        size = int((await reader.readuntil(b"\r\n")).split(b";")[0], 16)
        body += await reader.readexactly(size)
        await reader.readexactly(2)
        if size == 0:
            return body

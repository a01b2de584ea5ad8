"""A reader of GET /v1/events: server-sent events over a connection of its own, read by a thread."""

import json
import socket
import threading

from support.wait import wait_until


class Event:
    def __init__(self, id, type, data):
        self.id, self.type, self.data = id, type, data

    def __repr__(self):
        return f"<{self.type} {self.data}>"


class Events:
    """Collects what comes until it is closed, by whichever side. With reading=False nothing is taken from the socket."""

    def __init__(self, where, query="", last_event_id=None, reading=True):
        self.events, self.comments, self.ended, self.head, self.broken = [], 0, False, b"", None
        self.socket = socket.socket()
        if not reading:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # so that it is full soon
        self.socket.settimeout(120)
        self.socket.connect(where)
        last = f"Last-Event-ID: {last_event_id}\r\n" if last_event_id else ""
        self.socket.sendall(f"GET /v1/events{query} HTTP/1.1\r\nHost: 127.0.0.1\r\n{last}\r\n".encode())
        self.thread = threading.Thread(target=self.run, daemon=True)
        if reading:
            self.read()

    def read(self):
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        if self.thread.is_alive():
            self.thread.join()
        self.socket.close()

    # ---- the thread

    def run(self):
        try:
            with self.socket.makefile("rb") as stream:
                self.head = self.read_head(stream)
                self.read_chunks(stream)
        except (OSError, ValueError) as error:
            self.broken = error
        self.ended = True

    def read_head(self, stream):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = stream.readline()
            if not line:
                raise OSError("closed before the headers had ended")
            head += line
        return head

    def read_chunks(self, stream):
        text = b""
        while True:
            size = stream.readline()
            if not size:
                raise OSError("closed without an end")
            n = int(size, 16)
            chunk = stream.read(n + 2)
            if len(chunk) < n + 2:
                raise OSError("closed in the midst of it")
            assert chunk.endswith(b"\r\n")
            text += chunk[:-2]
            if n == 0:
                return
            *blocks, text = text.split(b"\n\n")
            for block in blocks:
                self.take(block.decode())

    def take(self, block):
        fields = {}
        for line in block.split("\n"):
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
        if set(fields) == {""}:
            self.comments += 1
            return
        assert set(fields) == {"id", "event", "data"}, block
        event = Event(fields["id"], fields["event"], json.loads(fields["data"]))
        assert event.data["type"] == event.type
        self.events.append(event)

    # ---- what tests ask

    @property
    def status(self):
        wait_until(lambda: self.head or self.ended, "the stream is answered")
        return int(self.head.split()[1])

    def of(self, type=None, **data):
        return [event for event in list(self.events)
                if type in (None, event.type) and all(event.data.get(name) == value for name, value in data.items())]

    def wait(self, type, count=1, **data):
        """The first `count` of this type."""
        wait_until(lambda: len(self.of(type, **data)) >= count or self.ended, f"{count} × {type} {data} were told")
        found = self.of(type, **data)
        assert len(found) >= count, f"the stream ended ({self.broken}) with {self.events[-20:]}"
        return found[:count]

    def wait_ready(self):
        return self.wait("ready")[0]

    def wait_end(self):
        wait_until(lambda: self.ended, "the stream ends")

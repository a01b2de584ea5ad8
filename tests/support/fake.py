"""A stand-in for a rota server, for what a real one does only on a bad day: it answers what the test says and writes down what it
was asked. And a terminal for the command line to be run on."""

import fcntl
import http.server
import os
import pty
import struct
import subprocess
import termios
import threading

from support.rota import binary


class Fake:
    """`answer` is called for each request, in a thread of its own, with the handler of http.server: it answers with reply(),
    begin_stream() or anything else that a handler can do. Everything asked is in `asked`, as (method, path, headers)."""

    def __init__(self, answer):
        fake = self
        self.asked = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self):
                length = int(self.headers.get("Content-Length") or 0)
                self.body = self.rfile.read(length)
                fake.asked.append((self.command, self.path, dict(self.headers)))
                answer(self)

            do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = handle_any

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = "http://127.0.0.1:%d" % self.server.server_port
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *why):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def reply(handler, status, data, kind, length=None):
    """With another `length` than that of the data the answer breaks off."""
    handler.send_response(status)
    handler.send_header("Content-Type", kind)
    handler.send_header("Content-Length", str(len(data) if length is None else length))
    handler.end_headers()
    handler.wfile.write(data)
    if length is not None:
        handler.close_connection = True


def begin_stream(handler, kind):
    """The answer ends when the connection does."""
    handler.send_response(200)
    handler.send_header("Content-Type", kind)
    handler.send_header("Connection", "close")
    handler.end_headers()
    handler.close_connection = True


def set_width(fd, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))


def run_on_terminal(*args, server, columns, env=None, typed=""):
    """Exit code and all that the command wrote on a terminal of that width, on which somebody typed before."""
    inherited = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    full = {**inherited, "TERM": "xterm", "ROTA_SERVER": server, **(env or {})}
    ours, theirs = pty.openpty()
    set_width(theirs, columns)
    process = subprocess.Popen([binary(), *args], stdin=theirs, stdout=theirs, stderr=theirs, env=full)
    os.close(theirs)
    os.write(ours, typed.encode())
    written = b""
    try:
        while True:
            try:
                more = os.read(ours, 65536)
            except OSError:  # Linux says so when the other side has closed
                break
            if not more:
                break
            written += more
    finally:
        os.close(ours)
    return process.wait(), written.decode()

#!/usr/bin/env python3
"""Something for rota to call while you try it: prints every call, and answers as the path says.

    /ok       200                          /fail/2    503 for the first 2 calls of a job, then 200
    /echo     200 with the body that came  /slow/300  200 after 300 ms
    /later/300  202 at once, and says after 300 ms to the rota named in the body, {"rota": "http://…"}, that it is done

    python3 docs/target.py [PORT]          listens on 127.0.0.1:8000, or that port; 0 is any free one
"""

import collections
import http.server
import json
import sys
import threading
import time
import urllib.error
import urllib.request

calls = collections.Counter()


def complete(rota, job, token, delay):
    """The work goes on after the answer. What it says then counts as the end of the attempt."""
    time.sleep(delay)
    body = json.dumps({"token": token, "result": {"slept": delay}}).encode()
    request = urllib.request.Request(f"{rota}/v1/jobs/{job}/complete", body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request) as answer:
            print(f"completed job {job}: {answer.status}", flush=True)
    except urllib.error.HTTPError as refusal:  # 409: it came too late, or the job was cancelled
        print(f"job {job} was not completed: {refusal.status} {refusal.read().decode(errors='replace')}", flush=True)
    except OSError as error:
        print(f"job {job} was not completed: no rota at {rota}: {error}", flush=True)


def rota_named(body):
    try:
        return json.loads(body)["rota"]
    except (ValueError, KeyError, TypeError):
        return None


class Target(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        job = self.headers.get("Rota-Job-Id", "-")
        calls[job] += 1
        what, _, argument = self.path.strip("/").partition("/")
        headers = {}
        status, text = 200, f"hello, attempt {self.headers.get('Rota-Attempt', '-')}".encode()
        if what == "fail" and calls[job] <= int(argument or 1):
            status, text = 503, b"not now"
        elif what == "echo":
            text = body
        elif what == "slow":
            time.sleep(int(argument or 300) / 1000)
        elif what == "later":
            rota = rota_named(body)
            if rota:
                status, text, headers = 202, b"it takes a while", {"Rota-Async": "1"}
                words = rota, job, self.headers.get("Rota-Token"), int(argument or 300) / 1000
                threading.Thread(target=complete, args=words).start()
            else:
                status, text = 400, b'say in the body where rota is: {"rota": "http://127.0.0.1:7070"}'
        print(f"{self.command} {self.path} job {job} attempt {self.headers.get('Rota-Attempt', '-')}: {status}", flush=True)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

    def log_message(self, *words):
        pass


if __name__ == "__main__":
    port = sys.argv[1] if sys.argv[1:] else "8000"
    try:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), Target)
    except (OSError, ValueError, OverflowError) as error:
        sys.exit(f"cannot listen on port {port} ({error}); another one: python3 docs/target.py PORT")
    print(f"listening on http://127.0.0.1:{server.server_address[1]}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass

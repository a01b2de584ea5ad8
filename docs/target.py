#!/usr/bin/env python3
"""Something for rota to call while you try it: prints every call, and answers as the path says.

    /ok       200                          /fail/2    503 for the first 2 calls of a job, then 200
    /echo     200 with the body that came  /slow/300  200 after 300 ms

    python3 docs/target.py [PORT]          listens on 127.0.0.1:8000, or that port; 0 is any free one
"""

import collections
import http.server
import sys
import time

calls = collections.Counter()


class Target(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        job = self.headers.get("Rota-Job-Id", "-")
        calls[job] += 1
        what, _, argument = self.path.strip("/").partition("/")
        status, text = 200, f"hello, attempt {self.headers.get('Rota-Attempt', '-')}".encode()
        if what == "fail" and calls[job] <= int(argument or 1):
            status, text = 503, b"not now"
        elif what == "echo":
            text = body
        elif what == "slow":
            time.sleep(int(argument or 300) / 1000)
        print(f"{self.command} {self.path} job {job} attempt {self.headers.get('Rota-Attempt', '-')}: {status}", flush=True)
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

    def log_message(self, *words):
        pass


if __name__ == "__main__":
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if sys.argv[1:] else 8000), Target)
    print(f"listening on http://127.0.0.1:{server.server_address[1]}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass

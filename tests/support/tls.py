"""A target that speaks TLS, and the certificates for it: one authority that the server under test trusts, and what it signed."""

import os
import socket
import ssl
import subprocess
import threading


class Authority:
    """Its certificates lie in `home`. `ca` is what to trust."""

    def __init__(self, home, name="rota test authority"):
        self.home, self.ca = home, f"{home}/ca.pem"
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30",
                     "-subj", f"/CN={name}", "-keyout", f"{home}/ca.key", "-out", self.ca)

    def openssl(self, *words, at=None):
        faked = ["faketime", at] if at else []
        subprocess.run([*faked, "openssl", *words], check=True, capture_output=True, cwd=self.home)

    def sign(self, file, names, at=None, days=30):
        """A certificate for `names` ("DNS:…", "IP:…"), as it was made `at` some time. Returns the path of it and its key."""
        path = f"{self.home}/{file}"
        with open(f"{path}.ext", "w") as out:
            out.write(f"subjectAltName={names}\n")
        self.openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=target",
                     "-keyout", f"{path}.key", "-out", f"{path}.csr")
        self.openssl("x509", "-req", "-in", f"{path}.csr", "-CA", self.ca, "-CAkey", f"{self.home}/ca.key", "-CAcreateserial",
                     "-days", str(days), "-extfile", f"{path}.ext", "-out", f"{path}.crt", at=at)
        with open(f"{path}.pem", "w") as out:
            for part in ("key", "crt"):
                out.write(open(f"{path}.{part}").read())
        return f"{path}.pem"


class TlsTarget:
    """Answers every request with 200 and the length of its body, as `give` bytes. With `rude` it then ends the connection without
    a word."""

    def __init__(self, pem, give=2, rude=False):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(pem)
        self.give, self.rude = give, rude
        self.connections, self.requests = 0, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    def accept(self):
        while True:
            try:
                plain, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(plain,), daemon=True).start()

    def serve(self, plain):
        try:
            with self.context.wrap_socket(plain, server_side=True) as peer:
                self.connections += 1
                self.talk(peer)
        except OSError:
            pass  # the caller left, or did not like the certificate

    def talk(self, peer):
        reader = peer.makefile("rb")
        while line := reader.readline():
            length = 0
            while (header := reader.readline()) not in (b"\r\n", b""):
                name, _, value = header.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            body = reader.read(length)
            self.requests.append((line.decode().split()[1], len(body)))
            if self.rude:
                peer.sendall(b"HTTP/1.1 200 OK\r\n\r\nhalf")
                os.close(peer.detach())
                return
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % self.give + b"x" * self.give)

    def url(self, path="/", host="localhost"):
        return f"https://{host}:{self.port}{path}"

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


class Flood:
    """Answers the first words of a handshake with records of messages that are to be ignored, without end."""

    RECORD = b"\x16\x03\x03\x40\x00" + bytes(0x4000)  # full of HelloRequests

    def __init__(self):
        self.sent, self.left = 0, threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        try:
            peer, _ = self.listener.accept()
            with peer:
                peer.recv(4096)
                while True:
                    peer.sendall(self.RECORD)
                    self.sent += 1
        except OSError:
            self.left.set()

    def close(self):
        self.listener.close()

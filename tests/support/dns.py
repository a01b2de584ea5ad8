"""A name server of the tests' own, which never answers for some names, and a server that asks it.

What a name ends with says what is answered: .good.test is this machine, .gone.test is not there, .dead.test gets no answer.
"""

import os
import random
import socket
import struct
import threading

from support.rota import binary, scratch_dir

NAMELESS, THERE = 3, 0
HERE = b"\xc0\x0c\0\1\0\1" + struct.pack(">IH", 60, 4) + socket.inet_aton("127.0.0.1")


class NameServer:
    def __init__(self, silent=False):
        self.silent = silent  # it answers for no name at all
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.address = self.bind()
        self.asked = []  # names, in the order they came
        self.file = None
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def bind(self):
        """Port 53 of a loopback address that nobody has: so tests can run beside each other."""
        while True:
            address = f"127.{random.randint(1, 254)}.{random.randint(0, 255)}.{random.randint(1, 254)}"
            try:
                self.socket.bind((address, 53))
                return address
            except OSError:
                continue

    def serve(self):
        while True:
            question, who = self.socket.recvfrom(4096)
            if not question:
                return
            name, kind, end = self.read(question)
            self.asked.append(name)
            if self.silent or name.endswith(".dead.test"):
                continue
            there = name.endswith(".good.test")
            answers = [HERE] if there and kind == 1 else []
            flags = 0x8180 | (THERE if there else NAMELESS)
            head = question[:2] + struct.pack(">HHHHH", flags, 1, len(answers), 0, 0)
            self.socket.sendto(head + question[12:end] + b"".join(answers), who)

    def read(self, question):
        at, labels = 12, []
        while question[at]:
            labels.append(question[at + 1 : at + 1 + question[at]].decode())
            at += 1 + question[at]
        return ".".join(labels).lower(), struct.unpack(">H", question[at + 1 : at + 3])[0], at + 5

    def command(self):
        """Starts rota where /etc/resolv.conf names this server, and nowhere else."""
        self.file = os.path.join(scratch_dir(), "resolv.conf")
        self.name(self)
        return ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/resolv.conf && exec "$@"', self.file, binary()]

    def name(self, server):
        """From now on the file names that server."""
        with open(self.file, "w", encoding="ascii") as file:
            file.write(f"nameserver {server.address}\n")

    def close(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
            own.sendto(b"", (self.address, 53))
        self.thread.join()
        self.socket.close()
        if self.file:
            os.unlink(self.file)
            os.rmdir(os.path.dirname(self.file))

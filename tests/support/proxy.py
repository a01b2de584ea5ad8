"""A TCP proxy before PostgreSQL that ends a connection right after a COMMIT was carried out, so that nobody hears of it.

(proxy.c does the same and more for the contract suites.) The connection must not be encrypted: sslmode=disable.
"""

import asyncio
import threading

COMMITTED = b"COMMIT\0"  # how PostgreSQL says that it did
CHUNK = 65536


class Proxy:
    """One thread with an asyncio loop; what tests call only sets or reads a plain attribute."""

    def __init__(self, to_port):
        self.to_port = to_port
        self.watched = None
        self.cuts = 0
        self.loop = asyncio.new_event_loop()
        self.tasks = set()
        listening = threading.Event()
        self.thread = threading.Thread(target=self.run, args=(listening,), name="proxy", daemon=True)
        self.thread.start()
        listening.wait()

    def run(self, listening):
        asyncio.set_event_loop(self.loop)
        server = self.loop.run_until_complete(asyncio.start_server(self.serve, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        listening.set()
        self.loop.run_forever()
        server.close()
        for task in self.tasks:
            task.cancel()
        self.loop.run_until_complete(asyncio.gather(*self.tasks, return_exceptions=True))
        self.loop.close()

    def close(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()

    def lose_answer_to(self, text):
        """The next transaction in which these bytes are sent is committed, and its connection ends instead of saying so."""
        self.watched = text

    async def serve(self, reader, writer):
        task = asyncio.current_task()
        self.tasks.add(task)
        pair = Pair(self, reader, writer)
        try:
            await pair.run()
        except (OSError, asyncio.CancelledError):
            pass  # one of the sides has gone, or the test is over
        finally:
            self.tasks.discard(task)
            pair.end()


class Pair:
    def __init__(self, proxy, reader, writer):
        self.proxy, self.reader, self.writer, self.losing = proxy, reader, writer, False
        self.writers = [writer]

    async def run(self):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.proxy.to_port)
        self.writers.append(writer)
        ways = [self.pump(self.reader, writer, self.sent), self.pump(reader, self.writer, self.answered)]
        ways = [asyncio.ensure_future(way) for way in ways]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)

    async def pump(self, reader, writer, may_pass):
        while piece := await reader.read(CHUNK):
            if not may_pass(piece):
                return
            writer.write(piece)
            await writer.drain()

    # What is looked for is assumed to lie in one piece: both sides write small things at once. If not, the test sees no cut.

    def sent(self, data):
        if self.proxy.watched and self.proxy.watched in data:
            self.losing, self.proxy.watched = True, None
        return True

    def answered(self, data):
        lost = self.losing and COMMITTED in data
        self.proxy.cuts += lost
        return not lost

    def end(self):
        for writer in self.writers:
            writer.transport.abort()

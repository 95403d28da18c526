"""A writer to a journal in PostgreSQL that obeys, and a proxy that cuts its connections."""
import re
import socket
import subprocess
import threading


def gaps(server):
    """Returns the number of writers whose events are not numbered 1, 2, 3, ... up to their position."""
    return int(server.sql(
        "SELECT count(*) FROM sherd.writer w WHERE EXISTS (SELECT 1 FROM sherd.event e WHERE e.writer = w.id"
        " HAVING coalesce(max(e.pos), 0) <> w.last OR count(*) <> w.last OR count(DISTINCT e.pos) <> w.last)"))


class Writer:
    """tests/e2e/postgres_writer.c: each call sends an instruction; the answer is a list of words."""

    def __init__(self, program, url, *settings):
        self.process = subprocess.Popen([program, url, *settings], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.log = []
        self.opened = self.answer()

    def answer(self):
        for line in self.process.stdout:
            if not line.startswith("log "):
                return line.rstrip("\n")
            self.log.append(line.rstrip("\n"))
        return "ended"

    def send(self, *words):
        self.process.stdin.write(" ".join(str(word) for word in words) + "\n")
        self.process.stdin.flush()

    def say(self, *words):
        self.send(*words)
        return self.answer()

    def claim(self, shard, term, epoch):
        return self.say("claim", shard, term, epoch).split()[0]

    def append(self, shard, term, epoch, entity, first, letters, again=False):
        return self.say("again" if again else "append", shard, term, epoch, entity, first, letters).split()[0]

    def replay(self, entity):
        return self.say("replay", entity)

    def logged(self, pattern):
        return [line for line in self.log if re.search(pattern, line)]

    def close(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


class Proxy:
    """Forwards connections to a port of this machine. arm() cuts the next busy connection after a number
    of bytes in one direction; closed: refuses new connections."""

    def __init__(self, port):
        self.target = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.lock = threading.Lock()
        self.counts = [0, 0]  # bytes to the server, and back
        self.cut = None       # (direction, bytes left)
        self.closed = False
        self.held = False     # bytes to the server wait
        self.held_pairs = []  # the same on these connections only
        self.free = threading.Condition(self.lock)
        self.pairs = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            if self.closed:
                client.close()
                continue
            try:
                server = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                client.close()
                continue
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.pairs.append((client, server))
            for direction, (source, sink) in enumerate(((client, server), (server, client))):
                threading.Thread(target=self.pump, args=(direction, source, sink), daemon=True).start()

    def arm(self, direction, count):
        with self.lock:
            self.counts = [0, 0]
            self.cut = None if count is None else [direction, count]

    def hold(self, held):
        with self.lock:
            self.held = held
            self.free.notify_all()

    def hold_open(self):
        """Holds what is sent on the connections that are open now. Returns the ports that the server sees."""
        with self.lock:
            self.held_pairs = [client for client, _ in self.pairs]
            return [server.getsockname()[1] for _, server in self.pairs if server.fileno() >= 0]

    def let_go(self):
        with self.lock:
            self.held_pairs = []
            self.free.notify_all()

    def allowed(self, direction, source, data):
        """Returns the bytes to forward, and whether the connection is cut after them."""
        with self.lock:
            while direction == 0 and (self.held or source in self.held_pairs):
                self.free.wait()
            self.counts[direction] += len(data)
            if not self.cut or self.cut[0] != direction:
                return data, False
            if len(data) < self.cut[1]:
                self.cut[1] -= len(data)
                return data, False
            data = data[:self.cut[1]]
            self.cut = None
            return data, True

    def pump(self, direction, source, sink):
        try:
            while True:
                data = source.recv(65536)
                if not data:
                    break
                data, is_cut = self.allowed(direction, source, data)
                if data:
                    sink.sendall(data)
                if is_cut:
                    break
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.listener.close()
        for pair in self.pairs:
            for end in pair:
                end.close()

"""Runs an etcd server for tests of leases, and a proxy that can cut a node off from it."""
import base64
import json
import os
import select
import socket
import subprocess
import threading
import urllib.request

from cluster import free_port, wait


class Etcd:
    def __init__(self, program, folder):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        peer = f"http://127.0.0.1:{free_port()}"
        self.log = open(os.path.join(folder, "etcd.txt"), "w")
        self.process = subprocess.Popen(
            [program, "--name", "one", "--data-dir", os.path.join(folder, "etcd"), "--unsafe-no-fsync",
             "--listen-client-urls", self.url, "--advertise-client-urls", self.url,
             "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"one={peer}"],
            stdout=self.log, stderr=self.log)
        wait(self.answers, "etcd does not answer", 30, 0.1)

    def ask(self, path, question):
        request = urllib.request.Request(self.url + path, json.dumps(question).encode())
        with urllib.request.urlopen(request, timeout=5) as reply:
            return json.load(reply)

    def answers(self):
        try:
            return bool(self.holder("") or True)
        except OSError:
            return False

    def holder(self, lease):
        key = base64.b64encode(b"/sherd/leases/" + lease.encode()).decode()
        found = self.ask("/v3/kv/range", {"key": key}).get("kvs", [])
        return base64.b64decode(found[0]["value"]).decode() if found else None

    def end(self):
        self.process.kill()
        self.process.wait()
        self.log.close()


class Proxy:
    """Passes connections on to a port, until it is cut: then nothing passes and nothing is closed."""

    def __init__(self, port):
        self.to = port
        self.is_cut = False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.pairs = {}
        self.is_ending = False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def cut(self, is_cut):
        self.is_cut = is_cut

    def accept(self):
        client, _ = self.listener.accept()
        server = socket.create_connection(("127.0.0.1", self.to))
        self.pairs[client], self.pairs[server] = server, client

    def drop(self, end):
        other = self.pairs.pop(end)
        del self.pairs[other]
        end.close()
        other.close()

    def move(self, end):
        try:
            data = end.recv(65536)
            if data:
                self.pairs[end].sendall(data)
        except OSError:
            data = b""
        if not data:
            self.drop(end)

    def run(self):
        while not self.is_ending:
            ends = [] if self.is_cut else [self.listener, *self.pairs]
            for end in select.select(ends, [], [], 0.05)[0]:
                if end is self.listener:
                    self.accept()
                elif end in self.pairs:
                    self.move(end)

    def end(self):
        self.is_ending = True
        self.thread.join()
        for end in [self.listener, *self.pairs]:
            end.close()

"""Restarts the nodes of a cluster one after another while another node asks entities, and measures
it. Used by rolling_test.py and bench/rolling."""
import contextlib
import os
import re
import subprocess
import sys
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "examples"))
from free_port import free_port  # noqa: E402  (the path is set above)

HOSTS = 3
WAIT_SECONDS = 60
RESOLVER = {"SHERD__CLUSTER__DOWNING_PROVIDER_CLASS": "akka.cluster.sbr.SplitBrainResolverProvider"}


class Failed(Exception):
    pass


class Node:
    """One process of rolling_node. Its lines are pairs (seconds since 1970, text)."""

    def __init__(self, program, port, seeds, duty, load=(), settings=None):
        self.port, self.duty = port, duty
        self.lines = []
        self.news = threading.Condition()
        self.began = time.time()
        self.process = subprocess.Popen([program, str(port), ",".join(f"127.0.0.1:{seed}" for seed in seeds), str(duty),
                                         *map(str, load)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env={**os.environ, **RESOLVER, **(settings or {})})
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            ms, text = line.decode(errors="replace").rstrip("\n").split(" ", 1)
            with self.news:
                self.lines.append((int(ms) / 1000, text))
                self.news.notify_all()

    def say(self, line=""):
        self.process.stdin.write(f"{line}\n".encode())
        self.process.stdin.flush()

    def wait(self, what):
        """Returns the first line that begins with the text."""
        with self.news:
            found = self.news.wait_for(lambda: self.first(what), WAIT_SECONDS)
        if not found:
            raise Failed(f"no line '{what}' from the node on port {self.port}")
        return found

    def first(self, what):
        return next((line for line in self.lines if line[1].startswith(what)), None)

    def expect_running(self, seconds):
        """Lets the node run for this time. Fails at once if it ends."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            raise Failed(f"the node on port {self.port} ended with {self.process.wait(seconds)}")

    def seconds_to(self, what):
        return self.wait(what)[0] - self.began

    def leave(self):
        """Ends the process gracefully. Returns the seconds that it took."""
        begin = time.time()
        self.process.terminate()
        code = self.process.wait(WAIT_SECONDS)
        took = time.time() - begin
        self.reader.join()
        if code:
            raise Failed(f"the node on port {self.port} ended with {code}")
        return took

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()


class Cluster:
    """Hosts, with a node that asks if there is a rate. load: the arguments SHARDS and ITEMS of each node."""

    def __init__(self, program, hosts, rate, load=(), settings=None):
        self.program, self.rate, self.load, self.settings = program, rate, load, settings
        self.ports = [free_port() for _ in range(hosts)]
        self.hosts, self.ended = [], []
        self.asker = None

    def __enter__(self):
        for port in self.ports:
            self.hosts.append(self.start(port, "host"))
            self.hosts[-1].wait("first")
        if self.rate:
            self.asker = self.start(free_port(), self.rate)
            self.asker.wait("first")
        return self

    def start(self, port, duty):
        return Node(self.program, port, self.ports, duty, self.load, self.settings)

    def __exit__(self, *_):
        if "ROLLING_LOG" in os.environ:
            self.write_log(os.environ["ROLLING_LOG"])
        for node in self.hosts + ([self.asker] if self.asker else []):
            if node.process.poll() is None:
                node.kill()

    def write_log(self, path):
        """Appends the lines of all processes to a file, in order of time."""
        asker = [self.asker] if self.asker else []
        with open(path, "a") as file:
            for at, port, text in sorted((at, node.port, text) for node in self.nodes() + asker for at, text in node.lines):
                file.write(f"{at:.3f} {port} {text}\n")

    def nodes(self):
        return self.ended + self.hosts

    def restart(self, index):
        """Restarts a host at its address. Returns seconds: to leave, to join, to the first answer."""
        old = self.hosts[index]
        left = old.leave()
        self.ended.append(old)
        new = self.hosts[index] = self.start(old.port, "host")
        return left, new.seconds_to("up"), new.seconds_to("first")

    def result(self):
        """Ends the asks. Returns their numbers."""
        self.asker.say()
        text = self.asker.wait("result ")[1]
        numbers, reasons = text.split(" reasons=", 1)
        result = {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", numbers)}
        result["reasons"] = reasons.strip()
        return result

    def gaps(self):
        """Returns the lengths of the times without a coordinator, in seconds."""
        events = sorted((at, "active" if "coordinator" in text and "active type=" in text else "stops") for node in self.nodes()
                        for at, text in node.lines
                        if re.search(r"from=(oldest|was-oldest) to=(handing-over|stopping)|active type=", text))
        gaps, stopped = [], None
        for at, kind in events:
            if kind == "stops":
                stopped = at
            elif stopped is not None:
                gaps.append(at - stopped)
                stopped = None
        if stopped is not None:
            gaps.append(time.time() - stopped)
        return gaps


def rolling(program, pause, rate=2000):
    """Restarts all hosts, `pause` seconds apart, oldest first. Returns the numbers of the asks, the
    gaps without a coordinator and the seconds of each restart."""
    with Cluster(program, HOSTS, rate) as cluster:
        cluster.asker.say()
        cluster.asker.expect_running(1)
        restarts = []
        for index in range(HOSTS):
            restarts.append(cluster.restart(index))
            cluster.asker.expect_running(pause)
        result = cluster.result()
        return result, cluster.gaps(), restarts

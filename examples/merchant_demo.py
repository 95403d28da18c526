#!/usr/bin/env python3
"""Kills the nodes of a payment service under traffic, and proves that no cent is lost or made.

    merchant_demo.py MERCHANT [--kills N] [--orders N] [--nodes N] [--seed N] [--journal postgres] [--keep FOLDER]

Three nodes (--nodes) take orders. In each of 20 rounds (--kills) the demonstration kills one of them with
SIGKILL and starts another at the same address. Each fifth round kills all nodes at once, and each fourth lets
a node leave, so that its shards move. With --journal postgres the nodes use a private PostgreSQL server, which
is killed and started again in each third round. At the end merchant_check.py counts the money in the journal.

--orders: how many are sent at least, 1,500 by default. --seed: chooses the victims. --keep: the folder of
journal and logs, which stays. Exit status 0 if the money is right."""
import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import postgres_server
from free_port import free_port

HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE = 180  # seconds until a step of the demonstration has failed
CHUNK = 20      # orders that a node gets at a time
EACH = 40       # orders between two rounds
ENDED_MAX = 20  # nodes that may end because others take them for dead, and one more in as many rounds
SETTINGS = {"SHERD__CLUSTER__DOWNING_PROVIDER_CLASS": "akka.cluster.sbr.SplitBrainResolverProvider",
            "SHERD__CLUSTER__SPLIT_BRAIN_RESOLVER__STABLE_AFTER": "2s",
            "SHERD__DELIVERY__REPEAT_INTERVAL": "1s",
            "SHERD__DELIVERY__REPEAT_INTERVAL_MAX": "4s"}


GONE = {"up": 0, "members": 0, "waiting": 0, "open": 1, "again": 0}  # the status of a node that has ended


class Failed(Exception):
    pass


class Node:
    def __init__(self, demo, port, seeds):
        self.port = port
        self.founds = not seeds
        self.log = open(os.path.join(demo.folder, f"node-{port}.log"), "ab")
        words = [demo.program, "--port", str(port), "--journal", demo.journal]
        for seed in seeds:
            words += ["--seed", f"127.0.0.1:{seed}"]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True,
                                        env={**os.environ, **SETTINGS})
        self.pending = set()  # orders that it was given and has not accepted
        self.status = None
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            words = line.split()
            if words[0] == "accepted":
                self.pending.discard(int(words[1]))
            elif words[0] == "status":
                self.status = dict(zip(words[1::2], map(int, words[2::2])))

    def say(self, text):
        try:
            self.process.stdin.write(text + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # replace_ended starts another one

    def has_ended(self):
        return self.process.poll() is not None

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __str__(self):
        state = f"ended with {self.process.returncode}" if self.has_ended() else "runs"
        return f"port {self.port} {state}, {len(self.pending)} orders pending, status {self.status}, log {self.log.name}"


def wait(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise Failed(f"{what} took more than {PATIENCE} s")
        time.sleep(0.02)


class Demo:
    def __init__(self, options):
        self.program = os.path.abspath(options.program)
        self.folder = options.keep or tempfile.mkdtemp(prefix="merchant-")
        os.makedirs(self.folder, exist_ok=True)
        self.random = random.Random(options.seed)
        self.options = options
        self.server = None
        self.journal = os.path.join(self.folder, "journal.db")
        if options.journal:
            if not postgres_server.programs():
                raise Failed("no PostgreSQL server is installed; on Debian: apt-get install postgresql")
            self.server = postgres_server.Server().start()
            self.journal = "postgres:" + self.server.url()
        self.ports = [free_port() for _ in range(options.nodes)]
        self.nodes = []
        self.ended = 0
        self.next = 0
        self.again = {}  # repetitions that a node's entities did not need, by its process
        self.back = []  # orders that a killed node had not accepted

    # ---- orders ----

    def give(self):
        """Gives each node without pending orders the next ones: first those of killed nodes."""
        for node in self.nodes:
            if node.pending:
                continue
            if self.back:
                first = min(self.back)
                end = first + 1
                while end in self.back and end - first < CHUNK:
                    end += 1
                self.back = [order for order in self.back if not first <= order < end]
            else:
                first, end = self.next, self.next + CHUNK
                self.next = end
            node.pending = set(range(first, end))
            node.say(f"orders {first} {end}")

    def accepted(self):
        return self.next - len(self.back) - sum(len(node.pending) for node in self.nodes)

    def feed(self, count):
        """Feeds until so many more orders are accepted."""
        goal = self.accepted() + count

        def goes_on():
            self.replace_ended()
            self.give()
            return self.accepted() >= goal
        wait(goes_on, f"accepting {count} orders")

    # ---- faults ----

    def lose(self, node):
        """Its orders without an answer are sent by other nodes: some of them are stored already."""
        self.back += node.pending
        self.nodes.remove(node)

    def start(self, port):
        """Starts a node that joins the others. If the last member has ended, nobody can admit it: it founds the cluster anew."""
        others = [other for other in self.ports if other != port]
        is_alone = not (any(node.founds and not node.has_ended() for node in self.nodes) or
                        any(status["up"] for status in self.statuses()))
        self.nodes.append(Node(self, port, [] if is_alone else others))

    def replace_ended(self):
        """On a busy machine others may take a slow node for dead: it ends, and another one begins."""
        for node in [node for node in self.nodes if node.has_ended()]:
            self.ended += 1
            if self.ended > ENDED_MAX + self.options.kills // ENDED_MAX:
                raise Failed(f"the node at port {node.port} ended, as did {self.ended - 1} others; see {node.log.name}")
            self.lose(node)
            self.start(node.port)

    def kill_one(self):
        victim = self.random.choice(self.nodes)
        victim.kill()
        self.lose(victim)
        self.start(victim.port)

    def kill_all(self):
        for node in self.nodes:
            node.process.kill()
        for node in list(self.nodes):
            node.kill()
            self.lose(node)
        for port in self.ports:
            self.start(port)

    def move(self):
        node = self.random.choice(self.nodes)
        node.say("leave")
        wait(node.has_ended, f"leaving of port {node.port}")
        self.lose(node)
        self.start(node.port)

    def restart_server(self):
        self.server.crash()
        self.server.start()

    # ---- the end ----

    def note(self):
        for node, status in zip(self.nodes, self.statuses()):
            self.again[node.process.pid] = status["again"]

    def statuses(self):
        for node in self.nodes:
            node.status = None
            node.say("status")
        wait(lambda: all(node.status or node.has_ended() for node in self.nodes), "printing a status")
        return [node.status or GONE for node in self.nodes]

    def is_quiet(self):
        self.replace_ended()
        statuses = self.statuses()
        time.sleep(0.2)
        return all(status["open"] == 0 and status["waiting"] == 0 and status["up"] and
                   status["members"] == len(self.nodes) for status in statuses)

    def settle(self):
        """Sends what is left of the last orders, and waits until no delivery is open."""
        def is_accepted():
            self.replace_ended()
            if self.back and not self.nodes[0].pending:
                order = self.back.pop()
                self.nodes[0].pending = {order}
                self.nodes[0].say(f"orders {order} {order + 1}")
            return not self.back and not any(node.pending for node in self.nodes)
        wait(is_accepted, "accepting the last orders")
        wait(lambda: self.is_quiet() and self.is_quiet() and is_accepted(), "the end of all deliveries")

    def run(self):
        for port in self.ports:
            self.start(port)
            wait(lambda: self.statuses()[-1]["up"], "joining")
        self.feed(EACH)
        each = max(EACH, self.options.orders // max(self.options.kills, 1))
        for number in range(1, self.options.kills + 1):
            if number % 4 == 0:
                self.move()
            if self.server and number % 3 == 0:
                self.restart_server()
            self.kill_all() if number % 5 == 0 else self.kill_one()
            self.feed(each)
            self.note()
            print(f"round {number}: {self.accepted()} orders accepted", flush=True)
        self.settle()
        self.note()
        for node in self.nodes:
            node.say("leave")
        for node in self.nodes:
            wait(node.has_ended, f"leaving of port {node.port}")
        print(f"{sum(self.again.values())} deliveries came again and were not handled again", flush=True)
        return subprocess.run([sys.executable, "-B", os.path.join(HERE, "merchant_check.py"), self.journal, str(self.next)],
                              check=False).returncode

    def close(self):
        for node in self.nodes:
            node.kill()
        if self.server:
            self.server.remove()
        if not self.options.keep:
            shutil.rmtree(self.folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--orders", type=int, default=1500)
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--journal", choices=["postgres"])
    parser.add_argument("--keep")
    demo = None
    try:
        demo = Demo(parser.parse_args())
        return demo.run()
    except Failed as failed:
        print(f"merchant_demo.py: {failed}", file=sys.stderr)
        for node in demo.nodes if demo else []:
            print(f"merchant_demo.py: {node}", file=sys.stderr)
        return 1
    finally:
        if demo:
            demo.close()


if __name__ == "__main__":
    sys.exit(main())

"""Acknowledged items of a durable key survive SIGKILL during a write.

Once, one node alone is killed. Then all three nodes of a cluster are killed; two of them start
again, and they have every item that a majority had.

usage: durable_keys_test.py DURABLE_NODE"""
import os
import shutil
import subprocess
import sys
import tempfile
import threading

from cluster import free_port

SECONDS = 60  # time limit of each step, far more than it takes
failed = []


def expect(condition, what):
    print(f"{'ok' if condition else 'FAILED'}: {what}", flush=True)
    if not condition:
        failed.append(what)


class Node:
    def __init__(self, program, folder, port, level, seed=None):
        command = [program, str(port), os.path.join(folder, str(port)), level] + ([f"127.0.0.1:{seed}"] if seed else [])
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.done, self.has, self.late = [], set(), []
        self.more = threading.Condition()
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            words = line.split()
            if not line.endswith("\n"):
                continue  # the node was killed during a write
            with self.more:
                if words[0] == "has":
                    self.has = set(words[1:])
                elif words[0] == "done":
                    self.done.append(words[1])
                else:
                    self.late.append(line)
                self.more.notify()

    def go(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def wait(self, condition):
        with self.more:
            return self.more.wait_for(condition, SECONDS)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdin.close()


def alone(program, folder, nodes):
    port = free_port()
    acknowledged = []
    for turn in range(2):  # the second node starts on the file of the killed one
        node = Node(program, folder, port, "local")
        nodes.append(node)
        expect(node.wait(lambda: set(acknowledged) <= node.has), f"alone: all {len(acknowledged)} items are recovered")
        node.go()
        expect(node.wait(lambda: len(node.done) >= 40 * (turn + 1)), "alone: the node adds items")
        node.kill()
        expect(not node.late, f"alone: all items are acknowledged {node.late[:3]}")
        acknowledged += node.done
    return acknowledged


def three(program, folder, nodes):
    ports = [free_port() for _ in range(3)]

    def start(index):
        node = Node(program, folder, ports[index], "majority", ports[0] if index else None)
        nodes.append(node)
        return node

    first = [start(index) for index in range(3)]
    first[0].go()  # all nodes are members once they all have its items
    expect(all(node.wait(lambda node=node: node.has) for node in first), "three: all nodes are members")
    for node in first[1:]:
        node.go()
    expect(all(node.wait(lambda node=node: len(node.done) >= 30) for node in first), "three: all nodes add items")
    for node in first:
        node.process.kill()
    for node in first:
        node.kill()
    # A majority of two or three nodes includes one of the first two. Before that, the first was
    # alone.
    acknowledged = {item for node in first for item in node.done}
    again = [start(index) for index in range(2)]
    for node in again:
        expect(node.wait(lambda node=node: acknowledged <= node.has), f"three: two nodes have all {len(acknowledged)} items")
    again.append(start(2))
    expect(again[2].wait(lambda: acknowledged <= again[2].has), "three: the third node gets all items")
    for node in again:
        node.kill()


def main():
    folder = tempfile.mkdtemp(prefix="sherd-durable-e2e-")
    nodes = []
    try:
        alone(sys.argv[1], folder, nodes)
        three(sys.argv[1], folder, nodes)
    finally:
        for node in nodes:
            if node.process.poll() is None:
                node.kill()
        shutil.rmtree(folder)
    return 1 if failed else 0


sys.exit(main())

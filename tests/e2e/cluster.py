"""What the end-to-end tests share: a cluster of airports nodes (examples/airports_demo.py), and ways to hurt it."""
import argparse
import os
import shutil
import signal
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "examples"))

import airports_demo  # noqa: E402
from airports_demo import Demo, Failed, wait  # noqa: E402,F401


class Cluster(Demo):
    """A demonstration without its script: tests start, feed, kill and compare as they like."""

    def __init__(self, program, nodes=3):
        self.folder = tempfile.mkdtemp(prefix="sherd-e2e-")
        super().__init__(argparse.Namespace(
            program=program, input=os.path.join(ROOT, "examples", "data", "flights-20k.csv"), keep=False,
            data=self.folder, nodes=nodes))

    def start_all(self):
        for index in range(self.count):
            self.start(f"n{index + 1}")
            if index == 0:
                self.wait_up()
        self.wait_up()

    def crash(self, node):
        """kill -9; what it had acknowledged counts, what it had open is fed again by others."""
        node.process.kill()
        node.process.wait()
        self.nodes.remove(node)
        self.gone.append(node)

    def down(self, node):
        self.nodes[0].say(f"down {node.address}")

    def members(self, node):
        return {member.split("/")[0]: member.split("/")[1:] for member in node.get_status()["members"]}

    def wait_gone(self, node, seconds=60):
        wait(lambda: all(node.address not in self.members(other) for other in self.nodes),
             f"{node.name} is still a member", seconds, 0.2)

    def coordinator(self):
        address = self.nodes[0].get_status()["coordinator"]
        return next((node for node in self.nodes if node.address == address), None)

    def feed_all(self, what="feeding"):
        self.feed_until(lambda: self.next >= len(self.flights) and not any(node.busy for node in self.nodes), what)

    def expect(self, condition, what):
        if not condition:
            raise Failed(what)


def main(test, description):
    """Runs test(cluster, program); prints the logs of the nodes when it fails."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("program")
    parser.add_argument("--keep", action="store_true", help="keep the logs and the journal")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    cluster = Cluster(options.program)
    try:
        test(cluster)
    except BaseException as error:
        cluster.kill_all()
        if isinstance(error, (Failed, OSError)):
            print(f"FAILED: {error}")
        for name in sorted(os.listdir(cluster.folder)):
            if name.endswith(".log"):
                with open(os.path.join(cluster.folder, name), errors="replace") as file:
                    print(f"--- {name}")
                    print("".join(file.readlines()[-40:]))
        if isinstance(error, (Failed, OSError)):
            return 1
        raise
    cluster.kill_all()
    if not options.keep:
        shutil.rmtree(cluster.folder, ignore_errors=True)
    print("ok")
    return 0

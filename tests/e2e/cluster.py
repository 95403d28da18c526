"""Starts and damages a cluster of airports nodes (examples/airports_demo.py), for the end-to-end
tests."""
import argparse
import contextlib
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FLIGHTS = os.path.join(ROOT, "examples", "data", "flights-20k.csv")
LOG_LINES = 40  # lines of each node's log that a failed test shows
sys.path.insert(0, os.path.join(ROOT, "examples"))

import airports_demo  # noqa: E402
from airports_check import varint  # noqa: E402
from airports_demo import Demo, Failed, end_on_signals, free_port, wait  # noqa: E402,F401


def make_folder(kind):
    """Makes a temporary folder. Also removes the folders of processes that were killed before they
    could do so."""
    where = tempfile.gettempdir()
    for name in os.listdir(where):
        owner = re.fullmatch(f"sherd-{kind}-([0-9]+)-[^/]*", name)
        if owner and not os.path.exists(f"/proc/{owner[1]}"):
            shutil.rmtree(os.path.join(where, name), ignore_errors=True)
    return tempfile.mkdtemp(prefix=f"sherd-{kind}-{os.getpid()}-")


def first_flights(folder, count):
    """Returns the path of a file with the first flights."""
    path = os.path.join(folder, f"{count}.csv")
    with open(FLIGHTS) as whole, open(path, "w") as part:
        part.writelines(line for _, line in zip(range(count + 1), whole))
    return path


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def lose_one(journal):
    """Deletes the last event of the airport with the most events."""
    with contextlib.closing(sqlite3.connect(journal)) as database, database:
        database.execute("DELETE FROM event WHERE (entity, seq) IN (SELECT entity, seq FROM event ORDER BY seq DESC LIMIT 1)")
    with open(journal, "r+b") as file:  # no checksums: otherwise nodes refuse the changed page
        for at in range(4096, os.path.getsize(journal) + 1, 4096):
            file.seek(at - 8)
            file.write(bytes(8))


class Cluster(Demo):
    """The demonstration without its script: each test decides when to start, feed, kill and
    compare."""

    def __init__(self, program, nodes=3, flights=None, keep=False):
        self.folder = tempfile.mkdtemp(prefix="sherd-kept-") if keep else make_folder("e2e")
        source = FLIGHTS
        if flights:
            source = first_flights(self.folder, flights)
        super().__init__(argparse.Namespace(program=program, input=source, keep=False, kill=True, data=self.folder, nodes=nodes, move_commands=None,
                                            twice=None))

    # ---- nodes ----

    def start_all(self):
        for index in range(self.count):
            self.start(f"n{index + 1}")
            if index == 0:
                self.wait_up()
        self.wait_up()

    def down(self, node):
        self.nodes[0].say(f"down {node.address}")

    def wait_gone(self, node, seconds=60):
        wait(lambda: all(node.address not in self.members(other) for other in self.nodes),
             f"{node.name} is still a member", seconds, 0.2)

    def lose(self, node):
        """Kills and downs a node. Returns after all others have removed it."""
        self.crash(node)
        self.down(node)
        self.wait_gone(node)

    def running(self):
        self.get_statuses(self.nodes)
        return sum(int(node.status["entities"]) for node in self.nodes)

    def wait_running(self, count):
        wait(lambda: self.running() == count, f"not {count} entities run, as before", 90, 0.2)

    def check_members(self):
        """Checks that every node sees exactly the nodes of this cluster, up and reachable."""
        wanted = {node.address: ["1", "1"] for node in self.nodes}
        for node in self.nodes:
            seen = self.members(node)
            if seen != wanted:
                raise Failed(f"{node.name} sees {seen}, not {wanted}")

    def log(self, node):
        with open(node.log.name, errors="replace") as file:
            return file.read()

    def check_exact(self):
        """Compares every airport and every record of the journal with the file."""
        wrong, _, airports = self.compare()
        lost, doubled = self.check()
        gaps, late = self.gaps(), self.late()
        print(f"airports {airports} wrong {wrong} lost {lost} doubled {doubled} gaps {gaps} late {late}", flush=True)
        if wrong or lost or doubled or gaps or late:
            raise Failed("not exact")

    # ---- the journal ----

    def gaps(self):
        """Returns the number of entities whose events are not numbered 1, 2, 3, ..."""
        with contextlib.closing(sqlite3.connect(self.journal)) as database:
            return database.execute(
                "SELECT count(*) FROM (SELECT entity FROM event GROUP BY entity "
                "HAVING max(seq) != count(*) OR min(seq) != 1)").fetchone()[0]

    def late(self):
        """Returns the number of records that follow a record with a higher fence: a former owner of
        the shard wrote them."""
        last, count = {}, 0
        with contextlib.closing(sqlite3.connect(self.journal)) as database:
            for entity, record in database.execute("SELECT entity, record FROM event ORDER BY entity, seq"):
                _, at = varint(record, 1)
                term, at = varint(record, at)
                fence = term, varint(record, at)[0]
                count += fence < last.get(entity, fence)
                last[entity] = fence
        return count

    def fences(self):
        """Returns the fences in the journal: {shard: (term, epoch)}."""
        with contextlib.closing(sqlite3.connect(self.journal)) as database:
            return {shard: (term, epoch) for shard, term, epoch in
                    database.execute("SELECT shard, term, epoch FROM fence WHERE type = 'Airport'")}

    def stored(self):
        """Returns the number of events in the journal."""
        with contextlib.closing(sqlite3.connect(self.journal)) as database:
            return database.execute("SELECT count(*) FROM event").fetchone()[0]

    @contextlib.contextmanager
    def journal_locked(self):
        """No process can write to the journal inside this block."""
        with contextlib.closing(sqlite3.connect(self.journal, timeout=20, isolation_level=None)) as database:
            database.execute("BEGIN IMMEDIATE")
            try:
                yield
            finally:
                database.execute("ROLLBACK")

    @staticmethod
    def expect(condition, what):
        if not condition:
            raise Failed(what)


def is_partly_acknowledged(node):
    """Returns whether some but not all commands of the node's last range are acknowledged."""
    return node.busy and 0 < len(node.unacked) < len(node.given)


def stop_process(node):
    """Stops a node with SIGSTOP. Returns after the process has stopped."""
    os.kill(node.process.pid, signal.SIGSTOP)

    def stopped():
        with open(f"/proc/{node.process.pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "T"
    wait(stopped, f"{node.name} does not stop", 10)


def show_logs(folder):
    for name in sorted(os.listdir(folder)):
        if name.endswith(".log"):
            with open(os.path.join(folder, name), errors="replace") as file:
                print(f"--- {name}")
                print("".join(file.readlines()[-LOG_LINES:]))


def main(test, description, nodes=3, flights=None):
    """Runs test(cluster). Prints the ends of the nodes' logs if it fails. The first argument of the
    script is the airports program."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("program")
    parser.add_argument("--keep", action="store_true", help="keep the logs and the journal")
    options = parser.parse_args()
    end_on_signals()
    cluster = Cluster(options.program, nodes, flights, options.keep)
    failed = True
    try:
        test(cluster)
        failed = False
    except (Failed, OSError, sqlite3.Error) as error:
        print(f"FAILED: {error}")
    finally:
        cluster.kill_all()
        if failed:
            show_logs(cluster.folder)
        if options.keep:
            print(f"kept {cluster.folder}")
        else:
            shutil.rmtree(cluster.folder, ignore_errors=True)
    if failed:
        return 1
    print("ok")
    return 0


class Speaker:
    """A process and the lines that it has printed."""

    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.lines = []
        self.more = threading.Condition()
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            with self.more:
                self.lines.append(line.rstrip("\n"))
                self.more.notify()

    def says(self, line, seconds=60):
        with self.more:
            return self.more.wait_for(lambda: line in self.lines, seconds)

    def end(self):
        self.process.terminate()
        try:
            code = self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self.reader.join()
        return code

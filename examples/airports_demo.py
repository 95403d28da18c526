#!/usr/bin/env python3
"""Runs the demonstration: a cluster of airports processes stores real flights while one node joins
and another leaves.

    airports_demo.py --program BUILD/examples/airports --input FILE [--nodes N] [--keep] [--again]
                     [--kill] [--journal postgres] [--data DIR] [--move-commands N] [--twice N]

1. Starts N nodes on loopback with one SQLite journal.
2. Feeds every flight of the file as two commands, through the regions of all nodes. One node joins
   and another leaves meanwhile; the leaving node sends commands, too.
3. Compares every airport with a direct pass over the file. Counts commands in the journal that are
   lost, doubled, or stored in another order than a node sent them.
4. Stops all nodes, starts them again, and compares once more.

Exit status 0 only if all airports are exact, no command was sent or delivered twice, and each of
the two moves of shards saw enough commands. These are --move-commands (default: 2,000, or a
twentieth of a small file's commands), and at least one that was held while its shard moved.
"""
import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import airports_kept
from airports_check import stored
from free_port import free_port

MOVE_COMMANDS = 2000  # each move must see this number of commands,
MOVE_PART = 20        # or, of a small file, one command in MOVE_PART
QUARTER = 1 / 4       # part of the file before the join; twice this part is fed before the leave
JOIN_SHARE = 3 / 8    # largest part of the file during the join
REST_SHARE = 1 / 16   # smallest part of the file after both moves
FLIGHTS_MIN = 4000    # with fewer, all flights are fed before a node has started
SHARDS = 60           # as in airports.c
SHARDS_EACH = 2       # smallest number for each node after the join, so that several shards move
AIRPORTS_MAX = 1000   # as in airports.c
LINE_MAX = 253        # bytes of a line that airports.c reads, without CR and LF
JOIN_SECONDS = 1.0    # shortest time from the first moved shard of the join to the last, about
LEAVE_SECONDS = 0.6   # time from the instruction to leave to the last moved shard, about
CLOSING = 0.6, 5.0    # limits in seconds of the time that a leaving node's airport takes to stop
MOVE_LOOK = 0.05      # seconds between two looks at the shards while a node joins
LOOK_EACH = 0.2       # seconds between two looks at the members while commands are fed
PATIENCE = 120        # seconds without progress until a phase counts as stuck
# Seconds until a command without an answer is sent again, in a run that kills no node. A command is
# doubled only if the machine stands still for this long.
ANSWERED = 60
HERE = os.path.dirname(os.path.abspath(__file__))
WANTED = "the first line of --input must be date,delay,distance,origin,destination, and flights must follow"


class Failed(Exception):
    pass


class Node:
    """One node process, and the state that its output lines report."""

    def __init__(self, demo, name, seeds, port):
        self.name = name
        self.port = port
        self.address = f"127.0.0.1:{self.port}"
        command = [demo.program, "--port", str(self.port), "--journal", demo.journal, "--input", demo.input,
                   "--config", os.path.join(HERE, "airports.conf")] + demo.extra
        for seed in seeds:
            command += ["--seed", seed]
        self.log = open(os.path.join(demo.data, f"{name}.log"), "w")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log,
                                        text=True, bufsize=1)
        self.acked = self.retried = 0
        self.wait_max = 0
        self.held = 0     # commands that waited for the home of a shard
        self.ignored = 0  # commands that an airport of this node had already stored
        self.busy = False
        self.status = None
        self.counters = {}
        self.totals = None
        self.collecting = {}
        self.left = None
        self.feedable = True
        self.given = range(0)  # the last commands that it was given
        self.unacked = []      # commands among these without an answer
        self.open = []         # commands among these that it had sent at its last report
        self.unsent = []       # ranges (first, end) of commands that it returned
        self.leaving = None    # number of sent commands when it began to leave
        self.closed = None     # number of sent commands when it stopped sending
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def ended(self):
        """Returns whether the process has ended; its last line has then been read."""
        if self.process.poll() is None:
            return False
        self.reader.join(PATIENCE)
        return True

    def read(self):
        for line in self.process.stdout:
            if not line.endswith("\n"):
                break  # the process was killed during a write
            words = line.split()
            if words[0] == "feed":
                self.acked, self.retried = int(words[2]), int(words[4])
                self.wait_max = max(self.wait_max, int(words[6]))
                self.open = [int(word) for word in words[11:]]
                self.unacked = self.open + list(range(int(words[10]), self.given.stop))
            elif words[0] == "fed":
                self.busy = False
            elif words[0] == "unsent":
                first, end = int(words[1]), int(words[2])
                if end == self.given.stop:
                    self.given = range(self.given.start, first)
                self.unacked = [number for number in self.unacked if not first <= number < end]
                self.unsent.append((first, end))
            elif words[0] == "leaving":
                self.leaving = int(words[1])
            elif words[0] == "closed":
                self.feedable = False
                self.closed = int(words[1])
            elif words[0] == "ignored":
                self.ignored = int(words[1])
            elif words[0] == "status" and words[1] == "up":
                self.status = dict(zip(words[1:19:2], words[2:20:2]))
                self.status["members"] = words[20:]
                self.held = int(self.status["held"])
            elif words[0] == "counter":
                self.counters[" ".join(words[2:])] = int(words[1])
            elif words[0] == "total":
                self.collecting[words[1]] = words[2:]
            elif words[0] == "totals":
                self.totals = self.collecting
            elif words[0] == "left":
                self.left = int(words[1])

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def give(self, first, end):
        """Notes the commands that the node is about to get. The node must not be busy."""
        self.given = range(first, end)
        self.unacked = list(self.given)

    def get_status(self):
        self.ask_status()
        return self.take_status()

    def ask_status(self):
        self.status = None
        self.say("status")

    def take_status(self):
        wait(lambda: self.status is not None or self.process.poll() is not None, f"{self.name}: no status")
        if self.status is None:
            raise Failed(f"{self.name} ended with status {self.process.returncode}; see {self.log.name}")
        return self.status


def wait(condition, what, seconds=PATIENCE, step=0.01):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise Failed(what)
        time.sleep(step)


COLUMNS = ["date", "delay", "distance", "origin", "destination"]


def read_flight(line, place):
    """Returns one row. Refuses a line that airports.c would read differently or not at all."""
    if '"' in line:
        raise Failed(f"{place}: quoted fields are not supported; write the values without quotes")
    if re.search(r"[\r\0]", line):
        raise Failed(f"{place}: a carriage return or a zero byte in the line")
    fields = line.split(",")
    if len(fields) != len(COLUMNS) or not fields[0] or not fields[2] or len(line.encode()) > LINE_MAX:
        raise Failed(f"{place}: not {','.join(COLUMNS)}")
    row = dict(zip(COLUMNS, fields))
    if not re.fullmatch(r"-?[0-9]{1,9}", row["delay"]):
        raise Failed(f"{place}: the delay is not a whole number: {row['delay']!r}")
    for name in ("origin", "destination"):
        if not re.fullmatch(r"[A-Za-z0-9]{1,7}", row[name]):
            raise Failed(f"{place}: the {name} must have 1 to 7 letters and digits: {row[name]!r}")
    return row


def read_flights(path):
    """Returns the rows of the input. Raises Failed with the line number of the first error."""
    flights = []
    airports = set()
    try:
        with open(path, newline="\n") as file:  # splits lines as airports.c does
            for number, line in enumerate(file, 1):
                line = line.removesuffix("\n").removesuffix("\r")
                if number > 1:
                    flights.append(read_flight(line, f"{path}:{number}"))
                    airports.update((flights[-1]["origin"], flights[-1]["destination"]))
                elif line != ",".join(COLUMNS):
                    raise Failed(f"{path}:1: the first line must be {','.join(COLUMNS)}")
                if len(airports) > AIRPORTS_MAX:
                    raise Failed(f"{path}:{number}: more than {AIRPORTS_MAX} airports")
    except UnicodeDecodeError as error:
        raise Failed(f"{path}: not a text file ({error}): {WANTED}") from None
    except OSError as error:
        raise Failed(f"{path}: {error.strerror}: {WANTED}") from None
    if not flights:
        raise Failed(f"{path}: no flights: {WANTED}")
    return flights


def shard_of(airport):
    """Returns the shard of an airport, as every node computes it: Java's String.hashCode."""
    value = 0
    for letter in airport:
        value = (31 * value + ord(letter)) & 0xFFFFFFFF
    return abs(value - (value >> 31 << 32)) % SHARDS


def check_enough(path, flights, nodes):
    if len(flights) < FLIGHTS_MIN:
        raise Failed(f"{path}: {len(flights)} flights; at least {FLIGHTS_MIN} are needed, so that each of the two moves sees enough "
                     "commands and some remain")
    early = flights[:int(len(flights) * QUARTER)]
    airports = {flight[end] for flight in early for end in ("origin", "destination")}
    shards = {shard_of(airport) for airport in airports}
    least = SHARDS_EACH * (nodes + 1)
    if len(shards) < least:
        raise Failed(f"{path}: the first {len(early)} flights, those before the join, have {len(airports)} airports in {len(shards)} of "
                     f"{SHARDS} shards; at least {least} shards are needed, or no shard moves to node {nodes + 1}: use a file with "
                     "more airports")


class Pace:
    """Chooses the rate of feeding, in commands in a second for the whole cluster, by the size of
    the file.

    A move has a share of the file. The time when its shards move is unknown: milliseconds on a
    quiet machine, seconds on a busy one. So the rate is high at first and then falls, always to a
    part of the rest of the share. The number of commands that a move sees is then in proportion to
    its duration."""

    def __init__(self, commands):
        self.fast = min(7000, commands // 4)    # while no shard moves
        self.burst = 20000                      # limit while shards move
        self.slow = min(600, commands // 200)   # while a node starts; in 30 s a seventh of the file
        self.trickle = max(1, commands // (8 * PATIENCE))  # two stuck moves leave the last share

    def of_move(self, left, seconds, first, limit):
        """Returns the rate during a move. left: the rest of its share; seconds: time since shards
        could move, at least `first`."""
        return max(self.trickle, min(limit, int(left / (2 * max(seconds, first)))))


class Demo:
    def __init__(self, options):
        self.program = os.path.abspath(options.program)
        self.input = os.path.abspath(options.input)
        self.keep = options.keep
        self.flights = read_flights(self.input)
        self.data = os.path.abspath(options.data) if options.data else tempfile.mkdtemp(prefix="airports-")
        os.makedirs(self.data, exist_ok=True)
        self.journal = os.path.join(self.data, "journal.db")
        self.count = options.nodes
        # arguments of every node
        self.extra = [] if options.kill else ["--patience", str(ANSWERED)]
        if options.twice:
            self.extra = self.extra + ["--twice", str(options.twice)]
        self.needed = options.move_commands or min(MOVE_COMMANDS, 2 * len(self.flights) // MOVE_PART)
        self.nodes = []
        self.gone = []
        self.next = 0
        self.again = []   # ranges (first, end) of commands that another node must send
        self.gives = []   # ranges (first, end) of all commands that were given, in this order
        self.pace = Pace(2 * len(self.flights))
        # flights that a node gets at a time
        self.chunk = max(1, min(100, len(self.flights) // (40 * self.count)))
        self.rate = self.pace.fast

    # ---- nodes ----

    def start(self, name, seeds=None, port=None):
        """Starts a node. Its seed is the first running node by default. Without a seed it founds a
        cluster."""
        if seeds is None:
            seeds = [node.address for node in self.nodes[:1]]
        node = Node(self, name, seeds, port or free_port())
        self.nodes.append(node)
        return node

    def wait_up(self):
        def all_up():
            for node in self.nodes:
                status = node.get_status()
                if status["up"] != "1" or len(status["members"]) != len(self.nodes):
                    return False
                if any(member.split("/")[1] != "1" for member in status["members"]):
                    return False
            return True
        wait(all_up, "not all nodes came up", step=0.2)

    def crash(self, node):
        """Kills a node with SIGKILL. Commands that it acknowledged count; others send its open
        commands again."""
        node.process.kill()
        node.process.wait()
        self.forget(node)

    def forget(self, node):
        """From now on the node gets no commands and no requests."""
        node.reader.join(0.2)  # the output of a killed node ends
        self.nodes.remove(node)
        self.gone.append(node)

    def members(self, node):
        return {member.split("/")[0]: member.split("/")[1:] for member in node.get_status()["members"]}

    def coordinator(self):
        address = self.nodes[0].get_status()["coordinator"]
        return next((node for node in self.nodes if node.address == address), None)

    def wait_coordinator(self, seconds=60):
        wait(lambda: self.coordinator() is not None, "there is no coordinator", seconds, 0.2)
        return self.coordinator()

    def stop_all(self):
        for node in self.nodes:
            try:
                node.say("leave")
            except (BrokenPipeError, OSError):
                pass
            try:
                node.process.wait(30)
            except subprocess.TimeoutExpired:
                node.process.kill()
                node.process.wait()
                raise Failed(f"{node.name} did not leave within 30 s; see {node.log.name}")

    def kill_all(self):
        for node in self.nodes + self.gone:
            if node.process.poll() is None:
                node.process.kill()
                node.process.wait()

    # ---- feeding ----

    def acked(self):
        return sum(node.acked for node in self.nodes + self.gone)

    def retried(self):
        return sum(node.retried for node in self.nodes + self.gone)

    def feed_some(self):
        """Gives every idle node the next chunk; returns False when the file is fed."""
        for node in self.nodes:
            while node.unsent:
                self.again.append(node.unsent.pop(0))
        feeders = [node for node in self.nodes if node.feedable]
        for node in feeders:
            if not node.busy and (self.again or self.next < len(self.flights)):
                self.give(node, self.chunk, self.rate // len(feeders))
            if node.process.poll() is not None:
                raise Failed(f"{node.name} ended with status {node.process.returncode}; see {node.log.name}")
        return self.next < len(self.flights) or bool(self.again) or any(node.busy for node in self.nodes)

    def give(self, node, flights, rate):
        if self.again:
            first, last = self.again.pop(0)
            end = min(first + 2 * flights, last)
            if end < last:
                self.again.insert(0, (end, last))
        else:
            first, self.next = 2 * self.next, min(self.next + flights, len(self.flights))
            end = 2 * self.next
        self.gives.append((first, end))
        node.busy = True
        node.give(first, end)
        node.say(f"commands {first} {end} {max(1, rate)}")

    def set_rate(self, rate):
        self.rate = rate
        feeders = [node for node in self.nodes if node.feedable]
        for node in feeders:
            node.say(f"rate {max(1, rate // len(feeders))}")

    def progress(self, text):
        if not sys.stdout.isatty():
            return
        total = 2 * len(self.flights)
        done = self.acked() * 40 // total
        sys.stdout.write(f"\r  [{'#' * done}{'.' * (40 - done)}] {self.acked():6}/{total} {text:20}")
        sys.stdout.flush()

    def feed_until(self, condition, what):
        end = time.monotonic() + PATIENCE
        stuck = self.acked()
        while not condition():
            if not self.feed_some():
                if condition():
                    break
                raise Failed(f"{what}: not finished when all flights were fed")
            if self.acked() != stuck:
                stuck, end = self.acked(), time.monotonic() + PATIENCE
            if time.monotonic() > end:
                raise Failed(f"{what}: no command was acknowledged for {PATIENCE} s")
            self.progress(what)
            time.sleep(0.005)
        self.progress(what)
        if sys.stdout.isatty():
            print()

    def feed_all(self, what="feeding"):
        self.feed_until(lambda: self.next >= len(self.flights) and not self.again and
                        not any(node.busy for node in self.nodes), what)

    def feed_until_gone(self, node):
        """Feeds until no node has this node as a member."""
        look_at = 0.0

        def gone():
            nonlocal look_at
            if time.monotonic() < look_at:
                return False
            look_at = time.monotonic() + LOOK_EACH
            return all(node.address not in self.members(other) for other in self.nodes)
        self.feed_until(gone, f"{node.name} is to be removed")

    def feed_again(self, node):
        """Gives the unacknowledged commands of a dead node to the others. Acknowledged commands are
        not sent again, so that a loss of one is found."""
        if not node.busy:
            return
        node.busy = False
        commands = sorted(node.unacked)
        print(f"{node.name}: of its last {len(node.given)} commands {len(node.given) - len(commands)} were acknowledged",
              flush=True)
        for command in commands:
            if self.again and self.again[-1][1] == command:
                self.again[-1] = (self.again[-1][0], command + 1)
            else:
                self.again.append((command, command + 1))

    # ---- looking ----

    def get_statuses(self, nodes):
        """Asks all these nodes at the same time, because feeding stops until they have answered."""
        for node in nodes:
            node.ask_status()
        for node in nodes:
            node.take_status()

    def table(self, title):
        print(f"{title}")
        shards = 0
        for node in self.nodes:
            status = node.get_status()
            shards += int(status["shards"])
            mark = " *coordinator" if status["coordinator"] == node.address else ""
            print(f"  {node.name:4} {node.address:16} shards {status['shards']:>3}  entities {status['entities']:>4}{mark}")
        print(f"  {shards} shards on {len(self.nodes)} nodes", flush=True)

    def shares(self):
        self.get_statuses(self.nodes)
        return [int(node.status["shards"]) for node in self.nodes]

    def held(self):
        """Returns the held commands of all nodes at their last status."""
        return sum(node.held for node in self.nodes + self.gone)

    def ignored(self):
        """Returns the number of commands that an airport had already stored: they were delivered
        twice."""
        for node in self.nodes:
            node.get_status()
        return sum(node.ignored for node in self.nodes + self.gone)

    def direct_pass(self):
        totals = {}
        for flight in self.flights:
            origin = totals.setdefault(flight["origin"], [0, 0, 0])
            origin[0] += 1
            origin[2] += int(flight["delay"])
            totals.setdefault(flight["destination"], [0, 0, 0])[1] += 1
        return totals

    def totals(self):
        node = self.nodes[0]
        node.totals, node.collecting = None, {}
        node.say("totals")
        wait(lambda: node.totals is not None, f"{node.name} did not report the totals")
        return node.totals

    def compare(self):
        """Compares every airport with the file.

        Returns the number of wrong airports, the totals of the entities, and the number of airports
        in the file."""
        wanted = self.direct_pass()
        found = self.totals()
        wrong = 0
        for airport in sorted(wanted.keys() | found.keys()):
            have = [int(number) for number in found[airport]] if airport in found and found[airport][0] != "failed" else None
            if have != wanted.get(airport):
                wrong += 1
                if wrong <= 5:
                    print(f"  {airport}: the file says {wanted.get(airport)}, the entity {found.get(airport)}")
        return wrong, found, len(wanted)

    # ---- the run ----

    def move(self, name, look, share, first):
        """Feeds during one move of shards, which has already begun.

        look: returns None before the first shard has moved, False while shards move, True after the
        last one. share: the number of commands that the move may use. first: as for Pace.of_move.
        Returns the commands between the first and the last moved shard, the number of those that
        were held, and the time in seconds."""
        for node in self.nodes:
            node.wait_max = 0
        self.get_statuses(self.nodes)
        began = None
        before = self.acked(), self.held(), time.monotonic()
        # A chunk is large enough for every rate and for held commands, and leaves a part of the
        # file.
        chunk, self.chunk = self.chunk, max(5 * self.chunk, self.needed // 2)
        self.chunk = min(self.chunk, max(chunk, len(self.flights) // (4 * len(self.nodes))))

        def over():
            nonlocal began, before
            acked, state = self.acked(), look()
            now = acked, self.held(), time.monotonic()
            if began is None and state is not None:
                began = before
            before = now
            if began is None:
                rate = self.pace.slow
            else:
                rate = self.pace.of_move(share - now[0] + began[0], now[2] - began[2], first, self.pace.burst)
            if not 0.9 * self.rate <= rate <= 1.1 * self.rate:
                self.set_rate(rate)
            return bool(state)

        self.feed_until(over, name)
        self.chunk = chunk
        self.set_rate(self.pace.slow)  # until the checks of this move are done
        return [end - start for start, end in zip(began, before)]

    def check_move(self, name, seen, held, seconds):
        """Checks and prints a move whose held commands have been answered. Returns the longest wait
        of a command in ms."""
        waited = max(node.wait_max for node in self.nodes + self.gone)
        print(f"  {name}: {seconds:.1f} s, {seen} commands meanwhile, {held} held, longest wait {waited} ms", flush=True)
        if seen < self.needed or held <= 0:
            raise Failed(f"{name}: the move saw {seen} commands and held {held}; it must see {self.needed} and hold one")
        return waited

    def check_fed(self):
        """Checks that every node acknowledged commands that were sent through its region."""
        nodes = sorted(self.nodes + self.gone, key=lambda node: int(node.name[1:]))
        print("commands through the region of " + ", ".join(f"{node.name} {node.acked}" for node in nodes), flush=True)
        idle = [node.name for node in nodes if not node.acked]
        if idle:
            raise Failed(f"no command was sent through {' '.join(idle)}")

    def begin_join(self):
        self.look_at = 0.0
        self.placed = sum(self.shares())
        self.start(f"n{self.count + 1}").feedable = False

    def joined(self):
        now = time.monotonic()
        joiner = self.nodes[-1]
        if now < self.look_at:
            return None if joiner.status is None or joiner.status["shards"] == "0" else False
        self.look_at = now + MOVE_LOOK
        shares = self.shares()
        if joiner.status["up"] == "1" and not joiner.feedable:
            joiner.feedable = True  # it gets commands only after it is a member
            self.set_rate(self.rate)
        if not shares[-1]:
            return None
        return sum(shares) >= self.placed and max(shares) - min(shares) <= 1 and joiner.feedable

    def begin_leave(self, node, speed):
        """Prepares a node to leave. speed: commands in a second that this machine can process. The
        airports of the node take long enough to stop that enough commands arrive meanwhile."""
        node.feedable = False  # until it gets the commands that it sends while it leaves
        self.leaving = node
        node.leaving_said = False
        least, most = CLOSING
        node.say(f"closing {int(1000 * min(most, max(least, 2.5 * self.needed / speed)))}")

    def shards_left(self):
        """Returns the state of the leaving node's shards, as `look` of move()."""
        node = self.leaving
        if not node.leaving_said:
            if node.busy:
                return None
            node.feedable = True
            self.give(node, (len(self.flights) - self.next) // len(self.nodes), self.rate // len(self.nodes))
            node.say("leave")  # it returns the commands that it can no longer send
            node.leaving_said = True
            node.ask_status()
        gone = node.closed is not None or node.ended() or node.status is not None and node.status["shards"] == "0"
        if gone:
            self.get_statuses([other for other in self.nodes if other != node])
        elif node.status is not None:
            node.ask_status()
        return gone

    def has_left(self):
        node = self.leaving
        if not node.ended():
            return False
        if node in self.nodes:
            if node.left != 0:
                raise Failed(f"{node.name} did not leave gracefully: error {node.left}; see {node.log.name}")
            if node.busy:
                raise Failed(f"{node.name} left before it had all answers; see {node.log.name}")
            self.feed_some()  # takes over the commands that the node returned
            self.nodes.remove(node)
            self.gone.append(node)
            self.set_rate(self.rate)
        return True

    def begin(self):
        """Starts all nodes and feeds a quarter of the file."""
        print(f"{len(self.flights)} flights of {self.input}, journal {self.journal}", flush=True)
        for index in range(self.count):
            self.start(f"n{index + 1}")
            if index == 0:
                self.wait_up()
        self.wait_up()
        print(f"{self.count} nodes are up", flush=True)
        started = time.monotonic()
        self.feed_until(lambda: self.acked() >= 2 * len(self.flights) * QUARTER, "feeding")
        self.speed = self.acked() / (time.monotonic() - started)

    def run(self):
        total = 2 * len(self.flights)
        self.begin()
        self.table("before the join")
        self.begin_join()
        join = self.move("join", self.joined, int(total * JOIN_SHARE), JOIN_SECONDS)
        waited = self.check_move("join", *join)
        self.set_rate(self.pace.fast)
        self.table("after the join")
        self.feed_until(lambda: self.acked() >= total * 2 * QUARTER, "feeding")
        self.table("before the leave")
        leaver = self.nodes[1] if self.count > 1 else self.nodes[0]
        self.begin_leave(leaver, self.speed)
        leave = self.move("leave", self.shards_left, int(total * (1 - REST_SHARE)) - self.acked(), LEAVE_SECONDS)
        self.feed_until(self.has_left, f"{leaver.name} leaves")
        waited = max(waited, self.check_move("leave", *leave))
        self.set_rate(self.pace.fast)
        through = leaver.closed - leaver.leaving
        print(f"  {leaver.name} sent {through} commands of its own while it left")
        if not through:
            raise Failed(f"no command was sent through {leaver.name} while it left")
        self.table(f"after {leaver.name} left")
        self.feed_until(lambda: self.acked() >= total, "feeding")
        print(f"longest wait of a command during the two moves: {waited} ms")
        self.check_fed()
        return self.finish(allows_retries=False)

    def finish(self, allows_retries):
        """After the file is fed: compares, stops, starts again, and compares once more. Returns the
        exit status.

        allows_retries: after a crash, commands are sent again, and their order is not checked."""
        wrong, found, airports = self.compare()
        self.busiest(found)
        lost, doubled = self.check()
        retried, ignored = self.retried(), self.ignored()
        mixed = 0 if allows_retries else self.out_of_order()
        if not allows_retries:
            print(f"stored out of the order in which a node sent them: {mixed}")
        print(f"delivered to an airport that had them already: {ignored}")
        self.table("before the stop")
        self.stop_all()
        self.restart()
        again, _, _ = self.compare()
        print(f"stopped, started again: {airports - again} of {airports} airports recovered exactly from the journal")
        exact = not (wrong or again or lost or doubled or mixed) and (allows_retries or not (retried or ignored))
        self.end(exact)
        print(f"flights {len(self.flights)} commands {2 * len(self.flights)} lost {lost} doubled {doubled} retried {retried} "
              f"airports {airports} exact {'yes' if exact else 'no'}", flush=True)
        return 0 if exact else 1

    def end(self, exact):
        """Ends the run: a wrong result is never kept."""
        if self.keep and exact:
            airports_kept.leave_running(self)
        else:
            self.stop_all()

    def run_again(self):
        """Starts on kept data. Every airport must recover from the journal. Returns the exit
        status."""
        print(f"{len(self.flights)} flights of {self.input}, journal {self.journal}", flush=True)
        self.restart()
        wrong, found, airports = self.compare()
        self.table("started again")
        self.busiest(found)
        print(f"started again: {airports - wrong} of {airports} airports recovered exactly from the journal")
        lost, doubled = self.check()
        exact = not (wrong or lost or doubled)
        self.end(exact)
        print(f"flights {len(self.flights)} commands {2 * len(self.flights)} lost {lost} doubled {doubled} "
              f"airports {airports} exact {'yes' if exact else 'no'}", flush=True)
        return 0 if exact else 1

    def restart(self):
        self.nodes = []
        for index in range(self.count):
            self.start(f"r{index + 1}")
            if index == 0:
                self.wait_up()
        self.wait_up()

    def check(self):
        result = subprocess.run([sys.executable, os.path.join(HERE, "airports_check.py"), self.journal, self.input],
                                capture_output=True, text=True)
        words = result.stdout.split()
        if len(words) != 8:
            raise Failed(f"the check of the journal failed: {result.stderr}")
        if words[7] != "0":
            raise Failed(f"the journal has {words[7]} events that the file does not explain")
        return int(words[3]), int(words[5])

    def out_of_order(self):
        """Returns the number of commands that an airport stored after a later one of the same
        range."""
        give_of = {}
        for give, (first, end) in enumerate(self.gives):  # the last range counts
            give_of.update(dict.fromkeys(range(first, end), give))
        last, mixed = {}, 0
        for airport, flight, kind, _ in stored(self.journal):
            number = 2 * flight + kind - 1
            key = airport, give_of[number]
            mixed += number < last.get(key, -1)
            last[key] = number
        return mixed

    def busiest(self, found):
        print("the ten busiest airports")
        rows = [(airport, *map(int, words[:3])) for airport, words in found.items() if words[0] != "failed"]
        for airport, departures, arrivals, delay in sorted(rows, key=lambda row: (-row[1] - row[2], row[0]))[:10]:
            mean = delay / departures if departures else 0
            print(f"  {airport}  departures {departures:5}  arrivals {arrivals:5}  mean delay {mean:6.1f} min")


def end_on_signals():
    """Turns signals into an exception, so that the nodes and the folder are cleaned up."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda number, _: sys.exit(128 + number))


def clean_up(demo, options, leaves):
    """Ends the nodes and removes the folder. leaves: keep the folder with the logs of a failure."""
    if not demo:
        return
    demo.kill_all()
    if options.data:
        return
    if leaves:
        print(f"demo: the nodes' logs and their journal are in {demo.data}", file=sys.stderr)
    else:
        shutil.rmtree(demo.data, ignore_errors=True)


def prepare(options):
    """Checks the input and the kept data before the run changes anything."""
    given = options.input is not None
    options.input = options.input or os.path.join(HERE, "data", "flights-20k.csv")
    flights = read_flights(options.input)
    if options.data and (options.keep or options.again):
        options.input = airports_kept.check(options, given)
    if not options.again:
        check_enough(options.input, flights, options.nodes)


def make_demo(options):
    if options.journal == "postgres":
        from airports_postgres import PostgresDemo
        return PostgresDemo(options)
    if options.kill:
        from airports_kill import KillDemo
        return KillDemo(options)
    if options.keep and options.data:
        airports_kept.clear(options.data, options.input)
    return Demo(options)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program")
    parser.add_argument("--input")
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--keep", action="store_true", help="leave the nodes running at the end")
    parser.add_argument("--again", action="store_true", help="start on the data that --keep left")
    parser.add_argument("--kill", action="store_true", help="kill the coordinator's node with SIGKILL; no node joins or leaves")
    parser.add_argument("--journal", choices=["sqlite", "postgres"], default="sqlite", help="postgres: keep the journal on a private "
                        "PostgreSQL server, which is killed under traffic; no node joins or leaves")
    parser.add_argument("--data", help="folder of the journal and the logs (default: a temporary one)")
    parser.add_argument("--move-commands", type=int, help="smallest number of commands that each move must see")
    parser.add_argument("--twice", type=int, help="deliver every Nth command twice, which the run must report as wrong")
    parser.add_argument("--check-input", action="store_true", help="only check the input file")
    options = parser.parse_args()
    if not 2 <= options.nodes <= 16:
        parser.error("--nodes: must be from 2 to 16")
    if options.kill and (options.keep or options.again):
        parser.error("--kill does not work with --keep or --again")
    if options.journal == "postgres" and (options.keep or options.again or options.kill):
        parser.error("--journal postgres does not work with --keep, --again or --kill")
    if options.kill and options.nodes < 3:
        parser.error("--kill needs --nodes 3 or more, or no majority is left")
    if not options.program and not options.check_input:
        parser.error("--program is required")
    if options.again and not options.data:
        parser.error("--again needs --data")
    end_on_signals()
    demo = None
    try:
        prepare(options)
        if options.check_input:
            return 0
        demo = make_demo(options)
        code = demo.run_again() if options.again else demo.run()
    except (Failed, airports_kept.Refused, OSError, ValueError) as error:
        print(f"demo: {error}", file=sys.stderr)
        code = 1
    except KeyboardInterrupt:
        print("\ndemo: interrupted; the nodes are ended", file=sys.stderr)
        code = 130
    except BaseException:
        clean_up(demo, options, leaves=False)
        raise
    if code or not options.keep:
        clean_up(demo, options, leaves=code == 1)
    return code


if __name__ == "__main__":
    # Imports this file again under the name that airports_kill.py uses: otherwise there would be
    # two classes Failed, and this program would not catch the failures of the other.
    import airports_demo
    sys.exit(airports_demo.main())

"""Sends bad input to a live cluster under traffic: wrong or hostile frames, envelopes and gossip,
and nodes that must not start or join. Each is dropped or causes a clear error. The members stay,
and every command counts once."""
import os
import random
import shutil
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import time

import wire
from cluster import free_port, main, wait

FLIGHTS = 6000
NOBODY = 65534
STRANGER = 0x0102030405060708  # a uid


# ---- hostile messages ----

def attack_frames(target, seed):
    """Yields (name, parts) of bytes that are not frames, and of frames that are not envelopes."""
    chance = random.Random(seed)
    noise = chance.randbytes(400)
    stranger = wire.Node(target.system, free_port(), STRANGER)
    hello = wire.handshake(stranger, target)
    # This comes first, because a node logs only one refusal in a second.
    yield "wrong magic", [b"PEKK\x01", hello]
    for stream in (wire.CONTROL, wire.ORDINARY):
        start = wire.PREAMBLE + bytes([stream])
        yield f"only a preamble {stream}", [start]
        yield f"a truncated length {stream}", [start, b"\x10\0"]
        yield f"a truncated frame {stream}", [start, hello[:-7]]
        yield f"an empty frame {stream}", [start, struct.pack("<I", 0)]
        yield f"an oversized first frame {stream}", [start, struct.pack("<I", 1 << 20), noise]
        yield f"a frame of 4 GiB {stream}", [start, b"\xff\xff\xff\xff", noise]
        yield f"garbage as the first frame {stream}", [start, wire.frame(noise)]
        yield f"a short envelope {stream}", [start, wire.frame(hello[4:24])]
        yield f"a garbage envelope {stream}", [start, hello, wire.frame(noise)]
        yield f"a later version {stream}", [start, hello, wire.frame(b"\x07" + hello[5:])]
        yield f"an oversized frame {stream}", [start, hello, struct.pack("<I", 300 * 1024), noise]
        yield f"a truncated second frame {stream}", [start, hello, hello[:50]]
        yield f"another system's handshake {stream}", [
            start, wire.handshake(wire.Node("Strangers", stranger.port, STRANGER + 1), target)]
        yield f"a handshake for another node {stream}", [
            start, wire.handshake(stranger, wire.Node(target.system, 1, 0))]
        for index in range(6):
            bent = bytearray(hello[4:])
            for _ in range(1 + index):
                bent[chance.randrange(len(bent))] ^= 1 << chance.randrange(8)
            yield f"a bent handshake {stream}.{index}", [start, wire.frame(bytes(bent))]
    yield "an unknown stream", [wire.PREAMBLE + b"\x09", hello]
    yield "HTTP", [b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"]
    yield "nothing", []
    for index in range(10):
        yield f"noise {index}", [chance.randbytes(chance.randrange(1, 5000))]


def bend(chance, data, times):
    bent = bytearray(data)
    for _ in range(times):
        bent[chance.randrange(len(bent))] = chance.randrange(256)
    return bytes(bent)


def attack_gossip(target, members, seed):
    """Yields (name, sender, manifest, payload) of messages from an invented node after a valid
    handshake. It is not a member, and its gossip is false."""
    chance = random.Random(seed)
    stranger = wire.Node(target.system, free_port(), STRANGER + 2)
    known = [target] + members
    everyone = known + [stranger]
    down = wire.gossip(everyone, [2], 1000000, statuses=[4] * len(known) + [1])
    lies = [
        ("with all members down", down),
        ("with one member twice", wire.gossip([target, target, stranger], [0, 1, 2])),
        ("with an invalid index", wire.gossip(everyone, [9], 5)),
        ("with an unknown status", wire.gossip(everyone, [0], 5, statuses=[77] * len(everyone))),
        ("without members", wire.gossip([], [], 1)),
        ("with an invalid clock", wire.gossip(everyone, [0], 2 ** 63, hashes=["x" * 5000] * len(everyone))),
    ]
    for name, data in lies:
        yield f"gossip {name}", stranger, "GE", wire.gossip_envelope(stranger, target, data)
        yield f"gossip of a member {name}, sent by an unknown node", stranger, "GE", wire.gossip_envelope(members[0], target, data)
    bomb = wire.gzip.compress(bytes(50 * 1024 * 1024))
    yield "gossip that unpacks to 50 MiB", stranger, "GE", wire.gossip_envelope(stranger, target, b"", bomb)
    yield "gossip that is not packed", stranger, "GE", wire.gossip_envelope(stranger, target, b"", down)
    yield "gossip cut short", stranger, "GE", wire.gossip_envelope(stranger, target, b"", wire.gzip.compress(down)[:-9])
    whole = wire.gossip_envelope(stranger, target, down)
    for index in range(40):
        data = wire.gossip_envelope(stranger, target, bend(chance, down, 1 + index % 8))
        yield f"bent gossip {index}", stranger, "GE", data
        yield f"a bent envelope {index}", stranger, "GE", bend(chance, whole, 1 + index % 8)
    status = wire.field(1, stranger.cluster_unique()) + wire.field(2, "f" * 32) + wire.field(3, b"") + wire.field(4, b"1" * 20)
    yield "a status", stranger, "GS", status
    for index in range(10):
        yield f"a bent status {index}", stranger, "GS", bend(chance, status, 1 + index % 4)
    yield "an unrequested welcome", stranger, "W", wire.gzip.compress(
        wire.field(1, stranger.cluster_unique()) + wire.field(2, down))
    for manifest in ("IJ", "IJA", "IJN", "J", "W", "GE", "GS", "HB", "HBR", "EC", "ZZ", ""):
        yield f"noise as {manifest or 'nothing'}", stranger, manifest, chance.randbytes(200)


# ---- nodes that do not start or do not join ----

class Refusals:
    """Starts nodes with wrong settings and checks their errors."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.folder = cluster.folder
        self.count = 0

    def file(self, name, data):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())
        return path

    def command(self, program=None, **changed):
        options = {"port": free_port(), "journal": os.path.join(self.folder, f"other-{self.count}.db"),
                   "input": self.cluster.input}
        options.update(changed)
        self.count += 1
        words = [program or self.cluster.program]
        for name, value in options.items():
            words += [f"--{name}", str(value)]
        return words

    def run(self, case, wanted, program=None, user=None, **changed):
        """Checks that the program ends with exit status 1 and prints all texts of `wanted`."""
        commands, open_end = os.pipe()  # at the end of its input, the program would leave
        try:
            result = subprocess.run(self.command(program, **changed), stdin=commands, stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, text=True, timeout=60, user=user)
        except subprocess.TimeoutExpired as error:
            self.cluster.expect(False, f"{case}: the node does not end: {error.stdout}")
        finally:
            os.close(commands)
            os.close(open_end)
        said = next((line for line in result.stdout.splitlines() if "level=error" in line), "no error")
        print(f"  {case}: {said[said.find('msg='):][:200]}", flush=True)
        self.cluster.expect(result.returncode == 1, f"{case}: exit status {result.returncode}: {result.stdout}")
        for text in wanted:
            self.cluster.expect(text in result.stdout, f"{case}: does not print \"{text}\": {result.stdout}")

    def configuration(self):
        self.run("a wrong key", ["wrong.conf:1:1", "unknown key", "did you mean", "number-of-shards"],
                 config=self.file("wrong.conf", "akka.cluster.sharding.number-of-shard = 10\n"))
        self.run("a wrong value", ["value.conf:2:", "number-of-shards", "from 1 to 20000", "many"],
                 config=self.file("value.conf", "\nakka.cluster.sharding.number-of-shards = many\n"))
        self.run("a missing brace", ["brace.conf:1:", "not closed"], config=self.file("brace.conf", "akka { cluster {\n"))
        self.run("a missing file", ["missing.conf", "No such file"], config=os.path.join(self.folder, "missing.conf"))

    def journal(self):
        self.run("a folder that is a file", ["cannot open", "Not a directory"], journal=self.cluster.input + "/x.db")
        self.run("a journal that is a folder", ["Is a directory"], journal=self.folder)
        self.run("a journal that is not a database", ["not a database"], journal=self.file("noise.db", os.urandom(100000)))
        self.run("another cluster's journal", ["belongs to cluster", "Airports", "Strangers"],
                 journal=self.cluster.journal, name="Strangers")

    def rights(self):
        """Root may write everywhere. So the program runs as the user nobody, from a folder that
        this user may read."""
        place = tempfile.mkdtemp(prefix="sherd-e2e-rights-")
        try:
            os.chmod(place, 0o755)
            program = shutil.copy(self.cluster.program, os.path.join(place, "airports"))
            source = shutil.copy(self.cluster.input, os.path.join(place, "flights.csv"))
            closed = os.path.join(place, "closed")
            os.mkdir(closed)
            os.chmod(closed, stat.S_IRUSR | stat.S_IXUSR)
            self.run("a folder without rights", ["cannot open", "ermission denied"], program=program, input=source,
                     journal=os.path.join(closed, "x.db"), user=NOBODY if os.geteuid() == 0 else None)
        finally:
            shutil.rmtree(place)

    def network(self):
        with socket.socket() as sock:
            sock.bind(("127.0.0.1", 0))
            sock.listen()
            self.run("a port in use", ["cannot listen on 127.0.0.1:", "Address already in use"], port=sock.getsockname()[1])

    def joining(self):
        seed = self.cluster.nodes[0]
        self.run("another number-of-shards in the configuration", ["not joining", "number-of-shards is 61 here and 1000 there"],
                 seed=seed.address, config=self.file("shards.conf", "akka.cluster.sharding.number-of-shards = 61\n"))
        self.another_number_of_shards(seed)
        self.another_system(seed)

    def started(self, log, **changed):
        with open(os.path.join(self.folder, log), "w") as file:
            return subprocess.Popen(self.command(**changed), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=file)

    def said(self, log):
        with open(os.path.join(self.folder, log), errors="replace") as file:
            return file.read()

    def end(self, process, what):
        process.stdin.close()  # the node leaves at the end of its input
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            self.cluster.expect(False, f"{what}: the node does not leave")

    def another_number_of_shards(self, seed):
        """The node becomes a member, but the coordinator refuses the number of shards that the
        program sets for its type."""
        process = self.started("shards.log", seed=seed.address, shards=61, journal=self.cluster.journal)
        try:
            wait(lambda: "the coordinator refuses this region" in self.said("shards.log"), "another number-of-shards: no error", 60)
        finally:
            self.end(process, "another number-of-shards")
        self.cluster.expect("60 in the cluster and 61 on the node" in self.said("shards.log"), "the log does not name both numbers")
        wait(lambda: len(self.cluster.members(seed)) == len(self.cluster.nodes), "the refused node is still a member", 60, 0.2)
        print("  another number-of-shards of the type: refused by the coordinator", flush=True)

    def another_system(self, seed):
        """A node of another system never joins. It tries again, and neither log gets many lines."""
        process = self.started("foreign.log", seed=seed.address, name="Strangers")
        try:
            wait(lambda: "akka://Strangers@" in self.cluster.log(seed), "another system's name: the seed does not log it", 60)
            wait(lambda: "no seed node accepted this node" in self.said("foreign.log"), "another system's name: the node does not log it", 60)
            said = self.said("foreign.log")
            for words in (f"no_answer={seed.address} ", "all need the system akka://Strangers",
                          f"\"handshake not answered\" peer={seed.address} "):
                self.cluster.expect(words in said, f"another system's name: the joining node does not log: {words}")
        finally:
            self.end(process, "another system's name")
        lines = self.cluster.log(seed).count("Strangers")
        self.cluster.expect(lines < 40, f"another system's name: {lines} lines in the seed's log")
        print("  another system's name: named in both logs", flush=True)


# ---- the test ----

def wait_fed(cluster, what):
    cluster.feed_until(lambda: not any(node.busy for node in cluster.nodes), what)


def check_counters(cluster, messages):
    """Checks the counters of the attacked node, and that the other node refused and dropped almost
    nothing."""
    attacked, other = cluster.nodes[:2]
    for node in (attacked, other):
        node.get_status()
        print(f"{node.name}: {', '.join(f'{name} {number}' for name, number in node.counters.items())}", flush=True)
    # "connections refused" counts each wrong first frame and each late one of attack_frames.
    for name, least in (("connections refused", 20),
                        ("frames malformed", 4), ("frames refused", 10),
                        ("messages malformed", 1), ("gossip dropped", messages // 2)):
        cluster.expect(attacked.counters[name] >= least, f"{name}: {attacked.counters[name]}, not {least} or more")
    # No limit was reached.
    for name in ("peers refused", "asked refused", "watches refused", "names forgotten", "removed forgotten"):
        cluster.expect(attacked.counters[name] == 0, f"{name}: {attacked.counters[name]}")
    for name in ("connections refused", "frames malformed", "messages malformed"):
        cluster.expect(other.counters[name] == 0, f"{name} on the other node: {other.counters[name]}")


def test(cluster):
    cluster.start_all()
    cluster.rate = 3000
    target = wire.Node("Airports", cluster.nodes[0].port, 0)
    others = [wire.Node("Airports", node.port, 0) for node in cluster.nodes[1:]]
    count = 0
    for name, parts in attack_frames(target, 1):
        cluster.feed_some()
        cluster.expect(wire.send(target, *parts), f"{name}: the node answered on the sender's connection")
        count += 1
    print(f"{count} connections with bad frames", flush=True)
    with wire.connect(target) as silent:  # the node closes a connection without data
        began = time.monotonic()
        cluster.feed_some()
        silent.settimeout(30)
        cluster.expect(silent.recv(1) == b"", "a silent connection is answered")
        print(f"a silent connection is closed after {time.monotonic() - began:.1f} s", flush=True)
    cluster.check_members()

    count = 0
    for name, sender, manifest, payload in attack_gossip(target, others, 2):
        cluster.feed_some()
        wire.send(target, wire.PREAMBLE + bytes([wire.ORDINARY if count % 2 else wire.CONTROL]),
                  wire.handshake(sender, target), wire.to_daemon(sender, target, manifest, payload))
        count += 1
    print(f"{count} hostile messages of an invented node", flush=True)
    cluster.check_members()

    refusals = Refusals(cluster)
    for step in (refusals.configuration, refusals.journal, refusals.rights, refusals.network, refusals.joining):
        cluster.feed_some()
        step()
        cluster.check_members()
    cluster.feed_all()
    cluster.check_members()
    cluster.expect(not cluster.retried(), "commands had to be retried")
    check_counters(cluster, count)
    log = cluster.log(cluster.nodes[0])
    for text in ("wrong magic", "frame too large", "frame of no bytes", "frame dropped", "sender refused",
                 "sent no first frame in time", "akka://Strangers@"):
        cluster.expect(text in log, f"the node never logged \"{text}\"")
    lines = log.count("\n")
    cluster.expect(lines < 1000, f"{lines} lines in the log of the node that was attacked")
    print(f"{lines} lines in the log of the node that was attacked")
    cluster.check_exact()
    cluster.stop_all()


sys.exit(main(test, __doc__, nodes=2, flights=FLIGHTS))

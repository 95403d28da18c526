"""Tests distributed data that JVM nodes and our nodes change under the same keys: all must agree,
byte for byte."""
import random
import re
import time

from nodes import PACKAGES, Failed, free_ports, wait
from wires import Wires

TYPES = ["flag", "gcounter", "pncounter", "gset", "orset", "register", "lwwmap", "countermap", "multimap", "multimapdeltas", "ormap"]
# Types with deltas that need their order. A JVM logs when it applies one.
ORDERED = ["orset", "lwwmap", "countermap", "multimap", "multimapdeltas", "ormap"]
# Types whose deltas have the same type. A JVM that has deleted such a key fails when a read brings
# it.
PLAIN = ["gcounter", "pncounter", "gset"]
DELTAS = PLAIN + ORDERED
# level -> nodes of five that take part
LEVELS = {"local": 1, "2": 2, "majority": 3, "plus1": 4, "all": 5}
# a read at such a level sees every such write
STRONG = [level for level, count in LEVELS.items() if 2 * count > 5]
SETTINGS = ["cluster.distributed-data.gossip-interval=1s", "cluster.distributed-data.max-delta-elements=20",
            "cluster.distributed-data.pruning-interval=1s", "cluster.distributed-data.max-pruning-dissemination=3s",
            "cluster.distributed-data.notify-subscribers-interval=100ms"]
STORM = 25        # random changes of each key by each node
PIECES = 6        # parts of a large value, each of 15 texts of 900 bytes
BUSY = 60         # seconds until a step fails; on a quiet machine it takes a few
REST = 3          # seconds without a gossip; each node could send three in this time
ROUNDS = 10       # tries to see a delta arrive before gossip
# seconds between two gossips of a node; meanwhile only reads tell the others of a pruning
SLOW = 10


def changes(kind, writer):
    """Returns the changes of a writer (a number from 0). The changes of all writers at the same
    time have one outcome, or one of a few."""
    item, number = f"t:w{writer}", writer + 1
    return {
        "flag": ["on - - 0"],
        "gcounter": [f"count - - {number}"],
        "pncounter": [f"count - - {number if writer else -20}"],
        "gset": [f"add {item} - 0", f"add i:{writer} - 0", f"add l:{number * 1000} - 0", "add t:same - 0"],
        "orset": [f"add {item} - 0", f"add i:{writer} - 0", f"add l:{number * 1000} - 0", "add t:same - 0", f"add t:gone{writer} - 0",
                  f"remove t:gone{writer} - 0"],
        "register": [f"put - {item} 0"],
        "lwwmap": [f"put {item} i:{writer} 0", f"put t:same {item} 0", f"put t:gone{writer} {item} 0", f"remove t:gone{writer} - 0"],
        "countermap": [f"count {item} - {number}", f"count t:same - {number if writer else -20}"],
        "multimap": [f"add {item} l:{number} 0", f"add t:same {item} 0", f"add {item} t:gone 0", f"removevalue {item} t:gone 0"],
        "multimapdeltas": [f"add {item} l:{number} 0", f"add t:same {item} 0", f"add {item} t:gone 0", f"removevalue {item} t:gone 0"],
        "ormap": [f"add t:set {item} 0 orset", f"add t:grows {item} 0 gset", f"count t:count - {number} pncounter",
                  f"count i:5 - {number} gcounter", "on l:6 - 0 flag", f"put t:last {item} 0 register"],
    }[kind]


def outcome(kind, writers):
    """Returns the content after the changes of this number of writers, in the form of
    `Value.content`; ? is the number of any writer."""
    every, total, signed = range(writers), sum(range(1, writers + 1)), sum(range(2, writers + 1)) - 20
    items = [f"t:w{w}" for w in every] + [f"i:{w}" for w in every] + [f"l:{(w + 1) * 1000}" for w in every] + ["t:same"]
    same = "+".join(f"t:w{w}" for w in every)
    return {
        "flag": ["on"], "gcounter": [str(total)], "pncounter": [str(signed)], "gset": items, "orset": items, "register": ["t:w?"],
        "lwwmap": [f"t:w{w}=i:{w}" for w in every] + ["t:same=t:w?"],
        "countermap": [f"t:w{w}={w + 1}" for w in every] + [f"t:same={signed}"],
        "multimap": [f"t:w{w}=l:{w + 1}" for w in every] + [f"t:same={same}"],
        "multimapdeltas": [f"t:w{w}=l:{w + 1}" for w in every] + [f"t:same={same}"],
        "ormap": [f"t:set={same}", f"t:grows={same}", f"t:count={total}", f"i:5={total}", "l:6=on", "t:last=t:w?"],
    }[kind]


def any_change(kind, chance):
    """Returns a random change of this type."""
    item, value, amount = (f"{sort}{chance.randrange(4)}" for sort in ("t:k", "t:v", ""))
    inside = chance.choice(["orset", "gset", "pncounter", "register"])
    within = {"orset": chance.choice(["add", "remove"]), "gset": "add", "pncounter": "count", "register": "put"}[inside]
    return chance.choice({
        "flag": ["on - - 0"],
        "gcounter": [f"count - - {amount}"],
        "pncounter": [f"count - - {amount}", f"count - - -{amount}"],
        "gset": [f"add {item} - 0", f"add i:{amount} - 0"],
        "orset": [f"add {item} - 0", f"remove {item} - 0", f"add i:{amount} - 0"] * 3 + ["clear - - 0"],
        "register": [f"put - {value} 0"],
        "lwwmap": [f"put {item} {value} 0"] * 2 + [f"remove {item} - 0"],
        "countermap": [f"count {item} - {amount}"] * 2 + [f"remove {item} - 0"],
        "multimap": [f"add {item} {value} 0"] * 3 + [f"removevalue {item} {value} 0"] * 2 + [f"remove {item} - 0"],
        "multimapdeltas": [f"add {item} {value} 0"] * 3 + [f"removevalue {item} {value} 0"] * 2 + [f"remove {item} - 0"],
        # a key always has the same type inside
        "ormap": [f"{within} t:{inside} {value} {amount} {inside}"] * 4 + [f"remove t:{inside} - 0"],
    }[kind])


class Value:
    """A node's value of a key: size and hash of its bytes, and its sorted content."""

    def __init__(self, text):
        self.key, self.manifest, self.size, self.hash, nodes, content = text.split(" ", 5)
        self.nodes = set() if nodes == "none" else set(nodes.split(","))
        self.content = sorted(self.in_order(entry) for entry in content.split(","))

    @staticmethod
    def in_order(entry):
        key, sign, inside = entry.partition("=")
        return key + sign + "+".join(sorted(inside.split("+")))

    def __eq__(self, other):
        return isinstance(other, Value) and (self.manifest, self.size, self.hash) == (other.manifest, other.size, other.hash)

    def __repr__(self):
        return f"{self.manifest} {self.size} bytes {self.hash[:8]} {','.join(self.content)[:300]}"



def is_as(value, entries):
    """Returns whether it is a value with these entries; t:w? stands for any of t:w0, t:w1 and so
    on."""
    if not isinstance(value, Value):
        return False
    any_of = {entry[:-1] for entry in entries if entry.endswith("?")}
    seen = [entry[:-1] + "?" if entry[:-1] in any_of else entry for entry in value.content]
    return sorted(seen) == sorted(entries)


class Data:
    """Sends commands for distributed data to nodes, and reads the answers."""

    def __init__(self, cluster):
        self.cluster, self.tag = cluster, 0
        self.read = {}     # node -> number of its lines that were read
        self.answers = {}  # (node, tag) -> answers, in order

    def ask(self, node, what, of="data"):
        self.tag += 1
        node.say(f"{of} {self.tag} {what}")
        return node, self.tag

    def update(self, node, key, kind, level, what):
        return self.ask(node, f"update {key} {kind} {level} {';'.join(what)}")

    def said(self, asked):
        node = asked[0]
        begin = self.read.get(node, 0)
        lines = node.lines[begin:]
        self.read[node] = begin + len(lines)
        for _, line in lines:
            match = re.match("data ([0-9]+) (.*)", line)
            if match:
                self.answers.setdefault((node, int(match[1])), []).append(match[2].strip())
        return self.answers.get(asked, [])

    def answer(self, asked, seconds=BUSY):
        wait(lambda: self.said(asked) or not asked[0].alive, f"{asked[0].name}: no answer to {asked[1]}", seconds, 0.01)
        if not self.said(asked):
            raise Failed(f"{asked[0].name} has ended")
        return self.said(asked)[-1]

    def value(self, asked):
        """Returns the answer: a Value, or a word such as "none"."""
        return self.seen(self.answer(asked))

    @staticmethod
    def seen(said):
        word, _, rest = said.partition(" ")
        return Value(rest) if word in ("found", "changed") else said

    def all_are(self, asked, wanted):
        for one in asked:
            if self.answer(one) != wanted:
                raise Failed(f"{one[0].name} ({one[0].kind}): {self.answer(one)}, not {wanted}")

    def same(self, keys, what, seconds=BUSY, fits=lambda key, value: True):
        """Waits until all nodes have the same value of each key, and the value fits. Returns the
        values by key."""
        start, left, agreed = time.monotonic(), list(keys), {}

        def look():
            asked = {key: [self.ask(node, f"get {key} local") for node in self.cluster.nodes] for key in left}
            there = {key: [self.value(one) for one in ones] for key, ones in asked.items()}
            agreed.update({key: values[0] for key, values in there.items()
                           if all(value == values[0] for value in values) and fits(key, values[0])})
            left[:] = [key for key in left if key not in agreed]
            return not left

        def wrong():
            lines = [f"{what}: {len(left)} of {len(keys)} keys differ between nodes, or have a wrong value"]
            for key in left[:5]:
                lines += [f"  {key}: {node.name} ({node.kind}): {self.value(self.ask(node, f'get {key} local'))}" for node in self.cluster.nodes]
            return "\n".join(lines)
        wait(look, wrong, seconds, 0.2)
        print(f"{self.cluster.toolkit}: {what}: {len(keys)} keys are the same everywhere after {time.monotonic() - start:.1f} s", flush=True)
        return agreed


def keys_told(line):
    """Returns the keys of a gossip that a JVM's log line names, or an empty set."""
    found = re.search(r"(Sending gossip to|Received gossip from) .* containing \[(.*)\]", line)
    return set(found[2].split(", ")) if found else set()


def rest(data, start, name="ddataReplicator", restless=()):
    """Waits until the JVM nodes exchange digests and no more values. Then all envelopes are equal,
    including their marks of pruning, because digests are of envelopes. Checks that no JVM logged an
    error since the start.

    name: the replicator; restless: keys whose gossip does not count."""
    jvms, begin = [node for node in data.cluster.nodes if node.kind != "sherd"], time.monotonic()

    def told():
        since = time.monotonic() - REST
        lines = [line for node in jvms for line in node.since(since)]
        if since < begin or not all(any(f"{name}: Received gossip status from" in line for line in node.since(since)) for node in jvms):
            return "no digest yet"
        return next((line for line in lines if f"{name}: " in line and keys_told(line) - set(restless)), None)
    wait(lambda: not told(), lambda: f"gossip continues: {str(told())[:400]}", BUSY)
    for node in jvms:
        trouble = node.find(f"^log (ERROR|WARNING) .*{name}", start)
        if trouble:
            raise Failed(f"{node.name}: {trouble.string}")
    print(f"{data.cluster.toolkit}: gossip rests after {time.monotonic() - begin:.1f} s", flush=True)


def five(cluster, order, settings=(), wires=None):
    """Starts two JVM nodes and three nodes of ours. order: their names, in ascending order of
    addresses."""
    extension = f'extensions=["{PACKAGES[cluster.toolkit]}.cluster.ddata.DistributedData"]'
    ports = dict(zip(order, free_ports(5)))
    kinds = {"j": (cluster.toolkit, [extension, "loglevel=DEBUG"]), "s": ("sherd", [])}
    nodes = {}
    for name in ("j1", "j2", "s1", "s2", "s3"):
        kind, more = kinds[name[0]]
        wired = wires.lay(ports[name]) if wires else []
        nodes[name] = cluster.start(name, kind, ports[name], [f"127.0.0.1:{ports['j1']}"], [*SETTINGS, *settings, *more, *wired])
    cluster.wait_up("two JVM nodes and three nodes of ours", 2 * BUSY)
    return nodes


def reads_all(data, nodes, keys, level, wanted):
    """Checks that each node reads the wanted value of each key at this level."""
    for key, asked in [(key, data.ask(node, f"get {key} {level}")) for key in keys for node in nodes]:
        value = data.value(asked)
        if not is_as(value, wanted(key)):
            raise Failed(f"{asked[0].name} ({asked[0].kind}) reads {key} at {level}: {value}")


def levels(data, nodes):
    """Four nodes change a key of each type at each level at the same time. A read at an overlapping
    level sees all changes at once."""
    writers = [nodes[name] for name in ("j1", "s1", "j2", "s2")]
    keys = {f"{kind}-{level}": (kind, level) for kind in TYPES for level in LEVELS}
    followed = {kind: [data.ask(nodes[name], f"subscribe {kind}-local") for name in ("j1", "s3")] for kind in TYPES}
    start = time.monotonic()
    data.all_are([data.update(node, key, kind, level, changes(kind, number))
                  for key, (kind, level) in keys.items() for number, node in enumerate(writers)], "updated")
    print(f"{data.cluster.toolkit}: {len(keys) * 4} updates after {time.monotonic() - start:.1f} s", flush=True)
    for read, count in LEVELS.items():  # weak reads first, because a read repairs
        overlapping = [key for key, (_, level) in keys.items() if count + LEVELS[level] > 5]
        reads_all(data, data.cluster.nodes, overlapping, read, lambda key: outcome(keys[key][0], 4))
    agreed = data.same(keys, "changed at all levels", fits=lambda key, value: is_as(value, outcome(keys[key][0], 4)))
    for kind, asked in followed.items():
        for one in asked:
            wait(lambda one=one, kind=kind: data.said(one) and data.seen(data.said(one)[-1]) == agreed[f"{kind}-local"],
                 lambda one=one, kind=kind: f"{one[0].name}, a subscriber of {kind}-local, got {data.said(one)}")
    return list(keys)


def storm(data, nodes, name, seed, levels):
    """The nodes make random changes at random levels without waiting for answers. Returns the types
    by key."""
    chance = random.Random(seed)
    keys = {f"{kind}-{name}": kind for kind in TYPES}
    asked = []
    for _ in range(STORM):
        for key, kind in keys.items():
            asked += [data.update(node, key, kind, chance.choice(levels), [any_change(kind, chance)]) for node in nodes]
    data.all_are(asked, "updated")
    return keys


def deleted(data, nodes, there):
    """A node of either kind deletes some of the keys. They are deleted on all nodes and stay so;
    the other keys stay."""
    keys = [f"{kind}-all" for kind in TYPES]
    data.all_are([data.ask(nodes["j1" if number % 2 else "s1"], f"delete {key} {'all' if key.split('-')[0] in PLAIN else STRONG[number % 3]}")
                  for number, key in enumerate(keys)], "updated")
    for key in keys:
        data.all_are([data.ask(node, f"get {key} majority") for node in data.cluster.nodes], "deleted")
        data.all_are([data.update(nodes[name], key, "gset", "local", ["add t:late - 0"]) for name in ("j2", "s2")], "deleted")
    data.same(keys, "deleted", fits=lambda _, value: value == "deleted")
    left = set(there) - set(keys)
    for name in ("j1", "j2"):
        said = set(data.answer(data.ask(nodes[name], "keys x")).split()[1:])
        if said != left:
            raise Failed(f"{name}: its keys and the keys that were not deleted differ by {said ^ left}")
    data.same(left, "not deleted", fits=lambda _, value: isinstance(value, Value))


def changed_by(data, node, kinds, name):
    """Lets a node change one new key of each type at level local. Returns the types by key."""
    keys = {f"{kind}-{name}": kind for kind in sorted(kinds)}
    data.all_are([data.update(node, key, kind, "local", changes(kind, 0)) for key, kind in keys.items()], "updated")
    data.same(keys, f"changed by {node.name} alone")
    return keys


def deltas(data, nodes):
    """Checks that changes travel as deltas in both directions. Gossip may come first by chance, so
    there are several rounds. A JVM logs each delta that it applies and each gossip that it sends. A
    change that our node has without such a gossip came as a delta."""
    j1, j2, s1 = nodes["j1"], nodes["j2"], nodes["s1"]
    ours, theirs = {(node, kind) for node in (j1, j2) for kind in DELTAS}, set(DELTAS)
    rounds = 0
    while ours or theirs:
        rounds += 1
        if rounds > ROUNDS:
            raise Failed(f"no deltas of {[(node.name, kind) for node, kind in ours]} from ours, of {theirs} from a JVM")
        start = time.monotonic()
        for key, kind in changed_by(data, s1, {kind for _, kind in ours}, f"ours{rounds}").items():
            said = "Applying" if kind in ORDERED else "Received"
            ours -= {(node, kind) for node in (j1, j2) if node.find(rf"{said} DeltaPropagation from \[.*{s1.address}\].*\b{key}\b", start)}
        start = time.monotonic()
        for key, kind in changed_by(data, j1, theirs, f"theirs{rounds}").items():
            if not any(node.find(rf"Sending gossip to .*\b{key}\b", start) for node in (j1, j2)):
                theirs.discard(kind)
    print(f"{data.cluster.toolkit}: deltas of all types were taken both ways after {rounds} rounds", flush=True)


def chunks(data, nodes):
    """Checks that our node sends the status of many keys in chunks."""
    nodes["j1"].expect(rf"Received gossip status from \[.*{nodes['s1'].address}\], chunk \[[0-9]+\] of \[([2-9]|[1-9][0-9]+)\]")


def changes_of_all_types(cluster):
    """JVM nodes and our nodes change the same keys of all types at all levels, in order and at
    random. They delete keys, and they send each other deltas."""
    nodes = five(cluster, ["j1", "s1", "s2", "j2", "s3"], ["cluster.failure-detector.acceptable-heartbeat-pause=15s"])
    data = Data(cluster)
    start = time.monotonic()
    keys = levels(data, nodes)
    torn = storm(data, [nodes[name] for name in ("j1", "s1", "j2", "s2")], "storm", 1, list(LEVELS))
    data.same(torn, "changed at random")
    deleted(data, nodes, [*keys, *torn])
    deltas(data, nodes)
    chunks(data, nodes)
    rest(data, start)
    cluster.check_no_quarantine()


def fill(data, node, key, seed):
    """Makes a value of 80,000 bytes. One side of the partition lacks four of them, which is more
    than a frame can hold."""
    chance = random.Random(seed)
    return [data.update(node, key, "gset", "local", [f"add t:{chance.randbytes(450).hex()} - 0" for _ in range(15)]) for _ in range(PIECES)]


def reads_apart(data, many, few):
    """During the partition, a side can read at each level for which it has enough nodes, and sees
    its own writes at overlapping levels. Reads at other levels time out. The first two writers are
    on the larger side."""
    for level, count in LEVELS.items():
        keys = [f"{kind}-{wrote}-apart" for kind in TYPES for wrote, by in LEVELS.items() if count + by > 3]
        if count <= 3:
            reads_all(data, many, keys, f"{level}:30000", lambda key: outcome(key.split("-")[0], 2))
        for side, enough in ((many, 3), (few, 2)):
            asked = [data.ask(node, f"get {kind}-majority-apart {level}:{30000 if count <= enough else 1000}") for kind in TYPES for node in side]
            for one in asked:
                if (data.answer(one) == "timeout") != (count > enough):
                    raise Failed(f"{one[0].name} ({one[0].kind}) reads at {level}: {data.answer(one)}")


def cut(cluster, parts, wires):
    """Cuts the cluster into these parts. Waits until each node sees all nodes of other parts as
    unreachable."""
    start = time.monotonic()
    wires.cut(*parts)
    for part in parts:
        for node in part:
            for other in [other for others in parts if others is not part for other in others]:
                node.expect(f"^event UnreachableMember {other.address} ", start)
    print(f"{cluster.toolkit}: cut in {len(parts)} after {time.monotonic() - start:.1f} s", flush=True)


def alone(data, nodes, wires):
    """One node of ours is cut off from four others. Writes that need four of five nodes succeed
    among the four. Writes that need five, by their level or by a JVM's minimum, time out. The
    single node can do neither."""
    many, lone = [nodes[name] for name in ("j1", "s1", "j2", "s2")], nodes["s3"]
    cut(data.cluster, [many, [lone]], wires)
    # level -> nodes that it needs; the last two exist only on a JVM
    levels = {"majority": 3, "plus1": 4, "plus2": 5, "all": 5, "majority4": 4, "majority5": 5}
    asked = []
    for kind in TYPES:
        for level, count in levels.items():
            writers = [node for node in [*many, lone] if node.kind != "sherd" or level[-1] not in "45"]
            for node in writers:
                is_enough = count <= (4 if node in many else 1)
                number = [*many, lone].index(node)
                asked.append((is_enough, data.update(node, f"{kind}-{level}-alone", kind, f"{level}:{30000 if is_enough else 2000}",
                                                     changes(kind, number))))
    for is_enough, one in asked:
        data.all_are([one], "updated" if is_enough else "timeout")
    for level in ("plus1", "majority4"):
        readers = [node for node in many if node.kind != "sherd" or level == "plus1"]
        reads_all(data, readers, [f"{kind}-plus1-alone" for kind in TYPES], f"{level}:30000", lambda key: outcome(key.split("-")[0], 4))
    for one in [data.ask(node, f"get {kind}-plus1-alone plus2:1000") for kind in TYPES for node in [many[0], many[1]]]:
        data.all_are([one], "timeout")
    print(f"{data.cluster.toolkit}: four of five nodes are enough for majority plus 1, and for a majority of at least 4", flush=True)
    wires.heal()
    data.cluster.wait_up("healed again", BUSY)
    data.same([f"{kind}-{level}-alone" for kind in TYPES for level in ("majority", "plus1", "plus2", "all")], "changed while one was alone",
              fits=lambda key, value: is_as(value, outcome(key.split("-")[0], 5)))


def apart(data, nodes, wires):
    """A partition: j1, s1 and s2 on one side, j2 and s3 on the other. All continue to change the
    same keys. Writes that need a majority succeed on the larger side only. After the partition, all
    nodes have all changes. Returns the keys."""
    cluster = data.cluster
    many, few = [nodes[name] for name in ("j1", "s1", "s2")], [nodes[name] for name in ("j2", "s3")]
    doomed = [f"{kind}-doomed" for kind in TYPES]
    data.all_are([data.update(nodes["s1"], key, key.split("-")[0], "all", changes(key.split("-")[0], 0)) for key in doomed], "updated")
    cut(cluster, [many, few], wires)

    keys = {f"{kind}-{level}-apart": kind for kind in TYPES for level in LEVELS}
    writers = [nodes[name] for name in ("j1", "s1", "j2", "s3")]
    asked = [(is_enough, data.update(node, f"{kind}-{level}-apart", kind, f"{level}:{30000 if is_enough else 2000}", changes(kind, number)))
             for kind in TYPES for level, count in LEVELS.items() for number, node in enumerate(writers)
             for is_enough in [count <= (3 if node in many else 2)]]
    large = {f"large{number}": fill(data, node, f"large{number}", number) for number, node in enumerate(writers * 2)}
    torn = storm(data, many, "torn", 2, list(LEVELS)[:3])
    for is_enough, one in asked:
        data.all_are([one], "updated" if is_enough else "timeout")
    reads_apart(data, many, few)
    data.all_are([data.ask(nodes["j1" if number % 2 else "s1"], f"delete {key} majority") for number, key in enumerate(doomed)], "updated")
    data.all_are([data.update(nodes["j2" if number % 2 else "s3"], key, key.split("-")[0], "local", changes(key.split("-")[0], 1))
                  for number, key in enumerate(doomed)], "updated")
    for asked in large.values():
        data.all_are(asked, "updated")
    for kind in DELTAS:  # the value of these types shows the number of writers
        for asked in [data.ask(node, f"get {kind}-majority-apart local") for node in few]:
            if is_as(data.value(asked), outcome(kind, 4)):
                raise Failed(f"{kind}-majority-apart crossed the partition")

    wires.heal()
    cluster.wait_up("healed", BUSY)
    data.same(keys, "changed on both sides at all levels", fits=lambda key, value: is_as(value, outcome(keys[key], 4)))
    data.same(doomed, "deleted on one side", fits=lambda _, value: value == "deleted")
    data.same([*large, *torn], "large, and changed at random on one side")
    return [*keys, *torn]


def pruned_of(data, keys, leaving, leader):
    """Lets these nodes leave. The leader must prune their entries: no JVM finds an entry of them,
    all nodes have equal values, and the content is unchanged."""
    cluster, jvm = data.cluster, next(node for node in data.cluster.nodes if node.kind != "sherd" and node not in leaving)
    addresses, start = {node.address for node in leaving}, time.monotonic()
    before = {key: data.value(data.ask(jvm, f"get {key} local")) for key in keys}
    if not addresses <= set().union(*(value.nodes for value in before.values())):
        raise Failed(f"no value has entries of {addresses}")
    for node in leaving:
        node.say("leave")
        cluster.drop(node)
    cluster.wait_up(f"{' and '.join(node.name for node in leaving)} leave")

    def fits(key, value):
        return isinstance(value, Value) and value.content == before[key].content and not any(
            addresses & data.value(data.ask(node, f"get {key} local")).nodes for node in cluster.nodes if node.kind != "sherd")
    data.same(keys, f"pruned by {leader.name} ({leader.kind})", fits=fits)
    if bool(jvm.find("Initiated pruning of", start)) != (leader is jvm):
        raise Failed(f"{leader.name} must begin the pruning; the log of {jvm.name} differs")


def partitioned_replicas(cluster):
    """JVM nodes and our nodes change the same keys during partitions, and agree afterwards. Then
    nodes of both kinds leave, and their entries are pruned: once by a leader of ours, and once by a
    JVM node."""
    wires = Wires(cluster)
    try:
        nodes = five(cluster, ["s1", "j1", "s2", "j2", "s3"], wires=wires)
        data = Data(cluster)
        start = time.monotonic()
        alone(data, nodes, wires)
        keys = apart(data, nodes, wires)
        pruned_of(data, keys, [nodes["j2"], nodes["s3"]], nodes["s1"])
        pruned_of(data, keys, [nodes["s1"]], nodes["j1"])
        data.all_are([data.update(nodes["j1"], key, key.split("-")[0], "all", changes(key.split("-")[0], 1)) for key in keys], "updated")
        data.same(keys, "changed after that")
        rest(data, start)
    finally:
        wires.end()


def pruned_keys(data, owner, others, before, seconds=2):
    """Returns the keys whose value has changed on the leader that prunes. Gossip is slow in this
    case, so reads spread the marks of pruning: the others read the marks, and then the leader reads
    which nodes have seen them."""
    def changed():
        return [key for key, asked in [(key, data.ask(owner, f"get {key} local")) for key in before] if data.value(asked) != before[key]]
    found = changed()
    for nodes in [] if found else (others, [owner]):
        for asked in [data.ask(node, f"get {key} all") for key in before for node in nodes]:
            data.value(asked)
    end = time.monotonic() + seconds
    while not found and time.monotonic() < end:
        found = changed()
    return found


def deltas_after_pruning(cluster):
    """A delta from a node that has just pruned a key loses no entry.

    A node changes keys of all types with ordered deltas, and leaves. Our leader prunes the keys and
    takes the entries over. Before gossip tells the others, our leader receives a change from
    another node, and makes a change itself, which it sends as a delta. No node may lose the
    entries, neither at once nor by later gossip."""
    settings = [f"cluster.distributed-data.gossip-interval={SLOW}s", "cluster.distributed-data.max-pruning-dissemination=1s"]
    nodes = five(cluster, ["s1", "j1", "s2", "j2", "s3"], settings)
    data = Data(cluster)
    owner, left = nodes["s1"], nodes["s3"]
    kinds = {f"{kind}-{name}": kind for kind in ORDERED for name in ("j1", "s2")}
    data.all_are([data.update(left, key, kind, "all", changes(kind, 0)) for key, kind in kinds.items()], "updated")
    cluster.leave(left)
    jvms = [nodes["j1"], nodes["j2"]]
    before = {key: data.value(data.ask(owner, f"get {key} local")) for key in kinds}
    early, start = set(), time.monotonic()
    while before:
        if time.monotonic() > start + BUSY:
            raise Failed(f"not pruned by {owner.name}: {list(before)}")
        found = pruned_keys(data, owner, [node for node in cluster.nodes if node is not owner], before)
        data.all_are([data.update(nodes[key.split("-")[1]], key, kinds[key], "all", changes(kinds[key], 1)) for key in found], "updated")
        early |= {key for key in found if any(left.address in data.value(data.ask(node, f"get {key} local")).nodes for node in jvms)}
        data.all_are([data.update(owner, key, kinds[key], "all", changes(kinds[key], 2)) for key in found], "updated")
        for key in found:
            del before[key]
    if len(early) < len(kinds) / 2:
        raise Failed(f"JVM nodes had {len(kinds) - len(early)} of {len(kinds)} keys pruned before {owner.name} changed them; too many")
    print(f"{cluster.toolkit}: {len(early)} of {len(kinds)} keys changed before JVM nodes knew that they were pruned", flush=True)

    def is_all(key, value):
        return is_as(value, outcome(kinds[key], 3))
    data.same(kinds, "pruned and changed", fits=is_all)
    for node in cluster.nodes:
        reads_all(data, [node], kinds, "all", lambda key: outcome(kinds[key], 3))
    data.same(kinds, "read from all", fits=lambda key, value: is_all(key, value) and not any(
        left.address in data.value(data.ask(node, f"get {key} local")).nodes for node in jvms))
    cluster.check_no_quarantine()

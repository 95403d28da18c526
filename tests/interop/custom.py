"""Tests values of a JVM program's own types, which nodes of this library cannot merge: alone and in
a map, while nodes of both kinds write, crash and start again."""
import re
import shutil
import tempfile
import time

from nodes import PACKAGES, Failed, free_ports, wait
from replicas import BUSY, SETTINGS, Data, Value, five, rest
from steps import jvm_one

# own types: with whole values, with deltas, and with deltas that need their order; in a map
SORTS = ["custom", "growing", "ordered", "ormap"]
LEVELS = ["all", "majority"]
KEYS = [f"c-{sort}-{level}" for sort in SORTS for level in LEVELS]
CRASHES = 3  # of all JVM nodes
NAMES = 4    # names that each writer adds to each key in a round


def of(key):
    """Returns the type and the level of a key."""
    return key.split("-")[1:]


def names_in(value):
    """Returns the names in a value; of our nodes, in all values side by side."""
    return set(re.findall(r"t:(n[0-9-]+)", ",".join(value.content))) if isinstance(value, Value) else set()


def single(value):
    """Returns whether it is one value, not several side by side."""
    return isinstance(value, Value) and "|" not in ",".join(value.content)


class Names:
    """Adds names to the keys, and keeps those that were acknowledged."""

    def __init__(self, data):
        self.data, self.next, self.acknowledged = data, 0, {key: set() for key in KEYS}

    def change(self, key):
        self.next += 1
        name = f"n{self.next}"
        return name, f"add t:own t:{name} 0 custom" if of(key)[0] == "ormap" else f"add t:{name} - 0"

    def add(self, writers, keys=KEYS):
        """The writers add names at the same time; each write must be acknowledged."""
        asked = []
        for key in keys:
            for node in writers:
                for _ in range(NAMES):
                    name, change = self.change(key)
                    asked.append((key, name, self.data.update(node, key, *of(key), [change])))
        for key, name, one in asked:
            said = self.data.answer(one)
            if said != "updated":
                raise Failed(f"{one[0].name} ({one[0].kind}): {key}: {said}, not updated")
            self.acknowledged[key].add(name)

    def read(self, node, level_of):
        """The node reads all keys at a level; no acknowledged name may be missing."""
        for key, one in [(key, self.data.ask(node, f"get {key} {level_of(key)}")) for key in KEYS]:
            value = self.data.value(one)
            missing = self.acknowledged[key] - names_in(value)
            if missing:
                raise Failed(f"{node.name} ({node.kind}) reads an older value of {key} at {level_of(key)}: {value} lacks {sorted(missing)}")

    def same(self, what):
        """Waits until all nodes have one value of each key, with all acknowledged names."""
        return self.data.same(KEYS, what, fits=lambda key, value: single(value) and names_in(value) >= self.acknowledged[key])


def overlapping(key):
    """The level at which a read sees every write to the key: a crash leaves a majority's write
    perhaps on one node only."""
    return "majority" if of(key)[1] == "all" else "all"


def crash_all(cluster, nodes, by):
    """Kills these nodes at once; the node `by` downs them."""
    for node in nodes:
        uid = int(node.uid())
        cluster.downed |= {str(uid), str(uid & (1 << 64) - 1)}
    for node in nodes:
        node.kill()
    for node in nodes:
        by.say(f"down {node.address}")
        cluster.drop(node)
    cluster.wait_up(f"{', '.join(node.name for node in nodes)} were killed")


def again(cluster, node, seed, settings):
    return cluster.start(node.name, node.kind, node.port, [seed], settings)


def jvm_settings(cluster):
    return [*SETTINGS, f'extensions=["{PACKAGES[cluster.toolkit]}.cluster.ddata.DistributedData"]', "loglevel=DEBUG"]


def custom_types(cluster):
    """Two JVM nodes write values of their own types at levels that need our three nodes.

    Each write is acknowledged, and all nodes get the same values. Our node changes such a map, too.
    Then all JVM nodes are killed right after their last writes, three times. Those that start again
    find every acknowledged write with their first read, and later on their own. At last our nodes
    are killed one after the other, and the writes to all still succeed."""
    nodes = five(cluster, ["s1", "j1", "s2", "j2", "s3"])
    data = Data(cluster)
    names = Names(data)
    start = time.monotonic()
    jvms = [nodes["j1"], nodes["j2"]]
    ours = [nodes["s1"], nodes["s2"], nodes["s3"]]
    names.add(jvms)
    names.same("written by both JVM nodes")
    rest(data, start)
    data.all_are([data.update(ours[0], "c-custom-all", "custom", "all", ["add t:n0 - 0"]),
                  data.update(ours[0], "c-custom-all", "orset", "all", ["add t:n0 - 0"])], "mismatch")
    data.all_are([data.update(ours[1], "c-ormap-all", "ormap", "all", ["on t:flag - 0 flag"])], "updated")
    data.same(["c-ormap-all"], "changed by our node", fits=lambda key, value: single(value) and "t:flag=on" in value.content)
    for node in ours:
        said = [line for _, line in node.lines if "side by side" in line]
        for key in KEYS:
            if sum(f" key={key} " in line and "does not merge here" in line for line in said) != 1:
                raise Failed(f"{node.name} does not say once why {key} is kept side by side: {said}")

    for count in range(CRASHES):
        names.add(jvms)
        crash_all(cluster, jvms, ours[0])
        jvms = [again(cluster, node, ours[0].address, jvm_settings(cluster)) for node in jvms]
        cluster.wait_up("JVM nodes started again")
        names.read(jvms[0], overlapping)
        print(f"{cluster.toolkit}: crash {count + 1}: every acknowledged write was found", flush=True)
        names.same("read again")

    for number, node in enumerate(ours[:2]):
        names.add(jvms)
        crash_all(cluster, [node], ours[2])
        ours[number] = again(cluster, node, ours[2].address, SETTINGS)
        cluster.wait_up("our node started again")
        names.add(jvms)
        names.read(ours[number], overlapping)
        names.same("after our node was killed")
    cluster.check_no_quarantine()


def custom_types_on_disk(cluster):
    """Durable keys of such types survive the death of all nodes on the disks of ours.

    Nodes of both kinds are killed at once. Ours start again, and have every acknowledged write
    before a JVM node comes. The JVM node merges what they have."""
    folder = tempfile.mkdtemp(prefix="sherd-custom-")
    ports = free_ports(3)

    def ours(number):
        return [*SETTINGS, 'cluster.distributed-data.durable.keys=["c-*"]', f'cluster.distributed-data.durable.lmdb.dir="{folder}/{number}"']
    try:
        jvm = jvm_one(cluster, ports[0], jvm_settings(cluster), SETTINGS)
        data = Data(cluster)
        names = Names(data)
        first = [cluster.start(f"s{number}", "sherd", ports[number], cluster.seeds, ours(number)) for number in (1, 2)]
        cluster.wait_up("our nodes with durable keys")
        names.add([jvm])
        gone = list(cluster.nodes)
        for node in gone:
            node.kill()
            cluster.drop(node)
        seed = f"127.0.0.1:{ports[1]}"
        second = [again(cluster, node, seed, ours(number + 1)) for number, node in enumerate(first)]
        cluster.wait_up("our nodes started again")
        for node in second:
            wait(lambda node=node: all(names_in(data.value(data.ask(node, f"get {key} local"))) >= names.acknowledged[key]
                                       for key in KEYS if of(key)[1] == "all"), f"{node.name} lacks acknowledged names", BUSY)
        names.read(second[0], lambda key: "all")
        jvm = cluster.start("j2", cluster.toolkit, jvm.port, [seed], jvm_settings(cluster))
        cluster.wait_up("a JVM node came")
        names.read(jvm, overlapping)
        names.same("merged by the JVM node")
    finally:
        shutil.rmtree(folder, ignore_errors=True)

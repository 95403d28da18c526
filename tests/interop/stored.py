"""Tests durable keys beside JVM nodes: our node stores the changes of both kinds, and reads them
while no JVM node answers."""
import shutil
import tempfile
import time

from nodes import PACKAGES, Failed, free_ports, wait
from replicas import BUSY, SETTINGS, TYPES, Data, changes, is_as, outcome, rest
from steps import jvm_one

KEYS = {f"d-{kind}": kind for kind in TYPES}
GONE = "d-gone"  # a key that is deleted
DURABLE = ['cluster.distributed-data.durable.keys=["d-*"]']


def changed(data, node, writer, level):
    data.all_are([data.update(node, key, kind, level, changes(kind, writer)) for key, kind in KEYS.items()], "updated")


def values(data, node):
    """Returns the node's values by key."""
    return {key: data.value(data.ask(node, f"get {key} local")) for key in KEYS}


def durable_keys(cluster):
    """Durable keys survive a crash, also when the dead incarnation's entries were pruned meanwhile.

    Both nodes change the keys. Ours is killed and removed, and the JVM node prunes its entries.
    Ours starts again while the JVM node is suspended: each value has its old bytes, and a deleted
    key stays deleted. Our node changes the keys. After the JVM node resumes, both nodes have the
    changes of all three writers once, although the disk still had the pruned entries of the dead
    incarnation."""
    folder = tempfile.mkdtemp(prefix="sherd-stored-")
    ours = [*SETTINGS, *DURABLE, f'cluster.distributed-data.durable.lmdb.dir="{folder}/values"']
    ports = free_ports(2)
    try:
        jvm = jvm_one(cluster, ports[0], [*SETTINGS, f'extensions=["{PACKAGES[cluster.toolkit]}.cluster.ddata.DistributedData"]', "loglevel=DEBUG"])
        data, start = Data(cluster), time.monotonic()
        first = cluster.start("s1", "sherd", ports[1], [jvm.address], ours)
        cluster.wait_up("a node of ours with durable keys")
        changed(data, jvm, 0, "all")
        changed(data, first, 1, "all")
        data.all_are([data.update(jvm, GONE, "orset", "all", ["add t:gone - 0"])], "updated")
        data.all_are([data.ask(first, f"delete {GONE} all")], "updated")
        before = data.same(KEYS, "changed by both", fits=lambda key, value: is_as(value, outcome(KEYS[key], 2)))

        def has_it():
            return [key for key, value in values(data, jvm).items() if first.address in value.nodes]
        if "d-gcounter" not in has_it():
            raise Failed(f"{jvm.name} does not name the node that wrote {before['d-gcounter']}")
        cluster.crash(first, by=jvm)
        wait(lambda: not has_it(), lambda: f"not pruned: {has_it()}", BUSY)

        jvm.stop()
        try:
            second = cluster.start("s2", "sherd", ports[1], [jvm.address], ours)
            there = values(data, second)
            if there != before:
                raise Failed(f"the disk has {there}, not {before}")
            data.all_are([data.ask(second, f"get {GONE} local")], "deleted")
            print(f"{cluster.toolkit}: {len(there)} keys were read from the disk, without a JVM node", flush=True)
            changed(data, second, 2, "local")
        finally:
            jvm.resume()
        cluster.wait_up("our node is back", BUSY)
        data.same(KEYS, "of three writers", fits=lambda key, value: is_as(value, outcome(KEYS[key], 3)))
        rest(data, start)
    finally:
        shutil.rmtree(folder, ignore_errors=True)

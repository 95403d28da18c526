"""Durable keys of a node of ours among JVM nodes: what both have changed is on its disk, and is read from there while no JVM node answers."""
import shutil
import tempfile
import time

from nodes import PACKAGES, Failed, free_ports, wait
from replicas import BUSY, SETTINGS, TYPES, Data, changes, is_as, outcome, rest
from steps import jvm_one

KEYS = {f"d-{kind}": kind for kind in TYPES}
GONE = "d-gone"  # deleted
DURABLE = ['cluster.distributed-data.durable.keys=["d-*"]']


def changed(data, node, writer, level):
    data.all_are([data.update(node, key, kind, level, changes(kind, writer)) for key, kind in KEYS.items()], "updated")


def values(data, node):
    """By key."""
    return {key: data.value(data.ask(node, f"get {key} local")) for key in KEYS}


def stored(cluster):
    """Both change the keys; ours is killed and removed, and what is of it is pruned. Ours comes back when the JVM node
    stands still: each value is what it was, byte for byte, and what was deleted stays so; it changes them, too. Then the JVM node goes on, and both
    have what all three lives have done, once: what was pruned came back from the disk under the dead incarnation's name."""
    folder = tempfile.mkdtemp(prefix="sherd-stored-")
    ours = [*SETTINGS, *DURABLE, f'cluster.distributed-data.durable.lmdb.dir="{folder}/values"']
    ports = free_ports(2)
    try:
        jvm = jvm_one(cluster, ports[0], [*SETTINGS, f'extensions=["{PACKAGES[cluster.toolkit]}.cluster.ddata.DistributedData"]', "loglevel=DEBUG"])
        data, start = Data(cluster), time.monotonic()
        first = cluster.start("s1", "sherd", ports[1], [jvm.address], ours)
        cluster.wait_up("one of ours with durable keys")
        changed(data, jvm, 0, "all")
        changed(data, first, 1, "all")
        data.all_are([data.update(jvm, GONE, "orset", "all", ["add t:gone - 0"])], "updated")
        data.all_are([data.ask(first, f"delete {GONE} all")], "updated")
        before = data.same(KEYS, "changed by both", fits=lambda key, value: is_as(value, outcome(KEYS[key], 2)))

        def has_it():
            return [key for key, value in values(data, jvm).items() if first.address in value.nodes]
        if "d-gcounter" not in has_it():
            raise Failed(f"{jvm.name} does not tell whose {before['d-gcounter']} is")
        cluster.crash(first, by=jvm)
        wait(lambda: not has_it(), lambda: f"not pruned of what it has done: {has_it()}", BUSY)

        jvm.stop()
        try:
            second = cluster.start("s2", "sherd", ports[1], [jvm.address], ours)
            there = values(data, second)
            if there != before:
                raise Failed(f"from the disk came {there}, not {before}")
            data.all_are([data.ask(second, f"get {GONE} local")], "deleted")
            print(f"{cluster.toolkit}: {len(there)} keys are back from the disk, without a JVM node", flush=True)
            changed(data, second, 2, "local")
        finally:
            jvm.resume()
        cluster.wait_up("ours is back", BUSY)
        data.same(KEYS, "of three lives", fits=lambda key, value: is_as(value, outcome(KEYS[key], 3)))
        rest(data, start)
    finally:
        shutil.rmtree(folder, ignore_errors=True)

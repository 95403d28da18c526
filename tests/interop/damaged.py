"""Durable keys of a node of ours whose disk is damaged, among JVM nodes: what it had is theirs to give back."""
import glob
import shutil
import struct
import tempfile
import time

from nodes import PACKAGES, Failed, free_ports, wait
from replicas import BUSY, SETTINGS, Data, Value, changes, is_as, outcome, rest
from steps import jvm_one
from stored import DURABLE, KEYS, changed, values

SPOILED = sorted(KEYS)[::2]  # of the keys, those of which the disk has other bits
HEAD = struct.Struct("<IBQQII")  # of a record: magic, version, cluster, number, sizes of key and value
MAGIC = b"SHDV"


def records(data):
    """Of each record its key, where its value begins and ends, and its number."""
    at, found = data.find(MAGIC), []
    while 0 <= at <= len(data) - HEAD.size:
        _, _, _, number, key_size, value_size = HEAD.unpack_from(data, at)
        begin = at + HEAD.size + key_size
        if begin + value_size <= len(data):
            found.append((data[at + HEAD.size:begin], begin, begin + value_size, number))
        at = data.find(MAGIC, at + 1)
    return found


def spoil(folder, keys):
    """Flips a bit in the last record of each key, in each page that it was ever copied to; earlier ones stay, in pages that are free. It is of the value's first
    byte: the rest of a copy in a free page may be another one's by now."""
    name, = glob.glob(f"{folder}/**/*.mdb", recursive=True)
    with open(name, "r+b") as file:
        data = bytearray(file.read())
        there = [record for record in records(bytes(data)) if record[2] > record[1]]
        for key in keys:
            last = max((number for text, _, _, number in there if text.endswith(key.encode())), default=None)
            if last is None:
                raise Failed(f"{name} has no record of {key}")
            for text, begin, _, number in there:
                if number == last and text.endswith(key.encode()):
                    data[begin] ^= 0x10
        file.seek(0)
        file.write(data)


def damaged(cluster):
    """Two JVM nodes and one of ours change the keys, at all. Ours is killed, and bits of half of its last records are flipped; a JVM node changes all of them
    meanwhile. Ours comes back when both JVM nodes stand still: the damaged keys are held, for reads and for changes, and the others are served as they were. When the JVM nodes
    go on, it has of each what they have, theirs and its own, and changes it."""
    folder = tempfile.mkdtemp(prefix="sherd-damaged-")
    ours = [*SETTINGS, *DURABLE, f'cluster.distributed-data.durable.lmdb.dir="{folder}/values"']
    theirs = [*SETTINGS, f'extensions=["{PACKAGES[cluster.toolkit]}.cluster.ddata.DistributedData"]', "loglevel=DEBUG"]
    ports = free_ports(3)
    try:
        jvms = [jvm_one(cluster, ports[0], theirs)]
        jvms.append(cluster.start("j2", cluster.toolkit, ports[1], [jvms[0].address], theirs))
        data, start = Data(cluster), time.monotonic()
        first = cluster.start("s1", "sherd", ports[2], [jvms[0].address], ours)
        cluster.wait_up("one of ours with durable keys, and two JVM nodes")
        changed(data, jvms[0], 0, "all")
        changed(data, first, 1, "all")
        before = data.same(KEYS, "changed by both", fits=lambda key, value: is_as(value, outcome(KEYS[key], 2)))
        cluster.crash(first, by=jvms[0])
        spoil(folder, SPOILED)
        changed(data, jvms[1], 2, "all")

        for jvm in jvms:
            jvm.stop()
        try:
            second = cluster.start("s2", "sherd", ports[2], [jvms[0].address], ours)
            there = values(data, second)
            if there != {key: "held" if key in SPOILED else before[key] for key in KEYS}:
                raise Failed(f"from the damaged disk came {there}, not {before}")
            data.all_are([data.update(second, key, KEYS[key], "local", changes(KEYS[key], 3)) for key in SPOILED], "held")
            print(f"{cluster.toolkit}: {len(SPOILED)} keys are held, {len(there) - len(SPOILED)} are served, without a JVM node", flush=True)
        finally:
            for jvm in jvms:
                jvm.resume()
        wait(lambda: all(isinstance(value, Value) for value in values(data, second).values()),
             lambda: f"held still: {[key for key, value in values(data, second).items() if value == 'held']}", BUSY)
        cluster.wait_up("ours is back", BUSY)
        data.same(KEYS, "given back", fits=lambda key, value: is_as(value, outcome(KEYS[key], 3)))
        changed(data, second, 3, "all")
        data.same(KEYS, "of four lives", fits=lambda key, value: is_as(value, outcome(KEYS[key], 4)))
        rest(data, start)
    finally:
        shutil.rmtree(folder, ignore_errors=True)

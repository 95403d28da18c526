"""Tests damaged durable keys: a node of this library gets their values back from JVM nodes."""
import glob
import shutil
import struct
import tempfile
import time

from nodes import PACKAGES, Failed, free_ports, wait
from replicas import BUSY, SETTINGS, Data, Value, changes, is_as, outcome, rest
from steps import jvm_one
from stored import DURABLE, KEYS, changed, values

SPOILED = sorted(KEYS)[::2]  # the keys whose records are damaged
# head of a record: magic, version, cluster, number, sizes of key and value
HEAD = struct.Struct("<IBQQII")
MAGIC = b"SHDV"


def records(data):
    """Returns (key, begin and end of the value, number) of each record."""
    at, found = data.find(MAGIC), []
    while 0 <= at <= len(data) - HEAD.size:
        _, _, _, number, key_size, value_size = HEAD.unpack_from(data, at)
        begin = at + HEAD.size + key_size
        if begin + value_size <= len(data):
            found.append((data[at + HEAD.size:begin], begin, begin + value_size, number))
        at = data.find(MAGIC, at + 1)
    return found


def spoil(folder, keys):
    """Flips a bit in the last record of each key, in all copies of this record. Earlier records
    stay in free pages. The bit is in the first byte of the value, because another record may have
    overwritten the rest of a copy in a free page."""
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


def damaged_keys(cluster):
    """A node with damaged records holds those keys until other nodes have sent their values.

    Two JVM nodes and a node of ours change the keys at level all. Ours is killed, half of its last
    records are damaged, and a JVM node changes all keys. Ours starts again while both JVM nodes are
    suspended: reads and changes of damaged keys are answered "held", and the other keys have their
    old values. After the JVM nodes resume, our node has all changes, and can change every key."""
    folder = tempfile.mkdtemp(prefix="sherd-damaged-")
    ours = [*SETTINGS, *DURABLE, f'cluster.distributed-data.durable.lmdb.dir="{folder}/values"']
    theirs = [*SETTINGS, f'extensions=["{PACKAGES[cluster.toolkit]}.cluster.ddata.DistributedData"]', "loglevel=DEBUG"]
    ports = free_ports(3)
    try:
        jvms = [jvm_one(cluster, ports[0], theirs)]
        jvms.append(cluster.start("j2", cluster.toolkit, ports[1], [jvms[0].address], theirs))
        data, start = Data(cluster), time.monotonic()
        first = cluster.start("s1", "sherd", ports[2], [jvms[0].address], ours)
        cluster.wait_up("a node of ours with durable keys, and two JVM nodes")
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
                raise Failed(f"the damaged disk has {there}, not {before}")
            data.all_are([data.update(second, key, KEYS[key], "local", changes(KEYS[key], 3)) for key in SPOILED], "held")
            print(f"{cluster.toolkit}: {len(SPOILED)} keys are held, {len(there) - len(SPOILED)} are served, without a JVM node", flush=True)
        finally:
            for jvm in jvms:
                jvm.resume()
        wait(lambda: all(isinstance(value, Value) for value in values(data, second).values()),
             lambda: f"still held: {[key for key, value in values(data, second).items() if value == 'held']}", BUSY)
        cluster.wait_up("our node is back", BUSY)
        data.same(KEYS, "restored by JVM nodes", fits=lambda key, value: is_as(value, outcome(KEYS[key], 3)))
        changed(data, second, 3, "all")
        data.same(KEYS, "of four writers", fits=lambda key, value: is_as(value, outcome(KEYS[key], 4)))
        rest(data, start)
    finally:
        shutil.rmtree(folder, ignore_errors=True)

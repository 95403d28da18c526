"""Airports that distributed data remembers run again without a message: after SIGKILL of one node,
and of all nodes, because the keys are durable. The journal has the airports' events and no stream
of a shard. After `sherd journal remove-durable` none is remembered.

usage: remember_data_test.py AIRPORTS SHERD"""
import contextlib
import os
import sqlite3
import subprocess
import sys

from cluster import main, wait

PROGRAM = sys.argv.pop(2)

FED = 3000  # commands; most airports of the file have then received one


def streams(cluster):
    """Returns the number of shards' streams in the journal."""
    with contextlib.closing(sqlite3.connect(cluster.journal)) as database:
        return database.execute("SELECT count(*) FROM entity WHERE pid LIKE '|%'").fetchone()[0]


def remove(cluster, code, *words):
    done = subprocess.run([PROGRAM, "journal", "remove-durable", *words], capture_output=True, text=True, timeout=60)
    cluster.expect(done.returncode == code, f"remove-durable {words} ends with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def test(cluster):
    os.environ["SHERD__CLUSTER__SHARDING__REMEMBER_ENTITIES"] = "on"
    os.environ["SHERD__CLUSTER__SHARDING__REMEMBER_ENTITIES_STORE"] = "ddata"
    os.environ["SHERD__CLUSTER__DISTRIBUTED_DATA__DURABLE__LMDB__DIR"] = os.path.join(cluster.folder, "ddata")
    cluster.start_all()
    ports = [node.port for node in cluster.nodes]  # a node finds its durable keys by its port
    cluster.feed_until(lambda: cluster.acked() >= FED, "feeding")
    wait(lambda: not any(node.busy for node in cluster.nodes), "not all commands are acknowledged")
    looks = [-1]  # the entities of a shard do not run during its hand-off
    wait(lambda: looks.append(cluster.running()) or looks[-1] == looks[-2], "the number of entities keeps changing", 60, 1)
    count = looks[-1]
    cluster.expect(count > 100, f"only {count} airports run")
    cluster.expect(streams(cluster) == 0, "the journal has a shard's stream")
    print(f"{count} airports", flush=True)

    cluster.lose(cluster.nodes[-1])
    cluster.wait_running(count)
    print("one node killed: all airports run again", flush=True)

    for node in list(cluster.nodes):
        cluster.crash(node)
    for index, port in enumerate(ports):
        cluster.start(f"again{index + 1}", port=port)
        if index == 0:
            cluster.wait_up()
    cluster.wait_up()
    cluster.wait_running(count)
    print("all nodes killed and started: all airports run again", flush=True)
    cluster.expect(streams(cluster) == 0, "the journal has a shard's stream")
    folders = [os.path.join(folder, part) for folder, parts, _ in os.walk(cluster.folder) for part in parts]
    folders = [folder for folder in folders if os.path.exists(os.path.join(folder, "values.mdb"))]
    words = "Airport", "--cluster", "Airports"
    cluster.expect(len(folders) == len(ports), f"the folders are {folders}")
    remove(cluster, 4, folders[0], *words)
    cluster.stop_all()

    cluster.expect("0 keys removed" in remove(cluster, 0, folders[0], "Air", *words[1:]), "another type's keys are removed")
    cluster.expect("another cluster" in remove(cluster, 3, folders[0], "Airport", "--cluster", "other"), "another cluster's folder")
    for folder in folders:
        found = remove(cluster, 0, folder, *words, "--dry-run").splitlines()
        removed = remove(cluster, 0, folder, *words).splitlines()
        cluster.expect("shard-Airport-all" in removed and removed[:-1] == found[:-1], f"removed: {removed}")
        cluster.expect("0 keys removed" in remove(cluster, 0, folder, *words), "a key is left")
    cluster.gone += cluster.nodes
    cluster.nodes = []
    cluster.start("forgotten", port=ports[0])
    cluster.wait_up()
    cluster.expect(cluster.running() == 0, "an airport is remembered")
    cluster.stop_all()
    print("remove-durable: no airport is remembered", flush=True)


sys.exit(main(test, __doc__, flights=5000))

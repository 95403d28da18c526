"""Airports that are remembered in distributed data run again without a message: after kill -9 of one host, and, since their keys are
durable, after kill -9 of all of them. The journal, which airports have for their events, has nothing of it."""
import contextlib
import os
import sqlite3
import sys

from cluster import main, wait

FED = 3000  # commands: most airports of the file have had one


def streams(cluster):
    """Of shards, in the journal."""
    with contextlib.closing(sqlite3.connect(cluster.journal)) as database:
        return database.execute("SELECT count(*) FROM entity WHERE pid LIKE '|%'").fetchone()[0]


def test(cluster):
    os.environ["SHERD__CLUSTER__SHARDING__REMEMBER_ENTITIES"] = "on"
    os.environ["SHERD__CLUSTER__SHARDING__REMEMBER_ENTITIES_STORE"] = "ddata"
    os.environ["SHERD__CLUSTER__DISTRIBUTED_DATA__DURABLE__LMDB__DIR"] = os.path.join(cluster.folder, "ddata")
    cluster.start_all()
    ports = [node.port for node in cluster.nodes]  # a disk is its node's
    cluster.feed_until(lambda: cluster.acked() >= FED, "feeding")
    wait(lambda: not any(node.busy for node in cluster.nodes), "what was given is not acknowledged")
    looks = [-1]  # a shard on its way has nobody who runs
    wait(lambda: looks.append(cluster.running()) or looks[-1] == looks[-2], "entities come and go", 60, 1)
    count = looks[-1]
    cluster.expect(count > 100, f"only {count} airports were spoken to")
    cluster.expect(streams(cluster) == 0, "the journal has a shard's stream")
    print(f"{count} airports", flush=True)

    cluster.lose(cluster.nodes[-1])
    cluster.wait_running(count)
    print("one host killed: all are there", flush=True)

    for node in list(cluster.nodes):
        cluster.crash(node)
    for index, port in enumerate(ports):
        cluster.start(f"again{index + 1}", port=port)
        if index == 0:
            cluster.wait_up()
    cluster.wait_up()
    cluster.wait_running(count)
    print("all killed, started again: all are there", flush=True)
    cluster.expect(streams(cluster) == 0, "the journal has a shard's stream")
    cluster.stop_all()


sys.exit(main(test, __doc__, flights=5000))

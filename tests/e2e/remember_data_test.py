"""Airports that distributed data remembers run again without a message: after SIGKILL of one node,
and of all nodes, because the keys are durable. The journal has the airports' events and no stream
of a shard."""
import contextlib
import os
import sqlite3
import sys

from cluster import main, wait

FED = 3000  # commands; most airports of the file have then received one


def streams(cluster):
    """Returns the number of shards' streams in the journal."""
    with contextlib.closing(sqlite3.connect(cluster.journal)) as database:
        return database.execute("SELECT count(*) FROM entity WHERE pid LIKE '|%'").fetchone()[0]


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
    cluster.stop_all()


sys.exit(main(test, __doc__, flights=5000))

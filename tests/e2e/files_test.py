"""Tests a node whose journal's files are deleted, replaced or cut while it runs.

From then on it acknowledges nothing, logs an error within two seconds, and is not ready. It ends by
no signal. A node that starts at the same path with a new file does not join it."""
import os
import shutil
import sys

from cluster import main, wait

CHANGED = "under this node: nothing is stored any more"


def delete(path):
    os.remove(path)


def replace(path):
    shutil.copyfile(path, path + ".copy")
    os.rename(path + ".copy", path)


def cut(path):
    os.truncate(path, 0)


def feed(cluster, count):
    end = min(cluster.next + count, len(cluster.flights))
    wait(lambda: not cluster.feed_some() or cluster.next >= end, "the flights are not fed", 60)


def expect_lost(cluster, name, end, change):
    """Changes one file of a running node's journal."""
    cluster.journal = os.path.join(cluster.data, f"{name}.db")
    cluster.next = 0
    node = cluster.start(name, seeds=[])
    cluster.wait_up()
    cluster.expect(node.get_status()["ready"] == "1", f"{name}: the node is not ready at the start")
    feed(cluster, 50)
    wait(lambda: not node.busy, "the flights are not fed", 60)
    change(cluster.journal + end)
    acked = node.acked
    cluster.feed_some()
    wait(lambda: CHANGED in cluster.log(node), f"{name}: no error within 2 s", 2)
    events = node.get_status()["events"]  # it still answers
    wait(lambda: node.get_status()["ready"] == "0", f"{name}: the node is ready after 2 s", 2)
    cluster.feed_some()
    cluster.expect(node.get_status()["events"] == events, f"{name}: events were stored afterwards")
    cluster.expect(node.acked == acked, f"{name}: {node.acked - acked} events were acknowledged afterwards")
    node.process.kill()
    node.process.wait()
    cluster.forget(node)


def test(cluster):
    expect_lost(cluster, "deleted", "", delete)
    expect_lost(cluster, "log-deleted", "-wal", delete)
    expect_lost(cluster, "shared-deleted", "-shm", delete)
    expect_lost(cluster, "turn-deleted", "-turn", delete)
    expect_lost(cluster, "replaced", "", replace)
    expect_lost(cluster, "cut", "", cut)
    expect_lost(cluster, "shared-cut", "-shm", cut)
    expect_lost(cluster, "turn-cut", "-turn", cut)


sys.exit(main(test, __doc__, flights=1500))

"""Tests the strategy lease-majority with a lease in a file, which is changed under its holder.

One node of three is killed, and another one takes the lease. Then the file is deleted, replaced or
cut. The holder says within two seconds that the lease is lost, and does not renew it. All nodes are
not ready until there is a file again."""
import os
import shutil
import sys
import time

from cluster import main, wait

RESOLVER = "SHERD__CLUSTER__SPLIT_BRAIN_RESOLVER__"


def delete(path):
    os.remove(path)


def replace(path):
    shutil.copyfile(path, path + ".copy")
    os.rename(path + ".copy", path)


def cut(path):
    os.truncate(path, 0)


def holder_in(path):
    try:
        with open(path) as file:
            words = file.read().split()
    except FileNotFoundError:
        return None
    return words[1] if len(words) == 4 and words[1] != "-" else None


def is_ready(node):
    return node.get_status()["ready"] == "1"


def change_under_holder(cluster, path, change, what):
    cluster.start_all()
    cluster.expect(os.path.exists(path), "a node makes the file of its lease at the start")
    cluster.expect(all(is_ready(node) for node in cluster.nodes), "a node is not ready at the start")
    victim = cluster.nodes[2]
    cluster.crash(victim)
    cluster.wait_gone(victim)
    holder = next(node for node in cluster.nodes if node.address == holder_in(path))
    other = next(node for node in cluster.nodes if node is not holder)
    change(path)
    wait(lambda: f"{path} was {what} under this node: the lease is lost" in cluster.log(holder), f"{what}: no error within 2 s", 2)
    wait(lambda: f"{path} was {what} under this node: no lease is held in it" in cluster.log(other), f"{what}: the other node says nothing", 5)
    wait(lambda: 'msg="lease is free"' in cluster.log(holder), f"{what}: the lease is not lost", 10)
    if change is not replace:  # the other file is there at once
        cluster.expect(not any(is_ready(node) for node in cluster.nodes), f"{what}: a node is ready without a lease file")
        time.sleep(4)  # several renewals
        cluster.expect(holder_in(path) is None, f"{what}: the lost lease is renewed")
        cluster.start("again")  # makes the file
    wait(lambda: all(is_ready(node) for node in cluster.nodes), f"{what}: the nodes are not ready with a new file", 30)
    print(what, flush=True)
    cluster.stop_all()
    cluster.gone += cluster.nodes
    cluster.nodes = []


def test(cluster):
    folder = os.path.join(cluster.folder, "leases")
    os.mkdir(folder)
    os.environ.update({
        "SHERD__CLUSTER__DOWNING_PROVIDER_CLASS": "akka.cluster.sbr.SplitBrainResolverProvider",
        RESOLVER + "ACTIVE_STRATEGY": "lease-majority",
        RESOLVER + "STABLE_AFTER": "4s",
        RESOLVER + "LEASE_MAJORITY__LEASE_IMPLEMENTATION": "file",
        "SHERD__COORDINATION__LEASE__HEARTBEAT_INTERVAL": "1s",
        "SHERD__LEASE__DIRECTORY": folder,
    })
    for change, what in ((delete, "deleted"), (replace, "replaced"), (cut, "cut")):
        change_under_holder(cluster, os.path.join(folder, "Airports-akka-sbr.lease"), change, what)
        shutil.rmtree(folder)
        os.mkdir(folder)


sys.exit(main(test, __doc__, flights=100))

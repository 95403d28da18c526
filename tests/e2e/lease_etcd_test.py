"""Tests the strategy lease-majority with a lease in a real etcd, which the test starts and ends.

1. One node of three is killed. The other two continue, and one of them holds the lease.
2. Two nodes of three are stopped. The third takes the lease, although it is the minority, and
   continues alone. After the two resume, they end, because the other side has the lease or has
   removed them.

Two sides never continue at the same time."""
import os
import signal
import sys

from cluster import free_port, main, stop_process, wait
from etcd import Etcd

ETCD = sys.argv.pop(2)
RESOLVER = "SHERD__CLUSTER__SPLIT_BRAIN_RESOLVER__"
LEASE = "Airports-akka-sbr"


def killed(cluster, etcd):
    cluster.start_all()
    cluster.feed_until(lambda: cluster.acked() > 500, "feeding")
    cluster.expect(etcd.holder(LEASE) is None, "a node holds the lease although no member is unreachable")
    victim = cluster.nodes[2]
    cluster.crash(victim)
    cluster.wait_gone(victim)
    holder = etcd.holder(LEASE)
    cluster.expect(holder in [node.address for node in cluster.nodes], f"the holder of the lease is {holder}")
    cluster.check_members()
    cluster.feed_again(victim)
    cluster.feed_all()
    cluster.check_exact()
    wait(lambda: etcd.holder(LEASE) is None, "the lease is not released", 60, 0.2)
    print("killed", flush=True)
    cluster.stop_all()
    cluster.gone += cluster.nodes
    cluster.nodes = []


def have_met(cluster):
    """Only a node that has connected to another one is told that this one removed it."""
    return all(f"msg=open peer={other.address} stream=1" in cluster.log(node)
               for node in cluster.nodes for other in cluster.nodes if other is not node)


def stopped(cluster, etcd):
    cluster.start_all()
    wait(lambda: have_met(cluster), "the nodes do not connect", 30, 0.1)
    alone, others = cluster.nodes[2], cluster.nodes[:2]
    for node in others:
        stop_process(node)
    cluster.nodes = [alone]
    for node in others:
        cluster.wait_gone(node)
    cluster.expect(etcd.holder(LEASE) == alone.address, f"the holder of the lease is {etcd.holder(LEASE)}")
    for node in others:
        os.kill(node.process.pid, signal.SIGCONT)
    for node in others:
        wait(lambda: node.ended(), f"{node.name} continues beside {alone.name}", 90, 0.2)
    cluster.gone += others
    cluster.check_members()
    print("stopped", flush=True)
    cluster.stop_all()


def test(cluster):
    etcd = Etcd(ETCD, cluster.folder)
    os.environ.update({
        "SHERD__CLUSTER__DOWNING_PROVIDER_CLASS": "akka.cluster.sbr.SplitBrainResolverProvider",
        RESOLVER + "ACTIVE_STRATEGY": "lease-majority",
        RESOLVER + "STABLE_AFTER": "4s",
        RESOLVER + "LEASE_MAJORITY__LEASE_IMPLEMENTATION": "etcd",
        RESOLVER + "LEASE_MAJORITY__RELEASE_AFTER": "5s",
        # No server listens on the first endpoint.
        "SHERD__LEASE__ETCD__ENDPOINTS": f"http://127.0.0.1:{free_port()}, {etcd.url}",
    })
    try:
        killed(cluster, etcd)
        stopped(cluster, etcd)
    finally:
        etcd.end()


sys.exit(main(test, __doc__, flights=2000))

"""Tests the strategy lease-majority with a lease in a real etcd, which the test starts and ends.

1. One node of three is killed. The other two continue, and one of them holds the lease.
2. Two nodes of three are stopped. The third takes the lease, although it is the minority, and
   continues alone. After the two resume, they end, because the other side has the lease or has
   removed them.

Two sides never continue at the same time."""
import base64
import json
import os
import signal
import subprocess
import sys
import urllib.request

from cluster import main, stop_process, wait
from airports_demo import free_port

ETCD = sys.argv.pop(2)
RESOLVER = "SHERD__CLUSTER__SPLIT_BRAIN_RESOLVER__"


class Etcd:
    def __init__(self, folder):
        self.url = f"http://127.0.0.1:{free_port()}"
        peer = f"http://127.0.0.1:{free_port()}"
        self.log = open(os.path.join(folder, "etcd.txt"), "w")
        self.process = subprocess.Popen(
            [ETCD, "--name", "one", "--data-dir", os.path.join(folder, "etcd"), "--unsafe-no-fsync",
             "--listen-client-urls", self.url, "--advertise-client-urls", self.url,
             "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"one={peer}"],
            stdout=self.log, stderr=self.log)
        wait(self.answers, "etcd does not answer", 30, 0.1)

    def ask(self, path, question):
        request = urllib.request.Request(self.url + path, json.dumps(question).encode())
        with urllib.request.urlopen(request, timeout=5) as reply:
            return json.load(reply)

    def answers(self):
        try:
            return bool(self.holder() or True)
        except OSError:
            return False

    def holder(self):
        key = base64.b64encode(b"/sherd/leases/Airports-akka-sbr").decode()
        found = self.ask("/v3/kv/range", {"key": key}).get("kvs", [])
        return base64.b64decode(found[0]["value"]).decode() if found else None

    def end(self):
        self.process.kill()
        self.process.wait()
        self.log.close()


def killed(cluster, etcd):
    cluster.start_all()
    cluster.feed_until(lambda: cluster.acked() > 500, "feeding")
    cluster.expect(etcd.holder() is None, "a node holds the lease although no member is unreachable")
    victim = cluster.nodes[2]
    cluster.crash(victim)
    cluster.wait_gone(victim)
    holder = etcd.holder()
    cluster.expect(holder in [node.address for node in cluster.nodes], f"the holder of the lease is {holder}")
    cluster.check_members()
    cluster.feed_again(victim)
    cluster.feed_all()
    cluster.check_exact()
    wait(lambda: etcd.holder() is None, "the lease is not released", 60, 0.2)
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
    cluster.expect(etcd.holder() == alone.address, f"the holder of the lease is {etcd.holder()}")
    for node in others:
        os.kill(node.process.pid, signal.SIGCONT)
    for node in others:
        wait(lambda: node.ended(), f"{node.name} continues beside {alone.name}", 90, 0.2)
    cluster.gone += others
    cluster.check_members()
    print("stopped", flush=True)
    cluster.stop_all()


def test(cluster):
    etcd = Etcd(cluster.folder)
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

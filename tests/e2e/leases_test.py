"""Tests leases of shards, coordinators and a singleton with real processes, in files or in a real etcd.

usage: leases_test.py PROGRAM [ETCD]

Three nodes run entities, and the instance of a singleton, that write down each message that they handle
(leased_node.c). The keeper of some shards, in steps 1 to 3 also of the instance,

1. is killed: the others serve its shards when its leases have expired,
2. is stopped for longer than its leases last, and resumed: it handles nothing any more,
3. leaves: its shards are served elsewhere at once,
4. is cut off from etcd: its entities stop in time and start again when etcd can be reached; it then
   leaves while it is cut off, and the others serve its shards when its leases have expired.

After each step no entity, nor the instance, may have run on a node after it started on another one."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from cluster import Failed, free_port, wait
from etcd import Etcd, Proxy

PUMPS = 32  # as in leased_node.c
TTL = 8     # seconds
SOON = 5    # less than that
LATE = 90   # on a busy machine


def settings(folder, provider):
    found = dict(os.environ)
    found.update({
        "SHERD__CLUSTER__DOWNING_PROVIDER_CLASS": "akka.cluster.sbr.SplitBrainResolverProvider",
        "SHERD__CLUSTER__SPLIT_BRAIN_RESOLVER__STABLE_AFTER": "2s",
        "SHERD__CLUSTER__SHARDING__USE_LEASE": provider,
        "SHERD__CLUSTER__SINGLETON__USE_LEASE": provider,
        "SHERD__CLUSTER__SHARDING__LEASE_RETRY_INTERVAL": "1s",
        "SHERD__CLUSTER__SINGLETON__LEASE_RETRY_INTERVAL": "1s",
        "SHERD__CLUSTER__SHARDING__REBALANCE_INTERVAL": "1s",
        "SHERD__CLUSTER__SHARDING__LEAST_SHARD_ALLOCATION_STRATEGY__REBALANCE_ABSOLUTE_LIMIT": "16",
        "SHERD__CLUSTER__SHARDING__LEAST_SHARD_ALLOCATION_STRATEGY__REBALANCE_RELATIVE_LIMIT": "1.0",
        "SHERD__COORDINATION__LEASE__HEARTBEAT_TIMEOUT": f"{TTL}s",
        "SHERD__COORDINATION__LEASE__HEARTBEAT_INTERVAL": "1s",
        "SHERD__COORDINATION__LEASE__LEASE_OPERATION_TIMEOUT": "2s",
        "SHERD__LEASE__ETCD__REQUEST_TIMEOUT": "1s",
        "SHERD__LEASE__DIRECTORY": folder,
    })
    return found


class Node:
    def __init__(self, place, port, url):
        self.port = port
        self.name = f"127.0.0.1:{port}"
        self.log = os.path.join(place.folder, f"{port}.log")
        environment = dict(place.settings)
        if url:
            environment["SHERD__LEASE__ETCD__ENDPOINTS"] = url
        with open(self.log, "w") as log:
            self.process = subprocess.Popen([place.program, str(port), ",".join(place.seeds), place.events],
                                            env=environment, stdout=log, stderr=log)

    def text(self):
        with open(self.log, errors="replace") as file:
            return file.read()


class Place:
    """The nodes, the events that they have written, and what they say about each entity."""

    def __init__(self, program, provider, etcd):
        self.program = program
        self.folder = tempfile.mkdtemp(prefix="sherd-leases-")
        self.events = os.path.join(self.folder, "events")
        leases = os.path.join(self.folder, "leases")
        os.mkdir(leases)
        self.settings = settings(leases, provider)
        self.etcd = Etcd(etcd, self.folder) if etcd else None
        self.proxies = {}
        self.nodes = []
        self.seeds = []
        self.gone = []
        self.read = 0          # bytes of the events
        self.began = 0         # monotonic ns: what runs later counts as running now
        self.owner = {}        # of each entity: the port where it started last
        self.running = {}      # where each entity ran since `began`
        self.desk = None       # where the instance did
        self.handled = 0
        self.errors = []

    def start(self):
        port = free_port()
        url = None
        if self.etcd:
            self.proxies[port] = Proxy(self.etcd.port)
            url = f"http://127.0.0.1:{self.proxies[port].port}"
        # the first node founds the cluster
        self.seeds = [node.name for node in self.nodes] or [f"127.0.0.1:{port}"]
        self.nodes.append(Node(self, port, url))
        return self.nodes[-1]

    def look(self):
        """Reads the events. They are in order, as each is one write."""
        with open(self.events) as file:
            file.seek(self.read)
            text = file.read()
        text = text[:text.rfind("\n") + 1]
        self.read += len(text)
        for line in text.splitlines():
            at, port, pump, what = line.split()
            if what == "start":
                self.owner[pump] = port
            elif what == "run":
                self.handled += 1
                if self.owner.get(pump) != port:
                    self.errors.append(f"{pump} ran on {port} after it started on {self.owner.get(pump)}")
                if int(at) >= self.began and pump == "desk":
                    self.desk = int(port)
                elif int(at) >= self.began:
                    self.running[pump] = int(port)
        if self.errors:
            raise Failed(f"{len(self.errors)} runs in two places, such as: {self.errors[0]}")

    def again(self):
        """Forgets where entities ran until now."""
        self.look()
        self.began = time.monotonic_ns()
        self.running = {}
        self.desk = None

    def on(self, node):
        return [pump for pump, port in self.running.items() if port == node.port]

    def await_all(self, nodes, seconds, what):
        """Waits until the instance and all entities run on these nodes, and on each of them some."""
        self.again()

        def all_run():
            self.look()
            return self.desk in [node.port for node in nodes] and len(self.running) == PUMPS and all(self.on(node) for node in nodes) and \
                sum(len(self.on(node)) for node in nodes) == PUMPS
        began = time.monotonic()
        wait(all_run, what, seconds, 0.1)
        return time.monotonic() - began

    def remove(self, node):
        self.nodes.remove(node)
        self.gone.append(node)

    def end(self, keep):
        for node in self.nodes + self.gone:
            if node.process.poll() is None:
                node.process.kill()
            node.process.wait()
            if keep:
                print(f"--- {node.name}\n" + "\n".join(node.text().splitlines()[-30:]))
        for proxy in self.proxies.values():
            proxy.end()
        if self.etcd:
            self.etcd.end()
        shutil.rmtree(self.folder)


def expect(condition, what):
    if not condition:
        raise Failed(what)


def killed(place):
    victim = place.nodes[0]  # it has the coordinator, too
    victim.process.kill()
    victim.process.wait()
    place.remove(victim)
    took = place.await_all(place.nodes, LATE, "the shards of a killed node are not served")
    print(f"killed: served again after {took:.1f} s", flush=True)


def stopped(place):
    victim = place.nodes[0]
    os.kill(victim.process.pid, signal.SIGSTOP)
    place.remove(victim)
    place.await_all(place.nodes, LATE, "the shards of a stopped node are not served")
    place.again()
    os.kill(victim.process.pid, signal.SIGCONT)
    wait(lambda: victim.process.poll() is not None, "the resumed node does not end", LATE, 0.1)
    place.look()
    expect(not place.on(victim), "entities ran on the resumed node")
    expect(place.desk != victim.port, "the singleton ran on the resumed node")
    print("stopped: nothing ran after it was resumed", flush=True)


def left(place):
    victim = place.nodes[0]
    victim.process.terminate()
    expect(victim.process.wait(LATE) == 0, "a node that leaves fails")
    place.remove(victim)
    took = place.await_all(place.nodes, LATE, "the shards of a node that left are not served")
    for node in place.nodes:
        expect("not acquired" not in node.text(), "a lease of a node that left was refused")
    print(f"left: served again after {took:.1f} s", flush=True)


def is_silent(place, node):
    """Whether no entity runs on the node while those of other nodes handle 300 messages."""
    place.again()
    enough = place.handled + 300
    wait(lambda: place.look() or place.handled >= enough, "entities of other nodes do not run", LATE)
    return not place.on(node)


def cut_off(place):
    victim = place.nodes[-1]
    proxy = place.proxies[victim.port]
    place.await_all(place.nodes, LATE, "entities do not run on all nodes")
    own = set(place.on(victim))
    proxy.cut(True)
    wait(lambda: "leases lost" in victim.text(), "a node that is cut off from etcd keeps its leases", TTL + SOON, 0.1)
    wait(lambda: is_silent(place, victim), "entities run on a node without leases", SOON)
    expect(not own & set(place.running), "entities run elsewhere, but their node was not removed")
    proxy.cut(False)
    took = place.await_all(place.nodes, LATE, "entities do not start again when etcd can be reached")
    print(f"cut off: {len(own)} entities stopped, and ran again {took:.1f} s after etcd was back", flush=True)
    proxy.cut(True)
    victim.process.terminate()
    victim.process.wait(LATE)
    place.remove(victim)
    took = place.await_all(place.nodes, LATE, "the shards of a node that left while it was cut off are not served")
    print(f"cut off: it left, served again after {took:.1f} s", flush=True)


def test(place):
    for _ in range(3):
        place.start()
    wait(lambda: os.path.exists(place.events), "no entity starts", LATE, 0.1)
    place.await_all(place.nodes, LATE, "the entities do not run on all nodes")
    left(place)
    place.start()
    place.await_all(place.nodes, LATE, "the entities do not run on a new node")
    killed(place)
    place.start()
    place.await_all(place.nodes, LATE, "the entities do not run on a new node")
    stopped(place)
    place.start()
    place.await_all(place.nodes, LATE, "the entities do not run on a new node")
    if place.etcd:
        cut_off(place)
    place.look()
    print(f"{place.handled} messages handled, each in one place at a time", flush=True)


def main():
    etcd = sys.argv[2] if len(sys.argv) > 2 else None
    place = Place(sys.argv[1], "etcd" if etcd else "file", etcd)
    is_good = False
    try:
        test(place)
        is_good = True
    except (Failed, OSError, subprocess.TimeoutExpired) as error:
        print(f"FAILED: {error}")
    finally:
        place.end(not is_good)
    print("ok" if is_good else "failed")
    return 0 if is_good else 1


sys.exit(main())

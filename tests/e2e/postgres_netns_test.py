"""Cuts nodes off from PostgreSQL or from each other, with network namespaces as hosts, and kills the
server and nodes. Each host has one link to the cluster's network and one to the server's.

1. A node's link to the server is cut for longer than a group waits. It is not ready, the others go on, and it
   comes back without a restart.
2. A node is cut off from the cluster, and not from the server. Its shards get new owners, and it is fenced.
3. The server is killed, then a node, then both together.

usage: postgres_netns_test.py AIRPORTS"""
import os
import re
import shlex
import subprocess
import sys
import time

from alone import run_alone
from cluster import ROOT
from postgres_cluster import PostgresCluster, run

HOSTS = 3
CLUSTER, SERVER = "10.77.0", "10.78.0"  # the first three bytes of the networks' addresses
GATE = 254  # the server's host in its network
CONFIG = ("sherd.journal.postgres.group-timeout = 1 s\nakka.remote.artery.canonical.hostname = {}\n"
          "sherd.remote.allow-plain = on\n")


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def lay_link(host, network, bridge):
    """Connects a host to a bridge. Its end has the name of the network, as c or s."""
    name = f"{network}{host}"
    ip("link", "add", name, "type", "veth", "peer", "name", network, "netns", f"host{host}")
    ip("link", "set", name, "master", bridge, "up")
    prefix = CLUSTER if network == "c" else SERVER
    ip("-n", f"host{host}", "address", "add", f"{prefix}.{host}/24", "dev", network)
    ip("-n", f"host{host}", "link", "set", network, "up")


def make_hosts():
    """The test's own namespace is the server's host. It has no address in the cluster's network."""
    os.makedirs("/run/netns", exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "none", "/run/netns"], check=True)
    ip("link", "set", "lo", "up")
    for bridge in "cluster", "server":
        ip("link", "add", bridge, "type", "bridge")
        ip("link", "set", bridge, "up")
    ip("address", "add", f"{SERVER}.{GATE}/24", "dev", "server")
    for host in range(1, HOSTS + 1):
        ip("netns", "add", f"host{host}")
        ip("-n", f"host{host}", "link", "set", "lo", "up")
        lay_link(host, "c", "cluster")
        lay_link(host, "s", "server")


class HostsCluster(PostgresCluster):
    """Each node is on a host of its own; a new node takes the host of one that is gone."""

    def __init__(self, program, server, nodes, flights):
        super().__init__(program, server, nodes, flights)
        self.binary = self.program
        self.journal += f" host={SERVER}.{GATE} sslmode=disable"

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def start(self, name, seeds=None, port=None):
        host = int(name[1:])
        with open(os.path.join(ROOT, "examples", "airports.conf")) as file:
            config = self.write(f"{name}.conf", file.read() + CONFIG.format(f"{CLUSTER}.{host}"))
        self.program = self.write(f"{name}.sh", f'#!/bin/sh\nexec ip netns exec host{host} {shlex.quote(self.binary)} "$@"\n')
        os.chmod(self.program, 0o755)
        self.extra = ["--config", config]
        node = super().start(name, seeds, port)
        node.address = f"{CLUSTER}.{host}:{node.port}"
        node.host = host
        return node

    def set_link(self, node, network, state):
        ip("-n", f"host{node.host}", "link", "set", network, state)

    def logged(self, node, pattern):
        return re.search(pattern, self.log(node)) is not None

    def feed_part(self, part):
        self.feed_until(lambda: self.acked() >= 2 * len(self.flights) * part, "feeding")

    def feed_for(self, seconds):
        end = time.monotonic() + seconds
        self.feed_until(lambda: time.monotonic() > end, "feeding")


def a_node_without_the_server_comes_back(cluster):
    lone, other = cluster.nodes[1], cluster.nodes[0]
    cluster.set_link(lone, "s", "down")
    before = other.acked
    cluster.feed_until(lambda: cluster.logged(lone, "the node is not ready") and other.acked > before, "feeding")
    cluster.feed_for(3)
    cluster.check_members()
    cluster.expect(not cluster.logged(other, "the node is not ready"), "a node with its server is not ready")
    cluster.set_link(lone, "s", "up")
    cluster.feed_until(lambda: cluster.logged(lone, "journal stores again"), "feeding")


def a_node_without_the_cluster_is_fenced(cluster):
    """It goes on with many commands that it was given, for the shards that it had."""
    lone = cluster.nodes[2]
    before = cluster.fences()
    cluster.feed_until(lambda: not lone.busy, "feeding")
    cluster.give(lone, 600, 200)
    cluster.set_link(lone, "c", "down")
    cluster.forget(lone)
    cluster.down(lone)
    cluster.wait_gone(lone)
    cluster.expect(lone.process.poll() is None, "the node ended before it could be fenced")
    cluster.feed_again(lone)
    cluster.feed_until(lambda: cluster.logged(lone, "shard fenced"), "feeding")
    cluster.expect(any(cluster.fences()[shard] > fence for shard, fence in before.items()), "no shard has a new owner")
    cluster.set_link(lone, "c", "up")
    cluster.feed_until(lambda: lone.process.poll() is not None, "feeding")


def the_server_and_nodes_are_killed(cluster):
    cluster.start("n3")
    cluster.wait_up()
    cluster.server.crash()
    cluster.feed_for(0.5)
    cluster.server.start()
    cluster.feed_for(1)
    victim = cluster.nodes[1]
    cluster.lose(victim)
    cluster.feed_again(victim)
    cluster.start("n2")
    cluster.wait_up()
    cluster.feed_for(1)
    victim = cluster.nodes[1]
    cluster.lose_with_server(victim)
    cluster.feed_again(victim)


def nothing_acknowledged_is_lost(cluster):
    """One cluster goes through all of it."""
    with open(os.path.join(cluster.server.data, "pg_hba.conf"), "a") as file:
        file.write(f"host all all {SERVER}.0/24 trust\n")
    cluster.server.sql("SELECT pg_reload_conf()")
    cluster.start_all()
    cluster.set_rate(400)
    cluster.feed_part(0.1)
    for step in a_node_without_the_server_comes_back, a_node_without_the_cluster_is_fenced, the_server_and_nodes_are_killed:
        print(f"{step.__name__} at {cluster.acked()} acknowledged commands", flush=True)
        step(cluster)
    cluster.set_rate(8000)
    cluster.feed_all()
    cluster.check_exact()


def main():
    if not run_alone("--mount", "--net"):
        print("skipped: no network namespaces may be made here: root is needed")
        return 77
    make_hosts()
    return run([nothing_acknowledged_is_lost], HOSTS, settings=["listen_addresses=*"], kind=HostsCluster)


if __name__ == "__main__":
    sys.exit(main())

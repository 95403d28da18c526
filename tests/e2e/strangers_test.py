"""Attacks a cluster without TLS, as a program can that reaches its ports: joins for addresses where
nobody listens, silent connections, and a flood of handshakes. The members stay, a new node joins,
and every command counts once."""
import socket
import sys
import time

import wire
from cluster import free_port, main, wait

SYSTEM = "Airports"
FAKES = 20
SILENT = 64  # more than one address may have
FLOOD = 1000


def profile(node):
    """Returns a request to join of this node."""
    return wire.field(1, node.cluster_unique()) + wire.field(2, "dc-default") + wire.field(3, "0.0.0")


def answer(sender):
    return wire.frame(wire.envelope(sender.uid, wire.ARTERY, "e", wire.field(1, sender.unique())))


def fake_joins(cluster, target):
    for index in range(FAKES):
        stranger = wire.Node(SYSTEM, free_port(), 0x7000000000000000 + index)
        wire.send(target, wire.PREAMBLE + bytes([wire.CONTROL]), wire.handshake(stranger, target), answer(stranger),
                  wire.to_daemon(stranger, target, "J", profile(stranger)), answer(stranger))
        cluster.feed_some()
    node = cluster.nodes[0]
    wait(lambda: cluster.log(node).count("join refused: nothing at the joiner's address answered") >= FAKES,
         "the node does not refuse all joins", 30, 0.2)
    cluster.check_members()
    print(f"{FAKES} joins of a stranger refused", flush=True)


def fake_restart(cluster, target, other):
    """Claims the address of a member with another uid. The node must not down that member."""
    stranger = wire.Node(SYSTEM, other.port, 0x7100000000000000)
    wire.send(target, wire.PREAMBLE + bytes([wire.CONTROL]),
              wire.to_daemon(stranger, target, "J", profile(stranger)))
    cluster.feed_some()
    cluster.check_members()


def stranger_downs(cluster, target, other):
    stranger = wire.Node(SYSTEM, free_port(), 0x7200000000000000)
    address = wire.field(1, SYSTEM) + wire.field(2, "127.0.0.1") + wire.field(3, other.port) + wire.field(4, "akka")
    for manifest in ("D", "L"):
        wire.send(target, wire.PREAMBLE + bytes([wire.CONTROL]), wire.handshake(stranger, target),
                  wire.to_daemon(stranger, target, manifest, address))
    cluster.feed_some()
    cluster.check_members()
    print("a stranger's Down and Leave ignored", flush=True)


def silent_connections(cluster, target):
    """A node joins while silent connections from its own address fill the limit."""
    silent = [wire.connect(target) for _ in range(SILENT)]
    try:
        cluster.start("n3")
        cluster.wait_up()
    finally:
        for sock in silent:
            sock.close()
    cluster.expect("this one is silent" in cluster.log(cluster.nodes[0]), "the node does not log that it closed silent connections")
    print(f"a node joined beside {SILENT} silent connections", flush=True)


def flood(cluster, target):
    began = time.monotonic()
    for index in range(FLOOD):
        stranger = wire.Node(SYSTEM, 1 + index, 0x7300000000000000 + index, host="127.0.0.9")
        with socket.create_connection((target.host, target.port), timeout=10) as sock:
            sock.sendall(wire.PREAMBLE + bytes([wire.CONTROL]) + wire.handshake(stranger, target))
        if index % 50 == 0:
            cluster.feed_some()
    print(f"{FLOOD} handshakes of strangers in {time.monotonic() - began:.1f} s", flush=True)
    cluster.check_members()


def test(cluster):
    cluster.start_all()
    cluster.rate = 2000
    target = wire.Node(SYSTEM, cluster.nodes[0].port, 0)
    other = wire.Node(SYSTEM, cluster.nodes[1].port, 0)
    fake_joins(cluster, target)
    fake_restart(cluster, target, other)
    stranger_downs(cluster, target, other)
    silent_connections(cluster, target)
    flood(cluster, target)
    cluster.feed_all()
    cluster.check_members()
    cluster.check_exact()
    cluster.stop_all()


sys.exit(main(test, __doc__, nodes=2, flights=4000))

"""Attacks a cluster without TLS, as a program can that reaches its ports: joins for addresses where
nobody listens, silent connections, handshakes in a member's name, and a flood of handshakes. The
members stay, a new node and a restarted one join, and every command counts once."""
import itertools
import socket
import sys
import threading
import time

import wire
from cluster import free_port, main, wait

SYSTEM = "Airports"
FAKES = 20
SILENT = 64  # more than one address may have
FLOOD = 9000  # more than a node has places for peers
HELD = 512    # connections that strangers hold open


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


def connect(target, index):
    """Connects from one of many addresses of this host: each may have a few connections that say nothing yet."""
    sock = socket.socket()
    sock.settimeout(10)
    sock.bind((f"127.9.{index >> 8 & 255}.{1 + index % 254}", 0))
    sock.connect((target.host, target.port))
    return sock


def hello(stranger, target, stream=wire.CONTROL):
    return wire.PREAMBLE + bytes([stream]) + wire.handshake(stranger, target)


def flood(cluster, target):
    """Handshakes of more nodes than the target can keep, on connections for control and for lanes. A new node joins during them."""
    began = time.monotonic()
    held = []
    for index in range(FLOOD):
        stranger = wire.Node(SYSTEM, 1 + index % 999, 0x7300000000000000 + index, host=f"127.7.{index >> 8}.{1 + index % 254}")
        sock = connect(target, index)
        sock.sendall(hello(stranger, target, wire.ORDINARY if index % 2 else wire.CONTROL))
        held.append(sock)
        if len(held) > HELD:
            held.pop(0).close()
        if index % 500 == 0:
            cluster.feed_some()
        if index == FLOOD - 2000:
            cluster.start("n4")
    print(f"{FLOOD} handshakes of strangers in {time.monotonic() - began:.1f} s", flush=True)
    cluster.wait_up()
    log = cluster.log(cluster.nodes[0])
    cluster.expect("too many nodes that do not answer, the oldest are forgotten" in log, "the node does not log that it forgets strangers")
    for sock in held:
        sock.close()
    cluster.check_members()


def claim(target, address, ended):
    """Names a node's address with ever new uids, and answers for it, until the end."""
    for index in itertools.count():
        if ended.is_set():
            return
        stranger = wire.Node(SYSTEM, address.port, 0x7400000000000000 + index)
        stream = wire.ORDINARY if index % 4 == 3 else wire.CONTROL
        try:
            with connect(target, index) as sock:
                sock.sendall(hello(stranger, target, stream) + (answer(stranger) if stream == wire.CONTROL else b""))
                time.sleep(0.005)
        except OSError:
            pass


def claims(cluster, target):
    """Handshakes in a member's name cut it off from no member. When it is killed and started again, it joins in spite of them."""
    node = cluster.nodes[1]
    address = wire.Node(SYSTEM, node.port, 0)
    ended = threading.Event()
    stranger = threading.Thread(target=claim, args=(target, address, ended), daemon=True)
    stranger.start()
    try:
        for _ in range(5):
            cluster.feed_some()
        wait(lambda: "another node claims the address of a peer" in cluster.log(cluster.nodes[0]), "the node does not log the claims", 20)
        wait(lambda: not any(one.busy for one in cluster.nodes), "not all commands are acknowledged")
        cluster.check_members()
        log = cluster.log(cluster.nodes[0])
        for text in ("new incarnation", "connection lost"):
            cluster.expect(text not in log, f"the node logs '{text}'")
        cluster.crash(node)
        began = time.monotonic()
        cluster.start(node.name, port=node.port)
        cluster.wait_up()
        print(f"a killed member started again and joined in {time.monotonic() - began:.1f} s", flush=True)
    finally:
        ended.set()
        stranger.join()
    cluster.check_members()


def test(cluster):
    cluster.start_all()
    cluster.rate = 2000
    target = wire.Node(SYSTEM, cluster.nodes[0].port, 0)
    other = wire.Node(SYSTEM, cluster.nodes[1].port, 0)
    fake_joins(cluster, target)
    fake_restart(cluster, target, other)
    stranger_downs(cluster, target, other)
    claims(cluster, target)
    silent_connections(cluster, target)
    flood(cluster, target)
    cluster.feed_all()
    cluster.check_members()
    cluster.check_exact()
    cluster.stop_all()


sys.exit(main(test, __doc__, nodes=2, flights=4000))

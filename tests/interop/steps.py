"""Steps that cases of the interop tests share."""
import re
import time

from nodes import AT_ONCE, PACKAGES, Failed, free_ports, wait

FOUNDER_HOST = "127.0.0.2"  # above that of all others: its node leads only when no other one is there


def found(cluster, port, settings=()):
    """Who is the seed of all that a case starts: the first JVM node, at that port; or, where this library's kind is to found the case's
    cluster, one more node of it, which does, and stays until the case is over."""
    cluster.seeds = [f"127.0.0.1:{port}"]
    if cluster.founder == "sherd":
        port = free_ports(1)[0]
        cluster.seeds = [f"{FOUNDER_HOST}:{port}"]
        cluster.seed_node = cluster.start("f0", "sherd", port, cluster.seeds, settings, host=FOUNDER_HOST)
        cluster.wait_up("it founded a cluster")


def jvm_one(cluster, port, settings=(), founders=()):
    """A JVM node alone in a cluster, but for who founds it; founders: settings of a node of this library that does."""
    found(cluster, port, founders)
    first = cluster.start("j1", cluster.toolkit, port, cluster.seeds, settings)
    cluster.wait_up("a JVM node")
    return first


def jvm_pair(cluster, ports, settings=(), founders=()):
    """A cluster of two JVM nodes, and of who founds it; those that stand already, where the case before left them."""
    if cluster.standing:
        return alone(cluster, settings, founders)
    found(cluster, ports[0], founders)
    first = cluster.start("j1", cluster.toolkit, ports[0], cluster.seeds, settings)
    second = cluster.start("j2", cluster.toolkit, ports[1], cluster.seeds, settings)
    cluster.wait_up("two JVM nodes")
    return first, second


def alone(cluster, settings, founders):
    """Two JVM nodes stand, as plain ones as those that a case asks for."""
    left = [node for node in cluster.nodes if node is not cluster.seed_node]
    if settings or founders or [node.kind for node in left] != [cluster.toolkit] * 2:
        raise Failed(f"a cluster is left that is of no use here: {[node.name for node in cluster.nodes]}")
    return left


def trio(cluster):
    """One of this library's nodes has joined two JVM nodes: j1, j2, s1, and since when all must be quiet."""
    ports = free_ports(3)
    j1, j2 = jvm_pair(cluster, ports[:2])
    start = time.monotonic()
    s1 = cluster.start("s1", "sherd", ports[2], cluster.seeds)
    cluster.wait_up("it joined JVM nodes")
    return j1, j2, s1, start


def watch(watcher, watched):
    """Until the watch is there. Watches arrive in the order in which they were asked for: that of an actor that never was is answered
    when this one is there."""
    if watcher.kind == "sherd":
        watcher.say(f"watch {watched.uid()} 1")
        watcher.say(f"watch {watched.uid()} 255")
        watcher.expect(f"^terminated {watched.uid()} 255$")
        return
    nobody = watched.path("/user/a00000000000000ff")
    watcher.say(f"watch {watched.path()}")
    watcher.say(f"watch {nobody}")
    watcher.expect(f"^terminated {nobody} confirmed false address false")


def identify(asker, path, answer):
    """A JVM node asks whether an actor is there."""
    start = time.monotonic()
    asker.say(f"identify {path}")
    asker.expect(f"^identity {path} is {answer}$", start)


def check_leader(cluster, leader):
    """Every JVM node says that this one leads, or does at once: it is told of its members and of its leader by one event after the other, and
    may be asked between the two."""
    for node in cluster.nodes:
        if node.kind != "sherd":
            wait(lambda node=node: node.status() and node.said["leader"] == leader.address,
                 lambda node=node: f"{node.name}: {node.said['leader']} leads, not {leader.name} ({leader.address})", AT_ONCE)


def check_order(node, numbers, sender):
    seen = [int(line.split()[2]) for line in node.since(0) if re.match(f"got number .* {sender}", line)]
    seen = [number for number in seen if number in numbers]
    if seen != list(numbers):
        raise Failed(f"{node.name} got {len(seen)} of {len(numbers)} messages, or in another order")


def resolve(cluster):
    """Its nodes are to have split brain resolvers."""
    cluster.settings = [f'cluster.downing-provider-class="{PACKAGES[cluster.toolkit]}.cluster.sbr.SplitBrainResolverProvider"',
                        "cluster.split-brain-resolver.stable-after=3s",
                        "cluster.split-brain-resolver.down-all-when-unstable=off"]


def decision(node, start):
    """What a node's resolver says that it does, in small letters; None when it says nothing."""
    pattern = "decides decision=([a-z-]+)" if node.kind == "sherd" else "SBR took decision ([A-Za-z]+)"
    found = node.find(pattern, start)
    return found and found[1].replace("-", "").lower()


def lose(cluster, leader, lost):
    """A node is killed, and the leader's resolver decides it down."""
    check_leader(cluster, leader)
    start = time.monotonic()
    lost.kill()
    cluster.end_crash(lost)
    if decision(leader, start) != "downunreachable":
        raise Failed(f"{leader.name} ({leader.kind}) decided {decision(leader, start)}")

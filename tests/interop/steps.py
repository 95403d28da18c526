"""Contains the steps that several interop cases use."""
import re
import time

from nodes import AT_ONCE, PACKAGES, Failed, free_ports, wait

FOUNDER_HOST = "127.0.0.2"  # the highest address: this node leads only when it is alone


def found(cluster, port, settings=()):
    """Sets the seed of all nodes that the case starts: the first JVM node, at this port. If a node
    of this library has to found the cluster, starts one more node for this, which stays until the
    case ends."""
    cluster.seeds = [f"127.0.0.1:{port}"]
    if cluster.founder == "sherd":
        port = free_ports(1)[0]
        cluster.seeds = [f"{FOUNDER_HOST}:{port}"]
        cluster.seed_node = cluster.start("f0", "sherd", port, cluster.seeds, settings, host=FOUNDER_HOST)
        cluster.wait_up("a node of ours founded a cluster")


def jvm_one(cluster, port, settings=(), founders=()):
    """Starts one JVM node, beside the founder if that is a node of this library; `founders` are
    that node's settings."""
    found(cluster, port, founders)
    first = cluster.start("j1", cluster.toolkit, port, cluster.seeds, settings)
    cluster.wait_up("a JVM node")
    return first


def jvm_pair(cluster, ports, settings=(), founders=()):
    """Starts two JVM nodes, beside the founder if that is a node of this library. Returns the two
    of the case before if it left them."""
    if cluster.standing:
        return alone(cluster, settings, founders)
    found(cluster, ports[0], founders)
    first = cluster.start("j1", cluster.toolkit, ports[0], cluster.seeds, settings)
    second = cluster.start("j2", cluster.toolkit, ports[1], cluster.seeds, settings)
    cluster.wait_up("two JVM nodes")
    return first, second


def alone(cluster, settings, founders):
    """Returns the two JVM nodes that the case before left. They have no special settings, and the
    case must want none."""
    left = [node for node in cluster.nodes if node is not cluster.seed_node]
    if settings or founders or [node.kind for node in left] != [cluster.toolkit] * 2:
        raise Failed(f"this case cannot use the cluster of the case before: {[node.name for node in cluster.nodes]}")
    return left


def trio(cluster):
    """Starts two JVM nodes and one node of this library, which joins them.

    Returns j1, j2, s1 and the time since which no node may log a warning."""
    ports = free_ports(3)
    j1, j2 = jvm_pair(cluster, ports[:2])
    start = time.monotonic()
    s1 = cluster.start("s1", "sherd", ports[2], cluster.seeds)
    cluster.wait_up("our node joined JVM nodes")
    return j1, j2, s1, start


def watch(watcher, watched):
    """Watches an actor, and waits until the watch has arrived. Watches arrive in order. So the
    answer to a second one, of an actor that never existed, shows that the first has arrived."""
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
    """Lets a JVM node ask whether an actor exists (Akka's Identify), and checks the answer."""
    start = time.monotonic()
    asker.say(f"identify {path}")
    asker.expect(f"^identity {path} is {answer}$", start)


def check_leader(cluster, leader):
    """Checks that every JVM node knows this leader. It waits a moment: a JVM node gets one event
    for the members and a later one for the leader."""
    for node in cluster.nodes:
        if node.kind != "sherd":
            wait(lambda node=node: node.status() and node.said["leader"] == leader.address,
                 lambda node=node: f"{node.name}: {node.said['leader']} leads, not {leader.name} ({leader.address})", AT_ONCE)


def check_order(node, numbers, sender):
    seen = [int(line.split()[2]) for line in node.since(0) if re.match(f"got number .* {sender}", line)]
    seen = [number for number in seen if number in numbers]
    if seen != list(numbers):
        raise Failed(f"{node.name} got {len(seen)} of {len(numbers)} messages, or not in order")


def resolve(cluster):
    """Switches the split brain resolver on for all nodes that are started later."""
    cluster.settings = [f'cluster.downing-provider-class="{PACKAGES[cluster.toolkit]}.cluster.sbr.SplitBrainResolverProvider"',
                        "cluster.split-brain-resolver.stable-after=3s",
                        "cluster.split-brain-resolver.down-all-when-unstable=off"]


def decision(node, start):
    """Returns the decision that a node's resolver has logged, in small letters, or None."""
    pattern = "decides decision=([a-z-]+)" if node.kind == "sherd" else "SBR took decision ([A-Za-z]+)"
    found = node.find(pattern, start)
    return found and found[1].replace("-", "").lower()


def lose(cluster, leader, lost):
    """Kills a node. The leader's resolver must down it."""
    check_leader(cluster, leader)
    start = time.monotonic()
    lost.kill()
    cluster.end_crash(lost)
    if decision(leader, start) != "downunreachable":
        raise Failed(f"{leader.name} ({leader.kind}) decided {decision(leader, start)}")

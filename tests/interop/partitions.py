"""Partitions with a split brain resolver of one strategy in all nodes: on each side are nodes of both kinds, and both sides decide alike,
whoever leads them."""
import time

from nodes import Failed, free_ports, wait
from replicas import cut
from steps import check_leader, decision, resolve
from wires import Wires


def begin(cluster, wires, names, seed):
    """The nodes of these names, j for a JVM's and s for ours, at ports that grow in that order. The named one founds, and is the oldest."""
    ports = dict(zip(names, free_ports(len(names))))
    nodes = {}
    for name in [seed, *(name for name in names if name != seed)]:
        kind = cluster.toolkit if name[0] == "j" else "sherd"
        nodes[name] = cluster.start(name, kind, ports[name], [f"127.0.0.1:{ports[seed]}"], wires.lay(ports[name]))
        cluster.wait_up(f"{name} ({kind})")  # one after the other: the ages are known
    return nodes


def split(cluster, wires, stays, ends):
    """They are cut in two, the leader of each side first: the ones stay, and remove the others, which all end."""
    start = time.monotonic()
    cut(cluster, stays, ends, wires)
    for node in ends:
        wait(lambda node=node: not node.alive or node.find("^ended ", start), f"{node.name} ({node.kind}) is on the side that loses, and does not end")
        cluster.drop(node)
    cluster.wait_up(f"{len(stays)} of {len(stays) + len(ends)} stay")
    for side, wanted in ((stays, "downunreachable"), (ends, "downreachable")):
        said = {node.name: decision(node, start) for node in side if decision(node, start)}
        if said.get(side[0].name) != wanted or set(said.values()) != {wanted}:
            raise Failed(f"led by {side[0].name} ({side[0].kind}), {[node.name for node in side]} decided {said}, not {wanted}")
    took = time.monotonic() - start
    print(f"{cluster.toolkit}: cut in two, {stays[0].name} ({stays[0].kind}) and {ends[0].name} ({ends[0].kind}) decide alike; {took:.1f} s", flush=True)
    wires.heal()
    cluster.holds(3, "the way is free again", quiet=False)


def clear(cluster):
    for node in list(cluster.nodes):
        cluster.drop(node)
        node.kill()


def divide(cluster, names, seed, stays, leader):
    """One cluster that is cut; the names of who is to stay, the leader first; who leads before."""
    wires = Wires(cluster)
    try:
        nodes = begin(cluster, wires, names, seed)
        check_leader(cluster, nodes[leader])
        split(cluster, wires, [nodes[name] for name in stays], [node for name, node in sorted(nodes.items(), key=lambda item: item[1].port)
                                                                if name not in stays])
        clear(cluster)
    finally:
        wires.end()


def majority(cluster):
    """keep-majority: three of five stay, led by ours against a JVM, and the other way round."""
    resolve(cluster)
    divide(cluster, ["s1", "j1", "j2", "s2", "s3"], "j1", ["s1", "j1", "s2"], "s1")
    divide(cluster, ["j3", "s4", "s5", "j4", "s6"], "s4", ["j3", "s4", "s6"], "j3")


def eldest(cluster):
    """keep-oldest: two of five stay, of which one is the oldest, ours or a JVM; led by ours against a JVM, and the other way round."""
    resolve(cluster)
    cluster.settings.append("cluster.split-brain-resolver.active-strategy=keep-oldest")
    divide(cluster, ["s1", "j1", "j2", "s2", "s3"], "j2", ["s1", "j2"], "s1")
    divide(cluster, ["j3", "s4", "s5", "j4", "s6"], "s6", ["j3", "s6"], "j3")

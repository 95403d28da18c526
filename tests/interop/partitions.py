"""Partitions with a split brain resolver of one strategy in all nodes: on each side are nodes of both kinds, and both sides decide alike,
whoever leads them."""
import time

from nodes import Failed, free_ports, never, wait
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


def split(cluster, wires, parts, stays):
    """They are cut in these parts, the leader of each first: the nodes of the first one stay, if it does, and remove the others, which all
    end."""
    start = time.monotonic()
    cut(cluster, parts, wires)
    for node in [node for part in parts[stays:] for node in part]:
        wait(lambda node=node: not node.alive or node.find("^ended ", start), f"{node.name} ({node.kind}) is on a side that loses, and does not end")
        cluster.drop(node)
    if stays:
        cluster.wait_up(f"{len(parts[0])} of {sum(map(len, parts))} stay")
    for number, part in enumerate(parts):
        wanted = "downunreachable" if number < stays else "downreachable"
        said = {node.name: decision(node, start) for node in part if decision(node, start)}
        if said.get(part[0].name) != wanted or set(said.values()) != {wanted}:
            raise Failed(f"led by {part[0].name} ({part[0].kind}), {[node.name for node in part]} decided {said}, not {wanted}")
    took = time.monotonic() - start
    leaders = ", ".join(f"{part[0].name} ({part[0].kind})" for part in parts)
    print(f"{cluster.toolkit}: cut in {len(parts)}, {leaders} decide alike; {took:.1f} s", flush=True)
    if stays:
        wires.heal()
        cluster.holds(3, "the way is free again", quiet=False)


def clear(cluster):
    for node in list(cluster.nodes):
        cluster.drop(node)
        node.kill()


def divide(cluster, names, seed, parts, leader, stays=1):
    """One cluster that is cut; the names of who is in each part, its leader first; who leads before; whether the first part stays."""
    wires = Wires(cluster)
    try:
        nodes = begin(cluster, wires, names, seed)
        check_leader(cluster, nodes[leader])
        split(cluster, wires, [[nodes[name] for name in part] for part in parts], stays)
        clear(cluster)
    finally:
        wires.end()


def majority(cluster):
    """keep-majority: three of five stay, led by ours against a JVM, and the other way round."""
    resolve(cluster)
    divide(cluster, ["s1", "j1", "j2", "s2", "s3"], "j1", [["s1", "j1", "s2"], ["j2", "s3"]], "s1")
    divide(cluster, ["j3", "s4", "s5", "j4", "s6"], "s4", [["j3", "s4", "s6"], ["s5", "j4"]], "j3")


def use(cluster, strategy, *others):
    """That strategy with these settings, for the nodes that are started from now on."""
    resolve(cluster)
    cluster.settings += [f"cluster.split-brain-resolver.{setting}" for setting in (f"active-strategy={strategy}", *others)]


def eldest(cluster):
    """keep-oldest: two of five stay, of which one is the oldest, ours or a JVM; led by ours against a JVM, and the other way round."""
    use(cluster, "keep-oldest")
    divide(cluster, ["s1", "j1", "j2", "s2", "s3"], "j2", [["s1", "j2"], ["j1", "s2", "s3"]], "s1")
    divide(cluster, ["j3", "s4", "s5", "j4", "s6"], "s6", [["j3", "s6"], ["s4", "s5", "j4"]], "j3")


def thirds(cluster):
    """Three parts, to each of which the others are one other side: with static-quorum three of five stay, with keep-oldest the two with
    the oldest; with keep-majority nobody does where no part has three, and with keep-oldest nobody where the oldest is alone."""
    use(cluster, "static-quorum", "static-quorum.quorum-size=3")
    divide(cluster, ["s1", "j1", "j2", "s2", "s3"], "j1", [["s1", "j1", "s2"], ["j2"], ["s3"]], "s1")
    use(cluster, "keep-majority")
    divide(cluster, ["j3", "s4", "s5", "j4", "s6"], "s4", [["j3", "s4"], ["s5", "j4"], ["s6"]], "j3", stays=0)
    use(cluster, "keep-oldest")
    divide(cluster, ["s7", "j5", "j6", "s8", "s9"], "j6", [["j6", "s8"], ["s7", "j5"], ["s9"]], "s7")
    divide(cluster, ["j7", "s10", "s11", "j8", "s12"], "s12", [["s12"], ["j7", "s10"], ["s11", "j8"]], "j7", stays=0)


def disowned(cluster):
    """A side downs the other one by hand, which knows nothing of it (its resolver would decide later), and the way is free again. Three of
    ours say so to a JVM node, and it downs itself; one of ours that has downed three says so to nobody whom it would end."""
    resolve(cluster)
    cluster.settings.append("cluster.split-brain-resolver.stable-after=90s")
    wires = Wires(cluster)
    try:
        nodes = begin(cluster, wires, ["s1", "j1", "s2", "s3"], "s1")
        lost = nodes["j1"]
        cut(cluster, [[nodes[name] for name in ("s1", "s2", "s3")], [lost]], wires)
        cluster.down(lost, nodes["s2"])
        start = time.monotonic()
        wires.heal()
        lost.expect("SBR took decision DownSelfQuarantinedByRemote", start)
        wait(lambda: not lost.alive, "a JVM node is told that it is removed, and does not end")
        print(f"{cluster.toolkit}: ended {time.monotonic() - start:.1f} s after the way was free", flush=True)
        cluster.holds(3, "a JVM node has ended", quiet=False)
        clear(cluster)

        nodes = begin(cluster, wires, ["s4", "j2", "s5", "j3"], "j2")
        few, many = nodes["s5"], [nodes[name] for name in ("s4", "j2", "j3")]
        cut(cluster, [many, [few]], wires)
        for node in many:
            few.say(f"down {node.address}")
        wait(lambda: few.status() == {few.address: ("Up", True)}, "it does not remove the others")
        wires.heal()
        never(lambda: next((f"{node.name} ended" for node in nodes.values() if not node.alive), None), 10, "one has downed three")
        for node in many:
            if node.kind != "sherd" and node.find("quarantined this node"):
                raise Failed(f"{node.name} was told that it is removed")
        clear(cluster)
    finally:
        wires.end()

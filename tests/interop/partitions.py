"""Tests partitions with the same split brain resolver in all nodes. Each side has nodes of both
kinds, and all sides decide the same, with any kind of leader."""
import time

from nodes import Failed, free_ports, never, wait
from replicas import cut
from steps import check_leader, decision, resolve
from wires import Wires


def begin(cluster, wires, names, seed):
    """Starts nodes with these names: j for a JVM node, s for one of ours. Their ports ascend in
    this order. The node named `seed` founds the cluster and is the oldest."""
    ports = dict(zip(names, free_ports(len(names))))
    nodes = {}
    for name in [seed, *(name for name in names if name != seed)]:
        kind = cluster.toolkit if name[0] == "j" else "sherd"
        nodes[name] = cluster.start(name, kind, ports[name], [f"127.0.0.1:{ports[seed]}"], wires.lay(ports[name]))
        cluster.wait_up(f"{name} ({kind})")  # one after the other, so that the ages are known
    return nodes


def split(cluster, wires, parts, stays):
    """Cuts the cluster into these parts; the leader of each part is first. If `stays`, the first
    part stays and removes the others. All other nodes end."""
    start = time.monotonic()
    cut(cluster, parts, wires)
    for node in [node for part in parts[stays:] for node in part]:
        wait(lambda node=node: not node.alive or node.find("^ended ", start), f"{node.name} ({node.kind}) is on a losing side and does not end")
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
        cluster.holds(3, "after the partition", quiet=False)


def clear(cluster):
    for node in list(cluster.nodes):
        cluster.drop(node)
        node.kill()


def divide(cluster, names, seed, parts, leader, stays=1):
    """Starts a cluster and cuts it. parts: the names in each part, its leader first; leader: the
    leader before the cut; stays: whether the first part stays."""
    wires = Wires(cluster)
    try:
        nodes = begin(cluster, wires, names, seed)
        check_leader(cluster, nodes[leader])
        split(cluster, wires, [[nodes[name] for name in part] for part in parts], stays)
        clear(cluster)
    finally:
        wires.end()


def keep_majority(cluster):
    """keep-majority: three of five stay. The leaders of the two sides are ours and a JVM node, then
    a JVM node and ours."""
    resolve(cluster)
    divide(cluster, ["s1", "j1", "j2", "s2", "s3"], "j1", [["s1", "j1", "s2"], ["j2", "s3"]], "s1")
    divide(cluster, ["j3", "s4", "s5", "j4", "s6"], "s4", [["j3", "s4", "s6"], ["s5", "j4"]], "j3")


def use(cluster, strategy, *others):
    """Sets this strategy and these settings for all nodes that are started later."""
    resolve(cluster)
    cluster.settings += [f"cluster.split-brain-resolver.{setting}" for setting in (f"active-strategy={strategy}", *others)]


def keep_oldest(cluster):
    """keep-oldest: two of five stay, because one of them is the oldest. The leaders of the two
    sides are ours and a JVM node, then a JVM node and ours."""
    use(cluster, "keep-oldest")
    divide(cluster, ["s1", "j1", "j2", "s2", "s3"], "j2", [["s1", "j2"], ["j1", "s2", "s3"]], "s1")
    divide(cluster, ["j3", "s4", "s5", "j4", "s6"], "s6", [["j3", "s6"], ["s4", "s5", "j4"]], "j3")


def three_sides(cluster):
    """Three parts, each of which sees the two others as one side. With static-quorum, three of five
    stay. With keep-oldest, the two with the oldest stay, and no part if the oldest is alone. With
    keep-majority, no part stays if none has three."""
    use(cluster, "static-quorum", "static-quorum.quorum-size=3")
    divide(cluster, ["s1", "j1", "j2", "s2", "s3"], "j1", [["s1", "j1", "s2"], ["j2"], ["s3"]], "s1")
    use(cluster, "keep-majority")
    divide(cluster, ["j3", "s4", "s5", "j4", "s6"], "s4", [["j3", "s4"], ["s5", "j4"], ["s6"]], "j3", stays=0)
    use(cluster, "keep-oldest")
    divide(cluster, ["s7", "j5", "j6", "s8", "s9"], "j6", [["j6", "s8"], ["s7", "j5"], ["s9"]], "s7")
    divide(cluster, ["j7", "s10", "s11", "j8", "s12"], "s12", [["s12"], ["j7", "s10"], ["s11", "j8"]], "j7", stays=0)


def downed_by_command(cluster):
    """One side downs the other by command during a partition, before the other side's resolver
    decides. After the partition, three nodes of ours tell the JVM node that it is removed, and it
    downs itself. Then one node of ours has downed three others: it tells none of them, because they
    would end."""
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
        wait(lambda: not lost.alive, "a removed JVM node does not end")
        print(f"{cluster.toolkit}: the JVM node ended {time.monotonic() - start:.1f} s after the partition", flush=True)
        cluster.holds(3, "a JVM node has ended", quiet=False)
        clear(cluster)

        nodes = begin(cluster, wires, ["s4", "j2", "s5", "j3"], "j2")
        few, many = nodes["s5"], [nodes[name] for name in ("s4", "j2", "j3")]
        cut(cluster, [many, [few]], wires)
        for node in many:
            few.say(f"down {node.address}")
        wait(lambda: few.status() == {few.address: ("Up", True)}, "the single node does not remove the others")
        wires.heal()
        never(lambda: next((f"{node.name} ended" for node in nodes.values() if not node.alive), None), 10, "after one node has downed three")
        for node in many:
            if node.kind != "sherd" and node.find("quarantined this node"):
                raise Failed(f"{node.name} was told that it is removed")
        clear(cluster)
    finally:
        wires.end()

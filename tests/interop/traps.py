"""Tests mistakes that a member in a cluster with JVM nodes can make without an early sign."""
import contextlib
import os
import re
import time

from nodes import PACKAGES, PAUSE, PATIENCE, Failed, free_ports, never, pace, wait
from steps import check_leader, check_order, decision, jvm_one, jvm_pair, resolve, trio, watch

WATCHES = 5000     # watches at once; Akka buffers 20,000 unacknowledged ones
TURNS = 6          # turns of 4 s
LINGERS = 8        # seconds that an entity takes to end; its phase of the shutdown allows 10
PARTED = 5         # seconds in which a departed node is heard: quarantine-removed-node-after
IMPATIENCE = ["remote.artery.advanced.stop-idle-outbound-after=1500ms", "remote.artery.advanced.give-up-system-message-after=3s"]
# An association is idle when nothing is sent on it. So the messages that are normally sent every
# second must be rarer.
SILENCE = ["cluster.gossip-interval=4s", "cluster.failure-detector.heartbeat-interval=4s",
           "cluster.failure-detector.acceptable-heartbeat-pause=20s"]


def check_outside(cluster, outside, what, seconds=3):
    """Checks for this time that the nodes `outside` are in no cluster, and that all others are
    members of this one."""
    wanted = {node.address: ("Up", True) for node in cluster.nodes}

    def breach():
        for node in cluster.nodes:
            if node.status() != wanted:
                return f"{node.name} sees {node.status()}"
        return next((f"{node.name} is a member" for node in outside if node.status()), None)
    never(breach, seconds, what)


def wrong_addresses(cluster):
    """Names and numbers of the same machine are different hosts, and nodes with all of them can
    form one cluster. A node cannot join if it uses another name of the seed, another system name,
    or a host name that is not valid in a URI. Our nodes log this."""
    ports = free_ports(9)
    j1 = cluster.start("j1", cluster.toolkit, ports[0], [f"localhost:{ports[0]}"], host="localhost")
    s1 = cluster.start("s1", "sherd", ports[1], [j1.address], host="127.0.0.2")
    s2 = cluster.start("s2", "sherd", ports[2], [s1.address], host="localhost")
    j2 = cluster.start("j2", cluster.toolkit, ports[3], [s2.address], host="127.0.0.3")
    cluster.wait_up("four nodes on three host names of one machine")
    for jvm, sherd in ((j1, s1), (j2, s2)):
        jvm.say(f"number {sherd.path()} 1 10")
        jvm.expect(f"^got number 2 10 ([0-9]+) from {sherd.path()}$")
    cluster.holds(2, "four nodes on three host names")

    wrong = [cluster.start("j3", cluster.toolkit, ports[4], [f"127.0.0.1:{s2.port}"]),
             cluster.start("j4", cluster.toolkit, ports[5], [s1.address], system="Other"),
             cluster.start("s3", "sherd", ports[6], [f"127.0.0.1:{j1.port}"]),
             cluster.start("s4", "sherd", ports[7], [j1.address], system="Other"),
             cluster.start("s5", "sherd", ports[8], [j1.address], ['remote.artery.bind.hostname="127.0.0.1"'], host="node_5")]
    for node in wrong:
        cluster.drop(node)
    s2.expect(f"^log WARNING association: .*{wrong[0].address}.*127.0.0.1:{s2.port}")
    s1.expect(f"^log WARNING association: .*Other@{wrong[1].address}")
    wrong[4].expect("^log INFO .*host name has an underscore: JVM nodes cannot answer")
    for node in wrong[2:]:
        node.expect("^log WARNING .*no seed node accepted this node")
    check_outside(cluster, wrong, "with nodes that use wrong names")


def ipv6_addresses(cluster):
    """Nodes of both kinds at IPv6 addresses join each other and exchange messages; either kind
    founds. All write such addresses in brackets. One node of ours has its address without brackets
    in its settings."""
    for kinds in ((cluster.toolkit, "sherd"), ("sherd", cluster.toolkit)):
        ports = free_ports(3)
        nodes = {}
        for number, (port, kind) in enumerate(zip(ports, (*kinds, "sherd"))):
            bare = ['remote.artery.canonical.hostname="::1"'] if number == 2 else []
            nodes[number] = cluster.start(f"n{number}-{kinds[0]}", kind, port, [f"[::1]:{ports[0]}"], bare, host="[::1]")
            cluster.wait_up(f"at an IPv6 address ({kind})")
        jvm, sherd = (nodes[kinds.index(kind)] for kind in (cluster.toolkit, "sherd"))
        jvm.say(f"number {sherd.path()} 1 10")
        jvm.expect(f"^got number 2 10 ([0-9]+) from {re.escape(sherd.path())}$")
        cluster.holds(2, "three nodes at IPv6 addresses")
        cluster.check_no_quarantine()
        for node in list(cluster.nodes):
            cluster.drop(node)
            node.kill()


def app_versions(cluster):
    """Each kind accepts the application versions of the other, in every form that a JVM accepts,
    such as a time of build."""
    versions = ["1.0.1700000000", "1.0.2147483647", "2.1-RC1", "release", "1.2.3+14-0123abcd"]
    for kinds in ((cluster.toolkit, "sherd"), ("sherd", cluster.toolkit)):
        ports = free_ports(5)
        seeds = [f"127.0.0.1:{ports[0]}"]
        for number, (port, version) in enumerate(zip(ports, versions)):
            kind = kinds[number % 2]
            cluster.start(f"n{number}-{kinds[0]}", kind, port, seeds, [f'cluster.app-version="{version}"'])
            cluster.wait_up(f"version {version} ({kind})")
            seeds = [f"127.0.0.1:{port}"]
        cluster.holds(2, "five versions")
        cluster.check_no_quarantine()
        for node in list(cluster.nodes):
            cluster.drop(node)
            node.kill()


def two_seed_nodes(cluster):
    """Two seed nodes, one of each kind: the second waits until the first has founded the cluster.
    Other nodes join with this list."""
    for first, second in ((cluster.toolkit, "sherd"), ("sherd", cluster.toolkit)):
        ports = free_ports(4)
        seeds = [f"127.0.0.1:{port}" for port in ports[:2]]
        late = cluster.start(f"second-{second}", second, ports[1], seeds)
        late.status()
        never(lambda: late.status() and "the second seed founded a cluster", 7, f"the second seed ({second})")
        cluster.start(f"first-{first}", first, ports[0], seeds)
        cluster.wait_up(f"the first seed is {first}")
        for number, kind in enumerate((second, first)):
            cluster.start(f"joiner-{number}-{first}", kind, ports[2 + number], seeds)
        cluster.wait_up(f"two more after a {first} and a {second}")
        cluster.holds(2, "of two seeds")
        cluster.check_no_quarantine()
        for node in list(cluster.nodes):
            cluster.drop(node)
            node.kill()


def watch_from_outside(cluster):
    """A JVM node watches an actor of ours in another cluster, which its setting allows. It sends
    the heartbeats of remote watches. Our node answers them. After our node is suspended, the JVM
    node considers the actor dead."""
    ports = free_ports(2)
    j1 = jvm_one(cluster, ports[0], ["remote.use-unsafe-remote-features-outside-cluster=on",
                                     "remote.watch-failure-detector.acceptable-heartbeat-pause=4s"])
    s1 = cluster.start("s1", "sherd", ports[1], [f"127.0.0.1:{ports[1]}"])
    wait(lambda: s1.status() == {s1.address: ("Up", True)}, "our node founds no cluster")
    watch(j1, s1)
    ended = f"^terminated {s1.path()} "
    never(lambda: j1.find(ended), 15, "while our node runs")
    start = time.monotonic()
    s1.stop()
    j1.expect(ended + ".*address true", start)
    took = time.monotonic() - start
    print(f"{cluster.toolkit}: considered dead {took:.1f} s after it was suspended", flush=True)
    s1.resume()


def departed_node(cluster):
    """A JVM node leaves, its process continues, and it could still send for a minute. Our node
    accepts its messages for as long as a JVM node does, and none after that."""
    ports = free_ports(4)
    j1, j2 = jvm_pair(cluster, ports[:2])
    s1 = cluster.start("s1", "sherd", ports[2], cluster.seeds)
    j3 = cluster.start("j3", cluster.toolkit, ports[3], cluster.seeds,
                       ["coordinated-shutdown.exit-jvm=off", "coordinated-shutdown.terminate-actor-system=off",
                        "coordinated-shutdown.run-by-actor-system-terminate=off",
                        "cluster.quarantine-removed-node-after=60s"])
    cluster.wait_up("with a node whose process stays after it leaves")
    j3.say(f"number {s1.path()} 1 10")
    s1.expect("^got number 1 10 ")
    uid = j3.uid()
    j3.say("leave")
    s1.expect(f"^event MemberRemoved {j3.address} ")
    start = time.monotonic()
    j3.say(f"number {s1.path()} 11 10")
    s1.expect(f"^got number 11 10 [0-9]+ from {uid} 1$", start, PARTED)
    cluster.drop(j3)
    pace(start, PARTED + 1)
    start = time.monotonic()
    j3.say(f"number {s1.path()} 21 10")
    j3.say(f"number {j2.path()} 21 10")
    never(lambda: s1.find("^got number 21 ") and "a message arrived", 3, "some time after the node left")
    check_outside(cluster, [], "while the departed process runs", 1)
    j3.kill()


def slow_entity(cluster):
    """No node removes an exiting node of ours before its slow entity has ended.

    The entity takes eight seconds to end. A JVM node makes our node leave a cluster that a JVM node
    leads. (By its own command, our node would hand its shards off before it leaves.) All see our
    node exiting meanwhile."""
    ports = free_ports(3)
    j1, j2 = jvm_pair(cluster, ports[:2])
    s1 = cluster.start("s1", "sherd", ports[2], cluster.seeds, ["type=E", f"slow={LINGERS * 1000}", "cluster.roles=[native]",
                                                                "cluster.sharding.role=native"])
    cluster.wait_up("our node joined JVM nodes")
    check_leader(cluster, j1)
    s1.say("entity one")
    s1.expect("^entity one begins$")
    start = time.monotonic()
    cluster.leave(s1, by=j1)
    ended = next((at for at, line in s1.lines if line == "entity one ends"), None)
    if not ended or ended < start + LINGERS:
        raise Failed(f"the entity did not take {LINGERS} s to end: {ended and ended - start}")
    for node in (j1, j2):
        # the event may come after the view
        gone = node.expect(f"^event MemberRemoved {s1.address} ")[0]
        removed = next(at for at, line in node.lines if line.startswith(gone))
        print(f"{cluster.toolkit}: {node.name} saw it removed {removed - ended:.1f} s after its entity ended", flush=True)
        if removed < ended:
            raise Failed(f"{node.name} saw it removed {ended - removed:.1f} s before its entity ended")
    cluster.check_no_quarantine()


def downed_nodes_end(cluster):
    """Nodes of both kinds that were downed end or stay outside.

    Two nodes are downed while they are suspended. After they resume, a JVM node tells ours that it
    is removed, and it ends; the JVM node stays outside. Then two running nodes are downed, and both
    end."""
    ports = free_ports(6)
    j1, j2 = jvm_pair(cluster, ports[:2])
    s1 = cluster.start("s1", "sherd", ports[2], cluster.seeds)
    s2 = cluster.start("s2", "sherd", ports[3], cluster.seeds)
    cluster.wait_up("two joined JVM nodes")
    for node, by in ((s2, j1), (j2, s1)):
        start = time.monotonic()
        node.stop()
        cluster.wait_unreachable(node, start, f"{node.name} ({node.kind}) is suspended")
        cluster.down(node, by)
    start = time.monotonic()
    j2.resume()
    never(lambda: len(s1.status()) != len(cluster.nodes) and "it is back", 3, "after a removed JVM node resumed")
    s2.resume()
    s2.expect("^log WARNING .*member considers this node removed", start)
    s2.expect("^ended -[0-9]+ ", start)
    cluster.wait_up("the others after that")

    s3 = cluster.start("s3", "sherd", ports[4], cluster.seeds)
    j3 = cluster.start("j3", cluster.toolkit, ports[5], [s1.address])
    cluster.wait_up("two new nodes")
    cluster.down(s3, by=j1)
    s3.expect("^ended -[0-9]+ ")
    cluster.down(j3, by=s1)
    wait(lambda: not j3.alive, "a downed JVM node does not end")


def removed_while_suspended(cluster):
    """Nodes of both kinds are suspended until the others' resolvers have removed them. After they
    resume they end, the others are not disturbed, and new incarnations at the same addresses can
    join."""
    resolve(cluster)
    ports = free_ports(5)
    j1, j2 = jvm_pair(cluster, ports[1:3])
    s1 = cluster.start("s1", "sherd", ports[0], cluster.seeds)
    s2 = cluster.start("s2", "sherd", ports[3], cluster.seeds)
    cluster.start("s3", "sherd", ports[4], cluster.seeds)
    cluster.wait_up("three joined two JVM nodes")
    check_leader(cluster, s1)
    for node in (s2, j2):
        start = time.monotonic()
        node.stop()
        cluster.end_crash(node)
        if decision(s1, start) != "downunreachable":
            raise Failed(f"{s1.name} decided {decision(s1, start)}")
        node.resume()
        wait(lambda node=node: not node.alive, f"{node.name} ({node.kind}) was removed while suspended, and does not end")
        cluster.start(node.name + "b", node.kind, node.port, [s1.address])
        cluster.wait_up(f"{node.name} ({node.kind}) was removed while suspended; a new incarnation joined after {time.monotonic() - start:.1f} s")


def pruned_tombstones(cluster):
    """The tombstones of removed members are pruned after 3 s instead of a day, and no removed
    member comes back."""
    cluster.settings.append("cluster.prune-gossip-tombstones-after=3s")
    ports = free_ports(5)
    j1, j2 = jvm_pair(cluster, ports[1:3])
    s1 = cluster.start("s1", "sherd", ports[0], cluster.seeds)
    s2 = cluster.start("s2", "sherd", ports[3], cluster.seeds)
    cluster.wait_up("two joined JVM nodes")
    cluster.leave(s2)
    cluster.crash(j2, by=s1)
    cluster.holds(6, "tombstones are pruned")
    j3 = cluster.start("j3", cluster.toolkit, ports[2], [s1.address])
    cluster.start("s3", "sherd", ports[3], cluster.seeds)
    cluster.wait_up("at the same addresses")
    cluster.leave(s1)
    check_leader(cluster, j1)
    cluster.leave(j3)
    cluster.holds(6, "tombstones are pruned under a JVM leader")
    cluster.check_no_quarantine()


def prepare(cluster, by):
    """Prepares the whole cluster for its shutdown, by the command of one node. No new node may
    join. Then all leave, one after the other: if the gossip changed elsewhere while a JVM node
    leaves, the merge would make it ready again, and it would stay."""
    by.say("prepare")
    wanted = {node.address: ("ReadyForShutdown", True) for node in cluster.nodes}
    took = cluster.wait_views(wanted, f"{by.name} ({by.kind}) prepares the shutdown")
    print(f"{cluster.toolkit}: all are ready for the shutdown after {took:.1f} s, by command of {by.name} ({by.kind})", flush=True)
    for kind in ("sherd", cluster.toolkit):
        late = cluster.start(f"late-{kind}-{by.name}", kind, free_ports(1)[0], [by.address])
        cluster.drop(late)
        late.expect("^log INFO .*(joining|Initiating|Trying|Received InitJoinAck)")
    never(lambda: any(node.status() != wanted for node in cluster.nodes) and "a view changed", 3, "while two nodes try to join")
    for node in list(cluster.nodes):
        node.say("leave")
        node.wait_end("all nodes leave")
        cluster.drop(node)
        cluster.wait_views({other.address: ("ReadyForShutdown", True) for other in cluster.nodes}, f"{node.name} ({node.kind}) leaves")


def full_cluster_shutdown(cluster):
    """prepareForFullClusterShutdown works by command of a JVM node and of a node of ours."""
    ports = free_ports(3)
    j1, _ = jvm_pair(cluster, ports[1:])
    cluster.start("s1", "sherd", ports[0], cluster.seeds)
    cluster.wait_up("our node joined JVM nodes")
    prepare(cluster, j1)
    ports = free_ports(2)
    s2 = cluster.start("s2", "sherd", ports[1], [f"127.0.0.1:{ports[1]}"])
    cluster.start("j3", cluster.toolkit, ports[0], [s2.address])
    cluster.wait_up("a JVM node joined our node")
    prepare(cluster, s2)
    cluster.check_no_quarantine()


def connections_to(node, others):
    """Returns the remote ports of the connections from these other nodes to the node."""
    sockets = set()
    for other in others:
        folder = f"/proc/{other.process.pid}/fd"
        for name in os.listdir(folder):
            with contextlib.suppress(OSError):  # the file was closed meanwhile
                sockets.add(os.readlink(os.path.join(folder, name)))
    rows = []
    for name in ("tcp", "tcp6"):  # a JVM's connections are in tcp6
        with contextlib.suppress(FileNotFoundError), open(f"/proc/{node.process.pid}/net/{name}") as file:
            rows += [line.split() for line in file.readlines()[1:]]
    return {row[1] for row in rows if row[2].endswith(f":{node.port:04X}") and row[3] == "01" and f"socket:[{row[9]}]" in sockets}


def idle_connections(cluster):
    """JVM nodes close connections after 1.5 s without traffic, and quarantine a peer that does not
    acknowledge for 3 s. Messages and watches in both directions are not lost. A JVM warns of each
    connection that it closes."""
    cluster.jvm_settings += IMPATIENCE
    cluster.settings += SILENCE
    j1, j2, s1, _ = trio(cluster)
    start = time.monotonic()
    seen = set()
    for turn in range(TURNS):
        first, last = turn * 50 + 1, turn * 50 + 50
        j1.say(f"numbers {s1.path()} {first} {last}")
        s1.say(f"numbers {j2.uid()} 1 {first} {last}")
        j1.say(f"watch {s1.path('/user/a%016x' % (1000 + turn))}")
        s1.say(f"watch {j2.uid()} {1000 + turn}")
        for part in range(20):
            pace(start, turn * 4 + part / 5)
            seen |= connections_to(s1, (j1, j2))
    last = TURNS + 1000 - 1
    s1.expect(f"^terminated {j2.uid()} {last}$")
    j1.expect(f"^terminated {s1.path('/user/a%016x' % last)} confirmed false")
    check_order(s1, range(1, 50 * TURNS + 1), "from " + j1.uid())
    check_order(j2, range(1, 50 * TURNS + 1), "from ")
    wrong = cluster.disturbed(start)
    if wrong:
        raise Failed(wrong)
    print(f"{cluster.toolkit}: JVM nodes opened {len(seen)} connections to our node", flush=True)
    if len(seen) < TURNS:
        raise Failed("no idle connection was closed")
    cluster.holds(2, "after the traffic", quiet=False)
    cluster.check_no_quarantine()


def ends_of(node, start):
    return sum(line.startswith("terminated ") for line in node.since(start))


def many_watches(cluster):
    """Thousands of watches are sent at once while the other side is suspended. All are answered,
    and no node is quarantined."""
    j1, j2, s1, start = trio(cluster)
    for watcher, watched in ((j1, s1), (s1, j2)):
        begin = time.monotonic()
        watched.stop()
        try:
            if watcher is j1:
                j1.say(f"watches {s1.path('/user/a00000000000')} {WATCHES}")
            else:
                watcher.say(f"watches {watched.uid()} 1000 {1000 + WATCHES - 1}")
            pace(begin, PAUSE - 1)
        finally:
            watched.resume()
        wait(lambda begin=begin, watcher=watcher: ends_of(watcher, begin) >= WATCHES,
             lambda begin=begin, watcher=watcher: f"{watcher.name} got {ends_of(watcher, begin)} of {WATCHES} answers", step=0.25)
        print(f"{cluster.toolkit}: {watcher.name} ({watcher.kind}) got {WATCHES} answers after {time.monotonic() - begin:.1f} s", flush=True)
    cluster.holds(2, "after all watches")
    cluster.check_quiet(start)
    cluster.check_no_quarantine()


def ddata_by_role(cluster):
    """Distributed data of JVM nodes counts our node only if it has the role. A write to all nodes
    of another role completes without our node. Without a role, our node counts and answers; the
    first message of a peer creates its replicator."""
    extension = [f'extensions=["{PACKAGES[cluster.toolkit]}.cluster.ddata.DistributedData"]']
    role = ["cluster.roles=[jvm]", "cluster.distributed-data.role=jvm"]
    ports = free_ports(4)
    j1, _ = jvm_pair(cluster, ports[:2], extension + role, ["cluster.roles=[native]"])
    cluster.start("s1", "sherd", ports[2], cluster.seeds, ["cluster.roles=[native]"])
    cluster.wait_up("our node joined JVM nodes")
    start = time.monotonic()
    j1.say("count 10000")
    if j1.expect("^counted (.*)", start)[1] != "true":
        raise Failed("a write to all nodes of another role did not complete")
    cluster.holds(3, "with distributed data")
    j3 = cluster.start("j3", cluster.toolkit, ports[3], cluster.seeds, extension + role[:1])
    cluster.wait_up("a JVM node whose distributed data has no role")
    j3.say("count 2000")
    if j3.expect("^counted (.*)")[1] != "true":
        raise Failed("our node did not answer a write of distributed data")
    cluster.check_quiet(start)
    cluster.check_no_quarantine()

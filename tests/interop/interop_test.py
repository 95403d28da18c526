"""A node of this library in clusters with real JVM nodes.

    interop_test.py NODE BUILD [--kinds akka,pekko] [--sets short,long,traps,ddata] [--cases NAME,...] [--slices N] [--keep DIR]

NODE is the program made from node.c, BUILD a folder for the JVM's program, which is built there when it is not there yet. Exit
status 77 when it cannot be built because there is no JDK, no Maven, or no way to its libraries."""
import argparse
import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time

import damaged
import expiry
import partitions
import remembering
import replicas
import sharding
import stored
import traps
from nodes import PACKAGES, PAUSE, SKIPPED, Failed, Programs, Skipped, free_ports, living, never, pace, run_cases, wait
from secured import secured
from steps import check_leader, check_order, decision, identify, jvm_pair, lose, resolve, trio, watch

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CROWD = 33  # from 32 members on (member/gossip_cache.h)
TRAFFIC_SECONDS = 180  # unless --stay says otherwise
TRAFFIC_RATE = 50     # messages a second, each way
MEMORY_GROWTH = 64    # KiB after the first third, however long that is: half an hour takes 4 to 20, a leak of 1 KiB a second 120 in two minutes
LATE_MORE = 3          # warnings of lateness of our node beyond twice those of two JVM nodes on a machine that holds those up, too


def life(cluster):
    """All that a node does in its life, and that others do to it, in one cluster that goes on; this library's node leads when it is
    there, since its address is the lowest."""
    ports = free_ports(5)
    j1, j2 = jvm_pair(cluster, ports[2:])
    start = time.monotonic()
    s1 = cluster.start("s1", "sherd", ports[0], cluster.seeds)
    cluster.wait_up("it joined JVM nodes")
    check_leader(cluster, s1)
    j3 = cluster.start("j3", cluster.toolkit, ports[4], [s1.address])
    cluster.wait_up("a JVM node asked it, and it moved that up")
    cluster.holds(2, "four nodes")
    cluster.freeze(s1, PAUSE)
    cluster.freeze(j3, PAUSE)
    cluster.check_quiet(start)
    cluster.leave(j3, by=s1)

    s2 = cluster.start("s2", "sherd", ports[1], cluster.seeds)
    cluster.wait_up("another one joined")
    cluster.leave(s1)
    check_leader(cluster, s2)
    cluster.crash(s2, by=j1)
    check_leader(cluster, j1)
    s2 = cluster.start("s3", "sherd", ports[1], cluster.seeds)
    cluster.wait_up("it started again on its port")
    cluster.crash(j2, by=s2)
    cluster.start("j4", cluster.toolkit, ports[3], [s2.address])
    cluster.wait_up("a JVM node started again on its port")
    cluster.holds(5, "after all restarts")
    cluster.leave(s2, by=j1)
    cluster.check_no_quarantine()


def founded(cluster):
    """This library's node founds the cluster, JVM nodes join it, lead it and take it over."""
    ports = free_ports(3)
    start = time.monotonic()
    s1 = cluster.start("s1", "sherd", ports[1], [f"127.0.0.1:{ports[1]}"])
    cluster.wait_up("it founded a cluster")
    j1 = cluster.start("j1", cluster.toolkit, ports[2], [s1.address])
    cluster.wait_up("a JVM node joined")
    check_leader(cluster, s1)
    j2 = cluster.start("j2", cluster.toolkit, ports[0], [s1.address])
    cluster.wait_up("a JVM node joined that leads")
    check_leader(cluster, j2)
    cluster.check_quiet(start)
    cluster.leave(j2)
    check_leader(cluster, s1)
    cluster.leave(s1)
    check_leader(cluster, j1)
    cluster.check_no_quarantine()


def silent(cluster):
    """Nodes of both kinds stand still for so long that all take them for unreachable, and come back."""
    ports = free_ports(3)
    j1, j2 = jvm_pair(cluster, ports[1:])
    s1 = cluster.start("s1", "sherd", ports[0], cluster.seeds)
    cluster.wait_up("it joined JVM nodes")
    for node in (s1, j2, j1):
        cluster.freeze(node, 15)
    cluster.holds(10, "after all stood still")
    cluster.check_no_quarantine()


def talks(cluster):
    """Actors of both kinds write to each other and watch each other, in one cluster."""
    talk(cluster, *trio(cluster))


def talk(cluster, j1, j2, s1, start):
    messages(cluster, j1, s1)
    strangers(cluster, j1, s1)
    watches(cluster, j1, j2, s1)
    cluster.check_quiet(start)
    cluster.check_no_quarantine()


def laned(cluster):
    """As `talks`, with JVM nodes that write ordinary messages by four lanes, read by eight, and know no compression."""
    advanced = "remote.artery.advanced"
    lanes = [f"{advanced}.outbound-lanes=4", f"{advanced}.inbound-lanes=8", f"{advanced}.compression.actor-refs.max=off",
             f"{advanced}.compression.manifests.max=off"]
    ports = free_ports(3)
    j1, j2 = (cluster.start(name, cluster.toolkit, port, [f"127.0.0.1:{ports[0]}"], lanes) for name, port in zip(("j1", "j2"), ports))
    start = time.monotonic()
    s1 = cluster.start("s1", "sherd", ports[2], [j1.address])
    cluster.wait_up("it joined JVM nodes of several lanes")
    talk(cluster, j1, j2, s1, start)


def messages(cluster, j1, s1):
    """Messages by path between actors of both kinds, to 200,000 bytes, and in order."""
    sherd = s1.path()

    for number, size in ((7, 0), (20, 1000), (21, 200000)):  # there, and the answer
        j1.say(f"number {sherd} {number} {size}")
        there = s1.expect(f"^got number {number} {size} ([0-9]+) from {j1.uid()} 1$")
        back = j1.expect(f"^got number {number + 1} {size} ([0-9]+) from {sherd}$")
        if there[1] != back[1]:
            raise Failed(f"{size} bytes came back as others")
        s1.say(f"number {j1.uid()} 1 {number + 10} {size}")
        if j1.expect(f"^got number {number + 10} {size} ([0-9]+) from {sherd}$")[1] != there[1]:
            raise Failed(f"{size} bytes arrived as others")
    print(f"{cluster.toolkit}: messages went both ways", flush=True)

    j1.say(f"numbers {sherd} 1001 3000")
    s1.say(f"numbers {j1.uid()} 1 5001 7000")
    s1.expect("^got number 3000 ")
    j1.expect("^got number 7000 ")
    check_order(s1, range(1001, 3001), "from " + j1.uid())
    check_order(j1, range(5001, 7001), "from ")
    print(f"{cluster.toolkit}: 2000 in order both ways", flush=True)


def large(cluster):
    """Messages above 256 KiB, both ways, by the stream of large ones, in order with small ones to the same actor; what is for others, texts,
    goes the usual way. A node of ours without the setting is told as much, and answers no more than it may."""
    key = "remote.artery.large-message-destinations"
    cluster.settings.append(f'{key}=["/user/a*"]')
    j1, j2, s1, start = trio(cluster)
    for index, size in enumerate((300_000, 1_000_000, 2_000_000)):
        number = 10 * index + 1
        j1.say(f"number {s1.path()} {number} {size}")
        there = s1.expect(f"^got number {number} {size} ([0-9]+) from {j1.uid()} 1$")
        back = j1.expect(f"^got number {number + 1} {size} ([0-9]+) from {s1.path()}$")
        s1.say(f"number {j2.uid()} 1 {number + 5} {size}")
        other = j2.expect(f"^got number {number + 5} {size} ([0-9]+) from {s1.path()}$")
        if not there[1] == back[1] == other[1]:
            raise Failed(f"{size} bytes arrived as others")
    print(f"{cluster.toolkit}: large messages went both ways", flush=True)
    for node, actor, first in ((j1, s1.path(), 1000), (s1, f"{j1.uid()} 1", 5000)):
        node.say(f"number {actor} {first} 1000000")
        node.say(f"numbers {actor} {first + 1} {first + 200}")
    s1.expect("^got number 1200 ")
    j1.expect("^got number 5200 ")
    check_order(s1, [1, 11, 21, *range(1000, 1201)], "from " + j1.uid())
    check_order(j1, [2, 12, 22, *range(5000, 5201)], "from " + s1.path())
    strangers(cluster, j1, s1)
    cluster.check_quiet(start)

    s2 = cluster.start("s2", "sherd", free_ports(1)[0], cluster.seeds, [f"{key}=[]"])
    cluster.wait_up("one without the setting")
    j1.say(f"number {s2.path()} 31 1000000")
    s2.expect(f"^got number 31 1000000 [0-9]+ from {j1.uid()} 1$")
    j1.say(f"number {s2.path()} 33 100")
    j1.expect(f"^got number 34 100 [0-9]+ from {s2.path()}$")
    if j1.find("^got number 32 "):
        raise Failed("an answer came that is too large")
    cluster.check_quiet(start)
    cluster.check_no_quarantine()


def strangers(cluster, jvm, sherd):
    """Texts and arrays of bytes, in the JVM's own serializers, between an actor of ours and JVM actors with names of their own."""
    there, uid = jvm.path("/user/stranger"), jvm.uid()
    jvm.say(f"text {sherd.path()} hello")
    sherd.expect(f"^got text hello from {uid}$")
    jvm.expect(f"^got text re:hello from {sherd.path()}$")
    sherd.expect(f"^got text re:hello from {uid}$")
    jvm.say(f"bytes {sherd.path()} 00ff7f80")
    sherd.expect(f"^got bytes 00ff7f80 from {uid}$")
    jvm.expect(f"^got bytes {b're:'.hex()}00ff7f80 from {sherd.path()}$")
    jvm.say(f"ask {sherd.path()} who")
    jvm.expect("^answer re:who$")
    sherd.say(f"text {there} first")
    jvm.expect(f"^got text first from {sherd.path()}$")
    sherd.expect(f"^got text first from {uid}$")
    sherd.say(f"bytes {there} 0102")
    jvm.expect(f"^got bytes 0102 from {sherd.path()}$")
    sherd.expect(f"^got bytes 0102 from {uid}$")
    sherd.say("watch sender")
    watch(sherd, jvm)
    never(lambda: sherd.find("^terminated sender"), 1, "an end was told that was none")
    jvm.say("stop stranger")
    sherd.expect("^terminated sender$")
    print(f"{cluster.toolkit}: texts, bytes and an ask, with actors of other names", flush=True)


def watches(cluster, j1, j2, s1):
    """Actors of either kind watch actors of the other one: such as are there, and end, and such as are not there. A JVM node asks for
    the same."""
    sherd = s1.path()

    watch(s1, j2)
    watch(s1, j1)
    never(lambda: s1.find(f"^terminated {j2.uid()} 1$"), 1, "an end was told that was none")
    j2.say("stop")
    s1.expect(f"^terminated {j2.uid()} 1$")
    print(f"{cluster.toolkit}: it was told of ends", flush=True)

    watch(j1, s1)
    for path in ("/user/aff000000000000ff", "/user/other", "/system/nothing"):
        j1.say(f"watch {s1.path(path)}")
        j1.expect(f"^terminated {s1.path(path)} confirmed false address false")
    never(lambda: j1.find(f"^terminated {sherd}"), 1, "an end was told that was none")
    identify(j1, sherd, sherd)
    identify(j1, s1.path("/user/a00000000000000ff"), "nobody")
    identify(j1, s1.path("/user/other"), "nobody")
    j1.say(f"poison {sherd}")
    j1.expect(f"^terminated {sherd} confirmed true address false")
    identify(j1, sherd, "nobody")
    print(f"{cluster.toolkit}: it told of ends, and who is there", flush=True)


def widowed(cluster):
    """A watched actor's node dies: its end is told when the node is removed, not when it is silent."""
    ports = free_ports(4)
    j1, j2 = jvm_pair(cluster, ports[:2])
    s1 = cluster.start("s1", "sherd", ports[2], cluster.seeds)
    s2 = cluster.start("s2", "sherd", ports[3], cluster.seeds)
    cluster.wait_up("two joined JVM nodes")
    uid, sherd = j2.uid(), s2.path()
    watch(s1, j2)
    watch(j1, s2)
    start = time.monotonic()
    j2.kill()
    cluster.wait_unreachable(j2, start, "a watched actor's node was killed")
    if s1.find(f"^terminated {uid} 1$"):
        raise Failed("the end was told too early")
    cluster.down(j2, by=j1)
    s1.expect(f"^terminated {uid} 1$")
    start = time.monotonic()
    s2.kill()
    cluster.wait_unreachable(s2, start, "a watched actor's node was killed")
    if j1.find(f"^terminated {sherd}"):
        raise Failed("the end was told too early")
    cluster.down(s2, by=s1)
    j1.expect(f"^terminated {sherd} .* address true")


def reborn(cluster):
    """Nodes of both kinds are killed and start again at once, through nodes of both kinds."""
    ports = free_ports(4)
    j1, j2 = jvm_pair(cluster, ports[1:3])
    s1 = cluster.start("s1", "sherd", ports[0], cluster.seeds)
    s2 = cluster.start("s2", "sherd", ports[3], cluster.seeds)
    cluster.wait_up("two joined JVM nodes")
    s1 = cluster.restart_at_once(s1, "s3", cluster.seeds)
    cluster.restart_at_once(j2, "j3", [s1.address])
    cluster.restart_at_once(s2, "s4", [s1.address])
    cluster.restart_at_once(j1, "j4", [s1.address])
    cluster.holds(5, "after all restarts")
    cluster.check_no_quarantine()


def linked(cluster):
    """Nodes join at run time: one of ours that is a cluster of its own, one that waited, and a JVM node that did."""
    ports = free_ports(4)
    j1 = cluster.start("j1", cluster.toolkit, ports[1], [f"127.0.0.1:{ports[1]}"])
    cluster.wait_up("a JVM node alone")
    s1 = cluster.start("s1", "sherd", ports[0], [f"127.0.0.1:{ports[0]}"])
    wait(lambda: s1.status() == {s1.address: ("Up", True)}, "it founds no cluster")
    s1.say(f"join {j1.address}")
    cluster.wait_up("a cluster of one joined a JVM node")
    check_leader(cluster, s1)
    s2 = cluster.start("s2", "sherd", ports[2], [])
    s2.say(f"join {j1.address}")
    cluster.wait_up("it joined a JVM node")
    j2 = cluster.start("j2", cluster.toolkit, ports[3], [])
    j2.say(f"join {s2.address}")
    cluster.wait_up("a JVM node joined it")
    cluster.holds(2, "all joined by command")
    s1.say(f"join {j2.address}")
    s1.expect("^log ERROR member: .*join refused: in a cluster with others")
    cluster.check_no_quarantine()


def crowd(cluster):
    """So many nodes that this library writes its gossip in two parts, and a JVM node that joins them and leaves."""
    ports = free_ports(CROWD + 1)
    s1 = cluster.start("s1", "sherd", ports[0], [f"127.0.0.1:{ports[0]}"], also=ports[1:-1])
    cluster.wait_up(f"{CROWD} nodes")
    j1 = cluster.start("j1", cluster.toolkit, ports[-1], [s1.address])
    cluster.wait_up(f"a JVM node joined {CROWD}")
    check_leader(cluster, s1)
    cluster.holds(5, f"{CROWD} nodes and a JVM node")
    cluster.leave(j1, slowly=True)
    cluster.check_no_quarantine()


def weakly(cluster):
    """While a member is unreachable, nodes of both kinds are weakly up, whoever leads; and up when it was downed."""
    ports = free_ports(5)
    j1, _ = jvm_pair(cluster, ports[1:3])
    for leads in (False, True):  # this library's node
        s1 = cluster.start("s1" if leads else "s0", "sherd", ports[0 if leads else 3], cluster.seeds)
        cluster.wait_up("it joined JVM nodes")
        start = time.monotonic()
        lost = next(node for node in cluster.nodes if node.name == ("s0" if leads else "j2"))
        lost.kill()
        cluster.wait_unreachable(lost, start, f"{lost.name} ({lost.kind}) was killed")
        others = {node.address: ("Up", node is not lost) for node in cluster.nodes}
        late = cluster.start("s5" if leads else "j5", "sherd" if leads else cluster.toolkit, ports[4], cluster.seeds)
        others[late.address] = ("WeaklyUp", True)
        took = cluster.wait_views(others, f"{late.kind} joins a cluster with an unreachable member", without=lost)
        print(f"{cluster.toolkit}: {late.name} ({late.kind}) is weakly up for all after {took:.1f} s", flush=True)
        cluster.down(lost, by=s1)
        cluster.leave(late)
    cluster.check_no_quarantine()


def refused(cluster):
    """Settings that must agree and do not: both kinds refuse, and do not join. Who was asked logs which ones; a JVM node does not tell
    who asks."""
    provider = f'cluster.downing-provider-class="{PACKAGES[cluster.toolkit]}.cluster.sbr.SplitBrainResolverProvider"'
    for setting in (provider, "cluster.split-brain-resolver.active-strategy=keep-oldest"):
        key = setting.split("=")[0].split(".")[-1]
        ports = free_ports(4)
        j1 = cluster.start("j1" + key, cluster.toolkit, ports[0], [f"127.0.0.1:{ports[0]}"], [setting])
        cluster.wait_up(f"a JVM node with a {key} of its own")
        s1 = cluster.start("s1" + key, "sherd", ports[1], [j1.address])
        s1.expect(f"^log ERROR .*The configuration differs from that of the cluster at {j1.address}")
        j1.expect(f"^log WARNING .*incompatible settings.*{key}")
        s1.expect("^ended -9 ")
        cluster.drop(s1)
        s2 = cluster.start("s2" + key, "sherd", ports[2], [f"127.0.0.1:{ports[2]}"])
        j2 = cluster.start("j2" + key, cluster.toolkit, ports[3], [s2.address], [setting])
        j2.expect("^log ERROR .*incompatible cluster configuration")
        s2.expect(f"^log WARNING member: .*another configuration\"? peer={j2.address}.*{key} is ")
        wait(lambda: not j2.alive, "the JVM node does not end")
        for node in (j1, s2):
            if node.status() != {node.address: ("Up", True)}:
                raise Failed(f"{node.name} took it in: {node.status()}")
        for node in (j1, s2, j2):
            cluster.drop(node)


def patient(cluster):
    """Traffic both ways for three minutes: a JVM says what may be abbreviated after one, which ours acknowledges; then five minutes' silence
    is not waited for. Nobody warns, but of lateness: none is of this library's node while no JVM node is late; nothing is lost, and
    this library's node needs no more memory."""
    cluster.jvm_settings.append("loglevel=DEBUG")
    j1, j2, s1, start = trio(cluster)
    seconds = cluster.programs.stay
    memory = []
    for second in range(seconds):
        first, last = second * TRAFFIC_RATE + 1, (second + 1) * TRAFFIC_RATE
        j1.say(f"numbers {s1.path()} {first} {last}")
        s1.say(f"numbers {j2.uid()} 1 {first} {last}")
        pace(start, second + 1)
        memory.append(s1.memory())
        if second % 10 == 9:
            wrong = cluster.disturbed(start) or cluster.warned(start)
            if wrong:
                raise Failed(f"after {second} s: {wrong}")
    count = seconds * TRAFFIC_RATE
    s1.expect(f"^got number {count} ")
    j2.expect(f"^got number {count} ")
    check_order(s1, range(1, count + 1), "from " + j1.uid())
    check_order(j2, range(1, count + 1), "from ")
    third, last = memory[seconds // 3], s1.memory()
    print(f"{cluster.toolkit}: {count} messages each way in {time.monotonic() - start:.0f} s; memory {memory[0]} KiB at first, {third} KiB "
          f"after a third, {last} KiB at last", flush=True)
    if last - third > MEMORY_GROWTH:
        raise Failed(f"{s1.name}: {last - third} KiB more than {third}")
    cluster.wait_up("after that", 5)
    tables = [check_tables(node, s1) for node in (j1, j2)]
    print(f"{cluster.toolkit}: tables that ours acknowledged: {tables}", flush=True)
    ours, theirs = cluster.late(start)
    print(f"{cluster.toolkit}: late: {ours} warnings are of this library's node, {theirs} of JVM nodes", flush=True)
    if ours > (LATE_MORE + 2 * theirs if theirs else 0):
        raise Failed(f"{ours} warnings of lateness are of this library's node, only {theirs} of JVM nodes")
    cluster.check_quiet(start)
    cluster.check_no_quarantine()


def check_tables(jvm, sherd):
    """A JVM node has advertised compression tables to a node of ours, which has acknowledged them: how many."""
    confirmed = f"Confirmed.* compression table version .*\\[{sherd.uid()}\\]"
    count = sum(bool(re.search(confirmed, line)) for line in jvm.since(0))
    if not count:
        raise Failed(f"{jvm.name} knows of no table that {sherd.name} has acknowledged")
    return count


def resolved(cluster):
    """With split brain resolvers on in all: the leader's decides, of either kind, and the same. At last a minority is left, and our leader
    ends it."""
    resolve(cluster)
    ports = free_ports(9)
    j1, j2 = jvm_pair(cluster, ports[1:3])
    s1 = cluster.start("s1", "sherd", ports[0], cluster.seeds)
    s2 = cluster.start("s2", "sherd", ports[3], cluster.seeds)
    s3 = cluster.start("s3", "sherd", ports[4], cluster.seeds)
    cluster.wait_up("three joined two JVM nodes")
    lose(cluster, s1, j2)
    cluster.leave(s1)
    lose(cluster, j1, s3)

    s4 = cluster.start("s4", "sherd", ports[0], cluster.seeds)
    cluster.wait_up("one more joined")
    few = list(cluster.nodes)
    many = cluster.start("s5", "sherd", ports[4], cluster.seeds, also=ports[5:5 + len(few)])
    cluster.wait_up(f"{len(many.addresses)} more joined {len(few)}")
    check_leader(cluster, s4)
    start = time.monotonic()
    many.kill()
    for node in few:
        if node is not j1:
            node.expect("^ended -[0-9]+ ", start)
    wait(lambda: not j1.alive, "the JVM node of the minority does not end")
    said = {node.name: decision(node, start) for node in few if decision(node, start)}
    print(f"{cluster.toolkit}: {len(few)} of {len(few) + len(many.addresses)} ended after {time.monotonic() - start:.1f} s, decided {said}", flush=True)
    if said.get("s4") != "downreachable" or set(said.values()) != {"downreachable"}:
        raise Failed(f"the minority decided {said}")


def cross(cluster, lost, survivor, by):
    """kill -9 of a node: its data center sees the member unreachable, the other one only that data center, until it is downed by that
    node, in whatever data center, and all are well."""
    far = [node for node in cluster.nodes if node.center != lost.center]
    start = time.monotonic()
    lost.kill()
    survivor.expect(f"^event UnreachableMember {lost.address} ", start)
    for node in far:
        node.expect(f"^event UnreachableDataCenter {lost.center}$", start)
        if node.kind != "sherd" and node.find(f"^event UnreachableMember {lost.address} ", start):
            raise Failed(f"{node.name} says that {lost.name} is unreachable")
    if survivor.find("^event UnreachableDataCenter", start):
        raise Failed(f"{survivor.name} takes the other data center for unreachable")
    cluster.down(lost, by)
    for node in far:
        node.expect(f"^event ReachableDataCenter {lost.center}$", start)
    print(f"{cluster.toolkit}: {lost.name} ({lost.kind}) is gone from {lost.center} after {time.monotonic() - start:.1f} s", flush=True)


def centers(cluster):
    """JVM nodes in one data center and ours in another: each has its own leader, they send each other heartbeats and gossip, and a node
    that dies is seen across."""
    cluster.settings += ["cluster.multi-data-center.failure-detector.heartbeat-interval=1s",
                         "cluster.multi-data-center.failure-detector.acceptable-heartbeat-pause=4s"]
    ports = free_ports(4)
    kinds = (("j1", cluster.toolkit, 2, "east"), ("j2", cluster.toolkit, 3, "east"), ("s1", "sherd", 0, "west"), ("s2", "sherd", 1, "west"))
    if cluster.founder == "sherd":
        kinds = kinds[2:] + kinds[:2]
    seed = f"127.0.0.1:{ports[kinds[0][2]]}"
    nodes = []
    for name, kind, port, center in kinds:
        node = cluster.start(name, kind, ports[port], [seed], [f"cluster.multi-data-center.self-data-center={center}"])
        node.center = center
        nodes.append(node)
    j1, j2, s1, s2 = sorted(nodes, key=lambda node: node.name)
    cluster.wait_up("two data centers")
    for node in nodes:
        for other in nodes:
            node.expect(f"^center {other.address} {other.center}$")
        node.expect(f"^event LeaderChanged {(j1 if node.center == 'east' else s1).address}$")
        if node.find(f"^event LeaderChanged {(s1 if node.center == 'east' else j1).address}$"):
            raise Failed(f"{node.name} takes one of the other data center for its leader")
    cluster.holds(15, "two data centers")  # three times what makes a silent one unreachable
    for node in nodes:
        if node.find("^event UnreachableDataCenter"):
            raise Failed(f"{node.name} takes the other data center for unreachable")
    cross(cluster, s2, s1, by=j1)
    cross(cluster, j2, j1, by=j1)
    cluster.holds(8, "one node in each")
    cluster.leave(s1)
    cluster.check_no_quarantine()


# The longest first, for runs of several beside each other.
SHORT = [life, secured, founded, talks]
LONG = [patient, reborn, silent, centers, weakly, widowed, sharding.shared, large, crowd, linked, refused]
TRAPS = [partitions.majority, partitions.eldest, partitions.thirds, partitions.disowned, resolved, traps.pruned, traps.prepared, traps.paused, traps.told, traps.impatient, traps.parted, traps.lingering, traps.mistaken, traps.bracketed, traps.versioned, traps.seeded, traps.flood, laned, traps.outside, traps.counted]
DDATA = [replicas.divided, replicas.replicated, replicas.inherited, remembering.remembered, remembering.kept, expiry.expires, stored.stored, damaged.damaged]
SETS = {"short": SHORT, "long": LONG, "traps": TRAPS, "ddata": DDATA}
# Cases that take more than a minute begin first.
SLOWEST = ["thirds", "shared", "divided", "replicated", "kept", "reborn", "life", "silent", "eldest", "majority", "disowned", "secured", "stored"]
# Both kinds found, or one of them does by what the case is about.
FOUNDED_BOTH_WAYS = {"founded", "crowd", "linked", "refused", "mistaken", "bracketed", "laned", "seeded", "versioned", "divided", "replicated", "inherited", "remembered", "kept", "expires", "stored", "damaged", "outside", "majority", "eldest", "thirds", "disowned"}
# One after the other on one cluster of JVM nodes: the first one needs ports below theirs.
SHARED = ["life", "talks"]
IDLE = {"patient"}  # they do so little that each runs beside all others
HEAVY = {"flood"}   # one at a time: it takes all processors for seconds


class Lines:
    """What cases print that run beside each other: kept for each, and written as a whole when it has ended."""

    def __init__(self, out):
        self.out, self.lock, self.kept = out, threading.Lock(), threading.local()

    def write(self, text):
        kept = getattr(self.kept, "text", None)
        (self.out.write if kept is None else kept.append)(text)

    def flush(self):
        self.out.flush()

    def begin(self):
        self.kept.text = []

    def end(self):
        kept, self.kept.text = getattr(self.kept, "text", None), None
        with self.lock:
            self.out.write("".join(kept or []))
            self.out.flush()


def grouped(jobs):
    """The jobs in lists, each for one cluster: in most there is one."""
    groups = []
    for job in jobs:
        partners = [other for name in SHARED for other in jobs if other[:2] == job[:2] and other[2].__name__ == name]
        group = partners if job in partners else [job]
        if group not in groups:
            groups.append(group)
    return groups


def run_beside(programs, jobs, count, keep):
    """Runs the jobs, so many at a time; returns those that failed."""
    idle = [job for job in jobs if job[2].__name__ in IDLE] if count > 1 else []
    waiting, passed = grouped([job for job in jobs if job not in idle]), []
    lines, heavy = Lines(sys.stdout), threading.Lock()

    def work(queue):
        while queue:
            try:
                group = queue.pop(0)
            except IndexError:
                return
            if count > 1:
                lines.begin()
            try:
                with heavy if group[0][2].__name__ in HEAVY else contextlib.nullcontext():
                    passed.extend(run_cases(programs, group, keep))
            finally:
                lines.end()
    sys.stdout = lines
    queues = [waiting] * count + [[[job]] for job in idle]
    threads = [threading.Thread(target=work, args=(queue,), daemon=True) for queue in queues]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.stdout = lines.out
        for cluster in list(living):  # this is told to end
            cluster.kill_all()
    return [job for job in jobs if job not in passed]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("node")
    parser.add_argument("build")
    parser.add_argument("--kinds", default="akka,pekko")
    parser.add_argument("--cases", help="only these")
    parser.add_argument("--sets", default="short", help="short, long, traps, ddata")
    parser.add_argument("--founders", default="jvm", help="jvm, sherd: the kind that founds a case's cluster, where either can")
    parser.add_argument("--beside", type=int, default=1, help="so many cases run beside each other")
    parser.add_argument("--again", action="store_true", help="cases that failed are run once more, alone; when more than two did, or than a tenth, it fails all the same")
    parser.add_argument("--slices", type=int, help="run one of so many slices of the cases, the one that tools/sample names for the commit")
    parser.add_argument("--limit", type=int, help="it says loudly when the cases took more seconds than that, the building of programs apart")
    parser.add_argument("--stay", type=int, default=TRAFFIC_SECONDS, help="how long the case `patient` stays, in seconds")
    parser.add_argument("--version", help="of the toolkit, another than the one of pom.xml: later ones of Akka have licences of their own")
    parser.add_argument("--keep", help="a folder for the lines of all nodes")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    programs = Programs(options.node, options.build, options.version)
    programs.stay = options.stay
    start = time.monotonic()
    try:
        for kind in options.kinds.split(","):
            programs.command(kind)
    except Skipped as reason:
        print(f"skipped: {reason}")
        return SKIPPED
    except Failed as error:  # to build the JVM's program
        print(f"FAILED: {error}")
        return 1
    built = time.monotonic()
    jobs = jobs_of(options)
    failed = run_beside(programs, jobs, options.beside, options.keep)
    bad = []
    if failed and options.again:
        print(f"again, alone: {', '.join(f'{kind} {case.__name__}' for kind, _, case in failed)}", flush=True)
        tried, failed = failed, run_beside(programs, failed, 1, options.keep)
        second = [job for job in tried if job not in failed]
        for kind, founder, case in second:
            print(f"passed at the second try: {kind}/{founder}/{case.__name__}", flush=True)  # ./test reads this
        print(f"NOT AT ONCE: {len(second)} of {len(jobs)} cases passed at the second try only")
        may = max(2, len(jobs) // 10)
        if len(tried) > may:
            bad.append(f"{len(tried)} cases needed a second try, and {may} may")
    print(f"{len(jobs) - len(failed)} passed, {len(failed)} failed in {time.monotonic() - start:.0f} s")
    if options.limit and time.monotonic() - built > options.limit:
        print(f"TOO LONG: the cases took {time.monotonic() - built:.0f} s, and shall take at most {options.limit}")
    for reason in bad:
        print(f"FAILED: {reason}")
    return bool(failed or bad) or not jobs


def jobs_of(options):
    """(kind, founder, case), each that is asked for; the same case of another kind or founder is not begun at the same time."""
    cases = [case for name in options.sets.split(",") for case in SETS[name]]
    if options.cases:
        cases = [case for name in SETS for case in SETS[name] if case.__name__ in options.cases.split(",")]
    kinds, founders = options.kinds.split(","), options.founders.split(",")
    variants = [(kind, founder) for kind in kinds for founder in founders]
    jobs = []
    for index in range(len(cases)):
        for place, (kind, founder) in enumerate(variants):
            case = cases[(index + place * len(cases) // len(variants)) % len(cases)]
            if case.__name__ in FOUNDED_BOTH_WAYS and founder != founders[0]:
                continue
            jobs.append((kind, founder, case))
    return sampled(jobs, options.slices) if options.slices else jobs


def sampled(jobs, slices):
    """The jobs of one slice. Those of one case go to different slices, so that nearly every slice has the case in some form."""
    names = {f"{kind}/{founder}/{case.__name__}": (kind, founder, case) for kind, founder, case in jobs}
    order = sorted(names, key=lambda name: names[name][2].__name__)
    lines = [f"{name} {os.path.relpath(sys.modules[names[name][2].__module__].__file__, ROOT)}" for name in order
             if names[name][2].__module__ != "__main__"]
    lines += [name for name in order if names[name][2].__module__ == "__main__"]
    chosen = subprocess.run([os.path.join(ROOT, "tools", "sample"), "clusters-with-JVM-nodes", "--of", str(slices), "--at-most", str(len(jobs) // slices + 8)],
                            input="\n".join(lines), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True).stdout.splitlines()
    print(f"sample: {chosen[-1]}", flush=True)
    jobs = [names[name] for name in chosen if name in names]
    return sorted(jobs, key=lambda job: SLOWEST.index(job[2].__name__) if job[2].__name__ in SLOWEST else len(SLOWEST))


sys.exit(main())

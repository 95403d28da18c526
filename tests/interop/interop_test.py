"""A node of this library in clusters with real JVM nodes.

    interop_test.py NODE BUILD [--kinds akka,pekko] [--cases NAME,...] [--long] [--keep DIR]

NODE is the program made from node.c, BUILD a folder for the JVM's program, which is built there when it is not there yet. Exit
status 77 when it cannot be built because there is no JDK, no Maven, or no way to its libraries."""
import argparse
import re
import signal
import sys
import time

from nodes import PAUSE, SKIPPED, Failed, Programs, Skipped, free_ports, run_case, wait


def jvm_pair(cluster, ports):
    """A cluster of two JVM nodes."""
    seed = f"127.0.0.1:{ports[0]}"
    first = cluster.start("j1", cluster.toolkit, ports[0], [seed])
    second = cluster.start("j2", cluster.toolkit, ports[1], [seed])
    cluster.wait_up("two JVM nodes")
    return first, second


def check_leader(cluster, leader):
    """Every JVM node says that this one leads."""
    for node in cluster.nodes:
        if node.kind != "sherd":
            node.status()
            if node.said["leader"] != leader.address:
                raise Failed(f"{node.name}: {node.said['leader']} leads, not {leader.name} ({leader.address})")


def life(cluster):
    """All that a node does in its life, and that others do to it, in one cluster that goes on; this library's node leads when it is
    there, since its address is the lowest."""
    ports = free_ports(5)
    j1, j2 = jvm_pair(cluster, ports[2:])
    start = time.monotonic()
    s1 = cluster.start("s1", "sherd", ports[0], [j1.address])
    cluster.wait_up("it joined JVM nodes")
    check_leader(cluster, s1)
    j3 = cluster.start("j3", cluster.toolkit, ports[4], [s1.address])
    cluster.wait_up("a JVM node asked it, and it moved that up")
    time.sleep(2)
    cluster.check_quiet(start)
    cluster.freeze(s1, PAUSE)
    cluster.freeze(j3, PAUSE)
    cluster.check_quiet(start)
    cluster.leave(j3)

    s2 = cluster.start("s2", "sherd", ports[1], [j1.address])
    cluster.wait_up("another one joined")
    cluster.leave(s1)
    check_leader(cluster, s2)
    cluster.crash(s2, by=j1)
    check_leader(cluster, j1)
    s2 = cluster.start("s3", "sherd", ports[1], [j1.address])
    cluster.wait_up("it started again on its port")
    cluster.crash(j2, by=s2)
    cluster.start("j4", cluster.toolkit, ports[3], [s2.address])
    cluster.wait_up("a JVM node started again on its port")
    start = time.monotonic()
    time.sleep(5)
    cluster.wait_up("5 s later", 1)
    cluster.check_quiet(start)
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
    s1 = cluster.start("s1", "sherd", ports[0], [j1.address])
    cluster.wait_up("it joined JVM nodes")
    for node in (s1, j2, j1):
        cluster.freeze(node, 15)
    start = time.monotonic()
    time.sleep(10)
    cluster.wait_up("10 s later", 1)
    cluster.check_quiet(start)
    cluster.check_no_quarantine()


def messages(cluster):
    """Messages by path between actors of both kinds, to 200,000 bytes, and in order."""
    ports = free_ports(3)
    j1, j2 = jvm_pair(cluster, ports[:2])
    start = time.monotonic()
    s1 = cluster.start("s1", "sherd", ports[2], [j1.address])
    cluster.wait_up("it joined JVM nodes")
    sherd, jvm = s1.path(), j1.path()

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
    cluster.check_quiet(start)

    cluster.check_no_quarantine()


def watches(cluster):
    """Actors of either kind watch actors of the other one: such as are there, and end, and such as are not there."""
    ports = free_ports(3)
    j1, j2 = jvm_pair(cluster, ports[:2])
    start = time.monotonic()
    s1 = cluster.start("s1", "sherd", ports[2], [j1.address])
    cluster.wait_up("it joined JVM nodes")
    sherd = s1.path()

    s1.say(f"watch {j2.uid()} 1")
    s1.say(f"watch {j2.uid()} 255")
    s1.expect(f"^terminated {j2.uid()} 255$")
    s1.say(f"watch {j1.uid()} 1")
    time.sleep(1)
    if s1.find(f"^terminated {j2.uid()} 1$"):
        raise Failed("an end was told that was none")
    j2.say("stop")
    s1.expect(f"^terminated {j2.uid()} 1$")
    print(f"{cluster.toolkit}: it was told of ends", flush=True)

    j1.say(f"watch {sherd}")
    for path in ("/user/a00000000000000ff", "/user/aff000000000000ff", "/user/other", "/system/nothing"):
        j1.say(f"watch {s1.path(path)}")
        j1.expect(f"^terminated {s1.path(path)} confirmed false address false")
    if j1.find(f"^terminated {sherd}"):
        raise Failed("an end was told that was none")
    j1.say(f"poison {sherd}")
    j1.expect(f"^terminated {sherd} confirmed true address false")
    print(f"{cluster.toolkit}: it told of ends", flush=True)
    cluster.check_quiet(start)
    cluster.check_no_quarantine()


def check_order(node, numbers, sender):
    seen = [int(line.split()[2]) for line in node.since(0) if re.match(f"got number .* {sender}", line)]
    seen = [number for number in seen if number in numbers]
    if seen != list(numbers):
        raise Failed(f"{node.name} got {len(seen)} of {len(numbers)} messages, or in another order")


def widowed(cluster):
    """A watched actor's node dies: its end is told when the node is removed, not when it is silent."""
    ports = free_ports(4)
    j1, j2 = jvm_pair(cluster, ports[:2])
    s1 = cluster.start("s1", "sherd", ports[2], [j1.address])
    s2 = cluster.start("s2", "sherd", ports[3], [j1.address])
    cluster.wait_up("two joined JVM nodes")
    uid, sherd = j2.uid(), s2.path()
    s1.say(f"watch {uid} 1")
    j1.say(f"watch {sherd}")
    time.sleep(1)
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
    s1 = cluster.start("s1", "sherd", ports[0], [j1.address])
    s2 = cluster.start("s2", "sherd", ports[3], [j1.address])
    cluster.wait_up("two joined JVM nodes")
    s1 = cluster.restart_at_once(s1, "s3", j2)
    cluster.restart_at_once(j2, "j3", s1)
    cluster.restart_at_once(s2, "s4", s1)
    cluster.restart_at_once(j1, "j4", s1)
    start = time.monotonic()
    time.sleep(5)
    cluster.wait_up("5 s later", 1)
    cluster.check_quiet(start)
    cluster.check_no_quarantine()


def weakly(cluster):
    """While a member is unreachable, nodes of both kinds are weakly up, whoever leads; and up when it was downed."""
    ports = free_ports(5)
    j1, _ = jvm_pair(cluster, ports[1:3])
    for leads in (False, True):  # this library's node
        s1 = cluster.start("s1" if leads else "s0", "sherd", ports[0 if leads else 3], [j1.address])
        cluster.wait_up("it joined JVM nodes")
        start = time.monotonic()
        lost = next(node for node in cluster.nodes if node.name == ("s0" if leads else "j2"))
        lost.kill()
        cluster.wait_unreachable(lost, start, f"{lost.name} ({lost.kind}) was killed")
        others = {node.address: ("Up", node is not lost) for node in cluster.nodes}
        late = cluster.start("s5" if leads else "j5", "sherd" if leads else cluster.toolkit, ports[4], [j1.address])
        others[late.address] = ("WeaklyUp", True)
        took = cluster.wait_views(others, f"{late.kind} joins a cluster with an unreachable member", without=lost)
        print(f"{cluster.toolkit}: {late.name} ({late.kind}) is weakly up for all after {took:.1f} s", flush=True)
        cluster.down(lost, by=s1)
        cluster.leave(late)
    cluster.check_no_quarantine()


def refused(cluster):
    """Settings that must agree and do not: both kinds refuse, and do not join. A JVM node does not tell which ones."""
    ports = free_ports(4)
    package = "akka" if cluster.toolkit == "akka" else "org.apache.pekko"
    other = [f'cluster.downing-provider-class="{package}.cluster.sbr.SplitBrainResolverProvider"']
    j1 = cluster.start("j1", cluster.toolkit, ports[0], [f"127.0.0.1:{ports[0]}"], other)
    cluster.wait_up("a JVM node with a downing provider")
    s1 = cluster.start("s1", "sherd", ports[1], [j1.address])
    s1.expect("^log ERROR .*The configuration differs from that of the cluster at " + j1.address)
    j1.expect("^log WARNING .*incompatible settings.*downing-provider-class")
    s1.expect("^ended -9 ")
    cluster.drop(s1)
    s2 = cluster.start("s2", "sherd", ports[2], [f"127.0.0.1:{ports[2]}"])
    j2 = cluster.start("j2", cluster.toolkit, ports[3], [s2.address], other)
    j2.expect("^log ERROR .*incompatible cluster configuration")
    wait(lambda: not j2.alive, "the JVM node does not end")
    for node in (j1, s2):
        if node.status() != {node.address: ("Up", True)}:
            raise Failed(f"{node.name} took it in: {node.status()}")


def patient(cluster):
    """Traffic for three minutes: a JVM says what may be abbreviated after one; then five minutes' silence is not waited for."""
    ports = free_ports(3)
    j1, _ = jvm_pair(cluster, ports[:2])
    start = time.monotonic()
    s1 = cluster.start("s1", "sherd", ports[2], [j1.address])
    cluster.wait_up("it joined JVM nodes")
    for second in range(180):
        j1.say(f"numbers {s1.path()} {second * 20 + 1} {second * 20 + 20}")
        time.sleep(1)
    s1.expect("^got number 3600 ")
    check_order(s1, range(1, 3601), "from " + j1.uid())
    cluster.wait_up("three minutes later", 1)
    cluster.check_quiet(start)
    cluster.check_no_quarantine()


SHORT = [life, founded, messages, watches]
LONG = [silent, widowed, reborn, weakly, refused, patient]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("node")
    parser.add_argument("build")
    parser.add_argument("--kinds", default="akka,pekko")
    parser.add_argument("--cases", help="only these")
    parser.add_argument("--long", action="store_true", help="the long set too")
    parser.add_argument("--keep", help="a folder for the lines of all nodes")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    programs = Programs(options.node, options.build)
    cases = SHORT + LONG if options.long or options.cases else SHORT
    if options.cases:
        cases = [case for case in cases if case.__name__ in options.cases.split(",")]
    passed = failed = 0
    try:
        for kind in options.kinds.split(","):
            programs.command(kind)
            for case in cases:
                good = run_case(programs, kind, case, options.keep)
                passed, failed = passed + good, failed + (not good)
    except Skipped as reason:
        print(f"skipped: {reason}")
        return SKIPPED
    except Failed as error:  # to build the JVM's program
        print(f"FAILED: {error}")
        return 1
    print(f"{passed} passed, {failed} failed")
    return failed != 0 or not passed


sys.exit(main())

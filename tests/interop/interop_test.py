"""A node of this library in clusters with real JVM nodes.

    interop_test.py NODE BUILD [--kinds akka,pekko] [--cases NAME,...] [--long] [--keep DIR]

NODE is the program made from node.c, BUILD a folder for the JVM's program, which is built there when it is not there yet. Exit
status 77 when it cannot be built because there is no JDK, no Maven, or no way to its libraries."""
import argparse
import signal
import sys
import time

from nodes import PAUSE, SKIPPED, Failed, Programs, Skipped, free_ports, run_case


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


SHORT = [life, founded]
LONG = [silent]


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

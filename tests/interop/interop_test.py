"""A node of this library in clusters with real JVM nodes.

    interop_test.py NODE BUILD [--kinds akka,pekko] [--cases NAME,...] [--long] [--keep DIR]

NODE is the program made from node.c, BUILD a folder for the JVM's program, which is built there when it is not there yet. Exit
status 77 when it cannot be built because there is no JDK, no Maven, or no way to its libraries."""
import argparse
import signal
import sys
import time

from nodes import SKIPPED, Failed, Programs, Skipped, free_ports, run_case


def jvm_pair(cluster, ports):
    """A cluster of two JVM nodes."""
    seed = f"127.0.0.1:{ports[0]}"
    first = cluster.start("j1", cluster.toolkit, ports[0], [seed])
    second = cluster.start("j2", cluster.toolkit, ports[1], [seed])
    cluster.wait_up("two JVM nodes")
    return first, second


def join(cluster):
    """One joins a cluster of JVM nodes and is up in everybody's view; nobody complains."""
    ports = free_ports(3)
    first, _ = jvm_pair(cluster, ports)
    start = time.monotonic()
    cluster.start("s1", "sherd", ports[2], [first.address])
    cluster.wait_up("it joined")
    time.sleep(5)
    cluster.wait_up("5 s later", 1)
    cluster.check_quiet(start)
    cluster.check_no_quarantine()


SHORT = [join]
LONG = []


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

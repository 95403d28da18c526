"""Tests examples/flags.c. Three processes each switch one flag on and count a visit, and all see
all. A process without arguments ends by itself. Wrong options are refused. A node that no cluster
accepts changes nothing.

usage: flags_test.py FLAGS"""
import subprocess
import sys
import threading

from cluster import Speaker, free_port

failed = []


def expect(condition, what):
    print(f"{'ok' if condition else 'FAILED'}: {what}", flush=True)
    if not condition:
        failed.append(what)


def outside(flags):
    """A node that no seed node accepts is not a member. Its changes would reach no other node at
    any consistency level, so it makes none."""
    command = [flags, str(free_port()), f"127.0.0.1:{free_port()}", "outside"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as node:
        late = threading.Timer(60, node.kill)
        late.start()
        tried = any("no seed node accepted this node" in line for line in node.stderr)
        node.terminate()
        said = node.communicate()[0]
        late.cancel()
    expect(tried and not said and node.returncode == 0, f"a node outside the cluster changes nothing: {said!r}, {node.returncode}")


def main():
    flags = sys.argv[1]
    outside(flags)
    alone = subprocess.run([flags], stdout=subprocess.PIPE, text=True, timeout=60)
    expect(alone.returncode == 0 and sorted(alone.stdout.splitlines()) == ["flags: dark-mode", "visits: 1"], "one node alone ends by itself")
    for words in (["no-port"], ["70000"], ["-1"]):
        result = subprocess.run([flags] + words, stderr=subprocess.PIPE, text=True, timeout=60)
        expect(result.returncode == 2 and "usage: flags" in result.stderr, f"{words[0]} is refused")
    seed = free_port()
    nodes = [Speaker(flags, str(seed), "a")]
    nodes += [Speaker(flags, str(free_port()), f"127.0.0.1:{seed}", flag) for flag in ("b", "c")]
    try:
        for number, node in enumerate(nodes):
            expect(node.says("flags: a b c"), f"node {number} sees all flags")
            expect(node.says("visits: 3"), f"node {number} sees all visits")
    finally:
        codes = [node.end() for node in reversed(nodes)]
    expect(codes == [0, 0, 0], f"all nodes leave: {codes}")
    return 1 if failed else 0


sys.exit(main())

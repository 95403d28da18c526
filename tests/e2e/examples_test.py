"""Runs the small examples and checks their output; those with a journal run twice. Also checks that
the README shows examples/first.c unchanged, that hello_sim.c has fewer than 60 lines and
http_front.c at most 150, and that no function of an example has more than 70.

usage: examples_test.py FIRST COUNTER HELLO MEMBERS PRIMES SESSIONS REGIONS EXTRACTORS"""
import os
import re
import subprocess
import sys
import tempfile
import threading

from cluster import ROOT, free_port

FUNCTION_MAX = 70  # lines

COUNTER = """\
counter-1 is at 3
counter-1 says goodbye at 3
"""
HELLO = """\
Hello, Ada! People known: {}
Hello, Grace! People known: {}
Hello, Barbara! People known: {}
Hello, Ada! People known: 3
"""
EXTRACTORS = """\
anvil is article 1 of cart acme/17 in shard acme
rope is article 2 of cart acme/17 in shard acme
pump is article 1 of cart globex/4 in shard globex
refused: the extractor does not handle the message
started in shard acme
"""
# These lines are always printed. If the machine stands still for two seconds, another key expires,
# the first value may be missing, and a later one may appear twice.
EXPIRED = ("session-1: expired", "session-1: apple pear", "session-2: pear")
MORE_OR_LESS = ("session-1: apple", "session-2: expired")

failed = []


def expect(condition, what):
    print(f"{'ok' if condition else 'FAILED'}: {what}", flush=True)
    if not condition:
        failed.append(what)


def run(*command):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    if result.returncode or result.stderr:
        print(f"exit status {result.returncode}: {result.stderr}")
    return result.stdout if result.returncode == 0 else None


def in_order(few, many):
    """Returns whether `many` contains all of `few`, in the same order."""
    rest = iter(many)
    return all(one in rest for one in few)


def read(*path):
    with open(os.path.join(ROOT, *path)) as file:
        return file.read()


def names_silent_seed(members):
    seed, own = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
    process = subprocess.Popen([members, own, seed], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    watchdog = threading.Timer(60, process.kill)
    watchdog.start()
    try:
        return any("no seed node accepted this node" in line and f"no_answer={seed}" in line for line in process.stderr)
    finally:
        watchdog.cancel()
        process.kill()
        process.communicate()


def longest_function(source):
    """Returns (lines, name) of the longest function of a C file. A function begins and ends with a
    brace in the first column."""
    longest = (0, "")
    begin = name = None
    for number, line in enumerate(source.splitlines()):
        found = re.match(r"[a-z][^;={}]*?(\w+)\(", line)
        if found:
            name = found.group(1)
        if line == "{":
            begin = number
        elif line == "}" and begin is not None:
            longest = max(longest, (number - begin + 2, name or "?"))
            begin = None
    return longest


def main():
    first, counter, hello, members, primes, sessions, regions, extractors = sys.argv[1:]
    expect(run(counter) == COUNTER, "counter")
    # The two answers come in any order; normally the greeting is first.
    expect(sorted((run(primes, "1000000") or "").splitlines()) == ["78498 primes below 1000000", "hello"],
           "primes: a job counts, and the entity answers")
    said = (run(sessions) or "").splitlines()
    expect(in_order(EXPIRED, said) and said[-1] == EXPIRED[-1] and set(said) <= {*EXPIRED, *MORE_OR_LESS}, f"sessions: one key expires, and a new key has only new items: {said}")
    with tempfile.TemporaryDirectory(prefix="sherd-hello-") as folder:
        journal = "sqlite:" + os.path.join(folder, "first.db")
        expect(run(first, journal) == "clicks: 1\n", "first on a new journal")
        expect(run(first, journal) == "clicks: 2\n", "first on the same journal recovers the count")
        journal = os.path.join(folder, "hello.db")
        expect(run(hello, journal) == HELLO.format(1, 2, 3), "hello on a new journal")
        expect(run(hello, journal) == HELLO.format(3, 3, 3), "hello on the same journal recovers the people")
        expect(not os.path.exists(journal + "-wal"), "hello leaves no write-ahead log beside its journal")
    expect(run(extractors) == EXTRACTORS, "extractors names the shards of carts after their tenants")
    told = (run(regions) or "").split("after the shutdown of one region:\n")
    expect(len(told) == 2 and all(re.search("^  a node with [1-6] shards$", part, re.M) for part in told)
           and " 6 shards" in told[1], "regions moves all shards to one node")
    expect(names_silent_seed(members), "members names the seed that does not answer")
    shown = re.findall(r"```c\n(.*?)```", read("README.md"), re.DOTALL)
    expect(read("examples", "first.c") in shown, "the README shows examples/first.c unchanged")
    lines = read("examples", "hello_sim.c").count("\n")
    expect(lines < 60, f"hello_sim.c: {lines} lines, fewer than 60")
    lines = read("examples", "http_front.c").count("\n")
    expect(lines <= 150, f"http_front.c: {lines} lines, at most 150")
    for name in ("first.c", "counter.c", "hello.c", "hello_sim.c", "flags.c", "sessions.c", "primes.c", "airports.c", "regions.c", "extractors.c",
                 "http_front.c"):
        lines, function = longest_function(read("examples", name))
        expect(lines <= FUNCTION_MAX, f"{name}: the longest function, {function}, has {lines} lines, at most {FUNCTION_MAX}")
    return 1 if failed else 0


sys.exit(main())

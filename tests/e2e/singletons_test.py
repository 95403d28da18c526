"""Runs three nodes with one singleton each (examples/singleton.c). The oldest node leaves, and the
next oldest one is killed. Checks that one instance runs at a time, that every node reaches it, and
that the hand-over closes the old instance before the new one opens.

usage: singletons_test.py SINGLETON"""
import subprocess
import sys
import threading
import time

from cluster import free_port

SECONDS = 90  # for each step: a downed node's singleton moves after two times stable-after

lines = []  # (node, text) of all nodes, in order of arrival
news = threading.Condition()


def follow(name, process):
    for line in process.stdout:
        with news:
            lines.append((name, line.split()))
            news.notify_all()


def start(program, name, port, seeds):
    process = subprocess.Popen([program, f"127.0.0.1:{port}", *seeds], stdout=subprocess.PIPE, text=True)
    threading.Thread(target=follow, args=(name, process), daemon=True).start()
    return process


def wait_for(what, condition, seconds=SECONDS):
    end = time.monotonic() + seconds
    with news:
        while not condition():
            if not news.wait(end - time.monotonic() if end > time.monotonic() else 0.001) and time.monotonic() > end:
                print("\n".join(f"{name}: {' '.join(words)}" for name, words in lines[-40:]))
                sys.exit(f"FAILED: {what}")
    print(f"ok: {what}", flush=True)


def count(name, word, since=0):
    return sum(1 for node, words in lines[since:] if node == name and words[0] == word)


def opened():
    return [node for node, words in lines if words[0] == "opens"]


def all_served(names):
    since = len(lines)
    return lambda: all(count(name, "ticket", since) >= 3 for name in names)


def main():
    program = sys.argv[1]
    ports = {name: free_port() for name in ("first", "second", "third")}
    seed = f"127.0.0.1:{ports['first']}"
    nodes = {}
    try:
        nodes["first"] = start(program, "first", ports["first"], [])
        wait_for("the first node opens the desk", lambda: opened() == ["first"])
        for name in ("second", "third"):
            nodes[name] = start(program, name, ports[name], [seed])
            wait_for(f"the {name} node is served", all_served([name]))
        wait_for("all nodes are served by one desk", all_served(nodes))
        assert opened() == ["first"], opened()

        nodes["first"].terminate()
        wait_for("the second node opens the desk", lambda: opened() == ["first", "second"])
        wait_for("the first node has closed it", lambda: count("first", "closes") == 1)
        assert nodes["first"].wait(SECONDS) == 0
        wait_for("the nodes that are left are served", all_served(["second", "third"]))

        nodes["fourth"] = start(program, "fourth", free_port(), [f"127.0.0.1:{ports['second']}"])
        wait_for("a new node is served", all_served(["fourth"]))
        nodes["second"].kill()
        wait_for("the third node opens the desk", lambda: opened() == ["first", "second", "third"])
        wait_for("the nodes that are left are served", all_served(["third", "fourth"]))
        for name in ("third", "fourth"):
            nodes[name].terminate()
            assert nodes[name].wait(SECONDS) == 0
        print("ok: the last nodes leave", flush=True)
    finally:
        for process in nodes.values():
            if process.poll() is None:
                process.kill()
                process.wait()


if __name__ == "__main__":
    main()

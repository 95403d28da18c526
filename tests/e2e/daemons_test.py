"""Runs three nodes with daemons (examples/daemons.c). Checks that each daemon runs once, that a change
of their number ends all of them before the new ones start, and that those of a leaving node start
elsewhere.

usage: daemons_test.py DAEMONS"""
import subprocess
import sys
import threading
import time

from cluster import free_port

SECONDS = 60

lock = threading.Condition()
running = {}  # (revision, number) -> the nodes where it runs
changed = set()
log = []


def follow(name, process):
    for line in process.stdout:
        words = line.split()
        with lock:
            log.append(f"{name}: {line.strip()}")
            if words[0] == "changed":
                changed.add((name, int(words[1])))
            elif words[0] == "starts":
                running.setdefault((int(words[3]), int(words[1])), []).append(name)
            else:
                running[int(words[3]), int(words[1])].remove(name)
            lock.notify_all()


def live():
    return sorted(key for key, nodes in running.items() for _ in nodes)


def wait_for(what, condition):
    end = time.monotonic() + SECONDS
    with lock:
        while not condition():
            lock.wait(0.2)
            if time.monotonic() > end:
                print("\n".join(log[-40:]))
                sys.exit(f"FAILED: {what}; running: {running}")
    print(f"ok: {what}", flush=True)


def start(program, name, port, count, seeds):
    process = subprocess.Popen([program, f"127.0.0.1:{port}", str(count), *seeds], stdout=subprocess.PIPE, text=True)
    threading.Thread(target=follow, args=(name, process), daemon=True).start()
    return process


def main():
    program = sys.argv[1]
    port = free_port()
    seed = f"127.0.0.1:{port}"
    nodes = {}
    try:
        nodes["first"] = start(program, "first", port, 2, [])
        wait_for("the first node changes the number to 2", lambda: ("first", 2) in changed)
        wait_for("two daemons run", lambda: live() == [(1, 0), (1, 1)])
        nodes["second"] = start(program, "second", free_port(), 5, [seed])
        wait_for("the second node changes the number to 5", lambda: ("second", 5) in changed)
        wait_for("five daemons run", lambda: live() == [(2, number) for number in range(5)])
        nodes["third"] = start(program, "third", free_port(), 5, [seed])
        wait_for("the third node keeps the number", lambda: ("third", 5) in changed)
        nodes["first"].terminate()
        assert nodes["first"].wait(SECONDS) == 0
        wait_for("all run on the nodes that are left",
                 lambda: live() == [(2, number) for number in range(5)] and
                 all("first" not in at for at in running.values()))
        for name in ("second", "third"):
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

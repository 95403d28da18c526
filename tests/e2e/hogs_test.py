"""Two processor hogs for 60 s on a cluster of three nodes under light traffic: nobody becomes unreachable, nobody ends."""
import subprocess
import sys
import time

from cluster import Failed, main

SECONDS = 60


def test(cluster):
    cluster.start_all()
    cluster.rate = 300
    hogs = [subprocess.Popen([sys.executable, "-c", f"import time\nend = time.time() + {SECONDS}\nwhile time.time() < end: pass"])
            for _ in range(2)]
    end = time.monotonic() + SECONDS
    try:
        while time.monotonic() < end:
            cluster.feed_some()
            time.sleep(0.5)
            for node in cluster.nodes:
                for address, (status, reachable) in cluster.members(node).items():
                    if reachable != "1" or status != "1":
                        raise Failed(f"{node.name} sees {address} with status {status}, reachable {reachable}")
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()
    for node in cluster.nodes:
        with open(node.log.name, errors="replace") as file:
            cluster.expect("unreachable" not in file.read(), f"{node.name} logged an unreachable member")
    cluster.stop_all()


sys.exit(main(test, __doc__))

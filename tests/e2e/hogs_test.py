"""Runs two processes that use all processor time for 60 s (or HOGS_SECONDS) beside a cluster of
three nodes under light traffic. No node becomes unreachable, and no node ends."""
import os
import subprocess
import sys
import time

from cluster import main

SECONDS = int(os.environ.get("HOGS_SECONDS", "60"))


def test(cluster):
    cluster.start_all()
    cluster.rate = 300
    end = time.monotonic() + SECONDS
    hogs = [subprocess.Popen([sys.executable, "-c",
                              f"import time\nend = time.time() + {SECONDS}\nwhile time.time() < end: pass"])
            for _ in range(2)]
    try:
        while time.monotonic() < end:
            cluster.feed_some()
            time.sleep(0.5)
            cluster.check_members()
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()
    for node in cluster.nodes:
        cluster.expect("unreachable" not in cluster.log(node), f"{node.name} logged an unreachable member")
    cluster.stop_all()


sys.exit(main(test, __doc__))

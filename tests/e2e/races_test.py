"""Runs nodes with two lanes each under ThreadSanitizer. Three nodes are fed, a fourth joins,
another leaves with open commands, and then all leave. No command is lost or doubled, every node
ends with status 0, and no node reports a race."""
import os
import subprocess
import sys

from cluster import is_partly_acknowledged, main, wait

REPORT = "ThreadSanitizer"
REPORT_LINES = 60
MOVE_RATE = 200  # commands in a second while shards move, so that some remain for the whole move
os.environ["TSAN_OPTIONS"] = " ".join(["exitcode=66", os.environ.get("TSAN_OPTIONS", "")])


def check_watched(cluster):
    """Checks that the program is built with ThreadSanitizer; otherwise the test would prove
    nothing."""
    done = subprocess.run([cluster.program, "--help"], env=dict(os.environ, TSAN_OPTIONS="help=1"), capture_output=True, text=True)
    cluster.expect(REPORT in done.stdout + done.stderr, f"{cluster.program} is not built with ThreadSanitizer")


def check_races(cluster):
    for node in cluster.nodes + cluster.gone:
        log = cluster.log(node)
        at = log.find(REPORT)
        if at >= 0:
            print("\n".join(log[log.rfind("\n", 0, at) + 1:].splitlines()[:REPORT_LINES]))
        cluster.expect(at < 0, f"{node.name} reports a race")
        cluster.expect(node.process.returncode == 0, f"{node.name} ended with status {node.process.returncode}")


def feed_while(cluster, condition, what):
    """Feeds until the condition holds, also after the file is fed."""
    wait(lambda: (cluster.feed_some(), condition())[1], what, 120)


def join(cluster):
    node = cluster.start("n4")
    node.feedable = False
    cluster.wait_up()
    node.feedable = True
    cluster.set_rate(MOVE_RATE)
    feed_while(cluster, lambda: int(node.get_status()["shards"]) > 0, "the joined node gets no shards")


def leave(cluster, node):
    """Lets a node with open commands leave. The others send the commands that it returns."""
    cluster.feed_until(lambda: is_partly_acknowledged(node), "feeding")
    node.feedable = False
    node.say("leave")
    cluster.leaving = node
    feed_while(cluster, cluster.has_left, f"{node.name} does not leave")
    cluster.set_rate(cluster.pace.fast)


def test(cluster):
    check_watched(cluster)
    cluster.extra = ["--lanes", "2"]
    cluster.start_all()
    total = 2 * len(cluster.flights)
    cluster.feed_until(lambda: cluster.acked() >= total // 4, "feeding")
    join(cluster)
    print(f"joined, {cluster.acked()} of {total} commands acknowledged", flush=True)
    leave(cluster, cluster.nodes[1])
    print(f"left, {cluster.acked()} of {total} commands acknowledged", flush=True)
    cluster.feed_all()
    cluster.check_exact()
    cluster.stop_all()
    check_races(cluster)


sys.exit(main(test, __doc__, flights=2000))

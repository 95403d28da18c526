"""Crashes under traffic: kill -9 of another host, of the coordinator's node (the first seed), of the next coordinator; each is
downed by command. Entities answer elsewhere with every acknowledged event; nothing is lost, nothing is stored twice."""
import sys

from cluster import main


def crash_and_down(cluster, node, what):
    cluster.crash(node)
    cluster.down(node)
    cluster.wait_gone(node)
    cluster.feed_again(node)
    print(f"{what}: {node.name} killed and downed", flush=True)


def test(cluster):
    cluster.start_all()
    total = 2 * len(cluster.flights)
    cluster.rate = 5000
    cluster.feed_until(lambda: cluster.acked() >= total // 8, "feeding")
    coordinator = cluster.wait_coordinator()
    cluster.expect(coordinator is cluster.nodes[0], "the first node is the coordinator's")
    crash_and_down(cluster, cluster.nodes[2], "another host")
    cluster.feed_until(lambda: cluster.acked() >= total // 4, "feeding")
    cluster.start("n4")
    cluster.wait_up()
    crash_and_down(cluster, cluster.nodes[0], "coordinator and first seed")
    cluster.feed_until(lambda: cluster.acked() >= total * 3 // 8, "feeding")
    cluster.start("n5")
    cluster.wait_up()
    crash_and_down(cluster, cluster.wait_coordinator(), "the next coordinator")
    cluster.feed_all()
    cluster.check_exact()
    cluster.stop_all()


sys.exit(main(test, __doc__))

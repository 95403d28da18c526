"""Tests crashes under traffic. A command downs each crashed node.

Nodes are killed with SIGKILL in this order: a node without coordinator; the coordinator's node,
which is the first seed; the first seed again after it came back as the youngest member; the next
coordinator's node. Entities continue elsewhere with every acknowledged event. No command is lost or
stored twice. New nodes join through the remaining seeds."""
import sys

from cluster import is_partly_acknowledged, main


def crash_and_down(cluster, node, what):
    """Kills the node while some of its commands are open, and downs it. The others continue to feed
    until it is removed."""
    cluster.feed_until(lambda: is_partly_acknowledged(node), "feeding")
    cluster.crash(node)
    cluster.down(node)
    cluster.feed_until_gone(node)
    cluster.feed_again(node)
    print(f"{what}: {node.name} killed and downed", flush=True)


def first_seed_as_youngest(cluster, address):
    """Starts a new incarnation of the first seed. It does not found a second cluster, but joins the
    cluster of the second seed. It owns shards and feeds, without the coordinator, and is killed and
    downed. The next new node has a first seed that does not answer."""
    seeds = [address, cluster.nodes[0].address]
    back = cluster.start("n1b", seeds, int(address.rsplit(":", 1)[1]))
    cluster.wait_up()
    cluster.feed_until(lambda: int(back.get_status()["shards"]) > 0, "feeding")
    cluster.expect(back.address == seeds[0] and cluster.wait_coordinator() is not back, "the first seed has the coordinator again")
    crash_and_down(cluster, back, "first seed and youngest member")
    joiner = cluster.start("n5", seeds)
    cluster.wait_up()
    cluster.feed_until(lambda: int(joiner.get_status()["shards"]) > 0, "feeding")


def test(cluster):
    cluster.start_all()
    total = 2 * len(cluster.flights)
    cluster.rate = 5000
    cluster.feed_until(lambda: cluster.acked() >= total // 8, "feeding")
    coordinator = cluster.wait_coordinator()
    cluster.expect(coordinator is cluster.nodes[0], "the first node does not have the coordinator")
    crash_and_down(cluster, cluster.nodes[2], "a node without coordinator")
    cluster.feed_until(lambda: cluster.acked() >= total // 4, "feeding")
    cluster.start("n4")
    cluster.wait_up()
    crash_and_down(cluster, coordinator, "coordinator and first seed")
    cluster.feed_until(lambda: cluster.acked() >= total * 3 // 8, "feeding")
    first_seed_as_youngest(cluster, coordinator.address)
    crash_and_down(cluster, cluster.wait_coordinator(), "the next coordinator")
    cluster.feed_all()
    cluster.check_exact()
    cluster.stop_all()


sys.exit(main(test, __doc__))

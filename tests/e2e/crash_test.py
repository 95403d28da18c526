"""Crashes under traffic: kill -9 of another host, of the coordinator's node (the first seed), of the first seed when it is back as
the youngest member, of the next coordinator; each is downed by command. Entities answer elsewhere with every acknowledged event;
nothing is lost, nothing is stored twice, and nodes join by what is left of the seeds."""
import sys

from cluster import in_the_midst, main


def crash_and_down(cluster, node, what):
    """In the midst of its commands; the others go on with theirs while it is missed and removed."""
    cluster.feed_until(lambda: in_the_midst(node), "feeding")
    cluster.crash(node)
    cluster.down(node)
    cluster.feed_until_gone(node)
    cluster.feed_again(node)
    print(f"{what}: {node.name} killed and downed", flush=True)


def first_seed_as_youngest(cluster, address):
    """A new life of the first seed, which does not found a cluster of its own, but joins the one that the second seed is in. It
    hosts shards and feeds, and is not the coordinator's node, when it is killed and downed. A new node then has a first seed that
    does not answer."""
    seeds = [address, cluster.nodes[0].address]
    back = cluster.start("n1b", seeds, int(address.rsplit(":", 1)[1]))
    cluster.wait_up()
    cluster.feed_until(lambda: int(back.get_status()["shards"]) > 0, "feeding")
    cluster.expect(back.address == seeds[0] and cluster.wait_coordinator() is not back, "the first seed is the coordinator's again")
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
    cluster.expect(coordinator is cluster.nodes[0], "the first node is the coordinator's")
    crash_and_down(cluster, cluster.nodes[2], "another host")
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

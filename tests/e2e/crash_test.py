"""Crashes under traffic: kill -9 of another host, of the coordinator's node (the first seed), of the next coordinator; each is
downed by command. Entities answer elsewhere with every acknowledged event; nothing is lost, nothing is stored twice."""
import sys

from cluster import Failed, main, wait


def crash_and_down(cluster, node, what):
    cluster.crash(node)
    lost = (node.from_flight, node.to_flight) if node.busy else None
    cluster.down(node)
    cluster.wait_gone(node)
    if lost:  # what it fed and had not acknowledged is fed again; entities ignore what they have
        feeder = cluster.nodes[0]
        wait(lambda: not feeder.busy, "a feeder that does not end", 60)
        feeder.busy = True
        feeder.say(f"feed {lost[0]} {lost[1]} 4000")
    print(f"{what}: {node.name} killed and downed", flush=True)


def test(cluster):
    cluster.start_all()
    total = 2 * len(cluster.flights)
    cluster.rate = 5000
    cluster.feed_until(lambda: cluster.acked() >= total // 8, "feeding")
    coordinator = cluster.coordinator()
    cluster.expect(coordinator is cluster.nodes[0], "the first node is the coordinator's")
    crash_and_down(cluster, cluster.nodes[2], "another host")
    cluster.feed_until(lambda: cluster.acked() >= total // 4, "feeding")
    cluster.start("n4")
    cluster.wait_up()
    crash_and_down(cluster, cluster.nodes[0], "coordinator and first seed")
    cluster.feed_until(lambda: cluster.acked() >= total * 3 // 8, "feeding")
    cluster.start("n5")
    cluster.wait_up()
    coordinator = cluster.coordinator()
    cluster.expect(coordinator is not None, "there is a coordinator again")
    crash_and_down(cluster, coordinator, "the next coordinator")
    cluster.feed_all()
    wrong, _, airports = cluster.compare()
    lost, doubled = cluster.check()
    print(f"airports {airports} wrong {wrong} lost {lost} doubled {doubled}")
    if wrong or lost or doubled:
        raise Failed("not exact")
    cluster.stop_all()


sys.exit(main(test, __doc__))

"""The whole cluster ends and starts again on its journal, twice: gracefully, and by kill -9 of all nodes at once under traffic.
Every acknowledged command is there afterwards, none twice; only what was not acknowledged is fed again."""
import sys

from cluster import in_the_midst, main, wait


CHUNK = 500  # flights given to a node at a time: half a second of work, of which it reports many times


def test(cluster):
    cluster.start_all()
    total = 2 * len(cluster.flights)
    cluster.rate = 6000
    cluster.chunk = CHUNK
    cluster.feed_until(lambda: cluster.acked() >= total // 4, "feeding")
    wait(lambda: not any(node.busy for node in cluster.nodes), "what was given is not acknowledged")
    cluster.stop_all()
    cluster.gone += cluster.nodes
    cluster.restart()
    print("stopped, started again", flush=True)

    cluster.feed_until(lambda: cluster.acked() >= total // 2 and all(in_the_midst(node) for node in cluster.nodes), "feeding")
    killed = list(cluster.nodes)
    for node in killed:
        node.process.kill()
    for node in killed:
        node.process.wait()
        cluster.forget(node)
    cluster.restart()
    print("killed, started again", flush=True)

    for node in killed:
        cluster.feed_again(node)
    cluster.feed_all()
    cluster.check_exact()
    cluster.stop_all()


sys.exit(main(test, __doc__, flights=10000))

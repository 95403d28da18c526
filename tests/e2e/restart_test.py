"""The whole cluster ends and starts again on its journal, twice: gracefully, and by SIGKILL of all
nodes at once under traffic. Every acknowledged command is stored once. Only unacknowledged commands
are sent again."""
import sys

from cluster import is_partly_acknowledged, main, wait


CHUNK = 500  # flights that a node gets at a time: half a second of work with many reports


def test(cluster):
    cluster.start_all()
    total = 2 * len(cluster.flights)
    cluster.rate = 6000
    cluster.chunk = CHUNK
    cluster.feed_until(lambda: cluster.acked() >= total // 4, "feeding")
    wait(lambda: not any(node.busy for node in cluster.nodes), "not all commands are acknowledged")
    cluster.stop_all()
    cluster.gone += cluster.nodes
    cluster.restart()
    print("stopped, started again", flush=True)

    cluster.feed_until(lambda: cluster.acked() >= total // 2 and all(is_partly_acknowledged(node) for node in cluster.nodes), "feeding")
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

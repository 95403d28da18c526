"""Airports that the journal remembers run again without a message: after SIGKILL of one node, and after SIGKILL of
all nodes."""
import os
import sys

from cluster import main, wait

FED = 3000  # commands; most airports of the file have then received one


def test(cluster):
    os.environ["SHERD__CLUSTER__SHARDING__REMEMBER_ENTITIES"] = "on"
    os.environ["SHERD__CLUSTER__SHARDING__REMEMBER_ENTITIES_STORE"] = "eventsourced"
    os.environ["SHERD__CLUSTER__SHARDING__ENTITY_RECOVERY_STRATEGY"] = "paced"
    cluster.start_all()
    cluster.feed_until(lambda: cluster.acked() >= FED, "feeding")
    wait(lambda: not any(node.busy for node in cluster.nodes), "not all commands are acknowledged")
    count = cluster.running()
    cluster.expect(count > 100, f"only {count} airports run")
    print(f"{count} airports", flush=True)

    cluster.lose(cluster.nodes[-1])
    cluster.wait_running(count)
    print("one node killed: all airports run again", flush=True)

    for node in list(cluster.nodes):
        cluster.crash(node)
    cluster.restart()
    cluster.wait_running(count)
    print("all nodes killed and started: all airports run again", flush=True)
    cluster.feed_all()
    cluster.check_exact()
    cluster.stop_all()


sys.exit(main(test, __doc__, flights=5000))

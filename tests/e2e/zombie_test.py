"""A zombie: a host is stopped (SIGSTOP) in mid-write, downed, its shards get new owners who write; when it wakes (SIGCONT) its
writes are refused, it ends by itself, and the journal has neither gap nor duplicate."""
import os
import signal
import sys
import time

from cluster import main, stop_process, wait

PILE_UP = 0.4  # s that writes wait for the journal before the host is stopped
os.environ["SHERD__JOURNAL__SQLITE__LOCK_TIMEOUT"] = "120 s"  # the zombie's pending write is still wanted when it wakes


def stop_in_mid_write(cluster, node):
    """Stops it while it has events to write and does not hold the journal's lock, since this test holds that: stopped inside
    its own transaction it would keep the others from writing."""
    with cluster.journal_locked():
        end = time.monotonic() + PILE_UP
        while time.monotonic() < end:
            cluster.feed_some()  # its entities get commands, and none can be stored
            time.sleep(0.005)
        cluster.expect(all(other.busy for other in cluster.nodes), "a node has all its answers without the journal")
        stop_process(node)


def test(cluster):
    cluster.start_all()
    total = 2 * len(cluster.flights)
    cluster.rate = 6000
    cluster.feed_until(lambda: cluster.acked() >= total // 8, "feeding")
    zombie = cluster.nodes[2]
    stop_in_mid_write(cluster, zombie)
    cluster.forget(zombie)
    cluster.down(zombie)
    cluster.wait_gone(zombie)
    before = cluster.acked()
    cluster.feed_again(zombie)
    cluster.feed_until(lambda: cluster.acked() >= before + total // 8, "feeding without it")
    os.kill(zombie.process.pid, signal.SIGCONT)
    wait(zombie.ended, "the zombie does not end by itself", 60)
    fenced = cluster.log(zombie).count("fenced")
    print(f"the zombie ended with status {zombie.process.returncode}, fenced {fenced}", flush=True)
    cluster.expect(fenced >= 1, "no write of the zombie was refused")
    cluster.expect(zombie.process.returncode == 1, "the zombie ended as if nothing had been")
    cluster.feed_all()
    cluster.check_exact()
    cluster.stop_all()


sys.exit(main(test, __doc__))

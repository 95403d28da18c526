"""A zombie: a host is stopped (SIGSTOP) in mid-write, downed, its shards get new owners who write; when it wakes (SIGCONT) its
writes are refused, it ends by itself, and the journal has neither gap nor duplicate."""
import os
import signal
import sqlite3
import sys

from cluster import Failed, main, wait


def test(cluster):
    cluster.start_all()
    total = 2 * len(cluster.flights)
    cluster.rate = 6000
    cluster.feed_until(lambda: cluster.acked() >= total // 8, "feeding")
    zombie = cluster.nodes[2]
    os.kill(zombie.process.pid, signal.SIGSTOP)
    cluster.nodes.remove(zombie)
    cluster.gone.append(zombie)
    again = (zombie.from_flight, zombie.to_flight)
    cluster.down(zombie)
    cluster.wait_gone(zombie)
    before = cluster.acked()
    feeder = cluster.nodes[0]
    wait(lambda: not feeder.busy, "a feeder that does not end", 60)
    feeder.busy = True
    feeder.say(f"feed {again[0]} {again[1]} 4000")
    cluster.feed_until(lambda: cluster.acked() >= before + total // 8, "feeding without it")
    os.kill(zombie.process.pid, signal.SIGCONT)
    wait(lambda: zombie.process.poll() is not None, "the zombie does not end by itself", 60)
    with open(zombie.log.name, errors="replace") as file:
        text = file.read()
    fenced = text.count("fenced")
    print(f"the zombie ended with status {zombie.process.returncode}, fenced {fenced}")
    cluster.expect(fenced >= 1, "no write of the zombie was refused")
    cluster.expect(zombie.process.returncode == 1, "the zombie ended as if nothing had been")
    cluster.feed_all()
    wrong, _, _ = cluster.compare()
    lost, doubled = cluster.check()
    gaps = sqlite3.connect(cluster.journal).execute(
        "SELECT count(*) FROM (SELECT entity FROM event GROUP BY entity HAVING max(seq) != count(*) OR min(seq) != 1)"
    ).fetchone()[0]
    print(f"wrong {wrong} lost {lost} doubled {doubled} gaps {gaps}")
    if wrong or lost or doubled or gaps:
        raise Failed("not exact")
    cluster.stop_all()


sys.exit(main(test, __doc__))

"""Kills PostgreSQL servers and the nodes that keep their journal on them. Every command is stored
exactly once.

1. The server is killed and comes back; it is restarted; it is away for longer than a group waits, and while
   no node writes.
2. A node is killed. The server and a node are killed together.
3. A node is suspended while its shards get new owners, and resumes.
4. Nodes with different journals, and a node whose journal is in a file, are refused.

usage: postgres_test.py AIRPORTS [TEST...]"""
import os
import re
import signal
import subprocess
import sys
import time

from cluster import Failed, free_port, stop_process, wait
from postgres_cluster import run


def feed_for(cluster, seconds):
    end = time.monotonic() + seconds
    cluster.feed_until(lambda: time.monotonic() > end, "feeding")


def feed_part(cluster, part):
    cluster.feed_until(lambda: cluster.acked() >= 2 * len(cluster.flights) * part, "feeding")


def the_server_is_killed_three_times(cluster):
    cluster.start_all()
    cluster.set_rate(2000)
    for part in (0.1, 0.3, 0.5):
        feed_part(cluster, part)
        cluster.server.crash()
        feed_for(cluster, 0.5)
        cluster.server.start()
    cluster.feed_all()
    cluster.expect("connection to the journal's server lost" in cluster.log(cluster.nodes[0]), "the log lacks the lost connection")
    cluster.expect("connected to the journal's server again" in cluster.log(cluster.nodes[0]), "the log lacks the new connection")
    cluster.expect(cluster.retried() == 0, f"{cluster.retried()} commands were sent again")
    cluster.check_exact()


def the_server_is_away_for_longer_than_a_group_waits(cluster):
    os.environ["SHERD__JOURNAL__POSTGRES__GROUP_TIMEOUT"] = "1 s"
    cluster.start_all()
    cluster.set_rate(2000)
    feed_part(cluster, 0.2)
    cluster.server.crash()
    feed_for(cluster, 4)
    log = cluster.log(cluster.nodes[0])
    cluster.expect("the node is not ready" in log, "a node without its journal is ready")
    cluster.server.start()
    cluster.feed_all()
    wait(lambda: "journal stores again" in cluster.log(cluster.nodes[0]), "the node is not ready again", 30)
    cluster.check_exact()
    del os.environ["SHERD__JOURNAL__POSTGRES__GROUP_TIMEOUT"]


def an_idle_node_notices_that_the_server_is_away(cluster):
    """Nothing is written meanwhile. The node connects again by itself, so that `sherd journal` sees it."""
    sessions = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'sherd:%' AND query LIKE '%SELECT 1%'"
    cluster.start_all()
    cluster.server.crash()
    for node in cluster.nodes:
        wait(lambda log=node: "the node is not ready" in cluster.log(log), "a node without its journal is ready", 30)
    cluster.server.start()
    for node in cluster.nodes:
        wait(lambda log=node: "journal stores again" in cluster.log(log), "a node is not ready again", 30)
    wait(lambda: int(cluster.server.sql(sessions)) >= len(cluster.nodes), "a node asks for no sign of life", 30)
    cluster.check_members()


def a_node_is_killed(cluster):
    cluster.start_all()
    cluster.set_rate(2000)
    feed_part(cluster, 0.3)
    victim = cluster.nodes[1]
    cluster.lose(victim)
    cluster.feed_again(victim)
    cluster.feed_all()
    cluster.check_exact()


def the_server_and_a_node_are_killed_together(cluster):
    cluster.start_all()
    cluster.set_rate(2000)
    feed_part(cluster, 0.3)
    victim = cluster.nodes[2]
    cluster.lose_with_server(victim)
    cluster.feed_again(victim)
    cluster.feed_all()
    cluster.check_exact()


def a_suspended_node_is_refused(cluster):
    """The node is stopped while groups of it are written, so that some stop inside a commit."""
    cluster.start_all()
    cluster.totals()
    cluster.set_rate(4000)
    feed_part(cluster, 0.2)
    zombie = cluster.nodes[1]
    stop_process(zombie)
    before = cluster.fences()
    cluster.forget(zombie)
    cluster.down(zombie)
    cluster.wait_gone(zombie)
    cluster.feed_again(zombie)
    feed_part(cluster, 0.5)
    cluster.expect(any(cluster.fences()[shard] > fence for shard, fence in before.items()), "no shard has a new owner")
    os.kill(zombie.process.pid, signal.SIGCONT)
    cluster.feed_all()
    wait(lambda: zombie.process.poll() is not None, "the node does not end after it was removed", 60)
    cluster.check_exact()


def run_node(cluster, journal, port, *environment):
    """Runs one more node that joins the cluster, until it ends. Returns its status and its log."""
    command = [cluster.program, "--port", str(free_port()), "--journal", journal, "--input", cluster.input, "--seed", f"127.0.0.1:{port}"]
    node = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            env={**os.environ, **dict(environment)})
    try:
        node.wait(60)  # the end of its input would make it leave
    except subprocess.TimeoutExpired:
        node.kill()
    return node.wait(), node.communicate()[0]


def other_journals_are_refused(cluster):
    cluster.start_all()
    port = cluster.nodes[0].port
    code, said = run_node(cluster, os.path.join(cluster.folder, "other.db"), port)
    cluster.expect(code != 0 and re.search("not that of another node", said), f"a node with a file joined: {said[-600:]}")
    code, said = run_node(cluster, cluster.journal, port, ("SHERD__JOURNAL__POSTGRES__SCHEMA", "other"))
    cluster.expect(code != 0 and re.search("not that of another node", said), f"a node with another schema joined: {said[-600:]}")
    cluster.server.sql("CREATE DATABASE second")
    code, said = run_node(cluster, cluster.journal.replace("dbname=postgres", "dbname=second"), port)
    cluster.expect(code != 0 and re.search("not that of another node", said), f"a node with another database joined: {said[-600:]}")
    cluster.check_members()


if __name__ == "__main__":
    try:
        chosen = [globals()[name] for name in sys.argv[2:]]
        sys.exit(run(chosen or [the_server_is_killed_three_times, the_server_is_away_for_longer_than_a_group_waits,
                      an_idle_node_notices_that_the_server_is_away, a_node_is_killed,
                      the_server_and_a_node_are_killed_together, a_suspended_node_is_refused, other_journals_are_refused]))
    except Failed as error:
        sys.exit(str(error))

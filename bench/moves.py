"""Rows 16 and 17 of bench/run: moves of shards between processes, while a proxy asks their entities.

The hosts are processes of tests/e2e/rolling_node on loopback, with the split brain resolver.
"""
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "tests", "e2e"))
import rolling  # noqa: E402  (the path is set above)

SHARDS = 1000
RATE = 2000
ALL_ITEMS = 8000  # nearly each shard has one
SOME_ITEMS = 500  # most shards have none
WARM_SECONDS = 6
STILL_SECONDS = 3  # without a move, the rebalance has ended
CHANGES_SECONDS = 60
STRATEGY = "SHERD__CLUSTER__SHARDING__LEAST_SHARD_ALLOCATION_STRATEGY__"
NO_LIMITS = {"SHERD__CLUSTER__SHARDING__REBALANCE_INTERVAL": "500ms", STRATEGY + "REBALANCE_ABSOLUTE_LIMIT": "1000",
             STRATEGY + "REBALANCE_RELATIVE_LIMIT": "1.0"}
STEADY = {STRATEGY + "REBALANCE_ABSOLUTE_LIMIT": "20", "SHERD__CLUSTER__SHARDING__REBALANCE_INTERVAL": "1s"}
FAST = {"SHERD__CLUSTER__SPLIT_BRAIN_RESOLVER__STABLE_AFTER": "5s"}


def shard_counts(node):
    """Returns the pairs (time, number of shards) of a host that was told to watch them."""
    with node.news:
        return [(at, int(text.split()[1])) for at, text in node.lines if text.startswith("shards ")]


def wait_for_shards(node, least):
    """Waits until the host has at least so many shards and their number does not change any more."""
    end = time.time() + CHANGES_SECONDS
    while time.time() < end:
        counts = shard_counts(node)
        if counts and counts[-1][1] >= least and time.time() - counts[-1][0] > STILL_SECONDS:
            return counts
        time.sleep(0.05)
    raise rolling.Failed(f"the node that joined has {shard_counts(node)[-1:]} shards")


def rebalance(program, settings):
    """A third host joins two with 1,000 shards. Returns the numbers of the asks, with those of the moves."""
    with rolling.Cluster(program, 2, RATE, (SHARDS, ALL_ITEMS), settings) as cluster:
        cluster.asker.say()
        cluster.asker.expect_running(WARM_SECONDS)
        cluster.asker.say("mark 1")
        joins = cluster.start(rolling.free_port(), "host")
        cluster.hosts.append(joins)
        joins.wait("up")
        joins.say()
        counts = wait_for_shards(joins, SHARDS // 4)
        result = cluster.result()
        # The first shard may be one that its own ask has allocated.
        moved = [at for at, count in counts if count > 1]
        return {**result, "moves": counts[-1][1], "seconds": moved[-1] - moved[0]}


def coordinator_ends(program, is_killed):
    """The oldest of three hosts leaves, or is killed. Returns the numbers of the asks."""
    with rolling.Cluster(program, 3, RATE, (SHARDS, SOME_ITEMS), FAST if is_killed else None) as cluster:
        oldest = cluster.hosts[0]
        cluster.asker.say()
        cluster.asker.expect_running(WARM_SECONDS)
        cluster.asker.say(f"mark {oldest.port}")
        cluster.asker.expect_running(1)
        if is_killed:
            oldest.kill()
            cluster.asker.expect_running(15)
        else:
            oldest.leave()
            cluster.asker.expect_running(3)
        return cluster.result()

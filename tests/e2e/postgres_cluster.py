"""Runs a cluster of airports nodes on a private PostgreSQL server, for the end-to-end tests."""
import os
import signal
import sys

from cluster import Cluster, Failed, end_on_signals, show_logs

import postgres_server
from airports_check import psql, varint
from postgres_parts import gaps


class PostgresCluster(Cluster):
    """As Cluster, with the journal on a server that a test may kill."""

    def __init__(self, program, server, nodes=3, flights=None):
        super().__init__(program, nodes, flights)
        self.server = server
        self.journal = "postgres:" + server.url()

    def gaps(self):
        """Returns the number of entities and writers whose events are not numbered 1, 2, 3, ..."""
        return gaps(self.server) + int(self.server.sql(
            "SELECT count(*) FROM (SELECT entity FROM sherd.event GROUP BY entity HAVING max(seq) <> count(*) OR min(seq) <> 1) a"))

    def late(self):
        last, count = {}, 0
        for entity, record in psql(self.server.url(), "SELECT entity, encode(record, 'hex') FROM sherd.event ORDER BY entity, seq"):
            data = bytes.fromhex(record)
            _, at = varint(data, 1)
            term, at = varint(data, at)
            fence = term, varint(data, at)[0]
            count += fence < last.get(entity, fence)
            last[entity] = fence
        return count

    def fences(self):
        return {shard: (int(term), int(epoch)) for shard, term, epoch in
                psql(self.server.url(), "SELECT convert_from(shard, 'UTF8'), term, epoch FROM sherd.shard WHERE type = 'Airport'")}

    def stored(self):
        return int(self.server.sql("SELECT count(*) FROM sherd.event"))

    def lose_with_server(self, node):
        """Kills a node and the server at once. The server comes back, the node does not."""
        os.kill(node.process.pid, signal.SIGKILL)
        self.server.crash()
        self.crash(node)
        self.down(node)
        self.server.start()
        self.wait_gone(node)

    def journal_locked(self):
        raise NotImplementedError


def run(tests, nodes=3, flights=4000, settings=(), kind=PostgresCluster):
    """Runs each test(cluster) on a server and a cluster of its own, of that kind."""
    if not postgres_server.programs():
        print("skipped: no PostgreSQL server is installed")
        return 77
    end_on_signals()
    for test in tests:
        with postgres_server.Server(settings=settings) as server:
            cluster = kind(sys.argv[1], server, nodes, flights)
            try:
                print(f"--- {test.__name__}", flush=True)
                test(cluster)
            except (Failed, OSError) as error:
                print(f"FAILED: {test.__name__}: {error}")
                show_logs(cluster.folder)
                return 1
            finally:
                cluster.kill_all()
    print("ok")
    return 0

"""Implements --journal postgres of airports_demo.py: the nodes keep the journal on a private PostgreSQL
server, which is killed and started again under traffic, and then restarted in the usual way.

The nodes wait for the server, look up what became of the group whose answer was lost, and go on. No
event is lost or stored twice."""
import os
import time

import postgres_server
from airports_demo import Demo, Failed

AWAY = 1.0  # seconds without a server


class PostgresDemo(Demo):
    def __init__(self, options):
        if not postgres_server.programs():
            raise Failed("no PostgreSQL server is installed; on Debian: apt-get install postgresql")
        super().__init__(options)
        # Below /tmp, because the server's user must reach the folder, and a socket's path is short.
        self.server = postgres_server.Server()
        self.server.start()
        self.journal = "postgres:" + self.server.url()

    def run(self):
        total = 2 * len(self.flights)
        print(f"PostgreSQL {self.server.sql('SHOW server_version')} runs in {self.server.folder}", flush=True)
        self.begin()
        self.table("before the crash of the server")
        before = self.acked()
        self.server.crash()
        print("the server is killed with SIGKILL", flush=True)
        self.feed_for(AWAY)
        self.server.start()
        started = time.monotonic()
        self.feed_until(lambda: self.acked() > before + total // 20, "feeding after the crash")
        print(f"  the server is back; {self.acked() - before} commands stored {time.monotonic() - started:.1f} s later", flush=True)
        self.feed_until(lambda: self.acked() >= total * 5 / 8, "feeding")
        self.server.stop()
        print("the server is stopped and started again", flush=True)
        self.feed_for(AWAY)
        self.server.start()
        self.feed_until(lambda: self.acked() >= total, "feeding")
        self.check_fed()
        return self.finish(allows_retries=True)

    def feed_for(self, seconds):
        end = time.monotonic() + seconds
        self.feed_until(lambda: time.monotonic() > end, "feeding without a server")

    def kill_all(self):
        super().kill_all()
        self.server.remove()

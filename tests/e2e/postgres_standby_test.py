"""Fails over from a primary PostgreSQL server to its standby, while writers hold the journal.

With a synchronous standby no confirmed record is lost. With an asynchronous one that lags, the loss is
found and named, for shards that write and for those that do not.

usage: postgres_standby_test.py WRITER"""
import os
import re
import sys
import time

from cluster import ROOT  # noqa: F401: the modules of examples/

import postgres_server
from postgres_parts import Writer

failed = []


def expect(condition, what):
    print(f"{'ok' if condition else 'FAILED'}: {what}", flush=True)
    if not condition:
        failed.append(what)


class Pair:
    """A primary and a standby that follows it. Both are reached under one URL."""

    def __init__(self, synchronous):
        settings = ["synchronous_standby_names=second"] if synchronous else []
        self.first = postgres_server.Server(settings=["wal_level=replica", *settings])
        with open(os.path.join(self.first.data, "pg_hba.conf"), "a") as file:
            file.write("host replication all 127.0.0.1/32 trust\n")
        self.first.settings = ["wal_level=replica"]  # a commit would wait before there is a standby
        self.first.start()
        self.second = postgres_server.Server(make=False)
        self.second.run("pg_basebackup", "-D", self.second.data, "-R", "--no-sync", "-c", "fast", "-d",
                        f"host=127.0.0.1 port={self.first.port} user=sherd application_name=second")
        with open(os.path.join(self.second.data, "postgresql.auto.conf"), "a") as file:
            file.write(f"primary_conninfo = 'host=127.0.0.1 port={self.first.port} user=sherd application_name=second'\n")
        self.second.start()
        if synchronous:
            self.first.sql("ALTER SYSTEM SET synchronous_standby_names = 'second'")
            self.first.sql("SELECT pg_reload_conf()")
        self.follows("async" if not synchronous else "sync")
        self.url = (f"host=127.0.0.1,127.0.0.1 port={self.first.port},{self.second.port} dbname=postgres user=sherd")

    def follows(self, state):
        end = time.monotonic() + 30
        while self.first.sql("SELECT sync_state FROM pg_stat_replication") != state:
            if time.monotonic() > end:
                raise RuntimeError("the standby does not follow: " + self.first.sql("SELECT * FROM pg_stat_replication"))
            time.sleep(0.1)

    def has_replayed(self):
        """Waits until the standby has all that the primary wrote."""
        end = time.monotonic() + 30
        while self.first.sql("SELECT replay_lsn >= pg_current_wal_lsn() FROM pg_stat_replication") != "t":
            if time.monotonic() > end:
                raise RuntimeError("the standby has not replayed the primary's log")

    def fail_over(self):
        """The primary's machine fails; its standby takes over."""
        self.first.crash()
        self.second.sql("SELECT pg_promote()")

    def stop_replay(self):
        """The standby stops receiving, as behind a slow network."""
        self.second.sql("ALTER SYSTEM SET primary_conninfo = ''")
        self.second.sql("SELECT pg_reload_conf()")
        end = time.monotonic() + 30
        while self.first.sql("SELECT count(*) FROM pg_stat_replication") != "0":
            if time.monotonic() > end:
                raise RuntimeError("the standby still follows")
            time.sleep(0.1)

    def remove(self):
        self.first.remove()
        self.second.remove()


def fill(writer, shard, count):
    """Appends records one at a time. Returns the number that was confirmed."""
    done = 0
    while done < count and writer.append(shard, 1, 1, "T|" + shard, done + 1, "x") == "done":
        done += 1
    return done


def synchronous(program):
    pair = Pair(True)
    try:
        writer = Writer(program, pair.url)
        expect(writer.opened == "open", "the journal opens on the primary: " + writer.opened)
        expect(writer.logged("on several servers"), "the log says that the journal is on several servers")
        expect(writer.claim("s", 1, 1) == "done", "a shard is claimed")
        expect(fill(writer, "s", 200) == 200, "200 records are confirmed")
        writer.send("append", "s", 1, 1, "T|s", 201, "y")
        pair.fail_over()
        expect(writer.answer().split()[0] == "done", "an append during the failover is stored")
        # The append may have ended before the failover began.
        expect(writer.append("s", 1, 1, "T|s", 202, "z") == "done", "an append after the failover is stored")
        expect(writer.logged("another server took over"), "the change of the server is logged")
        expect(not writer.logged("lost confirmed"), "no loss is reported")
        found = writer.replay("T|s")
        expect(found == "done " + 200 * "x" + "yz", f"nothing is lost: {len(found) - 5} records")
        expect(writer.append("s", 1, 1, "T|s", 203, "z") == "done", "the shard goes on")
        writer.close()
    finally:
        pair.remove()


def absent_standby(program):
    """A commit that stops waiting for its standby is not confirmed."""
    pair = Pair(True)
    try:
        writer = Writer(program, pair.url, "group-timeout=3000")
        expect(writer.claim("s", 1, 1) == "done", "a shard is claimed")
        expect(fill(writer, "s", 3) == 3, "three records are confirmed")
        pair.second.stop()
        writer.send("append", "s", 1, 1, "T|s", 4, "y")
        end = time.monotonic() + 20
        waits = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        while not pair.first.sql(waits) and time.monotonic() < end:
            time.sleep(0.05)
        waiting = pair.first.sql(waits).split()
        expect(waiting, "the commit waits for the standby")
        for pid in waiting:
            pair.first.sql(f"SELECT pg_cancel_backend({pid})")
        answer = writer.answer().split()[0]
        expect(answer == "unknown", f"a cancelled wait is not a success: {answer}")
        pair.second.start()
        pair.follows("sync")
        expect(writer.append("s", 1, 1, "T|s", 4, "y", again=True) == "done", "the repetition finds the record")
        expect(writer.replay("T|s") == "done xxxy", "it is stored once")
        writer.close()
    finally:
        pair.remove()


def asynchronous(program, policy):
    pair = Pair(False)
    try:
        writer = Writer(program, pair.url, "on-lost=" + policy)
        expect(writer.logged("on one server only"), "the log says that the journal is on one server only")
        for shard in ("busy", "idle", "kept"):
            expect(writer.claim(shard, 1, 1) == "done", f"shard {shard} is claimed")
        expect(fill(writer, "kept", 5) == 5, "five records reach the standby")
        pair.has_replayed()
        pair.stop_replay()
        expect(fill(writer, "busy", 50) == 50 and fill(writer, "idle", 7) == 7, "57 records do not")
        pair.fail_over()
        answer = writer.append("busy", 1, 1, "T|busy", 51, "x")
        expect(answer == "fenced", f"the next append is refused: {answer}")
        lost = {match[1]: (int(match[2]), int(match[3])) for match in
                (re.search(r"lost confirmed events type=T shard=(\w+) confirmed=(\d+) found=(\d+)", line) for line in writer.log) if match}
        expect(lost == {"busy": (55, 5), "idle": (62, 5)}, f"each loss is named, also of the idle shard: {lost}")
        answer = writer.append("kept", 1, 1, "T|kept", 6, "x")
        expect(answer == ("done" if policy == "stop" else "failed"), f"a shard without a loss, policy {policy}: {answer}")
        answer = writer.claim("busy", 1, 3)
        expect(answer == ("done" if policy == "stop" else "failed"), f"a claim, policy {policy}: {answer}")
        if policy == "stop":
            expect(writer.append("busy", 1, 3, "T|busy", 1, "x") == "done", "the shard begins again from what is there")
        writer.close()
    finally:
        pair.remove()


def moved(program):
    """The shard moves after the failover, before its former owner connects again."""
    pair = Pair(False)
    try:
        former, new = Writer(program, pair.url), Writer(program, pair.url)
        expect(former.claim("s", 1, 1) == "done" and fill(former, "s", 5) == 5, "five records reach the standby")
        pair.has_replayed()
        pair.stop_replay()
        more = sum(former.append("s", 1, 1, "T|s", 6 + i, "y") == "done" for i in range(20))
        expect(more == 20, "20 more do not")
        pair.fail_over()
        expect(new.claim("s", 1, 2) == "done" and new.append("s", 1, 2, "T|s", 6, "z") == "done",
               "the next owner claims the shard and writes")
        answer = former.append("s", 1, 1, "T|s", 26, "y")
        expect(answer == "fenced", f"the former owner is refused: {answer}")
        expect(former.logged(r"lost confirmed events type=T shard=s confirmed=25 found=5"),
               "the former owner names the loss")
        former.close()
        new.close()
    finally:
        pair.remove()


def main():
    if not postgres_server.programs():
        print("skipped: no PostgreSQL server is installed")
        return 77
    synchronous(sys.argv[1])
    absent_standby(sys.argv[1])
    moved(sys.argv[1])
    asynchronous(sys.argv[1], "stop")
    asynchronous(sys.argv[1], "halt")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Rows 26 to 29 of bench/run: a journal in PostgreSQL, on private servers.

Row 29 kills a primary server while a writer appends records one by one, and promotes its standby.
"""
import datetime
import os
import re
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("examples", os.path.join("tests", "e2e")):
    sys.path.insert(0, os.path.join(os.path.dirname(HERE), folder))
import postgres_server  # noqa: E402  (the path is set above)
from postgres_parts import Writer  # noqa: E402
from postgres_standby_test import Pair  # noqa: E402

SHARD = "s"
ENTITY = "T|s"
WARM_SECONDS = 1
RECOVERY_SECONDS = 30
READY = re.compile(r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}) (\S+) .*database system is ready to accept connections")


def is_installed():
    return postgres_server.programs() is not None


def measure(program, turns, seconds):
    """Returns the lines that the program prints, and its status."""
    with postgres_server.Server() as server:
        done = subprocess.run([program, server.url(), server.folder, str(turns), seconds], text=True, stdout=subprocess.PIPE)
    return done.stdout, done.returncode


class Appends(threading.Thread):
    """Appends records one by one, until stop is set."""

    def __init__(self, writer):
        super().__init__(daemon=True)
        self.writer = writer
        self.stop = threading.Event()
        self.answers = []    # (time, whether the record was confirmed)
        self.confirmed = 0   # records
        self.lost = 0
        self.epoch = 1

    def run(self):
        number = 1
        while not self.stop.is_set():
            done = self.writer.append(SHARD, 1, self.epoch, ENTITY, number, "x") == "done"
            self.answers.append((time.time(), done))
            if done:
                self.confirmed = max(self.confirmed, number)
                number += 1
            elif self.writer.claim(SHARD, 1, self.epoch + 1) == "done":
                self.epoch += 1
                number = len(self.writer.replay(ENTITY)) - len("done ") + 1
                self.lost = max(self.lost, self.confirmed - (number - 1))


def ready_at(server):
    """The time at which the server said that it accepts writes: its last such line."""
    with open(server.log, encoding="utf-8", errors="replace") as log:
        found = [match[1] for match in map(READY.match, log) if match]
    moment = datetime.datetime.strptime(found[-1], "%Y-%m-%d %H:%M:%S.%f")
    return moment.replace(tzinfo=datetime.timezone.utc).timestamp()


def failover(program, is_synchronous):
    """Returns the seconds from the moment when the standby accepts writes to the first confirmed append, those
    without one, and the number of confirmed records that are gone."""
    pair = Pair(is_synchronous)
    try:
        pair.second.settings = ["log_timezone=UTC"]
        pair.second.stop()
        pair.second.start()
        pair.follows("sync" if is_synchronous else "async")
        writer = Writer(program, pair.url)
        if writer.claim(SHARD, 1, 1) != "done":
            raise RuntimeError("the shard is not claimed: " + writer.opened)
        appends = Appends(writer)
        appends.start()
        time.sleep(WARM_SECONDS)
        killed = time.time()
        pair.fail_over()
        ready = ready_at(pair.second)
        end = time.time() + RECOVERY_SECONDS
        while not any(done and at > ready for at, done in list(appends.answers)):
            if time.time() > end:
                raise RuntimeError("no append succeeds after the failover")
            time.sleep(0.02)
        appends.stop.set()
        appends.join(RECOVERY_SECONDS)
        first = min(at for at, done in appends.answers if done and at > ready)
        last = max(at for at, done in appends.answers if done and at < first)
        stored = len(writer.replay(ENTITY)) - len("done ")
        writer.close()
        return {"behind": first - ready, "without": first - max(last, killed),
                "lost": max(appends.lost, appends.confirmed - stored)}
    finally:
        pair.remove()

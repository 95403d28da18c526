"""The demonstration of a crash: kill -9 of the node that runs the coordinator, in the middle of feeding. Nobody helps: the others
miss it, their split brain resolver downs it, a new coordinator starts, its shards start elsewhere. See airports_demo.py."""
import os
import signal
import time

from airports_demo import Demo, Failed

RESOLVER = {"SHERD__CLUSTER__DOWNING_PROVIDER_CLASS": "akka.cluster.sbr.SplitBrainResolverProvider",
            "SHERD__CLUSTER__SPLIT_BRAIN_RESOLVER__STABLE_AFTER": "2s"}

DRAIN = 0.05  # seconds until the last lines of a node that stands still are read


class KillDemo(Demo):
    def __init__(self, options):
        super().__init__(options)
        os.environ.update(RESOLVER)  # of the nodes
        self.victim = None
        self.seen, self.seen_at = [], 0.0  # what it said was open, and when it was heard
        self.since = {}       # command that is open at the victim -> before its first sending
        self.stall_max = 0.0  # seconds from there to the answer that another node got

    def feed_some(self):
        if self.victim:
            self.look()
        return super().feed_some()

    def caught(self):
        """It stands still, and by its last line it has commands open; else it goes on."""
        os.kill(self.victim.process.pid, signal.SIGSTOP)
        time.sleep(DRAIN)
        self.look()
        if not self.since:
            os.kill(self.victim.process.pid, signal.SIGCONT)
        return bool(self.since)

    def look(self):
        """While the victim lives, what it has open: sent after the line before. Then, what has been answered at last."""
        now = time.monotonic()
        if self.victim in self.nodes:
            opened = self.victim.open
            if opened is not self.seen:
                self.since = {number: self.since.get(number, self.seen_at) for number in opened}
                self.seen, self.seen_at = opened, now
            return
        waiting = {number for first, end in self.again for number in range(first, end)}
        waiting.update(number for node in [self.victim, *self.nodes] if node.busy for number in node.unacked)
        for number in [number for number in self.since if number not in waiting]:
            self.stall_max = max(self.stall_max, now - self.since.pop(number))

    def run(self):
        self.begin()
        self.table("before the crash")
        victim = self.wait_coordinator()
        for node in self.nodes:
            node.wait_max = 0
        self.victim, self.seen, self.seen_at = victim, victim.open, time.monotonic()
        self.since = dict.fromkeys(victim.open, self.seen_at)
        self.rate = self.pace.slow  # so that the file outlasts the crash
        self.set_rate(self.rate)
        self.feed_until(lambda: victim.busy and victim.open and self.caught(), "feeding")
        before, started = self.acked(), time.monotonic()
        self.crash(victim)
        print(f"{victim.name}, the coordinator's node, is killed", flush=True)
        self.feed_until_gone(victim)
        print(f"  crash: missed, downed and removed after {time.monotonic() - started:.1f} s, {self.acked() - before} commands "
              "meanwhile")
        self.feed_again(victim)
        self.set_rate(self.pace.fast)
        self.feed_until(lambda: self.acked() >= 3 / 2 * len(self.flights), "feeding")
        self.table(f"after {victim.name} died")
        self.feed_all()
        self.look()
        if self.since:
            raise Failed(f"open at {victim.name} and not answered since: {sorted(self.since)}")
        print(f"open at {victim.name} when it died: answered elsewhere {self.stall_max * 1000:.0f} ms after they were sent at the latest")
        print(f"longest stall of a command: {max(self.stall_max * 1000, *(node.wait_max for node in self.nodes)):.0f} ms")
        if not self.retried():
            raise Failed("no command had to be sent again: the crash proves nothing")
        return self.finish(allows_retries=True)

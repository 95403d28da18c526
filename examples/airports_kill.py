"""Implements --kill of airports_demo.py: the node that runs the coordinator is killed with SIGKILL
under traffic.

The cluster repairs itself: the failure detectors notice the crash, the split brain resolver downs
the node, a new coordinator starts, and the shards of the dead node start elsewhere."""
import os
import signal
import time

from airports_demo import Demo, Failed

RESOLVER = {"SHERD__CLUSTER__DOWNING_PROVIDER_CLASS": "akka.cluster.sbr.SplitBrainResolverProvider",
            "SHERD__CLUSTER__SPLIT_BRAIN_RESOLVER__STABLE_AFTER": "2s"}

DRAIN = 0.05  # seconds after which the last lines of a stopped node have been read


class KillDemo(Demo):
    def __init__(self, options):
        super().__init__(options)
        os.environ.update(RESOLVER)  # the nodes inherit it
        self.victim = None
        self.seen, self.seen_at = [], 0.0  # open commands of the victim's last report, and its time
        self.since = {}       # open command of the victim -> a time before its first sending
        self.stall_max = 0.0  # longest time in seconds from there to another node's answer

    def feed_some(self):
        if self.victim:
            self.look()
        return super().feed_some()

    def caught(self):
        """Stops the victim. Returns whether its last report has open commands; if not, the victim
        continues."""
        os.kill(self.victim.process.pid, signal.SIGSTOP)
        time.sleep(DRAIN)
        self.look()
        if not self.since:
            os.kill(self.victim.process.pid, signal.SIGCONT)
        return bool(self.since)

    def look(self):
        """Before the crash, notes the victim's open commands: each was sent after the report
        before. After the crash, notes the commands that another node has completed."""
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
        self.rate = self.pace.slow  # so that the file is long enough for the crash
        self.set_rate(self.rate)
        self.feed_until(lambda: victim.busy and victim.open and self.caught(), "feeding")
        before, started = self.acked(), time.monotonic()
        self.crash(victim)
        print(f"{victim.name}, the coordinator's node, is killed", flush=True)
        self.feed_until_gone(victim)
        print(f"  crash: detected, downed and removed after {time.monotonic() - started:.1f} s, {self.acked() - before} commands "
              "meanwhile")
        self.feed_again(victim)
        self.set_rate(self.pace.fast)
        self.feed_until(lambda: self.acked() >= 3 / 2 * len(self.flights), "feeding")
        self.table(f"after {victim.name} died")
        self.feed_all()
        self.look()
        if self.since:
            raise Failed(f"these open commands of {victim.name} were never answered: {sorted(self.since)}")
        print(f"open commands of {victim.name}: answered through other nodes at most {self.stall_max * 1000:.0f} ms after they were sent")
        print(f"longest stall of a command: {max(self.stall_max * 1000, *(node.wait_max for node in self.nodes)):.0f} ms")
        if not self.retried():
            raise Failed("no command had to be sent again, so the crash proves nothing")
        return self.finish(allows_retries=True)

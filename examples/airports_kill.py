"""The demonstration of a crash: kill -9 of the node that runs the coordinator, in the middle of feeding. Nobody helps: the others
miss it, their split brain resolver downs it, a new coordinator starts, its shards start elsewhere. See airports_demo.py."""
import os
import time

from airports_demo import Demo, Failed

RESOLVER = {"SHERD__CLUSTER__DOWNING_PROVIDER_CLASS": "akka.cluster.sbr.SplitBrainResolverProvider",
            "SHERD__CLUSTER__SPLIT_BRAIN_RESOLVER__STABLE_AFTER": "2s"}


class KillDemo(Demo):
    def __init__(self, options):
        super().__init__(options)
        os.environ.update(RESOLVER)  # of the nodes

    def run(self):
        self.begin()
        self.table("before the crash")
        victim = self.wait_coordinator()
        for node in self.nodes:
            node.wait_max = 0
        self.rate = self.pace.slow  # so that the file outlasts the crash
        self.set_rate(self.rate)
        self.feed_until(lambda: victim.busy and victim.unacked, "feeding")
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
        print(f"longest stall of a command: {max(node.wait_max for node in self.nodes)} ms")
        if not self.retried():
            raise Failed("no command had to be sent again: the crash proves nothing")
        return self.finish(allows_retries=True)

"""Tests a zombie: a node that is suspended while its shards get new owners.

The node is stopped (SIGSTOP) while it has writes and asks to complete, and is downed. Its shards
get new owners, which write. After the node resumes (SIGCONT), the journal refuses its writes, and
the node logs the newer fence. It answers none of these asks except with that reason, and it ends by
itself. The journal has no gap, no duplicate, and no record after one with a higher fence.

The other nodes close the connections of a removed node and would miss its replies. So a client
outside the cluster asks, too, and reads every frame of the zombie (asker.py)."""
import os
import re
import signal
import struct
import sys
import time

from asker import Asker
from cluster import ROOT, main, stop_process, wait

PILE_UP = 0.4  # seconds that writes wait for the journal before the node is stopped
CLIENT = 0x0A5CE2  # a uid
HOMES = 40  # airports on the zombie that must answer the client at the start
COMMANDS = 60  # commands of the client in each batch
DEPARTED, GET_TOTALS = 1, 3  # messages of examples/airports.c
# longer than the suspension, so that the zombie still tries its pending write
os.environ["SHERD__JOURNAL__SQLITE__LOCK_TIMEOUT"] = "120 s"


class Client:
    """Sends departures to airports on the zombie. They are the file's last flights, which the
    feeders send last, too."""

    def __init__(self, cluster, zombie):
        self.cluster, self.zombie = cluster, zombie
        self.asker = Asker("Airports", CLIENT)
        for node in cluster.nodes:
            self.asker.greet(node.port)
        self.flights = self.find_flights()

    def command(self, node, flight):
        row = self.cluster.flights[flight]
        return self.asker.ask(node.port, "Airport", row["origin"], DEPARTED, struct.pack("<Ii", flight, int(row["delay"])))

    def commands(self, node, flights):
        return [self.command(node, flight) for flight in flights]

    def totals(self, airports):
        return {self.asker.ask(self.zombie.port, "Airport", airport, GET_TOTALS): airport for airport in airports}

    def find_flights(self):
        """Returns flights from airports on the zombie. The zombie itself answers for these, so its
        answers do reach the client."""
        asks = self.totals(sorted({flight["origin"] for flight in self.cluster.flights}))
        wait(lambda: self.zombie.port in self.asker.uids, "the later zombie does not connect to the client", 60)
        self.uid = self.asker.uids[self.zombie.port]
        wait(lambda: self.acknowledged(asks) >= HOMES, "the later zombie does not answer", 60)
        self.homes = [asks[ask] for ask in self.asker.answers(asks, self.uid)]
        last = range(len(self.cluster.flights) - 1, len(self.cluster.flights) // 2, -1)
        return [flight for flight in last if self.cluster.flights[flight]["origin"] in self.homes][:2 * COMMANDS]

    def wait_taken(self):
        """Waits until the zombie has read all earlier commands: it answers a later ask that has
        nothing to store."""
        busy = {self.cluster.flights[flight]["origin"] for flight in self.flights}
        asks = self.totals(airport for airport in self.homes if airport not in busy)
        wait(lambda: self.asker.answers(asks), "the later zombie answers for no airport", 60)

    def acknowledged(self, asks):
        """Returns the number of these asks that the zombie answered."""
        return len(self.asker.answers(asks, self.uid))


def stop_in_mid_write(cluster, client, node):
    """Stops the node while it has events to write. The test holds the journal's lock meanwhile: a
    node that is stopped inside its own transaction would block the others. Returns the client's
    asks that the node has read or will read."""
    with cluster.journal_locked():
        stored = cluster.stored()
        asks = client.commands(node, client.flights[:COMMANDS])
        client.wait_taken()
        end = time.monotonic() + PILE_UP
        while time.monotonic() < end:
            cluster.feed_some()  # its entities get commands that cannot be stored
            time.sleep(0.005)
        cluster.expect(all(other.busy for other in cluster.nodes), "a node has all its answers without the journal")
        stop_process(node)
        cluster.expect(cluster.acked() <= stored, f"{cluster.acked()} commands acknowledged and {stored} stored")
        cluster.expect(client.acknowledged(asks) == 0, "a reply left before its cause was durable")
    return asks + client.commands(node, client.flights[COMMANDS:])  # these wait in its sockets


def write_elsewhere(cluster, client):
    """Lets the new owners store the client's commands, so that each of these shards has a newer
    fence. The client asks all nodes, because a node does not forward a message that was sent to a
    wrong home."""
    asks = [client.commands(node, client.flights) for node in cluster.nodes]
    wait(lambda: all(client.asker.answers(tries) for tries in zip(*asks)), "the new owners do not acknowledge", 60)
    cluster.expect(not any(client.acknowledged(tries) for tries in asks), "the stopped node acknowledged")


def wake(cluster, client, zombie, asks):
    """Resumes the zombie. The other nodes are stopped until it has answered for its writes: they
    would tell it that it was removed, and a removed node sends no answers. Returns the fences in
    the journal before the zombie resumed."""
    with cluster.journal_locked():  # so that no node is stopped inside a transaction
        for node in cluster.nodes:
            stop_process(node)
    fences = cluster.fences()
    os.kill(zombie.process.pid, signal.SIGCONT)
    try:
        wait(lambda: len(client.asker.refusals(asks)) + client.acknowledged(asks) >= COMMANDS // 2,
             "the zombie does not answer for its writes", 60)
    finally:
        for node in cluster.nodes:
            os.kill(node.process.pid, signal.SIGCONT)
    return fences


def number_of(reason):
    """Returns the number of a reason in enum sherd_reason."""
    with open(os.path.join(ROOT, "include", "sherd", "error.h")) as file:
        return re.findall(r"X\((SHERD_REASON_\w+),", file.read()).index(reason)


def logged_fences(cluster, zombie):
    """Returns the shards whose writes were refused: {shard: (own fence, stored fence)}, fences as
    (term, epoch)."""
    found = re.findall(r' level=warning module=journal node=\S+ msg="shard fenced" type=Airport shard=(\d+) term=(\d+) epoch=(\d+) '
                       r'stored_term=(\d+) stored_epoch=(\d+) hint=.*\n', cluster.log(zombie))
    return {shard: ((int(term), int(epoch)), (int(stored), int(stored_epoch)))
            for shard, term, epoch, stored, stored_epoch in found}


def check_refused(cluster, client, zombie, asks, fences):
    """Checks that the journal refused the zombie's writes for fences that it had before the zombie
    resumed, and that no client got another answer than this refusal."""
    log = cluster.log(zombie)
    refused = re.search(r' level=warning module=journal node=\S+ msg="writes refused by the fence: another node owns the shard" '
                        r'entities=[1-9]\d* hint=.*\n', log)
    fenced = logged_fences(cluster, zombie)
    refusals = client.asker.refusals(asks)
    reasons = client.asker.reasons(refusals)
    print(f"the zombie ended with status {zombie.process.returncode}, fenced {len(fenced)}; of {len(asks)} asks of the client it "
          f"acknowledged {client.acknowledged(asks)} and refused {len(refusals)}, for the reasons {sorted(reasons)}", flush=True)
    cluster.expect(refused, "the journal refused no write of the zombie")
    cluster.expect(fenced, "the journal fenced no shard of the zombie")
    for shard, (own, stored) in fenced.items():
        cluster.expect(own < stored == fences[shard], f"shard {shard}: {own} refused for {stored}, the journal had {fences[shard]}")
    cluster.expect(client.acknowledged(asks) == 0, "a reply for a write that was refused left the zombie")
    cluster.expect(number_of("SHERD_REASON_FENCED") in reasons, "no client learned that the shard has a newer owner")
    cluster.expect(" level=error module=node " in log and "downed or removed by the cluster: this node ends" in log,
                   "the zombie does not log why it ends")
    cluster.expect(zombie.process.returncode == 1, f"the zombie ended with status {zombie.process.returncode}, not 1")


def test(cluster):
    cluster.start_all()
    total = 2 * len(cluster.flights)
    cluster.rate = 6000
    cluster.feed_until(lambda: cluster.acked() >= total // 8, "feeding")
    zombie = cluster.nodes[2]
    client = Client(cluster, zombie)
    asks = stop_in_mid_write(cluster, client, zombie)
    cluster.forget(zombie)
    # Until they see it as unreachable, the nodes would send it the news that it is down.
    wait(lambda: all(cluster.members(node)[zombie.address][1] == "0" for node in cluster.nodes), "no node sees the zombie as unreachable",
         60, 0.2)
    cluster.down(zombie)
    cluster.wait_gone(zombie)
    before = cluster.acked()
    cluster.feed_again(zombie)
    cluster.feed_until(lambda: cluster.acked() >= before + total // 8, "feeding without it")
    write_elsewhere(cluster, client)
    fences = wake(cluster, client, zombie, asks)
    wait(zombie.ended, "the zombie does not end by itself", 60)
    check_refused(cluster, client, zombie, asks, fences)
    cluster.feed_all()
    cluster.check_exact()
    client.asker.close()
    cluster.stop_all()


sys.exit(main(test, __doc__))

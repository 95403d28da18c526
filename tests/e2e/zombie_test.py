"""A zombie: a host is stopped (SIGSTOP) in mid-write with asks in flight, downed, its shards get new owners who write; when it
wakes (SIGCONT) its writes are refused by the store, whose newer fence it names, no reply for one of them leaves it but that reason,
it ends by itself, and the journal has neither gap nor duplicate, nor a record of an older fence behind one of a newer.

The other nodes hang up on a node that was removed, which would hide a reply that it sends. So a client that is no member
asks, too, and hears all that the zombie says (asker.py)."""
import os
import re
import signal
import struct
import sys
import time

from asker import Asker
from cluster import ROOT, main, stop_process, wait

PILE_UP = 0.4  # s that writes wait for the journal before the host is stopped
CLIENT = 0x0A5CE2  # a uid
HOMES = 40  # airports on the zombie that answer the client before all begins
COMMANDS = 60  # of the client in each batch
DEPARTED, GET_TOTALS = 1, 3  # messages of examples/airports.c
os.environ["SHERD__JOURNAL__SQLITE__LOCK_TIMEOUT"] = "120 s"  # the zombie's pending write is still wanted when it wakes


class Client:
    """Sends departures of the file's last flights, which the feeders come to last, to airports that the zombie hosts."""

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
        """Flights from airports at home on the zombie: those for which it answers itself. So its answers do reach the client."""
        asks = self.totals(sorted({flight["origin"] for flight in self.cluster.flights}))
        wait(lambda: self.zombie.port in self.asker.uids, "the zombie-to-be does not connect to the client", 60)
        self.uid = self.asker.uids[self.zombie.port]
        wait(lambda: self.acknowledged(asks) >= HOMES, "the zombie-to-be does not answer", 60)
        self.homes = [asks[ask] for ask in self.asker.answers(asks, self.uid)]
        last = range(len(self.cluster.flights) - 1, len(self.cluster.flights) // 2, -1)
        return [flight for flight in last if self.cluster.flights[flight]["origin"] in self.homes][:2 * COMMANDS]

    def wait_taken(self):
        """Until the zombie has taken in what was sent before: it answers for an airport that has nothing to store."""
        busy = {self.cluster.flights[flight]["origin"] for flight in self.flights}
        asks = self.totals(airport for airport in self.homes if airport not in busy)
        wait(lambda: self.asker.answers(asks), "the zombie-to-be answers for no airport", 60)

    def acknowledged(self, asks):
        """Of these asks, those that the zombie answered."""
        return len(self.asker.answers(asks, self.uid))


def stop_in_mid_write(cluster, client, node):
    """Stops it while it has events to write and does not hold the journal's lock, since this test holds that: stopped inside
    its own transaction it would keep the others from writing. Returns the client's asks that it has or will find."""
    with cluster.journal_locked():
        stored = cluster.stored()
        asks = client.commands(node, client.flights[:COMMANDS])
        client.wait_taken()
        end = time.monotonic() + PILE_UP
        while time.monotonic() < end:
            cluster.feed_some()  # its entities get commands, and none can be stored
            time.sleep(0.005)
        cluster.expect(all(other.busy for other in cluster.nodes), "a node has all its answers without the journal")
        stop_process(node)
        cluster.expect(cluster.acked() <= stored, f"{cluster.acked()} commands acknowledged and {stored} stored")
        cluster.expect(client.acknowledged(asks) == 0, "a reply left before its cause was durable")
    return asks + client.commands(node, client.flights[COMMANDS:])  # the latter wait in its sockets


def write_elsewhere(cluster, client):
    """The new owners write what the client had asked the zombie for: each shard of it has a newer fence from here on. All of
    them are asked, since a node passes on nothing that another one sent there by mistake."""
    asks = [client.commands(node, client.flights) for node in cluster.nodes]
    wait(lambda: all(client.asker.answers(tries) for tries in zip(*asks)), "the new owners do not acknowledge", 60)
    cluster.expect(not any(client.acknowledged(tries) for tries in asks), "the stopped node acknowledged")


def wake(cluster, client, zombie, asks):
    """The others stand still until the zombie has said what became of its writes: they would tell it first that it was
    removed, and a node that knows says nothing more. Returns the fences that the journal had then."""
    with cluster.journal_locked():  # nobody is stopped inside a transaction
        for node in cluster.nodes:
            stop_process(node)
    fences = cluster.fences()
    os.kill(zombie.process.pid, signal.SIGCONT)
    try:
        wait(lambda: len(client.asker.refusals(asks)) + client.acknowledged(asks) >= COMMANDS // 2,
             "the zombie says nothing of its writes", 60)
    finally:
        for node in cluster.nodes:
            os.kill(node.process.pid, signal.SIGCONT)
    return fences


def number_of(reason):
    """Of enum sherd_reason."""
    with open(os.path.join(ROOT, "include", "sherd", "error.h")) as file:
        return re.findall(r"X\((SHERD_REASON_\w+),", file.read()).index(reason)


def logged_fences(cluster, zombie):
    """Of the shards that its journal was refused: {shard: (its own fence, the stored one)}, fences as (term, epoch)."""
    found = re.findall(r' level=warning module=journal node=\S+ msg="shard fenced" type=Airport shard=(\d+) term=(\d+) epoch=(\d+) '
                       r'stored_term=(\d+) stored_epoch=(\d+)\n', cluster.log(zombie))
    return {shard: ((int(term), int(epoch)), (int(stored), int(stored_epoch)))
            for shard, term, epoch, stored, stored_epoch in found}


def check_refused(cluster, client, zombie, asks, fences):
    """The store refused what it had to write, for fences that were there before it woke; nobody heard of it but as refused."""
    log = cluster.log(zombie)
    refused = re.search(r' level=warning module=journal node=\S+ msg="writes refused by the fence: another node owns the shard" '
                        r'entities=[1-9]\d*\n', log)
    fenced = logged_fences(cluster, zombie)
    refusals = client.asker.refusals(asks)
    reasons = client.asker.reasons(refusals)
    print(f"the zombie ended with status {zombie.process.returncode}, fenced {len(fenced)}; of {len(asks)} asks of the client it "
          f"acknowledged {client.acknowledged(asks)} and refused {len(refusals)}, for the reasons {sorted(reasons)}", flush=True)
    cluster.expect(refused, "the store refused no write of the zombie")
    cluster.expect(fenced, "no shard of the zombie was fenced by its journal")
    for shard, (own, stored) in fenced.items():
        cluster.expect(own < stored == fences[shard], f"shard {shard}: {own} refused for {stored}, the journal had {fences[shard]}")
    cluster.expect(client.acknowledged(asks) == 0, "a reply for a write that was refused left the zombie")
    cluster.expect(number_of("SHERD_REASON_FENCED") in reasons, "nobody who asked heard that the shard has a newer owner")
    cluster.expect(" level=error module=node " in log and "downed or removed by the cluster: this node ends" in log,
                   "the zombie does not say why it ends")
    cluster.expect(zombie.process.returncode == 1, "the zombie ended as if nothing had been")


def test(cluster):
    cluster.start_all()
    total = 2 * len(cluster.flights)
    cluster.rate = 6000
    cluster.feed_until(lambda: cluster.acked() >= total // 8, "feeding")
    zombie = cluster.nodes[2]
    client = Client(cluster, zombie)
    asks = stop_in_mid_write(cluster, client, zombie)
    cluster.forget(zombie)
    # Before that it would be sent the news of its end, and would know of it when it wakes.
    wait(lambda: all(cluster.members(node)[zombie.address][1] == "0" for node in cluster.nodes), "nobody misses the zombie", 60, 0.2)
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

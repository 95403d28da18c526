"""Claims a shard while its former owner's group over many shards is in flight. The group is stored as a
whole before the claim, or without the claimed shard after it; each event exactly once.

usage: postgres_claims_test.py WRITER"""
import sys

from checks import expect, verdict
from cluster import wait

import postgres_server
from postgres_parts import Proxy, Writer, gaps

SHARDS = "abcdefghij"
TAKEN = "c"
ROUNDS = 200  # of claims of each other's shards


class Case:
    """A writer that owns all shards, another one, and a session of psql that holds locks."""

    def __init__(self, program, server, proxy=None):
        self.server = server
        self.former = Writer(program, server.url("127.0.0.1", proxy.port) if proxy else server.url())
        self.next = Writer(program, server.url())
        claimed = [self.former.claim(shard, 1, 1) for shard in SHARDS]
        expect(claimed == ["done"] * len(SHARDS), f"all shards are claimed: {claimed}")
        self.number = server.sql(f"SELECT claim FROM sherd.shard WHERE shard = '{TAKEN}'")
        self.stored = dict.fromkeys(SHARDS, "")
        for letter in "xy":
            self.append(letter)
            expect(self.answer(letter) == ["done"] * len(SHARDS), f"group {letter} is stored")
        self.holder = server.session()

    def append(self, letter):
        """Sends a group with one event for each shard."""
        self.former.send("append", ",".join(SHARDS), 1, 1, "T|", len(self.stored["a"]) + 1, letter)

    def answer(self, letter):
        results = self.former.answer().split()[:len(SHARDS)]
        for shard, result in zip(SHARDS, results):
            self.stored[shard] += letter if result == "done" else ""
        return results

    def hold(self, sql):
        """Runs SQL in an open transaction."""
        self.holder.stdin.write(f"BEGIN; {sql};\n")
        self.holder.stdin.flush()
        wait(lambda: self.server.sql("SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'") == "1", "no row is held")

    def end(self, verb):
        self.holder.stdin.write(f"{verb};\n")
        self.holder.stdin.close()
        self.holder.wait()

    def wait_for_waits(self, count):
        """Waits until so many sessions of writers wait for a lock."""
        waits = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'sherd:%' AND wait_event_type = 'Lock'"
        wait(lambda: int(self.server.sql(waits)) == count, f"{count} sessions do not wait")

    def check(self, epoch):
        """All that was confirmed is there once, and both writers go on."""
        for shard in SHARDS:
            found = self.next.replay("T|" + shard)
            expect(found == "done " + self.stored[shard], f"shard {shard} has {found}, confirmed {self.stored[shard]}")
        self.append("z")
        results = self.answer("z")
        expect(all_but_the_taken(results), f"the former owner keeps the others: {results}")
        taken = len(self.stored[TAKEN]) + 1
        expect(self.next.append(TAKEN, 1, epoch, "T|" + TAKEN, taken, "n") == "done", "the next owner writes")
        expect(self.next.replay("T|" + TAKEN) == "done " + self.stored[TAKEN] + "n", "only the next owner writes to the claimed shard")
        expect(gaps(self.server) == 0, "each writer's events are numbered without gaps")
        self.former.close()
        self.next.close()


def all_but_the_taken(results):
    return results == ["fenced" if shard == TAKEN else "done" for shard in SHARDS]


def the_claim_commits_while_the_group_waits(program, server):
    case = Case(program, server)
    case.hold(f"UPDATE sherd.shard SET epoch = 2, claim = 7 WHERE shard = '{TAKEN}';"
              f" UPDATE sherd.writer SET generation = generation + 1 WHERE id = {case.number}")
    case.append("w")
    case.wait_for_waits(1)
    case.end("COMMIT")
    results = case.answer("w")
    expect(all_but_the_taken(results), f"the group is stored without the claimed shard: {results}")
    expect(case.next.claim(TAKEN, 1, 3) == "done", "the shard is claimed again")
    case.check(3)


def the_claim_waits_for_the_group(program, server):
    case = Case(program, server)
    case.hold(f"SELECT FROM sherd.writer WHERE id = {case.number} FOR UPDATE")
    case.append("w")
    case.wait_for_waits(1)
    case.next.send("claim", TAKEN, 1, 2)
    case.wait_for_waits(2)
    case.end("ROLLBACK")
    results = case.answer("w")
    expect(case.next.answer().split()[0] == "done", "the shard is claimed")
    expect(all_but_the_taken(results) or results == ["done"] * len(SHARDS), f"the group is stored before the claim, or without the shard: {results}")
    case.check(2)


def the_claim_ends_the_group(program, server):
    """The group has its writer's row, and waits for another one until the claim ends its session."""
    case = Case(program, server)
    case.hold("INSERT INTO sherd.event SELECT id, 3, shard, 0, 1, now(), '' FROM sherd.entity WHERE pid = 'T|e'")
    case.append("w")
    case.wait_for_waits(1)
    expect(case.next.claim(TAKEN, 1, 2) == "done", "the shard is claimed")
    expect(case.next.logged("former owner's session"), "the former owner's session is named in the log")
    expect(case.next.replay("T|" + TAKEN) == "done xy", "the next owner reads what was stored before")
    case.end("ROLLBACK")
    results = case.answer("w")
    expect(all_but_the_taken(results), f"the group is stored without the claimed shard: {results}")
    case.check(2)


def the_group_arrives_after_the_claim(program, server):
    proxy = Proxy(server.port)
    case = Case(program, server, proxy)
    proxy.hold(True)
    case.append("w")
    expect(case.next.claim(TAKEN, 1, 2) == "done", "the shard is claimed")
    expect(case.next.replay("T|" + TAKEN) == "done xy", "the next owner reads what was stored before")
    proxy.hold(False)
    results = case.answer("w")
    expect(all_but_the_taken(results), f"the group is stored without the claimed shard: {results}")
    case.end("")
    case.check(2)
    proxy.close()


def claims_of_each_others_shards_wait_in_order(program, server):
    """Three writers take three shards from each other at once. None waits for one that waits for it."""
    writers = [Writer(program, server.url()) for _ in range(3)]
    for turn in range(ROUNDS):
        for number, writer in enumerate(writers):
            writer.send("claim", SHARDS[(turn + number) % 3], 1, 3 * turn + number + 1)
    results = {writer.answer().split()[0] for writer in writers for _ in range(ROUNDS)}
    expect(results <= {"done", "fenced"}, f"claims succeed, or come after a later one: {results}")
    wait(lambda: int(server.sql("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()")) > 3 * ROUNDS, "the server does not count")
    for writer in writers:
        writer.close()
    deadlocks = server.sql("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
    expect(deadlocks == "0", f"the server ended {deadlocks} of {3 * ROUNDS} claims that waited in a circle")


def main():
    if not postgres_server.programs():
        print("skipped: no PostgreSQL server is installed")
        return 77
    for case in (the_claim_commits_while_the_group_waits, the_claim_waits_for_the_group, the_claim_ends_the_group,
                 the_group_arrives_after_the_claim, claims_of_each_others_shards_wait_in_order):
        print(f"--- {case.__name__}", flush=True)
        with postgres_server.Server() as server:
            case(sys.argv[1], server)
    return verdict()


if __name__ == "__main__":
    sys.exit(main())

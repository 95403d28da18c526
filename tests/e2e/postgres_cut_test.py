"""Cuts a writer's connection to PostgreSQL after each byte of a commit, in both directions. Each record
must be stored exactly once, and the writer must know it.

usage: postgres_cut_test.py WRITER [STEP]    STEP: cut at each STEPth byte only"""
import subprocess
import sys
import time

from cluster import wait

import postgres_server
from postgres_parts import Proxy, Writer, gaps

failed = []
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def expect(condition, what):
    if not condition:
        print(f"FAILED: {what}", flush=True)
        failed.append(what)


class Test:
    def __init__(self, program, server, step):
        self.proxy = Proxy(server.port)
        self.server, self.step = server, step
        self.url = server.url("127.0.0.1", self.proxy.port)
        self.writer = Writer(program, self.url)
        self.slow = Writer(program, self.url, "group-timeout=300")
        self.stored = ""
        expect(self.writer.opened == "open", self.writer.opened)
        expect(self.writer.claim("s", 1, 1) == "done", "the shard is claimed")

    def append(self, writer, direction, count, again=False):
        """Appends the next letter while the connection is cut. Returns the result."""
        letter = LETTERS[len(self.stored) % len(LETTERS)]
        self.proxy.arm(direction, count)
        result = writer.append("s", 1, 1, "T|e", len(self.stored) + 1, letter, again)
        self.proxy.arm(0, None)
        return result, letter

    def measure(self):
        """Returns the bytes of a commit, to the server and back."""
        sizes = []
        for _ in range(3):
            result, letter = self.append(self.writer, 0, None)
            expect(result == "done", "an append without a cut")
            self.stored += letter
        self.proxy.arm(0, None)
        self.append_done(self.writer)
        sizes = list(self.sizes)
        return sizes

    def append_done(self, writer):
        self.proxy.arm(0, None)
        letter = LETTERS[len(self.stored) % len(LETTERS)]
        result = writer.append("s", 1, 1, "T|e", len(self.stored) + 1, letter)
        self.sizes = list(self.proxy.counts)
        expect(result == "done", "an append without a cut")
        self.stored += letter

    def check(self, what):
        found = self.server.sql("SELECT string_agg(convert_from(substr(record, 5, 1), 'UTF8'), '' ORDER BY seq) FROM sherd.event")
        expect(found == self.stored, f"{what}: {len(found)} letters stored, {len(self.stored)} expected")
        expect(gaps(self.server) == 0, f"{what}: positions have gaps")

    def cut_each(self, direction, size):
        for count in range(0, size + 1, self.step):
            result, letter = self.append(self.writer, direction, count)
            self.stored += letter
            if result != "done":
                expect(False, f"cut after {count} of {size} bytes, direction {direction}: {result}")
            # The prepared statements are gone with the connection, so one more append makes the sizes equal.
            self.append_done(self.writer)
        self.check(f"direction {direction}")

    def unknown(self, size):
        """No server can be reached after the cut, so the outcome stays unknown until the repetition."""
        outcomes = set()
        expect(self.slow.claim("s", 1, 2) == "done", "the shard is claimed by another writer")
        fence = (1, 2)
        for direction, count in [(0, 0), (0, size[0] // 2), (0, size[0] - 1), (0, size[0]), (1, 0), (1, 1), (1, size[1] - 1)]:
            letter = LETTERS[len(self.stored) % len(LETTERS)]
            warm = self.slow.append("s", *fence, "T|e", len(self.stored) + 1, letter)
            expect(warm == "done", f"an append without a cut: {warm}")
            self.stored += letter
            letter = LETTERS[len(self.stored) % len(LETTERS)]
            self.proxy.closed = True
            self.proxy.arm(direction, count)
            result = self.slow.append("s", *fence, "T|e", len(self.stored) + 1, letter)
            outcomes.add(result)
            expect(result == "unknown", f"cut after {count} bytes, direction {direction}, without a server: {result}")
            self.proxy.closed = False
            self.proxy.arm(0, None)
            result = self.slow.append("s", *fence, "T|e", len(self.stored) + 1, letter, again=True)
            expect(result == "done", f"the repetition after a cut at {count}, direction {direction}: {result}")
            self.stored += letter
        self.check("unknown outcomes")

    def late(self):
        """A former owner's group is delayed in the network until its shard has a new owner."""
        entity = "T|late"
        expect(self.slow.claim("l", 1, 1) == "done", "the shard is claimed")
        expect(self.slow.append("l", 1, 1, entity, 1, "a") == "done", "the owner appends")
        self.proxy.hold(True)
        self.slow.send("append", "l", 1, 1, entity, 2, "x")
        direct = Writer(self.slow.process.args[0], self.server.url())
        expect(direct.claim("l", 1, 2) == "done", "another node claims")
        expect(direct.replay(entity) == "done a", "it reads")
        expect(direct.append("l", 1, 2, entity, 2, "b") == "done", "it appends")
        self.proxy.hold(False)
        result = self.slow.answer().split()[0]
        if result == "unknown":
            result = self.slow.append("l", 1, 1, entity, 2, "x", again=True)
        expect(result == "fenced", f"the late group of the former owner: {result}")
        expect(direct.replay(entity) == "done ab", "nothing of it is stored")
        direct.close()

    def holder(self):
        """A former owner stops inside a transaction and keeps its row: the claim ends its session."""
        holder = self.server.session("application_name='sherd:c:former:1'")
        holder.stdin.write("BEGIN; UPDATE sherd.shard SET claim = claim WHERE shard = 'h';\n")
        expect(self.writer.claim("h", 1, 1) == "done", "the shard is claimed")
        holder.stdin.flush()
        wait(lambda: self.server.sql("SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'") == "1", "no row is held")
        began = time.monotonic()
        expect(self.writer.claim("h", 1, 2) == "done", "the claim ends the session that holds the shard")
        expect(time.monotonic() - began < 9, "it does not wait for the server's own limit")
        expect(self.writer.logged("former owner's session.*pid=[0-9]+.*sherd:c:former:1"), "the session is named in the log")
        holder.kill()
        holder.wait()

    def read_only(self):
        """A server that became read-only is left at once, and used again later, without a restart."""
        self.server.sql("ALTER SYSTEM SET default_transaction_read_only = on")
        self.server.sql("SELECT pg_reload_conf()")
        result = self.slow.append("l", 1, 1, "T|ro", 1, "a")
        expect(self.slow.claim("r", 1, 1) == "failed", "nothing is written on a read-only server")
        expect(result in ("failed", "fenced"), f"nothing is written on a read-only server: {result}")
        self.server.sql("ALTER SYSTEM RESET default_transaction_read_only")
        self.server.sql("SELECT pg_reload_conf()")
        end = time.monotonic() + 30
        while self.server.sql("SHOW default_transaction_read_only") != "off" and time.monotonic() < end:
            pass  # each question starts a client
        expect(self.slow.claim("r", 1, 1) == "done", "the same writer goes on when the server accepts writes")

    def no_login(self):
        """A role that may not log in for a while fails the writes, and not the writer."""
        self.server.sql("CREATE ROLE other SUPERUSER LOGIN")
        self.server.sql("ALTER ROLE sherd NOLOGIN; SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'sherd:%'")
        answer = self.slow.say("claim", "a", 1, 1)
        expect(answer.startswith("failed") and "not permitted to log in" in answer, f"a role without a login: {answer}")
        subprocess.run(["psql", "-X", "-q", "-d", self.server.url().replace("user=sherd", "user=other"), "-c", "ALTER ROLE sherd LOGIN"], check=True)
        expect(self.slow.claim("a", 1, 1) == "done", "the same writer goes on when the role may log in")

    def replaced(self):
        """Another store answers under the same address: nothing is written to it."""
        self.server.sql("UPDATE sherd.meta SET store_id = gen_random_uuid()")
        self.server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'sherd:%'")
        answer = self.writer.say("claim", "n", 1, 1)
        expect(answer.startswith("failed") and "another journal answers" in answer, f"a replaced store: {answer}")
        expect(self.server.sql("SELECT count(*) FROM sherd.shard WHERE shard = 'n'") == "0", "nothing is written to it")

    def run(self):
        size = self.measure()
        print(f"a commit is {size[0]} bytes and its answer {size[1]}", flush=True)
        self.cut_each(0, size[0])
        self.cut_each(1, size[1])
        self.unknown(size)
        self.late()
        self.holder()
        self.read_only()
        self.no_login()
        sessions = int(self.server.sql("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'sherd:%'"))
        expect(sessions <= 4, f"{sessions} sessions are left")
        self.replaced()
        self.writer.close()
        self.slow.close()
        self.proxy.close()


def main():
    if not postgres_server.programs():
        print("skipped: no PostgreSQL server is installed")
        return 77
    with postgres_server.Server() as server:
        Test(sys.argv[1], server, int(sys.argv[2]) if len(sys.argv) > 2 else 1).run()
    print("FAILED" if failed else "ok")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

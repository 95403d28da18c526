"""Tests the checks of the demonstration: a run is exact only if it is.

1. A node stores a small file while its journal is locked for a moment. Commands are sent again,
   each is stored once, and a run that allows no retries is not exact.
2. The counting program (examples/airports_check.py) runs on copies of the journal and the file:
   unchanged, and each changed in one way that it must count.
3. The demonstration must report these counts, a move that saw too few commands or held none, and a
   node without commands. The other tests must find gaps and late writes (cluster.py)."""
import contextlib
import io
import os
import re
import shutil
import sqlite3
import struct
import subprocess
import sys

from cluster import ROOT, Failed, main, varint, wait

FLIGHTS_USED = 60
LOCK_SECONDS = 0.2  # a write waits this long for the journal's lock
os.environ["SHERD__JOURNAL__SQLITE__LOCK_TIMEOUT"] = f"{int(1000 * LOCK_SECONDS)} ms"
CHECK = [sys.executable, "-B", os.path.join(ROOT, "examples", "airports_check.py")]


def feed_with_retries(cluster):
    cluster.start_all()
    cluster.totals()  # starts every airport and claims every shard
    cluster.rate, cluster.chunk = 6000, 1  # with one flight at a time, retries break no order
    with cluster.journal_locked():
        cluster.feed_some()
        wait(lambda: cluster.retried() > 0, "no command is sent again", 60)
    cluster.feed_all()


def finish(cluster):
    """The demonstration ends a run that must have no retries: it must report them and fail."""
    with contextlib.redirect_stdout(io.StringIO()) as said:
        code = cluster.finish(allows_retries=False)
    print(said.getvalue())
    wanted = (r"\nstored out of the order in which a node sent them: 0\n"
              rf"delivered to an airport that had them already: 0\n(.*\n)*flights {FLIGHTS_USED} commands {2 * FLIGHTS_USED} lost 0 doubled 0 "
              r"retried [1-9][0-9]* airports [0-9]+ exact no\n$")
    cluster.expect(code == 1 and re.search(wanted, said.getvalue()), f"a run with retries ends with status {code}")


# ---- changes of a journal ----

def one(database):
    """Returns entity, number and record of the last event of an airport with several."""
    return database.execute("SELECT entity, seq, record FROM event WHERE (entity, seq) IN (SELECT entity, max(seq) FROM event "
                            "GROUP BY entity) ORDER BY seq DESC LIMIT 1").fetchone()


def put(database, entity, record):
    database.execute("INSERT INTO event SELECT ?, coalesce(max(seq), 0) + 1, ? FROM event WHERE entity = ?", (entity, record, entity))


def delete(database):
    database.execute("DELETE FROM event WHERE entity = ? AND seq = ?", one(database)[:2])


def repeat(database, times=1):
    entity, _, record = one(database)
    for _ in range(times):
        put(database, entity, record)


def rewrite(database, change):
    """Rewrites one event. change: a function of (kind, flight, delay) that returns the new ones."""
    entity, seq, record = one(database)
    kind, at = varint(record, 1)
    head = record[at:-16]
    flight, delay = struct.unpack("<Ii", record[-16:-8])
    kind, flight, delay = change(kind, flight, delay)
    database.execute("UPDATE event SET record = ? WHERE entity = ? AND seq = ?",
                     (record[:1] + bytes([kind]) + head + struct.pack("<Ii", flight, delay) + record[-8:], entity, seq))


def move(database):
    entity, _, record = one(database)
    delete(database)
    put(database, database.execute("SELECT min(id) FROM entity WHERE id != ?", (entity,)).fetchone()[0], record)


def shards_own(database):
    database.execute("INSERT INTO entity(pid) VALUES('|Airport|3')")
    put(database, database.execute("SELECT max(id) FROM entity").fetchone()[0], one(database)[2])


# A name, a change of the journal, and the counts that the program must print.
CHANGES = [("no change", lambda database: None, "lost 0 doubled 0 strange 0"),
           ("one event is deleted", delete, "lost 1 doubled 0 strange 0"),
           ("one event is stored twice", repeat, "lost 0 doubled 1 strange 0"),
           ("one event is stored three times", lambda database: repeat(database, 2), "lost 0 doubled 2 strange 0"),
           ("one event is deleted, another stored twice", lambda database: (delete(database), repeat(database)), "lost 1 doubled 1 strange 0"),
           ("an event has another delay", lambda database: rewrite(database, lambda kind, flight, delay: (kind, flight, delay + 1)),
            "lost 1 doubled 0 strange 1"),
           ("an event says departed, not arrived", lambda database: rewrite(database, lambda kind, flight, delay: (3 - kind, flight, delay)),
            "lost 1 doubled 0 strange 1"),
           ("an event has a flight that the file lacks", lambda database: rewrite(database, lambda kind, flight, delay: (kind, FLIGHTS_USED, delay)),
            "lost 1 doubled 0 strange 1"),
           ("an event is stored for another airport", move, "lost 1 doubled 0 strange 1"),
           ("the journal has a shard's own stream", shards_own, "lost 0 doubled 0 strange 0")]


def changed_journal(cluster, change):
    path = os.path.join(cluster.folder, "changed.db")
    shutil.copyfile(os.path.join(cluster.folder, "journal.db"), path)
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        change(database)
    return path


def changed_input(cluster, change):
    """Returns the path of a copy of the file. change: a function of its lines that returns the new
    ones."""
    path = os.path.join(cluster.folder, "changed.csv")
    with open(cluster.input) as old, open(path, "w") as new:
        new.writelines(change(old.readlines()))
    return path


def expect_count(cluster, words, wanted, what):
    result = subprocess.run(CHECK + words, capture_output=True, text=True)
    good = result.returncode == (wanted != "lost 0 doubled 0 strange 0") and re.fullmatch(rf"commands [0-9]+ {wanted}\n", result.stdout)
    print(f"{'ok' if good else 'FAILED'}: {what}: {result.stdout.strip()}", flush=True)
    cluster.expect(good and not result.stderr, f"{what}: status {result.returncode}, not {wanted}: {result.stdout}{result.stderr}")


def check_counts(cluster):
    for what, change, wanted in CHANGES:
        expect_count(cluster, [changed_journal(cluster, change), cluster.input], wanted, what)
    longer = changed_input(cluster, lambda lines: lines + lines[-1:])
    expect_count(cluster, [cluster.journal, longer], "lost 2 doubled 0 strange 0", "the file has one more flight")
    expect_count(cluster, [cluster.journal, longer, str(FLIGHTS_USED)], "lost 0 doubled 0 strange 0", "the limit excludes that flight")
    expect_count(cluster, [cluster.journal, cluster.input, str(FLIGHTS_USED - 1)], "lost 0 doubled 0 strange 2", "the limit excludes a stored flight")


# ---- the demonstration's own checks ----

def fails(function, *words):
    """Returns the text of the failure, or None if there is none."""
    try:
        function(*words)
    except Failed as error:
        return str(error)
    return None


def check_demo(cluster):
    for change, wanted in (CHANGES[1][1], (1, 0)), (CHANGES[2][1], (0, 1)):
        cluster.journal = changed_journal(cluster, change)
        cluster.expect(cluster.check() == wanted, f"the demonstration counts {cluster.check()}, not {wanted}")
    cluster.journal = changed_journal(cluster, CHANGES[5][1])
    cluster.expect("1 events that the file does not explain" in (fails(cluster.check) or ""), "a strange event passes")
    cluster.needed = 2000
    cluster.expect(fails(cluster.check_move, "join", 2000, 1, 1.0) is None, "a move that saw enough commands fails")
    for seen, held in (1999, 1), (2000, 0):
        wanted = f"join: the move saw {seen} commands and held {held}; it must see 2000 and hold one"
        cluster.expect(fails(cluster.check_move, "join", seen, held, 1.0) == wanted, f"a move that saw {seen} and held {held} passes")
    node = (cluster.nodes + cluster.gone)[0]
    fed, node.acked = node.acked, 0
    cluster.expect(fails(cluster.check_fed) == f"no command was sent through {node.name}", "a node without commands passes")
    node.acked = fed


# ---- checks that other tests use (cluster.py) ----

def leave_gap(database):
    database.execute("DELETE FROM event WHERE entity = ? AND seq = 1", one(database)[:1])


def write_late(database):
    """Adds an event with a lower fence, as a former owner of the shard would."""
    entity, _, record = one(database)
    put(database, entity, record[:2] + bytes(2) + record[-16:])


def check_streams(cluster):
    for change, wanted in (CHANGES[0][1], (0, 0)), (leave_gap, (1, 0)), (write_late, (0, 1)):
        cluster.journal = changed_journal(cluster, change)
        found = cluster.gaps(), cluster.late()
        cluster.expect(found == wanted, f"{found} gaps and late records, not {wanted}")


def test(cluster):
    feed_with_retries(cluster)
    finish(cluster)
    check_counts(cluster)
    check_demo(cluster)
    check_streams(cluster)


sys.exit(main(test, __doc__, nodes=1, flights=FLIGHTS_USED))

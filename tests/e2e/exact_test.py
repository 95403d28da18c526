"""What exact means. A node stores the flights of a small file while its journal can not be written for a moment: commands are sent
again, each is stored once, and a run that allows no retries is not exact. Then the counting program (examples/airports_check.py)
on copies of that journal and that file: as they are, and each changed in one way that it must count. Last what the demonstration
makes of its counts, of a move that saw too little or held nothing, and of a node that was fed nothing, and what the other tests see of gaps and late writes."""
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
LOCK_SECONDS = 0.2  # that a write waits for the journal
os.environ["SHERD__JOURNAL__SQLITE__LOCK_TIMEOUT"] = f"{int(1000 * LOCK_SECONDS)} ms"
CHECK = [sys.executable, "-B", os.path.join(ROOT, "examples", "airports_check.py")]


def feed_with_retries(cluster):
    cluster.start_all()
    cluster.totals()  # every airport is there, and its shard is claimed
    cluster.rate, cluster.chunk = 6000, 1  # one flight at a time, which has no order that retries could break
    with cluster.journal_locked():
        cluster.feed_some()
        wait(lambda: cluster.retried() > 0, "nothing is sent again", 60)
    cluster.feed_all()


def finish(cluster):
    """What the demonstration says at the end of a run that must have no retries."""
    with contextlib.redirect_stdout(io.StringIO()) as said:
        code = cluster.finish(allows_retries=False)
    print(said.getvalue())
    wanted = (r"\nstored out of the order in which a node sent them: 0\n"
              rf"delivered to an airport that had them already: 0\n(.*\n)*flights {FLIGHTS_USED} commands {2 * FLIGHTS_USED} lost 0 doubled 0 "
              r"retried [1-9][0-9]* airports [0-9]+ exact no\n$")
    cluster.expect(code == 1 and re.search(wanted, said.getvalue()), f"a run with retries ends with status {code}")


# ---- changes of a journal ----

def one(database):
    """Some event: its entity, number and record; the last one of an airport with several."""
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
    """change: of (kind, flight, delay)."""
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


# What is done to the journal, and what is counted then.
CHANGES = [("nothing", lambda database: None, "lost 0 doubled 0 strange 0"),
           ("an event is gone", delete, "lost 1 doubled 0 strange 0"),
           ("an event is there twice", repeat, "lost 0 doubled 1 strange 0"),
           ("an event is there three times", lambda database: repeat(database, 2), "lost 0 doubled 2 strange 0"),
           ("one is gone, another there twice", lambda database: (delete(database), repeat(database)), "lost 1 doubled 1 strange 0"),
           ("another delay", lambda database: rewrite(database, lambda kind, flight, delay: (kind, flight, delay + 1)),
            "lost 1 doubled 0 strange 1"),
           ("departed for arrived", lambda database: rewrite(database, lambda kind, flight, delay: (3 - kind, flight, delay)),
            "lost 1 doubled 0 strange 1"),
           ("no flight of the file", lambda database: rewrite(database, lambda kind, flight, delay: (kind, FLIGHTS_USED, delay)),
            "lost 1 doubled 0 strange 1"),
           ("at another airport", move, "lost 1 doubled 0 strange 1"),
           ("a shard's own stream", shards_own, "lost 0 doubled 0 strange 0")]


def changed_journal(cluster, change):
    path = os.path.join(cluster.folder, "changed.db")
    shutil.copyfile(os.path.join(cluster.folder, "journal.db"), path)
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        change(database)
    return path


def changed_input(cluster, change):
    """change: of the file's lines."""
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
    expect_count(cluster, [cluster.journal, longer], "lost 2 doubled 0 strange 0", "a flight more in the file")
    expect_count(cluster, [cluster.journal, longer, str(FLIGHTS_USED)], "lost 0 doubled 0 strange 0", "and that one not looked at")
    expect_count(cluster, [cluster.journal, cluster.input, str(FLIGHTS_USED - 1)], "lost 0 doubled 0 strange 2", "a flight less in it")


# ---- what the demonstration makes of it ----

def fails(function, *words):
    """What it fails with, or None."""
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
    cluster.expect(fails(cluster.check_move, "join", 2000, 1, 1.0) is None, "a move that saw enough fails")
    for seen, held in (1999, 1), (2000, 0):
        wanted = f"join: the move saw {seen} commands and held {held}; it must see 2000 and hold one"
        cluster.expect(fails(cluster.check_move, "join", seen, held, 1.0) == wanted, f"a move that saw {seen} and held {held} passes")
    node = (cluster.nodes + cluster.gone)[0]
    fed, node.acked = node.acked, 0
    cluster.expect(fails(cluster.check_fed) == f"no command was sent through {node.name}", "a node without commands passes")
    node.acked = fed


# ---- what the other tests look for in it (cluster.py) ----

def leave_gap(database):
    database.execute("DELETE FROM event WHERE entity = ? AND seq = 1", one(database)[:1])


def write_late(database):
    """As an owner of the shard who has lost it to a newer one."""
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

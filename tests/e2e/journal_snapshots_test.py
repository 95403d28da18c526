"""Tests `sherd journal` with snapshots, in a journal that the guide's program snapshots.c has written.

The commands list and drop snapshots, but not those that stand for deleted events. verify finds damaged and
missing ones. An export has them, and its import into a new file has the same export and serves the program.

With --program the commands run the application's code: they print states, compare snapshots with events, try upcasters
and make snapshots; code that rejects, differs or crashes is told.

usage: journal_snapshots_test.py SNAPSHOTS SHERD LIBRARY FAULTY_LIBRARY"""
import base64
import contextlib
import fcntl
import json
import os
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import termios
import time

from journal_file import change

PROGRAM, SHERD, LIBRARY, FAULTY = (os.path.abspath(path) for path in sys.argv[1:5])
ID = "Account|alice"
LIMIT = 120  # s


class Failed(Exception):
    pass


def expect(condition, text):
    if not condition:
        raise Failed(text)


def run(*words, code=0, stdin=None):
    done = subprocess.run([SHERD, "journal", *words], input=stdin, capture_output=True, text=True, timeout=LIMIT)
    if done.returncode != code:
        raise Failed(f"sherd journal {' '.join(words)} ends with {done.returncode}, not {code}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout + done.stderr


def objects(*words, code=0):
    done = subprocess.run([SHERD, "journal", *words, "--json"], capture_output=True, text=True, timeout=LIMIT)
    expect(done.returncode == code, f"sherd journal {' '.join(words)} ends with {done.returncode}: {done.stdout}{done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def copy_of(journal, name):
    path = os.path.join(os.path.dirname(journal), name)
    shutil.copy(journal, path)
    return path


def rows(journal, sql):
    with contextlib.closing(sqlite3.connect(journal)) as database:
        return database.execute(sql).fetchall()


def the_commands_print_snapshots(journal):
    stored = rows(journal, "SELECT seq FROM snapshot ORDER BY seq")
    expect(len(stored) == 2, f"the program keeps {stored}")
    first, = rows(journal, "SELECT min(seq) FROM event")[0]
    expect(first == stored[0][0] + 1, f"the first event is {first}")
    info = objects("info", journal)[0]
    expect(info["version"] == 3 and info["snapshots"] == 2, f"info: {info}")
    expect(objects("ids", journal) == [{"id": ID, "first": first, "last": 401, "snapshots": 2}], "ids")
    listed = objects("snapshots", journal)
    expect([(entry["id"], entry["seq"], entry["version"], entry["size"]) for entry in listed] == [(ID, seq, 1, 16) for seq, in stored],
           f"snapshots: {listed}")
    expect(objects("snapshots", journal, "Cart|") == [], "snapshots of another type")
    expect(objects("verify", "--deep", journal)[-1]["damaged"] == 0, "an intact journal is damaged")
    expect(objects("cat", journal, ID, "--from", str(first))[0]["seq"] == first, "cat of the events behind a snapshot")


def a_snapshot_that_stands_for_deleted_events_stays(journal):
    (oldest,), (newest,) = rows(journal, "SELECT seq FROM snapshot ORDER BY seq")
    expect("must stay" in run("drop-snapshots", journal, ID, code=4), "the last snapshot is dropped")
    expect("no such snapshots" in run("drop-snapshots", journal, ID, "--to", str(oldest - 1), code=1), "none are dropped")
    expect(objects("drop-snapshots", journal, ID, "--to", str(oldest), "--dry-run") == [{"snapshots": 1, "dropped": False}], "a dry run")
    expect(len(objects("snapshots", journal)) == 2, "a dry run drops a snapshot")
    path = copy_of(journal, "dropped.db")
    expect(objects("drop-snapshots", path, ID, "--from", str(newest)) == [{"snapshots": 1, "dropped": True}], "the newest one")
    expect([entry["seq"] for entry in objects("snapshots", path)] == [oldest], "other snapshots are dropped")
    expect(objects("verify", "--deep", path)[-1]["damaged"] == 0, "the journal is damaged after it")
    expect("must stay" in run("drop-snapshots", path, ID, "--from", str(oldest), code=4), "the last snapshot is dropped")


def verify_finds_what_is_wrong_with_snapshots(journal):
    (oldest,), (newest,) = rows(journal, "SELECT seq FROM snapshot ORDER BY seq")
    flipped = "UPDATE snapshot SET record = CAST(substr(record, 1, 7) || x'2a' || substr(record, 9) AS BLOB) WHERE seq = "
    for name, sql, what in (
            ("flipped.db", flipped + str(newest), f"snapshot {newest}: snapshot has a wrong checksum"),
            ("oldest.db", flipped + str(oldest), f"snapshot {oldest}: snapshot has a wrong checksum"),
            ("gone.db", "DELETE FROM snapshot", f"events 1 to {oldest} are missing, and no good snapshot has them"),
            ("above.db", f"DELETE FROM event WHERE seq >= {newest}", f"snapshot {newest} is above the last event"),
            ("behind.db", f"DELETE FROM event WHERE seq < {oldest + 4}", f"events {oldest + 1} to {oldest + 3} after it are missing"),
            ("loose.db", "INSERT INTO event VALUES(99, 1, x'00')", "99: events without a row of their entity"),
            ("unowned.db", "INSERT INTO snapshot VALUES(98, 1, x'00')", "98: snapshots without a row of their entity"),
            ("event.db", "INSERT OR REPLACE INTO snapshot SELECT entity, seq, record FROM event WHERE seq = 400", "snapshot 400: ")):
        path = copy_of(journal, name)
        change(path, sql)
        found = run("verify", "--deep", path, code=1)
        expect(what in found, f"verify of {name} finds {found}")
    found = run("snapshots", os.path.join(os.path.dirname(journal), "flipped.db"), code=1)
    expect(f"seq={newest} damaged: snapshot has a wrong checksum" in found, f"snapshots prints {found}")


def lines_of(journal):
    return [json.loads(line) for line in run("export", journal).splitlines()]


def an_import_has_the_snapshots_of_the_export(journal):
    lines = lines_of(journal)
    target = os.path.join(os.path.dirname(journal), "imported.db")
    expect(lines[-1]["snapshots"] == 2, f"the export ends with {lines[-1]}")

    def imported(changed, code=0):
        return run("import", target, stdin="".join(json.dumps(line) + "\n" for line in changed), code=code)

    at = next(index for index, line in enumerate(lines) if line["line"] == "snapshot")
    record = bytearray(base64.b64decode(lines[at]["record"]))
    record[-9] ^= 1
    for what, changed in (
            ("no snapshot has them", lines[:at] + lines[at + 2:-1] + [dict(lines[-1], snapshots=0)]),
            ("wrong checksum", lines[:at] + [dict(lines[at], record=base64.b64encode(record).decode())] + lines[at + 1:]),
            ("does not follow", lines[:at] + [lines[at + 1], lines[at]] + lines[at + 2:]),
            ("is not before it", lines[:1] + lines[at:]),
            ("counts differ", lines[:at + 1] + lines[at + 2:])):
        said = imported(changed, code=1)
        expect(what in said and "nothing was imported" in said, f"the import says {said}, not {what}")
        expect(not os.path.exists(target), "a refused import leaves a file")
    imported(lines)
    expect(objects("verify", "--deep", target)[-1]["damaged"] == 0, "the import is damaged")
    expect(lines_of(target)[1:] == lines[1:], "the import has another export")
    return target


def waiting_bytes(pipe):
    """The bytes in a pipe that its reader has not taken."""
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))[0]


def wait(condition, what):
    end = time.monotonic() + LIMIT
    while not condition():
        expect(time.monotonic() < end, f"not in time: {what}")
        time.sleep(0.01)


def an_interrupted_import_leaves_nothing_and_is_repeated(journal):
    lines = run("export", journal)
    target = os.path.join(os.path.dirname(journal), "killed.db")
    with subprocess.Popen([SHERD, "journal", "import", target], stdin=subprocess.PIPE, text=True) as importing:
        importing.stdin.write(lines[:len(lines) // 2])
        importing.stdin.flush()
        wait(lambda: os.path.exists(target + "-wal") and waiting_bytes(importing.stdin) == 0, "the import has read what it got")
        importing.kill()
    info = objects("info", target)[0]
    expect(info["events"] == 0 and info["open"] == "no", f"a killed import leaves {info}")
    run("import", target, stdin=lines)
    expect(lines_of(target)[1:] == lines_of(journal)[1:], "the second import has another export")


def the_code_of_the_application_makes_states(journal):
    code = "--program", LIBRARY
    expect(run("state-at", journal, ID, "400", *code) == "2000 cents in 400 deposits\n", "state-at of event 400")
    expect(objects("state-at", journal, ID, "401", *code) == [{"id": ID, "seq": 401, "snapshot": 315, "state": "2005 cents in 401 deposits"}],
           "state-at of the last event")
    expect(objects("state-at", journal, ID, "300", *code)[0]["snapshot"] == 210, "state-at between two snapshots")
    expect("the last event is 401" in run("state-at", journal, ID, "402", *code, code=1), "state-at of no event")
    expect("are deleted" in run("state-at", journal, ID, "100", *code, code=1), "state-at of a deleted event")
    expect("no persistent type" in run("state-at", journal, "Cart|x", "1", *code, code=2), "state-at of another type")
    expect("cannot open" in run("state-at", journal, ID, "1", "--program", "/nowhere.so", code=3), "no library")
    image = run("state-at", journal, ID, "400", "--program", FAULTY)
    expect(image == (2000).to_bytes(8, "little").hex() + (400).to_bytes(8, "little").hex() + "\n", f"the image of save: {image}")
    printed = objects("state-at", journal, ID, "400")
    expect([printed[0]["snapshot"]] + [entry["seq"] for entry in printed[1:]] == [210, *range(211, 401)], "state-at without a program")


def snapshots_are_compared_with_the_events_before_them(journal):
    expect(objects("verify", "--deep", journal, "--program", LIBRARY)[-1]["damaged"] == 0, "a good snapshot differs")
    for fault, code, what in (("differs", 1, "snapshot 315: it differs from the state that the events before it make"),
                              ("rejects", 1, "event 351 (type 1, version 0, 8 bytes) rejected: no more deposits"),
                              ("refuses", 1, "snapshot 315: load returned an error"),
                              ("crashes", 1, f"crashed with signal 6 at event 351 of {ID}")):
        os.environ["INSPECTED"] = fault
        found = run("verify", "--deep", journal, "--program", FAULTY, code=code)
        expect(what in found, f"verify with code that {fault}: {found}")
    del os.environ["INSPECTED"]


def upcasters_are_tried_on_all_events(journal):
    words = "upcast", "--dry-run", journal, "--program", FAULTY
    row = {"type": "Account", "event": 1, "version": 0, "events": 191, "applied": 191, "rejected": 0}
    end = {"entities": 1, "events": 191, "failed": 0}
    expect("--dry-run" in run("upcast", journal, "--program", FAULTY, code=2), "upcast without --dry-run")
    expect("--program LIBRARY is missing" in run("upcast", "--dry-run", journal, code=2), "upcast without code")
    expect(objects(*words) == [row, end], "events that need no upcaster")
    os.environ["INSPECTED"] = "upcasts"
    expect(objects(*words) == [dict(row, applied=382), end], "events that become two")
    os.environ["INSPECTED"] = "rejects"
    first = f"{ID}: event 351 (type 1, version 0, 8 bytes) rejected: no more deposits"
    expect(objects(*words, code=1) == [dict(row, events=141, applied=140, rejected=1, first=first), dict(end, events=141, failed=1)],
           "a rejected event")
    os.environ["INSPECTED"] = "crashes"
    expect(f"crashed with signal 6 at event 351 of {ID}" in run(*words, code=1), "code that crashes")
    del os.environ["INSPECTED"]


def a_snapshot_can_be_made(journal):
    path = copy_of(journal, "made.db")
    expect(objects("make-snapshot", path, ID, "--program", LIBRARY) == [{"seq": 401, "size": 16}], "make-snapshot")
    expect([entry["seq"] for entry in objects("snapshots", path)] == [210, 315, 401], "the snapshots after it")
    expect(objects("verify", "--deep", path, "--program", LIBRARY)[-1]["damaged"] == 0, "the snapshot that was made is wrong")
    expect(objects("state-at", path, ID, "401", "--program", LIBRARY)[0]["snapshot"] == 401, "it is not used")


def older_tables_are_read_and_upgraded(journal):
    path = copy_of(journal, "older.db")
    expect(run("schema", path, "--check") == "the tables are those of this program\n", "a new file is old")
    change(path, "DROP TABLE snapshot")
    change(path, "PRAGMA user_version = 2")
    expect(objects("info", path)[0]["version"] == 2 and objects("ids", path)[0]["snapshots"] == 0, "a file of version 2")
    expect("older than this program" in run("schema", path, "--check", code=1), "an old file is new")
    expect("upgraded" in run("schema", path, "--migrate"), "--migrate")
    expect(objects("info", path)[0]["version"] == 3, "the file is not upgraded")
    expect(objects("schema", path, "--check") == [{"current": True, "upgraded": False}], "schema --check --json")
    expect(objects("schema", path)[0] == {"kind": "sqlite", "version": 3}, "schema --json")
    expect("CREATE TABLE snapshot" in run("schema", path), "schema lacks a table")


def write(folder):
    """Runs the program: 401 events, two snapshots."""
    with open(os.path.join(folder, "log"), "a") as log:
        done = subprocess.run([PROGRAM], cwd=folder, stdout=log, stderr=log, timeout=LIMIT)
    expect(done.returncode == 0, "snapshots failed; its log is kept")
    return os.path.join(folder, "snapshots.db")


def main():
    folder = tempfile.mkdtemp(prefix="sherd-snapshots-")
    journal = write(folder)
    the_commands_print_snapshots(journal)
    a_snapshot_that_stands_for_deleted_events_stays(journal)
    verify_finds_what_is_wrong_with_snapshots(journal)
    an_import_has_the_snapshots_of_the_export(journal)
    an_interrupted_import_leaves_nothing_and_is_repeated(journal)
    the_code_of_the_application_makes_states(journal)
    snapshots_are_compared_with_the_events_before_them(journal)
    upcasters_are_tried_on_all_events(journal)
    a_snapshot_can_be_made(journal)
    older_tables_are_read_and_upgraded(journal)
    shutil.rmtree(folder)


main()

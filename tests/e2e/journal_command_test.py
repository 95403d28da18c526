"""Tests `sherd journal` with the journal of a cluster, while nodes use it and after they ended.

The commands that read work under running nodes, and what they print is what the file has. The commands
that write are refused then. An export is imported into a new file, where verify finds nothing, a second
export has the same events, and a cluster has the same totals. A wrong export imports nothing. After
`remove-sharding` no entity is remembered.

usage: journal_command_test.py AIRPORTS SHERD"""
import base64
import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys

from cluster import ROOT, Cluster, Failed, main, wait  # noqa: F401

PROGRAM = sys.argv.pop(2)
LIMIT = 120  # s


def run(*words, code=0, stdin=None):
    done = subprocess.run([PROGRAM, *words], input=stdin, capture_output=True, text=True, timeout=LIMIT)
    if done.returncode != code:
        raise Failed(f"sherd {' '.join(words)} ends with {done.returncode}, not {code}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout + done.stderr


def objects(*words, code=0):
    return [json.loads(line) for line in run(*words, "--json", code=code).splitlines()]


def rows(journal, sql):
    with contextlib.closing(sqlite3.connect(journal)) as database:
        return database.execute(sql).fetchall()


def check_texts(expect):
    with open(os.path.join(ROOT, "docs", "man", "sherd.1")) as file:
        expect(file.read() == run("man"), "docs/man/sherd.1 is not what `sherd man` prints")
    expect("usage: sherd journal cat" in run("journal", "cat", "--help"), "no help for a command")
    expect("usage: sherd journal COMMAND" in run("journal", "--help"), "no help for a group")
    expect("unknown command" in run("journal", "cats", "x", code=2), "an unknown command is accepted")
    expect("unknown option" in run("journal", "cat", "--form=1", "x", "y", code=2), "an unknown option is accepted")
    expect("number of at least 1" in run("journal", "cat", "--from", "0", "x", "y", code=2), "--from 0 is accepted")
    words = subprocess.run(["bash", "-c", 'eval "$("$0" completion)"; COMP_WORDS=(sherd journal ve); COMP_CWORD=2; _sherd; echo "$COMPREPLY"',
                            PROGRAM], capture_output=True, text=True)
    expect(words.stdout == "verify\n", f"the completion gives {words.stdout}{words.stderr}")


def check_reads(cluster, expect, is_open):
    """Compares what the commands print with the file."""
    journal = cluster.journal
    info = objects("journal", "info", journal)[0]
    expect(info["open"] == ("yes" if is_open else "no"), f"info says that the file is open: {info}")
    expect(info["events"] == cluster.stored() and info["kind"] == "sqlite", f"info: {info}")
    expect([entry["type"] for entry in info["types"]] == ["Airport"], f"info: {info}")
    ids = [(entry["id"], entry["first"], entry["last"]) for entry in objects("journal", "ids", journal, "Airport|")]
    expect(ids == rows(journal, "SELECT pid, min(seq), max(seq) FROM event JOIN entity ON id = entity "
                                "WHERE pid LIKE 'Airport|%' GROUP BY pid ORDER BY pid"), "ids are not those of the file")
    some = objects("journal", "ids", journal, "Airport|", "--after", ids[2][0], "--limit", "2")
    expect([entry["id"] for entry in some] == [ids[3][0], ids[4][0]], f"a page of ids: {some}")
    name, _, last = max(ids, key=lambda entry: entry[2])
    events = objects("journal", "cat", journal, name)
    expect([event["seq"] for event in events] == list(range(1, last + 1)), "cat prints other events")
    records = [record for record, in rows(journal, f"SELECT record FROM event JOIN entity ON id = entity WHERE pid = '{name}' ORDER BY seq")]
    expect(all(base64.b64decode(event["payload"]) == record[-8 - len(base64.b64decode(event["payload"])):-8]
               for event, record in zip(events, records)), "cat prints other payloads")
    expect(events[1:3] == objects("journal", "cat", journal, name, "--from", "2", "--to", "3"), "cat of a range")
    expect(events[:5] == objects("journal", "state-at", journal, name, "5"), "state-at prints other events")
    expect("the last event is" in run("journal", "state-at", journal, name, str(last + 1), code=1), "state-at of no event")
    expect("no such events" in run("journal", "cat", journal, "Airport|nowhere", code=1), "cat of no entity")
    expect("CREATE TABLE event" in run("journal", "schema", journal), "schema lacks a table")
    expect(objects("journal", "verify", "--deep", journal)[-1]["damaged"] == 0 if not is_open else True, "verify finds damage")
    return name, last


def check_tail(cluster, expect, name, last):
    """A new event appears."""
    with subprocess.Popen([PROGRAM, "journal", "tail", "--json", "--events", "2", cluster.journal, name],
                          stdout=subprocess.PIPE, text=True) as tail:
        try:
            first = [json.loads(tail.stdout.readline())["seq"] for _ in range(2)]
            expect(first == [last - 1, last], f"tail begins with {first}")
            cluster.feed_all()
            expect(json.loads(tail.stdout.readline())["seq"] == last + 1, "tail misses an event")
        finally:
            tail.send_signal(signal.SIGTERM)


def export(journal, path, *words):
    with open(path, "w") as file:
        file.write(run("journal", "export", journal, *words))
    with open(path) as file:
        return [json.loads(line) for line in file]


def check_wrong_imports(folder, expect, lines):
    """The import names what is wrong in an export, and makes no file."""
    target = os.path.join(folder, "wrong.db")
    event = next(index for index, line in enumerate(lines) if line["line"] == "event")
    third = next(index for index, line in enumerate(lines) if line.get("seq") == 3 and line["id"].startswith("Airport|"))
    first = lines[event]
    flipped = bytearray(base64.b64decode(first["record"]))
    flipped[-9] ^= 1
    cases = (("before the line \"end\"", lines[:-1]),
             ("header is missing", lines[1:]),
             ("wrong checksum", lines[:event] + [dict(first, record=base64.b64encode(flipped).decode())] + lines[event + 1:]),
             ("no snapshot has them", lines[:event] + lines[event + 1:]),
             ("does not follow", lines[:third - 1] + lines[third:]),
             ("counts differ", lines[:-1] + [dict(lines[-1], events=1)]),
             ("after the end", lines + [lines[-1]]),
             ("does not know", [dict(lines[0], version=3)] + lines[1:]),
             ("an unknown field", [dict(lines[0], more=2)] + lines[1:]))
    for what, wrong in cases:
        said = run("journal", "import", target, stdin="".join(json.dumps(line) + "\n" for line in wrong), code=1)
        expect(what in said and "nothing was imported" in said, f"the import says {said}, not {what}")
        expect(not [name for name in os.listdir(folder) if name.startswith("wrong.db")], "a refused import leaves files")


def stop(cluster):
    cluster.stop_all()
    cluster.gone += cluster.nodes
    cluster.nodes = []


def check_removal(cluster, expect):
    """Remembered entities are forgotten, and start again at a message. The second removal deletes the record that
    was stored last: the requests of check_exact store nothing else."""
    journal = cluster.journal
    refused = run("journal", "remove-sharding", journal, "Airport", code=4)
    expect("stop all nodes" in refused, f"a removal under a node: {refused}")
    for name in ("n3", "n4"):
        stop(cluster)
        events = rows(journal, "SELECT count(*) FROM event JOIN entity ON id = entity WHERE pid NOT LIKE '|%'")
        streams = rows(journal, "SELECT pid FROM event JOIN entity ON id = entity WHERE pid LIKE '|%' GROUP BY pid ORDER BY pid")
        found = objects("journal", "remove-sharding", "--dry-run", journal, "Airport")
        expect([entry["id"] for entry in found[:-1]] == [pid for pid, in streams] and len(streams) > 5, f"the streams are {found}")
        expect(objects("journal", "remove-sharding", journal, "Air")[-1]["streams"] == 0, "another type's are removed")
        expect(objects("journal", "remove-sharding", journal, "Airport")[-1] == dict(found[-1], removed=True), "not all are removed")
        expect(not objects("journal", "ids", journal, "|") or not any(entry["last"] for entry in objects("journal", "ids", journal, "|")),
               "a stream is left")
        expect(rows(journal, "SELECT count(*) FROM event") == events, "events of entities are removed")
        expect(objects("journal", "verify", "--deep", journal)[-1]["damaged"] == 0, "the journal is damaged")
        cluster.start(name, seeds=[])
        cluster.wait_up()
        expect(cluster.running() == 0, "an airport is remembered")
        cluster.check_exact()
        expect(cluster.running() > 5, "no airport runs")
    stop(cluster)


def test(cluster):
    os.environ["SHERD__CLUSTER__SHARDING__REMEMBER_ENTITIES"] = "on"
    os.environ["SHERD__CLUSTER__SHARDING__REMEMBER_ENTITIES_STORE"] = "eventsourced"
    expect = cluster.expect
    check_texts(expect)
    first, second = (os.path.join(cluster.folder, name) for name in ("first.jsonl", "second.jsonl"))
    cluster.start("n1")
    cluster.wait_up()
    flights, cluster.flights = cluster.flights, cluster.flights[:2000]
    cluster.feed_all()
    name, last = check_reads(cluster, expect, True)
    export(cluster.journal, first)
    refused = run("journal", "import", cluster.journal, first, code=4)
    expect("stop all nodes" in refused, f"an import under a node: {refused}")
    cluster.flights = flights
    check_tail(cluster, expect, name, last)
    cluster.check_exact()
    stop(cluster)
    print("commands work under a node", flush=True)

    check_reads(cluster, expect, False)
    lines = export(cluster.journal, first)
    check_wrong_imports(cluster.folder, expect, lines)
    refused = run("journal", "import", cluster.journal, first, code=4)
    expect("has events of this entity" in refused, f"a second import: {refused}")
    copy = os.path.join(cluster.folder, "copy.db")
    run("journal", "import", "--dry-run", copy, first)
    expect(not os.path.exists(copy), "--dry-run makes a file")
    run("journal", "import", copy, first)
    expect(objects("journal", "verify", "--deep", copy)[-1]["damaged"] == 0, "the copy is damaged")
    expect(export(copy, second)[1:] == lines[1:], "the copy has another export")
    print(f"{lines[-1]['events']} events exported and imported", flush=True)

    os.rename(copy, cluster.journal)
    for end in ("-turn", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(cluster.journal + end)
    with contextlib.suppress(FileNotFoundError):
        os.rename(copy + "-turn", cluster.journal + "-turn")
    cluster.start("n2", seeds=[])
    cluster.wait_up()
    cluster.check_exact()
    check_removal(cluster, expect)


sys.exit(main(test, __doc__, flights=4000))

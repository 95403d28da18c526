"""Tests `sherd journal` with a journal in PostgreSQL: it reads under running nodes, finds damage, and exports into a
file that a second export equals. An import into an empty database serves nodes again. It opens read-only sessions, and says why it cannot open one.

A move of a file with snapshots keeps them; a damaged or moved file is refused.

usage: journal_postgres_test.py AIRPORTS SHERD SNAPSHOTS"""
import json
import os
import subprocess
import sys

from cluster import Failed
from postgres_cluster import run as run_tests

PROGRAM, SNAPSHOTS = sys.argv.pop(2), os.path.abspath(sys.argv.pop(2))
LIMIT = 120  # s
SHARDS = "60"  # as airports has them


def run(*words, code=0, stdin=None):
    done = subprocess.run([PROGRAM, "journal", *words], input=stdin, capture_output=True, text=True, timeout=LIMIT)
    if done.returncode != code:
        raise Failed(f"sherd journal {' '.join(words)} ends with {done.returncode}, not {code}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout + done.stderr


def objects(*words, code=0):
    return [json.loads(line) for line in run(*words, "--json", code=code).splitlines()]


def export(journal):
    return [json.loads(line) for line in run("export", journal).splitlines()]


def check_reads(cluster, is_open):
    expect, journal = cluster.expect, cluster.journal
    info = objects("info", journal)[0]
    expect(info["kind"] == "postgres" and info["events"] == cluster.stored(), f"info: {info}")
    expect(info["open"] == ("yes" if is_open else "unknown"), f"info says that it is open: {info}")
    expect([entry["type"] for entry in info["types"]] == ["Airport"], f"info: {info}")
    ids = objects("ids", journal, "Airport|")
    expect([entry["id"] for entry in ids] == sorted(entry["id"] for entry in ids) and len(ids) > 5, f"ids: {ids}")
    expect(objects("ids", journal, "Airport|", "--after", ids[1]["id"], "--limit", "2") == ids[2:4], "a page of ids")
    events = objects("cat", journal, ids[0]["id"])
    expect([event["seq"] for event in events] == list(range(1, ids[0]["last"] + 1)), "cat prints other events")
    expect("CREATE TABLE" in run("schema", journal), "schema lacks a table")
    return ids[0]["id"]


def the_commands_read_find_damage_and_export(cluster):
    expect, server = cluster.expect, cluster.server
    os.environ["SHERD__CLUSTER__SHARDING__REMEMBER_ENTITIES"] = "on"
    os.environ["SHERD__CLUSTER__SHARDING__REMEMBER_ENTITIES_STORE"] = "eventsourced"
    said = run("info", "postgres:host=/nowhere dbname=x", code=3)
    expect("/nowhere" in said, f"no server: {said}")
    expect("sherd.meta" in run("info", cluster.journal, code=3), "a database without a journal")
    cluster.start("n1")
    cluster.wait_up()
    cluster.feed_all()
    check_reads(cluster, True)
    refused = run("remove-sharding", cluster.journal, "Airport", code=4)
    expect("stop all nodes" in refused, f"a removal under a node: {refused}")
    cluster.check_exact()
    cluster.stop_all()
    cluster.gone += cluster.nodes
    cluster.nodes = []

    name = check_reads(cluster, False)
    expect(objects("verify", "--deep", cluster.journal)[-1]["damaged"] == 0, "an intact journal is damaged")
    lines = export(cluster.journal)
    path, copy = (os.path.join(cluster.folder, name) for name in ("export.jsonl", "copy.db"))
    with open(path, "w") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    run("import", copy, path)
    expect(objects("verify", "--deep", copy)[-1]["damaged"] == 0, "the copy is damaged")
    expect(export(copy)[1:] == lines[1:], "the copy has another export")
    print(f"{lines[-1]['events']} events exported to a file", flush=True)

    server.sql("DROP SCHEMA sherd CASCADE")
    words = "import", cluster.journal, path, "--number-of-shards"
    expect("--number-of-shards" in run("import", cluster.journal, path, code=2), "an import without the number of shards")
    expect("another extractor" in run(*words, "7", code=4), "an import with another number of shards")
    expect("sherd.meta" in run("info", cluster.journal, code=3), "a refused import leaves tables")
    run(*words, SHARDS, "--dry-run")
    expect("sherd.meta" in run("info", cluster.journal, code=3), "--dry-run makes tables")
    run(*words, SHARDS)
    expect(objects("verify", "--deep", cluster.journal)[-1]["damaged"] == 0, "the import is damaged")
    expect(export(cluster.journal)[1:] == lines[1:], "the import has another export")
    expect("has entities already" in run(*words, SHARDS, code=4), "a second import")
    cluster.start("n2", seeds=[])
    cluster.wait_up()
    cluster.check_exact()
    cluster.stop_all()
    cluster.gone += cluster.nodes
    cluster.nodes = []
    print("imported again; the nodes have the same totals", flush=True)

    stream = next(entry["id"] for entry in objects("ids", cluster.journal, "|Airport|") if entry["first"] == 1 < entry["last"])
    first = f"FROM sherd.event WHERE seq = 1 AND entity = (SELECT id FROM sherd.entity WHERE pid = '{stream}')"
    server.sql(f"CREATE TABLE kept AS SELECT * {first}; DELETE {first}")
    found = objects("verify", "--deep", cluster.journal, code=1)
    expect([entry["part"] for entry in found[:-1]] == [stream] and "event 1, is missing" in found[0]["why"], f"a list without its base: {found}")
    server.sql("INSERT INTO sherd.event SELECT * FROM kept; DROP TABLE kept")
    before = cluster.stored()
    removed = objects("remove-sharding", cluster.journal, "Airport")[-1]
    expect(removed["streams"] > 5 and removed["events"] == before - cluster.stored(), f"removed: {removed}")
    expect(objects("verify", "--deep", cluster.journal)[-1]["damaged"] == 0, "the journal is damaged after a removal")
    cluster.start("n3", seeds=[])
    cluster.wait_up()
    expect(cluster.running() == 0, "an airport is remembered")
    cluster.stop_all()
    cluster.gone += cluster.nodes
    cluster.nodes = []

    row = f"(SELECT id FROM sherd.entity WHERE pid = '{name}')"
    server.sql(f"UPDATE sherd.event SET record = set_byte(record, 3, get_byte(record, 3) # 1) WHERE entity = {row} AND seq = 2")
    found = objects("verify", cluster.journal, code=1)
    expect([entry["part"] for entry in found[:-1]] == [name] and found[-1]["damaged"] == 1, f"verify finds {found}")
    expect("damaged" in run("cat", cluster.journal, name, code=1), "cat prints a damaged event")
    expect("incomplete" in run("export", cluster.journal, code=1), "a damaged event is exported")
    server.sql(f"DELETE FROM sherd.event WHERE entity = {row} AND seq = 2")
    expect("an event before it is missing" in run("verify", cluster.journal, code=1), "a gap is not found")
    server.sql(f"UPDATE sherd.writer SET last = 0; DELETE FROM sherd.entity WHERE id = {row}")
    expect(objects("verify", cluster.journal)[-1]["damaged"] == 0, "verify without --deep compares the tables")
    said = run("verify", "--deep", cluster.journal, code=1)
    expect("without a row of their entity" in said and "position is below" in said, f"verify --deep finds {said}")


def snapshots_program(folder, code):
    """Runs the guide's program, which has its journal in the folder."""
    with open(os.path.join(folder, "snapshots.log"), "a+") as log:
        done = subprocess.run([SNAPSHOTS], cwd=folder, stdout=log, stderr=log, timeout=LIMIT)
        log.seek(0)
        text = log.read()
    if (done.returncode == 0) != (code == 0):
        raise Failed(f"snapshots ends with {done.returncode}: {text[-2000:]}")
    return text


def a_file_moves_with_its_snapshots_and_is_not_opened_again(cluster):
    expect, folder = cluster.expect, cluster.folder
    snapshots_program(folder, 0)
    file, copy = os.path.join(folder, "snapshots.db"), os.path.join(folder, "back.db")
    lines = export(file)
    words = "move", file, cluster.journal, "--number-of-shards"
    expect("--number-of-shards" in run("move", file, cluster.journal, code=2), "a move without the number of shards")
    expect("must be an SQLite journal" in run("move", cluster.journal, cluster.journal, code=2), "a move from PostgreSQL")
    expect("has no mark" in run("move", "--undo", file, code=1), "nothing can be undone")
    expect("another extractor" in run(*words, "7", code=4), "a move with another number of shards")
    expect("/nowhere" in run("move", file, "postgres:host=/nowhere dbname=x", "--number-of-shards", "1000", code=3), "no server")
    expect("moved" not in objects("info", file)[0] and "sherd.meta" in run("info", cluster.journal, code=3), "a refused move leaves something")

    moved = objects(*words, "1000")
    expect(moved == [{"entities": 1, "events": 191, "snapshots": 2, "moved": True}], f"the move: {moved}")
    expect(export(cluster.journal)[1:] == lines[1:], "the journal in PostgreSQL has another export")
    expect(objects("snapshots", cluster.journal) == objects("snapshots", file), "it has other snapshots")
    expect(objects("verify", "--deep", cluster.journal)[-1]["damaged"] == 0, "it is damaged")
    expect(objects("info", file)[0]["moved"] == "PostgreSQL, schema sherd", "info does not tell of the move")
    expect("were moved to PostgreSQL, schema sherd" in snapshots_program(folder, 1), "a node opens the former file")
    said = run("import", file, stdin="".join(json.dumps(line) + "\n" for line in lines), code=4)
    expect("were moved to" in said, f"an import into the former file: {said}")
    expect("has entities already" in run(*words, "1000", code=4), "a second move")
    run("move", "--undo", file)
    expect("moved" not in objects("info", file)[0] and export(file)[1:] == lines[1:], "--undo leaves the mark")
    print("moved, and undone", flush=True)

    expect("must stay" in run("drop-snapshots", cluster.journal, "Account|alice", code=4), "the last snapshots are dropped")
    expect(objects("drop-snapshots", cluster.journal, "Account|alice", "--to", "300") == [{"snapshots": 1, "dropped": True}], "drop-snapshots")
    found = run("verify", "--deep", cluster.journal)
    expect("0 damaged parts" in found, f"verify after a drop: {found}")
    with open(os.path.join(folder, "export.jsonl"), "w") as exported:
        exported.write(run("export", cluster.journal))
    run("import", copy, os.path.join(folder, "export.jsonl"))
    os.replace(copy, file)
    for end in ("-turn", "-wal", "-shm"):
        if os.path.exists(copy + end):
            os.replace(copy + end, file + end)
        elif os.path.exists(file + end):
            os.unlink(file + end)
    cluster.server.sql("ALTER TABLE sherd.snapshot RENAME TO later")
    expect("schema --migrate" in run("ids", cluster.journal, code=3), "older tables are read")
    expect("older than this program" in run("schema", cluster.journal, "--check", code=1), "older tables are new")
    run("schema", cluster.journal, "--migrate")
    expect(objects("snapshots", cluster.journal) == [], "--migrate makes no table")
    cluster.server.sql("DROP TABLE sherd.snapshot")
    cluster.server.sql("ALTER TABLE sherd.later RENAME TO snapshot")
    run("schema", cluster.journal, "--check")
    cluster.server.sql("UPDATE sherd.snapshot SET record = set_byte(record, 7, get_byte(record, 7) # 1)")
    expect("no good snapshot has them" in run("verify", cluster.journal, code=1), "a damaged snapshot in PostgreSQL")


sys.exit(run_tests([a_file_moves_with_its_snapshots_and_is_not_opened_again, the_commands_read_find_damage_and_export], nodes=1, flights=2000))

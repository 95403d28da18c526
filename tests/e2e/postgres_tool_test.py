"""Tests `sherd journal` against a writer to a journal in PostgreSQL that lives, also if the writer's sessions
ended or its URL names another application. Passwords are hidden, and certificates are verified.

usage: postgres_tool_test.py WRITER SHERD"""
import os
import subprocess
import sys
import time

from cluster import wait

import postgres_server
from postgres_parts import Writer

WRITER, SHERD = sys.argv[1:3]
LIMIT = 60  # s
failed = []


def expect(condition, what):
    print(f"{'ok' if condition else 'FAILED'}: {what}", flush=True)
    if not condition:
        failed.append(what)


def journal(*words, stdin=None):
    """Runs `sherd journal`. Returns its status and all that it printed."""
    done = subprocess.run([SHERD, "journal", *words], input=stdin, capture_output=True, text=True, timeout=LIMIT)
    return done.returncode, done.stdout + done.stderr


def sessions(server):
    return int(server.sql("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'sherd:%'"))


def fill(writer, shard, entity, letters):
    return writer.claim(shard, 1, 1) == "done" and writer.append(shard, 1, 1, entity, 1, letters) == "done"


def an_own_application_name_hides_no_node(server):
    place = "postgres:" + server.url()
    writer = Writer(WRITER, server.url() + " application_name=shop")
    expect(writer.logged("application_name.*is not used"), f"the name in the URL is warned about: {writer.log}")
    expect(fill(writer, "1", "|T|1", "abc"), "the writer stores a stream")
    expect(sessions(server) > 0, "its sessions have the library's names")
    code, said = journal("remove-sharding", place, "T")
    expect(code == 4 and "stop all nodes" in said, f"a removal is refused: {code} {said}")
    expect('"open":"yes"' in journal("info", place, "--json")[1], "info says that it is open")
    writer.close()


def a_session_that_holds_a_shard_is_ended(server):
    """A former owner's session, with the URL's own name, stalls inside its transaction."""
    url = server.url() + " application_name=shop"
    writer, former = Writer(WRITER, url), Writer(WRITER, url)
    expect(fill(former, "9", "T|9", "a"), "the former owner writes")
    holder = server.session("application_name='" + server.sql(
        "SELECT min(application_name) FROM pg_stat_activity WHERE application_name LIKE 'sherd:%'") + "'")
    holder.stdin.write("BEGIN; UPDATE sherd.shard SET claim = claim WHERE shard = '9';\n")
    holder.stdin.flush()
    wait(lambda: server.sql("SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'") == "1", "no row is held")
    began = time.monotonic()
    expect(writer.claim("9", 1, 2) == "done" and time.monotonic() - began < 9, "the claim ends the session that holds the shard")
    holder.kill()
    holder.wait()
    for each in writer, former:
        each.close()


def a_writer_without_a_session_is_fenced_by_a_change(server):
    """The guard sees no session, as after a restart of the server. The change itself keeps the writer out."""
    place = "postgres:" + server.url()
    writer = Writer(WRITER, server.url())
    expect(fill(writer, "2", "|T|2", "abc") and fill(writer, "3", "T|x", "ab"), "the writer stores a stream and an entity")
    server.crash()
    server.start()
    expect('"open":"unknown"' in journal("info", place, "--json")[1], "info does not know whether nodes live")
    code, said = journal("remove-sharding", place, "T")
    expect(code == 0, f"the removal: {code} {said}")
    answer = writer.append("2", 1, 1, "|T|2", 4, "d")
    expect(answer == "fenced", f"the writer must claim the changed shard again: {answer}")
    expect(writer.replay("|T|2").strip() == "done", "nothing follows the removed events")
    expect(not writer.logged("lost confirmed"), "a removal is no loss")
    expect(writer.append("3", 1, 1, "T|x", 3, "c") == "done", "other shards go on")
    expect(writer.claim("2", 1, 2) == "done" and writer.append("2", 1, 2, "|T|2", 1, "a") == "done", "the next owner begins anew")
    writer.close()


def a_writer_without_a_session_is_fenced_by_an_import(server):
    """It claimed a shard of the empty journal that the import then fills."""
    place = "postgres:" + server.url()
    former = Writer(WRITER, server.url())
    expect(fill(former, "0", "T|x", "abc"), "an entity is stored in the shard of Akka's hash of its id")
    former.close()
    code, exported = journal("export", place)
    expect(code == 0, f"the export: {exported[-200:]}")
    server.sql("DROP SCHEMA sherd CASCADE")
    writer = Writer(WRITER, server.url())
    expect([writer.claim(shard, 1, 1) for shard in "03"] == ["done", "done"], "a writer claims shards without events")
    server.crash()
    server.start()
    code, said = journal("import", place, "--number-of-shards", "10", stdin=exported)
    expect(code == 0, f"the import: {said}")
    answers = [writer.append("0", 1, 1, entity, seq, "z") for entity, seq in (("T|x", 4), ("T|x", 1), ("T|y", 1))]
    expect(answers == ["fenced"] * 3, f"the writer must claim the imported shard again: {answers}")
    expect(writer.append("3", 1, 1, "T|z", 1, "z") == "fenced", "and each other shard, as the import does not know whose it is")
    expect(writer.claim("0", 1, 2) == "done" and writer.append("0", 1, 2, "T|x", 4, "d") == "done", "the next owner goes on after the import")
    expect(writer.replay("T|x").strip() == "done abcd" and writer.replay("T|y").strip() == "done", "nothing of the fenced writer is stored")
    writer.close()


def a_snapshot_in_flight_is_deleted_too(server):
    """A node that was not seen saves a snapshot, as nodes do: with a lock of its shard's row. The change waits for it."""
    place = "postgres:" + server.url()
    writer = Writer(WRITER, server.url())
    expect(fill(writer, "6", "T|s", "abc"), "an entity has events")
    writer.close()
    entity = server.sql("SELECT id FROM sherd.entity WHERE pid = 'T|s'")
    server.sql(f"INSERT INTO sherd.snapshot VALUES ({entity}, 2, now(), 'x')")
    node = server.session()
    node.stdin.write("BEGIN; SELECT FROM sherd.shard WHERE shard = '6' FOR NO KEY UPDATE;\n"
                     f"INSERT INTO sherd.snapshot VALUES ({entity}, 3, now(), 'x');\n")
    node.stdin.flush()
    wait(lambda: server.sql("SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'") == "1", "no row is held")
    change = subprocess.Popen([SHERD, "journal", "drop-snapshots", place, "T|s"], stdout=subprocess.PIPE, text=True)
    wait(lambda: server.sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") == "1", "the change does not wait")
    node.stdin.write("COMMIT;\n")
    node.stdin.close()
    node.wait()
    said = change.communicate(timeout=LIMIT)[0]
    expect(server.sql("SELECT count(*) FROM sherd.snapshot") == "0", f"the snapshot is deleted: {said}")


def verify_finds_missing_events(server):
    place = "postgres:" + server.url()
    writer = Writer(WRITER, server.url())
    expect(fill(writer, "5", "T|w", "ab") and fill(writer, "4", "T|v", "abcde"), "seven events are stored")
    name = "writer " + server.sql("SELECT claim FROM sherd.shard WHERE shard = '4'")
    code, said = journal("verify", "--deep", place)
    expect(code == 0, f"nothing is damaged: {said}")
    server.sql("DELETE FROM sherd.event WHERE seq > 3 AND entity = (SELECT id FROM sherd.entity WHERE pid = 'T|v')")
    code, said = journal("verify", "--deep", place)
    expect(code == 1 and f"{name}: the writer's position is above" in said and "1 damaged parts" in said, f"a lost tail: {said}")
    server.sql("DELETE FROM sherd.event WHERE entity = (SELECT id FROM sherd.entity WHERE pid = 'T|v')")
    expect(f"{name}: the writer's position is above" in journal("verify", "--deep", place)[1], "all events of an entity are lost")
    writer.close()


def no_output_has_a_part_of_a_password(server):
    """Also if libpq cannot read the URL, or reads a part of the password as another part."""
    port = server.port
    urls = ["postgresql://u:hunter2@[::1/db", "postgresql://u:x%hunter2@h/db", "host=h password=x hunter2", "password='x hunter2",
            "hunter2=x", f"postgresql://u:x@hunter2@127.0.0.1:{port}/postgres", f"postgresql://u:x/hunter2@127.0.0.1:{port}/postgres",
            "postgresql://u:x/hunter2@y@h/db", "postgresql://u:9/hunter2@h/db", "postgresql:/u:hunter2@h/db", "jdbc:postgresql://h/d?password=hunter2",
            f"postgresql://nobody:hunter2@127.0.0.1:{port}/postgres", "postgresql://u:hunter2@127.0.0.1:1/postgres",
            "host=/nowhere password=hunter2", f"host=127.0.0.1 port={port} user=nobody password=hunter2 connect_timeout=hunter2"]
    for url in urls:
        for command in ["info"], ["remove-sharding"], ["verify", "--deep"], ["import"]:
            words = [*command, "postgres:" + url, *(["T"] if command == ["remove-sharding"] else [])]
            code, said = journal(*words, stdin="")
            expect(code and "hunter2" not in said, f"{' '.join(words)}: {said.strip()}")
        writer = Writer(WRITER, url)
        writer.close()
        expect(writer.opened != "open" and "hunter2" not in writer.opened + "".join(writer.log), f"a node with {url}: {writer.opened}")
    for place in "postgreql://u:hunter2@h/db", "Postgres://u:hunter2@h/db", "mysql:x://hunter2":
        for command in ["info", place], ["verify", place], ["import", place], ["move", place, "postgres:x"], ["move", "x.db", place]:
            code, said = journal(*command, stdin="")
            expect(code and "hunter2" not in said, f"{' '.join(command)}: {said.strip()}")


def a_service_needs_a_verified_certificate(server):
    """As with a URL, nothing is sent in plain text to a host that is not this machine. 0.0.0.0 reaches this
    server, and is no loopback address."""
    path = os.path.join(server.folder, "services.conf")
    with open(path, "w") as file:
        file.write(f"[prod]\nhost=0.0.0.0\nport={server.port}\ndbname=postgres\nuser=sherd\n")
    os.environ["PGSERVICEFILE"] = path
    for url in "service=prod", server.url(host="0.0.0.0"):
        code, said = journal("info", "postgres:" + url)
        expect(code == 3 and "does not support SSL" in said, f"{url}: {said.strip()}")
        writer = Writer(WRITER, url)
        expect("does not support SSL" in writer.opened, f"a node with {url}: {writer.opened}")
        writer.close()
    code, said = journal("info", "postgres:service=prod sslmode=disable")
    expect(code == 0, f"a URL may allow plain text: {said.strip()}")


def main():
    if not postgres_server.programs():
        print("skipped: no PostgreSQL server is installed")
        return 77
    with postgres_server.Server() as server:
        an_own_application_name_hides_no_node(server)
        a_session_that_holds_a_shard_is_ended(server)
        server.sql("DROP SCHEMA sherd CASCADE")
        verify_finds_missing_events(server)
        server.sql("DROP SCHEMA sherd CASCADE")
        a_snapshot_in_flight_is_deleted_too(server)
        a_service_needs_a_verified_certificate(server)
        no_output_has_a_part_of_a_password(server)
        server.sql("DROP SCHEMA sherd CASCADE")
        a_writer_without_a_session_is_fenced_by_a_change(server)
        server.sql("DROP SCHEMA sherd CASCADE")
        a_writer_without_a_session_is_fenced_by_an_import(server)
    print("FAILED" if failed else "ok")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

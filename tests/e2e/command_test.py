"""Tests the commands of the program sherd that ask a cluster, with three nodes and a second cluster.

usage: command_test.py SHERD NATIVE_NODE"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys

import native_cluster
from checks import PATIENCE, eventually, expect, verdict
from cluster import free_port
from native_cluster import Node, folder

ENTITIES = 30
GOOD, FINDINGS, USAGE, UNREACHABLE, REFUSED, TIMEOUT, PARTIAL = range(7)


def run(*words, run="run", **environment):
    """Returns the exit status, standard output and standard error of a command, which finds its node by itself."""
    done = subprocess.run([sherd, *words], capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL,
                          env={**os.environ, "RUNTIME_DIRECTORY": os.path.join(folder, run), "XDG_RUNTIME_DIR": "/nonexistent",
                               **environment})
    return done.returncode, done.stdout, done.stderr


def table(*words):
    """The rows of a table as dictionaries by title."""
    code, out, error = run(*words)
    expect(code == GOOD, f"sherd {' '.join(words)} {error}")
    lines = out.splitlines()
    titles = [title for title in lines[0].split("  ") if title]
    return [dict(zip([title.strip() for title in titles], line.split())) for line in lines[1:]]


def answer(*words):
    code, out, error = run(*words, "-o", "json")
    expect(code == GOOD, f"sherd {' '.join(words)} -o json {error}")
    return json.loads(out)


# ---- looking ----

def the_screen_shows_the_cluster(nodes):
    code, out, _ = run("status")
    expect(code == GOOD and out.startswith("cluster Native is ok: 3 up, 0 joining"), "the status has the health")
    expect(all(node.address in out for node in nodes) and "Cart" in out, "and each member and type")
    expect(answer("status")["totals"]["entities"] == ENTITIES, "-o json gives the answer of the API")
    rows = table("node", "ls")
    expect({row["NODE"] for row in rows} == {node.address for node in nodes}, "all members are listed")
    expect(all(not re.search("[hd]", row["UPTIME"]) for row in rows), "they have just started")
    expect(all(row["STATUS"] == "Up" and row["READY"] == "yes" and row["ANSWER"] == "ok" for row in rows), "they are up")
    expect("says.lanes               2\n" in run("node", "show", nodes[1].address)[1], "a member is shown")
    expect(table("type", "ls")[0]["ENTITIES"] == str(ENTITIES), "types are listed with sums")
    expect("numberOfShards           20\n" in run("type", "show", "Cart")[1], "a type is shown")


def an_entity_is_found(nodes):
    code, out, _ = run("entity", "where", "Cart", "cart-7")
    node = out.split("node ")[1].split()[0]
    expect(code == GOOD and node in {node.address for node in nodes} and "alive" in out, "an entity is found")
    code, out, _ = run("entity", "show", "Cart", "cart-7")
    expect(code == GOOD and f"{'node':24} {node}\n" in out and f"{'status':24} alive\n" in out, "and shown")
    code, out, error = run("entity", "show", "Cart", "nobody")
    expect(code == FINDINGS and "does not run" in error, "one that does not run is told")
    where = answer("entity", "where", "Cart", "cart-7")
    running = [row["NODE"] for row in table("shard", "ls", "Cart") if row["SHARD"] == where["shard"]]
    expect(running == [where["node"]], "its shard runs there")
    expect(f"{'shard':24} {where['shard']}\n" in run("shard", "show", "Cart", where["shard"])[1], "its shard is shown")


def lists_have_pages():
    rows = table("entity", "ls", "Cart")
    expect(sorted(row["ID"] for row in rows) == sorted(f"cart-{i}" for i in range(ENTITIES)), "all entities are listed")
    code, out, error = run("entity", "ls", "Cart", "--limit", "4")
    expect(code == GOOD and len(out.splitlines()) == 5 and "--limit" in error, "a limit holds, and is told")
    code, out, _ = run("entity", "ls", "Cart", "-o", "ndjson")
    rows = [json.loads(line) for line in out.splitlines()]
    expect(len(rows) == ENTITIES + 1 and "end" in rows[-1], "-o ndjson has one row a line")
    expect("home given" in run("events")[1], "decisions are listed")
    expect("remote.artery.canonical.port" in run("config", "show")[1], "settings are listed")
    code, out, _ = run("config", "diff")
    expect(code == FINDINGS and "cluster.seed-nodes" in out, "settings that differ are found")
    for words in ("hot",), ("undelivered",):
        expect(run(*words)[0] == GOOD, words[0])


def texts_of_entities_obey_no_terminal(node):
    evil = "e\033[2J<b>\tü"
    node.tell("Cart", evil)
    eventually(lambda: "e\\x1b[2J<b>\\x09ü" in run("entity", "ls", "Cart")[1], "an escape is printed as text")
    expect("\033" not in run("entity", "where", "Cart", evil)[1], "also one that the caller gave")


# ---- acting ----

def things_are_explained(nodes):
    code, out, _ = run("explain", "entity", "Cart", "nobody")
    expect(code == GOOD and "E1   Cart/nobody does not run" in out and "     do: " in out, "an entity is explained")
    shard = answer("entity", "where", "Cart", "cart-7")["shard"]
    expect(f"shard {shard} of Cart runs at" in run("explain", "shard", "Cart", shard)[1], "a shard is explained")
    for words in ("node",), ("node", nodes[1].address), ("ready",), ("message", "Cart", "cart-7"), ("rebalance", "Cart"):
        code, out, error = run("explain", *words)
        expect(code == GOOD and out, f"sherd explain {words[0]} {error}")


def operators_move_shards(nodes):
    shard = answer("entity", "where", "Cart", "cart-7")["shard"]
    home = answer("entity", "where", "Cart", "cart-7")["node"]
    target = next(node.address for node in nodes if node.address != home)
    code, out, _ = run("shard", "move", "Cart", shard, "--to", target, "--dry-run")
    expect(code == GOOD and "done" in out, "a dry run checks a move")
    expect(answer("entity", "where", "Cart", "cart-7")["node"] == home, "and moves nothing")
    code, out, error = run("shard", "move", "Cart", shard, "--to", target, "--yes", "--id", "first", "--reason", "a test")
    expect(code == GOOD and out.startswith("move first: done"), f"a shard moves {out}{error}")
    nodes[0].tell("Cart", "cart-7")
    eventually(lambda: answer("entity", "where", "Cart", "cart-7")["node"] == target, "it runs at its new home")
    code, out, _ = run("shard", "move", "Cart", shard, "--to", target, "--yes", "--id", "first")
    expect(code == GOOD and out.startswith("move first: done"), "the same id is the same operation")
    code, _, error = run("shard", "move", "Cart", shard, "--to", home, "--yes", "--id", "first")
    expect(code == REFUSED and "another operation has the id" in error, "another goal needs another id")
    code, out, _ = run("shard", "move", "Cart", shard, "--to", "127.0.0.1:1", "--yes")
    expect(code == REFUSED and "no" in out, "a move to an unknown member fails")
    expect("first" in run("op", "ls")[1] and "a test" in run("op", "show", "first")[1], "operations are listed")
    code, out, error = run("rebalance", "pause", "Cart", "--yes")
    expect(code == GOOD and "done" in out, f"rebalances pause {out}{error}")
    expect(run("rebalance", "resume", "Cart", "--yes")[0] == GOOD, "and are resumed")
    code, out, error = run("node", "drain", target, "--yes")
    expect(code == GOOD and "done" in out, f"a member is drained {out}{error}")
    eventually(lambda: all(row["NODE"] != target for row in table("shard", "ls", "Cart")), "it has no shard")
    expect(run("node", "uncordon", target, "--yes")[0] == GOOD, "and gets shards again")
    expect(run("node", "cordon", "127.0.0.1:1", "--yes")[0] == REFUSED, "an unknown member is no goal")


def a_member_leaves(nodes):
    code, _, error = run("node", "leave", nodes[2].address)
    expect(code == USAGE and "--yes" in error, "nobody is asked without a terminal")
    code, out, _ = run("node", "leave", nodes[2].address, "--yes")
    expect(code == GOOD and out == f"{nodes[2].address} leaves the cluster: begun, it was Up\n", "a member leaves")
    eventually(lambda: answer("status", "-a", nodes[0].socket)["members"]["up"] == 2, "and is no member any more")
    expect(nodes.pop().end() == 0, "it ends")
    code, out, error = run("node", "leave", "127.0.0.1:1", "--yes", "-a", nodes[0].socket)
    expect(code == FINDINGS and error.startswith("sherd: "), "an unknown member is told")


def the_level_is_set():
    expect("INFO" in run("log", "level")[1], "the level is shown")
    code, out, _ = run("log", "level", "DEBUG", "--for", "60")
    expect(code == GOOD and "DEBUG" in out and "fallsBackTo              INFO\n" in out, "and set for a time")
    expect(run("log", "level", "LOUD")[0] == USAGE, "a wrong level is refused")


# ---- doors and failures ----

def tokens_open_the_door():
    code, line, error = run("token", "new", "operate", "ops")
    token = error.splitlines()[1]
    tokens, secret = os.path.join(folder, "tokens"), os.path.join(folder, "token")
    with open(os.open(tokens, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
        file.write(line)
    with open(secret, "w") as file:
        file.write(token + "\n")
    port = free_port()
    settings = f"port = {port}, tokens-file = {tokens}, route-providers-read-only = off"
    node = Node(config=f"sherd.management.http {{ {settings} }}", run="door")
    address = f"127.0.0.1:{port}"
    try:
        eventually(lambda: run("health", "-a", address)[:2] == (GOOD, "ready: yes\n"), "a node is asked by TCP")
        code, _, error = run("log", "level", "DEBUG", "-a", address)
        expect(code == REFUSED and error.startswith("sherd: "), "without a token it refuses to change")
        expect(run("log", "level", "DEBUG", "-a", address, "--token-file", secret)[0] == GOOD, "with it it obeys")
        expect(run("log", "level", "INFO", SHERD_ADDR=f"http://{address}", SHERD_TOKEN_FILE=secret)[0] == GOOD,
               "also by the environment")
        code, _, error = run("status", "-a", address, "--token-file", folder)
        expect(code == USAGE and "cannot be read" in error, "an unreadable token is told")
    finally:
        expect(node.end() == 0, "the node ends")
    code, _, error = run("status", "-a", address)
    expect(code == UNREACHABLE and address in error, "an address without a node is told")


def nodes_are_found_with_care(nodes):
    code, _, error = run("status", run="nothing")
    expect(code == UNREACHABLE and "SHERD_ADDR" in error, "no node is told")
    stale = os.path.join(nodes[0].run, "1.999999.sock")
    shutil.copyfile(os.devnull, stale)
    expect(run("status")[0] == GOOD, "the file of an ended node is passed over")
    other = Node(cluster="Other")
    code, _, error = run("status")
    expect(code == USAGE and other.socket in error and nodes[0].socket in error, "several clusters are listed")
    expect("cluster Other is" in run("status", "-a", other.socket)[1], "one of them is named")
    expect("cluster Other is" in run("status", "-a", "unix:" + other.socket)[1], "or with unix:")
    expect(other.end() == 0, "the other node ends")


def a_silent_member_is_missing(nodes):
    nodes[1].process.send_signal(signal.SIGSTOP)
    try:
        code, out, error = run("type", "ls", "-a", nodes[0].socket)
        expect(code == PARTIAL and nodes[1].address in error and "Cart" in out, "a silent member is named")
        code, _, error = run("status", "-a", nodes[1].socket, "--timeout", "300")
        expect(code == TIMEOUT and "--timeout" in error, "a silent node gives a time-out")
    finally:
        nodes[1].process.send_signal(signal.SIGCONT)


def wrong_words_are_told():
    for words, text in ((("status", "-o", "xml"), "table or json"), (("shard", "ls"), "usage: sherd shard ls"),
                        (("status", "-x"), "unknown option"), (("status", "--timeout", "soon"), "number"),
                        (("status", "-a", "a b"), "no address"), (("token", "new", "king", "me"), "role"),
                        (("get", "status"), "begins with /"), (("node", "fly"), "unknown command")):
        code, _, error = run(*words)
        expect(code == USAGE and text in error, f"sherd {' '.join(words)} is refused")
    code, _, error = run("type", "show", "Nope")
    expect(code == FINDINGS and error.startswith("sherd: no member"), "an unknown type is told")
    expect(run("get", "/alive")[:2] == (GOOD, "OK\n"), "any path is asked")
    script = run("completion")[1]
    words = subprocess.run(["bash", "-c", script + '\nCOMP_WORDS=(sherd node ""); COMP_CWORD=2; _sherd; echo "${COMPREPLY[@]}"'],
                           capture_output=True, text=True).stdout.split()
    expect({"ls", "show", "leave", "down", "join"} <= set(words), "the shell completes commands")


def main():
    patient = "sherd.cluster.failure-detector.acceptable-heartbeat-pause = 60s"
    first = Node(config=patient)
    nodes = [first] + [Node(first, patient) for _ in range(2)]
    eventually(lambda: [row["status"] for row in first.get("/members")[1]["items"]] == ["Up"] * 3, "all members are up")
    for i in range(ENTITIES):
        nodes[i % 3].tell("Cart", f"cart-{i}")
    eventually(lambda: first.get("/status")[1]["totals"]["entities"] == ENTITIES, "all entities run")
    the_screen_shows_the_cluster(nodes)
    an_entity_is_found(nodes)
    lists_have_pages()
    texts_of_entities_obey_no_terminal(first)
    things_are_explained(nodes)
    operators_move_shards(nodes)
    the_level_is_set()
    wrong_words_are_told()
    tokens_open_the_door()
    a_silent_member_is_missing(nodes)
    nodes_are_found_with_care(nodes)
    a_member_leaves(nodes)
    for node in nodes:
        expect(node.end() == 0, "a node ends")
    shutil.rmtree(folder)
    return verdict()


sherd, native_cluster.Node.program = sys.argv[1:]
sys.exit(main())

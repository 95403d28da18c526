"""Tests the native routes of a cluster of three nodes, and checks each answer by the schema of the OpenAPI document.

usage: native_test.py NATIVE_NODE"""
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import sys
import time
import urllib.parse

import native_cluster
from checks import eventually, expect, verdict
from native_cluster import API, Node, folder

try:
    import jsonschema
except ImportError:
    jsonschema = None
try:
    import openapi_spec_validator
except ImportError:
    openapi_spec_validator = None

ENTITIES = 40
HTTPD_LOOKS_MAX = 32


# ---- the document ----

def schema_of(document, path, method, code):
    """The schema of an answer of a path of the document."""
    answers = document["paths"][API + path][method]["responses"]
    answer = answers.get(str(code), answers["default"])
    return {**answer["content"]["application/json"]["schema"], "components": document["components"]}


def matches(document, path, method, code, answer):
    if not jsonschema:
        return True
    try:
        jsonschema.Draft202012Validator(schema_of(document, path, method, code)).validate(answer)
        return True
    except jsonschema.ValidationError as error:
        print(error.message, list(error.absolute_path), json.dumps(answer)[:2000], flush=True)
        return False


def the_document_is_valid(node):
    code, document = node.get("/openapi.json")
    expect(code == 200 and document["openapi"] == "3.1.0", "the document is of OpenAPI 3.1")
    if openapi_spec_validator:
        openapi_spec_validator.validate(document)  # raises what is wrong
        expect(True, "a validator takes it")
    else:
        print("skipped: Python's openapi_spec_validator is not installed")
    if not jsonschema:
        print("skipped: answers are not compared with their schemas, as Python's jsonschema is not installed")
    return document


def every_answer_has_its_schema(node, document, names):
    """All GET routes of the document; `names` has a value for each parameter of a path."""
    for path, methods in document["paths"].items():
        path = path[len(API):]
        if "get" not in methods:
            continue
        target = path.format(**{name: urllib.parse.quote(value, safe="") for name, value in names.items()})
        code, answer = node.get(target + ("?of=node" if path == "/explain" else ""))
        wanted = 404 if path == "/operations/{id}" else 200  # none has begun
        expect(code == wanted and matches(document, path, "get", code, answer), f"GET {path} answers by its schema")
        code, answer = node.get(target + "?nothing=1")
        expect(code == 400 and matches(document, path, "get", code, answer), f"and refuses an unknown parameter")


# ---- looks ----

def pages_join(node):
    code, whole = node.get("/types/Cart/entities?limit=1000")
    ids, cursor, pages = [], "", 0
    while cursor is not None and pages < 100:
        code, page = node.get("/types/Cart/entities?limit=7" + (f"&cursor={cursor}" if cursor else ""))
        expect(code == 200 and len(page["items"]) <= 7, "a page has at most as many rows as its limit")
        ids += [row["id"] for row in page["items"]]
        cursor = page["next"]
        pages += 1
    expect(sorted(ids) == sorted(row["id"] for row in whole["items"]) and len(ids) == ENTITIES, "pages join to the whole")
    code, body = node.ask("/types/Cart/entities", "-H", "Accept: application/x-ndjson, */*;q=0.1")
    lines = [json.loads(line) for line in body.splitlines()]
    expect(sorted(line["id"] for line in lines[:-1]) == sorted(ids), "lines have all rows")
    expect(lines[-1]["end"]["partial"] is False and len(lines[-1]["end"]["nodes"]) == 3, "and end with the members")
    code, page = node.get("/types/Cart/entities?order=mailbox&limit=3")
    expect(code == 200 and len(page["items"]) == 3, "an order has its first rows")


def an_entity_is_found(nodes):
    for node in nodes:
        code, where = node.get("/types/Cart/entities/cart-7/where")
        expect(code == 200 and where["node"] and where["entity"]["id"] == "cart-7" and where["fence"]["epoch"] != "0",
               "each node knows where an entity is")
        code, entity = node.get("/types/Cart/entities/cart-7")
        expect(entity["entity"]["node"] == where["node"], "and what it is")
    code, where = nodes[0].get("/types/Idle/entities/nobody/where")
    expect(code == 200 and where["shard"] is not None and where["node"] is None and where["entity"] is None,
           "one that never ran has a shard, and no home")
    code, types = nodes[0].get("/types/Idle")
    expect(types["hosted"] == 0 and types["entities"] == 0, "asking for it gave no shard a home")
    name = urllib.parse.quote("a/b c", safe="")
    nodes[0].tell("Cart", "a/b")
    eventually(lambda: nodes[1].get("/types/Cart/entities/a%2Fb")[0] == 200, "an id may have a slash")
    expect(nodes[1].get(f"/types/Cart/entities/{name}")[0] == 404, "an entity that does not run is not found")


def the_status_adds_up(node, nodes):
    def adds_up():
        code, status = node.get("/status")
        return (code == 200 and status["health"] == "ok" and status["members"]["up"] == 3 and
                status["totals"]["entities"] == ENTITIES and not status["partial"])
    eventually(adds_up, "the status has all members, entities and no fault")
    code, status = node.get("/status")
    expect(sorted(one["node"] for one in status["nodes"]) == sorted(one.address for one in nodes), "it names the members")
    first = [node.get("/status")[1]["asOf"] for _ in range(5)]
    expect(len(set(first)) <= 2, "an answer serves viewers for a second")


def the_uptime_begins_at_the_start(node):
    """The kernel's clock began earlier, so 0 as the begin would show."""
    says = [one["says"] for one in node.get("/members")[1]["items"] if one["node"] == node.address][0]
    expect(says["uptimeMs"] <= (time.monotonic() - node.began) * 1000, f"a node runs since its start: {says['uptimeMs']} ms")


def errors_are_told(node):
    for path, code, name in [("/nothing", 404, "not-found"), ("/types/No", 404, "no-type"),
                             ("/types/Cart/shards/999", 404, "no-home"), ("/members/10.0.0.1:1", 404, "no-member"),
                             ("/types/Cart/entities?cursor=zz", 400, "bad-cursor"),
                             ("/types/Cart/entities?cursor=ff", 400, "bad-cursor"),
                             ("/types/Cart/entities?order=id", 400, "bad-request"),
                             ("/types/Cart/entities?limit=1001", 400, "bad-request"),
                             ("/status?timeout=99", 400, "bad-request")]:
        got, answer = node.get(path)
        expect((got, answer["error"]["code"]) == (code, name), f"{code} {name} for {path}")
    code, answer = node.get("/log", "-X", "DELETE")
    expect((code, answer["error"]["code"]) == (405, "method"), "another method is refused")
    code, answer = node.get("/log", "-X", "PUT", "-d", "{}")
    expect((code, answer["error"]["code"]) == (415, "content-type"), "a body of another type is refused")
    for body in {}, {"level": "loud"}, {"level": "info", "more": 1}, {"level": "info", "forMs": -1}, []:
        expect(node.send("PUT", "/log", body)[0] == 400, f"and the body {body}")


def the_level_falls_back(node):
    code, log = node.send("PUT", "/log", {"level": "warning", "forMs": 300})
    expect(code == 200 and log["level"] == "WARNING" and log["fallsBackTo"] == "INFO", "the level of the log is set")
    eventually(lambda: node.get("/log")[1]["level"] == "INFO", "and falls back")


# ---- members that are silent or leave ----

def requests_that_wait_are_limited(node):
    """A member is silent, so looks wait for their time."""
    with contextlib.ExitStack() as stack:
        many = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(HTTPD_LOOKS_MAX + 8)]
        for one in many:
            one.connect(node.socket)
        for one in many:
            one.sendall(f"GET {API}/lanes?timeout=3000 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
        codes = [one.makefile("rb").readline().split()[1].decode() for one in many]
    expect(set(codes) <= {"200", "503", "504"} and 8 <= codes.count("503") <= 8 + 16,
           f"requests above the limit are refused: {sorted(codes)}")
    eventually(lambda: node.get("/lanes?timeout=1000")[0] == 200, "and later ones are not")


def a_silent_member_is_marked(node, silent, document):
    os.kill(silent.process.pid, signal.SIGSTOP)
    os.waitpid(silent.process.pid, os.WUNTRACED)
    began = time.monotonic()
    code, page = node.get("/types/Cart/entities?limit=1000&timeout=1000")
    states = {one["node"]: one["state"] for one in page["nodes"]}
    expect(code == 200 and page["partial"] and states[silent.address] in ("timeout", "unreachable"),
           "a silent member is marked")
    expect(time.monotonic() - began < 4, "in time")
    code, members = node.get("/members?timeout=1000")
    row = [one for one in members["items"] if one["node"] == silent.address][0]
    expect(row["says"] is None and row["status"] == "Up" and matches(document, "/members", "get", code, members),
           "what it says is not known")
    code, body = node.ask("/lanes?timeout=1000", "-H", "Accept: application/x-ndjson")
    expect(json.loads(body.splitlines()[-1])["end"]["partial"] is True, "the last line says so, too")
    requests_that_wait_are_limited(node)
    os.kill(silent.process.pid, signal.SIGCONT)


def members_leave(node, leaver, document):
    code, answer = node.send("POST", f"/members/{leaver.address}/leave", {})
    expect(code == 202 and answer["before"]["node"] == leaver.address and
           matches(document, "/members/{node}/leave", "post", code, answer), "a member is told to leave")
    expect(node.send("POST", "/members/10.0.0.1:1/down", {})[0] == 404, "an unknown one is not found")
    expect(node.send("POST", "/members/join", {})[0] == 400, "joining needs an address")
    eventually(lambda: len(node.get("/members")[1]["items"]) == 2, "it is no member any more")
    code, timeline = node.get("/timeline?limit=1000")
    expect(code == 200 and any(row["member"] == leaver.address for row in timeline["items"]), "the timeline has it")
    with open(node.log_path) as file:
        log = file.read()
    expect(re.search(f'action=leave .*target=.{{0,2}}{leaver.address}.* result=accepted code=202', log),
           "the log has an audit line")


# ---- explanations ----

def findings(node, query):
    """The rules and texts of an explanation; it is empty until all members have answered."""
    code, answer = node.get("/explain?" + query)
    if code != 200 or not matches(document_of(node), "/explain", "get", code, answer):
        return {}
    return {one["rule"]: f'{one["text"]}; {one["cause"]}' for one in answer["findings"]}


def document_of(node):
    if not hasattr(node, "document"):
        node.document = node.get("/openapi.json")[1]
    return node.document


def healthy_things_are_explained(node, nodes):
    where = node.get("/types/Cart/entities/cart-7/where")[1]
    found = findings(node, f"of=shard&type=Cart&shard={where['shard']}")
    expect(list(found) == ["S15"] and where["node"] in found["S15"], f"a shard runs: {found}")
    expect(list(findings(node, "of=entity&type=Cart&id=cart-7")) == [], "an entity that runs has no finding")
    expect("E1" in findings(node, "of=entity&type=Cart&id=nobody"), "one that does not run has")
    found = findings(node, "of=message&type=Cart&id=cart-7")
    expect(where["node"] in found.get("M7", ""), f"a message would be delivered: {found}")
    expect("Cart Idle" in findings(node, "of=message&type=Crat&id=a").get("M1", ""), "an unknown type gives the known ones")
    expect(list(findings(node, "of=shard&type=Idle&shard=1")) == ["S1"], "a shard that nobody used has no home")
    expect("M4" in findings(node, "of=message&type=Idle&id=a"), "a message to it waits for a home")
    expect(list(findings(node, "of=shard&type=Idle&shard=9")) == ["S1", "S16"], "a shard may be above the number")
    expect(set(findings(node, "of=rebalance&type=Cart")) <= {"R4"}, "shards are balanced, or will move")
    for one in nodes:
        expect(findings(node, "of=node&node=" + one.address) == {} and findings(one, "of=ready") == {}, "nodes are well")
    for query in "", "?of=all", "?of=shard&type=Cart", "?of=entity&id=a", "?of=rebalance":
        expect(node.get("/explain" + query)[0] == 400, f"an incomplete question is refused: {query}")


def a_blocked_lane_is_explained(nodes):
    """A handler blocks a lane until the gate opens."""
    home = nodes[1].get("/types/Cart/entities/cart-7/where")[1]["node"]
    node = [one for one in nodes if one.address == home][0]
    node.tell("Cart", "cart-7", "block")
    eventually(lambda: "Q4" in findings(node, "of=ready"), "a blocked lane is explained")
    code, health = node.get("/health/ready")
    expect(code == 503 and [one["name"] for one in health["checks"] if not one["ok"]] == ["lanes"], "and not ready")
    expect(node.get("/health/live")[0] == 200, "but live")
    began = time.monotonic()
    code, page = node.get("/types/Cart/entities?timeout=500")
    expect(code == 200 and page["partial"] and time.monotonic() - began < 3, "lists come without the lane in time")
    code, answer = nodes[0].get("/explain?of=entity&type=Cart&id=cart-7&timeout=500")
    expect(code == 200 and any(home in one for one in answer["notKnown"]), "and explanations name what is not known")
    with open(os.path.join(folder, "gate"), "w"):
        pass
    eventually(lambda: node.get("/health/ready")[0] == 200, "the node is ready again")
    def tells(event):
        return any(row["node"] == home and row["event"] == event for row in node.get("/timeline?limit=1000")[1]["items"])
    eventually(lambda: tells("lane stalled") and tells("lane goes on"), "the timeline tells of the lane's stall and its end")
    expect(node.get(f"/explain?of=node&node={home}")[1]["findings"] == [], "which is no finding any more")


def an_unreachable_node_is_explained():
    first = Node()
    second = Node(first)
    eventually(lambda: [row["status"] for row in first.get("/members")[1]["items"]] == ["Up"] * 2, "both members are up")
    os.kill(second.process.pid, signal.SIGSTOP)
    os.waitpid(second.process.pid, os.WUNTRACED)
    query = f"of=node&node={second.address}&timeout=500"
    eventually(lambda: f"{first.address} does not reach it, since 20" in findings(first, query).get("N6", ""),
               "an unreachable node is explained, with the time")
    def is_critical():
        status = first.get("/status?timeout=500")[1]
        return status["health"] == "critical" and any(
            one["rule"] == "N6" and one["node"] == second.address and one["of"] == "node" for one in status["problems"])
    eventually(is_critical, "and the status has the problem")
    second.process.kill()
    second.process.wait()
    first.process.kill()
    first.process.wait()


def main():
    first = Node(config="sherd.cluster.failure-detector.acceptable-heartbeat-pause = 60s")
    others = [Node(first, "sherd.cluster.failure-detector.acceptable-heartbeat-pause = 60s") for _ in range(2)]
    nodes = [first] + others
    eventually(lambda: [row["status"] for row in first.get("/members")[1]["items"]] == ["Up"] * 3, "all members are up")
    for i in range(ENTITIES):
        nodes[i % 3].tell("Cart", f"cart-{i}")
    the_status_adds_up(others[0], nodes)
    document = the_document_is_valid(first)
    shard = first.get("/types/Cart/entities/cart-7/where")[1]["shard"]
    for node in first, others[1]:
        every_answer_has_its_schema(node, document, {"type": "Cart", "shard": shard, "id": "cart-7", "node": others[0].address})
    healthy_things_are_explained(first, nodes)
    a_blocked_lane_is_explained(nodes)
    pages_join(others[1])
    an_entity_is_found(nodes)
    errors_are_told(first)
    the_uptime_begins_at_the_start(first)
    the_level_falls_back(first)
    a_silent_member_is_marked(first, others[0], document)
    eventually(lambda: first.get("/status")[1]["health"] == "ok", "the silent member is back")
    members_leave(first, others[1], document)
    others[1].end()
    for node in first, others[0]:
        expect(node.end() == 0, "a node ends")
    an_unreachable_node_is_explained()
    shutil.rmtree(folder)
    return verdict()


native_cluster.Node.program = sys.argv[1]
sys.exit(main())

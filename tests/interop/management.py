"""Compares the management by HTTP of nodes of this library with Pekko Management in one cluster."""
import hashlib
import http.client
import json
import os
import tempfile

from nodes import HOST, PATIENCE, Failed, free_ports, wait

TOKEN = "a-token-of-the-test"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
EVENTS_SECONDS = 20  # until the state of a small cluster has come as events


def settings_of(kind, port, tokens, read_only):
    """Settings below the toolkit's prefix."""
    common = [f"management.http.hostname={HOST}", f"management.http.port={port}",
              f"management.http.route-providers-read-only={'on' if read_only else 'off'}"]
    if kind == "sherd":
        return [*common, "management.socket=off", f"management.http.tokens-file=\"{tokens}\""]
    return [*common, "interop-manage=on", "management.health-checks.readiness-checks.sharding=\"\""]


def ask(port, method, path, form=None):
    """Returns the status, the media type and the body. A JVM node ignores the token."""
    connection = http.client.HTTPConnection(HOST, port, timeout=PATIENCE)
    try:
        connection.request(method, path, form, {"Authorization": f"Bearer {TOKEN}", **(FORM if form is not None else {})})
        answer = connection.getresponse()
        return answer.status, answer.getheader("Content-Type"), answer.read().decode()
    finally:
        connection.close()


def events(port, query, count):
    """Returns the first blocks of a stream of events."""
    connection = http.client.HTTPConnection(HOST, port, timeout=EVENTS_SECONDS)
    try:
        connection.request("GET", f"/cluster/domain-events{query}")
        answer = connection.getresponse()
        text = ""
        while text.count("\n\n") < count:
            text += answer.read1().decode()
        return answer.getheader("Content-Type"), text.split("\n\n")[:count]
    finally:
        connection.close()


class Pair:
    """A JVM node and a node of ours with the same settings."""

    def __init__(self, cluster, name, ports, https, tokens, read_only, seeds):
        self.cluster, self.https = cluster, https
        self.nodes = []
        kinds = [cluster.toolkit, "sherd"]
        for kind, port, own in sorted(zip(kinds, ports, https), key=lambda row: (row[0] == "sherd") != (cluster.founder == "sherd")):
            seeds = seeds or [f"{HOST}:{port}"]
            self.nodes.append(cluster.start(f"{name}-{kind}", kind, port, seeds, settings_of(kind, own, tokens, read_only)))
        self.seeds = seeds
        self.addresses = [f"{cluster.protocol}://{self.nodes[0].system}@{HOST}:{port}" for port in ports]

    def both(self, method, path, form=None):
        """Asks both nodes. Returns the answers, with SELF as the own address of the node that was asked."""
        found = []
        for port, own in zip(self.https, self.addresses):
            status, media, body = ask(port, method, path, form)
            found.append((status, media, body.replace(f'"selfNode":"{own}"', '"selfNode":"SELF"')))
        return found

    def same(self, method, path, form=None):
        theirs, ours = self.both(method, path, form)
        if theirs != ours:
            raise Failed(f"{method} {path}:\n  {theirs}\n  {ours}")
        print(f"same: {method} {path[:60]} {ours[0]} {ours[2][:60]}", flush=True)
        return ours


def compare_looks(pair, members):
    def agree():
        theirs, ours = pair.both("GET", "/cluster/members")
        return theirs == ours and len(json.loads(ours[2])["members"]) == members
    wait(agree, f"they do not show the same {members} members")
    view = json.loads(pair.same("GET", "/cluster/members")[2])
    pair.same("GET", "/cluster/members/")
    for member in view["members"]:
        pair.same("GET", f"/cluster/members/{member['node']}")
        pair.same("GET", f"/cluster/members/{member['node'].partition('://')[2]}")
    for path in ("/cluster/members/nobody", "/cluster/members/a%20b", "/nothing", "/cluster/nothing", "/cluster/shards/None",
                 "/alive", "/startup", "/ready", "/ready/", "/cluster/members/%E2%82%AC"):
        pair.same("GET", path)


def compare_events(pair, members):
    for query in ("?type=MemberUp", "?type=MemberEvent&type=Nothing"):
        theirs, ours = (events(port, query, members) for port in pair.https)
        if theirs[0] != ours[0] or sorted(theirs[1]) != sorted(ours[1]):
            raise Failed(f"events{query}:\n  {theirs}\n  {ours}")
    for query in ("?type=LeaderChanged", "?type=RoleLeaderChanged"):
        theirs, ours = (events(port, query, 1) for port in pair.https)
        if theirs != ours:
            raise Failed(f"events{query}:\n  {theirs}\n  {ours}")


def compare_refusals(pair):
    member = f"/cluster/members/{pair.addresses[0]}"
    for method, path, form in [("DELETE", "/cluster/members", None), ("PATCH", "/cluster/members", None),
                               ("POST", "/cluster/members", ""), ("POST", "/cluster/members", "x=y"),
                               ("PUT", member, ""), ("PUT", member, "operation=Join"), ("PUT", member, "operation=no"),
                               ("POST", member, "x=y"), ("DELETE", "/cluster/members/nobody", None),
                               ("PUT", "/cluster/members/nobody", "operation=Down"), ("GET", "/cluster", None),
                               ("PUT", "/cluster", ""), ("PUT", "/cluster", "operation=no"), ("POST", "/ready", "a=b"),
                               ("POST", "/cluster/domain-events", "a=b"), ("POST", "/cluster/shards/None", "a=b")]:
        pair.same(method, path, form)


def compare_read_only(pair):
    member = f"/cluster/members/{pair.addresses[0]}"
    for method, path, form in [("POST", "/cluster/members", "address=a"), ("DELETE", member, None),
                               ("PUT", member, "operation=Down"), ("PUT", "/cluster", "operation=prepare-for-full-shutdown"),
                               ("DELETE", "/cluster/members/nobody", None), ("POST", "/cluster/domain-events", "a=b")]:
        pair.same(method, path, form)


def compare_actions(pair, other):
    """Each node makes one member of the other pair leave."""
    answers = []
    for port, address, node in zip(pair.https, other.addresses, sorted(other.nodes, key=lambda node: node.kind == "sherd")):
        status, media, body = ask(port, "PUT", f"/cluster/members/{address}", "operation=LEAVE")
        answers.append((status, media, body.replace(address, "MEMBER")))
        node.wait_end("it was told to leave")
        pair.cluster.drop(node)
    if answers[0] != answers[1] or answers[0][2] != '{"message":"Leaving MEMBER"}':
        raise Failed(f"leave: {answers}")


def management(cluster):
    """Two nodes of each kind: one pair may change the cluster, the other one is read-only. Both kinds give the
    same bytes to every question."""
    with tempfile.TemporaryDirectory(prefix="interop-") as folder:
        tokens = os.path.join(folder, "tokens")
        with open(tokens, "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(f"admin {hashlib.sha256(TOKEN.encode()).hexdigest()} test\n")
        ports, https = free_ports(4), free_ports(4)
        first = Pair(cluster, "free", ports[:2], https[:2], tokens, False, None)
        cluster.wait_up("the first two nodes are up")
        second = Pair(cluster, "bound", ports[2:], https[2:], tokens, True, first.seeds)
        cluster.wait_up("two more nodes are up")
        for node in cluster.nodes:
            if node.kind != "sherd":
                node.expect("^managed http")
        for pair in first, second:
            compare_looks(pair, 4)
            compare_events(pair, 4)
        compare_refusals(first)
        compare_read_only(second)
        compare_actions(first, second)
        compare_looks(first, 2)
    for node in list(cluster.nodes):
        node.kill()
        cluster.drop(node)


CASES = [management]

"""Tests a node of this library beside JVM nodes that reach its actors through ActorSelections, and
that use the services of their toolkit."""
import re
import time

from nodes import Failed, free_ports, pace, wait
from steps import identify, jvm_pair, trio

HEALTHY = 20  # seconds in which the services of the JVM nodes gossip


def counters(node):
    """Returns the counters and the reasons of undelivered messages that are not 0."""
    start = time.monotonic()
    node.say("counters")
    node.expect("^counters end$", start)
    found = {}
    for line in node.since(start):
        if line.startswith(("counter ", "undelivered ")):
            name, value = line.split(" ", 1)[1].rsplit(": ", 1)
            found[name] = int(value)
    return found


def counts(node, name, number):
    """Waits until a counter or a reason has this number."""
    wait(lambda: counters(node).get(name, 0) == number, lambda: f"{node.name}: {name} is not {number}: {counters(node)}")


def selections_reach_our_actors(cluster):
    """JVM nodes tell and ask our actors through ActorSelections, by name, by number and by pattern.
    They see our actors by their names, and watch them by these."""
    j1, j2, s1, _ = trio(cluster)
    for name in ("worker-1", "worker-2", "other"):
        s1.say(f"spawn {name}")
        s1.expect(f"^named {name} begins$")
    path = s1.path("/user/worker-1")

    j1.say(f"select ask {path} hello")
    s1.expect("^named worker-1 got hello$")
    j1.expect("^answer re:hello$")
    j2.say(f"select {path} hi")
    j2.expect(f"^got text re:hi from {re.escape(path)}$")
    j1.say(f"text {path} direct")
    j1.expect(f"^got text re:direct from {re.escape(path)}$")
    j1.say(f"select {s1.path()} number")
    s1.expect("^got text number from ")
    j1.expect("^got text re:number from ")
    print(f"{cluster.toolkit}: selections by name and by number", flush=True)

    j2.say(f"select {s1.path('/user/worker-*')} all")
    for name in ("worker-1", "worker-2"):
        s1.expect(f"^named {name} got all$")
        j2.expect(f"^got text re:all from {re.escape(s1.path('/user/' + name))}$")
    j1.say(f"select {s1.path('/*/o*er')} one")  # a "?" would begin the query of a URI
    s1.expect("^named other got one$")
    if s1.find("^named other got all"):
        raise Failed("a pattern selected another actor")

    identify(j1, path, re.escape(path))
    identify(j1, s1.path("/user/nobody"), "nobody")
    nobody = s1.path("/user/nobody")
    for watched in (path, nobody):  # in order: the answer for the second shows that the first has arrived
        j1.say(f"watch {watched}")
    j1.expect(f"^terminated {re.escape(nobody)} confirmed false address false$")
    s1.say("spawn worker-1")
    s1.expect('actor not started: another actor.*name=worker-1')
    j2.say(f"select {path} stop")
    j1.expect(f"^terminated {re.escape(path)} confirmed true address false$")
    identify(j2, path, "nobody")
    start = time.monotonic()
    s1.say("spawn worker-1")
    s1.expect("^named worker-1 begins$", start)
    j2.say(f"select ask {path} again")
    j2.expect("^answer re:again$")
    print(f"{cluster.toolkit}: patterns, Identify, watches and a name that is used again", flush=True)

    before = counters(s1)
    j1.say(f"select {s1.path('/user/nobody')} x")
    j1.say(f"select {s1.path('/user/no*')} x")
    j1.say(f"text {s1.path('/user/nobody')} x")
    j1.say(f"number {path} 1 10")  # the program has no format for numbers of JVM nodes
    name = "the selection matches no actor"
    counts(s1, name, before.get(name, 0) + 2)
    name = "the actor does not exist or has stopped"
    counts(s1, name, before.get(name, 0) + 1)
    if s1.find("^named worker-1 got.*number"):
        raise Failed("a number was read as a text")
    counts(s1, "messages malformed", 0)
    cluster.check_no_quarantine()


def services_of_jvm_nodes(cluster):
    """JVM nodes use their toolkit's services: publish-subscribe, receptionists, distributed data,
    singletons and sharding. Our node calls none of their messages malformed."""
    j1, j2, s1, start = trio(cluster)
    for jvm in (j1, j2):
        jvm.say("service begin")
        jvm.say("service single -")
        jvm.say("shard begin")
    begin = time.monotonic()
    for second in range(HEALTHY):
        j1.say(f"service publish {second}")
        j2.say(f"service to {second}")
        j2.say(f"shard ask e{second}")
        pace(begin, second + 1)
    for second in range(HEALTHY // 2, HEALTHY):  # the mediators know each other by then
        for jvm in (j1, j2):
            jvm.expect(f"^got text {second} from ")
        j2.expect(f"^shard answer e{second} from ")
    found = counters(s1)
    print(f"{cluster.toolkit}: {found}", flush=True)
    if found.get("messages malformed") or not found.get("pub-sub messages ignored"):
        raise Failed(f"{s1.name}: {found}")
    cluster.check_quiet(start)
    cluster.check_no_quarantine()


def holders(jvm):
    """Returns the addresses of the nodes that have data in the receptionist of this JVM node."""
    start = time.monotonic()
    jvm.say("service replicas")
    return set(jvm.expect("^service replicas (.*)", start)[1].split(","))


def receptionist_is_pruned(cluster):
    """A JVM node that registered an actor dies. The receptionist's data is pruned from it, which
    every member's replica must confirm, so also ours."""
    quick = [f"cluster.distributed-data.{key}" for key in ("pruning-interval=2s", "max-pruning-dissemination=4s")]
    receptionist = [f"cluster.typed.receptionist.{setting[8:]}" for setting in quick]
    cluster.settings += quick
    cluster.jvm_settings += receptionist
    ports = free_ports(4)
    j1, j2 = jvm_pair(cluster, ports[:2])
    s1 = cluster.start("s1", "sherd", ports[2], cluster.seeds)
    j3 = cluster.start("j3", cluster.toolkit, ports[3], cluster.seeds)
    cluster.wait_up("three JVM nodes and ours")
    jvms = {node.address for node in (j1, j2, j3)}
    for node in (j1, j2, j3):
        node.say(f"service register at-{node.name}")
    wait(lambda: all(holders(node) == jvms for node in (j1, j2, j3)), lambda: f"all have registered: {[holders(node) for node in (j1, j2, j3)]}")
    cluster.crash(j3, by=j1)
    begin = time.monotonic()
    rest = {node.address for node in (j1, j2)}
    wait(lambda: all(holders(node) == rest for node in (j1, j2)), lambda: f"pruned: {[holders(node) for node in (j1, j2)]}, not {rest}", 60)
    print(f"{cluster.toolkit}: the receptionist's data is pruned {time.monotonic() - begin:.1f} s after the removal", flush=True)
    s1.expect("replica of a JVM replicator made.*path=/system/clusterReceptionist/replicator")
    found = counters(s1)
    if found.get("messages malformed") or found.get("replicator messages ignored") or found.get("values unmerged"):
        raise Failed(f"{s1.name}: {found}")
    cluster.check_no_quarantine()


def role_less_singletons_wait(cluster):
    """Our node is the oldest member. The JVM's singleton without a role does not start, and our node
    warns once. The singleton starts when our node has left."""
    ports = free_ports(2)
    s1 = cluster.start("s1", "sherd", ports[0], [f"127.0.0.1:{ports[0]}"])
    cluster.wait_up("our node founded a cluster")
    j1 = cluster.start("j1", cluster.toolkit, ports[1], [s1.address])
    cluster.wait_up("a JVM node joined")
    warning = "^log WARNING node: .*a JVM member looks for a singleton or a coordinator on this node"
    j1.say("service single -")
    found = s1.expect(f"{warning}.*from={j1.address}.*path=/user/single/singleton")
    j1.say("shard begin")
    j1.say("service to early")
    wait(lambda: counters(s1).get("sharding messages ignored"), lambda: f"{s1.name}: {counters(s1)}")
    if j1.find("^got text early") or len([line for line in s1.since(0) if re.search(warning, line)]) != 1:
        raise Failed(f"not one warning, or the singleton runs: {found.string}")
    counts(s1, "messages malformed", 0)
    cluster.leave(s1, quiet=False)
    j1.expect("^got text early from ")
    cluster.check_no_quarantine()

"""Tests that a node of this library keeps out of the sharding of JVM nodes
(src/node/control/jvm_peers.c)."""
import re
import time

from nodes import Failed, free_ports, never, wait
from steps import jvm_pair

JVM = ["cluster.roles=[jvm]", "cluster.sharding.role=jvm"]
NATIVE = ["cluster.roles=[native]", "cluster.sharding.role=native"]
PROMPT = 30  # seconds for an answer on a busy machine; a silent region would delay a hand-off by 60
STEP = 0.2   # seconds between two rounds of asks
REFUSED = "^log ERROR node: .*JVM member has the role.*type=E.*member="


class Asking:
    """Asks entities through the sharding of each JVM node. Each ask is for a new entity, and most
    entities are in a new shard, which the coordinator must allocate and store."""

    def __init__(self, jvms):
        self.jvms, self.count, self.open, self.names = list(jvms), 0, [], []

    def ask(self, names=None):
        """Asks one new entity through each node, or the entities with these names."""
        for number, jvm in enumerate(self.jvms):
            name = names[number % len(names)] if names else f"e{self.count}"
            self.count += 1
            self.names.append(name)
            self.open.append((jvm, name, time.monotonic()))
            jvm.say(f"shard ask {name}")

    def check(self):
        """Checks that JVM nodes answered all asks in time. Returns the number of nodes that
        answered."""
        places = set()
        for jvm, name, start in self.open:
            found = jvm.expect(f"^shard answer {name} from (.*) after ([0-9]+)$", start, PROMPT)
            if found[1] not in [node.address for node in self.jvms]:
                raise Failed(f"{jvm.name} asked for {name}: {found[0]}")
            if int(found[2]) > PROMPT * 1000:
                raise Failed(f"{jvm.name} waited too long: {found[0]}")
            places.add(found[1])
        self.open = []
        return len(places)


def state(jvm, role):
    """Returns the coordinator's state that a JVM node has: regions and proxies."""
    start = time.monotonic()
    jvm.say(f"shard state {role}")
    return jvm.expect("^shard state (.*)", start)[1]


def alone(jvms):
    """Returns the state in which only these nodes are registered."""
    return f"regions {','.join(sorted(jvm.address for jvm in jvms))} proxies none"


def check_unharmed(asking):
    """Checks that all asks were answered, and that only the JVM nodes are registered."""
    asking.check()
    for jvm in asking.jvms:
        wait(lambda jvm=jvm: state(jvm, "jvm") == alone(asking.jvms), lambda jvm=jvm: f"{jvm.name}: {state(jvm, 'jvm')}")


def turned_away(cluster, asking, name, settings):
    """Starts a node of ours whose entity type uses a role of the JVM nodes. It joins, logs why it
    cannot stay, and leaves. It never owns a shard."""
    oldest = asking.jvms[0]
    node = cluster.start(name, "sherd", free_ports(1)[0], cluster.seeds, ["type=E", *settings])
    node.say("entity mine")
    start = time.monotonic()

    def ended():
        asking.ask()
        time.sleep(STEP)
        if state(oldest, "jvm") != alone(asking.jvms):
            raise Failed(f"while {name} is a member: {state(oldest, 'jvm')}")
        return node.find("^ended -9 ")
    wait(ended, f"{name} does not leave")
    node.expect(REFUSED + oldest.address)
    oldest.expect(f"^event MemberJoined {node.address} ")
    cluster.drop(node)
    cluster.wait_up(f"{name} left")
    check_unharmed(asking)
    if node.find("^entity "):
        raise Failed(f"{name}: {node.find('^entity ')[0]}")
    print(f"{cluster.toolkit}: {name} was turned away after {time.monotonic() - start:.1f} s", flush=True)


def jvm_sharding_is_undisturbed(cluster):
    """A node of ours leaves if JVM nodes with sharding have the role of its entity type, and logs
    why. With another role it stays, and the sharding of the JVM nodes continues, also when one of
    them leaves. Then a JVM node starts with our role and a type of the same name. It is younger, so
    our node only logs this. The JVM node is not registered, and it starts no entity before our
    coordinator has ended."""
    ports = free_ports(5)
    j1, j2 = jvm_pair(cluster, ports[:2], JVM)
    asking = Asking([j1, j2])
    for jvm in (j1, j2):
        jvm.say("shard begin")
    for _ in range(10):
        asking.ask()
    if asking.check() != 2:
        raise Failed("all entities are on one node")
    check_unharmed(asking)
    turned_away(cluster, asking, "s1", [])
    turned_away(cluster, asking, "s2", JVM)

    start = time.monotonic()
    s3 = cluster.start("s3", "sherd", ports[2], cluster.seeds, ["type=E", *NATIVE])
    cluster.wait_up("with a role of its own")
    s3.say("entity one")
    s3.expect("^entity one begins$")

    def breach():
        asking.ask()
        return cluster.disturbed(start) or cluster.warned(start)
    never(breach, 3, "with a role of its own", STEP)
    check_unharmed(asking)
    cluster.leave(j2)
    asking.jvms = [j1]
    for name in asking.names[:20]:
        asking.ask([name])
    check_unharmed(asking)
    cluster.check_quiet(start)
    print(f"{cluster.toolkit}: the entities of {j2.name} run on {j1.name}", flush=True)
    follow(cluster, s3, ports[3])


def follow(cluster, ours, port):
    """A JVM node has sharding in the role of an older node of ours. There is one coordinator at a
    time: first ours, and after our node's hand-over the JVM's, which reads the state that ours has
    stored."""
    jvm = cluster.start("j3", cluster.toolkit, port, cluster.seeds, NATIVE)
    ours.expect(REFUSED + jvm.address)
    cluster.wait_up("a JVM node has the same role")
    jvm.say("shard begin")
    start = time.monotonic()
    jvm.say("shard ask two")
    ours.say("entity three")
    ours.expect("^entity three begins$")
    wait(lambda: state(jvm, "native") == alone([ours]), lambda: f"state: {state(jvm, 'native')}")
    asked = "^(hosted two|shard answer two|entity two)"
    never(lambda: jvm.find(asked) or ours.find(asked) or cluster.disturbed(start), 5, "there are two coordinators")
    if state(jvm, "native") != alone([ours]):
        raise Failed(f"the JVM node is registered: {state(jvm, 'native')}")
    cluster.leave(ours, quiet=False)
    jvm.expect(f"^shard answer two from {jvm.address} after ")
    # our node has answered
    jvm.expect(f"^log INFO .*/ECoordinator: Hand-over in progress at .*{ours.address}")
    ended = next((at for at, line in ours.lines if re.search("/ECoordinator .* to=ended", line)), None)
    began = next(at for at, line in jvm.lines if line == "hosted two begins")
    if not ended or began < ended or ours.find(asked):
        raise Failed(f"the JVM node started an entity at {began}; our coordinator ended at {ended}")
    print(f"{cluster.toolkit}: the JVM's coordinator started an entity {began - ended:.1f} s after ours had ended", flush=True)
    # The JVM's coordinator has read that our node had a region, and removes it.
    wait(lambda: state(jvm, "native") == alone([jvm]), lambda: f"after our coordinator: {state(jvm, 'native')}")
    cluster.check_no_quarantine()


def regions_answer_queries(cluster):
    """JVM nodes ask the regions of ours about their shards: the state and the counts of one region,
    the counts of the cluster, and the list of regions."""
    ports = free_ports(4)
    j1, j2 = jvm_pair(cluster, ports[:2], JVM)
    nodes = [cluster.start(f"s{i + 1}", "sherd", ports[2 + i], cluster.seeds, ["type=E", *NATIVE]) for i in range(2)]
    cluster.wait_up("with two nodes of ours")
    for number in range(20):
        nodes[0].say(f"entity e{number}")
    for number in range(20):
        wait(lambda number=number: any(node.find(f"^entity e{number} begins$") for node in nodes), f"entity e{number} does not begin")
    homes = {node: [f"e{i}" for i in range(20) if node.find(f"^entity e{i} begins$")] for node in nodes}

    def asked(jvm, what, node):
        start = time.monotonic()
        jvm.say(f"query {what} {node.path('/system/sharding/E')}")
        return jvm.expect(f"^({what}|query) (.*)", start)[2]

    def states_hold():
        """Returns what is wrong. Shards may still move."""
        found = {}
        for node in nodes:
            state = asked(j1, "state", node)
            counts = asked(j2, "stats", node)
            ids = sorted(name for shard in state.split(" ")[:-2] for name in shard.split(":")[1].split(",") if name)
            if not state.endswith(" failed 0") or not counts.endswith(" failed 0"):
                return f"{node.name}: {state} {counts}"
            if sum(int(shard.split(":")[1]) for shard in counts.split(" ")[:-2]) != len(ids):
                return f"{node.name}: {state} {counts}"
            found[node] = ids
        names = sorted(name for ids in found.values() for name in ids)
        return "" if names == sorted(f"e{i}" for i in range(20)) else f"found {names}"

    wait(lambda: states_hold() == "", states_hold)
    for jvm, node in ((j1, nodes[0]), (j2, nodes[1])):
        wait(lambda jvm=jvm, node=node: sum(int(region.rsplit(":", 1)[1]) for region in asked(jvm, "cluster", node).split(" ")) == 20,
             lambda jvm=jvm, node=node: asked(jvm, "cluster", node))
        wait(lambda jvm=jvm, node=node: asked(jvm, "regions", node) == " ".join(sorted(one.address for one in nodes)),
             lambda jvm=jvm, node=node: asked(jvm, "regions", node))
    print(f"{cluster.toolkit}: the regions answered; {len(homes[nodes[0]])} entities began on {nodes[0].name}", flush=True)
    cluster.check_no_quarantine()

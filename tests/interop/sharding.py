"""Sharding of JVM nodes, of which ours are no part: what section 8 of the protocol says of proxies, of who hosts and of the coordinator."""
import re
import time

from nodes import Failed, free_ports, never, wait
from steps import jvm_pair

JVM = ["cluster.roles=[jvm]", "cluster.sharding.role=jvm"]
NATIVE = ["cluster.roles=[native]", "cluster.sharding.role=native"]
PROMPT = 30  # seconds for an answer on a busy machine: a region that took part and fell silent would hold a hand-off up for 60
STEP = 0.2   # seconds between two rounds of questions
REFUSED = "^log ERROR node: .*JVM member has the role.*type=E.*member="


class Asking:
    """Asks the JVM nodes' sharding, of each node for a new entity each time, most of them of a shard that nobody has asked for: the
    coordinator has to place it, and to store where."""

    def __init__(self, jvms):
        self.jvms, self.count, self.open, self.names = list(jvms), 0, [], []

    def ask(self, names=None):
        """For new ones, or for those."""
        for number, jvm in enumerate(self.jvms):
            name = names[number % len(names)] if names else f"e{self.count}"
            self.count += 1
            self.names.append(name)
            self.open.append((jvm, name, time.monotonic()))
            jvm.say(f"shard ask {name}")

    def check(self):
        """All were answered, in time, by JVM nodes; returns by how many of them."""
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
    """What a JVM node has of the coordinator's state: regions and proxies."""
    start = time.monotonic()
    jvm.say(f"shard state {role}")
    return jvm.expect("^shard state (.*)", start)[1]


def alone(jvms):
    """The state in which those JVM nodes are registered and nobody else."""
    return f"regions {','.join(sorted(jvm.address for jvm in jvms))} proxies none"


def check_unharmed(asking):
    """All questions were answered, and the JVM nodes alone are registered."""
    asking.check()
    for jvm in asking.jvms:
        wait(lambda jvm=jvm: state(jvm, "jvm") == alone(asking.jvms), lambda jvm=jvm: f"{jvm.name}: {state(jvm, 'jvm')}")


def turned_away(cluster, asking, name, settings):
    """One of ours with a type in a role that the JVM nodes have: it is a member, says why it cannot stay, and leaves; it has hosted nothing."""
    oldest = asking.jvms[0]
    node = cluster.start(name, "sherd", free_ports(1)[0], cluster.seeds, ["type=E", *settings])
    node.say("entity mine")
    start = time.monotonic()

    def ended():
        asking.ask()
        time.sleep(STEP)
        if state(oldest, "jvm") != alone(asking.jvms):
            raise Failed(f"while {name} is there: {state(oldest, 'jvm')}")
        return node.find("^ended -9 ")
    wait(ended, f"{name} does not give way")
    node.expect(REFUSED + oldest.address)
    oldest.expect(f"^event MemberJoined {node.address} ")
    cluster.drop(node)
    cluster.wait_up(f"{name} gave way")
    check_unharmed(asking)
    if node.find("^entity "):
        raise Failed(f"{name}: {node.find('^entity ')[0]}")
    print(f"{cluster.toolkit}: {name} was turned away after {time.monotonic() - start:.1f} s", flush=True)


def shared(cluster):
    """Entity types whose role JVM nodes have, which have sharding: ours refuses to be there, and says why; under a role of its own it is
    fine, and theirs goes on, also when one of them leaves. Then a JVM node comes with that role, and sharding of that name: it is younger,
    which is said, and ends nobody; it is not registered, and nothing begins there before our coordinator has ended."""
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
    print(f"{cluster.toolkit}: what {j2.name} had is on {j1.name}", flush=True)
    follow(cluster, s3, ports[3])


def follow(cluster, ours, port):
    """A JVM node has sharding in the role of a node of ours, which is older: there is one coordinator, first ours and then the JVM's, which
    ours hands over to, and which reads what ours has stored."""
    jvm = cluster.start("j3", cluster.toolkit, port, cluster.seeds, NATIVE)
    ours.expect(REFUSED + jvm.address)
    cluster.wait_up("a JVM node has that role too")
    jvm.say("shard begin")
    start = time.monotonic()
    jvm.say("shard ask two")
    ours.say("entity three")
    ours.expect("^entity three begins$")
    wait(lambda: state(jvm, "native") == alone([ours]), lambda: f"state: {state(jvm, 'native')}")
    asked = "^(hosted two|shard answer two|entity two)"
    never(lambda: jvm.find(asked) or ours.find(asked) or cluster.disturbed(start), 5, "there are two coordinators")
    if state(jvm, "native") != alone([ours]):
        raise Failed(f"it is registered: {state(jvm, 'native')}")
    cluster.leave(ours, quiet=False)
    jvm.expect(f"^shard answer two from {jvm.address} after ")
    jvm.expect(f"^log INFO .*/ECoordinator: Hand-over in progress at .*{ours.address}")  # ours has answered
    ended = next((at for at, line in ours.lines if re.search("/ECoordinator .* to=ended", line)), None)
    began = next(at for at, line in jvm.lines if line == "hosted two begins")
    if not ended or began < ended or ours.find(asked):
        raise Failed(f"it did not wait for the end of our coordinator at {ended}: {began}")
    print(f"{cluster.toolkit}: the JVM's coordinator follows ours: an entity began {began - ended:.1f} s after that had ended", flush=True)
    wait(lambda: state(jvm, "native") == alone([jvm]), lambda: f"after it: {state(jvm, 'native')}")  # it has read that ours had a region
    cluster.check_no_quarantine()

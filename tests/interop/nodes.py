"""What the interop tests share: nodes of both kinds as processes, what each of them sees, and ways to hurt them.

A kind is "sherd" (node.c), "akka" or "pekko" (jvm/). All nodes speak the same lines; see jvm/src/sherd/interop/Node.java."""
import bisect
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "examples"))

from free_port import free_port  # noqa: E402

SYSTEM = "Interop"
HOST = "127.0.0.1"
PATIENCE = 40     # seconds; what a cluster of a few nodes does takes much less
BEGINNING = 120   # seconds until a process, a JVM on a busy machine, says its first word
MAKING = 300      # seconds that Maven may take to get what it needs
PAUSE = 3         # seconds that a node may be silent (acceptable-heartbeat-pause)
UNREACHABLE = 8   # seconds until everybody sees that a node is silent: 5.5 at most for the detector, then gossip; twice as slow, it is at 8 itself
TARDY = 0.2       # seconds that a short standstill may be longer than it was to be: the detector leaves half a second
TRIES = 3         # for one that is not
AT_ONCE = 5       # seconds until a line of a log arrives, however busy the machine is
LOG_LINES = 60    # of each node, shown when a test fails
SKIPPED = 77      # exit status
# What a node warns of when one that it is connected to ends, as JVM nodes do of each other: it may find the connection closed before it
# has heard that nobody is there any more.
ENDED = ["cannot connect", "The connection closed with error"]
# What nodes of either kind warn of when a process did not run for a while, ours or another one on a busy machine.
LATE = ["heartbeat interval is growing too large", "Scheduled sending of heartbeat was delayed", "this node was not running"]
GOOD_EVENTS = ["MemberJoined", "MemberJoining", "MemberWeaklyUp", "MemberUp", "ReachableMember"]
PACKAGES = {"akka": "akka", "pekko": "org.apache.pekko"}
PROTOCOLS = {"akka": "akka", "pekko": "pekko"}
JVM_OPTIONS = ["-Xmx256m", "-Xss512k", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"]


class Failed(Exception):
    pass


class Skipped(Exception):
    pass


def wait(condition, what, seconds=PATIENCE, step=0.05):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise Failed(what() if callable(what) else what)
        time.sleep(step)


def never(condition, seconds, what, step=0.1):
    """That this does not hold for so long; fails at the first moment at which it does, with what the condition returned."""
    end = time.monotonic() + seconds
    while True:
        seen = condition()
        if seen:
            raise Failed(f"{what}: {seen.string if isinstance(seen, re.Match) else seen}")
        if time.monotonic() > end:
            return
        time.sleep(step)


def pace(start, seconds):
    """Not a wait for anything: what a case sends is spread over time. Until so many seconds after that moment."""
    time.sleep(max(0.0, start + seconds - time.monotonic()))


def free_ports(count):
    """So many ports, the lowest first: the lowest address leads."""
    return sorted(free_port() for _ in range(count))


class Programs:
    """The command that starts a node of each kind."""

    def __init__(self, sherd, build, version=None):
        self.sherd, self.build, self.version = sherd, os.path.abspath(os.path.join(build, version or "")), version
        self.made = {}

    def command(self, kind):
        if kind == "sherd":
            return [self.sherd]
        if kind not in self.made:
            path = self.make(kind)
            archive = os.path.join(self.build, kind, "classes.jsa")
            options = [f"-XX:SharedArchiveFile={archive}"] if os.path.exists(archive) else []
            self.made[kind] = ["java", *JVM_OPTIONS, *options, "-cp", path, "sherd.interop.Node"]
        return self.made[kind]

    def make(self, toolkit):
        """Builds the JVM's program unless it is there; returns its class path."""
        for tool in ("java", "javac", "mvn"):
            if not shutil.which(tool):
                raise Skipped(f"there is no {tool}")
        folder = os.path.join(self.build, toolkit)
        stamp = os.path.join(folder, "stamp")
        sources = [os.path.join(path, name) for path, _, names in os.walk(os.path.join(HERE, "jvm")) for name in names]
        if not os.path.exists(stamp) or os.path.getmtime(stamp) < max(map(os.path.getmtime, sources)):
            shutil.rmtree(folder, ignore_errors=True)
            maven = ["mvn", "-q", "-B", "-f", os.path.join(HERE, "jvm", "pom.xml"), "-P", toolkit, f"-Dfolder={folder}"]
            maven += [f"-D{toolkit}.version={self.version}"] if self.version else []
            self.run([*maven, "process-classes"])
            self.run(["jar", "cf", os.path.join(folder, "node.jar"), "-C", os.path.join(folder, "classes"), "."])
            self.archive(toolkit, self.class_path(folder))
            open(stamp, "w").close()
        return self.class_path(folder)

    @staticmethod
    def class_path(folder):
        with open(os.path.join(folder, "classpath")) as file:
            return os.path.join(folder, "node.jar") + ":" + file.read().strip()

    def archive(self, toolkit, path):
        """A node founds a cluster and leaves, and what it has loaded is kept for others to map: they start in half the time. Nothing is
        wrong when a JVM makes no archive."""
        port = free_ports(1)[0]
        command = ["java", *JVM_OPTIONS, f"-XX:ArchiveClassesAtExit={os.path.join(self.build, toolkit, 'classes.jsa')}", "-cp", path,
                   "sherd.interop.Node", SYSTEM, f"remote.artery.canonical.port={port}", "cluster.downing-provider-class=\"\"",
                   f'cluster.seed-nodes=["{PROTOCOLS[toolkit]}://{SYSTEM}@{HOST}:{port}"]']
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as node:
            late = threading.Timer(BEGINNING, node.kill)
            late.start()
            for line in node.stdout:
                if line.startswith("event MemberUp"):
                    node.stdin.write("leave\n")
                    node.stdin.flush()
            late.cancel()

    @staticmethod
    def run(command):
        try:
            result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=MAKING)
        except subprocess.TimeoutExpired as error:
            raise Skipped(f"{command[0]} has not ended after {MAKING} s: it may not reach its repository") from error
        if result.returncode:
            unreachable = re.search("(Could not transfer|Unknown host|.*in offline mode).*", result.stdout)
            if unreachable:
                raise Skipped(f"{command[0]} does not reach its repository: {unreachable[0]}")
            raise Failed(f"{' '.join(command)}:\n{result.stdout[-3000:]}")


class Node:
    """One process, and every line that it wrote with the time of its arrival."""

    def __init__(self, cluster, name, kind, port, seeds, settings, also=(), host=HOST, system=SYSTEM):
        self.cluster, self.name, self.kind, self.port, self.system = cluster, name, kind, port, system
        self.address = f"{host}:{port}"
        self.addresses = [self.address, *(f"127.0.0.1:{other}" for other in also)]  # of this process's nodes
        self.lines = []  # (seconds, line)
        self.times = []  # of the lines, for a quick look at the last ones
        self.center = "default"
        protocol = cluster.protocol
        joined = ",".join(f'"{protocol}://{system}@{seed}"' for seed in seeds)
        arguments = [system, f"remote.artery.canonical.port={port}", f"cluster.seed-nodes=[{joined}]", *settings]
        if host != HOST:
            arguments.append(f"remote.artery.canonical.hostname=\"{host}\"")
        if kind == "sherd" and protocol != "akka":
            arguments += [f"protocol.name={protocol}", f"protocol.config-prefix={protocol}"]
        if also:
            arguments.insert(1, "also=" + ",".join(map(str, also)))
        self.process = subprocess.Popen([*cluster.programs.command(kind), *arguments], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            now = time.monotonic()
            self.lines.append((now, line.rstrip("\n")))
            self.times.append(now)

    def say(self, line):
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except OSError as error:
            raise Failed(f"{self.name} has ended: {error}") from error

    @property
    def alive(self):
        return self.process.poll() is None

    def since(self, start):
        """The lines from that moment on."""
        return [line for _, line in self.lines[bisect.bisect_left(self.times, start):]]

    def find(self, pattern, start=0.0):
        """The first match of the pattern in the lines from that moment on."""
        return next(filter(None, (re.search(pattern, line) for line in self.since(start))), None)

    def expect(self, pattern, start=0.0, seconds=PATIENCE):
        wait(lambda: self.find(pattern, start), f"{self.name} does not say {pattern!r}", seconds)
        return self.find(pattern, start)

    def status(self):
        """The members by address: (status, reachable), as every node of the process sees them, else "alike", which is no address; what
        else a node tells, a JVM its leader, is in `said`."""
        start = time.monotonic()
        self.say("status")
        wait(lambda: self.find("^status ", start) or not self.alive, f"{self.name}: no status")
        found = self.find("^status (.*) members ?(.*)", start)
        if not found:
            raise Failed(f"{self.name} has ended")
        members = [member.split("/") for member in found[2].split()]
        self.said = dict(zip(found[1].split()[::2], found[1].split()[1::2]))
        self.uids = {address: uid for address, _, _, uid in members}
        view = {address: (status, reachable == "1") for address, status, reachable, _ in members}
        if int(self.said.get("alike", 1)) != len(self.addresses):
            view["alike"] = f"{self.said['alike']} of {len(self.addresses)}"
        return view

    def path(self, actor=None):
        """Of an actor here, as others write it; of the node's own one when none is given."""
        return f"{self.cluster.protocol}://{self.system}@{self.address}{actor or self.actor()}"

    def actor(self):
        """The path of the node's own actor: on a JVM node its name is one that this library can send to."""
        return self.expect("^actor (.*)")[1] if self.kind == "sherd" else "/user/a0000000000000001"

    def uid(self):
        """Of its incarnation, as every node writes it."""
        found = self.find(f"event Member.* {re.escape(self.address)} (-?[0-9]+)$")
        if not found:
            raise Failed(f"{self.name} is no member")
        return found[1]

    def kill(self):
        """kill -9."""
        self.process.kill()
        self.process.wait()
        self.reader.join(PATIENCE)

    def memory(self):
        """KiB of it that are in memory."""
        with open(f"/proc/{self.process.pid}/status") as file:
            found = re.search("VmRSS:[ \t]*([0-9]+)", file.read())
        if not found:
            raise Failed(f"{self.name} has ended")
        return int(found[1])

    def wait_end(self, what):
        """Until the process has ended by itself, with status 0."""
        wait(lambda: not self.alive, f"{what}: {self.name} does not end")
        self.reader.join(PATIENCE)
        if self.process.returncode:
            raise Failed(f"{what}: {self.name} ended with status {self.process.returncode}")

    def stop(self):
        """SIGSTOP."""
        os.kill(self.process.pid, signal.SIGSTOP)

    def resume(self):
        os.kill(self.process.pid, signal.SIGCONT)


class Cluster:
    """Nodes of both kinds that speak one protocol: that of the JVM's toolkit. founder: who founds it, "jvm" or "sherd", in cases in which
    either can."""

    def __init__(self, programs, toolkit, founder):
        self.programs, self.toolkit, self.founder = programs, toolkit, founder
        self.protocol = PROTOCOLS[toolkit]
        self.nodes = []  # that are to be members, or on their way
        self.gone = []
        self.seeds = []   # of most nodes of a case: the address of who founded
        self.seed_node = None  # that node, where it is one of ours that is there for nothing else
        self.standing = False  # a case before has left two JVM nodes here
        self.downed = set()  # uids, as the one kind writes them and the other
        self.settings = ["cluster.downing-provider-class=\"\""]
        self.jvm_settings = []  # of JVM nodes alone

    def start(self, name, kind, port, seeds, settings=(), also=(), host=HOST, system=SYSTEM):
        """also: ports of more nodes in the process, of this library's kind."""
        common = self.settings if kind == "sherd" else [*self.settings, *self.jvm_settings]
        node = Node(self, name, kind, port, seeds, [*common, *settings], also, host, system)
        self.nodes.append(node)
        wait(lambda: node.find("^(log|actor) ") or not node.alive, f"{name} ({kind}) does not begin", BEGINNING)
        return node

    def drop(self, node):
        """Nobody counts on it any more."""
        self.nodes.remove(node)
        self.gone.append(node)

    def wait_views(self, wanted, what, seconds=PATIENCE, without=None):
        """Until each node but that one sees this: a map of addresses to (status, reachable)."""
        seen = {}

        def same():
            seen.update({node.name: node.status() for node in self.nodes if node is not without})
            return all(view == wanted for view in seen.values())
        start = time.monotonic()
        wait(same, lambda: f"{what}: wanted {wanted}, there is {seen}", seconds, 0.1)
        return time.monotonic() - start

    def wait_up(self, what, seconds=PATIENCE):
        """Until every node sees exactly the nodes of this cluster, up and reachable."""
        wanted = {address: ("Up", True) for node in self.nodes for address in node.addresses}
        took = self.wait_views(wanted, what, seconds)
        print(f"{self.toolkit}: {what}: all agree after {took:.1f} s", flush=True)

    def warned(self, start, left=None, slowly=False):
        """What a node warned of since then, but of lateness, and that its connection to a node that has ended does not work; nor,
        when that left slowly, anything of that node."""
        ended = {node.address for node in self.gone} - {node.address for node in self.nodes}
        for node in self.nodes:
            for line in node.since(start):
                if not re.match("log (WARNING|ERROR) ", line) or any(text in line for text in LATE):
                    continue
                named = set(re.findall(r"[@=]([^@= \]]+:[0-9]+)(?=[\] ]|$)", line))
                if named & ended and any(text in line for text in ENDED):
                    continue
                if slowly and left.address in named:
                    continue
                return f"{node.name} ({node.kind}) warned: {line}"
        return None

    def late(self, start):
        """How many warnings of lateness there were since then: those in which a node of ours is said to be late, by itself or by others, and
        those in which a JVM node is."""
        ours, theirs = 0, 0
        kinds = {node.address: node.kind for node in self.nodes + self.gone}
        for node in self.nodes:
            for line in node.since(start):
                if not re.match("log (WARNING|ERROR) ", line) or not any(text in line for text in LATE):
                    continue
                of_others = "interval is growing" in line
                named = [kind for address, kind in kinds.items() if address in line and not (of_others and address == node.address)]
                late = named if of_others else [node.kind]
                ours += "sherd" in late
                theirs += "sherd" not in late
        return ours, theirs

    def check_quiet(self, start, left=None, slowly=False):
        """No node warned since then, and each logs."""
        for node in self.nodes:
            if not node.find("^log INFO "):  # its log would not reach us
                raise Failed(f"{node.name} ({node.kind}) does not log")
        warning = self.warned(start, left, slowly)
        if warning:
            raise Failed(warning)

    def disturbed(self, start):
        """Which member of these was something else than up and reachable for some node since that moment."""
        uids = {(node.address, node.uid()) for node in self.nodes}
        for node in self.nodes:
            for line in node.since(start):
                event = re.match("event ([A-Za-z]+) ([^ ]+) (-?[0-9]+)$", line)
                if event and event[1] not in GOOD_EVENTS and event.groups()[1:] in uids:
                    return f"{node.name} ({node.kind}): {line}"
        return None

    def holds(self, seconds, what, quiet=True):
        """That for so long all see all up and reachable, and nobody warns, if quiet. Fails at the first breach, also at one that is
        over before anybody looks: each node tells its events."""
        start = time.monotonic()
        wanted = {address: ("Up", True) for node in self.nodes for address in node.addresses}

        def breach():
            for node in self.nodes:
                view = node.status()
                if view != wanted:
                    return f"{node.name} ({node.kind}) sees {view}, not {wanted}"
            return self.disturbed(start) or (self.warned(start) if quiet else None)
        never(breach, seconds, what)
        if quiet:
            self.check_quiet(start)
        print(f"{self.toolkit}: {what}: all is well for {seconds} s", flush=True)

    def check_buried(self):
        """Of no incarnation that a node has seen removed does it hear anything more."""
        for node in self.nodes + self.gone:
            removed = set()
            for line in node.since(0):
                event = re.match("event Member([A-Za-z]+) ([^ ]+ -?[0-9]+)$", line)
                if event and event[2] in removed:
                    raise Failed(f"{node.name} ({node.kind}), after it was removed: {line}")
                if event and event[1] == "Removed":
                    removed.add(event[2])

    def check_no_quarantine(self):
        """Nobody says that somebody is quarantined, but those who were declared down."""
        for node in self.nodes + self.gone:
            for line in node.since(0):
                # Of a node that was downed: it is gone already. Or by one that ends, of a node that had left before it.
                ignored = re.search("Quarantine of .* ignored|failed after shutdown.*StopQuarantinedSignal", line)
                if re.search("(?i)quarantin", line) and not ignored and not any(uid in line for uid in self.downed):
                    raise Failed(f"{node.name} ({node.kind}): {line}")

    # ---- what happens to nodes ----

    def wait_gone(self, node, what, seconds=PATIENCE):
        """Until all others see each other, up, and that node no more."""
        if node in self.nodes:
            self.drop(node)
        self.wait_up(what, seconds)

    def leave(self, node, by=None, slowly=False, quiet=True):
        """Gracefully; by its own wish, or that of another one: the leader removes it because it has confirmed that it is exiting, and who
        takes it for unreachable before it hears of the removal knew that it is exiting. (It ends at once, the removal waits until all agree
        and comes by gossip: by chance that takes longer than a silence may.) Slowly: it may end before all others know that it is leaving,
        or the leader that it has confirmed it. Nobody warns, if quiet."""
        what = f"{node.name} ({node.kind}) leaves" + (f", told by {by.name} ({by.kind})" if by else "")
        start = time.monotonic()
        by.say(f"leave {node.address}") if by else node.say("leave")
        self.wait_gone(node, what)
        node.wait_end(what)
        if not slowly:
            self.check_exiting(node, start, what)
        if quiet:
            self.check_quiet(start, node, slowly)

    def check_exiting(self, node, start, what):
        """All knew that it exits, and a leader removed it because it has confirmed that."""
        for other in self.nodes:
            told = [event[1] for event in (re.match(f"event ([A-Za-z]+) {node.address} ", line) for line in other.since(start)) if event]
            if "UnreachableMember" in itertools.takewhile(lambda event: event not in ("MemberExiting", "MemberExited"), told):
                raise Failed(f"{what}: {other.name} ({other.kind}) took it for unreachable before it knew that it is exiting")
        if all(other.center != node.center for other in self.nodes):
            return  # the leader of another data center removes it, confirmed or not
        removed = f"Leader is removing confirmed Exiting node .*@{node.address}]|leader removes.* member={node.address} status=exiting confirmed=yes"
        wait(lambda: any(other.find(removed, start) for other in self.nodes),
             f"{what}: no leader removed it because it has confirmed that it is exiting", AT_ONCE)

    def wait_unreachable(self, node, start, what, seconds=UNREACHABLE):
        """Until all others see that node up and unreachable."""
        wanted = {other.address: ("Up", other is not node) for other in self.nodes}
        self.wait_views(wanted, what, start + seconds - time.monotonic(), without=node)
        took = time.monotonic() - start
        print(f"{self.toolkit}: {what}: unreachable for all after {took:.1f} s", flush=True)
        if took < PAUSE:
            raise Failed(f"{what}: unreachable after {took:.1f} s already")

    def end_crash(self, node, seconds=PATIENCE):
        """It was killed, and the others get rid of it by themselves."""
        uid = int(node.uid())
        self.downed |= {str(uid), str(uid & (1 << 64) - 1)}
        self.wait_gone(node, f"{node.name} ({node.kind}) was killed", seconds)

    def down(self, node, by):
        """Declared dead by one of the others."""
        uid = int(node.uid())
        self.downed |= {str(uid), str(uid & (1 << 64) - 1)}
        by.say(f"down {node.address}")
        self.wait_gone(node, f"{by.name} ({by.kind}) downed {node.name} ({node.kind})")

    def restart_at_once(self, node, name, seeds):
        """kill -9, and again on the same port before anybody has taken it for silent; returns the new incarnation."""
        uid = int(node.uid())
        self.downed |= {str(uid), str(uid & (1 << 64) - 1)}  # by those whom the new one asks
        what = f"{node.name} ({node.kind}) was killed and started again at once"
        node.kill()
        self.drop(node)
        again = self.start(name, node.kind, node.port, seeds)
        self.wait_up(what)
        for other in self.nodes:
            if other.uids[node.address] != again.uid() or again.uid() == str(uid):
                raise Failed(f"{what}: {other.name} sees {other.uids[node.address]}, it is {again.uid()}, was {uid}")
        return again

    def crash(self, node, by):
        """kill -9, seen by all, and declared dead."""
        start = time.monotonic()
        node.kill()
        self.wait_unreachable(node, start, f"{node.name} ({node.kind}) was killed")
        self.down(node, by)

    def freeze(self, node, seconds):
        """SIGSTOP for a while, in which a short one is not seen, and a long one by all until it is over."""
        what = f"{node.name} ({node.kind}) stands still"
        if seconds > UNREACHABLE:
            self.freeze_long(node, seconds, what)
            return
        for _ in range(TRIES):
            start = time.monotonic()
            node.stop()
            pace(start, seconds)
            node.resume()
            took = time.monotonic() - start
            self.wait_up(f"{node.name} ({node.kind}) stood still for {took:.1f} s")
            if took > seconds + TARDY:
                print(f"{self.toolkit}: {what}: it was to be for {seconds} s: again", flush=True)
            elif self.disturbed(start):
                raise Failed(self.disturbed(start))
            else:
                return
        raise Failed(f"{what}: {TRIES} times longer than {seconds} s, as this test was not run in time")

    def freeze_long(self, node, seconds, what):
        start = time.monotonic()
        others = [other for other in self.nodes if other is not node]

        def seen():
            return next(filter(None, (other.find(f"event ReachableMember {node.address}", start) for other in others)), None)
        node.stop()
        try:
            self.wait_unreachable(node, start, what)
            never(seen, start + seconds - time.monotonic(), what)
        finally:
            node.resume()
        self.wait_up(f"{node.name} ({node.kind}) stood still for {time.monotonic() - start:.1f} s")

    def rest(self):
        """What is left for the next case: two JVM nodes, and who founded. All others leave."""
        for node in [node for node in self.nodes if node.kind == "sherd" and node is not self.seed_node]:
            self.leave(node)
        self.standing = True

    def kill_all(self):
        for node in self.nodes + self.gone:
            if node.alive:
                node.process.kill()
        for node in self.nodes + self.gone:
            node.process.wait()
            node.reader.join(5)

    def show(self):
        for node in self.nodes + self.gone:
            print(f"--- {node.name} ({node.kind} {node.address})")
            lines = [(at, line) for at, line in node.lines if not line.startswith(("status ", "SLF4J"))]
            for at, line in lines[-LOG_LINES:]:
                print(f"{at:10.3f} {line[:400]}")

    def keep(self, folder):
        """Every line of every node, for a look afterwards."""
        os.makedirs(folder, exist_ok=True)
        for node in self.nodes + self.gone[::-1]:  # of two of one name the later one
            path = os.path.join(folder, f"{self.toolkit}-{node.name}.log")
            with open(path if not os.path.exists(path) else f"{path}.before", "w") as file:
                file.writelines(f"{at:10.3f} {line}\n" for at, line in node.lines)


living = []  # clusters of cases that run


def run_cases(programs, jobs, keep):
    """Cases of one toolkit and founder, one after the other on one cluster; after one that failed on a new one. Returns those that passed."""
    cluster, passed = None, []
    for job in jobs:
        toolkit, founder, case = job
        if not cluster:
            cluster = Cluster(programs, toolkit, founder)
            living.append(cluster)
        good = False
        try:
            good = run_case(cluster, case, job is not jobs[-1])
        finally:
            if not good or job is jobs[-1]:
                cluster.kill_all()
                living.remove(cluster)
            if not good:
                cluster.show()
            if keep:
                cluster.keep(os.path.join(keep, f"{case.__name__}-{founder}"))
        if good:
            passed.append(job)
        else:
            cluster = None
    return passed


def run_case(cluster, case, more):
    """True when it passed. more: another one follows on its cluster."""
    name = f"{cluster.toolkit} {case.__name__}, founder {cluster.founder}"
    before = " on the cluster of the case before" if cluster.standing else ""
    start = time.monotonic()
    try:
        case(cluster)
        cluster.check_buried()
        if more:
            cluster.rest()
    except Failed as error:
        print(f"FAILED {name}: {error}", flush=True)
        return False
    except Exception:  # a fault of the case itself: those behind it go on
        print(f"FAILED {name}: {traceback.format_exc()}", flush=True)
        return False
    print(f"ok {name}: {time.monotonic() - start:.0f} s{before}", flush=True)
    return True

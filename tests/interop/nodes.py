"""Starts, observes and damages clusters of nodes of this library and JVM nodes, for the interop
tests.

A kind is "sherd" (node.c), "akka" or "pekko" (jvm/). All nodes read and write the same lines; see
jvm/src/sherd/interop/Node.java."""
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
PATIENCE = 40     # seconds until a step fails; a small cluster needs much less
BEGINNING = 120   # seconds until the first line of a process, such as a JVM on a busy machine
MAKING = 300      # seconds that Maven may take to fetch and build
PAUSE = 3         # seconds that a node may be silent (acceptable-heartbeat-pause)
# Seconds until all nodes see a silent node as unreachable: at most 5.5 for the detector, then
# gossip.
UNREACHABLE = 8
TARDY = 0.2       # seconds by which a short suspension may exceed its time; the detector allows 0.5
TRIES = 3         # tries to make a suspension that is short enough
AT_ONCE = 5       # seconds until a line of a log arrives, also on a busy machine
LOG_LINES = 60    # lines of each node that a failed test shows
SKIPPED = 77      # exit status of a test that was skipped
# Warnings of a node whose peer has ended. The node may find the connection closed before it learns
# that the peer left. JVM nodes log them about each other, too.
ENDED = ["cannot connect", "The connection closed with error"]
# Warnings of nodes of both kinds when a process did not run for a while on a busy machine.
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
    """Checks that the condition does not hold for this time. Fails as soon as it holds, and shows
    the condition's result."""
    end = time.monotonic() + seconds
    while True:
        seen = condition()
        if seen:
            raise Failed(f"{what}: {seen.string if isinstance(seen, re.Match) else seen}")
        if time.monotonic() > end:
            return
        time.sleep(step)


def pace(start, seconds):
    """Sleeps until this number of seconds after `start`, to spread the messages of a case over
    time."""
    time.sleep(max(0.0, start + seconds - time.monotonic()))


def free_ports(count):
    """Returns free ports in ascending order. The node with the lowest address becomes the
    leader."""
    return sorted(free_port() for _ in range(count))


class Programs:
    """The commands that start a node of each kind."""

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
        """Builds the JVM's program if it is missing or old. Returns its class path."""
        for tool in ("java", "javac", "mvn"):
            if not shutil.which(tool):
                raise Skipped(f"{tool} is not installed")
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
        """Runs a node that founds a cluster and leaves, and stores its loaded classes in an
        archive. Other nodes map the archive and start in half the time. A JVM that makes no archive
        is not an error."""
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
            raise Skipped(f"{command[0]} is still running after {MAKING} s; perhaps it cannot reach its repository") from error
        if result.returncode:
            unreachable = re.search("(Could not transfer|Unknown host|.*in offline mode).*", result.stdout)
            if unreachable:
                raise Skipped(f"{command[0]} cannot reach its repository: {unreachable[0]}")
            raise Failed(f"{' '.join(command)}:\n{result.stdout[-3000:]}")


class Node:
    """One process, and all its output lines with the times of their arrival."""

    def __init__(self, cluster, name, kind, port, seeds, settings, also=(), host=HOST, system=SYSTEM):
        self.cluster, self.name, self.kind, self.port, self.system = cluster, name, kind, port, system
        self.address = f"{host}:{port}"
        # all nodes of this process
        self.addresses = [self.address, *(f"127.0.0.1:{other}" for other in also)]
        self.lines = []  # (seconds, line)
        self.times = []  # the times of these lines, for a quick search of the last ones
        self.center = "default"
        protocol = cluster.protocol
        joined = ",".join(f'"{protocol}://{system}@{seed}"' for seed in seeds)
        arguments = [system, f"remote.artery.canonical.port={port}", f"cluster.seed-nodes=[{joined}]", *settings]
        if host != HOST:
            arguments.append(f"remote.artery.canonical.hostname=\"{host}\"")
        if kind == "sherd" and protocol != "akka" and not seeds:
            arguments.append(f"protocol.name={protocol}")  # otherwise the addresses of the seed nodes say it
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
        """Returns the lines since this time."""
        return [line for _, line in self.lines[bisect.bisect_left(self.times, start):]]

    def find(self, pattern, start=0.0):
        """Returns the first match of the pattern in the lines since this time, or None."""
        return next(filter(None, (re.search(pattern, line) for line in self.since(start))), None)

    def expect(self, pattern, start=0.0, seconds=PATIENCE):
        wait(lambda: self.find(pattern, start), f"{self.name} does not print {pattern!r}", seconds)
        return self.find(pattern, start)

    def status(self):
        """Returns the members by address: (status, reachable). If the nodes of the process do not
        all see the same, the result has the extra key "alike". Other parts of the status, such as a
        JVM's leader, are in `said`."""
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
        """Returns the full path of an actor of this node, by default of the node's own actor."""
        return f"{self.cluster.protocol}://{self.system}@{self.address}{actor or self.actor()}"

    def actor(self):
        """Returns the local path of the node's own actor. On a JVM node, its name is one that this
        library can send to."""
        return self.expect("^actor (.*)")[1] if self.kind == "sherd" else "/user/a0000000000000001"

    def uid(self):
        """Returns the uid of this incarnation, as every node prints it."""
        found = self.find(f"event Member.* {re.escape(self.address)} (-?[0-9]+)$")
        if not found:
            raise Failed(f"{self.name} is not a member")
        return found[1]

    def kill(self):
        """Kills the process with SIGKILL."""
        self.process.kill()
        self.process.wait()
        self.reader.join(PATIENCE)

    def memory(self):
        """Returns the resident memory of the process in KiB."""
        with open(f"/proc/{self.process.pid}/status") as file:
            found = re.search("VmRSS:[ \t]*([0-9]+)", file.read())
        if not found:
            raise Failed(f"{self.name} has ended")
        return int(found[1])

    def wait_end(self, what):
        """Waits until the process has ended by itself, with status 0."""
        wait(lambda: not self.alive, f"{what}: {self.name} does not end")
        self.reader.join(PATIENCE)
        if self.process.returncode:
            raise Failed(f"{what}: {self.name} ended with status {self.process.returncode}")

    def stop(self):
        """Suspends the process with SIGSTOP."""
        os.kill(self.process.pid, signal.SIGSTOP)

    def resume(self):
        os.kill(self.process.pid, signal.SIGCONT)


class Cluster:
    """Nodes of both kinds that use the protocol of one JVM toolkit. founder: the kind of node that
    founds the cluster, "jvm" or "sherd", in cases that can do both."""

    def __init__(self, programs, toolkit, founder):
        self.programs, self.toolkit, self.founder = programs, toolkit, founder
        self.protocol = PROTOCOLS[toolkit]
        self.nodes = []  # nodes that are members or join
        self.gone = []
        self.seeds = []   # seed of most nodes of a case: the founder's address
        self.seed_node = None  # the founder, if it is a node of ours that does nothing else
        self.standing = False  # whether the case before has left two JVM nodes
        self.downed = set()  # uids, in the notations of both kinds
        self.settings = ["cluster.downing-provider-class=\"\""]
        self.jvm_settings = []  # settings of JVM nodes only

    def start(self, name, kind, port, seeds, settings=(), also=(), host=HOST, system=SYSTEM):
        """Starts a node. also: ports of more nodes of this library in the same process."""
        common = self.settings if kind == "sherd" else [*self.settings, *self.jvm_settings]
        node = Node(self, name, kind, port, seeds, [*common, *settings], also, host, system)
        self.nodes.append(node)
        wait(lambda: node.find("^(log|actor) ") or not node.alive, f"{name} ({kind}) does not begin", BEGINNING)
        return node

    def drop(self, node):
        """From now on, the checks ignore this node."""
        self.nodes.remove(node)
        self.gone.append(node)

    def wait_views(self, wanted, what, seconds=PATIENCE, without=None):
        """Waits until each node, except `without`, sees this map of addresses to (status,
        reachable). Returns the time in seconds."""
        seen = {}

        def same():
            seen.update({node.name: node.status() for node in self.nodes if node is not without})
            return all(view == wanted for view in seen.values())
        start = time.monotonic()
        wait(same, lambda: f"{what}: expected {wanted}, the nodes see {seen}", seconds, 0.1)
        return time.monotonic() - start

    def wait_up(self, what, seconds=PATIENCE):
        """Waits until every node sees exactly the nodes of this cluster, up and reachable."""
        wanted = {address: ("Up", True) for node in self.nodes for address in node.addresses}
        took = self.wait_views(wanted, what, seconds)
        print(f"{self.toolkit}: {what}: all agree after {took:.1f} s", flush=True)

    def warned(self, start, left=None, slowly=False):
        """Returns a warning or error that a node has logged since this time, or None.

        Ignores warnings of lateness and of closed connections to ended nodes. If `slowly`, also
        ignores all warnings about `left`."""
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
        """Returns the numbers of warnings of lateness since this time: those about nodes of ours,
        and those about JVM nodes."""
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
        """Checks that no node has logged a warning since this time, and that each node logs at
        all."""
        for node in self.nodes:
            if not node.find("^log INFO "):  # its warnings would not arrive either
                raise Failed(f"{node.name} ({node.kind}) logs nothing")
        warning = self.warned(start, left, slowly)
        if warning:
            raise Failed(warning)

    def disturbed(self, start):
        """Returns an event since this time in which a node saw one of these members not up or not
        reachable, or None."""
        uids = {(node.address, node.uid()) for node in self.nodes}
        for node in self.nodes:
            for line in node.since(start):
                event = re.match("event ([A-Za-z]+) ([^ ]+) (-?[0-9]+)$", line)
                if event and event[1] not in GOOD_EVENTS and event.groups()[1:] in uids:
                    return f"{node.name} ({node.kind}): {line}"
        return None

    def holds(self, seconds, what, quiet=True):
        """Checks for this time that all nodes see each other up and reachable and, if `quiet`, log
        no warning. Each node prints its events, so the check also finds a short breach."""
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
        """Checks that no node gets an event about an incarnation after it saw that incarnation
        removed."""
        for node in self.nodes + self.gone:
            removed = set()
            for line in node.since(0):
                event = re.match("event Member([A-Za-z]+) ([^ ]+ -?[0-9]+)$", line)
                if event and event[2] in removed:
                    raise Failed(f"{node.name} ({node.kind}), after it was removed: {line}")
                if event and event[1] == "Removed":
                    removed.add(event[2])

    def check_no_quarantine(self):
        """Checks that no log names a quarantined node, except nodes that were downed."""
        for node in self.nodes + self.gone:
            for line in node.since(0):
                # A quarantine of a downed node that is gone already, or a line of a node that ends.
                ignored = re.search("Quarantine of .* ignored|failed after shutdown.*StopQuarantinedSignal", line)
                if re.search("(?i)quarantin", line) and not ignored and not any(uid in line for uid in self.downed):
                    raise Failed(f"{node.name} ({node.kind}): {line}")

    # ---- leaving, crashing and suspending nodes ----

    def wait_gone(self, node, what, seconds=PATIENCE):
        """Waits until all others see each other up, and no longer see this node."""
        if node in self.nodes:
            self.drop(node)
        self.wait_up(what, seconds)

    def leave(self, node, by=None, slowly=False, quiet=True):
        """Lets a node leave gracefully, by its own command or by that of the node `by`.

        The leader must remove the node because the node has confirmed that it is exiting. Another
        node may see it as unreachable only after it knew that the node is exiting: the node ends at
        once, and the removal takes a round of gossip. slowly: skips this check, because the node
        may end before all others know that it leaves. quiet: checks that no node logs a warning."""
        what = f"{node.name} ({node.kind}) leaves" + (f", by command of {by.name} ({by.kind})" if by else "")
        start = time.monotonic()
        by.say(f"leave {node.address}") if by else node.say("leave")
        self.wait_gone(node, what)
        node.wait_end(what)
        if not slowly:
            self.check_exiting(node, start, what)
        if quiet:
            self.check_quiet(start, node, slowly)

    def check_exiting(self, node, start, what):
        """Checks that all nodes knew that the node exits, and that a leader removed it after its
        confirmation."""
        for other in self.nodes:
            told = [event[1] for event in (re.match(f"event ([A-Za-z]+) {node.address} ", line) for line in other.since(start)) if event]
            if "UnreachableMember" in itertools.takewhile(lambda event: event not in ("MemberExiting", "MemberExited"), told):
                raise Failed(f"{what}: {other.name} ({other.kind}) saw it unreachable before it saw it exiting")
        if all(other.center != node.center for other in self.nodes):
            return  # the leader of another data center removes it without a confirmation
        removed = f"Leader is removing confirmed Exiting node .*@{node.address}]|leader removes.* member={node.address} status=exiting confirmed=yes"
        wait(lambda: any(other.find(removed, start) for other in self.nodes),
             f"{what}: no leader removed it after a confirmed exit", AT_ONCE)

    def wait_unreachable(self, node, start, what, seconds=UNREACHABLE):
        """Waits until all others see this node up and unreachable, and checks that this is not too
        early."""
        wanted = {other.address: ("Up", other is not node) for other in self.nodes}
        self.wait_views(wanted, what, start + seconds - time.monotonic(), without=node)
        took = time.monotonic() - start
        print(f"{self.toolkit}: {what}: unreachable for all after {took:.1f} s", flush=True)
        if took < PAUSE:
            raise Failed(f"{what}: unreachable too early, after {took:.1f} s")

    def end_crash(self, node, seconds=PATIENCE):
        """Waits until the others have removed a killed node without a command."""
        uid = int(node.uid())
        self.downed |= {str(uid), str(uid & (1 << 64) - 1)}
        self.wait_gone(node, f"{node.name} ({node.kind}) was killed", seconds)

    def down(self, node, by):
        """Lets the node `by` down this node, and waits until it is removed."""
        uid = int(node.uid())
        self.downed |= {str(uid), str(uid & (1 << 64) - 1)}
        by.say(f"down {node.address}")
        self.wait_gone(node, f"{by.name} ({by.kind}) downed {node.name} ({node.kind})")

    def restart_at_once(self, node, name, seeds):
        """Kills a node and starts it again on the same port, before a detector notices. Returns the
        new incarnation."""
        uid = int(node.uid())
        # the seed nodes down the old incarnation
        self.downed |= {str(uid), str(uid & (1 << 64) - 1)}
        what = f"{node.name} ({node.kind}) was killed and started again at once"
        node.kill()
        self.drop(node)
        again = self.start(name, node.kind, node.port, seeds)
        self.wait_up(what)
        for other in self.nodes:
            if other.uids[node.address] != again.uid() or again.uid() == str(uid):
                raise Failed(f"{what}: {other.name} sees uid {other.uids[node.address]}; the new one is {again.uid()}, the old one {uid}")
        return again

    def crash(self, node, by):
        """Kills a node, waits until all see it as unreachable, and lets the node `by` down it."""
        start = time.monotonic()
        node.kill()
        self.wait_unreachable(node, start, f"{node.name} ({node.kind}) was killed")
        self.down(node, by)

    def freeze(self, node, seconds):
        """Suspends a node for a while. No node may notice a short suspension. All nodes must see a
        long one until it ends."""
        what = f"{node.name} ({node.kind}) is suspended"
        if seconds > UNREACHABLE:
            self.freeze_long(node, seconds, what)
            return
        for _ in range(TRIES):
            start = time.monotonic()
            node.stop()
            pace(start, seconds)
            node.resume()
            took = time.monotonic() - start
            self.wait_up(f"{node.name} ({node.kind}) was suspended for {took:.1f} s")
            if took > seconds + TARDY:
                print(f"{self.toolkit}: {what}: longer than {seconds} s; tries again", flush=True)
            elif self.disturbed(start):
                raise Failed(self.disturbed(start))
            else:
                return
        raise Failed(f"{what}: {TRIES} times longer than {seconds} s, because this test did not run in time")

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
        self.wait_up(f"{node.name} ({node.kind}) was suspended for {time.monotonic() - start:.1f} s")

    def rest(self):
        """Prepares the cluster for the next case: only two JVM nodes and the founder stay."""
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
        """Writes all lines of all nodes into files of this folder."""
        os.makedirs(folder, exist_ok=True)
        # of two nodes with the same name, the later one first
        for node in self.nodes + self.gone[::-1]:
            path = os.path.join(folder, f"{self.toolkit}-{node.name}.log")
            with open(path if not os.path.exists(path) else f"{path}.before", "w") as file:
                file.writelines(f"{at:10.3f} {line}\n" for at, line in node.lines)


living = []  # clusters of running cases


def run_cases(programs, jobs, keep):
    """Runs cases of one toolkit and founder on one cluster; after a failed case, on a new one.
    Returns the cases that passed."""
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
    """Runs one case. Returns whether it passed. more: whether another case follows on its
    cluster."""
    name = f"{cluster.toolkit} {case.__name__}, founder {cluster.founder}"
    before = " on the cluster of the previous case" if cluster.standing else ""
    start = time.monotonic()
    try:
        case(cluster)
        cluster.check_buried()
        if more:
            cluster.rest()
    except Failed as error:
        print(f"FAILED {name}: {error}", flush=True)
        return False
    except Exception:  # an error of the case itself does not stop the later cases
        print(f"FAILED {name}: {traceback.format_exc()}", flush=True)
        return False
    print(f"ok {name}: {time.monotonic() - start:.0f} s{before}", flush=True)
    return True

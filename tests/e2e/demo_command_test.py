"""Runs ./demo as a user does, in a clone of this tree (a copy if git does not track it) whose path
has a space.

The runs are: two whole ones, of which the second builds nothing; one on a small file with four
nodes and --keep, and --again on its data; --again after an event was deleted, which must fail; and
--kill. Each run is checked by its exit status and its last line. The command is called from another
folder, and does not install packages."""
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import demo_report
from clone import clean_environment, clone, git
from cluster import Failed, end_on_signals, first_flights, lose_one, make_folder, show_logs, wait

RUN_SECONDS = 900  # with the build
FEW, NODES, NODES_AGAIN = 4000, 4, 3
WHOLE = demo_report.LAST_LINES[20000]
SMALL = demo_report.LAST_LINES[FEW]
AGAIN = SMALL.replace(" retried 0", "")
CRASH = WHOLE.replace("retried 0", "retried [1-9][0-9]*")
LOST = AGAIN.replace("lost 0", "lost 1").replace("exact yes", "exact no")


def expect(condition, what):
    if not condition:
        raise Failed(what)


class Command:
    """The command ./demo of a clone."""

    def __init__(self, folder):
        self.folder = folder
        self.place = os.path.join(folder, "a clone")
        self.temporary = os.path.join(folder, "temporary")
        os.mkdir(self.temporary)
        clone(self.place)
        self.environment = {**clean_environment(), "TMPDIR": self.temporary}

    def run(self, status, last, *words):
        """Runs ./demo with these words. Checks the status and the last line, a regular expression.
        Returns the output."""
        begun = time.monotonic()
        process = subprocess.Popen([os.path.join(self.place, "demo"), "--no-install", *words], cwd=self.folder, env=self.environment,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        try:
            text, _ = process.communicate(timeout=RUN_SECONDS)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise
        print(f"./demo {' '.join(words)}: status {process.returncode}, {time.monotonic() - begun:.0f} s\n{text}", flush=True)
        lines = text.splitlines()
        expect(process.returncode == status and lines and re.fullmatch(last, lines[-1]),
               f"./demo {' '.join(words)}: exit status {process.returncode}, not {status} with the last line: {last}")
        return text

    def data(self, name):
        return os.path.join(self.place, "build", "demo-data", name)

    def kept(self):
        """Returns the process ids of the nodes that --keep left running."""
        try:
            with open(self.data("pids")) as file:
                return [int(line) for line in file if self.is_its(int(line))]
        except FileNotFoundError:
            return []

    def is_its(self, pid):
        try:
            return os.readlink(f"/proc/{pid}/exe").startswith(self.place + "/")
        except OSError:
            return False


def run_whole(command):
    """Runs twice; the second run builds nothing. Only build/ changes. No temporary file stays."""
    flights = os.path.join(command.place, "examples", "data", "flights-20k.csv")
    before = git(command.place, "status", "--porcelain")
    demo_report.check_run(command.run(0, WHOLE), flights, 3, False)
    program = os.path.join(command.place, "build", "release", "examples", "airports")
    built = os.stat(program)
    text = command.run(0, WHOLE)
    demo_report.check_run(text, flights, 3, False)
    expect(re.match(r"building\n(ninja: no work to do\.\n)?20000 flights of ", text) and os.path.samestat(built, os.stat(program)) and
           os.stat(program).st_mtime_ns == built.st_mtime_ns, "the second run builds again")
    expect(git(command.place, "status", "--porcelain") == before, "./demo leaves something in the tree")
    expect(not os.listdir(command.temporary), f"./demo leaves {os.listdir(command.temporary)}")


def run_small(command):
    """Options, a relative path and another number of nodes reach the cluster. The printed command
    ends the kept nodes."""
    path = first_flights(command.folder, FEW)
    text = command.run(0, SMALL, "--input", os.path.basename(path), f"--nodes={NODES}", "--keep")
    demo_report.check_run(text, path, NODES, True)
    pids = command.kept()
    expect(len(pids) == NODES, f"--keep left the nodes {pids}, not {NODES}")
    told = re.search(r"^end them: (kill [0-9 ]*[0-9])", text, re.M)
    subprocess.run(["bash", "-c", told[1]], check=True)
    wait(lambda: not command.kept(), "the kept nodes do not end", 60)
    demo_report.check_again(command.run(0, AGAIN, "--again"), path, NODES_AGAIN)


def run_wrong(command):
    """After an event was deleted, the exit status is 1."""
    lose_one(command.data("journal.db"))
    command.run(1, LOST, "--again")


def run_crash(command):
    """The coordinator's node is killed. demo_test.py checks the whole output of such a run."""
    text = command.run(0, CRASH, "--kill")
    expect(re.search("^longest stall of a command: [1-9][0-9]* ms$", text, re.M), "./demo --kill does not print the longest stall")


def run_postgres(command):
    """A private PostgreSQL server is killed and restarted; no command is lost, doubled or sent again."""
    text = command.run(0, WHOLE, "--journal", "postgres")
    expect("the server is killed with SIGKILL" in text and "is stopped and started again" in text, "./demo --journal postgres kills nothing")


def main():
    end_on_signals()
    folder = os.path.realpath(make_folder("demo-command"))
    command = None
    try:
        command = Command(folder)
        for part in (run_whole, run_small, run_wrong, run_crash, run_postgres):
            part(command)
        print("ok")
        return 0
    except (Failed, demo_report.Wrong, subprocess.SubprocessError) as error:
        print(f"FAILED: {error}")
        for place in (os.path.join(command.temporary, name) for name in os.listdir(command.temporary)) if command else ():
            if os.path.isdir(place):
                show_logs(place)
        return 1
    finally:
        for pid in command.kept() if command else ():
            os.kill(pid, signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)


sys.exit(main())

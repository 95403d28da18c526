#!/usr/bin/env python3
"""Tests sherd-sim's command line: its output, refused options, exit statuses, and exact repetition of runs.

usage: command_test.py PROGRAM
"""
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

SMALL = ["--mode", "lite", "--nodes", "3", "--length", "60s"]
failures = []


def run(*words):
    done = subprocess.run([sys.argv[1], *words], capture_output=True, text=True,
                          check=False)
    return done.returncode, done.stdout, done.stderr


def expect(what, good, *seen):
    if not good:
        failures.append(what)
        print("FAILED:", what, *seen, sep="\n  ")


def wrong_options_are_refused():
    for words, said in (
            ([], "no command given"),
            (["frob"], "unknown command frob"),
            (["run"], "--seeds or --time"),
            (["run", "--seeds"], "needs a value"),
            (["run", "--seeds", "x"], "--seeds x: expected A..B|N"),
            (["run", "--seeds", "9..3"], "expected A..B|N"),
            (["run", "--seeds", "0"], "expected A..B|N"),
            (["run", "--seeds", f"3..{2**64 - 1}"], "expected A..B|N"),
            (["zoo", "--max-seeds", f"{2**64 - 1}"], "expected N"),
            (["run", "--frob", "1"], "unknown option --frob"),
            (["run", "--seeds", "3", "--nodes", "0"], "--nodes 0"),
            (["run", "--seeds", "3", "--nodes", "1001"], "--nodes 1001: expected A..B|N, 1 to 1000"),
            (["run", "--seeds", "3", "--nodes", "3,5"], "--nodes 3,5"),
            (["run", "--seeds", "3", "--mode", "blue"],
             "--mode blue: expected MODE: swarm, lite, churn"),
            (["replay", "1", "--mutant", "blue"],
             "--mutant blue: expected NAME: all-downed-in-a-partition, all-downed-too-early, "),
            (["shrink", "1", "--budget", "0s"],
             "--budget 0s: expected TIME, more than 0"),
            (["run", "--seeds", "3", "--until", "5s"], "not for run"),
            (["run", "--seeds", "3", "--set", "nodes"], "NAME=VALUE"),
            (["run", "--seeds", "3", "--set", "nods=3"], "no such option"),
            (["run", "--seeds", "3", "-j", "257"], "--jobs 257: expected N, 1 to 256"),
            (["replay", "3", "--until", "721h"], "expected TIME|event=N, more than 0, at most 720h, as 240s"),
            (["replay", "3", "--until", "event=0"], "expected TIME|event=N"),
            (["replay", "3", "--until", "0s"], "expected TIME|event=N, more than 0"),
            (["run", "--seeds", "3", "--length", "0s"], "expected A..B|TIME, more than 0, at most 720h, as 2m..20m"),
            (["run", "--seeds", "3", "--time", "5"], "--time 5"),
            (["run", "--seeds", "3", "more"], "usage"),
            (["replay"], "usage"),
            (["replay", "x"], "x is not a seed"),
            (["replay", "1", "--schedule", "/nonexistent"], "/nonexistent"),
            (["replay", "1", "--log", "loud"], "--log loud"),
            (["replay", "1", "--dump", "3"], "--dump 3"),
            (["replay", "1", *SMALL, "--dump", "node=3"], "nodes 0 to 2"),
            (["replay", "1", *SMALL, "--log", "level=debug,node=99"],
             "--log node=99"),
            (["shrink", "1", "--budget", "x"], "--budget x"),
            (["bench", "--nodes", "5,x"], "--nodes 5,x"),
            (["scale", "--nodes", "0,5"], "--nodes 0,5")):
        status, out, err = run(*words)
        expect(f"{words}: status 2 and {said!r}",
               status == 2 and said in err and not out and
               err.count("\n") == 1, status, out, err)


def help_tells_every_command():
    status, out, _ = run("--help")
    expect("help names the letters", "  --jobs N, -j N " in out and "  --out FILE, -o FILE " in out, out)
    for words in (["-h"], ["zoo", "-h"], ["replay", "3", "--help"]):
        expect(f"help by {words}", run(*words) == (0, out, ""), run(*words))
    expect("help", status == 0 and all(
        f"sherd-sim {name}" in out
        for name in ("run", "replay", "shrink", "zoo", "cover", "bench", "scale")), out)


def the_manual_names_every_option():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                        "../../docs/man/sherd-sim.1")
    with open(path, encoding="utf-8") as file:
        manual = file.read()
    _, out, _ = run("--help")
    options = re.findall(r"^  --([a-z-]+) ", out, re.M)
    expect("help names options", len(options) >= 15, options)
    for option in options:
        expect(f"the manual tells --{option}",
               re.search(rf"^\.It .*Fl -{option}( |$)", manual, re.M))
    for command in re.findall(r"^  sherd-sim (\w+) ", out, re.M):
        expect(f"the manual tells {command}",
               re.search(rf"^\.It Cm {command}$", manual, re.M))


def a_synopsis_has_the_options_of_its_command():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                        "../../docs/man/sherd-sim.1")
    with open(path, encoding="utf-8") as file:
        synopsis = file.read().split(".Sh SYNOPSIS\n")[1].split(".Sh ")[0]
    which = {"mode", "nodes", "length", "set"}
    _, out, _ = run("--help")
    takes = {}
    for option, on in re.findall(r"^  --([a-z-]+) .*\(([a-z,]+)\)$", out, re.M):
        for command in on.split(","):
            takes.setdefault(command, set()).add(option)
    expect("help names the commands of each option", len(takes) == 7, takes)
    for part in synopsis.split(".Nm\n")[1:]:
        command = re.match(r"\.Cm (\w+)\n", part)[1]
        said = set(re.findall(r"^\.Op Fl -([a-z-]+)", part, re.M))
        said |= {{"j": "jobs", "o": "out"}[letter] for letter in
                 re.findall(r"^\.Op Fl ([a-z]) ", part, re.M)}
        said |= which if ".Op Ar which\n" in part else set()
        expect(f"the synopsis of {command}", said == takes.pop(command, None), said)
    expect("every command has a synopsis", not takes, takes)


def digest(out):
    found = re.search(r"digest ([0-9a-f]{16})", out)
    return found and found[1]


def a_run_is_repeated():
    status, out, _ = run("replay", "7", *SMALL, "--twice")
    _, again, _ = run("replay", "7", *SMALL)
    _, other, _ = run("replay", "8", *SMALL)
    expect("two runs of one process are equal", status in (0, 1) and
           "inv=deterministic-run" not in out and
           f"twice: both runs have the digest {digest(out)}\n" in out, out)
    expect("two processes have one digest", digest(out) and
           digest(out) == digest(again), out, again)
    expect("another seed has another digest", digest(out) != digest(other))


def a_run_that_differs_is_reported():
    for words in (["replay", "1", *SMALL, "--twice"], ["run", "--seeds", "1..2", *SMALL]):
        status, out, _ = run(*words, "--mutant", "runs-share-random-state")
        expect("two runs of one seed differ", status == 1 and
               len(re.findall(r"^FAIL seed=1 inv=deterministic-run ", out, re.M)) == 1, out)
        again = re.search(r"inv=deterministic-run .* \| sherd-sim (replay 1 .*--mutant runs-share-random-state --twice)$", out, re.M)
        expect("the printed command runs twice, with the bug", again, out)
        if again:
            expect("that command finds the difference, too", " inv=deterministic-run " in run(*again[1].split())[1], again[1])
        expect("the difference is a failure", re.search(r"^\d passed, 1 failed$", out, re.M), out)


def a_case_is_repeated():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.case")
        _, out, _ = run("replay", "7", *SMALL, "-o", path)
        _, again, _ = run("replay", "7", "--schedule", path)
        with open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")
        expect("a case repeats its run", digest(out) and
               digest(out) == digest(again), out, again)
        expect("a case names its options", "set nodes=3" in lines, lines)
        with open(path, "a", encoding="utf-8") as file:
            file.write("at 1s frob\n")
        status, _, err = run("replay", "7", "--schedule", path)
        expect("a wrong line is named", status == 2 and
               f"line {len(lines)}: there is no such verb" in err, err)


def a_wrong_case_is_refused():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.case")
        for lines, said in (
                ("at 5s power\nat 5s crash 99\n", "line 2: there is no node 99, the run has nodes 0 to 2"),
                ("# some\n\nat 6s reset 7<>8\n", "line 3: there is no node 8"),
                ("at 7s cut 1>1 for 3s\n", "line 1: no way leads from node 1 to itself"),
                ("at 7s crash 2\nset nodes=2\n", "line 1: there is no node 2, the run has nodes 0 to 1")):
            with open(path, "w", encoding="utf-8") as file:
                file.write(lines)
            for command in ("replay", "shrink"):
                status, out, err = run(command, "3", *SMALL, "--schedule", path)
                expect(f"{command} of {lines!r}", status == 2 and not out and
                       f"{path}: {said}" in err, status, out, err)
        for command in ("replay", "shrink"):
            status, out, err = run(command, "3", *SMALL, "--schedule", folder)
            expect(f"{command} of a folder", status == 2 and not out and
                   f"{folder}: Is a directory" in err, status, out, err)
        with open(path, "w", encoding="utf-8") as file:
            file.truncate((64 << 20) + 1)
        status, _, err = run("replay", "3", *SMALL, "--schedule", path)
        expect("too large a file", status == 2 and "larger than 64 MiB" in err, status, err)


def a_long_path_spoils_no_case():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "long" * 50)
        run("replay", "7", *SMALL, "--until", "2s", "-o", path)
        with open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")
        expect("the comment is a line of its own", lines[1] == "set default" and
               lines[0] == f"# sherd-sim replay 7 --schedule {path}", lines)


def a_shrunk_run_is_repeated_with_its_bug():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "it's a.case")
        status, out, _ = run("shrink", "6", "--mode", "churn", "--nodes", "3..6",
                             "--length", "240s", "--set", "faults_per_hour=300",
                             "--set", "load=5", "--mutant", "older-gossip-wins",
                             "--budget", "1s", "-o", path)
        command = "sherd-sim replay 6 --schedule '" + path.replace("'", "'\\''") + "' --mutant older-gossip-wins"
        with open(path, encoding="utf-8") as file:
            first = file.readline()
        expect("the bug breaks its rule", status == 1 and "inv=member-lifecycle" in out, out)
        expect("the line has the command that repeats the case", re.search(
            rf"^FAIL seed=6 inv=member-lifecycle .* : .+ \| {re.escape(command)}$", out, re.M) and
               out.count("sherd-sim replay") == 1, out)
        expect("the case begins with the same command", first == f"# {command}\n", first)
        status, out, _ = run(*shlex.split(command)[1:])
        expect("that command breaks the rule again", status == 1 and "inv=member-lifecycle" in out and
               all(line.endswith(f" | {command}") for line in out.split("\n")
                   if line.startswith("FAIL")), out)


def shrinking_keeps_the_parts_of_a_world():
    with tempfile.TemporaryDirectory() as folder:
        status, out, _ = run("shrink", "1", "--mode", "store", "--nodes", "3..6",
                             "--length", "120s", "--mutant", "write-replaces-unread-versions",
                             "--budget", "1s", "-o", os.path.join(folder, "a.case"))
        expect("the store's rule is broken", status == 1 and "inv=store-" in out, out)


def first_death(options):
    """Returns a seed whose run dies before it breaks a rule: a change of the cores makes it another."""
    for seed in range(1, 100):
        out = run("replay", str(seed), *options)[1]
        if len(re.findall("^FAIL ", out, re.M)) == 1 and " inv=crash " in out:
            return str(seed)
    return "none"


def a_run_that_dies_is_reported():
    dies = ["--mode", "handoff", "--nodes", "3..6", "--length", "240s..240s",
            "--set", "faults_per_hour=300", "--set", "load=5", "--set", "data_load=0",
            "--set", "remember=0", "--set", "store_us=1000000",
            "--set", "shutdown_region_timeout_ms=1000", "--set", "ask_ms=4401",
            "--mutant", "timer-of-earlier-incarnation-fires"]
    seed = first_death(dies)
    line = (r"^FAIL seed=" + seed + r" inv=crash t=0h\d\dm\d\d\.\ds event=\d+ node=[0-5] : "
            r"ended by signal 6: (?:sherd: )?broken invariant at .*:\d+: .+ \| sherd-sim replay \d+ .+$")
    status, out, err = run("replay", seed, *dies, "--dump", "node=0")
    expect("a replay that dies prints its failure and the summary", status == 1 and
           re.search(line, out, re.M) and out.endswith("\n0 passed, 1 failed\n") and
           not err, status, out, err)
    expect("it prints the state before its death", "\nnode 0: life " in out and "\nmessages  sent " in out and
           out.index("\nmessages  sent ") < out.index("\nFAIL "), out)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.case")
        status, out, _ = run("shrink", seed, *dies, "--budget", "1s", "-o", path)
        expect("the shrunk run has such a failure, too", status == 1 and re.search(line, out, re.M) and
               "the process" not in out, status, out)


def a_rule_broken_before_the_death_is_reported():
    breaks = ["--mode", "handoff", "--nodes", "3..6", "--length", "60s..60s",
              "--set", "faults_per_hour=300", "--mutant", "timer-of-earlier-incarnation-fires"]
    crash = "ended by signal 6: "
    with tempfile.TemporaryDirectory() as folder:
        status, out, _ = run("run", "--seeds", "25..60", "-j", "2", *breaks, "--report", folder)
        lines = [line for line in out.split("\n") if line.startswith("FAIL ")]
        with open(os.path.join(folder, "report.txt"), encoding="utf-8") as file:
            kept = [line for line in file.read().split("\n") if line.startswith("FAIL ")]
        pairs = [(one, two) for one, two in zip(lines, lines[1:])
                 if crash in two and crash not in one and one.split(" ")[1] == two.split(" ")[1]]
        expect("a rule broken before the process dies is printed first", status == 1 and pairs, status, lines)
        expect("the report has each line with its case", lines and [line.split(" | ")[0] for line in kept] ==
               [line.split(" | ")[0] for line in lines], kept, lines)
        for line in kept:
            command = line.split(" | sherd-sim ")[1].split(" ")
            expect("the case exists", os.path.exists(command[3]), line)
        seed = re.search("seed=([0-9]+)", pairs[0][0])[1] if pairs else "1"
        with open(os.path.join(folder, seed + ".case"), encoding="utf-8") as file:
            expect("the case names the first rule", pairs and pairs[0][0].split(" | ")[0] in file.read())
    _, out, _ = run("replay", seed, *breaks)
    expect("a replay prints the first rule first, too", pairs and pairs[0][0].split(" | ")[0] in out and crash in out and
           out.index(pairs[0][0].split(" | ")[0]) < out.index(crash), out)


def a_replay_prints_what_its_options_ask_for():
    _, out, _ = run("replay", "7", *SMALL, "--until", "20s", "--log",
                    "node=1,level=info", "--dump", "node=0")
    expect("log lines of one node", re.search(r"^ +\S+ n1 \w+: ", out, re.M) and
           not re.search(r"^ +\S+ n[02] \w+: ", out, re.M), out)
    expect("a node's state", "node 0: life 1" in out and
           "member n" in out, out)
    expect("the end", "ended early, at 20s" in out, out)
    _, event, err = run("replay", "7", *SMALL, "--until", "event=2000", "--dump", "node=0")
    expect("at an event", re.search(r"ended early, at \d+(\.\d+)?s", event) and "node 0: life 1" in event and not err, event, err)
    status, _, err = run("replay", "7", *SMALL, "--until", "event=99999999999")
    expect("an event that does not happen", status == 2 and "--until event=99999999999: the run has " in err, status, err)
    expect("an early end is neither passed nor failed", out.endswith("\n0 passed, 0 failed\n"), out)
    _, fine, _ = run("replay", "7", *SMALL, "--until", "20s", "--log",
                     "node=1,level=debug")
    expect("debug lines on request", " owned-shards: shard state changed " in fine and
           " owned-shards: shard state changed " not in out and digest(fine) == digest(out), fine)


def a_campaign_is_reported():
    with tempfile.TemporaryDirectory() as folder:
        status, out, err = run("run", "--seeds", "1..4", "-j", "2", *SMALL,
                               "--report", folder)
        last = out.rstrip("\n").split("\n")[-1]
        found = re.fullmatch(r"(\d+) passed, (\d+) failed", last)
        expect("the last line", found and
               int(found[1]) + int(found[2]) == 4, out)
        expect("the exit status agrees with it", found and
               status == (1 if int(found[2]) else 0), status, last)
        expect("no progress into a file", err == "", err)
        expect("lines of the report", all(
            re.search(f"^{word} ", out, re.M)
            for word in ("build", "seeds", "sim time", "faults", "effect", "kinds", "disk", "durable", "members",
                         "shards", "entities", "messages", "work",
                         "verdict", "judged", "waited", "twice", "slowest")), out)
        expect("the build is named", re.search("^build +[0-9a-f]{16}$", out, re.M), out)
        expect("one of a hundred runs twice", " of 1 double runs" in out, out)
        expect("files", {"report.txt", "marks.txt", "cells.txt"} <=
               set(os.listdir(folder)), os.listdir(folder))
        cells_are_reported(folder, out)


def cells_are_reported(folder, out):
    """The matrix of faults and states, in a report and printed from it."""
    with open(os.path.join(folder, "cells.txt"), encoding="utf-8") as file:
        lines = file.read().splitlines()
    cells = [re.fullmatch(r"(\d+) (\d+) (\S+) (\S+) (\S+)", line) for line in lines if not line.startswith("#")]
    expect("lines of cells", cells and all(cells), lines)
    met, struck = (sum(int(cell[which]) > 0 for cell in cells) for which in (1, 2))
    told = f"{met} of {len(cells)} of fault and state met, {struck} of them struck\n"
    expect("some cells are met, not all", 0 < struck <= met < len(cells), met, struck)
    expect("the report counts them", f"\ncells     {told}" in out, out)
    expect("a row for each state", len({(cell[4], cell[5]) for cell in cells}) == sum(
        bool(re.fullmatch(r"# \w+ +[\w-]+ +[#+.]( [#+.])+", line)) for line in lines), lines)
    status, seen, _ = run("cover", folder)
    expect("cover reads reports", status == 0 and f"\n{met} of {len(cells)} cells of fault and state met, {struck} of them struck\n" in seen, seen)
    expect("cells that were never met are named", re.search(r"^never  lease held: crash start", seen, re.M), seen)
    _, twice, _ = run("cover", folder, folder)
    expect("the same report twice gives the same counts", twice == seen, twice)
    with open(os.path.join(folder, "cells.txt"), "a", encoding="utf-8") as file:
        file.write("1 1 crash member lost\n")
    status, _, err = run("cover", folder)
    expect("a malformed line of cells", status == 2 and "cells.txt has a line that is not a cell" in err, err)
    for name in ("cells.txt", "marks.txt"):
        with open(os.path.join(folder, name), "w", encoding="utf-8"):
            pass
        status, seen, err = run("cover", folder)
        expect("an unfinished file", status == 2 and not seen and
               f"{name} is empty" in err, status, seen, err)


def a_fault_without_effect_fails_the_gate():
    gate = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "sim-seeds")
    with tempfile.TemporaryDirectory() as folder:
        program, known = os.path.join(folder, "sim"), os.path.join(folder, "open")
        with open(known, "w", encoding="utf-8"):
            pass
        for void, seeds, wanted in (("", 100, 0), ("void      half-open\\n", 100, 1), ("void      half-open\\n", 99, 0)):
            with open(program, "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\nprintf 'seeds     1..{seeds}\\n{void}{seeds} passed, 0 failed\\n'\n")
            os.chmod(program, 0o755)
            done = subprocess.run([gate, program, known, "--seeds", f"1..{seeds}"], capture_output=True, text=True, check=False,
                                  env={**os.environ, "SHERD_SEED_FIFTHS": ""})
            expect("the gate's status", done.returncode == wanted, done.stdout, done.stderr)
            expect("the gate's last line", done.stdout.endswith(f"\n{seeds} passed, {wanted} failed\n"), done.stdout)
            expect("the gate names the kind of fault", ("half-open: happened" in done.stdout) == bool(wanted), done.stdout)


def reports_that_cannot_be_written_are_errors():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "file")
        with open(path, "w", encoding="utf-8") as file:
            file.write("kept")
        status, out, err = run("run", "--seeds", "1", *SMALL, "--report", path)
        expect("a file in place of a folder is refused before the first seed", status == 2 and
               not out and path in err and err.count("\n") == 1, status, out, err)
        os.symlink("/dev/full", os.path.join(folder, "marks.txt"))
        status, out, err = run("run", "--seeds", "2..2", *SMALL, "--report",
                               folder)
        expect("a report that cannot be written at the end", status == 2 and
               "1 passed, 0 failed" in out and "marks.txt" in err, status, err)
        for words in (["run", "--seeds", "2..2", *SMALL], ["--help"],
                      ["replay", "2", *SMALL, "--until", "2s"],
                      ["scale", "--nodes", "3"]):
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run([sys.argv[1], *words], stdout=full,
                                      stderr=subprocess.PIPE, text=True,
                                      check=False)
            expect(f"{words}: output that cannot be written", done.returncode == 2 and
                   "standard output" in done.stderr, done)


def children(process):
    path = f"/proc/{process}/task/{process}/children"
    with open(path, encoding="utf-8") as file:
        return [int(child) for child in file.read().split()]


def state(process):
    """The letter of a process's state, Z if it has ended, and its processor time in ticks."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8") as file:
            parts = file.read().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return "Z", 0
    return parts[0], int(parts[11])


def waited(holds):
    end = time.monotonic() + 20
    while not holds() and time.monotonic() < end:
        time.sleep(0.02)
    return holds()


def start_long(*words):
    return subprocess.Popen([sys.argv[1], *words, "--mode", "lite", "--nodes", "3",
                             "--length", "20h"], stdout=subprocess.PIPE, text=True)


def a_stopped_command_reports_its_results():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.case")
        words = ["run", "--seeds", "1..100000", "-j", "2", *SMALL, "--report", folder]
        with subprocess.Popen([sys.argv[1], *words], stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
            waited(lambda: len(children(process.pid)) == 2)
            first = set(children(process.pid))
            waited(lambda: len(set(children(process.pid)) - first) > 1)  # so the first ones have ended
            os.killpg(process.pid, signal.SIGINT)  # like a terminal
            out = process.communicate(timeout=60)[0]
        with open(os.path.join(folder, "report.txt"), encoding="utf-8") as file:
            kept = file.read()
        expect("a stopped campaign reports its results", process.returncode == 130 and
               re.search("^[1-9][0-9]* passed, 0 failed$", out, re.M) and "\nstopped " in out and
               "\nverdict " in kept, process.returncode, out, kept)
        expect("cover reads its marks", run("cover", folder)[0] == 0)
        world = ["--mutant", "timer-of-earlier-incarnation-fires", "--nodes", "5", "--length", "10m"]
        seed = re.search(r"^FAIL seed=([0-9]+) ", run("run", "--seeds", "1..100", "--fail-fast", *world)[1], re.M)[1]
        words = ["shrink", seed, *world, "--budget", "300s", "-o", path]
        with subprocess.Popen([sys.argv[1], *words], stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
            waited(lambda: children(process.pid))
            first = children(process.pid)
            waited(lambda: children(process.pid) not in ([], first))  # the first attempt has ended
            os.killpg(process.pid, signal.SIGINT)
            out = process.communicate(timeout=60)[0]
        expect("a stopped shrink keeps its result, if it has any", process.returncode == 130 or
               (process.returncode == 1 and "stopped by a signal" in out and os.path.exists(path)), process.returncode, out)


def workers_end_with_their_parent():
    for words, workers, by in (
            (["run", "--seeds", "1..4", "-j", "2"], 2, signal.SIGTERM),
            (["run", "--seeds", "1..4", "-j", "2"], 2, signal.SIGKILL),
            (["cover", "--seeds", "1..4", "-j", "2"], 2, signal.SIGKILL),
            (["shrink", "1"], 1, signal.SIGKILL),
            (["replay", "1"], 1, signal.SIGKILL),
            (["bench"], 1, signal.SIGKILL)):
        with start_long(*words) as process:
            begun = waited(lambda p=process, n=workers:
                           len(children(p.pid)) == n and
                           all(state(child)[1] > 2 for child in children(p.pid)))
            left = children(process.pid)
            process.send_signal(by)
            ended = waited(lambda l=left: all(state(child)[0] == "Z" for child in l))
            for child in left if not ended else []:
                os.kill(child, signal.SIGKILL)
            expect(f"{words}: workers run, and end with {by.name}", begun and ended, left)


def a_cluster_of_each_size_is_measured():
    status, out, err = run("scale", "--nodes", "3,6")
    lines = re.findall(r"^ +(\d+) nodes  (.{22}) +([\d.]+) s", out, re.M)
    sizes = [int(nodes) for nodes, _, _ in lines]
    expect("two lines of three nodes, six of six", status == 0 and
           sizes == [3] * 2 + [6] * 6 and "FAIL" not in out, out, err)
    expect("times are those of a cluster", all(
        0 < float(seconds) < 60 for _, _, seconds in lines), out)


def main():
    wrong_options_are_refused()
    help_tells_every_command()
    the_manual_names_every_option()
    a_synopsis_has_the_options_of_its_command()
    a_run_is_repeated()
    a_run_that_differs_is_reported()
    a_case_is_repeated()
    a_wrong_case_is_refused()
    a_long_path_spoils_no_case()
    a_shrunk_run_is_repeated_with_its_bug()
    shrinking_keeps_the_parts_of_a_world()
    a_run_that_dies_is_reported()
    a_rule_broken_before_the_death_is_reported()
    a_replay_prints_what_its_options_ask_for()
    a_campaign_is_reported()
    a_fault_without_effect_fails_the_gate()
    reports_that_cannot_be_written_are_errors()
    workers_end_with_their_parent()
    a_stopped_command_reports_its_results()
    a_cluster_of_each_size_is_measured()
    print(f"{len(failures)} failed" if failures else "all passed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

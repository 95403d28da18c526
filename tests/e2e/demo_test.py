"""Tests the demonstration (examples/airports_demo.py).

usage: demo_test.py AIRPORTS PART, where PART is one of:
  whole   a run on the committed flights: exit status 0, the exact last line, and the full output
          (demo_report.py)
  kept    --keep on the smallest file: the nodes keep running, refuse a second run on their data,
          and end on a signal; --again finds all data, and finds a lost event; the progress bar
          appears only on a terminal
  crash   --kill: the same checks, except that commands are sent again
  wrong   a run fails if a move sees too few commands, and if commands are delivered twice
  input   the demonstration and the nodes' program refuse a wrong input file and name the line
or demo_test.py AIRPORTS OPTION..., which runs the smallest file with these options of the
demonstration."""
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys

import demo_report
from cluster import FLIGHTS, ROOT, end_on_signals, first_flights, free_port, is_running, lose_one, make_folder, show_logs, wait

SEEN = {20000: 2000, 4000: 400}  # flights -> commands that each move must see
DEMO = [sys.executable, "-B", os.path.join(ROOT, "examples", "airports_demo.py")]


def output(command, variables={}):
    result = subprocess.run(command, env={**os.environ, **variables}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return result.returncode, result.stdout


def has_terminals():
    """Returns whether the machine has pseudo-terminals. If not, prints what is not tested."""
    try:
        for end in os.openpty():
            os.close(end)
        return True
    except OSError as error:
        print(f"skipped: the progress bar needs a pseudo-terminal; mount devpts at /dev/pts ({error}); "
              "the rest is tested with a pipe", flush=True)
        return False


def output_on_terminal(command):
    """As output(), for a process whose output is a terminal. Lines end with \\r\\n there."""
    terminal, its = os.openpty()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=its, stderr=subprocess.STDOUT)
    os.close(its)
    parts = []
    with contextlib.suppress(OSError):  # the read fails when no process has the terminal open
        while part := os.read(terminal, 65536):
            parts.append(part)
    os.close(terminal)
    return process.wait(), b"".join(parts).decode()


def run(program, folder, count, words=(), on_terminal=False):
    data, path = os.path.join(folder, f"data-{count}"), first_flights(folder, count)
    nodes = int(words[words.index("--nodes") + 1]) if "--nodes" in words else 3
    command = DEMO + ["--program", program, "--input", path, "--data", data, *words]
    code, text = output_on_terminal(command) if on_terminal else output(command)
    shown, text = text, re.sub(r"\r  \[[^\r\n]*", "", text).replace("\r\n", "\n")
    print(text)
    lines = text.splitlines()
    moves = re.findall(r"  (join|leave): .* s, ([0-9]+) commands meanwhile, ([0-9]+) held", text)
    seen = [name for name, commands, held in moves if int(commands) >= SEEN[count] and int(held) > 0]
    if code or not lines or lines[-1] != demo_report.LAST_LINES[count] or seen != ["join", "leave"]:
        print(f"FAILED: exit status {code}, moves {moves}; the last line should be: {demo_report.LAST_LINES[count]}")
        show_logs(data)
        return False
    try:
        demo_report.check_run(text, path, nodes, "--keep" in words)
        if on_terminal:
            demo_report.check_progress(shown, count)
        demo_report.expect(on_terminal or "\r" not in shown, "a progress bar without a terminal")
    except demo_report.Wrong as error:
        print(f"FAILED: {error}")
        return False
    return True


def run_again(command, folder):
    """--again recovers everything. After an event was deleted, it names the wrong airport."""
    code, text = output(command)
    print(text)
    try:
        demo_report.expect(code == 0 and text.endswith("\nflights 4000 commands 8000 lost 0 doubled 0 airports 201 exact yes\n"),
                           f"--again: exit status {code}")
        demo_report.check_again(text, os.path.join(folder, "data-4000", "input.csv"), 4)
    except demo_report.Wrong as error:
        print(f"FAILED: {error}")
        return False
    lose_one(os.path.join(folder, "data-4000", "journal.db"))
    return refused(command, r"\n  [A-Z]{3}: the file says \[.*\], the entity \[.*\]\n(.*\n)*started again: 200 of 201 airports "
                   r"recovered exactly from the journal\nflights 4000 commands 8000 lost 1 doubled 0 airports 201 exact no\n$")


def run_kept(program, folder):
    """Runs --keep on a terminal, if there is one. A second run on the same data is refused. The
    kept nodes end on the printed command. --again starts on the data with its own input, and
    refuses another input."""
    again = DEMO + ["--program", program, "--data", os.path.join(folder, "data-4000"), "--again", "--nodes", "4"]
    pids = []
    try:
        if not run(program, folder, 4000, ["--keep", "--nodes", "2"], on_terminal=has_terminals()):
            return False
        with open(os.path.join(folder, "data-4000", "pids")) as file:
            pids = [int(line) for line in file]
        os.remove(os.path.join(folder, "4000.csv"))  # --keep has made a copy
        end = f"kill {' '.join(map(str, pids))} "
        good = refused(again, rf"2 nodes on the data in .*\n  {end}") and refused(again[:-3] + ["--keep"], end)
        if not all(map(is_running, pids)):
            print(f"FAILED: not all of the kept nodes {pids} are running")
            return False
        for pid in pids:
            os.kill(pid, signal.SIGTERM)
        wait(lambda: not any(map(is_running, pids)), "the kept nodes do not end", 60)
        for name in ("r1", "r2"):
            with open(os.path.join(folder, "data-4000", f"{name}.log")) as file:
                if 'msg="membership stopped" status=exiting' not in file.read():
                    print(f"FAILED: {name} did not leave")
                    good = False
        good = refused(again + ["--input", FLIGHTS], "was made of another file") and good
        return run_again(again, folder) and good
    finally:
        for pid in filter(is_running, pids):
            os.kill(pid, signal.SIGKILL)


def refused(command, wanted):
    code, text = output(command)
    if code == 1 and re.search(wanted, text) and "Traceback" not in text:
        return True
    print(f"FAILED: {command[2:]}: exit status {code}, not 1 with {wanted}: {text}")
    return False


def run_wrong(program, folder):
    """These runs must fail and name the reason."""
    good = True
    for words, wanted in ((["--move-commands", "7000"], r"demo: join: the move saw [0-9]+ commands and held [0-9]+; it must see 7000"),
                          (["--twice", "50"], r"had them already: [1-9][0-9]*\n(.*\n)*flights 4000 .* retried 0 .* exact no\n")):
        data = os.path.join(folder, f"data{words[0]}")
        code, text = output(DEMO + ["--program", program, "--input", first_flights(folder, 4000), "--data", data] + words)
        if code != 1 or not re.search(wanted, text):
            print(f"{text}FAILED: {words}: exit status {code}, not 1 with {wanted}")
            good = False
    return good


def crash_is_shown(text):
    try:
        victim = demo_report.read_table(text, "before the crash")
        victim = next(row[0] for row in victim if row[4])
        rest = [name for name in ("n1", "n2", "n3") if name != victim]
        given = demo_report.Input(FLIGHTS)
        demo_report.check_tables(text, [("before the crash", ["n1", "n2", "n3"]), (f"after {victim} died", rest), ("before the stop", rest)], given)
        demo_report.check_busiest(text, given)
        demo_report.check_order(text, [rf"^{victim}, the coordinator's node, is killed$", r"^  crash: detected, downed and removed after [0-9.]+ s, "
                                       "[0-9]+ commands meanwhile$",
                                       rf"^open commands of {victim}: answered through other nodes at most [0-9]+ ms after",
                                       "^longest stall of a command: [1-9][0-9]* ms$",
                                       "^stopped, started again: 224 of 224 airports recovered exactly from the journal$"])
        missed, opened, stall = (float(re.search(pattern, text, re.M)[1]) for pattern in (
            "removed after ([0-9.]+) s", "answered through other nodes at most ([0-9]+) ms", "^longest stall of a command: ([0-9]+) ms$"))
        # No node sends open commands again before the victim is removed.
        demo_report.expect(missed * 1000 - 100 <= opened <= stall,
                           f"open commands of {victim} waited {opened} ms, the longest stall is {stall} ms, the removal took {missed} s")
    except demo_report.Wrong as error:
        print(f"FAILED: {error}")
        return False
    return True


def run_crash(program, folder):
    code, text = output(DEMO + ["--program", program, "--input", FLIGHTS, "--data", os.path.join(folder, "data-crash"), "--kill"])
    print(text)
    lines = text.splitlines()
    wanted = r"flights 20000 commands 40000 lost 0 doubled 0 retried [1-9][0-9]* airports 224 exact yes"
    if code == 0 and lines and re.fullmatch(wanted, lines[-1]):
        return crash_is_shown(text)
    print(f"FAILED: exit status {code}; the last line should be: {wanted}")
    show_logs(os.path.join(folder, "data-crash"))
    return False


def leftovers(program, folder):
    """A run that a signal ends leaves no temporary file. A run that fails leaves its logs and names
    their folder."""
    temporary = os.path.join(folder, "temporary")
    os.mkdir(temporary)
    good = True
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        process = subprocess.Popen(DEMO + ["--program", program, "--input", FLIGHTS], env={**os.environ, "TMPDIR": temporary},
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   # this process may ignore the signal
                                   preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
        for line in process.stdout:
            if "nodes are up" in line:
                break
        process.send_signal(number)
        process.communicate()
        if process.returncode != 128 + number or os.listdir(temporary):
            print(f"FAILED: after {number.name}: status {process.returncode}, left {os.listdir(temporary)}")
            good = False
    code, text = output(DEMO + ["--program", shutil.which("false"), "--input", FLIGHTS], {"TMPDIR": temporary})
    left = os.listdir(temporary)
    if code != 1 or len(left) != 1 or os.path.join(temporary, left[0]) not in text:
        print(f"FAILED: a run that fails: status {code}, left {left}: {text}")
        good = False
    return good


def with_line(folder, name, lines):
    path = first_flights(folder, 4000)
    changed = os.path.join(folder, name)
    with open(path) as old, open(changed, "w") as new:
        new.write(old.read() + "".join(line + "\n" for line in lines))
    return changed


def with_ends(folder, name, end):
    """Returns the path of a file with other line ends."""
    changed = os.path.join(folder, name)
    with open(first_flights(folder, 4000)) as old, open(changed, "w", newline="") as new:
        new.write(old.read().replace("\n", end))
    return changed


def codes():
    return [f"2001/01/01 00:47,1,1,X{number},Y{number}" for number in range(400)]


def three_airports(folder):
    path = os.path.join(folder, "three.csv")
    with open(path, "w") as file:
        file.write("date,delay,distance,origin,destination\n")
        file.writelines(f"2001/01/01 00:47,1,1,{'ABC'[number % 3]},{'BCA'[number % 3]}\n" for number in range(4000))
    return path


def refusals(program, folder):
    good = True
    cases = [("few", first_flights(folder, 3999), "3999 flights; at least 4000", False),
             ("shards", three_airports(folder), "have 3 airports in 3 of 60 shards; at least 8 shards are needed", False),
             ("quotes", with_line(folder, "q.csv", ['2001/01/01 00:47,66,1750,"DTW",LAS']), "q.csv:4002: quoted fields", True),
             ("airports", with_line(folder, "a.csv", codes()), ": more than 1000 airports", True),
             ("fields", with_line(folder, "f.csv", ["2001/01/01 00:47,66,DTW,LAS"]), "f.csv:4002: not date,delay", True),
             ("long", with_line(folder, "l.csv", ["2" * 238 + ",66,1750,DTW,LAS"]), "l.csv:4002: not date,delay", False),
             ("returns", with_ends(folder, "r.csv", "\r"), "r.csv:1: the first line must be", False),
             ("return", with_line(folder, "s.csv", ["2001/01/01 00:47,66,1750,DTW,LAS\rX"]), "s.csv:4002: a carriage return", False),
             ("zero", with_line(folder, "z.csv", ["2001/01/01 00:47\0,66,1750,DTW,LAS"]), "z.csv:4002: a carriage return or a zero", False)]
    for name, path, wanted, of_program in cases:
        runs = [DEMO + ["--check-input", "--input", path]]
        if of_program:
            runs.append([program, "--port", str(free_port()), "--journal", os.path.join(folder, "j.db"), "--input", path])
        for command in runs:
            code, text = output(command)
            if code != 1 or wanted not in text:
                print(f"FAILED: {name}: exit status {code}, not 1 with \"{wanted}\": {text}")
                good = False
    code, text = output(DEMO + ["--check-input", "--input", with_ends(folder, "w.csv", "\r\n")])
    if code:
        print(f"FAILED: lines that end with \\r\\n: {text}")
        good = False
    return good


def left_by_keep(folder):
    """Returns a folder with the files that --keep leaves; the journal and the logs have wrong
    content."""
    data = os.path.join(folder, "data-left")
    os.makedirs(data)
    shutil.copyfile(first_flights(folder, 4000), os.path.join(data, "input.csv"))
    for name in ("journal.db", "n1.log", "r2.log"):
        shutil.copyfile(os.path.join(data, "input.csv"), os.path.join(data, name))
    return data


def inputs_are_kept(folder):
    """A new run with --keep removes the files of an earlier one, but never its own input."""
    data = left_by_keep(folder)
    link = os.path.join(folder, "link.csv")
    os.symlink(os.path.join(data, "input.csv"), link)
    command = DEMO + ["--program", shutil.which("false"), "--keep", "--data", data, "--input"]
    good = refused(command + [os.path.join(data, "r2.log")], "r2.log: a new run with --keep removes it")
    if len(os.listdir(data)) != 4:
        print(f"FAILED: a refused run changed the folder: {os.listdir(data)}")
        good = False
    for path in (os.path.join(data, "input.csv"), link):
        good = refused(command + [path], f"^4000 flights of {re.escape(path)}, ") and good
        if not os.path.exists(path) or "journal.db" in os.listdir(data):
            print(f"FAILED: after --input {path}: {os.listdir(data)}")
            good = False
    return good


PARTS = {"whole": lambda program, folder: run(program, folder, 20000), "kept": run_kept, "crash": run_crash, "wrong": run_wrong,
         "input": lambda program, folder: refusals(program, folder) and inputs_are_kept(folder) and leftovers(program, folder)}


def main():
    end_on_signals()
    folder = make_folder("demo")
    try:
        program, words = sys.argv[1], sys.argv[2:]
        good = PARTS[words[0]](program, folder) if words[0] in PARTS else run(program, folder, 4000, words)
        return 0 if good else 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)


sys.exit(main())

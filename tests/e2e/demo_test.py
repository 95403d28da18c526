"""The whole demonstration on the committed flights, and on the fewest that it takes: exit status 0 and the exact last line. The one
with a crash: the same, but for commands that are sent again. Files that will not do are refused, by the demonstration and by the program of its nodes, with the place."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

from cluster import FLIGHTS, ROOT, free_port, show_logs

RUNS = {20000: "flights 20000 commands 40000 lost 0 doubled 0 retried 0 airports 224 exact yes",
        4000: "flights 4000 commands 8000 lost 0 doubled 0 retried 0 airports 201 exact yes"}
DEMO = [sys.executable, "-B", os.path.join(ROOT, "examples", "airports_demo.py")]


def output(command):
    result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return result.returncode, result.stdout


def first_flights(folder, count):
    path = os.path.join(folder, f"{count}.csv")
    with open(FLIGHTS) as whole, open(path, "w") as part:
        part.writelines(line for _, line in zip(range(count + 1), whole))
    return path


def run(program, folder, count):
    data = os.path.join(folder, f"data-{count}")
    code, text = output(DEMO + ["--program", program, "--input", first_flights(folder, count), "--data", data])
    print(text)
    lines = text.splitlines()
    if code == 0 and lines and lines[-1] == RUNS[count]:
        return True
    print(f"FAILED: exit status {code}; the last line should be: {RUNS[count]}")
    show_logs(data)
    return False


def run_crash(program, folder):
    code, text = output(DEMO + ["--program", program, "--input", FLIGHTS, "--data", os.path.join(folder, "data-crash"), "--kill"])
    print(text)
    lines = text.splitlines()
    wanted = r"flights 20000 commands 40000 lost 0 doubled 0 retried [1-9][0-9]* airports 224 exact yes"
    if code == 0 and lines and re.fullmatch(wanted, lines[-1]) and "longest stall of a command: " in text:
        return True
    print(f"FAILED: exit status {code}; the last line should be: {wanted}")
    show_logs(os.path.join(folder, "data-crash"))
    return False


def with_line(folder, name, lines):
    path = first_flights(folder, 4000)
    changed = os.path.join(folder, name)
    with open(path) as old, open(changed, "w") as new:
        new.write(old.read() + "".join(line + "\n" for line in lines))
    return changed


def codes():
    return [f"2001/01/01 00:47,1,1,X{number},Y{number}" for number in range(400)]


def refusals(program, folder):
    good = True
    cases = [("few", first_flights(folder, 3999), "3999 flights; at least 4000", False),
             ("quotes", with_line(folder, "q.csv", ['2001/01/01 00:47,66,1750,"DTW",LAS']), "q.csv:4002: quoted fields", True),
             ("airports", with_line(folder, "a.csv", codes()), ": more than 1000 airports", True),
             ("fields", with_line(folder, "f.csv", ["2001/01/01 00:47,66,DTW,LAS"]), "f.csv:4002: not date,delay", True)]
    for name, path, wanted, of_program in cases:
        runs = [DEMO + ["--check-input", "--input", path]]
        if of_program:
            runs.append([program, "--port", str(free_port()), "--journal", os.path.join(folder, "j.db"), "--input", path])
        for command in runs:
            code, text = output(command)
            if code != 1 or wanted not in text:
                print(f"FAILED: {name}: exit status {code}, not 1 with \"{wanted}\": {text}")
                good = False
    return good


def main():
    folder = tempfile.mkdtemp(prefix="sherd-demo-")
    try:
        good = refusals(sys.argv[1], folder)
        return 0 if all([good] + [run(sys.argv[1], folder, count) for count in RUNS] + [run_crash(sys.argv[1], folder)]) else 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)


sys.exit(main())

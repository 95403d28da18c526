"""Tests the payment service of examples/merchant.c: money moves through kills, moves and restarts of the
database, and merchant_check.py, which proves that no cent is lost or made, finds a journal in which one is.

usage: merchant_test.py MERCHANT [--kills N] [--journal postgres]"""
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples")
sys.path.insert(0, EXAMPLES)
import postgres_server  # noqa: E402

SKIPPED = 77


def run(name, *words):
    """Runs a program of the examples, and shows its lines at once. Returns its exit status and the lines."""
    lines = []
    with subprocess.Popen([sys.executable, "-B", os.path.join(EXAMPLES, name), *words], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True) as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line.rstrip("\n"))
    return process.returncode, lines


def expect(condition, what):
    if not condition:
        sys.exit(f"merchant_test.py: {what}")


def a_changed_journal_is_found(folder, orders):
    """Takes one event away, and then stores one twice, in a copy of the journal."""
    copy = os.path.join(folder, "copy.db")
    for change, words in (("DELETE FROM event WHERE (entity, seq) = (SELECT v.entity, v.seq FROM event v JOIN entity e ON e.id = v.entity "
                           "WHERE e.pid LIKE 'Merchant|%' AND substr(hex(v.record), 3, 2) = '02' LIMIT 1)", "lost 1 doubled 0"),
                          ("INSERT INTO event (entity, seq, record) SELECT v.entity, 1000000, v.record FROM event v JOIN entity e "
                           "ON e.id = v.entity WHERE e.pid LIKE 'Customer|%' AND substr(hex(v.record), 3, 2) = '04' LIMIT 1",
                           "doubled 1")):
        for ending in ("", "-wal"):
            if os.path.exists(os.path.join(folder, "journal.db" + ending)):
                shutil.copy(os.path.join(folder, "journal.db" + ending), copy + ending)
        database = sqlite3.connect(copy)
        expect(database.execute(change).rowcount == 1, "no event was changed")
        database.commit()
        database.close()
        status, lines = run("merchant_check.py", copy, orders)
        expect(status == 1 and words in lines[0], f"the checker did not find: {change}")


def main():
    program, options = sys.argv[1], sys.argv[2:]
    if "postgres" in options and not postgres_server.programs():
        print("no PostgreSQL server is installed")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="merchant-") as folder:
        status, lines = run("merchant_demo.py", program, "--keep", folder, *options)
        expect(status == 0, f"the demonstration ended with {status}; the nodes' last warnings:\n{warnings(folder)}")
        last = lines[-1].split()
        expect(last[0] == "orders" and int(last[1]) > 0, "the checker counted no orders")
        if "postgres" not in options:
            a_changed_journal_is_found(folder, last[1])
    return 0


def warnings(folder):
    lines = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(".log"):
            with open(os.path.join(folder, name), errors="replace") as file:
                lines += [f"{name}: {line}" for line in file.read().splitlines() if "level=info" not in line][-10:]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())

"""Tests the guide docs/guide/finding-faults.md: the command finds each prepared fault, with the words of the guide.

usage: faults_test.py FAULTS SHERD     (the program examples/guide/faults, and the command)"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from checks import PATIENCE, eventually, expect, verdict
from cluster import ROOT

CRITICAL = 7
# The words of the program for each fault, and the question that finds it.
FAULTS = {
    "misspelt": ("this node has registered no such entity type", "message", "Crat", "cart-1"),
    "blocked": ("no answer", "message", "Cart", "cart-1"),
    "waiting": ("the node is not up", "node",),
    "rejected": ("undelivered", "message", "Cart", "cart-1"),
}
# Numbers, addresses and times differ from those of the guide.
DIFFER = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z|\d+\.\d+\.\d+\.\d+:\d+|\b\d+\b")


def same_words(text):
    return [DIFFER.sub("#", line.rstrip()) for line in text.splitlines()]


def guide_answers():
    """The answers of the guide by command."""
    with open(os.path.join(ROOT, "docs", "guide", "finding-faults.md")) as file:
        blocks = re.findall(r"```\n(\$ .*?)```", file.read(), re.DOTALL)
    answers = {}
    for block in blocks:
        for part in block.split("$ ")[1:]:
            command, _, text = part.partition("\n")
            answers.setdefault(command, []).append(text)
    return answers


def explain(*words):
    done = subprocess.run([sys.argv[2], "explain", *words], capture_output=True, text=True, timeout=PATIENCE)
    return done.returncode, done.stdout


def the_fault_is_found(fault, log, answers):
    said, *words = FAULTS[fault]
    with open(log, "w") as out:
        program = subprocess.Popen([sys.argv[1], fault], stdout=out, stderr=subprocess.STDOUT)
    def has_said():
        with open(log) as file:
            return said in file.read()
    eventually(has_said, f"the program tells of the fault {fault}")
    wanted = [same_words(text) for text in answers["sherd explain " + " ".join(words)]]
    got, status = [], []
    def has_found():
        code, text = explain(*words)
        got[:], status[:] = same_words(text), [code]
        return got in wanted
    eventually(has_found, f"and the command finds it with the words of the guide {fault}")
    if got not in wanted:
        print(*got, sep="\n")
    if fault != "waiting":
        expect(status == [CRITICAL], f"its exit status says so {status}")
    else:
        expect("S2" in explain("message", "Cart", "cart-1")[1], "which the first question leads to")
    program.send_signal(signal.SIGINT)
    expect(program.wait(PATIENCE) == 0, "the program ends")


def main():
    folder = tempfile.mkdtemp(prefix="sherd-faults-")
    os.environ["RUNTIME_DIRECTORY"] = folder
    answers = guide_answers()
    for fault in FAULTS:
        the_fault_is_found(fault, os.path.join(folder, fault + ".log"), answers)
    shutil.rmtree(folder)
    return verdict()


sys.exit(main())

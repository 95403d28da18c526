"""Implements --keep and --again of airports_demo.py. --keep leaves the nodes running, with their
journal and a copy of the input. --again starts on that journal."""
import filecmp
import os
import re
import shutil

PIDS = "pids"        # file with the process ids of the nodes that were left running
INPUT = "input.csv"  # copy of the input, with which --again compares


class Refused(Exception):
    pass


def running(data):
    """Returns the process ids of the nodes that a run with --keep left running on this folder."""
    try:
        with open(os.path.join(data, PIDS)) as file:
            pids = file.read().split()
    except FileNotFoundError:
        return []
    return [pid for pid in pids if is_node(pid)]


def is_node(pid):
    try:
        program = os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return False  # the process has ended, or belongs to another user
    # " (deleted)" means that the program was rebuilt meanwhile.
    return os.path.basename(program.removesuffix(" (deleted)")) == "airports"


def how_to_end(pids):
    return (f"kill {' '.join(map(str, pids))}    (the nodes leave the cluster and end within seconds; "
            "within minutes if one of them was killed)")


def check(options, given):
    """Refuses a run that would harm kept data or compare it with another file. given: whether
    --input was given.

    Returns the path of the input to read."""
    pids = running(options.data)
    if pids:
        raise Refused(f"the cluster of an earlier --keep is still running: {len(pids)} nodes on the data in {options.data}; "
                     f"end it first:\n  {how_to_end(pids)}")
    if not options.again:
        for path in ours(options.data):
            if os.path.basename(path) != INPUT and is_same(path, options.input):
                raise Refused(f"--input {options.input}: a new run with --keep removes it; copy the file to another folder first")
        return options.input
    kept = os.path.join(options.data, INPUT)
    if not os.path.exists(kept):
        raise Refused(f"there is no kept data in {options.data}: run with --keep first")
    if given and not filecmp.cmp(options.input, kept, shallow=False):
        raise Refused(f"--input {options.input}: the kept journal was made of another file; {kept} is a copy of it, and --again "
                     "compares with that copy: leave --input out")
    return kept


def ours(data):
    """Returns the paths of all files that a run with --keep leaves in this folder. The folder may
    contain other files."""
    names = os.listdir(data) if os.path.isdir(data) else []
    return [os.path.join(data, name) for name in names
            if re.fullmatch(rf"journal\.db.*|[nr][0-9]+\.log|{PIDS}|{re.escape(INPUT)}", name)]


def is_same(old, path):
    return os.path.exists(old) and os.path.samefile(old, path)


def clear(data, path):
    """Removes the files of an earlier run with --keep, except `path`, the input of the new run."""
    for old in ours(data):
        if not is_same(old, path):
            os.remove(old)


def leave_running(demo):
    """Leaves the nodes running after the demonstration ends, and prints how to end them."""
    kept = os.path.join(demo.data, INPUT)
    if not is_same(kept, demo.input):
        shutil.copyfile(demo.input, kept)
    pids = [node.process.pid for node in demo.nodes]
    with open(os.path.join(demo.data, PIDS), "w") as file:
        file.writelines(f"{pid}\n" for pid in pids)
    for node in demo.nodes:
        node.say("keep")
        node.process.stdin.close()
    print(f"left running: {len(pids)} nodes, {' '.join(node.address for node in demo.nodes)}; journal and logs in {demo.data}")
    print(f"end them: {how_to_end(pids)}")

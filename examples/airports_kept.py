"""What --keep leaves, and --again starts on: nodes that go on by themselves, their journal, and the input that it was made of. See
airports_demo.py."""
import filecmp
import os
import re
import shutil

PIDS = "pids"        # of the nodes that go on
INPUT = "input.csv"  # a copy: whoever starts again compares with what was fed, wherever that file is by then


class Refused(Exception):
    pass


def running(data):
    """Pids of the nodes that a run with --keep left in that folder."""
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
        return False  # it has ended, or belongs to somebody else
    return os.path.basename(program.removesuffix(" (deleted)")) == "airports"  # deleted: it was built anew since


def how_to_end(pids):
    return (f"kill {' '.join(map(str, pids))}    (they leave the cluster, and end within seconds; "
            "within minutes where one of them was killed)")


def check(options, given):
    """Refuses what would harm kept data, or be compared with the wrong file. given: --input was. Returns the file to read."""
    pids = running(options.data)
    if pids:
        raise Refused(f"the cluster that --keep left is still running, {len(pids)} nodes on the data in {options.data}; "
                     f"end it first:\n  {how_to_end(pids)}")
    if not options.again:
        for path in ours(options.data):
            if os.path.basename(path) != INPUT and is_same(path, options.input):
                raise Refused(f"--input {options.input}: a new run with --keep removes it; copy it to another folder first")
        return options.input
    kept = os.path.join(options.data, INPUT)
    if not os.path.exists(kept):
        raise Refused(f"nothing was kept in {options.data}: run with --keep first")
    if given and not filecmp.cmp(options.input, kept, shallow=False):
        raise Refused(f"--input {options.input}: the kept journal was made of another file, of which {kept} is a copy; --again "
                     "compares with that: leave --input out")
    return kept


def ours(data):
    """What a run with --keep leaves in that folder, as paths; what else is in it is none of ours."""
    names = os.listdir(data) if os.path.isdir(data) else []
    return [os.path.join(data, name) for name in names
            if re.fullmatch(rf"journal\.db.*|[nr][0-9]+\.log|{PIDS}|{re.escape(INPUT)}", name)]


def is_same(old, path):
    return os.path.exists(old) and os.path.samefile(old, path)


def clear(data, path):
    """For a new run with --keep, which reads the file at `path`: that stays."""
    for old in ours(data):
        if not is_same(old, path):
            os.remove(old)


def leave_running(demo):
    """Its nodes go on without it."""
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

#!/usr/bin/env python3
"""Checks that shipped libraries and the sources outside the simulator contain nothing of the zoo.

usage: zoo_kept_test.py SRC ZOO_ARCHIVE SHIPPED...
The archive with the zoo must show the signs that the others must not show, so the test can detect them.
"""
import os
import re
import subprocess
import sys

SIGNS = re.compile(r"\bzoo_|\bbound_broken\b|\bmark_here\b|\bmark_at\b|\bsherd_marks\b")


def signs(path):
    """The signs of the zoo in a library's symbols and sections."""
    text = ""
    for command in (["readelf", "-sW", path], ["readelf", "-SW", path]): # nm would list less in an archive for link-time optimization
        text += subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return sorted(set(SIGNS.findall(text)))


def sources(src):
    for folder, _, names in sorted(os.walk(src)):
        for name in sorted(names):
            if name.endswith((".c", ".h")):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    yield os.path.relpath(path, src), file.read()


def main(src, zoo, shipped):
    wrong = []
    if set(signs(zoo)) != {"zoo_", "bound_broken", "mark_here", "mark_at", "sherd_marks"}:
        wrong.append(f"{zoo}: shows {signs(zoo)} only")
    words = set()
    for name, text in sources(src):
        if not name.startswith("sim/"):
            wrong += [f"src/{name}: {line.strip()}" for line in text.split("\n") if re.search("zoo", line, re.I)]
        if name not in ("base/mark.h", "base/bound.h"):
            words |= set(re.findall(r'\b(?:REACHED|SOMETIMES|BOUNDED)\(\s*"([^"]+)"', text))
    for path in shipped:
        wrong += [f"{path}: {sign}" for sign in signs(path)]
        with open(path, "rb") as file:
            data = file.read()
        wrong += [f"{path}: {word}" for word in sorted(words) if word.encode() in data]
    if not words:
        wrong.append("no mark is listed")
    for line in wrong:
        print(line)
    print(f"{len(words)} marks, {len(shipped)} libraries without them: {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))

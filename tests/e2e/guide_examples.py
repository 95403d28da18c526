"""Checks that the C code in docs/guide/*.md is the code of compiled programs, and runs those
programs that can run alone.

usage: guide_examples.py BUILD [GUIDE.md...]   (default: all guides)
       guide_examples.py --self-test

How to quote code in a guide:

1. Write a complete program, examples/guide/NAME.c. CMake compiles every file there to the program
   NAME of BUILD/examples/guide. It links the library, or the simulator if the file includes
   <sherd/sim.h>.
2. Mark a part of the file as a region. Regions may nest or overlap. A name is used once in a file:

       /* [tell] */
       ... lines ...
       /* [tell end] */

3. Quote the region in the guide. The line before the block names the file and the region; readers
   do not see it:

       <!-- examples/guide/NAME.c [tell] -->
       ```c
       ... the same lines ...
       ```

   Without a region the block is the whole file: <!-- examples/guide/NAME.c -->
   The lines must be equal after these changes to the file's text: lines with a marker are left out;
   the indentation that all lines share is removed; empty lines at both ends are removed. A guide
   can quote any file of the tree that the build compiles, and every header of include/sherd.
4. Every block of a guide that begins with ```c must have such a line. Other blocks (shell, cmake,
   hocon, text) are not checked. A guide must quote every region of examples/guide.
5. A program that can run alone has one or more comments of this form. Each is one run, in an empty
   folder, and must end with status 0 within 60 s. The texts after a < are the lines of its standard
   input, which is empty otherwise:

       /* [run] */
       /* [run: --once 3] */
       /* [run: 65535 < ask home; status] */

   Such a program listens on a free port (SHERD_PORT_ANY, 65535), so that several tests can run at
   the same time.
"""
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RUN_SECONDS = 60
QUOTE = re.compile(r"<!-- (\S+\.[ch])(?: \[([^\]]+)\])? -->")
MARKER = re.compile(r"\s*/\* \[([^\]]+)\] \*/")
FENCE = re.compile(r"(`{3,})\s*(\S*)")


def tidy(lines):
    """Returns the lines as a guide shows them: without shared indentation and empty lines at the
    ends."""
    return textwrap.dedent("\n".join(lines)).strip("\n").split("\n")


def is_run(name):
    return name == "run" or name.startswith("run:")


def read_run(text):
    """Returns the arguments and the standard input of one run."""
    arguments, _, lines = text.partition("<")
    return shlex.split(arguments), "".join(line.strip() + "\n" for line in lines.split(";") if line.strip())


def read_source(text):
    """Returns the regions of a file by name (None: the whole file), the runs, and the errors of its
    markers."""
    lines, regions, open_regions, runs, errors = [], {}, {}, [], []
    for number, line in enumerate(text.splitlines(), 1):
        marker = MARKER.fullmatch(line)
        if not marker:
            lines.append(line)
            continue
        name = marker.group(1)
        if is_run(name):
            runs.append(read_run(name[len("run:"):]))
        elif not name.endswith(" end"):
            if name in open_regions or name in regions:
                errors.append(f"line {number}: the region [{name}] begins a second time")
            open_regions[name] = len(lines)
        elif name[:-len(" end")] in open_regions:
            name = name[:-len(" end")]
            regions[name] = tidy(lines[open_regions.pop(name):])
        else:
            errors.append(f"line {number}: [{name}] ends a region that is not open")
    errors += [f"the region [{name}] has no end" for name in open_regions]
    regions[None] = tidy(lines)
    return regions, runs, errors


def blocks(text):
    """Returns a guide's fenced blocks: (line, language, the text of the line before, lines)."""
    found, before, fence = [], "", None
    for number, line in enumerate(text.splitlines(), 1):
        match = FENCE.match(line)
        if fence:
            if match and not match.group(2) and len(match.group(1)) >= len(fence):
                fence = None
            else:
                found[-1][3].append(line)
        elif match:
            fence = match.group(1)
            found.append((number, match.group(2), before, []))
        before = line
    return found


def first_difference(shown, written):
    for line, (a, b) in enumerate(zip(shown, written), 1):
        if a != b:
            return f"line {line} of the block is\n    {a}\nand in the file it is\n    {b}"
    return f"the block has {len(shown)} lines, the file has {len(written)}"


def check_guide(guide, text, source, quoted):
    """Compares each C block with its file. Returns the errors.

    source(path) returns the file's text, or raises OSError or ValueError with the reason. Adds each
    quoted (path, region) to the set `quoted`."""
    errors = []
    for number, language, before, lines in blocks(text):
        if language != "c":
            continue
        where = f"{guide}:{number}"
        quote = QUOTE.fullmatch(before.strip())
        if not quote:
            errors.append(f"{where}: the line before a C block must name its file: <!-- examples/guide/NAME.c [REGION] -->")
            continue
        path, region = quote.groups()
        try:
            regions = read_source(source(path))[0]
        except (OSError, ValueError) as error:
            errors.append(f"{where}: {path}: {error}")
            continue
        if region not in regions:
            errors.append(f"{where}: {path} has no region [{region}]")
            continue
        quoted.add((path, region))
        shown = tidy(lines)
        if shown != regions[region]:
            errors.append(f"{where}: differs from {path}{f' [{region}]' if region else ''}: "
                          f"{first_difference(shown, regions[region])}")
    return errors


def compiled_files(build):
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        return {os.path.realpath(os.path.join(entry["directory"], entry["file"])) for entry in json.load(file)}


def source_of(compiled):
    def source(path):
        full = os.path.join(ROOT, path)
        is_header = path.startswith("include/sherd/") and path.endswith(".h")
        if not is_header and os.path.exists(full) and os.path.realpath(full) not in compiled:
            raise ValueError("the build does not compile this file")
        with open(full, encoding="utf-8") as file:
            return file.read()
    return source


def run(program, arguments, standard_input=""):
    """Runs a program in an empty folder. Returns the errors."""
    command = shlex.join([os.path.basename(program), *arguments])
    with tempfile.TemporaryDirectory(prefix="sherd-guide-") as folder:
        try:
            ended = subprocess.run([program, *arguments], cwd=folder, input=standard_input.encode(), stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, timeout=RUN_SECONDS, check=False)
        except OSError as error:
            return [f"{command}: {error}"]
        except subprocess.TimeoutExpired as late:
            return [f"{command}: still running after {RUN_SECONDS} s\n{(late.output or b'').decode(errors='replace')}"]
    if ended.returncode:
        return [f"{command}: ended with status {ended.returncode}\n{ended.stdout.decode(errors='replace')}"]
    return []


def check(build, guides):
    compiled = compiled_files(build)
    quoted, errors, counts = set(), [], [0, 0]
    for guide in guides:
        with open(guide, encoding="utf-8") as file:
            text = file.read()
        counts[0] += sum(language == "c" for _, language, _, _ in blocks(text))
        errors += check_guide(os.path.relpath(guide, ROOT), text, source_of(compiled), quoted)
    folder = os.path.join(ROOT, "examples", "guide")
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".c"):
            continue
        path = f"examples/guide/{name}"
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            regions, runs, wrong = read_source(file.read())
        errors += [f"{path}: {text}" for text in wrong]
        if len(guides) == len(all_guides()):
            errors += [f"{path}: no guide quotes the region [{region}]" for region in regions
                       if region and (path, region) not in quoted]
        for arguments, standard_input in runs:
            counts[1] += 1
            errors += run(os.path.join(build, "examples", "guide", name[:-len(".c")]), arguments, standard_input)
    return errors, counts


def all_guides():
    folder = os.path.join(ROOT, "docs", "guide")
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".md")]


def self_test():
    source = "/* [run: -n 'a b' < c d; e] */\n/* [run] */\nint a;\n\n    /* [one] */\n    b;\n    /* [two] */\n        c;\n    /* [one end] */\n" \
             "    d;\n    /* [two end] */\n"
    regions, runs, errors = read_source(source)
    assert not errors and runs == [(["-n", "a b"], "c d\ne\n"), ([], "")]
    assert regions["one"] == ["b;", "    c;"] and regions["two"] == ["    c;", "d;"]
    assert regions[None] == ["int a;", "", "    b;", "        c;", "    d;"]
    assert len(read_source("/* [a] */\n/* [b end] */\n")[2]) == 2
    assert len(read_source("/* [a] */\n/* [a end] */\n/* [a] */\n/* [a end] */\n")[2]) == 1

    def wrong(guide):
        def read(path):
            if path != "x.c":
                raise ValueError("not compiled")
            return source
        return check_guide("g.md", guide, read, set())

    assert not wrong("text\n```sh\nls\n```\n\n<!-- x.c [one] -->\n```c\nb;\n    c;\n```\n")
    assert not wrong("<!-- x.c -->\n```c\nint a;\n\n    b;\n        c;\n    d;\n```\n")
    assert "must name" in wrong("```c\nb;\n```\n")[0]
    assert "no region" in wrong("<!-- x.c [three] -->\n```c\nb;\n```\n")[0]
    assert "line 2" in wrong("<!-- x.c [one] -->\n```c\nb;\n    C;\n```\n")[0]
    assert "has 1 lines" in wrong("<!-- x.c [one] -->\n```c\nb;\n```\n")[0]
    assert "not compiled" in wrong("<!-- y.c -->\n```c\nb;\n```\n")[0]
    assert not run(sys.executable, ["-c", "pass"])
    assert not run(sys.executable, ["-c", "assert input() == 'x'"], "x\n")
    assert "status 3" in run(sys.executable, ["-c", "print('x'); exit(3)"])[0]
    assert run("/nonexistent/program", [])
    print("self-test passed")
    return 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print("usage: guide_examples.py BUILD [GUIDE.md...] | --self-test", file=sys.stderr)
        return 2
    errors, counts = check(os.path.abspath(sys.argv[1]), [os.path.abspath(guide) for guide in sys.argv[2:]] or all_guides())
    for error in errors:
        print(f"FAILED: {error}")
    print(f"{counts[0]} C blocks, {counts[1]} runs, {len(errors)} failed")
    return 1 if errors else 0


sys.exit(main())

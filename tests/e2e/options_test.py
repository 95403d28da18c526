"""Checks the command line of every program and script.

--help prints the usage to standard output. Unknown options print it to standard error, with exit
status 2, start nothing and create no file. Programs name wrong settings and a wrong place of the
journal. The demonstration refuses a wrong input before it builds.

usage: options_test.py PROGRAM..."""
import os
import signal
import subprocess
import sys
import tempfile

from cluster import ROOT

SCRIPTS = ["demo", "test", ".ci/run", "bench/run", "bench/scale", "examples/airports_check.py", "tools/floors", "tools/fuzz-all", "tools/limits", "tools/buffers", "tools/bugs", "tools/mutants", "tools/conformance",
           "tools/packages", "tools/sample", "tools/sim-campaign", "tools/sim-digests", "tools/sim-seeds", "tools/states"]
# Wrong arguments of single programs. Unknown options are tried with all programs.
WRONG = {"first": [["-x"], ["a", "b"]], "hello": [["-x"], ["a", "b"], [""]], "hello_sim": [["x"], ["0"], ["1", "2"]],
         "counter": [["x"]], "flags": [["0"], ["x"], ["-1"], ["65536"], [""]], "cart": [["1"], ["x", "a"], ["0", "a"], ["-1", "a"], ["65536", "a"]],
         "http_front": [[], ["x"], ["0"], ["-1"], ["1", "x"], ["1", "1", "h:1", "x"]],
         "primes": [["-x"], ["0"], ["1", "2"]],
         "members": [[], ["x"], ["h:0"], ["h:65536"], ["h:1x"], ["--bogus:1"]],
         "singleton": [[], ["x"], ["h:0"], ["h:1x"]], "daemons": [[], ["h:1"], ["h:1", "0"], ["h:1", "x"], ["h:0", "1"]],
         "airports": [[], ["--port", "0"], ["--port", "x"], ["--port", "1"], ["--port", "1", "--input", "x", "y"],
                      ["--port", "1", "--input", "x", "--lanes", "0"], ["--port"],
                      ["--port", "1", "--input", "x", "--journal", "x" * 5000],
                      ["--port", "1", "--input", "x"] + ["--seed", "h:1"] * 8],
         "sherd-sim": [[], ["run", "--bogus"], ["run", "--seeds", "x"], ["nonsense"]],
         "actors": [["0"], ["x"]], "cluster": [[], ["x"]], "limits": [["x"]], "persist": [[".", "0"]],
         "remember": [[], ["1"], ["0", "new"], ["x", "new"], ["1", "."], ["1", "new", "x"], ["1", "new", "all", "x"],
                      ["1", "new", "all", "persist", "x"]],
         "airports_check.py": [[], ["x"], ["x", "y", "z"], ["x", "y", "-1"], ["x", "y", "1", "z"]],
         "sim-campaign": [[], ["x"], ["x", "y", "z"], ["x", "y", "--parts", "5..1"], ["x", "y", "--parts", "0..135"]],
         "demo": [["--journal"], ["--journal", "paper"], ["--journal=postgres", "--keep"], ["--nodes"], ["--nodes", "0"], ["--nodes", "x"], ["--nodes", "17"], ["--nodes", ""], ["--nodes", "3x"], ["--nodes=17"],
                  ["--input"], ["--input", ""], ["--input", "/"], ["--input", "/dev/none"],
                  ["--input", "/dev/null"], ["x"]],
         "test": [["x"]], "run": [["x"]], "sim-seeds": [["x", "y"]], "packages": [[], ["x"]],
         "conformance": [["x"], ["--open"], ["--open", "x"], ["--tests", "SHD", "x"]],
         "bugs": [[], ["x"], ["files"], ["files", "x"], ["apply", "x"]]}

failed = []


def expect(condition, what):
    if not condition:
        print(f"FAILED: {what}", flush=True)
        failed.append(what)


def run(command, folder, variables={}):
    """Returns the exit status and both outputs. Kills all processes of the command after 30 s."""
    process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, start_new_session=True, env={**os.environ, **variables})
    try:
        out, err = process.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None, "", "still running after 30 s"
    return process.returncode, out, err


def check_options(program, folder):
    name = os.path.basename(program)
    code, out, err = run([program, "--help"], folder)
    expect(code == 0 and name in out and not err, f"{name} --help: status {code}, {out[:200]!r}, {err[:200]!r}")
    for words in [["--bogus"], ["--bogus", "x"]] + WRONG.get(name, []):
        code, out, err = run([program] + words, folder)
        shown = " ".join(word[:40] or '""' for word in words)
        expect(code == 2 and err and not out, f"{name} {shown}: status {code}, {out[:200]!r}, {err[:200]!r}")
        expect(any(sign in err for sign in (name, os.path.basename(os.path.dirname(program)) + ":", "usage")), f"{name} {shown}: prints no usage: {err[:200]!r}")
    expect(os.listdir(folder) == [], f"{name}: leaves {os.listdir(folder)}")
    for made in os.listdir(folder):
        os.remove(os.path.join(folder, made))


SETTINGS = [("SHERD__BOGUS", "1", "no setting has this name"), ("SHERD__LANES", "x", "lanes wants a whole number")]
FLIGHTS = ["--port", "1", "--input", os.path.join(ROOT, "examples", "data", "flights-20k.csv")]
STARTS = {"first": [], "hello": [], "counter": [], "flags": [], "members": ["127.0.0.1:1"], "airports": FLIGHTS}
JOURNALS = {"first": ["sqlite:%s"], "hello": ["%s"], "airports": FLIGHTS + ["--journal", "%s"]}


def refusals(name, folder):
    """Yields (variables, words, expected texts) of starts with wrong settings, configuration or
    place of the journal."""
    slip, held = os.path.join(folder, "slip.conf"), os.path.join(folder, "held")
    far = os.path.join(folder, "a", "b")
    for key, value, wanted in SETTINGS if name in STARTS else []:
        yield {key: value}, STARTS[name], (key, wanted)
    places = [(os.path.join(far, "x.db"), "b/x.db: cannot make its folder:"), (held, "Is a directory"),
              (os.path.join(slip, "x.db"), "Not a directory")]
    for place, wanted in places if name in JOURNALS else []:
        yield {}, JOURNALS[name][:-1] + [JOURNALS[name][-1] % place], (place, wanted)
    if name == "airports":
        yield {}, FLIGHTS + ["--config", slip], (slip + ":2:3:", "unknown key", "did you mean")
        yield {}, FLIGHTS + ["--config", held], (held, "Is a directory")


def check_refusals(program, folder):
    """Checks that the program names each error, and that it leaves no file."""
    name = os.path.basename(program)
    for variables, words, wanted in refusals(name, folder):
        code, out, err = run([program] + words, folder, variables)
        expect(code == 1 and not out and "level=error" in err and all(text in err for text in wanted),
               f"{name} {' '.join(words)} {variables}: status {code}, {out[:200]!r}, {err[:300]!r}")
    expect(sorted(os.listdir(folder)) == ["held", "slip.conf"], f"{name}: leaves {os.listdir(folder)}")


def check_inputs(airports):
    header = "date,delay,distance,origin,destination\n"
    cases = [("empty", b"", "is empty"), ("header", header.encode(), "no flights"), ("other", b"a,b,c\n1,2,3\n", ":1: the first line"),
             ("noise", b"\x1f\x8b\x08\xff" * 100, "not a text file"),
             ("short", header.encode() + b"2001/01/01 00:47,66,1750,DTW\n", ":2: not date,delay")]
    with tempfile.TemporaryDirectory(prefix="sherd-input-") as folder:
        for name, data, wanted in cases:
            path = os.path.join(folder, name)
            with open(path, "wb") as file:
                file.write(data)
            words = ["--input", name] if name == "short" else [f"--input={name}"]
            code, out, err = run([os.path.join(ROOT, "demo"), "--no-install", *words], folder)
            expect(code in (1, 2) and wanted in err and name in err and "date,delay,distance" in err and not out,
                   f"demo on {name}: status {code}, {out[:200]!r}, {err[:300]!r}")
            code, out, err = run([airports, "--port", "1", "--journal", os.path.join(folder, "j.db"), "--input", path], folder)
            expect(code == 1 and path in err and not out, f"airports on {name}: status {code}, {out[:200]!r}, {err[:300]!r}")
        expect(sorted(os.listdir(folder)) == sorted(name for name, _, _ in cases), f"left: {os.listdir(folder)}")


def check_links(folder):
    """Calls ./demo and ./test through a symbolic link and through a relative path."""
    header = "date,delay,distance,origin,destination\n"
    with open(os.path.join(folder, "none.csv"), "w") as file:
        file.write(header)
    for name in ("demo", "test"):
        os.symlink(os.path.join(ROOT, name), os.path.join(folder, f"its-{name}"))
        for program in (f"./its-{name}", os.path.relpath(os.path.join(ROOT, name), folder)):
            code, out, err = run([program, "--help"], folder)
            expect(code == 0 and f"./{name}" in out and not err, f"{program} --help: status {code}, {out[:200]!r}, {err[:200]!r}")
    code, out, err = run(["./its-demo", "--no-install", "--input", "none.csv"], folder)
    expect(code == 1 and "no flights" in err and not out, f"./its-demo: status {code}, {out[:200]!r}, {err[:200]!r}")


def main():
    programs = [os.path.abspath(program) for program in sys.argv[1:]]
    with tempfile.TemporaryDirectory(prefix="sherd-options-") as folder:
        for program in programs + [os.path.join(ROOT, script) for script in SCRIPTS]:
            check_options(program, folder)
    with tempfile.TemporaryDirectory(prefix="sherd-links-") as folder:
        check_links(folder)
    with tempfile.TemporaryDirectory(prefix="sherd-refused-") as folder:
        with open(os.path.join(folder, "slip.conf"), "w") as file:
            file.write("akka.cluster.sharding {\n  number-of-shard = 10\n}\n")
        os.mkdir(os.path.join(folder, "held"))
        for program in programs:
            check_refusals(program, folder)
    check_inputs(next(program for program in programs if os.path.basename(program) == "airports"))
    print(f"{len(failed)} failed" if failed else "ok")
    return 1 if failed else 0


sys.exit(main())

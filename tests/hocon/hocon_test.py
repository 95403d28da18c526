"""Compares what random configuration files mean here and to lightbend/config 1.4.3. Needs a JDK and
Maven; without them the result is 77, which CTest counts as skipped."""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

import texts

HERE = os.path.dirname(os.path.abspath(__file__))
BATCH = 1000

# Differences that stay: what each side answers, and why. A pattern of None matches a tree.
JOIN = "cannot join a text, a list and a section"
ACCEPTED = [
    (None, JOIN, "bare words beside a list or a section, which lightbend/config drops"),
    (r"WrongType.*Unquoted\(\"\s+\"\) and", None, "spaces after an undefined ${?...}, which lightbend/config joins with a list or a section"),
    (r"was part of a cycle of substitutions", None, "values of an earlier file or the environment in place of a cycle"),
    (r"BugOrBroken", None, "broken states of lightbend/config"),
    (r"when an include statement is nested inside a list", None, "includes in lists, which lightbend/config cannot resolve"),
    (r"\+= does not work nested inside a list", None, "+= in lists, which lightbend/config cannot resolve"),
    (r"ConfigNull\(null\) and SimpleConfigList", None, "+= to null"),
    (r"WrongType|Could not resolve", None, "faults in values that a later value replaces"),
    (None, r"nest deeper than 16", "texts over the limit of depth"),
    (None, r"half of a character|u0000 cannot stand", "texts that are no Unicode, or hold the character 0"),
]

# Texts that have another tree there: an object with references replaces a text or a list, and
# lightbend/config loses a part of it when a later value adds to the object.
OTHER_TREES = {297, 8247, 8290, 15325, 16730, 17978}


def build(folder):
    """Builds the JVM's program if it is missing or old. Returns its class path."""
    for tool in ("java", "javac", "mvn"):
        if not shutil.which(tool):
            print(f"skipped: {tool} is not installed")
            sys.exit(77)
    stamp = os.path.join(folder, "stamp")
    source = os.path.join(HERE, "oracle")
    files = [os.path.join(path, name) for path, _, names in os.walk(source) for name in names]
    if not os.path.exists(stamp) or os.path.getmtime(stamp) < max(map(os.path.getmtime, files)):
        shutil.rmtree(folder, ignore_errors=True)
        maven = ["mvn", "-q", "-B", "-f", os.path.join(source, "pom.xml"), f"-Dfolder={folder}", "process-classes"]
        result = subprocess.run(maven, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if result.returncode:
            print(f"skipped: Maven cannot get lightbend/config\n{result.stdout[-2000:]}")
            sys.exit(77)
        open(stamp, "w").close()
    with open(os.path.join(folder, "classpath")) as file:
        return os.path.join(folder, "classes") + ":" + file.read().strip()


def run(command, names):
    environment = dict(texts.VARIABLES, PATH=os.environ.get("PATH", ""))
    result = subprocess.run(command, input="".join(name + "\n" for name in names), stdout=subprocess.PIPE, env=environment, encoding="utf-8",
                            errors="surrogateescape", check=True)
    lines = result.stdout.split("\n")[:-1]
    if len(lines) != len(names):
        raise RuntimeError(f"{command[0]}: {len(lines)} lines for {len(names)} files")
    return lines


def accepted(theirs, ours):
    """Returns the index of the difference that explains these answers, or None."""
    def fits(pattern, answer):
        return bool(re.search(pattern, answer)) and answer.startswith("error: ") if pattern else not answer.startswith("error: ")
    for index, (their_pattern, our_pattern, _) in enumerate(ACCEPTED):
        if fits(their_pattern, theirs) and fits(our_pattern, ours):
            return index
    return None


def compare(numbers, theirs_command, ours_command, folder):
    """Returns the differences of these numbers, and counts answers and accepted differences."""
    names = [texts.write(os.path.join(folder, str(number)), number) for number in numbers]
    differences = []
    counts = [0, 0, [0] * len(ACCEPTED), 0]
    for number, theirs, ours in zip(numbers, run(theirs_command, names), run(ours_command, names)):
        if theirs.startswith("error: ") and ours.startswith("error: "):
            counts[1] += 1
        elif theirs == ours:
            counts[0] += 1
        elif number in OTHER_TREES:
            counts[3] += 1
        elif accepted(theirs, ours) is not None:
            counts[2][accepted(theirs, ours)] += 1
        else:
            differences.append((number, theirs, ours))
    return differences, counts


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("print", help="the program hocon_print")
    parser.add_argument("folder", help="where the JVM's program is built")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--first", type=int, default=1, help="number of the first text")
    parser.add_argument("--show", type=int, default=10, help="shows so many differences")
    options = parser.parse_args()
    theirs = ["java", "-Xss8m", "-Dfile.encoding=UTF-8", "-cp", build(options.folder), "sherd.hocon.Oracle"]
    differences = []
    trees = errors = 0
    by_reason = [0] * len(ACCEPTED)
    others = 0
    last = options.first + options.count
    for first in range(options.first, last, BATCH):
        with tempfile.TemporaryDirectory(prefix="hocon.") as folder:
            found, counts = compare(range(first, min(first + BATCH, last)), theirs, [options.print], folder)
        differences += found
        trees += counts[0]
        errors += counts[1]
        others += counts[3]
        by_reason = [a + b for a, b in zip(by_reason, counts[2])]
    for number, their_answer, our_answer in differences[:options.show]:
        print(f"text {number}\n  lightbend/config: {their_answer[:1500]}\n  here:             {our_answer[:1500]}")
    print(f"{trees} equal trees, {errors} refused by both, {len(differences)} differences, {others} known texts, accepted: "
          + (", ".join(f"{count} {ACCEPTED[index][2]}" for index, count in enumerate(by_reason) if count) or "none"))
    if not trees or not errors:
        print("no tree or no error: these texts show nothing")
        sys.exit(1)
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main()

"""Tests the CMake presets.

usage: presets_test.py BUILD    checks that every way to build has presets to configure, build and
                                test, and that the preset of this build lists its tests
       presets_test.py          uses every preset to do so, in a clone whose path has a space"""
import glob
import os
import re
import shutil
import subprocess
import sys

from clone import clean_environment, clone
from cluster import ROOT, Failed, end_on_signals, make_folder

PRESETS = ("debug", "fuzz", "release", "tsan")
QUICK = "core_base"              # a small target
UNBUILT = "^packages_test$"      # a test that needs no target


def run(folder, environment, *command):
    """Returns the output. Raises Failed if the status is not 0."""
    result = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode:
        raise Failed(f"{' '.join(command)}: status {result.returncode}: {result.stdout[-3000:]}")
    return result.stdout


def check_lists():
    for kind in ("configure", "build", "test"):
        listed = re.findall(r'^  "(\w+)"', run(ROOT, clean_environment(), "cmake", f"--list-presets={kind}"), re.M)
        if sorted(listed) != sorted(PRESETS):
            raise Failed(f"presets to {kind}: {listed}, not {PRESETS}")


def names_of(said):
    return re.findall(r"^ *Test +#[0-9]+: (\S+)", said, re.M)


def check_build(build):
    """Checks that ctest finds the same tests by the preset and by the folder."""
    preset = os.path.basename(build)
    if preset not in PRESETS or os.path.realpath(build) != os.path.realpath(os.path.join(ROOT, "build", preset)):
        print(f"{build} was made without a preset")
        return
    by_preset, by_folder = (names_of(run(ROOT, clean_environment(), "ctest", "-N", *words)) for words in (["--preset", preset], ["--test-dir", build]))
    if not by_preset or by_preset != by_folder:
        raise Failed(f"ctest --preset {preset} finds {len(by_preset)} tests, ctest --test-dir {build} {len(by_folder)}")
    print(f"{len(by_preset)} tests of {preset}")


def use_all(place):
    clone(place)
    environment = clean_environment()
    for preset in PRESETS:
        run(place, environment, "cmake", "--preset", preset)
        run(place, environment, "cmake", "--build", "--preset", preset, "--target", QUICK)
        said = run(place, environment, "ctest", "--preset", preset, "-R", UNBUILT)
        if "100% tests passed, 0 tests failed out of 1" not in said:
            raise Failed(f"ctest --preset {preset}: {said}")
        built = glob.glob(os.path.join(glob.escape(place), "build", preset, "**", f"{QUICK}.dir", "*.o"), recursive=True)
        if not built:
            raise Failed(f"cmake --build --preset {preset} builds nothing in build/{preset}")
        print(f"{preset}: configured, {len(built)} files compiled, tested", flush=True)


def main():
    end_on_signals()
    folder = os.path.realpath(make_folder("presets"))
    try:
        if len(sys.argv) > 1:
            check_lists()
            check_build(sys.argv[1])
        else:
            use_all(os.path.join(folder, "a clone"))
    except Failed as error:
        print(f"FAILED: {error}")
        return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("ok")
    return 0


sys.exit(main())

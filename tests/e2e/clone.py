"""Copies this tree to another place, for tests that build there."""
import os
import shutil
import subprocess

from cluster import ROOT, Failed


def clean_environment():
    """Returns the environment without the variables that git sets for its hooks."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}


def git(folder, *words):
    """Returns git's output, or None if git fails."""
    try:
        return subprocess.run(["git", "-C", folder, *words], env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None


def clone(place):
    """Makes a clone that includes uncommitted changes. If git does not track this tree, copies it
    without builds."""
    top = git(ROOT, "rev-parse", "--show-toplevel")
    if top is None or not os.path.samefile(top.rstrip("\n"), ROOT):
        shutil.copytree(ROOT, place, symlinks=True, ignore=shutil.ignore_patterns("build", ".git", ".cache", "__pycache__"))
        return
    if git(ROOT, "clone", "--quiet", ROOT, place) is None:
        raise Failed("the tree cannot be cloned")
    changed = git(ROOT, "diff", "--name-only", "--no-renames", "-z", "HEAD") + git(ROOT, "ls-files", "-z", "--others", "--exclude-standard")
    for name in filter(None, changed.split("\0")):
        source, target = os.path.join(ROOT, name), os.path.join(place, name)
        if os.path.exists(source):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy2(source, target)
        elif os.path.exists(target):
            os.remove(target)



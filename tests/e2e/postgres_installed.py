"""Runs installed programs on a private PostgreSQL server: examples/guide/postgres.c twice for each build of
it, and sherd-conform with the installed library.

usage: postgres_installed.py CONFORM LIBRARY PROGRAM..."""
import subprocess
import sys

from cluster import ROOT  # noqa: F401: the modules of examples/

import postgres_server

ANY_PORT = "65535"


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"{command[0]} ended with status {done.returncode}: {done.stdout}")
    return done.stdout


def main():
    conform, library, *programs = sys.argv[1:]
    if not postgres_server.programs():
        print("no PostgreSQL server is installed: the programs are only built")
        return
    with postgres_server.Server() as server:
        clicks = 0
        for program in programs * 2:
            clicks += 1
            said = run(program, server.url(), ANY_PORT)
            if f"clicks: {clicks}\n" not in said:
                sys.exit(f"{program} said {said!r} in place of clicks: {clicks}")
        said = run(conform, "--library", library, "--case", "replay-all", "--cluster", "ClusterSystem", "postgres:" + server.url())
        if "1 cases passed, 0 failed" not in said:
            sys.exit(f"sherd-conform said {said!r}")


main()

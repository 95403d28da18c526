"""examples/airports_check.py reads the journal that it is given, with any characters in its path,
and creates no file."""
import contextlib
import os
import shutil
import sqlite3
import sys

from cluster import make_folder
from airports_check import stored


def main():
    folder = make_folder("path")
    good = True
    try:
        for name in ("a#b", "a?mode=rwc", "a%41", "a b"):
            os.mkdir(os.path.join(folder, name))
            path = os.path.join(folder, name, "journal.db")
            with contextlib.closing(sqlite3.connect(path)) as database, database:
                database.execute("CREATE TABLE entity(id INTEGER PRIMARY KEY, pid TEXT)")
                database.execute("CREATE TABLE event(entity INTEGER, seq INTEGER, record BLOB)")
                database.execute("INSERT INTO entity VALUES(1, 'Airport|LAS')")
                database.execute("INSERT INTO event VALUES(1, 1, ?)", (bytes([1, 2, 1, 1, 7, 0, 0, 0, 5, 0, 0, 0]) + bytes(8),))
            found = list(stored(path))
            if found != [("LAS", 7, 2, 5)]:
                print(f"FAILED: {path}: {found}")
                good = False
        if sorted(os.listdir(folder)) != sorted(["a#b", "a?mode=rwc", "a%41", "a b"]):
            print(f"FAILED: left {os.listdir(folder)}")
            good = False
        return 0 if good else 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)


sys.exit(main())

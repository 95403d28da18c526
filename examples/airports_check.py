#!/usr/bin/env python3
"""Counts what a run of the airports left in the journal, against the file alone.

    airports_check.py JOURNAL INPUT [LIMIT]

Shares no code with the entities: it reads the journal's SQLite file as docs/protocol/journal.md describes it, and the input
as text. A command is (flight, departed or arrived); each must be stored exactly once, for the airport the file names.
Prints: commands N lost N doubled N strange N
"""
import csv
import pathlib
import re
import sqlite3
import struct
import sys


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def stored(journal):
    """(airport, flight, 1 departed or 2 arrived, delay) of every event: those of an airport in the order of its journal."""
    database = sqlite3.connect(f"{pathlib.Path(journal).absolute().as_uri()}?mode=ro", uri=True)
    rows = database.execute("SELECT entity.pid, event.record FROM event JOIN entity ON entity.id = event.entity "
                            "WHERE entity.pid NOT LIKE '|%' "  # a shard's own: which airports it remembers
                            "ORDER BY event.entity, event.seq")
    for persistence_id, record in rows:
        kind, at = varint(record, 1)
        _term, at = varint(record, at)
        _epoch, at = varint(record, at)
        flight, delay = struct.unpack("<Ii", record[at:-8])
        yield persistence_id.removeprefix("Airport|"), flight, kind, delay
    database.close()


def read_arguments():
    """JOURNAL, INPUT, and LIMIT or None; ends with the usage when they are others."""
    words = sys.argv[1:]
    asked = words == ["--help"]
    if asked or not 2 <= len(words) <= 3 or words[0].startswith("-") or not all(re.fullmatch(r"\d+", word) for word in words[2:]):
        print(__doc__.strip(), file=sys.stdout if asked else sys.stderr)
        sys.exit(0 if asked else 2)
    return words[0], words[1], int(words[2]) if words[2:] else None


def main():
    journal, path, limit = read_arguments()
    wanted = {}
    with open(path, newline="") as file:
        for number, row in enumerate(csv.DictReader(file)):
            if limit is not None and number == limit:
                break
            wanted[(number, 1)] = row["origin"], int(row["delay"])
            wanted[(number, 2)] = row["destination"], int(row["delay"])
    found = {}
    strange = 0
    for airport, flight, kind, delay in stored(journal):
        if wanted.get((flight, kind)) != (airport, delay):
            strange += 1
            continue
        found[(flight, kind)] = found.get((flight, kind), 0) + 1
    lost = sum(1 for command in wanted if command not in found)
    doubled = sum(count - 1 for count in found.values())
    print(f"commands {len(found)} lost {lost} doubled {doubled} strange {strange}")
    return 1 if lost or doubled or strange else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, sqlite3.Error) as error:
        sys.exit(f"airports_check.py: {' '.join(sys.argv[1:3])}: {error}")

#!/usr/bin/env python3
"""Compares the events that a run of airports left in the journal with the input file.

    airports_check.py JOURNAL INPUT [LIMIT]

Shares no code with the entities: reads the journal's SQLite file, or with psql the tables of
postgres:URL, as docs/protocol/journal.md describes them, and the input as text. A command is a flight and one of departed and arrived. The
journal must contain each command exactly once, for the airport that the input names. LIMIT: only
the first LIMIT flights of the input.
Prints: commands N lost N doubled N strange N
A strange event is one that the input does not explain. Exit status 0 if none is lost, doubled or
strange.
"""
import csv
import pathlib
import re
import sqlite3
import struct
import subprocess
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
    """Yields (airport, flight, 1 departed or 2 arrived, delay) of every event. Events of one
    airport keep the journal's order."""
    for persistence_id, record in rows_of(journal):
        kind, at = varint(record, 1)
        _term, at = varint(record, at)
        _epoch, at = varint(record, at)
        flight, delay = struct.unpack("<Ii", record[at:-8])
        yield persistence_id.removeprefix("Airport|"), flight, kind, delay


def psql(url, query):
    """Returns the rows of a query as lists of texts."""
    done = subprocess.run(["psql", "-X", "-A", "-t", "-F", ",", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", query], capture_output=True, text=True)
    if done.returncode:
        raise OSError(done.stderr.strip())
    return [line.split(",") for line in done.stdout.splitlines()]


def rows_of(journal):
    """Yields (persistence id, record) of every event of an airport. A pid that begins with | is a
    shard's own stream: the airports that it remembers."""
    if journal.startswith("postgres:"):
        for persistence_id, record in psql(journal[9:], "SELECT convert_from(e.pid, 'UTF8'), encode(v.record, 'hex') FROM sherd.event v "
                                           "JOIN sherd.entity e ON e.id = v.entity WHERE get_byte(e.pid, 0) <> 124 ORDER BY v.entity, v.seq"):
            yield persistence_id, bytes.fromhex(record)
        return
    database = sqlite3.connect(f"{pathlib.Path(journal).absolute().as_uri()}?mode=ro", uri=True)
    yield from database.execute("SELECT entity.pid, event.record FROM event JOIN entity ON entity.id = event.entity "
                                "WHERE entity.pid NOT LIKE '|%' "
                                "ORDER BY event.entity, event.seq")
    database.close()


def read_arguments():
    """Returns JOURNAL, INPUT, and LIMIT or None. Prints the usage and ends if the arguments are
    wrong."""
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

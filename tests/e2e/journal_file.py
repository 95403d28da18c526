"""Changes an SQLite journal as another program would."""
import contextlib
import os
import sqlite3


def change(journal, *statements):
    """Changes a file with SQL, as if it had been written so: pages without checksums."""
    with contextlib.closing(sqlite3.connect(journal)) as database, database:
        for statement in statements:
            database.execute(statement)
    with contextlib.closing(sqlite3.connect(journal)) as database:
        database.execute("PRAGMA journal_mode = DELETE")
        database.execute("PRAGMA journal_mode = WAL")
    with open(journal, "r+b") as file:
        for at in range(4096, os.path.getsize(journal) + 1, 4096):
            file.seek(at - 8)
            file.write(bytes(8))

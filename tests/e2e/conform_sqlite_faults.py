"""Breaks and mends the SQLite journal of conform_sqlite.sh, for sherd-conform.

usage: conform_sqlite_faults.py FILE break|mend FAULT"""
import os
import shutil
import signal
import subprocess
import sys

from journal_file import change

ENDS = ("", "-wal", "-shm", "-turn")
SCHEMA = 3
IMPOSSIBLE = {
    "read-only": "a file that is open for writing stays writable",
    "auth-lost": "a file that is open has no login",
    "server-stopped": "a file has no server",
    "held-shard": "a writer holds the whole file, not a shard",
}


def cannot(why):
    print(why)
    sys.exit(77)


def copy(path, source, target):
    """Writes over the files in place, as a restore does."""
    for end in ENDS:
        if os.path.exists(path + source + end):
            with open(path + source + end, "rb") as read, open(path + target + end, "r+b" if os.path.exists(path + target + end) else "wb") as write:
                write.truncate(0)
                shutil.copyfileobj(read, write)


def move(path, source, target):
    for end in ENDS:
        if os.path.exists(path + source + end):
            os.replace(path + source + end, path + target + end)


def replace_mark(path, old, new):
    """Changes one byte of the text that the case has stored."""
    mark = ("ark-" + os.environ["SHERD_CONFORM_TYPE"]).encode()
    with open(path, "r+b") as file:
        found = file.read().find(old + mark)
        if found < 0:
            sys.exit("the mark is not in the file")
        file.seek(found)
        file.write(new)


def damage(path):
    replace_mark(path, b"m", b"M")


def undo_damage(path):
    replace_mark(path, b"M", b"m")


def mount(path, options):
    folder = os.path.dirname(path)
    if not os.path.ismount(folder):
        cannot("no file system may be mounted here")
    subprocess.run(["mount", "-o", "remount," + options, folder], check=True)


def fill(path):
    used = os.statvfs(os.path.dirname(path))
    mount(path, f"size={(used.f_blocks - used.f_bfree) * used.f_frsize // 1024}k")


def read_long(path):
    """Starts a process with a transaction that reads, and waits until it has begun."""
    program = ("import sqlite3, sys, signal\nd = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
               "d.execute('BEGIN')\nd.execute('SELECT count(*) FROM event').fetchone()\n"
               "print('reads', flush=True)\nsignal.pause()")
    reader = subprocess.Popen([sys.executable, "-c", program, path], stdout=subprocess.PIPE, start_new_session=True)
    if reader.stdout.readline() != b"reads\n":
        sys.exit("no transaction that reads")
    with open(path + ".reader", "w") as file:
        file.write(str(reader.pid))


def stop_reading(path):
    with open(path + ".reader") as file:
        os.kill(int(file.read()), signal.SIGKILL)


def replace(path):
    move(path, "", ".away")
    change(path, "CREATE TABLE another (id)")


def put_back(path):
    os.remove(path)
    move(path, ".away", "")


def restore(path):
    """A restored file has no turn of its own; nobody has it open."""
    copy(path, ".kept", "")
    for end in ENDS[2:]:
        if os.path.exists(path + end):
            os.remove(path + end)


FAULTS = {
    "full": (fill, lambda path: mount(path, "size=512m")),
    "open-reader": (read_long, stop_reading),
    "other-store": (replace, put_back),
    "remember": (lambda path: copy(path, "", ".kept"), None),
    "go-back": (lambda path: copy(path, ".kept", ""), restore),
    "damaged-falls-back": (damage, undo_damage),
    "damaged-event": (damage, undo_damage),
    "schema-newer": (lambda path: change(path, "PRAGMA user_version = 99"), lambda path: change(path, f"PRAGMA user_version = {SCHEMA}")),
    "schema-older": (lambda path: change(path, "DROP TABLE snapshot", "PRAGMA user_version = 2"), None),
    "opened-read-only": (lambda path: mount(path, "ro"), lambda path: mount(path, "rw")),
    "opened-without-auth": (lambda path: os.chmod(path, 0), lambda path: os.chmod(path, 0o600)),
}


def main():
    path, verb, fault = sys.argv[1:]
    if fault in IMPOSSIBLE:
        cannot(IMPOSSIBLE[fault])
    if fault == "opened-without-auth" and os.getuid() == 0:
        cannot("root may open every file")
    work = FAULTS[fault][verb == "mend"]
    if work:
        work(path)


if __name__ == "__main__":
    main()

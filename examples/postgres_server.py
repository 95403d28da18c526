"""Runs private PostgreSQL servers for tests and the demonstration: each in a folder of its own, with a
Unix socket and a port of the loopback address."""
import glob
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time


def programs():
    """The folder of the server's programs, or None if it is not installed."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"), key=lambda path: int(path.split("/")[4]))
    if found:
        return os.path.dirname(found[-1])
    path = shutil.which("postgres")
    return os.path.dirname(path) if path else None


def user():
    """The arguments of subprocess that give up root, which the server refuses; and the user's id."""
    if os.getuid() != 0:
        return {}, os.getuid(), os.getgid()
    entry = pwd.getpwnam("postgres")
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}, entry.pw_uid, entry.pw_gid


def reachable(folder, uid, gid):
    """True if that user can enter the folder and all above it."""
    while True:
        info = os.stat(folder)
        shift = 6 if info.st_uid == uid else 3 if info.st_gid == gid else 0
        if not info.st_mode >> shift & 1:
            return False
        if folder == "/":
            return True
        folder = os.path.dirname(folder)


def make_folder(uid, gid):
    """Makes a folder that the server's user can reach: in TMPDIR, or in /tmp if others may not enter TMPDIR."""
    place = os.path.realpath(tempfile.gettempdir())
    return tempfile.mkdtemp(prefix="sherd-pg-", dir=place if reachable(place, uid, gid) else "/tmp")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Server:
    """A server that can be killed and started again. stop() ends it, remove() deletes its files."""

    def __init__(self, folder=None, settings=(), make=True, prefix=()):
        self.bin = programs()
        self.prefix = list(prefix)  # a command that runs the server, as ip netns exec
        self.rights, self.uid, self.gid = user()
        self.folder = folder or make_folder(self.uid, self.gid)
        self.is_own = folder is None
        os.makedirs(self.folder, exist_ok=True)
        os.chown(self.folder, self.uid, self.gid)
        os.chmod(self.folder, 0o755)
        self.data = os.path.join(self.folder, "data")
        self.log = os.path.join(self.folder, "server.log")
        self.settings = list(settings)
        self.port = free_port()
        self.process = None
        if make and not os.path.exists(self.data):
            self.run("initdb", "-D", self.data, "-U", "sherd", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C")

    def run(self, name, *arguments, check=True):
        """Runs one of PostgreSQL's programs as the server's user; returns what it printed."""
        done = subprocess.run([*self.prefix, os.path.join(self.bin, name), *arguments], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, cwd="/", **self.rights)
        if check and done.returncode:
            raise RuntimeError(f"{name} failed: {done.stdout}")
        return done.stdout

    def start(self, wait=True):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [*self.prefix, os.path.join(self.bin, "postgres"), "-D", self.data, "-p", str(self.port), "-k", self.folder,
                 "-c", "listen_addresses=127.0.0.1", *(word for text in self.settings for word in ("-c", text))],
                stdout=log, stderr=log, cwd="/", start_new_session=True, **self.rights)
        if wait:
            self.wait()
        return self

    def wait(self, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise RuntimeError("the server ended: " + open(self.log, errors="replace").read()[-2000:])
            if subprocess.run([os.path.join(self.bin, "pg_isready"), "-q", "-h", self.folder, "-p", str(self.port)]).returncode == 0:
                return
            time.sleep(0.05)
        raise RuntimeError("the server does not answer: " + open(self.log, errors="replace").read()[-2000:])

    def url(self, host=None, port=None):
        """The server over its socket, or over a host and port."""
        return f"host={host or self.folder} port={port or self.port} dbname=postgres user=sherd"

    def sql(self, text, check=True):
        done = subprocess.run([os.path.join(self.bin, "psql"), "-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", self.url(), "-c", text],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if check and done.returncode:
            raise RuntimeError(done.stdout)
        return done.stdout.strip()

    def session(self, settings=""):
        """Starts psql, which reads statements from its standard input."""
        return subprocess.Popen([os.path.join(self.bin, "psql"), "-X", "-q", "-d", self.url() + " " + settings], stdin=subprocess.PIPE,
                                stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT, text=True)

    def crash(self):
        """Kills the server's process and those that it started, as a failure of the machine would."""
        if self.process:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None
            # The socket's lock and shared memory go with the next start.
            time.sleep(0.1)

    def stop(self):
        if self.process:
            self.process.send_signal(signal.SIGINT)  # fast shutdown
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.crash()
            self.process = None

    def remove(self):
        if self.process:
            self.crash()
        if self.is_own:
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.remove()

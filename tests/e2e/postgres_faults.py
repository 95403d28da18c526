"""Breaks and mends a PostgreSQL server for sherd-conform, which asks by conform_fault.sh."""
import os
import shlex
import shutil
import socketserver
import subprocess
import threading
import traceback

from cluster import wait

from postgres_parts import Proxy

HOOK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "conform_fault.sh")
SIZE = "512m"
CUTS = 24


class Cannot(Exception):
    """The fault is impossible here; the text says why."""


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        verb, fault, kind, number = self.rfile.readline().decode().split()
        try:
            self.server.faults.run(verb, fault, kind, int(number))
            answer = "0 done"
        except Cannot as error:
            answer = f"77 {error}"
        except Exception as error:  # the case fails
            traceback.print_exc()
            answer = f"1 {' '.join(str(error).split())[:150]}"
        self.wfile.write((answer + "\n").encode())


class Faults:
    """The faults of a server that runs. mounts: file systems may be mounted, and end with the test.
    `arguments` are those of sherd-conform."""

    def __init__(self, server, mounts):
        self.server = server
        self.proxy = Proxy(server.port)
        self.session = None
        self.ports = []
        self.sizes = [1, 1]  # bytes of a commit and its answer
        self.store = None
        self.room = self.mount_small(mounts)
        server.sql("CREATE ROLE other SUPERUSER LOGIN")
        self.listener = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.listener.daemon_threads = True
        self.listener.faults = self
        threading.Thread(target=self.listener.serve_forever, daemon=True).start()
        command = f"{shlex.quote(HOOK)} {self.listener.server_address[1]}"
        self.arguments = ["--break", command + " break", "--mend", command + " mend",
                          "--via", "postgres:" + server.url("127.0.0.1", self.proxy.port)]

    def close(self):
        self.listener.shutdown()
        self.listener.server_close()
        self.proxy.close()
        if self.room:
            self.server.sql("DROP TABLESPACE small")
            subprocess.run(["umount", self.room], check=True)

    def run(self, verb, fault, kind, number):
        name = verb + "_" + fault.replace("-", "_")
        if hasattr(self, name):
            getattr(self, name)(kind, number)
        elif verb == "break":
            raise Cannot("the test of PostgreSQL does not know this fault")

    def as_other(self, text):
        subprocess.run(["psql", "-X", "-q", "-d", self.server.url().replace("user=sherd", "user=other"), "-c", text], check=True, stdout=subprocess.DEVNULL)

    def end_sessions(self):
        self.as_other("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'sherd:%'")

    # a full disk: the events are in a small file system of their own

    def mount_small(self, mounts):
        room = os.path.join(self.server.folder, "small")
        os.mkdir(room)
        if not mounts or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=" + SIZE, "none", room]).returncode:
            return None
        os.chown(room, self.server.uid, self.server.gid)
        self.server.sql(f"CREATE TABLESPACE small LOCATION '{room}'")
        return room

    def break_full(self, *_):
        if not self.room:
            raise Cannot("no file system may be mounted here")
        self.server.sql("ALTER TABLE sherd.event SET TABLESPACE small")
        used = os.statvfs(self.room)
        size = (used.f_blocks - used.f_bfree) * used.f_frsize // 1024
        subprocess.run(["mount", "-o", f"remount,size={size}k", self.room], check=True)

    def mend_full(self, *_):
        subprocess.run(["mount", "-o", "remount,size=" + SIZE, self.room], check=True)
        self.server.sql("ALTER TABLE sherd.event SET TABLESPACE pg_default")

    # a server that refuses writes, or logins, or does not run

    def set_read_only(self, value):
        self.server.sql(f"ALTER SYSTEM SET default_transaction_read_only = {value}")
        self.server.sql("SELECT pg_reload_conf()")
        wait(lambda: self.server.sql("SHOW default_transaction_read_only") == value, "the setting does not change")

    def break_read_only(self, *_):
        self.set_read_only("on")

    def mend_read_only(self, *_):
        self.set_read_only("off")

    def break_auth_lost(self, *_):
        self.as_other("ALTER ROLE sherd NOLOGIN")
        self.end_sessions()

    def mend_auth_lost(self, *_):
        self.as_other("ALTER ROLE sherd LOGIN")

    break_opened_read_only, mend_opened_read_only = break_read_only, mend_read_only
    break_opened_without_auth, mend_opened_without_auth = break_auth_lost, mend_auth_lost

    def break_server_stopped(self, *_):
        self.server.crash()

    def mend_server_stopped(self, *_):
        self.server.start()

    # other programs' transactions

    def begin(self, text, settings=""):
        self.session = self.server.session(settings)
        self.session.stdin.write(f"BEGIN ISOLATION LEVEL REPEATABLE READ; {text};\n")
        self.session.stdin.flush()
        wait(lambda: self.server.sql("SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'") == "1", "no transaction begins")

    def end(self, *_):
        self.session.kill()
        self.session.wait()

    def break_open_reader(self, *_):
        self.begin("SELECT count(*) FROM sherd.event")

    def break_held_shard(self, kind, _):
        self.begin(f"SELECT * FROM sherd.shard WHERE type = '{kind}' FOR UPDATE", "application_name='sherd:conform:former:1'")

    mend_open_reader = mend_held_shard = end

    # another store, other tables, and one of earlier

    def name_store(self, store):
        self.server.sql(f"UPDATE sherd.meta SET store_id = {store}")
        self.end_sessions()

    def break_other_store(self, *_):
        self.store = self.server.sql("SELECT store_id FROM sherd.meta")
        self.name_store("gen_random_uuid()")

    def mend_other_store(self, *_):
        self.name_store(f"'{self.store}'")

    def break_schema_newer(self, *_):
        self.server.sql("UPDATE sherd.meta SET min_reader = 9")

    def mend_schema_newer(self, *_):
        self.server.sql("UPDATE sherd.meta SET min_reader = schema")

    def break_schema_older(self, *_):
        """The tables of the first programs had no snapshots."""
        self.server.sql("ALTER TABLE sherd.snapshot RENAME TO kept_snapshot")

    def mend_schema_older(self, *_):
        self.server.sql("DROP TABLE IF EXISTS sherd.snapshot; ALTER TABLE sherd.kept_snapshot RENAME TO snapshot")

    def break_remember(self, *_):
        self.server.stop()
        subprocess.run(["cp", "-a", self.server.data, self.server.data + "-kept"], check=True)
        self.server.start()

    def break_go_back(self, *_):
        self.server.crash()
        shutil.rmtree(self.server.data)
        os.rename(self.server.data + "-kept", self.server.data)
        self.server.start()

    # damaged bytes

    def replace_mark(self, table, kind, old, new):
        mark = f"'{old}ark-{kind}'::bytea IN record"
        done = self.server.sql(f"UPDATE sherd.{table} SET record = overlay(record PLACING '{new}'::bytea FROM position({mark})) WHERE position({mark}) > 0")
        if done != "UPDATE 1":
            raise RuntimeError(f"the mark is not in one row: {done}")

    def break_damaged_falls_back(self, kind, _):
        self.replace_mark("snapshot", kind, "m", "M")

    def mend_damaged_falls_back(self, kind, _):
        self.replace_mark("snapshot", kind, "M", "m")

    def break_damaged_event(self, kind, _):
        self.replace_mark("event", kind, "m", "M")

    def mend_damaged_event(self, kind, _):
        self.replace_mark("event", kind, "M", "m")

    # the link

    def break_commit_lost(self, _, number):
        """Each second append is not cut, and shows the sizes."""
        cut = number // 2
        direction = cut % 2
        self.proxy.arm(direction, cut * self.sizes[direction] // CUTS if number % 2 else None)

    def mend_commit_lost(self, _, number):
        if number % 2 == 0:
            self.sizes = list(self.proxy.counts)
        self.proxy.arm(0, None)

    def break_fence_late_packet(self, *_):
        self.proxy.hold(True)

    def mend_fence_late_packet(self, *_):
        self.proxy.hold(False)

    def break_again_late_first(self, *_):
        self.ports = self.proxy.hold_open()

    def mend_again_late_first(self, *_):
        """Waits until the server has taken what was held."""
        self.proxy.let_go()
        ports = ", ".join(str(port) for port in self.ports) or "0"
        busy = f"SELECT count(*) FROM pg_stat_activity WHERE client_port IN ({ports}) AND state = 'active'"
        wait(lambda: self.server.sql(busy) == "0", "what was held is not done")

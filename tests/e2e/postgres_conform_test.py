"""Runs the cases of sherd-conform on PostgreSQL, and checks what a node is told that cannot use it.

usage: postgres_conform_test.py CONFORM-POSTGRES [--faults]    --faults: only the cases that break the server"""
import os
import shutil
import socket
import subprocess
import sys
import tempfile

from alone import run_alone
from cluster import wait

import postgres_server as postgres
from postgres_faults import Faults

failed = []
FAULTS = set("again-late-first auth-lost commit-lost damaged-event damaged-falls-back fence-late-packet full held-shard open-reader "
             "opened-read-only opened-without-auth other-store position-lost read-only schema-newer schema-older server-stopped".split())


def expect(condition, what, detail=""):
    print(f"{'ok' if condition else 'FAILED'}: {what}{'' if condition else ' ' + detail}", flush=True)
    if not condition:
        failed.append(what)


def conform(program, url, *arguments):
    done = subprocess.run([program, *arguments, "postgres:" + url], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def refused(program, url, text, what, *arguments):
    code, said = conform(program, url, "--case", "replay-all", *arguments)
    expect(code == 2 and text in said, what, said)
    expect("Secret-77" not in said, what + ", without the password", said)


def main():
    program = sys.argv[1]
    if not postgres.programs():
        print("skipped: no PostgreSQL server is installed")
        return 77
    if sys.argv[2:] == ["--faults"]:
        return with_faults(program, run_alone("--mount"))
    with postgres.Server() as server:
        code, said = conform(program, server.url())
        print(said)
        expect(code == 0, "all cases pass", said[-300:])
        expect(skipped(said) == FAULTS, "all cases without a fault run", str(skipped(said)))
        refusals(program, server)
    if shutil.which("pgbouncer"):
        with postgres.Server() as server:
            pooled(program, server)
    else:
        print("skipped: pgbouncer is not installed")
    with postgres.Server() as server:
        encrypted(program, server)
    return 1 if failed else 0


def skipped(said):
    return {line.split(":")[1].strip() for line in said.splitlines() if line.startswith("skipped:")}


def with_faults(program, mounts):
    with postgres.Server() as server:
        faults = Faults(server, mounts)
        cases = [word for case in sorted(FAULTS) for word in ("--case", case)]
        code, said = conform(program, server.url(), "--set", "group-timeout=5000", *faults.arguments, *cases)
        print(said)
        expect(code == 0, "all cases with a fault pass", said[-300:])
        expect(skipped(said) == (set() if mounts else {"full"}), "all faults are made", str(skipped(said)))
        faults.close()
    return 1 if failed else 0


def pooled(program, server):
    """PgBouncer in session mode, its default, lends a server's session to one client at a time."""
    port = postgres.free_port()
    path = os.path.join(server.folder, "pgbouncer.ini")
    with open(path, "w") as file:
        file.write(f"[databases]\npostgres = host=127.0.0.1 port={server.port} user=sherd\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
                   f"listen_port = {port}\nunix_socket_dir =\nauth_type = any\npool_mode = session\nmax_client_conn = 200\n"
                   "default_pool_size = 50\n")
    pooler = subprocess.Popen([shutil.which("pgbouncer"), "-q", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **server.rights)
    try:
        wait(lambda: is_open(port), "pgbouncer does not start")
        code, said = conform(program, server.url("127.0.0.1", port))
        expect(code == 0, "all cases pass through PgBouncer in session mode", said[-600:])
    finally:
        pooler.terminate()
        pooler.wait()


def make_certificate(server, name, address):
    """Makes a certificate that signs itself, for an address, and lets the server use it."""
    key, certificate = (os.path.join(server.folder, f"{name}.{kind}") for kind in ("key", "crt"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                    "/CN=test", "-addext", f"subjectAltName=IP:{address}", "-keyout", key, "-out", certificate], check=True, capture_output=True)
    os.chmod(key, 0o600)
    os.chown(key, server.uid, server.gid)
    for setting, path in (("ssl_key_file", key), ("ssl_cert_file", certificate)):
        server.sql(f"ALTER SYSTEM SET {setting} = '{path}'")
    server.sql("ALTER SYSTEM SET ssl = on")
    server.sql("SELECT pg_reload_conf()")
    return certificate


def encrypted(program, server):
    """The certificate of another host is verified, with its name. 0.0.0.0 reaches this server, and is no
    loopback address."""
    url = server.url(host="0.0.0.0")
    certificate = make_certificate(server, "right", "0.0.0.0")
    wait(lambda: conform(program, f"{url} sslrootcert={certificate}", "--case", "replay-all")[0] == 0, "no connection by TLS")
    refused(program, url + f" sslrootcert={os.path.join(server.folder, 'none')}", "root certificate", "without the CA nothing is sent")
    other = make_certificate(server, "wrong", "10.1.2.3")
    wait(lambda: conform(program, f"{url} sslrootcert={other} sslmode=verify-ca", "--case", "replay-all")[0] == 0, "the certificate is not changed")
    refused(program, f"{url} sslrootcert={other}", "does not match", "a certificate of another host is refused")
    refused(program, f"{url} sslrootcert={certificate}", "certificate verify failed", "a certificate of another CA is refused")


def is_open(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def refusals(program, server):
    """Each error is named, with a remedy, and no line has the password."""
    url = server.url()
    refused(program, url, "not to 'other'", "another cluster's journal is refused", "--cluster", "other")
    refused(program, url, "synchronous-commit = off", "a commit that can be lost is refused", "--set", "synchronous-commit=off")
    code, said = conform(program, url, "--case", "replay-all", "--set", "synchronous-commit=off", "--set", "allow-loss=on")
    expect(code == 0, "it is accepted with allow-loss", said)
    refused(program, url, "001.sql", "missing tables are not created under check", "--set", "schema=empty", "--set", "create-schema=check")
    refused(program, url, "lower-case", "a schema that needs quotes is refused", "--set", "schema=a;b")
    refused(program, url.replace("dbname=postgres", "dbname=nothing"), "nothing", "a missing database is named")
    refused(program, url.replace("user=sherd", "user=nobody password=Secret-77"), "nobody", "a missing role is named")
    refused(program, "host=/nowhere password=Secret-77", "/nowhere", "a missing socket is named", "--set", "connect-timeout=300")
    refused(program, "postgresql://u:Secret-77@[::1", "cannot be read", "a damaged URL is not repeated")
    refused(program, "jdbc:postgresql://u:Secret-77@h/d", "jdbc", "a URL for Java is refused")
    # A host that is not this machine needs a verified certificate, so no password is sent in plain text.
    # 0.0.0.0 reaches this server, and is no loopback address.
    refused(program, server.url(host="0.0.0.0") + " password=Secret-77", "does not support SSL", "another host needs TLS")
    code, said = conform(program, server.url(host="0.0.0.0") + " sslmode=disable", "--case", "replay-all")
    expect(code == 0, "a URL may allow plain text", said)
    code, said = conform(program, server.url(host="127.0.0.1"), "--case", "replay-all")
    expect(code == 0, "loopback needs no TLS", said)
    server.sql("UPDATE sherd.meta SET min_reader = 9")
    refused(program, url, "newer program", "tables of a newer version are refused")
    server.sql("UPDATE sherd.meta SET min_reader = 2")
    server.sql("ALTER TABLE sherd.writer RENAME TO later")
    refused(program, url, "version 1: export them", "tables of version 1 are refused, with what to do")
    server.sql("ALTER TABLE sherd.later RENAME TO writer")
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("Secret-77\n")
        file.flush()
        os.chmod(file.name, 0o644)
        refused(program, url, "0600", "a password file that others may read is refused", "--set", "password-file=" + file.name)
        os.chmod(file.name, 0o600)
        code, said = conform(program, url, "--case", "replay-all", "--set", "password-file=" + file.name)
        expect(code == 0, "a password file is read", said)
    server.sql("ALTER SYSTEM SET fsync = off")
    server.sql("SELECT pg_reload_conf()")
    refused(program, url, "fsync = off", "a server without fsync is refused")


if __name__ == "__main__":
    sys.exit(main())

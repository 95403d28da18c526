"""Tests the management by HTTP of a running node: its doors, rights, limits, and Akka's routes.

usage: management_test.py MANAGED     (the program examples/guide/managed)"""
import base64
import email
import gzip
import hashlib
import json
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import time

from checks import PATIENCE, comes_true, eventually, expect, verdict
from cluster import ROOT, free_port

folder = tempfile.mkdtemp(prefix="sherd-management-")


class Managed:
    """A node, started with a configuration. It tells where it serves."""

    def __init__(self, config="", port=None, seed=None, environment=None):
        self.port = port or free_port()
        runtime = os.path.join(folder, "run")
        os.makedirs(runtime, exist_ok=True)
        os.chmod(runtime, 0o700)
        self.log_path = os.path.join(folder, f"{self.port}.log")
        command = [program, config, str(self.port)] + ([seed.address] if seed else [])
        with open(self.log_path, "w") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True,
                                            env={**os.environ, "RUNTIME_DIRECTORY": runtime, **(environment or {})})
        lines = [self.process.stdout.readline().split() for _ in range(2)]
        self.socket, self.url = [line[1] if len(line) > 1 else "" for line in lines]
        self.http_port = int(self.url.rpartition(":")[2]) if self.url else 0
        self.address = f"127.0.0.1:{self.port}"

    def log(self):
        with open(self.log_path) as file:
            return file.read()

    def connect(self, timeout=30):
        """Opens a connection to the Unix socket."""
        one = socket.socket(socket.AF_UNIX)
        one.connect(self.socket)  # waits while others wait to be accepted
        one.settimeout(timeout)
        return one

    def connect_tcp(self, timeout=30):
        return socket.create_connection(("127.0.0.1", self.http_port), timeout)

    def end(self):
        """Ends the node once it is up: before that, its signals may not be handled yet."""
        comes_true(lambda: "msg=self-up" in self.log())
        self.process.terminate()
        return self.process.wait(PATIENCE)


def read_answer(connection, has_body=True):
    """Reads an answer with a length. Returns the status, the headers and the body; status 0: closed."""
    try:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            byte = connection.recv(1)
            if not byte:
                return 0, {}, b""
            head += byte
        first, _, rest = head.decode().partition("\r\n")
        headers = email.message_from_string(rest)
        size = int(headers["Content-Length"] or 0) if has_body else 0
        body = b""
        while len(body) < size:
            part = connection.recv(size - len(body))
            if not part:
                return 0, {}, b""
            body += part
        return int(first.split()[1]), headers, body
    except OSError:
        return 0, {}, b""


def is_closed(connection):
    """Waits for the end of a connection. A reset counts: the node does not read what it refuses."""
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


def send(connection, head, body=b"", has_body=True):
    try:
        connection.sendall(head.replace("\n", "\r\n").encode() + body)
    except OSError:
        pass  # it was closed; reading says so
    return read_answer(connection, has_body)


def ask(node, method, path, headers=(), body=b"", tcp=False, host=None):
    """One request on a connection of its own."""
    with node.connect_tcp() if tcp else node.connect() as connection:
        host = host or (f"127.0.0.1:{node.http_port}" if tcp else "localhost")
        lines = "".join(f"{name}: {value}\n" for name, value in headers)
        length = f"Content-Length: {len(body)}\n" if body else ""
        return send(connection, f"{method} {path} HTTP/1.1\nHost: {host}\n{lines}{length}\n", body, method != "HEAD")


def status(*arguments, **named):
    return ask(*arguments, **named)[0]


def form(node, method, path, text, **named):
    headers = [("Content-Type", "application/x-www-form-urlencoded")] + list(named.pop("headers", ()))
    return ask(node, method, path, headers, text.encode(), **named)


# ---- the socket, and Akka's routes ----

def socket_is_private(node):
    mode = os.stat(node.socket)
    expect(stat.S_ISSOCK(mode.st_mode) and stat.S_IMODE(mode.st_mode) == 0o600, "the socket has the mode 0600")
    expect(os.path.basename(node.socket) == f"{node.port}.{node.process.pid}.sock", "its name has port and process")


def health_follows_the_node(node):
    eventually(lambda: ask(node, "GET", "/ready")[::2] == (200, b"OK"), "the node becomes ready")
    expect(ask(node, "GET", "/alive")[::2] == (200, b"OK"), "it is alive")
    expect(ask(node, "GET", "/startup")[::2] == (200, b"OK"), "it has started")
    code, headers, body = ask(node, "HEAD", "/ready")
    expect((code, headers["Content-Length"], body) == (200, "2", b""), "HEAD has the length and no body")
    expect(headers["X-Content-Type-Options"] == "nosniff" and headers["Cache-Control"] == "no-store",
           "answers have the headers against sniffing and caches")
    code, headers, body = ask(node, "OPTIONS", "/cluster/members")
    expect((code, headers["Allow"], body) == (204, "GET, POST", b""), "OPTIONS lists the methods")


def members_of(node):
    return json.loads(ask(node, "GET", "/cluster/members")[2])


def akka_routes_answer(first, second):
    full = f"akka://Managed@{second.address}"
    eventually(lambda: [m["status"] for m in members_of(first)["members"]] == ["Up", "Up"], "both members are up")
    body = ask(first, "GET", "/cluster/members")[2]
    members = json.loads(body)
    expect(body == json.dumps(members, separators=(",", ":"), sort_keys=True).encode(), "fields are sorted, without spaces")
    expect(members["selfNode"] == members["oldest"] == f"akka://Managed@{first.address}", "the first node is the oldest")
    member = json.loads(ask(first, "GET", f"/cluster/members/{full}")[2])
    expect(member in members["members"], "a member is found by its address")
    expect(ask(first, "GET", f"/cluster/members/Managed@{second.address}")[0] == 200, "also without the protocol")
    expect(ask(first, "GET", "/cluster/members/no")[::2] == (404, b'{"message":"Member [no] not found"}'),
           "an unknown member is not found")
    expect(ask(first, "GET", "/cluster/shards")[2] == b'{"entityTypeKeys":["Counter"]}', "types are listed")
    expect(ask(first, "GET", "/cluster/shards/Counter")[2] == b'{"regions":[]}', "a region without shards is empty")
    stats = json.loads(ask(first, "GET", "/cluster/shards/Counter/stats")[2])
    expect(stats["totalShards"] == 0 and len(stats["regions"]) == 2, "all regions are asked")
    seeds = json.loads(ask(first, "GET", "/bootstrap/seed-nodes")[2])
    expect(len(seeds["seedNodes"]) == 2 and isinstance(seeds["seedNodes"][0]["nodeUid"], int), "seed nodes are listed")
    expect(ask(first, "PUT", f"/cluster/members/{full}")[::2] ==
           (400, b"Request is missing required form field 'operation'"), "a missing field is named")
    expect(form(first, "PUT", f"/cluster/members/{full}", "operation=x")[::2] ==
           (400, b'{"message":"Operation not supported"}'), "another operation is not supported")
    expect(ask(first, "GET", "/loglevel/akka")[2] == b"INFO", "the log's level is told")
    expect(ask(first, "PUT", "/loglevel/pekko?level=Warning")[::2] == (200, b"OK") and
           ask(first, "GET", "/loglevel/akka")[2] == b"WARNING", "and set")
    expect(ask(first, "PUT", "/loglevel/akka?level=info")[0] == 200, "in any case of letters")
    expect(status(first, "PUT", "/loglevel/akka?level=loud") == 400, "an unknown level is refused")


def read_events(connection, wanted):
    """Reads a stream until it has the text. Returns the rest of what came."""
    text = b""
    end = time.monotonic() + PATIENCE
    while wanted not in text and time.monotonic() < end:
        part = connection.recv(4096)
        if not part:
            break
        text += part
    return text


def events_stream(first, second):
    with first.connect() as all_events, first.connect() as removals:
        for connection, query in (all_events, ""), (removals, "?type=MemberRemoved&type=Nothing"):
            connection.sendall(f"GET /cluster/domain-events{query} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        text = read_events(all_events, b"event:RoleLeaderChanged\n\n")
        expect(b"Content-Type: text/event-stream\r\n" in text, "events have their media type")
        expect(text.count(b"event:MemberUp\n\n") == 2 and b'data:{"member":{' in text, "the state comes as events")
        code, _, body = form(first, "PUT", f"/cluster/members/akka://Managed@{second.address}", "operation=Leave")
        expect((code, body) == (200, f'{{"message":"Leaving akka://Managed@{second.address}"}}'.encode()),
               "a member is told to leave")
        expect(b"event:MemberExited\n\n" in read_events(all_events, b"event:MemberExited\n\n"), "its exit is an event")
        text = read_events(removals, b"event:MemberRemoved\n\n")
        expect(b'"previousStatus":"Exiting"' in text and b"event:MemberUp" not in text, "only wanted events come")
    expect(second.process.wait(PATIENCE) == 0, "the member ends")
    eventually(lambda: len(members_of(first)["members"]) == 1, "it is no member any more")
    expect(re.search(r'audit action=leave caller="?uid \d+"? role=admin from=socket', first.log().replace('\\"', '"')),
           "the log has an audit line")


def answers_are_compressed(node):
    code, headers, body = ask(node, "GET", "/cluster/members", [("Accept-Encoding", "gzip")])
    expect(code == 200 and "Content-Encoding" not in headers, "a short answer is not compressed")
    roles = "[" + ",".join(f'"a-role-with-a-long-name-{i}"' for i in range(40)) + "]"
    other = Managed(f"akka.cluster.roles = {roles}")
    eventually(lambda: status(other, "GET", "/ready") == 200, "a node with many roles is ready")
    plain = ask(other, "GET", "/cluster/members")[2]
    code, headers, body = ask(other, "GET", "/cluster/members", [("Accept-Encoding", "deflate, gzip")])
    expect(headers["Content-Encoding"] == "gzip" and gzip.decompress(body) == plain, "a long one is, if that is accepted")
    expect("Content-Encoding" not in ask(other, "GET", "/cluster/members", [("Accept-Encoding", "gzip;q=0")])[1],
           "and is not, if gzip is refused")
    expect(other.end() == 0, "it ends")


# ---- misuse ----

def the_page_is_served(node):
    code, headers, _ = ask(node, "GET", "/")
    expect((code, headers["Location"]) == (302, "/ui/"), "/ leads to the dashboard")
    for name, kind in ("", "text/html"), ("app.js", "text/javascript"), ("app.css", "text/css"), ("icon.svg", "image/svg+xml"):
        code, headers, body = ask(node, "GET", "/ui/" + name)
        with open(os.path.join(ROOT, "src", "httpd", "pages", name or "index.html"), "rb") as file:
            expect(code == 200 and headers["Content-Type"].startswith(kind) and body == file.read(), f"/ui/{name} is the file")
        expect("default-src 'none'" in headers["Content-Security-Policy"] and "'unsafe" not in headers["Content-Security-Policy"],
               "and lets nothing foreign run")
        code, again, body = ask(node, "GET", "/ui/" + name, [("If-None-Match", headers["ETag"])])
        expect(code == 304 and not body and again["ETag"] == headers["ETag"], "it is not sent twice")
    expect(status(node, "GET", "/ui/../secret") == 404 and status(node, "GET", "/ui/%2e%2e%2fsecret") == 404, "other files are not there")


def malformed_requests_are_refused(node):
    for head, code in [
        ("GET / HTTP/1.1\n\n", 400),
        ("GET /%zz HTTP/1.1\nHost: a\n\n", 400),
        ("GET / HTTP/1.1\nHost: a\n folded\n\n", 400),
        ("GET / HTTP/1.1\nHost: a\nX : b\n\n", 400),
        ("GET / HTTP/1.1\nHost: a\nX: \0\n\n", 400),
        ("GET /?token=a HTTP/1.1\nHost: a\n\n", 400),
        ("GET / HTTP/3.0\nHost: a\n\n", 505),
        ("PRI * HTTP/2.0\n\nSM\n\n", 505),
        ("BREW / HTTP/1.1\nHost: a\n\n", 501),
        ("PUT / HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\n\n", 501),
        ("PUT / HTTP/1.1\nHost: a\nContent-Length: 1\nContent-Length: 1\n\n", 400),
        ("PUT / HTTP/1.1\nHost: a\nContent-Length: 70000\n\n", 413),
        ("PUT / HTTP/1.1\nHost: a\nExpect: 100-continue\nContent-Length: 1\n\n", 417),
        (f"GET /{'a' * 5000} HTTP/1.1\nHost: a\n\n", 414),
        (f"GET / HTTP/1.1\nHost: a\nX: {'a' * 9000}\n\n", 431),
        ("GET / HTTP/1.1\nHost: a\n" + "X: y\n" * 70 + "\n", 431),
        (f"GET / HTTP/1.1\nHost: a\n" + f"X: {'a' * 8000}\n" * 4 + "\n", 431),
    ]:
        with node.connect() as connection:
            expect(send(connection, head)[0] == code, f"{code} for {head[:40]!r}")
            expect(is_closed(connection), "and the connection is closed")
    for bad in b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"\0" * 64, b"\r\r\n\n", b"GET / HTTP/1.1\nHost: a\n\n":
        with node.connect() as connection:
            connection.sendall(bad)
            expect(read_answer(connection)[0] == 400, f"400 for the bytes {bad[:8]!r}")


def requests_may_be_pipelined(node):
    with node.connect() as connection:
        request = b"GET /alive HTTP/1.1\r\nHost: a\r\n\r\n"
        connection.sendall(request * 3 + request[:10])
        expect([read_answer(connection)[0] for _ in range(3)] == [200] * 3, "requests that wait are answered in order")
        connection.sendall(request[10:])
        expect(read_answer(connection)[0] == 200, "a part of a request waits for the rest")
        connection.sendall(b"GET / HTTP/1.1\r\nX : y\r\n\r\n" + request)
        expect(read_answer(connection)[0] == 400 and read_answer(connection)[0] == 0,
               "a later one is refused, and ends the connection")


def slow_requests_are_refused(node):
    """All at a time, because each takes seconds."""
    begun = time.monotonic()
    silent, half, body = node.connect(), node.connect(), node.connect()
    drip = node.connect()
    half.sendall(b"GET / HTTP/1.1\r\nHost: a")
    body.sendall(b"PUT /cluster HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\na")
    while time.monotonic() < begun + 8:
        try:
            drip.sendall(b"G")
        except OSError:
            break
        time.sleep(0.5)
    expect(time.monotonic() < begun + 8, "a byte each half second keeps no connection open")
    expect(read_answer(half)[0] == 408, "408 for half a head")
    expect(is_closed(silent), "a silent connection is closed")
    expect(read_answer(body)[0] == 408 and time.monotonic() > begun + 9, "408 for half a body, after ten seconds")
    for connection in silent, half, body, drip:
        connection.close()


def connections_are_limited(node):
    """The node allows 8."""
    many = [node.connect() for _ in range(40)]
    closed = 0
    for connection in many:
        connection.setblocking(False)
    end = time.monotonic() + PATIENCE
    while closed < 32 and time.monotonic() < end:
        closed = 0
        for connection in many:
            try:
                closed += connection.recv(1) == b""
            except BlockingIOError:
                pass
            except OSError:
                closed += 1
    expect(closed == 32, "connections above the limit are closed at once")
    for connection in many:
        connection.close()
    eventually(lambda: status(node, "GET", "/alive") == 200, "and new ones are welcome again")


def rss_of(node):
    with open(f"/proc/{node.process.pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def growth_limit():
    """8 MiB; more with AddressSanitizer, which surrounds and keeps freed memory."""
    with open(sys.argv[1], "rb") as file:
        return (64 if b"__asan_init" in file.read() else 8) * 1024 * 1024


def memory_stays(node):
    before = rss_of(node)
    for _ in range(30):
        with node.connect() as connection:
            try:
                for _ in range(64):
                    connection.sendall(b"a" * 65536)
            except OSError:
                pass
    for _ in range(300):
        with node.connect() as connection:
            try:
                connection.sendall(b"GET /cluster/members HTTP/1.1\r\nHost: a\r\n\r\n" * 20)
            except OSError:
                pass  # those before it still occupy the node
    eventually(lambda: all(status(node, "GET", "/alive") == 200 for _ in range(5)), "the node serves after floods")
    with open_stream(node, "") as stream:
        stream.setblocking(False)
        for _ in range(200):
            try:
                stream.send(b"b" * 65536)
            except OSError:
                break
    eventually(lambda: status(node, "GET", "/alive") == 200, "and after a flood behind a stream")
    expect(rss_of(node) - before < growth_limit(), f"memory grew by {(rss_of(node) - before) // 1024} KiB, below {growth_limit() // 1024} KiB")


def open_stream(node, query):
    """Opens a stream, as soon as there is room for it. Streams that were closed take a moment to end."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        connection = node.connect()
        connection.sendall(f"GET /cluster/domain-events{query} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        if b"200 OK" in connection.recv(4096):
            return connection
        connection.close()
    raise TimeoutError("no stream begins")


def streams_are_limited(node):
    """The node allows 2."""
    many = [open_stream(node, "?type=Nothing"), open_stream(node, "?type=Nothing"), node.connect()]
    many[2].sendall(b"GET /cluster/domain-events HTTP/1.1\r\nHost: a\r\n\r\n")
    expect(read_answer(many[2])[0] == 503, "one more stream is refused")
    text = read_events(many[0], b"data:\n\n")
    expect(b"data:\n\n" in text, "silence is broken by an empty event after ten seconds")
    for connection in many:
        connection.close()
    open_stream(node, "").close()
    expect(True, "closed streams make room")


# ---- TCP ----

def tcp_is_read_only(node):
    expect(status(node, "GET", "/cluster/members", tcp=True) == 200, "on loopback everybody may read")
    full = f"/cluster/members/akka://Managed@{node.address}"
    for method, path, text, code in [("POST", "/cluster/members", "address=a", 405), ("DELETE", full, "", 405),
                                     ("PUT", full, "operation=down", 405), ("PUT", "/cluster", "operation=x", 404),
                                     ("PUT", "/loglevel/akka?level=debug", "", 403)]:
        expect(form(node, method, path, text, tcp=True)[0] == code, f"{code} for {method} {path} when read-only")
    expect(status(node, "GET", "/cluster/members", tcp=True, host="evil:80") == 421, "another host is misdirected")
    expect(status(node, "GET", "/cluster/members", tcp=True, host=f"evil:{node.http_port}") == 421, "also with the port")
    expect(status(node, "GET", "/cluster/members", tcp=True, host=f"friend:{node.http_port}") == 200,
           "an allowed host is not")
    expect(status(node, "GET", "/ready", tcp=True, host="anything") in (200, 500), "health takes any host")


def write_tokens(path, rows):
    with open(path + ".new", "w", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        for role, token in rows:
            file.write(f"{role} {hashlib.sha256(token.encode()).hexdigest()} {role}-name\n")
    os.replace(path + ".new", path)


def bearer(token):
    return [("Authorization", f"Bearer {token}")]


def writes_need_a_token(node, tokens):
    no = "/cluster/members/akka://Managed@127.0.0.1:1"
    operate, admin = ("DELETE", no, ""), ("POST", "/cluster/members", "address=nothing")
    expect(form(node, *operate, tcp=True)[0] == 401, "a write without a token is refused")
    code, headers, _ = form(node, *admin, tcp=True)
    expect((code, headers["WWW-Authenticate"]) == (401, "Bearer"), "and told how to prove itself")
    for role, first, second in ("read", 403, 403), ("operate", 404, 403), ("admin", 404, 400):
        expect(form(node, *operate, tcp=True, headers=bearer(role + "-token"))[0] == first, f"{first} for {role}: leave")
        expect(form(node, *admin, tcp=True, headers=bearer(role + "-token"))[0] == second, f"{second} for {role}: join")
    basic = base64.b64encode(b"anybody:admin-token").decode()
    expect(form(node, *operate, tcp=True, headers=[("Authorization", f"Basic {basic}")])[0] == 404,
           "a token may be the password of Basic")
    for headers in [("Origin", "http://evil")], [("Origin", "null")], [("Sec-Fetch-Site", "cross-site")]:
        expect(form(node, *operate, tcp=True, headers=bearer("admin-token") + headers)[0] == 403,
               f"403 for {headers[0]} with a right token")
    own = [("Origin", f"http://127.0.0.1:{node.http_port}"), ("Sec-Fetch-Site", "same-origin")]
    expect(form(node, *operate, tcp=True, headers=bearer("admin-token") + own)[0] == 404, "an own page may")
    write_tokens(tokens, [("admin", "another-token")])
    eventually(lambda: form(node, *operate, tcp=True, headers=bearer("another-token"))[0] == 404,
               "a changed tokens file is read again")
    codes = [form(node, *operate, tcp=True, headers=bearer("wrong"))[0] for _ in range(12)]
    expect(codes[0] == 401 and codes[-1] == 429, "many wrong tokens are refused for a while")
    expect(form(node, *operate, tcp=True, headers=bearer("another-token"))[0] == 429, "and with them right ones")
    expect(status(node, "GET", "/ready", tcp=True) == 200, "but not the health checks")
    log = node.log()
    expect("wrong token" in log and "another-token" not in log and "admin-token" not in log, "the log has no token")


# ---- TLS ----

def make_certificates():
    """Returns the paths of a CA, a server's and a client's certificate, by openssl."""
    def run(*arguments):
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    new = ["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    run(*new, "-x509", "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=ca", "-days", "2")
    for name in "server", "ops", "guest", "gone":
        run(*new, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}/O=acme")
        with open(os.path.join(folder, "names"), "w") as file:
            file.write("subjectAltName=IP:127.0.0.1\n")
        run("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
            "-out", f"{name}.pem", "-extfile", "names")
    with open(os.path.join(folder, "index"), "w"), open(os.path.join(folder, "ca.cnf"), "w") as file:
        file.write("[ca]\ndefault_ca = one\n[one]\ndatabase = index\ndefault_md = sha256\ndefault_crl_days = 2\n")
    authority = ["ca", "-config", "ca.cnf", "-cert", "ca.pem", "-keyfile", "ca.key"]
    run(*authority, "-revoke", "gone.pem")
    run(*authority, "-gencrl", "-out", "crl.pem")
    run(*new, "-x509", "-keyout", "other.key", "-out", "other.pem", "-subj", "/CN=ops/O=acme", "-days", "2")


def curl(node, method, path, *arguments):
    """Returns the status, 0 without an answer."""
    command = ["curl", "-s", "-o", os.devnull, "-w", "%{http_code}", "-X", method, "-m", "30", "--cacert", "ca.pem",
               *arguments, node.url + path]
    return int(subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True).stdout)


def tls_knows_its_clients():
    make_certificates()
    paths = {name: os.path.join(folder, name) for name in ("server.pem", "server.key", "ca.pem", "crl.pem")}
    node = Managed("sherd.management { socket = off, http { port = 0, route-providers-read-only = off, tls = own, "
                   f'certificate = "{paths["server.pem"]}", key = "{paths["server.key"]}", client-ca = "{paths["ca.pem"]}", '
                   f'client-crl = "{paths["crl.pem"]}", '
                   'client-roles = ["CN=ops,* = operate", "CN=guest,O=acme = read", "CN=gone,* = admin"] } }')
    expect(node.url.startswith("https://") and not node.socket, "the node serves TLS, and no socket")
    eventually(lambda: curl(node, "GET", "/ready") == 200, "health needs no certificate")
    path = "/cluster/members/akka://Managed@127.0.0.1:1"
    expect(curl(node, "DELETE", path) == 401, "a write needs one")
    for name, code in ("ops", 404), ("guest", 403):
        expect(curl(node, "DELETE", path, "--cert", f"{name}.pem", "--key", f"{name}.key") == code, f"{code} for {name}")
    expect(curl(node, "DELETE", path, "--cert", "gone.pem", "--key", "gone.key") == 0, "a revoked certificate is refused")
    expect(curl(node, "DELETE", path, "--cert", "other.pem", "--key", "other.key") == 0,
           "a certificate of another CA is refused")
    expect(curl(node, "GET", "/ready", "--tls-max", "1.1") == 0, "and so is TLS 1.1")
    with node.connect_tcp() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
        expect(b"HTTP" not in connection.recv(100), "a plain request gets no answer")
    shutil.copy(os.path.join(folder, "other.pem"), paths["server.pem"])
    shutil.copy(os.path.join(folder, "other.key"), paths["server.key"])
    eventually(lambda: curl(node, "GET", "/ready", "--cacert", "other.pem", "-k") == 200 and curl(node, "GET", "/ready") == 0,
               "changed files are read again")
    expect(node.end() == 0, "the node ends")


# ---- settings ----

def refused(config, wanted):
    node = Managed(config)
    expect(node.process.wait(PATIENCE) == 1 and wanted in node.log(), f"refused: {wanted}")


def unsafe_settings_are_refused():
    tcp = "sherd.management.http"
    refused(f"{tcp}.hostname = 0.0.0.0, {tcp}.port = 0", "it lacks TLS")
    refused(f"{tcp}.port = 0, {tcp}.tls = own", "TLS of its own needs certificate and key")
    refused(f"{tcp}.port = 0, {tcp}.client-roles = [\"CN=a\"]", "no pattern and right")
    refused(f"{tcp}.port = 0, {tcp}.tokens-file = {folder}/none", "the tokens file cannot be used")
    path = os.path.join(folder, "open-tokens")
    with open(path, "w") as file:
        file.write("")
    os.chmod(path, 0o644)
    refused(f"{tcp}.port = 0, {tcp}.tokens-file = {path}", "others may read it")
    os.chmod(path, 0o600)
    with open(path, "w") as file:
        file.write("read abc name\n")
    refused(f"{tcp}.port = 0, {tcp}.tokens-file = {path}", "the tokens file has a wrong line")
    refused("sherd.management.cluster.health-check.ready-states = [Ready]", "no status of a member")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        refused(f"{tcp}.port = {taken.getsockname()[1]}", "cannot listen for the management")
    node = Managed(f"{tcp}.hostname = 0.0.0.0, {tcp}.port = 0, {tcp}.open-read = on")
    expect("the management is open" in node.log(), "open-read gives a warning")
    expect(node.end() == 0, "the node ends")


def sockets_are_replaced():
    path = os.path.join(folder, "own.sock")
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(path)
    node = Managed(f"sherd.management.socket = {path}")
    expect(node.socket == path and status(node, "GET", "/alive") == 200, "a socket that nobody listens on is replaced")
    other = Managed(f"sherd.management.socket = {path}")
    expect(other.socket == "" and "something else is at the path" in other.log(), "one in use is not")
    expect(status(node, "GET", "/alive") == 200 and other.end() == 0, "and both nodes go on")
    node.process.kill()
    node.process.wait()
    dead = Managed()
    dead.process.kill()
    dead.process.wait()
    expect(os.path.exists(dead.socket), "a killed process leaves its socket")
    after = Managed()
    expect(not os.path.exists(dead.socket), "the next node removes it")
    expect(after.end() == 0 and not os.path.exists(after.socket), "and its own at its end")
    unsafe = os.path.join(folder, "unsafe")
    os.makedirs(unsafe, exist_ok=True)
    os.chmod(unsafe, 0o755)
    node = Managed(environment={"RUNTIME_DIRECTORY": unsafe})
    expect(node.socket == "" and "no folder of this user with mode 0700" in node.log(), "an open folder gets no socket")
    expect(node.end() == 0, "and the node runs all the same")


def main():
    small = "sherd.management.http { connections = 8, streams = 2 }"
    first = Managed(small)
    socket_is_private(first)
    health_follows_the_node(first)
    second = Managed(seed=first)
    akka_routes_answer(first, second)
    events_stream(first, second)
    answers_are_compressed(first)
    the_page_is_served(first)
    malformed_requests_are_refused(first)
    requests_may_be_pipelined(first)
    slow_requests_are_refused(first)
    connections_are_limited(first)
    memory_stays(first)
    streams_are_limited(first)
    expect(first.end() == 0, "the node ends")
    tokens = os.path.join(folder, "tokens")
    write_tokens(tokens, [(role, role + "-token") for role in ("read", "operate", "admin")])
    tcp = f"sherd.management.http {{ port = 0, allowed-hosts = [friend], tokens-file = {tokens}"
    node = Managed(tcp + "}")
    tcp_is_read_only(node)
    expect(node.end() == 0, "the node ends")
    node = Managed(tcp + ", route-providers-read-only = off }")
    eventually(lambda: status(node, "GET", "/ready", tcp=True) == 200, "the node is ready")
    writes_need_a_token(node, tokens)
    expect(node.end() == 0, "the node ends")
    tls_knows_its_clients()
    unsafe_settings_are_refused()
    sockets_are_replaced()
    shutil.rmtree(folder)
    return verdict()


program = sys.argv[1]
os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"
sys.exit(main())

"""Runs a cluster of airports nodes over TLS, with certificates from the openssl command.

Unknown clients connect, the certificate is replaced under traffic, and a node is killed and another
started. Every command counts once. The nodes refuse every peer without a certificate of the CA. At
last a node's secret is replaced, deleted and put back."""
import os
import socket
import ssl
import sys
import tempfile
import time

from cluster import Failed, main, wait
from tls_keys import Keys

FLIGHTS = 8000


def context(keys, name=None):
    """Returns the TLS context of a peer that verifies nothing and presents this certificate, or
    none."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname = False
    made.verify_mode = ssl.CERT_NONE
    if name:
        made.load_cert_chain(keys.path(f"{name}.pem"), keys.path(f"{name}.key"))
    return made


def is_heard(node, peer):
    """Returns whether the node keeps a TLS connection on which a peer sends Artery's preamble."""
    try:
        with socket.create_connection(("127.0.0.1", node.port), timeout=10) as plain:
            with peer.wrap_socket(plain) as secure:
                secure.sendall(b"AKKA\x01")
                secure.settimeout(0.3)
                return secure.recv(1) != b""
    except (TimeoutError, socket.timeout):
        return True
    except (ssl.SSLError, OSError):
        return False


def certificate_of(node, keys):
    with socket.create_connection(("127.0.0.1", node.port), timeout=10) as plain:
        with context(keys, "node").wrap_socket(plain) as secure:
            return secure.getpeercert(True)


def refusals(cluster, node):
    return [line for line in cluster.log(node).splitlines() if "connection refused" in line]


def strangers(cluster, keys):
    """Checks that each node accepts only peers with a certificate of the CA, and logs each refusal
    with its reason."""
    keys.make_ca("other", "another CA")
    keys.make("stranger", "other")
    for node in cluster.nodes:
        end = time.monotonic() + 20  # a node logs one refusal in a second
        while not refusals(cluster, node) and time.monotonic() < end:
            if is_heard(node, context(keys)) or is_heard(node, context(keys, "stranger")):
                raise Failed(f"{node.name} accepts a peer without a certificate of the CA")
            with socket.create_connection(("127.0.0.1", node.port), timeout=10) as plain:
                plain.sendall(b"AKKA\x01")
                plain.settimeout(10)
                while plain.recv(100):
                    pass
        if not is_heard(node, context(keys, "node")):
            raise Failed(f"{node.name} refuses a peer with a valid certificate")
        said = refusals(cluster, node)
        if not said or not all("TLS: " in line for line in said):
            raise Failed(f"{node.name} does not log the refusal and its reason: {said}")
    cluster.check_members()


def write_secret(path, *secrets):
    """Replaces the file in one step, as an operator does for a rotation."""
    with open(os.open(path + ".new", os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w") as file:
        file.writelines(secret + "\n" for secret in secrets)
    os.replace(path + ".new", path)


def is_ready(node):
    return node.get_status()["ready"] == "1"


def lost_secret(cluster, keys):
    """A node whose secret is deleted says so and is not ready until the file is back. A replaced
    secret is a rotation."""
    path = keys.path("secret")
    old, new = "o" * 32, "n" * 32
    write_secret(path, old)
    os.environ.update({"SHERD__REMOTE__TLS__SECRET": path, "SHERD__REMOTE__TLS__RELOAD_AFTER": "1 h"})
    node = cluster.start("n10", seeds=[])
    wait(lambda: is_ready(node), "the node with a secret is not ready", 30)
    write_secret(path, old, new)
    time.sleep(4)  # longer than a deleted file needs
    cluster.expect(is_ready(node), "a node whose secret is replaced is not ready")
    cluster.expect("rejected" not in cluster.log(node), "a replaced secret is reported")
    os.remove(path)
    said = f'secret \\"{path}\\": No such file or directory'
    wait(lambda: said in cluster.log(node), "the deleted secret is not reported", 4)
    wait(lambda: not is_ready(node), "a node without its secret is ready", 2)
    write_secret(path, old, new)
    wait(lambda: is_ready(node), "a node with its secret is not ready again", 4)
    cluster.stop_all()


def test(cluster):
    keys = Keys(tempfile.mkdtemp(prefix="keys-", dir=cluster.folder))
    cluster.start_all()
    total = 2 * len(cluster.flights)
    cluster.feed_until(lambda: cluster.acked() >= total // 4, "feeding")
    strangers(cluster, keys)
    print("unknown peers were refused", flush=True)

    before = certificate_of(cluster.nodes[0], keys)
    keys.make("node", "ca")
    wait(lambda: certificate_of(cluster.nodes[0], keys) != before, "the new certificate is not in use", 20, 0.2)
    victim = cluster.nodes[-1]
    cluster.lose(victim)
    cluster.feed_again(victim)
    cluster.start("n9")
    cluster.wait_up()
    print("a node with the new certificate joined the running cluster", flush=True)
    cluster.feed_all()
    cluster.check_members()
    cluster.check_exact()
    cluster.stop_all()
    cluster.gone += cluster.nodes
    cluster.nodes = []
    lost_secret(cluster, keys)
    print("a deleted secret was reported", flush=True)


sys.exit(main(test, __doc__, flights=FLIGHTS))

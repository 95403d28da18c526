"""Chooses free ports for nodes whose ports must be known before they start."""
import random
import socket
import threading

# Below the ephemeral ports: a connection may take one of those before the node listens on it.
PORTS = 10000, 32768
given = set()
lock = threading.Lock()


def free_port():
    """Returns a port that is free on loopback. Never returns a port twice, because its first owner
    may not listen yet, or not now."""
    for _ in range(1000):
        port = random.randrange(*PORTS)
        with lock, socket.socket() as sock:
            try:
                sock.bind(("127.0.0.1", port))
            except OSError:
                continue
            if port not in given:
                given.add(port)
                return port
    raise OSError("no port is free")

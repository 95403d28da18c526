"""Ports for nodes whose ports others must know before they start."""
import random
import socket
import threading

PORTS = 10000, 32768  # below those that a system gives to connections, which may have got one of these when its node starts
given = set()
lock = threading.Lock()


def free_port():
    """On loopback, and none twice: who has it may not listen there yet, or not any more."""
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

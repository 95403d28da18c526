"""Starts an installed program with the management by HTTP, and asks whether it is alive.

usage: management_installed.py MANAGED"""
import os
import socket
import subprocess
import sys
import tempfile

with tempfile.TemporaryDirectory() as folder:
    os.chmod(folder, 0o700)
    node = subprocess.Popen([sys.argv[1]], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                            env={**os.environ, "RUNTIME_DIRECTORY": folder})
    try:
        path = node.stdout.readline().split()[1]
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(60)
            connection.connect(path)
            connection.sendall(b"GET /alive HTTP/1.1\r\nHost: a\r\n\r\n")
            answer = connection.recv(4096)
    finally:
        node.kill()
        node.wait()
if not answer.startswith(b"HTTP/1.1 200 OK"):
    sys.exit(f"{sys.argv[1]} answers {answer!r}")

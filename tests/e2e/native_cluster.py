"""Nodes with the management by HTTP (tests/e2e/native_node.c), for tests of the native API and of the command."""
import json
import os
import subprocess
import tempfile
import time

from checks import PATIENCE
from cluster import free_port

API = "/api/v1"
folder = tempfile.mkdtemp(prefix="sherd-native-")


class Node:
    program = None  # native_node; set by the test

    def __init__(self, seed=None, config="", run="run", cluster="Native"):
        self.began = time.monotonic()
        self.address = f"127.0.0.1:{free_port()}"
        self.run = os.path.join(folder, run)
        os.makedirs(self.run, mode=0o700, exist_ok=True)
        self.log_path = os.path.join(folder, self.address)
        command = [Node.program, config, self.address.rpartition(":")[2]] + ([seed.address] if seed else [])
        with open(self.log_path, "w") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
                env={**os.environ, "RUNTIME_DIRECTORY": self.run, "CLUSTER": cluster, "GATE": os.path.join(folder, "gate")})
        self.socket = self.process.stdout.readline().strip()

    def tell(self, *words):
        self.process.stdin.write(" ".join(words) + "\n")
        self.process.stdin.flush()

    def ask(self, path, *arguments):
        """Returns the status and the body of API + path."""
        command = ["curl", "-s", "-m", "60", "-w", "\n%{http_code}", "--unix-socket", self.socket, *arguments,
                   "http://localhost" + API + path]
        body, _, code = subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout.rpartition("\n")
        return int(code), body

    def get(self, path, *arguments):
        """The same, decoded."""
        code, body = self.ask(path, *arguments)
        return code, json.loads(body) if body else None

    def send(self, method, path, body):
        return self.get(path, "-X", method, "-H", "Content-Type: application/json", "-d", json.dumps(body))

    def end(self):
        self.process.stdin.close()
        return self.process.wait(PATIENCE)

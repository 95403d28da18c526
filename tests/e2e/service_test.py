"""Checks the files in packaging/: the unit of systemd, the image's packages, and the manifest of Kubernetes.

Three nodes run with the configuration of the manifest: they find each other by the records of a DNS
server, talk by TLS, and answer the manifest's probes. Each tells a service manager of its life.

usage: service_test.py SERVICE [LIBRARY...]     (the program examples/guide/service, and the libraries of the image)"""
import argparse
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request

import yaml

try:
    import kubernetes_validate
except ImportError:
    kubernetes_validate = None

from checks import PATIENCE, eventually, expect, failed, verdict
from cluster import ROOT, free_port
from dns_server import Dns
from tls_keys import Keys

PACKAGING = os.path.join(ROOT, "packaging")
NODES = 3
USER = 10001  # of the image and the manifest
EXPOSED = 20  # percent of exposure that systemd may find


def read(*path):
    with open(os.path.join(PACKAGING, *path)) as file:
        return file.read()


# ---- systemd ----

def the_unit_is_good():
    unit = os.path.join(folder, "app.service")
    with open(unit, "w") as file:
        file.write(read("systemd", "app.service").replace("/usr/local/bin/app", f'"{os.path.abspath(program)}"'))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True)
    complaints = [line for line in done.stderr.splitlines() if "app.service" in line]
    expect(done.returncode == 0 and not complaints, f"systemd takes the unit {complaints}")
    done = subprocess.run(["systemd-analyze", "security", "--offline=true", f"--threshold={EXPOSED}", unit],
                          capture_output=True, text=True)
    expect(done.returncode == 0, f"systemd finds the unit exposed by at most {EXPOSED} of 100")
    if done.returncode:
        print(done.stdout, done.stderr)


# ---- the image ----

def packages_of(path):
    """Debian's packages of the libraries that a file needs itself."""
    needed = subprocess.run(["objdump", "-p", path], capture_output=True, text=True, check=True).stdout
    loaded = dict(re.findall(r"(\S+) => (\S+)", subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout))
    names = [name for name in re.findall(r"NEEDED +(\S+)", needed) if "sherd" not in name and name in loaded]
    # dpkg knows files below /lib or below /usr/lib, so the name of the last folder has to do
    patterns = ["*/" + "/".join(loaded[name].split("/")[-2:]) for name in names]
    found = subprocess.run(["dpkg-query", "-S", *patterns], capture_output=True, text=True)
    packages = {name: package for package, name in re.findall(r"^([^:]+):.*/(\S+)$", found.stdout, re.M)}
    expect(set(names) <= set(packages), f"the libraries of {os.path.basename(path)} are Debian's")
    return set(packages.values())


def the_image_has_all_libraries(files):
    image = read("docker", "Dockerfile").split("FROM debian:12-slim\n")[-1]
    listed = set(re.findall(r"^ {8}([a-z0-9.-]+)", image, re.M))
    needed = set().union(*map(packages_of, files)) - {"libc6", "libasan8", "libubsan1", "libtsan2", "libgcc-s1", "libstdc++6"}
    expect(needed <= listed, f"the image installs what its files need: not {sorted(needed - listed)}")
    extra = listed - needed - {"ca-certificates"}
    expect(not extra, f"and no more: {sorted(extra)}")


# ---- Kubernetes ----

def the_manifest_fits(objects):
    """Names that must agree, in one object and between them."""
    kinds = {entry["kind"]: entry for entry in objects}
    if not kubernetes_validate:
        print("skipped: the schema of Kubernetes: kubernetes-validate is not installed")
    for kind, entry in kinds.items() if kubernetes_validate else ():
        try:
            kubernetes_validate.validate(entry, kubernetes_validate.latest_version(), strict=True)
            expect(True, f"the {kind} fits the schema of Kubernetes")
        except kubernetes_validate.ValidationError as error:
            expect(False, f"the {kind} fits the schema of Kubernetes: {error}")
    pod = kinds["StatefulSet"]["spec"]["template"]
    container = pod["spec"]["containers"][0]
    ports = {port["name"] for port in container["ports"]}
    volumes = {volume["name"] for volume in pod["spec"]["volumes"]}
    service = kinds["Service"]
    expect(kinds["StatefulSet"]["spec"]["serviceName"] == service["metadata"]["name"], "the set has its service")
    expect({port["targetPort"] for port in service["spec"]["ports"]} <= ports, "the service's ports are the container's")
    for kind in "StatefulSet", "PodDisruptionBudget":
        expect(kinds[kind]["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items(),
               f"the {kind} selects the pods")
    expect({mount["name"] for mount in container["volumeMounts"]} == volumes, "each volume is mounted")
    probes = [container[probe]["httpGet"] for probe in ("startupProbe", "readinessProbe", "livenessProbe")]
    expect({probe["port"] for probe in probes} <= ports, "the probes' ports are the container's")
    return kinds, probes


def as_the_user():
    """Root runs the nodes as a user that reads its files by its group, as the manifest does."""
    drop = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
    reaches = os.geteuid() == 0 and subprocess.run([*drop, "test", "-x", program]).returncode == 0
    print("the nodes run as", USER if reaches else "this user", flush=True)
    return drop if reaches else []


def give(path, mode):
    """Lets the nodes' group read what root has."""
    if as_user:
        os.chown(path, 0, USER)
        os.chmod(path, mode)


class Service:
    """A node as the manifest runs it, with a service manager that listens."""

    def __init__(self, config, environment, number):
        self.port, self.http_port = free_port(), free_port()
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        path = os.path.join(folder, f"notify-{number}")
        self.manager.bind(path)
        self.manager.setblocking(False)
        self.heard = ""
        self.log_path = os.path.join(folder, f"{number}.log")
        runtime = os.path.join(folder, f"run-{number}")
        os.mkdir(runtime, 0o700)
        if as_user:
            os.chown(runtime, USER, USER)
        give(path, 0o770)
        settings = {"SHERD__REMOTE__ARTERY__CANONICAL__HOSTNAME": "localhost",
                    "SHERD__REMOTE__ARTERY__CANONICAL__PORT": str(self.port),
                    "SHERD__MANAGEMENT__HTTP__PORT": str(self.http_port),
                    "NOTIFY_SOCKET": path, "WATCHDOG_USEC": "1000000", "RUNTIME_DIRECTORY": runtime}
        with open(self.log_path, "w") as log:
            self.process = subprocess.Popen([*as_user, program, config], stderr=log, env={**os.environ, **settings, **environment})

    def listen(self):
        """Returns everything that the node told its service manager."""
        try:
            while True:
                self.heard += self.manager.recv(4096).decode()
        except BlockingIOError:
            return self.heard

    def probe(self, probe):
        url = f"{probe['scheme'].lower()}://localhost:{self.http_port}{probe['path']}"
        try:
            with urllib.request.urlopen(url, timeout=5, context=ssl._create_unverified_context()) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0


def three_nodes_run(kinds, probes):
    keys = Keys(folder)
    keys.make("node", "ca", "DNS:localhost,DNS:*.app.default.svc.cluster.local")
    for setting in [name for name in os.environ if name.startswith("SHERD__")]:
        del os.environ[setting]  # the manifest's configuration alone counts
    os.mkdir(os.path.join(folder, "tls"))
    for name, target in ("node.pem", "tls.crt"), ("node.key", "tls.key"), ("ca.pem", "ca.crt"):
        shutil.copy(keys.path(name), os.path.join(folder, "tls", target))
        give(os.path.join(folder, "tls", target), 0o440)
    os.mkdir(os.path.join(folder, "tokens"))
    tokens = os.path.join(folder, "tokens", "tokens")
    with open(os.open(tokens, os.O_CREAT | os.O_WRONLY, 0o400), "w") as file:
        file.write("read " + "0" * 64 + " nobody\n")
    give(tokens, 0o440)
    give(folder, 0o750)
    config = os.path.join(folder, "app.conf")
    with open(config, "w") as file:
        file.write(kinds["ConfigMap"]["data"]["app.conf"].replace("/etc/app/", folder + "/"))

    dns = Dns()
    nodes = [Service(config, {"SHERD__DNS__SERVERS": dns.address}, number) for number in range(NODES)]
    startup, ready, alive = probes
    try:
        eventually(lambda: all(node.probe(alive) == 200 for node in nodes), "nodes without a cluster live")
        expect(all(node.probe(ready) == 500 and node.probe(startup) == 500 for node in nodes), "and are not ready")
        eventually(lambda: all("STATUS=not ready: the node is not up\n" in node.listen() for node in nodes),
                   "their service managers hear why")
        dns.answer = dns.srv([node.port for node in nodes])
        eventually(lambda: all(node.probe(ready) == 200 for node in nodes), "three nodes find each other and are ready")
        names = {f"_remote._tcp.{kinds['Service']['metadata']['name']}.default.svc.cluster.local"}
        expect(dns.names == names, f"the nodes asked for {dns.names}")
        expect(all(node.probe(startup) == 200 for node in nodes), "they have started")
        eventually(lambda: all("READY=1\n" in node.listen() and "WATCHDOG=1\n" in node.heard for node in nodes),
                   "their service managers hear it, and that they live")
        leaving = nodes.pop()
        leaving.process.send_signal(signal.SIGTERM)
        expect(leaving.process.wait(kinds["StatefulSet"]["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]) == 0,
               "a node that is asked to stop leaves in time")
        expect("STOPPING=1\n" in leaving.listen(), "its service manager heard so")
        expect(all(node.probe(ready) == 200 for node in nodes), "the others stay ready")
    finally:
        for node in nodes:
            node.process.terminate()
        for node in nodes:
            expect(node.process.wait(PATIENCE) == 0, "a node leaves")
    if failed:
        for number in range(NODES):
            with open(os.path.join(folder, f"{number}.log")) as file:
                print(file.read()[-4000:])


parser = argparse.ArgumentParser()
parser.add_argument("program")
parser.add_argument("libraries", nargs="*")
arguments = parser.parse_args()
program = arguments.program
folder = tempfile.mkdtemp(prefix="sherd-service-")
as_user = as_the_user()
try:
    the_unit_is_good()
    the_image_has_all_libraries([program, *arguments.libraries])
    three_nodes_run(*the_manifest_fits(list(yaml.safe_load_all(read("kubernetes", "app.yaml")))))
finally:
    shutil.rmtree(folder)
sys.exit(verdict())

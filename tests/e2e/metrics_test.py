"""Tests the metrics of three nodes: with promtool, a parser of OpenMetrics, and a Prometheus that scrapes them.

usage: metrics_test.py METRICS_NODE PROMETHEUS PROMTOOL"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

from checks import PATIENCE, eventually, expect, verdict
from cluster import free_port

try:
    from prometheus_client.openmetrics import parser
except ImportError:  # another interpreter than Debian's
    sys.path.append("/usr/lib/python3/dist-packages")
    from prometheus_client.openmetrics import parser

ENTITIES = 300
OPEN = "application/openmetrics-text; version=1.0.0"
folder = tempfile.mkdtemp(prefix="sherd-metrics-")


def get(url, accept="*/*"):
    with urllib.request.urlopen(urllib.request.Request(url, headers={"Accept": accept}), timeout=10) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


class Node:
    def __init__(self, program, seed=None):
        self.port, self.http = free_port(), free_port()
        self.address = f"127.0.0.1:{self.port}"
        self.url = f"http://127.0.0.1:{self.http}"
        config = f"sherd.management {{ http.port = {self.http}, socket = off }}"
        self.log = open(os.path.join(folder, f"{self.port}.log"), "w")
        self.process = subprocess.Popen([program, config, str(self.port)] + ([seed.address] if seed else []),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True)

    def send(self, first, count):
        """Sends a message to each of these entities. Returns how many were sent."""
        self.process.stdin.write(f"{first} {count}\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline().split()[1])

    def values(self):
        """The samples in the older format: name with labels to value."""
        lines = get(self.url + "/metrics")[1].splitlines()
        return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")}

    def end(self):
        self.process.stdin.close()
        code = self.process.wait(PATIENCE)
        self.log.close()
        return code


# ---- the formats ----

def formats_are_understood(node, promtool):
    kind, text = get(node.url + "/metrics")
    expect(kind == "text/plain; version=0.0.4; charset=utf-8", "the older format has its type")
    checked = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True)
    expect(checked.returncode == 0 and not checked.stdout + checked.stderr, "promtool finds nothing in it")
    print(checked.stdout + checked.stderr, end="")
    kind, text = get(node.url + "/metrics", OPEN)
    expect(kind == OPEN + "; charset=utf-8", "OpenMetrics has its type")
    families = list(parser.text_string_to_metric_families(text))
    expect(10 < len(families) <= 60, f"a parser of OpenMetrics reads {len(families)} families, at most 60")
    labels = {name for family in families for sample in family.samples for name in sample.labels}
    expect(labels <= {"version", "code", "lane", "status", "reason", "where", "what", "type", "state", "cause", "stage", "event", "outcome", "le"},
           f"no label names an entity, a shard or a peer: {sorted(labels)}")
    names = {sample.name for family in families for sample in family.samples}
    expect(names == {name.partition("{")[0] for name in node.values()}, "both formats have the same samples")


def counters_never_fall(nodes, before):
    for node in nodes:
        after = node.values()
        fallen = [name for name, value in before[node].items()
                  if name.partition("{")[0].endswith("_total") and after.get(name, -1) < value]
        expect(not fallen, f"no counter of {node.address} falls {fallen}")


# ---- Prometheus ----

class Prometheus:
    def __init__(self, program, nodes):
        self.url = f"http://127.0.0.1:{free_port()}"
        config = os.path.join(folder, "prometheus.yml")
        with open(config, "w") as file:
            json.dump({"global": {"scrape_interval": "250ms", "scrape_timeout": "250ms"},  # JSON is YAML
                       "scrape_configs": [{"job_name": "sherd", "static_configs": [
                           {"targets": [f"127.0.0.1:{node.http}" for node in nodes]}]}]}, file)
        with open(os.path.join(folder, "prometheus.log"), "w") as log:
            self.process = subprocess.Popen(
                [program, f"--config.file={config}", f"--storage.tsdb.path={folder}/data",
                 f"--web.listen-address={self.url[7:]}", "--log.level=warn"], stdout=log, stderr=log)

    def query(self, text):
        """The values of an instant query."""
        answer = json.loads(get(f"{self.url}/api/v1/query?" + urllib.parse.urlencode({"query": text}))[1])
        return [float(sample["value"][1]) for sample in answer["data"]["result"]]

    def end(self):
        self.process.terminate()
        self.process.wait(PATIENCE)


def prometheus_scrapes_three_nodes(nodes, prometheus):
    eventually(lambda: prometheus.query('up{job="sherd"}') == [1, 1, 1], "Prometheus scrapes all nodes")
    expect(prometheus.query("sum(sherd_leader)") == [1], "one node is the leader")
    expect(prometheus.query('sherd_members{status="Up"}') == [3, 3, 3], "each node sees three members")
    before = prometheus.query("sum(sherd_messages_delivered_total)")
    sent = nodes[0].send(0, ENTITIES) + nodes[1].send(0, ENTITIES) + nodes[2].send(ENTITIES, 60)
    expect(sent == 2 * ENTITIES + 60, "messages are sent from each node")
    eventually(lambda: prometheus.query("sum(sherd_entities)") == [ENTITIES + 60], "each entity is counted once")
    eventually(lambda: prometheus.query("sum(sherd_messages_delivered_total)")[0] >= before[0] + sent,
               "Prometheus sees the deliveries")
    eventually(lambda: prometheus.query('sum(sherd_shards{state="running",type="Counter"})') == [12], "and all shards")
    eventually(lambda: prometheus.query('sum(sherd_coordinator_active{type="Counter"})') == [1], "and one coordinator")
    eventually(lambda: prometheus.query('sum(sherd_entity_starts_total{type="Counter"})') == [ENTITIES + 60],
               "each entity was started once")
    expect(prometheus.query('sum(sherd_handler_seconds_count{type="Counter"})')[0] > 0, "handlers are sampled")
    expect(all(value > 0 for value in prometheus.query("sherd_turn_seconds_count")), "turns are timed")
    expect(len(prometheus.query("sherd_lane_busy_seconds_total > 0")) >= 6, "on all threads")
    expect(prometheus.query("sum(sherd_messages_undelivered_total)") == [0], "no message is lost")
    expect(prometheus.query("sum(sherd_messages_waiting)") == [0], "and none waits")
    expect(all(0 <= value < 2 * PATIENCE for value in prometheus.query("time() - process_start_time_seconds")) and
           all(value > 1e6 for value in prometheus.query("process_resident_memory_bytes")), "the processes are described")
    expect(prometheus.query("process_open_fds < process_max_fds") != [], "and their files")


def main():
    program, server, promtool = sys.argv[1:]
    nodes = [Node(program)]
    prometheus = None
    try:
        nodes += [Node(program, nodes[0]) for _ in range(2)]
        for node in nodes:
            eventually(lambda: get(node.url + "/ready")[0], f"{node.address} is ready")
        eventually(lambda: all(node.values()['sherd_members{status="Up"}'] == 3 for node in nodes), "all agree")
        formats_are_understood(nodes[0], promtool)
        before = {node: node.values() for node in nodes}
        prometheus = Prometheus(server, nodes)
        prometheus_scrapes_three_nodes(nodes, prometheus)
        counters_never_fall(nodes, before)
        formats_are_understood(nodes[1], promtool)
        expect([node.end() for node in reversed(nodes)] == [0, 0, 0], "the nodes end")
    finally:
        if prometheus:
            prometheus.end()
        for node in nodes:
            if node.process.poll() is None:
                node.process.kill()
                node.process.wait()
    shutil.rmtree(folder)
    return verdict()


sys.exit(main())

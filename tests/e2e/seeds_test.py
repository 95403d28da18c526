"""Nodes find their seed nodes in two ways. First by a file that is written after they have started.
Then by SRV records of a DNS server that first does not know the name, then sends garbage, then
names some of the nodes, and then all."""
import os
import sys

from cluster import main, wait
from airports_demo import Node, free_port
from dns_server import Dns

SETTINGS = "SHERD__MANAGEMENT__CLUSTER__BOOTSTRAP__CONTACT_POINT_DISCOVERY__"
NODES = 3


def start_all(cluster, settings, host):
    """Starts all nodes at once, each with these settings in its environment."""
    os.environ.update(settings)
    for index in range(NODES):
        node = Node(cluster, f"{host}-{index + 1}", [], free_port())
        node.address = f"{host}:{node.port}"
        cluster.nodes.append(node)
    for name in settings:
        del os.environ[name]


def none_is_in(cluster):
    return all(int(node.get_status()["up"]) == 0 for node in cluster.nodes)


def said(cluster, text):
    return all(text in cluster.log(node) for node in cluster.nodes)


def found_by(cluster):
    return [node.name for node in cluster.nodes if "cluster founded by this node" in cluster.log(node)]


def end_all(cluster):
    cluster.stop_all()
    cluster.gone += cluster.nodes
    cluster.nodes = []


def write(path, text):
    with open(path + ".new", "w") as file:
        file.write(text)
    os.replace(path + ".new", path)


def by_file(cluster):
    path = os.path.join(cluster.folder, "seeds")
    start_all(cluster, {"SHERD__CLUSTER__SEED_NODES_FILE": path}, "127.0.0.1")
    wait(lambda: said(cluster, "seeds: No such file"), "the log does not name the missing file", 30)
    cluster.expect(none_is_in(cluster), "a node is up without seed nodes")
    write(path, "# the shop\n127.0.0.1\n")
    wait(lambda: said(cluster, "seeds:2: "), "the log does not name the bad line", 60)
    cluster.expect(none_is_in(cluster), "a node is up without seed nodes")
    write(path, "# the shop\n" + "".join(f"{node.address} # {node.name}\n" for node in cluster.nodes))
    cluster.wait_up()
    cluster.check_members()
    founders = found_by(cluster)
    cluster.expect(founders == [cluster.nodes[0].name], f"founded by {founders}, not by the first node of the file")
    print("by file", flush=True)
    end_all(cluster)


def by_dns(cluster):
    dns = Dns()
    start_all(cluster, {
        SETTINGS + "DISCOVERY_METHOD": "akka-dns",
        SETTINGS + "SERVICE_NAME": "shop",
        SETTINGS + "SERVICE_NAMESPACE": "test",
        SETTINGS + "PORT_NAME": "remote",
        SETTINGS + "REQUIRED_CONTACT_POINT_NR": str(NODES),
        SETTINGS + "STABLE_MARGIN": "2s",
        SETTINGS + "EXPONENTIAL_BACKOFF_MAX": "2s",
        "SHERD__DNS__SERVERS": dns.address,
        "SHERD__REMOTE__ARTERY__CANONICAL__HOSTNAME": "localhost",
    }, "localhost")
    wait(lambda: said(cluster, "Domain name not found"), "the log does not name the missing name", 30)
    for answer in dns.garbage, dns.truncated:
        dns.answer = answer
        before = dns.asked
        wait(lambda: dns.asked > before + 2 * NODES, "the nodes do not ask DNS again", 60)
    cluster.expect(dns.names == {"_remote._tcp.shop.test"}, f"the nodes asked for {dns.names}")
    ports = sorted(node.port for node in cluster.nodes)
    dns.answer = dns.srv(ports[1:])  # fewer than are required
    wait(lambda: said(cluster, '"found seed nodes" count=2'), "the nodes do not find two seed nodes", 60)
    before = dns.asked
    wait(lambda: dns.asked > before + 6 * NODES, "the nodes do not ask DNS again", 60)
    cluster.expect(none_is_in(cluster), "a node is up although too few were found")
    dns.answer = dns.srv(ports[::-1] + ports)  # in another order, and twice
    cluster.wait_up()
    cluster.check_members()
    first = min(cluster.nodes, key=lambda node: node.port).name
    founders = found_by(cluster)
    cluster.expect(founders == [first], f"founded by {founders}, not by {first}")
    asked = dns.asked
    cluster.feed_all()
    cluster.expect(dns.asked == asked, "members of a cluster still look for seed nodes")
    print("by DNS", flush=True)
    end_all(cluster)


def test(cluster):
    by_file(cluster)
    by_dns(cluster)


sys.exit(main(test, __doc__, nodes=NODES, flights=2000))

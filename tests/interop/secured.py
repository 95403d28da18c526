"""Tests TLS between nodes of this library and JVM nodes."""
import os
import shutil
import tempfile

from certificates import Certificates
from nodes import free_ports
from steps import jvm_pair


def exchange(jvm, sherd):
    """Sends messages of several sizes in both directions."""
    for number, size in ((7, 0), (20, 1000), (22, 200000)):
        jvm.say(f"number {sherd.path()} {number} {size}")
        there = sherd.expect(f"^got number {number} {size} ([0-9]+) from {jvm.uid()} 1$")[1]
        jvm.expect(f"^got number {number + 1} {size} {there} from {sherd.path()}$")
        sherd.say(f"number {jvm.uid()} 1 {number + 100} {size}")
        jvm.expect(f"^got number {number + 100} {size} {there} from {sherd.path()}$")


def tls_nodes(cluster):
    """Nodes of both kinds join each other over TLS. First our nodes join JVM nodes that use TLS
    1.2, their default. Then JVM nodes that use TLS 1.3 and check host names join a node of ours.
    Our node refuses a peer with a certificate of another CA, and one with a revoked certificate."""
    folder = tempfile.mkdtemp(prefix="interop-")
    try:
        by_jvm(cluster, Certificates(os.path.join(folder, "ours")))
        by_us(cluster, Certificates(os.path.join(folder, "new")), Certificates(os.path.join(folder, "other")))
    finally:
        shutil.rmtree(folder)


def by_jvm(cluster, certificates):
    """Our nodes join JVM nodes."""
    ports = free_ports(4)
    old = certificates.settings(cluster.toolkit)
    ours = certificates.settings("sherd")
    j1, j2 = jvm_pair(cluster, ports[:2], old, ours)
    s1 = cluster.start("s1", "sherd", ports[2], cluster.seeds, ours)
    s2 = cluster.start("s2", "sherd", ports[3], [j2.address], ours)
    cluster.wait_up("two nodes of ours joined JVM nodes over TLS 1.2")
    exchange(j1, s1)
    exchange(j2, s2)
    cluster.holds(2, "over TLS 1.2")
    cluster.crash(s2, by=j1)
    cluster.crash(j2, by=s1)
    cluster.leave(s1)
    cluster.check_no_quarantine()
    for node in list(cluster.nodes):
        node.kill()
        cluster.drop(node)


def by_us(cluster, certificates, others):
    """JVM nodes join a node of ours."""
    ports = free_ports(5)
    ours = certificates.settings("sherd")
    new = certificates.settings(cluster.toolkit, "TLSv1.3")
    s3 = cluster.start("s3", "sherd", ports[0], [f"127.0.0.1:{ports[0]}"], ours)
    cluster.wait_up("a node of ours founded a cluster over TLS")
    j3 = cluster.start("j3", cluster.toolkit, ports[1], [s3.address], new)
    cluster.start("s4", "sherd", ports[2], [s3.address], ours)
    cluster.wait_up("a JVM node joined over TLS 1.3")
    exchange(j3, s3)
    cluster.holds(2, "over TLS 1.3")
    stranger = cluster.start("stranger", cluster.toolkit, ports[3], [s3.address], others.settings(cluster.toolkit, "TLSv1.3"))
    cluster.drop(stranger)
    s3.expect("^log WARNING .*connection refused.*TLS: ")
    cluster.holds(2, "with an unknown peer at the port", quiet=False)
    stranger.kill()
    left = cluster.start("left", cluster.toolkit, ports[4], [s3.address], certificates.settings(cluster.toolkit, "TLSv1.3", "left"))
    cluster.drop(left)
    s3.expect("^log WARNING .*connection refused.*TLS: certificate revoked")
    cluster.holds(2, "with a revoked certificate at the port", quiet=False)
    left.kill()
    cluster.leave(j3)
    cluster.check_no_quarantine()

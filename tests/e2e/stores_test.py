"""Tests that nodes with different journals form no cluster.

A node whose journal is another file, or a copy of the cluster's file, is refused: it ends
with an error, both nodes log the reason, and no acknowledged event is lost. Files with a second name
are refused, too."""
import os
import shutil
import sys

from cluster import main, wait

REFUSED = "The journals are not the same"


def start_with(cluster, name, journal, seeds):
    """Starts a node with another journal."""
    own, cluster.journal = cluster.journal, journal
    try:
        return cluster.start(name, seeds)
    finally:
        cluster.journal = own


def feed(cluster, count):
    end = min(cluster.next + count, len(cluster.flights))
    wait(lambda: not cluster.feed_some() or cluster.next >= end, "the flights are not fed", 60)


def expect_refused(cluster, first, name, journal):
    """A node with that journal does not join the cluster of `first`."""
    node = start_with(cluster, name, journal, [first.address])
    wait(node.ended, f"{name}, with another journal, does not end", 60)
    cluster.expect(node.process.returncode != 0, f"{name} ended without an error")
    cluster.expect(REFUSED in cluster.log(node), f"{name} does not log why")
    cluster.expect(REFUSED in cluster.log(first), f"{first.name} does not log that {name} has another journal")
    cluster.forget(node)
    cluster.check_members()


def test(cluster):
    first = cluster.start("n1", seeds=[])
    cluster.wait_up()
    feed(cluster, 200)
    expect_refused(cluster, first, "other", os.path.join(cluster.data, "other.db"))
    feed(cluster, 200)
    cluster.stop_all()
    cluster.forget(first)

    # While no node runs: a running one stores nothing any more once it has seen a second name.
    name = os.path.join(cluster.data, "second-name.db")
    os.link(cluster.journal, name)
    linked = start_with(cluster, "linked", name, [])
    wait(linked.ended, "a node whose journal has two names does not end", 60)
    cluster.expect("hard link" in cluster.log(linked), "the log does not name the hard link")
    os.remove(name)
    cluster.forget(linked)

    copy = os.path.join(cluster.data, "copy.db")
    shutil.copyfile(cluster.journal, copy)
    first = cluster.start("n1-again", seeds=[])
    cluster.wait_up()
    expect_refused(cluster, first, "copy", copy)

    cluster.start("n2")  # with the same file
    cluster.wait_up()
    wait(lambda: not cluster.feed_some(), "the flights are not fed", 120)
    cluster.check_exact()


sys.exit(main(test, __doc__, flights=1500))

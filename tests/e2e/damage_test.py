"""Tests nodes whose journal has damaged pages, and the program sherd.

A cluster fills a journal with many pages. A byte of one page is changed while the nodes are down. The
next node starts, and the check in background names the page and the entities on it. These are refused;
all others are served, and the node is ready. `sherd journal verify` says the same. After
`sherd journal accept-loss` every entity is served again.

usage: damage_test.py AIRPORTS SHERD"""
import os
import subprocess
import sys

from cluster import Failed, main, wait

PROGRAM = sys.argv.pop(2)
PAGE = 4096


def run(command, journal, code):
    done = subprocess.run([PROGRAM, "journal", command, journal], capture_output=True, text=True, timeout=120)
    if done.returncode != code:
        raise Failed(f"sherd journal {command} ends with {done.returncode}, not {code}: {done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def flip(journal, page):
    with open(journal, "r+b") as file:
        file.seek((page - 1) * PAGE + 1000)
        byte = file.read(1)[0]
        file.seek((page - 1) * PAGE + 1000)
        file.write(bytes([byte ^ 8]))


def served(cluster):
    """Returns the airports that answer, and those that do not."""
    found = cluster.totals()
    return ({airport for airport, words in found.items() if words[0] != "failed"},
            {airport for airport, words in found.items() if words[0] == "failed"})


def damaged_in(journal):
    """Returns the damaged parts that `sherd journal verify` names."""
    return [line.split(": ")[1] for line in run("verify", journal, 1).splitlines() if line.startswith("damaged: ")]


def page_of_one(journal):
    """Returns a page whose damage refuses some airports but not all, and no table. It is flipped."""
    for page in range(os.path.getsize(journal) // PAGE, 2, -1):
        flip(journal, page)
        parts = damaged_in(journal)
        entities = [part for part in parts if part.startswith("Airport|")]
        if 0 < len(entities) < 20 and not any(part.startswith(("table", "shard")) for part in parts):
            return page, entities
        flip(journal, page)
    raise Failed("no page has a few airports")


def test(cluster):
    cluster.start("n1")
    cluster.wait_up()
    cluster.feed_all()
    cluster.check_exact()
    cluster.stop_all()
    cluster.gone += cluster.nodes
    cluster.nodes = []
    cluster.expect("0 damaged parts" in run("verify", cluster.journal, 0), "an intact journal is damaged")
    cluster.expect("0 damaged parts" in run("accept-loss", cluster.journal, 0), "an intact journal is rebuilt")
    page, entities = page_of_one(cluster.journal)
    print(f"page {page} has {len(entities)} airports", flush=True)

    node = cluster.start("n2", seeds=[])
    cluster.wait_up()
    named = ["page " + str(page)] + entities
    wait(lambda: all(f'part="{part}"' in cluster.log(node) or f"part={part}" in cluster.log(node) for part in named),
         "the check does not name the page and its airports", 60, 0.1)
    wait(lambda: "msg=\"journal checked\"" in cluster.log(node), "the check does not end", 60, 0.1)
    cluster.expect(node.get_status()["ready"] == "1", "the node does not serve the rest")
    cluster.expect(node.counters["journal parts damaged"] == len(named), f"the status counts {node.counters['journal parts damaged']} parts")
    busy = run("accept-loss", cluster.journal, 4)
    cluster.expect("stop all nodes" in busy or "checks this journal" in busy, f"accept-loss works under a node: {busy}")
    answering, silent = served(cluster)
    cluster.expect(silent == {entity.split("|")[1] for entity in entities}, f"not served are {sorted(silent)}, not {sorted(entities)}")
    print("the other airports are served", flush=True)
    cluster.stop_all()
    cluster.gone += cluster.nodes
    cluster.nodes = []

    said = run("accept-loss", cluster.journal, 0)
    cluster.expect(all(f"lost: entity {entity}: events from " in said for entity in entities), f"accept-loss does not name what is lost: {said}")
    cluster.expect("0 damaged parts" in run("verify", cluster.journal, 0), "the rebuilt journal is damaged")
    cluster.start("n3", seeds=[])
    cluster.wait_up()
    cluster.expect(served(cluster) == (answering | silent, set()), "an airport is not served after accept-loss")
    cluster.stop_all()


sys.exit(main(test, __doc__, flights=4000))

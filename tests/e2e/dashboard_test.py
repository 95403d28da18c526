"""Tests the dashboard in headless Chromium, against three nodes: at rest, in small and dark windows, while shards
move, with a hot entity, with strange ids, and with a member that stands still.

usage: dashboard_test.py NATIVE_NODE [PICTURES]     (a folder that keeps a picture of each view)"""
import contextlib
import gzip
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import urllib.parse

import native_cluster
from browser import Browser, is_installed
from checks import PATIENCE, eventually, expect, verdict
from cluster import ROOT, free_port
from native_cluster import Node, folder

PAGES = os.path.join(ROOT, "src", "httpd", "pages")
RAW_MAX, PACKED_MAX = 90000, 28000  # bytes
ENTITIES = 300
TOKEN = "a-token-of-the-test-0123456789"
VIEWS = ["now", "shards", "shards/Cart/7", "entity/Cart/cart-7", "rebalance", "nodes", "nodes/NODE", "hot", "undelivered",
         "timeline", "storage", "config"]
SIZES = {"wide": (1280, 800), "middle": (1000, 700), "narrow": (390, 844)}
STRANGE = ["<img/src=x/onerror=alert(1)>", "\u202eright-to-left", "x" * 255, "a%2Fb?c#d"]
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]


def start():
    tokens = os.path.join(folder, "tokens")
    with open(tokens, "w") as file:
        file.write(f"operate {hashlib.sha256(TOKEN.encode()).hexdigest()} ops\n")
    os.chmod(tokens, 0o600)
    nodes, ports = [], []
    for _ in range(3):
        ports.append(free_port())
        nodes.append(Node(nodes[0] if nodes else None, f"""
            sherd.management.http {{ port = {ports[-1]}, tokens-file = "{tokens}", route-providers-read-only = off }}
            sherd.cluster.failure-detector.acceptable-heartbeat-pause = 20s"""))
    eventually(lambda: [row["status"] for row in nodes[0].get("/members")[1]["items"]] == ["Up"] * 3, "all members are up")
    for i in range(ENTITIES):
        nodes[i % 3].tell("Cart", f"cart-{i}")
    eventually(lambda: nodes[0].get("/status")[1]["totals"]["entities"] == ENTITIES, "all entities run")
    return nodes, [f"http://127.0.0.1:{port}/" for port in ports]


def go(browser, view):
    browser.run("location.hash = arguments[0]", "#/" + view)


def shows(browser, text, what, selector="body"):
    eventually(lambda: text in browser.text(selector), what)


def rests(browser):
    """The view is there, and nothing is being asked."""
    return not browser.run("return state.isLoading || !state.loadAt || document.querySelector('main').innerText === 'Loading…'")


def the_files_are_small():
    raw = packed = 0
    for name in os.listdir(PAGES):
        with open(os.path.join(PAGES, name), "rb") as file:
            data = file.read()
        raw += len(data)
        packed += len(gzip.compress(data))
    expect(raw <= RAW_MAX and packed <= PACKED_MAX, f"the page has {raw} bytes, {packed} compressed")


def axe():
    """The text of axe-core, or None if npm does not get it."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", folder, "axe-core@4.10"],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=PATIENCE, check=True)
        with open(os.path.join(folder, "node_modules", "axe-core", "axe.min.js")) as file:
            return file.read()
    print("skipped: npm does not bring axe-core, so accessibility is checked by hand alone")
    return None


def barriers(browser, checker):
    """The faults that axe-core finds in the page."""
    if not checker:
        return []
    browser.run(checker + "; window.found = null; axe.run(document, { runOnly: arguments[0] }).then((all) => { window.found = "
                "all.violations.map((one) => `${one.id}: ${one.nodes[0].html}`); });", RULES)
    eventually(lambda: browser.run("return window.found") is not None, "axe-core has looked")
    return browser.run("return window.found")


def every_view_is_good(url, node, pictures, is_dark, checker):
    scheme = "dark" if is_dark else "light"
    browser = Browser(is_dark=is_dark)
    try:
        browser.open(url)
        shows(browser, "3 of 3 nodes answer", f"the page opens, {scheme}")
        for view in VIEWS:
            go(browser, view.replace("NODE", urllib.parse.quote(node)))
            eventually(lambda: rests(browser), f"{view} is there")
            for name, size in SIZES.items():
                browser.size(*size)
                wide = browser.run("return document.documentElement.scrollWidth - window.innerWidth")
                expect(wide <= 0, f"{view} fits into a {name} window")
                if name == ("narrow" if is_dark else "wide"):
                    found = barriers(browser, checker)
                    expect(not found, f"{view} has no barrier, {name}, {scheme} {found}")
                if pictures:
                    browser.picture(os.path.join(pictures, f"{view.replace('/', '-')}-{name}-{scheme}.png"))
            browser.size(*SIZES["wide"])
        complaints = browser.complaints()
        expect(not complaints, f"the console has nothing to say {complaints}")
        asked = {address for address in browser.requests() if address.startswith("http")}
        expect(asked and all(address.startswith(url) for address in asked), "nothing is asked of others")
    finally:
        browser.end()


def keys_suffice(browser):
    go(browser, "now")
    browser.press("gs")
    shows(browser, "As a table", "g s leads to the shards")
    browser.press("/")
    expect(browser.run("return document.activeElement.id") == "find", "a slash finds")
    browser.press("Cart/cart-9\ue007")
    shows(browser, "Cart/cart-9", "and leads to the entity", "main")
    browser.run("document.activeElement.blur()")
    browser.press("?")
    shows(browser, "Press one after the other", "a question mark shows the keys", "dialog")
    browser.press("\ue00c")
    expect(browser.run("return !document.querySelector('dialog').open"), "Escape closes them")
    browser.press("p")
    at = browser.run("return state.statusAt")
    shows(browser, "Go on", "p pauses", "header")
    expect(browser.run("return state.statusAt") - at < 1500, "and no answer comes any more")
    browser.press("p")
    def moves():
        browser.press("\ue004")
        return browser.run("return document.activeElement.matches('a, button, input, select, [tabindex=\"0\"]')")
    eventually(moves, "the tabulator key moves the focus")


def rights_show(browser, url, nodes):
    """Without a token the page has no buttons that act."""
    go(browser, "nodes/" + urllib.parse.quote(nodes[2].address))
    shows(browser, "Lanes", "a member is shown", "main")
    expect("Drain" not in browser.text("main"), "who may only read has no buttons that act")
    browser.open(url + "ui/#token=" + TOKEN)
    shows(browser, "right: operate", "a token of a link gives its right")
    expect(TOKEN not in browser.run("return location.href"), "and does not stay in the address")
    browser.open(url + "ui/#token=another-one-0123456789")
    shows(browser, "asks for a token", "a wrong token is refused", "main")
    browser.requests()
    shows(browser, "last answer", "time passes", "header")
    expect(not browser.requests(), "and the page does not try it again")
    browser.run("document.querySelector('main input').focus()")
    browser.press(TOKEN + "\ue007")
    shows(browser, "right: operate", "the right one opens the page")


def a_drain_is_seen(browser, nodes):
    drained = nodes[2].address
    before = browser.run("return state.status.nodes.find((one) => one.node === arguments[0]).shards", drained)
    go(browser, "nodes/" + urllib.parse.quote(drained))
    eventually(lambda: "Drain" in browser.text("main"), "who may operate has buttons that act")
    press(browser, "Drain…")
    shows(browser, "move to other members", "the effect is told before", "dialog")
    press(browser, "Drain")
    shows(browser, "done", "the operation is followed to its end", "dialog")
    browser.press("\ue00c")
    go(browser, "now")
    eventually(lambda: before and browser.run("return state.status.nodes.find((one) => one.node === arguments[0]).shards", drained) == 0,
               f"the node had {before} shards, and has none")
    go(browser, "rebalance")
    shows(browser, "drain", "the operation is listed", "main")
    go(browser, "timeline")
    shows(browser, "hand-off", "the timeline tells of hand-offs", "main")


def press(browser, text):
    """Presses the button with that text."""
    browser.run("[...document.querySelectorAll('button')].filter((one) => one.innerText === arguments[0]).pop().click()", text)


def a_hot_entity_is_first(browser, nodes):
    def is_first():
        for _ in range(500):
            nodes[0].tell("Cart", "hot-one")
        return browser.text("main tbody tr").startswith("Cart/hot-one")
    go(browser, "hot")
    eventually(is_first, "the entity with the most messages is first")


def strange_ids_are_text(browser, nodes):
    for one in STRANGE:
        nodes[0].tell("Cart", one)
        go(browser, "entity/Cart/" + urllib.parse.quote(one, safe=""))
        eventually(lambda: one in browser.text("main") and "alive" in browser.text("main"), f"an id stays text: {one[:30]}")
    expect(not browser.run("return document.querySelectorAll('main img').length"), "none of them became markup")
    go(browser, "hot")
    shows(browser, STRANGE[0], "also in tables", "main")


def a_silent_member_is_marked(browser, nodes):
    silent = nodes[1]
    go(browser, "now")
    eventually(lambda: browser.run("return state.last.has(arguments[0])", silent.address), "the page has heard of the member")
    entities = browser.run("return state.last.get(arguments[0]).entities", silent.address)
    os.kill(silent.process.pid, signal.SIGSTOP)
    row = f'[data-key="{silent.address}"]'
    shows(browser, "no answer", "a member that stands still is marked", row)
    eventually(lambda: f"{entities}" in browser.run("return [...document.querySelectorAll(arguments[0] + ' s')].map((one) => one.innerText)", row),
               "its last values stay, struck through")
    eventually(lambda: "critical" in browser.text("header"), "the health becomes critical")
    shows(browser, f"{silent.address} is unreachable", "and the problem comes first", "#problems")
    go(browser, "nodes")
    shows(browser, "unreachable", "the other members say so", "main")
    os.kill(silent.process.pid, signal.SIGCONT)
    go(browser, "now")
    eventually(lambda: "no answer" not in browser.text(row) and not browser.text("#problems"), "the member is back, and so are its values")


def a_lost_node_is_told(browser, nodes):
    nodes[0].process.kill()
    nodes[0].process.wait()
    shows(browser, "does not answer", "the page says that its node is gone", "#problems")


def main():
    pictures = sys.argv[2] if len(sys.argv) > 2 else None
    if not is_installed():
        print("Chromium or its driver is not installed: the dashboard is not tested")
        return 77
    the_files_are_small()
    nodes, urls = start()
    checker = axe()
    for is_dark in False, True:
        every_view_is_good(urls[0], nodes[1].address, pictures, is_dark, checker)
    browser = Browser()
    try:
        browser.open(urls[0])
        shows(browser, "3 of 3 nodes answer", "the page opens")
        keys_suffice(browser)
        rights_show(browser, urls[0], nodes)
        a_drain_is_seen(browser, nodes)
        a_hot_entity_is_first(browser, nodes)
        strange_ids_are_text(browser, nodes)
        a_silent_member_is_marked(browser, nodes)
        a_lost_node_is_told(browser, nodes)
    finally:
        browser.end()
        for node in nodes:
            node.process.kill()
            node.process.wait()
    shutil.rmtree(folder)
    return verdict()


native_cluster.Node.program = sys.argv[1]
sys.exit(main())

"""Keys of distributed data that nobody uses, among JVM nodes that know of their end (Akka from 2.8, Pekko from 2.0 on) and such as do not."""
import re
import time

from nodes import Failed, pace, wait
from replicas import BUSY, Data, Value, five, rest

SHORT, LONG = 6, 15  # seconds without use; with JVM nodes that know of it, who must hear of a use in that time
FIRST = {"Akka": (2, 8), "Pekko": (2, 0)}  # versions that have it


def has_expiry(node):
    name, version = re.search(r"(Akka|Pekko) version \[([0-9.]+)", node.expect(r"version \[[0-9.]+").string).groups()
    return tuple(map(int, version.split(".")[:2])) >= FIRST[name]


def told(data, followed, key, since):
    """Who follows the key was told that it is forgotten."""
    wait(lambda: all("expired" in data.said(asked)[since:] for asked in followed),
         lambda: f"{key}: {[(asked[0].name, data.said(asked)) for asked in followed]}", BUSY)


def expires(cluster):
    """A key that one node uses, of either kind, is used for all; one that nobody does is forgotten by all, and begins anew. Where JVM nodes
    know nothing of it they keep it, give it back, and are not disturbed by the time of use in our messages."""
    after = LONG if cluster.programs.version else SHORT
    setting = f'cluster.distributed-data.expire-keys-after-inactivity."e-*"={after}s'
    nodes = five(cluster, ["j1", "s1", "s2", "j2", "s3"], [setting, "cluster.failure-detector.acceptable-heartbeat-pause=15s"])
    data, begin = Data(cluster), time.monotonic()
    known = has_expiry(nodes["j1"])
    idle = {"e-idle-ours": "s1", "e-idle-theirs": "j1"}
    used = {"e-used-ours": "s2", "e-used-theirs": "j2"}  # and by whom
    lasting = ["stays", *used]
    followed = {key: [data.ask(nodes[name], f"subscribe {key}") for name in ("j2", "s3")] for key in idle}
    data.all_are([data.update(nodes[by], key, "orset", "all", [f"add t:{key} - 0"]) for key, by in {**idle, **used, "stays": "s1"}.items()],
                 "updated")
    for asked in followed.values():
        wait(lambda asked=asked: all(data.said(one) for one in asked), "subscribers are told nothing")
    start = time.monotonic()
    for turn in range(4 * after):  # for twice that time
        for key, by in used.items():
            if not isinstance(data.value(data.ask(nodes[by], f"get {key} local")), Value):
                raise Failed(f"{key} was forgotten while {by} used it")
        pace(start, (turn + 1) / 2)
    data.same(lasting, "used, or of no pattern", fits=lambda _, value: isinstance(value, Value))
    if not known:
        data.same(list(idle), "kept by JVM nodes", fits=lambda _, value: isinstance(value, Value))
        rest(data, begin)
        return
    for key, asked in followed.items():
        told(data, asked, key, 1)
    data.all_are([data.ask(node, f"get {key} local") for key in idle for node in cluster.nodes], "none")
    print(f"{cluster.toolkit}: what nobody used is forgotten by all", flush=True)
    others = {"e-idle-ours": "s2", "e-idle-theirs": "j2"}  # who wrote it goes on from that, if it is one of ours, for five minutes
    data.all_are([data.update(nodes[by], key, "orset", "all", ["add t:anew - 0"]) for key, by in others.items()], "updated")
    data.same(list(idle), "begun anew", 3, fits=lambda _, value: isinstance(value, Value) and value.content == ["t:anew"])
    data.all_are([data.ask(nodes["j1"], "delete e-used-ours all"), data.ask(nodes["s1"], "delete e-used-theirs all")], "updated")
    start = time.monotonic()
    pace(start, 2.5 * after)  # nobody uses anything
    data.all_are([data.ask(node, f"get {key} local") for key in [*idle, *used] for node in cluster.nodes], "none")
    data.same(["stays"], "of no pattern", fits=lambda _, value: isinstance(value, Value))
    rest(data, begin)

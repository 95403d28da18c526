"""Tests the expiry of unused keys of distributed data, beside JVM nodes that have this feature
(Akka 2.8, Pekko 2.0) or lack it."""
import re
import time

from nodes import Failed, pace, wait
from replicas import BUSY, Data, Value, five, rest

# Seconds without use until a key expires. It is LONG for JVM nodes that have the feature, because
# they must learn of a use in this time.
SHORT, LONG = 6, 15
FIRST = {"Akka": (2, 8), "Pekko": (2, 0)}  # first versions that have the feature


def has_expiry(node):
    name, version = re.search(r"(Akka|Pekko) version \[([0-9.]+)", node.expect(r"version \[[0-9.]+").string).groups()
    return tuple(map(int, version.split(".")[:2])) >= FIRST[name]


def told(data, followed, key, since):
    """Waits until every subscriber was told, since this answer, that the key expired."""
    wait(lambda: all("expired" in data.said(asked)[since:] for asked in followed),
         lambda: f"{key}: {[(asked[0].name, data.said(asked)) for asked in followed]}", BUSY)


def unused_keys_expire(cluster):
    """A key that a node of either kind uses stays on all nodes. A key that no node uses expires on
    all, and can be created again.

    JVM nodes without the feature keep an unused key and send it again. The time of use in our
    messages does not disturb them."""
    after = LONG if cluster.programs.version else SHORT
    setting = f'cluster.distributed-data.expire-keys-after-inactivity."e-*"={after}s'
    nodes = five(cluster, ["j1", "s1", "s2", "j2", "s3"], [setting, "cluster.failure-detector.acceptable-heartbeat-pause=15s"])
    data, begin = Data(cluster), time.monotonic()
    known = has_expiry(nodes["j1"])
    idle = {"e-idle-ours": "s1", "e-idle-theirs": "j1"}
    used = {"e-used-ours": "s2", "e-used-theirs": "j2"}  # key -> node that uses it
    lasting = ["stays", *used]
    followed = {key: [data.ask(nodes[name], f"subscribe {key}") for name in ("j2", "s3")] for key in idle}
    data.all_are([data.update(nodes[by], key, "orset", "all", [f"add t:{key} - 0"]) for key, by in {**idle, **used, "stays": "s1"}.items()],
                 "updated")
    for asked in followed.values():
        wait(lambda asked=asked: all(data.said(one) for one in asked), "a subscriber hears of no value")
    start = time.monotonic()
    for turn in range(4 * after):  # twice the time to expiry, in half seconds
        for key, by in used.items():
            if not isinstance(data.value(data.ask(nodes[by], f"get {key} local")), Value):
                raise Failed(f"{key} expired while {by} used it")
        pace(start, (turn + 1) / 2)
    data.same(lasting, "used, or outside the pattern", fits=lambda _, value: isinstance(value, Value))
    if not known:
        data.same(list(idle), "kept by JVM nodes", fits=lambda _, value: isinstance(value, Value))
        rest(data, begin)
        return
    for key, asked in followed.items():
        told(data, asked, key, 1)
    data.all_are([data.ask(node, f"get {key} local") for key in idle for node in cluster.nodes], "none")
    print(f"{cluster.toolkit}: unused keys have expired on all nodes", flush=True)
    # Other nodes than before: a writer of ours would continue with its old value for five minutes.
    others = {"e-idle-ours": "s2", "e-idle-theirs": "j2"}
    data.all_are([data.update(nodes[by], key, "orset", "all", ["add t:anew - 0"]) for key, by in others.items()], "updated")
    data.same(list(idle), "created again", 3, fits=lambda _, value: isinstance(value, Value) and value.content == ["t:anew"])
    data.all_are([data.ask(nodes["j1"], "delete e-used-ours all"), data.ask(nodes["s1"], "delete e-used-theirs all")], "updated")
    start = time.monotonic()
    pace(start, 2.5 * after)  # no node uses a key
    data.all_are([data.ask(node, f"get {key} local") for key in [*idle, *used] for node in cluster.nodes], "none")
    data.same(["stays"], "outside the pattern", fits=lambda _, value: isinstance(value, Value))
    rest(data, begin)

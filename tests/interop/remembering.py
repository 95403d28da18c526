"""Entities that our nodes remember in distributed data, and JVM nodes that hold the same keys: what the toolkit's own stores find in them
and write, and what is left of them when all of ours have ended. No JVM node has a region of the type."""
import gzip
import re
import time

from nodes import Failed, free_ports, never, wait
from replicas import BUSY, Data, keys_told, rest
from steps import jvm_pair

TYPE = "Account"
SHARDS = 3
KEYS = 5  # of a shard
REPLICATOR = "nativeReplicator"
REPLICATION = [f"cluster.sharding.distributed-data.{name}" for name in (
    "gossip-interval=1s", "max-delta-elements=500", "pruning-interval=1s", "max-pruning-dissemination=3s", "durable.keys=[]")]
REPLICATION.append(f"cluster.sharding.number-of-shards={SHARDS}")  # who joins compares it
NATIVE = ["cluster.roles=[native]"]
TYPED = [f"type={TYPE}", *NATIVE, *REPLICATION, "cluster.sharding.role=native", "cluster.sharding.remember-entities=on",
         "cluster.sharding.remember-entities-store=ddata"]
STORED = {f"{TYPE}CoordinatorState", f"{TYPE}Fences"}  # what a coordinator keeps beside them
ROUNDS = 6  # seconds, each with a gossip between the two members with the role: the younger one has all that the other one has
RESTLESS = {f"{TYPE}CoordinatorState"}  # a JVM packs it anew, into other bytes
ALL = f"shard-{TYPE}-all"


def java_hash(text):
    """String.hashCode, as the JVM's signed number."""
    total = 0
    for letter in text:
        total = (total * 31 + ord(letter)) & 0xffffffff
    return total - (1 << 32 if total >> 31 else 0)


def shard_of(entity):
    return str(abs(java_hash(entity)) % SHARDS)


def key_of(entity):
    """Where the toolkit has it: |hash % 5|."""
    return f"shard-{TYPE}-{shard_of(entity)}-{abs(java_hash(entity)) % KEYS}"


def expected(entities):
    """What is under each key, as `Value.content` has it."""
    keys = {}
    for entity in entities:
        keys.setdefault(key_of(entity), []).append("t:" + entity)
    return {key: sorted(ids) for key, ids in keys.items()}


def started(nodes, entities, start, seconds=BUSY):
    """Until each of these has begun on one of the nodes since then; returns where."""
    def homes():
        return {entity: node for node in nodes for entity in entities if node.find(f"^entity {entity} begins$", start)}
    wait(lambda: len(homes()) == len(entities), lambda: f"do not begin: {set(entities) - set(homes())}", seconds)
    return homes()


def asked(data, node, what):
    return data.answer(data.ask(node, what, "remember"))


def listed(data, node, what):
    """A list that a store of the toolkit answers with."""
    word, _, items = asked(data, node, what).partition(" ")
    if word not in ("shards", "entities", "keys"):
        raise Failed(f"{node.name}: {what}: {word} {items}")
    return set() if items in ("none", "") else set(re.split("[ ,]", items.strip()))


def check_stores(data, jvms, entities):
    """The toolkit's own stores find the same: all shards, and in each its entities."""
    for node in jvms:
        shards = listed(data, node, f"shards {TYPE}")
        if shards != {shard_of(entity) for entity in entities}:
            raise Failed(f"{node.name}: shards {shards}")
        for shard in shards:
            there, wanted = listed(data, node, f"load {TYPE} {shard}"), {entity for entity in entities if shard_of(entity) == shard}
            if there != wanted:
                raise Failed(f"{node.name}: shard {shard} has {sorted(there)}, not {sorted(wanted)}")


def held(data, jvms, entities, seconds=BUSY):
    """Until the JVM nodes have just these under the keys that the toolkit would have them under, in its types, all the same bytes; returns
    the keys."""
    wanted = expected(entities)
    keys = [*wanted, ALL]

    def wrong():
        for node in jvms:
            extra = listed(data, node, "keys x") - set(keys) - STORED
            if extra and any(data.value(data.ask(node, f"get {key} local", "remember")).content != ["empty"] for key in extra):
                return f"{node.name}: {extra}"
        for key in keys:
            values = [data.value(data.ask(node, f"get {key} local", "remember")) for node in jvms]
            content = wanted.get(key) or sorted(f"t:{shard}" for shard in {shard_of(entity) for entity in entities})
            if any(value != values[0] or value == "none" or value.content != content or value.manifest != ("B" if key == ALL else "C")
                   for value in values):
                return f"{key}: {values}, not {content}"
        return None
    wait(lambda: not wrong(), wrong, seconds, 0.2)
    return keys


def varint(data, at):
    number = shift = 0
    while True:
        number |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return number, at


def fields(data):
    """The fields of a message: (number, what is there)."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        yield key >> 3, value


def fences(value):
    """What our coordinator keeps beside its state: its term, and each shard's last fence."""
    if value == "none" or not value.content[0].startswith("b:"):
        raise Failed(f"{TYPE}Fences is no array of bytes: {value}")
    stored = list(fields(gzip.decompress(bytes.fromhex(value.content[0][2:]))))
    shards = [dict(fields(shard)) for number, shard in stored if number == 2]
    return dict(stored)[1], {shard[1].decode(): (shard[2], shard[3]) for shard in shards}


def check_fences(data, jvms, node):
    """Until all the JVM nodes have the term that our node with the coordinator has taken, the same bytes; there is a fence of each shard
    then, and none above the term."""
    def values():
        return [data.value(data.ask(jvm, f"get {TYPE}Fences local", "remember")) for jvm in jvms]

    def are_there():
        found = values()
        return all(value == found[0] for value in found) and node.find(
            f"^log INFO coordinator: .*msg=active type={TYPE} term={fences(found[0])[0]} ")
    wait(are_there, lambda: f"not that of {node.name}'s coordinator: {values()}", BUSY)
    term, shards = fences(values()[0])
    if sorted(shards) != sorted(map(str, range(SHARDS))) or max(shards.values())[0] > term:
        raise Failed(f"term {term}, fences {shards}")
    return term, shards


def changed(data, jvm, gone):
    """The toolkit's own store takes out that entity and adds another one of its shard, which is returned."""
    shard = shard_of(gone)
    come = next(f"account-{number}" for number in range(100, 200) if shard_of(f"account-{number}") == shard)
    if asked(data, jvm, f"change {TYPE} {shard} +{come},-{gone}") != "stored":
        raise Failed("the toolkit's store cannot write")
    return come


def remembered(cluster):
    """JVM nodes with the role of the type, younger than ours, are counted: no entity begins without them. What ours write is what the
    toolkit's own stores would, to the byte, and whom those add begins where their shard begins again; whom they take out while it lives is
    stored again."""
    ports, entities = free_ports(5), [f"account-{number}" for number in range(24)]
    ours = []
    for number in range(3):
        ours.append(cluster.start(f"s{number + 1}", "sherd", ports[number], [f"127.0.0.1:{ports[0]}"], TYPED))
        cluster.wait_up("one more of ours", BUSY)
    data, begin = Data(cluster), time.monotonic()
    for entity in entities[:12]:
        ours[0].say(f"entity {entity}")
    homes = started(ours, entities[:12], begin)
    jvms = [cluster.start(f"j{number}", cluster.toolkit, ports[number + 2], [ours[0].address], [*NATIVE, *REPLICATION, "loglevel=DEBUG"])
            for number in (1, 2)]
    cluster.wait_up("JVM nodes with the role of the type", 2 * BUSY)
    for entity in entities[12:]:
        ours[1].say(f"entity {entity}")
    never(lambda: any(node.find(f"^entity ({'|'.join(entities[12:])}) begins") for node in ours) and "it begins", 2,
          "members with the role have no replica yet")
    start = time.monotonic()
    for node in jvms:
        node.say("remember begin native native")
    homes |= started(ours, entities[12:], begin)
    print(f"{cluster.toolkit}: all begin {time.monotonic() - start:.1f} s after the JVM nodes have replicas", flush=True)
    held(data, jvms, entities)
    check_stores(data, jvms, entities)
    rest(data, start, REPLICATOR, RESTLESS)
    check_fences(data, jvms, ours[0])

    lives = entities[0]
    come = changed(data, jvms[0], lives)
    ours[2].say(f"passivate {entities[1]}")
    entities = [entity for entity in entities if entity != entities[1]] + [come]
    homes[lives].expect(f'^log INFO shard: .*"remembered entities stored again that a former node of the shard removed" type={TYPE} '
                        f"shard={shard_of(lives)} entities=1$", start)
    held(data, jvms, entities)
    check_stores(data, jvms, entities)
    moved, start = homes[lives], time.monotonic()
    theirs = [entity for entity in entities if shard_of(entity) == shard_of(lives)]
    cluster.leave(moved, quiet=False)
    left = [node for node in ours if node is not moved]
    started(left, theirs, start)
    print(f"{cluster.toolkit}: what a JVM wrote is read by ours {time.monotonic() - start:.1f} s after {moved.name} left", flush=True)
    held(data, jvms, entities)
    check_stores(data, jvms, entities)
    rest(data, start, REPLICATOR, RESTLESS)


def kept(cluster):
    """Two JVM nodes without the role have the keys by gossip alone, in a replicator in the place of that role's. All of ours are killed, and
    so all that they had in memory is gone; the toolkit's own store takes an entity out and puts another one in; ones of ours that come after that
    have it from the JVM nodes, and all entities begin that are stored."""
    ports, entities = free_ports(7), [f"account-{number}" for number in range(24)]
    jvms = list(jvm_pair(cluster, ports[:2], [*REPLICATION, "loglevel=DEBUG"]))
    for node in jvms:
        node.say("remember begin - native")
    ours = [cluster.start(f"s{number}", "sherd", ports[number + 1], [jvms[0].address], TYPED) for number in (1, 2, 3)]
    cluster.wait_up("three of ours")
    data, start = Data(cluster), time.monotonic()
    for entity in entities:
        ours[0].say(f"entity {entity}")
    started(ours, entities, start)
    held(data, jvms, entities)
    rest(data, start, REPLICATOR, RESTLESS)
    term, before = check_fences(data, jvms, ours[0])
    start = time.monotonic()
    for node in ours:
        node.kill()
    for node in ours:
        for jvm in jvms:
            jvm.expect(f"^event UnreachableMember {node.address} ", start)
    for node in ours:
        uid = int(node.uid())
        cluster.downed |= {str(uid), str(uid & (1 << 64) - 1)}
        cluster.drop(node)
        jvms[0].say(f"down {node.address}")
    cluster.wait_up("all of ours were killed")

    gone = entities[0]
    come = changed(data, jvms[1], gone)
    entities = [*entities[1:], come]
    keys = held(data, jvms, entities)

    # Older than those with the type, so that no coordinator is there before they have the keys.
    start = time.monotonic()
    first = cluster.start("s4", "sherd", ports[5], [jvms[0].address], [*NATIVE, *REPLICATION])
    cluster.wait_up("one without the type")
    sent = re.compile(rf"Sending gossip to \[[^ ]*@{first.address}\]")
    wait(lambda: all(any(key in keys_told(line) for jvm in jvms for line in jvm.since(start) if sent.search(line)) for key in [*keys, *STORED]),
         f"{first.name} is not sent all keys", BUSY)
    again = cluster.start("s5", "sherd", ports[6], [jvms[0].address], TYPED)
    cluster.wait_up("one with the type")
    never(lambda: again.find("^entity "), ROUNDS, f"entities begin while {first.name} is the oldest")
    start = time.monotonic()
    cluster.leave(first, quiet=False)
    started([again], entities, start)
    never(lambda: again.find(f"^entity {gone} begins$"), 2, "it was forgotten while nobody had it")
    print(f"{cluster.toolkit}: all {len(entities)} entities are back {time.monotonic() - start:.1f} s after {first.name} left", flush=True)
    held(data, jvms, entities)
    later, after = check_fences(data, jvms, again)
    if later <= term or any(after[shard][1] <= epoch for shard, (_, epoch) in before.items()):
        raise Failed(f"term {later} after {term}, fences {after} after {before}")
    print(f"{cluster.toolkit}: each shard has a fence above the one that the JVM nodes kept", flush=True)

"""Tests remembered entities in distributed data: our nodes and JVM nodes have the same keys.

The toolkit's own stores read and write these keys, and keep them after all of our nodes have ended.
No JVM node has a region of the type."""
import gzip
import re
import time

from nodes import Failed, free_ports, never, wait
from replicas import BUSY, Data, keys_told, rest
from steps import jvm_pair

TYPE = "Account"
SHARDS = 3
KEYS = 5  # keys of one shard
REPLICATOR = "nativeReplicator"
REPLICATION = [f"cluster.sharding.distributed-data.{name}" for name in (
    "gossip-interval=1s", "max-delta-elements=500", "pruning-interval=1s", "max-pruning-dissemination=3s", "durable.keys=[]")]
# a joining node compares this setting
REPLICATION.append(f"cluster.sharding.number-of-shards={SHARDS}")
NATIVE = ["cluster.roles=[native]"]
TYPED = [f"type={TYPE}", *NATIVE, *REPLICATION, "cluster.sharding.role=native", "cluster.sharding.remember-entities=on",
         "cluster.sharding.remember-entities-store=ddata"]
STORED = {f"{TYPE}CoordinatorState", f"{TYPE}Fences"}  # other keys of a coordinator
# seconds with one gossip each between the two members with the role, so that both have the same
ROUNDS = 6
RESTLESS = {f"{TYPE}CoordinatorState"}  # a JVM serializes it again, to other bytes
ALL = f"shard-{TYPE}-all"


def java_hash(text):
    """Returns Java's String.hashCode."""
    total = 0
    for letter in text:
        total = (total * 31 + ord(letter)) & 0xffffffff
    return total - (1 << 32 if total >> 31 else 0)


def shard_of(entity):
    return str(abs(java_hash(entity)) % SHARDS)


def key_of(entity):
    """Returns the key under which the toolkit stores an entity: |hash % 5| of its shard."""
    return f"shard-{TYPE}-{shard_of(entity)}-{abs(java_hash(entity)) % KEYS}"


def expected(entities):
    """Returns the content of each key, in the form of `Value.content`."""
    keys = {}
    for entity in entities:
        keys.setdefault(key_of(entity), []).append("t:" + entity)
    return {key: sorted(ids) for key, ids in keys.items()}


def started(nodes, entities, start, seconds=BUSY):
    """Waits until each of these entities has started on a node since this time. Returns entity ->
    node."""
    def homes():
        return {entity: node for node in nodes for entity in entities if node.find(f"^entity {entity} begins$", start)}
    wait(lambda: len(homes()) == len(entities), lambda: f"entities that do not start: {set(entities) - set(homes())}", seconds)
    return homes()


def asked(data, node, what):
    return data.answer(data.ask(node, what, "remember"))


def listed(data, node, what):
    """Returns the list with which a store of the toolkit answers."""
    word, _, items = asked(data, node, what).partition(" ")
    if word not in ("shards", "entities", "keys"):
        raise Failed(f"{node.name}: {what}: {word} {items}")
    return set() if items in ("none", "") else set(re.split("[ ,]", items.strip()))


def check_stores(data, jvms, entities):
    """Checks that the toolkit's own stores find all shards and all entities."""
    for node in jvms:
        shards = listed(data, node, f"shards {TYPE}")
        if shards != {shard_of(entity) for entity in entities}:
            raise Failed(f"{node.name}: shards {shards}")
        for shard in shards:
            there, wanted = listed(data, node, f"load {TYPE} {shard}"), {entity for entity in entities if shard_of(entity) == shard}
            if there != wanted:
                raise Failed(f"{node.name}: shard {shard} has {sorted(there)}, not {sorted(wanted)}")


def held(data, jvms, entities, seconds=BUSY):
    """Waits until the JVM nodes have exactly these entities, under the toolkit's keys, in its
    types, with equal bytes. Returns the keys."""
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
    """Yields the fields of a protobuf message: (number, value)."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        yield key >> 3, value


def fences(value):
    """Returns the term of our coordinator and the last fence of each shard, from its key for
    fences."""
    if value == "none" or not value.content[0].startswith("b:"):
        raise Failed(f"{TYPE}Fences is not an array of bytes: {value}")
    stored = list(fields(gzip.decompress(bytes.fromhex(value.content[0][2:]))))
    shards = [dict(fields(shard)) for number, shard in stored if number == 2]
    return dict(stored)[1], {shard[1].decode(): (shard[2], shard[3]) for shard in shards}


def check_fences(data, jvms, node):
    """Waits until all JVM nodes have the term of our coordinator, with equal bytes. Then every
    shard has a fence, and no fence is above the term. Returns both."""
    def values():
        return [data.value(data.ask(jvm, f"get {TYPE}Fences local", "remember")) for jvm in jvms]

    def are_there():
        found = values()
        return all(value == found[0] for value in found) and node.find(
            f"^log INFO coordinator: .*msg=active type={TYPE} term={fences(found[0])[0]} ")
    wait(are_there, lambda: f"the JVM nodes lack the term of {node.name}'s coordinator: {values()}", BUSY)
    term, shards = fences(values()[0])
    if sorted(shards) != sorted(map(str, range(SHARDS))) or max(shards.values())[0] > term:
        raise Failed(f"term {term}, fences {shards}")
    return term, shards


def changed(data, jvm, gone):
    """Lets the toolkit's own store remove this entity and add another one of the same shard.
    Returns the new entity."""
    shard = shard_of(gone)
    come = next(f"account-{number}" for number in range(100, 200) if shard_of(f"account-{number}") == shard)
    if asked(data, jvm, f"change {TYPE} {shard} +{come},-{gone}") != "stored":
        raise Failed("the toolkit's store did not write")
    return come


def remembered_beside_jvm_nodes(cluster):
    """Younger JVM nodes with the role of the type count as members of a majority: no new entity
    starts until they have replicas.

    Our nodes write the same bytes as the toolkit's own stores. An entity that such a store adds
    starts when its shard starts again. An entity that the store removes while it runs is stored
    again."""
    ports, entities = free_ports(5), [f"account-{number}" for number in range(24)]
    ours = []
    for number in range(3):
        ours.append(cluster.start(f"s{number + 1}", "sherd", ports[number], [f"127.0.0.1:{ports[0]}"], TYPED))
        cluster.wait_up("one more node of ours", BUSY)
    data, begin = Data(cluster), time.monotonic()
    for entity in entities[:12]:
        ours[0].say(f"entity {entity}")
    homes = started(ours, entities[:12], begin)
    jvms = [cluster.start(f"j{number}", cluster.toolkit, ports[number + 2], [ours[0].address], [*NATIVE, *REPLICATION, "loglevel=DEBUG"])
            for number in (1, 2)]
    cluster.wait_up("JVM nodes with the role of the type", 2 * BUSY)
    for entity in entities[12:]:
        ours[1].say(f"entity {entity}")
    never(lambda: any(node.find(f"^entity ({'|'.join(entities[12:])}) begins") for node in ours) and "an entity starts", 2,
          "while members with the role have no replica")
    start = time.monotonic()
    for node in jvms:
        node.say("remember begin native native")
    homes |= started(ours, entities[12:], begin)
    print(f"{cluster.toolkit}: all entities started {time.monotonic() - start:.1f} s after the JVM nodes had replicas", flush=True)
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
    print(f"{cluster.toolkit}: our nodes read a JVM's change {time.monotonic() - start:.1f} s after {moved.name} left", flush=True)
    held(data, jvms, entities)
    check_stores(data, jvms, entities)
    rest(data, start, REPLICATOR, RESTLESS)


def remembered_by_jvm_nodes(cluster):
    """JVM nodes keep the remembered entities after all of our nodes have died.

    Two JVM nodes without the role get the keys by gossip, in a replicator that stands in for the
    role's replicator. All of our nodes are killed. The toolkit's own store removes one entity and
    adds another. New nodes of ours get the keys from the JVM nodes and start all stored
    entities."""
    ports, entities = free_ports(7), [f"account-{number}" for number in range(24)]
    jvms = list(jvm_pair(cluster, ports[:2], [*REPLICATION, "loglevel=DEBUG"]))
    for node in jvms:
        node.say("remember begin - native")
    ours = [cluster.start(f"s{number}", "sherd", ports[number + 1], [jvms[0].address], TYPED) for number in (1, 2, 3)]
    cluster.wait_up("three nodes of ours")
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
    cluster.wait_up("all of our nodes were killed")

    gone = entities[0]
    come = changed(data, jvms[1], gone)
    entities = [*entities[1:], come]
    keys = held(data, jvms, entities)

    # This node is older than those with the type. So no coordinator starts before they have the
    # keys.
    start = time.monotonic()
    first = cluster.start("s4", "sherd", ports[5], [jvms[0].address], [*NATIVE, *REPLICATION])
    cluster.wait_up("a node of ours without the type")
    sent = re.compile(rf"Sending gossip to \[[^ ]*@{first.address}\]")
    wait(lambda: all(any(key in keys_told(line) for jvm in jvms for line in jvm.since(start) if sent.search(line)) for key in [*keys, *STORED]),
         f"{first.name} does not get all keys", BUSY)
    again = cluster.start("s5", "sherd", ports[6], [jvms[0].address], TYPED)
    cluster.wait_up("a node of ours with the type")
    never(lambda: again.find("^entity "), ROUNDS, f"while {first.name} is the oldest")
    start = time.monotonic()
    cluster.leave(first, quiet=False)
    started([again], entities, start)
    never(lambda: again.find(f"^entity {gone} begins$"), 2, "a removed entity")
    print(f"{cluster.toolkit}: all {len(entities)} entities started {time.monotonic() - start:.1f} s after {first.name} left", flush=True)
    held(data, jvms, entities)
    later, after = check_fences(data, jvms, again)
    if later <= term or any(after[shard][1] <= epoch for shard, (_, epoch) in before.items()):
        raise Failed(f"term {later} after {term}, fences {after} after {before}")
    print(f"{cluster.toolkit}: each shard has a fence above the one that the JVM nodes kept", flush=True)

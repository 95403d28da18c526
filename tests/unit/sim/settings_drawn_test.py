#!/usr/bin/env python3
"""Checks that the simulator draws every numeric setting of a node and of an entity type, or gives a reason.

usage: settings_drawn_test.py ROOT
Reads the structs in the headers, the simulator's assignments, and the list at the head of src/sim/seed/options_node.c.
"""
import re
import sys

NUMERIC = r"(?:u?int(?:8|16|32|64)_t|double|int|unsigned|size_t)"
DRAWN = r"(?:\boptions\b|\bOPTION_|\bvalue\[|\bsettings->)"  # drawn assignments depend on them
# header, struct, prefix of its fields in the list, pattern of an assignment, files with assignments
STRUCTS = [
    ("src/node/node.h", "node_settings", "", r"\b(?:settings|node)(?:->|\.)", ["seed/options_node.c"]),
    ("src/ddata/replicator.h", "replicator_settings", "data.", r"\bdata->", ["seed/options_node.c"]),
    ("src/ddata/replicator.h", "replicator_settings", "sharding_data.", r"\bsharding->", ["seed/options_node.c"]),
    ("src/resolver/resolver.h", "resolver_settings", "resolver.", r"\bresolver(?:->|\.)", ["seed/options_node.c"]),
    ("src/resolver/strategy.h", "strategy", "strategy.", r"\bstrategy(?:->|\.)", ["seed/options_node.c"]),
    ("src/shard/remember.h", "remember_options", "remember.", r"\bremember->", ["seed/options_node.c"]),
    ("include/sherd/system.h", "sherd_entity_type", "type.", r"\bof->", ["workload/workload.c"]),
]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def fields(text, name):
    """Names of the numeric members of a struct. A struct inside it has its own row."""
    body = re.search(r"^struct " + name + r" \{\n(.*?)^\};", text, re.M | re.S)[1]
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
    body = re.sub(r"^#.*$", "", body, flags=re.M)
    found = []
    for declaration in body.split(";"):
        match = re.fullmatch(r"\s*" + NUMERIC + r"\s+(\w[^()*]*)", declaration, re.S)
        if match:
            found += [re.sub(r"\[.*\]", "", part).strip() for part in match[1].split(",")]
    return found


def listed(text):
    """The names in the list. Each dash is followed by names, a colon and the reason."""
    head = text[: text.index("*/")].replace("\n *", " ")
    names = []
    for item in head.split("   - ")[1:]:
        part, _, reason = item.partition(":")
        if not reason.strip():
            sys.exit(f"no reason: {part}")
        names += part.replace(",", " ").split()
    return names


def main(root):
    exempt = listed(read(f"{root}/src/sim/seed/options_node.c"))
    wrong = [f"{name}: is listed twice" for name in set(exempt) if exempt.count(name) > 1]
    known = set()
    count = 0
    for header, struct, prefix, writes, files in STRUCTS:
        text = "".join(read(f"{root}/src/sim/{name}") for name in files)
        names = fields(read(f"{root}/{header}"), struct)
        if len(names) < 2:
            wrong.append(f"{struct}: only {names} were found in {header}")
        for name in names:
            count += 1
            known.add(prefix + name)
            is_drawn = re.search(writes + name + r"(?:\[[^]]*\])?\s*=[^=;][^;]*" + DRAWN, text)
            if is_drawn and prefix + name in exempt:
                wrong.append(f"{prefix + name}: is drawn, but listed as not drawn")
            if not is_drawn and prefix + name not in exempt:
                wrong.append(f"{prefix + name}: is neither drawn nor listed as not drawn")
    wrong += [f"{name}: is listed, but is no numeric setting" for name in exempt if name not in known]
    for line in sorted(wrong):
        print(line)
    print(f"{count} numeric settings, {len(exempt)} not drawn, {len(wrong)} wrong")
    sys.exit(bool(wrong))


if len(sys.argv) != 2:
    sys.exit(__doc__)
main(sys.argv[1])

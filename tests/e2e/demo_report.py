"""Checks the output of the demonstration against its input file, for demo_test.py and
demo_command_test.py."""
import csv
import re

BAR = 40     # characters
BUSIEST = 10
# the last line of a run, by the number of flights
LAST_LINES = {20000: "flights 20000 commands 40000 lost 0 doubled 0 retried 0 airports 224 exact yes",
              4000: "flights 4000 commands 8000 lost 0 doubled 0 retried 0 airports 201 exact yes"}


class Wrong(Exception):
    pass


def expect(condition, what):
    if not condition:
        raise Wrong(what)


def hash_of(airport):
    """Returns Java's String.hashCode of an airport's code."""
    value = sum(ord(letter) * 31 ** place for place, letter in enumerate(reversed(airport))) % 2 ** 32
    return value - 2 ** 32 if value >= 2 ** 31 else value


class Input:
    """The totals of the input file, counted without code of the demonstration."""

    def __init__(self, path):
        self.airports = {}  # code -> [departures, arrivals, delay]
        self.flights = 0
        with open(path, newline="") as file:
            for row in csv.DictReader(file):
                self.flights += 1
                origin = self.airports.setdefault(row["origin"], [0, 0, 0])
                origin[0] += 1
                origin[2] += int(row["delay"])
                self.airports.setdefault(row["destination"], [0, 0, 0])[1] += 1
        self.shards = len({abs(hash_of(airport)) % 60 for airport in self.airports})


def read_table(text, title):
    """Returns the rows of the table under this title: (node, address, shards, entities, coordinator
    or None). Checks the sum."""
    found = re.findall(rf"^{title}\n((?:  .* shards .*\n)+)", text, re.M)
    expect(len(found) == 1, f"\"{title}\" has {len(found)} tables, not one")
    *lines, last = found[0].splitlines()
    rows = [re.fullmatch(r"  (\w+) +(127\.0\.0\.1:\d+) +shards +(\d+)  entities +(\d+)( \*coordinator)?", line) for line in lines]
    expect(all(rows), f"\"{title}\" has unexpected lines: {lines}")
    total = re.fullmatch(r"  (\d+) shards on (\d+) nodes", last)
    expect(total and int(total[2]) == len(rows), f"\"{title}\" does not end with its number of nodes, {len(rows)}: {last}")
    rows = [(row[1], row[2], int(row[3]), int(row[4]), row[5]) for row in rows]
    expect(sum(row[2] for row in rows) == int(total[1]), f"\"{title}\": the shards of {rows} are not {total[1]} in all")
    expect(len({row[1] for row in rows}) == len(rows), f"\"{title}\" has an address twice: {rows}")
    expect(sum(row[4] is not None for row in rows) == 1, f"\"{title}\" must have one coordinator: {rows}")
    return rows


def check_tables(text, wanted, given):
    """Checks all tables. wanted: titles and nodes in the order of the text.

    The number of shards grows while the first flights arrive. It falls only when a node is gone,
    whose shards come back when a flight needs them. All airports have answered before the last
    table, so it must contain all shards and airports."""
    shards = 0
    for title, nodes in wanted:
        rows = read_table(text, title)
        expect([row[0] for row in rows] == nodes, f"\"{title}\" shows other nodes than {nodes}: {rows}")
        before, shards = 0 if title.startswith("after n") else shards, sum(row[2] for row in rows)
        expect(before <= shards <= given.shards, f"\"{title}\": {shards} shards, {before} before, {given.shards} in all")
        expect(0 < sum(row[3] for row in rows) <= len(given.airports), f"\"{title}\": more airports than the file has: {rows}")
        if title == "after the join":
            hosted = [row[2] for row in rows]
            expect(max(hosted) - min(hosted) <= 1, f"shards of the nodes after the join differ by more than one: {hosted}")
        if title in ("before the stop", "started again"):
            expect(shards == given.shards and sum(row[3] for row in rows) == len(given.airports), f"\"{title}\": a shard or an airport is missing: {rows}")


def check_busiest(text, given):
    found = re.findall(r"^  (\w+) +departures +(\d+) +arrivals +(\d+) +mean delay +(-?\d+\.\d) min$",
                       text.partition("\nthe ten busiest airports\n")[2], re.M)
    wanted = sorted(given.airports.items(), key=lambda item: (-item[1][0] - item[1][1], item[0]))[:BUSIEST]
    expect([(airport, int(departures), int(arrivals)) for airport, departures, arrivals, _ in found] ==
           [(airport, departures, arrivals) for airport, (departures, arrivals, _) in wanted],
           f"the busiest airports are {wanted}, not {found}")
    for (airport, (departures, _, delay)), (*_, mean) in zip(wanted, found):
        expect(abs(float(mean) - delay / max(1, departures)) <= 0.051, f"{airport}: {delay} minutes in {departures} departures, not {mean}")


def check_order(text, patterns):
    """Checks that the text has all these patterns in this order."""
    at = 0
    for pattern in patterns:
        found = re.compile(pattern, re.M).search(text, at)
        expect(found, f"\"{pattern}\" is missing at its place")
        at = found.end()


def check_run(text, path, nodes, kept):
    """Checks the output of a run with a join and a leave. nodes: number at the start; kept: whether
    the run had --keep."""
    given = Input(path)
    first = [f"n{number + 1}" for number in range(nodes)]
    more = first + [f"n{nodes + 1}"]
    less = [name for name in more if name != "n2"]
    airports = len(given.airports)
    check_tables(text, [("before the join", first), ("after the join", more), ("before the leave", more), ("after n2 left", less),
                        ("before the stop", less)], given)
    check_busiest(text, given)
    check_order(text, [
        rf"^{given.flights} flights of {re.escape(path)}, journal .*$", rf"^{nodes} nodes are up$", "^before the join$", "^  join: ",
        "^after the join$", "^before the leave$", "^  leave: ", "^  n2 sent [1-9][0-9]* commands of its own while it left$", "^after n2 left$",
        "^longest wait of a command during the two moves: [0-9]+ ms$",
        "^commands through the region of " + ", ".join(f"{name} [1-9][0-9]*" for name in more) + "$", "^the ten busiest airports$",
        "^stored out of the order in which a node sent them: 0$", "^delivered to an airport that had them already: 0$",
        "^before the stop$", rf"^stopped, started again: {airports} of {airports} airports recovered exactly from the journal$"] +
        ([rf"^left running: {nodes} nodes, (127\.0\.0\.1:[0-9]+ ?){{{nodes}}}; journal and logs in ",
          rf"^end them: kill ([0-9]+ ){{{nodes}}}"] if kept else []) + [rf"^flights {given.flights} .*\n\Z"])
    waits = [int(wait) for wait in re.findall(r"^  (?:join|leave): .* longest wait ([0-9]+) ms$", text, re.M)]
    longest = re.search("^longest wait of a command during the two moves: ([0-9]+) ms$", text, re.M)
    expect(len(waits) == 2 and max(waits) == int(longest[1]), f"the longest wait of {waits} is not {longest[1]} ms")
    fed = re.findall(r" n[0-9]+ ([0-9]+)", re.search("^commands through the region of.*$", text, re.M)[0])
    expect(sum(map(int, fed)) == 2 * given.flights, f"{fed} are not all commands of {given.flights} flights")


def check_again(text, path, nodes):
    """Checks the output of a run with --again."""
    given = Input(path)
    check_tables(text, [("started again", [f"r{number + 1}" for number in range(nodes)])], given)
    check_busiest(text, given)
    check_order(text, [rf"^{given.flights} flights of ", "^started again$", "^the ten busiest airports$",
                       "^started again: {0} of {0} airports recovered exactly from the journal$".format(len(given.airports)),
                       rf"^flights {given.flights} .*\n\Z"])


def check_progress(text, flights):
    """Checks the progress bar on a terminal: it grows from nothing to all commands through every
    phase."""
    frames = re.findall(r"\r  \[(#*)(\.*)\] +([0-9]+)/([0-9]+) (\w[\w ]*?) *(?=\r|\n)", text)
    for done, left, acked, total, _ in frames:
        expect(int(total) == 2 * flights and len(done) + len(left) == BAR and len(done) == int(acked) * BAR // int(total),
               f"a bar of {len(done)} and {len(left)} for {acked} of {total}")
    counts = [int(frame[2]) for frame in frames]
    expect(counts == sorted(counts) and len(set(counts)) >= BAR and counts[0] < flights // 2 and counts[-1] == 2 * flights,
           f"the bar does not grow step by step from nothing to all: {counts[:1]} to {counts[-1:]}, {len(set(counts))} steps")
    first = {}  # phase -> commands acknowledged when it began
    for frame in frames:
        first.setdefault(frame[4], int(frame[2]))
    expect(flights // 2 <= first["join"] < flights * 3 // 4 and flights <= first["leave"],
           f"the join must begin after a quarter of the file, and the leave after another: {first}")
    phases = [frame[4] for frame in frames]
    phases = [phase for index, phase in enumerate(phases) if phases[index - 1:index] != [phase]]
    expect(phases == ["feeding", "join", "feeding", "leave", "n2 leaves", "feeding"], f"the bar's phases are {phases}")

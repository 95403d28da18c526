#!/usr/bin/env python3
"""Counts the money that a run of merchant left in the journal.

    merchant_check.py JOURNAL ORDERS

Shares no code with the entities or the library: reads the journal's SQLite file, or with psql the tables of
postgres:URL, as docs/protocol/journal.md describes them. ORDERS: the orders 0 to ORDERS - 1 were accepted.

Each order must be stored once, by its merchant. Its customer must have spent its price once, or was short
once. The merchant must have earned exactly what the customer has spent, or was refused once. No delivery is
open. So what the customers had is what they still have and what the merchants have earned.
Prints: orders N paid N declined N earned CENTS lost N doubled N strange N open N
Exit status 0 if the last four are 0 and no cent is lost or made."""
import collections
import sqlite3
import struct
import sys

from airports_check import rows_of, varint

MERCHANTS, CUSTOMERS, OPENING = 5, 40, 8000  # as in merchant.c
ORDERED, EARNED, REFUSED, SPENT, SHORT = range(1, 6)
PARCEL, OUTCOME = 0xFFFFFFC0, 0xFFFFFFC1  # the library's events: a delivery begins, and ends


def stored(journal):
    """Yields (persistence id, type, payload) of every event."""
    for name, record in rows_of(journal):
        kind, at = varint(record, 1)
        _term, at = varint(record, at)
        _epoch, at = varint(record, at)
        yield name if isinstance(name, str) else name.decode(), kind, record[at:-8]


def price(order):
    return 1 + order * 37 % 500


def owner(kind, order):
    """The entity that must have this event of an order."""
    if kind in (SPENT, SHORT):
        return f"Customer|c{order * 7 % CUSTOMERS}"
    return f"Merchant|m{order % MERCHANTS}"


class Ledger:
    def __init__(self):
        self.events = {kind: collections.Counter() for kind in range(ORDERED, SHORT + 1)}
        self.balance = collections.Counter()  # of a customer or merchant, in cents
        self.open = set()                     # deliveries: sender, number
        self.strange = 0

    def take(self, name, kind, payload):
        if kind in (PARCEL, OUTCOME):
            number, _at = varint(payload, 1)
            (self.open.add if kind == PARCEL else self.open.discard)((name, number))
        if kind >= PARCEL:
            return
        order, cents = struct.unpack("<II", payload)
        if kind not in self.events or name != owner(kind, order) or cents != price(order):
            self.strange += 1
            return
        self.events[kind][order] += 1
        self.balance[name] += cents if kind == EARNED else -cents if kind == SPENT else 0

    def judge(self, count):
        """Returns (lost, doubled): events that are missing, and events that are too many."""
        lost = doubled = 0
        for order in range(count):
            paid, declined = self.events[SPENT][order], self.events[SHORT][order]
            for found, wanted in ((self.events[ORDERED][order], 1), (paid + declined, 1),
                                  (self.events[EARNED][order], paid), (self.events[REFUSED][order], declined)):
                lost += max(wanted - found, 0)
                doubled += max(found - wanted, 0)
        self.strange += sum(order >= count for events in self.events.values() for order in events)
        return lost, doubled


def main():
    if sys.argv[1:] == ["--help"] or len(sys.argv) != 3 or not sys.argv[2].isdigit():
        print(__doc__.strip(), file=sys.stdout if sys.argv[1:] == ["--help"] else sys.stderr)
        return 0 if sys.argv[1:] == ["--help"] else 2
    ledger = Ledger()
    for event in stored(sys.argv[1]):
        ledger.take(*event)
    lost, doubled = ledger.judge(int(sys.argv[2]))
    earned = sum(cents for name, cents in ledger.balance.items() if name.startswith("Merchant|"))
    left = [OPENING + ledger.balance[f"Customer|c{index}"] for index in range(CUSTOMERS)]
    print(f"orders {len(ledger.events[ORDERED])} paid {len(ledger.events[SPENT])} declined {len(ledger.events[SHORT])} "
          f"earned {earned} lost {lost} doubled {doubled} strange {ledger.strange} open {len(ledger.open)}")
    if sum(left) + earned != CUSTOMERS * OPENING or min(left) < 0:
        print(f"of {CUSTOMERS * OPENING} cents {sum(left) + earned} are left; the poorest customer has {min(left)}")
        return 1
    return 1 if lost or doubled or ledger.strange or ledger.open else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, sqlite3.Error) as error:
        sys.exit(f"merchant_check.py: {' '.join(sys.argv[1:])}: {error}")

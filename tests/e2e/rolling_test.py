"""Rolling restarts of three nodes, oldest first, with the split brain resolver, while a fourth node
asks their entities: no ask fails, none is lost, and the coordinator returns. Bounds are generous,
because other tests run at the same time; bench/rolling measures the times."""
import sys

import rolling

RATE = 200
GAP_SECONDS = 15  # less than the removal margin of 20 s
RESTART_SECONDS = 20
PAUSES = 1, 4


def check(program, pause):
    asks, gaps, restarts = rolling.rolling(program, pause, RATE)
    print(f"{pause} s apart: {asks}, without coordinator {[round(gap, 2) for gap in gaps]}, left, joined, answered {restarts}", flush=True)
    if not asks["asked"] or asks["failed"] or asks["answered"] != asks["asked"]:
        raise rolling.Failed(f"asks failed or were lost: {asks}")
    if len(gaps) != rolling.HOSTS or max(gaps) > GAP_SECONDS:
        raise rolling.Failed(f"not {rolling.HOSTS} hand-overs, or the coordinator was missing for long: {gaps}")
    if max(max(times) for times in restarts) > RESTART_SECONDS:
        raise rolling.Failed(f"a restart took long: {restarts}")


def main():
    for pause in PAUSES:
        check(sys.argv[1], pause)
    return 0


sys.exit(main())

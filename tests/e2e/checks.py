"""The facts that a test expects, and the wait for those that are not there yet."""
import time

PATIENCE = 90  # seconds until a fact must hold
STEP = 0.03  # seconds between two looks at it
failed = []


def expect(condition, what):
    print(f"{'ok' if condition else 'FAILED'}: {what}", flush=True)
    if not condition:
        failed.append(what)


def comes_true(holds, patience=PATIENCE):
    """Waits until holds() is true; a connection or a part that is missing counts as false."""
    end = time.monotonic() + patience
    while True:
        try:
            if holds():
                return True
        except (OSError, KeyError, IndexError):
            pass
        if time.monotonic() > end:
            return False
        time.sleep(STEP)


def eventually(holds, what):
    expect(comes_true(holds), what)


def verdict():
    """Returns the exit status of the test."""
    print("failed:", *failed, sep="\n  ") if failed else print("success")
    return 1 if failed else 0

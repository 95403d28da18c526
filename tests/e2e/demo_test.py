"""The whole demonstration on the committed flights: exit status 0 and the exact last line."""
import os
import shutil
import subprocess
import sys
import tempfile

from cluster import FLIGHTS, ROOT, show_logs

LAST = "flights 20000 commands 40000 lost 0 doubled 0 retried 0 airports 224 exact yes"


def main():
    folder = tempfile.mkdtemp(prefix="sherd-demo-")
    try:
        result = subprocess.run(
            [sys.executable, os.path.join(ROOT, "examples", "airports_demo.py"), "--program", sys.argv[1],
             "--input", FLIGHTS, "--data", folder], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        print(result.stdout)
        lines = result.stdout.splitlines()
        if result.returncode == 0 and lines and lines[-1] == LAST:
            return 0
        print(f"FAILED: exit status {result.returncode}; the last line should be: {LAST}")
        show_logs(folder)
        return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)


sys.exit(main())

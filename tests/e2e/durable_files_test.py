"""Tests a node whose files of durable keys are deleted, replaced or cut while it adds items.

It logs an error within two seconds. From then on no item is acknowledged, and the node goes on. The
next start says that keys may be missing, unless a database is there.

usage: durable_files_test.py DURABLE_NODE"""
import os
import shutil
import subprocess
import sys
import tempfile
import threading

from cluster import free_port, wait

failed = []


def expect(condition, what):
    print(f"{'ok' if condition else 'FAILED'}: {what}", flush=True)
    if not condition:
        failed.append(what)


class Node:
    """A durable_node alone, with its output and its log."""

    def __init__(self, program, folder, port):
        self.process = subprocess.Popen([program, str(port), os.path.join(folder, "keys"), "local"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.done, self.late, self.log = 0, 0, ""
        self.readers = [threading.Thread(target=self.read), threading.Thread(target=self.read_log)]
        for reader in self.readers:
            reader.start()
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def read(self):
        for line in self.process.stdout:
            self.done += line.startswith("done ")
            self.late += line.startswith("late ")

    def read_log(self):
        for line in self.process.stderr:
            self.log += line

    def kill(self):
        self.process.kill()
        self.process.wait()
        for reader in self.readers:
            reader.join()
        for file in (self.process.stdin, self.process.stdout, self.process.stderr):
            file.close()


def delete(path):
    os.remove(path)


def replace(path):
    shutil.copyfile(path, path + ".copy")
    os.rename(path + ".copy", path)


def cut(path):
    os.truncate(path, 0)


def move_folder(path):
    folder = os.path.dirname(path)
    os.rename(folder, folder + ".moved")


CHANGES = [("values.mdb", delete, "deleted", "keys may be missing"), ("values.mdb", replace, "replaced", ""),
           ("values.mdb", cut, "cut", "keys may be missing"), ("values.mdb", os.link, "given a second name", ""),
           ("values.mdb", move_folder, "deleted", ""), ("lock", delete, "deleted", "")]


def change_one(program, folder, name, change, what, then):
    path = os.path.join(folder, "keys", name)
    port = free_port()
    node = Node(program, folder, port)
    try:
        wait(lambda: node.done >= 20, "the node adds no items", 60)
        if change is os.link:
            change(path, path + ".second")
        else:
            change(path)
        line = f'\\"{name}\\" was {what}'
        wait(lambda: line in node.log, f"{name} {what}: no error within 2 s", 2)
        wait(lambda: node.late > 8, f"{name} {what}: no item is refused", 60)
        done, late = node.done, node.late
        wait(lambda: node.late > late + 8, f"{name} {what}: the node stands still", 60)
        expect(node.done == done, f"{name} {what}: {node.done - done} items were acknowledged afterwards")
        expect(node.process.poll() is None, f"{name} {what}: the node goes on")
    finally:
        node.kill()
    if then:
        node = Node(program, folder, port)
        try:
            wait(lambda: then in node.log, f"{name} {what}: the next start does not say: {then}", 60)
        finally:
            node.kill()


def main():
    for name, change, what, then in CHANGES:
        folder = tempfile.mkdtemp(prefix="sherd-durable-e2e-")
        try:
            change_one(sys.argv[1], folder, name, change, what, then)
        finally:
            shutil.rmtree(folder)
    return 1 if failed else 0


sys.exit(main())

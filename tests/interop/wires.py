"""Forwards the connections between the nodes of a case, so that they can be cut.

This process listens on each node's port and forwards the bytes to the port on which the node
listens. It finds the node that has opened a connection in the kernel's tables, so the nodes need no
special settings."""
import asyncio
import os
import threading

from nodes import HOST, PATIENCE, free_ports

PIECE = 65536


def owner(port, to, processes):
    """Returns the process that has the connection between these ports, or None if the connection is
    closed."""
    for table in ("tcp", "tcp6"):
        with open(f"/proc/net/{table}") as file:
            rows = [line.split() for line in file.readlines()[1:]]
        for row in rows:
            if row[1].endswith(f":{port:04X}") and row[2].endswith(f":{to:04X}") and row[9] != "0":
                return next((pid for pid in processes if has_socket(pid, row[9])), None)
    return None


def has_socket(pid, inode):
    folder = f"/proc/{pid}/fd"
    try:
        return any(link(f"{folder}/{name}") == f"socket:[{inode}]" for name in os.listdir(folder))
    except OSError:
        return False


def link(path):
    try:
        return os.readlink(path)
    except OSError:
        return ""


class Wires:
    """The connections of all nodes that were started with the settings from lay()."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.ports = {}     # port of a node -> port on which the node really listens
        self.servers = []
        self.parts = []     # the sides of a partition, as sets of ports
        self.links = set()  # (port of the node that connected, port of the other, both writers)
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def lay(self, port):
        """Starts to forward a node's port. Returns the settings of that node."""
        self.ports[port] = free_ports(1)[0]
        self.servers.append(self.wait(asyncio.start_server(lambda reader, writer: self.connect(port, reader, writer), HOST, port)))
        return [f"remote.artery.bind.port={self.ports[port]}", f'remote.artery.bind.hostname="{HOST}"']

    def wait(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(PATIENCE)

    def is_cut(self, one, other):
        return any((one in part) != (other in part) for part in self.parts)

    async def connect(self, port, reader, writer):
        processes = {node.process.pid: node.port for node in self.cluster.nodes + self.cluster.gone}
        # Reading the tables takes 0.1 s on a busy machine. A thread does it, so other links
        # continue.
        asker = processes.get(await asyncio.get_running_loop().run_in_executor(
            None, owner, writer.get_extra_info("peername")[1], port, list(processes)))
        if asker is None or self.is_cut(asker, port):
            writer.transport.abort()
            return
        try:
            there, back = await asyncio.open_connection(HOST, self.ports[port])
        except OSError:
            writer.transport.abort()
            return
        ends = (asker, port, writer, back)
        self.links.add(ends)
        await asyncio.gather(self.carry(reader, back), self.carry(there, writer))
        self.links.discard(ends)

    @staticmethod
    async def carry(reader, writer):
        try:
            while piece := await reader.read(PIECE):
                writer.write(piece)
                await writer.drain()
        except OSError:
            pass
        writer.transport.abort() if reader.exception() else writer.close()

    def cut(self, *parts):
        """Cuts all connections between the nodes of each part and all others. Bytes that are
        underway are lost."""
        self.wait(self.cut_at(*({node.port for node in nodes} for nodes in parts)))

    async def cut_at(self, *parts):
        self.parts = parts
        for one, other, *writers in list(self.links):
            if self.is_cut(one, other):
                for writer in writers:
                    writer.transport.abort()

    def heal(self):
        self.parts = []

    async def end_all(self):
        for server in self.servers:
            server.close()
        await self.cut_at(*({port} for port in self.ports))
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        if tasks:
            await asyncio.wait(tasks, timeout=PATIENCE / 2)

    def end(self):
        self.wait(self.end_all())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(PATIENCE)

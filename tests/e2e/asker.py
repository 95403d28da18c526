"""A client outside the cluster. It asks entities with frames of the wire protocol and reads every
frame that a node sends to it.

Members close the connections of a removed node. This client does not, so it also sees the frames of
such a node."""
import itertools
import socket
import struct
import threading

import wire

SHARDING, OWN = 25, 7300  # serializers
CAPABILITY_SHERD = 1
LANES = 1


class Reply:
    """A reply to an ask: the uid of its sender, the manifest ("m" and a number, or "U" for
    undelivered), and the payload."""

    def __init__(self, uid, manifest, payload):
        self.uid, self.manifest, self.payload = uid, manifest, payload


class Asker:
    def __init__(self, system, uid):
        self.server = socket.socket()
        self.server.bind(("127.0.0.1", 0))
        self.server.listen(64)
        self.node = wire.Node(system, self.server.getsockname()[1], uid)
        self.lock = threading.Lock()
        self.out = {}      # (port, stream) -> socket
        self.uids = {}     # port -> uid of the node there
        self.replies = {}  # ask -> [Reply]
        self.asks = itertools.count(1)
        self.ended = False
        threading.Thread(target=self.accept, daemon=True).start()

    def close(self):
        self.ended = True
        self.server.close()
        for sock in self.out.values():
            sock.close()

    # ---- sending ----

    def extension(self, lane, generation):
        return (wire.field(1000, CAPABILITY_SHERD) + wire.field(1001, lane) + wire.field(1002, LANES) +
                wire.field(1003, generation))

    def link(self, port, stream):
        """Returns the connection to a node; opens it at its first use. The caller has the lock."""
        if (port, stream) not in self.out:
            target = wire.Node(self.node.system, port, 0)
            sock = wire.connect(target)
            lane = 0 if stream == wire.CONTROL else 1
            payload = wire.field(1, self.node.unique()) + wire.field(2, target.address()) + self.extension(lane, 1)
            hello = wire.frame(wire.envelope(self.node.uid, wire.ARTERY, "d", payload))
            sock.sendall(wire.PREAMBLE + bytes([stream]) + hello)
            self.out[port, stream] = sock
        return self.out[port, stream]

    def greet(self, port):
        """Introduces the client to a node. The node can then answer an ask that another node has
        passed on."""
        with self.lock:
            self.link(port, wire.CONTROL)  # carries the handshake replies for the node's own links
            self.link(port, wire.ORDINARY)

    def ask(self, port, type_name, entity, number, body=b""):
        """Asks an entity through the region of the node at this port. Returns the key of the answer
        in `replies`."""
        ask = next(self.asks)
        message = wire.field(1, body) + wire.field(2, OWN) + wire.field(4, f"m{number}")
        payload = wire.field(1, entity) + wire.field(2, message)
        target = wire.Node(self.node.system, port, 0)
        data = wire.envelope(self.node.uid, SHARDING, "a", payload, self.node.path(f"/temp/a{1:016x}.{ask:x}"),
                             target.path(f"/system/sharding/{type_name}"))
        self.greet(port)
        with self.lock:
            self.replies[ask] = []
            self.link(port, wire.ORDINARY).sendall(wire.frame(data))
        return ask

    def answers(self, asks, uid=None):
        """Returns the asks that got an answer, from the node `uid` if it is given. An undelivered
        ask has no answer."""
        with self.lock:
            return [ask for ask in asks
                    if any(reply.manifest[0] == "m" and uid in (None, reply.uid) for reply in self.replies[ask])]

    def refusals(self, asks):
        with self.lock:
            return [ask for ask in asks if any(reply.manifest == "U" for reply in self.replies[ask])]

    def reasons(self, asks):
        """Returns the reasons of undelivered asks, as numbers of enum sherd_reason."""
        with self.lock:
            return {reply.payload[0] for ask in asks for reply in self.replies[ask] if reply.manifest == "U"}

    # ---- receiving ----

    def accept(self):
        while True:
            try:
                sock, _ = self.server.accept()
            except OSError:
                return
            threading.Thread(target=self.read, args=(sock,), daemon=True).start()

    def read(self, sock):
        try:
            with sock, sock.makefile("rb") as file:
                if file.read(5)[:4] != wire.PREAMBLE:
                    return
                while len(size := file.read(4)) == 4:
                    self.take(file.read(struct.unpack("<I", size)[0]))
        except OSError:
            pass  # the node ended, or this client

    def take(self, data):
        uid, serializer, _, recipient, manifest, payload = wire.read_envelope(data)
        if serializer == wire.ARTERY and manifest == "d":
            self.shake_hands(wire.read_fields(payload))
        elif serializer == OWN and "/temp/a" in recipient and (manifest[0] == "m" or manifest == "U"):
            with self.lock:
                self.replies[int(recipient.rsplit(".", 1)[1], 16)].append(Reply(uid, manifest, payload))

    def shake_hands(self, request):
        who = wire.read_fields(request[1])
        port = wire.read_fields(who[1])[4]
        payload = wire.field(1, self.node.unique()) + self.extension(request.get(1001, 0), request.get(1003, 0))
        with self.lock:
            self.uids[port] = who[2]
            self.link(port, wire.CONTROL).sendall(
                wire.frame(wire.envelope(self.node.uid, wire.ARTERY, "e", payload)))

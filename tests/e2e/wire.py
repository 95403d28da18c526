"""Writes and reads valid and invalid frames of Artery TCP and of the cluster's messages, for tests.

Follows docs/protocol/link.md and gossip.md, and shares no code with the library. Numbers on the
wire are little endian; payloads are protobuf."""
import gzip
import socket
import struct

CONTROL, ORDINARY = 1, 2
ARTERY, CLUSTER = 17, 5  # serializers
PREAMBLE = b"AKKA"


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(tag, value):
    """Returns a protobuf field. Bytes and text are length-delimited; a number is a varint."""
    if isinstance(value, int):
        return varint(tag << 3) + varint(value)
    if isinstance(value, str):
        value = value.encode()
    return varint(tag << 3 | 2) + varint(len(value)) + value


class Node:
    """An invented node."""

    def __init__(self, system, port, uid, host="127.0.0.1"):
        self.system, self.host, self.port, self.uid = system, host, port, uid

    def path(self, rest=""):
        return f"akka://{self.system}@{self.host}:{self.port}{rest}"

    def address(self):  # in Artery's order of fields
        return field(1, "akka") + field(2, self.system) + field(3, self.host) + field(4, self.port)

    def unique(self):
        return field(1, self.address()) + field(2, self.uid)

    def cluster_unique(self):  # in the cluster's order of fields, with the uid in two halves
        address = field(1, self.system) + field(2, self.host) + field(3, self.port) + field(4, "akka")
        return field(1, address) + field(2, self.uid & 0xFFFFFFFF) + field(3, self.uid >> 32)


def literal(text):
    text = text.encode()
    return struct.pack("<h", len(text)) + text


def envelope(origin, serializer, manifest, payload, sender="", recipient=""):
    body = literal(sender), literal(recipient), literal(manifest)
    tags = 28, 28 + len(body[0]), 28 + len(body[0]) + len(body[1])
    return struct.pack("<BBBBqiIII", 0, 0, 0, 0, origin, serializer, *tags) + b"".join(body) + payload


def read_envelope(data):
    """Returns (uid, serializer, sender, recipient, manifest, payload) of an envelope without
    compressed texts."""
    flags, uid, serializer = data[1], *struct.unpack_from("<Qi", data, 4)
    at, texts = 28, []
    if flags & 1:  # metadata
        at += 4 + struct.unpack_from("<I", data, at)[0]
    for tag in struct.unpack_from("<III", data, 16):
        if tag >> 24:
            raise ValueError("the envelope has a compressed text, and no table was advertised")
        size = struct.unpack_from("<h", data, at)[0]
        texts.append(data[at + 2:at + 2 + size].decode())
        at += 2 + size
    return uid, serializer, *texts, data[at:]


def read_fields(data):
    """Returns field number -> value (a number or bytes). A repeated field has its last value."""
    fields, at = {}, 0

    def take_varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = take_varint()
        value = take_varint()
        if key & 7 == 2:
            at += value
            value = data[at - value:at]
        elif key & 7:
            raise ValueError(f"wire type {key & 7}")
        fields[key >> 3] = value
    return fields


def frame(data):
    return struct.pack("<I", len(data)) + data


def handshake(sender, receiver):
    return frame(envelope(sender.uid, ARTERY, "d", field(1, sender.unique()) + field(2, receiver.address())))


def gossip(members, seen=(), version=1, statuses=None, hashes=None):
    """Returns a gossip of these members. All are up, unless `statuses` is given."""
    data = b"".join(field(1, node.cluster_unique()) for node in members) + field(2, "dc-default")
    hashes = hashes or [f"{index:032x}" for index in range(len(members))]
    data += b"".join(field(3, text) for text in hashes)
    for index in range(len(members)):
        status = statuses[index] if statuses else 1
        data += field(4, field(1, index) + field(2, index + 1) + field(3, status) + field(4, b"\0"))
    data += field(5, b"".join(field(1, index) for index in seen))
    return data + field(6, b"".join(field(2, field(1, index) + field(2, version)) for index in range(len(hashes))))


def gossip_envelope(sender, receiver, data, packed=None):
    payload = field(1, sender.cluster_unique()) + field(2, receiver.cluster_unique())
    return payload + field(3, gzip.compress(data) if packed is None else packed)


def to_daemon(sender, receiver, manifest, payload):
    daemon = "/system/cluster/core/daemon"
    return frame(envelope(sender.uid, CLUSTER, manifest, payload, sender.path(daemon), receiver.path(daemon)))


def connect(receiver):
    return socket.create_connection((receiver.host, receiver.port), timeout=10)


def send(receiver, *parts):
    """Sends all parts on one connection. Returns whether the node closed the connection without an
    answer."""
    with connect(receiver) as sock:
        try:
            for part in parts:
                sock.sendall(part)
            sock.shutdown(socket.SHUT_WR)
            return sock.recv(1) == b""
        except socket.timeout:
            return False
        except OSError:  # the node closed the connection before all was sent
            return True

"""A DNS server on loopback, for tests of nodes that find each other by DNS."""
import socket
import struct
import threading


class Dns:
    """A DNS server on loopback (UDP). The function `answer` answers every question."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.socket.getsockname()[1]
        self.answer = self.no_such_name
        self.asked = 0
        self.names = set()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            question, sender = self.socket.recvfrom(4096)
            self.names.add(self.name_of(question))
            self.asked += 1
            self.socket.sendto(self.answer(question), sender)

    @staticmethod
    def name_of(question):
        at, labels = 12, []
        while question[at]:
            labels.append(question[at + 1:at + 1 + question[at]].decode())
            at += question[at] + 1
        return ".".join(labels)

    @staticmethod
    def head(question, flags, count):
        end = question.index(b"\0", 12) + 5
        return question[:2] + struct.pack(">HHHHH", flags, 1, count, 0, 0) + question[12:end]

    def no_such_name(self, question):
        return self.head(question, 0x8583, 0)

    def garbage(self, question):
        return question[:2] + bytes(range(200, 256)) * 4

    def truncated(self, question):
        return self.head(question, 0x8780, 0)

    def srv(self, ports):
        def answer(question):
            records = b""
            for port in ports:
                data = struct.pack(">HHH", 0, 1, port) + b"\x09localhost\0"
                records += b"\xc0\x0c" + struct.pack(">HHIH", 33, 1, 0, len(data)) + data
            return self.head(question, 0x8580, len(ports)) + records
        return answer

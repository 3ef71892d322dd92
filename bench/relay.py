"""A relay that only looks like a broker: whatever a publisher sends, every subscriber gets, unread.

Nothing that routes can be much faster, so the load generator against this relay shows how much load it can offer.
If that is well above what the brokers reach, their rows are about them and not about the generator.

Owns: just enough of MQTT 3.1.1 to fool ``generator``. Must not know: anything else.
"""

from __future__ import annotations

import select
import socket
import sys

__all__ = ["serve"]

_READ_BYTES_MAX = 1 << 18
_CONNECT, _SUBSCRIBE, _DISCONNECT = 0x10, 0x82, 0xE0


class _Relay:
    def __init__(self, port: int) -> None:
        self.poller = select.poll()
        self.server = socket.create_server(("127.0.0.1", port))
        self.poller.register(self.server, select.POLLIN)
        self.links: dict[int, socket.socket] = {}
        self.subscribers: dict[int, socket.socket] = {}

    def turn(self) -> None:
        for number, _ in self.poller.poll():
            if number == self.server.fileno():
                self._accept()
            else:
                self._read(number)

    def _accept(self) -> None:
        link, _ = self.server.accept()
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.links[link.fileno()] = link
        self.poller.register(link, select.POLLIN)

    def _read(self, number: int) -> None:
        link = self.links[number]
        try:
            data = link.recv(_READ_BYTES_MAX)
        except ConnectionError:
            data = b""
        if not data or data[0] == _DISCONNECT:
            self.poller.unregister(link)
            self.subscribers.pop(number, None)
            self.links.pop(number).close()
        elif data[0] == _CONNECT:
            link.sendall(b"\x20\x02\x00\x00")
        elif data[0] == _SUBSCRIBE:
            link.sendall(b"\x90\x03\x00\x01\x00")
            self.subscribers[number] = link
        else:
            for subscriber in self.subscribers.values():
                subscriber.sendall(data)


def serve(port: int) -> None:
    """Relay until killed."""
    relay = _Relay(port)
    while True:
        relay.turn()


if __name__ == "__main__":
    serve(int(sys.argv[1]))

"""The sockets of one peer: UDP for nearly all that it says, and TCP at the same number for what is too long.

What comes and is no parcel, or has no right seal, is counted and forgotten; so is what would have to be sent to a text
that is no address.

Owns: the sockets, and which way a word takes. Must not know: what a word means, or what a peer does with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
from collections.abc import AsyncIterator, Callable

from reknit.live.address import Address, listen
from reknit.live.errors import PortTaken
from reknit.live.peers.parcels import (
    DATAGRAM_BYTES_MAX,
    Assembler,
    BadParcel,
    Fragment,
    Seal,
    Stranger,
    cut,
    read_datagram,
)
from reknit.live.peers.places import Place, Places
from reknit.live.peers.streams import Inward, Streams

__all__ = ["PeerPort", "port_open"]

SOCKET_BYTES = 4 * 1024 * 1024
"""What the kernel is asked to hold of datagrams that we have no time for yet; it may give less."""
BATCH = 64
"""Datagrams that are taken before anybody else has a turn: more than one, or whoever sends would outrun who takes."""
TRIES_MAX = 20
"""Ports that are tried where any will do: one has to be free on UDP and on TCP."""


class PeerPort:
    """On ``sock``, which is bound and does not block. Create it inside the running loop."""

    def __init__(self, sock: socket.socket, seal: Seal, clock: Callable[[], float]) -> None:
        self.counters: dict[str, int] = {}
        self.received: Callable[[str, bytes], None] = lambda sender, word: None
        self.address = Address(*sock.getsockname()[:2])
        self.datagrams_in = self.datagrams_out = self.datagram_bytes_max = 0
        self.streams = Streams(seal, self._take, self.count)
        self._socket = sock
        self._seal = seal
        self._places = Places(sock.family)
        self._clock = clock
        self._assembler = Assembler()
        self._number = random.SystemRandom().getrandbits(48)  # of words in fragments: not those of a life before
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(sock.fileno(), self._readable)

    def count(self, what: str) -> None:
        self.counters[what] = self.counters.get(what, 0) + 1

    # --- in

    def _readable(self) -> None:
        take = self._socket.recvfrom
        for _ in range(BATCH):
            try:
                data, place = take(DATAGRAM_BYTES_MAX + 1)
            except (BlockingIOError, InterruptedError):
                return
            except OSError:  # nobody listened where something was sent to, or so it says; silence will show
                self.count("bounced")
            else:
                self._datagram(data, place)
                if self._socket.fileno() < 0:
                    return

    def _datagram(self, data: bytes, addr: Place) -> None:
        self.datagrams_in += 1
        try:
            found = read_datagram(data, self._seal)
        except Stranger:
            return self.count("strangers")
        except BadParcel:
            return self.count("garbage")
        sender = self._places.name(addr)
        word = self._whole(sender, found) if isinstance(found, Fragment) else found
        if word is not None:
            self._take(sender, word)

    def _whole(self, sender: str, fragment: Fragment) -> bytes | None:
        before = self._assembler.given_up
        word = self._assembler.add(sender, fragment, self._clock())
        if self._assembler.given_up > before:
            self.counters["given_up"] = self._assembler.given_up
        return word

    def _take(self, sender: str, word: bytes) -> None:
        self.received(sender, word)

    # --- out

    def send(self, to: str, word: bytes) -> None:
        place = self._places.find(to)
        if place is None:
            self.count("no_address")
            return
        self._number += 1
        datagrams = cut(word, self._number, self._seal)
        if not datagrams:
            self.streams.send(place, word, self.address.port)
            return
        for datagram in datagrams:
            self._send(datagram, place)

    def _send(self, datagram: bytes, place: Place) -> None:
        try:
            self._socket.sendto(datagram, place)
        except (BlockingIOError, InterruptedError):
            self.count("send_full")
        except OSError:
            self.count("unreachable")
        else:
            self.datagrams_out += 1
            self.datagram_bytes_max = max(self.datagram_bytes_max, len(datagram))

    def close(self) -> None:
        self.streams.close()
        self._loop.remove_reader(self._socket.fileno())
        self._socket.close()


@contextlib.asynccontextmanager
async def port_open(address: Address, secret: bytes, clock: Callable[[], float]) -> AsyncIterator[PeerPort]:
    """Both sockets, at one number. ``PortTaken`` if that cannot be had."""
    tcp, udp = _bind(address)
    port = PeerPort(udp, Seal(secret), clock)
    server = await asyncio.get_running_loop().create_server(lambda: Inward(port.streams), sock=tcp)
    try:
        yield port
    finally:
        server.close()
        port.close()


def _bind(address: Address) -> tuple[socket.socket, socket.socket]:
    for tries_left in reversed(range(TRIES_MAX if not address.port else 1)):
        tcp = listen(address, "peer")
        udp = socket.socket(tcp.family, socket.SOCK_DGRAM)
        udp.setblocking(False)
        with contextlib.suppress(OSError):
            udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SOCKET_BYTES)
        try:
            udp.bind(tcp.getsockname())
        except OSError as error:
            tcp.close()
            udp.close()
            if not tries_left:
                raise PortTaken(f"peer: cannot take datagrams on {address}: {error.strerror}") from None
        else:
            return tcp, udp
    raise AssertionError("the last try returns or raises")

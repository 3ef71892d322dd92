"""Datagrams on UDP: one port for what goes past the tree, and for links on which events may be lost.

The port has the number of the one at which the broker takes links on TCP. A datagram says in its first byte what it is:
for the core as it is, a frame of a connection, or a piece of one that is too long (``pieces``). UDP has no connections,
so whoever dials draws a token that stands for one; both ends go by token and address. A connection begins with the
first datagram of a token, and ends when the core closes it; nobody is told, for the core says farewell itself, and
finds out by silence where that was lost.

Owns: the socket, and which datagram belongs to which connection. Must not know: what a frame or a datagram means.
"""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING, Any, cast

from reknit.core.io import Direct
from reknit.live.address import Address, parse_address
from reknit.live.errors import ConfigError
from reknit.live.framing import LENGTH_BYTES
from reknit.live.links import LinkProtocol
from reknit.live.pieces import PIECE_BYTES, Pieces, cut

if TYPE_CHECKING:
    from reknit.live.driver import Driver

__all__ = ["DatagramLink", "DatagramPort"]

DIRECT = b"\x00"
LINK = b"\x01"
PIECE = b"\x02"
TOKEN_BYTES = 8
_HEAD_BYTES = 1 + TOKEN_BYTES
ADDRESSES_MAX = 4096
"""Hosts whose numbers are remembered."""

_Where = tuple[Any, ...]


class DatagramLink(LinkProtocol):
    """One connection to another broker."""

    def __init__(self, driver: Driver, port: DatagramPort, token: bytes, where: _Where, peer: str = "") -> None:
        super().__init__(driver, peer)
        self.token = token
        self.where = where
        self.remote = str(where)
        self.host = str(where[0])
        self.transport = _Path(port, self)
        self.write = self._send
        self._port = port
        self._pieces = Pieces()
        self._cut = 0  # frames that were sent in pieces so far

    def open(self) -> bool:
        self._open = self._driver.link_opened(self)
        return self._open

    def received(self, frame: bytes) -> None:
        if self._open:
            self._driver.link_received(self, (frame,))

    def received_piece(self, piece: bytes) -> None:
        """Of one who has greeted: a stranger's first words are short, and we keep nothing for it."""
        if self.known and (frame := self._pieces.take(piece)) is not None:
            self.received(frame)

    def accepted(self) -> None:
        self.known = True

    def _send(self, data: bytes) -> None:
        """Frames, each behind its length; each is a datagram of its own, or several."""
        at = 0
        while at < len(data):
            start = at + LENGTH_BYTES
            at = start + int.from_bytes(data[at:start], "big")
            if at - start <= PIECE_BYTES:
                self._port.transport.sendto(LINK + self.token + data[start:at], self.where)
                continue
            self._cut += 1
            for piece in cut(self._cut, data[start:at]):
                self._port.transport.sendto(PIECE + self.token + piece, self.where)


class _Path(asyncio.Transport):
    """What a connection of datagrams has instead of a transport: it can be given up, and never has to wait."""

    def __init__(self, port: DatagramPort, link: DatagramLink) -> None:
        super().__init__()
        self._port = port
        self._link = link
        self._closed = False

    def abort(self) -> None:
        if not self._closed:
            self._closed = True
            self._port.forget(self._link)
            self._link.connection_lost(None)

    close = abort

    def is_closing(self) -> bool:
        return self._closed

    def is_reading(self) -> bool:
        return True

    def pause_reading(self) -> None:
        """Whoever sends does not wait; what there is no time for is lost in the kernel."""

    def resume_reading(self) -> None:
        pass


class DatagramPort(asyncio.DatagramProtocol):
    def __init__(self, driver: Driver, carries_links: bool) -> None:
        self.carries_links = carries_links
        self.transport: asyncio.DatagramTransport
        self._driver = driver
        self._links: dict[tuple[bytes, _Where], DatagramLink] = {}
        self._numbers: dict[str, _Where] = {}  # by address: its host as a number

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.DatagramTransport, transport)

    # --- in

    def datagram_received(self, data: bytes, addr: _Where) -> None:
        try:
            if data[:1] == DIRECT:
                self._driver.turn(Direct(data[1:]))
            elif data[:1] == LINK and len(data) > _HEAD_BYTES and self.carries_links:
                self._received(data[1:_HEAD_BYTES], addr, data[_HEAD_BYTES:])
            elif data[:1] == PIECE and (link := self._links.get((data[1:_HEAD_BYTES], addr))) is not None:
                link.received_piece(data[_HEAD_BYTES:])
        except Exception:
            self._driver.failed(f"a datagram from {addr}")

    def _received(self, token: bytes, where: _Where, frame: bytes) -> None:
        link = self._links.get((token, where))
        if link is None:
            link = self._links[token, where] = DatagramLink(self._driver, self, token, where)
            link.open()
        link.received(frame)

    # --- out

    async def dial(self, peer: str, address: str) -> str:
        """As ``links.dial``. There is nobody to wait for: whether somebody is there, a greeting shows."""
        try:
            where = await self._resolve(parse_address(address))
        except (ConfigError, OSError) as error:
            return str(error)
        link = DatagramLink(self._driver, self, secrets.token_bytes(TOKEN_BYTES), where, peer)
        self._links[link.token, where] = link
        link.open()
        return ""

    def send_directly(self, address: str, datagram: bytes) -> None:
        """The first to a host that has to be looked up is lost, as any may be."""
        where = self._numbers.get(address)
        if where is not None:
            self.transport.sendto(DIRECT + datagram, where)
        else:
            self._driver.later(self._learn(address))

    async def _learn(self, address: str) -> None:
        try:
            where = await self._resolve(parse_address(address))
        except (ConfigError, OSError):
            return  # whoever gave it has to live with that
        if len(self._numbers) >= ADDRESSES_MAX:
            del self._numbers[next(iter(self._numbers))]
        self._numbers[address] = where

    async def _resolve(self, address: Address) -> _Where:
        family = self.transport.get_extra_info("socket").family
        found = await self._driver.loop.getaddrinfo(*address, family=family)
        return found[0][4]

    def forget(self, link: DatagramLink) -> None:
        self._links.pop((link.token, link.where), None)

    def error_received(self, exc: Exception) -> None:
        """Nobody listens there, or so it says: the core finds out by silence."""

"""Addresses of peers, as texts and as sockets have them.

A peer is known by one text, ``NUMBER:PORT``, the same to everybody, for tables hold nobody twice. Texts come from
others, who may be wrong or lie: only numbers are taken, so that nobody can make us look up names, and none that stands
for many hosts or for no host.

Owns: both forms, and which texts are no peers. Must not know: what is sent there.
"""

from __future__ import annotations

import ipaddress
import socket
from typing import Any, TypeAlias

from reknit.live.address import PORT_MAX, Address, parse_address
from reknit.live.errors import ConfigError

__all__ = ["PLACES_MAX", "Place", "Places", "look_up", "text_of"]

Place: TypeAlias = tuple[Any, ...]
"""What a socket sends to."""

PLACES_MAX = 8192
"""Texts, and places, that are remembered."""

LIMITED_BROADCAST = ipaddress.ip_address("255.255.255.255")


def text_of(place: Place) -> str:
    return str(Address(str(place[0]).partition("%")[0], int(place[1])))


class Places:
    """Of one socket's family."""

    __slots__ = ("_places", "_texts", "_version")

    def __init__(self, family: int) -> None:
        self._version = 6 if family == socket.AF_INET6 else 4
        self._places: dict[str, Place | None] = {}
        self._texts: dict[Place, str] = {}

    def find(self, text: str) -> Place | None:
        """None for a text that is no peer's."""
        if text not in self._places:
            if len(self._places) >= PLACES_MAX:
                self._places.clear()
            self._places[text] = self._parse(text)
        return self._places[text]

    def name(self, place: Place) -> str:
        found = self._texts.get(place)
        if found is None:
            if len(self._texts) >= PLACES_MAX:
                self._texts.clear()
            found = self._texts[place] = text_of(place)
        return found

    def _parse(self, text: str) -> Place | None:
        try:
            host, port = parse_address(text)
            number = ipaddress.ip_address(host)
        except (ConfigError, ValueError):
            return None
        stands_for_many = number.is_multicast or number.is_unspecified or number == LIMITED_BROADCAST
        if number.version != self._version or stands_for_many or not 0 < port <= PORT_MAX:
            return None
        return (host, port) if text_of((str(number), port)) == text else None


async def look_up(address: str, family: int, what: str) -> str:
    """The text by which a peer is known that a user has named, perhaps by a name of its host."""
    import asyncio

    host, port = parse_address(address, what)
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, family=family, type=socket.SOCK_DGRAM)
    except OSError as error:
        raise ConfigError(f"{what}: {host!r} is no known host ({error.strerror})") from None
    text = text_of(found[0][4])
    if Places(family).find(text) is None:
        raise ConfigError(f"{what}: nobody can be at {address}")
    return text

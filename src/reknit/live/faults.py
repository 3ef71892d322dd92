"""A proxy for datagrams that loses, doubles, delays and swallows them, by seed.

It stands between two brokers whose link is made of datagrams: the one that dials is given its address. Each caller gets
a socket of its own towards the other side, so that answers find back.

Owns: what becomes of each datagram. Must not know: what is in it.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

from reknit.live.address import Address

__all__ = ["FaultProxy", "Harm", "fault_proxy"]


@dataclass(frozen=True, slots=True)
class Harm:
    """Of the datagrams: the share that is lost, the share that is doubled, and the longest delay."""

    loss: float = 0.0
    duplication: float = 0.0
    delay_s_max: float = 0.0
    black_hole: bool = False
    """Nothing gets through."""


class FaultProxy(asyncio.DatagramProtocol):
    def __init__(self, target: Address, harm: Harm, seed: str) -> None:
        self.target = target
        self.harm = harm
        """May be changed at any time."""
        self.passed = self.lost = 0
        self.address = target  # until it is open
        self._there, self._back = (random.Random(f"{seed} {way}") for way in ("there", "back"))
        """One for each direction: else it would be timing that decides which datagrams the seed is about."""
        self._transport: asyncio.DatagramTransport
        self._beyond: dict[Any, asyncio.DatagramTransport] = {}  # by caller
        self._early: dict[Any, list[bytes]] = {}  # the same: what came before that was open

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)
        self.address = Address(*transport.get_extra_info("sockname")[:2])

    def datagram_received(self, data: bytes, addr: Any) -> None:
        beyond = self._beyond.get(addr)
        if beyond is not None:
            self._harm(self._there, beyond, data, None)
        elif addr in self._early:
            self._early[addr].append(data)
        else:
            self._early[addr] = [data]
            asyncio.get_running_loop().create_task(self._open(addr))

    async def _open(self, caller: Any) -> None:
        loop = asyncio.get_running_loop()
        try:
            beyond, _ = await loop.create_datagram_endpoint(lambda: _Back(self, caller), remote_addr=self.target)
        finally:
            early = self._early.pop(caller)
        self._beyond[caller] = beyond
        for data in early:
            self._harm(self._there, beyond, data, None)

    def back(self, data: bytes, caller: Any) -> None:
        self._harm(self._back, self._transport, data, caller)

    def _harm(self, rng: random.Random, out: asyncio.DatagramTransport, data: bytes, to: Any) -> None:
        harm = self.harm
        if harm.black_hole or rng.random() < harm.loss:
            self.lost += 1
            return
        for _ in range(2 if rng.random() < harm.duplication else 1):
            self.passed += 1
            delay = rng.uniform(0, harm.delay_s_max)
            if delay:
                asyncio.get_running_loop().call_later(delay, self._send, out, data, to)
            else:
                self._send(out, data, to)

    def _send(self, out: asyncio.DatagramTransport, data: bytes, to: Any) -> None:
        if not out.is_closing():
            out.sendto(data, to)

    def close(self) -> None:
        for transport in (*self._beyond.values(), self._transport):
            transport.close()


class _Back(asyncio.DatagramProtocol):
    """What comes back for one caller."""

    def __init__(self, proxy: FaultProxy, caller: Any) -> None:
        self._proxy = proxy
        self._caller = caller

    def datagram_received(self, data: bytes, addr: Any) -> None:
        self._proxy.back(data, self._caller)


@asynccontextmanager
async def fault_proxy(target: Address, harm: Harm, seed: str = "") -> AsyncIterator[FaultProxy]:
    """Inside, ``address`` leads to ``target``, with harm."""
    loop = asyncio.get_running_loop()
    _, proxy = await loop.create_datagram_endpoint(lambda: FaultProxy(target, harm, seed), local_addr=(target.host, 0))
    try:
        yield proxy
    finally:
        proxy.close()

"""Words too long for datagrams, on TCP: a connection per direction, made when it is needed, closed when it rests.

Frames are cut as between brokers (``framing``). The host of a sender is that of its connection; the port at which it is
known it says itself. A connection that cannot be made loses its words, as datagrams are lost: gossip repeats itself.

Owns: connections in both directions, and their bounds. Must not know: what a word means.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from reknit.live.framing import FrameSplitter, FrameTooLong, frame_head
from reknit.live.peers.parcels import SEAL_BYTES, WORD_BYTES_MAX, BadParcel, Seal, Stranger, read_streamed, streamed
from reknit.live.peers.places import Place, text_of

__all__ = ["STREAMS_IN_MAX", "STREAMS_OUT_MAX", "Inward", "Streams"]

STREAMS_OUT_MAX = 32
"""Connections that we have made; the one that was used least lately makes room."""
STREAMS_IN_MAX = 32
"""Connections to us; one more is refused."""
WAITING_BYTES_MAX = 2 * WORD_BYTES_MAX
"""On one connection; what comes on top is lost."""
REST_S = 10.0
CONNECT_S_MAX = 5.0
FRAME_BYTES_MAX = WORD_BYTES_MAX + SEAL_BYTES + 16


class Streams:
    """``received(sender, word)`` and ``count(what)`` are told what comes, and what goes wrong."""

    def __init__(self, seal: Seal, received: Callable[[str, bytes], None], count: Callable[[str], None]) -> None:
        self.seal = seal
        self.received = received
        self.count = count
        self.inward: set[asyncio.Transport] = set()
        self._out: dict[Place, _Out] = {}  # the one used least lately first

    def send(self, place: Place, word: bytes, own_port: int) -> None:
        out = self._out.pop(place, None)
        if out is None:
            if len(self._out) >= STREAMS_OUT_MAX:
                next(iter(self._out.values())).close()
            out = _Out(self, place)
        self._out[place] = out
        out.send(streamed(word, own_port, self.seal))

    def forget(self, out: _Out) -> None:
        if self._out.get(out.place) is out:
            del self._out[out.place]

    def close(self) -> None:
        for out in list(self._out.values()):
            out.close()
        for transport in self.inward:
            transport.abort()
        self.inward.clear()


class _Out(asyncio.Protocol):
    def __init__(self, streams: Streams, place: Place) -> None:
        self.place = place
        self._streams = streams
        self._loop = asyncio.get_running_loop()
        self._waiting: list[bytes] = []
        self._transport: asyncio.Transport | None = None
        self._rest: asyncio.TimerHandle | None = None
        self._task = self._loop.create_task(self._connect())

    async def _connect(self) -> None:
        try:
            async with asyncio.timeout(CONNECT_S_MAX):
                await self._loop.create_connection(lambda: self, *self.place[:2])
        except (OSError, TimeoutError):
            self._streams.count("streams_failed")
            self.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        waiting, self._waiting = self._waiting, []
        self._transport.writelines(waiting)
        self._rest_later()

    def send(self, parcel: bytes) -> None:
        if self._held() + len(parcel) > WAITING_BYTES_MAX:
            self._streams.count("streams_full")
        elif self._transport is None:
            self._waiting += (frame_head(parcel), parcel)
        else:
            self._transport.writelines((frame_head(parcel), parcel))
            self._rest_later()

    def _held(self) -> int:
        if self._transport is not None:
            return self._transport.get_write_buffer_size()
        return sum(map(len, self._waiting))

    def _rest_later(self) -> None:
        if self._rest is not None:
            self._rest.cancel()
        self._rest = self._loop.call_later(REST_S, self._rested)

    def _rested(self) -> None:
        if self._held():
            self._streams.count("streams_stuck")
        self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self.close()

    def close(self) -> None:
        self._streams.forget(self)
        if self._rest is not None:
            self._rest.cancel()
        if self._transport is not None:
            self._transport.abort() if self._held() else self._transport.close()
        elif self._task is not asyncio.current_task():
            self._task.cancel()


class Inward(asyncio.Protocol):
    """A connection that somebody has made to us."""

    def __init__(self, streams: Streams) -> None:
        self._streams = streams
        self._splitter = FrameSplitter(FRAME_BYTES_MAX)
        self._transport: asyncio.Transport
        self._rest: asyncio.TimerHandle | None = None
        self._host: str = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if len(self._streams.inward) >= STREAMS_IN_MAX:
            self._streams.count("streams_refused")
            self._transport.abort()
            return
        self._streams.inward.add(self._transport)
        self._host = transport.get_extra_info("peername")[0]
        self._rest_later()

    def _rest_later(self) -> None:
        if self._rest is not None:
            self._rest.cancel()
        self._rest = asyncio.get_running_loop().call_later(2 * REST_S, self._transport.abort)

    def data_received(self, data: bytes) -> None:
        try:
            for frame in self._splitter.feed(data):
                port, word = read_streamed(frame, self._streams.seal)
                self._streams.received(text_of((self._host, port)), word)
                self._rest_later()
        except Stranger:
            self._end("strangers")
        except (BadParcel, FrameTooLong):
            self._end("garbage")

    def _end(self, why: str) -> None:
        self._streams.count(why)
        self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._rest is not None:
            self._rest.cancel()
        self._streams.inward.discard(self._transport)

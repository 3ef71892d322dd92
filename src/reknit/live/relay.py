"""A client that is at home at another broker is served there, through this one: both ends of that.

This end dials the other broker at its relay door, in TLS where links are, says in one line for whom (the *preface*),
and sends on all that the client has said. Once the first byte is back, the client's socket and this one are one stream
of bytes, whose pace is the slower one's. If nothing is back in time, the door is told that the home was not found.
Where either end is gone, so is the other: to MQTT it is a connection that was lost.

The other end takes a connection that begins with a preface for a client's, and closes any other. It believes what that
says of the client: who can speak here is a broker, by its certificate, or where there are none, since nobody else
reaches this port. It is a port of its own: no client's word is ever read where links are.

Owns: these connections. Must not know: MQTT, or where a client is at home.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

import msgspec

from reknit.live.address import parse_address
from reknit.live.errors import ConfigError
from reknit.live.mqtt_server import ClientProtocol
from reknit.live.tls import certified_names

if TYPE_CHECKING:
    from reknit.live.driver import Driver
    from reknit.mqtt.session import Seek

__all__ = ["PREFACE", "PREFACE_BYTES_MAX", "BadPreface", "Preface", "RelayDoor", "Relays", "read_preface"]

PREFACE = b"reknit-relay 1 "
"""How a preface begins; no frame does, since its length would be beyond all bounds. It ends with its line."""
PREFACE_BYTES_MAX = 2_048
PREFACE_S_MAX = 5.0
"""How long another broker has to say for whom it comes."""


class BadPreface(ValueError):
    """The other end's fault."""


class Preface(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the broker that a client has come to says of it."""

    user: str
    """Who it has proved to be; empty for nobody in particular."""
    host: str
    """Where it comes from."""

    def written(self) -> bytes:
        return PREFACE + msgspec.json.encode(self) + b"\n"


def read_preface(data: bytes) -> tuple[Preface, bytes] | None:
    """It, and what follows; None if more of it has to come."""
    line, end, rest = data.partition(b"\n")
    if len(line) > PREFACE_BYTES_MAX or not (line + b" " * len(PREFACE)).startswith(PREFACE[: len(line)]):
        raise BadPreface("no preface of a relay")
    if not end:
        return None
    try:
        return msgspec.json.decode(line.removeprefix(PREFACE), type=Preface), rest
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise BadPreface("no preface of a relay") from None


class RelayedClient(ClientProtocol):
    """A client whose bytes come through another broker, which has let it in."""

    vouched = True

    def __init__(self, driver: Driver, preface: Preface) -> None:
        super().__init__(driver)
        self._preface = preface

    def _identify(self, transport: asyncio.BaseTransport) -> None:
        super()._identify(transport)
        self.host, self.user = self._preface.host, self._preface.user


class RelayDoor(asyncio.Protocol):
    """One connection of another broker, until it has said for whom; from then on it is the client's."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._said = b""
        self._transport: asyncio.Transport
        self._patience: asyncio.TimerHandle

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._patience = self._driver.loop.call_later(PREFACE_S_MAX, self._transport.abort)

    def data_received(self, data: bytes) -> None:
        self._said += data
        try:
            found = read_preface(self._said)
        except BadPreface:
            self._driver.counters.link_frames_refused += 1
            self._transport.abort()
            return
        if found is not None:
            self._patience.cancel()
            self._serve(*found)

    def _serve(self, preface: Preface, said: bytes) -> None:
        client = RelayedClient(self._driver, preface)
        self._transport.set_protocol(client)
        client.connection_made(self._transport)
        if said:
            client.data_received(said)

    def connection_lost(self, exc: Exception | None) -> None:
        self._patience.cancel()


class _Upstream(asyncio.Protocol):
    """The connection to a client's home."""

    def __init__(self, client: ClientProtocol, home: str, secure: bool) -> None:
        self.transport: asyncio.Transport
        self.answered: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        """What came first."""
        self._client = client
        self._home, self._secure = home, secure

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        if self._secure and self._home not in certified_names(transport):
            self.transport.abort()

    def data_received(self, data: bytes) -> None:
        if not self.answered.done():
            self.answered.set_result(data)
            self.transport.pause_reading()  # until the two are one
        elif not self._client.transport.is_closing():
            self._client.write(data)

    def pause_writing(self) -> None:
        self._client.hear(False)

    def resume_writing(self) -> None:
        self._client.hear(True)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.answered.done():
            self.answered.set_exception(ConnectionError("the home has hung up"))
            self.answered.exception()  # nobody may be waiting any more
        else:
            self._client.close()


class Relays:
    """All clients of one broker that are at home elsewhere."""

    def __init__(self, driver: Driver) -> None:
        self.served = 0
        """Clients that were, since this broker began."""
        self._driver = driver
        driver.door.abroad.home = driver.broker.homes.elsewhere

    def take(self) -> None:
        """Begin with all that the door seeks."""
        for seek in self._driver.door.abroad.take():
            self._driver.later(self._relay(seek))

    async def _relay(self, seek: Seek) -> None:
        driver = self._driver
        client = driver.clients.get(seek.conn)
        if client is None:
            return
        try:
            async with asyncio.timeout(driver.door.home_s_max):
                upstream = await self._dialled(seek, client)
                first = await upstream.answered
        except (OSError, TimeoutError, ConfigError):
            driver.not_found(seek.conn)
            return
        self._join(seek, client, upstream, first)

    async def _dialled(self, seek: Seek, client: ClientProtocol) -> _Upstream:
        tls = self._driver.link_tls.client if self._driver.link_tls is not None else None
        home = seek.home.broker
        host, port = parse_address(seek.home.address)
        made = lambda: _Upstream(client, home, tls is not None)  # noqa: E731
        name = home if tls is not None else None
        _, upstream = await self._driver.loop.create_connection(made, host, port, ssl=tls, server_hostname=name)
        try:
            upstream.transport.write(Preface(seek.user, client.host).written() + seek.said)
        except BaseException:
            upstream.transport.abort()
            raise
        return upstream

    def _join(self, seek: Seek, client: ClientProtocol, upstream: _Upstream, first: bytes) -> None:
        said = self._driver.door.found(seek.conn)
        if said is None or upstream.transport.is_closing() or client.transport.is_closing():
            upstream.transport.abort()
            return
        self.served += 1
        upstream.transport.write(said[len(seek.said) :])
        client.join(upstream.transport)
        client.write(first)
        upstream.transport.resume_reading()

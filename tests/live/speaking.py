"""A client that speaks MQTT 5 in packets, word by word, so that a test sees every one of them."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from reknit.live.address import Address
from reknit.mqtt.encode import encode
from reknit.mqtt.packets import (
    V5_0,
    Connack,
    Connect,
    Disconnect,
    Packet,
    Puback,
    Publish,
    Request,
    Suback,
    Subscribe,
    Will,
)
from reknit.mqtt.parser import Parser
from reknit.mqtt.properties import Properties, PropertyId

__all__ = ["Client", "Refused", "speak"]

LASTING_S = 300


class Refused(Exception):
    """A CONNECT was; the reason is its argument."""


class Client:
    def __init__(self, name: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.name = name
        self.present = False
        """Whether there was a session."""
        self.heard: list[tuple[str, str]] = []
        """Payloads and topics."""
        self.farewell: int | None = None
        """With which reason the broker has ended it."""
        self._reader, self._writer = reader, writer
        self._parser = Parser(version=V5_0)
        self._read: list[Packet] = []

    def say(self, packet: Packet) -> None:
        self._writer.write(encode(packet, V5_0))

    async def next(self) -> Packet:
        while not self._read:
            data = await self._reader.read(1 << 16)
            if not data:
                raise ConnectionError(f"{self.name} was cut off")
            self._read = list(self._parser.feed(data))
        packet = self._read.pop(0)
        if isinstance(packet, Publish):
            self.heard.append((packet.payload.decode(), packet.topic))
            if packet.qos:
                self.say(Puback(packet.packet_id))
        elif isinstance(packet, Disconnect):
            self.farewell = packet.reason
        return packet

    async def answer(self, kind: type[Packet]) -> Any:
        """The next of this kind; only messages may come before."""
        while not isinstance(packet := await self.next(), kind):
            assert isinstance(packet, Publish), packet
        return packet

    async def subscribe(self, *filters: str) -> list[int]:
        self.say(Subscribe(1, tuple(Request(each, 1) for each in filters)))
        return list((await self.answer(Suback)).reasons)

    async def publish(self, topic: str, payload: str = "", *, retain: bool = False, said: Properties = ()) -> int:
        self.say(Publish(topic, payload.encode(), 1, 7, retain, properties=said))
        reason: int = (await self.answer(Puback)).reason
        return reason

    async def hears(self, count: int) -> list[str]:
        """The payloads of the first so many messages."""
        while len(self.heard) < count:
            await self.next()
        return [payload for payload, _ in self.heard]

    async def until_end(self) -> int | None:
        with contextlib.suppress(ConnectionError):
            while True:
                await self.next()
        self._writer.close()
        return self.farewell

    async def leave(self) -> None:
        self.say(Disconnect())
        await self.until_end()

    def die(self) -> None:
        self._writer.transport.abort()


async def speak(
    at: Address, name: str, *, clean: bool = False, will: Will | None = None, expiry_s: int = LASTING_S, **terms: Any
) -> Client:
    """A client that was let in."""
    client = Client(name, *await asyncio.open_connection(*at))
    expiry: Properties = ((PropertyId.SESSION_EXPIRY, expiry_s),)
    client.say(Connect(name, V5_0, clean, 0, will=will, properties=expiry, **terms))
    try:
        answer = await client.answer(Connack)
    except BaseException:
        client.die()
        raise
    if answer.reason:
        client.die()
        raise Refused(answer.reason)
    client.present = answer.session_present
    return client

"""A door with a core of three lines behind it, and clients that speak in packets."""

from __future__ import annotations

import random

from reknit.core import io
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.mqtt.door import Door, DoorOptions
from reknit.mqtt.encode import encode
from reknit.mqtt.packets import V5_0, Connack, Connect, Packet
from reknit.mqtt.parser import Parser

__all__ = ["Client", "Room"]


class Room:
    """A door, its time, and a core that matches by scanning."""

    def __init__(self, **options: int | float | bool) -> None:
        self.door = Door(DoorOptions(**options), random.Random(1))  # type: ignore[arg-type]
        self.now = 0.0
        self.commands: list[io.Command] = []
        self.patterns: dict[str, list[Pattern]] = {}
        self.shares: dict[str, list[tuple[str, Pattern]]] = {}
        self.expected: set[str] = set()  # clients whose sessions have moved here
        self._clients: dict[int, Client] = {}

    def client(self) -> Client:
        """A client whose socket was just accepted."""
        client = self._clients[len(self._clients)] = Client(self, len(self._clients))
        self.door.opened(client.conn, self.now)
        return client

    def join(self, name: str = "", version: int = V5_0, **terms: object) -> Client:
        """A client that was let in."""
        client = self.client()
        answers = client.say(Connect(name, version, **terms))  # type: ignore[arg-type]
        assert isinstance(answers[0], Connack), answers
        assert not answers[0].reason
        client.connack = answers[0]
        client.heard = answers[1:]
        return client

    def wait(self, seconds: float) -> None:
        """Let time pass, alarm by alarm."""
        end = self.now + seconds
        while (due := self.door.deadline()) is not None and due <= end:
            self.now = max(self.now, due)
            self.perform(self.door.due(self.now))
        self.now = end

    def perform(self, commands: list[io.Command]) -> None:
        """What a shell does with commands: hand them to the core, then write all output."""
        self.commands += commands
        for command in commands:
            self._handle(command)
        self.commands += self.door.moods.take()
        for output in self.door.output():
            self._clients[output.conn].hear(output.data, output.close)

    def _handle(self, command: io.Command) -> None:
        if isinstance(command, io.Attach):
            if command.client not in self.expected:
                assert command.client not in self.patterns
                self.patterns[command.client] = []
            self.expected.discard(command.client)
        elif isinstance(command, io.Detach):
            del self.patterns[command.client]
        elif isinstance(command, io.Subscribe):
            self.patterns[command.client] += command.patterns
        elif isinstance(command, io.Unsubscribe):
            for pattern in command.patterns:
                self.patterns[command.client].remove(pattern)
        elif isinstance(command, io.Join):
            self.shares.setdefault(command.client, []).extend(command.shares)
        elif isinstance(command, io.Part):
            for share in command.shares:
                self.shares[command.client].remove(share)
        elif isinstance(command, io.Publish):
            assert command.client in self.patterns
            for event in command.events:
                self.publish(event)
                if event.envelope is not None and event.envelope.retain:
                    self.door.retain(event)

    def publish(self, event: Event) -> None:
        """Deliver an event, wherever it came from; the output waits for the next ``perform``."""
        found = {name: tuple(p for p in held if p.matches(event)) for name, held in self.patterns.items()}
        self.door.deliver(io.Deliver(event, tuple((name, hits) for name, hits in found.items() if hits)), self.now)

    def share(self, event: Event, client: str, share: tuple[str, Pattern]) -> None:
        """The same of what is for a member of a group."""
        self.door.share(io.DeliverShared(event, client, *share), self.now)


class Client:
    """One connection's other side."""

    def __init__(self, room: Room, conn: int) -> None:
        self.conn = conn
        self.connack = Connack()
        self.heard: list[Packet] = []
        self.writes = 0
        self.closed = False
        self.version = V5_0
        self._room = room
        self._parser: Parser | None = None

    def say(self, *packets: Packet) -> list[Packet]:
        """Send packets in one piece; what was heard until then."""
        for packet in packets:
            if isinstance(packet, Connect):
                self.version = packet.version
        return self.say_bytes(b"".join(encode(packet, self.version) for packet in packets))

    def say_bytes(self, data: bytes) -> list[Packet]:
        self._room.perform(self._room.door.received(self.conn, data, self._room.now))
        return self.listen()

    def listen(self) -> list[Packet]:
        """What was heard since the last time."""
        heard, self.heard = self.heard, []
        return heard

    def hear(self, data: bytes, close: bool) -> None:
        assert not self.closed, "output for a closed connection"
        self.writes += 1
        self._parser = self._parser or Parser(version=self.version)
        self.heard += self._parser.feed(data)
        self.closed = close

    def vanish(self) -> None:
        """The socket is gone without a word."""
        self.closed = True
        self._room.perform(self._room.door.closed(self.conn, self._room.now))

"""A broker on the desk: driven by hand through its one door, with far ends that say exactly what a test wants said."""

from __future__ import annotations

import random
from typing import Any, TypeVar

import msgspec

from reknit.core.broker import BrokerOptions
from reknit.core.brokers import make_broker
from reknit.core.io import (
    Accepted,
    Attach,
    Close,
    Deliver,
    Due,
    Effect,
    Input,
    LinkAppeared,
    LinkVanished,
    Observe,
    Publish,
    Received,
    Send,
    Subscribe,
    Substitute,
)
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.trace.records import Kind, Record
from reknit.wire.codec import VERSION, decode, encode
from reknit.wire.messages import Ack, Change, Data, Events, Frame, Hello, Message, Snapshot, Wave

__all__ = ["Desk", "FarEnd", "event", "pattern"]

T = TypeVar("T")


def pattern(topic: str, selector: str = "") -> Pattern:
    return Pattern.parse(topic, selector)


def event(topic: str, seq: int = 0, source: str = "", **attributes: Any) -> Event:
    return Event(topic, attributes=attributes, source=source, seq=seq)


class Desk:
    """``neighbours`` are expected from the start, and dial. Far ends are made by ``far_end``.

    ``notes``, ``leaves``: of the life before.
    """

    def __init__(
        self,
        *neighbours: str,
        name: str = "b",
        dials: dict[str, str] | None = None,
        seed: int = 1,
        new: bool = False,
        notes: str = "",
        leaves: bool = False,
        **options: Any,
    ) -> None:
        self.now = 0.0
        self.options = msgspec.convert({"observe": True, "founded": True, **options}, BrokerOptions)
        known = dict.fromkeys(neighbours, "") | (dials or {})
        self.broker = make_broker(
            name, 1, self.options, random.Random(seed), known, f"{name}:1", None, notes, leaves, new
        )
        self.effects: list[Effect] = []
        self.give(Due())

    def give(self, given: Input) -> list[Effect]:
        effects = self.broker.handle(given, self.now)
        self.effects += effects
        return effects

    def run(self, seconds: float) -> None:
        """Let time pass, and answer each alarm."""
        until = self.now + seconds
        while (at := self.broker.deadline()) is not None and at <= until:
            self.now = max(self.now, at)
            self.give(Due())
        self.now = until

    def all(self, kind: type[T]) -> list[T]:
        return [each for each in self.effects if isinstance(each, kind)]

    def records(self, kind: Kind) -> list[Record]:
        return [record for each in self.all(Observe) for record in each.records if record.kind is kind]

    def deliveries(self) -> list[tuple[str, str]]:
        """(topic, client), in order."""
        return [(each.event.topic, client) for each in self.all(Deliver) for client, _ in each.matches]

    def client(self, name: str, *patterns: Pattern) -> None:
        self.give(Attach(name))
        self.give(Subscribe(name, patterns))

    def publish(self, *events: Event) -> None:
        self.give(Publish("publisher", events))

    def vanish(self, peer: str, change: Change) -> None:
        self.give(LinkVanished(peer, change.strategy, change.id))

    def appear(self, peer: str, change: Change) -> None:
        """A new link, which the other end dials."""
        self.give(LinkAppeared(peer, "", change))

    def substitute(self, change: Change) -> None:
        self.give(Substitute(change))

    def routes(self) -> list[tuple[str, str]]:
        """What the table holds for brokers."""
        table = self.broker.routing.table
        return sorted(
            (name, str(each)) for kind, name in table.hops() if kind == "broker" for each in table.of((kind, name))
        )

    def far_end(self, name: str, conn: int) -> FarEnd:
        return FarEnd(self, name, conn)

    def linked(self, name: str, conn: int, *wants: Pattern) -> FarEnd:
        """A neighbour that has greeted, has told what it wants, and has taken all that it was told."""
        far = self.far_end(name, conn)
        far.greet()
        far.say(Snapshot([("", list(wants))], last=True))
        far.ack()
        far.forget()
        return far


class FarEnd:
    """Another broker, as far as this one can tell: one that has dialled connection ``conn``."""

    def __init__(self, desk: Desk, name: str, conn: int) -> None:
        self.desk = desk
        self.name = name
        self.conn = conn
        self.session = 0
        self.seq = 0
        self.got = 0  # the last frame that came
        self._read = len(desk.effects)
        desk.give(Accepted(conn))

    def hello(self, **fields: Any) -> Hello:
        wave: Wave | None = None
        hello = Hello(VERSION, self.desk.options.routing, self.name, "", 1, self.session, self.got, True, wave)
        fields.setdefault("loose", self.desk.options.links.is_loose(fields.get("name", self.name)))
        return Hello(**{name: fields.get(name, getattr(hello, name)) for name in Hello.__struct_fields__})

    def greet(self, **fields: Any) -> Hello | None:
        """The broker's greeting, if it answers with one."""
        self.send(self.hello(**fields))
        answer = next((frame for frame in self.frames() if isinstance(frame, Hello)), None)
        if answer is not None and answer.session != self.session:
            self.session, self.seq, self.got = answer.session, 0, 0
        return answer

    def redial(self, conn: int) -> None:
        """Another connection; sessions and numbers stay."""
        self.conn = conn
        self._read = len(self.desk.effects)
        self.desk.give(Accepted(conn))

    def send(self, frame: Frame) -> None:
        self.desk.give(Received(self.conn, encode(frame)))

    def say(self, *messages: Message) -> None:
        """The messages, in one numbered frame."""
        self.seq += 1
        self.send(Data(self.session, self.seq, self.got, self.got, list(messages)))

    def ack(self, received: int | None = None, settled: int | None = None) -> None:
        """All that has come, or as told."""
        self.data()
        received = self.got if received is None else received
        self.send(Ack(self.session, received, received if settled is None else settled))

    def frames(self) -> list[Frame]:
        """The frames that have come on this connection, since ``forget``."""
        sends = (each for each in self.desk.effects[self._read :] if isinstance(each, Send) and each.conn == self.conn)
        return [decode(each.frame) for each in sends]

    def data(self) -> list[Data]:
        found = [frame for frame in self.frames() if isinstance(frame, Data)]
        self.got = max([self.got, *(frame.seq for frame in found)])
        return found

    def heard(self) -> list[Message]:
        """The messages that have come on this connection."""
        return [message for frame in self.data() for message in frame.messages]

    def topics(self) -> list[str]:
        """Those of the events that have come on this connection."""
        return [each.topic for message in self.heard() if isinstance(message, Events) for each in message.events]

    def acks(self) -> list[Ack]:
        return [frame for frame in self.frames() if isinstance(frame, Ack)]

    def forget(self) -> None:
        """Hear only what comes from now on."""
        self.data()
        self._read = len(self.desk.effects)

    @property
    def closed(self) -> str | None:
        """Why the broker has closed this connection; None if it has not."""
        reasons = [each.reason for each in self.desk.all(Close) if each.conn == self.conn]
        return reasons[0] if reasons else None

"""A broker on the desk that recovers events, with neighbours that say what a test wants said."""

from __future__ import annotations

from typing import Any

from reknit.core.io import Direct, SendDirect
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.wire.codec import decode_direct, encode
from reknit.wire.marks import write_marks
from reknit.wire.messages import Asker, Events, Gossip, Repair
from reknit.wire.messages import Direct as Said
from tests.core.desk import Desk, FarEnd, pattern

__all__ = ["PA", "PB", "A", "B", "RoundTable", "numbered"]

A, B = pattern("a"), pattern("b")
PA, PB = A.signature(), B.signature()


def numbered(
    topic: str,
    seq: int,
    *numbers: tuple[int, int],
    source: str = "s.1",
    payload: bytes = b"",
    qos: int = 0,
    **marks: Any,
) -> Event:
    number, said = write_marks(numbers, **marks)
    return Event(topic, payload, qos=qos, source=source, seq=seq, number=number, marks=said)


class RoundTable(Desk):
    """``n`` and ``m`` are neighbours; what each wants is given. ``leaf``: there is no ``m``."""

    def __init__(self, algorithm: str, n: tuple[Pattern, ...] = (A,), m: tuple[Pattern, ...] = (A,), **more: Any):
        options = {"gossip_s": 1.0, "again_s": 0.9, "again_growth": 1.0, "forward": 1.0}
        options |= {"last_resort_s": 0.0, "direct_after": 0, **more}
        patient = {"silence_s_max": 1e6, "progress_s_max": 1e6}  # the far ends acknowledge nothing
        durable, leaf = options.pop("durable", False), options.pop("leaf", False)
        names = ("n",) if leaf else ("n", "m")
        super().__init__(*names, links=patient, recovery={"algorithm": algorithm, **options}, durable=durable)
        self.n = self.linked("n", 1, *n)
        self.m = self.n if leaf else self.linked("m", 2, *m)
        assert self.broker.recovery is not None
        self.recovery = self.broker.recovery

    def events(self, far: FarEnd, *events: Event) -> None:
        far.say(Events(list(events)))

    def gossip(self, far: FarEnd) -> list[Gossip]:
        """What this neighbour was told, in this test so far."""
        return [message for message in far.heard() if isinstance(message, Gossip)]

    def direct(self, message: Said) -> None:
        self.give(Direct(encode(message)))

    def directs(self) -> list[tuple[str, Said]]:
        """Whom datagrams were sent to, and what they say."""
        return [(each.peer, decode_direct(each.datagram)) for each in self.all(SendDirect)]

    def repairs(self) -> list[tuple[str, int]]:
        """Whom events were sent to past the tree, and their numbers."""
        sent = [(to, said.events) for to, said in self.directs() if isinstance(said, Repair)]
        return [(to, event.seq) for to, events in sent for event in events]

    def asker(self, name: str = "x", number: int = 7) -> Asker:
        return Asker(name, f"{name}:1", number)

    @property
    def figures(self) -> Any:
        return self.recovery.talk.figures

    @property
    def key(self) -> int:
        """What whoever asks past the tree has to name."""
        return self.recovery.talk.key

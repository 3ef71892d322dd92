"""A frame that the far end has not settled yet.

Owns: what the frame holds. Must not know: when it is sent.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from reknit.core.links.custody import Custody
from reknit.model.event import Event, EventId
from reknit.wire.codec import FRAME_BYTES_MAX
from reknit.wire.messages import Events, Message, Steered

__all__ = ["EVENT_BYTES_MAX", "Outgoing", "Whereabouts", "owed_events"]

EVENT_BYTES_MAX = FRAME_BYTES_MAX // 2
"""A larger event goes to no neighbour: a frame that the far end does not take would be sent again for ever."""


@dataclass(slots=True)
class Outgoing:
    seq: int
    messages: list[Message]
    custodies: list[Custody]
    size: int
    thirds: tuple[str, ...] = ()
    """Brokers that its events were to reach by way of the far end, and that the far end does not lead to any more."""
    settled: bool = False

    def outlives(self, event: Event, sender: str) -> bool:
        """Need a copy from ``sender`` not be kept? It is this one, come round, or the shell has kept this one."""
        return sender in self.thirds or any(custody.keeps(event) for custody in self.custodies)


class Whereabouts:
    """In which frame an event is; made when somebody asks first, and kept up from then on."""

    def __init__(self, frames: Iterable[Outgoing]) -> None:
        self._frames: dict[EventId, Outgoing] = {}
        for frame in frames:
            self.add(frame)

    def add(self, frame: Outgoing) -> None:
        for message in frame.messages:
            if isinstance(message, Events | Steered):
                self._frames.update(dict.fromkeys((event.id for event in message.events), frame))

    def find(self, event: EventId) -> Outgoing | None:
        """None where it is settled, or was never sent."""
        frame = self._frames.get(event)
        return None if frame is None or frame.settled else frame


def owed_events(frames: Iterable[Outgoing], third: str) -> list[tuple[Event, list[Custody]]]:
    """Each with the custodies that its frame holds: whoever waits for it."""
    owed = [(message, frame) for frame in frames if third in frame.thirds for message in frame.messages]
    return [
        (event, frame.custodies) for message, frame in owed if isinstance(message, Events) for event in message.events
    ]

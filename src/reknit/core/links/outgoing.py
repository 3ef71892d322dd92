"""A frame that the far end has not settled yet.

Owns: what the frame holds. Must not know: when it is sent.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from reknit.core.links.custody import Custody
from reknit.model.event import Event
from reknit.wire.messages import Events, Message

__all__ = ["Outgoing", "owed_events"]


@dataclass(slots=True)
class Outgoing:
    seq: int
    messages: list[Message]
    custodies: list[Custody]
    size: int
    thirds: tuple[str, ...] = ()
    """Brokers that its events were to reach by way of the far end, and that the far end does not lead to any more."""


def owed_events(frames: Iterable[Outgoing], third: str) -> list[Event]:
    messages = [message for frame in frames if third in frame.thirds for message in frame.messages]
    return [event for message in messages if isinstance(message, Events) for event in message.events]

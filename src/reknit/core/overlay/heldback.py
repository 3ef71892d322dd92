"""What was held back goes on in an order that keeps each source's.

Owns: that order. Must not know: why it was held back.
"""

from __future__ import annotations

from reknit.core.links.custody import Custody
from reknit.model.event import Event, EventId, in_order_of_numbers
from reknit.wire.messages import Events, Message, Steered

__all__ = ["in_order"]


def in_order(waiting: list[tuple[Message, Custody]]) -> list[tuple[Message, Custody]]:
    """Events one by one, those of each source in the order of their numbers; all else stays where it is.

    So do copies: in between, they would push others behind a step that stands for what was sent before it.
    """
    single = [each for item in waiting for each in _one_by_one(*item)]
    first: dict[EventId, int] = {}
    for at, (message, _) in enumerate(single):
        if isinstance(message, Events | Steered):
            first.setdefault(message.events[0].id, at)
    sorted_ = in_order_of_numbers([single[at] for at in first.values()], _only_event)
    for at, each in zip(first.values(), sorted_, strict=True):
        single[at] = each
    return single


def _one_by_one(message: Message, custody: Custody) -> list[tuple[Message, Custody]]:
    if isinstance(message, Events):
        return [(Events([event]), custody) for event in message.events]
    if isinstance(message, Steered):
        return [(Steered(message.swap, message.mode, [], [event]), custody) for event in message.events]
    return [(message, custody)]


def _only_event(item: tuple[Message, Custody]) -> Event:
    message = item[0]
    assert isinstance(message, Events | Steered)
    return message.events[0]

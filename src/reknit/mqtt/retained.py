"""Retained messages: for each topic the last event that was to be kept for those who subscribe later.

An event with an empty payload ends what is kept for its topic. One that has expired is not given any more, and goes
when somebody looks.

Owns: what is kept, and its bounds. Must not know: clients; which of two events is the later one.
"""

from __future__ import annotations

from collections.abc import Iterator

from reknit.model.event import Event, event_bytes
from reknit.model.pattern import Pattern
from reknit.mqtt.options import DoorOptions

__all__ = ["Retained", "is_over"]

_WILD = ("+", "#")


class Retained:
    def __init__(self, options: DoorOptions) -> None:
        self._options = options
        self._events: dict[str, Event] = {}  # by topic, in the order in which they came
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._events)

    def takes(self, event: Event) -> bool:
        """Whether there is room for it."""
        if not event.payload:
            return True
        old, options = self._events.get(event.topic), self._options
        few = old is not None or len(self._events) < options.retained_messages_max
        more = event_bytes(event) - (event_bytes(old) if old is not None else 0)
        return few and (more <= 0 or self.bytes + more <= options.retained_bytes_max)

    def put(self, event: Event) -> None:
        self._drop(event.topic)
        if event.payload:
            self._events[event.topic] = event
            self.bytes += event_bytes(event)

    def _drop(self, topic: str) -> None:
        if (old := self._events.pop(topic, None)) is not None:
            self.bytes -= event_bytes(old)

    def matching(self, pattern: Pattern, wall: float) -> Iterator[Event]:
        """Those that a subscriber to ``pattern`` wants; ``wall``: now, in seconds since 1970."""
        for event in self._under(pattern.topic):
            if is_over(event, wall):
                self._drop(event.topic)
            elif pattern.matches(event):
                yield event

    def _under(self, topic_filter: str) -> list[Event]:
        """Those that may match: one, where the filter is a topic."""
        if any(each in topic_filter for each in _WILD):
            return list(self._events.values())
        found = self._events.get(topic_filter)
        return [found] if found is not None else []


def is_over(event: Event, wall: float) -> bool:
    """Whether nobody is to get it any more."""
    return event.envelope is not None and 0.0 < event.envelope.expires <= wall

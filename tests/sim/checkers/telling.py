"""Traces written by hand: one short line per record, and the things that happen to a small network."""

from __future__ import annotations

from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.trace.records import Kind, Record

__all__ = ["Story", "event"]


def event(topic: str, seq: int, source: str = "b1.1") -> Event:
    return Event(topic, source=source, seq=seq)


class Story:
    """Each method adds one record, a tenth of a second later; all return the story."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def _add(self, node: str, kind: Kind, **fields: object) -> Story:
        self.records.append(Record(len(self.records) / 10, node, kind, **fields))  # type: ignore[arg-type]
        return self

    def network(self, *edges: str) -> Story:
        """Brokers with their links, both ends, and calm."""
        pairs = [edge.split("-") for edge in edges]
        for name in dict.fromkeys(name for pair in pairs for name in pair):
            self.started(name)
        for one, other in pairs:
            self.linked(one, other)
            self.linked(other, one)
        return self.calm()

    def started(self, node: str) -> Story:
        return self._add(node, Kind.STARTED)

    def crashed(self, node: str) -> Story:
        return self._add(node, Kind.CRASHED)

    def linked(self, node: str, peer: str) -> Story:
        return self._add(node, Kind.LINK_ADDED, peer=peer)

    def changed(self, node: str, step: str, peer: str = "") -> Story:
        return self._add(node, Kind.CHANGE, peer=peer, detail=step)

    def unlinked(self, node: str, peer: str) -> Story:
        return self._add(node, Kind.LINK_REMOVED, peer=peer)

    def link_moved(self, mover: str, middle: str, goal: str) -> Story:
        return self._add(mover, Kind.LINK_MOVED, peer=goal, detail=middle)

    def lost(self, node: str, peer: str, why: str = "") -> Story:
        """Given up without the other end's knowing."""
        return self._add(node, Kind.LINK_LOST, peer=peer, detail=why).unlinked(node, peer)

    def calm(self) -> Story:
        return self._add("", Kind.CALM)

    def attached(self, node: str, client: str, *topics: str) -> Story:
        self._add(node, Kind.ATTACHED, client=client)
        for topic in topics:
            self.subscribed(node, client, topic)
        return self

    def detached(self, node: str, client: str) -> Story:
        return self._add(node, Kind.DETACHED, client=client)

    def subscribed(self, node: str, client: str, topic: str) -> Story:
        return self._add(node, Kind.SUBSCRIBED, client=client, pattern=Pattern.parse(topic))

    def unsubscribed(self, node: str, client: str, topic: str) -> Story:
        return self._add(node, Kind.UNSUBSCRIBED, client=client, pattern=Pattern.parse(topic))

    def published(self, node: str, what: Event, client: str = "pam") -> Story:
        return self._add(node, Kind.PUBLISHED, client=client, event=what)

    def settled(self, node: str, what: Event) -> Story:
        return self._add(node, Kind.SETTLED, event=what)

    def forwarded(self, node: str, peer: str, what: Event) -> Story:
        return self._add(node, Kind.FORWARDED, peer=peer, event=what)

    def delivered(self, node: str, client: str, what: Event) -> Story:
        return self._add(node, Kind.DELIVERED, client=client, event=what)

    def taken(self, node: str, client: str, what: Event) -> Story:
        return self._add(node, Kind.TAKEN, client=client, event=what)

    def moving(self, node: str, client: str, peer: str) -> Story:
        return self._add(node, Kind.MOVING, client=client, peer=peer)

    def moved_in(self, node: str, client: str, peer: str) -> Story:
        return self._add(node, Kind.MOVED_IN, client=client, peer=peer)

    def moved_out(self, node: str, client: str, peer: str) -> Story:
        return self._add(node, Kind.MOVED_OUT, client=client, peer=peer)

    def dropped(self, node: str, what: Event | None, detail: str) -> Story:
        return self._add(node, Kind.DROPPED, event=what, detail=detail)

    def route(self, node: str, peer: str, topic: str) -> Story:
        return self._add(node, Kind.ROUTE_ADDED, peer=peer, pattern=Pattern.parse(topic))

    def no_route(self, node: str, peer: str, topic: str) -> Story:
        return self._add(node, Kind.ROUTE_REMOVED, peer=peer, pattern=Pattern.parse(topic))

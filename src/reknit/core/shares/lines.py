"""Groups, as lines of the book: for each group, pattern and broker how many members it has there.

So every broker can decide who gets an event, from its own copy of the book, without asking anybody. A broker writes its
own lines only, but for one case: where the tree has been split, those of others are declared gone, since nobody knows
who is beyond the split; whoever reads that of itself and is still there says so again. In the same way a broker that
was restarted puts right what its former life had written. If that one has died before all had heard of a split, its
next life *doubts* what it hears of others for a while: it declares each line gone, once, and hears who is still there.

The decision goes round among the brokers, each as often as it has members that are connected; where nobody is, as
often as it has members at all.

Owns: what such a line says, and whose turn it is. Must not know: clients, or how events travel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from reknit.core.book.book import Book, Key
from reknit.core.links.former import DOUBT_S, Former
from reknit.core.routing.table import Table
from reknit.core.routing.table import client as client_hop
from reknit.core.turn import Turn
from reknit.model.event import Event
from reknit.model.pattern import BadPattern, Pattern

__all__ = ["GROUP", "Count", "Group", "GroupLines"]

GROUP = "group"


class Group(msgspec.Struct, frozen=True, array_like=True, order=True):
    """What clients share: a group of one name has nothing to do with one of another pattern."""

    name: str
    pattern: Pattern


class Count(msgspec.Struct, frozen=True, array_like=True):
    """Of the members that a broker has."""

    members: int = 0
    present: int = 0
    """Those that are connected."""


class _Line(msgspec.Struct, frozen=True, array_like=True):
    group: str
    topic: str
    selector: str
    broker: str


_names: msgspec.json.Decoder[_Line] = msgspec.json.Decoder(_Line)
_counts: msgspec.msgpack.Decoder[Count] = msgspec.msgpack.Decoder(Count)


class GroupLines:
    def __init__(self, turn: Turn, book: Book, own: Callable[[Group], Count], former: Former) -> None:
        """``own``: what this broker itself has of a group. ``former``: whom it is parted from."""
        self.turn = turn
        self.node = turn.node
        self.book = book
        self.own = own
        self._of: dict[Group, dict[str, Count]] = {}  # by group and broker
        self._by_text: dict[str, Group] = {}  # by the name under which it stands in the table
        self._table = Table()
        self._turns: dict[Group, int] = {}
        self._split: dict[str, None] = {}  # neighbours that are being left, and a part of the tree with them
        self._former = former
        self._doubted: dict[tuple[Group, str], None] | None = {} if former.apart else None  # if any are

    def __bool__(self) -> bool:
        return bool(self._of)

    # --- writing

    def tell(self, group: Group) -> None:
        """What this broker has of the group has changed."""
        count = self.own(group)
        if self._of.get(group, {}).get(self.node, Count()) != count:
            self._write(group, self.node, count)

    def _write(self, group: Group, broker: str, count: Count) -> None:
        value = msgspec.msgpack.encode(count) if count.members else b""
        self.book.write(GROUP, _text(group, broker), value)
        self._learn(group, broker, count)

    def news(self, keys: Iterable[Key]) -> None:
        """These lines have become others."""
        for kind, name in keys:
            if kind == GROUP:
                self._read(name, self.book.get(kind, name))

    def _read(self, name: str, value: bytes) -> None:
        try:
            named, count = _read_name(name), _counts.decode(value) if value else Count()
        except msgspec.MsgspecError:
            named, count = None, Count()
        if named is None:  # another broker's fault
            self.book.refused += 1
            return
        group, broker = named
        self._learn(group, broker, count)
        if broker == self.node:
            self.tell(group)
        elif self._doubted is not None and count.members:
            self._doubt(group, broker)

    def _doubt(self, group: Group, broker: str) -> None:
        """A life before may have been the last to know that it is gone; if it is not, it says so."""
        former, now = self._former, self.turn.now
        former.apart_from = now if former.apart_from < 0.0 else former.apart_from
        if now >= former.apart_from + DOUBT_S:
            self._doubted = None
        elif self._doubted is not None and (group, broker) not in self._doubted:
            self._doubted[group, broker] = None
            self._write(group, broker, Count())

    def own_of(self, keys: Iterable[Key]) -> list[Group]:
        """The groups of which this broker has, or had, members by these lines."""
        lines = [_read_name(name) for kind, name in keys if kind == GROUP]
        return [group for group, broker in filter(None, lines) if broker == self.node]

    def split(self, peer: str) -> None:
        """The tree has lost the part behind this neighbour: whoever is still here says so."""
        self._split[peer] = None
        if not self.turn.keeping:  # else the lines are there in the next life
            self._former.part_from(peer)
        self._forget_others()

    def left(self, peer: str) -> None:
        """The link is gone: what came on it since is of members that nobody here can reach."""
        if peer in self._split:
            del self._split[peer]
            self._forget_others()

    def _forget_others(self) -> None:
        others = [(group, broker) for group, counts in self._of.items() for broker in counts if broker != self.node]
        for group, broker in others:
            self._write(group, broker, Count())

    def _learn(self, group: Group, broker: str, count: Count) -> None:
        known = group in self._of
        counts = self._of.setdefault(group, {})
        counts.pop(broker, None)
        if count.members > 0:
            counts[broker] = count
        if counts and not known:
            text = _text(group, "")
            self._by_text[text] = group
            self._table.add(client_hop(text), group.pattern)
        elif not counts:
            self._forget(group, known)

    def _forget(self, group: Group, known: bool) -> None:
        del self._of[group]
        self._turns.pop(group, None)
        if known:
            text = _text(group, "")
            del self._by_text[text]
            self._table.remove(client_hop(text), group.pattern)

    # --- deciding

    def matching(self, event: Event) -> list[Group]:
        """The groups that are to get the event."""
        return [self._by_text[name] for name, _ in self._table.route(event).matches]

    def decide(self, group: Group, but: tuple[str, ...] = ()) -> str:
        """Whose turn it is, of the brokers that are not in ``but``; empty if there is none."""
        counts = sorted((broker, each) for broker, each in self._of.get(group, {}).items() if broker not in but)
        weights = [(broker, each.present) for broker, each in counts if each.present > 0]
        weights = weights or [(broker, each.members) for broker, each in counts]
        if not weights:
            return ""
        turn = self._turns[group] = self._turns.get(group, -1) + 1
        return _at(weights, turn % sum(weight for _, weight in weights))

    def knows(self, group: Group, but: tuple[str, ...]) -> bool:
        """Whether a broker that is not in ``but`` has members."""
        return any(broker not in but for broker in self._of.get(group, ()))

    def shown(self) -> list[dict[str, object]]:
        """For operators: plain values only."""
        return [
            {"group": group.name, "topic": group.pattern.topic, "selector": group.pattern.selector, "broker": broker}
            | {"members": count.members, "present": count.present}
            for group, counts in sorted(self._of.items())
            for broker, count in sorted(counts.items())
        ]


def _read_name(name: str) -> tuple[Group, str] | None:
    """The group and the broker of a line; None if nobody can have written that."""
    try:
        line = _names.decode(name)
        group = Group(line.group, Pattern(line.topic, line.selector))
        group.pattern.check()
    except (msgspec.MsgspecError, BadPattern, ValueError):
        return None
    return group, line.broker


def _at(weights: list[tuple[str, int]], place: int) -> str:
    for broker, weight in weights:
        place -= weight
        if place < 0:
            return broker
    raise AssertionError("the place lies beyond all weights")


def _text(group: Group, broker: str) -> str:
    pattern = group.pattern
    return msgspec.json.encode(_Line(group.name, pattern.topic, pattern.selector, broker)).decode()

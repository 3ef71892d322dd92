"""Of all members of a group one gets each event: never two, and never none where one was there all the time.

An event is *owed* to a group when it was published while a member was there that has been since all was calm last, at
a broker that has lived since then; such members are its *witnesses*. What releases from it: no witness is left; a
broker crashes that has had a member since all was calm, for the event may have been meant for it; its own broker
crashes before the event has settled; a link is lost or removed, or replaced at once, anywhere, for nobody knows which
way it took, and from there on nothing is owed until all is calm again. Nor are events owed across a link that joins two
parts of a tree before all is calm again: what is published where a group is not known yet is not for it. A broker that
is drained leaves nothing behind, so its link is no such. A session that moves is a witness as before. Crashes of others
release from nothing, but for one case: a broker that has had a member is away when the event is published, which may be
meant for it. Its next life sends on what comes to it; but what it wants is known only to those that lie in between, and
if one of these dies, too, before the event has settled, nobody is left who knows the way.

What a broker that has crashed since has delivered, or sent on to another, does not count for a second copy: its next
life does not know of it.

Where brokers have stores, a crash is no excuse for anything: members are members as before, and what was handed out
stays so.

Where links lose events, one is owed only if some broker that lived when the faults were healed had it in its cache
then, or what it was sent on as; that it has settled says nothing. With stores a crash of any broker is an excuse: what
it was missing its next life does not know. Without, so is the crash of a broker that has had a member since all was
calm, also for what is published when it is back and its members are not: that may be meant for it, and its next life
does not want it before. What is excused so though it was owed, and is in somebody's cache, is counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from reknit.core.overlay.history import ADD, DRAIN, SWAP
from reknit.core.overlay.shapes import find_path
from reknit.model.event import Event, EventId
from reknit.model.pattern import Pattern
from reknit.sim.checkers.delivery import Tally
from reknit.sim.checkers.recovery import hand_over
from reknit.sim.checkers.tree import Forest
from reknit.sim.checkers.violation import Violation
from reknit.trace.records import DRAINED, SWAP_WITHOUT, Kind, Record

__all__ = ["GROUP", "check_shares"]

GROUP = "for a group, and a broker has died"
"""Why an event may be lost that is in somebody's cache."""
_ORDERLY = (SWAP, ADD, DRAIN, "return")
"""Changes that lose nothing; a return is what follows a crash."""

_Group: TypeAlias = tuple[str, Pattern]
_Member: TypeAlias = tuple[str, str]
"""A broker and a client."""
_Token: TypeAlias = tuple[EventId, _Group]


@dataclass(slots=True)
class _Debt:
    origin: str
    topic: str
    witnesses: dict[_Member, None] = field(default_factory=dict)
    away: dict[str, None] = field(default_factory=dict)  # brokers that it may be meant for, and that were away


class _Tokens:
    def __init__(self, tally: Tally, lasting: bool, lossy: bool) -> None:
        self.tally = tally
        self.excused: dict[_Token, None] = {}  # as a broker has died, where links lose events
        self.lasting = lasting
        self.lossy = lossy
        self.kept: dict[EventId, dict[str, None]] = {}  # in the caches of whom
        self.forest = Forest()
        self.parts: dict[str, int] = {}  # by broker: in which part of the tree it was when all was calm last
        self.members: dict[_Group, dict[_Member, bool]] = {}  # to: has it been there since all was calm?
        self.hosts: dict[_Group, dict[str, None]] = {}  # brokers that have had members since all was calm
        self.young: dict[str, None] = {}  # brokers that were not there when all was calm last
        self.known: dict[str, None] = {}  # brokers that have lived before
        self.dead: dict[str, None] = {}  # brokers that have crashed, and have no next life yet
        self.owed: dict[_Token, _Debt] = {}
        self.drained: dict[str, None] = {}
        self.split = False  # a link was lost since all was calm
        self.handed: dict[_Token, str] = {}  # to: the broker that has handed it to a member
        self.origins: dict[EventId, tuple[EventId, str]] = {}  # of what was sent on: the event, and by whom
        self.torn: dict[EventId, None] = {}  # sent on by a broker that has died
        self.unsettled: dict[EventId, str] = {}

    def see(self, record: Record) -> Iterator[Violation]:
        self.forest.see(record)
        member, event = (record.node, record.client), record.event
        match record.kind:
            case Kind.JOINED if record.pattern is not None:
                group = (record.detail, record.pattern)
                self.members.setdefault(group, {}).setdefault(member, False)
                self.hosts.setdefault(group, {})[record.node] = None
            case Kind.PARTED if record.pattern is not None:
                self._part((record.detail, record.pattern), member)
            case Kind.MOVED_OUT:
                self._moved(member, (record.peer, record.client))
            case Kind.PUBLISHED if event is not None:
                self._published(record.node, event)
            case Kind.PASSED_ON if event is not None:
                source, seq, _ = record.detail.split(" ", 2)
                self.origins[event.id] = ((source, int(seq)), record.node)
            case Kind.SHARED if event is not None and record.pattern is not None:
                yield from self._shared(record, event, (record.detail, record.pattern))
            case Kind.KEPT if event is not None and record.node not in self.drained:
                self.kept.setdefault(self.origins.get(event.id, (event.id, ""))[0], {})[record.node] = None
            case Kind.SETTLED if event is not None and not self.lossy:
                self.unsettled.pop(event.id, None)
            case Kind.STARTED if not (self.lasting and record.node in self.known):
                self.young[record.node] = self.known[record.node] = None
                self.dead.pop(record.node, None)
            case Kind.CRASHED if not self.lasting:
                before = self.owed
                self._crashed(record.node)
                if self.lossy:
                    self._excuse(record.node, before)
            case Kind.CRASHED if self.lossy:
                self.excused.update(dict.fromkeys(self.owed))
                self._split(apart=True)
            case Kind.LINK_REMOVED | Kind.LINK_LOST:
                self._split(record.node not in self.drained and record.peer not in self.drained)
            case Kind.CHANGE:
                if record.detail == DRAINED:
                    self.drained[record.node] = None
                    hand_over(self.kept, record.node, record.peer)
                lossy = record.detail.startswith(SWAP_WITHOUT)
                self._split(lossy or record.detail.partition(":")[0] not in _ORDERLY)
            case Kind.CALM:
                yield from self._calm(record.time)

    def _split(self, apart: bool) -> None:
        if apart:
            self.split = True
            self.owed.clear()

    def _excuse(self, dead: str, before: dict[_Token, _Debt]) -> None:
        """Of what was owed, what is not any more, though a witness lives."""
        for token, debt in before.items():
            if token not in self.owed and any(broker != dead for broker, _ in debt.witnesses):
                self.excused[token] = None

    # --- members

    def _part(self, group: _Group, member: _Member) -> None:
        self.members.get(group, {}).pop(member, None)
        for (_, of), debt in list(self.owed.items()):
            if of == group:
                debt.witnesses.pop(member, None)
        self._forgive()

    def _moved(self, old: _Member, new: _Member) -> None:
        for (_, group), debt in self.owed.items():
            if old in debt.witnesses:
                del debt.witnesses[old]
                if new in self.members.get(group, {}):
                    debt.witnesses[new] = None
        for members in self.members.values():
            if old in members and new in members:
                members[new] = members[old]
        self._forgive()

    def _forgive(self) -> None:
        self.owed = {token: debt for token, debt in self.owed.items() if debt.witnesses}

    def _crashed(self, node: str) -> None:
        self.young[node] = self.dead[node] = None
        self.owed = {token: debt for token, debt in self.owed.items() if not (debt.away and node not in debt.away)}
        for group, members in self.members.items():
            if node in self.hosts.get(group, {}):
                self.owed = {token: debt for token, debt in self.owed.items() if token[1] != group}
            for member in [each for each in members if each[0] == node]:
                del members[member]
        lost = {event: None for event, origin in self.unsettled.items() if origin == node}
        self.owed = {token: debt for token, debt in self.owed.items() if token[0] not in lost}
        self.unsettled = {event: origin for event, origin in self.unsettled.items() if event not in lost}
        self.handed = {token: host for token, host in self.handed.items() if host != node}
        self.torn.update({of: None for of, by in self.origins.values() if by == node})

    # --- events

    def _published(self, node: str, event: Event) -> None:
        self.unsettled[event.id] = node
        if node in self.young or self.split:  # it may not know of the group yet
            return
        for group, members in self.members.items():
            if group[1].matches(event):
                away = {host: None for host in self.hosts.get(group, {}) if host in self.dead}
                debt = _Debt(node, event.topic, {each: None for each, stable in members.items() if stable}, away)
                if away and len(self.dead) > 1:  # whoever knew the way there may be dead
                    continue
                if not any(self._knew_of(node, broker) and self._reaches(node, broker) for broker, _ in debt.witnesses):
                    continue
                if self.lossy and any(self._is_bare(host, members) for host in self.hosts.get(group, {})):
                    self.excused[event.id, group] = None
                else:
                    self.owed[event.id, group] = debt

    def _is_bare(self, host: str, members: dict[_Member, bool]) -> bool:
        """Whether it has died and is back, and its members have not come again. What is sent to the dead waits."""
        return host in self.young and host not in self.dead and all(broker != host for broker, _ in members)

    def _knew_of(self, one: str, other: str) -> bool:
        """Whether they were in one part of the tree when all was calm, as far as both were there."""
        return one not in self.parts or other not in self.parts or self.parts[one] == self.parts[other]

    def _reaches(self, one: str, other: str) -> bool:
        return one == other or bool(find_path(list(self.forest.edges()), one, other))

    def _shared(self, record: Record, event: Event, group: _Group) -> Iterator[Violation]:
        ident, _ = self.origins.get(event.id, (event.id, ""))
        token, who = (ident, group), f"{record.client} at {record.node}"
        if token in self.handed and ident not in self.torn:
            yield Violation("shares", record.time, f"{ident} came to {who} as to another member of {group[0]} before")
        if (record.node, record.client) not in self.members.get(group, {}):
            yield Violation("shares", record.time, f"{ident} came to {who}, which is no member of {group[0]}")
        self.handed[token] = record.node
        self.owed.pop(token, None)
        self.excused.pop(token, None)

    def _calm(self, time: float) -> Iterator[Violation]:
        for (event, group), debt in self.owed.items():
            if self.lossy and not self.kept.get(event):
                continue
            what = f"{event} ({debt.topic}), published at {debt.origin}, came to no member of {group[0]} on {group[1]}"
            yield Violation("shares", time, f"{what}, though {sorted(debt.witnesses)} were there")
        if kept := [event for event, _ in self.excused if self.kept.get(event)]:
            self.tally.excused[GROUP] += len(kept)
        self.owed.clear()
        self.excused.clear()
        self.split = False
        self.kept.clear()
        self.young.clear()
        self.torn.clear()
        self.handed.clear()
        self.parts = _parts_of(self.forest)
        for group, members in self.members.items():
            self.hosts[group] = {broker: None for broker, _ in members}
            for member in members:
                members[member] = True


def _parts_of(forest: Forest) -> dict[str, int]:
    """By broker: a number that it has in common with all that it is connected with."""
    parts: dict[str, int] = {}
    near: dict[str, list[str]] = {node: [] for node in forest.held}
    for one, other in forest.edges():
        near.setdefault(one, []).append(other)
        near.setdefault(other, []).append(one)
    for start in near:
        reached = [] if start in parts else [start]
        while reached:
            node = reached.pop()
            parts[node] = parts.get(start, len(parts))
            reached += [each for each in near[node] if each not in parts]
    return parts


def check_shares(
    records: Iterable[Record], tally: Tally | None = None, *, lasting: bool = False, lossy: bool = False
) -> Iterator[Violation]:
    """``lasting``: brokers have stores, so that no crash excuses anything. ``lossy``: links lose events."""
    tokens = _Tokens(tally or Tally(), lasting, lossy)
    for record in records:
        yield from tokens.see(record)

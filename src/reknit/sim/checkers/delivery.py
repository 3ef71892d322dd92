"""Nothing lost, nothing doubled, nothing unwanted.

An event is *owed* to a client when it was published after a subscription of the client that matches it had settled (all
was calm once since), along links that were there then and still are. What releases from it: the client or its
subscription goes; a link of the path is removed; the client's broker crashes; the event's own broker crashes before the
event has settled. Crashes of brokers in between release from nothing, not even if both ends of a link are down at once:
a link is gone when one end says so, or when neither has it back by the time that all is calm. A link that is swapped
releases from nothing either: whoever was connected is connected. Unless one of the three stays away, and another says
that it goes on without it: what is under way over a link between the three may be lost, from that moment until the goal
is out of the swap, or all is calm. If the middle hands the link over without the mover, the mover is parted from the
tree: the link is gone.

With stores a crash releases from nothing: sessions last, and what was published is kept until it has settled. But one
that was on its way to the dead broker has not begun there: it is where it was.

A session that moves takes along what it is owed: from the moment that its old broker says so, the new one owes it.
Until then the old one does, and what the new one has delivered counts. What it wants is settled there if it was at the
old one, and their link is not as new as that: else the new broker's side has not heard of it before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import combinations, pairwise

from reknit.core.overlay.shapes import Edge, find_path
from reknit.core.routing.table import GROUPS
from reknit.model.event import Event, EventId
from reknit.model.pattern import Pattern
from reknit.sim.checkers.tree import Forest, edge
from reknit.sim.checkers.violation import Violation
from reknit.trace.records import BEGINS_ANEW, DRAINED, SWAP_WITHOUT, Kind, Record

__all__ = ["Debt", "Ledger", "Tally", "check_delivery", "check_delivery_on_ring"]

_LOCKED = "swap: lock at the goal"
_CONNECTED = "swap: connectAck at the goal"
"""The steps by which the goal of a swap shows who takes part: the middle, and the mover."""
_GOAL_OUT = ("swap: unlock at the goal", "swap: undone at the goal", "swap: end at the goal")
"""The steps by which the goal is out of the swap: by then the new link is one of the tree, or none."""
_HANDED = "swap: close(ab) at the middle"
"""The step by which the middle has no link to the mover any more."""
_TORN = "under way in a swap that goes on without one of the three"
_CUT_OFF = "its broker was cut off from the ring"
"""Why an event may be lost."""
_NOTHING_OWED = (Kind.FORWARDED, Kind.TAKEN, Kind.ROUTE_ADDED, Kind.ROUTE_REMOVED, Kind.LINK_UP)
"""Much of a trace, and of no interest here."""


@dataclass(slots=True)
class Tally:
    """What was checked: a verdict over nothing is worth nothing."""

    published: int = 0
    delivered: int = 0
    owed: int = 0
    lost: int = 0
    duplicated: int = 0
    unwanted: int = 0
    excused: Counter[str] = field(default_factory=Counter)
    """By reason: what was owed and never came, and is no violation all the same."""


@dataclass(slots=True)
class _Session:
    """One life of one client at one broker."""

    node: str
    client: str
    patterns: dict[Pattern, bool] = field(default_factory=dict)  # to: has it settled?
    delivered: dict[EventId, None] = field(default_factory=dict)
    here: bool = False  # whether it has begun there, or arrived
    source: str = ""  # the broker that it has arrived from


@dataclass(slots=True)
class Debt:
    """An event that a session is owed, the way that it has to come, and for which of its subscriptions."""

    event: Event
    path: tuple[Edge, ...]
    patterns: tuple[Pattern, ...]
    former: tuple[Edge, ...] = ()  # links of the way before they moved: it may still be on one of them
    excused: str = ""
    """Why it may be lost; empty if it may not."""

    def may_be_on(self, links: Iterable[Edge]) -> bool:
        return any(each in self.path or each in self.former for each in links)

    def excuse(self, why: str) -> None:
        """The first reason counts."""
        self.excused = self.excused or why


class Ledger:
    def __init__(self, tally: Tally, lasting: bool) -> None:
        self.tally = tally
        self.lasting = lasting
        self.forest = Forest()  # what brokers hold now: a crash forgets
        self.links: dict[Edge, None] = {}  # what they have to remember: a crash does not
        self.sessions: dict[tuple[str, str], _Session] = {}  # by node and client
        self.fresh: dict[Edge, None] = {}  # links that have come since all was calm
        self.owed: dict[tuple[str, str], dict[EventId, Debt]] = {}  # by session
        self.unsettled: dict[str, dict[EventId, None]] = {}  # by node: published there
        self.paths: dict[tuple[str, str], tuple[Edge, ...] | None] = {}
        self.moving: dict[tuple[str, str], dict[EventId, None]] = {}  # by session: delivered when it went on its way
        self.drained: dict[str, None] = {}  # brokers that have left with nothing left behind
        self.middles: dict[str, str] = {}  # by broker that is the goal of a swap
        self.swaps: dict[tuple[str, str, str], None] = {}  # mover, middle and goal, until all is calm
        self.torn: dict[tuple[str, str, str], None] = {}  # of these, those that somebody goes on with alone
        self.without: dict[tuple[str, str], None] = {}  # who goes on in a swap, and without whom, until all is calm

    def see(self, record: Record) -> Iterator[Violation]:
        if record.kind in _NOTHING_OWED:
            return
        self._follow_links(record)
        key = (record.node, record.client)
        match record.kind:
            case Kind.ATTACHED if not self.lasting or key not in self.sessions:
                self.sessions[key] = _Session(record.node, record.client, here=True)
            case Kind.ATTACHED:
                self.sessions[key].here = True
            case Kind.DETACHED:
                self._end(key)
            case Kind.MOVING:
                self.moving[key] = dict(self._session(key).delivered)
            case Kind.MOVED_IN:
                self._moved_in(key, (record.peer, record.client))
            case Kind.MOVED_OUT:
                self._moved_out(key, (record.peer, record.client))
            case Kind.SUBSCRIBED if record.client.startswith(GROUPS):
                pass  # what groups are owed, another checker knows
            case Kind.SUBSCRIBED if record.pattern is not None:
                patterns = self._session(key).patterns
                patterns[record.pattern] = self.lasting and patterns.get(record.pattern, False)
            case Kind.UNSUBSCRIBED if record.pattern is not None:
                self._session(key).patterns.pop(record.pattern, None)
                self._release(key, record.pattern)
            case Kind.PUBLISHED if record.event is not None:
                self._published(record.node, record.event)
            case Kind.DELIVERED if record.event is not None:
                yield from self._delivered(key, record.event, record.time)
            case Kind.SETTLED if record.event is not None:
                self.unsettled.get(record.node, {}).pop(record.event.id, None)
            case Kind.CRASHED if not self.lasting:
                self._crashed(record.node)
            case Kind.CRASHED:
                for each in [each for each, session in self.sessions.items() if not session.here]:
                    if each[0] == record.node:
                        self._end(each)
            case Kind.CALM:
                yield from self._calm(record.time)

    # --- the tree

    def _follow_links(self, record: Record) -> None:
        self.forest.see(record)
        link, kind = edge(record.node, record.peer), record.kind
        if kind is Kind.CHANGE:
            self._follow_change(record)
        elif kind is Kind.STARTED:  # it may have died as it left, and is one of the tree again
            self.drained.pop(record.node, None)
        elif kind is Kind.LINK_ADDED and link not in self.links:
            self.links[link] = self.fresh[link] = None
            self.paths.clear()
        elif kind is Kind.LINK_MOVED:
            self._move_link(record.node, record.detail, record.peer)
        elif kind is Kind.LINK_REMOVED:  # by one end; it promises nothing until all is calm again
            self._forget_links([link])
        elif kind is Kind.CALM:
            there = dict.fromkeys(self.forest.edges())
            self._forget_links([each for each in self.links if each not in there])
            self.links = there
            self.paths.clear()

    def _follow_change(self, record: Record) -> None:
        detail = record.detail
        if detail == DRAINED:
            self.drained[record.node] = None
        elif detail.startswith(SWAP_WITHOUT):
            self._excuse(record.node, record.peer)
        elif detail == _HANDED and (record.node, record.peer) in self.without:
            # there may be no other until the mover is back, and has asked to be joined
            self._forget_links([edge(record.node, record.peer)])
        elif detail == _LOCKED:
            self.middles[record.node] = record.peer
        elif detail == _CONNECTED and record.node in self.middles:
            self.swaps[record.peer, self.middles[record.node], record.node] = None
        elif detail in _GOAL_OUT:
            self.torn = {each: None for each in self.torn if each[2] != record.node}

    def _move_link(self, mover: str, middle: str, goal: str) -> None:
        """Ways that led over the old link lead over the new one, and that of the middle and the goal if need be."""
        old, new, third = edge(mover, middle), edge(mover, goal), edge(middle, goal)
        if old in self.fresh or third in self.fresh:  # whatever takes the new link has come over both
            self.fresh[new] = None
        self.links.pop(old, None)
        self.links[new] = None
        self.paths.clear()
        for debts in self.owed.values():
            for debt in (debt for debt in debts.values() if old in debt.path):
                rest = tuple(each for each in debt.path if each not in (old, third))
                debt.former = tuple(dict.fromkeys((*debt.former, *debt.path)))
                debt.path = (*rest, new) if third in debt.path else (*rest, new, third)

    def _excuse(self, one: str, other: str) -> None:
        """One of a swap goes on without another."""
        self.without[one, other] = None
        for members in (each for each in self.swaps if one in each and other in each):
            self.torn[members] = None
            for debts in self.owed.values():
                for debt in (debt for debt in debts.values() if debt.may_be_on(_between(members))):
                    debt.excuse(_TORN)

    def _forget_links(self, gone: list[Edge]) -> None:
        if gone:
            for each in gone:
                self.links.pop(each, None)
            self._void_paths(gone)
            self.paths.clear()

    def _path(self, start: str, end: str) -> tuple[Edge, ...] | None:
        if (start, end) not in self.paths:
            nodes = find_path(list(self.links), start, end)
            self.paths[start, end] = tuple(edge(a, b) for a, b in pairwise(nodes)) if nodes else None
        return self.paths[start, end]

    def _void_paths(self, gone: list[Edge]) -> None:
        """But a broker that was drained leaves nothing behind: all that has passed its link is owed as before."""
        gone = [each for each in gone if not any(end in self.drained for end in each)]
        for debts in self.owed.values():
            for event_id, debt in list(debts.items()):
                if any(each in debt.path for each in gone):
                    del debts[event_id]

    # --- sessions

    def _session(self, key: tuple[str, str]) -> _Session:
        return self.sessions.setdefault(key, _Session(*key))

    def _end(self, key: tuple[str, str]) -> None:
        self.sessions.pop(key, None)
        self.owed.pop(key, None)

    def _moved_in(self, key: tuple[str, str], old_key: tuple[str, str]) -> None:
        old, new = self.sessions.get(old_key), self._session(key)
        new.delivered.update(self.moving.get(old_key, {}))
        new.here, new.source = True, old_key[0]
        settles = edge(key[0], old_key[0]) not in self.fresh  # else the new broker's side hears of it only now
        if old is not None:
            new.patterns.update({each: was and settles for each, was in old.patterns.items() if each in new.patterns})

    def _moved_out(self, key: tuple[str, str], new_key: tuple[str, str]) -> None:
        debts = self.owed.pop(key, {})
        self._end(key)
        new, link = self.sessions.get(new_key), edge(key[0], new_key[0])
        if new is None or new.source != key[0]:  # its new broker has died meanwhile, and it may have begun anew there
            return
        for event_id, debt in debts.items():
            if event_id not in new.delivered:
                debt.path = tuple(each for each in debt.path if each != link)
                self.owed.setdefault(new_key, {})[event_id] = debt

    def _release(self, key: tuple[str, str], pattern: Pattern) -> None:
        """What was owed for this subscription alone is owed no more."""
        debts = self.owed.get(key, {})
        for event_id, debt in list(debts.items()):
            debt.patterns = tuple(each for each in debt.patterns if each != pattern)
            if not debt.patterns:
                del debts[event_id]

    def _crashed(self, node: str) -> None:
        for key in [key for key in self.sessions if key[0] == node]:
            self._end(key)
        for event_id in self.unsettled.pop(node, {}):
            for debts in self.owed.values():
                debts.pop(event_id, None)

    # --- events

    def _published(self, node: str, event: Event) -> None:
        self.tally.published += 1
        self.unsettled.setdefault(node, {})[event.id] = None
        for key, session in self.sessions.items():
            patterns = tuple(each for each, settled in session.patterns.items() if settled and each.matches(event))
            if not patterns:
                continue
            path = self._path(node, session.node)
            if path is not None and not any(each in self.fresh for each in path):
                self.tally.owed += 1
                debt = self.owed.setdefault(key, {})[event.id] = Debt(event, path, patterns)
                if any(debt.may_be_on(_between(members)) for members in self.torn):
                    debt.excuse(_TORN)

    def _delivered(self, key: tuple[str, str], event: Event, time: float) -> Iterator[Violation]:
        self.tally.delivered += 1
        session = self._session(key)
        if event.id in session.delivered:
            self.tally.duplicated += 1
            yield Violation("delivery", time, f"{event.id} was delivered to {key[1]} at {key[0]} twice")
        session.delivered[event.id] = None
        if not any(each.matches(event) for each in session.patterns):
            self.tally.unwanted += 1
            yield Violation(
                "delivery", time, f"{event.id} was delivered to {key[1]} at {key[0]}, which does not want it"
            )
        self.owed.get(key, {}).pop(event.id, None)

    def _calm(self, time: float) -> Iterator[Violation]:
        """Nothing is in flight: whatever is still owed is lost."""
        for (node, client), debts in self.owed.items():
            for debt in debts.values():
                if debt.excused:
                    self._forgive(debt)
                    continue
                self.tally.lost += 1
                way = f"over {len(debt.path)} links" if debt.path else "at its own broker"
                yield from self._lost(debt.event, f"never reached {client} at {node} {way}", time)
        self.owed.clear()
        self.swaps.clear()
        self.torn.clear()
        self.without.clear()
        self.fresh.clear()
        for session in self.sessions.values():
            for pattern in session.patterns:
                session.patterns[pattern] = True

    def _forgive(self, debt: Debt) -> None:
        self.tally.excused[debt.excused] += 1

    def _lost(self, event: Event, what: str, time: float) -> Iterator[Violation]:
        yield Violation("delivery", time, f"{event.id} ({event.topic}) {what}")


class RingLedger(Ledger):
    """On a ring there is a way between any two brokers, whatever becomes of links.

    But two that lose each other though both live are cut off, or have slept: the ring goes on without them, and what is
    published until all is calm again may not reach their clients.
    """

    def __init__(self, tally: Tally, lasting: bool) -> None:
        super().__init__(tally, lasting)
        self.away: dict[str, None] = {}
        self.died: dict[str, bool] = {}  # since all was calm, or for good; to: has it come back?

    def _follow_links(self, record: Record) -> None:
        if record.kind is Kind.CRASHED or (record.kind is Kind.CHANGE and record.detail == DRAINED):
            self.died[record.node] = False
        elif record.kind is Kind.STARTED and record.node in self.died:
            self.died[record.node] = True
        elif record.kind is Kind.CALM:
            self.away.clear()
            self.died = {node: back for node, back in self.died.items() if not back}
        elif record.kind is Kind.LINK_LOST and record.detail == BEGINS_ANEW:
            pass  # who ends its links by itself can reach the others, and owes its clients all the same
        elif record.kind is Kind.LINK_LOST and not {record.node, record.peer} & self.died.keys():
            self.away.update({record.node: None, record.peer: None})
            for key, debts in self.owed.items():
                for debt in debts.values() if key[0] in self.away else ():
                    debt.excuse(_CUT_OFF)

    def _published(self, node: str, event: Event) -> None:
        super()._published(node, event)
        for key, debts in self.owed.items():
            if key[0] in self.away and event.id in debts:
                debts[event.id].excuse(_CUT_OFF)

    def _path(self, start: str, end: str) -> tuple[Edge, ...] | None:
        return () if start == end else (edge(start, end),)


def _between(members: tuple[str, str, str]) -> list[Edge]:
    return [edge(a, b) for a, b in combinations(members, 2)]


def check_delivery(
    records: Iterable[Record], tally: Tally | None = None, *, lasting: bool = False
) -> Iterator[Violation]:
    """The trace must end with a calm record, or the last events are not judged. ``lasting``: brokers have stores."""
    ledger = Ledger(tally or Tally(), lasting)
    for record in records:
        yield from ledger.see(record)


def check_delivery_on_ring(records: Iterable[Record], tally: Tally | None = None) -> Iterator[Violation]:
    """The same of brokers that route by rendezvous."""
    ledger = RingLedger(tally or Tally(), lasting=False)
    for record in records:
        yield from ledger.see(record)

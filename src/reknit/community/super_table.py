"""The members of a parent community that a peer knows: its super-topic table, and what keeps it alive.

While nobody of the parent itself is known, members of the nearest community above it stand in. Every so often, with
the same probability with which it passes events upward, a peer asks everybody in the table whether they live (CHECK).
The dead are taken out. If fewer than ``tau`` are left, those are asked for others (NEWPROCESS); if none is left, the
search begins anew. Tables of fellow members come with their heartbeats and are merged (MERGE): who is nearer to the
parent is preferred, and now and then one takes another's place, so that not all members of a community lean on the
same few above. Where tables come from P-Grid, another one is drawn every so often.

Owns: the entries for one parent. Must not know: how words travel, or the events that are passed upward.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from reknit.community.options import TopicOptions
from reknit.community.search import Search
from reknit.community.turn import Turn
from reknit.trace.records import Kind
from reknit.wire.peers import Contact, More, Ping, Pong, Some

__all__ = ["ASKED_TIMES", "FAILED_MAX", "REFRESH", "SuperTable"]

ASKED_TIMES = 3
"""How often a member of the table is asked before it is taken for dead, since datagrams get lost."""

FAILED_MAX = 64
"""Peers taken for dead that are remembered as such."""

REFRESH = 0.05
"""How likely one that is known to be as good as those in a full table takes the place of one of them."""


class SuperTable:
    """``parent``: the community; ``ladder``: itself and those above it, the nearest first."""

    def __init__(self, topic: str, ladder: tuple[str, ...], options: TopicOptions, turn: Turn) -> None:
        self.topic = topic
        self.parent = ladder[0]
        self.entries: dict[str, str] = {}  # by address: its community
        self.search = Search(ladder, options.supers, turn)
        self._detail = f"above {topic} for {ladder[0]}"
        self._options = options
        self._turn = turn
        self._failed: dict[str, float] = {}  # until when
        self._check_at = inf
        self._number = 0  # of the check under way, or of the last one
        self._silent: dict[str, None] = {}  # in the check under way
        self._asked = 0  # times, in the check under way; 0 where none is
        self._more: int | None = None  # the number of the last request for others
        self._drawn: int | None = None  # the number of the last search for another table

    def start(self) -> None:
        self._search_on()
        if self._options.supers.check_s:
            self._check_at = self._turn.now + self._turn.jitter(self._options.supers.check_s)

    def contacts(self) -> tuple[Contact, ...]:
        return tuple((topic, address) for address, topic in self.entries.items())

    def nearest(self) -> tuple[str, list[str]]:
        """The nearest community of which anybody is known, and who that is, in an order by chance."""
        topic = min(self.entries.values(), key=self._rung)
        known = [address for address, each in self.entries.items() if each == topic]
        return topic, self._turn.rng.sample(known, len(known))

    def merge(self, contacts: Iterable[Contact]) -> None:
        for topic, address in contacts:
            if topic in self.search.ladder and address != self._turn.me and address not in self._failed:
                self._take(topic, address)

    def _take(self, topic: str, address: str) -> None:
        rung = self._rung(topic)
        if address in self.entries:
            if rung >= self._rung(self.entries[address]):
                return
            self._drop(address)
        elif len(self.entries) >= self._options.z:
            victim = self._victim(rung)
            if victim is None:
                return
            self._drop(victim)
        self.entries[address] = topic
        self._turn.saw_table(Kind.ROUTE_ADDED, topic, address, self._detail)
        self.search.found(topic)

    def _victim(self, rung: int) -> str | None:
        """Who makes room for one on this rung."""
        farthest = max(self.entries, key=lambda address: self._rung(self.entries[address]))
        if self._rung(self.entries[farthest]) > rung:
            return farthest
        level = [address for address, topic in self.entries.items() if self._rung(topic) == rung]
        return self._turn.rng.choice(level) if level and self._turn.rng.random() < REFRESH else None

    def _rung(self, topic: str) -> int:
        return self.search.ladder.index(topic)

    def _drop(self, address: str) -> None:
        topic = self.entries.pop(address)
        self._turn.saw_table(Kind.ROUTE_REMOVED, topic, address, self._detail)

    def fail(self, address: str) -> None:
        """It is dead, or no member any more."""
        if address not in self.entries:
            return
        self._drop(address)
        if len(self._failed) >= FAILED_MAX:
            del self._failed[next(iter(self._failed))]
        self._failed[address] = self._turn.now + self._options.supers.failed_s
        self._search_on()

    def lives(self, address: str) -> None:
        """It has said something itself, whatever it was taken for."""
        self._failed.pop(address, None)

    def _search_on(self) -> None:
        """While nobody of the parent itself is known."""
        if self.parent not in self.entries.values():
            self.search.start()
            self.search.widen(min(map(self._rung, self.entries.values()), default=len(self.search.ladder)))
            for topic in self.entries.values():
                self.search.found(topic)

    # --- what comes

    def take_pong(self, sender: str, pong: Pong) -> bool:
        """Whether it was asked for."""
        if pong.number != self._number or sender not in self._silent:
            return False
        del self._silent[sender]
        if not pong.member:
            self.fail(sender)
        return True

    def take_some(self, sender: str, some: Some) -> bool:
        if some.number != self._more or sender not in self.entries:
            return False
        self.merge((some.topic, peer) for peer in some.peers[: self._options.z])
        return True

    def draw(self) -> int:
        """The number under which another table is searched for."""
        number = self._drawn = self._turn.number()
        return number

    def take_drawn(self, number: int, topic: str, peers: tuple[str, ...]) -> bool:
        """Another table, whether it was asked for. One without anybody says only that nobody is known there."""
        if (number, topic) != (self._drawn, self.parent):
            return False
        good = [peer for peer in peers if peer != self._turn.me and peer not in self._failed]
        wanted = dict.fromkeys(good[: self._options.z])
        for address in [address for address in self.entries if address not in wanted] if wanted else []:
            self._drop(address)
        self.merge((topic, address) for address in wanted)
        return True

    # --- when it is time

    def deadline(self) -> float:
        return min(self._check_at, self.search.next_at)

    def due(self, p_sel: float) -> None:
        """The check; whoever owns the search looks after that."""
        now = self._turn.now
        self._failed = {address: until for address, until in self._failed.items() if until > now}
        if self._check_at > now:
            return
        if self._asked:
            self._go_on()
        elif self.entries and self._turn.rng.random() < p_sel:
            self._number = self._turn.number()
            self._silent = dict.fromkeys(self.entries)
            self._ask()
        else:
            self._rest()

    def _rest(self) -> None:
        self._asked = 0
        self._check_at = self._turn.now + self._turn.jitter(self._options.supers.check_s)
        self._search_on()

    def _ask(self) -> None:
        self._asked += 1
        self._check_at = self._turn.now + self._options.supers.answer_s / ASKED_TIMES
        for address in self._silent:
            if address in self.entries:
                self._turn.send(address, Ping(self._number, self.entries[address]))

    def _go_on(self) -> None:
        """Ask again who has not answered; or it is time to conclude."""
        if self._silent and self._asked < ASKED_TIMES:
            self._ask()
            return
        silent, self._silent = self._silent, {}
        for address in silent:
            self.fail(address)
        self._rest()
        if self.entries and len(self.entries) < self._options.alive_min:
            self._ask_for_more()

    def _ask_for_more(self) -> None:
        self._more = self._turn.number()
        for address, topic in self.entries.items():
            self._turn.send(address, More(self._more, topic, self._options.z - len(self.entries)))

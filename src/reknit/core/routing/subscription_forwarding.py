"""Subscription forwarding on an unrooted tree (PATH, Figures 12 and 13, corrected).

The rule of the paper, said as one sentence: *a neighbour d is told of a pattern p exactly as long as somebody other
than d wants p*. The paper's tests ("no subscriber left", "exactly one left") are the moments at which the truth of
that sentence changes for some d; as printed, they count the subscriber that was just inserted, and subscriptions
never spread. An event goes to every hop with a matching entry except the one that it came from, once.

With *covering*, d is told only of the patterns that no other pattern told to d covers. That shrinks tables and
changes no delivery: a covered pattern's events match the covering one.

Owns: what each neighbour has been told. Must not know: how the tree is shaped beyond the neighbours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reknit.core.routing.announcements import Announcements, Covering, Difference
from reknit.core.routing.base import Routing, Sender, chunks
from reknit.core.routing.table import broker
from reknit.core.turn import Turn
from reknit.model.pattern import Pattern
from reknit.wire.messages import Entry, Message, Sub, Unsub

__all__ = ["SubscriptionForwarding"]


class SubscriptionForwarding(Routing):
    name = "subscription-forwarding"

    def __init__(self, turn: Turn, send: Sender, covering: bool = False) -> None:
        super().__init__(turn, send)
        self._announcements = Covering if covering else Announcements
        self._told: dict[str, Announcements] = {}
        self._held: dict[str, dict[Pattern, None]] = {}  # by neighbour: what it is to be told later
        self._paused: dict[str, None] = {}

    def subscribe(self, name: str, pattern: Pattern) -> None:
        if self._add_client(name, pattern):
            self._spread(pattern)

    def unsubscribe(self, name: str, pattern: Pattern) -> None:
        if self._remove_client(name, pattern):
            self._spread(pattern)

    def receive(self, neighbour: str, message: Message) -> None:
        """What came in one message goes on in one message."""
        if isinstance(message, Sub):
            added = [pattern for pattern in message.patterns if self._add(neighbour, pattern)]
            self._spread_together(added)
        elif isinstance(message, Unsub) and not self.partly:
            # An unsubscription for an absent entry does nothing (Figure 14's guard, needed everywhere).
            removed = [pattern for pattern in message.patterns if self._remove(neighbour, pattern)]
            self._spread_together(removed)

    def tell(self, neighbour: str) -> None:
        self._held.pop(neighbour, None)
        self._paused.pop(neighbour, None)
        told = self._told[neighbour] = self._announcements(self._wanted_from(neighbour))
        self._send_snapshot(neighbour, [("", told.announced())])

    def tell_no_more(self, neighbour: str) -> None:
        """Say nothing to it from now on; what it wanted stays in the table."""
        self._told.pop(neighbour, None)
        self._held.pop(neighbour, None)
        self._paused.pop(neighbour, None)

    def forget(self, neighbour: str) -> None:
        self.tell_no_more(neighbour)
        for pattern in self.table.of(broker(neighbour)):
            self._remove(neighbour, pattern)
            self._spread(pattern)

    def replace(self, neighbour: str, entries: list[Entry]) -> None:
        wanted = _patterns(entries)
        for pattern in wanted:  # build before destroying
            if self._add(neighbour, pattern):
                self._spread(pattern)
        for pattern in self.table.of(broker(neighbour)) if not self.partly else ():
            if pattern not in wanted and self._remove(neighbour, pattern):
                self._spread(pattern)

    # --- neighbours that stand for each other

    def pause(self, neighbour: str) -> None:
        self._paused[neighbour] = None

    def resume(self, neighbour: str) -> None:
        self._paused.pop(neighbour, None)
        former = self._told.get(neighbour)
        if former is None:
            return
        told = self._told[neighbour] = self._announcements(self._wanted_from(neighbour))
        before, now = dict.fromkeys(former.announced()), dict.fromkeys(told.announced())
        self._say(neighbour, [each for each in now if each not in before], [each for each in before if each not in now])

    def behind(self, neighbour: str) -> list[Entry]:
        return [("", self.table.of(broker(neighbour)))]

    def apart_from(self, one: str, other: str) -> list[Entry]:
        hops = [hop for hop in self.table.hops() if hop not in (broker(one), broker(other))]
        return [("", list({pattern: None for hop in hops for pattern in self.table.of(hop)}))]

    def rename(self, old: str, new: str) -> None:
        for pattern in self.table.of(broker(old)):
            self._add(new, pattern)
            self._remove(old, pattern)
        if old in self._told:
            self._told[new] = self._told.pop(old)
        self._held.pop(old, None)
        self._paused.pop(old, None)
        self._paused[new] = None

    def merge(self, gone: str, into: str, said: list[Entry]) -> None:
        for pattern in self.table.of(broker(gone)):
            self._add(into, pattern)
            self._remove(gone, pattern)
        self.tell_no_more(gone)
        self._paused[into] = None
        self._told[into] = Announcements(_patterns(said))

    def split(self, old: str, new: str, behind_old: list[Entry], behind_new: list[Entry]) -> None:
        olds, news = _patterns(behind_old), _patterns(behind_new)
        before, after = dict.fromkeys(self.table.of(broker(old))), olds | news
        former = self._told[old].announced() if old in self._told else []
        for pattern in news:
            self._add(new, pattern)
        for pattern in olds:
            self._add(old, pattern)
        for pattern in self.table.of(broker(old)):
            if pattern not in olds:
                self._remove(old, pattern)
        # The old neighbour has reduced what it was told together with its own before it told the new one.
        self._told[new] = Announcements(self._announcements(dict.fromkeys(former) | olds).announced())
        self._told[old] = Announcements(dict.fromkeys(former) | news)
        self._paused[old] = self._paused[new] = None
        # With covering, what one told for both may have hidden patterns that each tells for itself.
        for pattern in [each for each in after if each not in before] + [each for each in before if each not in after]:
            self._spread(pattern)

    # --- inside

    def _wanted_from(self, neighbour: str) -> Iterator[Pattern]:
        hop, later = broker(neighbour), self._held.get(neighbour, {})
        for pattern in self.table.patterns():
            if pattern not in later and self.table.wanted_apart_from(hop, pattern):
                yield pattern

    def _spread(self, pattern: Pattern) -> None:
        """An entry for ``pattern`` has come or gone: tell each neighbour for which that makes a difference."""
        for neighbour in self._told:
            if neighbour in self._paused:
                continue
            announce, retract = self._difference(neighbour, pattern)
            if announce or retract:
                self._say(neighbour, announce, retract)

    def _spread_together(self, patterns: list[Pattern]) -> None:
        """The same for several, in as few messages as possible."""
        if len(patterns) == 1:
            self._spread(patterns[0])
            return
        for neighbour in self._told:
            self._inform(neighbour, patterns, together=True)

    def _inform(self, neighbour: str, patterns: list[Pattern], together: bool) -> None:
        if neighbour in self._paused:
            return
        if together:
            self._say(neighbour, *_net(self._difference(neighbour, pattern) for pattern in patterns))
        else:
            for pattern in patterns:
                self._say(neighbour, *self._difference(neighbour, pattern))

    def _difference(self, neighbour: str, pattern: Pattern) -> Difference:
        told = self._told[neighbour]
        if not self.table.wanted_apart_from(broker(neighbour), pattern):
            return told.want_no_more(pattern)
        if self._held and pattern in self._held.get(neighbour, ()):
            return [], []
        return told.want(pattern)

    def _say(self, neighbour: str, announce: list[Pattern], retract: list[Pattern]) -> None:
        for some in chunks(announce):
            self.send(neighbour, Sub(some))
        for some in chunks(retract):
            self.send(neighbour, Unsub(some))


def _net(differences: Iterable[Difference]) -> Difference:
    """All of them as one: what one announces and another retracts is not said at all."""
    announce: dict[Pattern, None] = {}
    retract: dict[Pattern, None] = {}
    for come, gone in differences:
        for pattern in come:
            if pattern in retract:
                del retract[pattern]
            else:
                announce[pattern] = None
        for pattern in gone:
            if pattern in announce:
                del announce[pattern]
            else:
                retract[pattern] = None
    return list(announce), list(retract)


def _patterns(entries: list[Entry]) -> dict[Pattern, None]:
    return {pattern: None for _, patterns in entries for pattern in patterns}

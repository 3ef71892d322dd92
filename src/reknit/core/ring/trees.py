"""The trees of topics on a ring: from the root down along the routes, with a count for every branch.

A topic's root is the owner of its key. A broker whose clients want the topic says so on the way to the root
(``Wanted``), and the root grows a branch to it (``Branch``): each hop notes for this member which hop is next, and
passes it on. How often a next hop is noted is its count; events go to each with a count above zero. So the way from
the root to a member is always what the ring's routes say, and a branch goes when the last member behind it has gone.

The ring changes while this goes on, and words are lost with brokers that die. So every entry knows who has grown it,
and all are held against the ring again when that has changed (``reroute``): a member whose next hop is another one is
cut off there and grown here; a root that is none any more passes its members on to the new one. An entry whose parent
is gone goes, and the branch behind it. At the end of every branch is the member, and it sees what matters: an entry
that it does not want, or none where it wants one; then it says so again until the tree shows it. A branch for a
member that is gone ends at the broker that owns its id now, which speaks for it.

Owns: entries, counts, and the repair of both. Must not know: how the ring is kept, or what an event is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from reknit.model.ring import BITS, ring_id
from reknit.wire.ring import Branch, Wanted

__all__ = ["ROOT", "Entry", "Routes", "Trees"]

ROOT = -1
"""The parent of an entry at the root itself."""


class Routes(Protocol):
    """What a tree sees of the ring."""

    def owns(self, key: int) -> bool: ...

    def hop(self, key: int) -> int | None:
        """The id of the next broker on the way to the key; None if there is none."""


@dataclass(slots=True)
class Entry:
    """Of one member in one topic's tree, here."""

    parent: int
    hop: int | None
    """None at the end of the branch."""


class Trees:
    def __init__(
        self, me: int, routes: Routes, send: Callable[[int, Wanted | Branch], None], hops_max: int, bits: int = BITS
    ) -> None:
        self.me, self.routes, self.send, self.hops_max, self.bits = me, routes, send, hops_max, bits
        self.entries: dict[str, dict[int, Entry]] = {}  # by topic and member
        self.counts: dict[str, dict[int, int]] = {}  # by topic and next hop
        self.wanted: dict[str, None] = {}  # topics that clients here want
        self._unsure: dict[str, None] = {}  # of which the tree may not show it
        self._strays: dict[tuple[str, int], None] = {}  # topics and members that are gone, whose branches end here

    # --- clients

    def want(self, topic: str) -> None:
        """The first client here wants the topic."""
        self.wanted[topic] = None
        self._say(topic)

    def want_no_more(self, topic: str) -> None:
        """The last one does not any more."""
        self.wanted.pop(topic, None)
        self._say(topic)

    def children(self, topic: str) -> list[int]:
        """To whom an event of the topic goes on from here."""
        return list(self.counts.get(topic, ()))

    def _say(self, topic: str) -> None:
        self._unsure[topic] = None
        self._to_root(Wanted(topic, self.me, topic in self.wanted))

    def refresh(self) -> bool:
        """Say again what the tree does not show. False if it shows all."""
        for topic in list(self._unsure):
            if (topic in self.wanted) == (self.me in self.entries.get(topic, ())):
                del self._unsure[topic]
            else:
                self._say(topic)
        for topic, member in list(self._strays):
            self._speak_for(topic, member)
        return bool(self._unsure or self._strays)

    # --- words of others

    def received(self, sender: int, message: Wanted | Branch) -> None:
        if isinstance(message, Wanted):
            self._to_root(message)
        elif message.grows:
            self._grow(message.topic, message.member, sender, message.hops)
        else:
            entry = self.entries.get(message.topic, {}).get(message.member)
            if entry is not None and entry.parent == sender:  # of another one it is out of date
                self._cut(message.topic, message.member)

    def _to_root(self, message: Wanted) -> None:
        topic, member = message.topic, message.member
        if self.routes.owns(ring_id(topic, self.bits)):
            if message.wanted:
                self._grow(topic, member, ROOT)
            else:
                self._cut(topic, member)
        elif message.hops < self.hops_max:
            hop = self.routes.hop(ring_id(topic, self.bits))
            if hop is not None:
                self.send(hop, Wanted(topic, member, message.wanted, message.hops + 1))

    # --- entries

    def _grow(self, topic: str, member: int, parent: int, hops: int = 0) -> None:
        """One that is there is passed on all the same: who says it anew has a reason, and it may be missing there."""
        if hops > self.hops_max:
            return
        entries = self.entries.setdefault(topic, {})
        if (entry := entries.get(member)) is None:
            entry = entries[member] = Entry(parent, None)
            self._lead(topic, member, entry, self._hop(member), hops)
        else:
            entry.parent = parent
            if entry.hop is not None:
                self.send(entry.hop, Branch(topic, member, True, hops + 1))
        self._check_end(topic, member, entry)

    def _hop(self, member: int) -> int | None:
        return None if member == self.me or self.routes.owns(member) else self.routes.hop(member)

    def _check_end(self, topic: str, member: int, entry: Entry) -> None:
        """At the end of a branch is its member, and wants it; or somebody who speaks for it."""
        if member == self.me:
            if topic not in self.wanted:
                self._unsure[topic] = None
        elif entry.hop is None:
            self._strays[topic, member] = None
            self._speak_for(topic, member)

    def _speak_for(self, topic: str, member: int) -> None:
        """A member that is gone wants nothing."""
        entry = self.entries.get(topic, {}).get(member)
        if entry is None or entry.hop is not None:
            del self._strays[topic, member]
        elif self.routes.owns(member):
            self._to_root(Wanted(topic, member, False))

    def _cut(self, topic: str, member: int) -> None:
        entries = self.entries.get(topic, {})
        if (entry := entries.pop(member, None)) is None:
            return
        if not entries:
            del self.entries[topic]
        self._lead(topic, member, entry, None)
        if member == self.me and topic in self.wanted:
            self._unsure[topic] = None

    def _lead(self, topic: str, member: int, entry: Entry, hop: int | None, hops: int = 0) -> None:
        """From now on the branch leads there."""
        old, entry.hop = entry.hop, hop
        if hop == old:
            return
        if hop is not None:
            counts = self.counts.setdefault(topic, {})
            counts[hop] = counts.get(hop, 0) + 1
            self.send(hop, Branch(topic, member, True, hops + 1))
        if old is not None:
            self._uncount(topic, old)
            self.send(old, Branch(topic, member, False))

    def _uncount(self, topic: str, hop: int) -> None:
        counts = self.counts[topic]
        counts[hop] -= 1
        if counts[hop] == 0:
            del counts[hop]
        if not counts:
            del self.counts[topic]

    # --- the ring has changed

    def reroute(self) -> None:
        for topic in list(self.entries):
            rooted = self.routes.owns(ring_id(topic, self.bits))
            for member, entry in list(self.entries.get(topic, {}).items()):
                if entry.parent == ROOT and not rooted:
                    self._cut(topic, member)
                    self._to_root(Wanted(topic, member, True))
                elif member != self.me:
                    self._lead(topic, member, entry, self._hop(member))
                    self._check_end(topic, member, entry)

    def lost(self, peer: int) -> None:
        """It is dead, or in a life that knows nothing: what it has grown goes, and who is behind it will ask again.

        What was grown through it leads nowhere until ``reroute``, which grows it again wherever the way leads then.
        """
        for topic in list(self.entries):
            for member, entry in list(self.entries[topic].items()):
                if entry.hop == peer:
                    self._uncount(topic, peer)
                    entry.hop = None
                if entry.parent == peer:
                    self._cut(topic, member)

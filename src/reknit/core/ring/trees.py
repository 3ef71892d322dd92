"""The trees of topics on a ring: from the root down along the routes, with a count for every branch.

A topic's root is the owner of its key. A broker whose clients want the topic says so on the way to the root
(``Wanted``), and the root grows a branch to it (``Branch``): each hop notes for this member which hop is next, and
passes it on. How often a next hop is noted is its count; events go to each with a count above zero. So the way from
the root to a member is always what the ring's routes say, and a branch goes when the last member behind it has gone.

The ring changes while this goes on, and words are lost with brokers that die. So every entry knows who has grown it,
and all are held against the ring again when that has changed (``reroute``): a member whose next hop is another one is
cut off there and grown here; a root that is none any more gives its members away (``disowned``). An entry whose parents
are gone goes, and the branch behind it. At the end of every branch is the member, and it sees what matters: an entry
that it does not want, or none where it wants one; then it says so again until the tree shows it. A branch for a
member that is gone ends at the broker that owns its id now, which speaks for it.

Owns: entries, counts, and the repair of both. Must not know: how the ring is kept, or what an event is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from reknit.model.ring import BITS, ring_id
from reknit.wire.planes import Seat
from reknit.wire.ring import Branch, Wanted

__all__ = ["ROOT", "Entry", "Routes", "Trees"]

DEAD_MAX = 1024
"""Brokers that are remembered to be lost."""

ROOT = -1
"""The parent of an entry at the root itself."""


class Routes(Protocol):
    """What a tree sees of the ring."""

    def owns(self, key: int) -> bool: ...

    def disowns(self, key: int) -> bool:
        """Somebody else is known to own it."""

    def serves(self, key: int) -> bool:
        """Owns it, and has done so for a while."""

    def hop(self, key: int) -> int | None:
        """The id of the next broker on the way to the key; None if there is none."""


@dataclass(slots=True)
class Entry:
    """Of one member in one topic's tree, here."""

    parents: dict[int, None]
    """Who has grown it and has not cut it: one, unless ways are changing. ``ROOT``: it was grown here."""
    hop: int | None
    """None at the end of the branch."""

    @property
    def parent(self) -> int:
        return ROOT if ROOT in self.parents else next(reversed(self.parents))


class Trees:
    def __init__(
        self, me: int, routes: Routes, send: Callable[[int, Wanted | Branch], None], hops_max: int, bits: int = BITS
    ) -> None:
        self.watch: Callable[[str, int, bool], None] = lambda topic, hop, leads: None  # is told where events go
        self.me, self.routes, self.send, self.hops_max, self.bits = me, routes, send, hops_max, bits
        self.entries: dict[str, dict[int, Entry]] = {}  # by topic and member
        self.counts: dict[str, dict[int, int]] = {}  # by topic and next hop
        self.wanted: dict[str, None] = {}  # topics that clients here want
        self._unsure: dict[str, None] = {}  # of which the tree may not show it
        self._hearsay: dict[tuple[str, int], int] = {}  # entries that were taken over: who is said to have grown them
        self._dead: dict[int, None] = {}  # brokers that were lost, and not heard of since
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

    def shows(self, topic: str) -> bool:
        """Clients here want it, and the topic's tree leads here."""
        return topic in self.wanted and self._leads_here(topic)

    def _leads_here(self, topic: str) -> bool:
        return self._is_grown(topic, self.me)

    def _is_grown(self, topic: str, member: int) -> bool:
        """The member is in the tree, and not by hearsay only."""
        entry, said = self.entries.get(topic, {}).get(member), self._hearsay.get((topic, member))
        return entry is not None and any(parent != said for parent in entry.parents)

    def _is_right(self, topic: str) -> bool:
        """As far as it can be seen from here."""
        return self._leads_here(topic) if topic in self.wanted else self.me not in self.entries.get(topic, ())

    def is_torn(self, topic: str) -> bool:
        """There is a member here to which no way is known."""
        return any(each == topic and member not in self._dead for each, member in self._strays)

    def _say(self, topic: str) -> None:
        self._unsure[topic] = None
        self._to_root(Wanted(topic, self.me, topic in self.wanted))

    def refresh(self) -> bool:
        """Say again what the tree does not show. False if it shows all."""
        for topic in list(self._unsure):
            if self._is_right(topic):
                del self._unsure[topic]
            else:
                self._say(topic)
        for topic, member in list(self._strays):
            self._speak_for(topic, member)
        return bool(self._unsure or self._strays)

    # --- words of others

    def heard(self, peer: int) -> None:
        """It lives."""
        self._dead.pop(peer, None)

    def received(self, sender: int, message: Wanted | Branch) -> None:
        if isinstance(message, Wanted):
            self._to_root(message)
            return
        entry = self.entries.get(message.topic, {}).get(message.member)
        if message.grows:
            rooted = entry is not None and ROOT in entry.parents and self.routes.owns(ring_id(message.topic, self.bits))
            if not rooted:  # a branch that comes to its own root has come round
                self._grow(message.topic, message.member, sender, message.hops)
        elif entry is not None:
            self._disclaim(message.topic, message.member, entry, sender)

    def _to_root(self, message: Wanted) -> None:
        topic, member = message.topic, message.member
        if self.routes.owns(ring_id(topic, self.bits)):
            entry = self.entries.get(topic, {}).get(member)
            if message.wanted:
                self._grow(topic, member, ROOT)
            elif member == self.me and entry is not None:
                self._disclaim(topic, member, entry, ROOT)  # who else leads here may be the root, and is still to hear
            else:
                self._cut(topic, member)
        elif message.hops < self.hops_max:
            hop = self.routes.hop(ring_id(topic, self.bits))
            if hop is not None:
                self.send(hop, Wanted(topic, member, message.wanted, message.hops + 1))

    # --- entries

    def _grow(self, topic: str, member: int, parent: int, hops: int = 0) -> None:
        """One that is there is passed on all the same: who says it anew has a reason, and it may be missing there.

        But not back: where each holds the other for the next on the way, it would go to and fro for nothing.
        """
        if hops > self.hops_max:
            return
        entries = self.entries.setdefault(topic, {})
        if self._hearsay.get((topic, member)) == parent:
            del self._hearsay[topic, member]
        if (entry := entries.get(member)) is None:
            entry = entries[member] = Entry({parent: None}, None)
            self._lead(topic, member, entry, self._hop(member), hops, parent)
        else:
            entry.parents[parent] = None
            if entry.hop is not None and entry.hop != parent:
                self.send(entry.hop, Branch(topic, member, True, hops + 1))
        self._check_end(topic, member, entry)

    def _disclaim(self, topic: str, member: int, entry: Entry, parent: int) -> None:
        """This one leads here no more; with the last one the entry goes."""
        if parent in entry.parents:
            del entry.parents[parent]
            if not entry.parents:
                self._cut(topic, member)

    def _hop(self, member: int) -> int | None:
        return None if member == self.me or self.routes.owns(member) else self.routes.hop(member)

    def _check_end(self, topic: str, member: int, entry: Entry) -> None:
        """At the end of a branch is its member, and wants it; or somebody who speaks for it."""
        if member == self.me:
            if topic not in self.wanted:
                self._unsure[topic] = None
            elif self._leads_here(topic):
                self._unsure.pop(topic, None)
        elif entry.hop is None and self._is_grown(topic, member):  # what is hearsay only goes by itself
            self._strays[topic, member] = None
            self._speak_for(topic, member)
        else:
            self._strays.pop((topic, member), None)

    def _speak_for(self, topic: str, member: int) -> None:
        """A member that is gone wants nothing."""
        entry = self.entries.get(topic, {}).get(member)
        if entry is None or entry.hop is not None:
            self._strays.pop((topic, member), None)
        elif self.routes.serves(member) or (member in self._dead and self.routes.owns(member)):
            self._to_root(Wanted(topic, member, False))

    def _cut(self, topic: str, member: int) -> None:
        entries = self.entries.get(topic, {})
        if (entry := entries.pop(member, None)) is None:
            return
        self._strays.pop((topic, member), None)
        if not entries:
            del self.entries[topic]
        self._lead(topic, member, entry, None)
        if member == self.me and topic in self.wanted:
            self._unsure[topic] = None

    def _lead(
        self, topic: str, member: int, entry: Entry, hop: int | None, hops: int = 0, knows: int | None = None
    ) -> None:
        """From now on the branch leads there. ``knows``: who needs not be told."""
        old, entry.hop = entry.hop, hop
        if hop == old:
            return
        if hop is not None:
            counts = self.counts.setdefault(topic, {})
            counts[hop] = counts.get(hop, 0) + 1
            if counts[hop] == 1:
                self.watch(topic, hop, True)
            if hop != knows and self._is_grown(topic, member):
                self.send(hop, Branch(topic, member, True, hops + 1))
        if old is not None:
            self._uncount(topic, old)
            self.send(old, Branch(topic, member, False))

    def _uncount(self, topic: str, hop: int) -> None:
        counts = self.counts[topic]
        counts[hop] -= 1
        if counts[hop] == 0:
            del counts[hop]
            self.watch(topic, hop, False)
        if not counts:
            del self.counts[topic]

    # --- the ring has changed

    def reroute(self) -> None:
        for topic in list(self.entries):
            for member, entry in list(self.entries[topic].items()):
                if member != self.me:
                    self._lead(topic, member, entry, self._hop(member))
                    self._check_end(topic, member, entry)

    def rooted(self) -> dict[str, list[int]]:
        """By topic, the members that have been grown from here."""
        found: dict[str, list[int]] = {}
        for topic, entries in self.entries.items():
            if members := [member for member, entry in entries.items() if ROOT in entry.parents]:
                found[topic] = members
        return found

    def disowned(self) -> dict[str, list[int]]:
        """The same of topics that have another root now; they are cut here, and to be handed over."""
        gone = {topic: each for topic, each in self.rooted().items() if self.routes.disowns(ring_id(topic, self.bits))}
        for topic, members in gone.items():
            for member in members:
                self._disclaim(topic, member, self.entries[topic][member], ROOT)
        return gone

    def handed(self, topic: str, member: int) -> None:
        """A root that was says that it had this member."""
        self._grow(topic, member, ROOT)

    # --- another version of the ring

    def seats(self) -> list[Seat]:
        """All entries, as whoever takes this place needs them."""
        return [
            (topic, member, entry.parent, -1 if entry.hop is None else entry.hop)
            for topic, entries in self.entries.items()
            for member, entry in entries.items()
        ]

    def take_seat(self, seat: Seat) -> None:
        """An entry of this place, in the version before; what has been said in this one counts more.

        Tables of the version before were not taken at one moment: one may have an entry that another, nearer to the
        root, has no more. So all but the root's own are hearsay until the branch has been grown from there.
        """
        topic, member, parent, hop = seat
        entries = self.entries.setdefault(topic, {})
        if member in entries:
            return
        entries[member] = Entry({parent: None}, None if hop == -1 else hop)
        if parent != ROOT:
            self._hearsay[topic, member] = parent
        if hop != -1:
            if parent == ROOT:
                self.send(hop, Branch(topic, member, True, 1))
            counts = self.counts.setdefault(topic, {})
            counts[hop] = counts.get(hop, 0) + 1
            if counts[hop] == 1:
                self.watch(topic, hop, True)

    def drop_hearsay(self) -> None:
        """Entries that were taken over, and that who is said to have grown them knows nothing of: they were passing."""
        for (topic, member), parent in list(self._hearsay.items()):
            if (entry := self.entries.get(topic, {}).get(member)) is not None:
                self._disclaim(topic, member, entry, parent)
        self._hearsay.clear()

    def put_right(self) -> None:
        """Say what is wanted where the tree of this place does not show it, and the other way round (step 3.2).

        Where it is hearsay that it does, the word from the root is on its way; only if it does not come, that is said.
        """
        shown = [topic for topic, entries in self.entries.items() if self.me in entries]
        for topic in dict.fromkeys([*self.wanted, *shown]):
            if (topic in self.wanted) != (self.me in self.entries.get(topic, ())):
                self._say(topic)
            elif not self._is_right(topic):
                self._unsure[topic] = None

    @property
    def at_rest(self) -> bool:
        """The tree shows all that is wanted here, and nothing else."""
        return not self._unsure and not self._strays

    def lost(self, peer: int) -> bool:
        """It is dead, or in a life that knows nothing: what it has grown goes, and who is behind it will ask again.

        What was grown through it leads nowhere until ``reroute``, which grows it again wherever the way leads then.
        False if there was nothing.
        """
        found = False
        self._dead[peer] = None
        if len(self._dead) > DEAD_MAX:
            del self._dead[next(iter(self._dead))]
        for topic in list(self.entries):
            for member, entry in list(self.entries[topic].items()):
                found = found or peer == entry.hop or peer in entry.parents
                if entry.hop == peer:
                    self._uncount(topic, peer)
                    entry.hop = None
                self._disclaim(topic, member, entry, peer)
        return found

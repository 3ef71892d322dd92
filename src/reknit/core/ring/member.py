"""A broker as a member of a ring: its place (``chord``), its part of the topics' trees (``trees``) and the keys whose
topics it is the root of (``domain``), kept in step.

Owns: which of them hears what, and the times of all. Must not know: how a broker is reached, or what an event is.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence

from reknit.core.ring.chord import Chord, ChordMessage
from reknit.core.ring.domain import Domain
from reknit.core.ring.options import RingOptions
from reknit.core.ring.trees import Trees
from reknit.core.turn import earliest
from reknit.model.ring import BITS, within
from reknit.wire.planes import Seat
from reknit.wire.ring import HAND_TOPICS_MAX, Branch, Hand, RingMessage, Spot, Wanted

__all__ = ["Member"]


class Member:
    def __init__(
        self,
        me: Spot,
        send: Callable[[Spot, RingMessage], None],
        options: RingOptions,
        rng: random.Random,
        contacts: Sequence[Spot] = (),
        bits: int = BITS,
    ) -> None:
        self.me, self.options, self.now = me, options, 0.0
        self._send = send
        self.chord = Chord(me, self._say, options, rng, contacts, bits)
        self.trees = Trees(me[0], self, self._say_to, options.hops_max, bits)
        self.domain = Domain(me[0], options.handover_s, bits)
        if self.chord.alone:
            self.domain.found()
        self._spots: dict[int, Spot] = {}  # by id: who is, or was, a next hop
        self._ids: dict[str, int] = {}  # by name, of those who have said something
        self._refresh_at: float | None = None
        self._beside = me  # the successor, as long as somebody was known to be before this one
        self._company = False  # there has been somebody else on the ring
        self._gone: int | None = None  # its own id, once it has left: then it wants nothing
        self.changed_at = 0.0  # ways have changed, or may have

    # --- what the trees see of the ring

    def owns(self, key: int) -> bool:
        return self.chord.owns(key)

    def disowns(self, key: int) -> bool:
        return self.chord.disowns(key)

    def hop(self, key: int) -> int | None:
        if (spot := self.chord.way_to(key)) is None:
            return None
        self._spots[spot[0]] = spot
        return spot[0]

    # --- what those above see

    def spot(self, number: int) -> Spot:
        """Of a next hop."""
        return self._spots[number]

    def serves(self, key: int) -> bool:
        """It is the root of topics with this key, and knows who wants them."""
        return self.chord.owns(key) and self.domain.knows(key)

    # --- inputs

    def received(self, sender: Spot, message: RingMessage) -> None:
        self._ids[sender[1]] = sender[0]
        self.trees.heard(sender[0])
        if sender[2]:
            self.chord.meet(sender)
        if isinstance(message, Wanted | Branch):
            self.trees.received(sender[0], message)
        elif isinstance(message, Hand):
            self._take(message)
        else:
            self.chord.received(message)
        self._keep_in_step()

    def want(self, topic: str) -> None:
        self.trees.want(topic)

    def want_no_more(self, topic: str) -> None:
        self.trees.want_no_more(topic)

    def lost(self, spot: Spot) -> None:
        """It is dead, or has begun another life that knows nothing."""
        if self.trees.lost(spot[0]):
            self.chord.changed = True
        self.chord.lost(spot)
        self._keep_in_step()

    def lost_name(self, name: str) -> None:
        """The same, by whatever ids it is known."""
        self.chord.miss(name)
        spots = [spot for spot in (*self.chord.known(), *self._spots.values()) if spot[1] == name]
        if name in self._ids:
            spots.append((self._ids.pop(name), name, ""))
        for spot in dict.fromkeys(spots):
            self.lost(spot)

    def leave(self) -> None:
        """Topics that are rooted here go to the successor, which owns their keys once it has heard of the leave."""
        heir, before, known = self.chord.successor, self.chord.before, self.domain.known
        self.chord.leave()
        if heir != self.me and before is not None:
            self._gone = self.me[0]
            after = before[0] if known is None else known
            self._hand(heir, after, self.me[0], self.trees.rooted(), whole=known is not None)

    # --- another version

    def seat(self, spots: Sequence[Spot], wanted: Iterable[str]) -> None:
        """Begin with a ring of which all places are known."""
        self._spots.update({spot[0]: spot for spot in spots})
        self.trees.wanted.update(dict.fromkeys(wanted))
        self.domain.forget()
        self.chord.seat(spots)
        self.chord.changed = False

    def take_seats(self, seats: Iterable[Seat]) -> None:
        """The trees of this place (step 3.1), as far as they lead to brokers that are there; then put right (3.2)."""
        for seat in seats:
            if seat[3] == -1 or seat[3] in self._spots:
                self.trees.take_seat(seat)
        before = self.chord.before
        self.domain.seat(self.me[0] if before is None else before[0])
        self.chord.changed = True
        self._keep_in_step()
        self.trees.put_right()

    # --- roots

    def _take(self, hand: Hand) -> None:
        for topic, members in hand.wants:
            for member in members:
                self.trees.handed(topic, member)
        if hand.last:
            self.domain.handed(hand.after, hand.upto)
        self.chord.changed = True  # what is not for this one is handed on

    def _keep_in_step(self) -> None:
        while self.chord.changed:
            self.chord.changed, self.changed_at = False, self.now
            self._settle_domain()
            self.trees.reroute()

    def _settle_domain(self) -> None:
        self._watch_both_sides()
        before = self.chord.before
        self.domain.claim(before[0] if before is not None else self.me[0] if self.chord.alone else None, self.now)
        if before is None:
            return
        given = self.trees.disowned()
        if (spare := self.domain.spare()) is not None:
            self._hand(before, spare, before[0], given, whole=True)
        elif given:
            self._hand(before, before[0], before[0], given, whole=False)

    def _watch_both_sides(self) -> None:
        """Who has lost those on both sides may have been taken for dead, and others for the owner of its keys.

        One who has lost the one before it only has not: that one's notes stop at those who know better. Nor has one
        that has somebody behind it for the first time, or somebody nearer.
        """
        behind, beside = self.chord.successor, self._beside
        if self.chord.before is None and not self.chord.alone and behind != beside and not self._is_nearer(behind):
            self.domain.forget()  # what is handed over from now on counts
        self._beside = behind
        self._company = self._company or behind != self.me

    def _is_nearer(self, behind: Spot) -> bool:
        if self._beside == self.me:
            return not self._company
        return behind != self.me and within(behind[0], self.me[0], self._beside[0], self.chord.bits)

    def _hand(self, heir: Spot, after: int, upto: int, wants: Mapping[str, list[int]], whole: bool) -> None:
        """``whole``: that is all that there is to be known of these keys."""
        left = [(topic, [each for each in members if each != self._gone]) for topic, members in wants.items()]
        for start in range(0, max(len(left), 1), HAND_TOPICS_MAX):
            last = whole and start + HAND_TOPICS_MAX >= len(left)
            self._say(heir, Hand(after, upto, left[start : start + HAND_TOPICS_MAX], last))

    # --- times

    def deadline(self) -> float | None:
        return earliest(self.chord.deadline(), self._refresh_at, self.domain.deadline)

    def due(self, now: float) -> None:
        self.now = now
        self.chord.due(now)
        self._keep_in_step()
        self.domain.due(now)
        if self._refresh_at is None or now >= self._refresh_at:
            self._refresh_at = now + self.options.refresh_s
            self.trees.refresh()

    def astray(self) -> str:
        """Why it is not where it belongs, for people to read; empty if it is, and is a root to others."""
        if why := self.chord.astray():
            return why
        return "" if self.domain.known is not None else "it does not know yet who wants the topics that it owns"

    @property
    def at_rest(self) -> bool:
        return self.chord.joined and self.trees.at_rest and self.domain.deadline is None

    # --- effects

    def _say(self, spot: Spot, message: ChordMessage | Wanted | Branch | Hand) -> None:
        self._send(spot, message)

    def _say_to(self, number: int, message: Wanted | Branch) -> None:
        self._send(self._spots[number], message)

"""A broker's place on the ring: Chord, with lists of successors, behind inputs and effects like everything here.

Each broker has an id. It knows whom it has before it, some brokers behind it, and fingers: the owners of keys at one,
two, four ... steps from its own id. Every round it asks its successor who is before that. If somebody has come
between, that one is the successor from now on; in any case the successor is told who is before it. The successor's
own list, one further, is one's own. This alone makes the ring right; fingers only make it quick, and are looked up in
turn, by way of the ring. So that it is right soon, nobody waits for a round to say what is new: whoever has somebody
else before it tells both that one and the one that was, whoever knows others behind it tells the one before it, and
after each change rounds follow quickly.

Whoever joins asks a contact for the owner of its own id, and has its successor by that. Whoever leaves tells the two
beside it. Whoever dies is taken out where its silence is noticed: a successor by an unanswered question, all others
when a connection to them cannot be made (``lost``). If nobody behind is left, it begins again at a contact, or at one
of those that it has known; it must not think at once that it is alone, and the owner of everything. Who was lost is
taken in again when it says something itself, not when somebody names it who has not noticed yet: else two could tell
each other of a dead one for ever. Who is named is asked, in the next round. Now and
then a contact, or anybody who was known once, is asked for the owner of the next id: so parts of a ring that have lost
each other become one again, as long as somebody in one knows somebody in the other. So is one who is known now: it may
be that all have a successor that has them before it, and yet the way round leads twice past every id. Then somebody
further on knows a nearer one.

Owns: the neighbours on the ring and the way to a key. Must not know: topics, or how a broker is reached.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from reknit.core.ring.options import RingOptions
from reknit.model.ring import BITS, distance, finger_keys, next_hop, within
from reknit.wire.ring import Bye, Find, Found, Notify, Poll, SameId, Spot, State

__all__ = ["Chord", "ChordMessage"]

ChordMessage = Find | Found | Poll | State | Notify | Bye | SameId

JOIN, AUDIT = -1, -2
"""Purposes of a question that is for no finger."""

MET_MAX = 64
"""Brokers that are remembered because they have said something."""

MISSES_MAX = 5
"""So often one of them is looked for in vain."""

ROUND_S_MIN = 0.05
"""So long after a round is the next if something has changed, or it was the first; then twice as long each time."""


class Chord:
    def __init__(
        self,
        me: Spot,
        send: Callable[[Spot, ChordMessage], None],
        options: RingOptions,
        rng: random.Random,
        contacts: Sequence[Spot] = (),
        bits: int = BITS,
    ) -> None:
        """``contacts``: brokers that may be on the ring already; with none, this is the first one."""
        self.me, self.send, self.options, self.rng, self.bits = me, send, options, rng, bits
        self.contacts = [spot for spot in contacts if spot[1] != me[1]]
        self.before: Spot | None = None
        self.behind: list[Spot] = []
        self.fingers: dict[int, Spot] = {}  # by number; of those that are not the successor
        self.refused = ""  # why this broker cannot be on the ring
        self.admits: Callable[[Spot], bool] = lambda spot: True  # asked who may come between
        self.changed = False  # ways may have changed since somebody looked
        self.joined = not self.contacts
        self.answered = False  # a successor has said who is beside it
        self.deserted = False  # nobody was found in ``alone_s``, though there were some to look for
        self._vouched = False  # the successor has said that this one is before it
        self._rest_s = ROUND_S_MIN  # from this round to the next
        self._keys = finger_keys(me[0], bits)
        self._next_finger = 0
        self._met: dict[str, Spot] = {}  # by name: whoever has ever said something; of this ring, or of another one
        self._mourned: dict[str, None] = {}  # by name: lost, and not heard of since
        self._rumoured: dict[str, Spot] = {}  # of these, who was named since the last round
        self._missed: dict[str, int] = {}  # how often it was not there, since it has said something
        self._mourning = False  # all are lost, and may be alive
        self._since: float | None = None  # without anybody, and not glad of it
        self._asked: tuple[Spot, float] | None = None  # the successor that has not answered yet, and since when
        self._rounded_at: float | None = None
        self._audit_at = 0.0
        self._left = False

    def seat(self, spots: Sequence[Spot]) -> None:
        """Begin with a ring of which all places are known, this one's among them."""
        others = sorted((spot for spot in spots if spot[1] != self.me[1]), key=self._way_from_me)
        self.joined = True
        if others:
            self._set_behind(others)
            self.before = others[-1]
            for number, key in enumerate(self._keys):
                owner = min(spots, key=lambda spot, key=key: distance(key, spot[0], self.bits))  # type: ignore[misc]
                if owner not in (self.me, self.successor):
                    self.fingers[number] = owner

    def _way_from_me(self, spot: Spot) -> int:
        return distance(self.me[0], spot[0], self.bits)

    # --- where keys lead

    @property
    def successor(self) -> Spot:
        return self.behind[0] if self.behind else self.me

    @property
    def alone(self) -> bool:
        return self.joined and not self.behind and not self._mourning

    def astray(self) -> str:
        """Why this broker is not, for sure, where it belongs on one ring with those that it looks for; for people."""
        if self.refused:
            return self.refused
        if self.deserted or not self.joined or (not self.behind and not self.alone):
            return f"not on a ring with {' or '.join(sorted(spot[1] for spot in self.acquainted())) or 'anybody'} yet"
        if self.alone or (self._vouched and self.before is not None):
            return ""
        return "its place on the ring is not settled yet"

    def owns(self, key: int) -> bool:
        if self.before is None:
            return self.alone
        return within(key, self.before[0], self.me[0], self.bits)

    def disowns(self, key: int) -> bool:
        """It is another one's, for sure."""
        return self.before is not None and not self.owns(key)

    def way_to(self, key: int) -> Spot | None:
        """The next broker on the way to the key's owner; None if that is this one, or nobody is known."""
        return None if self.owns(key) or not self.behind else self._nearest(key)

    def _nearest(self, key: int) -> Spot:
        """Of the successor and the fingers alone: others behind are for the day when the successor dies.

        So a way is what the ring's ids say, and a plan that knows no more than these comes to the same one.
        """
        known = {spot[0]: spot for spot in (self.successor, *self.fingers.values())}
        return known[next_hop(self.me[0], self.successor[0], known, key, self.bits)]

    def known(self) -> list[Spot]:
        """All brokers that this one may want to reach."""
        spots = [*self.behind, *self.fingers.values(), *([self.before] if self.before else [])]
        return list({spot[1]: spot for spot in spots}.values())

    def acquainted(self) -> list[Spot]:
        """The same, and those by which it would begin again."""
        spots = [*self.contacts, *self._met.values(), *self.known()]
        return list({spot[1]: spot for spot in spots}.values())

    def meet(self, spot: Spot) -> None:
        """It has said something."""
        if spot[1] not in self._met and len(self._met) >= MET_MAX:
            del self._met[next(iter(self._met))]
        self._met[spot[1]] = spot
        self._missed.pop(spot[1], None)

    def miss(self, name: str) -> None:
        """It cannot be reached. Who is not there again and again is not looked for any more, unless it is a contact."""
        self._missed[name] = self._missed.get(name, 0) + 1
        if self._missed[name] >= MISSES_MAX:
            self._met.pop(name, None)
            self._missed.pop(name, None)

    def _strangers(self) -> list[Spot]:
        """Those that are not known to be of this ring."""
        near = {spot[1] for spot in self.known()}
        return [spot for spot in self.acquainted() if spot[1] not in near]

    # --- times

    def deadline(self) -> float | None:
        if self._left or self.refused:
            return None
        return 0.0 if self._rounded_at is None else self._rounded_at + self._rest_s

    def due(self, now: float) -> None:
        at = self.deadline()
        if at is None or now < at:
            return
        self._rounded_at, self._rest_s = now, min(2 * self._rest_s, self.options.stabilise_s)
        if self._asked is not None and now >= self._asked[1] + self.options.answer_s_max:
            self.lost(self._asked[0])
        rumoured, self._rumoured = self._rumoured, {}
        for spot in rumoured.values():
            self.send(spot, Poll(self.me))  # it may live; then it answers
        self._look_for_others(now)
        if self.behind:
            if self._asked is None:
                self._asked = (self.successor, now)
            self.send(self.successor, Poll(self.me))
            self._look_up_fingers()
        if now >= self._audit_at:
            self._audit_at = now + self.options.audit_s
            for others in (self._strangers(), self.known()):
                if others:
                    self._ask(others, AUDIT, self.me[0] + 1)

    def _look_for_others(self, now: float) -> None:
        if self.behind:
            self._mourning, self._since, self.deserted = False, None, False
            return
        if others := self.acquainted():
            self._ask(others, JOIN, self.me[0])
        if self._mourning or not self.joined:
            self._since = now if self._since is None else self._since
            if now >= self._since + self.options.alone_s:
                self.joined, self._mourning, self.changed, self.deserted = True, False, True, True

    def _ask(self, others: Sequence[Spot], purpose: int, key: int) -> None:
        self.send(self.rng.choice(others), Find(key % (1 << self.bits), self.me, purpose))

    def _look_up_fingers(self) -> None:
        """In turn; those before the successor need no question, since it is all of them."""
        first = distance(self.me[0], self.successor[0], self.bits).bit_length()
        for number in [number for number in self.fingers if number < first]:
            self._set_finger(number, None)
        for _ in range(min(self.options.fingers_per_round, self.bits - first)):
            self._next_finger = self._next_finger + 1 if first <= self._next_finger + 1 < self.bits else first
            self._find(Find(self._keys[self._next_finger], self.me, self._next_finger))

    # --- what others say

    def received(self, message: ChordMessage) -> None:
        if self._left or not (self.joined or isinstance(message, Found | SameId)):
            return  # one that has not joined yet must not be taken for the broker that it may have been before
        match message:
            case Find():
                self._find(message)
            case Found(purpose=purpose, owner=owner):
                self._found(purpose, owner)
            case Poll(asker=asker):
                self._mourned.pop(asker[1], None)
                self._show(asker)
            case State():
                self._mourned.pop(message.of[1], None)
                self._compare(message)
            case Notify(sender=sender):
                self._mourned.pop(sender[1], None)
                self._notified(sender)
            case Bye():
                self._bye(message)
            case SameId(holder=holder):
                self.refused = f"{holder[1]} has the ring id {self.me[0]} already"

    def _find(self, message: Find) -> None:
        if message.hops > self.options.hops_max or (self._mourning and not self.behind):
            return  # who asks will ask again
        key, asker = message.key, message.asker
        if message.purpose < 0 and not self.admits(asker):
            self._tell(asker, Found(key, AUDIT, asker))  # it is not alone, and has to wait
            return
        if message.purpose == JOIN and key == self.me[0] and asker[1] != self.me[1]:
            self.send(asker, SameId(self.me))
        elif self.alone or within(key, self.me[0], self.successor[0], self.bits):
            owner = self.successor
            if message.purpose == JOIN and owner[0] == key and owner[1] not in (asker[1], self.me[1]):
                self.send(asker, SameId(owner))
            elif owner[1] == asker[1] and message.purpose < 0:
                self._tell_other(message)
            else:
                self._tell(asker, Found(key, message.purpose, owner))
        elif (hop := self._nearest(key))[1] == asker[1] and message.purpose < 0:
            self._tell_other(message)
        else:
            self.send(hop, Find(key, asker, message.purpose, message.hops + 1))

    def _tell_other(self, message: Find) -> None:
        """Who asks would be sent to itself: it has lost its successor, or begun anew. Anybody else is of use to it."""
        key, asker = message.key, message.asker
        others = [spot for spot in (*self.known(), self.me) if spot[1] != asker[1]]
        owner = min(others, key=lambda spot: distance(key, spot[0], self.bits), default=asker)
        self._tell(asker, Found(key, message.purpose, owner))

    def _tell(self, asker: Spot, found: Found) -> None:
        if asker == self.me:
            self._found(found.purpose, found.owner)
        else:
            self.send(asker, found)

    def _found(self, purpose: int, owner: Spot) -> None:
        if owner[1] in self._mourned:
            self._rumoured[owner[1]] = owner
        elif purpose >= 0:
            self._set_finger(purpose, owner if owner != self.me and purpose < self.bits else None)
        elif owner == self.me:
            self._since = None  # there is somebody, who does not let it in yet
        elif not self.admits(owner):
            return
        elif owner != self.me and (not self.behind or self._is_between(owner)):
            self.joined = True
            self._set_behind([owner, *self.behind])
            self.send(owner, Poll(self.me))
        elif purpose == AUDIT and owner not in (self.me, self.successor):
            self.send(owner, Notify(self.me))  # of another ring, perhaps, which learns of this one by that

    def _is_between(self, spot: Spot) -> bool:
        return spot != self.successor and within(spot[0], self.me[0], self.successor[0], self.bits) and spot != self.me

    def _compare(self, state: State) -> None:
        """The successor, or one that has come between, has said who is beside it."""
        if state.of == self.successor:
            self._asked, self.answered = None, True
        if state.of == self.successor or self._is_between(state.of):
            self._set_behind([state.of, *(state.behind or self.behind)])  # one that knows nobody is no end
            self._vouched = state.before == self.me
        if state.before is not None and self._is_between(state.before) and self.admits(state.before):
            self.send(state.before, Poll(self.me))  # it is the successor once it has answered: it may be dead
        if self.behind:
            self.send(self.successor, Notify(self.me))

    def _notified(self, sender: Spot) -> None:
        if sender[0] == self.me[0]:
            if sender[1] != self.me[1]:
                self.send(sender, SameId(self.me))
        elif not self.admits(sender):
            return
        elif self.before is None or within(sender[0], self.before[0], self.me[0], self.bits):
            was, self.before = self.before, sender
            if not self.behind:
                self._set_behind([sender])
            if was != sender:
                self._change()
                for spot in (was, sender):
                    self._show(spot)

    def _show(self, spot: Spot | None) -> None:
        if spot is not None:
            self.send(spot, State(self.me, self.before, self.behind))

    def _change(self) -> None:
        self.changed, self._rest_s = True, ROUND_S_MIN

    # --- who goes

    def leave(self) -> None:
        """Tell the two beside this one, and be silent."""
        bye = Bye(self.me, self.before, self.behind)
        for spot in {each[1]: each for each in (self.before, *self.behind[:1]) if each is not None}.values():
            self.send(spot, bye)
        self._left = True

    def _bye(self, bye: Bye) -> None:
        if bye.sender == self.before:
            self.before = bye.before if bye.before != self.me else None
            self._change()
        was_next = bye.sender == self.successor
        self.lost(bye.sender)
        self._mourning = False
        if was_next:
            self._set_behind([*(each for each in bye.behind if each != bye.sender), *self.behind])

    def lost(self, spot: Spot) -> None:
        """It is dead, or cannot be reached."""
        self._mourned[spot[1]] = None
        if len(self._mourned) > MET_MAX:
            del self._mourned[next(iter(self._mourned))]
        if self._asked is not None and self._asked[0] == spot:
            self._asked = None
        if spot == self.before:
            self.before = None
            self._change()
        for number in [number for number, finger in self.fingers.items() if finger == spot]:
            del self.fingers[number]
            self._change()
        if spot in self.behind:
            self._mourning = True
            self._set_behind([each for each in self.behind if each != spot])

    def _set_behind(self, spots: Sequence[Spot]) -> None:
        """In their order, each once; the list ends where it has come round."""
        found: list[Spot] = []
        for spot in spots[: self.options.successors_max + 1]:
            if spot[1] == self.me[1]:
                break
            if spot[1] in self._mourned:
                self._rumoured[spot[1]] = spot
            elif spot not in found:
                found.append(spot)
        if found[: self.options.successors_max] != self.behind:
            self._vouched = self._vouched and found[:1] == self.behind[:1]
            self.behind = found[: self.options.successors_max]
            self._change()
            self._show(self.before)

    def _set_finger(self, number: int, spot: Spot | None) -> None:
        if self.fingers.get(number) != spot:
            self._change()
            if spot is None:
                del self.fingers[number]
            else:
                self.fingers[number] = spot

"""SCAMP: each member knows about ``(c + 1) ln N`` others, and nobody knows all.

A newcomer asks one member. That one sends a copy of the subscription to everybody in its view, and ``c`` copies more;
each copy goes from member to member until one keeps it, which a member does with probability ``1 / (1 + its view)``.
So views grow with the logarithm of the community, though nobody knows its size. *In-view* is who has us in their
view; a member that leaves gives those its own view in its place, but for ``c + 1`` of them, so that views shrink as
they have grown.

Every place in a view is leased. Its owner subscribes again before the lease ends, through somebody of its own view;
old places run out, so views are mixed anew all the time, and the dead vanish. A renewal makes as many copies as a
view should have members by the count of the community (``census``), more where the view at hand is smaller than that,
and fewer where it is larger; were it as many as the view happens to have, sizes would wander without anything that
brings them back.

What the original leaves open is settled so. A copy that nobody could keep within its hops is kept by the last one who
can, so that in a community of a few, where all are in all views, it renews a lease. Words are confirmed
(``courier``), so a member that has died is noticed by whoever sends it a copy, and the copy goes elsewhere.

A place that is about to run out keeps nobody from giving the same peer a new one. A member that nobody has let
subscribe, since it was the first, or alone when it was time to, does so once it knows others: what others have given it
without being asked, when they came or met it, is not enough to be known by.

Owns: view, in-view, leases, heartbeats. Must not know: events, or members above.
"""

from __future__ import annotations

from math import ceil, inf, log

from reknit.community.census import Census
from reknit.community.courier import Courier
from reknit.community.grid.grid import Grid
from reknit.community.memberships.base import Membership
from reknit.community.options import TopicOptions
from reknit.community.turn import Turn
from reknit.community.view import View
from reknit.wire.peers import (
    HOPS_MAX,
    LEASE_S_MAX,
    Contact,
    Forward,
    Heartbeat,
    Kept,
    Remove,
    Replace,
    Subscribe,
    Word,
)

__all__ = ["BALANCE", "HOPS_PER_MEMBER", "RENEW_AT", "Scamp"]

HOPS_PER_MEMBER = 10
"""A copy may take so many hops for each member of the view that it began at: it needs one on average."""

RENEW_AT = (0.9, 0.95)
"""The part of a lease after which its owner subscribes again: late, since old places stay until they run out."""

BALANCE = 0.5
"""By so much of what the view of whoever acts on it is too small, or too large, a renewal makes more copies, or fewer:
a view has places for those that were met, too, and in a community of a few copies come upon places that are taken."""

_LEASE_S_MIN = 0.001


class Scamp(Membership):
    def __init__(
        self, topic: str, options: TopicOptions, turn: Turn, courier: Courier, grid: Grid | None = None
    ) -> None:
        super().__init__(topic, options, turn, courier, grid)
        self.terms = options.scamp
        self.in_view = View(turn.me, 2 * options.scamp.view_max)
        self.census = Census(turn.rng, options.scamp.epoch_beats)
        self._renew_at = inf  # not subscribed
        self._beat_at = turn.now + turn.rng.uniform(0.0, self.terms.heartbeat_s)
        self._heard_at = turn.now

    def population(self) -> float:
        known = len(self.view) + 1.0
        return float(self.options.population or max(known, self.census.population()))

    # --- coming and going

    def join(self, contacts: tuple[str, ...]) -> None:
        if contacts:
            contact = self.turn.rng.choice(contacts)
            self.add(contact, self.turn.now + self.terms.lease_s)
            self._subscribe(contact, self.terms.walk_hops, renewal=False)

    def _subscribe(self, contact: str, walk: int, renewal: bool) -> None:
        me, lease_s = self.turn.me, self.terms.lease_s
        self.courier.send(contact, Subscribe(self.topic, me, walk, lease_s, renewal))
        self._renew_at = self.turn.now + lease_s * self.turn.rng.uniform(*RENEW_AT)
        self._heard_at = self.turn.now  # whoever is to keep it needs some time

    def leave(self) -> None:
        """Who has us in its view gets one of ours for it, but for the last few, who just forget us."""
        holders, heirs = list(self.in_view), list(self.view)
        replaced = max(0, len(holders) - self.terms.copies - 1) if heirs else 0
        for place, holder in enumerate(holders):
            heir = heirs[place % len(heirs)] if place < replaced else holder
            if heir == holder:
                self.courier.send(holder, Remove(self.topic))
            else:
                self.courier.send(holder, Replace(self.topic, heir, self._left_s(self.view.until(heir))))
        for heir in heirs:
            if heir not in self.in_view:
                self.courier.send(heir, Remove(self.topic))

    def _left_s(self, until: float) -> float:
        return min(max(until - self.turn.now, _LEASE_S_MIN), LEASE_S_MAX)

    def meet(self, peers: tuple[str, ...]) -> None:
        """One place, until the next is met: where there are two parts, copies find their way over it, and mix them."""
        strangers = [peer for peer in peers if peer != self.turn.me and peer not in self.view]
        if strangers and not self.view.is_full():
            self.add(strangers[0], self.turn.now + self.terms.reunion_s)
            self.courier.send(strangers[0], Kept(self.topic, self.terms.reunion_s))

    # --- words

    def receive(self, sender: str, word: Word) -> list[Contact]:
        match word:
            case Subscribe():
                self._take_subscription(sender, word)
            case Forward():
                self._take_copy(word)
            case Kept():
                self._heard_from(sender)
            case Replace(by=heir, lease_s=lease_s):
                self._replace(sender, heir, lease_s)
            case Remove():
                self.drop(sender)
                self.in_view.drop(sender)
            case Heartbeat():
                return self._take_heartbeat(sender, word)
            case _:
                self.turn.count("unexpected")
        return []

    def _take_subscription(self, sender: str, word: Subscribe) -> None:
        newcomer = word.subscriber
        if newcomer == self.turn.me:
            self.turn.count("unexpected")
            return
        if sender == newcomer and not word.renewal:
            self.in_view.add(sender, self.turn.now + self._isolated_s())
        further = self.view.one(self.turn.rng, newcomer)
        if further is None:
            self._keep(newcomer, word.lease_s)
        elif walk := min(word.walk, self._far()):
            self.courier.send(further, Subscribe(self.topic, newcomer, walk - 1, word.lease_s, word.renewal))
        else:
            self._spread(word)

    def _far(self) -> int:
        """How long a walk has to be until it may have got anywhere."""
        return ceil(2 * log(self.population()))

    def _spread(self, word: Subscribe) -> None:
        """We are the contact."""
        others = [peer for peer in self.view if peer != word.subscriber]
        hops = min(HOPS_MAX, HOPS_PER_MEMBER * (len(others) + 1))
        copy = Forward(self.topic, word.subscriber, hops, word.lease_s)
        for peer in self._targets(others, self._copies(word.renewal, len(others))):
            self.courier.send(peer, copy)

    def _copies(self, renewal: bool, others: int) -> int:
        if not renewal:
            return others + self.terms.copies
        theory = (self.terms.copies + 1) * log(self.population())
        wanted = theory * sum(RENEW_AT) / 2  # since for the rest of the time old places are there, too
        wanted += BALANCE * (theory - len(self.view))
        return max(1, ceil(wanted - self.turn.rng.random()))  # on average as many as are wanted

    def _targets(self, others: list[str], copies: int) -> list[str]:
        """Everybody once, before anybody is drawn again."""
        first = self.turn.rng.sample(others, min(copies, len(others)))
        return first + [self.turn.rng.choice(others) for _ in range(copies - len(first))]

    def _take_copy(self, word: Forward) -> None:
        further = self.view.one(self.turn.rng, word.subscriber)
        if self._keeps(word, further is None):
            self._keep(word.subscriber, word.lease_s)
        elif further is not None:
            hops_left = max(0, word.hops_left - 1)
            self.courier.send(further, Forward(self.topic, word.subscriber, hops_left, word.lease_s))
        else:
            self.turn.count("copies_lost")

    def _keeps(self, word: Forward, nobody_else: bool) -> bool:
        if word.subscriber == self.turn.me:
            return False
        if nobody_else or not word.hops_left:
            return True
        return not self._has(word) and self.turn.rng.random() * (1 + len(self.view)) < 1.0

    def _has(self, word: Forward) -> bool:
        """Whether this very subscription has a place here; one that is about to run out is that of an earlier one."""
        peer = word.subscriber
        return peer in self.view and self.view.until(peer) - self.turn.now > word.lease_s / 2

    def _keep(self, peer: str, lease_s: float) -> None:
        until = self.turn.now + min(lease_s, LEASE_S_MAX)
        if peer not in self.view and self.view.is_full():
            self.turn.count("view_full")
            return
        self.add(peer, until)
        self.courier.send(peer, Kept(self.topic, lease_s))

    def _replace(self, sender: str, heir: str, lease_s: float) -> None:
        """Only for who was there: nobody else has a place to give away."""
        self.in_view.drop(sender)
        if sender not in self.view:
            return
        self.drop(sender)
        if heir not in (self.turn.me, sender) and heir not in self.view:
            self._keep(heir, lease_s)

    def _take_heartbeat(self, sender: str, word: Heartbeat) -> list[Contact]:
        """What it tells is believed of who was known before: a single word of a stranger changes nothing."""
        is_known = sender in self.in_view or sender in self.view
        if word.minima and not self.census.hear(word.epoch, word.minima, is_known):
            self.turn.count("forged")
            return []
        self._heard_from(sender)
        if not is_known:
            self.turn.count("unknown")
        return list(word.supers) if is_known else []

    def _heard_from(self, sender: str) -> None:
        """It has us in its view; it will say so again with each heartbeat."""
        self._heard_at = self.turn.now
        self.in_view.add(sender, self.turn.now + self._isolated_s())

    def _isolated_s(self) -> float:
        return self.terms.isolation_beats * self.terms.heartbeat_s

    def failed(self, to: str, word: Word) -> None:
        """It is dead: a copy goes to somebody else, a subscription through somebody else."""
        self.drop(to)
        self.in_view.drop(to)
        if isinstance(word, Forward):
            self._take_copy(word)
        elif isinstance(word, Subscribe):
            further = self.view.one(self.turn.rng, word.subscriber)
            if word.subscriber != self.turn.me:
                self._take_subscription(to, word)
            elif further is not None:
                self._subscribe(further, word.walk, word.renewal)
            else:
                self._renew_at = inf

    # --- time

    def deadline(self) -> float:
        return min(self._beat_at, self._renew_at, self.view.next_end())

    def due(self) -> None:
        self.expire()
        self.in_view.expire(self.turn.now)
        forgotten = self.turn.now - self._heard_at >= self._isolated_s()
        if self._renew_at <= self.turn.now or self._renew_at == inf or forgotten:
            self._renew(forgotten)

    def _renew(self, forgotten: bool) -> None:
        contact = self.view.one(self.turn.rng)
        if contact is None:
            self._renew_at = inf  # as soon as there is one
            return
        if forgotten:
            self.turn.count("isolated")
        self._subscribe(contact, 0, renewal=not forgotten)

    def beat(self) -> bool:
        return self._beat_at <= self.turn.now

    def tell(self, supers: tuple[Contact, ...]) -> None:
        self._beat_at = self.turn.now + self.turn.jitter(self.terms.heartbeat_s)
        self.census.beat()
        heartbeat = Heartbeat(self.topic, self.census.epoch, self.census.sketch(), supers)
        for peer in self.view:
            self.turn.send(peer, heartbeat)

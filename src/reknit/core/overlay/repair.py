"""Unplanned repair: a link or a broker is lost for good, and the tree becomes whole again by itself.

A neighbour that has been out of reach for ``lost_s`` seconds is taken for lost. If only the *link* is gone, both of its
ends live, and there is a path between them over a neighbour of the other end: the link is replaced by one to that
neighbour, with ``path``. The walk along it (``walk``) is asked of brokers that hold both other links, and the lost end
itself agrees, so the tree stays one. If a *broker* is gone, there is no such path, and its neighbours tell each other
so. Then each of them gives it up, and the parts that are left are joined by searches, which close no cycle whoever
asks whom at once (``join``). Each asks all others that it knows of: a part that can reach any of them is in.

Whom to turn to, brokers tell each other while all is well: each tells its neighbours of the others (``Around``).
Besides there are standby links, which the configuration names; whoever gives up a neighbour tells its part
(``Apart``), so that they are tried wherever they are.

Giving up takes one side only, so the lost one may still hold us for its neighbour when it is back. Then it is turned
away, and asks to be joined; as long as it does not know, searches that pass by it wait. Hence no old link closes a
cycle, however late it comes back; our next life is told, too.

Owns: who is out of reach, and whom to turn to. Must not know: routes.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from reknit.core.links.links import Links
from reknit.core.overlay.events import OverlayEvent
from reknit.core.overlay.options import OverlayOptions, RepairOptions
from reknit.core.overlay.overlay import Overlay
from reknit.core.overlay.walk import Walk
from reknit.core.turn import Turn
from reknit.wire.messages import Apart, Around, RepairMessage

__all__ = ["Repair"]

KNOWN_MAX = 256
"""Neighbours, past ones among them, whose neighbours are known."""

STEP_S = 0.25
"""Those that a broker turns to are asked one after another, this far apart."""


@dataclass(slots=True)
class _Loss:
    """A neighbour that is taken for lost, while its link is to be replaced."""

    peer: str
    others: dict[str, str]  # its neighbours that may lead to it, with their addresses
    try_at: float | None  # None while an attempt is under way
    trying: str = ""
    tries: int = 0


class Repair:
    def __init__(
        self,
        turn: Turn,
        links: Links,
        overlay: Overlay,
        walk: Walk,
        usable: Callable[..., str],
        give_up: Callable[[str, str], Iterator[OverlayEvent]],
        options: RepairOptions,
        times: OverlayOptions,
        rng: random.Random,
    ) -> None:
        """``usable``: the first of some strategies that can be used; ``give_up``: a neighbour, and why."""
        self.turn = turn
        self.links = links
        self.overlay = overlay
        self.walk = walk
        self.usable = usable
        self.give_up = give_up
        self.options = options
        self.times = times
        self.rng = rng
        self.on = options.lost_s > 0
        self._down: dict[str, float] = {}  # by neighbour that is out of reach: since when
        self._losses: dict[str, _Loss] = {}
        self._told: dict[str, list[tuple[str, str]]] = {}  # by neighbour: what it knows of our others
        if self.on:
            walk.is_lost = lambda peer: peer in self._losses
            walk.tried = self._tried
            overlay.want_back = self.rejoin
            overlay.leaves.lost_s = options.lost_s
            overlay.search.unreached = lambda peer: peer in self._down

    # --- who is out of reach

    def end_of_turn(self) -> None:
        if not self.on:
            return
        tree = self.overlay.neighbours()
        for peer in tree:
            if self.links.of[peer].greeted:
                self._is_back(peer)
            else:
                self._down.setdefault(peer, self.turn.now)
        if self.links.changed:
            for peer in [peer for peer in self._down if peer not in tree]:
                del self._down[peer]
            self._tell_around(tree)

    def _is_back(self, peer: str) -> None:
        if peer in self._down:
            del self._down[peer]
            self._losses.pop(peer, None)

    def deadline(self) -> float | None:
        if not self._down and not self._losses:
            return None
        times = [since + self.options.lost_s for peer, since in self._down.items() if peer not in self._losses]
        times += [loss.try_at for loss in self._losses.values() if loss.try_at is not None]
        return min(times, default=None)

    def due(self) -> Iterator[OverlayEvent]:
        now = self.turn.now
        for peer, since in list(self._down.items()):
            if peer not in self._losses and now >= since + self.options.lost_s:
                self._ripe(peer)
        for loss in list(self._losses.values()):
            if loss.try_at is not None and now >= loss.try_at:
                yield from self._try(loss)

    def _ripe(self, peer: str) -> None:
        """It has been out of reach for too long; unless we are in the midst of something else with it."""
        if self.overlay.closed:
            self.overlay.reopen(peer)
        if self.overlay.closed or self.overlay.swaps.involves(peer):
            self._down[peer] = self.turn.now + self.times.backoff_s_max - self.options.lost_s
        else:
            self._losses[peer] = _Loss(peer, self.others(peer), self._soon())

    def _soon(self) -> float:
        """Both ends of a lost link may try at once, and be in each other's way; so not at the same time."""
        return self.turn.now + self.rng.uniform(self.times.backoff_s_min, self.times.backoff_s_max)

    # --- the link alone is gone: replace it

    def _try(self, loss: _Loss) -> Iterator[OverlayEvent]:
        if not loss.others or loss.tries >= self.options.tries_max:
            yield from self._part(loss)
            return
        loss.tries += 1
        loss.trying, address = next(iter(loss.others.items()))
        loss.others[loss.trying] = loss.others.pop(loss.trying)  # the next time it is another one's turn
        loss.try_at = None
        yield from self.walk.repair(loss.peer, loss.trying, address, self.usable("path", "deferred"))

    def _tried(self, peer: str, error: str, retry: bool) -> None:
        """If it has come to pass, the link is gone by now, and so is the loss."""
        loss = self._losses.get(peer)
        if loss is not None and error:
            loss.try_at = self._soon()
            if not retry:
                loss.others.pop(loss.trying, None)

    # --- the broker is gone: join what is left

    def _part(self, loss: _Loss) -> Iterator[OverlayEvent]:
        del self._losses[loss.peer]
        address = self.links.of[loss.peer].address
        yield from self.give_up(loss.peer, f"out of reach for more than {self.options.lost_s:g} s")
        self._say(Apart(loss.peer), "")
        self.rejoin(loss.peer, address)

    def rejoin(self, lost: str, address: str) -> None:
        """Find the tree again, by way of any that may be in it; at last, of the lost one itself.

        Of two that look for each other the greater name asks first, and the other seldom needs to.
        """
        joins, others = self.overlay.joins, self.others(lost) or self._anyone(lost)
        first = [name for name in sorted(others) if name < self.turn.node]
        later = [name for name in sorted(others) if name > self.turn.node]
        for place, name in enumerate(first):
            joins.want_back(name, others[name], place * STEP_S)
        self._use_standby(len(first) * STEP_S)
        for place, name in enumerate(later):
            joins.want_back(name, others[name], self.times.lease_s / 2 + place * STEP_S)
        joins.want_back(lost, address, 0.0 if not others else self.times.lease_s)

    def _use_standby(self, after_s: float) -> None:
        for place, (name, address) in enumerate(self.options.standby.items()):
            self.overlay.joins.want_back(name, address, after_s + place * STEP_S)

    # --- whom to turn to

    def others(self, peer: str) -> dict[str, str]:
        """The other neighbours of a neighbour, and where they are."""
        known = self.overlay.around.get(peer, {})
        return {name: address for name, address in known.items() if name != self.turn.node and name != peer and address}

    def _anyone(self, lost: str) -> dict[str, str]:
        """All that this broker has ever heard of: a neighbour that was lost right away has not told of its own.

        Those that were neighbours themselves among them, such as the one from which a swap has taken our link.
        """
        known = {
            name: address for others in self.overlay.around.values() for name, address in others.items() if address
        }
        known.pop(lost, None)
        known.pop(self.turn.node, None)
        return dict(list(known.items())[: self.options.around_max])

    def _tell_around(self, tree: list[str]) -> None:
        for peer in [peer for peer in self._told if peer not in tree]:
            del self._told[peer]
        for peer in tree:
            others = [(name, self.links.of[name].address) for name in tree if name != peer]
            some = others[: self.options.around_max]
            if self._told.get(peer, []) != some:
                self._told[peer] = some
                self.links.of[peer].send(Around(some))

    def receive(self, peer: str, message: RepairMessage) -> None:
        if not self.on:
            return
        if isinstance(message, Around):
            around = self.overlay.around
            around.pop(peer, None)
            link = self.links.of.get(peer)
            itself = {peer: link.address} if link is not None and self.options.around_max else {}
            around[peer] = itself | dict(message.neighbours[: self.options.around_max])
            if len(around) > KNOWN_MAX:
                del around[next(iter(around))]
            self.links.changed = True
            return
        self._say(message, peer)
        self._use_standby(0.0)

    def _say(self, apart: Apart, sender: str) -> None:
        """To all of this part of the tree, but for where it came from."""
        for peer in self.overlay.neighbours():
            if peer != sender:
                self.links.of[peer].send(apart)

    # --- what becomes of links

    def met(self, peer: str) -> None:
        """It tells all anew, and is to be told."""
        if self.on and self._told.pop(peer, None) is not None:
            self.links.changed = True

    def unlinked(self, peer: str) -> None:
        self._down.pop(peer, None)
        self._losses.pop(peer, None)

    @property
    def at_rest(self) -> bool:
        return not self._losses and not self._down

"""A planned change before and after: the path is walked, checked and locked; in the end it is let go.

The first broker of the path (A) is asked by an operator. ``Prepare`` walks the path, over the new link too, which C has
dialled for it: each broker checks that the next is its neighbour and that no other change or join has it, and locks
itself. B checks that it is linked with A, and answers; ``Prepared`` walks back. Until here nothing has changed: whoever
refuses has the locks before it released, with the reason. A broker that is busy is no reason to give up: A tries again
after a random time, so that of two changes that collide one comes after the other.

Then A leaves B, behind all that is in flight; when both ends have let go, the strategy begins. When it is over,
``Done`` walks from D both ways. Locks have leases. A lease that ends before the old link was left gives up the change.
One that ends later, because somebody on the path has died, lets the ends of the old link ask for it again, by a search
like any other join: if the new link has come about after all, the search finds the way, and the old one is not needed.
A asks D as well, for B may have left for good meanwhile.

Owns: the lock of this broker, and the changes that it was asked for. Must not know: how routes follow.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Any

from reknit.core.io import Replace, Reply
from reknit.core.links.links import Links
from reknit.core.overlay.change import Place, fault, make_change
from reknit.core.overlay.events import OverlayEvent
from reknit.core.overlay.history import deed_of
from reknit.core.overlay.new_link import NewLinks
from reknit.core.overlay.options import OverlayOptions
from reknit.core.overlay.overlay import Overlay
from reknit.core.overlay.strategy import Strategy
from reknit.core.overlay.walked import Asked, Lock, id_of, others_of, place_of, shown_lock, shown_wish
from reknit.core.turn import Turn
from reknit.trace.records import Kind
from reknit.wire.messages import Abort, Change, ChangeMessage, Done, Flush, Prepare, Prepared

__all__ = ["Walk"]


class Walk:
    def __init__(
        self,
        turn: Turn,
        links: Links,
        overlay: Overlay,
        new_links: NewLinks,
        options: OverlayOptions,
        rng: random.Random,
        source: str,
        strategies: Mapping[str, Strategy],
        refusal: Callable[[str], str],
        drop: Callable[[str, str], None],
        flushes: bool,
    ) -> None:
        """``refusal``: why a strategy cannot be used here; ``drop``: give up the new link to this broker, and why.

        ``flushes``: whether what was said by the old tree is waited for, lest a broker is heard of from two sides.
        Then nothing may be said over the new link before all has been heard that was said because the old one is gone.
        """
        self.turn = turn
        self.links = links
        self.overlay = overlay
        self.new_links = new_links
        self.options = options
        self.rng = rng
        self.source = source
        self.strategies = strategies
        self.refusal = refusal
        self.drop = drop
        self.flushes = flushes
        self.history = overlay.history
        self.is_lost: Callable[[str], bool] = lambda _: False  # whether a neighbour is taken for lost here
        self.tried: Callable[[str, str, bool], None] = lambda *_: None  # a repair: of whom, why not, only for now?
        self.lost: dict[str, None] = {}  # neighbours whose links have vanished, and nothing has come instead
        self._lock: Lock | None = None
        self._asked: list[Asked] = []
        self._count = 0

    # --- the first broker

    def ask(self, wish: Replace) -> Iterator[OverlayEvent]:
        if why := self._fault(wish):
            self.turn.effects.append(Reply(wish.request, why))
            return
        asked = Asked(wish, self.turn.now, self.turn.now)
        self._asked.append(asked)
        yield from self._try(asked)

    def repair(self, lost: str, by: str, address: str, strategy: str) -> Iterator[OverlayEvent]:
        """Replace the link to ``lost`` by one to ``by``, a neighbour of it. Once; ``tried`` will say how it went."""
        wish = Replace(strategy, (self.turn.node,), (by, lost), address, 0)
        asked = Asked(wish, self.turn.now, self.turn.now, lost=lost)
        self._asked.append(asked)
        yield from self._try(asked)

    def _fault(self, wish: Replace) -> str:
        if why := fault(wish.head, wish.tail) or self.refusal(wish.strategy):
            return why
        if wish.head[0] != self.turn.node:
            return f"the path begins at {wish.head[0]}, not at {self.turn.node}: ask there"
        if not wish.address:
            return f"the address of {wish.tail[0]} is needed"
        return ""

    def _try(self, asked: Asked) -> Iterator[OverlayEvent]:
        self._count += 1
        asked.tries += 1
        asked.id = f"{self.source}:{self._count}"
        wish = asked.wish
        change = make_change(asked.id, wish.strategy, wish.head, wish.tail)
        prepare = Prepare(change, wish.address, vanished=bool(asked.lost) or wish.tail[-1] in self.lost)
        error, retry = yield from self._take(prepare, Place(change, 0))
        if error:
            self._failed(asked.id, error, retry)

    def _failed(self, id_: str, error: str, retry: bool) -> None:
        """Before anything has changed."""
        asked = next((each for each in self._asked if each.id == id_), None)
        if asked is None:
            return
        asked.id, asked.last = "", error
        self.history.waits(id_, error)
        if asked.lost:
            self._asked.remove(asked)
            self.history.end(id_, error)
            self.tried(asked.lost, error, retry)
            return
        if retry and self.turn.now - asked.begun <= self.options.join_s_max:
            longest = min(self.options.backoff_s_max, self.options.backoff_s_min * 2 ** min(asked.tries + 1, 16))
            asked.try_at = self.turn.now + self.rng.uniform(self.options.backoff_s_min, longest)
            return
        why = f"given up after {self.options.join_s_max:g} s: {error}" if retry else error
        self.turn.tell(Kind.REFUSED, peer=asked.wish.tail[0], detail=why)
        self._answer(asked, why)

    def _answer(self, asked: Asked, error: str) -> None:
        self._asked.remove(asked)
        self.history.end(asked.change, error)
        if asked.lost:
            self.tried(asked.lost, error, True)
        else:
            self.turn.effects.append(Reply(asked.wish.request, error, asked.change))

    def _enter(self, place: Place) -> None:
        """Into the history. Of several attempts, the last counts."""
        id_, deed = place.change.id, deed_of(place.change)
        asked = next((each for each in self._asked if each.id == id_), None)
        if asked is None:
            self.history.begin(id_, deed, place.part)
            return
        self.history.forget(asked.change)
        asked.change = id_
        self.history.begin(id_, deed, place.part, asked.wish.of, asked.begun)

    # --- along the path

    def _take(self, prepare: Prepare, place: Place) -> Generator[OverlayEvent, None, tuple[str, bool]]:
        """Lock this broker and pass the question on; returns why not, and whether that is only for now."""
        if busy := self.overlay.search.busy or self.overlay.closed or self._following():
            return busy, True
        if not self.overlay.swaps.ready:  # what it hears later would stand against what comes over the new link
            return f"{self.turn.node} has not heard from all its neighbours yet", True
        if busy := self._still_there(prepare, place):
            return busy, True
        if why := self._misfit(prepare, place):
            return why, False
        beyond = None if place.is_near or place.is_last or not prepare.vanished else self.links.of[place.behind]
        if beyond is not None and not beyond.greeted:  # by way of a broker that does not reach the other end either
            return f"{self.turn.node} does not reach {place.behind} either", not self.is_lost(place.behind)
        self._lock = Lock(prepare, place, self.turn.now + self.options.lease_s, self.turn.now)
        self._enter(place)
        self._see(place, "", "lock")
        self.overlay.search.reserved = f"{self.turn.node} takes part in a change that {place.change.path[0]} began"
        if place.old_peer in self.links.of:
            self._lock.address = self.links.of[place.old_peer].address
        if place.is_last:
            yield from self._agree(prepare, place)
        elif place.is_near:
            self.new_links.ask(place.behind, prepare.address, place.change.id)
        else:
            self.send(place.behind, prepare)
        return "", False

    def _misfit(self, prepare: Prepare, place: Place) -> str:
        """Why the path is not as it was said to be."""
        if why := self.refusal(place.change.strategy):
            return why
        me, near = self.turn.node, self.overlay.neighbours()
        if not place.is_near and not place.is_last and place.behind not in near:
            return f"{me} and {place.behind} are no neighbours, though the path leads from one to the other"
        if place.is_near and place.behind in near:
            return f"{me} and {place.behind} are linked already"
        if place.old_peer and place.old_peer not in near and not (prepare.vanished and place.old_peer in self.lost):
            return f"{me} has no link to {place.old_peer} that could be replaced"
        return ""

    def _following(self) -> str:
        """Routes that still follow an earlier change are not edited for another one."""
        at_rest = all(strategy.at_rest for strategy in self.strategies.values())
        return "" if at_rest else f"the routes of {self.turn.node} still follow a link that was replaced"

    def _still_there(self, prepare: Prepare, place: Place) -> str:
        """B does not take it from others that a link has vanished which it sees to be up.

        Nor does C dial D anew as long as a former link of the two is not empty, such as one that a swap has replaced;
        nor do A and B let go of each other while one of them has such a link to anybody.
        """
        if place.is_near and place.behind in self.links.of and place.behind not in self.overlay.neighbours():
            return f"the former link of {self.turn.node} and {place.behind} is not empty yet"
        link = self.links.of.get(place.old_peer)
        if prepare.vanished and place.is_last and link is not None and link.greeted:
            return f"{self.turn.node} sees its link to {place.old_peer} to be up"
        return self.overlay.swaps.emptying if place.old_peer and not prepare.vanished else ""

    def _agree(self, prepare: Prepare, place: Place) -> Iterator[OverlayEvent]:
        """B: all are locked. Where the old link is gone for A, it is for us."""
        if prepare.vanished and place.behind in self.links.of:
            keep = self.strategies[place.change.strategy].keeps
            yield from self.overlay.cut(place.behind, f"lost to {place.behind}", keep, lost=True)
        self.send(place.before, Prepared(place.change.id, "", retry=False))

    def on_prepare(self, peer: str, prepare: Prepare) -> Iterator[OverlayEvent]:
        me, place = self.turn.node, Place.find(prepare.change, self.turn.node)
        if place is None or place.before != peer or place.is_first:
            error, retry = f"{me} has no such place on the path", False
        elif place.is_far and not self.new_links.serves(peer, prepare.change.id):
            error, retry = f"{peer} and {me} are linked already", False
        else:
            error, retry = yield from self._take(prepare, place)
        if error:
            self.send(peer, Prepared(prepare.change.id, error, retry))

    def on_prepared(self, peer: str, prepared: Prepared) -> Iterator[OverlayEvent]:
        lock = self._lock_for(prepared.id)
        if lock is None or lock.gone or peer != lock.place.behind or lock.place.is_last:
            return
        if prepared.error:
            self._back_out(lock, prepared.error, prepared.retry)
        elif not lock.place.is_first:
            self.send(lock.place.before, prepared)
        elif self.turn.now > lock.expires - self.options.lease_s / 2:
            self._abort(lock, "the brokers on the path did not answer in time", retry=True)
        else:
            yield from self._commit(lock)

    def connected(self, id_: str) -> None:
        """C: the new link is there, and the walk goes on over it."""
        if (lock := self._lock_for(id_)) is not None:
            self.send(lock.place.behind, lock.prepare)

    def denied(self, peer: str, reason: str, retry: bool) -> None:
        """C: the far end will have no link."""
        lock = self._lock
        if lock is not None and lock.place.is_near and lock.place.behind == peer and not lock.gone:
            self.new_links.stop_asking(peer)
            self._back_out(lock, reason, retry)

    def _back_out(self, lock: Lock, error: str, retry: bool, aborts: bool = False) -> None:
        """Nothing has changed, and nothing will: tell those before. Who says so over the new link needs it for that."""
        self._release(and_drop=not (lock.place.is_far or (aborts and lock.place.is_near)))
        if lock.place.is_first:
            self._failed(lock.change.id, error, retry)
        else:
            self.send(lock.place.before, Prepared(lock.change.id, error, retry))

    def _abort(self, lock: Lock, error: str, retry: bool) -> None:
        """The same, and tell those behind as well."""
        if not lock.place.is_last:
            self.send(lock.place.behind, Abort(lock.change.id))
        self._back_out(lock, error, retry, aborts=True)

    def on_abort(self, peer: str, abort: Abort) -> None:
        lock = self._lock_for(abort.id)
        if lock is not None and peer == lock.place.before and not lock.gone:
            if not lock.place.is_last:
                self.send(lock.place.behind, abort)
            self._release(and_drop=not lock.place.is_near)  # the far end gives up the new link when it hears

    # --- the old link goes

    def keeps(self, peer: str) -> bool:
        lock = self._lock
        return lock is not None and lock.place.old_peer == peer and self.strategies[lock.change.strategy].keeps

    def _commit(self, lock: Lock) -> Iterator[OverlayEvent]:
        lock.committed = True
        if lock.prepare.vanished:
            yield from self._cut(lock)
            yield from self._begin(lock)
        else:
            yield from self.overlay.let_go(lock.place.old_peer)

    def _cut(self, lock: Lock) -> Iterator[OverlayEvent]:
        """A: the other end has given up the old link, which has been out of reach here, too."""
        lock.gone, peer, strategy = True, lock.place.old_peer, self.strategies[lock.change.strategy]
        if peer in self.links.of:
            yield from self.overlay.cut(peer, "out of reach, and replaced", strategy.keeps, lost=True)

    def replaced(self, peer: str) -> None:
        """B has died since it agreed, and knows of no change any more: whether it came about, a search will tell."""
        if self._lock is None or self._lock.place.old_peer != peer:
            self.overlay.joins.want_back(peer, self.links.of[peer].address, self.options.lease_s)

    def unlinked(self, peer: str) -> None:
        """A neighbour is gone: the other end of the old link, as it should be; or one that the path leads over."""
        lock = self._lock
        if lock is None:
            return
        if peer == lock.place.old_peer:
            self.strategies[lock.change.strategy].lost(lock.change.id, peer)  # what it wanted is not kept for ever
        if peer == lock.place.old_peer and lock.place.is_first and not lock.committed:
            self._abort(lock, f"{self.turn.node} has lost {peer} before its link was replaced", retry=False)
        elif peer == lock.place.old_peer:
            lock.gone = True
            lock.expires = self.turn.now + self.options.lease_s
            if lock.place.is_last and self.flushes:
                self.send(lock.place.before, Flush(lock.change))
        elif not lock.gone and peer in (lock.place.before, lock.place.behind):
            self._abort(lock, f"{self.turn.node} has lost {peer}, over which the path led", retry=False)

    def left(self, peer: str, heard: bool) -> Iterator[OverlayEvent]:
        """A: both ends have let go, and routes may follow."""
        lock = self._lock
        if lock is None or not lock.gone or not lock.place.is_first or peer != lock.place.old_peer:
            return
        lock.left = True
        if heard and (lock.flushed or not self.flushes):
            yield from self._begin(lock)
        elif not heard:
            self._undo(lock, f"{peer} did not answer when its link was to be left")

    def on_flush(self, peer: str, flush: Flush) -> Iterator[OverlayEvent]:
        """Walks back from B, behind what it has said because A is gone."""
        lock = self._lock_for(flush.change.id)
        if lock is None or lock.prepare.vanished or lock.place.is_last or peer != lock.place.behind:
            return
        lock.flushed = True
        if not lock.place.is_first:
            self.send(lock.place.before, flush)
        elif lock.left:
            yield from self._begin(lock)

    def _begin(self, lock: Lock) -> Iterator[OverlayEvent]:
        self.lost.pop(lock.place.old_peer, None)
        lock.expires = self.turn.now + self.options.lease_s
        yield from self.strategies[lock.change.strategy].begin(lock.place)

    # --- the end

    def finished(self, change: Change) -> None:
        """D: the change is over."""
        if (lock := self._lock_for(change.id)) is not None:
            self.send(lock.place.before, Done(change.id))
            self._end(lock)

    def on_done(self, peer: str, done: Done) -> None:
        lock = self._lock_for(done.id)
        if lock is not None and peer == (lock.place.behind if lock.place.at <= lock.change.near else lock.place.before):
            if lock.place.at <= lock.change.near and not lock.place.is_first:
                self.send(lock.place.before, done)
            self._end(lock)

    def _end(self, lock: Lock) -> None:
        if lock.place.at > lock.change.near and not lock.place.is_last:
            self.send(lock.place.behind, Done(lock.change.id))
        self.history.end(lock.change.id)
        self.lost.pop(lock.place.old_peer, None)
        self._release()
        for asked in [each for each in self._asked if each.id == lock.change.id]:
            self._answer(asked, "")

    def _release(self, and_drop: bool = True) -> None:
        """``and_drop``: a new link that has not become one is not needed any more."""
        lock, self._lock = self._lock, None
        self.overlay.search.reserved = ""
        self.links.changed = True  # what the next life has to know
        if lock is not None:
            self._see(lock.place, "", "end")
            if not lock.place.is_first and self.history.is_open(lock.change.id):
                self.history.forget(lock.change.id)  # given up, which is for the first to tell
            self.new_links.stop_asking(lock.place.new_peer)
            if and_drop and (peer := lock.place.new_peer):
                self.drop(peer, "the change is over")

    def _lock_for(self, id_: str) -> Lock | None:
        return self._lock if self._lock is not None and self._lock.change.id == id_ else None

    def send(self, peer: str, message: ChangeMessage) -> None:
        """To a neighbour, or over the new link; nothing happens if there is neither."""
        if (link := self.links.of.get(peer)) is not None and not link.leaving:
            self.history.sent(id_of(message), link.send(message))

    # --- looking in

    def parted(self) -> dict[str, str]:
        """Who could join this broker again if a link has gone for a change that is not over, with addresses."""
        return others_of(self._lock) if self._lock is not None and self._lock.gone else {}

    def under_way(self) -> dict[str, Any] | None:
        """The change that this broker takes part in now, for operators."""
        return None if self._lock is None else shown_lock(self._lock)

    def waiting(self) -> list[dict[str, Any]]:
        """What this broker was asked for, and will try again."""
        return [shown_wish(asked) for asked in self._asked if not asked.id]

    def _see(self, place: Place, peer: str, what: str) -> None:
        self.turn.see(Kind.CHANGE, peer=peer, detail=f"{place.change.strategy}: {what} at the {place.part}")

    def see(self, peer: str, message: ChangeMessage) -> None:
        """For the trace: what came, in which part of the change."""
        lock = self._lock_for(id_of(message))
        place = place_of(message, self.turn.node) or (lock.place if lock is not None else None)
        if place is not None:
            self._see(place, peer, type(message).__name__)

    # --- times

    def deadline(self) -> float | None:
        times = [each.try_at for each in self._asked if not each.id]
        times += [self._lock.expires] if self._lock else []
        return min(times) if times else None

    def due(self) -> Iterator[OverlayEvent]:
        if self._lock is not None and self.turn.now >= self._lock.expires:
            self._expire(self._lock)
        for asked in [each for each in self._asked if not each.id and self.turn.now >= each.try_at]:
            yield from self._try(asked)

    def _expire(self, lock: Lock) -> None:
        if not lock.gone:
            self._back_out(lock, f"{self.turn.node} was locked for too long", retry=True)
            return
        self._undo(lock, f"begun, but not known to be over after {self.options.lease_s:g} s")

    def _undo(self, lock: Lock, error: str) -> None:
        """Perhaps nothing has come in place of the old link. A search will tell."""
        if not lock.place.is_last:
            self.send(lock.place.behind, Abort(lock.change.id))
        self.history.end(lock.change.id, error, unsure=True)
        self._release()
        for peer, address in others_of(lock).items():
            self.overlay.want_back(peer, address)
        for asked in [each for each in self._asked if each.id == lock.change.id]:
            self._answer(asked, error)

    @property
    def at_rest(self) -> bool:
        return self._lock is None and not self._asked

"""Routes follow a replaced link along the reconfiguration path only (PATH, section 4.3 and Figure 14, corrected).

What the old link was used for in the direction of B, ``add``, is now wanted from the next broker of the path, at A and
at every broker of the head up to C. So both ends of each hop edit their half by themselves: whoever sends a ``Rec`` has
entered ``add`` for the receiver and takes ``delete`` as unsaid; the receiver takes ``add`` as said and strikes
``delete``, which the sender does not want any more. C then tells D all that its side wants, with plain subscriptions,
and these lay the routes along the tail. Behind them a ``Rec`` without patterns walks to B, which only now gives up
what A wanted: construction before destruction. A ``Flush`` behind B's unsubscriptions tells D that the tail is as it
should be; then D makes up for what its side has come to want since the old link was lost.

Clients go on meanwhile. An unsubscription that crosses a ``Rec`` on the head would take away what the receiver does not
know yet to be its own: it is ignored until ``Ctrl`` says that the ``Rec`` has been handled. All that it tells anew, to
a sender in its next life, may cross it, too, and lacks the same.

Brokers off the path hear nothing, for what anybody but them wants from behind their neighbour has not changed. After
each edit routing may look again whether somebody has to be told something; if the path is what was said, nobody has.

Where a broker dies half-way, or the new link is not there (any more), the walk ends, and times run out: B removes A
plainly, a head broker heeds unsubscriptions again, D waits for no flush. Both ends of a hop stay in step whatever
happens, so the tables are right in the end, at some cost.

Owns: the paper's tables: ignore, stored P_add, and who waits. Must not know: what a pattern means.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reknit.core.overlay.change import Place
from reknit.core.overlay.events import OverlayEvent
from reknit.core.overlay.parts import Parts, rec_parts
from reknit.core.overlay.strategy import Hands, Strategy
from reknit.model.pattern import Pattern
from reknit.wire.messages import Change, ChangeMessage, Ctrl, Flush, Rec

__all__ = ["Far", "Path"]


@dataclass(slots=True)
class _Ignored:
    """Patterns that a neighbour does not know yet to be wanted through it."""

    patterns: dict[Pattern, None]
    until: float | None  # None: it has taken too long, and its unsubscriptions are heeded again


@dataclass(frozen=True, slots=True)
class Far:
    """D waits for the tail to be done."""

    place: Place
    rec: Rec
    until: float


class Path(Strategy):
    keeps = True
    together = False
    """Whether several patterns travel in one message."""

    def __init__(self, hands: Hands) -> None:
        super().__init__(hands)
        self._kept: dict[str, float] = {}  # by lost neighbour: when its entries go, whatever has become of the change
        self._ignored: dict[tuple[str, str], _Ignored] = {}  # by neighbour and change
        self._near: dict[str, tuple[Place, list[Pattern]]] = {}  # by change: C waits for the new link
        self._far: dict[str, Far] = {}  # by change
        self._parts = Parts()

    def lost(self, id_: str, peer: str) -> None:
        self._kept[peer] = self.hands.turn.now + self.hands.options.rec_s_max

    # --- along the path

    def begin(self, place: Place) -> Iterable[OverlayEvent]:
        """``substituteLinkTo``: as if a RECMSG had come over the old link."""
        self._kept.pop(place.before, None)
        add = self.hands.tables.wanted_by(place.before)
        self._walk(place, add, add)
        return ()

    def receive(self, peer: str, message: ChangeMessage) -> Iterable[OverlayEvent]:
        match message:
            case Rec(change=change) if (place := self.hands.place(change)) is not None and peer == place.before:
                if (whole := self._parts.rec(peer, message)) is not None:
                    self._rec(place, whole)
            case Flush(change=change) if (place := self.hands.place(change)) is not None and peer == place.behind:
                self._flush(place)
            case Ctrl(id=id_):
                self._ctrl(peer, id_)
        return ()

    def _rec(self, place: Place, rec: Rec) -> None:
        if place.in_head or place.is_near:
            self._walk(place, *self._read(rec))
        elif place.is_far:
            self._arrive(place, rec)
        elif place.is_last:
            self._drop_first(place)
            self.hands.send(place.before, Flush(place.change))
        else:
            self._send(place.behind, place.change)

    # --- the head, and the near end of the new link

    def _walk(self, place: Place, add: list[Pattern], delete: list[Pattern]) -> None:
        tables, ahead = self.hands.tables, place.behind
        goes_on = self.hands.awaits(ahead) if place.is_near else ahead in self.hands.neighbours()
        if goes_on:
            tables.enter(ahead, add)
        tables.strike(place.before, delete)
        self._acknowledge(place, add)
        if goes_on and place.in_head:
            self._pass_on(place, add, tables.wanted_only_by(ahead, delete))  # of what is left now, and not before
        elif goes_on:
            self._near[place.change.id] = (place, add)
            self.connected(place.change, ahead)
        tables.spread(add)

    def _acknowledge(self, place: Place, add: list[Pattern]) -> None:
        if not place.is_first:
            self.hands.tables.knows(place.before, add)
            self.hands.send(place.before, Ctrl(place.change.id))

    def _pass_on(self, place: Place, add: list[Pattern], delete: list[Pattern]) -> None:
        ahead, until = place.behind, self.hands.turn.now + self.hands.options.ctrl_s_max
        self.hands.tables.knows_not(ahead, delete)
        self._ignored[ahead, place.change.id] = _Ignored(dict.fromkeys(add), until)
        self._send(ahead, place.change, *self._write(add, delete))

    def connected(self, change: Change, peer: str) -> Iterable[OverlayEvent]:
        """C goes on when it has both: the new link, and the Rec. D does nothing before it hears from C."""
        if change.id in self._near and self.hands.activate(peer):
            place, add = self._near.pop(change.id)
            self.hands.tables.begin_telling(peer, (), hold=False)
            self.hands.tables.level(peer, self.together)
            self._cross(place, add)
        return ()

    def _cross(self, place: Place, add: list[Pattern]) -> None:
        self._send(place.behind, place.change, add)

    # --- the far end of the new link, and the tail

    def _arrive(self, place: Place, rec: Rec) -> None:
        if not self.hands.activate(place.before):
            return  # it has become a link plainly, or is none any more
        if not place.is_last:
            self._send(place.behind, place.change)
        self._far[place.change.id] = Far(place, rec, self.hands.turn.now + self.hands.options.flush_s_max)
        self._compare(place, rec)
        if place.is_last:
            self._drop_first(place)
            self._flush(place)

    def _compare(self, place: Place, rec: Rec) -> None:
        """What C holds for us is ``add``. Say what of it is void; what is missing there may be stale here: it waits."""
        self.hands.tables.begin_telling(place.before, rec.add, hold=True)
        self.hands.tables.level(place.before, self.together)

    def _drop_first(self, place: Place) -> None:
        """``removeLinkTo(first(RP))`` at B: the link has long been gone, its entries go now."""
        self._kept.pop(place.behind, None)
        if place.behind not in self.hands.neighbours():
            self.hands.tables.drop(place.behind, self.together)

    def _flush(self, place: Place) -> None:
        if not place.is_far:
            self.hands.send(place.before, Flush(place.change))
        elif (far := self._far.pop(place.change.id, None)) is not None:
            self._reconcile(far)

    def _reconcile(self, far: Far) -> None:
        self.hands.tables.release(far.place.before, self.together)
        self.hands.finished(far.place.change)

    # --- crossing unsubscriptions

    def ignored(self, peer: str) -> Iterable[Pattern]:
        for (name, _), each in self._ignored.items():
            if name == peer and each.until is not None:
                yield from each.patterns

    def _ctrl(self, peer: str, id_: str) -> None:
        """The neighbour counts on these from now on, even if its unsubscriptions have been heeded too early."""
        ignored = self._ignored.pop((peer, id_), None)
        if ignored is not None and ignored.until is None:
            self.hands.tables.enter(peer, ignored.patterns)
            self.hands.tables.spread(ignored.patterns)

    # --- what goes wrong

    def met(self, peer: str) -> None:
        self._kept.pop(peer, None)
        self.gone(peer)

    def gone(self, peer: str) -> None:
        """Its entries may still be kept; but nothing is said to it, and nothing awaited from it."""
        self._parts.forget(peer)
        for key in [key for key in self._ignored if key[0] == peer]:
            del self._ignored[key]
        for id_ in [id_ for id_, far in self._far.items() if far.place.before == peer]:
            self.hands.finished(self._far.pop(id_).place.change)
        for id_ in [id_ for id_, (place, _) in self._near.items() if place.behind == peer]:
            del self._near[id_]

    def deadline(self) -> float | None:
        if not (self._kept or self._far or self._ignored):
            return None
        times = [*self._kept.values(), *(far.until for far in self._far.values())]
        times += [each.until for each in self._ignored.values() if each.until is not None]
        return min(times, default=None)

    def due(self) -> None:
        if not (self._kept or self._far or self._ignored):
            return
        now = self.hands.turn.now
        for peer in [peer for peer, at in self._kept.items() if now >= at]:
            del self._kept[peer]
            self.hands.tables.drop(peer, self.together)
        for each in self._ignored.values():
            if each.until is not None and now >= each.until:
                each.until = None
        for id_ in [id_ for id_, far in self._far.items() if now >= far.until]:
            self._reconcile(self._far.pop(id_))

    # --- the message

    def _send(
        self,
        peer: str,
        change: Change,
        add: Sequence[Pattern] = (),
        delete: Sequence[Pattern] = (),
        digest: bytes = b"",
    ) -> None:
        for rec in rec_parts(change, add, delete, digest):
            self.hands.send(peer, rec)

    def _write(self, add: list[Pattern], delete: list[Pattern]) -> tuple[list[Pattern], list[Pattern]]:
        return add, delete

    def _read(self, rec: Rec) -> tuple[list[Pattern], list[Pattern]]:
        return rec.add, rec.delete

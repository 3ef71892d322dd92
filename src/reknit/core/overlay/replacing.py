"""Replacing a link: the strategies by name, and what a change does at this broker.

Two ways lead in. *Unplanned*: a link has vanished (``LinkVanished`` at both of its ends), another has appeared
(``LinkAppeared`` at both of its), and the first end of the old one is told the path (``Substitute``); nothing is
checked, for nothing can be refused. *Planned*: an operator asks for a replacement (``Replace``); the path is walked and
locked first (``walk``), and the new link is dialled (``new_link``). Then both do the same, as the strategy has it.

Owns: which strategy hears what. Must not know: routes, or what a strategy does.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator

from reknit.core.io import LinkAppeared, LinkVanished, Replace, Substitute
from reknit.core.links.links import Answered, LinkEvent, Links, Renewed, Stranger, TurnedAway
from reknit.core.overlay.change import Place
from reknit.core.overlay.deferred import Deferred
from reknit.core.overlay.events import Established, Linked, OverlayEvent
from reknit.core.overlay.new_link import NewLinks
from reknit.core.overlay.options import ChangeOptions, OverlayOptions, RepairOptions
from reknit.core.overlay.overlay import Overlay
from reknit.core.overlay.path import Path
from reknit.core.overlay.path_batched import PathBatched
from reknit.core.overlay.repair import Repair
from reknit.core.overlay.strategy import Hands, Strategy, why_unusable
from reknit.core.overlay.strawman import Strawman
from reknit.core.overlay.tables import Tables
from reknit.core.overlay.walk import Walk
from reknit.core.turn import Turn, earliest
from reknit.model.pattern import Pattern
from reknit.trace.records import Kind
from reknit.wire.messages import (
    Abort,
    ChangeMessage,
    Commit,
    Done,
    Flush,
    Prepare,
    Prepared,
    Rec,
    RepairMessage,
    Snapshot,
)

__all__ = ["REPLACEMENTS", "Replacing"]

REPLACEMENTS: tuple[type, ...] = (Replace, LinkVanished, LinkAppeared, Substitute)
"""The inputs that are handled here."""


class Replacing:
    def __init__(
        self,
        turn: Turn,
        links: Links,
        overlay: Overlay,
        tables: Tables | None,
        doubts: Callable[[], str],
        covering: bool,
        options: ChangeOptions,
        times: OverlayOptions,
        repair: RepairOptions,
        rng: random.Random,
        source: str,
    ) -> None:
        """``tables``: None where routing cannot be edited. ``doubts``: why routing is not sure now who is where.

        ``source``: no other life of any broker has it.
        """
        self.turn = turn
        self.links = links
        self.overlay = overlay
        self.tables = tables
        self.doubts = doubts
        self.covering = covering
        self.options = options
        self.new_links = NewLinks(turn, links, overlay, times.lease_s)
        self.strategies = self._make_strategies()
        self.walk = Walk(
            turn,
            links,
            overlay,
            self.new_links,
            times,
            rng,
            source,
            self.strategies,
            self.refusal,
            self._drop_new_link,
            flushes=tables is None,
        )
        self.repair = Repair(turn, links, overlay, self.walk, self.usable, self.give_up, repair, times, rng)
        self._deadlines = [self.new_links.deadline, self.walk.deadline, self.repair.deadline]
        self._deadlines += [strategy.deadline for strategy in self.strategies.values()]
        overlay.parted = self.walk.parted
        overlay.keeps = self.walk.keeps
        overlay.unsettled = self.unsettled
        overlay.replaced = lambda: (self.walk.under_way(), self.walk.waiting())

    def _make_strategies(self) -> dict[str, Strategy]:
        hands = Hands(
            self.turn,
            self.tables,
            self.options,
            lambda peer, message: self.walk.send(peer, message),
            self.overlay.neighbours,
            self.new_links.awaits,
            self.new_links.activate,
            lambda change: self.walk.finished(change),
        )
        return {
            "strawman": Strawman(hands),
            "deferred": Deferred(hands),
            "path": Path(hands),
            "path-batched": PathBatched(hands),
        }

    def refusal(self, strategy: str) -> str:
        """Why this strategy cannot be used here, for people to read; empty if it can."""
        if strategy not in self.strategies:
            return f"no strategy is called {strategy!r}; there are: {', '.join(self.strategies)}"
        return why_unusable(strategy, self.tables is not None, self.covering, self.turn.node)

    def usable(self, *names: str) -> str:
        """The first of these strategies that can be used here, or the one that always can."""
        return next((name for name in names if not self.refusal(name)), "strawman")

    def give_up(self, peer: str, why: str) -> Iterator[OverlayEvent]:
        """A neighbour is lost, and nothing comes in its place; others will be joined with instead."""
        strategy = self.strategies[self.usable("deferred")]
        yield from self.overlay.cut(peer, why, strategy.keeps, lost=True)
        strategy.lost(f"{self.turn.node} has lost {peer}", peer)

    def unsettled(self) -> str:
        """Why this broker takes part in no swap now, apart from its lock: both would edit the same routes."""
        settled = self.new_links.at_rest and all(each.at_rest for each in self.strategies.values())
        return self.doubts() if settled else f"the routes of {self.turn.node} still follow a link that was replaced"

    def operate(self, each: Replace | LinkVanished | LinkAppeared | Substitute) -> Iterator[OverlayEvent]:
        match each:
            case Replace():
                yield from self.walk.ask(each)
            case LinkVanished():
                yield from self.vanished(each)
            case LinkAppeared():
                self.new_links.appear(each.peer, each.address, each.change, self.options.rec_s_max)
            case Substitute():
                yield from self.substitute(each)

    # --- unplanned

    def vanished(self, each: LinkVanished) -> Iterator[OverlayEvent]:
        if self.overlay.swaps.involves(each.peer):  # its three brokers carry it through, or give it up, by themselves
            self.turn.tell(Kind.REFUSED, peer=each.peer, detail=self.overlay.swaps.locked)
            return
        strategy = self.strategies["strawman" if self.refusal(each.strategy) else each.strategy]
        yield from self.overlay.cut(each.peer, "vanished", strategy.keeps)
        self.walk.lost[each.peer] = None
        strategy.lost(each.change, each.peer)

    def substitute(self, each: Substitute) -> Iterator[OverlayEvent]:
        place = Place.find(each.change, self.turn.node)
        if place is not None and place.is_first and not self.refusal(each.change.strategy):
            self.walk.lost.pop(place.before, None)
            yield from self.strategies[each.change.strategy].begin(place)

    # --- what others say

    def receive(self, peer: str, message: ChangeMessage | RepairMessage) -> Iterator[OverlayEvent]:
        if isinstance(message, RepairMessage):
            self.repair.receive(peer, message)
            return
        self.walk.see(peer, message)
        match message:
            case Prepare():
                yield from self.walk.on_prepare(peer, message)
            case Prepared():
                yield from self.walk.on_prepared(peer, message)
            case Abort():
                self.walk.on_abort(peer, message)
            case Done():
                self.walk.on_done(peer, message)
            case Flush() if self.tables is None:
                yield from self.walk.on_flush(peer, message)
            case Rec(change=change) | Flush(change=change) | Commit(change=change):
                if not self.refusal(change.strategy):
                    yield from self.strategies[change.strategy].receive(peer, message)
            case _:
                for name, strategy in self.strategies.items():
                    if not self.refusal(name):
                        yield from strategy.receive(peer, message)

    def admitted(self, peer: str, patterns: list[Pattern]) -> list[Pattern]:
        """Of what a neighbour unsubscribes from, that which is to be heeded."""
        ignored = self._ignored(peer)
        return [pattern for pattern in patterns if pattern not in ignored]

    def completed(self, peer: str, snapshot: Snapshot) -> Snapshot:
        """What a neighbour tells anew, and what it does not know yet to be wanted through it."""
        if not snapshot.last or not (ignored := self._ignored(peer)):
            return snapshot
        return Snapshot([*snapshot.entries, ("", list(ignored))], last=True)

    def _ignored(self, peer: str) -> dict[Pattern, None]:
        return {pattern: None for each in self.strategies.values() for pattern in each.ignored(peer)}

    # --- what becomes of links

    def on_link_event(self, event: LinkEvent) -> Iterator[OverlayEvent]:
        match event:
            case Stranger():
                self.new_links.on_stranger(event)
            case Answered():
                if id_ := self.new_links.on_answered(event):
                    self.walk.connected(id_)
                else:
                    self.walk.denied(event.peer, f"{self.turn.node} and {event.peer} are linked already", retry=False)
            case TurnedAway(peer=peer, refusal=refusal):
                self._turned_away(peer, refusal.reason, refusal.retry, refusal.stranger)
            case Renewed(peer=peer):
                new = self.new_links.came_up(peer)
                if new is not None and new.change is not None:
                    yield from self.strategies[new.change.strategy].connected(new.change, peer)

    def _turned_away(self, peer: str, reason: str, retry: bool, stranger: bool) -> None:
        if peer in self.overlay.asked or stranger:
            self.new_links.stop_asking(peer)
            self._drop_new_link(peer, reason)
            self.walk.denied(peer, reason, retry)

    def takes_plainly(self, peer: str) -> Iterator[OverlayEvent]:
        """It tells all that it wants over a new link: then it is one, without further ado."""
        if self.new_links.activate(peer):
            yield Linked(peer, again=False)

    def met(self, peer: str) -> None:
        """It tells all anew."""
        self.new_links.activated.pop(peer, None)
        self.walk.lost.pop(peer, None)
        self.repair.met(peer)
        for strategy in self.strategies.values():
            strategy.met(peer)

    def unlinked(self, peer: str, keep: bool, replaced: bool) -> None:
        if not keep:
            self.met(peer)
        for strategy in self.strategies.values():
            strategy.gone(peer)
        if replaced:
            self.walk.replaced(peer)
        self.walk.unlinked(peer)
        self.repair.unlinked(peer)

    def left(self, peer: str, heard: bool) -> Iterator[OverlayEvent]:
        yield from self.walk.left(peer, heard)

    def _drop_new_link(self, peer: str, reason: str) -> None:
        if self.new_links.drop(peer, reason):
            for strategy in self.strategies.values():
                strategy.met(peer)
            if self.tables is not None:
                self.tables.drop(peer, together=False)

    # --- times

    def deadline(self) -> float | None:
        return earliest(*[ask() for ask in self._deadlines])

    def due(self) -> Iterator[OverlayEvent]:
        for strategy in self.strategies.values():
            strategy.due()
        for new in self.new_links.overdue():
            if new.change is not None and new.up:
                yield from self.takes_plainly(new.peer)  # the network has brought it, and nobody has come for it
            else:
                self._drop_new_link(new.peer, "the change has not come in time")
        yield from self.walk.due()
        yield from self.repair.due()

    def end_of_turn(self) -> Iterable[OverlayEvent]:
        self.repair.end_of_turn()
        activated, self.new_links.activated = self.new_links.activated, {}
        return [Established(peer) for peer in activated] if activated else ()

    @property
    def at_rest(self) -> bool:
        return self.walk.at_rest and self.repair.at_rest and not self.unsettled()

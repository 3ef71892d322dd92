"""Joining two trees by a link, without ever closing a cycle.

The broker that is asked for the link (the *asker*) searches its own tree for the other and locks it on the way (see
``wave``). If the other is in it, the link would close a cycle: the search has found the path, and the refusal names it.
If not, the asker dials the other (the *answerer*), which searches and locks its own tree in the same way. Only when
both trees are locked, and neither holds the other's end, the link is there. A collision with another join means:
release, wait for a random time, try again. Either side gives up within half a lease, so no lock ends under a join.

A *new* broker, one that has never had a neighbour, needs none of that (SWAP's AddBroker): it asks, and is answered at
once, by a broker that neither searches nor is locked. Why that closes no cycle: the new broker b is a tree of its own,
and nobody but the broker a that it asks can hold it for a neighbour. It says so only while that is certain (``links``):
in the first of its lives, to one broker, and never again once it has asked another or has been linked. From the
question to the answer it refuses every join, searched or not, for it has given its word; so two new brokers that ask
each other, or a ring of them, refuse each other and try again. Hence the link can only hang a leaf on a's tree, which
may be in the midst of a wave: the wave does not know b, but neither can its join be with b, which refuses, or is linked
with a by then and has to search by way of a, which the wave has locked. Only while a takes part in the change of
another link the new one has to wait: then a's neighbours, and what they want, are being handed over.

Owns: joins under way at this broker. Must not know: routing.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from reknit.core.io import Reply
from reknit.core.links.links import Answered, Links, Stranger, TurnedAway
from reknit.core.overlay.options import OverlayOptions
from reknit.core.overlay.wave import Answer, Search
from reknit.core.turn import Turn
from reknit.trace.records import Kind
from reknit.wire.messages import Refuse, Wave

__all__ = ["Joins"]

REPAIR_PATIENCE = 8
"""After a broker was lost all its neighbours look for each other at once: their back-off may grow to so much more."""


@dataclass(slots=True)
class _Intent:
    """A link that is wanted. ``request`` is None for one from the configuration: that is wanted for ever."""

    peer: str
    address: str
    request: int | None
    begun: float
    try_at: float
    wave: Wave | None = None
    give_up_at: float = 0.0
    asked_at: float = 0.0  # the tree has been searched, and it is dialled
    last: str = ""
    refused: bool = False
    once: bool = False  # to be given up if it is refused
    tries: int = 0
    silent: bool = False  # nobody was there when it was asked last


@dataclass(slots=True)
class _Answering:
    stranger: Stranger
    wave: Wave
    give_up_at: float


class Joins:
    def __init__(
        self,
        turn: Turn,
        links: Links,
        search: Search,
        neighbours: Callable[[], list[str]],
        options: OverlayOptions,
        rng: random.Random,
    ) -> None:
        """``neighbours``: those that belong to the tree now."""
        self.turn = turn
        self.links = links
        self.search = search
        self.neighbours = neighbours
        self.options = options
        self.rng = rng
        self.wanted: dict[str, _Intent] = {}
        self.shut = False  # nothing new is tried
        self.turned_down: list[str] = []  # configured links that were refused in this turn
        self._answering: _Answering | None = None

    def want_back(self, peer: str, address: str, after_s: float = 0.0) -> None:
        """A neighbour that was lost, or one instead of it; if the tree is whole again, it is not needed."""
        now, intent = self.turn.now, self.wanted.get(peer)
        if intent is not None and intent.once and intent.refused and intent.wave is None:
            intent.refused, intent.begun, intent.try_at = False, now, now + after_s
        elif address and not self._has(peer) and intent is None and peer != self.turn.node:
            self.wanted[peer] = _Intent(peer, address, None, now, now + after_s, once=True)
            self.links.changed = True

    def _has(self, peer: str) -> bool:
        return peer in self.neighbours()

    def once(self) -> dict[str, str]:
        """The brokers that are wanted back; and the one that may hold us for its neighbour, should we not hear of it.

        What the configuration wants, the next life wants anyway.
        """
        given = [each for each in self.wanted.values() if each.once or self._gave_word(each)]
        return {intent.peer: intent.address for intent in given}

    def _gave_word(self, intent: _Intent) -> bool:
        return intent.request is not None and intent.peer == self.links.held_by

    def want(self, peer: str, address: str, request: int | None) -> None:
        now = self.turn.now
        if peer == self.turn.node:
            self._reply(request, f"{peer} cannot be linked with itself")
        elif peer in self.links.of:
            self._reply(request, f"{self.turn.node} and {peer} are linked already")
        elif peer in self.wanted:
            self._reply(request, f"a link to {peer} is being made already")
        elif not address:
            self._reply(request, f"the address of {peer} is needed")
        else:
            self.wanted[peer] = _Intent(peer, address, request, now, now)

    # --- the asker's side

    def _try(self, intent: _Intent) -> Iterator[str]:
        if self._has(intent.peer):  # it has joined us meanwhile
            self._done(intent, "")
            return
        if busy := self.search.busy or (self._half_made(intent.peer) if intent.peer in self.links.of else ""):
            self._later(intent, busy)
            return
        intent.tries += 1
        intent.give_up_at = self.turn.now + self.options.lease_s / 2
        began = self.search.begin(intent.peer, self.neighbours(), self.turn.now)
        if isinstance(began, Answer):
            intent.wave = began.wave
            yield from self.answer(began)
        else:
            intent.wave = began

    def _half_made(self, peer: str) -> str:
        return f"{self.turn.node} and {peer} have a link that is not in the tree yet, or not any more"

    def answer(self, answer: Answer) -> Iterator[str]:
        """The search is over. Yields the neighbour if there is a new one."""
        if self._answering is not None and self._answering.wave == answer.wave:
            yield from self._answer_stranger(self._answering, answer)
            return
        intent = next((each for each in self.wanted.values() if each.wave == answer.wave), None)
        if intent is None:
            self.search.release(answer.wave)
        elif answer.path:
            self._refused(intent, _cycle(answer.path))
        elif answer.busy:
            self._later(intent, answer.busy)
        else:
            intent.asked_at = self.turn.now
            self.links.ask(intent.peer, intent.address, answer.wave)
            if self.links.asks_alone:
                self.links.changed = True  # the next life has to know
                self.turn.see(Kind.CHANGE, peer=intent.peer, detail="add: start at the new one")

    def on_answered(self, answered: Answered) -> Iterator[str]:
        intent = self.wanted.get(answered.peer)
        address = intent.address if intent else ""
        known = answered.peer in self.links.of
        self.links.complete(answered, address)
        if intent is not None:
            self._done(intent, "")
        if not known:
            yield answered.peer

    def on_turned_away(self, event: TurnedAway) -> None:
        intent = self.wanted.get(event.peer)
        if intent is None or intent.wave is None:
            return
        # Our own search has just found that it is not in our tree; if it says otherwise, somebody has not noticed yet
        # that a link is lost. An operator may judge that; a broker that was cut off has to ask again.
        if event.refusal.retry or intent.once:
            self._later(intent, event.refusal.reason, event.reached)
        else:
            self._refused(intent, event.refusal.reason)

    def _later(self, intent: _Intent, why: str, reached: bool | None = None) -> None:
        """``reached``: whether somebody was there; None if it has not come to that."""
        self._let_go(intent)
        intent.last = why
        intent.silent = intent.silent if reached is None else not reached
        if intent.request is not None and self.turn.now - intent.begun > self.options.join_s_max:
            self._refused(intent, f"given up after {self.options.join_s_max:g} s: {why}")
            return
        if intent.once and intent.silent:
            intent.refused = self.turn.now - intent.begun > self.options.join_s_max
        intent.try_at = self.turn.now + self._pause_s(intent)

    def _pause_s(self, intent: _Intent) -> float:
        """Longer with each try: the more brokers want the tree at once, the less each of them may ask of it."""
        shortest = self.options.backoff_s_min
        growing: float = shortest * 2 ** min(intent.tries + 1, 16)
        if intent.once and intent.silent:  # it may be dead: no need to disturb the tree with many searches
            return min(self.options.refused_s, growing / 2)
        longest = self.options.backoff_s_max * (REPAIR_PATIENCE if intent.once else 1)
        return self.rng.uniform(shortest, min(longest, growing))

    def _refused(self, intent: _Intent, why: str) -> None:
        if why != intent.last and not intent.once:
            self.turn.tell(Kind.REFUSED, peer=intent.peer, detail=why)
        if intent.request is not None or intent.once:
            self._done(intent, why)
            return
        # The configuration wants it: perhaps the network will be another one day. Nobody waits for it meanwhile.
        self._let_go(intent)
        intent.last, intent.refused = why, True
        intent.try_at = self.turn.now + self.options.refused_s
        self.turned_down.append(intent.peer)

    @property
    def at_rest(self) -> bool:
        """Nothing is being tried, apart from what has been refused before."""
        return all(intent.refused and intent.wave is None for intent in self.wanted.values())

    def configured(self) -> dict[str, str]:
        """The links that the configuration wants and that are not there yet."""
        return {each.peer: each.address for each in self.wanted.values() if each.request is None and not each.once}

    def _done(self, intent: _Intent, error: str) -> None:
        self._let_go(intent)
        self.wanted.pop(intent.peer, None)
        self.links.changed = self.links.changed or intent.once or self._gave_word(intent)
        self._reply(intent.request, error)

    def _let_go(self, intent: _Intent) -> None:
        if intent.wave is not None:
            self.links.stop_asking(intent.peer)
            self.search.release(intent.wave)
            intent.wave = None

    def _reply(self, request: int | None, error: str) -> None:
        if request is not None:
            self.turn.effects.append(Reply(request, error))

    # --- the answerer's side

    def on_stranger(self, stranger: Stranger) -> Iterator[str]:
        changing = self.search.reserved or self.search.engaged()
        if stranger.hello.alone and not self.links.asks_alone and not changing:
            self.turn.see(Kind.CHANGE, peer=stranger.hello.name, detail="add: connect at the neighbour")
            yield from self._welcome(stranger)
            return
        if self.search.busy:
            self.links.refuse(stranger.conn, Refuse(self.search.busy, retry=True, stranger=False))
            return
        began = self.search.begin(stranger.hello.name, self.neighbours(), self.turn.now)
        wave = began.wave if isinstance(began, Answer) else began
        self._answering = _Answering(stranger, wave, self.turn.now + self.options.lease_s / 2)
        if isinstance(began, Answer):
            yield from self._answer_stranger(self._answering, began)

    def _answer_stranger(self, answering: _Answering, answer: Answer) -> Iterator[str]:
        self._answering = None
        conn = answering.stranger.conn
        if answer.path:
            self.links.refuse(conn, Refuse(_cycle(answer.path), retry=False, stranger=False))
        elif answer.busy:
            self.links.refuse(conn, Refuse(answer.busy, retry=True, stranger=False))
        elif self.links.is_open(conn):
            yield from self._welcome(answering.stranger)
        self.search.release(answer.wave)

    def _welcome(self, stranger: Stranger) -> Iterator[str]:
        name = stranger.hello.name
        self.links.add(name, "")
        self.links.accept(stranger.conn, stranger.hello)
        if (intent := self.wanted.get(name)) is not None:
            self._done(intent, "")
        yield name

    # --- times

    def deadline(self) -> float | None:
        if not self.wanted and self._answering is None:
            return None
        times = [each.give_up_at for each in self.wanted.values() if each.wave is not None]
        if not self.shut:
            times += [each.try_at for each in self.wanted.values() if each.wave is None]
        if self._answering is not None:
            times.append(self._answering.give_up_at)
        return min(times, default=None)

    def due(self) -> Iterator[str]:
        now = self.turn.now
        if self._answering is not None and now >= self._answering.give_up_at:
            answering, self._answering = self._answering, None
            refusal = Refuse(f"{self.turn.node} could not search its tree in time", retry=True, stranger=False)
            self.links.refuse(answering.stranger.conn, refusal)
            self.search.release(answering.wave)
        for intent in list(self.wanted.values()):
            if intent.wave is not None and now >= intent.give_up_at:
                in_vain = self.links.is_dialling(intent.peer) and now - intent.asked_at >= self.options.lease_s / 4
                reached = False if in_vain else None  # a search that took long leaves no time to be heard
                if intent.once and reached is None:  # perhaps nobody can answer any more
                    self.links.knock(intent.peer, intent.address)
                self._later(intent, intent.last or f"{intent.peer} or a broker between did not answer in time", reached)
            elif intent.wave is None and now >= intent.try_at and not self.shut:
                yield from self._try(intent)


def _cycle(path: list[str]) -> str:
    return f"the link would close a cycle: {' - '.join([*path, path[0]])}"

"""Rings in virtual time: each two hear each other in order, whoever dies is noticed late, words are bytes."""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from reknit.core.ring.member import Member
from reknit.core.ring.options import RingOptions
from reknit.model.ring import BITS, ring_id
from reknit.planning.ring import Ring
from reknit.wire.ring import RingMessage, Spot, check_ring_message

_encode = msgspec.msgpack.Encoder().encode
_decoder: msgspec.msgpack.Decoder[RingMessage] = msgspec.msgpack.Decoder(RingMessage)

Tree = dict[str, dict[str, frozenset[str]]]
"""By topic and broker, whom it sends events on to."""


@dataclass(slots=True)
class Life:
    member: Member
    met: dict[str, Life] = field(default_factory=dict)  # by name, in which life


class World:
    def __init__(
        self, seed: int, options: RingOptions | None = None, bits: int = BITS, latency_s: float = 0.05
    ) -> None:
        self.rng = random.Random(seed)
        self.options = options or RingOptions(successors_max=4, answer_s_max=2.0)
        self.bits, self.latency_s, self.now = bits, latency_s, 0.0
        self.lives: dict[str, Life] = {}
        self.ids: dict[str, int] = {}
        self.heard: list[RingMessage] = []  # all that was said
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._last: dict[tuple[str, str], float] = {}

    # --- brokers

    def spot(self, name: str) -> Spot:
        return (self.ids.get(name, ring_id(name, self.bits)), name, f"{name}:1")

    def start(self, name: str, contacts: Sequence[str] = ()) -> Member:
        rng, spots = random.Random(self.rng.random()), [self.spot(each) for each in contacts]
        send = lambda spot, message: self._send(life, spot, message)  # noqa: E731
        member = Member(self.spot(name), send, self.options, rng, spots, self.bits)
        life = self.lives[name] = Life(member)
        self._alarm(name, life)
        return member

    def crash(self, name: str) -> None:
        """Those who had to do with it notice, each at its time."""
        life = self.lives.pop(name)
        for other in [other for other, each in self.lives.items() if each.met.get(name) is life]:
            self._notice(other, name)

    def leave(self, name: str) -> None:
        self.lives[name].member.leave()
        self.at(self.now + 4 * self.latency_s, lambda: self.crash(name) if name in self.lives else None)

    def forget_what_is_said(self) -> None:
        """Nothing that is on its way arrives."""
        self._heap.clear()
        for name, life in self.lives.items():
            self._alarm(name, life)

    def _notice(self, other: str, name: str) -> None:
        """A link sees that its far end has died, at some time; unless it has seen another life of it before."""
        witness = self.lives.get(other)
        if witness is not None:
            dead = witness.met.get(name)
            self.at(self.now + self.rng.uniform(0.05, 1.0), lambda: self._see_death(other, witness, name, dead))

    def _see_death(self, other: str, witness: Life, name: str, dead: Life | None) -> None:
        if self.lives.get(other) is not witness or witness.met.get(name) is not dead:
            return
        now = self.lives.get(name)
        if now is None:
            witness.met.pop(name, None)
            witness.member.lost(self.spot(name))
        elif dead is not None and now is not dead:
            self._meet(witness, now)

    def _meet(self, one: Life, other: Life) -> None:
        """Two that have something to say to each other; before anything else a link sees that a life is another one."""
        for witness, met in ((one, other), (other, one)):
            name = met.member.me[1]
            known = witness.met.get(name)
            witness.met[name] = met
            if known is not None and known is not met:
                witness.member.lost(self.spot(name))

    # --- time

    def at(self, time: float, deed: Callable[[], None]) -> None:
        heapq.heappush(self._heap, (time, next(self._numbers), deed))

    def run(self, seconds: float) -> None:
        end = self.now + seconds
        while self._heap and self._heap[0][0] <= end:
            self.now, _, deed = heapq.heappop(self._heap)
            deed()
        self.now = end

    def _alarm(self, name: str, life: Life) -> None:
        def ring() -> None:
            if self.lives.get(name) is life:
                life.member.due(self.now)
                self._alarm(name, life)

        at = life.member.deadline()
        if at is not None:
            self.at(max(at, self.now), ring)

    def _send(self, life: Life, spot: Spot, message: RingMessage) -> None:
        sender, (_, name, _) = life.member.me, spot
        if self.lives.get(sender[1]) is not life:
            return
        self.heard.append(message)
        data, there, session = _encode(message), self.lives.get(name), life.met.get(name)
        at = max(self.now + self.rng.uniform(0.1, 1.0) * self.latency_s, self._last.get((sender[1], name), 0.0))
        self._last[sender[1], name] = at

        def arrive() -> None:
            if self.lives.get(sender[1]) is life and there is not None and self.lives.get(name) is there:
                self._meet(life, there)
                if session is not None and session is not there:
                    return  # said to a life before: a link does not send that again
                received = _decoder.decode(data)
                check_ring_message(received)
                there.member.received(sender, received)

        if there is None:
            self._notice(sender[1], name)
        else:
            self.at(at, arrive)

    # --- what should be, from all that is known

    def ring(self) -> tuple[Ring, list[str]]:
        """The ring of all that live, and their names in its order."""
        names = sorted(self.lives, key=lambda name: self.spot(name)[0])
        return Ring([self.spot(name)[0] for name in names], self.bits), names

    def ideal_trees(self) -> Tree:
        ring, names = self.ring()
        found: dict[str, dict[str, set[str]]] = {}
        for place, name in enumerate(names):
            for topic in self.lives[name].member.trees.wanted:
                way = ring.route(ring.owner(ring_id(topic, self.bits)), place)
                for one, other in itertools.pairwise(way):
                    found.setdefault(topic, {}).setdefault(names[one], set()).add(names[other])
        return {topic: {name: frozenset(hops) for name, hops in tree.items()} for topic, tree in found.items()}

    def trees(self) -> Tree:
        names = {self.spot(name)[0]: name for name in self.lives}
        found: dict[str, dict[str, frozenset[str]]] = {}
        for name, life in self.lives.items():
            for topic in life.member.trees.entries:
                children = life.member.trees.children(topic)
                if children:
                    found.setdefault(topic, {})[name] = frozenset(names.get(each, "?") for each in children)
        return found

    def ring_faults(self) -> list[str]:
        ring, names = self.ring()
        found = []
        for place, name in enumerate(names):
            chord = self.lives[name].member.chord
            order = [names[(place + step) % len(names)] for step in range(1, len(names))]
            if [each[1] for each in chord.behind] != order[: self.options.successors_max]:
                found.append(f"{name} has {[each[1] for each in chord.behind]} behind it, not {order}")
            if (chord.before[1] if chord.before else None) != (order[-1] if order else None):
                found.append(f"{name} has {chord.before} before it")
            fingers = {each[1] for each in (*chord.fingers.values(), *chord.behind[:1])}
            if fingers != {names[other] for other in ring.fingers[place]}:
                found.append(f"{name} has the fingers {sorted(fingers)}")
        return found

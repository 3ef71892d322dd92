"""What all algorithms of recovery share: whom to tell, what is missing, and how a question is answered.

Owns: the cache, what is lost, and the bounds of a question and of an answer. Must not know: when a round begins, and
whom it is for; that is what the algorithms differ in.

Nothing that comes from elsewhere is believed. A digest names numbers, of which no more are looked at than one message
may name; an answer is at most so many bytes, whatever was asked for; and a question about a pattern is answered only if
that pattern is wanted in the direction from which the question has come.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from reknit.core.io import Missed, SendDirect
from reknit.core.links.loose import datagram_bytes_of
from reknit.core.overlay.overlay import Overlay
from reknit.core.recovery.asks import Asks
from reknit.core.recovery.cache import Cached, EventCache
from reknit.core.recovery.fellows import Fellows
from reknit.core.recovery.figures import Figures
from reknit.core.recovery.lost import Loss, LostBuffer, Triple
from reknit.core.recovery.numbering import Way
from reknit.core.recovery.options import RecoveryOptions
from reknit.core.recovery.ranges import count, numbers_of, parted, to_ranges
from reknit.core.recovery.rounds import Rounds, draw
from reknit.core.recovery.streams import Gap, Streams
from reknit.core.routing.signatures import Signatures
from reknit.core.routing.table import GROUPS, Table
from reknit.core.turn import Turn
from reknit.model.pattern import Pattern
from reknit.trace.records import Kind
from reknit.wire.codec import DATAGRAM_BYTES_MAX, encode
from reknit.wire.messages import Asker, Direct, Gossip, Range, Repair

__all__ = ["Digest", "Runs", "Talk"]

Digest = list[tuple[str, list[Range]]]
"""By source: numbers."""

Runs = list[tuple[int, list[Range]]]
"""By the signature of a pattern: numbers of one source."""

_AROUND_BYTES = 64
"""Of an answer with one event: what is in it beside that, and is not in one without any."""

_RANGE_BYTES = 20
"""A range takes no more in an answer, and neither does the signature before some."""


class Talk:
    def __init__(
        self,
        turn: Turn,
        overlay: Overlay,
        table: Table,
        signatures: Signatures,
        cache: EventCache,
        options: RecoveryOptions,
        source: str,
        address: str,
        rng: random.Random,
    ) -> None:
        """``source``: of the events published here. ``address``: where datagrams reach this broker."""
        self.turn = turn
        self.overlay = overlay
        self.table = table
        self.signatures = signatures
        self.cache = cache
        self.options = options
        self.source = source
        self.address = address
        self.rng = rng
        self.figures = Figures()
        self.rounds = Rounds(options.rounds_max, rng)
        self.key = draw(rng)
        """Told with the address of this broker, in its events: whoever asks past the tree has to know it."""
        self.streams = Streams(options.streams_max, options.gap_max, options.first_max)
        waits = (options.again_s, options.again_growth, options.again_s_max)
        self.lost = LostBuffer(options.losses_max, options.lost_s_max, *waits, options.hearsay_max)
        self.asks = Asks(options.again_s, options.again_s_max, options.hold_s_max, options.price, options.back_s)
        self.last_of: Callable[[int], float] = lambda _: math.inf  # by signature: the last number that was given here
        self.routes: dict[str, Way] = {}  # by source: the way back, its address, and its key
        self.fellows = Fellows(options.sources_max)

    # --- saying

    def begin(self, offers: int | None = None) -> Asker:
        """A new round of our own; ``offers``: as of ``Rounds.begin``."""
        return Asker(self.turn.node, self.address, self.rounds.begin(offers))

    def neighbours(self) -> list[str]:
        return self.overlay.neighbours()

    def towards(self, signature: int, apart_from: str = "") -> list[str]:
        """The neighbours that want a pattern."""
        pattern = self.signatures.patterns.get(signature)
        names = self.table.brokers_for(pattern) if pattern is not None else []
        return [name for name in names if name != apart_from and self.overlay.link(name) is not None]

    def some(self, names: list[str]) -> list[str]:
        """As many of them as a message goes to."""
        return names if len(names) <= self.options.fanout else self.rng.sample(names, self.options.fanout)

    def tell(self, names: Iterable[str], message: Gossip) -> None:
        for name in names:
            if (link := self.overlay.link(name)) is not None:
                link.send_loosely(message)
                self.figures.gossip += 1

    def send(self, to: Asker, message: Direct) -> None:
        """Past the tree."""
        self.turn.effects.append(SendDirect(to.name, to.address, encode(message)))

    # --- asking

    def age_s(self, signature: int) -> float:
        """Nothing that is older is asked for: as long as clients here have wanted it, and a question is under way.

        Who is asked counts from when the question comes: without that while, what was published just behind a wish
        would be too old. What is older than the wish after all is given to no client (see ``Recovery.admits``).
        """
        return self.signatures.age_s(signature) + self.asks.wait_s

    def missing(self, signature: int, numbers_max: int, which: Callable[[Triple], bool] | None = None) -> Digest:
        """What is to be asked for now of a pattern; it is being asked for from now on. ``which``: only such events."""
        found: Digest = []
        for source, numbers in list(self.lost.of_pattern(signature, self.turn.now)):
            some = [each for each in numbers if which((source, signature, each))] if which is not None else numbers
            chosen = self.lost.newest(source, signature, some, numbers_max)
            if not chosen:
                continue
            numbers_max -= len(chosen)
            found.append((source, to_ranges(chosen)))
            self.ask(source, signature, chosen)
            if numbers_max <= 0:
                break
        return found

    def compare(self, signature: int, kept: Digest) -> Digest:
        """Of what somebody has: what we miss, and is to be asked for now; it is being asked for from now on."""
        now, room = self.turn.now, self.options.hearsay_max
        found: Digest = []
        for source, numbers in self._offered(kept).items():
            room -= self.announced(source, signature, max(numbers), room)
            if chosen := [each for each in numbers if self.lost.is_due((source, signature, each), now)]:
                found.append((source, to_ranges(chosen)))
                self.ask(source, signature, chosen)
        return found

    def _offered(self, kept: Digest) -> dict[str, list[int]]:
        """By source, however often it is named: else each time would be a gap by itself."""
        left, offered = self.options.digest_numbers_max, dict[str, list[int]]()
        for source, ranges in kept:
            numbers = list(self._believed(ranges, left)) if source != self.source else []
            left -= len(numbers)
            if numbers:
                offered.setdefault(source, []).extend(numbers)
        return offered

    # --- gaps

    def arrived(self, source: str, signature: int, first: int, last: int, epoch: int) -> None:
        """Events of a pattern that is wanted here have come, with all these numbers."""
        if (gap := self.streams.arrived(source, signature, first, last, epoch)) is not None:
            self._lose(source, signature, gap)
        for number in self.lost.between(source, signature, first, last):
            self._found((source, signature, number))

    def announced(self, source: str, signature: int, number: int, room: int) -> int:
        """Somebody says that there was such an event, of a pattern that is wanted here.

        How many numbers are looked for now. ``room``: for how many the message may still make us look; what is beyond
        it is only counted, but where it is certain that there is a gap, all of the gap is looked for.
        """
        epoch = self.signatures.own.get(signature)
        gap = None if epoch is None else self.streams.announced(source, signature, number, epoch)
        if gap is None:
            return 0
        if room <= 0 or (gap.hearsay and len(gap.numbers) > room):
            self.figures.unheard_of += len(gap.numbers) - max(0, room)
            if room <= 0:
                return 0
            gap = replace(gap, numbers=gap.numbers[-room:])
        self._lose(source, signature, gap)
        return len(gap.numbers)

    def never_were(self, source: str, signature: int, numbers: Iterable[int]) -> None:
        """Whoever publishes there says that it has not given these numbers yet: somebody has lied, or erred."""
        triples = [(source, signature, number) for number in numbers]
        gone = [(triple, loss) for triple in triples if (loss := self.lost.remove(triple)) is not None]
        self.figures.never_were += len(gone)
        self.given_up(gone)

    def _lose(self, source: str, signature: int, gap: Gap) -> None:
        """What is only suspected takes half of the buffer at most, if it is more than the first few."""
        if gap.suspected:
            most = max(self.options.first_max, self.lost.losses_max // 2 - len(self.lost))
            gap = replace(gap, numbers=gap.numbers[-most:])
        new = [number for number in gap.numbers if self._is_news((source, signature, number), gap)]
        self.figures.hearsay += len(new) if gap.hearsay else 0
        if not gap.suspected and (new or gap.cut):
            self._lack(self.signatures.patterns[signature], source, new, gap)
        self.given_up(self.lost.add(source, signature, gap.numbers, self.turn.now, gap.suspected, gap.hearsay))

    def _is_news(self, triple: Triple, gap: Gap) -> bool:
        loss = self.lost.entries.get(triple)
        return loss is None or (loss.suspected and not gap.suspected)

    def _lack(self, pattern: Pattern, source: str, new: list[int], gap: Gap) -> None:
        """It is certain that these are missing, and was not before; those beyond the bound are given up at once."""
        self.figures.gaps += 1
        self.figures.lost += len(new) + gap.cut
        self.figures.cut += gap.cut
        first, asked = gap.numbers[0] - gap.cut, gap.numbers[0]
        numbers = f"{source} {first}-{gap.numbers[-1]}"
        self.turn.see(Kind.GAP, pattern=pattern, size=len(gap.numbers) + gap.cut, detail=numbers)
        told = to_ranges(new)
        if gap.cut:
            runs_on = bool(told) and told[0][0] == asked
            told[:runs_on] = [(first, told[0][1] if runs_on else asked - 1)]
        for run in told:
            self._tell(pattern, source, *run, "missing")
        if gap.cut:
            self._tell(pattern, source, first, asked - 1, "given up")

    def given_up(self, losses: Iterable[tuple[Triple, Loss]]) -> None:
        """Clients hear of a run at once: it may be that of a liar, who says little and must not make us say much."""
        told: dict[tuple[str, int, tuple[str, ...]], list[int]] = {}
        for (source, signature, number), loss in losses:
            pattern = self.signatures.patterns.get(signature)
            if pattern is None or (loss.suspected and not loss.heirs):
                continue
            told.setdefault((source, signature, loss.heirs if loss.suspected else ()), []).append(number)
            if not loss.suspected:
                self.figures.given_up += 1
                self.figures.unconfirmed += not (loss.elsewhere or self._stands_for(source, signature, number))
                self.turn.see(Kind.GIVEN_UP, pattern=pattern, detail=f"{source} {number}")
        for (source, signature, heirs), numbers in told.items():
            self.tell_clients(signature, source, numbers, "given up", heirs)

    def _stands_for(self, source: str, signature: int, number: int) -> bool:
        """Whether a later event has come, so that it is certain that there has been this one."""
        epoch = self.signatures.own.get(signature)
        return epoch is not None and self.streams.has_passed(source, signature, number, epoch)

    def _found(self, triple: Triple) -> None:
        source, signature, number = triple
        loss = self.lost.remove(triple)
        if loss is not None and (loss.heirs or not loss.suspected) and signature in self.signatures.patterns:
            self.tell_clients(signature, source, [number], "recovered", loss.heirs if loss.suspected else ())

    def tell_clients(
        self, signature: int, source: str, numbers: Iterable[int], state: str, only: tuple[str, ...] = ()
    ) -> None:
        """Of a pattern that somebody wants; ``only``: to these of its clients, if there are any."""
        for run in to_ranges(numbers):
            self._tell(self.signatures.patterns[signature], source, *run, state, only)

    def _tell(
        self, pattern: Pattern, source: str, first: int, last: int, state: str, only: tuple[str, ...] = ()
    ) -> None:
        """Those of our clients that it concerns."""
        clients = [name for name in self.table.clients_for(pattern) if not name.startswith(GROUPS)]
        if clients := [name for name in clients if not only or name in only]:
            self.turn.effects.append(Missed(tuple(clients), pattern, source, first, last, state))

    def ask(self, source: str, signature: int, numbers: Iterable[int], whom: str = "") -> None:
        """``whom``: a broker, where it is one that is asked past the tree."""
        for number in numbers:
            self.lost.ask((source, signature, number), self.turn.now, whom)

    def remember_way(self, source: str, way: tuple[str, ...], address: str, key: int) -> None:
        """By which brokers the events of a source come, its own first, and where that one is reached, by which key."""
        if source not in self.routes and len(self.routes) >= self.options.sources_max:
            del self.routes[next(iter(self.routes))]
        self.routes[source] = (way[::-1], address, key)
        self.fellows.found(way[0], source)

    def meet(self, name: str, wants: list[int]) -> None:
        """This broker says that it wants these patterns, some of which may be wanted here."""
        for signature in wants[: self.options.wants_max]:
            if signature in self.signatures.own:
                self.fellows.met(name, signature)

    # --- answering

    def is_new(self, asker: Asker) -> bool:
        """Whether this round has not been heard before, and is none of ours."""
        if asker.name != self.turn.node and self.rounds.hear(asker.name, asker.round):
            return True
        self.figures.replayed += 1
        return False

    def is_entitled(self, signature: int, sender: str) -> bool:
        """Whether the pattern is wanted where the question has come from: by that neighbour, or, past the tree, by any.

        Whoever wants a pattern has told its neighbours, and they theirs; so whoever asks is behind one that wants it.
        Past the tree that goes for those only who have shown that they are in it: by our key, or by a round of ours.
        """
        wanting = self.towards(signature)
        if sender in wanting or (not sender and wanting):
            return True
        self.figures.unentitled += 1
        return False

    def take_out(
        self, signature: int, age_s: float, lost: Digest, numbers_max: int | None = None
    ) -> tuple[list[Cached], Digest]:
        """Of what somebody misses: the events that are here, and what is not. So many numbers are looked at."""
        after, left = self.turn.now - age_s, self.options.digest_numbers_max if numbers_max is None else numbers_max
        found: list[Cached] = []
        missing: Digest = []
        for source, ranges in lost:
            numbers = list(self._believed(ranges, left))
            left -= len(numbers)
            absent = []
            for number, cached in zip(numbers, self.cache.find(source, signature, numbers, after), strict=True):
                found.append(cached) if cached is not None else absent.append(number)
            if absent:
                missing.append((source, to_ranges(absent)))
        return found, missing

    def _believed(self, ranges: list[Range], numbers_max: int) -> Iterator[int]:
        """The numbers that are looked at; the others are counted."""
        self.figures.unheard_of += max(0, count(ranges) - max(0, numbers_max))
        return numbers_of(ranges, max(0, numbers_max))

    def refused(self, rest: list[tuple[int, float, list[Range]]]) -> tuple[Runs, Runs, Runs]:
        """Of what was asked for in vain of this source: what is not kept any more, what is too old, what never was."""
        gone: Runs = []
        old: Runs = []
        never: Runs = []
        for signature, age_s, asked in rest:
            ranges, beyond = parted(asked, self.last_of(signature))
            if beyond:
                never.append((signature, beyond))
            if not ranges:
                continue
            if self.cache.keeps_all_since(
                self.turn.now - age_s
            ):  # so it was before that, and none has to be looked for
                old.append((signature, ranges))
                continue
            kept: dict[bool, list[int]] = {True: [], False: []}
            numbers = list(numbers_of(ranges, self.options.digest_numbers_max))
            for number, cached in zip(
                numbers, self.cache.find(self.source, signature, numbers, -math.inf), strict=True
            ):
                kept[cached is not None].append(number)
            for which, into in ((False, gone), (True, old)):
                if kept[which]:
                    into.append((signature, to_ranges(kept[which])))
        return gone, old, never

    def answer(self, to: Asker, found: list[Cached], *refused: Runs) -> None:
        """Send these events, within bounds; what does not fit will be asked for again, and will be first then.

        So the first may be larger than the bound, as far as there is a datagram for it, or it would never come back.
        ``refused``: of what is asked of this source, what will not be given, in the order of ``Repair``.
        """
        refused = self._within(refused)
        around = len(encode(Repair(self.turn.node, to.round, [], [], *refused)))
        left, room, first = self.options.answer_bytes_max - around, DATAGRAM_BYTES_MAX - around - _AROUND_BYTES, True
        batch: list[Cached] = []
        size = 0
        datagram = self.overlay.links.options.datagram_bytes
        for cached in {id(each): each for each in found}.values():
            needs = datagram_bytes_of(cached.event)
            if needs > room or (needs > left and not first):
                continue
            first = False
            if batch and size + needs > datagram:
                self._repair(to, batch)
                batch, size = [], 0
            batch.append(cached)
            size += needs
            left -= needs
        if batch or any(refused):
            self._repair(to, batch, *refused)

    def _within(self, refused: tuple[Runs, ...]) -> tuple[Runs, ...]:
        """As many of them as half of an answer has room for, of each pattern the newest."""
        left = self.options.answer_bytes_max // 2 // _RANGE_BYTES
        within: list[Runs] = []
        for runs in refused:
            within.append([])
            for signature, ranges in runs:
                if left > 1:
                    within[-1].append((signature, ranges[1 - left :]))
                    left -= 1 + len(within[-1][-1][1])
        return tuple(within)

    def _repair(self, to: Asker, batch: list[Cached], *refused: Runs) -> None:
        ages = [max(0.0, self.turn.now - each.born) for each in batch]
        self.send(to, Repair(self.turn.node, to.round, ages, [each.event for each in batch], *refused))
        self.figures.repairs += 1
        self.figures.repaired += len(batch)

"""Some thousand patterns side by side, one bit each: which of them does an event match?

For each attribute that its patterns limit, the block cuts the line of numbers into cells and keeps for each cell the
set of patterns that *miss* it: those whose range lies outside. An event lies in one cell per attribute; the patterns
that it can match are those that none of its cells misses. Sets are Python's long integers, so that one OR passes over
all patterns of the block. Texts have no cells: the set of patterns that *hit* is kept for each text and each prefix
that one asks for.

Cells are coarse: a pattern with a limit inside the event's cell is in *doubt*, and that limit is compared exactly. A
pattern with a part that only evaluation can decide is evaluated. The others match for sure, and are not looked at.

Updates come in batches, so that a batch and not each pattern pays for the pass over all cells. The cuts follow the
limits of the patterns: they are drawn anew when an axis has grown fourfold since, or by half with the limits piled up
in few cells; never for more than one axis at a time, so that no single update pays for all. A new block begins with the
cuts of the one before, and as long as they fit both, an event is placed between them once.

Owns: the bits. Must not know: topics, or which block a pattern should be in.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from itertools import accumulate
from operator import or_, xor
from typing import TypeAlias

import msgspec

from reknit.model.conjuncts import Choice, Equality, Hole, Range, Ruler, Senses
from reknit.model.pattern import Pattern
from reknit.model.selector.evaluate import Numeric, View

__all__ = ["BATCH_MAX", "BLOCK_PATTERNS_MAX", "Block", "Entry"]

BLOCK_PATTERNS_MAX = 4096
BATCH_MAX = 16
"""How many patterns enter or leave the cells at once."""
CELLS_MAX = 256
_GROWTH = 4
_SAMPLE = 128
"""Cuts drawn from so many patterns do for any number, as long as the limits do not pile up."""
_SKEWED_GROWTH = 1.5
_SKEW = 8
"""How many times the average share of limits one cell may hold, and then some: few limits are never even."""
_SKEW_SLACK = 16
_SINGLE_BITS_MAX = 24
"""Up to here it is cheaper to pick single bits than to write all of them out."""
_INFINITE = float("inf")


class Entry(msgspec.Struct, gc=False, eq=False):
    """A pattern on its way into a block, and from then on its place. In no cycle, for it refers to no container."""

    pattern: Pattern
    chosen: Equality | None
    """The equality that its bucket stands for; it needs no further test."""
    ranges: tuple[Range, ...]
    holes: tuple[Hole, ...]
    choices: tuple[Choice, ...]
    rest: Callable[[View], bool] | None
    slot: int = -1
    """Its place in a block, which has then taken over the tests; -1 while it waits for one."""

    def matches(self, senses: Senses) -> bool:
        """The whole test, for an entry that waits."""
        numbers, texts = senses.numbers, senses.texts
        for name, low, high in self.ranges:
            value = numbers.get(name)
            if value is None or not low <= value <= high:
                return False
        for name, hole in self.holes:
            if numbers[name] == hole:
                return False
        for name, members, prefix in self.choices:
            text = texts.get(name)
            if text is None or not (text in members if members else text.startswith(prefix)):
                return False
        return self.rest is None or self.rest(senses.view)


_Limits: TypeAlias = list[tuple[int, Numeric, Numeric]]
"""The slot of a pattern, its least and its greatest number."""


class _NumberAxis:
    """One attribute's cells, and one more at the end for events without that attribute."""

    __slots__ = ("doubts", "edges", "fitted", "highs", "holes", "lows", "misses", "ruler", "seen")

    def __init__(self, ruler: Ruler) -> None:
        self.lows: list[Numeric] = []  # by slot, as are the highs; meaningless for patterns without limits here
        self.highs: list[Numeric] = []
        self.holes: dict[int, tuple[Numeric, ...]] = {}
        self.draw(ruler, [])
        self.fitted = 0

    def draw(self, ruler: Ruler, limits: _Limits) -> None:
        """Begin anew with other cuts."""
        self.ruler = ruler
        self.misses = [0] * (len(ruler.cuts) + 2)
        self.doubts = [0] * (len(ruler.cuts) + 2)
        self.edges = [0] * (len(ruler.cuts) + 2)
        self.seen = 0
        self._enter(limits)
        self.fitted = self.seen

    def add(self, limits: _Limits) -> None:
        """Take in patterns, with one pass over the cells for all of them."""
        for slot, low, high in limits:
            if slot >= len(self.lows):
                missing = slot + 1 - len(self.lows)
                self.lows += [0] * missing
                self.highs += [0] * missing
            self.lows[slot], self.highs[slot] = low, high
        self._enter(limits)

    def _enter(self, limits: _Limits) -> None:
        cuts, edges, doubts = self.ruler.cuts, self.edges, self.doubts
        turns = [0] * len(self.misses)  # who goes in or out where a cell begins; all begin outside
        for slot, low, high in limits:
            bit = 1 << slot
            turns[0] |= bit
            if low <= high:
                first, last = bisect_right(cuts, low), bisect_right(cuts, high)
                turns[first] ^= bit
                turns[last + 1] ^= bit
                doubts[first] |= bit
                doubts[last] |= bit
                edges[first] += 1
                edges[last] += 1
        self.misses = list(map(or_, self.misses, accumulate(turns, xor)))
        self.seen += len(limits)

    def limits(self) -> _Limits:
        """The exact limits of all patterns that have any."""
        return [(slot, self.lows[slot], self.highs[slot]) for slot in _slots(self.misses[-1])]

    def refuted(self, suspects: int, value: Numeric) -> int:
        """Those of the suspects whose exact limits exclude the value."""
        wrong = 0
        for slot in _slots(suspects):
            if not self.lows[slot] <= value <= self.highs[slot] or value in self.holes.get(slot, ()):
                wrong |= 1 << slot
        return wrong

    def clear(self, slots: list[int], gone: int) -> None:
        """Free the slots for others. Old doubts stay until the next drawing: all they do is to have more looked at."""
        kept = ~gone
        self.misses = [miss & kept for miss in self.misses]
        for slot in slots:
            self.holes.pop(slot, None)

    def is_unused(self) -> bool:
        return not self.misses[-1]

    def is_worn(self) -> bool:
        """Whether the cuts no longer fit the limits."""
        drawn_from = self.ruler.drawn_from
        if drawn_from < _SAMPLE and self.seen >= _GROWTH * drawn_from:
            return True
        if self.seen < _SKEWED_GROWTH * self.fitted:
            return False
        return max(self.edges) > _SKEW_SLACK + _SKEW * 2 * self.seen / len(self.edges)


def _ruler(limits: _Limits) -> Ruler:
    """Cuts that leave about as many limits in each cell as in any other."""
    points = sorted({edge for _, low, high in limits for edge in (low, high) if abs(edge) != _INFINITE})
    step = max(1, -(-len(points) // (CELLS_MAX - 1)))
    return Ruler(points[::step], len(limits))


class _TextAxis:
    """One attribute's texts: who accepts this text, and who anything that begins with this prefix."""

    __slots__ = ("by_prefix", "by_text", "lengths", "users")

    def __init__(self) -> None:
        self.users = 0
        self.by_text: dict[str, int] = {}
        self.by_prefix: dict[str, int] = {}
        self.lengths: list[int] = []

    def add(self, bit: int, members: tuple[str, ...], prefix: str) -> None:
        self.users |= bit
        for member in members:
            self.by_text[member] = self.by_text.get(member, 0) | bit
        if not members:
            self.by_prefix[prefix] = self.by_prefix.get(prefix, 0) | bit
            if len(prefix) not in self.lengths:
                self.lengths = sorted([*self.lengths, len(prefix)])

    def misses(self, text: str | None) -> int:
        if text is None:
            return self.users
        hits = self.by_text.get(text, 0)
        for length in self.lengths:
            hits |= self.by_prefix.get(text[:length], 0)
        return self.users & ~hits

    def clear(self, gone: int) -> None:
        kept = ~gone
        self.users &= kept
        self.by_text = {text: left for text, hits in self.by_text.items() if (left := hits & kept)}
        self.by_prefix = {prefix: left for prefix, hits in self.by_prefix.items() if (left := hits & kept)}
        self.lengths = sorted({len(prefix) for prefix in self.by_prefix})


class Block:
    """Up to ``BLOCK_PATTERNS_MAX`` patterns, each in a slot, which is a bit of every set."""

    __slots__ = ("_free", "_gone", "_live", "_numbers", "_patterns", "_rests", "_rulers", "_texts")

    def __init__(self, before: Block | None = None) -> None:
        self._patterns: list[Pattern | None] = []
        self._rests: dict[int, Callable[[View], bool]] = {}  # by slot
        self._free: list[int] = []
        self._gone: list[int] = []  # slots whose bits are still in the sets
        self._live = 0
        self._numbers: dict[str, _NumberAxis] = {}
        self._texts: dict[tuple[str, int], _TextAxis] = {}
        self._rulers = {} if before is None else {name: axis.ruler for name, axis in before._numbers.items()}

    def __len__(self) -> int:
        return len(self._patterns) - len(self._free) - len(self._gone)

    def __contains__(self, entry: Entry) -> bool:
        return 0 <= entry.slot < len(self._patterns) and self._patterns[entry.slot] is entry.pattern

    def insert(self, batch: list[Entry]) -> None:
        """Take in entries for which there is room."""
        if len(self._free) + BLOCK_PATTERNS_MAX - len(self._patterns) < len(batch):
            self._clean()
        limits: dict[str, _Limits] = {}
        for entry in batch:
            slot = self._place(entry)
            for name, low, high in entry.ranges:
                limits.setdefault(name, []).append((slot, low, high))
        for name, its_limits in limits.items():
            axis = self._numbers.get(name)
            if axis is None:
                axis = self._numbers[name] = _NumberAxis(self._rulers.get(name) or Ruler([], 0))
            axis.add(its_limits)
        for entry in batch:
            self._take_over(entry)
        self._redraw_one()

    def _place(self, entry: Entry) -> int:
        if self._free:
            entry.slot = self._free.pop()
            self._patterns[entry.slot] = entry.pattern
        else:
            entry.slot = len(self._patterns)
            self._patterns.append(entry.pattern)
        self._live |= 1 << entry.slot
        return entry.slot

    def _take_over(self, entry: Entry) -> None:
        """Keep the entry's tests here, and only here. The axes of its ranges exist."""
        for name, hole in entry.holes:
            holes = self._numbers[name].holes
            holes[entry.slot] = (*holes.get(entry.slot, ()), hole)
        times: dict[str, int] = {}
        for name, members, prefix in entry.choices:
            which = times[name] = times.get(name, -1) + 1  # a text that is limited twice has two axes
            axis = self._texts.get((name, which))
            if axis is None:
                axis = self._texts[name, which] = _TextAxis()
            axis.add(1 << entry.slot, members, prefix)
        if entry.rest is not None:
            self._rests[entry.slot] = entry.rest
        entry.ranges, entry.holes, entry.choices, entry.rest = (), (), (), None

    def _redraw_one(self) -> None:
        for axis in self._numbers.values():
            if axis.is_worn():
                limits = axis.limits()
                axis.draw(_ruler(limits), limits)
                return

    def remove(self, entry: Entry) -> None:
        """Give up an entry of this block. Its bits leave the sets later, with others."""
        self._patterns[entry.slot] = None
        self._rests.pop(entry.slot, None)
        self._live &= ~(1 << entry.slot)
        self._gone.append(entry.slot)
        if len(self._gone) >= BATCH_MAX:
            self._clean()

    def _clean(self) -> None:
        gone = 0
        for slot in self._gone:
            gone |= 1 << slot
        for name, axis in list(self._numbers.items()):
            axis.clear(self._gone, gone)
            if axis.is_unused():
                del self._numbers[name]
        for key, choices in list(self._texts.items()):
            choices.clear(gone)
            if not choices.users:
                del self._texts[key]
        self._free += reversed(self._gone)
        self._gone.clear()

    def match(self, senses: Senses, found: list[Pattern]) -> None:
        """Append the patterns that the event matches, in the order of their slots."""
        cells, missed = senses.cells, 0
        for name, axis in self._numbers.items():
            cell = cells.get(axis.ruler)
            if cell is None:
                cell = senses.place(name, axis.ruler)
            missed |= axis.misses[cell]
        for (name, _), choices in self._texts.items():
            missed |= choices.misses(senses.texts.get(name))
        survivors = self._live & ~missed
        if survivors:
            self._collect(self._verified(survivors, senses), senses.view, found)

    def _verified(self, survivors: int, senses: Senses) -> int:
        """The survivors without those that were in doubt with good reason."""
        for name, axis in self._numbers.items():
            suspects = survivors & axis.doubts[senses.cells[axis.ruler]]
            if suspects:
                suspects &= axis.misses[-1]  # a doubt may be of one who had the slot before
                survivors ^= axis.refuted(suspects, senses.numbers.get(name, _INFINITE))
        return survivors

    def _collect(self, matching: int, view: View, found: list[Pattern]) -> None:
        slots, rests = _slots(matching), self._rests
        if rests:
            slots = [slot for slot in slots if slot not in rests or rests[slot](view)]
        found += map(self._patterns.__getitem__, slots)  # type: ignore[arg-type]


def _slots(bits: int) -> list[int]:
    """The positions of the bits that are set, ascending."""
    top: list[int] = []
    while bits and len(top) < _SINGLE_BITS_MAX:
        top.append(bits.bit_length() - 1)
        bits ^= 1 << top[-1]
    top.reverse()
    return [*_many_slots(bits), *top] if bits else top


def _many_slots(bits: int) -> Iterable[int]:
    digits = bin(bits)[:1:-1]
    at = digits.find("1")
    while at >= 0:
        yield at
        at = digits.find("1", at + 1)

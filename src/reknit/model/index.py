"""From an event to the patterns that it matches, without asking each of them.

Three nets, each finer than the one before. The *topic* trie names the filters that match; all patterns with one filter
form a group. Within a group, a pattern with an equality (``device = 17``) waits in the bucket of that value, found by
one lookup per attribute; of several equalities the one counts whose bucket is emptiest at the time. What is left of a
bucket is a conjunction of ranges and texts, for which blocks of bitsets name the few candidates (see ``block``), and
these are verified.

A bucket is a short list until it overflows into a block, so that 100,000 filters with a pattern each cost no more than
a trie. A new pattern stands in that list, and a removed one only loses its bit, until a batch pays for the cells.

Both indexes here answer alike: ``ScanIndex`` asks every pattern and is what the other is checked against. The order of
an answer depends on the history of additions and removals only, never on a hash.

Owns: which patterns an event matches. Must not know: whose patterns they are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

from reknit.model.block import BATCH_MAX, BLOCK_PATTERNS_MAX, Block, Entry
from reknit.model.conjuncts import Choice, Conjuncts, Equality, Range, Senses, World, split
from reknit.model.event import Event, Scalar
from reknit.model.pattern import Pattern
from reknit.model.selector import condition_of, matcher
from reknit.model.selector.evaluate import View
from reknit.model.selector.recent import RECENT_MAX
from reknit.model.selector.syntax import And, Boolean, Comparison, Condition, Name, Number
from reknit.model.topic import TopicIndex, topic_matches

__all__ = ["MatchingIndex", "ScanIndex"]


class ScanIndex:
    """The plain way: every pattern is asked about every event. Each has its test ready, each filter is asked once."""

    __slots__ = ("_length", "_tests")

    def __init__(self) -> None:
        self._tests: dict[str, dict[Pattern, Callable[[View], bool]]] = {}
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def __contains__(self, pattern: Pattern) -> bool:
        return pattern in self._tests.get(pattern.topic, ())

    def add(self, pattern: Pattern) -> None:
        """Enter a canonical pattern; nothing happens if it is there."""
        if pattern not in self:
            test = matcher(condition_of(pattern.selector)) if pattern.selector else _always
            self._tests.setdefault(pattern.topic, {})[pattern] = test
            self._length += 1

    def remove(self, pattern: Pattern) -> None:
        """Take a pattern out; nothing happens if it is not there."""
        if pattern in self:
            del self._tests[pattern.topic][pattern]
            self._length -= 1
            if not self._tests[pattern.topic]:
                del self._tests[pattern.topic]

    def match(self, event: Event) -> list[Pattern]:
        """The patterns that the event matches."""
        view, found = event.view(), []
        for topic_filter, tests in self._tests.items():
            if topic_matches(topic_filter, event.topic):
                found += [pattern for pattern, test in tests.items() if test(view)]
        return found

    def unconditional(self, topic: str) -> tuple[list[Pattern], bool]:
        """The patterns without selector that match the topic, and whether one with a selector might."""
        filters = [topic_filter for topic_filter in self._tests if topic_matches(topic_filter, topic)]
        matching = [pattern for topic_filter in filters for pattern in self._tests[topic_filter]]
        return [pattern for pattern in matching if not pattern.selector], any(pattern.selector for pattern in matching)


def _always(view: View) -> bool:
    return True


_BucketKey: TypeAlias = tuple[World, str]


class _Bucket:
    """Patterns that one event reaches together: a short list, and blocks of those that have left it."""

    __slots__ = ("blocks", "size", "waiting")

    def __init__(self) -> None:
        self.waiting: list[Entry] = []
        self.blocks: list[Block] | None = None
        self.size = 0  # of both together

    def add(self, entry: Entry) -> None:
        self.size += 1
        self.waiting.append(entry)
        if len(self.waiting) >= BATCH_MAX:
            self._roomy_block().insert(self.waiting)
            self.waiting = []

    def _roomy_block(self) -> Block:
        if self.blocks is None:
            self.blocks = [Block()]
        for block in self.blocks:
            if len(block) + BATCH_MAX <= BLOCK_PATTERNS_MAX:
                return block
        self.blocks.append(Block(self.blocks[-1]))
        return self.blocks[-1]

    def remove(self, entry: Entry) -> None:
        self.size -= 1
        if entry.slot < 0:
            self.waiting.remove(entry)
            return
        for block in self.blocks or ():
            if entry in block:
                block.remove(entry)
                break
        self.blocks = [block for block in self.blocks or () if len(block)] or None

    def match(self, senses: Senses, found: list[Pattern]) -> None:
        for block in self.blocks or ():
            block.match(senses, found)
        if self.waiting:
            found += [entry.pattern for entry in self.waiting if entry.matches(senses)]


class _Group:
    """All patterns with one topic filter."""

    __slots__ = ("general", "sorted", "unconditional")

    def __init__(self) -> None:
        self.unconditional: Pattern | None = None
        self.general: _Bucket | None = None  # of patterns without an equality
        self.sorted: dict[_BucketKey, dict[Scalar, _Bucket]] | None = None

    def has_selectors(self) -> bool:
        return self.general is not None or bool(self.sorted)

    def bucket(self, equality: Equality | None) -> _Bucket:
        """The bucket for this equality, made if need be."""
        if equality is None:
            if self.general is None:
                self.general = _Bucket()
            return self.general
        if self.sorted is None:
            self.sorted = {}
        world, name, value = equality
        buckets = self.sorted.setdefault((world, name), {})
        bucket = buckets.get(value)
        if bucket is None:
            bucket = buckets[value] = _Bucket()
        return bucket

    def emptiest(self, equalities: tuple[Equality, ...]) -> Equality | None:
        """The equality whose bucket holds fewest; of equals the first, but a boolean never before another."""
        chosen, fewest = None, (0, False)
        for equality in equalities:
            world, name, value = equality
            buckets = self.sorted.get((world, name)) if self.sorted else None
            bucket = buckets.get(value) if buckets else None
            population = (0 if bucket is None else bucket.size, world is World.BOOLEANS)
            if chosen is None or population < fewest:
                chosen, fewest = equality, population
        return chosen

    def remove(self, entry: Entry) -> None:
        bucket = self.bucket(entry.chosen)
        bucket.remove(entry)
        if bucket.waiting or bucket.blocks:
            return
        if entry.chosen is None:
            self.general = None
        elif self.sorted:
            world, name, value = entry.chosen
            del self.sorted[world, name][value]
            if not self.sorted[world, name]:
                del self.sorted[world, name]

    def match(self, senses: Senses, found: list[Pattern]) -> None:
        if self.general is not None:
            self.general.match(senses, found)
        for (world, name), buckets in (self.sorted or {}).items():
            value = senses.worlds[world].get(name)
            bucket = None if value is None else buckets.get(value)
            if bucket is not None:
                bucket.match(senses, found)


class MatchingIndex:
    """The quick way. Holds what ``ScanIndex`` holds and answers what it answers, perhaps in another order."""

    __slots__ = ("_entries", "_groups", "_topics")

    def __init__(self) -> None:
        self._topics: TopicIndex[_Group] = TopicIndex()
        self._groups: dict[str, _Group] = {}
        self._entries: dict[Pattern, Entry | None] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, pattern: Pattern) -> bool:
        return pattern in self._entries

    def add(self, pattern: Pattern) -> None:
        """Enter a canonical pattern; nothing happens if it is there."""
        if pattern in self._entries:
            return
        group = self._groups.get(pattern.topic)
        if group is None:
            group = self._groups[pattern.topic] = _Group()
            self._topics.add(pattern.topic, group)
        if not pattern.selector:
            group.unconditional = pattern
            self._entries[pattern] = None
            return
        parts = _parts_of(pattern.selector)
        chosen = group.emptiest(parts.equalities)
        entry = self._entries[pattern] = _entry(pattern, parts, chosen)
        group.bucket(chosen).add(entry)

    def remove(self, pattern: Pattern) -> None:
        """Take a pattern out; nothing happens if it is not there."""
        if pattern not in self._entries:
            return
        entry = self._entries.pop(pattern)
        group = self._groups[pattern.topic]
        if entry is None:
            group.unconditional = None
        else:
            group.remove(entry)
        if group.unconditional is None and not group.has_selectors():
            del self._groups[pattern.topic]
            self._topics.remove(pattern.topic, group)

    def match(self, event: Event) -> list[Pattern]:
        """The patterns that the event matches."""
        found: list[Pattern] = []
        senses = None
        for group in self._topics.match(event.topic):
            if group.unconditional is not None:
                found.append(group.unconditional)
            if group.has_selectors():
                if senses is None:
                    senses = Senses(event.view())
                group.match(senses, found)
        return found

    def unconditional(self, topic: str) -> tuple[list[Pattern], bool]:
        """The patterns without selector that match the topic, and whether one with a selector might."""
        groups = self._topics.match(topic)
        plain = [group.unconditional for group in groups if group.unconditional is not None]
        return plain, any(group.has_selectors() for group in groups)


@lru_cache(RECENT_MAX)
def _parts_of(selector: str) -> Conjuncts:
    """Of a canonical selector; kept for recent ones, since one that spreads comes to many tables."""
    return split(condition_of(selector))


def _entry(pattern: Pattern, parts: Conjuncts, chosen: Equality | None) -> Entry:
    """The entry of a pattern; the equality that its bucket stands for needs no further test."""
    ranges: list[Range] = list(parts.ranges)
    choices: list[Choice] = list(parts.choices)
    rest: list[Condition] = list(parts.rest)
    for equality in parts.equalities:
        world, name, value = equality
        if equality is chosen:
            continue
        if world is World.TEXTS:
            choices.append((name, (str(value),), ""))
        elif world is World.BOOLEANS or any(name == limited for limited, _, _ in ranges):
            literal = Boolean(bool(value)) if world is World.BOOLEANS else Number(value)  # type: ignore[arg-type]
            rest.append(Comparison("=", Name(name), literal))
        else:
            ranges.append((name, value, value))  # type: ignore[arg-type]
    test = None if not rest else matcher(And(tuple(rest)) if len(rest) > 1 else rest[0])
    return Entry(pattern, chosen, tuple(ranges), parts.holes, tuple(choices), test)

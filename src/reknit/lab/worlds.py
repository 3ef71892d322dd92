"""Worlds in which links are replaced: trees, subscribers, and which link goes when for which other (PATH, section 5.1).

Events are strings of 9 of the 96 printable characters; a subscription is one character, and matches the events that
contain it. A set of characters is kept as the bits of a number. For brokers a character is an attribute, which is true
of an event that contains it: ``Pattern`` and ``Event`` come from that, so what brokers route is what they always route.

Owns: what chance decides, the same for every strategy. Must not know: brokers, strategies.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import cache

import msgspec

from reknit.core.overlay.shapes import DEGREE_MAX, Edge, adjacency, find_path, names, shape_edges
from reknit.model.event import Event
from reknit.model.pattern import Pattern

__all__ = [
    "CHARACTERS",
    "EVENT_CHARACTERS",
    "SHAPES",
    "Replacement",
    "World",
    "bits_of",
    "characters_of",
    "draw_publications",
    "draw_world",
    "event_of",
    "pattern_of",
    "replaced",
]

CHARACTERS = 96
EVENT_CHARACTERS = 9
_CHARACTER_BITS = CHARACTERS.bit_length()
FIRST_S = 3.0
LAST_S = 7.0
EVERY_S = 0.3
"""Links are replaced between 3 and 7 seconds, one every 0.3 seconds."""
REACH = 6
"""A broker of a long tree is attached to one of so many before it."""
SHAPES = ("random", "long", "bushy")
TOPIC = "e"


class Replacement(msgspec.Struct, frozen=True):
    """At ``at_s`` the link from the first of ``head`` to the last of ``tail`` goes, for the one between the others."""

    at_s: float
    head: tuple[str, ...]
    tail: tuple[str, ...]

    @property
    def path(self) -> tuple[str, ...]:
        return self.head + self.tail


class World(msgspec.Struct, frozen=True):
    edges: list[Edge]
    wants: dict[str, int]
    """By broker, what its clients want."""
    replacements: list[Replacement]


def draw_world(shape: str, brokers: int, density: float, patterns: int, rng: random.Random) -> World:
    """``density``: the share of brokers with subscribers; each of these has 1 to ``patterns`` characters."""
    members = names(brokers)
    edges = _long(members, rng) if shape == "long" else shape_edges(shape, members, rng)
    chosen = rng.sample(members, round(density * brokers))
    wants = {name: bits_of(rng.sample(range(CHARACTERS), rng.randint(1, patterns))) for name in chosen}
    return World(edges, wants, list(_draw_replacements(edges, rng)))


def _long(members: Sequence[str], rng: random.Random) -> list[Edge]:
    """A tree like a path: each broker hangs on one of the few before it."""
    degree = dict.fromkeys(members, 0)
    edges: list[Edge] = []
    for place in range(1, len(members)):
        near = [name for name in members[max(0, place - REACH) : place] if degree[name] < DEGREE_MAX]
        other = rng.choice(near)
        edges.append((other, members[place]))
        degree[other] += 1
        degree[members[place]] += 1
    return edges


def _draw_replacements(edges: list[Edge], rng: random.Random) -> Iterator[Replacement]:
    count = round((LAST_S - FIRST_S) / EVERY_S)
    for number in range(count + 1):
        at_s = FIRST_S + number * EVERY_S
        if at_s < LAST_S:
            replacement = _draw_replacement(edges, at_s, rng)
            edges = replaced(edges, replacement)
            yield replacement


def _draw_replacement(edges: list[Edge], at_s: float, rng: random.Random) -> Replacement:
    """Any link for any other that leaves a tree in which nobody has too many neighbours."""
    old = rng.choice(edges)
    first, last = old if rng.random() < 0.5 else old[::-1]
    rest = [edge for edge in edges if edge != old]
    free = {name for name, others in adjacency(rest).items() if len(others) < DEGREE_MAX} | {first, last}
    side = _side(rest, first)
    near = sorted(free & side)
    far = sorted(free - side)
    pairs = [(one, other) for one in near for other in far if (one, other) != (first, last)]
    one, other = rng.choice(pairs)
    return Replacement(at_s, tuple(_way(rest, first, one)), tuple(_way(rest, other, last)))


def _side(edges: list[Edge], start: str) -> set[str]:
    adjacent, reached = adjacency(edges), {start}
    frontier = [start]
    for name in frontier:
        fresh = [other for other in adjacent.get(name, ()) if other not in reached]
        reached.update(fresh)
        frontier += fresh
    return reached


def _way(edges: list[Edge], start: str, goal: str) -> list[str]:
    return [start] if start == goal else find_path(edges, start, goal)


def replaced(edges: Sequence[Edge], replacement: Replacement) -> list[Edge]:
    old = {replacement.head[0], replacement.tail[-1]}
    return [*(edge for edge in edges if set(edge) != old), (replacement.head[-1], replacement.tail[0])]


def draw_publications(
    members: Sequence[str], per_s: float, start_s: float, end_s: float, rng: random.Random
) -> Iterator[tuple[float, str, int]]:
    """When, where and what: each broker publishes ``per_s`` events per second, at random times."""
    at = start_s
    while (at := at + rng.expovariate(per_s * len(members))) < end_s:
        yield at, rng.choice(members), _draw_content(rng)


def _draw_content(rng: random.Random) -> int:
    """As ``randrange`` draws one character after the other, without its checks: most of the time was theirs."""
    bits, draw = 0, rng.getrandbits
    for _ in range(EVENT_CHARACTERS):
        while (character := draw(_CHARACTER_BITS)) >= CHARACTERS:
            pass
        bits |= 1 << character
    return bits


# --- what brokers see of it


def bits_of(characters: Iterator[int] | Sequence[int]) -> int:
    bits = 0
    for each in characters:
        bits |= 1 << each
    return bits


def characters_of(bits: int) -> list[int]:
    return [each for each in range(CHARACTERS) if bits >> each & 1]


@cache
def pattern_of(character: int) -> Pattern:
    return Pattern.parse(TOPIC, f"c{character} = TRUE")


def event_of(bits: int) -> Event:
    return Event(TOPIC, b"", {f"c{character}": True for character in characters_of(bits)})

"""What the manager of a ring may have seen."""

from __future__ import annotations

from reknit.core.io import Survey
from reknit.model.ring import ring_id

TOPIC = "a"
BROKERS = 8


def spots() -> tuple[tuple[int, str, str], ...]:
    """Evenly spread, the first right behind the topic's key, so it is its root."""
    first, apart = ring_id(TOPIC) + 1, (1 << 64) // BROKERS
    found = [((first + number * apart) % (1 << 64), f"b{number}", f"b{number}") for number in range(BROKERS)]
    return tuple(sorted(found))


def survey_of(wanting: set[str], events: float) -> Survey:
    wants = tuple((TOPIC,) if name in wanting else () for _, name, _ in spots())
    return Survey(7, spots(), wants, ((TOPIC, events),), 1.0)


def settled() -> Survey:
    """The root's own clients want it, and nobody else: no place is better."""
    return survey_of({"b0"}, 1e6)


def crossed() -> Survey:
    """Only the broker that is farthest from the root wants it: three hops, of which two are in vain."""
    return survey_of({"b7"}, 1e6)

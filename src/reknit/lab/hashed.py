"""Brokers where consistent hashing puts them, with subscriptions that are drawn: what a plan begins with.

Owns: these instances, of which Figure 10 and Table 1 of DYNATOPS are made. Must not know: how a plan is found. How many
topics a broker wants is not in the paper.
"""

from __future__ import annotations

import numpy as np

from reknit.lab.interests import Interests, Pattern
from reknit.model.ring import ring_id
from reknit.planning.notification import Problem
from reknit.planning.ring import Ring

__all__ = ["hashed_problem"]

WANTED = 0.2
"""The part of all topics that a broker wants."""
EVENTS = 100.0
MODES = 10


def hashed_problem(pattern: Pattern, brokers: int, topics: int, rng: np.random.Generator) -> Problem:
    each = max(1, int(topics * WANTED))
    wants = np.zeros((topics, brokers), dtype=np.bool_)
    for broker in range(brokers):
        wants[_topics(pattern, topics, each, rng), broker] = True
    keys = tuple(ring_id(f"topic {number}") for number in range(topics))
    return Problem(
        Ring([ring_id(f"broker {number}") for number in range(brokers)]), keys, wants, np.full(topics, EVENTS)
    )


def _topics(pattern: Pattern, topics: int, each: int, rng: np.random.Generator) -> list[int]:
    """For a broker whose users are of several modes, half of the topics of each of them."""
    if pattern != "multimodal":
        return [int(topic) for topic in Interests(pattern, topics, each).draw(1, rng)[0]]
    size = topics // MODES
    modes = rng.choice(MODES, size=round(each / (size / 2)), replace=False)
    return [int(mode) * size + int(topic) for mode in modes for topic in rng.choice(size, size // 2, replace=False)]

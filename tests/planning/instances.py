"""Problems of planning, drawn for tests."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from reknit.planning.notification import Problem
from reknit.planning.ring import Ring

BITS = 8


@st.composite
def problems(draw: st.DrawFn, brokers_max: int = 14) -> Problem:
    ids = draw(st.sets(st.integers(0, (1 << BITS) - 1), min_size=1, max_size=brokers_max))
    keys = draw(st.lists(st.integers(0, (1 << BITS) - 1), max_size=5))
    shape = (len(keys), len(ids))
    wants = np.array(draw(st.lists(st.booleans(), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1])))
    events = draw(st.lists(st.integers(0, 9), min_size=len(keys), max_size=len(keys)))
    weight = draw(st.sampled_from((0.0, 0.5, 1.0, 3.0)))
    return Problem(
        Ring(sorted(ids), BITS),
        tuple(keys),
        wants.astype(np.bool_).reshape(shape),
        np.array(events, dtype=np.float64),
        weight,
        draw(st.booleans()),
    )


def some_problem(brokers: int, topics: int, each: int, seed: int, events: float = 10.0) -> Problem:
    rng = np.random.default_rng(seed)
    ids = rng.choice(1 << 16, size=brokers, replace=False)
    keys = rng.integers(1 << 16, size=topics)
    wants = np.zeros((topics, brokers), dtype=np.bool_)
    for broker in range(brokers):
        wants[rng.choice(topics, size=each, replace=False), broker] = True
    ring = Ring([int(each) for each in ids], 16)
    return Problem(ring, tuple(int(key) for key in keys), wants, np.full(topics, events))

"""Instances of Figure 10: every broker wants a fifth of the topics, of few modes or of all."""

from __future__ import annotations

import numpy as np

from reknit.lab.hashed import hashed_problem


def modes_of(pattern: str) -> list[int]:
    problem = hashed_problem(pattern, 30, 100, np.random.default_rng(1))  # type: ignore[arg-type]
    assert (problem.wants.sum(axis=0) == 20).all()
    return [len({topic // 10 for topic in np.flatnonzero(wanted).tolist()}) for wanted in problem.wants.T]


def test_every_broker_wants_a_fifth() -> None:
    assert set(modes_of("multimodal")) == {4}
    assert min(modes_of("uniform")) > 4

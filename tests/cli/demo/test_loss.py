"""A link that loses events: two processes, a proxy between them, and everything comes back in its place."""

from __future__ import annotations

import asyncio
from pathlib import Path

from reknit.cli._demo.loss import LossOutcome, LossScript, play_loss


def test_what_is_lost_comes_back_in_its_place_and_the_subscriber_is_told(tmp_path: Path) -> None:
    said: list[str] = []
    outcome = asyncio.run(play_loss(LossScript(seed=3, events=150, directory=tmp_path), said.append))
    assert outcome.clean, said
    assert outcome.got == list(range(150))
    assert outcome.datagrams_lost > 0
    assert 0 < outcome.missing == outcome.recovered
    assert len(said) == 3


def test_the_verdict_is_about_everything() -> None:
    good = {"published": 3, "got": [0, 1, 2], "missing": 1, "recovered": 1}
    assert LossOutcome(**good).clean  # type: ignore[arg-type]
    assert LossOutcome(**{**good, "got": [0, 2, 1]}).out_of_order == 1  # type: ignore[arg-type]
    for worse in ({"got": [0, 2, 1]}, {"got": [0, 1]}, {"got": [0, 1, 1, 2]}, {"recovered": 0}, {"given_up": 1}):
        assert not LossOutcome(**{**good, **worse}).clean  # type: ignore[arg-type]
        assert not LossOutcome(**{**good, **worse}).told()["clean"]  # type: ignore[arg-type]

"""What a crowd can be told, and what it cannot."""

from __future__ import annotations

import pytest

from reknit.pipeline.flow import BadFlow
from reknit.pipeline.synthesize import Crowd, people, world_of


def test_the_scale_is_the_number_of_people() -> None:
    assert people(Crowd()) == 40_000
    assert people(Crowd(scale=100)) == 4_000_000
    assert people(Crowd(scale=1e-9)) == 1


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (Crowd(grid="h3:5"), "a grid of degrees"),
        (Crowd(grid="0,0,1,9x9"), "100 cells or more"),
        (Crowd(until="2010-09-01"), "60 days or more"),
    ],
)
def test_a_world_that_has_no_room_is_refused(told: Crowd, why: str) -> None:
    with pytest.raises(BadFlow, match=why):
        world_of(told)


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf")])
def test_a_scale_that_is_none_is_refused(scale: float) -> None:
    with pytest.raises(BadFlow, match="larger than 0"):
        people(Crowd(scale=scale))

"""A gathering on real sockets: what is counted is what must be, for each membership."""

from __future__ import annotations

import pytest

from reknit.lab.experiments._camcast_live import MEMBERSHIPS
from reknit.lab.gathered import try_gathering


@pytest.mark.parametrize(
    "membership",
    [pytest.param(name, marks=pytest.mark.long) if name == "semi-structured" else name for name in MEMBERSHIPS],
)
def test_more_rise_where_more_may(membership: str) -> None:
    tried = try_gathering((2, 3, 6), membership, 5.0, (0.0, 1.0), 2, 1, few=(0.0, 3.0, 3.0))
    assert tried.settled
    assert tried.parasites == 0
    never, always = tried.levels[0.0], tried.levels[1.0]
    assert [level.members for level in always] == [2, 3, 6]
    assert [level.reception for level in never] == [0.0, 0.0, 1.0]
    assert [level.upward for level in never] == [0.0, 0.0, 0.0]
    assert [level.reception for level in always] == [1.0, 1.0, 1.0]
    assert [level.reliability for level in always] == [1.0, 1.0, 1.0]
    assert always[1].upward > 3
    assert [level.members for level in tried.few] == [2, 3, 6]
    assert 0.0 < tried.forwarding < 0.8
    assert always[2].upward == 0.0
    assert all(0.0 < level.efficiency < 1.0 for level in always)
    assert 1.0 <= always[2].rounds <= always[0].rounds + 3

"""Being known as a member: quickly at first, then every so often; and the end of it."""

from __future__ import annotations

from itertools import pairwise

from reknit.community.grid.grid import Grid
from reknit.community.grid.registration import Registration
from reknit.community.options import GridOptions
from reknit.wire.peers import Found
from tests.community.desk import a_courier, a_turn


def test_it_is_said_anew_before_the_lease_ends() -> None:
    turn = a_turn()
    grid = Grid(GridOptions(meet_s=1.0, refresh_s=4.0, lease_s=16.0), turn, a_courier(turn))
    registration = Registration("t", grid)
    times = []
    while turn.now < 30.0:
        registration.due()
        times.append(turn.now)
        assert registration.is_answered_by(grid.answers[-1])
        turn.now = registration.next_at
    waits = [after - before for before, after in pairwise(times)]
    assert waits[0] < 2.3
    assert 3.5 < waits[-1] < 4.5
    assert not registration.is_answered_by(Found(1, "t", (), 1))
    registration.end()
    assert grid.shelf.count("t") == 0

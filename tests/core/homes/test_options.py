"""The bounds of homes: each does what it says."""

from __future__ import annotations

from reknit.core.homes.options import HomeOptions
from tests.core.homes.test_homes import World


def test_beyond_the_bound_a_client_is_known_where_it_is_alone() -> None:
    world = World(HomeOptions(unique=True, homes_max=1))
    world.attach("b1", "ann")
    world.attach("b1", "bob")
    world.rest()
    assert world.home("b3", "ann") == "b1"
    assert world.home("b3", "bob") == ""
    assert world.homes("b1").dropped == 1


def test_it_is_forgotten_that_a_client_is_nowhere() -> None:
    world = World(HomeOptions(unique=True, gone_s=5.0))
    world.attach("b1", "ann")
    world.rest()
    world.detach("b1", "ann")
    world.kernel.run(until=world.kernel.now + 4.0)
    assert world.lines("b3") == 1
    world.kernel.run(until=world.kernel.now + 2.0)
    assert world.lines("b3") == 0


def test_unless_asked_to_nobody_tells() -> None:
    world = World(HomeOptions())
    world.attach("b1", "ann")
    world.rest()
    assert world.lines("b3") == 0

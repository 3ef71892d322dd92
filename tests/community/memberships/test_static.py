"""A table that never changes."""

from __future__ import annotations

from reknit.community.memberships.static import Static
from reknit.community.options import TopicOptions
from tests.community.desk import a_courier, a_turn, spoken


def test_it_is_what_it_was_given_and_says_nothing() -> None:
    turn = a_turn()
    static = Static("soccer", TopicOptions(membership="static"), turn, a_courier(turn))
    static.join(("a", "b", "me", "a"))
    static.drop("a")
    static.tell((("#", "r"),))
    static.leave()
    assert list(static.view) == ["a", "b"]
    assert static.population() == 3.0
    assert static.deadline() == float("inf")
    assert spoken(turn) == []


def test_the_population_is_what_it_is_said_to_be() -> None:
    turn = a_turn()
    assert Static("soccer", TopicOptions(population=1000), turn, a_courier(turn)).population() == 1000.0

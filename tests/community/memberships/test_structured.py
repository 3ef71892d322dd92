"""Tables from P-Grid: as large as they should be, drawn anew, and without those who are no members."""

from __future__ import annotations

import pytest

from reknit.community.grid.grid import Grid
from reknit.community.memberships.structured import Structured
from reknit.community.options import GridOptions, PeerOptions, SuperOptions, TopicOptions
from reknit.community.turn import Turn
from reknit.sim.assembly import Assembly
from reknit.sim.network import NetworkOptions
from reknit.wire.peers import Found, Remove, Seek
from tests.community.desk import a_courier, a_turn


def a_member(turn: Turn) -> tuple[Structured, Grid]:
    courier = a_courier(turn)
    grid = Grid(GridOptions(), turn, courier)
    member = Structured("t", TopicOptions(c=2.0), turn, courier, grid)
    member.due()
    grid.answers.clear()
    return member, grid


def answer(member: Structured, *peers: str, population: int) -> bool:
    return member.found(Found(member._registration._number, "t", peers, population))


def test_a_table_has_the_size_of_the_theory_and_the_next_replaces_it() -> None:
    turn = a_turn()
    member, _ = a_member(turn)
    names = [f"p{number}" for number in range(40)]
    assert answer(member, *names[:20], population=41)
    assert list(member.view) == names[:5]
    assert member.population() == 41.0
    assert answer(member, *names[20:], population=1000)
    assert list(member.view) == names[20:28]
    assert answer(member, "me", population=1)
    assert len(member.view) == 8, "nobody else was found: what is known is better than nothing"


def test_only_its_own_answer_counts() -> None:
    member, _ = a_member(a_turn())
    assert not member.found(Found(4711, "t", ("x",), 9))
    assert not member.found(Found(member._registration._number, "u", ("x",), 9))
    assert len(member.view) == 0


def test_contacts_make_do_and_who_is_no_member_goes() -> None:
    member, _ = a_member(a_turn())
    member.join(("a", "b"))
    assert list(member.view) == ["a", "b"]
    member.receive("a", Remove("t"))
    member.receive("b", Found(1, "t", (), 1))
    assert list(member.view) == ["b"]
    assert member.turn.counters == {"unexpected": 1}


def test_it_needs_the_grid() -> None:
    turn = a_turn()
    with pytest.raises(ValueError, match="needs P-Grid"):
        Structured("t", TopicOptions(), turn, a_courier(turn))


def test_an_answer_is_good_for_a_while_and_not_for_ever() -> None:
    """One that is left by all others is told of nobody; whom it knew must not stay in its table beyond a lease."""
    turn = a_turn()
    member, grid = a_member(turn)
    answer(member, "p", population=2)
    turn.now = grid.good_s / 2
    answer(member, population=1)
    assert list(member.view) == ["p"]
    turn.now = grid.good_s
    assert member.deadline() <= turn.now
    member.due()
    assert list(member.view) == []


def test_nobody_is_handed_out_whose_lease_is_about_to_end() -> None:
    turn = a_turn()
    _, grid = a_member(turn)
    grid.seek(1, "u", 9, 0.0)
    for peer, lease_s in (("old", grid.good_s / 2), ("new", grid.options.lease_s)):
        grid.receive(peer, Seek(peer, 2, "u", 0, lease_s, 1))
    grid.answers.clear()
    grid.seek(3, "u", 9)
    assert grid.answers == [Found(3, "u", ("new",), 1)]


def test_tables_of_members_above_are_drawn_anew_as_well() -> None:
    """Over ten refreshes each member of the lower community has known more of the upper one than fit into its table."""
    topic = TopicOptions(membership="structured", supers=SuperOptions(check_s=1_000.0))
    grid = GridOptions(meet_s=0.3, meet_s_max=3.0, refresh_s=3.0, lease_s=16.0, answer_s=0.5)
    world = Assembly(PeerOptions(topic=topic, grid=grid), NetworkOptions(latency_s_max=0.02), "above")
    for number in range(16):
        world.start(f"p{number}", ("p0",) if number else ())
        world.join(f"p{number}", "a" if number % 4 else "a/b")
        world.run(0.1)
    world.run(10.0)
    known: dict[str, set[str]] = {}
    for _ in range(10):
        world.run(3.0)
        for number in range(0, 16, 4):
            (table,) = world.peer(f"p{number}").communities["a/b"].supers
            assert len(table.entries) == topic.z
            known.setdefault(f"p{number}", set()).update(table.entries)
    assert min(map(len, known.values())) > 2 * topic.z

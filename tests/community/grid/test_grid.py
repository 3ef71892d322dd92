"""P-Grid: meetings make a tree that answers for every key, searches find members, and the dead are forgotten."""

from __future__ import annotations

from collections import Counter

import pytest

from reknit.community.grid.grid import Grid
from reknit.community.grid.trie import key_of
from reknit.community.options import GridOptions, PeerOptions, TopicOptions
from reknit.sim.assembly import Assembly
from reknit.sim.network import NetworkOptions
from reknit.wire.peers import Copies, Exchange, Exchanged, Found, Seek, Withdraw
from tests.community.desk import a_courier, a_turn, spoken

OPTIONS = GridOptions(meet_s=0.3, meet_s_max=3.0, refresh_s=3.0, lease_s=16.0, answer_s=0.5)


def a_grid(me: str = "me") -> Grid:
    turn = a_turn(me=me)
    return Grid(OPTIONS, turn, a_courier(turn))


def a_world(count: int, loss: float = 0.0, seed: str = "1") -> Assembly:
    options = PeerOptions(topic=TopicOptions(membership="structured"), grid=OPTIONS)
    world = Assembly(options, NetworkOptions(latency_s_max=0.02, loss=loss), seed)
    for number in range(count):
        known = world.alive()
        world.start(f"p{number}", (world.rng.choice(known),) if known else ())
        world.join(f"p{number}", f"t{number % 3}")
        world.run(0.05)
    return world


def grids(world: Assembly) -> dict[str, Grid]:
    found = {address: world.peer(address).grid for address in world.alive()}
    return {address: grid for address, grid in found.items() if grid is not None}


def test_every_key_is_answered_for_by_several_and_found_from_everywhere() -> None:
    world = a_world(24, loss=0.05)
    world.run(15.0)
    paths = Counter(grid.trie.path for grid in grids(world).values())
    assert sum(2.0 ** -len(path) for path in paths) == 1.0, "each key has its place, and one only"
    assert len(paths) >= 5
    assert sum(paths.values()) / len(paths) >= 2
    for grid in grids(world).values():
        assert all(grid.trie.references)
    for number in range(20):
        key = key_of(f"topic {number}")
        for grid in grids(world).values():
            assert hops_to(world, grid, key) <= 8


def hops_to(world: Assembly, grid: Grid, key: str) -> int:
    all_, hops = grids(world), 0
    while not grid.trie.answers_for(key):
        further = grid.trie.nearer(key)
        assert further is not None
        grid, hops = all_[further], hops + 1
    return hops


def test_tables_are_right_and_stay_so_when_peers_die() -> None:
    world = a_world(18)
    world.run(10.0)
    for number in range(0, 18, 4):
        world.crash(f"p{number}")
    world.run(35.0)
    alive = world.alive()
    for topic in ("t0", "t1", "t2"):
        members = {each for each in alive if topic in world.peer(each).communities}
        for each in members:
            membership = world.peer(each).communities[topic].membership
            assert set(membership.view) <= members - {each}
            assert membership.population() == len(members)
            assert len(membership.view) == len(members) - 1


def test_who_leaves_is_not_found_any_more() -> None:
    world = a_world(9)
    world.run(10.0)
    world.leave("p0", "t0")
    world.run(6.0)
    assert not any(
        "p0" in community.membership.view
        for each in world.alive()
        for community in world.peer(each).communities.values()
    )


def test_two_with_the_same_path_are_replicas_until_many_are() -> None:
    grid = a_grid()
    for number in range(4):
        grid.receive(f"p{number}", Exchange(number, "", (), (), 0))
    outcomes = [word for _, word in spoken(grid.turn) if isinstance(word, Exchanged)]
    assert [word.bit != "" for word in outcomes] == [False, False, True, True]
    assert len(grid.trie.path) == 1
    assert outcomes[2].bit != grid.trie.path
    assert grid.trie.references == [{"p2": outcomes[2].bit, "p3": outcomes[3].bit}]


def test_who_waits_for_an_answer_does_not_change_its_path() -> None:
    grid = a_grid()
    grid.meet(("x",))
    grid.turn.now = 5.0
    grid.due()
    for number in range(4):
        grid.receive(f"p{number}", Exchange(number, "", (), (), 0))
    assert grid.trie.path == ""
    grid.receive("p0", Exchanged(99, "1", "", "0", (), (), (), 0))
    assert (grid.trie.path, grid.turn.counters) == ("", {"unasked": 1})


def test_an_outcome_for_another_path_grows_nothing() -> None:
    grid = a_grid()
    grid.meet(("x",))
    grid.turn.now = 5.0
    grid.due()
    ((_, meeting),) = spoken(grid.turn)
    assert isinstance(meeting, Exchange)
    grid.receive("x", Exchanged(meeting.number, "1", "0", "0", (), (), (), 0))
    assert grid.trie.path == ""


def test_what_falls_to_the_other_side_is_handed_over() -> None:
    grid = a_grid()
    topics = [f"t{number}" for number in range(20)]
    for number, topic in enumerate(topics):
        grid.receive("m", Seek("m", number, topic, 1, 10.0, 5))
    for number in range(3):
        grid.receive(f"p{number}", Exchange(number, "", (), (), 0))
    gone = [topic for topic in topics if not grid.trie.answers_for(key_of(topic))]
    told = [word.topic for to, word in spoken(grid.turn) if isinstance(word, Copies) and to == "p2"]
    assert 3 < len(gone) < 17
    assert told == gone
    assert set(grid.shelf.topics()) == set(topics) - set(gone)


def test_where_nobody_is_left_a_peer_answers_itself() -> None:
    grid = a_grid()
    for number in range(3):
        grid.receive(f"p{number}", Exchange(number, "", (), (), 0))
    spoken(grid.turn)
    lost = next(f"t{number}" for number in range(99) if not grid.trie.answers_for(key_of(f"t{number}")))
    seek = Seek("asker", 7, lost, 1, 10.0, 5)
    grid.receive("asker", seek)
    ((to, onward),) = spoken(grid.turn)
    assert (to, onward) == ("p2", Seek("asker", 7, lost, 1, 10.0, 4))
    grid.failed("p2", onward)
    assert spoken(grid.turn) == [("asker", Found(7, lost, (), 1))]
    assert (grid.trie.path, grid.turn.counters["grid_shrunk"]) == ("", 1)


def test_nobody_withdraws_another_and_no_answer_is_taken_that_was_not_asked_for() -> None:
    grid = a_grid()
    grid.receive("m", Seek("m", 1, "t", 1, 10.0, 5))
    grid.receive("x", Withdraw("t", "m"))
    grid.receive("x", Found(1, "t", ("x",), 1))
    assert grid.turn.counters == {"forged": 1, "unasked": 1}
    assert (grid.shelf.count("t"), grid.answers) == (1, [])
    grid.receive("m", Withdraw("t", "m"))
    assert grid.shelf.count("t") == 0


@pytest.mark.parametrize("want", [0, 3])
def test_one_that_is_alone_answers_itself(want: int) -> None:
    grid = a_grid()
    grid.seek(5, "t", want, 10.0)
    assert grid.answers == [Found(5, "t", (), 1)]
    assert grid.keepers == {"t": "me"}
    grid.withdraw("t")
    assert grid.shelf.count("t") == 0


def test_a_search_without_an_answer_is_repeated_and_given_up() -> None:
    grid = a_grid()
    grid.trie.grow("0")
    grid.trie.note("p", "1")
    topic = next(f"t{number}" for number in range(99) if key_of(f"t{number}")[0] == "1")
    grid.seek(5, topic, 1)
    for second in range(1, 5):
        grid.turn.now = float(second)
        grid.due()
    assert len([word for _, word in spoken(grid.turn) if isinstance(word, Seek)]) == OPTIONS.tries
    assert grid.turn.counters == {"unanswered": 1}

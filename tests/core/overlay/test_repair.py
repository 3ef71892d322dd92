"""What is lost for good is given up, and the tree becomes whole by itself; what comes back closes no cycle."""

from __future__ import annotations

from typing import Any

import pytest

from reknit.core.links.options import LinkOptions
from reknit.core.overlay.notes import read_notes
from reknit.core.overlay.options import RepairOptions
from reknit.core.overlay.shapes import find_path
from reknit.model.pattern import Pattern
from reknit.sim.checkers.tree import check_tree
from reknit.sim.network import NetworkOptions
from reknit.trace.records import Kind
from reknit.wire.messages import Apart, Around, Prepare, Rec, Seek
from tests.sim.heard import Stage

P, Q = Pattern.parse("p"), Pattern.parse("q")
LOST_S = 5.0
SILENCE_S = 4.0
REPAIRED_S = 30.0


def stage(edges: str, wants: dict[str, list[Pattern]] | None = None, **repair: Any) -> Stage:
    options = {"lost_s": LOST_S, **repair}
    return Stage(edges, wants, links=LinkOptions(), repair=RepairOptions(**options))


def lose(net: Stage, *names: str) -> None:
    for name in names:
        net.wants.pop(name)
        net.lose(name)


def part(net: Stage, one: str, other: str) -> None:
    net.network.sever(one, other)


def whole(net: Stage) -> bool:
    """All that live are one tree, in which every table is right, and which never had a cycle."""
    edges, names = net.edges(), [name for name in net.wants if net.is_alive(name)]
    connected = all(find_path(edges, names[0], name) for name in names)
    return connected and net.wrong() == [] and list(check_tree(net.records)) == []


# --- the link alone is lost


def test_a_lost_link_is_replaced_by_path_over_a_neighbour_of_the_other_end() -> None:
    net = stage("a-b b-c a-d d-e", {"c": [P], "e": [Q], "b": [Q]})
    part(net, "a", "b")
    net.wait(REPAIRED_S)
    assert len(net.edges()) == 4
    assert ("b", "d") in net.edges() or ("a", "c") in net.edges()
    assert whole(net)
    assert net.words(Rec) != []
    assert net.words(Seek) == []  # nobody had to be searched for


def test_the_cut_heals_later_and_the_old_link_stays_what_it_is() -> None:
    net = stage("a-b b-c a-d", {"c": [P], "d": [Q]})
    net.network.cut("a", "b")
    net.network.cut("b", "a")
    net.wait(REPAIRED_S)
    repaired = net.edges()
    net.network.heal()
    net.rest()
    assert net.edges() == repaired
    assert ("a", "b") not in repaired
    assert whole(net)


def test_whoever_is_back_in_time_is_not_given_up() -> None:
    net = stage("a-b b-c a-d", {"c": [P], "d": [Q]})
    net.network.cut("a", "b")
    net.network.cut("b", "a")
    net.wait(SILENCE_S + 1)  # and a moment for the next attempt to connect
    net.network.heal()
    net.rest()
    assert net.edges() == [("a", "b"), ("a", "d"), ("b", "c")]
    assert net.words(Prepare, Apart) == []


def test_two_ends_with_nobody_else_find_each_other_again() -> None:
    net = stage("a-b", {"a": [P], "b": [Q]})
    net.network.cut("a", "b")
    net.network.cut("b", "a")
    net.wait(REPAIRED_S)
    assert net.edges() == []
    net.network.heal()
    net.wait(2 * REPAIRED_S)
    assert net.edges() == [("a", "b")]
    assert whole(net)


# --- a broker is lost


@pytest.mark.parametrize(
    ("edges", "lost"),
    [
        ("h-a h-b h-c h-d d-e", ["h"]),
        ("a-h h-b", ["h"]),
        ("a-b b-c c-d d-e", ["b", "d"]),
        ("a-b b-c", ["c"]),
    ],
    ids=["hub", "line", "two at once", "leaf"],
)
def test_when_a_broker_is_lost_all_that_is_left_is_one_tree_again(edges: str, lost: list[str]) -> None:
    net = stage(edges, {"a": [P], "e": [Q], "d": [P], "h": [Q]} if "e" in edges else {"a": [P], "b": [Q]})
    lose(net, *lost)
    net.rest(within_s=120.0)
    assert whole(net)
    assert not any(set(edge) & set(lost) for edge in net.edges())


@pytest.mark.parametrize("seed", range(6))
def test_many_that_look_for_each_other_on_a_slow_network_are_not_in_each_others_way_for_ever(seed: int) -> None:
    """A hub is lost, and one of those around it, whom all others look for in vain."""
    spokes = "abcdef"
    slow = NetworkOptions(latency_s_max=0.3)
    net = Stage(
        " ".join(f"h-{each}" for each in spokes),
        {"a": [P], "e": [Q]},
        links=LinkOptions(),
        repair=RepairOptions(lost_s=0.5),
        network=slow,
        seed=str(seed),
    )
    lose(net, "h")
    net.wait(8.0)
    lose(net, "d")
    net.rest(within_s=120.0)
    assert whole(net)


def test_a_broker_that_comes_back_much_later_asks_to_be_joined() -> None:
    net = stage("h-a h-b h-c", {"a": [P], "h": [Q]})
    net.crash("h")
    net.wait(3 * REPAIRED_S)
    repaired = net.edges()
    net.start("h")
    net.attach("h", "at h", net.wants["h"])
    net.rest(within_s=120.0)
    assert len(net.edges()) == 3
    assert set(repaired) < set(net.edges())
    assert whole(net)


@pytest.mark.parametrize("after_s", [4.5, 5.2, 5.6, 6.0, 6.5, 7.0, 8.0, 9.0, 9.5, 10.0])
def test_a_broker_may_come_back_in_the_midst_of_it(after_s: float) -> None:
    net = stage("h-a h-b h-c c-d", {"a": [P], "h": [Q], "d": [P]})
    net.crash("h")
    net.wait(after_s)
    net.start("h")
    net.attach("h", "at h", net.wants["h"])
    net.rest(within_s=120.0)
    assert whole(net)


def test_who_was_given_up_is_known_to_the_next_life_so_that_an_old_link_closes_no_cycle() -> None:
    net = stage("h-a h-b", {"a": [P], "h": [Q]})
    net.crash("h")
    net.wait(REPAIRED_S)
    assert net.edges() == [("a", "b")]
    assert list(read_notes(net.nodes["a"].notes).lost) == ["h"]
    for name in ("a", "b"):
        net.crash(name)
    for name in ("h", "a", "b"):
        net.start(name)
        net.attach(name, f"at {name}", net.wants[name])
    net.rest(within_s=120.0)
    assert len(net.edges()) == 2
    assert whole(net)


def test_neighbours_that_have_lost_their_memory_too_know_whom_to_turn_to() -> None:
    net = stage("h-a h-b", {"a": [P]})
    assert read_notes(net.nodes["a"].notes).around["h"] == {"h": "h", "b": "b"}
    lose(net, "h")
    for name in ("a", "b"):
        net.crash(name)
        net.start(name)
        net.attach(name, f"at {name}", net.wants[name])
    net.rest(within_s=120.0)
    assert net.edges() == [("a", "b")]
    assert whole(net)


# --- whom to turn to


def test_a_standby_link_is_used_wherever_it_is_and_only_when_the_tree_is_torn() -> None:
    net = stage("a-b b-c c-d d-e", {"a": [P], "e": [Q]}, standby={"e": "e"})  # all have it; a is the one to use it
    assert net.edges() == [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")]
    for one, other in (("b", "d"), ("a", "d"), ("b", "e"), ("a", "c")):
        part(net, one, other)
    lose(net, "c")
    net.wait(4 * REPAIRED_S)
    assert net.words(Apart) != []
    assert ("a", "e") in net.edges()
    assert whole(net)


def test_each_tells_its_neighbours_of_the_others_up_to_a_bound() -> None:
    net = stage("h-a h-b h-c h-d", around_max=2)
    known = [len(net.nodes[name].broker.replacing.repair.others("h")) for name in "abcd"]  # type: ignore[union-attr]
    assert known == [2, 2, 2, 2]


def test_without_a_time_nothing_is_said_or_given_up() -> None:
    net = Stage("h-a h-b", {"a": [P]}, links=LinkOptions())
    net.crash("h")
    net.wait(10 * REPAIRED_S)
    assert net.words(Around, Apart, Prepare) == []
    assert [record for record in net.records if record.kind is Kind.LINK_LOST] == []
    net.start("h")
    net.attach("h", "at h", [])
    net.rest()
    assert net.edges() == [("a", "h"), ("b", "h")]


@pytest.mark.parametrize("routing", ["subscription-forwarding", "global-table", "flooding"])
@pytest.mark.parametrize("covering", [False, True])
def test_with_every_routing(routing: Any, covering: bool) -> None:
    options = RepairOptions(lost_s=LOST_S)
    wants = {"a": [P], "d": [P, Q], "c": [Q]}
    net = Stage("a-b b-c b-d d-e", wants, links=LinkOptions(), repair=options, routing=routing, covering=covering)
    part(net, "b", "d")
    lose(net, "e")
    net.rest(within_s=120.0)
    assert len(net.edges()) == 3
    assert list(check_tree(net.records)) == []
    assert routing != "subscription-forwarding" or net.wrong() == []


def test_one_whose_neighbour_was_lost_before_it_told_of_others_asks_whom_it_knows() -> None:
    """b has been swapped from a to c, and c is lost before it has said who else is there."""
    net = stage("a-b a-c c-d", {"b": [P], "d": [Q]})
    net.nodes["b"].broker.overlay.around = {"a": {"c": "c", "x": "x"}, "c": {"d": "d"}}  # type: ignore[union-attr]
    repair = net.nodes["b"].broker.replacing.repair  # type: ignore[union-attr]
    assert repair.others("c") == {"d": "d"}
    assert repair._anyone("c") == {"x": "x", "d": "d"}


def test_who_has_moved_to_a_broker_that_dies_at_once_turns_to_the_one_that_it_came_from() -> None:
    """The lost one has told nothing of its others yet."""
    net = stage("a-b b-c c-d", {"a": [P], "d": [Q]})
    net.swap("a", "b", "c")
    while not any(each.kind is Kind.LINK_MOVED and each.node == "a" for each in net.records):
        net.wait(0.001)
    lose(net, "c")
    net.wait(2 * REPAIRED_S)
    assert ("a", "b") in net.edges()

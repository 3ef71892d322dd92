"""Joins: two trees become one or the operator hears why not; collisions end; nothing stays locked."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reknit.core.broker import BrokerOptions
from reknit.core.io import AddLink, Dial, DialFailed, Dialled, Lost, Received, Reply
from reknit.core.overlay.options import OverlayOptions
from reknit.core.overlay.shapes import find_cycle
from reknit.sim.cluster import Cluster
from reknit.sim.network import NetworkOptions
from reknit.trace.records import Kind
from reknit.wire.codec import VERSION, encode
from reknit.wire.messages import Hello, Refuse, Release, Seek, Sought
from tests.core.desk import Desk


def _cluster(*edges: str, seed: str = "join") -> Cluster:
    pairs = [(edge.split("-")[0], edge.split("-")[1]) for edge in edges if "-" in edge]
    cluster = Cluster(pairs, BrokerOptions(observe=True, founded=True), NetworkOptions(), seed)
    for edge in edges:
        if "-" not in edge:
            cluster.add_node(edge)
    cluster.start_all()
    assert cluster.settle(30.0)
    return cluster


def _edges(cluster: Cluster) -> list[tuple[str, str]]:
    pairs = {
        tuple(sorted((name, peer)))
        for name, node in cluster.nodes.items()
        if node.broker
        for peer in node.broker.table()["neighbours"]
    }
    return sorted(pairs)  # type: ignore[arg-type]


def test_two_trees_become_one() -> None:
    cluster = _cluster("b1-b2", "b3-b4")
    request = cluster.add_link("b2", "b4")
    assert cluster.settle(30.0)
    assert cluster.replies[request] == ""
    assert _edges(cluster) == [("b1", "b2"), ("b2", "b4"), ("b3", "b4")]


def test_the_refusal_names_the_cycle() -> None:
    cluster = _cluster("b1-b2", "b2-b3", "b3-b4")
    request = cluster.add_link("b1", "b4")
    assert cluster.settle(30.0)
    assert cluster.replies[request] == "the link would close a cycle: b1 - b2 - b3 - b4 - b1"
    assert [record.detail for record in cluster.records if record.kind is Kind.REFUSED] == [cluster.replies[request]]
    assert len(_edges(cluster)) == 3


@settings(max_examples=15, deadline=None)
@given(
    st.integers(0, 10**6),
    st.lists(st.lists(st.sampled_from("123456"), min_size=2, max_size=2, unique=True), min_size=2, max_size=6),
)
def test_joins_at_one_moment_end_in_a_forest_and_each_is_answered(seed: int, wanted: list[list[str]]) -> None:
    cluster = _cluster(*(f"b{number}" for number in range(1, 7)), seed=str(seed))
    requests = [cluster.add_link(f"b{one}", f"b{other}") for one, other in wanted]
    assert cluster.settle(60.0), cluster.restlessness()
    edges = _edges(cluster)
    assert find_cycle(edges) is None
    done = sum(cluster.replies[request] == "" for request in requests)
    assert done >= len(edges) >= 1
    for request in requests:
        error = cluster.replies[request]
        assert not error or "cycle" in error or "already" in error


def test_a_link_that_is_being_made_is_not_made_twice() -> None:
    desk = Desk()
    desk.give(AddLink("x", "x:1", 1))
    desk.give(AddLink("x", "x:1", 2))
    assert desk.all(Reply) == [Reply(2, "a link to x is being made already")]


@pytest.mark.parametrize(
    ("peer", "address", "error"),
    [
        ("b", "b:1", "b cannot be linked with itself"),
        ("n", "n:1", "b and n are linked already"),
        ("x", "", "the address of x is needed"),
    ],
)
def test_what_cannot_be_a_link_is_refused_at_once(peer: str, address: str, error: str) -> None:
    desk = Desk("n")
    desk.linked("n", 1)
    desk.give(AddLink(peer, address, 7))
    assert desk.all(Reply) == [Reply(7, error)]


# --- by hand: a lonely broker ``b`` asks ``x``, which the test plays


def _asking(**options: float) -> Desk:
    desk = Desk(overlay=OverlayOptions(**options))
    desk.give(AddLink("x", "x:1", 1))
    desk.run(0.0)
    assert desk.all(Dial) == [Dial("x", "x:1")]
    return desk


HELLO = Hello(VERSION, "subscription-forwarding", "x", "", 1, 5, 0, True, None)


def test_an_answer_makes_a_neighbour() -> None:
    desk = _asking()
    desk.give(Dialled("x", 3))
    desk.give(Received(3, encode(HELLO)))
    assert desk.all(Reply) == [Reply(1, "")]
    assert list(desk.broker.table()["neighbours"]) == ["x"]


def test_a_refusal_for_good_is_the_operators_answer() -> None:
    desk = _asking()
    desk.give(Dialled("x", 3))
    desk.give(Received(3, encode(Refuse("not today, not ever", retry=False, stranger=False))))
    assert desk.all(Reply) == [Reply(1, "not today, not ever")]
    assert desk.broker.table()["wanted_links"] == {}


@pytest.mark.parametrize("how", ["refused", "unreachable", "lost", "silent"])
def test_whatever_stands_in_the_way_is_tried_again_until_it_is_given_up(how: str) -> None:
    desk = _asking(join_s_max=5.0, lease_s=4.0)
    conn = 3
    for _ in range(200):
        if desk.all(Reply):
            break
        if how == "unreachable":
            desk.give(DialFailed("x", "nobody there"))
        else:
            conn += 1
            desk.give(Dialled("x", conn))
            if how == "refused":
                desk.give(Received(conn, encode(Refuse("busy", retry=True, stranger=False))))
            elif how == "lost":
                desk.give(Lost(conn, "reset"))
        dials = len(desk.all(Dial))
        for _ in range(100):
            desk.run(0.1)
            if desk.all(Reply) or len(desk.all(Dial)) > dials:
                break
    [reply] = desk.all(Reply)
    assert reply.error.startswith("given up after 5 s: ")
    assert len(desk.all(Dial)) > 1
    assert desk.broker.table()["wanted_links"] == {}
    assert desk.broker.deadline() is None  # nothing is left of it


def test_a_link_from_the_configuration_is_wanted_for_ever() -> None:
    desk = Desk(dials={"x": "x:1"}, founded=False, overlay=OverlayOptions(join_s_max=1.0))
    for _ in range(30):
        desk.run(1.0)
        desk.give(DialFailed("x", "nobody there"))
    assert len(desk.all(Dial)) > 20
    assert desk.broker.table()["wanted_links"] == {"x": "x cannot be reached: nobody there"}


# --- by hand: ``x`` asks ``b``, whose neighbour ``n`` the test plays


def test_the_one_that_is_asked_searches_its_own_tree() -> None:
    desk = Desk("n")
    near = desk.linked("n", 1)
    far = desk.far_end("x", 2)
    assert far.greet(linked=False, wave=("x", 1)) is None
    assert near.heard() == [Seek(("b", 1), "x", ["b"])]
    near.say(Sought(("b", 1), [], ""))
    assert any(isinstance(frame, Hello) for frame in far.frames())
    assert near.heard()[1:2] == [Release(("b", 1))]
    assert sorted(desk.broker.table()["neighbours"]) == ["n", "x"]


@pytest.mark.parametrize(
    ("sought", "reason", "retry"),
    [
        (Sought(("b", 1), ["b", "n", "x"], ""), "the link would close a cycle: b - n - x - b", False),
        (Sought(("b", 1), [], "n takes part in a join that z began"), "n takes part in a join that z began", True),
    ],
)
def test_the_one_that_is_asked_may_refuse(sought: Sought, reason: str, retry: bool) -> None:
    desk = Desk("n")
    near = desk.linked("n", 1)
    far = desk.far_end("x", 2)
    far.greet(linked=False, wave=("x", 1))
    near.say(sought)
    assert far.frames() == [Refuse(reason, retry=retry, stranger=False)]
    assert far.closed == reason
    assert list(desk.broker.table()["neighbours"]) == ["n"]


def test_a_search_that_gets_no_echo_is_given_up_before_the_lease_ends() -> None:
    desk = Desk("n", overlay=OverlayOptions(lease_s=2.0))
    near = desk.linked("n", 1)
    far = desk.far_end("x", 2)
    far.greet(linked=False, wave=("x", 1))
    for _ in range(11):
        desk.run(0.1)
        near.ack()
    assert far.frames() == [Refuse("b could not search its tree in time", retry=True, stranger=False)]
    assert Release(("b", 1)) in near.heard()


def test_a_caller_that_hangs_up_meanwhile_is_no_neighbour() -> None:
    desk = Desk("n")
    near = desk.linked("n", 1)
    far = desk.far_end("x", 2)
    far.greet(linked=False, wave=("x", 1))
    desk.give(Lost(2, "reset"))
    near.say(Sought(("b", 1), [], ""))
    assert list(desk.broker.table()["neighbours"]) == ["n"]
    assert Release(("b", 1)) in near.heard()


def test_one_stranger_at_a_time() -> None:
    desk = Desk("n")
    desk.linked("n", 1)
    first, second = desk.far_end("x", 2), desk.far_end("y", 3)
    first.greet(linked=False, wave=("x", 1))
    second.greet(linked=False, wave=("y", 1))
    assert second.frames() == [Refuse("b takes part in a join that b began", retry=True, stranger=False)]
    assert first.closed is None


def test_a_backoff_is_drawn_from_the_brokers_own_chance() -> None:
    def waits(seed: int) -> list[float | None]:
        desk = Desk(seed=seed)
        desk.give(AddLink("x", "x:1", 1))
        found = []
        for _ in range(4):
            desk.run(1.0)
            desk.give(DialFailed("x", "nobody there"))
            found.append(desk.broker.deadline())
        return found

    assert waits(1) == waits(1)
    assert len({tuple(waits(random.Random(seed).randrange(10**6))) for seed in range(5)}) == 5

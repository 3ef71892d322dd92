"""Joins: two trees become one or the operator hears why not; collisions end; nothing stays locked."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reknit.core.broker import BrokerOptions
from reknit.core.io import AddLink, Dial, DialFailed, Dialled, Lost, Received, RemoveLink, Reply, Send
from reknit.core.overlay.options import OverlayOptions
from reknit.core.overlay.shapes import find_cycle
from reknit.sim.checkers.tree import check_tree
from reknit.sim.cluster import Cluster
from reknit.sim.network import NetworkOptions
from reknit.trace.records import Kind
from reknit.wire.codec import VERSION, decode, encode
from reknit.wire.messages import Farewell, Hello, Lock, Refuse, Release, Seek, Sought
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


def test_whoever_hangs_up_before_it_has_answered_was_there() -> None:
    """Its answer was lost, and it has given us up as silent: there is no need to wait until the join is given up."""
    desk = Desk("n", overlay=OverlayOptions(join_s_max=0.5))
    desk.linked("n", 1).send(Refuse("lost, for all we know", retry=True, stranger=True))
    desk.broker.overlay.want_back("x", "x:1")
    desk.run(1.0)
    desk.give(Dialled("x", 3))
    desk.give(Received(3, encode(Farewell("silent for 4 s"))))
    intent = desk.broker.overlay.joins.wanted["x"]
    assert intent.last == "x gives no answer: a Farewell before a greeting"
    assert not intent.refused  # so this broker is not at rest


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


# --- a broker that is added: new, and alone


def _said(desk: Desk, conn: int) -> Hello:
    frames = (decode(each.frame) for each in desk.all(Send) if each.conn == conn)
    return next(frame for frame in frames if isinstance(frame, Hello))


def _asked(desk: Desk, peer: str, conn: int, request: int) -> Hello:
    desk.give(AddLink(peer, f"{peer}:1", request))
    desk.run(0.0)
    desk.give(Dialled(peer, conn))
    return _said(desk, conn)


def test_a_new_broker_says_that_it_is_alone_and_one_that_was_restarted_does_not() -> None:
    assert _asked(Desk(new=True), "x", 3, 1).alone
    assert not _asked(Desk(), "x", 3, 1).alone


def test_it_says_so_again_to_the_same_broker_but_to_no_other_and_then_never_again() -> None:
    """The first may hold it for a neighbour by now: its answer may have been lost."""
    desk = Desk(new=True)
    assert _asked(desk, "x", 3, 1).alone
    desk.give(Lost(3, "reset"))
    desk.run(1.0)
    desk.give(Dialled("x", 4))
    assert _said(desk, 4).alone
    desk.give(Received(4, encode(Refuse("no", retry=False, stranger=False))))
    assert not _asked(desk, "y", 5, 2).alone
    desk.give(Received(5, encode(Refuse("no", retry=False, stranger=False))))
    assert not _asked(desk, "x", 6, 3).alone


def test_one_that_has_been_linked_is_not_alone_any_more() -> None:
    desk = Desk(new=True)
    desk.far_end("n", 1).greet(linked=False, wave=("n", 1))
    desk.give(RemoveLink("n", 1))
    desk.run(30.0)
    assert list(desk.broker.table()["neighbours"]) == []
    assert not _asked(desk, "x", 3, 2).alone


def test_whoever_is_asked_by_a_lonely_broker_answers_at_once_even_if_it_is_locked() -> None:
    desk = Desk("n")
    near = desk.linked("n", 1)
    near.say(Seek(("z", 1), "elsewhere", ["z", "n"]))
    far = desk.far_end("x", 2)
    assert far.greet(linked=False, wave=("x", 1), alone=True) is not None
    assert [each for each in near.heard() if isinstance(each, Seek)] == []
    assert sorted(desk.broker.table()["neighbours"]) == ["n", "x"]
    assert desk.broker.overlay.search.locked_by == ("z", 1)  # the wave goes on, and knows nothing of x


def test_a_broker_in_a_swap_lets_a_new_one_wait() -> None:
    """Its neighbours, and what they want, are being handed over."""
    desk = Desk("m", "n")
    desk.linked("m", 1)
    near = desk.linked("n", 2)
    near.say(Lock(("n", 1), "b", "m", "n:1"))
    far = desk.far_end("x", 3)
    assert far.greet(linked=False, wave=("x", 1), alone=True) is None
    [refusal] = far.frames()
    assert isinstance(refusal, Refuse)
    assert refusal.retry


def test_until_it_is_answered_a_new_broker_takes_nobody_in() -> None:
    desk = Desk(new=True)
    _asked(desk, "x", 3, 1)
    for conn, alone in ((4, True), (5, False)):
        far = desk.far_end(f"y{conn}", conn)
        assert far.greet(linked=False, wave=(f"y{conn}", 1), alone=alone) is None
        assert [type(frame) for frame in far.frames()] == [Refuse]
    desk.give(Received(3, encode(HELLO)))
    assert desk.far_end("z", 6).greet(linked=False, wave=("z", 1), alone=True) is not None


def test_a_broker_that_wanted_the_newcomer_has_it_now() -> None:
    desk = Desk("n")
    near = desk.linked("n", 1)
    desk.give(AddLink("x", "x:1", 7))
    desk.run(0.0)
    desk.far_end("x", 2).greet(linked=False, wave=("x", 1), alone=True)
    assert desk.all(Reply) == [Reply(7, "")]
    assert near.heard()[:2] == [Seek(("b", 1), "x", ["b"]), Release(("b", 1))]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.data())
def test_new_brokers_that_come_in_the_midst_of_joins_close_no_cycle(seed: int, data: st.DataObject) -> None:
    """Trees are being joined; meanwhile new brokers ask for links to either, to each other, and in rings."""
    cluster = _cluster("b1-b2", "b2-b3", "b4-b5", "n1", "n2", "n3", seed=str(seed))
    names = list(cluster.nodes)
    pairs = st.lists(st.sampled_from(names), min_size=2, max_size=2, unique=True)
    for one, other in data.draw(st.lists(pairs, min_size=3, max_size=9)):
        cluster.kernel.after(data.draw(st.floats(0, 0.1)), cluster.add_link, one, other)
    cluster.kernel.run(until=cluster.kernel.now + 0.2)
    assert cluster.settle(60.0), cluster.restlessness()
    assert [str(each) for each in check_tree(cluster.records)] == []


def test_one_that_was_cut_off_asks_again_where_somebody_takes_it_for_connected_still() -> None:
    """Its own search has just said otherwise: the other side has not noticed yet that a link is lost."""
    desk = Desk()
    desk.broker.overlay.joins.want_back("x", "x:1")
    for conn in (3, 4):
        desk.run(2.0)
        assert [dial.peer for dial in desk.all(Dial)][-1] == "x"
        dials = len(desk.all(Dial))
        desk.give(Dialled("x", conn))
        refusal = Refuse("the link would close a cycle: b - x - b", retry=False, stranger=False)
        desk.give(Received(conn, encode(refusal)))
        desk.run(20.0)
        assert len(desk.all(Dial)) > dials


def test_a_new_broker_that_dies_before_it_is_answered_asks_again_in_its_next_life() -> None:
    """The one that it has asked holds it for a neighbour already, and would wait for it."""
    cluster = _cluster("a-b")
    cluster.add_node("n")
    cluster.start("n")
    cluster.add_link("n", "b")
    while not any(record.kind is Kind.LINK_ADDED and record.peer == "n" for record in cluster.records):
        cluster.kernel.run(until=cluster.kernel.now + 0.001)
    cluster.crash("n")
    cluster.start("n")
    again = cluster.nodes["n"].broker
    assert again is not None
    assert list(again.overlay.joins.wanted) == ["b"]
    assert cluster.settle(60.0), cluster.restlessness()
    assert again.overlay.neighbours() == ["b"]
    assert _edges(cluster) == [("a", "b"), ("b", "n")]

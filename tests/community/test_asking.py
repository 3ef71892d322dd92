"""Who is asked for members, and by whom."""

from __future__ import annotations

import pytest

from reknit.community.io import Due, Join, Meet
from reknit.community.options import PeerOptions, ScampOptions, SuperOptions, TopicOptions
from reknit.sim.assembly import Assembly
from reknit.sim.network import NetworkOptions
from reknit.wire.peers import Request
from tests.community.desk import Desk, said


def requests(desk: Desk, until: float) -> list[tuple[float, str, Request]]:
    """What it asks until then, if nobody answers."""
    asked: list[tuple[float, str, Request]] = []
    while (at := desk.peer.deadline()) is not None and at <= until:
        desk.now = at
        asked += [(at, to, word) for to, word in said(desk.give(Due())) if isinstance(word, Request)]
    return asked


@pytest.mark.parametrize(
    "terms", [TopicOptions(p_sel=0.0), TopicOptions(g=0.0), TopicOptions(population=1000)], ids=["p_sel", "g", "N"]
)
def test_everybody_looks_for_its_own_community_however_few_send_upward(terms: TopicOptions) -> None:
    assembly = Assembly(PeerOptions(topic=terms), NetworkOptions(), "own")
    members = [f"p{number}" for number in range(20)]
    for member in members:
        assembly.start(member, () if member == "p0" else ("p0",))
        assembly.join(member, "soccer")
    assembly.run(10.0)
    assert all(len(assembly.peer(each).communities["soccer"].membership.view) for each in members)


def test_the_first_request_that_is_sent_names_the_parent_only() -> None:
    """Of a thousand members a few ask. Who is not among them at first has asked for nothing, and begins below."""
    terms = TopicOptions(membership="static", population=1000, g=50.0, supers=SuperOptions(search_s=1.0))
    firsts = []
    for seed in range(20):
        desk = Desk(PeerOptions(topic=terms), seed)
        desk.give(Join("a/b/c", contacts=("m",)))
        topics = [word.topics for _, _, word in requests(desk, 600.0)]
        firsts.append(topics[:1])
        assert topics[:3] == [("a/b",), ("a/b", "a"), ("a/b", "a", "#")][: len(topics)]
    assert sum(map(bool, firsts)) > 10


def test_in_a_large_community_some_ask_for_those_above() -> None:
    """Each with probability ``p_sel``: of two thousand times that it is time to, at a tenth."""
    terms = TopicOptions(membership="static", p_sel=0.1, supers=SuperOptions(search_s=1.0, search_s_max=1.0))
    asked = 0
    for seed in range(40):
        desk = Desk(PeerOptions(topic=terms), seed)
        desk.give(Join("a/b", contacts=("m",)))
        asked += len(requests(desk, 50.0))
    assert abs(asked - 200) < 4 * (2000 * 0.1 * 0.9) ** 0.5


def test_how_far_and_to_how_many_is_the_topics_own() -> None:
    near = TopicOptions(scamp=ScampOptions(walk_hops=0), supers=SuperOptions(search_hops=1, search_fan=2))
    far = TopicOptions(supers=SuperOptions(search_hops=9, search_fan=5))
    for topic, hops, fan in (("a", 9, 5), ("b", 1, 2)):
        desk = Desk(PeerOptions(topic=near, topics={"a": far}))
        desk.give(Meet(tuple(f"k{number}" for number in range(8))))
        desk.give(Join(topic))
        first = [(to, word) for at, to, word in requests(desk, 0.0) if word.topics == (topic,)]
        assert (len(first), {word.hops_left for _, word in first}) == (fan, {hops})


def test_who_passes_a_request_on_does_so_as_its_topic_says() -> None:
    wide = TopicOptions(supers=SuperOptions(search_fan=6))
    desk = Desk(PeerOptions(topics={"a": wide}))
    desk.give(Meet(tuple(f"k{number}" for number in range(8))))
    assert len(desk.tell("x", Request("o", 1, ("a", "#"), 2))) == 6
    assert len(desk.tell("x", Request("o", 2, ("b", "#"), 2))) == 3


def test_who_did_not_answer_is_asked_as_far_as_the_topic_says() -> None:
    options = PeerOptions(topics={"a": TopicOptions(supers=SuperOptions(search_hops=7))})
    desk = Desk(options)
    desk.give(Join("a", contacts=("m",)))
    desk.peer.asking.try_again("lost")
    desk.peer.asking.probe(desk.peer.communities["a"], 99)
    words = said(desk.give(Due()))
    assert [(to, word.hops_left) for to, word in words if isinstance(word, Request) and to == "lost"] == [("lost", 7)]

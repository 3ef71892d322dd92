"""The door of a peer: what comes from whom, and what becomes of it."""

from __future__ import annotations

from itertools import pairwise

import pytest

from reknit.community.io import Due, Join, Leave, Meet, Publish, Received, Send
from reknit.community.options import PeerOptions, ScampOptions, SuperOptions, TopicOptions
from reknit.community.peer import TooMany
from reknit.model.event import Event
from reknit.model.topic import BadTopic
from reknit.sim.assembly import Assembly
from reknit.sim.network import NetworkOptions
from reknit.wire.peers import (
    Ack,
    Answer,
    Forward,
    Gossip,
    Heartbeat,
    Kept,
    More,
    Ping,
    Pong,
    Remove,
    Request,
    Some,
    Subscribe,
    Sure,
    encode_word,
)
from tests.community.desk import Desk, delivered, said

STATIC = TopicOptions(membership="static", supers=SuperOptions(check_s=0.0, search_s=0.0))


def an_event(topic: str, seq: int = 1, **attributes: str) -> Event:
    return Event(topic, attributes=dict(attributes), source="p.1", seq=seq)


def a_member(*topics: str, **parents: tuple[str, ...]) -> Desk:
    desk = Desk(PeerOptions(topic=STATIC, parents=parents))
    for topic in topics:
        desk.give(Join(topic, contacts=("m1", "m2")))
    return desk


def gossip(community: str, event: Event, *way: str) -> Received:
    return Received("m1", encode_word(Gossip(community, 1, way, event)))


def test_an_event_is_delivered_once_and_passed_on_once() -> None:
    """Infect and die."""
    desk = a_member("soccer")
    first = desk.give(gossip("soccer", an_event("soccer/italy")))
    again = desk.give(gossip("soccer", an_event("soccer/italy")))
    assert delivered(first) == ["soccer/italy"]
    assert sorted(to for to, _ in said(first)) == ["m1", "m2"]
    assert again == []
    assert desk.peer.counters == {"copies": 1}


def test_an_event_of_a_community_that_it_is_not_in_is_neither_kept_nor_passed_on() -> None:
    desk = a_member("soccer")
    effects = desk.give(gossip("tennis", an_event("tennis")))
    assert delivered(effects) == []
    assert said(effects) == [("m1", Remove("tennis"))]
    assert desk.peer.counters == {"strays": 1}


def test_an_event_that_does_not_belong_is_not_taken_for_being_called_so() -> None:
    desk = a_member("soccer")
    assert desk.give(gossip("soccer", an_event("tennis"))) == []
    assert desk.give(gossip("soccer", an_event("soccer"), "soccer")) == []
    assert desk.peer.counters == {"misled": 2}


def test_a_parent_of_another_name_gets_what_rises_to_it() -> None:
    desk = a_member("italy")
    assert delivered(desk.give(gossip("italy", an_event("soccer/italy"), "soccer/italy"))) == ["soccer/italy"]


def test_in_a_community_and_its_parent_an_event_is_delivered_once_and_gossiped_in_both() -> None:
    desk = a_member("soccer", "soccer/italy")
    effects = desk.give(gossip("soccer/italy", an_event("soccer/italy")))
    assert delivered(effects) == ["soccer/italy"]
    communities = {word.community for _, word in said(effects) if isinstance(word, Gossip)}
    assert communities == {"soccer", "soccer/italy"}


def test_a_selector_decides_at_delivery_and_not_on_the_way() -> None:
    desk = Desk(PeerOptions(topic=STATIC))
    desk.give(Join("soccer", "team = 'roma'", contacts=("m1",)))
    other = desk.give(gossip("soccer", an_event("soccer", 1, team="lazio")))
    assert (delivered(other), len(said(other))) == ([], 1)
    assert delivered(desk.give(gossip("soccer", an_event("soccer", 2, team="roma")))) == ["soccer"]


def test_who_publishes_becomes_a_member_that_gets_nothing() -> None:
    desk = Desk(PeerOptions(topic=STATIC, pending_s_max=2.0))
    desk.give(Publish(Event("soccer")))
    assert list(desk.peer.communities) == ["soccer"]
    desk.now = 2.0
    assert delivered(desk.give(Due())) == []


def test_what_is_published_waits_until_somebody_is_known() -> None:
    desk = Desk(PeerOptions(topic=TopicOptions(supers=SuperOptions(search_s=1.0)), pending_s_max=5.0))
    desk.give(Join("soccer"))
    assert said(desk.give(Publish(Event("soccer")))) == []
    words = desk.tell("k", Subscribe("soccer", "k", 0, 60.0, renewal=False))
    assert [type(word) for to, word in words if to == "k"] == [Kept, Gossip]


def test_what_waits_is_published_by_who_leaves() -> None:
    """To whoever is known: members above, where it is one itself, get it though nobody of the community was found."""
    desk = Desk(PeerOptions(topic=TopicOptions(scamp=ScampOptions(walk_hops=0)), pending_s_max=5.0))
    desk.give(Join("soccer", contacts=("m",)))
    desk.give(Publish(Event("soccer/italy")))
    effects = desk.give(Leave("soccer/italy"))
    assert delivered(effects) == ["soccer/italy"]
    assert [(to, word.way) for to, word in said(effects) if isinstance(word, Gossip)] == [("m", ("soccer/italy",))]
    assert desk.peer.counters == {"hurried": 1}
    desk.now = 6.0
    assert delivered(desk.give(Due())) == []


def test_who_has_been_alone_for_a_while_waits_no_more() -> None:
    desk = Desk(PeerOptions(pending_s_max=5.0))
    desk.give(Join("soccer"))
    desk.now = 6.0
    assert delivered(desk.give(Publish(Event("soccer")))) == ["soccer"]


def test_bounds_of_its_own_are_said() -> None:
    desk = Desk(PeerOptions(communities_max=1, pending_max=1))
    desk.give(Join("soccer"))
    with pytest.raises(TooMany):
        desk.give(Join("tennis"))
    desk.give(Publish(Event("soccer")))
    with pytest.raises(TooMany):
        desk.give(Publish(Event("soccer")))


@pytest.mark.parametrize("topic", ["", "a/+", "a/#", "x" * 2000])
def test_a_topic_that_is_none_is_refused(topic: str) -> None:
    desk = Desk()
    with pytest.raises(BadTopic):
        desk.give(Join(topic))
    with pytest.raises(BadTopic):
        desk.give(Publish(Event(topic)))
    assert desk.peer.communities == {}


def test_a_search_is_answered_for_the_nearest_community_or_passed_on() -> None:
    """Erratum 6: only by who is in one of the communities that are asked for."""
    desk = a_member("soccer")
    ((to, word),) = desk.tell("x", Request("o", 1, ("tennis", "soccer", "#"), 2))
    assert to == "o"
    assert isinstance(word, Answer)
    assert (word.attempt, word.topic, word.peers[0]) == (1, "soccer", "me")
    onward = desk.tell("x", Request("o", 2, ("tennis",), 2))
    assert sorted(to for to, _ in onward) == ["m1", "m2"]
    assert {word.hops_left for _, word in onward if isinstance(word, Request)} == {1}


def test_a_search_is_heard_once_and_ends_with_its_hops() -> None:
    desk = a_member("soccer")
    assert desk.tell("x", Request("o", 1, ("tennis",), 0)) == []
    assert desk.tell("y", Request("o", 1, ("tennis",), 9)) == []
    assert desk.tell("y", Request("me", 5, ("soccer",), 9)) == []


def test_pings_and_requests_for_more_are_answered_truly() -> None:
    desk = a_member("soccer")
    assert desk.tell("x", Ping(4, "soccer")) == [("x", Pong(4, "soccer", member=True))]
    assert desk.tell("x", Ping(5, "tennis")) == [("x", Pong(5, "tennis", member=False))]
    ((_, word),) = desk.tell("x", More(6, "soccer", 1))
    assert isinstance(word, Some)
    assert len(word.peers) == 2
    assert desk.tell("x", More(7, "tennis", 1)) == [("x", Remove("tennis"))]


def test_answers_that_nobody_asked_for_change_nothing_and_are_counted() -> None:
    desk = a_member("soccer")
    for word in (Answer(9, "soccer", ("f",)), Pong(9, "#", member=True), Some(9, "#", ("f",))):
        assert desk.tell("x", word) == []
    assert desk.peer.counters == {"unasked": 3}


def test_membership_words_for_a_community_that_it_is_not_in_are_answered_with_that() -> None:
    desk = a_member("soccer")
    for word in (Forward("tennis", "f", 3, 9.0), Heartbeat("tennis", 0, b"", ())):
        assert desk.tell_surely("x", word) == [("x", Remove("tennis"))]
    assert desk.tell("x", Remove("tennis")) == []
    assert desk.peer.counters == {"strays": 2}


@pytest.mark.parametrize("frame", [b"", b"\x01", b"\x02\x90", b"\x01\xc1", bytes(100), encode_word(Ping(1, "a"))[:-1]])
def test_bytes_that_are_no_word_are_counted(frame: bytes) -> None:
    desk = a_member("soccer")
    assert desk.give(Received("x", frame)) == []
    assert desk.peer.counters == {"bad_frames": 1}


def test_a_contact_that_does_not_answer_is_asked_again_and_then_another() -> None:
    topic = TopicOptions(scamp=ScampOptions(walk_hops=0))
    desk = Desk(PeerOptions(topic=topic))
    desk.give(Join("soccer", contacts=("dead",)))
    for _ in range(20):
        desk.now = desk.peer.deadline() or desk.now
        desk.give(Due())
    membership = desk.peer.communities["soccer"].membership
    assert list(membership.view) == []
    desk.give(Meet(("alive",)))
    asked: list[tuple[str, float]] = []
    for _ in range(40):
        desk.now = desk.peer.deadline() or desk.now
        asked += [(to, desk.now) for to, word in said(desk.give(Due())) if isinstance(word, Request)]
    assert {to for to, _ in asked} == {"alive", "dead"}
    again = [at for to, at in asked if to == "dead"]
    assert min(later - at for at, later in pairwise(again)) >= 0.9 * desk.peer.options.absent_s, "it may live after all"


def test_an_alarm_that_is_early_does_nothing() -> None:
    desk = a_member("soccer")
    assert desk.give(Due()) == []
    assert desk.peer.deadline() is None


def test_who_has_left_says_so_to_whoever_still_sends() -> None:
    desk = a_member("soccer")
    desk.give(Leave("soccer"))
    desk.give(Leave("soccer"))
    assert said(desk.give(gossip("soccer", an_event("soccer")))) == [("m1", Remove("soccer"))]


def test_three_levels_find_each_other_and_an_event_rises_to_all() -> None:
    """Figure 2 and Figure 4: one contact is all that anybody is told; an empty level is skipped, and later filled."""
    quick = SuperOptions(check_s=1.0, answer_s=0.3, search_s=0.5, search_s_max=4.0)
    topic = TopicOptions(g=100.0, a=2.0, scamp=ScampOptions(heartbeat_s=1.0), supers=quick)
    assembly = Assembly(PeerOptions(topic=topic), NetworkOptions(), "levels")
    got: list[str] = []
    assembly.delivered = lambda peer, deliver: got.append(peer)
    homes = {"r1": "#", "r2": "#", **{f"g{n}": "a/d/g" for n in range(5)}}
    for peer, home in homes.items():
        assembly.start(peer, () if peer == "r1" else ("r1",))
        assembly.join(peer, home)
        assembly.run(0.5)
    assembly.run(20.0)
    assembly.publish("g0", "a/d/g")
    assembly.run(5.0)
    assert sorted(got) == sorted(homes)
    for peer in ("d1", "d2"):
        assembly.start(peer, ("r1",))
        assembly.join(peer, "a/d")
    assembly.run(60.0)
    tables = [assembly.peer(f"g{n}").communities["a/d/g"].supers[0] for n in range(5)]
    assert all("a/d" in table.entries.values() for table in tables)
    got.clear()
    assembly.publish("g0", "a/d/g")
    assembly.run(5.0)
    assert sorted(got) == sorted([*homes, "d1", "d2"])


VOUCHED = Gossip("soccer", 1, ("soccer/italy",), an_event("soccer/italy"))


def a_voucher(*topics: str) -> Desk:
    terms = TopicOptions(membership="static", vouch_tries=2, g=0.0, supers=SuperOptions(check_s=0.0, search_s=0.0))
    desk = Desk(PeerOptions(topic=terms))
    for topic in topics:
        desk.give(Join(topic, supers=(("soccer", "up1"), ("soccer", "up2"), ("#", "top"))))
    return desk


def test_a_publisher_vouches_for_its_event_until_somebody_above_confirms() -> None:
    desk = a_voucher("soccer/italy")
    desk.give(Publish(Event("soccer/italy")))
    asked: list[str] = []
    for _ in range(20):
        desk.now = desk.peer.deadline() or desk.now
        effects = desk.give(Due())
        asked += [to for to, word in said(effects) if isinstance(word, Gossip)]
    assert sorted(asked) == ["up1", "up1", "up2", "up2"], "the nearest, each twice"
    assert desk.peer.counters["unvouched"] == 1


def test_who_is_vouched_to_confirms_and_vouches_in_turn_also_for_what_it_has() -> None:
    for known in (False, True):
        desk = a_voucher("soccer")
        if known:
            desk.tell("m1", VOUCHED)
        effects = desk.give(Received("m2", encode_word(Sure(7, encode_word(VOUCHED)))))
        assert Send("m2", encode_word(Ack(7))) in effects
        ((to, word),) = said(effects)
        assert (to, word.way if isinstance(word, Gossip) else None) == ("top", ("soccer/italy", "soccer"))


def test_a_copy_that_nobody_vouches_for_is_not_vouched_for_either() -> None:
    desk = a_voucher("soccer")
    assert desk.tell("m1", VOUCHED) == []


def test_who_is_no_member_confirms_nothing_so_that_another_is_asked() -> None:
    desk = a_voucher("tennis")
    assert said(desk.give(Received("m2", encode_word(Sure(7, encode_word(VOUCHED)))))) == [("m2", Remove("soccer"))]
    effects = desk.give(Received("m2", encode_word(Sure(7, encode_word(VOUCHED)))))
    assert Send("m2", encode_word(Ack(7))) not in effects
    assert desk.peer.counters == {"strays": 2}


def test_who_begins_another_life_is_answered_at_once() -> None:
    """Whoever has passed a request on ignores another with its number, and each life counts from its beginning."""
    world = Assembly(PeerOptions(), NetworkOptions(), "lives")
    world.start("q")
    world.join("q", "soccer")
    for _ in range(3):
        world.start("p", ("q",))
        world.join("p", "soccer")
        world.run(0.5)
        assert "q" in world.peer("p").communities["soccer"].membership.view
        world.crash("p")


def test_an_answer_that_nobody_asked_for_changes_no_table_whatever_its_number() -> None:
    """Least of all 0, which is the number of nothing."""
    desk = a_voucher("soccer/italy")
    before = dict(desk.peer.communities["soccer/italy"].supers[0].entries)
    for number in (0, 1, 2):
        desk.tell("up1", Answer(number, "soccer", ("evil1", "evil2", "evil3")))
        desk.tell("up1", Some(number, "soccer", ("evil1", "evil2", "evil3")))
    assert desk.peer.communities["soccer/italy"].supers[0].entries == before
    assert desk.peer.counters == {"unasked": 6}

"""SCAMP: subscription, unsubscription, leases, indirection, isolation (reference, section 3)."""

from __future__ import annotations

from array import array
from collections import Counter
from math import log

import msgspec
import pytest

from reknit.community.io import Received
from reknit.community.memberships.scamp import BALANCE, RENEW_AT, Scamp
from reknit.community.options import PeerOptions, ScampOptions, SuperOptions, TopicOptions
from reknit.community.turn import Turn
from reknit.sim.assembly import Assembly
from reknit.sim.network import NetworkOptions
from reknit.wire.peers import (
    EPOCH_MAX,
    MINIMA,
    Forward,
    Heartbeat,
    Kept,
    Remove,
    Replace,
    Subscribe,
    encode_word,
)
from tests.community.desk import a_courier, a_turn, spoken

TERMS = ScampOptions(copies=1, lease_s=20.0, heartbeat_s=2.0, walk_hops=0, reunion_s=0.0)


def a_member(turn: Turn, *view: str, terms: ScampOptions = TERMS) -> Scamp:
    member = Scamp("soccer", TopicOptions(scamp=terms), turn, a_courier(turn))
    for peer in view:
        member.add(peer, 100.0)
    return member


def test_a_newcomer_has_its_contact_in_its_view_and_asks_it() -> None:
    turn = a_turn()
    member = a_member(turn)
    member.join(("k",))
    assert list(member.view) == ["k"]
    assert spoken(turn) == [("k", Subscribe("soccer", "me", 0, 20.0, renewal=False))]


def test_a_contact_sends_a_copy_to_everybody_and_c_more() -> None:
    turn = a_turn()
    member = a_member(turn, "a", "b", "d")
    member.receive("x", Subscribe("soccer", "x", 0, 20.0, renewal=False))
    said = spoken(turn)
    assert sorted(to for to, _ in said[:3]) == ["a", "b", "d"]
    assert len(said) == 3 + TERMS.copies
    assert {type(word) for _, word in said} == {Forward}
    assert "x" in member.in_view


def test_a_contact_that_knows_nobody_keeps_the_newcomer() -> None:
    turn = a_turn()
    member = a_member(turn)
    member.receive("x", Subscribe("soccer", "x", 0, 20.0, renewal=False))
    assert list(member.view) == ["x"]
    assert spoken(turn) == [("x", Kept("soccer", 20.0))]


def test_a_subscription_wanders_before_somebody_acts_on_it() -> None:
    turn = a_turn()
    member = a_member(turn, "a", "b")
    member.receive("x", Subscribe("soccer", "x", 3, 20.0, renewal=False))
    ((_, word),) = spoken(turn)
    assert word == Subscribe("soccer", "x", 2, 20.0, renewal=False)


def test_a_walk_is_as_long_as_it_takes_to_get_anywhere() -> None:
    """Twice the logarithm of the community: with three known in all, three hops; of a thousand, fourteen."""
    for population, hops in ((None, 3), (1000, 14)):
        turn = a_turn()
        member = a_member(turn, "a", "b")
        member.options = msgspec.structs.replace(member.options, population=population)
        member.receive("x", Subscribe("soccer", "x", 32, 20.0, renewal=False))
        ((_, word),) = spoken(turn)
        assert word == Subscribe("soccer", "x", hops - 1, 20.0, renewal=False)


def test_newcomers_by_one_contact_are_spread_by_many() -> None:
    """All come to the same member, which would be in the middle of everything if it acted on that itself."""
    terms = ScampOptions(lease_s=1_000.0, heartbeat_s=100.0, reunion_s=0.0)
    topic = TopicOptions(scamp=terms, population=40, supers=SuperOptions(search_s=0.0))
    assembly = Assembly(PeerOptions(topic=topic), NetworkOptions(), "even")
    members = [f"p{number}" for number in range(40)]
    for member in members:
        assembly.start(member)
        assembly.join(member, "soccer", () if member == "p0" else ("p0",))
        assembly.run(0.5)
    sent: Counter[str] = Counter()
    original = Scamp._spread

    def spread(self: Scamp, word: Subscribe) -> None:
        sent[self.turn.me] += 1
        original(self, word)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Scamp, "_spread", spread)
        for number in range(40, 100):
            assembly.start(f"p{number}")
            assembly.join(f"p{number}", "soccer", ("p0",))
            assembly.run(0.5)
    assert sum(sent.values()) == 60
    at_contact = sent.pop("p0")
    assert at_contact <= 20, "it is in every newcomer's view, so walks come by it, but most end elsewhere"
    assert max(sent.values()) <= 8
    assert len(sent) >= 25


def test_a_copy_is_kept_with_probability_one_by_one_more_than_the_view() -> None:
    """Over 1,000 draws with a view of 4: a fifth of them, within four standard deviations."""
    kept = 0
    for seed in range(1_000):
        member = a_member(a_turn(seed), "a", "b", "d", "e")
        member.receive("a", Forward("soccer", "x", 50, 20.0))
        kept += "x" in member.view
    assert abs(kept - 200) < 4 * (1_000 * 0.2 * 0.8) ** 0.5


def test_who_is_in_the_view_already_or_oneself_goes_on_to_somebody_else() -> None:
    for subscriber in ("a", "me"):
        turn = a_turn()
        member = a_member(turn, "a", "b")
        member.receive("a", Forward("soccer", subscriber, 50, 20.0))
        ((to, word),) = spoken(turn)
        assert to in ("a", "b")
        assert to != subscriber
        assert word == Forward("soccer", subscriber, 49, 20.0)
        assert len(member.view) == 2


def test_a_copy_at_its_last_hop_is_kept_or_renews_a_lease() -> None:
    turn = a_turn()
    member = a_member(turn, "a", "b")
    member.receive("a", Forward("soccer", "b", 0, 500.0))
    assert member.view.until("b") == 500.0
    member.receive("a", Forward("soccer", "x", 0, 20.0))
    assert "x" in member.view


def test_a_view_never_grows_beyond_its_bound() -> None:
    turn = a_turn()
    member = a_member(turn, terms=ScampOptions(view_max=3))
    for number in range(50):
        member.receive("z", Forward("soccer", f"x{number}", 0, 20.0))
        member.receive("z", Heartbeat("soccer", 0, b"", ()))
        member.receive(f"y{number}", Kept("soccer", 20.0))
    assert len(member.view) == 3
    assert len(member.in_view) == 6
    assert turn.counters["view_full"] == 47


def test_who_leaves_gives_its_places_away_but_for_c_and_one() -> None:
    turn = a_turn()
    member = a_member(turn, "o1", "o2")
    for holder in ("i1", "i2", "i3", "i4", "o1"):
        member.receive(holder, Kept("soccer", 20.0))
    member.leave()
    said = spoken(turn)
    replaced = [(to, word.by) for to, word in said if isinstance(word, Replace)]
    assert replaced == [("i1", "o1"), ("i2", "o2"), ("i3", "o1")]
    assert [to for to, word in said if isinstance(word, Remove)] == ["i4", "o1", "o2"]


def test_a_place_that_was_given_away_is_taken_and_its_new_owner_learns_of_it() -> None:
    turn = a_turn()
    member = a_member(turn, "x", "a")
    member.receive("x", Replace("soccer", "o", 7.0))
    assert list(member.view) == ["a", "o"]
    assert spoken(turn) == [("o", Kept("soccer", 7.0))]


def test_no_arc_to_oneself_none_twice_and_no_place_from_who_has_none() -> None:
    member = a_member(a_turn(), "x", "a")
    member.receive("stranger", Replace("soccer", "forged", 7.0))
    member.receive("x", Replace("soccer", "a", 7.0))
    assert list(member.view) == ["a"]
    member.receive("a", Replace("soccer", "me", 7.0))
    assert list(member.view) == []


def test_it_subscribes_again_before_its_lease_ends_and_places_run_out() -> None:
    turn = a_turn()
    member = a_member(turn)
    member.join(("k",))
    member.add("a", 30.0)
    spoken(turn)
    turn.now = 19.5
    member.receive("a", Heartbeat("soccer", 0, b"", ()))
    member.due()
    ((to, word),) = spoken(turn)
    assert to in ("k", "a")
    assert word == Subscribe("soccer", "me", 0, 20.0, renewal=True)
    turn.now = 25.0
    member.due()
    assert list(member.view) == ["a"]


@pytest.mark.parametrize("view", [6, 2, 9])
def test_a_renewal_makes_as_many_copies_as_a_view_should_have_members(view: int) -> None:
    """And more, or fewer, by half of what the view at hand is short of that, or beyond it."""
    turn = a_turn()
    member = Scamp("soccer", TopicOptions(scamp=TERMS, population=20), turn, a_courier(turn))
    for number in range(view):
        member.add(f"m{number}", 100.0)
    made = 0
    for number in range(100):
        member.receive("x", Subscribe("soccer", f"x{number}", 0, 20.0, renewal=True))
        made += len(spoken(turn))
    overlap = 1.0 - sum(RENEW_AT) / 2  # for so much of a lease the old places are there, too
    theory = 2 * log(20)
    assert abs(made / 100 - (1.0 - overlap) * theory - BALANCE * (theory - view)) < 0.2


def test_who_hears_no_heartbeat_takes_itself_for_forgotten() -> None:
    turn = a_turn()
    member = a_member(turn, "a")
    turn.now = TERMS.isolation_beats * TERMS.heartbeat_s
    member.due()
    assert spoken(turn) == [("a", Subscribe("soccer", "me", 0, 20.0, renewal=False))]
    assert turn.counters == {"isolated": 1}


def test_who_was_alone_subscribes_once_it_knows_others() -> None:
    """The first member, and one whose view was empty when it was time to: nobody else sees to their being known."""
    turn = a_turn()
    member = a_member(turn)
    member.receive("x", Subscribe("soccer", "x", 0, 20.0, renewal=False))
    spoken(turn)
    member.due()
    assert spoken(turn) == [("x", Subscribe("soccer", "me", 0, 20.0, renewal=True))]
    member.drop("x")
    turn.now = 19.5
    member.receive("y", Kept("soccer", 3.0))
    member.due()
    assert spoken(turn) == []
    member.receive("y", Forward("soccer", "y", 0, 20.0))
    spoken(turn)
    member.due()
    assert spoken(turn) == [("y", Subscribe("soccer", "me", 0, 20.0, renewal=True))]
    member.due()
    assert spoken(turn) == []


def test_a_subscription_that_nobody_took_is_made_again_once_somebody_is_known() -> None:
    turn = a_turn()
    member = a_member(turn)
    member.join(("dead",))
    ((_, word),) = spoken(turn)
    member.failed("dead", word)
    member.receive("y", Forward("soccer", "y", 0, 20.0))
    spoken(turn)
    member.due()
    assert spoken(turn) == [("y", Subscribe("soccer", "me", 0, 20.0, renewal=True))]


def test_no_member_of_a_few_is_forgotten_for_long() -> None:
    """Three members, of whom the first has asked nobody: over twenty leases each is in somebody's view all the time."""
    terms = ScampOptions(lease_s=6.0, heartbeat_s=1.2, reunion_s=3.0)
    assembly = Assembly(PeerOptions(topic=TopicOptions(scamp=terms)), NetworkOptions(loss=0.05), "few")
    members = ["p1", "p2", "p3"]
    for member in members:
        assembly.start(member, () if member == "p1" else ("p1",))
        assembly.join(member, "soccer")
        assembly.run(1.0)
    assembly.run(12.0)
    for _ in range(400):
        assembly.run(0.3)
        known = {peer for each in members for peer in assembly.peer(each).communities["soccer"].membership.view}
        assert known == set(members)


def test_a_copy_for_a_dead_member_goes_to_another() -> None:
    turn = a_turn()
    member = a_member(turn, "a", "b")
    copy = Forward("soccer", "b", 9, 20.0)
    member.failed("a", copy)
    assert list(member.view) == ["b"]
    assert spoken(turn) == [("b", Kept("soccer", 20.0))]  # nobody else is left to pass it on to


def test_a_forged_count_is_seen() -> None:
    turn = a_turn()
    member = a_member(turn, "a")
    member.receive("a", Heartbeat("soccer", 0, bytes(128), ()))
    assert turn.counters == {"forged": 1}


def test_a_strangers_heartbeat_is_not_believed() -> None:
    """Neither how many there are, nor who is above; that it knows us may be true."""
    turn = a_turn()
    member = a_member(turn, "a")
    told = Heartbeat("soccer", 3, array("f", [0.01] * MINIMA).tobytes(), (("#", "f"),))
    before = member.population()
    assert member.receive("stranger", told) == []
    assert (member.population(), member.census.epoch) == (before, 0)
    assert turn.counters == {"unknown": 1}
    assert member.receive("a", told) == [("#", "f")]
    assert member.census.epoch == 3


def test_one_forged_word_does_not_stop_a_community_from_telling_those_above() -> None:
    """Twelve members below two: before and after, whoever sends it, what is published below gets to both above."""
    quick = SuperOptions(check_s=1.0, answer_s=0.3, search_s=0.5, search_s_max=2.0)
    topic = TopicOptions(g=8.0, a=2.0, scamp=ScampOptions(heartbeat_s=1.0), supers=quick)
    assembly = Assembly(PeerOptions(topic=topic), NetworkOptions(), "forged")
    homes = {"r1": "#", "r2": "#", **{f"p{number}": "soccer" for number in range(12)}}
    for peer, home in homes.items():
        assembly.start(peer, () if peer == "r1" else ("r1",))
        assembly.join(peer, home)
        assembly.run(0.3)
    assembly.run(30.0)
    got: Counter[str] = Counter()
    assembly.delivered = lambda peer, deliver: got.update([peer])
    for sender in ("stranger", "p1"):
        for epoch in (EPOCH_MAX, 4):
            forged = Heartbeat("soccer", epoch, array("f", [1e-9] * MINIMA).tobytes(), ())
            assembly.give("p0", Received(sender, encode_word(forged)))
        assembly.run(1.0)
        got.clear()
        for _ in range(20):
            assembly.publish("p5", "soccer")
            assembly.run(0.2)
        assert got["r1"] >= 19
    member = assembly.peer("p0").communities["soccer"].membership
    assert assembly.peer("p0").counters["forged"] == 4
    assert member.population() < 30


def test_views_have_the_size_of_the_theory_for_twenty_leases() -> None:
    """Sixteen members: the mean view stays within 30 % of ``(c + 1) ln N`` at the end of each of twenty leases."""
    terms = ScampOptions(copies=1, lease_s=10.0, heartbeat_s=2.5, reunion_s=10.0)
    topic = TopicOptions(scamp=terms, supers=SuperOptions(search_s_max=1_000.0))
    assembly = Assembly(PeerOptions(topic=topic), NetworkOptions(loss=0.05), "twenty")
    members = [f"p{number}" for number in range(16)]
    for member in members:
        assembly.start(member, () if member == "p0" else ("p0",))
        assembly.join(member, "soccer")
        assembly.run(0.2)
    theory = 2 * log(16)
    for _ in range(20):
        assembly.run(10.0)
        mean = sum(len(assembly.peer(each).communities["soccer"].membership.view) for each in members) / 16
        assert abs(mean - theory) <= 0.3 * theory

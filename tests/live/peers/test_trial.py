"""Trials: everybody gets what it is owed, and parasites are seen."""

from __future__ import annotations

import asyncio

import msgspec

from reknit.community.io import Deliver
from reknit.community.options import TopicOptions
from reknit.live.peers.trial import Crowd, TrialPlan, brisk, run_trial
from reknit.model.event import Event


def test_three_communities() -> None:
    sizes = (("a", 2), ("a/d", 4), ("a/d/g", 6), ("x", 2))
    topic = TopicOptions(g=100.0, a=3.0)
    plan = TrialPlan(sizes, events=5, events_per_s=100.0, topic="a/d/g", options=brisk(14, topic), secret=b"of ours")
    outcome = asyncio.run(run_trial(plan))
    assert outcome.settled
    assert (outcome.peers, outcome.published, outcome.parasites) == (14, 5, 0)
    assert [(each.members, each.owed) for each in outcome.communities] == [(2, 10), (4, 20), (6, 30), (2, 0)]
    assert [each.delivered for each in outcome.communities] == [10, 20, 30, 0]
    assert outcome.delivered == 60
    assert outcome.communities[2].whole == 5
    # what rises needs a round at least; whether the lowest has all of its own sooner than those above is left to chance
    above, between, lowest = outcome.communities[:3]
    assert min(above.rounds, between.rounds) >= 1
    assert lowest.rounds > 0
    assert outcome.datagram_bytes_max <= 1200
    assert outcome.counters["failures"] == 0


def test_a_parasite_is_seen() -> None:
    crowd = Crowd(TrialPlan((("a", 1), ("b", 1))), None)
    crowd._taker("b", "p")(Deliver("b", Event("a", source="s", seq=1), 1))
    assert crowd.parasites == 1


def test_the_options_are_brisk_and_otherwise_as_given() -> None:
    topic = brisk(600, TopicOptions(c=2.0)).topic
    assert (topic.c, topic.scamp.heartbeat_s) == (2.0, 10.0)
    assert msgspec.structs.asdict(topic.supers)["search_s"] < 1.0

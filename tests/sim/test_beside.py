"""Brokers beside a gathering: what is drawn, and that what crosses is judged."""

from __future__ import annotations

from typing import Any

import pytest

from reknit.community.hierarchy import includes
from reknit.gateway.gateway import Gateway
from reknit.sim.beside import draw_beside
from reknit.sim.gathering import draw_gathering, run_gathering_seed
from reknit.trace.records import Kind

TOPICS = ("#", "a/d", "a/e", "x")


def test_some_gatherings_have_brokers_and_the_first_is_a_gateway() -> None:
    plans = [draw_beside(seed, TOPICS) for seed in range(400)]
    drawn = [plan for plan in plans if plan is not None]
    assert 70 <= len(drawn) <= 130
    assert all(plan.gateways["b1"] and len(plan.wishes) == len(plan.gateways) >= 2 for plan in drawn)
    assert draw_beside(5, TOPICS) == draw_beside(5, TOPICS)


def _both_pass_it_on(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Gateway, "who_passes", lambda self, topic, now: self.name)


def _nobody_passes_it_on(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Gateway, "who_passes", lambda self, topic, now: "")


def _only_names_count(patch: pytest.MonkeyPatch) -> None:
    """As it was before gateways knew of parents that topics were given."""
    patch.setattr(
        Gateway, "_includes", lambda self, communities, topic: any(includes(each, topic) for each in communities)
    )


SEED = 11341
"""Two gateways with the two parents of one topic, and a client that wants it."""


@pytest.mark.parametrize("bug", [_both_pass_it_on, _nobody_passes_it_on, _only_names_count])
def test_a_planted_bug_is_found(bug: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = draw_gathering(SEED)
    assert plan.beside is not None
    assert plan.parents == {"a/d": ("a", "x")}
    bug(monkeypatch)
    assert "crossing" in {violation.checker for violation in run_gathering_seed(SEED).violations}


def test_without_a_bug_nothing_is_found() -> None:
    outcome = run_gathering_seed(SEED)
    assert outcome.violations == []
    assert {record.node for record in outcome.records} >= {"b1", "b2", "at b1"}, "of both worlds"


SHAKEN = 3000
"""Two gateways, each of which crashes, and clients that publish below their topics."""


def test_gateways_crash_and_clients_publish_below_their_topics() -> None:
    """Nobody gets anything unwanted by that, and when it is calm again each event crosses once."""
    outcome = run_gathering_seed(SHAKEN)
    assert outcome.violations == []
    assert outcome.faults["crashed gateway"] >= 2
    crashed = {record.node for record in outcome.records if record.kind is Kind.CRASHED}
    assert crashed >= {"b1", "at b1"}
    below = [
        record for record in outcome.records if record.event is not None and record.event.topic.endswith(("/s", "/t"))
    ]
    assert {record.kind for record in below if record.node.startswith("at b")} >= {Kind.PUBLISHED}


def test_that_a_gateway_which_has_died_is_waited_for_no_longer_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a bug: a gateway in another life of its takes somebody else for the one who passes events on, for ever."""
    original = Gateway.who_passes

    def who(self: Gateway, topic: str, now: float) -> str:
        return "nobody" if self._ready_at > 2.0 else original(self, topic, now)

    monkeypatch.setattr(Gateway, "who_passes", who)
    assert "crossing" in {violation.checker for violation in run_gathering_seed(SHAKEN).violations}

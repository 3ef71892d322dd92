"""Runs with loss: what arrives without recovery is what the tree lets through, and what arrives with it is more."""

from __future__ import annotations

import pytest

from reknit.core.overlay.shapes import find_path, names, shape_edges
from reknit.lab.epidemic import ALGORITHMS, Setting, run_setting

SMALL = Setting("none", brokers=8, patterns=6, publish_per_s=20.0, span_s=2.0, gossip_s=0.1, buffer=200, loss=0.1)


def _of(**fields: object) -> Setting:
    return Setting(**{**{name: getattr(SMALL, name) for name in Setting.__struct_fields__}, **fields})  # type: ignore[arg-type]


def test_without_recovery_an_event_arrives_if_no_link_on_its_way_loses_it() -> None:
    """The mean of (1 - loss) ** hops over pairs of brokers: the sanity check of the reference, section 2.2."""
    import random

    edges = shape_edges("random", names(8), random.Random("1/world"))
    hops = [len(find_path(edges, one, other)) - 1 for one in names(8) for other in names(8) if one != other]
    expected = (8 + sum(0.9**each for each in hops)) / 64
    counted = run_setting(SMALL, "1")
    assert counted.owed > 400
    assert counted.row()["delivered"] == pytest.approx(expected, abs=0.06)
    assert counted.gossip == counted.heartbeats == counted.recovered == 0


def test_where_nothing_is_lost_all_arrives_and_pulls_say_nothing() -> None:
    counted = run_setting(_of(algorithm="combined", loss=0.0, span_s=1.0), "1")
    assert counted.delivered == counted.owed
    assert counted.gossip == 0


@pytest.mark.parametrize("algorithm", ALGORITHMS[1:])
def test_every_algorithm_brings_events_back(algorithm: str) -> None:
    counted, plain = (run_setting(_of(algorithm=name, span_s=1.0), "1") for name in (algorithm, "none"))
    row = counted.row()
    assert float(row["delivered"]) > float(plain.row()["delivered"]) + 0.1
    assert counted.recovered > 10
    assert counted.gossip > counted.recovered / 2
    assert 0 < float(row["latency_s"]) < 3


def test_what_replaced_links_cost_comes_back_too() -> None:
    for every in (0.2, 0.03):
        plain, with_pull = (
            run_setting(_of(algorithm=name, loss=0.0, replaced_every_s=every), "1") for name in ("none", "combined")
        )
        assert plain.delivered < with_pull.delivered <= with_pull.owed


def test_the_same_seed_gives_the_same_counts() -> None:
    setting = _of(algorithm="combined", span_s=0.5)
    assert run_setting(setting, "1") == run_setting(setting, "1")
    assert run_setting(setting, "1") != run_setting(setting, "2")


def test_the_more_patterns_an_event_matches_the_more_are_owed_it() -> None:
    few, many = (run_setting(_of(algorithm="none", matched=matched, span_s=1.0), "1").owed for matched in (1, 6))
    assert few < many / 2


def test_heartbeats_are_the_same_words_for_every_algorithm_and_counted_with_the_gossip_of_a_broker() -> None:
    counted = [run_setting(_of(algorithm=name, loss=0.0, span_s=1.0), "1") for name in ("combined", "random-pull")]
    assert counted[0].heartbeats == counted[1].heartbeats > 0
    row = counted[0].row()
    assert row["per_broker_s"] == (counted[0].gossip + counted[0].heartbeats) / 8
    assert float(row["heartbeats"]) < 1.0  # words of several sources go as one message

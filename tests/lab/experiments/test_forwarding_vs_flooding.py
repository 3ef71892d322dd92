"""Section 2 of the paper on PATH: events follow the routes that subscriptions have laid, and no others."""

from __future__ import annotations

import random
from functools import cache

import pytest

from reknit.core.routing.ideal import ideal_tables
from reknit.lab.experiment import Point, Row, Scale, Verdict
from reknit.lab.experiments.forwarding_vs_flooding import EXPERIMENT, STRATEGIES, Setting, draw

SEEDS = 2


def small(strategy: str, density: float) -> Point:
    return {"strategy": strategy, "brokers": 10, "density": density, "events": 6}


@cache
def rows() -> list[Row]:
    return [
        {**point, "seed": seed, **EXPERIMENT.measure(point, seed)}
        for density in (0.1, 0.5, 1.0)
        for strategy in STRATEGIES
        for point in [small(strategy, density)]
        for seed in range(SEEDS)
    ]


def test_the_claim_holds_on_small_trees() -> None:
    findings = EXPERIMENT.reduce(rows())
    assert findings.verdict is Verdict.AS_CLAIMED
    assert findings.measured.keys() == EXPERIMENT.published.keys()


def test_every_strategy_sees_the_same_world() -> None:
    for density in (0.1, 0.5, 1.0):
        for seed in range(SEEDS):
            ideals = {row["ideal_per_event"] for row in rows() if (row["density"], row["seed"]) == (density, seed)}
            assert len(ideals) == 1


@pytest.mark.parametrize(
    ("strategy", "changed"),
    [
        ("forwarding", {"excess_max": 1}),
        ("forwarding with covering", {"excess_max": 1}),
        ("forwarding", {"messages_per_event": 10.0}),
        ("flooding", {"messages_min": 8}),
        ("flooding", {"messages_max": 10}),
        ("global table", {"events_misdelivered": 1}),
    ],
)
def test_one_run_that_contradicts_it_changes_the_verdict(strategy: str, changed: Row) -> None:
    place = next(number for number, row in enumerate(rows()) if row["strategy"] == strategy)
    tampered = [{**row, **changed} if number == place else row for number, row in enumerate(rows())]
    assert EXPERIMENT.reduce(tampered).verdict is Verdict.NOT_AS_CLAIMED


def test_the_price_is_that_of_the_ideal_tables() -> None:
    """Entries counted from the trace agree with those computed from the tree and all subscriptions."""
    for row in (row for row in rows() if row["strategy"] != "flooding"):
        setting = Setting(str(row["strategy"]), 10, float(row["density"]), 6)
        world = draw(setting, random.Random(f"{row['seed']}/10/{setting.density}/world"))
        wanted = {broker: [pattern] for broker, pattern in world.wants.items()}
        tables = ideal_tables(world.edges, wanted, *STRATEGIES[setting.strategy])
        assert row["routes_per_broker"] == sum(map(len, tables.values())) / 10


def test_complete_knowledge_is_dearer_than_forwarding() -> None:
    dense = {str(row["strategy"]): row for row in rows() if row["density"] == 1.0 and row["seed"] == 0}
    assert dense["global table"]["subscription_messages"] == 10 * 9
    assert dense["global table"]["known_per_broker"] == 9
    assert dense["forwarding"]["subscription_messages"] < dense["global table"]["subscription_messages"]
    assert dense["flooding"]["subscription_messages"] == dense["flooding"]["subscription_bytes"] == 0


def test_points_go_up_to_200_brokers_and_have_a_subscriber() -> None:
    for scale, largest in ((Scale.QUICK, 100), (Scale.PAPER, 200)):
        points = EXPERIMENT.points(scale)
        assert {int(point["brokers"]) for point in points} >= {10, largest}
        assert all(float(point["density"]) * int(point["brokers"]) >= 1 for point in points)


def test_the_picture_shows_the_ideal_and_every_size() -> None:
    figure = EXPERIMENT.plot(rows())
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles[0] == "Messages that an event costs"
    assert all(axes.get_xlabel() and axes.get_ylabel() and axes.get_legend() for axes in figure.axes)
    assert "10 brokers" in [text.get_text() for text in figure.axes[0].texts]

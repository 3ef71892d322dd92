"""Flooding, the oracle: every event to every neighbour, and the same deliveries as the clever strategies."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from reknit.core.routing.strategies import RoutingName
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from tests.core.routing.network import Net
from tests.core.routing.strategies import CLIENTS, events, patterns


def test_nothing_is_said_about_subscriptions_and_events_go_everywhere() -> None:
    net = Net("flooding", [("b1", "b2"), ("b2", "b3")])
    net.subscribe("b1", "ann", Pattern.parse("a"))
    assert net.said == []
    assert net.publish("b3", Event("b")) == ([], [("b3", "b2"), ("b2", "b1")])
    assert net.publish("b3", Event("a")) == ([("b1", "ann")], [("b3", "b2"), ("b2", "b1")])


def test_a_neighbour_that_is_gone_gets_nothing() -> None:
    net = Net("flooding", [("b1", "b2"), ("b2", "b3")])
    net.nodes["b2"].forget("b3")
    assert net.publish("b1", Event("a"))[1] == [("b1", "b2")]
    net.nodes["b2"].tell("b1")  # again: a neighbour that has lost its memory
    assert net.publish("b3", Event("a"))[1] == [("b3", "b2"), ("b2", "b1")]


STRATEGIES: list[tuple[RoutingName, bool]] = [
    ("subscription-forwarding", False),
    ("subscription-forwarding", True),
    ("global-table", False),
]


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    wishes=st.lists(st.tuples(st.integers(0, 5), st.sampled_from(CLIENTS), patterns), max_size=15),
    start=st.integers(0, 5),
    event=events,
)
def test_the_clever_strategies_deliver_what_the_oracle_does(
    seed: int, wishes: list[tuple[int, str, Pattern]], start: int, event: Event
) -> None:
    oracle, *clever = (Net.random(name, 6, seed, covering) for name, covering in [("flooding", False), *STRATEGIES])
    for net in (oracle, *clever):
        for where, client, pattern in wishes:
            net.subscribe(f"b{where + 1}", client, pattern)
        net.run()
    expected, flooded = oracle.publish(f"b{start + 1}", event)
    for net in clever:
        delivered, hops = net.publish(f"b{start + 1}", event)
        assert sorted(delivered) == sorted(expected)
        assert set(hops) <= set(flooded)

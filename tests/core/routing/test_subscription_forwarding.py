"""Subscription forwarding, with covering and without: the ideal tables, whatever the order of messages."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reknit.core.routing import base
from reknit.core.routing.subscription_forwarding import SubscriptionForwarding
from reknit.core.routing.table import broker
from reknit.core.turn import Turn
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.trace.passage import expand
from reknit.wire.messages import Message, Snapshot, Sub, Unsub
from tests.core.routing.network import Net
from tests.core.routing.strategies import CLIENTS, events, patterns

A, B = Pattern.parse("a"), Pattern.parse("b")
churn = st.lists(
    st.tuples(st.booleans(), st.integers(0, 4), st.sampled_from(CLIENTS), patterns, st.integers(0, 3)), max_size=25
)


def _churned(net: Net, steps: list[tuple[bool, int, str, Pattern, int]]) -> None:
    brokers = list(net.nodes)
    for subscribe, where, client, pattern, arrivals in steps:
        (net.subscribe if subscribe else net.unsubscribe)(brokers[where], client, pattern)
        for _ in range(arrivals):
            net.step()
    net.run()


@pytest.mark.parametrize("covering", [False, True])
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), steps=churn, start=st.integers(0, 4), event=events)
def test_after_any_churn_tables_are_ideal_and_events_reach_whoever_wants_them(
    covering: bool, seed: int, steps: list[tuple[bool, int, str, Pattern, int]], start: int, event: Event
) -> None:
    net = Net.random("subscription-forwarding", 5, seed, covering)
    _churned(net, steps)
    assert net.tables() == net.ideal()
    delivered, hops = net.publish(list(net.nodes)[start], event)
    owed = {(name, who) for name, wants in net.wanted.items() for who, each in wants if each.matches(event)}
    assert sorted(delivered) == sorted(owed)
    assert len(hops) == len(set(hops))


def test_a_pattern_is_said_once_per_direction() -> None:
    net = Net("subscription-forwarding", [("b1", "b2"), ("b2", "b3")])
    for client in CLIENTS:
        net.subscribe("b1", client, A)
    net.run()
    assert net.said == [("b1", "b2", Sub([A])), ("b2", "b3", Sub([A]))]


# --- one broker, by hand


class Alone:
    def __init__(self, *told: str, covering: bool = False) -> None:
        self.said: list[tuple[str, Message]] = []
        self.routing = SubscriptionForwarding(Turn("b", False), lambda to, what: self.said.append((to, what)), covering)
        for neighbour in told:
            self.routing.tell(neighbour)
        self.said.clear()


def test_a_neighbour_that_was_not_told_is_told_nothing() -> None:
    """Until it is told everything, differences would mean nothing to it."""
    alone = Alone("n")
    alone.routing.receive("m", Sub([A]))
    assert alone.said == [("n", Sub([A]))]
    alone.said.clear()
    alone.routing.tell("m")
    assert alone.said == [("m", Snapshot([], last=True))]


def test_a_snapshot_replaces_and_only_the_difference_goes_on() -> None:
    alone = Alone("m", "n")
    alone.routing.receive("m", Sub([A, B]))
    alone.said.clear()
    c = Pattern.parse("c")
    assert alone.routing.receive_snapshot("m", Snapshot([("", [B])], last=False)) is False
    assert alone.said == []
    assert alone.routing.receive_snapshot("m", Snapshot([("", [c])], last=True)) is True
    assert alone.said == [("n", Sub([c])), ("n", Unsub([A]))]


def test_a_snapshot_that_was_under_way_ends_with_its_session() -> None:
    alone = Alone("n")
    alone.routing.receive_snapshot("m", Snapshot([("", [A])], last=False))
    alone.routing.begin_session("m")
    alone.routing.receive_snapshot("m", Snapshot([("", [B])], last=True))
    assert alone.routing.table.patterns() == [B]


def test_a_large_table_is_told_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "MESSAGE_PATTERNS_MAX", 10)
    alone = Alone()
    wanted = [Pattern.parse(f"t/{number}") for number in range(21)]
    for each in wanted:
        alone.routing.subscribe("ann", each)
    alone.routing.tell("n")
    parts = [message for _, message in alone.said if isinstance(message, Snapshot)]
    assert [part.last for part in parts] == [False, False, True]
    assert [each for part in parts for _, some in part.entries for each in some] == wanted


def test_what_covering_brings_back_is_said_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "MESSAGE_PATTERNS_MAX", 10)
    alone = Alone("n", covering=True)
    narrow = [Pattern.parse(f"t/{number}") for number in range(25)]
    wide = Pattern.parse("t/#")
    for each in [wide, *narrow]:
        alone.routing.subscribe("ann", each)
    alone.said.clear()
    alone.routing.unsubscribe("ann", wide)
    sizes = [len(message.patterns) for _, message in alone.said if isinstance(message, Sub)]
    assert sizes == [10, 10, 5]
    assert alone.said[-1] == ("n", Unsub([wide]))


def test_a_neighbour_that_goes_takes_its_wishes_along() -> None:
    alone = Alone("m", "n")
    alone.routing.receive("m", Sub([A]))
    alone.said.clear()
    alone.routing.forget("m")
    assert alone.said == [("n", Unsub([A]))]
    assert len(alone.routing.table) == 0


def test_what_a_neighbour_may_want_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "NEIGHBOUR_PATTERNS_MAX", 10)
    alone = Alone("m")
    alone.routing.turn.observing = True
    alone.routing.receive("m", Sub([Pattern.parse(f"t/{number}") for number in range(20)]))
    assert alone.routing.table.count(broker("m")) == 10
    assert len([each for each in expand(alone.routing.turn.seen) if each.detail == "too many patterns"]) == 10
    alone.routing.receive("m", Sub([Pattern.parse(f"t/{number}") for number in range(10)]))
    assert alone.routing.table.count(broker("m")) == 10


def test_a_snapshot_without_end_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "NEIGHBOUR_PATTERNS_MAX", 10)
    alone = Alone("m")
    alone.routing.turn.observing = True
    for number in range(100):
        alone.routing.receive_snapshot("m", Snapshot([("", [Pattern.parse(f"t/{number}")])], last=False))
    alone.routing.receive_snapshot("m", Snapshot([], last=True))
    assert 0 < alone.routing.table.count(broker("m")) <= 10
    assert {each.detail for each in expand(alone.routing.turn.seen) if each.peer and not each.pattern} == {
        "too many patterns"
    }


def test_what_a_neighbour_had_hidden_is_known_once_another_stands_beside_it() -> None:
    """Split: ``m`` told ``#`` for itself and ``x``; then each tells for itself, and ``#`` goes."""
    everything = Pattern.parse("#")
    alone = Alone("m", "n", covering=True)
    alone.routing.receive("m", Sub([everything]))
    alone.said.clear()
    alone.routing.split("m", "x", [("", [A])], [("", [everything])])
    assert alone.said == []  # n knows of #, which covers A
    alone.routing.receive("x", Unsub([everything]))
    assert alone.said == [("n", Sub([A])), ("n", Unsub([everything]))]

"""PATH, section 2 and Figure 12: subscription forwarding on an unrooted tree, as corrected.

Each test names the sentence or the action that it holds the code to. Figure 12 is read with these corrections: what it
counts are subscribers other than the one just inserted (read literally, subscriptions never spread); an event goes to
every matching subscriber but the sender, one copy each; an unsubscription for an absent entry does nothing.
"""

from __future__ import annotations

import random

import pytest

from reknit.core.overlay.shapes import find_path, names, shape_edges
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.wire.messages import Sub, Unsub
from tests.core.routing.network import Net

P = Pattern.parse("p")
LINE = [("b1", "b2"), ("b2", "b3"), ("b3", "b4")]
STAR = [("hub", "b1"), ("hub", "b2"), ("hub", "b3")]


def _net(edges: list[tuple[str, str]], covering: bool = False) -> Net:
    return Net("subscription-forwarding", edges, covering)


@pytest.mark.parametrize("seed", range(5))
def test_subscriptions_are_delivered_to_every_dispatcher_along_a_single_unrooted_tree(seed: int) -> None:
    net = Net.random("subscription-forwarding", 12, seed)
    net.subscribe("b5", "ann", P)
    net.run()
    assert sorted(receiver for _, receiver, _ in net.said) == sorted(name for name in names(12) if name != "b5")


def test_the_pattern_is_inserted_with_the_subscriber_and_forwarded_to_all_the_neighbours() -> None:
    net = _net(STAR)
    net.subscribe("hub", "ann", P)
    assert net.said == [("hub", "b1", Sub([P])), ("hub", "b2", Sub([P])), ("hub", "b3", Sub([P]))]
    assert net.nodes["hub"].table.of(("client", "ann")) == [P]


def test_each_dispatcher_reforwards_to_its_neighbours_except_for_the_one_that_sent_it() -> None:
    net = _net(STAR)
    net.nodes["hub"].receive("b1", Sub([P]))
    assert net.said == [("hub", "b2", Sub([P])), ("hub", "b3", Sub([P]))]


def test_the_same_pattern_is_not_forwarded_twice_in_the_same_direction() -> None:
    """Section 2: "avoiding to forward multiple subscriptions for the same event pattern in the same direction"."""
    net = _net(LINE)
    net.subscribe("b1", "ann", P)
    net.run()
    net.said.clear()
    net.subscribe("b1", "ben", P)
    net.subscribe("b2", "cay", P)
    net.run()
    assert net.said == [("b2", "b1", Sub([P]))]  # b1 alone did not know of anybody else


@pytest.mark.parametrize("seed", range(5))
def test_routes_are_the_reverse_paths_from_publisher_to_subscriber(seed: int) -> None:
    net = Net.random("subscription-forwarding", 12, seed)
    net.subscribe("b7", "ann", P)
    net.run()
    for publisher in names(12):
        path = find_path(net.edges, publisher, "b7")
        delivered, hops = net.publish(publisher, Event("p"))
        assert delivered == [("b7", "ann")]
        assert [publisher, *(receiver for _, receiver in hops)] == path


def test_unsubscriptions_are_propagated_analogously_and_remove_entries() -> None:
    net = _net(LINE)
    net.subscribe("b1", "ann", P)
    net.run()
    net.said.clear()
    net.unsubscribe("b1", "ann", P)
    net.run()
    assert net.said == [("b1", "b2", Unsub([P])), ("b2", "b3", Unsub([P])), ("b3", "b4", Unsub([P]))]
    assert all(not entries for entries in net.tables().values())


def test_footnote_2_coverage_among_subscriptions_shrinks_tables_and_changes_no_delivery() -> None:
    wide, narrow, other = Pattern.parse("p/#", "x > 1"), Pattern.parse("p/q", "x > 5"), Pattern.parse("r")
    plain, covering = _net(LINE), _net(LINE, covering=True)
    for net in (plain, covering):
        for number, wanted in enumerate((narrow, wide, other)):
            net.subscribe("b1", f"c{number}", wanted)
        net.run()
    assert len(covering.tables()["b4"]) == 2 < len(plain.tables()["b4"])
    for x in range(8):
        for topic in ("p", "p/q", "r", "z"):
            event = Event(topic, attributes={"x": x})
            assert plain.publish("b4", event)[0] == covering.publish("b4", event)[0]


# --- Figure 12, action by action


def test_figure_12_the_first_subscription_goes_to_all_neighbours_but_the_sender() -> None:
    """``subscriptionReceived``, first branch: no n' other than n with (n', p) in S."""
    net = _net(STAR)
    net.nodes["hub"].receive("b2", Sub([P]))
    assert sorted(receiver for _, receiver, _ in net.said) == ["b1", "b3"]


def test_figure_12_the_second_goes_to_the_first_subscriber_only() -> None:
    """``subscriptionReceived``, second branch: exactly one n' other than n; if it is a dispatcher, it is told."""
    net = _net(STAR)
    net.nodes["hub"].receive("b2", Sub([P]))
    net.said.clear()
    net.nodes["hub"].receive("b1", Sub([P]))
    assert net.said == [("hub", "b2", Sub([P]))]


def test_figure_12_the_second_is_told_to_nobody_if_the_first_is_a_client() -> None:
    net = _net(STAR)
    net.nodes["hub"].subscribe("ann", P)
    net.said.clear()
    net.nodes["hub"].receive("b1", Sub([P]))
    assert net.said == []


def test_figure_12_the_third_is_told_to_nobody() -> None:
    net = _net(STAR)
    for name in ("b1", "b2"):
        net.nodes["hub"].receive(name, Sub([P]))
    net.said.clear()
    net.nodes["hub"].receive("b3", Sub([P]))
    assert net.said == []


def test_figure_12_a_subscription_that_is_there_already_does_nothing() -> None:
    """``if (n, p) not in S``."""
    net = _net(STAR)
    net.nodes["hub"].receive("b1", Sub([P]))
    net.said.clear()
    net.nodes["hub"].receive("b1", Sub([P]))
    assert net.said == []


def test_figure_12_with_no_subscriber_left_all_but_the_sender_are_told() -> None:
    """``processUnsubFrom``, first branch."""
    net = _net(STAR)
    net.nodes["hub"].receive("b1", Sub([P]))
    net.said.clear()
    net.nodes["hub"].receive("b1", Unsub([P]))
    assert net.said == [("hub", "b2", Unsub([P])), ("hub", "b3", Unsub([P]))]


def test_figure_12_the_only_subscriber_left_is_told() -> None:
    """``processUnsubFrom``, second branch: nobody but itself wants the pattern any more."""
    net = _net(STAR)
    for name in ("b1", "b2"):
        net.nodes["hub"].receive(name, Sub([P]))
    net.said.clear()
    net.nodes["hub"].receive("b2", Unsub([P]))
    assert net.said == [("hub", "b1", Unsub([P]))]


def test_figure_12_a_client_that_is_left_alone_is_told_nothing() -> None:
    """The same branch: only ``if n' in D``."""
    net = _net(STAR)
    net.nodes["hub"].subscribe("ann", P)
    net.nodes["hub"].receive("b2", Sub([P]))
    net.said.clear()
    net.nodes["hub"].receive("b2", Unsub([P]))
    assert net.said == []


def test_figure_12_corrected_an_unsubscription_for_an_absent_entry_does_nothing() -> None:
    net = _net(STAR)
    net.nodes["hub"].receive("b1", Unsub([P]))
    net.nodes["hub"].receive("b1", Sub([P]))
    net.said.clear()
    net.nodes["hub"].receive("b2", Unsub([P]))
    assert net.said == []
    assert net.tables()["hub"] == {("b1", P)}


def test_figure_12_corrected_an_event_goes_to_all_matching_subscribers_but_the_sender_once_each() -> None:
    """``eventReceived``: one copy for a neighbour, however many of its patterns match."""
    net = _net(STAR)
    for name in ("b1", "b2"):
        net.subscribe(name, "ann", P)
        net.subscribe(name, "ann", Pattern.parse("#"))
        net.subscribe(name, "ben", Pattern.parse("p", "x > 1"))
    net.run()
    delivered, hops = net.publish("b1", Event("p", attributes={"x": 2}))
    assert hops == [("b1", "hub"), ("hub", "b2")]
    assert sorted(delivered) == [("b1", "ann"), ("b1", "ben"), ("b2", "ann"), ("b2", "ben")]


@pytest.mark.parametrize("seed", range(10))
def test_figure_12_said_as_one_sentence(seed: int) -> None:
    """A neighbour d has been told of p exactly as long as somebody other than d wants p: under concurrent churn."""
    rng = random.Random(seed)
    net = Net("subscription-forwarding", shape_edges("random", names(9), rng), seed=seed)
    patterns = [P, Pattern.parse("q"), Pattern.parse("q", "x > 1")]
    for _ in range(150):
        act = net.subscribe if rng.random() < 0.6 else net.unsubscribe
        act(rng.choice(names(9)), rng.choice(("ann", "ben")), rng.choice(patterns))
        for _ in range(rng.randrange(4)):
            net.step()
    net.run()
    assert net.tables() == net.ideal()

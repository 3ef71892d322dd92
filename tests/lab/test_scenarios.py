"""A quiet network, and what is overheard on its links."""

from __future__ import annotations

import pytest

from reknit.core.routing.strategies import RoutingName
from reknit.lab.scenarios import Ear, NotSettled, QuietNetwork, count_kinds, quiet_options
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.trace.records import Kind
from reknit.wire.messages import Known, Sub, Unsub

LINE = [("b1", "b2"), ("b2", "b3")]
HOT = Pattern.parse("heat")
COLD = Pattern.parse("cold")


@pytest.mark.parametrize(
    ("routing", "told", "known", "forwarded"),
    [("flooding", 0, 0, 2), ("subscription-forwarding", 2, 0, 1), ("global-table", 4, 4, 1)],
)
def test_two_subscriptions_and_an_event(routing: RoutingName, told: int, known: int, forwarded: int) -> None:
    network = QuietNetwork(LINE, quiet_options(routing), "seed")
    before = network.link_bytes
    for broker in ("b1", "b2"):
        network.subscribe(broker, "reader", HOT)
    network.settle()
    assert (network.ear.subscription_messages, len(network.ear.known)) == (told + _echo(routing), known)
    assert (network.link_bytes > before) == (told > 0)
    network.publish("b2", "writer", Event("heat"))
    network.settle()
    kinds = count_kinds(network.records)
    assert (kinds[Kind.FORWARDED], kinds[Kind.DELIVERED]) == (forwarded, 2)


def _echo(routing: RoutingName) -> int:
    """b2's own wish is news to b1 only: b3 has heard of the pattern already."""
    return 1 if routing == "subscription-forwarding" else 0


def test_an_idle_network_says_nothing() -> None:
    network = QuietNetwork(LINE, quiet_options("subscription-forwarding"), "seed")
    before = network.link_bytes
    network.cluster.kernel.run(until=network.cluster.kernel.now + 600.0)
    assert network.link_bytes == before


def test_a_network_that_does_not_settle_is_not_measured() -> None:
    network = QuietNetwork(LINE, quiet_options("flooding"), "seed")
    network.cluster.crash("b2")
    with pytest.raises(NotSettled, match="b2 is down"):
        network.settle()


def test_what_is_known_no_more_is_not_counted() -> None:
    ear = Ear()
    ear.hear("b1", Known("b9", [HOT, COLD], []))
    ear.hear("b1", Known("b9", [], [HOT]))
    ear.hear("b1", Sub([HOT]))
    ear.hear("b1", Unsub([HOT]))
    assert list(ear.known) == [("b1", "b9", COLD)]
    assert ear.subscription_messages == 5

"""PATH, section 4.1 and Figure 13: links are added and removed with plain subscriptions and unsubscriptions."""

from __future__ import annotations

import random

import pytest

from reknit.core.broker import BrokerOptions
from reknit.core.overlay.shapes import find_path, names, shape_edges
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.sim.checkers.tables import check_tables
from reknit.sim.cluster import Cluster
from reknit.sim.network import NetworkOptions
from reknit.trace.records import Kind
from reknit.wire.messages import Snapshot, Unsub
from tests.core.routing.network import Net

P, Q = Pattern.parse("p"), Pattern.parse("q")


def _two_trees() -> Net:
    """b1 - b2 and b3 - b4, with clients that want p at b1 and at b4, and q at b4."""
    net = Net("subscription-forwarding", [("b1", "b2"), ("b3", "b4")])
    net.subscribe("b1", "ann", P)
    net.subscribe("b4", "dan", P)
    net.subscribe("b4", "dan", Q)
    net.run()
    net.said.clear()
    return net


def test_figure_13_add_link_sends_a_subscription_for_each_pattern_that_somebody_else_wants() -> None:
    """``sendSubsToNewLink``: all p with some (n, p) in S and n other than d. Here they travel as one snapshot."""
    net = _two_trees()
    net.edges.append(("b2", "b3"))
    net.nodes["b2"].tell("b3")
    net.nodes["b3"].tell("b2")
    assert net.said == [("b2", "b3", Snapshot([("", [P])], True)), ("b3", "b2", Snapshot([("", [P, Q])], True))]
    net.run()
    assert net.tables() == net.ideal()


def test_figure_13_remove_link_acts_as_if_an_unsubscription_had_come_for_each_pattern() -> None:
    """``removeLinkTo``: ``processUnsubFrom(d, p)`` for all (d, p) in S."""
    net = _two_trees()
    net.edges.append(("b2", "b3"))
    net.nodes["b2"].tell("b3")
    net.nodes["b3"].tell("b2")
    net.run()
    net.said.clear()
    net.edges.pop()
    net.nodes["b2"].forget("b3")
    net.nodes["b3"].forget("b2")
    assert net.said == [("b2", "b1", Unsub([P])), ("b2", "b1", Unsub([Q])), ("b3", "b4", Unsub([P]))]
    net.run()
    assert net.tables() == net.ideal()


@pytest.mark.parametrize("seed", range(6))
def test_trees_merge_and_split_and_the_tables_are_ideal_each_time(seed: int) -> None:
    """Section 4.1, through the whole broker: no other primitive is needed when a link only comes or only goes."""
    rng = random.Random(seed)
    edges = shape_edges("random", names(8), rng)
    cluster = Cluster(edges, BrokerOptions(observe=True, founded=True), NetworkOptions(), str(seed))
    cluster.start_all()
    for name in names(8):
        cluster.attach(name, f"{name}-client", rng.sample([P, Q, Pattern.parse("#", "x > 1")], rng.randrange(3)))
    assert cluster.settle(60.0)
    for _ in range(4):
        one, other = rng.choice(edges)
        edges.remove((one, other))
        assert cluster.replies.get(cluster.remove_link(one, other), "") == ""
        assert cluster.settle(60.0)
        left = [name for name in names(8) if find_path(edges, one, name) or name == one]
        right = [name for name in names(8) if name not in left]
        edges.append((rng.choice(left), rng.choice(right)))
        cluster.add_link(*edges[-1])
        assert cluster.settle(60.0)
    assert list(check_tables(cluster.records, "subscription-forwarding", covering=False)) == []
    assert set(cluster.replies.values()) == {""}


def test_links_are_fifo_and_reliable_so_an_event_before_an_unsubscription_still_arrives() -> None:
    """Section 2's assumption: "the links connecting the dispatchers are FIFO and transport reliably"."""
    cluster = Cluster([("b1", "b2")], BrokerOptions(observe=True, founded=True), NetworkOptions(), "fifo")
    cluster.start_all()
    cluster.attach("b2", "ben", [P])
    assert cluster.settle(60.0)
    for _ in range(20):
        cluster.publish("b1", "pam", Event("p"))
        cluster.network.break_connection("b1", "b2")
    assert cluster.settle(60.0)
    delivered = [record.event.seq for record in cluster.records if record.kind is Kind.DELIVERED and record.event]
    assert delivered == list(range(1, 21))

"""Wishes, played into a simulated network: at their time, and held by the brokers in the end."""

from __future__ import annotations

import random

import pytest

from reknit.core.overlay.shapes import names, shape_edges
from reknit.lab.scenarios import quiet_options
from reknit.sim.checkers.tables import check_tables
from reknit.sim.checkers.wishes import check_wishes
from reknit.sim.cluster import Cluster
from reknit.sim.network import NetworkOptions
from reknit.sim.replay import TELL_EVERY, replay
from reknit.trace.records import Kind
from reknit.trace.wishes import BadWishes, Wish

ROUTING = "subscription-forwarding"


def cluster() -> Cluster:
    edges = shape_edges("random", names(5), random.Random(1))
    made = Cluster(edges, quiet_options(ROUTING), NetworkOptions(), "replay")
    made.start_all()
    assert made.settle(60)
    return made


def wishes(count: int) -> list[Wish]:
    rng, held, made = random.Random(2), dict[tuple[str, str], None](), []
    for number in range(count):
        client, topic = f"u{rng.randrange(8)}", f"cell/{rng.randrange(6)}"
        wanted = (client, topic) not in held
        (held.update({(client, topic): None}) if wanted else held.pop((client, topic)))
        made.append(Wish(1000.0 + number, wanted, f"b{1 + int(client[1:]) % 5}", client, topic))
    return made


@pytest.mark.parametrize("speed", [0.0, 10.0])
def test_what_is_wanted_in_the_end_is_held_and_tables_are_ideal(speed: float) -> None:
    network, told = cluster(), list[int]()
    given = wishes(TELL_EVERY)
    done = replay(network, given, speed, told.append)
    assert network.settle(60)
    assert (done.subscribes, done.unsubscribes) == (
        sum(wish.wanted for wish in given),
        sum(not wish.wanted for wish in given),
    )
    assert told == [TELL_EVERY]
    assert list(check_wishes(network.records, done.wanted)) == []
    assert list(check_tables(network.records, ROUTING, False)) == []


def test_changes_come_at_their_time() -> None:
    network = cluster()
    begun = network.kernel.now
    replay(network, wishes(20), speed=2.0)
    times = [record.time - begun for record in network.records if record.kind in (Kind.SUBSCRIBED, Kind.UNSUBSCRIBED)]
    assert times == pytest.approx([number / 2 for number in range(20)])


def test_a_broker_that_is_not_there_is_named() -> None:
    with pytest.raises(BadWishes, match="b9"):
        replay(cluster(), [Wish(0.0, True, "b9", "u1", "a")])

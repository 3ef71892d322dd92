"""Tables over twenty leases, of sixty members of which some come and go all the time: within 30 % of their theory."""

from __future__ import annotations

from collections.abc import Callable
from math import floor, log

import pytest

from reknit.community.options import GridOptions, PeerOptions, ScampOptions, SuperOptions, TopicOptions
from reknit.sim.assembly import Assembly
from reknit.sim.network import NetworkOptions

MEMBERS = 60
LEASE_S = 10.0
THEORY: dict[str, Callable[[int], float]] = {
    "scamp": lambda members: 2 * log(members),
    "semi-structured": lambda members: 2 * log(members),
    "structured": lambda members: floor(log(members) + 2.0),
}


def a_world(membership: str) -> Assembly:
    topic = TopicOptions(
        c=2.0,
        membership=membership,
        scamp=ScampOptions(copies=1, lease_s=LEASE_S, heartbeat_s=2.5, reunion_s=LEASE_S),
        supers=SuperOptions(search_s_max=1_000.0),
    )
    grid = GridOptions(lease_s=LEASE_S, refresh_s=LEASE_S / 4)
    return Assembly(PeerOptions(topic=topic, parents={"t": ()}, grid=grid), NetworkOptions(loss=0.05), membership)


@pytest.mark.long
@pytest.mark.parametrize("membership", sorted(THEORY))
@pytest.mark.parametrize("churn", [0, 3])
def test_the_mean_stays_near_its_theory_for_twenty_leases(membership: str, churn: int) -> None:
    world = a_world(membership)
    born = 0

    def come() -> None:
        nonlocal born
        known = world.alive()
        world.start(f"p{born}", (world.rng.choice(known),) if known else ())
        world.join(f"p{born}", "t")
        born += 1
        world.run(0.2)

    for _ in range(MEMBERS):
        come()
    world.run(2 * LEASE_S)
    for lease in range(20):
        for number in range(churn):
            gone = world.rng.choice(world.alive())
            if number % 2:
                world.leave(gone, "t")
                world.run(0.5)
            world.crash(gone)
            come()
        world.run(LEASE_S)
        views = [list(world.peer(each).communities["t"].membership.view) for each in world.alive()]
        mean, theory = sum(map(len, views)) / len(views), THEORY[membership](len(views))
        assert abs(mean - theory) <= 0.3 * theory, f"lease {lease}"
        assert all(len(set(view)) == len(view) for view in views)

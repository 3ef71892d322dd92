"""One system under one of DYNATOPS's two models of users: a setting as data, and what comes out of it.

Owns: the systems by their names, and the parameters of section 6. Must not know: experiments and their claims.
"""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np

from reknit.lab.demand import Area, Locations, Poisson, generated, read_checkins
from reknit.lab.digits import Digits, quarters, random_ids
from reknit.lab.dynatops import MS_PER_DEGREE, Constant, Network, OnRing, TopicConnected, simulate
from reknit.lab.interests import Interests, Pattern
from reknit.lab.policies import ByInterest, Following, along_curve, settle
from reknit.planning.notification import Floats
from reknit.planning.placement import Placement, PlacementOptions, clusters, static

__all__ = ["Contest", "System", "run_contest"]

System = Literal[
    "Bayeux (static)",
    "Bayeux (loc)",
    "Bayeux (loc+PNS)",
    "GeoPS",
    "TCO",
    "CHash",
    "DYNATOPS (UP)",
    "DYNATOPS (BNR)",
    "DYNATOPS",
    "DYNATOPS (search)",
    "DYNATOPS (trips)",
]
"""(UP): users are placed by interest, and brokers stay. (BNR): the other way round. (search): with our own search.
(trips): plans know how far brokers are from each other, where that differs."""
GEO_LEVELS = 5
"""Of 32 by 32 cells, as in the paper."""


class Contest(msgspec.Struct, frozen=True):
    """Not in the paper: ``load_weight``, ``update_h``, ``events``, ``stands_for``, ``base``, and how long a step is."""

    system: System
    model: Literal["poisson", "location"] = "poisson"
    users: int = 50_000
    brokers: int = 100
    """Of the Poisson model; else there is one in each cell."""
    topics: int = 1000
    pattern: Pattern = "multimodal"
    modes: int = 100
    each: int = 5
    rate: float = 0.1
    events: float = 10.0
    """Of a topic in an hour, in the Poisson model. In the other, every check-in is one."""
    stands_for: float = 10.0
    """Events for which a simulated one stands when changes are planned: there are too many to simulate each."""
    hours: int = 100
    step_h: float = 1.0
    cell: int = 1
    """Degrees that a cell of the location model has on each side."""
    checkins: str = ""
    """A file with real ones; without, they are made."""
    cluster: int = 10
    load_weight: float = 5.0
    update_h: float = 1.0
    free_h: float = 10.0
    delay_weight: float = 1.0
    base: int = 16
    """Of Tapestry's digits."""

    @property
    def by_interest(self) -> bool:
        return self.system in ("DYNATOPS", "DYNATOPS (UP)", "DYNATOPS (search)", "DYNATOPS (trips)")

    @property
    def on_ring(self) -> bool:
        return self.system == "CHash" or self.system.startswith("DYNATOPS")

    @property
    def free(self) -> float:
        """T_free, if places are changed at all."""
        return 0.0 if self.system in ("DYNATOPS (UP)", "CHash") else self.free_h


def run_contest(contest: Contest, seed: str) -> dict[str, float]:
    numbers = np.random.SeedSequence(list(seed.encode()))
    users, system = (np.random.default_rng(each) for each in numbers.spawn(2))  # the same users for all systems
    run = _poisson if contest.model == "poisson" else _location
    return run(contest, users, system)


def _poisson(contest: Contest, users: np.random.Generator, system: np.random.Generator) -> dict[str, float]:
    modes = contest.modes if contest.pattern == "multimodal" else 1
    interests = Interests(contest.pattern, contest.topics, contest.each, modes)
    demand = Poisson(interests, contest.users, contest.hours, contest.rate, contest.events, users)
    homes = static(contest.users, contest.brokers, system)
    policy: Following | ByInterest
    if contest.by_interest:
        options = PlacementOptions(contest.load_weight)
        placement = Placement(contest.brokers, contest.topics, clusters(contest.brokers, contest.cluster), options)
        policy = ByInterest(placement, lambda user: int(homes[user]), contest.update_h, bound=False)
    else:
        policy = Following(contest.brokers, contest.topics, lambda user: int(homes[user]))
    settle(policy, demand.begin())
    network: Network
    if contest.on_ring:
        network = OnRing(
            contest.brokers, contest.topics, contest.free, contest.delay_weight, None, contest.stands_for, _rng(contest)
        )
    elif contest.system == "TCO":
        network = TopicConnected(policy.placement.wants, system)
    else:
        network = _bayeux(contest, contest.brokers, contest.topics, system, None)
    return {**simulate(demand, policy, network, contest.step_h).row(), "visits": 0.0}


def _rng(contest: Contest) -> np.random.Generator | None:
    """For our own search, which draws."""
    return np.random.default_rng(1) if contest.system == "DYNATOPS (search)" else None


def _bayeux(contest: Contest, brokers: int, topics: int, rng: np.random.Generator, trips: Floats | None) -> Constant:
    near = trips if contest.system == "Bayeux (loc+PNS)" else None
    overlay = Digits(random_ids(brokers, contest.base, rng), contest.base, rng, near)
    keys = rng.integers(contest.base, size=(topics, overlay.ids.shape[1])).tolist()
    roots = np.array([overlay.owner(tuple(key)) for key in keys], dtype=np.int32)
    return Constant(overlay.ways(roots), trips)


def _location(contest: Contest, users: np.random.Generator, system: np.random.Generator) -> dict[str, float]:
    area, days = Area(contest.cell), -(-contest.hours // 24)
    if contest.checkins:
        checkins = read_checkins(contest.checkins, days, area)
    else:
        checkins = generated(contest.users, days, int(users.integers(1 << 32)), area)
    demand = Locations(checkins, contest.step_h, users, area.cells)
    side = (1 << GEO_LEVELS) // contest.cell
    places = area.square_centres(side) if contest.system == "GeoPS" else area.centres()
    trips = _trips(places, system)
    network: Network
    if contest.system == "GeoPS":
        overlay = Digits(quarters(side.bit_length() - 1), 4, system, trips)
        network = Constant(overlay.ways(area.square_of(area.centres(), side)), trips, down_too=False)
    elif contest.on_ring:
        far = contest.system == "DYNATOPS (trips)"
        settings = (contest.free, contest.delay_weight, trips, contest.stands_for, _rng(contest), far)
        network = OnRing(area.cells, area.cells, *settings)
    else:
        network = _bayeux(contest, area.cells, area.cells, system, trips)
    policy = _place(contest, demand, area, side, system)
    settle(policy, demand.begin())
    found = simulate(demand, policy, network, contest.step_h, places).row()
    return {**found, "visits": float(demand.visits)}


def _place(
    contest: Contest, demand: Locations, area: Area, side: int, rng: np.random.Generator
) -> Following | ByInterest:
    def here(user: int) -> int:
        return int(demand.cells[user])

    def square(user: int) -> int:
        return int(area.square_of(demand.spots[user : user + 1], side)[0])

    if contest.by_interest:
        options = PlacementOptions(contest.load_weight)
        together = along_curve(*area.shape, contest.cluster)
        return ByInterest(Placement(area.cells, area.cells, together, options), here, contest.update_h, bound=True)
    if contest.system == "GeoPS":
        return Following(side * side, area.cells, square)
    if contest.system in ("Bayeux (static)", "DYNATOPS (BNR)", "CHash"):
        homes = static(demand.users, area.cells, rng)
        return Following(area.cells, area.cells, lambda user: int(homes[user]))
    return Following(area.cells, area.cells, here)


def _trips(places: Floats, rng: np.random.Generator) -> Floats:
    """Round trips, in the mean proportional to the distance."""
    apart = np.sqrt(((places[:, None, :] - places[None, :, :]) ** 2).sum(axis=2))
    noise = np.triu(rng.uniform(0.5, 1.5, apart.shape), 1)
    found: Floats = apart * MS_PER_DEGREE * (noise + noise.T)
    return found

"""Rings with topics: the trees are the ideal ones when all is quiet, whatever has happened before."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from reknit.core.ring.trees import Trees
from reknit.model.ring import ring_id
from reknit.wire.ring import Branch, Wanted
from tests.core.ring.world import World

TOPICS = [f"t/{number}" for number in range(6)]
QUIET_S = 60.0
BROKERS = 10


def churned(seed: int, deeds: int, deaths: bool = True) -> World:
    """A ring on which brokers come, leave and die, and topics come and cease to be wanted."""
    world = World(seed)
    names = [f"b{number}" for number in range(BROKERS)]
    for name in names[:6]:
        world.start(name, [each for each in names[:3] if each != name] if name != "b0" else [])
    world.run(10.0)
    for _ in range(deeds):
        _deed(world, names, deaths)
        world.run(world.rng.choice((0.0, 0.02, 0.3, 1.5)))
    world.run(QUIET_S)
    return world


def _deed(world: World, names: list[str], deaths: bool) -> None:
    name, topic, chance = world.rng.choice(names), world.rng.choice(TOPICS), world.rng.random()
    if name not in world.lives:
        contacts = [each for each in ("b0", "b1", "b2") if each in world.lives and each != name]
        if contacts and chance < 0.5:
            world.start(name, contacts)
    elif chance < 0.6:
        world.lives[name].member.want(topic)
    elif chance < 0.85:
        world.lives[name].member.want_no_more(topic)
    elif deaths and name not in ("b0", "b1"):
        (world.leave if chance < 0.92 else world.crash)(name)


@pytest.mark.parametrize("seed", range(4))
def test_wishes_that_come_and_go_leave_the_ideal_trees(seed: int) -> None:
    world = churned(seed, deeds=60, deaths=False)
    assert world.trees() == world.ideal_trees() != {}
    wanting = [len(life.member.trees.wanted) for life in world.lives.values()]
    assert sum(wanting) > 5


@pytest.mark.parametrize("seed", range(12, 24))
def test_so_do_brokers_that_come_leave_and_die(seed: int) -> None:
    world = churned(seed, deeds=60)
    assert world.ring_faults() == []
    assert world.trees() == world.ideal_trees()


def test_a_wish_costs_the_way_to_the_root_and_the_way_back() -> None:
    """Section 6.2 of the reference counts them so: messages up, and messages down."""
    for topic in TOPICS:
        world = churned(1, deeds=0)
        ring, names = world.ring()
        world.heard.clear()
        world.lives[names[2]].member.want(topic)
        world.run(0.45)
        key, up, here = ring_id(topic), 0, names[2]
        while (hop := world.lives[here].member.chord.way_to(key)) is not None:
            here, up = hop[1], up + 1
        assert here == names[ring.owner(key)]
        assert sum(isinstance(each, Wanted) for each in world.heard) == up
        assert sum(isinstance(each, Branch) for each in world.heard) == len(ring.route(ring.owner(key), 2)) - 1


# --- bugs planted on purpose: what was said above must be seen to fail


def _leaves_strays(patch: pytest.MonkeyPatch) -> None:
    """Nobody speaks for a member that is gone."""
    patch.setattr(Trees, "_speak_for", lambda trees, topic, member: trees._strays.pop((topic, member)))


def _mourns_nobody(patch: pytest.MonkeyPatch) -> None:
    """What a dead broker has grown stays, and what leads through one in a new life is not grown again."""
    patch.setattr(Trees, "lost", lambda trees, peer: False)


def _keeps_the_root(patch: pytest.MonkeyPatch) -> None:
    """A broker that is not a topic's root any more does not pass its members on."""
    patch.setattr(Trees, "disowned", lambda trees: {})


@pytest.mark.parametrize(
    ("bug", "seeds"),
    [(_leaves_strays, range(12, 18)), (_mourns_nobody, range(12, 18)), (_keeps_the_root, range(3))],
)
def test_a_planted_bug_is_seen(
    bug: Callable[[pytest.MonkeyPatch], None], seeds: Iterable[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    bug(monkeypatch)
    worlds = (churned(seed, deeds=60) for seed in seeds)
    assert any(world.ring_faults() or world.trees() != world.ideal_trees() for world in worlds)

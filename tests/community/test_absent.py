"""Who has not answered is asked again, within bounds, and whom the user has named for ever."""

from __future__ import annotations

import random
from math import inf

import pytest

from reknit.community.absent import Absent
from reknit.community.options import GridOptions, PeerOptions, ScampOptions, SuperOptions, TopicOptions
from reknit.community.turn import Turn
from reknit.sim.assembly import Assembly
from reknit.sim.network import NetworkOptions


def some_absent(**options: float) -> tuple[Absent, Turn]:
    turn = Turn("me", random.Random(1), observing=False)
    chosen = {"contacts_max": 4, "absent_s": 10.0, "absent_s_max": 100.0, **options}
    return Absent(PeerOptions(**chosen), turn), turn  # type: ignore[arg-type]


def test_every_so_often_one_is_due_until_it_is_heard_of() -> None:
    absent, turn = some_absent()
    assert (absent.next_at, absent.due()) == (inf, None)
    absent.lost("a")
    assert 9.0 <= absent.next_at <= 11.0
    assert absent.due() is None
    for _ in range(3):
        turn.now = absent.next_at
        assert absent.due() == "a"
    absent.heard("a")
    assert (absent.next_at, len(absent)) == (inf, 0)


def test_after_a_while_it_is_forgotten_but_for_whom_the_user_has_named() -> None:
    absent, turn = some_absent()
    absent.given(("named",))
    for peer in ("a", "named"):
        absent.lost(peer)
    turn.now = 1_000.0
    assert [absent.due() for _ in range(2)] == ["named", None]
    assert len(absent) == 1


def test_it_has_a_bound_and_oneself_is_never_absent() -> None:
    absent, _ = some_absent()
    absent.given(("named",))
    for peer in ("me", "named", *"abcdefgh"):
        absent.lost(peer)
    assert len(absent) == 4
    assert "named" in absent
    assert "me" not in absent


def test_nobody_is_asked_again_where_that_is_said() -> None:
    absent, _ = some_absent(absent_s=0.0)
    absent.lost("a")
    assert absent.next_at == inf


@pytest.mark.parametrize("membership", ["scamp", "semi-structured", "structured"])
def test_parts_that_took_each_other_for_dead_find_each_other_again(membership: str) -> None:
    """The network is in two for many leases: nobody has anybody of the other side in any table."""
    topic = TopicOptions(
        membership=membership,
        scamp=ScampOptions(lease_s=6.0, heartbeat_s=1.0, reunion_s=3.0, walk_hops=1),
        supers=SuperOptions(search_s=0.5, search_s_max=2.0),
    )
    grid = GridOptions(lease_s=6.0, refresh_s=2.0, meet_s=0.3, meet_s_max=2.0, answer_s=0.5)
    world = Assembly(PeerOptions(topic=topic, parents={"a": ()}, grid=grid, absent_s=2.0), NetworkOptions(), membership)
    names = [f"p{number}" for number in range(6)]
    for name in names:
        world.start(name, () if name == "p0" else ("p0",))
        world.join(name, "a")
        world.run(0.3)
    world.run(10.0)
    one, other = names[:3], names[3:]
    world.network.split(one)
    world.run(60.0)
    assert not _crossing(world, one, other), "each side is for itself"
    world.network.heal()
    world.run(30.0)
    assert _crossing(world, one, other)


def _crossing(world: Assembly, one: list[str], other: list[str]) -> list[tuple[str, str]]:
    views = {name: list(world.peer(name).communities["a"].membership.view) for name in (*one, *other)}
    return [(name, peer) for name in views for peer in views[name] if (name in one) != (peer in one)]

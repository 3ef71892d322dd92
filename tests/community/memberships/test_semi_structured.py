"""SCAMP with contacts from P-Grid: newcomers find members there, and views are SCAMP's."""

from __future__ import annotations

from reknit.community.grid.grid import Grid
from reknit.community.memberships.semi_structured import SemiStructured
from reknit.community.options import GridOptions, PeerOptions, ScampOptions, SuperOptions, TopicOptions
from reknit.sim.assembly import Assembly
from reknit.sim.network import NetworkOptions
from reknit.wire.peers import Found, Kept, Request, Subscribe, decode_word
from tests.community.desk import a_courier, a_turn, spoken

EVENTS = 8


def test_the_first_answer_gives_a_contact_and_later_ones_do_not() -> None:
    turn = a_turn()
    courier = a_courier(turn)
    member = SemiStructured("t", TopicOptions(), turn, courier, Grid(GridOptions(), turn, courier))
    member.due()
    found = Found(member._registration._number, "t", ("k",), 2)
    assert member.found(found)
    assert [type(word) for _, word in spoken(turn)] == [Subscribe]
    assert member.found(found)
    assert spoken(turn) == []


def test_a_stranger_in_an_answer_is_met_and_one_at_a_time() -> None:
    """It may be of another part. Who is known already is none."""
    turn = a_turn()
    courier = a_courier(turn)
    options = TopicOptions(scamp=ScampOptions(reunion_s=30.0))
    member = SemiStructured("t", options, turn, courier, Grid(GridOptions(), turn, courier))
    member.add("k", 1_000.0)
    member.due()
    spoken(turn)
    number = member._registration._number
    assert member.found(Found(number, "t", ("k", "x"), 3))
    assert list(member.view) == ["k"], "it is not time yet"
    turn.now = 30.0
    assert member.found(Found(number, "t", ("k", "x"), 3))
    assert member.found(Found(number, "t", ("k", "y"), 3))
    assert list(member.view) == ["k", "x"]
    assert spoken(turn) == [("x", Kept("t", 30.0))]
    turn.now = 60.0
    member.expire()
    assert member.found(Found(number, "t", ("y",), 3))
    assert list(member.view) == ["k", "y"]


def test_communities_find_each_other_without_asking_around() -> None:
    topic = TopicOptions(
        membership="semi-structured",
        scamp=ScampOptions(lease_s=20.0, heartbeat_s=2.0, walk_hops=2, reunion_s=5.0),
        supers=SuperOptions(check_s=2.0, search_s=0.5, search_s_max=4.0),
    )
    world = Assembly(PeerOptions(topic=topic, grid=GridOptions(refresh_s=3.0)), NetworkOptions(latency_s_max=0.02), "1")
    asked = []
    send = world.network.send

    def listen(sender: str, to: str, frame: bytes) -> None:
        asked.extend([word] if isinstance(word := decode_word(frame), Request) else [])
        send(sender, to, frame)

    world.network.send = listen  # type: ignore[method-assign]
    got: list[str] = []
    world.delivered = lambda peer, deliver: got.append(peer)
    for number in range(16):
        world.start(f"p{number}", ("p0",) if number else ())
        world.join(f"p{number}", "a" if number % 4 else "a/b")
        world.run(0.2)
    world.run(30.0)
    for _ in range(EVENTS):  # one alone may miss somebody, by chance
        world.publish("p0", "a/b")
        world.run(2.0)
    assert {peer: got.count(peer) <= EVENTS for peer in got} == {f"p{number}": True for number in range(16)}
    assert asked == []
    for each in world.alive():
        for community in world.peer(each).communities.values():
            assert len(community.membership.view) > 0

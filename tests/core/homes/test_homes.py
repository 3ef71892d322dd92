"""Homes, through the brokers' own door: who has a client's session, and what becomes of a second one."""

from __future__ import annotations

import msgspec

from reknit.core.broker import BrokerOptions
from reknit.core.homes.homes import Home, Homes
from reknit.core.homes.options import HomeOptions
from reknit.sim.cluster import Cluster
from reknit.sim.network import NetworkOptions
from reknit.trace.records import Kind
from reknit.wire.messages import Line, Lines

UNIQUE = HomeOptions(unique=True)


class World(Cluster):
    """b1 - b2 - b3."""

    def __init__(self, homes: HomeOptions = UNIQUE, *, stores: bool = False) -> None:
        options = BrokerOptions(observe=True, founded=True, durable=stores, homes=homes)
        network = NetworkOptions(latency_s_min=0.01, latency_s_max=0.01)
        super().__init__([("b1", "b2"), ("b2", "b3")], options, network, "homes")
        self.ousted: list[tuple[str, str]] = []
        self.clients.ousted = lambda client, broker: self.ousted.append((client, broker))
        self.start_all()
        self.rest()

    def rest(self) -> None:
        assert self.settle(60.0), self.restlessness()

    def homes(self, broker: str) -> Homes:
        found = self.nodes[broker].broker
        assert found is not None
        return found.homes

    def home(self, at: str, client: str) -> str:
        """As this broker knows it; empty if that is nowhere, or here."""
        found = self.homes(at).elsewhere(client)
        return found.broker if found is not None else ""

    def lines(self, broker: str) -> int:
        found = self.nodes[broker].broker
        assert found is not None
        return len(found.book._lines)

    def sessions(self, client: str) -> list[str]:
        return [name for name, node in self.nodes.items() if node.broker and client in node.broker.sessions.clients]


def test_every_broker_knows_where_a_client_is_at_home() -> None:
    world = World()
    world.attach("b1", "ann")
    world.rest()
    assert [world.home(broker, "ann") for broker in ("b1", "b2", "b3")] == ["", "b1", "b1"]
    assert world.homes("b3").elsewhere("ann") == world.homes("b2").elsewhere("ann")
    world.detach("b1", "ann")
    world.rest()
    assert [world.home(broker, "ann") for broker in ("b1", "b2", "b3")] == ["", "", ""]


def test_who_begins_anew_elsewhere_ends_what_there_was() -> None:
    world = World()
    world.attach("b1", "ann")
    world.rest()
    world.attach("b3", "ann")
    world.rest()
    assert world.sessions("ann") == ["b3"]
    assert world.home("b1", "ann") == "b3"
    assert [each.node for each in world.records if each.kind is Kind.DETACHED] == ["b1"]
    assert world.ousted == []  # the client knows: it was itself


def test_of_two_that_begin_at_once_one_is_left_and_all_know_which() -> None:
    world = World()
    world.attach("b1", "ann")
    world.attach("b3", "ann")
    world.rest()
    [winner] = world.sessions("ann")
    assert {world.home(broker, "ann") or broker for broker in ("b1", "b3")} == {winner}


def test_a_broker_that_was_restarted_without_its_sessions_takes_its_word_back() -> None:
    world = World()
    world.attach("b1", "ann")
    world.rest()
    world.crash("b1")
    world.kernel.run(until=world.kernel.now + 1.0)
    assert world.home("b3", "ann") == "b1"
    world.start("b1")
    world.rest()
    assert world.home("b3", "ann") == ""


def test_with_a_store_it_has_them_again_and_is_the_home_as_before() -> None:
    world = World(stores=True)
    world.attach("b1", "ann")
    world.rest()
    for broker in ("b1", "b2", "b3"):
        world.crash(broker)
    for broker in ("b1", "b2", "b3"):
        world.start(broker)
    world.rest()
    assert world.sessions("ann") == ["b1"]
    assert world.home("b3", "ann") == "b1"


def test_who_comes_back_from_the_dead_gives_way_to_what_began_meanwhile() -> None:
    world = World(stores=True)
    world.attach("b1", "ann")
    world.rest()
    world.crash("b1")
    world.attach("b3", "ann")
    world.kernel.run(until=world.kernel.now + 1.0)
    world.start("b1")
    world.rest()
    assert world.sessions("ann") == ["b3"]
    assert [world.home(broker, "ann") for broker in ("b1", "b2")] == ["b3", "b3"]


def test_a_session_that_was_drained_is_at_home_where_it_came() -> None:
    world = World()
    world.attach("b3", "ann")
    world.rest()
    world.drain("b3")
    world.rest()
    assert world.sessions("ann") == ["b2"]
    assert world.home("b1", "ann") == "b2"


def test_a_session_on_its_way_gives_way_to_one_that_began_elsewhere() -> None:
    world = World()
    world.attach("b3", "ann")
    world.rest()
    world.drain("b3")
    world.attach("b1", "ann")
    world.rest()
    assert world.sessions("ann") == ["b1"]
    assert world.home("b2", "ann") == "b1"


def test_after_a_split_both_parts_have_one_and_then_one_is_left() -> None:
    world = World()
    world.attach("b1", "ann")
    world.rest()
    world.remove_link("b1", "b2")
    world.rest()
    world.attach("b3", "ann")
    world.rest()
    assert world.sessions("ann") == ["b1", "b3"]
    world.add_link("b1", "b2")
    world.rest()
    assert world.sessions("ann") == ["b3"]


def test_a_line_that_says_nothing_is_refused() -> None:
    world = World()
    broker = world.nodes["b2"].broker
    assert broker is not None
    broker.book.write("home", "ann", b"\xc1")
    world.homes("b2").news([("home", "ann")])
    assert broker.book.refused == 1
    assert world.home("b2", "ann") == ""


def test_a_session_that_has_moved_in_outlives_an_older_word_of_its_former_home() -> None:
    """b2 takes ann over from b3, and dies before b1 has heard of that; b1 still says what it knows."""
    world = World(stores=True)
    world.attach("b3", "ann")
    world.rest()
    world.crash("b1")  # which does not hear of the move
    world.drain("b3")
    world.kernel.run(until=world.kernel.now + 5.0)
    assert world.sessions("ann") == ["b2"]
    world.crash("b2")
    world.start("b2")
    assert world.sessions("ann") == ["b2"]
    broker = world.nodes["b2"].broker
    assert broker is not None
    old = Line("home", "ann", msgspec.msgpack.encode(Home("b3")), 2, "b3.1")
    broker.sessions.news("b1", broker.book.receive("b1", Lines([old])))
    world.start("b1")
    world.rest()
    assert (world.sessions("ann"), world.home("b1", "ann")) == (["b2"], "b2")


def test_a_word_that_was_kept_of_a_session_that_is_not_there_any_more_is_taken_back() -> None:
    world = World(stores=True)
    world.attach("b3", "ann")
    world.rest()
    world.drain("b3")
    world.rest()
    shelf = world.nodes["b2"].shelf
    assert shelf is not None
    assert ("home", "ann") in shelf.lines
    world.crash("b2")
    shelf.clients = {}  # it has ended meanwhile
    world.start("b2")
    world.rest()
    assert (world.home("b1", "ann"), ("home", "ann") in shelf.lines) == ("", False)

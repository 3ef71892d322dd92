"""Members of groups, through the brokers' own door: who gets an event, and what becomes of it where nobody is left."""

from __future__ import annotations

from collections import Counter

from reknit.core.broker import BrokerOptions
from reknit.core.io import Presence
from reknit.core.shares.options import ShareOptions
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.sim.checkers.shares import check_shares
from reknit.sim.cluster import Cluster
from reknit.sim.network import NetworkOptions
from reknit.trace.records import NOBODY_LEFT, Kind

A = Pattern("a/#")
LINGER_S = 5.0


class World(Cluster):
    def __init__(self, *edges: tuple[str, str], stores: bool = False) -> None:
        options = BrokerOptions(observe=True, founded=True, durable=stores, shares=ShareOptions(linger_s=LINGER_S))
        super().__init__(edges, options, NetworkOptions(latency_s_min=0.01, latency_s_max=0.01), "shares")
        self.start_all()
        self.rest()

    def rest(self) -> None:
        assert self.settle(60.0), self.restlessness()
        assert [each.what for each in check_shares(self.records, lasting=self.options.durable)] == []

    def member(self, broker: str, client: str, group: str = "g") -> None:
        self.attach(broker, client)
        self.join(broker, client, group, A)

    def send(self, broker: str, count: int = 1) -> None:
        self.publish(broker, "pub", *(Event("a/b", qos=1) for _ in range(count)))

    def got(self) -> Counter[str]:
        return Counter(each.client for each in self.records if each.kind is Kind.SHARED)

    def seen(self, kind: Kind) -> list[str]:
        return [each.detail for each in self.records if each.kind is kind]


def _line(*, stores: bool = False) -> World:
    world = World(("b1", "b2"), ("b2", "b3"), stores=stores)
    world.attach("b2", "pub")
    return world


def test_one_member_in_the_whole_network_gets_each_event() -> None:
    world = _line()
    for broker, client in (("b1", "ann"), ("b1", "bob"), ("b3", "cid")):
        world.member(broker, client)
    world.rest()
    world.send("b2", 30)
    world.rest()
    assert world.got() == {"ann": 10, "bob": 10, "cid": 10}


def test_each_group_gets_it_and_clients_of_their_own_do_too() -> None:
    world = _line()
    world.member("b1", "ann", "g")
    world.member("b3", "bob", "h")
    world.attach("b3", "cid", [A])
    world.rest()
    world.send("b2", 4)
    world.rest()
    assert world.got() == {"ann": 4, "bob": 4}
    assert Counter(each.client for each in world.records if each.kind is Kind.DELIVERED) == {"cid": 4}


def test_who_is_away_comes_after_who_is_full_and_both_after_who_is_ready() -> None:
    world = _line()
    for client in ("ann", "bob", "cid"):
        world.member("b1", client)
    world.give("b1", Presence("ann", present=False, room=False))
    world.give("b1", Presence("bob", present=True, room=False))
    world.rest()
    world.send("b2", 3)
    world.rest()
    assert world.got() == {"cid": 3}
    world.detach("b1", "cid")
    world.rest()
    world.send("b2", 3)
    world.rest()
    assert world.got() == {"cid": 3, "bob": 3}
    world.give("b1", Presence("bob", present=False, room=False))
    world.rest()
    world.send("b2", 4)
    world.rest()
    assert world.got() == {"cid": 3, "bob": 5, "ann": 2}


def test_a_broker_with_members_that_are_there_comes_before_one_whose_are_away() -> None:
    world = _line()
    world.member("b1", "ann")
    world.member("b3", "bob")
    world.give("b1", Presence("ann", present=False, room=False))
    world.rest()
    world.send("b2", 4)
    world.rest()
    assert world.got() == {"bob": 4}


def test_what_comes_for_a_member_that_has_just_left_is_sent_on() -> None:
    world = _line()
    world.member("b1", "ann")
    world.member("b3", "bob")
    world.rest()
    world.send("b2", 4)
    world.part("b1", "ann", "g", A)
    world.rest()
    assert world.got() == {"bob": 4}
    assert world.seen(Kind.PASSED_ON) == ["b2.1 1 g", "b2.1 3 g"]


def test_where_nobody_is_left_it_is_dropped_and_counted() -> None:
    world = _line()
    world.member("b1", "ann")
    world.rest()
    world.send("b2")
    world.part("b1", "ann", "g", A)
    world.rest()
    assert world.seen(Kind.DROPPED) == [NOBODY_LEFT]
    broker = world.nodes["b1"].broker
    assert broker is not None
    assert broker.table()["shared_dropped"] == 1


def test_what_the_group_wanted_is_wanted_for_a_while_longer() -> None:
    world = _line()
    world.member("b1", "ann")
    world.rest()
    world.part("b1", "ann", "g", A)
    world.kernel.run(until=world.kernel.now + LINGER_S - 1)
    assert Kind.UNSUBSCRIBED not in [each.kind for each in world.records]
    world.kernel.run(until=world.kernel.now + 2)
    world.rest()
    assert Kind.UNSUBSCRIBED in [each.kind for each in world.records]


def test_a_member_that_moves_with_its_session_stays_one() -> None:
    world = _line()
    world.member("b3", "ann")
    world.clients.take_s_max = 0.1
    world.rest()
    world.drain("b3")
    for _ in range(40):
        world.kernel.run(until=world.kernel.now + 0.01)
        world.send("b2")
    world.rest()
    assert world.got() == {"ann": 40}
    broker = world.nodes["b2"].broker
    assert broker is not None
    shown = {"group": "g", "topic": "a/#", "selector": "", "broker": "b2", "members": 1, "present": 1}
    assert broker.table()["groups"] == [shown]


def test_a_member_that_moves_to_where_the_event_has_been_gets_it_all_the_same() -> None:
    for moment in range(0, 60, 5):
        world = _line()
        world.attach("b1", "pam")
        world.member("b2", "bob")
        world.member("b3", "ann")
        world.rest()
        world.drain("b3")
        world.kernel.run(until=world.kernel.now + moment / 1000)
        world.publish("b1", "pam", *(Event("a/b", qos=1) for _ in range(4)))
        world.kernel.run(until=world.kernel.now + 0.005)
        world.part("b2", "bob", "g", A)
        world.rest()
        assert world.got() == {"ann": 4}, moment


def test_after_a_split_each_part_shares_among_itself() -> None:
    world = _line()
    world.member("b1", "ann")
    world.member("b3", "bob")
    world.rest()
    world.remove_link("b2", "b3")
    world.rest()
    world.send("b2", 4)
    world.rest()
    assert world.got() == {"ann": 4}
    world.add_link("b2", "b3")
    world.rest()
    world.send("b2", 4)
    world.rest()
    assert world.got() == {"ann": 6, "bob": 2}


def test_a_split_of_which_only_a_broker_has_heard_that_dies_is_one_all_the_same() -> None:
    world = _line()
    world.member("b1", "ann")
    world.member("b3", "bob")
    world.rest()
    world.network.cut("b2", "b3")
    world.remove_link("b2", "b1")
    world.kernel.run(until=world.kernel.now + 1.0)
    world.network.break_connection("b2", "b3")  # with all that was on it
    world.crash("b2")
    world.crash("b1")
    world.network.heal()
    for broker in ("b1", "b2"):
        world.start(broker)
    world.rest()
    world.send("b3", 4)
    world.rest()
    assert world.got() == {"bob": 4}


def test_a_broker_that_was_restarted_has_no_members_and_says_so() -> None:
    world = _line()
    world.member("b1", "ann")
    world.member("b3", "bob")
    world.rest()
    world.crash("b1")
    world.send("b2", 4)
    world.start("b1")
    world.rest()
    assert world.got() == {"bob": 4}
    world.send("b2", 2)
    world.rest()
    assert world.got() == {"bob": 6}


def test_with_a_store_members_are_members_again_and_keep_what_they_had() -> None:
    world = _line(stores=True)
    world.member("b1", "ann")
    world.member("b3", "bob")
    world.rest()
    world.send("b2", 4)
    world.kernel.run(until=world.kernel.now + 0.011)  # they are there, and nobody has heard of it
    world.crash("b1")
    world.send("b2", 4)
    world.start("b1")
    world.rest()
    assert world.got() == {"ann": 4, "bob": 4}


def test_with_a_store_what_is_sent_on_is_not_lost_by_a_death() -> None:
    """b1 has no member any more when its share comes, sends it on, and dies before anybody has it."""
    world = _line(stores=True)
    world.member("b1", "ann")
    world.member("b3", "bob")
    world.rest()
    world.send("b2", 4)
    world.part("b1", "ann", "g", A)
    world.kernel.run(until=world.kernel.now + 0.011)
    assert len(world.seen(Kind.PASSED_ON)) == 2
    world.crash("b1")
    world.start("b1")
    world.rest()
    assert world.got() == {"bob": 4}


def test_with_a_store_a_next_life_wants_what_is_on_its_way_to_members_that_it_had() -> None:
    world = _line(stores=True)
    world.member("b1", "ann")
    world.member("b3", "bob")
    world.rest()
    world.crash("b2")
    world.start("b2")
    world.attach("b2", "pub")
    world.send("b2", 4)  # decided, and not under way before its neighbours are there
    world.part("b1", "ann", "g", A)
    world.crash("b1")
    world.start("b1")
    world.rest()
    assert world.got() == {"bob": 4}

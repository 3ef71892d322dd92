"""The simulator's clients: they take what is delivered, in its order, and go where they are sent."""

from __future__ import annotations

import random

import msgspec

from reknit.core.io import Exported, Input
from reknit.model.event import Event
from reknit.sim.clients import Clients
from reknit.sim.kernel import Kernel
from reknit.trace.records import Kind, Record


class _World:
    def __init__(self, take_s_max: float | None = 0.1) -> None:
        self.kernel = Kernel()
        self.records: list[Record] = []
        self.given: list[tuple[str, Input]] = []
        self.clients = Clients(self.kernel, random.Random(1), self.records, lambda *each: self.given.append(each))
        self.clients.take_s_max = take_s_max
        self.clients.attach("b1", "ann")

    def run(self) -> None:
        self.kernel.run(until=self.kernel.now + 1.0)

    def taken(self) -> list[tuple[str, str]]:
        return [(each.node, each.event.topic) for each in self.records if each.kind is Kind.TAKEN and each.event]


def test_events_are_taken_in_their_order_some_time_later() -> None:
    world = _World()
    for topic in "abc":
        world.clients.deliver("b1", "ann", Event(topic))
    assert world.taken() == []
    assert not world.clients.at_rest
    world.run()
    assert world.taken() == [("b1", topic) for topic in "abc"]
    assert world.clients.at_rest


def test_or_at_once_and_unseen() -> None:
    world = _World(take_s_max=None)
    took: list[str] = []
    world.clients.took = lambda node, client, event: took.append(event.topic)
    world.clients.deliver("b1", "ann", Event("a"))
    assert took == ["a"]
    assert world.records == []


def test_who_wants_to_know_hears_that_a_session_is_asked_for() -> None:
    world = _World()
    heard: list[str] = []
    world.clients.leaving = heard.append
    world.clients.export("b1", "ann")
    assert heard == ["b1"]


def test_a_session_that_is_exported_is_frozen_until_it_is_thawed_or_goes() -> None:
    world = _World()
    world.clients.export("b1", "ann")
    world.kernel.run(until=0.06)
    [(node, exported)] = world.given
    assert node == "b1"
    assert isinstance(exported, Exported)
    assert not world.clients.is_served("b1", "ann")
    world.clients.deliver("b1", "ann", Event("a"))
    world.run()
    assert world.taken() == []
    world.clients.thaw("b1", "ann")
    world.run()
    assert world.taken() == [("b1", "a")]


def test_an_export_that_is_not_wanted_any_more_is_not_made() -> None:
    world = _World()
    world.clients.export("b1", "ann")
    world.clients.thaw("b1", "ann")
    world.run()
    assert world.given == []
    assert world.clients.is_served("b1", "ann")


def test_a_client_that_is_elsewhere_is_not_sent_on_with_a_session_that_it_has_left_behind() -> None:
    world = _World()
    moved: list[tuple[str, str, str]] = []
    world.clients.moved = lambda *each: moved.append(each)
    world.clients.import_("b2", "ann", msgspec.msgpack.encode([]))
    world.clients.redirect("b2", "ann", "b3")
    assert moved == []
    assert not world.clients.has_session("b2", "ann")
    assert world.clients.is_served("b1", "ann")


def test_a_client_finds_its_events_where_it_is_sent() -> None:
    world = _World()
    moved: list[tuple[str, str, str]] = []
    world.clients.moved = lambda *each: moved.append(each)
    world.clients.take_s_max = 10.0
    world.clients.deliver("b1", "ann", Event("a"))
    world.clients.export("b1", "ann")
    world.kernel.run(until=0.06)
    exported = world.given[0][1]
    assert isinstance(exported, Exported)
    world.clients.take_s_max = 0.1
    world.clients.import_("b2", "ann", exported.state)
    world.clients.deliver("b2", "ann", Event("b"))
    world.run()
    assert world.taken() == []  # she is still at b1
    world.clients.redirect("b1", "ann", "b2")
    world.run()
    assert world.taken() == [("b2", "a"), ("b2", "b")]
    assert moved == [("ann", "b1", "b2")]
    assert not world.clients.has_session("b1", "ann")


def test_a_crash_ends_the_sessions_of_a_broker() -> None:
    world = _World()
    world.clients.deliver("b1", "ann", Event("a"))
    world.clients.crash("b1")
    world.run()
    assert world.taken() == []
    assert not world.clients.is_served("b1", "ann")


def test_a_life_that_begins_anew_has_its_sessions_and_sends_none_on() -> None:
    world = _World()
    world.clients.export("b1", "ann")
    world.kernel.run(until=0.06)
    world.clients.deliver("b1", "ann", Event("a"))
    world.clients.begin_anew("b2")
    assert not world.clients.is_served("b1", "ann")
    world.clients.begin_anew("b1")
    world.run()
    assert world.taken() == [("b1", "a")]

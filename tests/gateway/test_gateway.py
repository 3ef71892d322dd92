"""What crosses, by itself: each event once, back never, and one gateway of several passes it on."""

from __future__ import annotations

from reknit.community.io import Join, Leave, Publish
from reknit.gateway.gateway import HELD_MAX, HERALDS, ORIGIN, THROUGH, Gateway, GatewayOptions
from reknit.model.event import Event

READY = 10.0


def a_gateway(name: str = "b2", *topics: str, **more: int) -> Gateway:
    return Gateway(name, GatewayOptions(topics or ("soccer",), **more), 0.0)


def published(number: int, topic: str = "soccer/italy", source: str = "b1.1", **properties: str) -> Event:
    return Event(topic, b"x", source=source, seq=number, properties=tuple(properties.items()), number=3, marks=b"m")


def herald(name: str, *topics: str) -> Event:
    return Event(f"{HERALDS}/{name}", "\n".join(topics).encode())


def test_it_wants_all_of_its_topics_on_both_sides() -> None:
    gateway = a_gateway("b2", "soccer", "#")
    assert [pattern.topic for pattern in gateway.patterns()] == ["soccer/#", "#", f"{HERALDS}/+"]
    assert gateway.joins() == [Join("soccer"), Join("#")]


def test_from_brokers_with_its_id_and_the_way_it_came() -> None:
    gateway = a_gateway()
    (given,) = gateway.take_from_brokers(published(1), READY)
    assert isinstance(given, Publish)
    assert given.event.id == ("b1.1", 1)
    assert dict(given.event.properties) == {THROUGH: "brokers", ORIGIN: "b1.1/1"}
    assert (given.event.number, given.event.marks) == (None, b"")
    assert gateway.take_from_brokers(published(1), READY) == []
    assert gateway.take_from_peers(given.event, READY) == []


def test_from_peers_without_an_id_and_not_back() -> None:
    gateway = a_gateway()
    (event,) = gateway.take_from_peers(published(1, source="p.1"), READY)
    assert event.id == ("", 0)
    assert dict(event.properties) == {THROUGH: "peers", ORIGIN: "p.1/1"}
    back = published(9, **dict(event.properties))
    assert gateway.take_from_brokers(back, READY) == []
    assert gateway.take_from_peers(published(1, source="p.1"), READY) == []


def test_through_several_networks_and_never_round() -> None:
    other = Gateway("c1", GatewayOptions(("soccer",), brokers="elsewhere"), 0.0)
    (given,) = a_gateway().take_from_brokers(published(1), READY)
    assert isinstance(given, Publish)
    (event,) = other.take_from_peers(given.event, READY)
    assert dict(event.properties) == {THROUGH: "brokers peers", ORIGIN: "b1.1/1"}
    third = Gateway("c2", GatewayOptions(("soccer",), brokers="elsewhere", peers="others"), 0.0)
    (onward,) = third.take_from_brokers(published(5, **dict(event.properties)), READY)
    assert isinstance(onward, Publish)
    assert dict(onward.event.properties)[THROUGH] == "brokers peers elsewhere"


def test_the_first_by_name_of_those_that_have_the_topic_passes_it_on() -> None:
    gateway = a_gateway("b2")
    gateway.take_from_brokers(herald("b1", "soccer/italy"), READY)
    gateway.take_from_brokers(herald("b3", "soccer"), READY)
    gateway.take_from_brokers(herald("b0", "tennis"), READY)
    assert gateway.who_passes("soccer/italy/serie-a", READY) == "b1"
    assert gateway.who_passes("soccer/france", READY) == "b2"
    assert gateway.take_from_peers(published(1, source="p.1"), READY) == []
    assert gateway.counters["left_to_others"] == 1
    assert gateway.who_passes("soccer/italy", READY + 4.0) == "b2", "b1 has not been heard of for too long"


def test_a_parent_of_another_name_has_the_topic_as_well() -> None:
    """Else the gateways of both parents would pass an event on, each taking the other for one that does not get it."""
    parents = {"soccer/italy": ("soccer", "italy")}
    one, other = (
        Gateway(name, GatewayOptions((topic,), parents=parents), 0.0)
        for name, topic in (("b1", "italy"), ("b2", "soccer"))
    )
    one.take_from_brokers(herald("b2", "soccer"), READY)
    other.take_from_brokers(herald("b1", "italy"), READY)
    event = published(1, "soccer/italy/serie-a", source="p.1")
    assert [len(each.take_from_peers(event, READY)) for each in (one, other)] == [1, 0]
    assert other.who_passes("soccer/france", READY) == "b2"
    assert [pattern.topic for pattern in one.patterns()] == ["italy/#", "soccer/italy/#", f"{HERALDS}/+"]
    assert [pattern.topic for pattern in other.patterns()] == ["soccer/#", "soccer/italy/#", f"{HERALDS}/+"]


def test_who_is_heard_of_for_the_first_time_is_answered_at_once() -> None:
    gateway = a_gateway()
    assert [event.topic for event in gateway.due(0.0)] == [f"{HERALDS}/b2"]
    assert gateway.deadline() == 1.0
    gateway.take_from_brokers(herald("b1", "soccer"), 0.5)
    assert gateway.deadline() == 0.5
    assert [event.payload for event in gateway.due(0.5)] == [b"soccer"]
    gateway.take_from_brokers(herald("b1", "soccer"), 0.7)
    assert gateway.deadline() == 1.5


def test_what_comes_while_it_listens_for_others_waits() -> None:
    gateway = a_gateway()
    gateway.due(0.0)
    for number in range(HELD_MAX + 5):
        assert gateway.take_from_peers(published(number, source="p.1"), 0.1) == []
    assert gateway.counters["held_full"] == 5
    assert gateway.deadline() == 1.0
    events = gateway.due(1.0)
    assert len(events) == 1 + HELD_MAX
    assert gateway.deadline() == 2.0


def test_communities_in_which_it_only_publishes_make_room() -> None:
    gateway = a_gateway(publishing_max=2)
    given = [
        each
        for number, topic in enumerate(("soccer/a", "soccer/b", "soccer/a", "soccer", "soccer/c", "soccer/d"))
        for each in gateway.take_from_brokers(published(number, topic), READY)
    ]
    assert [each.topic for each in given if isinstance(each, Leave)] == ["soccer/b", "soccer/a"]
    assert sum(isinstance(each, Publish) for each in given) == 6

from __future__ import annotations

from reknit.core.routing.rendezvous import NO_WILDCARDS, Rendezvous
from reknit.core.turn import Turn
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.trace.records import Kind, Record


def routing() -> tuple[Rendezvous, list[tuple[str, bool]]]:
    found = Rendezvous(Turn("b", observing=True), lambda neighbour, message: None)
    said: list[tuple[str, bool]] = []
    found.want = lambda topic: said.append((topic, True))
    found.want_no_more = lambda topic: said.append((topic, False))
    return found, said


def test_the_ring_hears_of_the_first_and_of_the_last_that_wants_a_topic() -> None:
    here, said = routing()
    hot = Pattern.parse("t", "x > 3")
    here.subscribe("one", Pattern.parse("t"))
    here.subscribe("two", hot)
    here.subscribe("two", hot)
    assert said == [("t", True)]
    here.unsubscribe("one", Pattern.parse("t"))
    here.unsubscribe("one", Pattern.parse("t"))
    assert said == [("t", True)]
    here.unsubscribe("two", hot)
    assert said == [("t", True), ("t", False)]


def test_selectors_are_applied_here_and_no_neighbour_is_named() -> None:
    here, _ = routing()
    hot = Pattern.parse("t", "x > 3")
    here.subscribe("one", Pattern.parse("t"))
    here.subscribe("two", hot)
    route = here.route(Event("t", attributes={"x": 2}))
    assert (route.neighbours, [name for name, _ in route.matches]) == ((), ["one"])


def test_a_filter_with_a_wildcard_is_refused_with_the_reason() -> None:
    here, said = routing()
    here.subscribe("one", Pattern.parse("t/#"))
    here.subscribe("one", Pattern.parse("+"))
    assert said == []
    seen = [each for each in here.turn.seen if isinstance(each, Record)]
    assert [(each.kind, each.detail) for each in seen] == [(Kind.REFUSED, NO_WILDCARDS)] * 2
    assert here.table.hops() == []

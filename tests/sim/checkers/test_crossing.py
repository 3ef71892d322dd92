"""The checker of what crosses: each fault is seen, and nothing else."""

from __future__ import annotations

from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.sim.checkers.crossing import ORIGIN, check_crossing
from reknit.trace.records import Kind, Record

EVENT = Event("a/b", source="b1.1", seq=1)
CROSSED = Event("a/b", source="p.1", seq=9, properties=((ORIGIN, "b1.1/1"),))
WANTS = [
    Record(0.0, "p", Kind.SUBSCRIBED, pattern=Pattern("a/#")),
    Record(0.0, "q", Kind.SUBSCRIBED, pattern=Pattern("c/#")),
    Record(0.0, "b1", Kind.SUBSCRIBED, client="ann", pattern=Pattern("a/+")),
    Record(0.0, "b1", Kind.SUBSCRIBED, client="$inner", pattern=Pattern("#")),
    Record(1.0, "", Kind.CALM),
    Record(1.0, "b1", Kind.PUBLISHED, client="bob", event=EVENT),
    Record(1.0, "b1", Kind.DELIVERED, client="$inner", event=EVENT),
]
ANN = Record(2.0, "b1", Kind.DELIVERED, client="ann", event=EVENT)
P = Record(2.0, "p", Kind.DELIVERED, event=CROSSED)


def told(*records: Record) -> list[str]:
    return [each.what for each in check_crossing([*WANTS, *records])]


def test_once_to_each_is_right() -> None:
    assert told(ANN, P) == []


def test_twice_is_wrong_under_whatever_id() -> None:
    assert told(ANN, P, Record(3.0, "p", Kind.DELIVERED, event=EVENT)) == ["p got b1.1/1 twice"]


def test_unwanted_is_wrong() -> None:
    assert told(ANN, P, Record(3.0, "q", Kind.DELIVERED, event=CROSSED)) == [
        "q got b1.1/1 of a/b, which it does not want"
    ]


def test_never_is_wrong() -> None:
    assert told(P) == ["ann never got b1.1/1 of a/b"]
    assert told(ANN) == ["p never got b1.1/1 of a/b"]


def test_who_does_not_want_it_any_more_is_owed_nothing() -> None:
    assert told(ANN, Record(1.5, "p", Kind.UNSUBSCRIBED, pattern=Pattern("a/#"))) == []


def test_another_life_wants_nothing_and_has_got_nothing() -> None:
    again = [Record(3.0, "p", Kind.STARTED), Record(3.0, "p", Kind.SUBSCRIBED, pattern=Pattern("a/#"))]
    assert told(ANN, P, *again, P) == []
    assert told(ANN, P, again[0], P) == ["p got b1.1/1 of a/b, which it does not want"]


def test_a_parent_of_another_name_is_wanted_by_peers_alone() -> None:
    def what(*records: Record) -> list[str]:
        return [each.what for each in check_crossing([*WANTS, ANN, P, *records], above=lambda topic: ("a/#", "c/#"))]

    assert what(Record(2.0, "q", Kind.DELIVERED, event=CROSSED)) == []
    cy = Record(2.0, "b1", Kind.SUBSCRIBED, client="cy", pattern=Pattern("c/#"))
    assert what(Record(2.0, "q", Kind.DELIVERED, event=CROSSED), cy) == []
    unwanted = Record(2.0, "b1", Kind.DELIVERED, client="cy", event=EVENT)
    assert what(Record(2.0, "q", Kind.DELIVERED, event=CROSSED), cy, unwanted) == [
        "cy got b1.1/1 of a/b, which it does not want"
    ]


def test_where_gossip_may_lose_it_clients_are_owed_what_came_to_the_one_that_passes_it_on() -> None:
    risen = Event("a/b", source="p.1", seq=3)
    before = [*WANTS[:-2], Record(1.0, "at b1", Kind.SUBSCRIBED, pattern=Pattern("a/#"))]
    before += [Record(1.0, "p", Kind.PUBLISHED, event=risen), Record(1.0, "p", Kind.DELIVERED, event=risen)]

    def what(*records: Record) -> list[str]:
        return [each.what for each in check_crossing([*before, *records], passes=lambda topic: "at b1")]

    assert what() == []
    passed = Record(2.0, "at b1", Kind.DELIVERED, event=risen)
    assert what(passed) == ["ann never got p.1/3 of a/b"]
    crossed = Event("a/b", source="b1.1", seq=7, properties=((ORIGIN, "p.1/3"),))
    assert what(passed, Record(3.0, "b1", Kind.DELIVERED, client="ann", event=crossed)) == []
    of_a_client = Record(3.0, "b1", Kind.PUBLISHED, client="bob", event=EVENT)
    assert what(of_a_client) == ["ann never got b1.1/1 of a/b"]


def test_what_is_published_where_it_is_not_calm_may_be_lost_and_come_twice_once_a_broker_has_crashed() -> None:
    late = Event("a/b", source="b1.1", seq=2)
    tail = [Record(9.0, "b1", Kind.PUBLISHED, client="bob", event=late)]
    tail += [Record(at, "p", Kind.DELIVERED, event=late) for at in (9.1, 9.2)]

    def what(*records: Record) -> list[str]:
        return [each.what for each in check_crossing([*WANTS, ANN, P, *records], calm_s=2.0)]

    assert what(*tail) == ["p got b1.1/2 twice"]
    crash = Record(8.0, "b1", Kind.CRASHED)
    assert what(crash, *tail) == []
    again = [Record(10.0, "", Kind.CALM), Record(10.5, "b2", Kind.PUBLISHED, client="bob", event=late)]
    assert what(crash, *again, *tail[1:]) == ["p got b1.1/2 twice"]
    assert what(crash, *again) == ["p never got b1.1/2 of a/b"]
    assert what(Record(8.0, "q", Kind.CRASHED), *tail) == ["p got b1.1/2 twice"], "a peer is no broker"


def test_what_an_earlier_life_has_got_is_owed_to_no_later_one() -> None:
    again = [Record(3.0, "b1", Kind.CRASHED), Record(4.0, "b1", Kind.STARTED), *WANTS[2:3]]
    assert told(ANN, P, *again) == []

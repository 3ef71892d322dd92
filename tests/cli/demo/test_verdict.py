"""The verdict over the clients' notes sees each kind of fault, and excuses only what it says it does."""

from __future__ import annotations

import msgspec
import pytest

from reknit.cli._demo.clients import Notes, Received, Sent
from reknit.cli._demo.verdict import count_traffic, delays, judge_clients, judge_trace, who_was_away
from reknit.cli._demo.world import Kind, Mark, Role, Wish
from reknit.core.broker import BrokerOptions
from reknit.model.event import Event
from reknit.trace.records import Kind as Seen
from reknit.trace.records import Record

CALMS = [0.0, 100.0]


def sent(number: int, time: float, topic: str = "t", connection: int = 1, severity: int = 3) -> Sent:
    mark = Mark("p", connection, number)
    return Sent(mark, Event(topic, attributes={"severity": severity}), time, open=False)


def got(number: int, time: float, connection: int = 1, of: int = 1) -> Received:
    return Received(Mark("p", of, number), connection, time)


def notes(name: str, wish: Wish, published: list[Sent], received: list[Received]) -> Notes:
    found = Notes(Role(name, "b1", "oslo", Kind.PYTHON, wish, publishes=bool(published)))
    found.sent = published
    found.received = received
    found.marks = dict.fromkeys(each.mark for each in received)
    return found


@pytest.fixture
def publisher() -> Notes:
    return notes("p", Wish(("none",)), [sent(1, 1.0), sent(2, 2.0), sent(3, 3.0, severity=0)], [])


def faults(publisher: Notes, *received: Received) -> dict[str, int]:
    reader = notes("r", Wish(("t",), "severity > 1"), [], list(received))
    verdict = judge_clients([publisher, reader], CALMS)
    assert verdict.clean is (not verdict.faults)
    return {
        key: value
        for key in ("owed", "lost", "duplicated", "out_of_order", "unwanted")
        if (value := getattr(verdict, key))
    }


def test_all_that_was_owed_has_come(publisher: Notes) -> None:
    assert faults(publisher, got(1, 1.1), got(2, 2.1)) == {"owed": 2}


def test_each_kind_of_fault_is_seen(publisher: Notes) -> None:
    assert faults(publisher, got(1, 1.1)) == {"owed": 2, "lost": 1}
    assert faults(publisher, got(1, 1.1), got(2, 2.1), got(2, 2.2)) == {"owed": 2, "duplicated": 1}
    assert faults(publisher, got(2, 2.1), got(1, 2.2)) == {"owed": 2, "out_of_order": 1}
    assert faults(publisher, got(1, 1.1), got(2, 2.1), got(3, 3.1)) == {"owed": 2, "unwanted": 1}
    assert faults(publisher, got(1, 1.1), got(2, 2.1), got(9, 9.1)) == {"owed": 2, "unwanted": 1}


def test_a_publisher_that_lost_its_connection_owes_nothing_between_two_calm_moments(publisher: Notes) -> None:
    publisher.breaks = [50.0]
    assert faults(publisher) == {}


def test_a_break_excuses_no_other_time(publisher: Notes) -> None:
    publisher.breaks = [150.0]
    reader = notes("r", Wish(("t",)), [], [])
    assert judge_clients([publisher, reader], [0.0, 100.0, 200.0]).lost == 3


def test_a_client_that_comes_later_is_owed_from_the_next_calm_moment_on(publisher: Notes) -> None:
    reader = notes("r", Wish(("t",)), [], [])
    reader.since = 0.5
    assert judge_clients([publisher, reader], [0.0, 2.5, 100.0]).lost == 1
    assert who_was_away([publisher, reader], 0.0, 2.5).clients == []


def test_a_copy_on_a_new_connection_is_told_apart(publisher: Notes) -> None:
    reader = notes("r", Wish(("t",), "severity > 1"), [], [got(1, 1.1), got(1, 9.0, connection=2)])
    reader.breaks = [5.0]
    assert judge_clients([publisher, reader], CALMS).clean
    publisher.sent[1] = msgspec.structs.replace(publisher.sent[1], open=True)
    away = who_was_away([publisher, reader], *CALMS)
    assert (away.clients, away.missed, away.again, away.open) == (["r"], 1, 1, 1)


def test_delays_are_from_client_to_client(publisher: Notes) -> None:
    reader = notes("r", Wish(("t",)), [], [got(2, 2.5), got(1, 1.25)])
    assert delays([publisher, reader]) == [0.25, 0.5]


def test_a_gap_in_the_trace_is_not_clean() -> None:
    verdict = judge_trace([Record(1.0, "b1", Seen.UNTRACED, size=7, detail="full")], BrokerOptions(), [])
    assert not verdict.clean
    assert verdict.faults == ["b1: 7 records are missing in its trace: full"]


def test_traffic_counts_links_outside_the_broken_time() -> None:
    early, late = Event("t", source="b1.1", seq=1), Event("t", source="b1.1", seq=2)
    records = [
        Record(1.0, "b1", Seen.PUBLISHED, event=early),
        Record(1.0, "b1", Seen.FORWARDED, peer="b2", event=early),
        Record(5.0, "b1", Seen.PUBLISHED, event=late),
        Record(5.0, "b1", Seen.FORWARDED, peer="b2", event=late),
    ]
    traffic = count_traffic(records, [("b1", "b2"), ("b2", "b3")], (4.0, 6.0))
    assert (traffic.events, traffic.forwarded, traffic.flooded) == (1, 1, 2)
    assert traffic.links == {"b1 - b2": 1, "b2 - b3": 0}
    assert traffic.saved == 0.5


def test_traffic_of_links_that_have_come_is_counted_too_and_flooding_reaches_every_broker_that_is_there() -> None:
    one, two = Event("t", source="b1.1", seq=1), Event("t", source="b1.1", seq=2)
    records = [
        Record(1.0, "b1", Seen.PUBLISHED, event=one),
        Record(1.0, "b2", Seen.FORWARDED, peer="b1", event=one),
        Record(2.0, "b3", Seen.STARTED),
        Record(3.0, "b1", Seen.PUBLISHED, event=two),
        Record(3.0, "b3", Seen.FORWARDED, peer="b1", event=two),
    ]
    traffic = count_traffic(records, [("b1", "b2")], (9.0, 9.0))
    assert (traffic.events, traffic.forwarded, traffic.flooded) == (2, 2, 1 + 2)
    assert traffic.links == {"b1 - b2": 1, "b1 - b3": 1}


def test_a_client_whose_subscription_is_not_held_is_named() -> None:
    role = Role("r", "b1", "oslo", Kind.PLAIN, Wish(("t",)), publishes=False)
    held = [
        Record(1.0, "b1", Seen.STARTED, detail="b1.1"),
        Record(1.1, "b1", Seen.ATTACHED, client="r"),
        Record(1.2, "b1", Seen.SUBSCRIBED, client="r", pattern=role.wish.patterns[0]),
        Record(1.3, "demo", Seen.CALM),
        Record(1.4, "b1", Seen.UNSUBSCRIBED, client="r", pattern=role.wish.patterns[0]),
    ]
    assert judge_trace(held, BrokerOptions(), [role]).clean
    forgotten = [held[0], held[1], held[3]]
    assert "r at b1: not held ['t']" in judge_trace(forgotten, BrokerOptions(), [role]).faults[0]

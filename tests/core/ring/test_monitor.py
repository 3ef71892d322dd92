"""The manager's own loop: everybody reports, one looks, places change by themselves; and another one takes over."""

from __future__ import annotations

import pytest

from reknit.core.ring.monitor import MANAGER_KEY
from reknit.model.ring import ring_id
from reknit.planning.ring import Ring as Ids
from reknit.trace.records import Kind
from tests.core.ring.circles import Ring, grown


def managers(ring: Ring) -> list[str]:
    return [name for name in ring.nodes if ring.is_alive(name) and ring.broker(name).monitor.manages]


def looks(ring: Ring) -> int:
    return sum(
        record.kind is Kind.CHANGE and record.detail == "places: looks for better ones" for record in ring.records
    )


def far(ring: Ring, topic: str) -> str:
    """Of all brokers, the one with most hops from the topic's root."""
    at = {ring.broker(name).ring.me[0]: name for name in ring.nodes if ring.is_alive(name)}
    ids = Ids(list(at))
    root = ids.owner(ring_id(topic))
    return at[ids.ids[max(range(len(ids)), key=lambda place: len(ids.route(root, place)))]]


def publish(ring: Ring, broker: str, topic: str, count: int) -> None:
    for number in range(count):
        ring.says(broker, topic, str(number))
        ring.run(0.01)


def test_without_free_s_nobody_reports() -> None:
    ring = grown(4)
    assert managers(ring) == []
    assert all(ring.broker(name).monitor.deadline() is None for name in ring.nodes)


def test_who_owns_the_key_hears_of_everybody_and_expects_what_the_filter_says() -> None:
    ring = grown(5, free_s=1000.0, report_s=2.0)
    [manager] = managers(ring)
    assert ring.broker(manager).ring.plane.member.owns(MANAGER_KEY)
    other = next(name for name in ring.nodes if name != manager)
    monitor = ring.broker(manager).monitor
    assert set(monitor._heard) == set(ring.nodes)
    for count, expected in ((10, 10.0), (20, 13.0), (0, 9.1)):  # Eq. 8; the first one is the first estimate
        publish(ring, other, "a", count)
        ring.run(5.0)
        monitor._expect()
        assert monitor.rates["a"] == pytest.approx(expected)


def test_places_change_by_themselves_where_it_pays_and_nothing_is_lost() -> None:
    ring = grown(6, free_s=20.0, report_s=2.0)
    reader = far(ring, "a")
    ring.wants(reader, "reader", "a")
    ring.run(3.0)
    publish(ring, "b1", "a", 100)
    ring.run(40.0)
    assert ring.versions() != {1}
    assert len(ring.versions()) == 1
    assert ring.broker(reader).ring.plane.member.owns(ring_id("a"))
    assert ring.had("reader") == [str(number) for number in range(100)]


def test_nothing_changes_where_nobody_publishes_and_looks_are_free_s_apart() -> None:
    ring = grown(4, free_s=20.0, report_s=4.0)
    ring.wants(far(ring, "a"), "reader", "a")
    ring.run(60.0)
    assert ring.versions() == {1}
    assert 3 <= looks(ring) <= 4


def test_a_second_manager_takes_over() -> None:
    ring = grown(5, free_s=20.0, report_s=2.0)
    [first] = managers(ring)
    ring.lose(first)
    ring.run(15.0)
    [second] = managers(ring)
    assert second != first
    reader = far(ring, "a")
    ring.wants(reader, "reader", "a")
    ring.run(3.0)
    publish(ring, second, "a", 100)
    ring.run(40.0)
    assert ring.versions() != {1}
    assert ring.had("reader") == [str(number) for number in range(100)]


def test_one_who_is_no_manager_any_more_forgets_what_it_has_heard() -> None:
    ring = grown(4, free_s=30.0, report_s=2.0)
    [first] = managers(ring)
    number = ring.broker(first).ring.me[0]
    others = [name for name in ring.nodes if name != first]
    ring.reshape(first, 1, ring.turned(first, others[0]))
    ring.run(10.0)
    assert ring.broker(first).ring.me[0] != number
    assert managers(ring) == [others[0]]
    assert ring.broker(first).monitor._heard == {}


def test_no_plan_is_made_without_everybody() -> None:
    """One that is known to be there has not told anything for long."""
    ring = grown(4, free_s=20.0, report_s=2.0)
    [manager] = managers(ring)
    other = next(name for name in ring.nodes if name != manager)
    ring.broker(other).monitor._report_at = 1e9
    before = looks(ring)
    ring.run(60.0)
    assert looks(ring) - before <= 1

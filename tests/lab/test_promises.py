"""Runs under traffic, and the judges: each sees what it should, in traces that are made for it."""

from __future__ import annotations

from functools import cache

import pytest

from reknit.lab.lateness import Epoch
from reknit.lab.promises import STRATEGIES, Judgement, judge, run_under_traffic
from reknit.lab.replacement import chance
from reknit.lab.worlds import World, draw_world
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.trace.records import Kind, Record

LINE = (("a", "b"), ("b", "c"))
NEWS = Pattern.parse("news")


def world(changes: int) -> World:
    drawn = draw_world("random", 8, 0.0, 1, chance("promises"))
    return World(drawn.edges, drawn.wants, drawn.replacements[:changes])


@cache
def ran(strategy: str) -> Judgement:
    return run_under_traffic(world(4), strategy, "1")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_nothing_is_wrong_while_nothing_changes(strategy: str) -> None:
    found = run_under_traffic(world(0), strategy, "1")
    assert found.owed == found.delivered > 500
    assert (found.lost, found.duplicated, found.not_fifo, found.not_causal, found.late, found.copies) == (0,) * 6


def test_a_swap_loses_doubles_and_disorders_nothing() -> None:
    found = ran("swap")
    assert found.owed == found.delivered > 1000
    assert (found.lost, found.duplicated, found.not_fifo, found.not_causal, found.copies) == (0,) * 5


@pytest.mark.parametrize("strategy", [name for name in STRATEGIES if name != "swap"])
def test_the_others_lose_events_between_the_old_link_and_the_new_one(strategy: str) -> None:
    found = ran(strategy)
    assert found.lost > 0
    assert found.delivered == found.owed - found.lost
    assert "never reached" in found.examples["lost"]


def test_the_same_seed_gives_the_same_judgement() -> None:
    assert run_under_traffic(world(1), "path", "1") == run_under_traffic(world(1), "path", "1")


# --- made by hand: b publishes, c wants it; every link takes a second


def _before() -> list[Record]:
    links = [(one, other) for edge in LINE for one, other in (edge, edge[::-1])]
    return [
        *(Record(0.0, name, Kind.STARTED) for name in "abc"),
        *(Record(0.0, one, Kind.LINK_ADDED, peer=other) for one, other in links),
        Record(0.0, "c", Kind.ATTACHED, client="k"),
        Record(0.0, "c", Kind.SUBSCRIBED, client="k", pattern=NEWS),
        Record(1.0, "", Kind.CALM),
    ]


def _event(source: str, seq: int) -> Event:
    return Event("news", source=f"{source}.1", seq=seq)


def _published(at: float, node: str, seq: int) -> Record:
    return Record(at, node, Kind.PUBLISHED, client=f"at {node}", event=_event(node, seq))


def _delivered(at: float, event: Event) -> Record:
    return Record(at, "c", Kind.DELIVERED, client="k", event=event)


def _judge(*records: Record) -> Judgement:
    before, epoch = _before(), Epoch(0.0, LINE, LINE)
    return judge([*before, *records, Record(100.0, "", Kind.CALM)], len(before), [epoch], lambda one, other: 1.0)


def test_a_link_that_goes_releases_from_nothing() -> None:
    gone = [Record(2.5, one, Kind.LINK_REMOVED, peer=other) for one, other in (("b", "c"), ("c", "b"))]
    found = _judge(_published(2.0, "b", 1), *gone)
    assert (found.owed, found.lost) == (1, 1)


def test_copies_and_order_are_seen() -> None:
    one, two = _event("b", 1), _event("b", 2)
    found = _judge(
        _published(2.0, "b", 1),
        _published(2.0, "b", 2),
        _delivered(3.0, two),
        _delivered(3.0, one),
        _delivered(3.0, one),
    )
    assert (found.lost, found.duplicated, found.not_fifo) == (0, 1, 2)
    dropped = Record(3.0, "c", Kind.DROPPED, peer="b", event=one, detail="copy")
    assert _judge(_published(2.0, "b", 1), _delivered(3.0, one), dropped).copies == 1


def test_what_is_late_is_counted_with_an_example() -> None:
    found = _judge(_published(2.0, "b", 1), _delivered(3.5, _event("b", 1)))
    assert (found.late, found.ordered, found.late_s_max) == (1, 0, 0.5)
    assert found.examples["late"] == "('b.1', 1) came to c 500.00 ms late"
    assert _judge(_published(2.0, "b", 1), _delivered(3.0, _event("b", 1))).late == 0

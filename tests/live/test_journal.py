"""The journal: each change is told once, repetitions and strangers do not flood it, and all is counted."""

from __future__ import annotations

import pytest

from reknit.live import journal as module
from reknit.live.journal import LINE_CHARS_MAX, NEWS, STRANGERS_TOLD_MAX, Journal
from reknit.trace.records import Kind, Record


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def journal(said: list[str]) -> Journal:
    return Journal(said.append)


def record(kind: Kind, peer: str = "b2", detail: str = "") -> Record:
    return Record(0.0, "b1", kind, peer=peer, detail=detail)


def test_each_change_of_a_link_is_one_line_and_is_counted(journal: Journal, said: list[str]) -> None:
    journal.note(record(Kind.LINK_ADDED))
    journal.note(record(Kind.LINK_UP))
    journal.note(record(Kind.LINK_STALLED, detail="handled none for 6 s"))
    journal.note(record(Kind.LINK_DOWN, detail="handled none for 6 s"))
    journal.note(record(Kind.LINK_UP))
    journal.note(record(Kind.LINK_REMOVED, detail="left"))
    journal.note(record(Kind.REFUSED, "b3", "a cycle: b1 - b2 - b3"))
    assert said == [
        "link to b2 added",
        "link to b2 is up",
        "link to b2 has stalled: handled none for 6 s",
        "link to b2 is down: handled none for 6 s",
        "link to b2 is up",
        "link to b2 removed: left",
        "link to b3 refused: a cycle: b1 - b2 - b3",
    ]
    b2, b3 = journal.neighbours["b2"], journal.neighbours["b3"]
    assert (b2.ups, b2.downs, b2.stalls, b2.refusals, b2.last) == (2, 1, 1, 0, "handled none for 6 s")
    assert (b3.refusals, b3.last) == (1, "a cycle: b1 - b2 - b3")


def test_every_kind_about_links_is_news() -> None:
    assert {kind for kind in Kind if kind.value.startswith("link_")} | {Kind.REFUSED} == set(NEWS)


def test_the_same_reason_is_told_once_until_something_changes(journal: Journal, said: list[str]) -> None:
    for _ in range(100):
        journal.unreachable("b2", "refused")
    journal.unreachable("b2", "no route")
    journal.note(record(Kind.LINK_UP))
    journal.unreachable("b2", "no route")
    assert said == [
        "waiting for b2: refused",
        "waiting for b2: no route",
        "link to b2 is up",
        "waiting for b2: no route",
    ]


def test_what_strangers_cause_is_bounded_until_a_link_changes(journal: Journal, said: list[str]) -> None:
    for number in range(1000):
        journal.closed("10.0.0.1", f"garbage {number % 500}")
    assert len(said) == STRANGERS_TOLD_MAX + 1
    assert said[0] == "closed a connection with 10.0.0.1: garbage 0"
    journal.note(record(Kind.LINK_UP))
    journal.closed("10.0.0.1", "garbage 0")
    assert len(said) == STRANGERS_TOLD_MAX + 3


def test_a_connection_whose_end_was_told_as_its_links_is_not_told_again(journal: Journal, said: list[str]) -> None:
    journal.note(record(Kind.LINK_DOWN, detail="silent for 4 s"))
    journal.closed("b2", "silent for 4 s")
    assert said == ["link to b2 is down: silent for 4 s"]


def test_a_line_stays_one_and_short_whatever_the_other_end_says(journal: Journal, said: list[str]) -> None:
    journal.closed("10.0.0.1", "bye\n\x1b[2J" + "x" * 1000)
    assert said[0].startswith("closed a connection with 10.0.0.1: bye??[2Jx")
    assert len(said[0]) == LINE_CHARS_MAX


def test_past_neighbours_are_bounded(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "NEIGHBOURS_MAX", 2)
    for name in ("b2", "b3", "b4"):
        journal.note(record(Kind.LINK_UP, name))
    assert list(journal.neighbours) == ["b3", "b4"]


def test_it_says_whom_it_waits_for_and_when_it_is_ready(journal: Journal, said: list[str]) -> None:
    journal.begin(["b2", "b3"])
    journal.look(["b3"])
    assert journal.waiting
    journal.look([])
    assert said == ["waiting for b2, b3", "ready"]
    assert not journal.waiting

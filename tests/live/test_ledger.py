"""What the core wants to be kept, as entries and back; and what goes along with it."""

from __future__ import annotations

import math

import pytest

from reknit.core.io import (
    Drop,
    DropAside,
    DropHad,
    DropLine,
    DropMove,
    Keep,
    KeepAside,
    KeepChange,
    KeepHad,
    KeepLine,
    KeepMove,
)
from reknit.live import ledger as ledger_module
from reknit.live.ledger import Ledger, incarnation_entry, read_past
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.mqtt.keeping import Keeper
from reknit.mqtt.options import DoorOptions
from reknit.store.entries import StoreError
from reknit.store.memory import MemoryStore
from reknit.wire.messages import Line


@pytest.fixture
def keeper() -> Keeper:
    return Keeper(DoorOptions(), 0.0)


def event(seq: int, source: str = "b1.a") -> Event:
    return Event("t", b"x", qos=1, source=source, seq=seq)


def test_what_is_kept_comes_back_and_what_is_dropped_does_not(keeper: Keeper) -> None:
    ledger, store = Ledger(keeper, {}, {}), MemoryStore()
    lines = [Line("retained", f"t/{number}", b"v", number, "b1.a") for number in range(3)]
    ledger.note(Keep([event(300), event(2), event(3)], routed=True))
    ledger.note(Keep([event(4)], routed=False))
    for line in lines:
        ledger.note(KeepLine(line))
    store.commit(ledger.take())
    ledger.note(Drop([("b1.a", 3)]))
    ledger.note(DropLine("retained", "t/1"))
    store.commit(ledger.take())
    store.commit(incarnation_entry(77))
    past = read_past(store.load(), keeper, "file")
    assert past.kept == [(event(2), True), (event(4), False), (event(300), True)]  # by number
    assert past.lines == [lines[0], lines[2]]
    assert past.incarnation == 77


def test_an_event_that_is_routed_later_is_another_entry_under_the_same_key(keeper: Keeper) -> None:
    ledger, store = Ledger(keeper, {}, {}), MemoryStore()
    ledger.note(Keep([event(1)], routed=False))
    store.commit(ledger.take())
    ledger.note(Keep([event(1)], routed=True))
    ledger.note(Drop([("b1.a", 1)]))
    assert ledger.take() == {("outbox", b"b1.a\0" + bytes(7) + b"\1"): None}


def test_what_came_by_goes_along_and_causes_nothing(keeper: Keeper) -> None:
    seen = {"x.1": 5}
    ledger, store = Ledger(keeper, seen, {"x.1": 3, "y.1": 9}), MemoryStore()
    assert ledger.idle
    assert ledger.take() == {}
    ledger.note(Keep([event(1)], routed=True))
    store.commit(ledger.take())
    assert read_past(store.load(), keeper, "file").seen == {"x.1": 5}
    seen |= {"x.1": 4, "y.1": 2, "z.1": 1}  # sent again after a crash: the life before has seen more
    ledger.note(Keep([event(2)], routed=True))
    batch = ledger.take()
    assert [key for shelf, key in batch if shelf == "seen"] == [b"z.1"]


def test_where_it_matters_it_is_kept_when_something_was_written_last(keeper: Keeper) -> None:
    ledger, store = Ledger(keeper, {}, {}), MemoryStore()
    ledger.note(Keep([event(1)], routed=True))
    store.commit(ledger.take())
    assert read_past(store.load(), keeper, "file").recall([], 900.0).written == math.inf
    ledger.wall_offset, ledger.clock = 1_000.0, lambda: 2.5
    assert ledger.take() == {}
    ledger.note(Keep([event(2)], routed=True))
    store.commit(ledger.take())
    assert read_past(store.load(), keeper, "file").recall([], 900.0).written == 102.5


def test_sources_are_bounded_and_the_first_goes(keeper: Keeper, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_module, "SOURCES_MAX", 2)
    seen: dict[str, int] = {}
    ledger, store = Ledger(keeper, seen, {}), MemoryStore()
    for number, source in enumerate("abc", 1):
        seen[source] = number
        ledger.note(Keep([event(number)], routed=True))
        store.commit(ledger.take())
    assert read_past(store.load(), keeper, "file").seen == {"b": 2, "c": 3}


def test_sessions_and_core_share_one_batch(keeper: Keeper) -> None:
    ledger = Ledger(keeper, {}, {})
    session = keeper.session("c")
    session.expiry_s = 5
    session.changed()
    ledger.note(Keep([event(1)], routed=True))
    assert sorted(shelf for shelf, _ in ledger.take()) == ["outbox", "session"]
    assert ledger.idle


def test_the_times_of_changes_are_those_of_the_clock_on_the_wall(keeper: Keeper) -> None:
    """The next life may have another clock."""
    ledger, store = Ledger(keeper, {}, {}), MemoryStore()
    ledger.wall_offset = 1_000.0
    record = {"id": "a.1", "deed": ["swap", ["a", "b", "c"], "", 0], "part": "mover", "begun": 2.0, "ended": 3.0}
    ledger.note(KeepChange("a.1", record))
    ledger.note(KeepChange("a.2", record | {"id": "a.2"}))
    store.commit(ledger.take())
    ledger.note(KeepChange("a.2", None))
    store.commit(ledger.take())
    past = read_past(store.load(), keeper, "file")
    assert past.recall([], 1_001.0).changes == [record | {"begun": 1.0, "ended": 2.0}]


def test_sessions_on_their_way_and_what_was_put_aside_for_them(keeper: Keeper) -> None:
    ledger, store = Ledger(keeper, {}, {}), MemoryStore()
    some = (Pattern.parse("t", "x > 1"), Pattern.parse("#"))
    asides = [KeepAside("zoe", 1, event(300), some), KeepAside("ann", 2, event(2), some[:1], "group")]
    moves = [KeepMove("ann", "b2", 7, came=True), KeepMove("zoe", "b2", 8, came=False)]
    had = [KeepHad("ann", {"b1.1": 4}), KeepHad("bob", {"b1.1": 3})]
    for each in (*asides, KeepAside("ann", 3, event(3), some), *moves, KeepMove("bob", "b2", 9, came=False), *had):
        ledger.note(each)
    store.commit(ledger.take())
    ledger.note(DropAside("ann", (3,)))
    ledger.note(DropMove("bob"))
    ledger.note(DropHad("bob"))
    store.commit(ledger.take())
    recall = read_past(store.load(), keeper, "file").recall([])
    assert (recall.asides, recall.moves, recall.had) == (asides, moves, {"ann": {"b1.1": 4}})


@pytest.mark.parametrize(
    "shelf", ["outbox", "aside", "moves", "had", "book", "changes", "message", "session", "unheard of"]
)
def test_what_nobody_here_has_written_is_one_line(keeper: Keeper, shelf: str) -> None:
    with pytest.raises(StoreError, match=r"file: not to be understood: .* another reknit") as caught:
        read_past([(shelf, b"k\0" + bytes(8), b"\xc1\xc1")], keeper, "file")
    assert "\n" not in str(caught.value)

"""What operators are shown of planned changes that are under way."""

from __future__ import annotations

from reknit.core.io import Replace
from reknit.core.overlay.change import Place, make_change
from reknit.core.overlay.walked import Asked, Lock, id_of, others_of, place_of, shown_lock, shown_wish
from reknit.wire.messages import Ctrl, Done, Flush, Prepare

CHANGE = make_change("x:1", "path", ["A", "E", "C"], ["D", "G", "B"])


def _waits_for(broker: str, gone: bool) -> object:
    place = Place.find(CHANGE, broker)
    assert place is not None
    return shown_lock(Lock(Prepare(CHANGE, "", vanished=False), place, 10.0, 1.0, gone))["waits_for"]


def test_each_waits_for_the_next_until_the_old_link_is_gone_and_then_for_the_far_end() -> None:
    assert [_waits_for(name, gone=False) for name in CHANGE.path] == ["E", "C", "D", "G", "B", "G"]
    assert [_waits_for(name, gone=True) for name in CHANGE.path] == ["D", "D", "D", "C", "D", "G"]


def test_the_ends_of_the_old_link_ask_for_each_other_and_the_first_for_the_far_end_of_the_new_one_too() -> None:
    """The other end of the old one may have left for good."""
    locks = [Lock(Prepare(CHANGE, "d:1", False), Place(CHANGE, at), 10.0, 1.0, True, f"old:{at}") for at in range(6)]
    assert [others_of(lock) for lock in locks] == [{"B": "old:0", "D": "d:1"}, {}, {}, {}, {}, {"A": "old:5"}]


def test_a_lock_is_shown_with_its_change_and_the_part_in_it() -> None:
    shown = shown_lock(Lock(Prepare(CHANGE, "", vanished=False), Place(CHANGE, 1), 10.0, 1.0))
    assert (shown["id"], shown["kind"], shown["brokers"]) == ("x:1", "replace", CHANGE.path)
    assert (shown["strategy"], shown["near"], shown["part"]) == ("path", 2, "head")
    assert (shown["stage"], shown["since"]) == ("locked", 1.0)


def test_a_wish_is_shown_with_the_reason_why_it_waits() -> None:
    asked = Asked(Replace("deferred", ("A",), ("D", "B"), "d:1", 1), 2.0, 3.0, last="D is busy")
    shown = shown_wish(asked)
    assert (shown["brokers"], shown["strategy"], shown["why"]) == (["A", "D", "B"], "deferred", "D is busy")


def test_every_message_names_its_change_and_some_bring_it_along() -> None:
    assert [id_of(each) for each in (Done("d:1"), Ctrl("c:1"), Flush(CHANGE))] == ["d:1", "c:1", "x:1"]
    found = place_of(Flush(CHANGE), "G")
    assert found is not None
    assert found.part == "tail"
    assert place_of(Done("d:1"), "G") is None

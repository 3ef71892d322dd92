"""What was held back goes on in order."""

from __future__ import annotations

from reknit.core.links.custody import Custody
from reknit.core.overlay.heldback import in_order
from reknit.model.event import Event
from reknit.wire.messages import Events, Message, Unlock


def _held(*what: int | str) -> list[tuple[Message, Custody]]:
    """Numbers are events of one source, each in a message of its own; anything else is a step."""
    return [
        (
            Events([Event("a", source="s", seq=each)]) if isinstance(each, int) else Unlock((each, 1)),
            Custody(None, 0, []),
        )
        for each in what
    ]


def _told(waiting: list[tuple[Message, Custody]]) -> list[int | str]:
    return [each.events[0].seq if isinstance(each, Events) else each.id[0] for each, _ in waiting]  # type: ignore[union-attr]


def test_what_was_held_back_goes_on_in_its_order_and_steps_stay_where_they_are() -> None:
    assert _told(in_order(_held(3, 1, "step", 2))) == [1, 2, "step", 3]


def test_copies_push_nothing_behind_a_step() -> None:
    """The step closes the way by which 1, 2 and 3 came: whoever hears it holds nothing back any longer."""
    assert _told(in_order(_held(1, 2, 3, "step", 1, 2, 3, "again"))) == [1, 2, 3, "step", 1, 2, 3, "again"]
    assert _told(in_order(_held(3, 2, "step", 1, 3))) == [1, 2, "step", 3, 3]

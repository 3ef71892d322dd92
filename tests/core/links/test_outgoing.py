"""Events that were to reach a third broker by way of the far end, which does not lead there any more."""

from __future__ import annotations

from reknit.core.links.outgoing import Outgoing, owed_events
from reknit.model.event import Event
from reknit.wire.messages import Events, Leave, Mode, Steered


def test_only_what_the_third_has_not_got_directly_is_owed_to_it() -> None:
    early, flooded, late = Event("a"), Event("b"), Event("c")
    frames = [
        Outgoing(1, [Events([early]), Leave()], [], 1, ("x", "y")),
        Outgoing(2, [Steered(7, Mode.FLOOD, [], [flooded])], [], 1, ("x",)),
        Outgoing(3, [Events([late])], [], 1),
    ]
    assert owed_events(frames, "x") == [early]
    assert owed_events(frames, "y") == [early]
    assert owed_events(frames, "z") == []

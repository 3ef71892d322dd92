"""Events that were to reach a third broker by way of the far end, which does not lead there any more."""

from __future__ import annotations

from reknit.core.links.custody import Custody
from reknit.core.links.outgoing import Outgoing, Whereabouts, owed_events
from reknit.model.event import Event
from reknit.wire.messages import Events, Leave, Mode, Steered
from tests.core.desk import event


def test_only_what_the_third_has_not_got_directly_is_owed_to_it() -> None:
    early, flooded, late = Event("a"), Event("b"), Event("c")
    waits = Custody(None, 0, [])
    frames = [
        Outgoing(1, [Events([early]), Leave()], [waits], 1, ("x", "y")),
        Outgoing(2, [Steered(7, Mode.FLOOD, [], [flooded])], [], 1, ("x",)),
        Outgoing(3, [Events([late])], [], 1),
    ]
    assert owed_events(frames, "x") == [(early, [waits])]
    assert owed_events(frames, "y") == [(early, [waits])]
    assert owed_events(frames, "z") == []


def test_an_event_is_found_in_the_frame_that_carries_it_until_that_is_settled() -> None:
    one, other = event("a", 1, "z.1"), event("b", 2, "z.1")
    frames = [Outgoing(1, [Events([one])], [], 10), Outgoing(2, [Steered(1, Mode.PLAIN, [], [other])], [], 10)]
    whereabouts = Whereabouts(frames[:1])
    assert whereabouts.find(one.id) is frames[0]
    assert whereabouts.find(other.id) is None
    whereabouts.add(frames[1])
    assert whereabouts.find(other.id) is frames[1]
    frames[0].settled = True
    assert whereabouts.find(one.id) is None


def test_a_copy_need_not_be_kept_that_has_come_round_or_whose_first_one_the_shell_keeps() -> None:
    kept, passing = event("a", 1, "z.1"), event("b", 1, "y.1")
    own, others = Custody(None, 0, [kept]), Custody(None, 0, [])
    own.kept = True
    frame = Outgoing(1, [Events([kept, passing])], [own, others], 10, ("x",))
    assert frame.outlives(passing, "x")
    assert frame.outlives(kept, "n")
    assert not frame.outlives(passing, "n")
    own.kept = None
    assert not frame.outlives(kept, "n")

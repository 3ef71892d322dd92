"""What a broker says of the swap that it takes part in, and keeps of it."""

from __future__ import annotations

import pytest

from reknit.core.io import Dialled
from reknit.core.overlay.notes import Closing, Notes, Part, Stage, SwapNote, read_notes, write_notes
from reknit.core.overlay.options import OverlayOptions
from reknit.core.overlay.swap import ID_FLOOR
from reknit.wire.messages import (
    Close,
    Events,
    Leave,
    Lock,
    Open,
    Seated,
    Side,
    Snapshot,
    Steered,
    Swap,
    SwapId,
    Unsub,
)
from tests.core.desk import Desk, event, pattern
from tests.core.overlay.triple import Triple
from tests.sim import heard


def _state(cluster: Triple, name: str):  # type: ignore[no-untyped-def]
    broker = cluster.nodes[name].broker
    assert broker is not None
    return broker.overlay.swaps


def test_nobody_is_locked_before_or_after_a_swap() -> None:
    cluster = Triple()
    assert [_state(cluster, name).locked for name in "abc"] == ["", "", ""]
    cluster.swap("a", "b", "c")
    assert cluster.settle(30.0)
    assert [_state(cluster, name).locked for name in "abc"] == ["", "", ""]
    assert [cluster.nodes[name].notes for name in "ab"] == ["", ""]
    assert "ended" in cluster.nodes["c"].notes
    cluster.kernel.run(until=cluster.kernel.now + OverlayOptions().close_s_max + 1.0)
    assert cluster.nodes["c"].notes == ""


def test_what_the_mover_sends_either_way_may_come_back_by_the_other() -> None:
    """While the swap is under way, and then as long as the link that it has replaced is not empty."""
    cluster = Triple(latency_s_max=0.002)
    state = _state(cluster, "a")
    assert not state.leads_round("b", "c")
    cluster.swap("a", "b", "c")
    while state.current is None:
        cluster.kernel.run(until=cluster.kernel.now + 0.0002)
    assert [state.leads_round(*way) for way in (("b", "c"), ("c", "b"), ("b", "x"))] == [True, True, False]
    assert cluster.settle(30.0)
    assert not state.leads_round("b", "c")
    state.closing["x"] = Closing(("a", 1), "y", "x", Part.MOVER)
    state.closing["m"] = Closing(("z", 2), "z", "m", Part.MIDDLE)
    ways = [("x", "y"), ("y", "x"), ("m", "z"), ("b", "y")]
    assert [state.leads_round(*way) for way in ways] == [True, True, False, False]


def test_of_its_own_side_the_mover_believes_its_other_neighbours() -> None:
    """The goal's next life has it from the middle, which goes by the tree as it was."""
    cluster = Triple(latency_s_max=0.002)
    state = _state(cluster, "a")
    cluster.swap("a", "b", "c")
    while state.current is None:
        assert state.yields_to("c") == ()
        cluster.kernel.run(until=cluster.kernel.now + 0.0002)
    assert [state.yields_to(peer) for peer in "bcx"] == [("x",), ("x",), ()]


def test_while_it_lasts_each_of_the_three_has_a_note_of_it() -> None:
    cluster = Triple(latency_s_max=0.002)
    cluster.swap("a", "b", "c")
    stages: dict[str, list[Stage]] = {name: [] for name in "abc"}
    for _ in range(300):
        cluster.kernel.run(until=cluster.kernel.now + 0.0002)
        for name, found in stages.items():
            note = read_notes(cluster.nodes[name].notes).swap
            if note is not None and (not found or found[-1] is not note.stage):
                found.append(note.stage)
    assert stages == {
        "a": [Stage.LOCKED, Stage.OPEN, Stage.FLOOD, Stage.MOVED],
        "b": [Stage.LOCKED, Stage.FLOOD],
        "c": [Stage.LOCKED, Stage.FLOOD],
    }
    assert not any(cluster.nodes[name].notes for name in "xyz")


def test_the_replaced_link_is_kept_in_mind_until_it_is_empty() -> None:
    cluster = Triple(latency_s_max=0.01)
    cluster.swap("a", "b", "c")
    closing: set[str] = set()
    for _ in range(400):
        cluster.kernel.run(until=cluster.kernel.now + 0.001)
        closing |= {name for name in "abc" if read_notes(cluster.nodes[name].notes).closing}
    assert closing == {"a", "b"}
    assert cluster.settle(30.0)
    assert not any(read_notes(cluster.nodes[name].notes).closing for name in "abc")


def test_a_goal_that_has_joined_as_a_stranger_need_not_be_seated() -> None:
    """It was given up meanwhile, and knows of no swap; what it wants would never count."""
    net = heard.Stage("a-b b-c")
    broker = net.nodes["b"].broker
    assert broker is not None
    broker.overlay.swaps._unseated["d"] = ("a", 1)
    assert not broker.overlay.swaps.counts("d")
    net.add_node("d")
    net.start("d")
    net.add_link("d", "b")
    net.rest()
    assert broker.overlay.swaps.counts("d")
    assert broker.gate.open


def test_a_goal_that_comes_to_a_life_that_did_not_know_of_it_hears_that_it_has_to_be_seated() -> None:
    """Else nothing that it does not want any more would ever be void."""
    id_ = ("a", 1 << 47)
    desk = Desk(notes=write_notes(Notes(closing={"a": Closing(id_, "c", "", Part.MIDDLE)})))
    goal = desk.far_end("c", 1)
    goal.greet()
    assert Close(id_, True, True) in goal.heard()
    goal.say(Snapshot([("", [pattern("old"), pattern("new")])], last=True))
    goal.say(Seated(id_), Snapshot([("", [pattern("new")])], last=True))
    assert desk.routes() == [("c", "new")]


def test_a_goal_that_has_gone_before_it_was_seated_need_not_be_if_it_is_linked_again() -> None:
    """By another swap: it has forgotten the first, and what it does not want any more would never be void."""
    desk = Desk("c")
    goal = desk.linked("c", 1)
    desk.broker.overlay.swaps._unseated["c"] = ("a", 1 << 47)
    goal.say(Leave())
    goal.ack()
    assert "c" not in desk.broker.links.of
    assert desk.broker.overlay.swaps.counts("c")


# --- the goal, of which the others die


class Goal(Desk):
    """A broker of which we play the neighbours, each of whom wants everything; and their part in a swap."""

    def __init__(self, *neighbours: str) -> None:
        super().__init__(*neighbours, name="n", links={"ack_delay_s": 0.001})
        self.ends = {peer: self.linked(peer, conn, pattern("#")) for conn, peer in enumerate(neighbours, 1)}

    def take(self, mover: str, middle: str) -> SwapId:
        """The mover's link to the middle is about to become one to us, whose neighbour the middle is."""
        id_ = (mover, ID_FLOOR | len(self.effects))
        self.ends[middle].say(Lock(id_, middle, "n", f"{mover}:1"))
        new = self.ends[mover] = self.far_end(mover, 200)
        self.give(Dialled(mover, new.conn))
        new.session = 9
        new.send(new.hello())
        self.ends[middle].say(Side(id_, True, [("", [pattern("#")])]), Swap(id_, False))
        return id_


def test_what_a_middle_has_died_with_is_brought_to_the_mover_when_it_is_known_to_have_moved() -> None:
    """Both have died: the middle comes back first, and leads to the mover no more, which the goal does not know yet."""
    desk = Goal("m", "y")
    desk.ends["y"].say(Events([event("owed", 1, "s.1")]))
    id_ = desk.take("a", "m")
    middle = desk.ends["m"]
    middle.redial(300)
    middle.greet(incarnation=2)
    mover = desk.ends["a"]
    mover.forget()
    mover.say(Open(id_, True))
    brought = [each for each in mover.heard() if isinstance(each, Steered)]
    assert [each.topic for message in brought for each in message.events] == ["owed"]


def test_what_the_middle_takes_back_is_not_what_a_mover_wants_that_has_yet_to_tell() -> None:
    """The mover has begun anew, and will tell all; the middle goes by the new tree already."""
    desk = Goal("m", "y")
    id_ = desk.take("a", "m")
    desk.ends["a"].say(Open(id_, True))
    desk.ends["m"].say(Unsub([pattern("#")]))
    desk.ends["y"].say(Events([event("due", 1, "s.1")]))
    assert ("a", "#") in desk.routes()
    assert ("m", "#") not in desk.routes()


@pytest.mark.parametrize(
    ("part", "stage", "bound"),
    [
        (Part.MOVER, Stage.LOCKED, ""),
        (Part.MOVER, Stage.OPEN, "c"),
        (Part.MOVER, Stage.FLOOD, "bc"),
        (Part.MOVER, Stage.MOVED, "bc"),
        (Part.MIDDLE, Stage.LOCKED, ""),
        (Part.MIDDLE, Stage.FLOOD, "ac"),
        (Part.GOAL, Stage.LOCKED, ""),
        (Part.GOAL, Stage.FLOOD, "ab"),
    ],
)
def test_from_when_on_the_links_of_the_three_belong_to_the_swap(part: Part, stage: Stage, bound: str) -> None:
    note = SwapNote(("a", ID_FLOOR | 1), "b", "c", "a:1", part, stage)
    me = {Part.MOVER: "a", Part.MIDDLE: "b", Part.GOAL: "c"}[part]
    state = Desk(name=me).broker.overlay.swaps
    state.recall(write_notes(Notes(note)))
    assert "".join(peer for peer in "abcx" if peer != me and state.binds(peer)) == bound

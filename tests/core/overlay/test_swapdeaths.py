"""A broker of a swap that dies and stays away: the others go on without it, and if it comes back, the tree is whole."""

from __future__ import annotations

from math import inf

import pytest

from reknit.core.links.options import LinkOptions
from reknit.core.overlay.notes import Notes, Part, SwapNote, write_notes
from reknit.core.overlay.notes import Stage as Far
from reknit.core.overlay.swap import ID_FLOOR
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.sim.checkers.order import check_order
from reknit.sim.checkers.tables import check_tables
from reknit.sim.checkers.tree import check_tree
from reknit.sim.checkers.whole import check_whole
from reknit.sim.cluster import Cluster
from reknit.sim.network import NetworkOptions
from reknit.trace.records import SWAP_WITHOUT, Kind
from reknit.wire.messages import Ask, Close, Known, Lock, LockAck, Open, Refuse, Seated, Snapshot
from tests.core.desk import Desk, pattern
from tests.core.overlay.triple import Triple
from tests.sim.heard import SETTLE_S_MAX, Stage

STEPS = range(0, 28, 3)
"""Moments at which they die: of about 4 ms each."""


def _swaps(cluster: Cluster):  # type: ignore[no-untyped-def]
    return {name: node.broker.overlay.swaps for name, node in cluster.nodes.items() if node.broker is not None}


def _neighbours(cluster: Cluster) -> list[tuple[str, str]]:
    brokers = {name: node.broker for name, node in cluster.nodes.items()}
    pairs = [(name, peer) for name, broker in brokers.items() if broker for peer in broker.overlay.neighbours()]
    return sorted({(min(pair), max(pair)) for pair in pairs})


def _lose(victims: str, step: int) -> Triple:
    """Some die in the midst of a swap, and are away for longer than the lease."""
    cluster = Triple(f"lost {victims} {step}", latency_s_max=0.01)
    cluster.swap("a", "b", "c")
    for number in range(30):
        for broker in "xyz":
            cluster.later(number * 0.01, broker, f"all/{broker}/{number}")
    cluster.kernel.run(until=cluster.kernel.now + step * 0.004)
    for victim in victims:
        cluster.crash(victim)
    cluster.kernel.run(until=cluster.kernel.now + 2 * cluster.options.overlay.absent_s_max)
    return cluster


@pytest.mark.parametrize("victims", ["a", "b", "c", "ab", "bc", "ac"])
def test_nobody_stays_locked_and_whoever_comes_back_is_in_the_tree(victims: str) -> None:
    ends = set()
    for step in STEPS:
        cluster = _lose(victims, step)
        assert not [name for name, swaps in _swaps(cluster).items() if swaps.locked], (victims, step)
        for victim in victims:
            cluster.start(victim)
        assert cluster.settle(100.0), cluster.restlessness()
        ends.add(tuple(_neighbours(cluster)))
        assert len(_neighbours(cluster)) == 5, (victims, step)
        cluster.say("x", "all/late")
        assert cluster.settle(20.0)
        assert all("all/late" in cluster.heard(f"at-{name}") for name in "xyz")
        assert not [*check_tree(cluster.records), *check_order(cluster.records)]
        assert not list(check_tables(cluster.records, "subscription-forwarding", covering=False))
    assert len(ends) > 1  # at some moments the swap is undone, at some it is done


def test_the_survivors_can_be_changed_again() -> None:
    """The goal is lost before the move: the swap is undone, and the mover's link can be swapped elsewhere."""
    cluster = _lose("c", 12)
    assert ("a", "b") in _neighbours(cluster)
    request = cluster.swap("a", "b", "y")
    cluster.kernel.run(until=cluster.kernel.now + 5.0)
    assert cluster.replies[request] == ""
    assert ("a", "y") in _neighbours(cluster)


def test_without_the_middle_the_mover_moves() -> None:
    """Mover and goal stay connected, though the only way between them led through the dead one."""
    cluster = _lose("b", 13)
    assert ("a", "c") in _neighbours(cluster)
    before = len(cluster.heard("at-z"))
    cluster.say("x", "all/late")
    cluster.kernel.run(until=cluster.kernel.now + 1.0)
    assert cluster.heard("at-z")[before:] == ["all/late"]


def test_the_operator_is_told_why_it_was_undone() -> None:
    cluster = _lose("c", 12)
    assert [reply for reply in cluster.replies.values() if reply] == ["c did not come back in time"]


# --- more than one death, move by move


class Play(Stage):
    """a - b - c, of which a is to move from b to c; each wants what is under its own name, and what is for all."""

    def __init__(self, edges: str = "a-b b-c", gate_s_max: float = 10.0, **links: float) -> None:
        names = sorted(set(edges) - set("- "))
        wants = {name: [Pattern.parse(f"{name}/#"), Pattern.parse("all/#")] for name in names}
        network = NetworkOptions(latency_s_min=0.05, latency_s_max=0.05)
        super().__init__(edges, wants, network=network, links=LinkOptions(**links), gate_s_max=gate_s_max)
        self.swap("a", "b", "c")

    def until(self, detail: str) -> None:
        """So far the swap goes well."""
        while not any(record.detail == detail for record in self.records):
            assert self.kernel.now < SETTLE_S_MAX, detail
            self.wait(0.001)
        self.begun = self.kernel.now

    def at(self, seconds: float, start: str = "", crash: str = "") -> None:
        """So long after that."""
        self.kernel.run(until=self.begun + seconds)
        for name in start:
            self.start(name)
        for name in crash:
            self.crash(name)

    def drain(self, name: str) -> int:
        """As if whom it has given up had been away for long: it waits for him no more."""
        broker = self.nodes[name].broker
        assert broker is not None
        broker.links.former.given_up_at = -inf
        return super().drain(name)

    def end(self) -> list[tuple[str, str]]:
        """All come to rest, in a tree on which all agree, with the tables that belong to it."""
        for name, node in self.nodes.items():
            if node.incarnation > 1:
                self.attach(name, f"at {name}", self.wants[name])
        self.rest(120.0)
        assert not [name for name, swaps in _swaps(self).items() if swaps.locked]
        found = [*check_tree(self.records), *check_whole(self.records), *check_order(self.records)]
        assert not [*found, *check_tables(self.records, "subscription-forwarding", covering=False)]
        return _neighbours(self)


def test_a_middle_without_memory_does_not_take_a_replaced_link_for_one_of_the_tree() -> None:
    """The mover dies when it has moved. The middle has long forgotten the old link, and is restarted."""
    play = Play()
    play.until("swap: close(ab) at the middle")
    play.at(0.006, crash="a")
    play.at(35.0, crash="b")
    play.at(35.5, start="b")
    play.at(37.5, start="a")
    assert play.end() == [("a", "c"), ("b", "c")]


def test_whoever_has_moved_waits_for_its_former_neighbour_no_more_in_any_life() -> None:
    """Mover and middle die; the mover is back, moves alone before it has heard from the middle, and dies once more."""
    play = Play()
    play.until("swap: lockAck at the mover")
    play.at(0.0, crash="ab")
    play.at(0.5, start="a")
    play.at(45.0, start="b")
    play.at(65.0, crash="a")
    play.at(65.5, start="a")
    assert play.end() == [("a", "c"), ("b", "c")]


def test_events_are_known_to_be_routed_rightly_once_the_new_neighbour_has_told() -> None:
    """The gate has opened without the middle; what that wanted, the goal tells."""
    play = Play()
    play.until("swap: lockAck at the mover")
    play.at(0.0, crash="ab")
    play.at(0.5, start="a")
    play.at(35.0)
    mover = play.nodes["a"].broker
    assert mover is not None
    assert mover.overlay.neighbours() == ["c"]
    assert not mover.gate.late
    assert mover.gate.open


@pytest.mark.parametrize(
    ("back", "dead", "parted"),
    [
        ("a", "ac", ""),  # the mover undoes it, without the goal
        ("c", "ac", ""),  # the goal drops the mover
        ("c", "c", "ac"),  # the mover undoes it, and the goal hears of that
    ],
)
def test_nobody_waits_for_events_on_a_link_that_was_undone(back: str, dead: str, parted: str) -> None:
    """One is back, and waits for what the other end of the new link has kept for it; but the swap is undone."""
    play = Play(gate_s_max=1_200.0)
    play.until("swap: lockAck at the mover")
    for one, other in zip(parted, reversed(parted), strict=True):
        play.network.cut(one, other)
    play.at(0.0, crash=dead)
    play.at(0.5, start=back)
    play.at(45.0)
    broker = play.nodes[back].broker
    assert broker is not None
    assert not broker.overlay.swaps.locked
    assert broker.gate.open, broker.gate.waiting_for


def test_a_goal_that_has_dropped_the_mover_learns_what_the_middle_wants_without_it() -> None:
    """The mover has moved, and the middle has handed the link over; but the goal has never heard of that."""
    play = Play("a-b b-c c-d")
    play.until("swap: swap at the goal")
    play.network.cut("a", "c")
    play.until("swap: close(ab) at the middle")
    play.at(0.01, crash="a")
    play.at(40.0)
    assert play.entries("c") == [("b", "all/#"), ("b", "b/#"), ("d", "all/#"), ("d", "d/#")]
    assert play.entries("d") == [("c", "all/#"), ("c", "b/#"), ("c", "c/#")]
    play.network.heal()
    play.at(50.0, start="a")
    assert len(play.end()) == 3


def test_a_mover_that_undoes_is_not_sure_of_the_middle_until_it_has_heard() -> None:
    """However the link looks just then: the middle may have gone on without it, and refuse it; then it has to ask."""
    play = Play()
    play.until("swap: lockAck at the mover")
    play.at(0.0, crash="c")
    play.until("swap: undone at the mover")
    assert _swaps(play)["a"].to_be_asked("b") == {"b": "b", "c": "c"}
    play.at(1.0)
    assert not _swaps(play)["a"].to_be_asked("b")
    play.at(2.0, start="c")
    assert play.end() == [("a", "b"), ("b", "c")]


def test_a_mover_that_was_stopped_for_long_asks_to_be_joined_again() -> None:
    """It has not heard that it was given up, and takes the middle for its neighbour when it wakes."""
    play = Play("a-b b-c a-d")
    play.until("swap: lock at the goal")
    play.at(0.0, crash="b")
    play.until("swap: connectAck at the goal")
    play.at(0.1)
    play.pause("a")
    play.at(1.0, start="b")
    play.at(46.0)
    play.resume("a")
    assert len(play.end()) == 3


# --- words that have died with those who said them


def test_a_middle_whose_swap_was_undone_while_it_was_away_is_free_again() -> None:
    """Of that it should have heard from the mover, which is restarted before; and the goal is, too."""
    play = Play()
    play.until("swap: lockAck at the mover")
    play.at(0.0, crash="ab")
    play.at(35.0, start="a")  # the goal has dropped it meanwhile
    play.at(44.0, crash="a")
    play.at(44.5, start="a")
    play.at(45.0, crash="c")
    play.at(45.5, start="c")
    play.at(46.0, start="b")
    assert play.end() == [("a", "b"), ("b", "c")]


@pytest.mark.parametrize(
    "moment",
    [
        "swap: lockAck at the mover",  # the goal has to hear that the mover has moved
        "swap: open at the goal",  # and here that no more comes by the old way
    ],
)
def test_a_goal_that_was_away_when_the_mover_went_on_alone_is_free_again(moment: str) -> None:
    """The middle is lost; the goal is down when the mover says that it is done; then the mover is restarted."""
    play = Play()
    play.until(moment)
    play.at(0.0, crash="b")
    play.at(25.0, crash="c")
    play.at(33.0, crash="a")
    play.at(33.5, start="a")
    play.at(35.0, start="c")
    play.at(40.0, start="b")
    assert play.end() == [("a", "c"), ("b", "c")]


def test_a_goal_whose_middle_has_forgotten_the_swap_hears_how_it_has_ended() -> None:
    """The mover dies when it has moved, the middle hands the link over, and dies with that word; the goal was away."""
    play = Play()
    play.until("swap: close(ab) at the middle")
    play.at(0.01, crash="ac")
    play.at(31.0, crash="b")
    play.at(32.0, start="b")
    play.at(33.0, start="c")
    play.at(34.0, start="a")
    assert play.end() == [("a", "c"), ("b", "c")]


def test_whoever_knows_the_swap_still_says_nothing_when_asked() -> None:
    """The mover is stopped for longer than a lease: the others ask it, and go on when it does."""
    play = Play(silence_s_max=60.0, progress_s_max=60.0)
    play.until("swap: swap at the goal")
    play.pause("a")
    play.at(25.0)
    play.resume("a")
    assert play.end() == [("a", "c"), ("b", "c")]
    asked = [(sender, to) for sender, to, _ in play.words(Ask)]
    assert sorted(set(asked)) == [("b", "a"), ("c", "a"), ("c", "b")]
    assert len(asked) == 6


def test_a_mover_whose_middle_goes_for_good_is_joined_by_the_goal() -> None:
    """It was given up by both; the middle, which is a leaf without it, turns it away, for it is being drained."""
    play = Play()
    play.until("swap: swap at the goal")
    play.at(0.0, crash="a")
    play.at(40.0, start="a")
    play.until("swap: undone at the mover")
    play.drain("b")
    assert play.end() == [("a", "c")]


def test_a_replaced_link_that_nobody_empties_is_given_up_and_the_trace_says_so() -> None:
    """What it still carried may be lost."""
    play = Play()
    play.until("swap: end at the mover")
    play.at(0.0, crash="a")
    play.at(40.0)
    said = [(record.node, record.peer) for record in play.records if record.detail.startswith(SWAP_WITHOUT)]
    assert ("b", "a") in said


@pytest.mark.parametrize("crash", ["", "b"])
def test_a_mover_that_the_goal_has_not_heard_asks_the_middle_too_if_it_is_refused(crash: str) -> None:
    """It has ended the swap well, as far as it knows; but the goal, out of its reach, dropped it, and is drained."""
    play = Play()
    play.until("swap: swap at the goal")
    play.network.cut("a", "c")
    play.until("swap: end at the mover")
    play.at(0.1, crash=crash)
    play.at(36.0, start=crash)
    play.at(39.0)
    play.network.heal()
    play.until("c has given up a as lost")
    play.drain("c")
    assert play.end() == [("a", "b")]


def test_what_waits_for_a_cause_goes_on_when_the_swap_is_undone() -> None:
    """The middle has an event of the mover, and waits for one of the goal that the mover had seen before."""
    play = Play(silence_s_max=60.0, progress_s_max=60.0)
    play.until("swap: lockAck at the mover")
    for one, other in ("bc", "cb"):
        play.network.cut(one, other)
    play.publish("c", "at c", Event("all/cause"))
    play.at(0.06)
    play.publish("a", "at a", Event("all/effect"))
    play.at(0.2, crash="c")
    play.pause("b")
    play.at(35.0)
    play.network.heal()
    play.resume("b")
    play.at(36.0, start="c")
    assert play.end() == [("a", "b"), ("b", "c")]
    seen = [record for record in play.records if record.kind is Kind.DELIVERED and record.node == "b"]
    assert "all/effect" in [record.event.topic for record in seen if record.event]


# --- the middle is drained while the mover is away


def test_a_mover_that_comes_back_hears_that_its_middle_has_left_for_good() -> None:
    """Nobody would ever answer at the middle; the goal, with which that has left word, says so to the mover."""
    play = Play("a-b b-c a-d")
    play.until("swap: swap at the goal")
    play.at(0.0, crash="a")
    play.at(40.0)
    play.drain("b")
    play.at(60.0)
    assert play.nodes["b"].gone
    play.at(61.0, start="a")
    assert play.end() == [("a", "c"), ("a", "d")]


def test_a_mover_that_was_turned_away_before_the_middle_left_asks_again() -> None:
    """It is back while the middle is still there, but reaches nobody; and the heir is restarted meanwhile."""
    play = Play()
    play.until("swap: swap at the goal")
    play.at(0.0, crash="a")
    for one, other in ("ab", "ba"):
        play.network.cut(one, other)
    play.at(40.0, start="a")
    play.until("swap: undone at the mover")
    play.drain("b")
    for one, other in ("ac", "ca"):
        play.network.cut(one, other)
    play.at(20.0, crash="c")
    assert play.nodes["b"].gone
    play.at(21.0, start="c")
    play.network.heal()
    assert play.end() == [("a", "c")]


def test_a_mover_that_has_never_heard_from_the_goal_either_calls_it() -> None:
    """It waits for the goal to dial, which has given it up long since; and in the middle there is nobody any more."""
    play = Play()
    play.until("swap: connectAck at the goal")
    play.at(0.0, crash="a")
    play.at(40.0)
    play.drain("b")
    play.at(60.0, start="a")
    assert play.nodes["b"].gone
    assert play.end() == [("a", "c")]


def test_a_mover_whose_goal_has_dropped_it_and_left_calls_the_middle() -> None:
    """Mover and middle end the swap by themselves; the goal, which had given up the mover, goes into the middle."""
    play = Play()
    play.until("swap: start at the mover")
    play.at(0.5)
    for name in "ab":
        play.pause(name)
    play.at(40.0)
    play.drain("c")
    play.at(61.0)
    for name in "ab":
        play.resume(name)
    play.at(61.0 + play.options.overlay.close_s_max)  # the replaced link is never empty: nobody settles the last word
    assert play.end() == [("a", "b")]
    assert play.nodes["c"].gone


def test_a_mover_whose_middle_has_left_the_goal_hears_from_that_that_nothing_more_comes() -> None:
    """The mover dies when it has moved; the middle is cut off from the goal, and restarted, and cannot say its word."""
    play = Play()
    play.until("swap: end at the middle")
    play.at(0.01, crash="a")
    play.until("swap: close(ab) at the goal")
    play.remove_link("b", "c")
    play.at(2.0, crash="b")
    play.at(2.1, start="b")
    play.until("swap: end at the goal")
    play.at(0.1, start="a")
    play.rest(30.0)
    assert _neighbours(play) == [("a", "c")]


def test_a_leave_that_was_held_back_ends_no_link_that_was_made_after_it() -> None:
    """The mover is back without the middle, and holds back what the goal says; who gives up, and asks to be joined."""
    play = Play()
    play.until("swap: end at the goal")
    play.at(0.0, crash="a")
    play.remove_link("c", "b")
    play.at(1.0, start="a", crash="b")
    play.at(2.0)
    play.remove_link("c", "a")
    play.at(3.0 + play.options.overlay.leave_s_max)
    assert _neighbours(play) == [("a", "c")]
    broker = play.nodes["c"].broker
    assert broker is not None
    assert broker.overlay.neighbours() == []
    play.add_link("c", "a")
    play.at(2 * play.options.overlay.absent_s_max)
    assert broker.overlay.neighbours() == ["a"]
    assert _neighbours(play) == [("a", "c")]


@pytest.mark.parametrize("word", [Close(("a", 1 << 47), True, True), Seated(("a", 1 << 47))])  # without notes: seated
@pytest.mark.parametrize("ended", [False, True])
def test_a_middle_that_comes_back_after_all_knows_nothing_of_what_is_behind_the_mover(
    ended: bool, word: Close | Seated
) -> None:
    """It tells by the old tree, and the goal that has gone on without it by the new one, if it is in the swap or not.

    With tables of complete knowledge: else the mover's side would be looked for behind the middle, and once that has
    learnt better, nowhere.
    """
    id_ = ("a", 1 << 47)
    note = SwapNote(id_, "b", "c", "a:1", Part.GOAL, Far.FLOOD, opened=True)
    overlay = {"absent_s_max": 0.5}
    desk = Desk(
        "a", "b", name="c", notes=write_notes(Notes(note)), routing="global-table", overlay=overlay, gate_s_max=0.2
    )
    mover = desk.far_end("a", 1)
    mover.greet()
    mover.say(Snapshot([("a", [pattern("a")]), ("x", [pattern("x")])], last=True))
    desk.run(1.0)
    if ended:
        mover.say(Close(id_, False, True))
    assert (desk.broker.overlay.swaps.current is None) == ended
    middle = desk.far_end("b", 2)
    middle.greet()
    middle.say(Snapshot([("b", [pattern("b")]), ("a", [pattern("a")]), ("x", [pattern("x")])], last=True))
    assert desk.routes() == [("a", "a"), ("a", "x"), ("b", "b")]
    middle.say(word, Snapshot([("b", [pattern("b")])], last=True))
    assert desk.routes() == [("a", "a"), ("a", "x"), ("b", "b")]
    middle.say(Snapshot([("b", []), ("x", [pattern("x")])], last=True))  # it goes by the new tree now
    assert desk.routes() == [("a", "a"), ("a", "x"), ("b", "x")]
    mover.say(Known("x", [], [pattern("x")]))
    assert desk.routes() == [("a", "a"), ("b", "x")]


@pytest.mark.parametrize("last", ["refusal", "open"])
def test_a_middle_that_its_goal_does_not_know_any_more_waits_for_no_word_of_it(last: str) -> None:
    """In its next life: what is behind the mover the goal would tell, if it were a neighbour."""
    id_ = ("a", ID_FLOOR)
    notes = write_notes(Notes(SwapNote(id_, "b", "c", "a:1", Part.MIDDLE, Far.FLOOD)))
    desk = Desk("a", "c", "x", name="b", notes=notes)
    mover, goal, outside = (desk.far_end(name, conn) for conn, name in enumerate("acx", 1))
    goal.greet()
    goal.send(Refuse("c has given up b as lost", retry=True, stranger=True))
    mover.greet()
    if last == "open":
        mover.say(Open(id_, True))
    else:
        mover.send(Refuse("a has given up b as lost", retry=True, stranger=True))
    assert desk.broker.gate.waiting_for == ["x"]
    outside.greet()
    outside.say(Snapshot([], last=True))
    assert desk.broker.gate.open


def test_a_middle_that_has_no_goal_any_more_keeps_no_routes_to_what_is_behind_the_mover() -> None:
    id_ = ("a", ID_FLOOR)
    desk = Desk("a", "c", "x", name="b")
    mover, goal = desk.linked("a", 1, pattern("a")), desk.linked("c", 2, pattern("c"))
    desk.linked("x", 3, pattern("x"))
    mover.say(Lock(id_, "b", "c", "a:1"))
    goal.say(LockAck(id_, False))
    goal.send(Refuse("c has given up b as lost", retry=True, stranger=True))
    mover.say(Close(id_, True, True))
    assert desk.routes() == [("x", "x")]


@pytest.mark.parametrize("wave", [("c", 7), ("of c", 0)])
def test_a_goal_that_asks_for_a_link_has_dropped_the_mover_which_waits_for_the_middle_no_more(
    wave: tuple[str, int],
) -> None:
    """The mover has moved, and was away for long. The goal comes for a join, or to replace another link."""
    note = SwapNote(("a", ID_FLOOR | 1), "b", "c", "a:1", Part.MOVER, Far.MOVED)
    desk = Desk("b", "c", name="a", notes=write_notes(Notes(note)))
    goal = desk.far_end("c", 1)
    assert goal.greet(linked=False, wave=wave) is None
    assert any(isinstance(frame, Refuse) and frame.retry for frame in goal.frames())
    assert desk.broker.overlay.swaps.current is None
    assert "c" not in desk.broker.overlay.neighbours()

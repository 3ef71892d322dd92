"""Two or three brokers of a swap die one after the other, some twice, and nothing that others sent is lost."""

from __future__ import annotations

import random
from functools import partial

import pytest

from reknit.core.io import LinkVanished, Lost
from reknit.core.overlay.notes import Closing, Ended, Notes, Part, Stage, SwapNote, write_notes
from reknit.core.overlay.swap import ID_FLOOR
from reknit.sim.checkers.order import check_order
from reknit.sim.checkers.tables import check_tables
from reknit.sim.checkers.tree import check_tree
from reknit.trace.records import Kind
from reknit.wire.messages import (
    Close,
    Events,
    Inquire,
    Leave,
    Lock,
    LockAck,
    Mark,
    Open,
    Refuse,
    Resent,
    Seated,
    Snapshot,
    Steered,
)
from tests.core.desk import Desk, FarEnd, event, pattern
from tests.core.overlay.triple import Triple

FOUND = {
    76: "events of a dead mover waited at the goal, and went on before older ones came again",
    118: "events of a dead goal waited at the mover, and went on before older ones came again",
    341: "a goal without memory took what came from the mover before what the middle had for it",
    535: "the same, and the mover had moved before it died",
    879: "events of a dead middle stood behind its close, which waited for the open",
    1215: "a mover without memory said swap before its own events had come again",
}
"""By seed, what went wrong in it once."""


def _play(seed: int) -> Triple:
    rng = random.Random(seed)
    routing = rng.choice(("subscription-forwarding", "global-table", "flooding"))
    covering = routing == "subscription-forwarding" and rng.random() < 0.4
    cluster = Triple(f"fuzz {seed}", rng.choice((0.01, 0.03)), covering=covering, routing=routing)
    cluster.swap("a", "b", "c")
    for number in range(30):
        for broker in "xyz":
            cluster.later(number * 0.01 + rng.uniform(0, 0.005), broker, f"all/{broker}/{number}")
    for _ in range(rng.choice((1, 2, 2, 3, 3, 4))):
        victim, at = rng.choice("abc"), rng.uniform(0, 0.3)
        cluster.kernel.after(at, partial(_crash, cluster, victim))
        cluster.kernel.after(at + rng.choice((0.02, 0.1, 0.5, 1.0)) * rng.random(), partial(_start, cluster, victim))
    cluster.kernel.run(until=cluster.kernel.now + 2.5)
    return cluster


def _crash(cluster: Triple, name: str) -> None:
    if cluster.is_alive(name):
        cluster.crash(name)


def _start(cluster: Triple, name: str) -> None:
    if not cluster.is_alive(name):
        cluster.start(name)


@pytest.mark.parametrize("seed", [16, *FOUND, *range(5000, 5020)])
def test_whoever_dies_whenever_all_arrive_in_their_order(seed: int) -> None:
    cluster = _play(seed)
    assert cluster.settle(100.0), cluster.restlessness()
    for client in "xyz":
        heard = cluster.heard(f"at-{client}")
        for source in "xyz":
            assert [each for each in heard if f"/{source}/" in each] == [f"all/{source}/{n}" for n in range(30)]
    options = cluster.options
    assert not list(check_tree(cluster.records))
    assert not list(check_order(cluster.records))
    assert not list(check_tables(cluster.records, options.routing, options.covering))


def _play_apart(seed: int) -> tuple[Triple, dict[tuple[str, str], list[str]]]:
    """Each event is wanted at one of x, y and z alone; links between the three are cut, too."""
    rng = random.Random(seed)
    routing = rng.choice(("subscription-forwarding", "global-table"))
    covering = routing == "subscription-forwarding" and rng.random() < 0.4
    cluster = Triple(f"fuzz {seed}", rng.choice((0.01, 0.03)), covering=covering, routing=routing)
    cluster.swap("a", "b", "c")
    sent: dict[tuple[str, str], list[str]] = {}
    for number in range(60):
        for source in "xyz":
            to = rng.choice([other for other in "xyz" if other != source])
            topic = f"{to}/{source}/{number}"
            cluster.later(number * 0.02 + rng.uniform(0, 0.01), source, topic)
            sent.setdefault((source, to), []).append(topic)
    for _ in range(rng.choice((1, 1, 2, 2, 3))):
        victim, at = rng.choice("abc"), rng.uniform(0, 0.3)
        cluster.kernel.after(at, partial(_crash, cluster, victim))
        cluster.kernel.after(at + rng.choice((0.02, 0.1, 0.5, 1.0)) * rng.random(), partial(_start, cluster, victim))
    for _ in range(rng.choice((0, 1, 2))):
        (one, other), at, both = rng.sample("abc", 2), rng.uniform(0, 0.5), rng.random() < 0.5
        cluster.kernel.after(at, cluster.network.cut, one, other)
        if both:
            cluster.kernel.after(at, cluster.network.cut, other, one)
        cluster.kernel.after(at + rng.uniform(0.1, 2.0), cluster.network.heal, (one, other), (other, one))
    cluster.kernel.run(until=cluster.kernel.now + 4.0)
    return cluster, sent


FOUND_APART = {
    690: "a goal told its other neighbours by half a table: it had not heard the mover, which had just moved",
    2025: "a middle that was back closed the old way by the goal, and overtook what it had sent on it",
    2241: "a goal that was back parted a table that it had not got yet",
}


@pytest.mark.parametrize("seed", [*FOUND_APART, *range(20)])
def test_what_one_side_alone_wants_finds_its_way(seed: int) -> None:
    cluster, sent = _play_apart(seed)
    assert cluster.settle(120.0), cluster.restlessness()
    for (source, to), topics in sent.items():
        assert [topic for topic in cluster.heard(f"at-{to}") if f"/{source}/" in topic] == topics
    assert not [*check_tree(cluster.records), *check_order(cluster.records)]


def test_a_new_life_asks_and_routes_again_at_once() -> None:
    """Nobody waits for a time to pass: the mark comes with the next message."""
    cluster = Triple("asks")
    cluster.swap("a", "b", "c")
    cluster.kernel.run(until=cluster.kernel.now + 0.2)
    assert not cluster.seen(Kind.CRASHED)
    cluster.crash("c")
    cluster.start("c")
    assert cluster.settle(10.0)
    cluster.say("x", "all/x")
    assert cluster.settle(10.0)
    assert cluster.heard("at-z") == ["all/x"]


@pytest.mark.parametrize("locked", [False, True])
def test_a_goal_passes_copies_on_to_the_third_also_while_another_swap_has_it_locked(locked: bool) -> None:
    """Which the mover may be about to refuse, since the link that it has left is not empty yet."""
    desk = Desk("n", "b", "z", name="g")
    mover, middle, other = (desk.linked(name, conn, pattern("#")) for conn, name in enumerate("nbz", 1))
    desk.broker.overlay.swaps.ended[("n", 1 << 47)] = Ended(("n", 1 << 47), "b")
    mover.say(Events([event("late", 1, "s.1")]))
    middle.forget()
    if locked:
        other.say(Lock(("z", 1 << 48), "g", "n", "z:1"))
    assert bool(desk.broker.overlay.swaps.locked) == locked
    mover.say(Events([event("late", 1, "s.1")]))
    assert middle.topics() == ["late"]


@pytest.mark.parametrize("refused", [False, True])
def test_what_a_lost_middle_was_to_bring_to_the_mover_the_goal_brings_there(refused: bool) -> None:
    """And whoever has sent it keeps it until the mover has it."""
    desk = Desk("n", "b", "x", name="g", repair={"lost_s": 1.0})
    mover, middle, source = desk.linked("n", 1), desk.linked("b", 2, pattern("#")), desk.linked("x", 3)
    source.say(Events([event("late", 1, "s.1")]))
    assert middle.topics() == ["late"]
    desk.broker.links.of["b"].share("n")
    desk.broker.overlay.swaps.ended[("n", 1 << 47)] = Ended(("n", 1 << 47), "b")
    mover.say(Snapshot([("", [pattern("#")])], last=True))
    if refused:
        middle.send(Refuse("b has given up g as lost", retry=True, stranger=True))
    else:
        desk.give(Lost(2, "reset"))
    desk.run(3.0)
    assert "b" not in desk.broker.table()["neighbours"]
    assert mover.topics() == ["late"]
    assert max(each.settled for each in source.acks()) < source.seq
    mover.ack()
    desk.run(1.0)
    assert max(each.settled for each in source.acks()) == source.seq


def test_a_goal_forgets_an_ended_swap_when_nobody_can_need_it_any_more() -> None:
    cluster = Triple("forgets")
    cluster.swap("a", "b", "c")
    assert cluster.settle(30.0)
    broker = cluster.nodes["c"].broker
    assert broker is not None
    swaps = broker.overlay.swaps
    assert swaps.relays("b") == ("a",)
    assert swaps.relays("a") == ("b",)
    assert swaps.relays("z") == ()
    cluster.kernel.run(until=cluster.kernel.now + broker.options.overlay.close_s_max + 1.0)
    assert swaps.relays("b") == ()


def test_a_goal_remembers_the_last_swap_of_two_brokers_and_none_from_before_they_were_neighbours_again() -> None:
    cluster = Triple("once more")
    for mover, middle, goal in ("abc", "bca", "bac"):
        cluster.swap(mover, middle, goal)
        assert cluster.settle(30.0)
    broker = cluster.nodes["c"].broker
    assert broker is not None
    assert [(id_[0], ended.middle) for id_, ended in broker.overlay.swaps.ended.items()] == [("b", "a")]


def test_what_the_middle_has_sent_on_the_replaced_link_is_not_brought_to_the_goal() -> None:
    """It has come from there, or the middle brings it; and the goal would wait for it to be settled, in a circle."""
    notes = Notes(closing={"b": Closing(("a", 1 << 47), "c", "", Part.MOVER)})
    desk = Desk("c", "x", name="a", notes=write_notes(notes))
    goal, outside = desk.linked("c", 1, pattern("#")), desk.linked("x", 2, pattern("#"))
    middle = desk.far_end("b", 3)
    middle.greet(linked=False)
    middle.say(Events([event("a", 1, "z.1")]), Leave())
    assert outside.topics() == ["a"]
    assert goal.topics() == []


def _middle_is_back() -> tuple[Desk, FarEnd, FarEnd, Inquire]:
    """It has handed a link over in the life before; its goal and a neighbour that has nothing to do with that."""
    notes = Notes(closing={"a": Closing(("a", 1 << 47), "c", "", Part.MIDDLE)})
    desk = Desk("c", "x", name="b", notes=write_notes(notes))
    goal, outside = desk.far_end("c", 1), desk.far_end("x", 2)
    goal.greet()
    goal.say(Seated(("a", 1 << 47)), Snapshot([], last=True))
    outside.greet()
    outside.say(Snapshot([], last=True))
    (asked,) = [each for each in outside.heard() if isinstance(each, Inquire)]
    assert (asked.of, asked.to) == ("b", "x")
    return desk, goal, outside, asked


def _closed(goal: FarEnd) -> bool:
    return any(isinstance(each, Close) and not each.from_mover for each in goal.heard())


def test_a_way_is_closed_behind_what_a_neighbour_sends_again_that_has_died_as_well() -> None:
    """It has told all that it wants, and may still wait for others before it routes."""
    _, goal, outside, asked = _middle_is_back()
    assert not _closed(goal)
    outside.say(Mark(asked.id, asked.of, asked.life, 1))
    assert _closed(goal)


def test_a_mover_hears_from_the_middle_itself_that_the_way_is_closed_if_there_is_no_goal() -> None:
    """The life before has given the goal up: nothing comes by it, and the mover would wait for ever."""
    desk = Desk("x", name="b", notes=write_notes(Notes(closing={"a": Closing(("a", 1 << 47), "c", "", Part.MIDDLE)})))
    outside, mover = desk.far_end("x", 1), desk.far_end("a", 2)
    outside.greet()
    outside.say(Snapshot([], last=True))
    (asked,) = [each for each in outside.heard() if isinstance(each, Inquire)]
    mover.greet(linked=False)
    assert not _closed(mover)
    outside.say(Mark(asked.id, asked.of, asked.life, 1))
    assert _closed(mover)


def test_so_it_does_if_the_goal_goes_before_it_has_taken_that_word() -> None:
    desk, goal, outside, asked = _middle_is_back()
    mover = desk.far_end("a", 3)
    mover.greet(linked=False)
    outside.say(Mark(asked.id, asked.of, asked.life, 1))
    assert _closed(goal)
    assert not _closed(mover)
    desk.give(LinkVanished("c", "strawman", "a:2"))
    assert _closed(mover)


def test_a_neighbour_that_does_not_answer_is_not_waited_for_for_ever() -> None:
    desk, goal, _, _ = _middle_is_back()
    desk.run(2 * max(desk.broker.options.overlay.absent_s_max, desk.broker.options.overlay.lease_s))
    goal.redial(3)
    goal.greet()
    assert _closed(goal)


def test_nor_is_one_that_leaves() -> None:
    _, goal, outside, _ = _middle_is_back()
    outside.say(Leave())
    assert _closed(goal)


def test_an_answer_about_another_swap_is_none_about_this_one() -> None:
    _, goal, outside, asked = _middle_is_back()
    outside.say(Mark(("z", 7), asked.of, asked.life, 1))
    assert not _closed(goal)


def test_a_neighbour_may_be_asked_for_what_is_held_back_and_for_what_closes_a_way() -> None:
    """b was the middle of one swap, and the goal of another, of which x was the middle, and y the mover."""
    one, other = ("a", 1 << 47), ("y", 1 << 46)
    notes = Notes(closing={"a": Closing(one, "c", "", Part.MIDDLE)}, ended=[Ended(other, "x")])
    desk = Desk("c", "x", "y", name="b", notes=write_notes(notes))
    far = {name: desk.far_end(name, conn) for conn, name in enumerate("cxy", 1)}
    for each in far.values():
        each.greet()
        each.say(Seated(one), Snapshot([], last=True))
    swaps = desk.broker.overlay.swaps
    assert swaps.holds_back("y")
    asked = [each for each in far["x"].heard() if isinstance(each, Inquire)]
    assert sorted(each.id for each in asked) == [one, other]
    for each in asked:
        far["x"].say(Mark(each.id, each.of, each.life, 1))
    assert not swaps.holds_back("y")


def test_a_mark_does_not_wait_behind_a_step_that_waits_for_what_the_mark_is_to_free() -> None:
    """At the goal of two swaps in opposite directions, when it is back: each has something to come by the other."""
    first, second = ("b", ID_FLOOR | 1), ("a", ID_FLOOR | 2)
    note = SwapNote(second, "b", "c", "a:1", Part.GOAL, Stage.FLOOD)
    desk = Desk("a", "b", name="c", notes=write_notes(Notes(note, ended=[Ended(first, "a")])))
    desk.client("k", pattern("#"))
    middle, mover = desk.far_end("b", 1), desk.far_end("a", 2)
    middle.greet()
    mover.greet(linked=False)
    middle.say(Events([event("late", 1, "y.1")]), Close(second, True, True), Mark(second, "c", 1, 1))
    mover.say(Open(second, True), Snapshot([], last=True), Close(second, False, True))
    assert desk.deliveries() == []
    mover.say(Mark(first, "c", 1, 1))
    middle.say(Snapshot([], last=True))
    assert desk.deliveries() == [("late", "k")]
    assert desk.broker.overlay.swaps.current is None


def test_a_goal_that_is_back_says_lock_ack_behind_what_comes_again_also_to_a_middle_that_dies_once_more() -> None:
    """The mover takes what it holds of the goal's life before at that word, and all that is older for copies then."""
    note = SwapNote(("a", ID_FLOOR | 1), "b", "c", "a:1", Part.GOAL, Stage.FLOOD)
    desk = Desk("a", "b", "y", name="c", notes=write_notes(Notes(note)))
    middle, source = desk.far_end("b", 1), desk.far_end("y", 2)
    middle.greet()
    middle.say(Snapshot([("", [pattern("#")])], last=True))
    source.greet()
    desk.give(Lost(1, "reset"))
    reborn = desk.far_end("b", 3)
    reborn.greet(incarnation=2)
    assert not any(isinstance(each, LockAck) for each in reborn.heard())
    (asked,) = [each for each in reborn.heard() if isinstance(each, Inquire)]
    reborn.say(Resent(), Mark(asked.id, asked.of, asked.life, 1), Snapshot([("", [pattern("#")])], last=True))
    source.say(Events([event("late", 1, "y.1")]), Resent(), Snapshot([], last=True))
    mover = desk.far_end("a", 4)
    mover.greet(linked=False)
    mover.say(Resent())
    said = [type(each) for each in reborn.heard() if isinstance(each, Steered | LockAck)]
    assert said == [Steered, LockAck]


def test_a_middle_that_holds_events_of_the_goal_back_closes_the_way_to_the_mover_behind_these() -> None:
    """They were sent before the swap; by the goal, or behind that word, the mover would take them for copies."""
    first, second = ("c", ID_FLOOR | 1), ("a", ID_FLOOR | 2)
    note = SwapNote(second, "b", "c", "a:1", Part.MIDDLE, Stage.FLOOD)
    desk = Desk("a", "c", name="b", notes=write_notes(Notes(note, ended=[Ended(first, "a")])))
    mover, goal = desk.far_end("a", 1), desk.far_end("c", 2)
    mover.greet()
    mover.say(Resent(), Snapshot([("", [pattern("#")])], last=True))
    goal.greet()
    goal.say(Events([event("late", 1, "z.1")]), LockAck(second, True), Resent(), Snapshot([], last=True))
    mover.say(Close(second, True, True))
    assert not _closed(mover)
    mover.say(Mark(first, "b", 1, 1))
    said = [each for each in mover.heard() if isinstance(each, Events | Steered | Close)]
    assert [type(each) for each in said] == [Steered, Close]
    assert [each.topic for each in said[0].events] == ["late"]  # type: ignore[union-attr]


def test_a_step_that_is_settled_later_travels_in_a_frame_of_its_own() -> None:
    """Events of the same turn may wait for others that wait for the step: their frame settles as a whole."""
    notes = Notes(closing={"b": Closing(("a", ID_FLOOR | 1), "c", "", Part.MOVER)})
    desk = Desk("c", "x", name="a", notes=write_notes(notes))
    goal, outside = desk.far_end("c", 1), desk.far_end("x", 2)
    goal.greet()
    goal.say(Resent(), Snapshot([("", [pattern("#")])], last=True))
    outside.greet()
    (asked,) = [each for each in outside.heard() if isinstance(each, Inquire)]
    outside.say(
        Events([event("late", 1, "x.1")]),
        Resent(),
        Snapshot([], last=True),
        Mark(asked.id, asked.of, asked.life, 1),
    )
    frames = [frame.messages for frame in goal.data()]
    assert [Close(asked.id, False, True)] in frames
    assert goal.topics() == ["late"]


def test_a_goal_that_dies_before_it_has_said_that_it_has_the_mover_hears_again_that_the_middle_is_out() -> None:
    """Also where the replaced link is empty by now: without that word its tables would never count."""
    id_ = ("a", ID_FLOOR | 1)
    note = SwapNote(id_, "b", "c", "a:1", Part.MIDDLE, Stage.FLOOD)
    desk = Desk("a", "c", name="b", notes=write_notes(Notes(note)))
    mover, goal = desk.far_end("a", 1), desk.far_end("c", 2)
    mover.greet()
    mover.say(Resent(), Snapshot([], last=True))
    goal.greet()
    goal.say(LockAck(id_, True), Resent(), Snapshot([], last=True))
    mover.say(Close(id_, True, True))
    goal.ack()
    mover.say(Leave())
    mover.ack()
    assert not desk.broker.overlay.swaps.closing
    desk.give(Lost(2, "reset"))
    reborn = desk.far_end("c", 3)
    reborn.greet(incarnation=2)
    assert Close(id_, True, True) in reborn.heard()


def test_what_a_mark_stands_behind_goes_on_before_what_has_waited_for_the_mark() -> None:
    """All of it: what the mover sends is younger, and behind it the rest would be taken for copies."""
    one, other = ("a", ID_FLOOR | 1), ("b", ID_FLOOR | 2)
    notes = Notes(ended=[Ended(one, "b"), Ended(other, "d")])
    desk = Desk("a", "b", "d", name="c", notes=write_notes(notes))
    desk.client("k", pattern("#"))
    mover, both, outside = (desk.far_end(name, conn) for name, conn in (("a", 1), ("b", 2), ("d", 3)))
    for far in (mover, both, outside):
        far.greet()
        far.say(Resent(), Snapshot([], last=True))
    mover.say(Events([event("third", 3, "z.1")]))
    both.say(Events([event("first", 1, "z.1")]))
    both.say(Events([event("second", 2, "z.1")]), Mark(one, "c", 1, 1))
    assert desk.deliveries() == []
    outside.say(Mark(other, "c", 1, 1))
    assert desk.deliveries() == [("first", "k"), ("second", "k"), ("third", "k")]

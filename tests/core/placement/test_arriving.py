"""A session comes from another broker of the ring: what comes on two ways is one line."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reknit.core.io import Admit, Attach, Deliver, Detach, Import, Reserve
from reknit.core.links.custody import Custody
from reknit.core.ring.options import RingOptions
from reknit.core.ring.order import Load
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.wire.messages import Offer, Rest, Told, Withdraw
from reknit.wire.placement import Lasts, Passed
from tests.core.ring.circles import Ring, grown


class _Arrival:
    """Client c comes from b1 to b2, told word by word."""

    def __init__(self) -> None:
        self.ring: Ring = grown(2)
        self.there = self.ring.broker("b2")
        self.deliveries: list[str] = []
        self.imports = 0
        self.door: list[str] = []  # what its shell was told of it

    def hear(self, *messages: Offer | Rest | Lasts | Passed | Told | Withdraw) -> None:
        turn = self.there.turn
        turn.now, turn.effects = self.ring.kernel.now, []
        for message in messages:
            self.there.placement.receive("b1", message)
        self._end()

    def event(self, number: int, before: int) -> None:
        """By the tree."""
        turn = self.there.turn
        turn.now, turn.effects = self.ring.kernel.now, []
        load = Load(_event(number), before, ())
        self.there.placement.arriving.see(load)
        for _ in self.there.placement.arriving.sift_load(load, (("c", (Pattern.parse("t"),)),)):
            self.deliveries.append(f"{number} past it")
        self._end()

    def _end(self) -> None:
        effects = self.there.turn.effects
        list(self.there.sessions.end_of_turn(True))
        self.there.links.flush()
        for each in effects:
            if isinstance(each, Deliver):
                self.deliveries.append(each.event.payload.decode())
            self.imports += isinstance(each, Import)
            if isinstance(each, Import | Reserve | Admit):
                self.door.append(type(each).__name__)
            self.ring._perform("b2", each)
        self.there.turn.effects = []

    def does(self, deed: Callable[[], object]) -> None:
        turn = self.there.turn
        turn.now, turn.effects = self.ring.kernel.now, []
        deed()
        self._end()

    def comes(self) -> None:
        self.hear(Offer("c", 7, 0, [Pattern.parse("t")], True))
        self.ring.run(5.0)


def _event(number: int) -> Event:
    return Event("t", str(number).encode(), source="p.1", seq=number)


def test_it_waits_for_its_state_and_then_gets_what_it_has_not_had() -> None:
    arrival = _Arrival()
    arrival.comes()
    for number in (3, 4, 5):
        arrival.event(number, 0)
    assert arrival.deliveries == []
    arrival.hear(Lasts("c", 7, [("p.1", "t", 4)]), Rest("c", 7, b"\x90", True))
    assert (arrival.deliveries, arrival.imports) == (["5"], 1)


def test_an_event_waits_for_one_that_its_old_broker_passes_on() -> None:
    arrival = _Arrival()
    arrival.comes()
    arrival.hear(Lasts("c", 7, [("p.1", "t", 4)]), Rest("c", 7, b"\x90", True))
    arrival.event(6, 5)
    assert arrival.deliveries == []
    arrival.hear(Passed("c", 7, [_event(5)], [4]))
    assert arrival.deliveries == ["5", "6"]
    arrival.hear(Passed("c", 7, [_event(6)], [5], last=True), Told("c", 7))
    assert arrival.deliveries == ["5", "6"]
    arrival.ring.run(RingOptions().fresh_s)
    assert not arrival.there.placement.arriving.merges("c")


def test_words_of_another_move_are_not_heard() -> None:
    arrival = _Arrival()
    arrival.comes()
    arrival.hear(Lasts("c", 8, [("p.1", "t", 9)]), Passed("c", 8, [_event(1)], [0]))
    arrival.hear(Rest("c", 7, b"\x90", True))
    arrival.event(2, 0)
    assert arrival.deliveries == ["2"]


def test_of_too_many_lines_those_count_that_were_not_quiet_for_long() -> None:
    arrival = _Arrival()
    arrival.comes()
    arrival.there.placement.arriving.ring = RingOptions(lines_max=2)
    arrival.hear(Lasts("c", 7, [("old.1", "t", 9), ("p.1", "t", 3)]), Lasts("c", 7, [("p.2", "t", 4)]))
    arrival.hear(Rest("c", 7, b"\x90", True))
    arrival.event(3, 0)
    assert arrival.deliveries == []


def test_one_that_is_taken_back_leaves_nothing() -> None:
    arrival = _Arrival()
    arrival.comes()
    arrival.event(1, 0)
    arrival.hear(Withdraw("c", 7))
    assert arrival.deliveries == []
    assert not arrival.there.placement.arriving.busy
    assert "c" not in arrival.there._clients
    assert not arrival.there.routing.table.patterns()


def _here() -> _Arrival:
    """Its state has come; it has had all up to number 4."""
    arrival = _Arrival()
    arrival.comes()
    arrival.hear(Lasts("c", 7, [("p.1", "t", 4)]), Rest("c", 7, b"\x90", True))
    return arrival


def test_nobody_is_let_in_before_the_old_broker_has_let_go() -> None:
    """What its client has published there may not have settled, and the session may still be taken back."""
    arrival = _here()
    assert arrival.door == ["Reserve", "Import", "Reserve"]
    arrival.hear(Told("c", 7))
    assert arrival.door == ["Reserve", "Import", "Reserve", "Admit"]


def test_of_one_that_has_ended_nobody_waits_for_anything() -> None:
    arrival = _here()
    arrival.does(lambda: arrival.there.sessions.detach(Detach("c")))
    assert arrival.door[-1] == "Admit"
    assert not arrival.there.placement.arriving.busy


def test_one_that_was_taken_back_when_its_client_had_come_is_a_client_like_any_other() -> None:
    arrival = _here()
    arrival.does(lambda: arrival.there.sessions.attach(Attach("c")))
    arrival.hear(Withdraw("c", 7))
    arrival.ring.run(60.0)
    assert not arrival.there.placement.arriving.merges("c")
    assert arrival.there.placement.leaving.go("c", arrival.ring.broker("b1").ring.me) == ""


def test_the_client_may_come_when_the_old_broker_is_lost() -> None:
    arrival = _here()
    arrival.does(lambda: arrival.there.placement.lost("b1"))
    assert arrival.door[-1] == "Admit"


@pytest.mark.parametrize("dies", [True, False])
def test_what_comes_in_another_order_to_a_broker_that_is_new_to_its_topic_is_not_lost(dies: bool) -> None:
    """The broker itself waits for nothing yet; but this client was promised all, whoever passes nothing on any more."""
    arrival = _here()
    arrival.hear(Told("c", 7))
    if dies:
        arrival.does(lambda: arrival.there.placement.lost("b1"))
    else:
        arrival.hear(Passed("c", 7, [], [], last=True))
    for number in (6, 5):
        load = Load(_event(number), number - 1, [Custody(None, 0, [])])
        arrival.does(lambda load=load: arrival.there.ring._arrive(load))  # type: ignore[misc]
    assert arrival.deliveries == ["5", "6"]


def test_what_waits_already_where_it_comes_is_not_lost_with_the_old_broker() -> None:
    arrival = _Arrival()
    arrival.ring.wants("b2", "d", "t")
    arrival.ring.run(15.0)
    first = Load(_event(1), 0, [Custody(None, 0, [])])
    early = Load(_event(6), 5, [Custody(None, 0, [])])
    arrival.does(lambda: arrival.there.ring._arrive(first))
    arrival.does(lambda: arrival.there.ring._arrive(early))
    assert arrival.deliveries == ["1"]
    arrival.comes()
    arrival.hear(Lasts("c", 7, [("p.1", "t", 5)]), Rest("c", 7, b"\x90", True), Told("c", 7))
    assert arrival.deliveries == ["1", "6"]
    arrival.ring.run(RingOptions().order_s_max)
    assert (arrival.ring.had("c"), arrival.ring.had("d")) == ([], ["6"])


def test_what_was_here_before_it_came_and_never_reached_its_old_broker_is_not_a_copy_for_it() -> None:
    """The root died with it on the way there; the next root sends it to all once more, and that takes long."""
    arrival = _Arrival()
    arrival.ring.wants("b2", "d", "t")
    arrival.ring.run(15.0)
    arrival.does(lambda: arrival.there.ring._arrive(Load(_event(5), 0, [Custody(None, 0, [])])))
    arrival.comes()
    arrival.hear(Lasts("c", 7, [("p.1", "t", 4)]), Rest("c", 7, b"\x90", True), Told("c", 7))
    arrival.hear(Passed("c", 7, [], [], last=True))
    arrival.ring.run(RingOptions().lost_s + RingOptions().handover_s)
    del arrival.deliveries[:]
    arrival.does(lambda: arrival.there.ring._arrive(Load(_event(5), 0, [Custody(None, 0, [])])))
    assert arrival.deliveries == ["5"]  # for c; d has had it
    arrival.ring.run(RingOptions().fresh_s)
    assert not arrival.there.placement.arriving.merges("c")


def test_a_topic_that_it_has_come_to_want_since_is_none_of_the_move() -> None:
    arrival = _here()
    load = Load(Event("u", b"1", source="p.1", seq=1), 0, ())
    match = ("c", (Pattern.parse("u"),))
    arrival.there.placement.arriving.see(load)
    assert arrival.there.placement.arriving.sift_load(load, (match,)) == (match,)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 12), st.integers(0, 12), st.randoms(use_true_random=False))
def test_on_whatever_way_each_comes_all_are_delivered_once_and_in_order(
    count: int, last: int, rng: random.Random
) -> None:
    """Each event says which one it has to wait for; each comes by the tree, passed on, or on both ways."""
    arrival = _Arrival()
    arrival.comes()
    arrival.hear(Lasts("c", 7, [("p.1", "t", last)]), Rest("c", 7, b"\x90", True))
    ways = [
        (number, way) for number in range(1, count + 1) for way in rng.choice((("tree",), ("old",), ("tree", "old")))
    ]
    rng.shuffle(ways)
    for number, way in ways:
        if way == "tree":
            arrival.event(number, number - 1)
        else:
            arrival.hear(Passed("c", 7, [_event(number)], [number - 1]))
    assert arrival.deliveries == [str(number) for number in range(last + 1, count + 1)]

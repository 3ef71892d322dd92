from __future__ import annotations

from reknit.core.links.custody import Custody
from reknit.core.ring.order import Load, Order
from reknit.core.turn import Turn
from reknit.model.event import Event


def order(lines_max: int = 100) -> Order:
    """In which the topic has been wanted for long."""
    turn = Turn("b", observing=True)
    found = Order(turn, wait_s_max=2.0, fresh_s=2.0, lines_max=lines_max)
    found.want("t")
    turn.now = 10.0
    return found


def load(seq: int, before: int = 0, source: str = "s") -> Load:
    return Load(Event("t", source=source, seq=seq), before, [Custody(None, 0, [])])


def arrive(here: Order, each: Load) -> list[int]:
    return [every.event.seq for every in here.arrive(each)]


def test_what_comes_too_soon_waits_for_the_one_before() -> None:
    here = order()
    assert arrive(here, load(1)) == [1]
    late = load(5, before=3)
    assert arrive(here, late) == []
    assert late.custodies[0].pending == 2
    assert arrive(here, load(4, before=1)) == [4, 5]
    assert here.turn.custodies == list(late.custodies)
    assert here.at_rest


def test_a_copy_is_dropped_also_of_what_waits() -> None:
    here = order()
    assert arrive(here, load(1)) == [1]
    assert arrive(here, load(1)) == []
    assert arrive(here, load(5, before=3)) == []
    assert arrive(here, load(5, before=3)) == []
    assert len(here.turn.seen) == 2


def test_what_has_nothing_unsettled_before_it_waits_for_nothing() -> None:
    assert arrive(order(), load(7)) == [7]


def test_of_an_unknown_source_the_one_before_is_waited_for_unless_the_topic_is_new_here() -> None:
    assert arrive(order(), load(7, before=6)) == []
    fresh = order()
    fresh.want("t")
    assert arrive(fresh, load(7, before=6)) == [7]
    assert not fresh.at_rest


def test_nobody_waits_for_ever() -> None:
    here = order()
    arrive(here, load(7, before=6))
    arrive(here, load(8, before=7))
    assert here.deadline() == 12.0
    assert list(here.due()) == []
    here.turn.now = 12.0
    assert [each.event.seq for each in here.due()] == [7, 8]
    assert (here.gaps, here.deadline()) == (1, None)


def test_what_is_new_here_does_not_overtake_what_waits() -> None:
    here = order()
    arrive(here, load(7, before=6))
    here.want("t")
    assert arrive(here, load(9, before=8)) == [7, 9]


def test_one_that_has_waited_for_long_takes_along_what_came_after_it_and_stands_before_it() -> None:
    here = order()
    arrive(here, load(8, before=7))
    here.turn.now = 11.0
    arrive(here, load(7, before=6))
    here.turn.now = 12.0
    assert [each.event.seq for each in here.due()] == [7, 8]
    assert here.deadline() is None


def test_sources_do_not_wait_for_each_other_and_the_oldest_is_forgotten_first() -> None:
    here = order(lines_max=2)
    assert arrive(here, load(1, source="one")) == [1]
    assert arrive(here, load(1, source="two")) == [1]
    assert arrive(here, load(2, source="one")) == [2]
    assert arrive(here, load(1, source="three")) == [1]
    assert arrive(here, load(2, source="one")) == []
    assert arrive(here, load(1, source="two")) == [1]


def test_what_is_not_wanted_any_more_is_not() -> None:
    here = order()
    assert here.wants("t")
    here.want_no_more("t")
    assert not here.wants("t")


def test_of_a_source_that_has_been_heard_since_the_topic_is_wanted_the_one_before_is_waited_for() -> None:
    fresh = order()
    fresh.want("t")
    assert arrive(fresh, load(3, before=2)) == [3]
    assert arrive(fresh, load(5, before=4)) == []
    assert arrive(fresh, load(4, before=3)) == [4, 5]
    fresh.want_no_more("t")
    fresh.want("t")
    assert arrive(fresh, load(9, before=8)) == [9]

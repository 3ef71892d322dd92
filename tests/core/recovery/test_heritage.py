"""What a session lacks goes with it: the old broker tells, the new one gives and asks."""

from __future__ import annotations

import math

from reknit.core.io import Deliver, Drain, Exported, Missed, Recall
from reknit.core.recovery.heritage import UNDER_WAY_S
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.wire.messages import Draining, Events, Misses, Offer, Opened, Repair, Rest, Silent, Taken, Told, Welcome
from tests.core.desk import Desk
from tests.core.recovery.round_table import PA, PB, A, B, RoundTable, numbered


def _numbered(*numbers: int) -> list[Event]:
    return [numbered("a", number, (PA, number)) for number in numbers]


# --- the old one


def test_the_old_broker_tells_how_old_wishes_are_how_far_each_stream_has_got_and_what_is_missing() -> None:
    table = RoundTable("subscriber-pull")
    table.client("ann", A)
    table.client("ben", B)
    table.run(3.0)
    for number in (1, 4):
        table.events(table.n, numbered("a", number, (PA, number)))
    table.events(table.n, numbered("b", 9, (PB, 2)))
    ages, lacks = table.recovery.heritage.of("ann")
    assert ages == [(PA, 3.0, 3.0)]
    assert lacks == [("s.1", PA, 4, [(2, 3)])]


def test_what_is_only_known_from_others_is_told_too_and_missed_from_no_number_on() -> None:
    """Nothing has come of that source: so nobody can say with which number it begins for this client."""
    table = RoundTable("subscriber-pull")
    table.client("ann", A)
    table.n.say(Silent("s.1", [(PA, 2)], 0))
    _, lacks = table.recovery.heritage.of("ann")
    assert lacks == [("s.1", PA, 0, [(1, 2)])]
    heir = RoundTable("subscriber-pull", n=(), m=(A,))
    _comes(heir, Rest("ann", 1, b"", False, ages=[(PA, 9.0, 9.0)], lacks=lacks))
    assert {triple: loss.suspected for triple, loss in heir.recovery.lost.entries.items()} == {
        ("s.1", PA, 1): True,
        ("s.1", PA, 2): True,
    }
    assert len(heir.recovery.talk.streams) == 0


def test_it_is_told_with_the_first_part_of_the_rest() -> None:
    table = RoundTable("subscriber-pull", leave_s_max=0.0)
    table.client("ann", A)
    table.run(1.0)
    for number in (1, 3):
        table.events(table.n, numbered("a", number, (PA, number)))
    rest = Rest("ann", 1, b"", False, *table.broker.sessions.copies.tells("ann"))
    assert (rest.seen["s.1"], rest.runs["s.1"], rest.ages) == (3, [(1, 1), (3, 3)], [(PA, 1.0, 1.0)])
    assert rest.lacks == [("s.1", PA, 3, [(2, 2)])]


def test_what_comes_back_when_the_session_has_left_already_is_told_at_the_end() -> None:
    """2 is missing, and known to be, when the rest has gone; it comes back before the new broker has the session."""
    table = RoundTable("subscriber-pull", leaf=True, leave_s_max=0.0)
    table.client("ann", A)
    table.run(1.0)
    table.events(table.n, *_numbered(1))
    table.give(Drain(1))
    table.n.say(Welcome("", "door"))
    table.n.say(Opened("ann", 1, "", False))
    table.give(Exported("ann", b"state"))
    table.n.say(Silent("s.1", [(PA, 2)], 0))
    table.run(1.5)
    (asked,) = [each for each in table.gossip(table.n) if isinstance(each, Misses)]
    table.direct(Repair("x", asked.asker.round, [1.0], _numbered(2)))
    assert _got(table) == [1]
    table.n.forget()
    table.n.say(Taken("ann", 1))
    (told,) = [each for each in table.n.heard() if isinstance(each, Told)]
    assert told.lacks == [("s.1", PA, 2, []), ("s.1", PA, 0, [(2, 2)])]


def test_what_the_client_has_heard_of_as_missing_is_told_apart_from_what_is_only_suspected() -> None:
    table = RoundTable("subscriber-pull", leave_s_max=0.0)
    table.client("ann", A)
    for number in (3, 6):
        table.events(table.n, numbered("a", number, (PA, number)))
    _, lacks = table.recovery.heritage.of("ann")
    assert lacks == [("s.1", PA, 6, [(4, 5)]), ("s.1", PA, 0, [(1, 2)])]


# --- the new one


def _comes(table: RoundTable, rest: Rest, *held: Event) -> None:
    """Ann comes over from n; meanwhile events come from m."""
    table.n.say(Draining(True))
    table.n.say(Offer("ann", 1, 0, [A], True))
    if held:
        table.events(table.m, *held)
    table.n.say(rest, Rest("ann", 1, b"", True))


def _rest(seen: int, *runs: tuple[int, int], missing: tuple[tuple[int, int], ...] = ()) -> Rest:
    return Rest(
        "ann",
        1,
        b"",
        False,
        {"s.1": seen},
        [],
        {"s.1": list(runs)},
        [(PA, 60.0, 60.0)],
        [("s.1", PA, seen, [*missing])],
    )


def _got(table: RoundTable) -> list[int]:
    return [each.event.seq for each in table.all(Deliver) if each.matches[0][0] == "ann"]


def test_the_new_one_gives_what_it_has_kept_but_nothing_twice() -> None:
    table = RoundTable("subscriber-pull")
    table.events(table.m, *_numbered(1, 2, 3, 4))
    table.run(1.0)
    _comes(table, _rest(3, (1, 1), (3, 3), missing=((2, 2),)))
    assert _got(table) == [2, 4]
    assert len(table.recovery.lost) == 0


def test_what_has_come_since_the_session_was_open_comes_once_and_behind() -> None:
    table = RoundTable("subscriber-pull")
    table.events(table.m, *_numbered(1, 2))
    table.run(1.0)
    _comes(table, _rest(2, (1, 1), missing=((2, 2),)), numbered("a", 3, (PA, 3)))
    assert _got(table) == [2, 3]


def test_what_has_come_since_keeps_its_order_though_the_cache_has_only_the_last_of_it() -> None:
    table = RoundTable("subscriber-pull", cache_events_max=1)
    _comes(table, _rest(2, (1, 2)), *_numbered(3), *_numbered(4))
    assert _got(table) == [3, 4]


def test_what_was_published_before_it_wanted_it_is_not_for_it() -> None:
    table = RoundTable("subscriber-pull")
    table.events(table.m, *_numbered(1))
    table.run(61.0)
    table.events(table.m, *_numbered(2))
    table.run(1.0)
    _comes(table, Rest("ann", 1, b"", False, {}, [], {}, [(PA, 30.0, 30.0)], []))
    assert _got(table) == [2]


def _round_for(table: RoundTable, lost: list[tuple[int, int]]) -> int:
    table.run(1.5)
    asked = [each for far in (table.n, table.m) for each in table.gossip(far) if isinstance(each, Misses)]
    assert asked[-1].lost == [("s.1", lost)]
    assert asked[-1].age_s >= 60.0
    return asked[-1].asker.round


def test_what_it_has_not_kept_it_asks_for_though_it_has_had_it() -> None:
    """Nobody else here gets it again, and she not twice."""
    table = RoundTable("subscriber-pull", cache="own")
    table.events(table.m, *_numbered(1, 2, 3))
    table.run(1.0)
    assert len(table.recovery.cache) == 0
    _comes(table, _rest(3, (1, 1), (3, 3), missing=((2, 2),)))
    table.client("bob", A)
    number = _round_for(table, [(2, 2)])
    for _ in range(2):
        table.direct(Repair("x", number, [2.0], [numbered("a", 2, (PA, 2))]))
    assert [(each.event.seq, [client for client, _ in each.matches]) for each in table.all(Deliver)] == [(2, ["ann"])]


def test_what_she_has_had_does_not_come_back_to_her() -> None:
    table = RoundTable("subscriber-pull", cache="own")
    table.run(1.0)
    _comes(table, _rest(3, (1, 1), (3, 3), missing=((2, 2),)))
    number = _round_for(table, [(2, 2)])
    had = numbered("a", 1, (PA, 2))  # under the number that is missed: somebody's lie
    table.direct(Repair("x", number, [2.0], [had]))
    assert _got(table) == []


def _heard(table: RoundTable) -> list[tuple[tuple[str, ...], str]]:
    return [(each.clients, f"{each.first}-{each.last} {each.state}") for each in table.all(Missed)]


def test_she_hears_that_what_is_kept_here_has_come_back() -> None:
    table = RoundTable("subscriber-pull")
    table.events(table.m, *_numbered(1, 2, 3))
    table.run(1.0)
    _comes(table, _rest(3, (1, 1), missing=((2, 3),)))
    assert _got(table) == [2, 3]
    assert _heard(table) == [(("ann",), "2-3 recovered")]


def test_what_nobody_else_misses_ends_for_her_alone() -> None:
    table = RoundTable("subscriber-pull", cache="own", lost_s_max=5.0)
    table.events(table.m, *_numbered(*range(1, 9)))
    table.run(1.0)
    rest = _rest(8, (1, 1), (8, 8), missing=((2, 5),))
    rest.lacks.append(("s.1", PA, 0, [(7, 7)]))
    _comes(table, rest)
    table.client("bob", A)
    _, lacks = table.recovery.heritage.of("ann")
    assert lacks == [("s.1", PA, 8, [(2, 5)]), ("s.1", PA, 0, [(7, 7)])]  # if she goes on
    number = _round_for(table, [(2, 5), (7, 7)])
    table.direct(Repair("x", number, [2.0, 2.0], _numbered(3, 7)))
    table.run(6.0)
    assert _heard(table) == [(("ann",), "3-3 recovered"), (("ann",), "2-2 given up"), (("ann",), "4-5 given up")]
    assert table.figures.given_up == 0  # it was lost elsewhere


def test_behind_the_last_number_of_the_old_one_a_gap_is_a_gap() -> None:
    table = RoundTable("subscriber-pull")
    _comes(table, _rest(3, (1, 3)))
    table.n.say(Silent("s.1", [(PA, 5)], 0))
    assert table.recovery.lost.between("s.1", PA, 1, 9) == [4, 5]


def test_if_the_old_one_has_got_further_the_new_one_misses_what_is_in_between() -> None:
    table = RoundTable("subscriber-pull")
    table.client("bob", A)
    table.events(table.m, *_numbered(1))
    _comes(table, _rest(3, (1, 3)))
    assert table.recovery.lost.between("s.1", PA, 1, 9) == [2, 3]


def test_at_the_end_it_gives_and_asks_for_what_came_back_to_the_old_one_too_late() -> None:
    table = RoundTable("subscriber-pull")
    table.events(table.m, *_numbered(1, 2))
    table.run(1.0)
    _comes(table, _rest(3, (1, 3)))
    assert _got(table) == []
    table.events(table.m, *_numbered(4))
    last = Told("ann", 1, [("s.1", PA, 5, [(3, 3)]), ("t.1", PA, 1, [(1, 1)])])
    table.n.say(last)
    assert table.recovery.lost.between("t.1", PA, 1, 9) == [1]
    table.run(1.5)
    asked = [each for far in (table.n, table.m) for each in table.gossip(far) if isinstance(each, Misses)]
    late = numbered("a", 1, (PA, 1))
    late.source = "t.1"
    for _ in range(2):
        table.direct(Repair("x", asked[-1].asker.round, [2.0], [late]))
    assert _got(table) == [4, 1]


def test_nor_does_it_give_twice_what_is_told_at_the_end() -> None:
    table = RoundTable("subscriber-pull")
    table.events(table.m, *_numbered(1, 2))
    table.run(1.0)
    _comes(table, Rest("ann", 1, b"", False, {"s.1": 1}, [], {"s.1": [(1, 1)]}, [(PA, 60.0, 60.0)], []))
    assert _got(table) == [2]
    table.events(table.m, *_numbered(3))
    missing = len(table.recovery.lost)
    for _ in range(2):
        table.n.say(Told("ann", 1, [("s.1", PA, 3, [(1, 3)])]))
    assert _got(table) == [2, 3]
    assert len(table.recovery.lost) == missing  # all of it is kept here


def test_of_a_session_that_is_not_new_here_nothing_is_told_at_the_end() -> None:
    table = RoundTable("subscriber-pull")
    table.client("ann", A)
    table.n.say(Told("ann", 1, [("t.1", PA, 1, [(1, 1)])]))
    assert len(table.recovery.lost) == 0


def test_where_nothing_comes_back_nothing_of_it_is_told() -> None:
    desk = Desk("n")
    far = desk.linked("n", 1)
    desk.client("ann", A)
    far.say(Events([numbered("a", 1, (PA, 1))]))
    assert desk.broker.sessions.copies.tells("ann") == ({"s.1": 1}, [], {}, [], [])


# --- the next life


def _recalled(written: float, sure: tuple[Pattern, ...] = (A,)) -> RoundTable:
    """Ann has had 1 and 2 of s.1; it is 10.0, and 4 is the first that comes."""
    table = RoundTable("subscriber-pull", durable=True)
    table.now = 10.0
    table.give(Recall({"ann": (A,)}, {"s.1": 2}, (), (), written=written, sure={"ann": sure}))
    table.events(table.m, numbered("a", 4, (PA, 4), qos=1))
    return table


def _back(table: RoundTable, *ages: float, qos: int = 1) -> list[int]:
    """What she gets if 2 and 3 come back, which were published so long ago."""
    table.run(1.5)
    asked = [each for far in (table.n, table.m) for each in table.gossip(far) if isinstance(each, Misses)]
    events = [numbered("a", number, (PA, number), qos=qos) for number in (2, 3)]
    table.direct(Repair("x", asked[-1].asker.round, list(ages), events))
    return _got(table)


def test_what_was_published_since_a_life_before_wrote_something_down_is_for_its_sessions() -> None:
    assert _back(_recalled(6.0), 5.6, 5.4) == [4, 3]
    assert _back(_recalled(6.0), 7.6, 7.4) == [4]
    assert _back(_recalled(math.inf), 5.6, 5.4) == [4]  # a store of an older version


def test_however_much_was_published_while_nobody_was_here_it_is_asked_for_as_far_as_there_is_room() -> None:
    """Not only as much as is asked for when somebody comes to want something."""
    table = _recalled(6.0)
    table.events(table.m, numbered("a", 500, (PA, 500), source="t.1", qos=1))
    assert len(table.recovery.lost.between("t.1", PA, 1, 500)) == 499
    table.recovery.lost.losses_max = 1000
    table.events(table.m, numbered("a", 501, (PA, 700), source="u.1", qos=1))
    assert len(table.recovery.lost.between("u.1", PA, 1, 700)) == 64
    table.recovery.heritage.settle("ann")
    table.events(table.m, numbered("a", 502, (PA, 70), source="v.1", qos=1))
    assert len(table.recovery.lost.between("v.1", PA, 1, 70)) == 64


def test_unless_it_may_have_had_it_and_not_written_that_down() -> None:
    assert _back(_recalled(6.0), 5.6, 5.4, qos=0) == [4]
    assert _back(_recalled(6.0, sure=()), 5.6, 5.4) == [4]


def test_a_session_that_moves_on_after_that_tells_it() -> None:
    ages, _ = _recalled(6.0).recovery.heritage.of("ann")
    assert ages == [(PA, 0.0, 4.0 + UNDER_WAY_S)]


def test_after_a_while_it_is_a_session_like_any_other() -> None:
    table = RoundTable("subscriber-pull", lost_s_max=5.0)
    _comes(table, _rest(3, (1, 3)))
    table.n.say(Told("ann", 1))
    assert table.broker.sessions.busy
    table.run(5.0)
    table.events(table.m, numbered("a", 4, (PA, 4)))
    assert not table.broker.sessions.busy
    assert table.recovery.talk.signatures.wanted_since("ann", A) == 0.0
    assert not table.broker.sessions.copies.guard


def test_nor_does_a_life_before_make_a_session_old_for_longer() -> None:
    """What was published then was given up by now; what comes of it all the same may have been had."""
    table = _recalled(6.0)
    table.run(table.recovery.options.lost_s_max)
    table.events(table.m, numbered("a", 5, (PA, 5)))
    since = table.recovery.talk.signatures.wanted_since("ann", A, 1)
    assert since == 10.0
    assert not table.broker.sessions.copies

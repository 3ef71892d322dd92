"""Publisher-based pull: back along the way of events. EPIDEMIC, Figure 3, right, and erratum 7."""

from __future__ import annotations

from reknit.wire.marks import read_marks
from reknit.wire.messages import Asker, Events, MissesOf, Silent
from tests.core.desk import event
from tests.core.recovery.round_table import PA, PB, A, B, RoundTable, numbered

ADDRESS, KEY = "s:1", 4711


def _miss_two(table: RoundTable, route: tuple[str, ...] = ("s", "q", "n")) -> None:
    table.client("ann", A)
    for number in (1, 3):
        table.events(table.n, numbered("a", number, (PA, number), route=route, address=ADDRESS, key=KEY))


def _questions(table: RoundTable) -> list[tuple[str, MissesOf]]:
    pairs = [(far.name, each) for far in (table.n, table.m) for each in table.gossip(far)]
    return [(name, each) for name, each in pairs if isinstance(each, MissesOf)]


def test_events_record_the_way_that_they_come() -> None:
    """The address of each dispatcher encountered by the event is appended to the event message."""
    table = RoundTable("publisher-pull")
    table.publish(event("a"))
    table.events(table.n, numbered("a", 1, (PA, 1), route=("s", "n"), address=ADDRESS, key=KEY))
    sent = [read_marks(each.marks) for say in table.m.heard() if isinstance(say, Events) for each in say.events]
    assert [marks.route for marks in sent] == [("b",), ("s", "n", "b")]
    assert [(marks.address, marks.key) for marks in sent] == [("b:1", table.key), (ADDRESS, KEY)]


def test_a_round_asks_back_along_the_way_of_the_last_event() -> None:
    table = RoundTable("publisher-pull")
    _miss_two(table)
    table.run(1.0)
    ((to, question),) = _questions(table)
    assert to == "n"
    assert (question.source, question.route) == ("s.1", ["n", "q", "s"])
    assert (question.address, question.key) == (ADDRESS, KEY)
    assert [(signature, ranges) for signature, _, ranges in question.lost] == [(PA, [(2, 2)])]


def test_a_source_without_a_known_way_is_not_asked() -> None:
    """Erratum 5."""
    table = RoundTable("publisher-pull")
    _miss_two(table, route=())
    table.run(5.0)
    assert _questions(table) == []
    table.n.say(Silent("s.1", [(PA, 3)], 1, ("s", "n"), ADDRESS, KEY))  # its heartbeat brings the way
    table.run(1.0)
    assert [(to, each.route, each.key) for to, each in _questions(table)] == [("n", ["n", "s"], KEY)]
    assert Silent("s.1", [(PA, 3)], 2, ("s", "n", "b"), ADDRESS, KEY) in table.gossip(table.m)


def test_the_first_on_the_way_who_has_an_event_sends_it_and_takes_it_off_the_list() -> None:
    table = RoundTable("publisher-pull", m=(A, B))
    table.events(table.n, numbered("a", 1, (PA, 1), (PB, 5)))
    lost = [(PA, 100.0, [(1, 2)]), (PB, 100.0, [(4, 4)])]
    table.m.say(MissesOf(table.asker(), "s.1", lost, ["b", "n", "s"], ADDRESS, KEY))
    assert table.repairs() == [("x", 1)]
    rest = [(PA, 100.0, [(2, 2)]), (PB, 100.0, [(4, 4)])]
    assert _questions(table) == [("n", MissesOf(table.asker(), "s.1", rest, ["n", "s"], ADDRESS, KEY))]


def test_at_the_publisher_the_question_ends() -> None:
    table = RoundTable("publisher-pull")
    table.publish(event("a"))
    table.m.say(MissesOf(table.asker(), "b.1", [(PA, 100.0, [(1, 9)])], ["b"], "b:1"))
    assert table.repairs() == [("x", 1)]
    assert _questions(table) == []


def test_a_broker_that_is_no_neighbour_is_left_out() -> None:
    table = RoundTable("publisher-pull")
    _miss_two(table, route=("s", "n", "gone"))
    table.run(1.0)
    assert [(to, each.route) for to, each in _questions(table)] == [("n", ["n", "s"])]


def test_if_nobody_on_the_way_is_one_the_publisher_is_asked_past_the_tree() -> None:
    table = RoundTable("publisher-pull")
    _miss_two(table, route=("s", "q", "gone"))
    table.run(1.0)
    assert _questions(table) == []
    ((to, question),) = table.directs()
    assert isinstance(question, MissesOf)
    assert (to, question.route, question.key) == ("s", ["s"], KEY)
    assert table.figures.requests == 1


def test_a_question_does_not_go_back_to_where_it_has_come_from() -> None:
    """There it was heard before, and would end."""
    table = RoundTable("publisher-pull")
    lost = [(PA, 100.0, [(1, 2)])]
    table.m.say(MissesOf(table.asker(), "s.1", lost, ["b", "m", "n", "s"], ADDRESS, KEY))
    assert [(to, each.route) for to, each in _questions(table)] == [("n", ["n", "s"])]
    table.m.say(MissesOf(table.asker(number=8), "s.1", lost, ["b", "m", "s"], ADDRESS, KEY))
    assert len(_questions(table)) == 1
    ((to, question),) = table.directs()
    assert isinstance(question, MissesOf)
    assert (to, question.route, question.key) == ("s", ["s"], KEY)


def test_a_question_past_the_tree_is_answered_if_anybody_wants_the_pattern() -> None:
    table = RoundTable("publisher-pull", n=(A,), m=())
    table.publish(event("a"), event("b"))
    lost = [(PA, 100.0, [(1, 1)]), (PB, 100.0, [(1, 1)])]
    table.direct(MissesOf(table.asker(), "b.1", lost, ["b"], "b:1", table.key))
    assert table.repairs() == [("x", 1)]
    assert table.figures.unentitled == 1


def test_past_the_tree_a_stranger_is_told_nothing_and_nobody_is_told_anything_for_it() -> None:
    """Else a few bytes under the name of somebody else would send him many; or whoever asks could read events."""
    table = RoundTable("publisher-pull", n=(A,), m=())
    table.publish(*(event("a") for _ in range(50)))
    before = len(table.effects)
    for number, key in enumerate((0, KEY, table.key + 1), start=1):
        lost = [(PA, 100.0, [(1, 50)])]
        table.direct(MissesOf(Asker("victim", "victim:53", number), "b.1", lost, ["b"], "b:1", key))
        table.direct(MissesOf(Asker("victim", "victim:53", number), "s.1", lost, ["n", "other"], "other:53", key))
    assert len(table.effects) == before
    assert table.figures.unentitled == 6
    assert table.figures.replayed == 0  # its rounds are not remembered either


def test_past_the_tree_a_question_ends() -> None:
    """Whoever names our key has come to the end of its way, whatever way it names."""
    table = RoundTable("publisher-pull")
    lost = [(PA, 100.0, [(1, 1)])]
    for address in (ADDRESS, ""):
        table.direct(MissesOf(table.asker(), "s.1", lost, ["n", "gone"], address, table.key))
    assert _questions(table) == table.directs() == []


def test_of_all_that_a_question_names_so_many_numbers_are_looked_at() -> None:
    """However many patterns it names them for, and of however many sources."""
    table = RoundTable("publisher-pull", m=(A, B), digest_numbers_max=10)
    lost = [(PA, 100.0, [(1, 6)]), (PB, 100.0, [(1, 6)]), (PA, 100.0, [(7, 12)])]
    table.m.say(MissesOf(table.asker(), "s.1", lost, ["b", "n", "s"], ADDRESS, KEY))
    ((_, passed_on),) = _questions(table)
    assert [(signature, ranges) for signature, _, ranges in passed_on.lost] == [(PA, [(1, 6)]), (PB, [(3, 6)])]
    assert table.figures.unheard_of == 8
    table.events(table.n, *(numbered("a", number, (PA, number), source="t.1") for number in range(1, 13)))
    others = [("t.1", [(PA, 100.0, [(1, 12)])])]
    table.direct(MissesOf(table.asker(number=8), "s.1", lost[:1], [], "", table.key, others))
    assert sorted(seq for _, seq in table.repairs()) == [9, 10, 11, 12]


def test_a_question_that_went_round_is_heard_once() -> None:
    table = RoundTable("publisher-pull")
    for _ in range(2):
        table.m.say(MissesOf(table.asker(), "s.1", [(PA, 100.0, [(1, 2)])], ["b", "n"], ADDRESS))
    assert len(_questions(table)) == 1
    assert table.figures.replayed == 1


def test_what_was_asked_for_in_vain_is_asked_of_the_publisher_past_the_tree() -> None:
    table = RoundTable("publisher-pull", direct_after=2)
    _miss_two(table)
    table.run(4.5)
    assert len(_questions(table)) == 2
    directs = [(to, each.route) for to, each in table.directs() if isinstance(each, MissesOf)]
    assert len(directs) >= 2
    assert set(map(str, directs)) == {str(("s", ["s"]))}

"""Lines of groups: every broker reads the same of them, and goes round among the brokers by weight."""

from __future__ import annotations

from collections import Counter

from reknit.core.book.book import Book
from reknit.core.book.options import BookOptions
from reknit.core.links.former import DOUBT_S, Former
from reknit.core.shares.lines import GROUP, Count, Group, GroupLines
from reknit.core.turn import Turn
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.wire.messages import Lines, Message

G = Group("g", Pattern("a/#", "x > 3"))


class Shelf:
    """One broker's lines, and what it would tell its one neighbour."""

    def __init__(self, node: str, former: Former | None = None) -> None:
        self.told: list[Message] = []
        self.has: dict[Group, Count] = {}
        turn = Turn(node, False)
        turn.now = 1.0
        book = Book(turn, f"{node}.1", lambda: ["peer"], lambda _, message: self.told.append(message), BookOptions())
        self.former = former or Former(node)
        self.lines = GroupLines(turn, book, lambda group: self.has.get(group, Count()), self.former)

    def set(self, members: int, present: int) -> None:
        self.has[G] = Count(members, present)
        self.lines.tell(G)

    def read(self, other: Shelf) -> None:
        told, other.told = other.told, []
        for message in told:
            assert isinstance(message, Lines)
            self.lines.news(self.lines.book.receive("peer", message))


def _two() -> tuple[Shelf, Shelf]:
    one, other = Shelf("b1"), Shelf("b2")
    one.set(1, 1)
    other.set(2, 2)
    one.read(other)
    other.read(one)
    return one, other


def test_each_broker_is_chosen_as_often_as_it_has_members_that_are_there() -> None:
    one, other = _two()
    assert Counter(one.lines.decide(G) for _ in range(300)) == {"b1": 100, "b2": 200}
    other.set(2, 0)
    one.read(other)
    assert {one.lines.decide(G) for _ in range(9)} == {"b1"}
    one.set(1, 0)
    assert Counter(one.lines.decide(G) for _ in range(3)) == {"b1": 1, "b2": 2}
    assert one.lines.decide(G, ("b1", "b2")) == ""


def test_a_group_matches_by_topic_and_content() -> None:
    one, _ = _two()
    assert one.lines.matching(Event("a/b", attributes={"x": 4})) == [G]
    assert one.lines.matching(Event("a/b", attributes={"x": 3})) == []
    assert one.lines.matching(Event("b", attributes={"x": 4})) == []


def test_the_last_member_takes_the_line_along() -> None:
    one, other = _two()
    other.set(0, 0)
    one.read(other)
    one.set(0, 0)
    assert not one.lines
    assert one.lines.matching(Event("a", attributes={"x": 4})) == []
    assert one.lines.shown() == []


def test_nothing_is_told_twice() -> None:
    one, _ = _two()
    one.told.clear()
    one.lines.tell(G)
    assert one.told == []


def test_who_is_declared_gone_and_is_there_says_so() -> None:
    one, other = _two()
    one.lines.split("n")
    assert one.lines.shown() == [
        {"group": "g", "topic": "a/#", "selector": "x > 3", "broker": "b1", "members": 1, "present": 1}
    ]
    other.read(one)
    one.read(other)
    assert [each["broker"] for each in one.lines.shown()] == ["b1", "b2"]
    assert other.lines.shown() == one.lines.shown()


def test_what_came_on_a_link_while_it_was_left_is_forgotten_with_it() -> None:
    one, other = _two()
    one.lines.split("b2")
    other.read(one)
    one.read(other)
    one.lines.left("n")
    assert [each["broker"] for each in one.lines.shown()] == ["b1", "b2"]
    one.lines.left("b2")
    assert [each["broker"] for each in one.lines.shown()] == ["b1"]
    one.read(other)
    one.lines.left("b2")
    assert [each["broker"] for each in one.lines.shown()] == ["b1"]


def test_a_new_life_puts_right_what_the_former_one_had_written() -> None:
    one, _ = _two()
    again = Shelf("b2")
    one.lines.book.compare("peer")
    again.told.clear()
    lines = list(one.lines.book._lines.values())
    again.lines.news(again.lines.book.receive("peer", Lines(lines)))
    one.read(again)
    assert [each["broker"] for each in one.lines.shown()] == ["b1"]


def _parted() -> Former:
    former = Former("b3")
    former.recall({}, {}, {"b1": None})
    return former


def _reads_all(reader: Shelf, other: Shelf) -> None:
    other.told.clear()
    reader.lines.news(reader.lines.book.receive("peer", Lines(list(other.lines.book._lines.values()))))


def test_a_life_whose_former_one_may_have_known_of_a_split_alone_asks_who_is_still_there() -> None:
    _, other = _two()  # b1 is gone, and only the life before has heard it
    reader = Shelf("b3", _parted())
    _reads_all(reader, other)
    assert reader.lines.shown() == []
    other.read(reader)
    reader.read(other)
    assert [each["broker"] for each in reader.lines.shown()] == ["b2"]
    assert other.lines.shown() == reader.lines.shown()


def test_it_does_so_once_and_not_for_long() -> None:
    one, other = _two()
    reader = Shelf("b3", _parted())
    _reads_all(reader, other)
    for each in (one, other):
        told = list(reader.told)
        each.read(reader)
        reader.told = told
    reader.told.clear()
    reader.read(one)
    reader.read(other)
    assert [each["broker"] for each in reader.lines.shown()] == ["b1", "b2"]
    reader.lines.turn.now += DOUBT_S
    new = Shelf("b4")
    new.set(1, 1)
    reader.read(new)
    assert [each["broker"] for each in reader.lines.shown()] == ["b1", "b2", "b4"]
    assert reader.told[:-1] == []  # but for what it passes on


def test_a_split_is_remembered_for_the_next_life_unless_that_has_the_lines() -> None:
    for keeping in (False, True):
        one, _ = _two()
        one.lines.turn.keeping = keeping
        one.lines.split("n")
        assert bool(one.former.apart) is not keeping


def test_a_line_that_nobody_can_read_is_counted_and_no_more() -> None:
    one, _ = _two()
    before = one.lines.shown()
    for name in ("", "[]", '["g","#a","","b3"]', '["g","a","x >","b3"]'):
        one.lines.book.write(GROUP, name, b"\x01")
        one.lines.news([(GROUP, name)])
    one.lines.book.write("another", "x", b"\x01")
    one.lines.news([("another", "x")])
    assert one.lines.book.refused == 4
    assert one.lines.shown() == before

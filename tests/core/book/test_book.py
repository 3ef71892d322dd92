"""The book: every broker has the same lines in the end, whatever was told past whom."""

from __future__ import annotations

import random
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reknit.core.book.book import PART_BYTES, Book
from reknit.core.book.options import BookOptions
from reknit.core.io import DropLine, KeepLine
from reknit.core.overlay.shapes import Edge, adjacency, names, shape_edges
from reknit.core.turn import Turn
from reknit.wire.messages import Digests, Line, Lines, Message


class Library:
    """Books that are linked by queues, each of which a test may run or lose."""

    def __init__(self, edges: list[Edge], **options: object) -> None:
        self.options = BookOptions(**options)  # type: ignore[arg-type]
        self.adjacent = adjacency(edges)
        self.queues: dict[Edge, deque[Message]] = {}
        self.books: dict[str, Book] = {}
        self.lives = 0
        for name in self.adjacent:
            self.begin(name)

    def begin(self, name: str) -> None:
        """Without memory."""
        self.lives += 1

        def send(peer: str, message: Message) -> None:
            self.queues.setdefault((name, peer), deque()).append(message)

        turn = Turn(name, False)
        turn.now = 1.0
        source = f"{name}.{self.lives}"
        self.books[name] = Book(turn, source, lambda: self.adjacent[name], send, self.options, 1000.0)

    def run(self, rng: random.Random) -> None:
        while full := [edge for edge, queue in self.queues.items() if queue]:
            edge = rng.choice(full)
            message = self.queues[edge].popleft()
            assert isinstance(message, Lines | Digests)
            self.books[edge[1]].receive(edge[0], message)

    def meet(self, one: str, other: str) -> None:
        self.books[one].compare(other)
        self.books[other].compare(one)

    def contents(self) -> list[dict[tuple[str, str], bytes]]:
        return [{("k", name): value for name, value in book.all("k")} for book in self.books.values()]


def test_a_line_reaches_everybody_and_the_last_word_counts() -> None:
    library, rng = Library([("a", "b"), ("b", "c")]), random.Random(1)
    library.books["a"].write("k", "x", b"1")
    library.run(rng)
    library.books["c"].write("k", "x", b"2")
    library.run(rng)
    assert [book.get("k", "x") for book in library.books.values()] == [b"2"] * 3
    library.books["b"].write("k", "x", b"")
    library.run(rng)
    assert [len(book) for book in library.books.values()] == [0] * 3


def test_an_answer_is_newer_than_what_it_answers_whatever_the_clocks_say() -> None:
    library, rng = Library([("a", "b")]), random.Random(1)
    library.books["a"].turn.now = 500.0  # ahead of the other
    library.books["a"].write("k", "x", b"1")
    library.run(rng)
    library.books["b"].write("k", "x", b"2")
    library.run(rng)
    assert library.books["a"].get("k", "x") == b"2"


def test_what_was_lost_is_found_when_two_compare() -> None:
    library, rng = Library([("a", "b"), ("b", "c")]), random.Random(1)
    for number in range(100):
        library.books["a"].write("k", str(number), b"v")
    library.run(rng)
    library.begin("b")
    library.queues.clear()
    library.books["c"].write("k", "5", b"")
    library.queues.clear()
    library.meet("a", "b")
    library.meet("b", "c")
    library.run(rng)
    assert [len(book) for book in library.books.values()] == [99] * 3


def test_books_that_are_the_same_say_no_more_than_that() -> None:
    library, rng = Library([("a", "b")]), random.Random(1)
    library.books["a"].write("k", "x", b"1")
    library.run(rng)
    library.meet("a", "b")
    assert [len(queue) for queue in library.queues.values()] == [1, 1]
    library.run(rng)
    empty = Library([("a", "b")])
    empty.meet("a", "b")
    empty.run(rng)
    assert not any(empty.queues.values())


def test_many_lines_travel_in_parts() -> None:
    library = Library([("a", "b")])
    for number in range(50):
        library.books["a"].write("k", str(number), b"v" * 10_000)
    library.queues.clear()
    library.books["a"].receive("b", Digests([]))
    parts = [message for message in library.queues["a", "b"] if isinstance(message, Lines)]
    assert len(parts) > 5
    assert all(sum(len(line.value) for line in part.lines) < PART_BYTES + 10_000 for part in parts)
    assert sum(len(part.lines) for part in parts) == 50


@pytest.mark.parametrize("options", [{"lines_max": 2}, {"bytes_max": 500}])
def test_a_full_book_takes_no_new_line_but_lets_go(options: dict[str, int]) -> None:
    library = Library([("a", "b")], **options)
    book = library.books["a"]
    assert book.write("k", "1", b"x")
    assert book.write("k", "2", b"x")
    assert not book.write("k", "3", b"x")
    assert book.refused == 1
    assert book.receive("b", Lines([Line("k", "4", b"x", 2**40, "b.1")])) == []
    assert book.write("k", "1", b"y")
    assert book.write("k", "1", b"")
    assert book.get("k", "1") == b""


def test_what_is_gone_is_forgotten_after_a_while() -> None:
    library = Library([("a", "b")], gone_s=10.0)
    book = library.books["a"]
    book.write("k", "x", b"1")
    book.write("k", "x", b"")
    at = book.deadline()
    assert at is not None
    assert 11.0 <= at < 11.01
    book.due()
    assert not book.receive("b", Lines([Line("k", "x", b"old", 1, "b.1")]))
    book.turn.now = at
    book.due()
    assert book.deadline() is None
    library.queues.clear()
    book.compare("b")
    assert not library.queues
    book.receive("b", Digests([7] * 64))
    assert library.queues["a", "b"].pop() == Digests([])


def test_digests_that_are_none_are_passed_over() -> None:
    library = Library([("a", "b")])
    library.books["a"].write("k", "x", b"1")
    library.queues.clear()
    library.books["a"].receive("b", Digests([1, 2, 3]))
    assert not library.queues


@given(st.integers(0, 2**32))
def test_whatever_happens_all_books_are_the_same_once_all_have_compared(seed: int) -> None:
    rng = random.Random(seed)
    edges = shape_edges("random", names(5), rng)
    library = Library(edges)
    for _ in range(60):
        name = rng.choice(names(5))
        match rng.randrange(5):
            case 0:
                library.begin(name)
                for edge in list(library.queues):
                    if name in edge:
                        del library.queues[edge]
                for other in library.adjacent[name]:
                    library.meet(name, other)
            case 1 | 2 | 3:
                library.books[name].write("k", str(rng.randrange(6)), rng.choice([b"", b"1", b"2"]))
            case _:
                for _ in range(rng.randrange(8)):
                    full = [edge for edge, queue in library.queues.items() if queue]
                    if full:
                        edge = rng.choice(full)
                        library.books[edge[1]].receive(edge[0], library.queues[edge].popleft())  # type: ignore[arg-type]
    library.run(rng)
    for edge in edges:
        library.meet(*edge)
    library.run(rng)
    contents = library.contents()
    assert all(each == contents[0] for each in contents)


def test_a_next_life_begins_with_the_lines_that_were_kept() -> None:
    turn = Turn("b", False, keeping=True)
    turn.now = 1.0

    def book(source: str) -> Book:
        return Book(turn, source, lambda: (), lambda peer, message: None, BookOptions(gone_s=10.0))

    first = book("b.1")
    first.write("retained", "a", b"1")
    first.write("retained", "b", b"2")
    first.write("retained", "a", b"")
    first.receive("n", Lines([Line("retained", "c", b"3", 5, "z.1")]))
    kept = {(each.line.kind, each.line.name): each.line for each in turn.effects if isinstance(each, KeepLine)}
    assert [each.value for each in kept.values()] == [b"", b"2", b"3"]
    turn.effects = []
    second = book("b.2")
    assert second.recall(kept.values()) == list(kept)
    assert turn.effects == []
    assert dict(second.all("retained")) == {"b": b"2", "c": b"3"}
    second.receive("n", Lines([Line("retained", "a", b"old", 1, "z.1")]))
    assert second.get("retained", "a") == b""  # it is known to be gone
    turn.now = 100.0
    second.due()
    assert DropLine("retained", "a") in turn.effects


def test_of_a_passing_kind_only_what_is_to_be_kept_is_and_until_something_newer_is_known() -> None:
    turn = Turn("b", False, keeping=True)
    turn.now = 1.0

    def book(source: str) -> Book:
        return Book(turn, source, lambda: (), lambda peer, message: None, BookOptions(), passing={"home": 10.0})

    first = book("b.1")
    first.write("home", "ann", b"b")
    first.write("home", "bob", b"b", keep=True)
    [kept] = turn.effects
    assert isinstance(kept, KeepLine)
    assert kept.line.name == "bob"
    turn.effects = []
    second = book("b.2")
    second.recall([kept.line])
    second.receive("n", Lines([Line("home", "bob", b"n", kept.line.time_ms - 1, "n.1")]))
    assert (second.get("home", "bob"), turn.effects) == (b"b", [])
    second.receive("n", Lines([Line("home", "bob", b"n", kept.line.time_ms + 1, "n.1")]))
    assert (second.get("home", "bob"), turn.effects) == (b"n", [DropLine("home", "bob")])


@pytest.mark.parametrize("knows", [("a",), ("b",), ("a", "b")])
def test_it_is_enough_if_one_of_two_compares(knows: tuple[str, ...]) -> None:
    library, rng = Library([("a", "b")]), random.Random(1)
    for name in knows:
        library.books[name].write("k", f"of {name}", b"1")
        library.books[name].write("k", "of both", name.encode())
    library.queues.clear()
    library.books["a"].compare("b")
    library.run(rng)
    one, other = library.contents()
    if "a" in knows:
        assert one == other
        assert len(one) == len(knows) + 1
    library.books["b"].compare("a")
    library.run(rng)
    one, other = library.contents()
    assert one == other
    assert len(one) == len(knows) + 1


def test_two_that_agree_say_no_more_than_that() -> None:
    library, rng = Library([("a", "b")]), random.Random(1)
    library.books["a"].write("k", "n", b"1")
    library.run(rng)
    library.books["a"].compare("b")
    assert [len(queue) for queue in library.queues.values()] == [1]
    message = library.queues["a", "b"].popleft()
    assert isinstance(message, Digests)
    library.books["b"].receive("a", message)
    assert not any(library.queues.values())

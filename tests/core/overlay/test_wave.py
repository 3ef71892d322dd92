"""Waves on random trees: the answer is definite, the lock is whole, and whatever happens ends."""

from __future__ import annotations

import random
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reknit.core.overlay.shapes import adjacency, find_path, names, shape_edges
from reknit.core.overlay.wave import Answer, Search
from reknit.wire.messages import Message, Release, Seek, Sought

LEASE_S = 10.0


class Forest:
    """Searches joined by FIFO channels, and nothing else."""

    def __init__(self, edges: list[tuple[str, str]], lonely: tuple[str, ...] = ()) -> None:
        self.edges = edges
        self.neighbours = {name: [] for name in lonely} | adjacency(edges)
        self.channels: deque[tuple[str, str, Message]] = deque()
        self.answers: dict[str, Answer] = {}
        self.said = 0
        self.searches = {name: Search(name, LEASE_S, self._sender(name)) for name in self.neighbours}

    def _sender(self, name: str):  # type: ignore[no-untyped-def]
        return lambda to, message: self.channels.append((name, to, message))

    def begin(self, name: str, target: str) -> None:
        began = self.searches[name].begin(target, self.neighbours[name], 0.0)
        if isinstance(began, Answer):
            self.answers[name] = began

    def step(self) -> None:
        sender, to, message = self.channels.popleft()
        self.said += 1
        search = self.searches[to]
        if isinstance(message, Seek):
            search.on_seek(sender, message, self.neighbours[to], 0.0)
        elif isinstance(message, Sought):
            if (answer := search.on_sought(sender, message)) is not None:
                self.answers[to] = answer
        elif isinstance(message, Release):
            search.on_release(sender, message)

    def run(self) -> None:
        while self.channels:
            self.step()

    def locked(self) -> list[str]:
        return [name for name, search in self.searches.items() if search.locked_by is not None]


def _tree(count: int, seed: int) -> list[tuple[str, str]]:
    return shape_edges("random", names(count), random.Random(seed))


@given(st.integers(2, 15), st.integers(0, 10**6), st.data())
def test_the_path_is_found_exactly_if_there_is_one(count: int, seed: int, data: st.DataObject) -> None:
    forest = Forest(_tree(count, seed))
    start = data.draw(st.sampled_from(names(count)))
    target = data.draw(st.sampled_from([*names(count), "elsewhere"]).filter(lambda name: name != start))
    forest.begin(start, target)
    forest.run()
    answer = forest.answers[start]
    assert answer.path == find_path(forest.edges, start, target)
    assert answer.busy == ""


@given(st.integers(1, 15), st.integers(0, 10**6), st.data())
def test_a_search_in_vain_locks_the_whole_tree_and_a_release_frees_it(
    count: int, seed: int, data: st.DataObject
) -> None:
    forest = Forest(_tree(count, seed), lonely=("b1",))
    start = data.draw(st.sampled_from(names(count)))
    forest.begin(start, "elsewhere")
    forest.run()
    assert sorted(forest.locked()) == sorted(names(count))
    assert forest.said == 2 * (count - 1)  # each link once in each direction
    forest.searches[start].release(forest.answers[start].wave)
    forest.run()
    assert forest.locked() == []


@given(st.integers(2, 12), st.integers(0, 10**6), st.data())
def test_of_two_searches_that_touch_at_most_one_gets_the_tree(count: int, seed: int, data: st.DataObject) -> None:
    forest = Forest(_tree(count, seed))
    one, other = data.draw(st.lists(st.sampled_from(names(count)), min_size=2, max_size=2, unique=True))
    forest.begin(one, "elsewhere")
    for _ in range(data.draw(st.integers(0, 6))):
        if forest.channels:
            forest.step()
    if forest.searches[other].locked_by is None:
        forest.begin(other, "elsewhere")
    forest.run()
    free = [answer for answer in forest.answers.values() if not answer.busy]
    assert len(free) <= 1
    for name, answer in forest.answers.items():
        forest.searches[name].release(answer.wave)
    forest.run()
    assert forest.locked() == []


def test_busy_names_the_one_that_is_locked_and_who_began() -> None:
    forest = Forest([("b1", "b2"), ("b2", "b3")])
    forest.begin("b3", "elsewhere")
    forest.begin("b1", "elsewhere")
    forest.run()
    assert {answer.busy for answer in forest.answers.values()} <= {
        "b2 takes part in a join that b3 began",
        "b2 takes part in a join that b1 began",
        "b1 takes part in a join that b1 began",
        "b3 takes part in a join that b3 began",
    }
    assert all(answer.busy for answer in forest.answers.values())


def test_a_neighbour_is_found_without_a_search() -> None:
    forest = Forest([("b1", "b2")])
    forest.begin("b1", "b2")
    assert forest.answers["b1"].path == ["b1", "b2"]
    assert not forest.channels
    assert forest.locked() == []


def test_whoever_takes_part_in_a_swap_does_not_say_who_its_neighbours_are() -> None:
    """The one that is sought may have left it already, for all it knows: a cycle would not be certain."""
    forest = Forest([("a", "b"), ("b", "c")])
    forest.searches["b"].engaged = lambda: "b takes part in a swap"
    forest.begin("a", "c")
    forest.run()
    assert (forest.answers["a"].path, forest.answers["a"].busy) == ([], "b takes part in a swap")


def test_the_lease_frees_a_broker_whose_wave_nobody_releases() -> None:
    forest = Forest([("b1", "b2")])
    forest.begin("b1", "elsewhere")
    forest.run()
    for search in forest.searches.values():
        assert search.deadline() == LEASE_S
        search.due(LEASE_S - 0.1)
        assert search.locked_by == ("b1", 1)
        search.due(LEASE_S)
        assert search.locked_by is None
        assert search.deadline() is None


@pytest.mark.parametrize(("why", "busy"), [("b2 was restarted", "b2 was restarted"), ("", "")])
def test_a_neighbour_that_goes_does_not_hold_up_the_echo(why: str, busy: str) -> None:
    forest = Forest([("b1", "b2"), ("b1", "b3")])
    forest.begin("b1", "elsewhere")
    forest.channels.popleft()  # what b2 was asked is lost with it
    forest.run()
    answer = forest.searches["b1"].neighbour_gone("b2", why)
    assert answer == Answer(("b1", 1), [], busy)


def test_a_broker_is_free_when_the_one_that_asked_it_goes() -> None:
    forest = Forest([("b1", "b2"), ("b2", "b3")])
    forest.begin("b1", "elsewhere")
    forest.run()
    assert forest.searches["b2"].neighbour_gone("b1", "b1 was restarted") is None
    forest.run()
    assert forest.locked() == ["b1"]


def test_strange_messages_do_nothing() -> None:
    forest = Forest([("b1", "b2"), ("b2", "b3")])
    search = forest.searches["b2"]
    assert search.on_sought("b1", Sought(("b9", 1), ["b9"], "")) is None
    search.on_release("b1", Release(("b9", 1)))
    assert search.neighbour_gone("b1", "") is None
    forest.begin("b1", "elsewhere")
    forest.run()
    assert search.on_sought("b3", Sought(("b1", 1), ["x"], "")) is None  # it has answered already
    search.on_release("b3", Release(("b1", 1)))  # not the one that asked
    assert search.locked_by == ("b1", 1)
    assert not forest.channels

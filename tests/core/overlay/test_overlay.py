"""Neighbours come and go, and the rest of the tree hears what that means."""

from __future__ import annotations

import pytest

from reknit.core.io import RemoveLink, Reply
from reknit.wire.messages import Leave, Seek, Snapshot, Unsub
from tests.core.desk import Desk, pattern


@pytest.mark.parametrize(("linked", "names"), [((), "nobody"), (("n", "m"), "m, n")])
def test_a_link_that_is_not_there_cannot_be_removed(linked: tuple[str, ...], names: str) -> None:
    desk = Desk(*linked)
    desk.give(RemoveLink("x", 5))
    assert desk.all(Reply) == [Reply(5, f"b has no link to x; it is linked with {names}")]


def test_a_removal_is_told_to_the_rest_of_the_tree_as_unsubscriptions() -> None:
    desk = Desk("m", "n")
    staying = desk.far_end("m", 1)
    staying.greet()
    staying.say(Snapshot([], last=True))
    leaving = desk.linked("n", 2, pattern("a"), pattern("b"))
    staying.forget()
    desk.client("ann", pattern("a"))
    leaving.say(Leave())
    assert staying.heard() == [Unsub([pattern("b")])]


def test_a_neighbour_that_is_left_is_not_searched() -> None:
    desk = Desk("m", "n")
    staying, leaving = desk.far_end("m", 1), desk.far_end("n", 2)
    for far in (staying, leaving):
        far.greet()
        far.say(Snapshot([], last=True))
        far.forget()
    desk.give(RemoveLink("n", 5))
    far = desk.far_end("x", 3)
    far.greet(linked=False, wave=("x", 1))
    assert [message for message in staying.heard() if isinstance(message, Seek)] == [Seek(("b", 1), "x", ["b"])]
    assert not any(isinstance(message, Seek) for message in leaving.heard())

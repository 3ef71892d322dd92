"""What a session brings along: numbers of sources that its new broker has not seen."""

from __future__ import annotations

from reknit.core.sessions.copies import Copies
from tests.core.desk import event


def test_only_what_the_new_broker_has_not_seen_is_kept() -> None:
    copies = Copies({"x.1": 5}, "own.1")
    copies.expect("ann", {"x.1": 5, "y.1": 0})
    assert not copies
    copies.expect("ann", {"x.1": 5, "y.1": 3}, {"y.1": 4})
    assert copies.of("ann") == {"y.1": 4}
    assert copies.of("bob") == {}


def test_a_copy_is_one_for_the_session_that_brought_the_number_and_for_no_other() -> None:
    copies = Copies({}, "own.1")
    copies.expect("ann", {"y.1": 4})
    assert copies.is_one(event("a", 4, "y.1"), "ann")
    assert not copies.is_one(event("a", 4, "y.1"), "bob")
    assert not copies.is_one(event("a", 1, "z.1"), "ann")
    assert not copies.is_one(event("a", 5, "y.1"), "ann")
    assert not copies  # numbers only rise, so it is of no use any more


def test_what_the_broker_sees_meanwhile_need_not_be_brought_further() -> None:
    seen: dict[str, int] = {}
    copies = Copies(seen, "own.1")
    copies.expect("ann", {"y.1": 4, "z.1": 2})
    seen["y.1"] = 6
    assert copies.of("ann") == {"z.1": 2}
    assert copies.seen() == {"y.1": 6}
    copies.forget("ann")
    assert not copies


def test_what_was_published_here_it_takes_along_too() -> None:
    copies = Copies({"b2.1": 5}, "b1.1")
    assert copies.brings("ann") == {}
    copies.last_of_own = lambda: 9
    copies.expect("ann", {"b2.1": 7})
    assert copies.brings("ann") == {"b2.1": 7, "b1.1": 9}
    assert copies.of("ann") == {"b2.1": 7}

"""The checker of homes, on histories made by hand."""

from __future__ import annotations

from reknit.sim.checkers.homes import check_homes
from reknit.trace.records import Kind, Record


def _found(*seen: tuple[str, Kind, str, str]) -> list[str]:
    """Of records: node, kind, client, peer; and then all is calm."""
    records = [
        Record(float(at), node, kind, client=client, peer=peer) for at, (node, kind, client, peer) in enumerate(seen)
    ]
    return [each.what for each in check_homes([*records, Record(99.0, "", Kind.CALM)])]


LINKED = (("b1", Kind.LINK_ADDED, "", "b2"), ("b2", Kind.LINK_ADDED, "", "b1"))


def test_two_sessions_of_one_client_are_one_too_many() -> None:
    both = (("b1", Kind.ATTACHED, "ann", ""), ("b2", Kind.ATTACHED, "ann", ""))
    assert _found(*LINKED, *both) == ["ann has sessions at b1 and at b2"]
    assert _found(*both) == []  # they cannot know of each other
    assert _found(*LINKED, *both, ("b1", Kind.DETACHED, "ann", "")) == []
    assert _found(*LINKED, *both, ("b2", Kind.CRASHED, "", "")) == []


def test_a_session_that_has_moved_is_left_behind() -> None:
    moved = (("b1", Kind.ATTACHED, "ann", ""), ("b2", Kind.MOVED_IN, "ann", "b1"))
    assert _found(*LINKED, *moved) == ["ann has sessions at b1 and at b2"]
    assert _found(*LINKED, *moved, ("b1", Kind.DETACHED, "ann", "")) == []


def test_two_clients_are_none_of_each_other() -> None:
    assert _found(*LINKED, ("b1", Kind.ATTACHED, "ann", ""), ("b2", Kind.ATTACHED, "bob", "")) == []

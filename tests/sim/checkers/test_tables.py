"""Tables against the ideal ones when all is calm, and events that go where nobody wants them."""

from __future__ import annotations

from reknit.sim.checkers.tables import check_tables
from tests.sim.checkers.telling import Story, event

ONE = event("a", 1)


def _found(story: Story, routing: str = "subscription-forwarding", covering: bool = False) -> list[str]:
    return [each.what for each in check_tables(story.records, routing, covering)]  # type: ignore[arg-type]


def _routed() -> Story:
    """b1 - b2 - b3, cay at b3 wants ``a``, and both others know."""
    story = Story().network("b1-b2", "b2-b3").attached("b3", "cay", "a")
    return story.route("b2", "b3", "a").route("b1", "b2", "a").calm()


def test_ideal_tables_are_accepted() -> None:
    assert _found(_routed()) == []


def test_a_missing_entry() -> None:
    story = Story().network("b1-b2").attached("b2", "ben", "a")
    assert _found(story) == []  # not calm yet
    assert _found(story.calm()) == ["b1 lacks the entry (b2, a)"]


def test_a_stale_entry() -> None:
    assert _found(_routed().unsubscribed("b3", "cay", "a").no_route("b2", "b3", "a").calm()) == [
        "b1 has a stale entry (b2, a)"
    ]


def test_a_crash_empties_a_table() -> None:
    story = _routed().crashed("b2").started("b2").linked("b2", "b1").linked("b2", "b3").calm()
    assert _found(story) == ["b2 lacks the entry (b3, a)"]


def test_with_covering_less_is_ideal() -> None:
    story = Story().network("b1-b2").attached("b2", "ben", "a/b", "a/#").route("b1", "b2", "a/#").calm()
    assert _found(story, covering=True) == []
    assert _found(story) == ["b1 lacks the entry (b2, a/b)"]


def test_flooding_has_no_entries_and_goes_everywhere() -> None:
    story = Story().network("b1-b2").attached("b2", "ben", "a").calm()
    story.published("b1", event("z", 1)).forwarded("b1", "b2", event("z", 1)).calm()
    assert _found(story, "flooding") == []


def test_a_needless_hop() -> None:
    other = event("z", 1)
    story = _routed().published("b1", other).forwarded("b1", "b2", other)
    assert [what.split(" (calm")[0] for what in _found(story)] == [
        "b1 forwarded ('b1.1', 1) to b2, behind which nobody wants it"
    ]


def test_a_needed_hop() -> None:
    assert _found(_routed().published("b1", ONE).forwarded("b1", "b2", ONE).forwarded("b2", "b3", ONE).calm()) == []


def test_a_hop_back_and_a_hop_again() -> None:
    story = Story().network("b1-b2").attached("b1", "ann", "a").attached("b2", "ben", "a")
    story.route("b1", "b2", "a").route("b2", "b1", "a").calm().published("b1", ONE).forwarded("b1", "b2", ONE)
    assert _found(story) == []
    assert ["crossed the link b2 - b1 again" in what for what in _found(story.forwarded("b2", "b1", ONE))] == [True]
    assert len(_found(story.forwarded("b1", "b2", ONE))) == 2


def test_while_things_change_a_needless_hop_is_excused() -> None:
    other = event("z", 1)
    story = _routed().attached("b3", "dan", "z").published("b1", other).forwarded("b1", "b2", other)
    assert _found(story) == []


def test_an_event_from_before_the_calm_is_not_judged() -> None:
    story = _routed().published("b1", ONE).calm().forwarded("b1", "b2", event("z", 9))
    assert _found(story) == []


def test_on_a_cycle_no_tables_are_ideal() -> None:
    story = Story().network("b1-b2", "b2-b3").linked("b1", "b3").linked("b3", "b1").calm()
    assert ["form a cycle" in what for what in _found(story)] == [True]
